"""Gradients of views, of writes to a part, and of reads at indices: what flows back through memory."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from numloom.array.ndarray import node_of, wrap
from numloom.array.storage import new_storage, write, write_at
from numloom.base.dtypes import DTYPES, I64, ITEMSIZES, KINDS
from numloom.compiled.gradient_values import (
    Array,
    array_of,
    broadcast,
    cast_to,
    in_memory_order,
    named,
    zeros_like,
)
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.graph.node import VIEW, Node
from numloom.graph.source_location import here


def of_view(g: Array, view: Node, base: Node) -> Array:
    """What flows back to a value that was seen through a layout.

    Raises
    ------
    TypeError
        If bytes of floats were seen as whole numbers.
    """
    _check_code(view.code, base.code)
    if not base.size or not view.size:
        return wrap(zeros_like(base))
    code, shape, strides = view.code, view.shape, view.strides
    if KINDS[code] == "c" and KINDS[base.code] == "f":
        g = _as_pairs(_conjugated(g, code, base.code), base.code)
        code, shape, strides = base.code, g.shape, (*strides, ITEMSIZES[base.code])
    g, offset, shape, strides = _unrepeated(g, view.attr, shape, strides)
    if any(outer < inner * extent for (outer, inner), extent in zip(pairwise(strides), shape[1:], strict=True)):
        found = _added_at(g, offset, strides, base, code)
    elif code == base.code and prod(shape) == base.size:
        return _from_memory_order(g, base)
    else:
        storage = new_storage(zeros_like(base))
        write(storage, code, offset, shape, strides, node_of(g))
        found = _as_it_was(storage.value, base)
    return _conjugated(array_of(found), base.code, code)


def _check_code(seen: int, code: int) -> None:
    parts = {KINDS[seen], KINDS[code]} == {"c", "f"}
    if seen == code or (parts and ITEMSIZES[seen] in (2 * ITEMSIZES[code], ITEMSIZES[code] // 2)):
        return
    raise TypeError(
        f"memory of {DTYPES[code]} seen as {DTYPES[seen]} has no gradient: use astype, which converts the numbers"
    )


def _as_pairs(g: Array, code: int) -> Array:
    """Complex numbers as pairs of real ones, along one axis more."""
    steps = c_strides(g.shape, ITEMSIZES[g.code])
    return array_of(
        build.view(build.copied(node_of(g), steps, g.code), code, 0, (*g.shape, 2), (*steps, ITEMSIZES[code]))
    )


def _conjugated(g: Array, one: int, other: int) -> Array:
    """A gradient; conjugated where it is complex and the other value real, so that parts are those of the cost."""
    return named("conjugate", g) if KINDS[one] == "c" and KINDS[other] == "f" else g


def _unrepeated(
    g: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[Array, int, tuple[int, ...], tuple[int, ...]]:
    """A layout of positive, falling strides for what is seen, and the gradient for it: repetitions are summed."""
    repeated = tuple(axis for axis, stride in enumerate(strides) if stride == 0 or shape[axis] == 1)
    if any(shape[axis] > 1 for axis in repeated):
        g = g.sum(repeated, g.dtype)
    else:
        g = g.reshape([extent for axis, extent in enumerate(shape) if axis not in repeated])
    kept = [axis for axis in range(len(shape)) if axis not in repeated]
    backwards = tuple([slice(None, None, -1 if strides[axis] < 0 else 1) for axis in kept])
    if any(strides[axis] < 0 for axis in kept):
        g = g[backwards]
    offset += sum((shape[axis] - 1) * strides[axis] for axis in kept if strides[axis] < 0)
    order = sorted(range(len(kept)), key=lambda k: -abs(strides[kept[k]]))
    if order != list(range(len(kept))):
        g = g.transpose(order)
    return g, offset, tuple(shape[kept[k]] for k in order), tuple(abs(strides[kept[k]]) for k in order)


def memory_axes(node: Node) -> list[int]:
    """Axes of a dense value as they lie in memory, the slowest first."""
    return sorted(range(len(node.shape)), key=lambda axis: -node.strides[axis])


def _from_memory_order(g: Array, base: Node) -> Array:
    """Elements in the order of the memory of `base`, as they stand in `base`."""
    axes = memory_axes(base)
    found = g.reshape([base.shape[axis] for axis in axes])
    back = [axes.index(axis) for axis in range(len(axes))]
    return found if back == list(range(len(axes))) else found.transpose(back)


def _added_at(g: Array, offset: int, strides: tuple[int, ...], base: Node, code: int) -> Node:
    """Zeros like `base` to which is added what its overlapping windows (in dtype `code`) have as gradient."""
    itemsize = ITEMSIZES[code]
    place = wrap(build.full(offset // itemsize, I64, (1,) * g.ndim))
    for axis, stride in enumerate(strides):
        count = wrap(build.iota(g.shape[axis])) * (stride // itemsize)
        place = place + count.reshape([-1 if k == axis else 1 for k in range(g.ndim)])
    count = base.size * ITEMSIZES[base.code] // itemsize
    flat = build.full(0, code, (count,))
    storage = new_storage(flat)
    operands = [node_of(g), node_of(broadcast(place, g.shape))]
    write_at(
        storage, code, 0, flat.shape, flat.strides, operands, axes=(0,), position=0, op="add", loop=(code,) * 3,
        location=here(),
    )  # fmt: skip
    return _as_it_was(storage.value, base)


def _as_it_was(node: Node, like: Node) -> Node:
    """Memory that was written, with the shape, dtype and order of a value."""
    if (node.code, node.shape, node.strides) == (like.code, like.shape, like.strides):
        return node
    return build.view(node, like.code, 0, like.shape, like.strides)


# ---------------------------------------------------------------- writes


def of_update(g: Array, update: Node, value: Node) -> tuple[Array, Array]:
    """What flows back through a write to a part: to the old value, and to what was written."""
    offset, shape, strides, code = update.attr
    return without(g, update, offset, shape, strides, code), written(
        g, update, offset, shape, strides, code, value.shape
    )


def without(g: Array, memory: Node, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], code: int) -> Array:
    """The gradient of memory's old value: none where it was written."""
    _check_code(code, memory.code)
    storage = new_storage(in_memory_order(g, memory))
    write(storage, code, offset, shape, strides, build.scalar(0, code))
    return array_of(_as_it_was(storage.value, memory))


def written(
    g: Array, memory: Node, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], code: int,
    kept: tuple[int, ...],
) -> Array:  # fmt: skip
    """The gradient of what was written."""
    seen = _conjugated(g, memory.code, code)
    found = array_of(build.view(in_memory_order(seen, memory), code, offset, shape, strides))
    return _conjugated(found, code, memory.code).reshape(kept)


# ---------------------------------------------------------------- reads at indices


def of_gather(g: Array, gather: Node, base: Node, indices: list[Node]) -> Array:
    """What flows back to a value that was read at indices: each element the sum of its readers' gradients."""
    axes, position = gather.attr[0], gather.attr[1]
    plain = build.full(0, base.code, base.shape) if base.kind == VIEW else zeros_like(base)
    if not base.size or not g.size:
        return wrap(plain)
    storage = new_storage(plain)
    write_at(
        storage, base.code, 0, plain.shape, plain.strides, [node_of(cast_to(g, base.code)), *indices], axes=axes,
        position=position, op="add", loop=(base.code,) * 3, location=here(),
    )  # fmt: skip
    return wrap(storage.value)


__all__ = ["memory_axes", "of_gather", "of_update", "of_view", "without", "written"]
