"""What stands between the brackets: from a subscript to a layout, or to index arrays over one.

Pure functions: nothing here touches values. Index arrays are whatever `is_index_array` of the
caller says; they come back in `Advanced` untouched.
"""

from __future__ import annotations

from operator import index as as_integer
from typing import Any, NamedTuple, final

import numpy as np

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.array.slicing import WaitingBoundError, bounds
from numloom.base.dtypes import BOOL, F16, SCALAR_CODES
from numloom.graph.build import one_tuple

_NOTHING: tuple[Any, ...] = ()
_WORD, _HALF = 1 << 64, 1 << 63


@cython.no_gc
@cython.freelist(8)
@cython.cclass
class Basic:
    """A view: byte offset, shape and strides; `scalar` if every axis was given an integer."""

    __slots__ = ("offset", "scalar", "shape", "strides")

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    scalar: bool


def new_basic(offset: int, shape: tuple[int, ...], strides: tuple[int, ...], scalar: bool) -> Basic:
    """A view."""
    basic = Basic.__new__(Basic)
    basic.offset = offset
    basic.shape = shape
    basic.strides = strides
    basic.scalar = scalar
    return basic


@final
class Advanced(NamedTuple):
    """Index arrays over a view.

    `axes[k]` is the axis of the view that `indices[k]` (an array or an int) indexes; `position` is
    where the broadcast index shape stands in the result, among the axes left over.
    """

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    indices: tuple[Any, ...]
    axes: tuple[int, ...]
    position: int


_AXES = 8
_SLOTS = 512


class Layouts:
    """Shapes and strides met last, by their numbers: equal ones are the same objects, which signatures are found by.

    Attributes
    ----------
    kept : list of int
        Extents and strides of each layout that is known, in pairs.
    counts, shapes, strides : list
        Their axes, shapes and strides.
    """

    __slots__ = ("counts", "kept", "shapes", "strides")

    def __init__(self) -> None:
        if not cython.compiled:  # Arrays of C there.
            self.kept = [0] * (2 * _AXES * _SLOTS)
            self.counts = [0] * _SLOTS
        self.shapes: list[Any] = [()] * _SLOTS
        self.strides: list[Any] = [()] * _SLOTS

    def find(self, numbers: list[int], count: int) -> int:
        """Place of the layout of `count` axes whose extents and strides are `numbers`."""
        slot = count
        for at in range(2 * count):
            slot = (slot * 31 + numbers[at]) & 0xFFFFFFF
        slot = (slot ^ (slot >> 9)) & (_SLOTS - 1)
        begin = 2 * _AXES * slot
        if self.counts[slot] == count:
            for at in range(2 * count):
                if self.kept[begin + at] != numbers[at]:
                    break
            else:
                return slot
        for at in range(2 * count):
            self.kept[begin + at] = numbers[at]
        self.counts[slot] = count
        self.shapes[slot] = one_tuple(tuple([numbers[2 * axis] for axis in range(count)]))
        self.strides[slot] = one_tuple(tuple([numbers[2 * axis + 1] for axis in range(count)]))
        return slot


_layouts = Layouts()


def simple(offset: int, shape: tuple[int, ...], strides: tuple[int, ...], index: Any) -> Basic | None:
    """What most subscripts are: integers, slices, new axes and an ellipsis; None for anything else, also for errors."""
    if not cython.compiled:  # An array of C there.
        numbers = [0] * (2 * _AXES)
    layouts = _layouts
    ndim = len(shape)
    several = type(index) is tuple
    items = index if several else _NOTHING
    given = len(items) if several else 1
    left = ndim  # axes that no item takes
    seen = False
    for at in range(given):
        item = items[at] if several else index
        if item is Ellipsis:
            if seen:
                return None
            seen = True
        elif item is not None:
            left -= 1
    if left < 0 or given + left > _AXES:
        return None
    axis = count = 0
    for at in range(given):
        item = items[at] if several else index
        if item is None:
            numbers[2 * count] = 1
            numbers[2 * count + 1] = 0
            count += 1
            continue
        if item is Ellipsis:
            for _ in range(left):
                numbers[2 * count] = shape[axis]
                numbers[2 * count + 1] = strides[axis]
                count += 1
                axis += 1
            continue
        extent = shape[axis]
        stride = strides[axis]
        axis += 1
        if type(item) is not slice:
            if type(item) is not int:
                code = SCALAR_CODES.get(type(item))
                if code is None or not BOOL < code < F16:  # An integer of NumPy's is one, too.
                    return None
                item = int(item)
            if not -extent <= item < extent:
                return None
            position = item
            offset += (position + extent if position < 0 else position) * stride
            continue
        try:
            start, extent, step = bounds(item, extent)
        except WaitingBoundError:
            return None
        if extent:
            offset += start * stride
        numbers[2 * count] = extent
        numbers[2 * count + 1] = stride * step
        count += 1
    while axis < ndim:
        numbers[2 * count] = shape[axis]
        numbers[2 * count + 1] = strides[axis]
        count += 1
        axis += 1
    if count == 0:
        return new_basic(offset, _NOTHING, _NOTHING, not seen)
    slot = layouts.find(numbers, count)
    return new_basic(offset, layouts.shapes[slot], layouts.strides[slot], False)


def turned(shape: tuple[int, ...], strides: tuple[int, ...]) -> Basic | None:
    """A layout's axes in reverse order, from the front of the memory; None for more axes than are kept."""
    if not cython.compiled:  # An array of C there.
        numbers = [0] * (2 * _AXES)
    layouts = _layouts
    ndim = len(shape)
    if ndim > _AXES:
        return None
    for axis in range(ndim):
        numbers[2 * (ndim - 1 - axis)] = shape[axis]
        numbers[2 * (ndim - 1 - axis) + 1] = strides[axis]
    slot = layouts.find(numbers, ndim)
    return new_basic(0, layouts.shapes[slot], layouts.strides[slot], False)


def recut(shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[Any, ...], itemsize: int) -> Basic | None:
    """Elements that lie in C order seen in another shape, from their begin; None where more must be looked at."""
    if not cython.compiled:  # An array of C there.
        numbers = [0] * (2 * _AXES)
    layouts = _layouts
    count = len(wanted)
    if count > _AXES:
        return None
    size = 1
    for axis in range(len(shape) - 1, -1, -1):
        extent = shape[axis]
        if extent != 1 and strides[axis] != size * itemsize:
            return None
        size *= extent
    open_at = -1
    product = 1
    for axis in range(count):
        if type(wanted[axis]) is not int:
            return None
        try:
            extent = wanted[axis]
        except OverflowError:
            return None
        if extent == -1 and open_at < 0:
            open_at = axis
            extent = 1
        elif extent <= 0 or extent > size:
            return None
        numbers[2 * axis] = extent
        product *= extent
        if product > size:
            return None
    if product == 0 or size % product or (open_at < 0 and product != size):
        return None
    if open_at >= 0:
        numbers[2 * open_at] = size // product
    step = itemsize
    for axis in range(count - 1, -1, -1):
        numbers[2 * axis + 1] = step
        step *= numbers[2 * axis]
    slot = layouts.find(numbers, count)
    return new_basic(0, layouts.shapes[slot], layouts.strides[slot], False)


def squeezed(shape: tuple[int, ...], strides: tuple[int, ...]) -> Basic | None:
    """A layout without its axes of extent 1; None for more axes than are kept."""
    if not cython.compiled:  # An array of C there.
        numbers = [0] * (2 * _AXES)
    layouts = _layouts
    count = 0
    if len(shape) > _AXES:
        return None
    for axis in range(len(shape)):
        extent = shape[axis]
        if extent != 1:
            numbers[2 * count] = extent
            numbers[2 * count + 1] = strides[axis]
            count += 1
    slot = layouts.find(numbers, count)
    return new_basic(0, layouts.shapes[slot], layouts.strides[slot], False)


def in_c_order(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Whether elements lie one after the other in C order; where there are none that is not said."""
    step = itemsize
    for axis in range(len(shape) - 1, -1, -1):
        extent = shape[axis]
        if extent != 1 and strides[axis] != step:
            return False
        step *= extent
    return True


def check_integer(index: int, axis: int, extent: int) -> int:
    """A non-negative index; NumPy's IndexError if it is out of bounds."""
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")
    return index + extent if index < 0 else index


def axes_taken(item: Any) -> int:
    """How many axes of an array an item between brackets indexes."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, list):
        item = np.asarray(item)
    return item.ndim if getattr(item, "dtype", None) == np.bool_ else 1


def subscript(
    offset: int, shape: tuple[int, ...], strides: tuple[int, ...], index: Any, expand: Any
) -> Basic | Advanced:
    """Apply a subscript to a layout.

    `expand(item)` turns what is no integer, slice, Ellipsis or None into ``(arrays, ndim)``: the
    index arrays it stands for and how many axes it takes (a boolean array of n axes gives n).

    Raises
    ------
    IndexError
        As NumPy: too many indices, out of bounds, not a valid index.
    """
    found = simple(offset, shape, strides, index)
    if found is not None:
        return found
    items = index if isinstance(index, tuple) else (index,)
    parsed: list[tuple[str, Any]] = []
    used = 0
    ellipsis_at = -1
    any_array = False
    for number, item in enumerate(items):
        kind = type(item)
        if kind is int or isinstance(item, np.integer):
            parsed.append(("int", int(item)))
            used += 1
        elif kind is slice:
            parsed.append(("slice", item))
            used += 1
        elif item is None:
            parsed.append(("new", None))
        elif item is Ellipsis:
            if ellipsis_at >= 0:
                raise IndexError("an index can only have a single ellipsis ('...')")
            ellipsis_at = len(parsed)
            parsed.append(("ellipsis", None))
        elif kind not in (bool, np.bool_) and not hasattr(item, "ndim") and hasattr(item, "__index__"):
            parsed.append(("int", int.__index__(as_integer(item))))  # Of an integer that is a number of its own.
            used += 1
        else:
            axis = used if ellipsis_at < 0 else len(shape) - sum(map(axes_taken, items[number:]))
            arrays, count = expand(item, axis, shape)
            any_array = True
            parsed.append(("arrays" if count else "truth", arrays))
            used += count
    ndim = len(shape)
    if used > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    if ellipsis_at < 0:
        ellipsis_at = len(parsed)
        parsed.append(("ellipsis", None))
    new_shape: list[int] = []
    new_strides: list[int] = []
    indices: list[Any] = []
    axes: list[int] = []
    positions: list[int] = []
    axis = 0
    for number, (what, item) in enumerate(parsed):
        if what == "slice":
            start, extent, step = bounds(item, shape[axis])
            offset += start * strides[axis] if extent else 0
            new_shape.append(extent)
            # Of one position (or none) the step may be any number: what does not fit wraps, as it does in C.
            new_strides.append((strides[axis] * step + _HALF) % _WORD - _HALF if extent <= 1 else strides[axis] * step)
            axis += 1
        elif what == "int":
            position = check_integer(item, axis, shape[axis])
            if any_array:
                indices.append(position)
                axes.append(len(new_shape))
                positions.append(number)
                new_shape.append(shape[axis])
                new_strides.append(strides[axis])
            else:
                offset += position * strides[axis]
            axis += 1
        elif what == "new":
            new_shape.append(1)
            new_strides.append(0)
        elif what == "ellipsis":
            count = ndim - used
            new_shape.extend(shape[axis : axis + count])
            new_strides.extend(strides[axis : axis + count])
            axis += count
        elif what == "truth":
            indices.append(item[0])
            axes.append(len(new_shape))
            positions.append(number)
            new_shape.append(1)
            new_strides.append(0)
        else:
            for array in item:
                indices.append(array)
                axes.append(len(new_shape))
                positions.append(number)
                new_shape.append(shape[axis])
                new_strides.append(strides[axis])
                axis += 1
    if not any_array:
        scalar = not new_shape and all(what == "int" or what == "ellipsis" for what, _ in parsed)
        return new_basic(offset, tuple(new_shape), tuple(new_strides), scalar and Ellipsis not in items)
    adjacent = positions[-1] - positions[0] <= len(set(positions)) - 1
    position = axes[0] if adjacent and axes else 0
    return Advanced(offset, tuple(new_shape), tuple(new_strides), tuple(indices), tuple(axes), position)
