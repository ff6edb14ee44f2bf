"""Functions of ``cupyx.scipy`` where CuPy asks for something else than SciPy does."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.cupyx.scipy.host import call

Array = Any


def bandwidth(a: Any) -> tuple[int, int]:
    """How many diagonals below and above the main one a matrix reaches.

    Parameters
    ----------
    a : array_like
        A matrix of any dtype.

    Returns
    -------
    tuple of int
        The lower and the upper bandwidth.

    Raises
    ------
    LinAlgError
        If `a` has not two axes.

    Examples
    --------
    >>> bandwidth([[1, 2, 3], [0, 4, 5], [0, 6, 7]])
    (1, 2)
    """
    matrix = asarray(a)
    if matrix.ndim != 2:
        raise np.linalg.LinAlgError(f"bandwidth takes a matrix, of two axes, got shape {matrix.shape}")
    rows, columns = (each.get() for each in (matrix != 0).nonzero())
    if not len(rows):
        return 0, 0
    return max(int((rows - columns).max()), 0), max(int((columns - rows).max()), 0)


def khatri_rao(a: Any, b: Any) -> Array:
    """The Kronecker products of the columns of two matrices, column by column.

    Parameters
    ----------
    a, b : array_like
        Matrices with as many columns as each other.

    Returns
    -------
    ndarray

    Raises
    ------
    LinAlgError
        If one has not two axes.
    ValueError
        If they have not as many columns as each other.

    Examples
    --------
    >>> khatri_rao([[1, 2], [3, 4]], [[1, 10]])
    array([[ 1, 20],
           [ 3, 40]])
    """
    one, other = asarray(a), asarray(b)
    if one.ndim != 2 or other.ndim != 2:
        raise np.linalg.LinAlgError(f"khatri_rao takes matrices, of two axes, got shapes {one.shape} and {other.shape}")
    if one.shape[1] != other.shape[1]:
        raise ValueError(f"khatri_rao takes matrices of as many columns, got {one.shape[1]} and {other.shape[1]}")
    return (one[:, None, :] * other[None, :, :]).reshape(-1, one.shape[1])


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = False,
) -> Array:
    """What a triangular matrix maps to `b`, for one matrix or a stack of them; on the host, by SciPy.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., M, M)``.
    b : array_like
        Of shape ``(..., M)`` or ``(..., M, N)``. With one axis less than a stack of matrices it is a stack of
        vectors, as in CuPy; SciPy takes it for a matrix that goes with each matrix of the stack.
    trans : {0, 1, 2, "N", "T", "C"}
        Whether the matrix is taken as it is, transposed, or transposed and conjugated.
    lower : bool
        Whether the triangle below the diagonal counts; else the one above.
    unit_diagonal : bool
        Whether the diagonal is taken to be 1.
    overwrite_b : bool
        Taken and without meaning.
    check_finite : bool
        Whether infinities and NaN are refused.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> solve_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0], lower=True)
    array([1., 2.])
    """
    from scipy.linalg import solve_triangular as scipys

    matrix, right = asarray(a), asarray(b)
    vectors = matrix.ndim > 2 and right.ndim == matrix.ndim - 1
    options = {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal, "check_finite": check_finite}
    result = call(scipys, (matrix, right[..., None] if vectors else right), options)
    return result[..., 0] if vectors else result


def value_indices(
    arr: Any, *, ignore_value: int | None = None, adaptive_index_dtype: bool = False
) -> dict[int, tuple[Array, ...]]:
    """Where in an array of integers each of its values is; on the host, by SciPy.

    Parameters
    ----------
    arr : array_like
        Of integers.
    ignore_value : int, optional
        A value that is left out.
    adaptive_index_dtype : bool
        Whether indices have the smallest signed integers that hold the array's shape; else they are int64.

    Returns
    -------
    dict
        By the value a tuple with the indices along each axis.

    Raises
    ------
    ValueError
        If the array is not of integers.

    Examples
    --------
    >>> value_indices([7, 4, 7], adaptive_index_dtype=True)[7]
    (array([0, 2], dtype=int8),)
    """
    from scipy.ndimage import value_indices as scipys

    array = asarray(arr)
    found: dict[int, tuple[Array, ...]] = call(scipys, (array,), {"ignore_value": ignore_value})
    if not adaptive_index_dtype:
        return found
    dtype = np.min_scalar_type(-max(array.shape, default=0) - 1)
    return {value: tuple(along.astype(dtype) for along in indices) for value, indices in found.items()}


__all__ = ["bandwidth", "khatri_rao", "solve_triangular", "value_indices"]
