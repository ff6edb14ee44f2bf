"""Routines of linear algebra: factorisations and solutions of stacks of matrices, with their NumPy twins.

Operands have at least two dimensions and one dtype, float32, float64, complex64 or complex128; results have that
dtype (eigenvalues of Hermitian matrices and singular values its real one). LinAlgError is raised at once.
NumPy computes single precision in double and rounds the result; a device may compute in the operands' precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from numloom.ops.routines import Host, routine

SMALL = 2048
"""Elements of matrices that LAPACK is taken to be done with sooner than cuSOLVER: an estimate (docs/placement.md)."""


@routine(sized=False, small=SMALL)
def cholesky(a: Host, *, upper: bool) -> Host:
    """The factor of Hermitian, positive definite matrices, of which only one triangle is read."""
    return np.linalg.cholesky(a, upper=upper)  # type: ignore[no-any-return]


@routine(sized=False, small=SMALL)
def slogdet(a: Host) -> tuple[Host, ...]:
    """Sign and logarithm of the magnitude of determinants."""
    return tuple(map(np.asarray, np.linalg.slogdet(a)))


@routine(sized=False, small=SMALL)
def det(a: Host) -> Host:
    """Determinants."""
    return np.asarray(np.linalg.det(a))


@routine(sized=False, small=SMALL)
def inv(a: Host, *, check: bool) -> Host:
    """Inverses; without `check` those of singular matrices are NaN, and no error is raised."""
    try:
        return np.linalg.inv(a)  # type: ignore[no-any-return]
    except np.linalg.LinAlgError:
        if check:
            raise
    result = np.full(a.shape, np.nan, a.dtype)
    for place in np.ndindex(a.shape[:-2]):
        try:
            result[place] = np.linalg.inv(a[place])
        except np.linalg.LinAlgError:
            continue
    return result


@routine(sized=False, small=SMALL)
def solve(a: Host, b: Host) -> Host:
    """Matrices x with ``a @ x = b``; leading axes broadcast."""
    if a.ndim > 2 or b.ndim == 2:
        return np.linalg.solve(a, b)
    # One matrix for many right sides is factored once.
    sides = np.moveaxis(b, -2, 0)
    found = np.linalg.solve(a, sides.reshape(a.shape[0], math.prod(sides.shape[1:])))
    return np.ascontiguousarray(np.moveaxis(found.reshape(sides.shape), 0, -2))


@routine(sized=False, small=SMALL)
def qr(a: Host, *, mode: str) -> tuple[Host, ...]:
    """Factors q and r ("reduced", "complete"), r alone ("r"), or LAPACK's reflectors and their scales ("raw")."""
    found = np.linalg.qr(a, mode)  # type: ignore[call-overload]
    return (found,) if isinstance(found, np.ndarray) else tuple(found)


@routine(sized=False, small=SMALL)
def eigh(a: Host, *, lower: bool, vectors: bool) -> tuple[Host, ...]:
    """Ascending eigenvalues of Hermitian matrices, and vectors where asked for; reads one triangle."""
    half: Any = "L" if lower else "U"
    return tuple(np.linalg.eigh(a, half)) if vectors else (np.linalg.eigvalsh(a, half),)


@routine(sized=False, small=SMALL)
def eig(a: Host, *, vectors: bool) -> tuple[Host, ...]:
    """Eigenvalues of square matrices, complex in any case, and vectors (of length one) where asked for."""
    found = tuple(np.linalg.eig(a)) if vectors else (np.linalg.eigvals(a),)
    return tuple(each.astype(np.result_type(a.dtype, np.complex64), copy=False) for each in found)


@routine(sized=False, small=SMALL)
def svd(a: Host, *, full: bool, vectors: bool) -> tuple[Host, ...]:
    """Factors u, s and vh with descending singular values, or these alone."""
    return tuple(np.linalg.svd(a, full)) if vectors else (np.linalg.svd(a, compute_uv=False),)
