"""Sorting, searching and counting: run at once by the device's routines."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np

from numloom.api.at_once import at_once, running_sum
from numloom.api.calling import replayed
from numloom.api.creation import full_like
from numloom.api.elementwise import invert, negative
from numloom.api.manipulation import lines_along, normal_axis
from numloom.api.ufunc import check_out, scan
from numloom.array.convert import asarray, host_numbers
from numloom.array.ndarray import bind, node_of, store_result, wrap
from numloom.array.storage import read_only
from numloom.base.dtypes import BOOL, I64, code_of
from numloom.base.given import as_name, as_sequence
from numloom.base.integers import as_integer
from numloom.engine.routines import call
from numloom.engine.routines import empty as empty_leaf
from numloom.engine.selecting import compress as compress_values
from numloom.engine.selecting import nonzero as nonzero_values
from numloom.graph import build
from numloom.graph.layout import f_strides, strides_in_order
from numloom.ops.elementwise import ELEMENTWISE

try:
    from numloom.array import _indexing  # type: ignore[attr-defined]
except ImportError:
    _indexing = None

Array = Any

_KINDS = ("quicksort", "mergesort", "heapsort", "stable", "q", "m", "h", "s")


def _check_kind(kind: Any, stable: Any, order: Any, descending: Any = None) -> None:
    if kind is not None and (stable is not None or descending is not None):
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    if kind is not None and not isinstance(kind, str):
        raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
    if kind is not None and kind.lower() not in _KINDS:
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")


def _flat_axis(a: Any, axis: Any) -> tuple[Array, int]:
    """The array (flattened if `axis` is None) and its axis, not negative; a 0-d array where it must have one fails."""
    array = asarray(a)
    if axis is None:
        return array.ravel(), 0
    return array, normal_axis(axis, array.ndim)


def _opposed(array: Array) -> Array:
    """The elements in a form that sorts the other way round and is its own inverse; NaN stays NaN, and last."""
    return invert(array) if array.dtype.kind in "biu" else negative(array)


def _copied(array: Array) -> tuple[int, ...]:
    """Strides of a copy in K order."""
    return strides_in_order(array.shape, array.strides, array.itemsize, "K")


def _sorted(a: np.ndarray[Any, Any], axis: Any = -1) -> np.ndarray[Any, Any]:
    """`np.sort` without what it asks of others' arrays."""
    result = a.copy("K")
    result.sort(axis)
    return result


@at_once(_sorted)
@replayed
def sort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool | None = None,
) -> Array:
    """A sorted copy; NaN last.

    Parameters
    ----------
    a : array_like
        Values.
    axis : int or None
        Axis along which to sort; None sorts the flattened array.
    kind, stable : optional
        Taken for NumPy's sake: sorts here are always stable.
    order : None
        For arrays with fields, which there are none of.
    descending : bool, optional
        The largest first; NaN is last in either case.

    Returns
    -------
    ndarray
    """
    _check_kind(kind, stable, order, descending)
    array, axis = _flat_axis(a, axis)
    strides = _copied(array)
    if descending:
        array = _opposed(array)
    result = wrap(call("sort", node_of(array), code=array.code, shape=array.shape, strides=strides, axis=axis))
    return _opposed(result) if descending else result


@at_once(lambda a, axis=-1: a.argsort(axis, "stable"))
@replayed
def argsort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool | None = None,
) -> Array:
    """Positions that would sort; always stable, NaN last. Arguments as for `sort`."""
    _check_kind(kind, stable, order, descending)
    array = asarray(a)
    if not array.ndim:
        array = array.reshape(1)
        normal_axis(0 if axis is None else axis, 1)
        return wrap(build.full(0, I64, (1,)))
    array, axis = _flat_axis(array, axis)
    if descending:
        array = _opposed(array)
    return wrap(call("argsort", node_of(array), code=I64, shape=array.shape, axis=axis))


@replayed
def sort_complex(a: Any) -> Array:
    """A sorted copy along the last axis, as complex numbers: by real part, then by imaginary part."""
    ordered = sort(a)
    if ordered.dtype.kind == "c":
        return ordered
    return ordered.astype(np.complex64 if ordered.dtype.char in "bhBH" else np.complex128)


def sort_in_place(
    a: Array, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool | None = None
) -> None:
    """Sort an array itself."""
    if not a.writeable:
        raise read_only(a, "sort array")
    a[...] = sort(a, as_integer(axis), kind, order, stable=stable, descending=descending)


def _positions(kth: Any, extent: int) -> tuple[int, ...]:
    given = np.atleast_1d(np.asarray(host_numbers(kth)))
    if given.dtype.kind == "b":
        raise ValueError("Booleans unacceptable as partition index")
    if given.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    if given.ndim > 1:
        raise ValueError("kth array must have dimension <= 1")
    result = []
    for position in given.tolist():
        if not -extent <= position < extent:
            raise ValueError(f"kth(={position}) out of bounds ({extent})")
        result.append(position % extent)
    return tuple(result)


def _check_selection(kind: Any, order: Any) -> None:
    """Raise NumPy's errors for ways to partition that there are not."""
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if as_name(kind, "kind") != "introselect":
        raise ValueError(f"kind must be 'introselect' (got {kind!r})")


@replayed
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Array:
    """A copy in which the elements at positions `kth` are where sorting would put them."""
    _check_selection(kind, order)
    array, axis = _flat_axis(a, axis)
    if not array.size:
        return array.copy("K")
    places = _positions(kth, array.shape[axis])
    return wrap(
        call(
            "partition",
            node_of(array),
            code=array.code,
            shape=array.shape,
            strides=_copied(array),
            kth=places,
            axis=axis,
        )
    )


@replayed
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Array:
    """Positions that would partition."""
    _check_selection(kind, order)
    array = asarray(a)
    array, axis = _flat_axis(array if array.ndim else array.reshape(1), axis)
    if not array.size:
        return wrap(build.full(0, I64, array.shape))
    places = _positions(kth, array.shape[axis])
    return wrap(call("argpartition", node_of(array), code=I64, shape=array.shape, kth=places, axis=axis))


def partition_in_place(a: Array, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> None:
    """Partition an array itself."""
    if not a.writeable:
        raise read_only(a, "partition array")
    a[...] = partition(a, kth, as_integer(axis), kind, order)


@at_once(lambda keys, axis=-1: np.lexsort(keys, axis))
@replayed
def lexsort(keys: Any, axis: int = -1) -> Array:
    """Positions that sort by the last key, ties by the one before it, and so on.

    Parameters
    ----------
    keys : array_like or sequence of array_like
        The keys, of one shape.
    axis : int
        The axis to sort along.

    Returns
    -------
    ndarray
        int64.
    """
    arrays = [asarray(key) for key in as_sequence(keys, "lexsort needs a sequence of keys")]
    if not arrays:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    shape = arrays[0].shape
    if any(array.shape != shape for array in arrays):
        raise ValueError("all keys need to be the same shape")
    if not shape:
        return wrap(build.full(0, I64, ()))
    axis = normal_axis(axis, len(shape))
    return wrap(call("lexsort", *map(node_of, arrays), code=I64, shape=shape, axis=axis))


@at_once(lambda a, v, side="left": a.searchsorted(v, side))
@replayed
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Array:
    """Where each of `v` would go in the sorted vector `a`.

    Parameters
    ----------
    a : array_like
        An increasing vector.
    v : array_like
        Values to insert; a Python number does not widen `a`.
    side : {"left", "right"}
        Before or behind elements that equal a value.
    sorter : array_like, optional
        Positions that sort `a`, if it is not sorted.

    Returns
    -------
    ndarray
        int64 positions of the shape of `v`.
    """
    array = asarray(a)
    if array.ndim != 1:
        raise ValueError(
            "object too small for desired array" if not array.ndim else "object too deep for desired array"
        )
    if as_name(side, "search side") not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    if sorter is not None:
        order = asarray(sorter)
        if order.dtype.kind not in "iu":
            raise TypeError("sorter must only contain integers")
        if order.size != array.size:
            raise ValueError("sorter.size must equal a.size")
        array = wrap(build.gather(node_of(array), [node_of(order)], (0,), 0))
    if isinstance(v, (int, float)) and array.dtype.kind in "iuf" and v == v:
        v = _comparable(v, array.dtype, side)
        if v is None:
            return wrap(build.full(0, I64, ()))
    values = asarray(v)
    code = code_of(np.result_type(array.dtype, values.dtype))
    nodes = build.cast(node_of(array), code), build.cast(node_of(values), code)
    return wrap(call("searchsorted", *nodes, code=I64, shape=values.shape, side=side))


def _comparable(value: Any, dtype: np.dtype[Any], side: str) -> Any:
    """A number of `dtype` that stands to all numbers of it as `value` does, so that a vector need not be widened.

    To the left of `value` is what is below the next number up, to the right what is above the next one down. None if
    all numbers are greater; `value` itself if none can be had.
    """
    left = side == "left"
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            near = dtype.type(value)
        if left and float(near) < value:
            return np.nextafter(near, dtype.type(np.inf))
        return np.nextafter(near, dtype.type(-np.inf)) if not left and float(near) > value else near
    if not -(2.0**53) < value < 2.0**53:
        return value
    whole = ceil(value) if left else floor(value)
    limits = np.iinfo(dtype)
    if whole > limits.max:
        return value
    return None if whole < limits.min else dtype.type(whole)


@at_once(lambda a: a.nonzero() if a.ndim == 1 else None)
def nonzero(a: Any) -> tuple[Array, ...]:
    """Indices of the elements that are not zero, an array an axis."""
    array = asarray(a)
    if not array.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead. "
            "If the context of this error is of the form `arr[nonzero(cond)]`, just use `arr[cond]`."
        )
    if _indexing is not None and (found := _indexing.nonzero(array)) is not None:
        return found  # type: ignore[no-any-return]
    return tuple(map(wrap, nonzero_values(node_of(array))))


def flatnonzero(a: Any) -> Array:
    """Positions, in the flattened array, of the elements that are not zero."""
    return nonzero(asarray(a).ravel())[0]


def argwhere(a: Any) -> Array:
    """Indices of the elements that are not zero, one row an element."""
    array = asarray(a)
    if not array.ndim:
        count = int(bool(array))
        return wrap(build.full(0, I64, (count, 0)))
    found = nonzero_values(node_of(array))
    shape = (found[0].size, len(found))
    result = wrap(empty_leaf(I64, shape, f_strides(shape, 8)))
    for axis, node in enumerate(found):
        result[:, axis] = wrap(node)
    return result


def extract(condition: Any, arr: Any) -> Array:
    """The elements of `arr` where `condition` (both flattened) is true."""
    mask = asarray(condition).ravel()
    array = asarray(arr).ravel()
    if mask.size == array.size:
        return wrap(compress_values(node_of(array), build.cast(node_of(mask), BOOL)))
    where = flatnonzero(mask)
    return wrap(build.gather(node_of(array), [node_of(where)], (0,), 0))


# ---------------------------------------------------------------- scans


def scanned(op: str, a: Any, axis: Any, dtype: Any, out: Any, name: str) -> Array:
    """Running `op` along an axis, in the dtype in which NumPy's accumulate runs."""
    out = None if out is None else check_out(out)
    array, axis = lines_along(asarray(a), axis)
    code = code_of(dtype) if dtype is not None else scan_code(op, array.dtype, out)
    result = scan(array, op, axis, code)
    return result if out is None else store_result(out, result, name)


def scan_code(op: str, dtype: np.dtype[Any], out: Any = None) -> int:
    """The dtype code in which sums and products of integers smaller than a word run (others as they are)."""
    if out is not None:
        return int(out.code)
    if op in ("add", "multiply") and dtype.kind in "biu" and dtype.itemsize < 8:
        return code_of(np.uint64 if dtype.kind == "u" else np.int64)
    return code_of(dtype)


def _running(method: Any, axis: Any) -> np.ndarray[Any, Any]:
    """A running operation of NumPy's without its warnings."""
    with np.errstate(all="ignore"):
        return method(axis)  # type: ignore[no-any-return]


def _running_sum(a: np.ndarray[Any, Any], axis: Any = None) -> np.ndarray[Any, Any]:
    found = running_sum(a, axis)
    return _running(a.cumsum, axis) if found is None else found  # type: ignore[no-any-return]


@at_once(_running_sum, anywhere=False)
@replayed
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    """Running sums along an axis (of the flattened array if it is None)."""
    return scanned("add", a, axis, dtype, out, "cumsum")


@at_once(lambda a, axis=None: _running(a.cumprod, axis), anywhere=False)
@replayed
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    """Running products along an axis (of the flattened array if it is None)."""
    return scanned("multiply", a, axis, dtype, out, "cumprod")


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Array:
    """Running sums along an axis, with a leading 0 if asked for."""
    return _cumulative("add", x, axis, dtype, out, include_initial, 0, "cumulative_sum")


def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Array:
    """Running products along an axis, with a leading 1 if asked for."""
    return _cumulative("multiply", x, axis, dtype, out, include_initial, 1, "cumulative_prod")


def _cumulative(op: str, x: Any, axis: Any, dtype: Any, out: Any, initial: bool, first: int, name: str) -> Array:
    array = asarray(x)
    if not array.ndim:
        array = array.reshape(1)
    if axis is None:
        if array.ndim >= 2:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    elif isinstance(axis, tuple):
        if len(axis) != 1:
            raise ValueError("accumulate does not allow multiple axes")
        (axis,) = axis
    if not initial:
        return scanned(op, array, axis, dtype, out, name)
    out = None if out is None else check_out(out)
    axis = normal_axis(axis, array.ndim)
    body = scanned(op, array, axis, out.dtype if dtype is None and out is not None else dtype, None, name)
    shape = (*body.shape[:axis], body.shape[axis] + 1, *body.shape[axis + 1 :])
    result = full_like(body, first, shape=shape)
    result[(slice(None),) * axis + (slice(1, None),)] = body
    if out is None:
        return result
    if out.shape != result.shape:
        raise ValueError("provided out is the wrong size for the accumulation.")
    return store_result(out, result, name)


@replayed
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    """Running sums along an axis, NaN counting as 0."""
    return scanned("add", _without_nan(a, 0), axis, dtype, out, "nancumsum")


@replayed
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    """Running products along an axis, NaN counting as 1."""
    return scanned("multiply", _without_nan(a, 1), axis, dtype, out, "nancumprod")


def _without_nan(a: Any, number: int) -> Array:
    array = asarray(a)
    if array.dtype.kind not in "fc":
        return array
    node = node_of(array)
    keep = build.binary(ELEMENTWISE["equal"], node, node)
    return wrap(build.elementwise(ELEMENTWISE["where"], [keep, node, number]))


bind(
    method_sort=sort_in_place,
    method_argsort=argsort,
    method_partition=partition_in_place,
    method_argpartition=argpartition,
    method_searchsorted=searchsorted,
    method_nonzero=nonzero,
    method_cumsum=cumsum,
    method_cumprod=cumprod,
)

__all__ = [
    "argpartition",
    "argsort",
    "argwhere",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "extract",
    "flatnonzero",
    "lexsort",
    "nancumprod",
    "nancumsum",
    "nonzero",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
]
