"""When a partial write may run in the memory of what it writes to: the one place that decides it.

An UPDATE writes the elements of its value through a layout (the *region*) of its base. Its kernel computes elements in
any order and at once, so in place it gives NumPy's values only if no element of the value reads what another element
writes. `reads_apart` is True only where that is proven, of each path that leads from the value to the base:

- what is read has no byte in common with the region (`may_overlap`), or
- element i of the value reads only what element i of the region writes: the path leads through elementwise operations
  of the region's shape alone, and ends at the region's own layout.

All that is not known to be one of these is not apart: other kinds of node, broadcasts, other shapes, the base itself as
the value. Paths end at memory that is not the base's: no two values of a walk have the same memory, as an update takes
the memory of its base only if nobody else needs that (`group._is_exclusive`).

`group` then has the value computed into memory of its own first, or writes old and new into fresh memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from numloom.base.dtypes import ITEMSIZES
from numloom.graph.layout import Layout, extent_of, factor, may_overlap
from numloom.graph.node import CAST, FILL, LEAF, OP, REDUCE, UPDATE, VIEW, Node


def reads_apart(
    memory: Sequence[bool], value: Node, base: Node, region: Layout, itemsize: int, same: bool = True
) -> bool:
    """Whether `value` reads of `base` only what no other element of the region overwrites.

    With ``same=False`` only what none does. `memory` says by node number what is not computed inline.
    """
    stack = [(value, same)]
    seen: set[tuple[int, bool]] = set()
    while stack:
        node, aligned = stack.pop()
        if (node.number, aligned) in seen:
            continue
        seen.add((node.number, aligned))
        source = node.args[0] if node.kind == VIEW else node
        if source is base:
            read = Layout(node.attr if node.kind == VIEW else 0, node.shape, node.strides)
            if not (aligned and _is_same_place(read, ITEMSIZES[node.code], region, itemsize)) and may_overlap(
                read, ITEMSIZES[node.code], region, itemsize
            ):
                return False
        elif not memory[node.number]:
            inner = aligned and node.kind in (OP, CAST) and node.shape == region.shape
            stack.extend([(arg, inner) for arg in node.args])
    return True


def _is_same_place(read: Layout, read_itemsize: int, region: Layout, itemsize: int) -> bool:
    """Whether each element that is read lies where the region's lies, and shares no byte with another of the region."""
    if read != region:
        return False
    # Elements of the region lie apart; wider ones do where all begin at multiples of their size from each other.
    return read_itemsize <= itemsize or not any([stride % read_itemsize for stride in read.strides])


def alternate(a: Layout, a_itemsize: int, b: Layout, b_itemsize: int) -> bool:
    """Whether elements of one layout lie between those of another."""
    a_low, a_high = extent_of(a, a_itemsize)
    b_low, b_high = extent_of(b, b_itemsize)
    return a_low < b_high and b_low < a_high


def fills_around(node: Node, users: Sequence[Sequence[int]]) -> bool:
    """Whether an update is the only reader of a filled array, which then need not be written first.

    A transposed operand is better written by tiles of its own shape.
    """
    base, value = node.args
    if (
        base.kind != FILL
        or base.attr is None
        or base.storages
        or base.readers > base.seen
        or len(users[base.number]) > 1
    ):
        return False
    return node.attr[3] == base.code and box_of(node) is not None and not _is_strided_access(value)


def _is_strided_access(root: Node) -> bool:
    """Whether a value is computed from memory whose neighbours are no neighbours of the value."""
    stack, seen = [root], {root.number}
    while stack:
        node = stack.pop()
        if node.kind in (VIEW, LEAF) and len(node.shape) > 1:
            itemsize = ITEMSIZES[node.code]
            if abs(node.strides[-1]) > itemsize and any(stride == itemsize for stride in node.strides[:-1]):
                return True
        for arg in node.args:
            if arg.number not in seen and node.kind not in (VIEW, REDUCE, UPDATE):
                seen.add(arg.number)
                stack.append(arg)
    return False


def box_of(node: Node) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """An update's region as a box of its base: for each base axis start, count and view axis (-1 for none)."""
    base = node.args[0]
    offset, shape, strides, code = node.attr
    found = factor(offset, shape, strides, base.shape, base.strides, ITEMSIZES[code])
    if found is None:
        return None
    starts, coefficients = found
    box_starts, counts, axes = [], [], []
    for axis, row in enumerate(coefficients):
        used = [d for d, c in enumerate(row) if c]
        if len(used) > 1:
            return None
        if used:
            d = used[0]
            if row[d] != 1 or sum(1 for other in coefficients if other[d]) > 1:
                return None
            box_starts.append(starts[axis])
            counts.append(shape[d])
            axes.append(d)
        else:
            box_starts.append(starts[axis])
            counts.append(1)
            axes.append(-1)
    if any(extent > 1 and d not in axes for d, extent in enumerate(shape)):
        return None
    return tuple(box_starts), tuple(counts), tuple(axes)


__all__ = ["alternate", "box_of", "fills_around", "reads_apart"]
