"""``cupyx.linalg``: inverses and solutions by Cholesky's factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom import linalg as ours
from numloom.api.elementwise import isfinite
from numloom.api.matrices import tril, triu
from numloom.array.convert import asarray
from numloom.cupyx.linalg import sparse

Array = Any


def invh(a: Any) -> Array:
    """The inverse of a symmetric or Hermitian matrix that is positive definite.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., M, M)``; what is above the diagonal is not looked at.

    Returns
    -------
    ndarray
        Of the shape of `a`.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite, or `a` is no square matrix.

    Examples
    --------
    >>> from numloom import cupyx
    >>> cupyx.linalg.invh([[4.0, 0.0], [0.0, 2.0]])
    array([[0.25, 0.  ],
           [0.  , 0.5 ]])
    """
    inverse = ours.inv(ours.cholesky(a))
    return inverse.swapaxes(-2, -1).conj() @ inverse


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    """The solution x of ``A x = b`` by Cholesky's factor of A.

    Parameters
    ----------
    c_and_lower : tuple of array_like and bool
        The factor, of shape ``(..., M, M)``, and whether it is the lower one, of ``A = L @ L.conj().T``; else the
        upper one, of ``A = U.conj().T @ U``. The other triangle is not looked at.
    b : array_like
        Of shape ``(..., M)``, one axis less than the factor, or ``(..., M, N)``.
    overwrite_b : bool
        Taken and without meaning: `b` stays as it is.
    check_finite : bool
        Whether infinities and NaN are refused.

    Returns
    -------
    ndarray
        Of the shape of `b`.

    Raises
    ------
    ValueError
        For shapes that do not go together, and for infinities and NaN.
    LinAlgError
        If the factor is not square, or has a zero on its diagonal.

    Examples
    --------
    >>> import numloom as nl
    >>> from numloom import cupyx
    >>> a = nl.array([[4.0, 2.0], [2.0, 5.0]])
    >>> cupyx.linalg.cho_solve((nl.linalg.cholesky(a), True), [8.0, 8.0])
    array([1.5, 1. ])
    """
    c, lower = c_and_lower
    factor, right = asarray(c), asarray(b)
    if factor.ndim < 2 or factor.shape[-1] != factor.shape[-2]:
        raise np.linalg.LinAlgError(f"cho_solve takes a square factor, got shape {factor.shape}")
    vectors = right.ndim == factor.ndim - 1
    if right.shape[: factor.ndim - 1] != factor.shape[:-1] or not factor.ndim - 1 <= right.ndim <= factor.ndim:
        raise ValueError(f"a factor of shape {factor.shape} does not go with b of shape {right.shape}")
    factor = tril(factor) if lower else triu(factor)
    if check_finite and not (isfinite(factor).all() and isfinite(right).all()):
        raise ValueError("array must not contain infs or NaNs: clean it, or give check_finite=False")
    adjoint = factor.swapaxes(-2, -1).conj()
    first, second = (factor, adjoint) if lower else (adjoint, factor)
    result = ours.solve(second, ours.solve(first, right[..., None] if vectors else right))
    return result[..., 0] if vectors else result


__all__ = ["cho_solve", "invh", "sparse"]
