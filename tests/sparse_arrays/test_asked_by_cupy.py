"""What CuPy's users ask of sparse matrices beyond SciPy."""

import numpy as np
import pytest

import numloom as nl


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
