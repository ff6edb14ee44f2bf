"""``cupyx.lapack``: solutions by LAPACK's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom import linalg as ours
from numloom.array.convert import asarray
from numloom.cupyx.linalg import cho_solve

Array = Any
_DTYPES = "fdFD"


def gesv(a: Any, b: Any) -> Array:
    """The solution x of ``a x = b`` by LU factors, which is stored in `b`, too.

    Parameters
    ----------
    a : array_like
        A matrix of shape ``(M, M)``, of float32, float64, complex64 or complex128.
    b : array_like
        Of shape ``(M,)`` or ``(M, K)`` and the dtype of `a`.

    Returns
    -------
    ndarray
        Of the shape of `b`.

    Raises
    ------
    ValueError
        For shapes that do not go together.
    TypeError
        For another dtype, or two of them.
    LinAlgError
        If the matrix is singular.

    Examples
    --------
    >>> from numloom import cupyx
    >>> cupyx.lapack.gesv([[2.0, 0.0], [1.0, 4.0]], [2.0, 5.0])
    array([1., 1.])
    """
    matrix, right = _system(a, b)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"gesv takes a square matrix, got shape {matrix.shape}")
    result = ours.solve(matrix, right)
    if right is b:
        b[...] = result
    return result


def gels(a: Any, b: Any) -> Array:
    """The x of least norm that brings ``a x`` nearest to `b`.

    Parameters
    ----------
    a : array_like
        A matrix of shape ``(M, N)``, of float32, float64, complex64 or complex128.
    b : array_like
        Of shape ``(M,)`` or ``(M, K)`` and the dtype of `a`.

    Returns
    -------
    ndarray
        Of shape ``(N,)`` or ``(N, K)``.

    Raises
    ------
    ValueError
        For shapes that do not go together, and for two dtypes.
    TypeError
        For another dtype.

    Examples
    --------
    >>> from numloom import cupyx
    >>> cupyx.lapack.gels([[1.0], [1.0]], [1.0, 3.0])
    array([2.])
    """
    return ours.lstsq(*_system(a, b, ValueError), rcond=None)[0]


def posv(a: Any, b: Any) -> Array:
    """The solution x of ``a x = b`` for symmetric or Hermitian matrices that are positive definite.

    Parameters
    ----------
    a : array_like
        Of shape ``(..., M, M)``; what is above the diagonal is not looked at.
    b : array_like
        Of shape ``(..., M)`` or ``(..., M, K)``.

    Returns
    -------
    ndarray
        Of the shape of `b`.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite.

    Examples
    --------
    >>> from numloom import cupyx
    >>> cupyx.lapack.posv([[4.0, 2.0], [2.0, 5.0]], [8.0, 8.0])
    array([1.5, 1. ])
    """
    return cho_solve((ours.cholesky(a), True), b, check_finite=False)


def potrs(L: Any, b: Any, lower: bool) -> Array:
    """The solution by Cholesky's factor, as `cupyx.linalg.cho_solve` finds it.

    >>> from numloom import cupyx
    >>> cupyx.lapack.potrs([[2.0, 0.0], [1.0, 2.0]], [8.0, 8.0], True)
    array([1.5, 1. ])
    """
    return cho_solve((L, lower), b, check_finite=False)


def _system(a: Any, b: Any, mixed: type[Exception] = TypeError) -> tuple[Array, Array]:
    matrix, right = asarray(a), asarray(b)
    if matrix.ndim != 2:
        raise ValueError(f"a must be a matrix, of two axes, got shape {matrix.shape}")
    if right.ndim not in (1, 2):
        raise ValueError(f"b must be a vector or a matrix, got shape {right.shape}")
    if matrix.shape[0] != right.shape[0]:
        raise ValueError(f"as many rows of a as of b are needed, got shapes {matrix.shape} and {right.shape}")
    if matrix.dtype != right.dtype:
        raise mixed(f"a and b must have one dtype, got {matrix.dtype} and {right.dtype}")
    if np.dtype(matrix.dtype).char not in _DTYPES:
        raise TypeError(f"unsupported dtype {matrix.dtype}: use float32, float64, complex64 or complex128")
    return matrix, right


__all__ = ["gels", "gesv", "posv", "potrs"]
