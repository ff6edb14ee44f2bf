"""Products and diagonals of matrices in their last axes, as the array API standard has them; chains and powers."""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError

from numloom.api import products
from numloom.api.calling import Replayed, recalled
from numloom.api.indexing import diagonal as diagonal_of
from numloom.api.manipulation import atleast_2d, broadcast_to
from numloom.api.matrices import eye
from numloom.api.products import dot
from numloom.array.convert import asarray
from numloom.base.given import as_sequence
from numloom.base.integers import as_integer
from numloom.linalg.arguments import square_matrices
from numloom.linalg.equations import inv

Array = Any


def matmul(x1: Any, x2: Any, /) -> Array:
    """Matrix products over the last two axes, leading axes broadcast."""
    return products.matmul(x1, x2)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Inner products along an axis, the first operand conjugated."""
    return products.vecdot(x1, x2, axis=axis)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """Products summed over pairs of axes: the last `axes` of `x1` with the first of `x2`, or two lists of axes."""
    return products.tensordot(x1, x2, axes=axes)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Cross products of vectors of three elements along an axis."""
    a, b = asarray(x1), asarray(x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {a.shape[axis]} and "
            f"{b.shape[axis]} dimensional instead."
        )
    return products.cross(a, b, axis=axis)


def outer(x1: Any, x2: Any, /) -> Array:
    """Products of every element of one vector with every element of another."""
    a, b = asarray(x1), asarray(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={a.ndim!r} and x2.ndim={b.ndim!r}."
        )
    return products.outer(a, b)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """A read-only view of the diagonals of matrices."""
    return diagonal_of(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Sums along the diagonals of matrices."""
    return products.trace(x, offset, -2, -1, dtype=dtype)


def matrix_power(a: Any, n: int) -> Array:
    """Square matrices multiplied by themselves, by repeated squaring.

    Parameters
    ----------
    a : array_like of shape (..., m, m)
        Matrices.
    n : int
        The power; of a negative one the inverses are taken.

    Raises
    ------
    LinAlgError
        If the matrices are not square, or have no inverse and need it.
    TypeError
        If `n` is no integer.
    """
    array = square_matrices(a)
    try:
        n = as_integer(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    return recalled(_POWER, n, (array,)) if n >= 0 else _matrix_power(-n, inv(array))


def _matrix_power(n: int, array: Array) -> Array:
    if n == 0:
        return broadcast_to(eye(array.shape[-1], dtype=array.dtype), array.shape).copy()
    result = None
    while True:
        n, odd = divmod(n, 2)
        if odd:
            result = array if result is None else products.matmul(result, array)
        if not n:
            return result
        array = products.matmul(array, array)


_POWER = Replayed(_matrix_power)


def multi_dot(arrays: Any, *, out: Array | None = None) -> Array:
    """The product of several matrices, in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array_like
        Two or more matrices; the first and the last may be vectors.
    out : ndarray, optional
        Where to put the result.

    Raises
    ------
    ValueError
        If there are fewer than two, or shapes do not fit.
    LinAlgError
        If one is not two-dimensional.

    Notes
    -----
    The order is found by dynamic programming (Cormen et al., Introduction to Algorithms, section 15.2).
    """
    if len(as_sequence(arrays, "multi_dot takes a sequence of matrices")) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(arrays) == 2:
        return dot(arrays[0], arrays[1], out=out)
    return recalled(_MULTI_DOT, None, tuple(arrays)) if out is None else _multi_dot(None, *arrays, out=out)


def _multi_dot(given: None, *arrays: Any, out: Array | None = None) -> Array:
    chain = [asarray(array) for array in arrays]
    row, column = chain[0].ndim == 1, chain[-1].ndim == 1
    chain[0] = atleast_2d(chain[0])
    if column:
        chain[-1] = chain[-1][:, None]
    for array in chain:
        if array.ndim != 2:
            raise LinAlgError(f"{array.ndim}-dimensional array given. Array must be two-dimensional")
    splits = _cheapest_splits([array.shape[0] for array in chain] + [chain[-1].shape[1]])

    def multiplied(first: int, last: int) -> Array:
        if first == last:
            return chain[first]
        split = splits[first, last]
        whole = out if (first, last) == (0, len(chain) - 1) else None
        return dot(multiplied(first, split), multiplied(split + 1, last), out=whole)

    result = multiplied(0, len(chain) - 1)
    if row and column:
        return result[0, 0]
    return result.ravel() if row or column else result


_MULTI_DOT = Replayed(_multi_dot)


def _cheapest_splits(extents: list[int]) -> dict[tuple[int, int], int]:
    """After which of matrices i to j their product is split; matrix k has shape ``extents[k : k + 2]``."""
    count = len(extents) - 1
    costs = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs[i, j], splits[i, j] = min(
                (costs[i, k] + costs[k + 1, j] + extents[i] * extents[k + 1] * extents[j + 1], k) for k in range(i, j)
            )
    return splits


__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_power",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]
