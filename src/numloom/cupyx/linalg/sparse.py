"""``cupyx.linalg.sparse``: a sparse system by Cholesky's factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.sparse import host
from numloom.sparse.formats import csr_matrix, issparse

Array = Any


def lschol(A: Any, b: Any) -> Array:
    """The solution x of ``A x = b`` for a sparse matrix that is symmetric and positive definite; on the host, by SciPy.

    Parameters
    ----------
    A : sparse matrix or array_like
        Real, of shape ``(M, M)``.
    b : array_like
        Of shape ``(M,)``.

    Returns
    -------
    ndarray
        Of float32 where `A` has that dtype, of float64 else.

    Raises
    ------
    ValueError
        If `b` does not go with `A`.
    LinAlgError
        If `A` is not square, or not positive definite.

    Examples
    --------
    >>> from numloom import cupyx
    >>> cupyx.linalg.sparse.lschol([[4.0, 2.0], [2.0, 5.0]], [8.0, 8.0])
    array([1.5, 1. ])
    """
    from scipy.sparse.linalg import splu

    matrix, right = A if issparse(A) else csr_matrix(asarray(A)), asarray(b)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise np.linalg.LinAlgError(f"lschol takes a square matrix, got shape {matrix.shape}")
    if right.ndim != 1 or right.shape[0] != matrix.shape[0]:
        raise ValueError(f"b is a vector of {matrix.shape[0]} numbers for this matrix, got shape {right.shape}")
    dtype = np.dtype(np.float32 if matrix.dtype == np.float32 else np.float64)
    given = host.view(matrix).tocsc().astype(dtype)
    try:  # Without pivoting the factors are Cholesky's, but for a diagonal, which is positive where the matrix is.
        factors = splu(given, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:
        raise np.linalg.LinAlgError(f"the matrix is singular: {error}") from None
    if (factors.perm_r != factors.perm_c).any() or not (factors.U.diagonal() > 0).all():
        raise np.linalg.LinAlgError("the matrix is not positive definite: use spsolve")
    return asarray(factors.solve(right.get().astype(dtype)))


__all__ = ["lschol"]
