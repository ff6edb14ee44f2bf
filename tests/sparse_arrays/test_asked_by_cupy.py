"""What CuPy's users ask of sparse matrices beyond SciPy."""

import operator

import numpy as np
import pytest
import scipy.sparse.linalg

import numloom as nl
from numloom import sparse


def test_diagonals_are_shared_unless_copied() -> None:
    data, offsets = nl.ones((2, 3)), nl.asarray([0, 1], "i4")
    shared = nl.sparse.dia_matrix((data, offsets), shape=(3, 3))
    assert nl.shares_memory(shared.data, data)
    assert nl.shares_memory(shared.offsets, offsets)
    assert not nl.shares_memory(nl.sparse.dia_matrix((data, offsets), shape=(3, 3), copy=True).data, data)
    square = nl.asarray([[1.0, 2.0], [3.0, 4.0]])
    turned = nl.sparse.dia_matrix((square.T, [0, 1]), shape=(2, 2))
    np.testing.assert_array_equal(nl.asnumpy(turned.data), [[1, 3], [2, 4]])


def test_a_is_the_older_name_of_toarray() -> None:
    matrix = nl.sparse.csr_matrix(nl.eye(2))
    with pytest.warns(DeprecationWarning, match="toarray"):
        dense = matrix.A
    np.testing.assert_array_equal(nl.asnumpy(dense), np.eye(2))
    assert not hasattr(nl.sparse.csr_array(nl.eye(2)), "A")


def test_prune_drops_what_lies_beyond_the_last_row() -> None:
    a = sparse.csr_array((nl.array([1.0, 2, 3]), nl.array([0, 1, 2]), nl.array([0, 1, 2, 3])), shape=(3, 3))
    a.prune()
    assert a.data.shape == (3,)
    a.data, a.indices = nl.array([1.0, 2, 3, 99, 99]), nl.array([0, 1, 2, 7, 7])
    a.prune()
    assert a.data.tolist() == [1, 2, 3] and a.indices.tolist() == [0, 1, 2]
    assert nl.asnumpy(a.toarray()).tolist() == np.diag([1.0, 2, 3]).tolist()
    a.data = nl.array([1.0])
    with pytest.raises(ValueError, match="should have 3 elements"):
        a.prune()


def test_axes_of_one_row_and_a_diagonal_of_one_axis() -> None:
    for kind in (sparse.csr_array, sparse.coo_array):
        row = kind((nl.array([1.0, 0, 2]), (nl.array([0, 1, 3]),)), shape=(5,))
        assert [int(row.count_nonzero(axis=axis)) for axis in (None, 0, -1, (0,))] == [2] * 4
        with pytest.raises(ValueError, match="axis out of bounds"):
            row.count_nonzero(axis=1)
        square = kind(nl.zeros((3, 3)))
        with pytest.raises(ValueError, match="0-d or 1-d"):
            square.setdiag(nl.ones((2, 2)))
        square.setdiag(nl.array([1.0, 2, 3]))
        assert nl.asnumpy(square.diagonal()).tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_matrix"])
@pytest.mark.parametrize("shapes", [((3, 4), (1, 4)), ((3, 4), (3, 1)), ((1, 4), (3, 4)), ((0, 4), (1, 4))])
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "maximum", "minimum"])
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_a_single_row_or_column_is_repeated(way, kind, shapes, name) -> None:
    drawn = np.random.default_rng(3)
    a, b = (np.where(drawn.random(shape) < 0.5, 0, drawn.integers(-2, 3, shape)).astype("f") for shape in shapes)
    one, other = (getattr(sparse, kind)(nl.array(x)) for x in (a, b))
    found = getattr(one, name)(other) if hasattr(one, name) else getattr(operator, name)(one, other)
    dense = getattr(operator, name, None) or getattr(np, name)
    np.testing.assert_array_equal(nl.asnumpy(found.toarray()), dense(a, b))


def test_other_shapes_are_refused(way) -> None:
    with pytest.raises(ValueError, match="inconsistent"):
        sparse.csr_matrix((3, 4)).maximum(sparse.csr_matrix((2, 4)))
    with pytest.raises(ValueError, match="inconsistent"):
        sparse.csr_matrix((3, 4)) < sparse.csr_matrix((1, 3))


@pytest.mark.parametrize("solver", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize("dtypes", ["ff", "FF", "fF", "Ff", "dF", "Fi", "bf", "ii", "Dd"])
def test_solutions_have_scipys_dtype(way, solver, dtypes) -> None:
    a = np.diag([4, 5, 6]).astype(dtypes[0])
    b = np.array([1, 2, 3]).astype(dtypes[1])
    expected = getattr(scipy.sparse.linalg, solver)(scipy.sparse.csr_matrix(a), b)[0]
    found = getattr(sparse.linalg, solver)(sparse.csr_matrix(nl.array(a)), nl.array(b))[0]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(nl.asnumpy(found), expected, 1e-4)
