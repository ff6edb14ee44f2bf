"""Norms, and what is measured by singular values: condition and rank."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from numloom.api.calling import Replayed, frozen, recalled
from numloom.api.elementwise import absolute, isfinite, isnan, power, sqrt, where
from numloom.api.manipulation import moveaxis, normal_axes, normal_axis
from numloom.api.products import MULTIPLY
from numloom.api.reductions import any as any_true
from numloom.api.reductions import count_nonzero
from numloom.api.reductions import max as largest
from numloom.api.reductions import min as smallest
from numloom.api.reductions import sum as total
from numloom.api.running import deliver
from numloom.array.convert import asarray
from numloom.array.ndarray import node_of, wrap
from numloom.array.views import in_tree
from numloom.base.dtypes import DTYPES, F16, F64, KINDS, LOW
from numloom.graph import build
from numloom.graph.node import Node
from numloom.linalg.arguments import REAL, factored, square_matrices, working_code
from numloom.linalg.decompositions import svd
from numloom.ops.elementwise import ELEMENTWISE

Array = Any


def squares(x: Array) -> Node:
    """The value of squared magnitudes, real."""
    node = node_of(x)
    if KINDS[node.code] != "c":
        return build.binary(MULTIPLY, node, node)
    parts = [build.unary(ELEMENTWISE[part], node) for part in ("real", "imag")]
    return build.binary(ELEMENTWISE["add"], *(build.binary(MULTIPLY, part, part) for part in parts))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm of vectors along one axis, of matrices in two, or of all elements.

    Parameters
    ----------
    x : array_like
        Numbers; without `axis` of one or two dimensions, unless `ord` is None.
    ord : number or {"fro", "nuc"}, optional
        Of vectors: the exponent p in ``sum(abs(x)**p)**(1/p)``, the largest (inf) or smallest (-inf) magnitude, or
        how many are not zero (0). Of matrices: "fro" (or None; root of the sum of squares), "nuc" (sum of singular
        values), 2 and -2 (largest and smallest singular value), 1 and -1 (largest and smallest sum of magnitudes of
        a column), inf and -inf (of a row).
    axis : None, int or tuple of two ints
        Where the vectors or the matrices lie.
    keepdims : bool
        Keep the axes gone over, with extent 1.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        For an `ord` that there is not, or more than two axes.

    Examples
    --------
    >>> import numloom as np
    >>> np.linalg.norm([3.0, 4.0])
    array(5.)
    >>> np.linalg.norm([[1.0, -2.0], [3.0, 4.0]], 1)
    array(6.)
    """
    # Different ones of these are equal nowhere but 2 and 2.0, which their types tell apart.
    plain = type(axis) is not list and (ord is None or type(ord) in _ORDERS)
    given = frozen(axis) if plain else NotImplemented
    if given is NotImplemented:
        return _norm((ord, None, axis, keepdims), x)
    return recalled(_NORM, (ord, type(ord), given, bool(keepdims)), (x,))


_ORDERS = (int, float, str)


def _norm(given: tuple[Any, Any, Any, Any], x: Any) -> Array:
    ord, _, axis, keepdims = given
    array = _inexact(x)
    ndim = array.ndim
    if in_tree(ord) and (ndim if axis is None else np.size(axis)) != 1:
        ord = float(ord)  # Which of the norms of matrices follows from its number.
    if axis is None:
        if in_tree(ord):
            return _of_vectors(array, ord, (0,), keepdims)
        if ord is None or (ndim == 2 and ord in ("f", "fro")) or (ndim == 1 and ord == 2):
            return _euclidean(array, tuple(range(ndim)), keepdims)
        axis = tuple(range(ndim))
    axis = _as_tuple(axis)
    if len(axis) == 1:
        return _of_vectors(array, ord, axis, keepdims)
    if len(axis) == 2:
        rows, columns = (normal_axis(each, ndim) for each in axis)
        if rows == columns:
            raise ValueError("Duplicate axes given.")
        return _of_matrices(array, ord, rows, columns, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


_NORM = Replayed(_norm)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norm of vectors along an axis, of several axes taken as one, or of all elements.

    Parameters
    ----------
    x : array_like
        Numbers.
    axis : None, int or tuple of int
        Where the vectors lie.
    keepdims : bool
        Keep the axes gone over, with extent 1.
    ord : number
        As of `norm`.
    """
    array = _inexact(x)
    if array.ndim == 0 and axis is None:
        return _of_vectors(array.reshape(1), ord, (0,), False)
    axes = tuple(range(array.ndim)) if axis is None else normal_axes(_as_tuple(axis), array.ndim)
    return _of_vectors(array, ord, axes, keepdims)


def _as_tuple(axis: Any) -> tuple[Any, ...]:
    """An axis, or a tuple of some, as a tuple; norms take no lists, as NumPy's do not."""
    if isinstance(axis, tuple):
        return axis
    try:
        return (int(axis),)
    except Exception as error:
        raise TypeError("'axis' must be None, an integer or a tuple of integers") from error


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of the matrices in the last two axes; `ord` as of `norm`."""
    return norm(x, ord, (-2, -1), keepdims)


def _inexact(x: Any) -> Array:
    array = asarray(x)
    return array if KINDS[array.code] in "fc" and array.code not in LOW else wrap(build.cast(node_of(array), F64))


def _euclidean(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Roots of sums of squared magnitudes over axes: one kernel. Those of float16 are summed in float32."""
    wide = x.astype(np.float32) if x.code == F16 else x
    sums = total(deliver(squares(wide), (x,)), axes, keepdims=keepdims)
    return sqrt(sums).astype(DTYPES[REAL.get(x.code, x.code)], copy=False)


def _of_vectors(x: Array, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Norms along axes that count as one."""
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if in_tree(ord):
        return _of_power(x, ord, axes, keepdims)
    if ord is None or ord == 2:
        return _euclidean(x, axes, keepdims)
    if ord == np.inf:
        return largest(absolute(x), axes, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return smallest(absolute(x), axes, keepdims=keepdims)
    if ord == 0:
        return total((x != 0).astype(DTYPES[REAL.get(x.code, x.code)]), axes, keepdims=keepdims)
    if ord == 1:
        return total(absolute(x), axes, keepdims=keepdims)
    powers = total(power(absolute(x), float(ord)), axes, keepdims=keepdims)
    with np.errstate(all="ignore"):
        return power(powers, float(np.reciprocal(float(ord), dtype=powers.dtype)))


def _of_power(x: Array, ord: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Norms by an exponent of a tree."""
    if ord == 0 or not isfinite(ord):
        return _of_vectors(x, float(ord), axes, keepdims)
    ord = ord.astype(DTYPES[REAL.get(x.code, x.code)])
    return power(total(power(absolute(x), ord), axes, keepdims=keepdims), 1 / ord)


def _of_matrices(x: Array, ord: Any, rows: int, columns: int, keepdims: bool) -> Array:
    """Norms of matrices in two axes."""
    if ord in (2, -2, "nuc"):
        values = svd(moveaxis(x, (rows, columns), (-2, -1)), compute_uv=False)
        if ord == 2:
            result = largest(values, -1, initial=0)
        else:
            result = smallest(values, -1) if ord == -2 else total(values, -1)
    elif ord in (1, -1, np.inf, -np.inf):
        inner, outer = (rows, columns) if ord in (1, -1) else (columns, rows)
        sums = total(absolute(x), inner, keepdims=True)
        result = largest(sums, outer, keepdims=True, initial=0) if ord > 0 else smallest(sums, outer, keepdims=True)
    elif ord in (None, "fro", "f"):
        result = _euclidean(x, (rows, columns), False)
    else:
        raise ValueError("Invalid norm order for matrices.")
    kept = [1 if axis in (rows, columns) else extent for axis, extent in enumerate(x.shape)]
    gone = [extent for axis, extent in enumerate(x.shape) if axis not in (rows, columns)]
    return result.reshape(kept if keepdims else gone)


# ---------------------------------------------------------------- condition and rank


def cond(x: Any, p: Any = None) -> Array:
    """Condition numbers of matrices: the norm times that of the inverse.

    Parameters
    ----------
    x : array_like of shape (..., m, n)
        Matrices; square unless `p` is None, 2 or -2.
    p : {None, 1, -1, 2, -2, inf, -inf, "fro"}
        Order of the norm; None and 2: the ratio of the largest to the smallest singular value.

    Returns
    -------
    ndarray
        Infinite for singular matrices.

    Raises
    ------
    LinAlgError
        If `x` is empty.
    """
    array = asarray(x)
    if array.size == 0 and prod(array.shape[-2:]) == 0:
        raise LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        values = svd(array, compute_uv=False)
        first, last = values[..., 0], values[..., -1]
        ratio = last / first if p == -2 else first / last
    else:
        square_matrices(array)
        code = working_code(array)
        inverse = factored("inv", array, code, check=False)[0]
        ratio = norm(array, p, (-2, -1)) * norm(inverse, p, (-2, -1))
        ratio = ratio.astype(DTYPES[REAL[code]], copy=False)
    # Where no NaN was given, NaN comes of a matrix that has no inverse.
    result = where(isnan(ratio) & ~any_true(isnan(array), (-2, -1)), ratio.dtype.type(np.inf), ratio)
    result.is_scalar = not result.shape
    return result


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    """How many singular values of matrices are above a tolerance.

    Parameters
    ----------
    A : array_like of shape (..., m, n)
        Matrices; of a vector or a number: whether an element is not zero.
    tol : array_like, optional
        The tolerance (of each matrix).
    hermitian : bool
        Take the matrices for Hermitian, which is faster.
    rtol : array_like, optional
        The tolerance as part of the largest singular value; by default ``max(m, n)`` times the dtype's epsilon.

    Returns
    -------
    ndarray of int64

    Raises
    ------
    ValueError
        If both tolerances are given.
    """
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    array = asarray(A)
    if array.ndim < 2:
        return any_true(array != 0).astype(np.int64)
    values = svd(array, compute_uv=False, hermitian=hermitian)
    if tol is None:
        part = max(array.shape[-2:]) * np.finfo(values.dtype).eps if rtol is None else asarray(rtol)[..., None]
        bound = largest(values, -1, keepdims=True, initial=0) * part
    else:
        bound = asarray(tol)[..., None]
    return count_nonzero(values > bound, -1)


__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]
