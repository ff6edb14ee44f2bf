"""Linear equations: solutions, inverses, determinants, least squares."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from numloom.api.at_once import at_once
from numloom.api.creation import empty, zeros
from numloom.api.elementwise import conjugate, isinf, where
from numloom.api.joining import concatenate
from numloom.api.products import matmul
from numloom.api.reductions import max as largest
from numloom.api.reductions import sum as total
from numloom.api.ufunc import NO_VALUE
from numloom.array.convert import asarray
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import DTYPES
from numloom.device.registry import current
from numloom.engine.routines import call
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes
from numloom.linalg.arguments import REAL, WIDE, factored, matrices, square_matrices, working_code
from numloom.linalg.decompositions import qr, svd
from numloom.linalg.norms import squares
from numloom.ops.factorizations import SMALL

Array = Any


class SlogdetResult(NamedTuple):
    """Results of `slogdet`."""

    sign: Array
    logabsdet: Array


@at_once(lambda a, b: np.linalg.solve(a, b) if b.ndim == 1 or a.ndim == b.ndim == 2 else None, most=SMALL // 2)
def solve(a: Any, b: Any) -> Array:
    """Solutions x of ``a @ x = b``.

    Parameters
    ----------
    a : array_like of shape (..., n, n)
        Matrices.
    b : array_like of shape (n,) or (..., n, k)
        Right sides: a vector, or matrices of right sides in their columns. Leading axes broadcast.

    Returns
    -------
    ndarray of shape (..., n) or (..., n, k)

    Raises
    ------
    LinAlgError
        If a matrix is singular.
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> import numloom as np
    >>> np.linalg.solve([[3.0, 1.0], [1.0, 2.0]], [9.0, 8.0])
    array([2., 3.])
    """
    left, right = square_matrices(a), asarray(b)
    vector = right.ndim == 1
    name, signature = ("solve1", "(m,m),(m)->(m)") if vector else ("solve", "(m,m),(m,n)->(m,n)")
    if right.ndim == 0:
        raise ValueError(
            f"{name}: Input operand 1 does not have enough dimensions (has 0, gufunc core with signature {signature} "
            "requires 2)"
        )
    code = working_code(left, right)
    sides = right[:, None] if vector else right
    n = left.shape[-1]
    if sides.shape[-2] != n:
        raise ValueError(
            f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature {signature} "
            f"(size {sides.shape[-2]} is different from {n})"
        )
    broadcast_shapes(left.shape[:-2], sides.shape[:-2])
    result = wrap(call("solve", build.cast(node_of(left), code), build.cast(node_of(sides), code)))
    return result.reshape(result.shape[:-1]) if vector else result


@at_once(lambda a: np.linalg.inv(a), most=SMALL)
def inv(a: Any) -> Array:
    """Inverses of square matrices.

    Parameters
    ----------
    a : array_like of shape (..., n, n)
        Matrices.

    Returns
    -------
    ndarray of shape (..., n, n)

    Raises
    ------
    LinAlgError
        If a matrix is singular. To multiply by an inverse, use `solve`, which is faster and more accurate.
    """
    array = square_matrices(a)
    return factored("inv", array, working_code(array), check=True)[0]


@at_once(lambda a: np.linalg.det(a), most=SMALL)
def det(a: Any) -> Array:
    """Determinants of square matrices.

    Parameters
    ----------
    a : array_like of shape (..., n, n)
        Matrices.

    Returns
    -------
    ndarray of shape (...)
        May overflow or vanish where `slogdet` does not.
    """
    array = square_matrices(a)
    return factored("det", array, working_code(array))[0]


def slogdet(a: Any) -> SlogdetResult:
    """Determinants of square matrices as a sign and the logarithm of the magnitude.

    Parameters
    ----------
    a : array_like of shape (..., n, n)
        Matrices.

    Returns
    -------
    SlogdetResult
        ``sign`` (of magnitude 1, or 0) and ``logabsdet``: the determinant is ``sign * exp(logabsdet)``.
    """
    array = square_matrices(a)
    return SlogdetResult(*factored("slogdet", array, working_code(array)))


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NO_VALUE) -> Array:
    """Pseudo-inverses of matrices (Moore and Penrose), by singular values.

    Parameters
    ----------
    a : array_like of shape (..., m, n)
        Matrices.
    rcond : array_like, optional
        Singular values up to this part of the largest count as zero; 1e-15 by default.
    hermitian : bool
        Take the matrices for Hermitian, which is faster.
    rtol : array_like or None, optional
        The same as `rcond`; None: ``max(m, n)`` times the dtype's epsilon.

    Returns
    -------
    ndarray of shape (..., n, m)

    Raises
    ------
    LinAlgError
        If singular values do not converge.
    ValueError
        If both tolerances are given.
    """
    array = asarray(a)
    if rcond is None:
        if rtol is NO_VALUE:
            rcond = 1e-15
        else:
            rcond = max(array.shape[-2:]) * np.finfo(array.dtype).eps if rtol is None else rtol
    elif rtol is not NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if array.size == 0 and prod(array.shape[-2:]) == 0:
        return empty((*array.shape[:-2], *array.shape[:-3:-1]), array.dtype)
    array = matrices(array)
    code = working_code(array)
    # In double precision, as NumPy: the default bound is below single precision's noise.
    u, s, vh = svd(conjugate(array).astype(DTYPES[WIDE[code]]), full_matrices=False, hermitian=hermitian)
    large = s > asarray(rcond)[..., None] * largest(s, -1, keepdims=True)
    scale = where(large, 1 / where(large, s, 1.0), 0.0)
    return matmul(vh.mT, scale[..., None] * u.mT).astype(DTYPES[code], copy=False)


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Array, Array, Array, Array]:
    """Least squares: the x that makes ``norm(b - a @ x)`` smallest, and of several the shortest.

    By singular values, in double precision; waits for the rank.

    Parameters
    ----------
    a : array_like of shape (m, n)
        The matrix.
    b : array_like of shape (m,) or (m, k)
        Right sides.
    rcond : float, optional
        Singular values up to this part of the largest count as zero; by default ``max(m, n)`` times the epsilon of
        double precision. What is not between 0 and 1 means half of that epsilon.

    Returns
    -------
    x : ndarray of shape (n,) or (n, k)
        Solutions.
    residuals : ndarray of shape (k,)
        Sums of squares of ``b - a @ x``; empty if the rank is below n or m is not above n.
    rank : ndarray
        The rank of `a` (int32).
    s : ndarray of shape (min(m, n),)
        Singular values.

    Raises
    ------
    LinAlgError
        If `a` or `b` has a wrong number of dimensions, their rows differ, or singular values do not converge (those
        of a matrix with infinities do not).

    Examples
    --------
    >>> import numloom as np
    >>> x, residuals, rank, s = np.linalg.lstsq([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1.0, 3.0, 5.0])
    >>> x.round(6)
    array([2., 1.])
    """
    left, right = asarray(a), asarray(b)
    vector = right.ndim == 1
    sides = right[:, None] if vector else right
    for array in (left, sides):
        if array.ndim != 2:
            raise LinAlgError(f"{array.ndim}-dimensional array given. Array must be two-dimensional")
    m, n = left.shape
    if sides.shape[0] != m:
        raise LinAlgError("Incompatible dimensions")
    code = working_code(left, right)
    dtype, real = DTYPES[code], DTYPES[REAL[code]]
    wide = DTYPES[WIDE[code]]
    left, sides = left.astype(wide, copy=False), sides.astype(wide, copy=False)
    eps = float(np.finfo(float).eps)
    bound = eps * max(m, n) if rcond is None else float(rcond)
    if bound <= 0 or (bound >= 1 and rcond is not None):  # as LAPACK reads them
        bound = eps / 2
    infinite = isinf(left).any()
    waits = node_of(infinite).tree
    # Of a tall matrix, its triangle has the same singular values, and what is beside that are the sides turned with it.
    # On a GPU triangles of numbers whose squares underflow are not as good.
    tall = not (waits or current().discrete) and 2 * (n + sides.shape[1]) <= m and n > 0
    square, turned = left, sides
    if tall:
        triangle = qr(concatenate((left, sides.astype(left.dtype, copy=False)), 1), mode="r")
        square, turned = triangle[:n, :n], triangle[:n, n:]
    try:
        u, s, vh = svd(square, full_matrices=False)
    except LinAlgError as error:
        raise LinAlgError("SVD did not converge in Linear Least Squares") from error
    if not waits and infinite:
        raise LinAlgError("SVD did not converge in Linear Least Squares")
    large = s > bound * largest(s, initial=0) if bound == bound else s > 0
    number = total(large)
    # In a tree, where nobody can look, all columns are taken to count.
    rank = n if waits else int(number)
    scale = where(large, 1 / where(large, s, 1.0), 0.0)
    x = matmul(conjugate(vh.mT), scale[:, None] * matmul(conjugate(u.mT), turned))
    if rank == n and m > n and sides.shape[1]:
        residuals = total(wrap(squares(sides - matmul(left, x))), 0).astype(real, copy=False)
    else:
        residuals = zeros(0, real)
    x = x[:, 0] if vector else x
    return (
        x.astype(dtype),
        residuals,
        number.astype(np.int32) if waits else asarray(np.int32(rank)),
        s.astype(real, copy=False),
    )


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """Solutions x of ``tensordot(a, x, x.ndim) = b``.

    Parameters
    ----------
    a : array_like
        Coefficients of shape ``b.shape + x.shape``, of as many elements in either part.
    b : array_like
        Right side.
    axes : sequence of int, optional
        Axes of `a` to move to its end first.

    Raises
    ------
    LinAlgError
        If `a` is singular or its two parts differ in size.
    """
    left, right = asarray(a), asarray(b)
    if axes is not None:
        order = list(range(left.ndim))
        for axis in axes:
            order.remove(axis)
            order.append(axis)
        left = left.transpose(order)
    shape = left.shape[-(left.ndim - right.ndim) :]
    count = prod(shape)
    if left.size != count**2:
        raise LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return solve(left.reshape(count, count), right.ravel()).reshape(shape)


def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse of an array as an operator: ``tensordot(tensorinv(a, ind), a, ind)`` is the identity.

    Parameters
    ----------
    a : array_like
        Of as many elements in its first `ind` axes as in the others.
    ind : int
        How many axes those of the result end with.

    Raises
    ------
    LinAlgError
        If `a` is singular or its two parts differ in size.
    ValueError
        If `ind` is not positive.
    """
    array = asarray(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    first, last = array.shape[:ind], array.shape[ind:]
    return inv(array.reshape(prod(last), -1)).reshape(last + first)


__all__ = [
    "LinAlgError",
    "SlogdetResult",
    "det",
    "inv",
    "lstsq",
    "pinv",
    "slogdet",
    "solve",
    "tensorinv",
    "tensorsolve",
]
