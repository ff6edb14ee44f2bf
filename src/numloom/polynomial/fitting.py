"""Least squares for fits: many equations, few unknowns.

Systems of some size are brought to triangular form on the device, by Householder reflections (Golub
and Van Loan, Matrix Computations, section 5.2): one pass of sums and one of updates for each
unknown, all of it recorded. What is left, a small triangle with the same singular values and the
same solutions, is solved on the host by NumPy's `lstsq`. Normal equations would be fewer passes,
but square the condition number.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from numloom.api.conditions import unless
from numloom.api.creation import arange, empty, zeros
from numloom.api.elementwise import conj, sqrt, where
from numloom.api.joining import stack
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.array.views import constant_of, has_no_number, in_tree

Array = Any
Host = np.ndarray[Any, Any]

HOST_ELEMENTS = 1 << 15
"""Up to so many elements of the matrix a system is solved on the host."""


def is_small(rows: int, unknowns: int) -> bool:
    """Whether a system is better solved on the host."""
    return rows * max(unknowns, 1) <= HOST_ELEMENTS or rows <= unknowns


def triangle(matrix: Array, right: Array) -> tuple[Host, Host, Array]:
    """The triangular form of a tall system, and what it leaves over.

    Parameters
    ----------
    matrix : ndarray
        M by K, with M > K.
    right : ndarray
        M by N.

    Returns
    -------
    triangle : numpy.ndarray
        K by K, upper triangular: the R of a QR decomposition.
    right : numpy.ndarray
        The first K rows of Q's adjoint times `right`.
    residuals : ndarray
        Sums of squares of the other rows: the least sums of squares of the system, if it has full rank.
    """
    rows, unknowns = matrix.shape
    columns = unknowns + right.shape[1]
    dtype = np.result_type(matrix.dtype, right.dtype, np.float64)
    work = empty((rows, columns), dtype, order="F")
    work[:, :unknowns] = matrix
    work[:, unknowns:] = right
    diagonal = zeros(unknowns, dtype)
    for k in range(unknowns):
        # The reflection that maps x to a multiple of the first unit vector: v = x + phase * |x| * e1. Its products
        # with the columns need only the products of x, whose first is |x|^2.
        x = work[k:, k]
        products = (conj(x)[:, None] * work[k:, k:]).sum(axis=0)
        norm = sqrt(products[0].real)
        size = abs(x[0])
        phase = where(size == 0, 1, x[0] / where(size == 0, 1, size))
        reflected = phase * norm
        scale = norm * (norm + size)
        weights = (products[1:] + conj(reflected) * work[k, k + 1 :]) / where(scale == 0, 1, scale)
        v = x + where(arange(rows - k) == 0, reflected, 0)
        diagonal[k] = -reflected
        work[k:, k + 1 :] -= v[:, None] * weights
    tail = work[unknowns:, unknowns:]
    residuals = (tail.real**2 + tail.imag**2 if dtype.kind == "c" else tail * tail).sum(axis=0)
    head = work[:unknowns].get()
    upper = np.triu(head[:, :unknowns], 1)
    np.fill_diagonal(upper, diagonal.get())
    return upper, head[:, unknowns:], residuals


def lstsq(matrix: Array, right: Array, rcond: float) -> tuple[Array, Array, Any, Array]:
    """Least-squares solution of a tall system, as `numpy.linalg.lstsq` gives it.

    Parameters
    ----------
    matrix : ndarray
        M by K.
    right : ndarray
        M, or M by N.
    rcond : float
        Singular values below this part of the largest one count as zero.

    Returns
    -------
    solution, residuals : ndarray
        K (by N), and N sums of squares (none if the rank is not K or M is not above K).
    rank : int
        Effective rank.
    singular : ndarray
        Singular values.
    """
    dtype = np.result_type(matrix.dtype, right.dtype)
    if "e" in (matrix.dtype.char, right.dtype.char):
        raise TypeError("array type float16 is unsupported in linalg")
    rows, unknowns = matrix.shape
    if in_tree(matrix, right):
        return _recorded(matrix, right, rcond)
    if is_small(rows, unknowns):
        solution, residuals, rank, singular = np.linalg.lstsq(matrix.get(), right.get(), rcond)
        return asarray(solution), asarray(residuals), rank, asarray(singular)
    flat = right.ndim == 1
    upper, head, left_over = triangle(matrix, right[:, None] if flat else right)
    solution, _, rank, singular = np.linalg.lstsq(upper, head, rcond)
    real = np.empty(0, dtype).real.dtype
    residuals = left_over.astype(real) if rank == unknowns else zeros(0, real)
    solution = solution[:, 0] if flat else solution
    return asarray(solution.astype(dtype)), residuals, rank, asarray(singular.astype(real))


def _recorded(matrix: Array, right: Array, rcond: float) -> tuple[Array, Array, Any, Array]:
    """`lstsq` in a tree, of systems that have one solution: what that is decided by is looked at.

    By the modified Gram-Schmidt process with the right sides as further columns (Golub and Van Loan, section 5.3.5).
    Where nothing is known, who looks at a solution that is one of many gets the error; there are no singular values.
    """
    rows, unknowns = matrix.shape
    waits = has_no_number(matrix)
    rank, singular = unknowns, np.empty(0)
    if not waits:
        _, _, rank, singular = np.linalg.lstsq(constant_of(matrix).get(), constant_of(right).get(), rcond)
    if rank != unknowns:
        # Then it is the shortest of many solutions, which has no rule.
        matrix.get(), right.get()
    columns = [matrix[:, k, None] for k in range(unknowns)]
    rest = right[:, None] if right.ndim == 1 else right
    factors: list[list[Array]] = []
    heads: list[Array] = []
    for k in range(unknowns):
        column = columns[k]
        length = sqrt((column * conj(column)).real.sum())
        unit = column / length
        factors.append([length, *[(conj(unit) * other).sum() for other in columns[k + 1 :]]])
        heads.append((conj(unit) * rest).sum(axis=0))
        columns[k + 1 :] = [
            other - unit * factor for other, factor in zip(columns[k + 1 :], factors[k][1:], strict=True)
        ]
        rest = rest - unit * heads[k]
    solved: list[Array] = []
    for k in range(unknowns - 1, -1, -1):
        known = heads[k]
        for factor, value in zip(factors[k][1:], solved, strict=True):
            known = known - factor * value
        solved.insert(0, known / factors[k][0])
    solution = stack(solved)
    if waits:
        short = [row[0] <= rcond for row in factors]  # Columns of length 1 were given.
        solution = unless(
            stack(short).any(), solution, np.linalg.LinAlgError, "the data do not determine the coefficients"
        )
    residuals = (rest * conj(rest)).real.sum(axis=0) if rows > unknowns else zeros(0, singular.dtype)
    return solution[:, 0] if right.ndim == 1 else solution, residuals, rank, asarray(singular)


def data_of(x: Any) -> Array:
    """Data of a fit as an array; integers and booleans as float64."""
    array: Any = x if type(x) is ndarray else asarray(x)
    return array.astype(float) if array.dtype.kind in "bui" else array


def check_data(x: Array, y: Array, w: Array | None) -> None:
    """NumPy's TypeErrors for points, values and weights that do not fit together."""
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if w is not None and w.ndim != 1:
        raise TypeError("expected 1D vector for w")
    if w is not None and x.shape[0] != w.shape[0]:
        raise TypeError("expected x and w to have same length")


def fit(matrix: Array, y: Array, w: Array | None, rcond: float) -> tuple[Array, list[Any], Array]:
    """Weighted fit of columns to values; columns are scaled to length 1 first, which helps the condition.

    Parameters
    ----------
    matrix : ndarray
        The functions at the points, a column each.
    y : ndarray
        Values, a vector or several as columns.
    w : ndarray or None
        A weight for each point.
    rcond : float
        As for `lstsq`.

    Returns
    -------
    coefficients : ndarray
        As many as columns (by as many as right sides).
    report : list
        Residuals, rank, singular values, rcond.
    scale : ndarray
        Lengths of the (weighted) columns.
    """
    if w is not None:
        matrix = matrix * w[:, None]
        y = y * (w[:, None] if y.ndim == 2 else w)
    squares = matrix.real**2 + matrix.imag**2 if matrix.dtype.kind == "c" else matrix * matrix
    scale = sqrt(squares.sum(axis=0))
    scale = where(scale == 0, 1, scale)
    solution, residuals, rank, singular = lstsq(matrix / scale, y, rcond)
    return (solution.T / scale).T, [residuals, rank, singular, rcond], scale


def warn_of_rank(stacklevel: int) -> None:
    """NumPy's warning that a fit is not determined."""
    warnings.warn("The fit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=stacklevel + 1)


__all__ = ["check_data", "data_of", "fit", "is_small", "lstsq", "triangle", "warn_of_rank"]
