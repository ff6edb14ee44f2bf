"""Elements put in and taken out along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.at_once import RECORDED, at_once
from numloom.api.joining import concatenate
from numloom.api.manipulation import broadcast_to, moveaxis, normal_axes, normal_axis, shaped, taken
from numloom.array.convert import asarray, host_numbers
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.array.views import refuse_sizes
from numloom.base.dtypes import BOOL
from numloom.graph import build
from numloom.graph.layout import (
    c_strides,
    f_strides,
    indexed_strides,
)
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

WHERE = ELEMENTWISE["where"]


@at_once(lambda arr, values, axis=None: np.append(arr, values, axis), most=RECORDED, pending=False)
def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """A new array with `values` behind those of `arr` (both flattened if `axis` is None)."""
    array, values = asarray(arr), asarray(values)
    if axis is None:
        array, values, axis = array.ravel(), values.ravel(), array.ndim - 1 if array.ndim == 1 else 0
    return concatenate((array, values), axis)


def delete(arr: Any, obj: Any, axis: int | None = None) -> Array:
    """A new array without the parts of `arr` that `obj` (a slice, an integer, integers, a mask) selects."""
    array, axis = _along(arr, axis)
    extent = array.shape[axis]
    kept = _kept(obj, extent)
    if kept is not None:
        return _indexed_order(array[(*(slice(None),) * axis, kept)], axis, array)
    index = _host_index(obj)
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool) and -extent <= index < extent:
        lead, at = (slice(None),) * axis, int(index) % extent
        parts = array[(*lead, slice(at))], array[(*lead, slice(at + 1, None))]
        return ordered_as(concatenate(parts, axis), array)
    result = _picked(array, np.delete(np.arange(extent), index), axis)
    if isinstance(index, slice) or (np.size(index) == 1 and np.asarray(index).dtype != bool):
        return ordered_as(result, array)
    return _indexed_order(result, axis, array)


def _along(arr: Any, axis: int | None) -> tuple[Array, int]:
    """An array and an axis of it; flattened without one."""
    array = asarray(arr)
    if axis is None:
        array = array.ravel()
        axis = array.ndim - 1
    return array, normal_axis(axis, array.ndim)


def _kept(obj: Any, extent: int) -> Array | None:
    """What `delete` leaves, as a mask on the device; None where the positions are few, or wrong."""
    if isinstance(obj, (slice, int, np.integer)):
        return None
    index = obj if isinstance(obj, ndarray) else np.asarray(host_numbers(obj))
    if index.dtype == bool:
        return asarray(index) == 0 if index.shape == (extent,) else None
    if index.dtype.kind not in "iu" or index.size <= _FEW_POSITIONS:
        return None
    kept = wrap(build.full(True, BOOL, (extent,))).copy()
    kept[index] = False
    return kept


def _indexed_order(result: Array, axis: int, source: Array) -> Array:
    """In the memory order that NumPy gives what it reads at an index array along an axis."""
    rest = [k for k in range(source.ndim) if k != axis]
    extents, strides = (tuple(numbers[k] for k in rest) for numbers in (source.shape, source.strides))
    shape = (result.shape[axis],)
    return relaid(result, indexed_strides((extents, strides), shape, [(result.itemsize,)], axis, result.itemsize))


_FEW_POSITIONS = 64
"""Positions up to which the host looks at them."""


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """A new array with `values` put in before the positions `obj` along `axis`."""
    array, axis = _along(arr, axis)
    extent = array.shape[axis]
    index = _host_index(obj)
    # Numbers in lists must fit, as where they are assigned; arrays are cast.
    added = asarray(values, None if isinstance(values, (ndarray, np.ndarray, np.generic)) else array.dtype)
    if added.code != array.code:
        added = added.astype(array.dtype)
    single = not isinstance(index, slice) and np.ndim(index) == 0
    if single and added.ndim:
        # As NumPy: values[..., :] go along `axis` where one position is given.
        added = added.reshape((1,) * (array.ndim - added.ndim) + added.shape)
        added = moveaxis(added, 0, axis) if np.asarray(index).dtype != bool else added
    added = added.reshape((1,) * (array.ndim - added.ndim) + added.shape)
    if single and isinstance(index, (int, np.integer)) and not isinstance(index, bool) and -extent <= index <= extent:
        lead, at = (slice(None),) * axis, int(index) % extent if index < 0 else int(index)
        added = broadcast_to(added, (*array.shape[:axis], added.shape[axis], *array.shape[axis + 1 :]))
        return ordered_as(concatenate((array[(*lead, slice(at))], added, array[(*lead, slice(at, None))]), axis), array)
    # NumPy says where each value goes: insert the numbers -1, -2, ... among the positions.
    where = np.arange(1, extent + 1)
    count = added.shape[axis] if single else np.insert(where, index, 0).size - extent
    order = np.insert(where, index, -np.arange(1, count + 1))
    shape = (*array.shape[:axis], count, *array.shape[axis + 1 :])
    both = concatenate((array, broadcast_to(added, shape)), axis)
    return ordered_as(taken(both, np.where(order > 0, order - 1, extent - 1 - order), axis), array)


def ordered_as(result: Array, source: Array) -> Array:
    """`result` in Fortran order if `source` lies so, else in C order: what NumPy gives, but not its K order."""
    return relaid(result, (f_strides if source.flags.fnc else c_strides)(result.shape, result.itemsize))


def relaid(array: Array, strides: tuple[int, ...]) -> Array:
    """The same values with other dense strides."""
    if array.strides == strides or not array.size:
        return array
    return wrap(build.copied(node_of(array), strides, array.code))


def _host_index(obj: Any) -> Any:
    """An index argument on the host: how many elements a result has must be known."""
    return host_numbers(obj)


def _picked(array: Array, kept: np.ndarray[Any, Any], axis: int) -> Array:
    """Elements at increasing positions: joined slices where they are few, else a gather."""
    breaks = np.flatnonzero(np.diff(kept) != 1) + 1
    if len(breaks) > 4:
        return taken(array, kept, axis)
    lead = (slice(None),) * axis
    runs = [run for run in np.split(kept, breaks) if run.size]
    if not runs:
        return array[(*lead, slice(0, 0))].copy("K")
    return concatenate([array[(*lead, slice(int(run[0]), int(run[-1]) + 1))] for run in runs], axis)


def _held(array: Array, axis: int) -> tuple[Array, Array]:
    """The first and the last position along `axis` where anything is not zero (the last is -1 if nothing is)."""
    extent = array.shape[axis]
    place = shaped(build.iota(extent), tuple(extent if k == axis else 1 for k in range(array.ndim)))
    held = node_of(array != 0)
    first, last = (wrap(build.elementwise(WHERE, (held, place, none))) for none in (extent, -1))
    return first.min(), last.max()


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Array:
    """A view without the zeros at the front ("f") and the back ("b"); looks at where a value is not zero."""
    array = asarray(filt)
    sides = trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    refuse_sizes("trim_zeros", array)
    axes = range(array.ndim) if axis is None else normal_axes(axis, array.ndim)
    index = [slice(None)] * array.ndim
    bounds = {k: _held(array, k) for k in axes} if array.size else {}
    for k in axes:
        first, last = map(int, bounds[k]) if bounds else (0, -1)
        # Nothing is left where all are zeros.
        start = first if last >= 0 and "f" in sides else 0
        stop = (last + 1 if "b" in sides else array.shape[k]) if last >= 0 else 0
        index[k] = slice(start, stop)
    if not array.ndim:
        return filt[()] if type(filt) is ndarray and filt.is_scalar else array[...]
    # A list stays one, as NumPy has it.
    return filt[index[0]] if isinstance(filt, (list, tuple)) and len(index) == 1 else array[(*index, ...)]


__all__ = [
    "append",
    "delete",
    "insert",
    "trim_zeros",
]
