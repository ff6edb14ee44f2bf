"""Solutions, inverses, determinants and least squares against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.device.registry import current
from numloom.testing import for_all_dtypes, matches_numpy

CASES = """
la.solve(a, v)
la.solve(a, b)
la.solve(a.T, b.T)
la.solve(rev, t[:4, ::2])
la.solve(stack, v)
la.solve(stack, b)
la.solve(a, stack)
la.solve(stack[0], stack[:, :1])
la.solve(stack, stack[0])
la.solve(sl, fo[:, ::2])
la.solve(z, v)
la.solve(c, f)
la.solve(f, [1, 2, 3, 4])
la.solve(i + 7 * xp.eye(3, dtype=int), i)
la.solve(e0, e0)
la.solve(e0, xp.zeros(0))
la.solve(e0, e1)
la.solve(e3, xp.zeros((3, 2)))
la.solve(e0, xp.zeros((2, 0, 3)))
la.solve(zero, xp.ones((3, 2, 1)))
la.solve(a, xp.zeros((4, 0)))
la.solve(a, 1)
la.solve(a, [1.0])
la.solve(a, w)
la.solve(w, v)
la.solve(v, v)
la.solve(stack, stack[:, :2])
la.solve(zero, [1, 2])
la.solve(one, one)
la.solve(h, h)
la.solve([[2, 0], [0, 4]], [1, 1])
la.inv(a)
la.inv(rev)
la.inv(stack)
la.inv(sl.mT)
la.inv(fo)
la.inv(z)
la.inv(f)
la.inv(c)
la.inv(i + 7)
la.inv(u)
la.inv(e0)
la.inv(e3)
la.inv(w)
la.inv(v)
la.inv(zero)
la.inv(one)
la.inv(h)
la.inv(q | xp.eye(3, dtype=bool))
la.det(a)
la.det(stack)
la.det(rev)
la.det(z)
la.det(f)
la.det(c)
la.det(i)
la.det(zero)
la.det(e0)
la.det(e3)
la.det(w)
la.det(h)
la.det(1e30 * f)
la.slogdet(a)
la.slogdet(stack)
la.slogdet(z)
la.slogdet(f)
la.slogdet(c)
la.slogdet(1e200 * a)
la.slogdet(-i)
la.slogdet(zero)
la.slogdet(xp.zeros((2, 2), "F"))
la.slogdet(e0)
la.slogdet(e3)
la.slogdet(v)
la.pinv(a)
la.pinv(w)
la.pinv(t)
la.pinv(stack)
la.pinv(flat)
la.pinv(z[:, :3])
la.pinv(f[:, :3])
la.pinv(xp.outer(f[0], f[1]))
la.pinv(sym, hermitian=True)
la.pinv(her, hermitian=True)
la.pinv(stack, 0.3)
la.pinv(stack, [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
la.pinv(stack, rtol=0.2)
la.pinv(w, rtol=None)
la.pinv(w, 0.1, rtol=0.1)
la.pinv(zero)
la.pinv(e1)
la.pinv(e3)
la.pinv(i)
la.pinv(h)
la.pinv(v)
la.tensorinv(t4)
la.tensorinv(t4.reshape(6, 2, 3), ind=1)
la.tensorinv(t4, 0)
la.tensorinv(t4, 1)
la.tensorsolve(t4, w[:2, :3])
la.tensorsolve(t4.transpose(0, 2, 1, 3), w[:2, :3], axes=(1,))
la.tensorsolve(t4, v)
""".strip().splitlines()

LEAST_SQUARES = """
la.lstsq(t, w[:, 0] @ w)
la.lstsq(t, w.T[:, ::-1])
la.lstsq(w, a[:3])
la.lstsq(flat, v[[0, 1, 2, 3, 0]])
la.lstsq(t, b[[0, 1, 2, 3, 0]], 0.6)
la.lstsq(t, b[[0, 1, 2, 3, 0]], rcond=-1)
la.lstsq(z, v)
la.lstsq(c[:, :2], f)
la.lstsq(f[:, :2], v)
la.lstsq(i, i[0])
la.lstsq([[1, 2], [3, 4], [5, 7]], [1, 0, 1])
la.lstsq(e1, xp.zeros(0))
la.lstsq(e2, xp.ones(3))
la.lstsq(e0, xp.zeros((0, 2)))
la.lstsq(t, xp.zeros((5, 0)))
la.lstsq(a, w)
la.lstsq(stack, v)
la.lstsq(v, v)
la.lstsq(a, 3)
la.lstsq(h, h)
""".strip().splitlines()


@pytest.mark.parametrize("expression", CASES)
@matches_numpy(rtol=2e-4, atol=1e-5)
def test_matches(xp: Any, expression: str, matrices: Any) -> Any:
    return eval(expression, matrices(xp))


@pytest.mark.parametrize("expression", LEAST_SQUARES)
@matches_numpy(rtol=1e-5, atol=1e-6)
def test_least_squares(xp: Any, expression: str, matrices: Any) -> Any:
    return eval(expression, matrices(xp))


@for_all_dtypes()
@matches_numpy(rtol=1e-5, atol=1e-5)
def test_dtypes(xp: Any, dtype: Any) -> Any:
    x = xp.asarray((5 * np.eye(3) + np.arange(9).reshape(3, 3) % 2).astype(dtype))
    la = xp.linalg
    return la.solve(x, x[0]), la.inv(x), la.det(x), la.slogdet(x), la.pinv(x), la.lstsq(x, x[0])


def test_double_precision() -> None:
    """Doubles are solved in double precision, and results lie in C order behind the order of a stack."""
    a = np.random.default_rng(1).standard_normal((3, 2, 5, 5)).transpose(1, 0, 3, 2)
    x = nl.linalg.inv(nl.asarray(a))
    np.testing.assert_allclose(x.get() @ a, np.broadcast_to(np.eye(5), a.shape), atol=1e-10)
    assert x.strides == np.linalg.inv(a).strides
    solved = nl.linalg.solve(nl.asarray(a[0, 0]), nl.asarray(a))
    np.testing.assert_allclose(a[0, 0] @ solved.get(), a, atol=1e-10)
    assert solved.flags.c_contiguous
    np.testing.assert_allclose(nl.linalg.det(a).get(), np.linalg.det(a), rtol=1e-11)


def test_errors_are_numpys_and_raised_at_once() -> None:
    assert nl.linalg.LinAlgError is np.linalg.LinAlgError
    singular = nl.asarray([[1.0, 2.0], [2.0, 4.0]])
    for call in (nl.linalg.inv, lambda x: nl.linalg.solve(x, x), lambda x: np.linalg.matrix_power(x, -3)):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            call(singular)
    with pytest.raises(np.linalg.LinAlgError, match="0-dimensional array given"):
        nl.linalg.det(5)
    with pytest.raises(TypeError, match="float16 is unsupported"):
        nl.linalg.inv(nl.eye(2, dtype="e"))


def test_numpys_functions_give_our_arrays() -> None:
    x = nl.asarray([[2.0, 1.0], [1.0, 3.0]])
    for result in (np.linalg.inv(x), np.linalg.det(x), np.linalg.eigh(x).eigenvectors, np.linalg.norm(x, 1)):
        assert isinstance(result, nl.ndarray)


@pytest.mark.parametrize("rcond", [None, -1, 0, -2.5, 0.3, 1, 1.0, 7, np.nan, 1e-17])
def test_least_squares_by_limits_of_every_kind(rcond: Any) -> None:
    """LAPACK takes what is not between 0 and 1 as half of the epsilon."""
    for least in (1.0, 0.2, 2.5e-16, 2e-16, 1.5e-16, 1e-16, 1e-30) + (0.0,) * (rcond == rcond):
        a, b = np.diag([1.0, least]), np.array([1.0, 2.0])
        want, got = np.linalg.lstsq(a, b, rcond), nl.linalg.lstsq(nl.asarray(a), nl.asarray(b), rcond)
        assert int(got[2]) == want[2], least
        np.testing.assert_allclose(got[0].get(), want[0], rtol=1e-12)


@pytest.mark.parametrize("values", [[np.inf], [-np.inf], [np.inf, np.nan], [np.inf, -np.inf]])
def test_infinities_have_no_least_squares(values: list[float]) -> None:
    a = np.ones((3, 2))
    a.ravel()[: len(values)] = values
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        nl.linalg.lstsq(nl.asarray(a), nl.ones(3))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4"])
@pytest.mark.parametrize("sides", [None, 1, 3])
@pytest.mark.parametrize(("rows", "columns", "rank"), [(40, 4, 4), (40, 4, 2), (300, 1, 1), (25, 6, 6), (20, 9, 9)])
def test_least_squares_of_tall_matrices(rows: int, columns: int, rank: int, sides: int | None, dtype: str) -> None:
    """Which go by the triangle of the matrix with its sides where they are more than twice as tall."""
    random = np.random.default_rng(rows)
    a = random.integers(-9, 9, (rows, rank)) @ random.integers(-3, 4, (rank, columns)) if rank < columns else None
    a = (random.integers(-9, 9, (rows, columns)) if a is None else a).astype(dtype)
    b = random.integers(-9, 9, (rows,) if sides is None else (rows, sides)).astype(dtype)
    if dtype[0] == "c":
        a, b = a * (1 + 2j), (b * (1 - 1j)).astype(dtype)
        a = a.astype(dtype)
    want, got = np.linalg.lstsq(a, b, None), nl.linalg.lstsq(nl.asarray(a), nl.asarray(b), None)
    near = 1e-4 if dtype in ("f4", "c8") else 1e-10
    assert int(got[2]) == want[2] == rank
    for mine, theirs in zip(got, want, strict=True):
        assert mine.shape == np.shape(theirs)
        assert mine.dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(mine.get(), theirs, near, near * 10)


def test_sides_that_are_not_finite_spoil_their_own_solutions() -> None:
    a, b = np.random.default_rng(3).random((50, 3)), np.random.default_rng(4).random((50, 3))
    b[7, 1] = np.nan
    got = nl.linalg.lstsq(nl.asarray(a), nl.asarray(b))[0].get()
    want = np.linalg.lstsq(a, b[:, ::2], None)[0]
    np.testing.assert_allclose(got[:, ::2], want, 1e-12)
    assert np.isnan(got[:, 1]).all()


@pytest.mark.parametrize("wrong", [np.inf, -np.inf])
def test_tall_matrices_with_infinities(wrong: float) -> None:
    a = np.random.default_rng(3).random((50, 3))
    a[9, 1] = wrong
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        nl.linalg.lstsq(nl.asarray(a), nl.ones(50))
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        np.linalg.lstsq(a, np.ones(50), None)


def test_tall_matrices_of_extreme_size() -> None:
    a, b = np.random.default_rng(5).random((60, 4)), np.random.default_rng(6).random(60)
    for scale in (1e-300, 1e-160, 1e150, 1e300):
        got, want = nl.linalg.lstsq(nl.asarray(a * scale), nl.asarray(b)), np.linalg.lstsq(a * scale, b, None)
        # cuSOLVER's singular values of numbers near the smallest ones have fewer digits.
        np.testing.assert_allclose(got[0].get() * scale, want[0] * scale, 1e-8 if current().discrete else 1e-10)
        assert int(got[2]) == want[2]
