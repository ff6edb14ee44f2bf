"""Slices of trees whose bounds wait, as ``X[i * 20 : (i + 1) * 20]``: their length is known, their begin not yet.

Shapes of trees are known, so the length must follow from how the bounds are written. What a call's numbers give is what
NumPy's slice gives, or an `IndexError` where that would be of another length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.creation import arange
from numloom.api.elementwise import clip, floor_divide, maximum, minimum, where
from numloom.array.convert import asarray
from numloom.array.ndarray import bind, node_of, wrap
from numloom.array.slicing import set_waiting
from numloom.array.subscript import axes_taken
from numloom.array.views import has_no_number
from numloom.base.dtypes import I64, KINDS, U64
from numloom.base.tracebacks import waits as follows_from_extents
from numloom.compiled.deferred import refusal
from numloom.compiled.orders import order
from numloom.graph.build import cast, gather
from numloom.graph.node import CAST, FILL, OP, SCALAR, SYMBOL, Node, register
from numloom.graph.source_location import Complaint
from numloom.graph.tree import TreeError

Array = Any
Sum = tuple[dict[Any, int], int]
"""Terms by what they are, with their factors, and a number."""
_DEEP = 64
"""Steps beneath a bound of which nobody asks any more how they were computed."""


# ---------------------------------------------------------------- how long a slice is


def waits(item: slice) -> bool:
    """Whether a bound of a slice has no number yet, or another one in each call."""
    given = (item.start, item.stop, item.step)
    return follows_from_extents(given) or (register.trees and any([has_no_number(bound) for bound in given]))


def _key(node: Node, deep: int = 0) -> Any:
    """What says that two values are the same whole number, whoever computed them."""
    if node.kind == SYMBOL:
        return "symbol", id(node.attr)
    if node.kind in (SCALAR, FILL):
        return "number", node.code, repr(node.attr)
    if node.kind == OP and deep < _DEEP and KINDS[node.code] in "iu":
        return id(node.op_def), node.code, tuple([_key(arg, deep + 1) for arg in node.args])
    return "value", id(node)


def _sum(node: Node, deep: int = 0) -> Sum:
    """A whole number as a sum of terms with factors."""
    if node.kind in (SCALAR, FILL) and KINDS[node.code] in "biu":
        return {}, int(node.attr)
    if deep < _DEEP and node.kind == CAST and KINDS[node.args[0].code] in "iu":
        return _sum(node.args[0], deep + 1)
    if deep < _DEEP and node.kind == OP:
        name = node.op_def.name
        parts = [_sum(arg, deep + 1) for arg in node.args if name in ("add", "subtract", "negative", "multiply")]
        if name == "add":
            return _added(parts[0], parts[1], 1)
        if name == "subtract":
            return _added(parts[0], parts[1], -1)
        if name == "negative":
            return _added(({}, 0), parts[0], -1)
        if name == "multiply" and not (parts[0][0] and parts[1][0]):
            of, factor = (parts[0], parts[1][1]) if parts[0][0] else (parts[1], parts[0][1])
            return _added(({}, 0), of, factor)
    return {_key(node): 1}, 0


def _added(one: Sum, other: Sum, factor: int) -> Sum:
    terms = dict(one[0])
    for term, count in other[0].items():
        terms[term] = terms.get(term, 0) + factor * count
    return {term: count for term, count in terms.items() if count}, one[1] + factor * other[1]


def _whole(given: Any) -> Node:
    """A bound of a slice, which must be a whole number."""
    array = asarray(given)
    if array.shape or KINDS[array.code] not in "iu":
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return node_of(array)


def _bound(given: Any) -> Array:
    """The same as a number of 64 bits."""
    array = wrap(_whole(given))
    if array.code == U64:  # What int64 does not have is beyond any end, and not negative.
        array = minimum(array, np.uint64(np.iinfo(np.int64).max))
    return wrap(cast(node_of(array), I64))


def _length(item: slice, extent: int, axis: int) -> tuple[int, int]:
    """Extent and step of a slice, as its bounds are written."""
    if has_no_number(item.step):
        raise TreeError("the step of a slice in a tree must be a number: the shape of what it gives follows from it")
    step = 1 if item.step is None else int(item.step.__index__())
    if not step:
        raise ValueError("slice step cannot be zero")
    terms, difference = {0: 1}, 0
    if item.start is not None and item.stop is not None:
        terms, difference = _added(_sum(_whole(item.stop)), _sum(_whole(item.start)), -1)
    if terms:
        raise TreeError(
            f"the length of this slice of axis {axis} would follow from values, and shapes in a tree are known: write "
            "both bounds so that their difference is a number (x[i * 20 : (i + 1) * 20], x[i : i + 20]), take a mask "
            "by nl.where, or slice before the function is called (by the number that a shared variable has now: "
            "int(w.get_value()))"
        )
    if difference * step < 0:
        raise TreeError(
            f"the bounds of this slice of axis {axis} differ by {difference} with a step of {step}, so whether it is "
            "empty follows from values: write the smaller one first, or a negative step"
        )
    count = -(-abs(difference) // abs(step))
    if count > extent:
        raise IndexError(f"a slice of length {count} does not fit into axis {axis}, which has extent {extent}")
    return count, step


def _positions(item: slice, extent: int, axis: int) -> tuple[Array, int, Complaint]:
    """Positions along an axis that a slice takes; `extent`, where NumPy would take fewer or others."""
    count, step = _length(item, extent, axis)
    first, last = (0, extent) if step > 0 else (-1, extent - 1)

    def within(bound: Array) -> Array:
        return clip(where(bound < 0, bound + extent, bound), first, last)

    start, stop = within(_bound(item.start)), within(_bound(item.stop))
    away = stop - start if step > 0 else start - stop
    found = floor_divide(maximum(away, 0) + (abs(step) - 1), abs(step))
    places = where(found == count, start + arange(count) * step, extent)
    complaint = (
        f"a slice reaches over the ends of axis {axis}, which has extent {extent}: in a compiled function it has "
        f"{count} elements in each call, and NumPy's slice would have fewer"
    )
    return places, count, (IndexError, complaint)


# ---------------------------------------------------------------- reading and writing


def _by_axis(array: Array, index: Any) -> tuple[list[Any], list[tuple[int, int]]]:
    """What stands between brackets, and of each slice with a bound that waits its place there and its axis."""
    items = list(index) if isinstance(index, tuple) else [index]
    if sum(map(axes_taken, items)) > array.ndim:
        raise IndexError(
            f"too many indices for array: array is {array.ndim}-dimensional, but {sum(map(axes_taken, items))} were "
            "indexed"
        )
    places, axis = [], 0
    for place, item in enumerate(items):
        if item is Ellipsis:
            axis = array.ndim - sum(map(axes_taken, items[place + 1 :]))
            continue
        if isinstance(item, slice) and waits(item):
            places.append((place, axis))
        axis += axes_taken(item)
    return items, places


def read(array: Array, index: Any) -> Array:
    """An array at a subscript with slices whose bounds wait: a copy, which is read-only, since it is no view."""
    items, places = _by_axis(array, index)
    for place, axis in places:
        item, items[place] = items[place], slice(None)
        where_to, count, complaint = _positions(item, array.shape[axis], axis)
        alike = array[tuple([slice(None)] * axis + [slice(0, count)])]
        strides = order(alike.shape, alike.strides, alike.itemsize)
        node = gather(node_of(array), [node_of(where_to)], (axis,), axis, complaint, strides)
        array = wrap(node)
        array.is_scalar = array.writeable = False
    plain = all([item is Ellipsis or (isinstance(item, slice) and item == slice(None)) for item in items])
    return array if plain else array[tuple(items)]


def put(array: Array, index: Any, value: Any) -> None:
    """Write to an array at a subscript of integers and slices, of which one has bounds that wait."""
    if follows_from_extents(index):
        raise TypeError(refusal("x[...] = value", "writes to the array") + "; nl.where(mask, value, x) gives another")
    items, places = _by_axis(array, index)
    basic = all([item is None or item is Ellipsis or isinstance(item, (slice, int, np.integer)) for item in items])
    if len(places) != 1 or not basic:
        raise TreeError(
            "one slice with bounds that wait can be written to, among slices with numbers and integers: take the view "
            "first (y = x[0, :, 1:3]; y[i : i + 3] = value), or write by nl.where"
        )
    place, axis = places[0]
    item, items[place] = items[place], slice(None)
    seen = array[tuple(items)]
    # Axes of the view before that one: of slices and new ones, and those that Ellipsis stands for.
    before = sum([one is None or isinstance(one, slice) for one in items[:place]])
    if Ellipsis in items[:place]:
        before += array.ndim - sum(map(axes_taken, items))
    places_there, _, complaint = _positions(item, array.shape[axis], axis)
    seen[tuple([slice(None)] * before + [_checked(places_there, array.shape[axis], complaint)])] = value


def _checked(places: Array, extent: int, complaint: Complaint) -> Array:
    """The same positions; where one is out of range the error says why."""
    numbers = arange(extent)
    return wrap(gather(node_of(numbers), [node_of(places)], (0,), 0, complaint)) if places.size else places


set_waiting(waits)
bind(put_by_waiting_slices=put, read_by_waiting_slices=read)

__all__ = ["put", "read", "waits"]
