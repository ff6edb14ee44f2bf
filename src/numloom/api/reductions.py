"""Reductions: sums, products, extremes, truth, positions, means and variances, over any axes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from numloom.api.calling import over_axes, reduced, replayed
from numloom.api.conditions import numpy_is_near, raised_where, unless
from numloom.api.elementwise import (
    UFUNCS,
    add,
    divide,
    isnan,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    sqrt,
    subtract,
)
from numloom.api.elementwise import where as choose
from numloom.api.manipulation import normal_axes as axes_in_order
from numloom.api.running import deliver
from numloom.api.ufunc import NO_VALUE, WHERE, check_out, finish, mask_of, node_at, normal_axes
from numloom.array.convert import asarray
from numloom.array.ndarray import bind, ndarray, node_of, wrap
from numloom.array.views import has_no_number
from numloom.base.dtypes import BOOL, DTYPES, F32, F64, I64, KINDS, LOW, ROUNDED, code_of, nan_of
from numloom.base.errors import casting_error
from numloom.base.given import as_flag
from numloom.base.integers import as_integer
from numloom.base.tracebacks import public
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes, broadcast_strides, k_strides
from numloom.graph.node import Node
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS

Array = Any

MEAN = REDUCTIONS["mean"]
VAR = REDUCTIONS["var"]
M2 = REDUCTIONS["m2"]
ISNAN = ELEMENTWISE["isnan"]
_REAL_CODE = {code_of("F"): F32, code_of("D"): F64}


# ---------------------------------------------------------------- combining elements


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Array:
    """The sum of the elements over axes.

    Parameters
    ----------
    a : array_like
        Values.
    axis : None, int or tuple of int
        Axes to go over; None for all.
    dtype : dtype, optional
        dtype to add in; by default that of `a`, small integers as int64 or uint64.
    out : ndarray, optional
        Where the result goes.
    keepdims : bool
        Whether the axes stay, with extent 1.
    initial : scalar, optional
        What the sum starts from.
    where : array_like of bool
        Which elements count.

    Returns
    -------
    ndarray
        0-d where NumPy gives a scalar: nothing waits.
    """
    if dtype is None and out is None and initial is NO_VALUE and where is True:
        return reduced(_SUM, a, axis, keepdims)
    return add.reduce(a, axis, dtype, out, _flag(keepdims), initial, _mask(where))


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Array:
    """The product of the elements over axes; arguments as for `sum`."""
    if dtype is None and out is None and initial is NO_VALUE and where is True:
        return reduced(_PROD, a, axis, keepdims)
    return multiply.reduce(a, axis, dtype, out, _flag(keepdims), initial, _mask(where))


def max(
    a: Any,
    axis: Any = None,
    out: Array | None = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Array:
    """The largest element over axes, NaN if there is one; arguments as for `sum`."""
    if out is None and initial is NO_VALUE and where is True:
        return reduced(_MAX, a, axis, keepdims)
    return maximum.reduce(a, axis, None, out, _flag(keepdims), initial, _mask(where))


def min(
    a: Any,
    axis: Any = None,
    out: Array | None = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Array:
    """The smallest element over axes, NaN if there is one; arguments as for `sum`."""
    if out is None and initial is NO_VALUE and where is True:
        return reduced(_MIN, a, axis, keepdims)
    return minimum.reduce(a, axis, None, out, _flag(keepdims), initial, _mask(where))


amax = max
amin = min


def any(a: Any, axis: Any = None, out: Array | None = None, keepdims: Any = False, *, where: Any = True) -> Array:
    """Whether an element over axes is not zero."""
    if out is None and where is True:
        return reduced(_ANY, a, axis, keepdims)
    return logical_or.reduce(a, axis, None, out, _flag(keepdims), NO_VALUE, _mask(where))


def all(a: Any, axis: Any = None, out: Array | None = None, keepdims: Any = False, *, where: Any = True) -> Array:
    """Whether no element over axes is zero."""
    if out is None and where is True:
        return reduced(_ALL, a, axis, keepdims)
    return logical_and.reduce(a, axis, None, out, _flag(keepdims), NO_VALUE, _mask(where))


@replayed
def ptp(a: Any, axis: Any = None, out: Array | None = None, keepdims: Any = False) -> Array:
    """The largest minus the smallest element over axes."""
    array = asarray(a)
    found = subtract(max(array, axis, keepdims=keepdims), min(array, axis, keepdims=keepdims))
    return found if out is None else finish(node_of(found), out, (array,), "ptp")


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Array:
    """How many elements over axes are not zero."""
    return reduced(_COUNT, a, axis, keepdims)


def _count(a: Any, axis: Any, keepdims: bool) -> Array:
    return add.reduce(deliver(build.cast(node_at(a), BOOL)), axis, np.int64, None, keepdims)


_SUM = over_axes(public(add.reduce))
_PROD = over_axes(public(multiply.reduce))
_MAX = over_axes(public(maximum.reduce))
_MIN = over_axes(public(minimum.reduce))
_ANY = over_axes(public(logical_or.reduce))
_ALL = over_axes(public(logical_and.reduce))
_COUNT = over_axes(public(_count))


def _flag(keepdims: Any) -> bool:
    return keepdims is not NO_VALUE and as_flag(keepdims)


def _truth(keepdims: Any) -> bool:
    """What `argmax` and `argmin` take anything for."""
    return keepdims is not NO_VALUE and bool(keepdims)


def _freedom(ddof: Any) -> Any:
    """What is taken from a count: a number."""
    if isinstance(ddof, (ndarray, np.ndarray, np.generic)) or type(ddof) in (int, float, bool):
        return ddof
    if not hasattr(type(ddof), "__float__"):
        raise TypeError(f"ddof and correction must be numbers, not {type(ddof).__name__}")
    return float(ddof)


def _mask(where: Any) -> Any:
    return True if where is NO_VALUE else where


# ---------------------------------------------------------------- positions


def argmax(a: Any, axis: int | None = None, out: Array | None = None, *, keepdims: Any = False) -> Array:
    """Position of the largest element (the first NaN if there is one) along an axis or of the flattened array."""
    if out is None:
        return reduced(_ARGMAX, a, axis, keepdims if type(keepdims) is bool else _truth(keepdims))
    return _position("argmax", a, axis, out, _truth(keepdims))


def argmin(a: Any, axis: int | None = None, out: Array | None = None, *, keepdims: Any = False) -> Array:
    """Position of the smallest element (the first NaN if there is one) along an axis or of the flattened array."""
    if out is None:
        return reduced(_ARGMIN, a, axis, keepdims if type(keepdims) is bool else _truth(keepdims))
    return _position("argmin", a, axis, out, _truth(keepdims))


@public
def _position(name: str, a: Any, axis: Any, out: Any = None, keepdims: bool = False) -> Array:
    node = node_at(a)
    ndim = len(node.shape)
    axes = (
        tuple(range(ndim))
        if axis is None
        else ()
        if not ndim and axis in (0, -1)
        else build.normalize_axes(as_integer(axis), ndim)
    )
    shape = tuple(1 if k in axes else extent for k, extent in enumerate(node.shape) if keepdims or k not in axes)
    if type(out) is ndarray:
        if out.shape != shape:
            raise ValueError(f"output array does not match result of np.{name}.")
        if not np.can_cast(out.dtype, np.int64):
            raise TypeError(f"Cannot cast array data from {out.dtype!r} to dtype('int64') according to the rule 'safe'")
    if not node.size:
        if any_zero(node, axes):
            raise ValueError(f"attempt to get {name} of an empty sequence")
        result = build.full(0, I64, shape)
    elif not axes:
        result = build.full(0, I64, shape)
    else:
        result = build.reduce(REDUCTIONS[name], node, axes, keepdims, I64)
    return finish(result, out, (a,), name, "unsafe")


_ARGMAX = over_axes(partial(_position, "argmax"))
_ARGMIN = over_axes(partial(_position, "argmin"))


def any_zero(node: Node, axes: tuple[int, ...]) -> bool:
    """Whether one of these axes has no elements."""
    return 0 in [node.shape[axis] for axis in axes]


# ---------------------------------------------------------------- means and variances


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Array | None = None, keepdims: Any = False, *, where: Any = True
) -> Array:
    """The arithmetic mean over axes.

    Parameters
    ----------
    a : array_like
        Values.
    axis : None, int or tuple of int
        Axes to go over; None for all.
    dtype : dtype, optional
        dtype to add in and of the result; by default that of `a`, float64 for integers.
    out : ndarray, optional
        Where the result goes.
    keepdims : bool
        Whether the axes stay, with extent 1.
    where : array_like of bool
        Which elements count.

    Returns
    -------
    ndarray
    """
    if dtype is None and out is None and where is True:
        return reduced(_MEAN, a, axis, keepdims)
    return _mean(a, axis, dtype, out, keepdims, where)


@public
def _mean(a: Any, axis: Any, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = True) -> Array:
    node = node_at(a)
    keepdims = _flag(keepdims)
    code = _mean_code(node.code, dtype)
    if code in ROUNDED and dtype is None and out is not None:
        code = F32  # The sum's own precision, which a wider `out` keeps.
    if _mask(where) is not True:
        mask = mask_of(where)
        total = add.reduce(a, axis, DTYPES[F32 if code in LOW else code], None, keepdims, NO_VALUE, where)
        counted = wrap(_counted(mask, node, axis, keepdims))
        result = build.cast(node_of(divide(total, counted)), code)
    elif KINDS[code] in "iub":
        # As NumPy: the sum in integers, then a division whose result is cut.
        total = add.reduce(a, axis, DTYPES[code], None, keepdims)
        count = _extent(node, build.normalize_axes(axis, len(node.shape)))
        result = build.cast(node_of(divide(total, count)), code)
    else:
        result = _reduced(MEAN, build.cast(node, code), build.normalize_axes(axis, len(node.shape)), keepdims, code)
    return finish(result, out, (a,), "mean", "unsafe")


_MEAN = over_axes(_mean)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Array:
    """The variance over axes, in one pass.

    Parameters
    ----------
    a : array_like
        Values.
    axis : None, int or tuple of int
        Axes to go over; None for all.
    dtype : dtype, optional
        dtype of the result; by default that of `a` (of its parts if complex), float64 for integers.
    out : ndarray, optional
        Where the result goes.
    ddof : float
        The sum of squares is divided by the count minus `ddof`.
    keepdims : bool
        Whether the axes stay, with extent 1.
    where : array_like of bool
        Which elements count.
    mean : array_like, optional
        The mean if it is known, with the axes kept.
    correction : float, optional
        The array API's name of `ddof`.

    Returns
    -------
    ndarray
    """
    plain = dtype is None and out is None and type(ddof) is int and not ddof and where is True
    if plain and mean is NO_VALUE and correction is NO_VALUE:
        return reduced(_VAR, a, axis, keepdims)
    return _any_var(a, axis, dtype, out, ddof, keepdims, where, mean, correction)


@public
@replayed
def _any_var(
    a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, correction: Any
) -> Array:
    return finish(_variance(a, axis, dtype, ddof, keepdims, where, mean, correction), out, (a,), "var", "unsafe")


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Array:
    """The standard deviation over axes; arguments as for `var`."""
    plain = dtype is None and out is None and type(ddof) is int and not ddof and where is True
    if plain and mean is NO_VALUE and correction is NO_VALUE:
        return reduced(_STD, a, axis, keepdims)
    return _any_std(a, axis, dtype, out, ddof, keepdims, where, mean, correction)


@public
@replayed
def _any_std(
    a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, correction: Any
) -> Array:
    deviation = _deviation(a, axis, dtype, ddof, keepdims, where, mean, correction)
    return finish(deviation, out, (a,), "std")


def _deviation(a: Any, axis: Any, dtype: Any = None, *others: Any, **keywords: Any) -> Node:
    """The root of `_variance`, which is rounded once where it is computed in float32."""
    node = node_at(a)
    code = _mean_code(node.code, dtype)
    if code not in LOW:
        root = build.unary(ELEMENTWISE["sqrt"], _variance(a, axis, dtype, *others, **keywords))
        if KINDS[code] in "iub" and root.shape:  # NumPy cuts numbers, and refuses arrays.
            raise casting_error("sqrt", "same_kind", root.code, code)
        return build.cast(root, code) if KINDS[code] in "iub" else root
    variance = _variance(wrap(build.cast(node, F32)), axis, None, *others, **keywords)
    return build.cast(build.unary(ELEMENTWISE["sqrt"], variance), code)


def _variance(
    a: Any,
    axis: Any,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = True,
    known: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Node:
    if correction is not NO_VALUE:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    ddof = _freedom(ddof)
    node = node_at(a)
    keepdims = _flag(keepdims)
    # Where it counts by a mask, NumPy takes axis 0 of arrays without axes.
    normal = build.normalize_axes if _mask(where) is True else normal_axes
    axes = normal(axis, len(node.shape))
    code = _mean_code(node.code, dtype)
    if KINDS[code] in "iub":
        return _whole_variance(wrap(node), axes, code, ddof, keepdims, _mask(where), known)
    node = build.cast(node, code)
    real_code = _REAL_CODE.get(code, code)
    # A complex dtype that was asked for stays, though variances are real.
    shown = real_code if dtype is None else code
    if _mask(where) is not True or known is not NO_VALUE:
        return _masked_variance(wrap(node), axes, ddof, keepdims, _mask(where), known, shown)
    count = _extent(node, axes)
    if not ddof:
        return build.cast(_reduced(VAR, node, axes, keepdims, real_code), shown)
    squares = _reduced(M2, node, axes, keepdims, F64)
    rest = count - ddof
    rest = 0 if rest < 0 else rest
    return build.cast(build.binary(ELEMENTWISE["divide"], squares, float(rest)), shown)


@public
def _plain_var(a: Any, axis: Any, keepdims: bool) -> Array:
    return deliver(_variance(a, axis, keepdims=keepdims), (a,))


@public
def _plain_std(a: Any, axis: Any, keepdims: bool) -> Array:
    return deliver(_deviation(a, axis, keepdims=keepdims), (a,))


_VAR = over_axes(_plain_var)
_STD = over_axes(_plain_std)


def _masked_variance(array: Array, axis: Any, ddof: Any, keepdims: bool, where: Any, known: Any, code: int) -> Node:
    if array.code in LOW:
        array = array.astype(np.float32)
    centre = mean(array, axis, keepdims=True, where=where) if known is NO_VALUE else asarray(known)
    distance = array - centre
    if where is not True and broadcast_shapes(mask_of(where).shape, distance.shape) == distance.shape:
        # What the mask leaves out may be NaN, which a gradient of 0 does not undo.
        distance = wrap(build.elementwise(WHERE, (mask_of(where), node_of(distance), 0)))
    squares = (distance * distance.conj()).real if KINDS[array.code] == "c" else distance * distance
    over = None if len(axis) == array.ndim else axis  # Of a mean with more axes all of these.
    total = add.reduce(squares, over, None, None, keepdims, NO_VALUE, where)
    if where is True:
        count: Any = _extent(node_of(array), build.normalize_axes(axis, array.ndim)) - ddof
        count = 0 if count < 0 else count
    else:
        count = maximum(wrap(_counted(mask_of(where), node_of(array), axis, keepdims)) - ddof, 0)
    return build.cast(node_of(divide(total, count)), total.code if KINDS[total.code] == "c" else code)


def _whole_variance(
    array: Array, axes: tuple[int, ...], code: int, ddof: Any, keepdims: bool, where: Any, known: Any
) -> Node:
    """A variance in a dtype of integers, which NumPy cuts the mean, the squares and the variance to."""
    dtype = DTYPES[code]
    count: Any = _extent(node_of(array), axes)
    if where is not True:
        count = wrap(_counted(mask_of(where), node_of(array), axes, True))
    if known is NO_VALUE:
        known = divide(add.reduce(array, axes, dtype, None, True, NO_VALUE, where), count).astype(dtype)
    distance = array - known
    total = add.reduce(distance * distance, axes, dtype, None, keepdims, NO_VALUE, where)
    left = asarray(count).reshape(total.shape) if where is not True else count
    return build.cast(node_of(divide(total, maximum(left - ddof, 0))), code)


def _mean_code(code: int, dtype: Any) -> int:
    return code_of(dtype) if dtype is not None else F64 if KINDS[code] in "biu" else code


def _extent(node: Node, axes: tuple[int, ...]) -> int:
    count = 1
    for axis in axes:
        count *= node.shape[axis]
    return count


def _counted(mask: Node, node: Node, axis: Any, keepdims: bool) -> Node:
    """How many elements a mask selects over axes of a value; in memory as sums of the value are."""
    one: Any = 1
    if mask.shape != node.shape:
        full = broadcast_shapes(mask.shape, node.shape)
        one = build.full(1, I64, full, k_strides(full, [broadcast_strides(node.shape, node.strides, full)], 8))
    spread = build.elementwise(WHERE, (mask, one, 0))
    return node_of(add.reduce(wrap(spread), axis, None, None, keepdims))


def _reduced(op_def: Any, node: Node, axes: tuple[int, ...], keepdims: bool, code: int) -> Node:
    """A mean or variance; of nothing it is NaN (a sum of squares 0)."""
    if not node.size:
        shape = tuple(1 if k in axes else e for k, e in enumerate(node.shape) if keepdims or k not in axes)
        return build.full(0.0 if op_def is M2 else nan_of(code), code, shape)
    if axes:
        return build.reduce(op_def, node, axes, keepdims, code)
    if op_def is MEAN:
        return build.cast(node, code)
    # Over no axes each element is its own mean.
    zero = build.binary(ELEMENTWISE["subtract"], node, node)
    return build.cast(build.unary(ELEMENTWISE["real"], zero), code)


_NO_WEIGHT = "Weights sum to zero, can't be normalized"


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NO_VALUE) -> Any:
    """The weighted mean over axes.

    Parameters
    ----------
    a : array_like
        Values.
    axis : None, int or tuple of int
        Axes to go over; None for all.
    weights : array_like, optional
        Weights: of the shape of `a`, or of its extents along `axis`.
    returned : bool
        Whether the sum of the weights is given as well.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    ndarray or tuple of ndarray
    """
    array = asarray(a)
    keep = _flag(keepdims)
    axis = None if axis is None else axes_in_order(axis, array.ndim, "axis")
    if weights is None:
        result = mean(array, axis, keepdims=keep)
        scale = asarray(array.size / result.size).astype(result.dtype)
    else:
        weight = asarray(weights)
        dtype = np.result_type(array.dtype, weight.dtype, *(["f8"] if array.dtype.kind in "biu" else []))
        if weight.shape != array.shape:
            weight = _aligned(weight, array, axis)
        scale = sum(weight, axis, dtype, keepdims=keep)
        # Recorded before the look at the weights, so that one kernel reads the data once for both.
        result = divide(sum(multiply(array, weight, dtype=dtype), axis, keepdims=keep), scale)
        broken = any(scale == 0.0)
        if has_no_number(broken):
            result = unless(broken, result, ZeroDivisionError, _NO_WEIGHT)
        elif bool(broken):
            raise ZeroDivisionError(_NO_WEIGHT)
    if not returned:
        return result
    if scale.shape != result.shape:
        scale = deliver(build.binary(ELEMENTWISE["add"], node_of(scale), build.full(0, scale.code, result.shape)))
    return result, scale


def _aligned(weight: Array, array: Array, axis: Any) -> Array:
    """Weights along some axes, shaped to broadcast with the array."""
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = tuple(k % array.ndim for k in (axis if isinstance(axis, tuple) else (axis,)))
    if weight.shape != tuple(array.shape[k] for k in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = tuple(extent if k in axes else 1 for k, extent in enumerate(array.shape))
    return weight.transpose(order).reshape(shape)


# ---------------------------------------------------------------- without NaN


def _inexact(array: Array) -> bool:
    return KINDS[array.code] in "fc"


def _filled(array: Array, value: Any) -> Array:
    """The array with `value` for NaN, recorded."""
    node = node_of(array)
    return deliver(build.elementwise(WHERE, (build.unary(ISNAN, node), value, node)), (array,))


@replayed
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Array:
    """`sum` with NaN as 0."""
    array = asarray(a)
    return sum(_filled(array, 0) if _inexact(array) else array, axis, dtype, out, keepdims, initial, where)


@replayed
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Array:
    """`prod` with NaN as 1."""
    array = asarray(a)
    return prod(_filled(array, 1) if _inexact(array) else array, axis, dtype, out, keepdims, initial, where)


@replayed
def nanmax(
    a: Any,
    axis: Any = None,
    out: Array | None = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Array:
    """`max` without NaN; NaN where there is nothing else."""
    return UFUNCS["fmax"].reduce(a, axis, None, out, _flag(keepdims), initial, _mask(where))


@replayed
def nanmin(
    a: Any,
    axis: Any = None,
    out: Array | None = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Array:
    """`min` without NaN; NaN where there is nothing else."""
    return UFUNCS["fmin"].reduce(a, axis, None, out, _flag(keepdims), initial, _mask(where))


def nanargmax(a: Any, axis: int | None = None, out: Array | None = None, *, keepdims: Any = NO_VALUE) -> Array:
    """`argmax` without NaN; there must be others."""
    return _arg_of_numbers(argmax, asarray(a), -np.inf, axis, out, keepdims)


def nanargmin(a: Any, axis: int | None = None, out: Array | None = None, *, keepdims: Any = NO_VALUE) -> Array:
    """`argmin` without NaN; there must be others."""
    return _arg_of_numbers(argmin, asarray(a), np.inf, axis, out, keepdims)


def _is_number(array: Array, axis: Any, at: Array) -> bool:
    """Whether a number stands at the one position that was found; False where there are several."""
    one = array.ndim == 1 or (axis is None and array.flags.c_contiguous)
    return one and not bool(isnan(array.reshape(-1)[at.reshape(())]))


def _arg_of_numbers(function: Any, array: Array, worst: float, axis: Any, out: Array | None, keepdims: Any) -> Array:
    """`argmax` or `argmin` with `worst` for NaN, if there are numbers; on a GPU that is seen with the result."""
    if not _inexact(array):
        return function(array, axis, out, keepdims=keepdims)
    result = function(_filled(array, worst), axis, keepdims=keepdims)
    if array.size and out is None and not numpy_is_near():
        # The first number's position comes from the same kernel; it is 0 where there is none, too.
        first = 0 if keepdims is NO_VALUE or not keepdims else slice(0, 1)
        flat = axis is None or not array.ndim
        where_first = (first,) * array.ndim if flat else (slice(None),) * (axis % array.ndim) + (first,)
        only_nan = (argmax(~isnan(array), axis, keepdims=keepdims) == 0) & isnan(array[where_first])
        return result + raised_where(only_nan, I64, ValueError, "All-NaN slice encountered")
    if array.size and not _is_number(array, axis, result) and bool(any(all(isnan(array), axis))):
        raise ValueError("All-NaN slice encountered")
    return result if out is None else function(_filled(array, worst), axis, out, keepdims=keepdims)


@replayed
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
) -> Array:
    """`mean` without NaN."""
    array = asarray(a)
    if not _inexact(array):
        return mean(array, axis, dtype, out, keepdims, where=where)
    _check_inexact(dtype, out)
    return mean(array, axis, dtype, out, keepdims, where=_numbers_among(array, where))


def _check_inexact(dtype: Any, out: Any) -> None:
    """NumPy's TypeErrors where NaN would go to an integer."""
    for name, given in (("dtype", dtype), ("out", None if out is None else check_out(out).dtype)):
        if given is not None and KINDS[code_of(given)] not in "fc":
            raise TypeError(f"If a is inexact, then {name} must be inexact")


@replayed
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Array:
    """`var` without NaN; NaN where nothing is left to divide by."""
    return finish(_nan_variance(a, axis, dtype, ddof, keepdims, where, mean, correction), out, (a,), "var", "unsafe")


@replayed
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Array:
    """`std` without NaN; NaN where nothing is left to divide by."""
    array = asarray(a)
    wide = array.astype(np.float32) if array.code in LOW and dtype is None else array
    root = sqrt(wrap(_nan_variance(wide, axis, dtype, ddof, keepdims, where, mean, correction)))
    root = root if wide is array else root.astype(array.dtype)
    return root if out is None else finish(node_of(root), out, (a,), "std")


def _nan_variance(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, known: Any, correction: Any
) -> Node:
    array = asarray(a)
    if not _inexact(array):
        return _variance(array, axis, dtype, ddof, keepdims, where, known, correction)
    _check_inexact(dtype, None)
    if not array.ndim and axis in (0, -1):
        axis = None
    mask = _numbers_among(array, where)
    result = wrap(_variance(array, axis, dtype, ddof, keepdims, mask, known, correction))
    left = wrap(_counted(node_of(mask), node_of(array), axis, _flag(keepdims)))
    taken = _freedom(ddof if correction is NO_VALUE else correction)
    nothing = result.dtype.type("nan") if result.code in LOW else float("nan")
    return node_of(choose(left > taken, result, nothing))


def _numbers_among(array: Array, where: Any) -> Array:
    mask = ~isnan(array)
    return mask if _mask(where) is True else logical_and(mask, where)


bind(
    method_all=all,
    method_any=any,
    method_argmax=argmax,
    method_argmin=argmin,
    method_max=max,
    method_mean=mean,
    method_min=min,
    method_prod=prod,
    method_ptp=ptp,
    method_std=std,
    method_sum=sum,
    method_var=var,
)

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "average",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]
