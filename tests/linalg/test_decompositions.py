"""Factorisations: unique factors against NumPy, others by what they multiply to."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import for_all_dtypes, matches_numpy

CASES = """
la.cholesky(sym)
la.cholesky(sym, upper=True)
la.cholesky(spd)
la.cholesky(spd[::-1, ::2].mT, upper=True)
la.cholesky(her)
la.cholesky(her, upper=True)
la.cholesky(her.astype("F"))
la.cholesky(xp.tril(sym))
la.cholesky(xp.triu(her), upper=True)
la.cholesky(u)
la.cholesky(e0)
la.cholesky(e3)
la.cholesky(-sym)
la.cholesky(zero)
la.cholesky(w)
la.cholesky(v)
la.cholesky(h)
la.eigvalsh(sym)
la.eigvalsh(her)
la.eigvalsh(spd)
la.eigvalsh(a, "U")
la.eigvalsh(a, UPLO="l")
la.eigvalsh(z, "u")
la.eigvalsh(f)
la.eigvalsh(i)
la.eigvalsh(q)
la.eigvalsh(e0)
la.eigvalsh(e3)
la.eigvalsh(a, "X")
la.eigvalsh(w)
la.eigvalsh(h)
la.eigh(e0)
la.eigh(e3)
la.eigh(v)
la.eig(e0)
la.eig(e3)
la.eig(nan)
la.eig(inf[:3, :3])
la.eig(w)
la.eigvals(xp.eye(3))
la.eigvals(e3)
la.eigvals(h)
la.svdvals(a)
la.svdvals(w)
la.svdvals(stack)
la.svdvals(z)
la.svdvals(t.astype("f"))
la.svdvals(e1)
la.svdvals(e3)
la.svdvals(v)
la.svdvals(i)
la.svd(w, compute_uv=False)
la.svd(sym - 9 * xp.eye(4), compute_uv=False, hermitian=True)
la.svd(zero, False, False)
la.svd(e1)
la.svd(e1, False)
la.svd(e2)
la.svd(e3, full_matrices=False)
la.svd(h)
la.svd(v)
la.svd(nan)
la.qr(e1)
la.qr(e2, "complete")
la.qr(e3, "r")
la.qr(e0, mode="raw")
la.qr(a, "other")
la.qr(v)
la.qr(h)
abs(la.qr(a, "r"))
abs(la.qr(t, "r"))
abs(la.qr(w, "r"))
abs(la.qr(stack, "r"))
""".strip().splitlines()


@pytest.mark.parametrize("expression", CASES)
@matches_numpy(rtol=2e-4, atol=1e-5)
def test_matches(xp: Any, expression: str, matrices: Any) -> Any:
    return eval(expression, matrices(xp))


SHAPES = ["a", "w", "t", "stack", "sl", "fo", "rev", "z", "f", "c", "i", "q", "flat", "zero"]
DIGITS = {"f": 2e-4, "F": 2e-4}


def close(actual: Any, desired: Any, dtype: Any) -> None:
    """Equal to the precision of `dtype`, which is also that of `actual`."""
    actual = actual.get() if hasattr(actual, "get") else actual
    assert actual.dtype == dtype
    np.testing.assert_allclose(actual, desired, atol=DIGITS.get(np.dtype(dtype).char, 1e-11))


def identity(q: Any) -> Any:
    return np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1]))


@pytest.mark.parametrize("name", SHAPES)
def test_qr_and_svd_multiply_to_the_matrix(name: str, matrices: Any) -> None:
    a, host = matrices(nl)[name], matrices(np)[name]
    m, n = host.shape[-2:]
    for mode in ("reduced", "complete"):
        q, r = nl.linalg.qr(a, mode)
        expected = np.linalg.qr(host, mode)
        assert isinstance(q, nl.ndarray) and (q.shape, r.shape) == (expected.Q.shape, expected.R.shape)
        close(q @ r, host, expected.Q.dtype)
        close(q.mT.conj() @ q, identity(q), expected.Q.dtype)
        np.testing.assert_array_equal(np.tril(r.get(), -1), np.zeros(r.shape))
    for full in (True, False):
        u, s, vh = nl.linalg.svd(a, full)
        expected = np.linalg.svd(host, full)
        assert [each.shape for each in (u, s, vh)] == [each.shape for each in expected]
        assert (u.flags.c_contiguous, vh.strides) == (expected.U.flags.c_contiguous, expected.Vh.strides)
        k = min(m, n)
        close(u[..., :k] * s[..., None, :].astype(u.dtype) @ vh[..., :k, :], host, expected.U.dtype)
        close(u.mT.conj() @ u, identity(u), expected.U.dtype)
        close(vh @ vh.mT.conj(), identity(vh.mT), expected.Vh.dtype)
        close(s, expected.S, expected.S.dtype)


@pytest.mark.parametrize("name", ["a", "t", "w", "stack", "z", "f", "e2"])
def test_raw_qr(name: str, matrices: Any) -> None:
    """LAPACK's reflectors: their product is Q, the upper triangle R."""
    a, host = matrices(nl)[name], matrices(np)[name]
    h, tau = (each.get() for each in nl.linalg.qr(a, mode="raw"))
    expected = np.linalg.qr(host, "raw")
    assert (h.shape, tau.shape, h.dtype, tau.dtype) == (*(x.shape for x in expected), *(x.dtype for x in expected))
    m, k = host.shape[-2], tau.shape[-1]
    product = np.array(np.broadcast_to(np.eye(m), (*host.shape[:-2], m, m)), h.dtype)
    for j in range(k):
        v = np.where(np.arange(m) > j, h[..., j, :], np.arange(m) == j)
        product = product @ (np.eye(m) - tau[..., j, None, None] * v[..., :, None] * v[..., None, :].conj())
    close((product @ np.triu(h.mT)).astype(h.dtype), host, h.dtype)
    with pytest.warns(DeprecationWarning):
        assert nl.linalg.qr(a, "economic").shape == host.shape
    with pytest.warns(DeprecationWarning):
        assert nl.linalg.qr(a, "full").R.shape == np.linalg.qr(host).R.shape


@pytest.mark.parametrize("name", ["sym", "her", "spd", "a", "z", "f", "c", "i", "rev", "zero", "fo"])
@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigh(name: str, triangle: str, matrices: Any) -> None:
    a, host = matrices(nl)[name], matrices(np)[name]
    values, vectors = nl.linalg.eigh(a, UPLO=triangle)
    expected = np.linalg.eigh(host, triangle)
    close(values, expected.eigenvalues, expected.eigenvalues.dtype)
    half = np.tril(host, -1) if triangle == "L" else np.triu(host, 1)
    diagonal = np.where(np.eye(host.shape[-1], dtype=bool), host.real, 0)
    whole = half + half.mT.conj() + diagonal
    close((vectors * values[..., None, :].astype(vectors.dtype)) @ vectors.mT.conj(), whole, expected[1].dtype)
    close(vectors.mT.conj() @ vectors, identity(vectors), expected[1].dtype)
    assert vectors.strides == expected[1].strides


@pytest.mark.parametrize("name", ["a", "z", "f", "c", "i", "sym", "stack", "rev", "zero", "q"])
def test_eig(name: str, matrices: Any) -> None:
    a, host = matrices(nl)[name], matrices(np)[name]
    values, vectors = nl.linalg.eig(a)
    expected = np.linalg.eig(host)
    close(a.astype(vectors.dtype) @ vectors, (vectors * values[..., None, :]).get(), expected[1].dtype)
    close((abs(vectors) ** 2).sum(-2), np.ones(values.shape), abs(expected[1]).dtype)
    close(nl.sort(values, axis=-1), np.sort(expected[0], axis=-1), expected[0].dtype)
    close(nl.sort(nl.linalg.eigvals(a), axis=-1), np.sort(expected[0], axis=-1), expected[0].dtype)


@pytest.mark.parametrize("name", ["sym", "her", "spd"])
def test_svd_of_hermitian_matrices(name: str, matrices: Any) -> None:
    host = matrices(np)[name]
    host = host - 6 * np.eye(4)
    u, s, vh = nl.linalg.svd(nl.asarray(host), hermitian=True)
    close((u * s[..., None, :].astype(u.dtype)) @ vh, host, host.dtype)
    close(s, np.linalg.svd(host).S, s.dtype)


@for_all_dtypes()
@matches_numpy(rtol=1e-5, atol=1e-6)
def test_dtypes(xp: Any, dtype: Any) -> Any:
    x = xp.asarray((5 * np.eye(3) + np.ones((3, 3))).astype(dtype))
    la = xp.linalg
    return [*(la.cholesky(x + 9 * xp.eye(3, dtype=dtype)), la.eigvalsh(x), la.svdvals(x), abs(la.qr(x, "r")))]


@pytest.mark.parametrize("name", [name for name in nl.linalg.__all__ if name != "LinAlgError"])
def test_signatures_are_numpys(name: str) -> None:
    ours, numpys = (inspect.signature(getattr(xp.linalg, name)).parameters.values() for xp in (nl, np))
    assert [(p.name, p.kind) for p in ours] == [(p.name, p.kind) for p in numpys]
    defaults = [(p.default, q.default) for p, q in zip(ours, numpys, strict=True)]
    assert all(mine is theirs or mine == theirs for mine, theirs in defaults)
