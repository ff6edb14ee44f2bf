"""``cupyx.linalg`` and ``cupyx.lapack``: beside NumPy's solutions, for every dtype of LAPACK's."""

import numpy as np
import pytest

import numloom as nl
from numloom import cupyx, sparse

DTYPES = ["f", "d", "F", "D"]


def definite(shape, dtype, seed=0):
    drawn = np.random.default_rng(seed)
    a = drawn.standard_normal(shape) + (1j * drawn.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0)
    return (a @ a.swapaxes(-1, -2).conj() + shape[-1] * np.eye(shape[-1])).astype(dtype)


def tolerance(dtype):
    return 1e-4 if np.dtype(dtype).char in "fF" else 1e-10


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(("shape", "columns"), [((4, 4), None), ((4, 4), 3), ((2, 3, 3), None), ((2, 3, 3), 2)])
def test_solutions_by_cholesky(dtype, lower, shape, columns):
    a = definite(shape, dtype)
    b = np.random.default_rng(1).random(shape[:-1] if columns is None else (*shape[:-1], columns)).astype(dtype)
    factor = np.linalg.cholesky(a)
    given = factor if lower else factor.swapaxes(-1, -2).conj()
    other = np.tril_indices(shape[-1], -1) if not lower else np.triu_indices(shape[-1], 1)
    given = given.copy()
    given[(..., *other)] = np.nan  # It must not be looked at.
    expected = np.linalg.solve(a, b[..., None] if columns is None else b)
    found = cupyx.linalg.cho_solve((nl.array(given), lower), nl.array(b))
    assert found.dtype == dtype
    np.testing.assert_allclose(
        found.get(), expected[..., 0] if columns is None else expected, tolerance(dtype), tolerance(dtype)
    )
    found = cupyx.lapack.potrs(nl.array(given), nl.array(b), lower)
    np.testing.assert_allclose(
        found.get(), expected[..., 0] if columns is None else expected, tolerance(dtype), tolerance(dtype)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (3, 4, 4), (0, 0)])
def test_inverse_of_definite(dtype, shape):
    a = definite(shape, dtype)
    np.testing.assert_allclose(
        cupyx.linalg.invh(nl.array(a)).get(), np.linalg.inv(a), tolerance(dtype), tolerance(dtype)
    )


def test_what_is_not_definite_is_refused():
    a = nl.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(np.linalg.LinAlgError):
        cupyx.linalg.invh(a)
    with pytest.raises(np.linalg.LinAlgError):
        cupyx.lapack.posv(a, nl.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cupyx.linalg.sparse.lschol(sparse.csr_matrix(a), nl.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        cupyx.linalg.cho_solve((nl.ones((2, 3)), True), nl.ones(2))
    with pytest.raises(ValueError, match="does not go with"):
        cupyx.linalg.cho_solve((nl.eye(2), True), nl.ones(3))
    with pytest.raises(ValueError, match="infs or NaNs"):
        cupyx.linalg.cho_solve((nl.eye(2), True), [1.0, np.nan])


@pytest.mark.parametrize("dtype", ["f", "d", "i"])
def test_sparse_systems_by_cholesky(dtype):
    a = np.diag(np.full(6, 4)) + np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1)
    b = np.arange(6.0)
    for given in (sparse.csr_matrix(nl.array(a.astype(dtype))), nl.array(a.astype(dtype))):
        x = cupyx.linalg.sparse.lschol(given, nl.array(b))
        assert x.dtype == ("f" if dtype == "f" else "d")
        np.testing.assert_allclose(x.get(), np.linalg.solve(a, b), tolerance(x.dtype))
    with pytest.raises(ValueError, match="vector of 6"):
        cupyx.linalg.sparse.lschol(given, nl.ones(5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [None, 2])
def test_lapack(dtype, columns):
    a = definite((4, 4), dtype)
    a[0, 1] += 1
    b = np.random.default_rng(1).random((4,) if columns is None else (4, columns)).astype(dtype)
    right = nl.array(b)
    found = cupyx.lapack.gesv(nl.array(a), right)
    np.testing.assert_allclose(found.get(), np.linalg.solve(a, b), tolerance(dtype), tolerance(dtype))
    np.testing.assert_array_equal(right.get(), found.get())
    tall = np.concatenate([a, a + 1])[:, :3]
    both = np.concatenate([b, b])
    found = cupyx.lapack.gels(nl.array(tall), nl.array(both))
    np.testing.assert_allclose(
        found.get(), np.linalg.lstsq(tall, both, rcond=None)[0], 10 * tolerance(dtype), 10 * tolerance(dtype)
    )


def test_lapack_refuses():
    with pytest.raises(ValueError, match="square"):
        cupyx.lapack.gesv(nl.ones((2, 3)), nl.ones(2))
    with pytest.raises(ValueError, match="as many rows"):
        cupyx.lapack.gels(nl.ones((2, 3)), nl.ones(3))
    with pytest.raises(ValueError, match="of two axes"):
        cupyx.lapack.gesv(nl.ones(3), nl.ones(3))
    with pytest.raises(ValueError, match="vector or a matrix"):
        cupyx.lapack.gesv(nl.ones((1, 1)), nl.ones((1, 1, 1)))
    with pytest.raises(TypeError, match="one dtype"):
        cupyx.lapack.gesv(nl.ones((2, 2), "f"), nl.ones(2))
    with pytest.raises(TypeError, match="unsupported dtype"):
        cupyx.lapack.gesv(nl.ones((2, 2), "i"), nl.ones(2, "i"))
