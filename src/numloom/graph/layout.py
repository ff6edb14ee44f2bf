"""Arithmetic of layouts: shapes, strides in bytes, offsets. Pure functions, no arrays.

A *dense* layout is a permutation of one block of memory without gaps. A layout that is no longer
dense is what indexing makes. Numbers are NumPy's: strides in bytes, negative ones allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from numloom.base.dtypes import ITEMSIZES

Shape = tuple[int, ...]
_MOST_BYTES = (1 << 63) - 1


class Layout(NamedTuple):
    """Where the elements of an array lie in its memory: byte offset, shape and byte strides."""

    offset: int
    shape: Shape
    strides: Shape


@lru_cache(4096)
def c_strides(shape: Shape, itemsize: int) -> Shape:
    """Byte strides of a C-ordered dense array.

    Examples
    --------
    >>> c_strides((2, 3), 8)
    (24, 8)
    """
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(int(extent), 1)
    check_bytes(step)
    return tuple(reversed(strides))


def check_bytes(nbytes: int) -> None:
    """NumPy's ValueError for more bytes than an address can count."""
    if nbytes > _MOST_BYTES:
        raise ValueError("array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.")


def ordered_strides(shape: Shape, order: Sequence[int], itemsize: int) -> Shape:
    """Byte strides of a dense array whose axes lie in memory in `order`, slowest first."""
    strides = [0] * len(shape)
    step = itemsize
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    check_bytes(step)
    return tuple(strides)


def f_strides(shape: Shape, itemsize: int) -> Shape:
    """Byte strides of a Fortran-ordered dense array."""
    return ordered_strides(shape, range(len(shape) - 1, -1, -1), itemsize)


@lru_cache(4096)
def is_dense_order(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether the layout fills one block exactly, in some order of the axes (positive strides)."""
    step = itemsize
    pairs = sorted((stride, extent) for stride, extent in zip(strides, shape, strict=True) if extent != 1)
    if 0 in shape:
        return not pairs or pairs[0][0] > 0
    for stride, extent in pairs:
        if stride != step:
            return False
        step *= extent
    return True


def is_c_contiguous(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether elements lie in C order without gaps (NumPy's flag: axes of extent 1 do not count)."""
    step = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1:
            if stride != step:
                return 0 in shape
            step *= extent
    return True


def is_f_contiguous(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether elements lie in Fortran order without gaps."""
    return is_c_contiguous(shape[::-1], strides[::-1], itemsize)


def sees_all(seen: Layout, code: int, shape: Shape, held: int) -> bool:
    """Whether a layout of dtype `code` sees each element of a dense value of `shape` and dtype `held` once, as it is.

    The same bytes seen as another dtype are other elements, also where they are as many.

    Examples
    --------
    >>> sees_all(Layout(0, (3, 2), (8, 24)), 11, (6,), 11)
    True
    >>> sees_all(Layout(0, (6,), (8,)), 7, (6,), 11), sees_all(Layout(16, (2,), (8,)), 11, (4,), 11)
    (False, False)
    """
    whole = code == held and seen.offset == 0 and prod(seen.shape) == prod(shape)
    return whole and is_dense_order(seen.shape, seen.strides, ITEMSIZES[code])


def named_order(order: Any, default: str, allowed: str = "CFAK") -> str:
    """A memory order by NumPy's names: one letter of either case, None for the default.

    Raises
    ------
    ValueError
        For a name that is not among those `allowed`.
    TypeError
        For what is no name.
    """
    if order is None:
        return default
    if isinstance(order, bytes):
        order = order.decode("latin-1")
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    name = order.upper()
    if len(name) != 1 or name not in allowed:
        *others, last = map(repr, allowed)
        raise ValueError(f"order must be one of {', '.join(others)} or {last} (got {order!r})")
    return name


@lru_cache(4096)
def strides_in_order(shape: Shape, strides: Shape, itemsize: int, order: str) -> Shape:
    """Dense strides of a copy of a layout in order "C", "F", "A" or "K" (by NumPy's names)."""
    order = named_order(order, "K")
    if order == "A":
        fortran = is_f_contiguous(shape, strides, itemsize) and not is_c_contiguous(shape, strides, itemsize)
        order = "F" if fortran else "C"
    if order == "C":
        return c_strides(shape, itemsize)
    if order == "F":
        return f_strides(shape, itemsize)
    if 0 in shape:
        return strides if is_dense_order(shape, strides, itemsize) else copy_strides(shape, strides, itemsize)
    if is_c_contiguous(shape, strides, itemsize):  # The stride of an axis of extent 1 says nothing.
        return c_strides(shape, itemsize)
    if is_f_contiguous(shape, strides, itemsize):
        return f_strides(shape, itemsize)
    return copy_strides(shape, strides, itemsize)


def k_order(ndim: int, operands: Sequence[Shape]) -> list[int]:
    """Axes, slowest first, in the order in which NumPy's "K" lays out a result of these operands.

    `operands` are byte strides broadcast to `ndim` axes (0 along a broadcast axis). Axes are
    insertion-sorted by increasing absolute stride, the last axis first; where operands disagree C
    order wins, and an axis along which nothing is known stays where it is.
    """
    order = list(range(ndim - 1, -1, -1))  # fastest first
    for position in range(1, ndim):
        axis = order[position]
        target = position
        for candidate in range(position - 1, -1, -1):
            other = order[candidate]
            ambiguous, before = True, False
            for strides in operands:
                mine, theirs = abs(strides[axis]), abs(strides[other])
                if mine and theirs:
                    if mine >= theirs:
                        before = False
                    elif ambiguous:
                        before = True
                    ambiguous = False
            if not ambiguous:
                if before:
                    target = candidate
                else:
                    break
        if target != position:
            order.insert(target, order.pop(position))
    order.reverse()
    return order


def k_strides(shape: Shape, operands: Sequence[Shape], itemsize: int) -> Shape:
    """Dense strides of a result of `shape` in K order of its operands' (broadcast) strides."""
    if 1 in shape:  # The stride of such an axis says nothing.
        operands = [tuple(0 if e == 1 else s for e, s in zip(shape, strides, strict=True)) for strides in operands]
    return ordered_strides(shape, k_order(len(shape), operands), itemsize)


def copy_strides(shape: Shape, strides: Shape, itemsize: int) -> Shape:
    """Dense strides of a copy in K order: by decreasing stride, so that repeated axes (of stride 0) run fastest.

    Results of operations are otherwise (`k_strides`): there, an axis along which nothing is known stays where it is.

    >>> copy_strides((3, 2), (0, 8), 8), k_strides((3, 2), [(0, 8)], 8)
    ((8, 24), (16, 8))
    """
    return ordered_strides(shape, sorted(range(len(shape)), key=lambda axis: -abs(strides[axis])), itemsize)


@lru_cache(4096)
def joined_strides(shape: Shape, parts: tuple[tuple[Shape, Shape], ...], itemsize: int) -> Shape:
    """Dense strides of parts (shapes and strides) put together: as `k_strides`, but repeated axes run fastest.

    Only an axis of extent 1 says nothing of its place here, and axes are compared first to last, as NumPy has it.
    """
    order: list[int] = []  # slowest first
    for axis in range(len(shape)):
        place = axis
        for position in range(axis - 1, -1, -1):
            other = order[position]
            known = [s for extents, s in parts if extents[axis] != 1 and extents[other] != 1]
            if any(abs(s[axis]) <= abs(s[other]) for s in known):
                break
            if known:
                place = position
        order.insert(place, axis)
    return ordered_strides(shape, order, itemsize)


def indexed_strides(
    rest: tuple[Shape, Shape], shape: Shape, indices: Sequence[Shape], position: int, itemsize: int
) -> Shape:
    """Dense strides of what index arrays choose, as NumPy lays it out: the indices' axes slowest, in C order.

    Parameters
    ----------
    rest : tuple of Shape
        Shape and strides of the axes that are not indexed.
    shape, indices : Shape, sequence of Shape
        Common shape of the index arrays, and their strides broadcast to it.
    position : int
        Where their axes stand in the result, among the others.
    itemsize : int
        Bytes of an element.
    """
    extents, strides = rest
    count = len(shape)
    # Where there is one element an index, nothing is moved together: the indices' own order is followed.
    chosen = k_order(count, indices) if prod(extents) == 1 else range(count)
    others = sorted(range(len(extents)), key=lambda axis: -abs(strides[axis]))
    order = [position + axis for axis in chosen] + [axis if axis < position else axis + count for axis in others]
    return ordered_strides((*extents[:position], *shape, *extents[position:]), order, itemsize)


def reduced_strides(shape: Shape, strides: Shape, axes: Sequence[int], keepdims: bool, itemsize: int) -> Shape:
    """Dense strides of a reduction's result: the other axes in the order in which all are walked."""
    known = [0 if extent == 1 else stride for extent, stride in zip(shape, strides, strict=True)]
    order = k_order(len(shape), [tuple(known)])
    if keepdims:
        return ordered_strides(tuple(1 if k in axes else e for k, e in enumerate(shape)), order, itemsize)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    number = {axis: k for k, axis in enumerate(kept)}
    return ordered_strides(
        tuple(shape[axis] for axis in kept), [number[axis] for axis in order if axis in number], itemsize
    )


def shown(shape: Shape) -> str:
    """A shape as NumPy's messages have it."""
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Common shape by NumPy's broadcasting rules.

    Raises
    ------
    ValueError
        With NumPy's words if the shapes do not fit.
    """
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for axis, extent in enumerate(shape, ndim - len(shape)):
            if extent != 1:
                if result[axis] == 1:
                    result[axis] = extent
                elif result[axis] != extent:
                    given = " ".join(map(shown, shapes))
                    raise ValueError(f"operands could not be broadcast together with shapes {given}")
    return tuple(result)


def broadcast_strides(shape: Shape, strides: Shape, target: Shape) -> Shape:
    """Strides of an array of `shape` seen as the broadcast shape `target` (0 where it repeats)."""
    lead = len(target) - len(shape)
    return (0,) * lead + tuple(
        0 if extent == 1 and goal != 1 else stride
        for extent, stride, goal in zip(shape, strides, target[lead:], strict=True)
    )


def extent_of(layout: Layout, itemsize: int) -> tuple[int, int]:
    """First byte and one past the last byte that the layout touches (equal if it is empty)."""
    low = high = layout.offset
    if 0 in layout.shape:
        return low, low
    for extent, stride in zip(layout.shape, layout.strides, strict=True):
        if stride < 0:
            low += stride * (extent - 1)
        else:
            high += stride * (extent - 1)
    return low, high + itemsize


def factor(
    offset: int, shape: Shape, strides: Shape, base_shape: Shape, base_strides: Shape, itemsize: int
) -> tuple[Shape, tuple[Shape, ...]] | None:
    """Express a layout over a dense base as affine indices of the base.

    Gives ``(starts, coefficients)``: base index k at view index i is ``starts[k] +
    sum(coefficients[k][d] * i[d])``, always within the base; None if there is no such form (for
    instance where one view axis runs across two base axes).
    """
    if any(stride % itemsize for stride in strides) or offset % itemsize:
        return None
    order = sorted(
        (axis for axis in range(len(base_shape)) if base_shape[axis] > 1 and base_strides[axis]),
        key=lambda axis: -base_strides[axis],
    )
    starts = [0] * len(base_shape)
    rest = offset
    for axis in order:
        starts[axis], rest = divmod(rest, base_strides[axis])
    if rest:
        return None
    low, high = list(starts), list(starts)
    coefficients = [[0] * len(shape) for _ in base_shape]
    for d, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        if extent <= 1 or stride == 0:
            continue
        rest = abs(stride)
        sign = 1 if stride > 0 else -1
        for axis in order:
            steps, rest = divmod(rest, base_strides[axis])
            if steps:
                coefficients[axis][d] = sign * steps
                if sign > 0:
                    high[axis] += steps * (extent - 1)
                else:
                    low[axis] -= steps * (extent - 1)
        if rest:
            return None
    if any(low[axis] < 0 or high[axis] >= max(base_shape[axis], 1) for axis in range(len(base_shape))):
        return None
    return tuple(starts), tuple(tuple(row) for row in coefficients)


def displacement(between: int, strides: Sequence[int], most: int = 8) -> tuple[int, ...] | None:
    """Steps along each dimension that lead so many bytes further; None where there are none of at most `most` each.

    >>> displacement(-4096 + 4, (4096, 4)), displacement(0, (8, 0)), displacement(4096 * 9, (4096, 4))
    ((-1, 1), (0, 0), None)
    """
    by = [0] * len(strides)
    for d in sorted((d for d, stride in enumerate(strides) if stride != 0), key=lambda d: -abs(strides[d])):
        stride = strides[d]
        steps = (2 * between + abs(stride)) // (2 * abs(stride))
        if not -most <= steps <= most:
            return None
        by[d] = int(steps) if stride > 0 else -int(steps)
        between -= by[d] * stride
    return tuple(by) if between == 0 else None


@lru_cache(4096)
def may_self_overlap(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether two elements of the layout may share memory (False is certain, True is cautious)."""
    if 0 in shape:
        return False
    reach = itemsize
    for stride, extent in sorted((abs(s), e) for s, e in zip(strides, shape, strict=True) if e > 1):
        if stride < reach:
            return True
        reach = stride * (extent - 1) + reach
    return False


def may_overlap(a: Layout, a_itemsize: int, b: Layout, b_itemsize: int) -> bool:
    """Whether two layouts over one memory may share a byte (False is certain, True is cautious).

    Disjoint bounds are seen, and so are two boxes or combs over the same strides: along some
    common stride the ranges of multiples do not meet.
    """
    a_low, a_high = extent_of(a, a_itemsize)
    b_low, b_high = extent_of(b, b_itemsize)
    if a_high <= b_low or b_high <= a_low or a_low == a_high or b_low == b_high:
        return False
    if a_itemsize != b_itemsize:
        return True
    steps = sorted(
        {abs(s) for layout in (a, b) for s, e in zip(layout.strides, layout.shape, strict=True) if e > 1 and s},
        reverse=True,
    )
    # Split both into digits over the strides seen; an element is the sum of its digits, and if digits
    # never carry, disjoint ranges of one digit mean disjoint layouts.
    ranges = []
    for layout, low in ((a, a_low), (b, b_low)):
        rest, digits = low, []
        for step in steps:
            start, rest = divmod(rest, step)
            reach = sum(e - 1 for s, e in zip(layout.strides, layout.shape, strict=True) if e > 1 and abs(s) == step)
            digits.append((start, start + reach))
        if steps and rest + a_itemsize > steps[-1]:
            return True
        ranges.append((digits, rest))
    limit = None
    for position, step in enumerate(steps):
        for digits, _ in ranges:
            if limit is not None and digits[position][1] >= limit:
                return True
        limit = step // steps[position + 1] if position + 1 < len(steps) else None
        if limit is not None and step % steps[position + 1]:
            return True
    for (a_first, a_last), (b_first, b_last) in zip(ranges[0][0], ranges[1][0], strict=True):
        if a_last < b_first or b_last < a_first:
            return False
    a_rest, b_rest = ranges[0][1], ranges[1][1]
    return abs(a_rest - b_rest) < a_itemsize


def reshape_strides(shape: Shape, strides: Shape, new_shape: Shape, itemsize: int) -> Shape | None:
    """Strides of the same memory seen as `new_shape` in C order of indices, or None if it needs a copy."""
    if prod(shape) == 0 or prod(new_shape) == 0:
        return c_strides(new_shape, itemsize)
    old = [(e, s) for e, s in zip(shape, strides, strict=True) if e != 1]
    result = [0] * len(new_shape)
    i = j = 0
    while i < len(old) or j < len(new_shape):
        if j < len(new_shape) and new_shape[j] == 1:
            j += 1
            continue
        if i >= len(old) or j >= len(new_shape):
            break
        i_end, j_end = i + 1, j + 1
        have, want = old[i][0], new_shape[j]
        while have != want:
            if have < want:
                if old[i_end - 1][1] != old[i_end][0] * old[i_end][1]:
                    return None
                have *= old[i_end][0]
                i_end += 1
            else:
                want *= new_shape[j_end]
                j_end += 1
        step = old[i_end - 1][1]
        for axis in range(j_end - 1, j - 1, -1):
            result[axis] = step
            step *= new_shape[axis]
        i, j = i_end, j_end
    # Axes of extent 1 get the stride a dense neighbour would give them.
    step = itemsize
    for axis in range(len(new_shape) - 1, -1, -1):
        if new_shape[axis] == 1:
            result[axis] = step
        else:
            step = result[axis] * new_shape[axis]
    return tuple(result)


def resolve_shape(size: int, new_shape: Sequence[int]) -> Shape:
    """`new_shape` with one -1 replaced by what is left of `size`; NumPy's ValueError if it cannot be."""
    shape = tuple(new_shape)
    unknown = [axis for axis, extent in enumerate(shape) if extent < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    known = prod(extent for extent in shape if extent >= 0)
    if unknown:
        if known == 0 or size % known:
            raise ValueError(_misfit(size, shape))
        axis = unknown[0]
        return (*shape[:axis], size // known, *shape[axis + 1 :])
    if known != size:
        raise ValueError(_misfit(size, shape))
    return shape


def _misfit(size: int, shape: Shape) -> str:
    # NumPy calls an extent that is to be found "newaxis", and leaves it out in front.
    known = next((axis for axis, extent in enumerate(shape) if extent >= 0), len(shape))
    words = ",".join("newaxis" if extent < 0 else str(extent) for extent in shape[known:])
    return f"cannot reshape array of size {size} into shape ({words}{',' if len(shape) == 1 else ''})"
