"""Padding: constants are one slice update, mirrored and repeated borders one read at mapped positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.calling import replayed
from numloom.api.elementwise import maximum, minimum, where
from numloom.api.manipulation import broadcast_to, gathered, moveaxis
from numloom.api.quantiles import median
from numloom.array.convert import asarray, host_numbers
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.array.views import in_tree
from numloom.base.dtypes import DTYPES
from numloom.engine.routines import empty as empty_leaf
from numloom.graph import build
from numloom.graph.layout import c_strides, f_strides
from numloom.graph.node import Node

Array = Any
Host = np.ndarray[Any, Any]
Pairs = list[tuple[int, int]]

_KEYWORDS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "empty": {},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "mean": {"stat_length": None},
    "median": {"stat_length": None},
    "minimum": {"stat_length": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
}


@replayed
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """An array with borders, in the memory order of the array.

    Parameters
    ----------
    array : array_like
        What stands inside.
    pad_width : int, sequence or dict
        Widths of the borders: one for all, (before, after), one such pair an axis, or a dict by axis.
    mode : str or callable
        "constant", "edge", "empty", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric" or
        "wrap"; or a function that fills the borders of a line in place: it is called for every line of every axis as
        ``mode(line, (before, after), axis, kwargs)``, one after another.
    **kwargs
        `constant_values`, `end_values`, `stat_length` or `reflect_type`, as the mode takes them.

    Returns
    -------
    ndarray
    """
    array = asarray(array)
    widths = _widths(pad_width, array.ndim)
    result = _padded(array, widths, mode, kwargs)
    result.is_scalar = False
    return result


def _padded(array: Array, widths: Pairs, mode: Any, kwargs: dict[str, Any]) -> Array:
    """`pad` for widths of each axis."""
    if callable(mode):
        return _filled_by(mode, _constant(array, widths, 0), widths, kwargs)
    if mode not in _KEYWORDS:
        raise ValueError(f"mode '{mode}' is not supported")
    unknown = set(kwargs) - set(_KEYWORDS[mode])
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    options = {**_KEYWORDS[mode], **kwargs}
    if mode in ("constant", "empty"):
        return _constant(array, widths, options.get("constant_values", 0))
    for axis, (before, after) in enumerate(widths):
        if not array.shape[axis] and (before or after):
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    if mode in ("edge", "wrap") or options.get("reflect_type", "odd") != "odd":
        padded = [axis for axis, width in enumerate(widths) if any(width)]
        if not padded:
            return array.copy("K" if array.flags.fnc else "C")
        if array.flags.fnc:
            last = array.ndim - 1
            return wrap(
                gathered(array.T, {last - k: _mapped(array.shape[k], widths[k], mode) for k in padded}, inside=True)
            ).T
        return wrap(gathered(array, {k: _mapped(array.shape[k], widths[k], mode) for k in padded}, inside=True))
    result = _interior(array, widths)
    for axis, width in enumerate(widths):
        if any(width):
            _fill_axis(result, array.shape, widths, axis, mode, options)
    return result


def _filled_by(function: Any, result: Array, widths: Pairs, options: dict[str, Any]) -> Array:
    """Borders filled by a user's function, line by line: it writes into the array."""
    for axis, width in enumerate(widths):
        lines = moveaxis(result, axis, -1)
        for place in np.ndindex(lines.shape[:-1]):
            function(lines[place], width, axis, options)
    return result


def _mapped(extent: int, width: tuple[int, int], mode: str) -> Node:
    """For each place along a padded axis the position that it repeats, recorded."""
    place = wrap(build.iota(width[0] + extent + width[1])) - width[0]
    if mode == "edge" or (extent == 1 and mode != "wrap"):
        return node_of(place.clip(0, extent - 1))
    # There and back again: elements at the ends stand once (reflect) or twice (symmetric) in a period.
    twice = mode != "reflect"
    period = extent if mode == "wrap" else 2 * extent - (0 if twice else 2)
    if max(width) > extent - (0 if twice else 1):
        place = place % period
        return node_of(place if mode == "wrap" else minimum(place, period - twice - place))
    # Narrow borders need no division.
    if mode == "wrap":
        return node_of(where(place < 0, place + extent, where(place < extent, place, place - extent)))
    return node_of(minimum(maximum(place, -twice - place), period - twice - place))


def _widths(pad_width: Any, ndim: int) -> Pairs:
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = width if isinstance(width, tuple) else (width, width)
        pad_width = pairs
    given = np.asarray(host_numbers(pad_width))
    if given.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    if (given < 0).any():
        raise ValueError("index can't contain negative values")
    return [(int(before), int(after)) for before, after in np.broadcast_to(given, (ndim, 2))]


def _per_axis(values: Any, ndim: int) -> list[tuple[Any, Any]]:
    """A (before, after) pair for each axis from what NumPy broadcasts to that."""
    if values is None:
        return [(None, None)] * ndim
    if in_tree(values):
        whole = broadcast_to(asarray(values), (ndim, 2))
        return [(whole[axis, 0], whole[axis, 1]) for axis in range(ndim)]
    return [(before, after) for before, after in np.broadcast_to(np.asarray(host_numbers(values)), (ndim, 2)).tolist()]


def _padded_shape(shape: tuple[int, ...], widths: Pairs) -> tuple[int, ...]:
    return tuple(before + extent + after for extent, (before, after) in zip(shape, widths, strict=True))


def _inside(shape: tuple[int, ...], widths: Pairs) -> tuple[slice, ...]:
    return tuple(slice(before, before + extent) for extent, (before, _) in zip(shape, widths, strict=True))


def _constant(array: Array, widths: Pairs, values: Any) -> Array:
    shape = _padded_shape(array.shape, widths)
    pairs = _per_axis(values, array.ndim)
    dtype = DTYPES[array.code]
    distinct = {
        id(value) if type(value) is ndarray else value
        for pair, width in zip(pairs, widths, strict=True) for value, w in zip(pair, width, strict=True) if w
    }  # fmt: skip
    if len(distinct) <= 1 and not in_tree(pairs):
        with np.errstate(all="ignore"):
            value = np.asarray(distinct.pop() if distinct else 0).astype(dtype).item()
        result = wrap(build.full(value, array.code, shape, _strides(array, shape)))
        result[_inside(array.shape, widths)] = array
        return result
    result = _interior(array, widths)
    for axis, (width, pair) in enumerate(zip(widths, pairs, strict=True)):
        for region, value in zip(_borders(array.shape, widths, axis), pair, strict=True):
            if any(width):
                with np.errstate(all="ignore"):
                    result[region] = value if type(value) is ndarray else np.asarray(value).astype(dtype).item()
    return result


def _strides(array: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (f_strides if array.flags.fnc else c_strides)(shape, array.itemsize)


def _interior(array: Array, widths: Pairs) -> Array:
    """An array whose borders nobody has written yet."""
    shape = _padded_shape(array.shape, widths)
    result = wrap(empty_leaf(array.code, shape, _strides(array, shape)))
    result[_inside(array.shape, widths)] = array
    return result


def _borders(shape: tuple[int, ...], widths: Pairs, axis: int) -> list[tuple[slice, ...]]:
    """The regions before and after along `axis`: whole along earlier axes, the inside along later ones."""
    inside = _inside(shape, widths)
    before, after = widths[axis]
    stop = before + shape[axis]
    lead = (slice(None),) * axis
    return [(*lead, part, *inside[axis + 1 :]) for part in (slice(0, before), slice(stop, stop + after))]


def _fill_axis(
    result: Array, shape: tuple[int, ...], widths: Pairs, axis: int, mode: str, options: dict[str, Any]
) -> None:
    """Fill both borders along one axis from what lies between them."""
    lead = (slice(None),) * axis
    rest = _inside(shape, widths)[axis + 1 :]
    before, after = widths[axis]
    start, stop = before, before + shape[axis]

    def along(first: int, last: int) -> tuple[slice, ...]:
        return (*lead, slice(first, last), *rest)

    if mode in ("reflect", "symmetric"):
        skip = mode == "reflect"
        end = stop + after
        while start > 0 or stop < end:
            period = stop - start - skip
            if not period:
                # One element only: there is nothing to mirror, NumPy repeats it.
                result[along(0, start)] = result[along(start, start + 1)]
                result[along(stop, end)] = result[along(stop - 1, stop)]
                return
            count = min(period, start)
            if count:
                mirrored = result[along(start + skip, start + skip + count)]
                flipped = mirrored[(*lead, slice(None, None, -1))]
                result[along(start - count, start)] = 2 * result[along(start, start + 1)] - flipped
                start -= count
            count = min(period, end - stop)
            if count:
                mirrored = result[along(stop - skip - count, stop - skip)]
                flipped = mirrored[(*lead, slice(None, None, -1))]
                result[along(stop, stop + count)] = 2 * result[along(stop - 1, stop)] - flipped
                stop += count
        return
    sides = (
        (before, start, _per_axis_at(options, axis, result.ndim, 0)),
        (after, stop, _per_axis_at(options, axis, result.ndim, 1)),
    )
    for side, (width, _, option) in enumerate(sides):
        target = along(0, start) if side == 0 else along(stop, stop + after)
        if mode == "linear_ramp":
            if width:
                edge = result[along(start, start + 1) if side == 0 else along(stop - 1, stop)]
                result[target] = _ramp(edge, option, width, axis, side, result.dtype)
            continue
        length = shape[axis] if option is None else min(int(option), shape[axis])
        if length < 0:
            raise ValueError("index can't contain negative values")
        if length <= 0 and mode in ("maximum", "minimum"):
            raise ValueError("stat_length of 0 yields no value for padding")
        part = result[along(start, start + length) if side == 0 else along(stop - length, stop)]
        if width:
            result[target] = _statistic(part, mode, axis)


def _per_axis_at(options: dict[str, Any], axis: int, ndim: int, side: int) -> Any:
    values = options["end_values"] if "end_values" in options else options.get("stat_length")
    return _per_axis(values, ndim)[axis][side]


def _ramp(edge: Array, end: Any, width: int, axis: int, side: int, dtype: np.dtype[Any]) -> Array:
    """Evenly from `end` (not reached on the inner side) to the edge, as linspace counts."""
    steps = np.arange(width, dtype=np.float64).reshape((width,) + (1,) * (edge.ndim - axis - 1))
    wide = edge.astype(np.result_type(dtype, np.float64))
    values = asarray(steps) * ((wide - end) / width) + end
    if side:
        values = values[(slice(None),) * axis + (slice(None, None, -1),)]
    if dtype.kind in "iu":
        return values - values % 1
    return values


def _statistic(part: Array, mode: str, axis: int) -> Array:
    if mode == "median":
        value = median(part, axis, keepdims=True)
    elif mode == "mean":
        value = part.mean(axis, keepdims=True)
    else:
        return (part.max if mode == "maximum" else part.min)(axis, keepdims=True)
    return value.round() if part.dtype.kind in "iu" else value


__all__ = ["pad"]
