"""Values as arrays, for the rules of gradients: nothing here knows a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray, node_of, view_of, wrap
from numloom.array.storage import arranged, broadcast_value, new_storage
from numloom.base.dtypes import DTYPES, ITEMSIZES, KINDS
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.graph.node import FILL, SCALAR, VIEW, Node
from numloom.ops.definitions import OpDef
from numloom.ops.elementwise import ELEMENTWISE

Array = Any


def is_smooth(code: int) -> bool:
    """Whether values of a dtype have gradients: floats and complex numbers do.

    >>> is_smooth(11), is_smooth(3)
    (True, False)
    """
    return KINDS[code] in "fc"


def array_of(node: Node) -> Array:
    """An array of a value that exists, which nobody writes to."""
    if node.kind != VIEW:
        return wrap(node)
    base = wrap(node.args[0])
    base.is_scalar = False
    result = view_of(base, node.attr, node.shape, node.strides)
    result.code = node.code
    result.is_scalar = not node.shape
    return result


def seen_by(array: Array, code: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """An array's memory, which is dense, through another layout."""
    return array_of(build.view(node_of(array), code, offset, shape, strides))


def applied(row: OpDef, *operands: Any) -> Array:
    """An elementwise operation on arrays and Python numbers."""
    return wrap(build.elementwise(row, [node_of(x) if isinstance(x, ndarray) else x for x in operands]))


def named(name: str, *operands: Any) -> Array:
    """The elementwise operation of that name."""
    return applied(ELEMENTWISE[name], *operands)


def cast_to(array: Array, code: int) -> Array:
    """An array in another dtype; the real part where that is real."""
    if array.code == code:
        return array
    if KINDS[array.code] == "c" and KINDS[code] != "c":
        array = named("real", array)
    return wrap(build.cast(node_of(array), code)) if array.code != code else array


def zeros_like(node: Node) -> Node:
    """Zeros in the shape, dtype and order of a value that is no view."""
    return build.full(0, node.code, node.shape, node.strides)


def filled(value: Any, code: int, shape: tuple[int, ...]) -> Array:
    """An array of one number."""
    return wrap(build.full(DTYPES[code].type(value).item(), code, shape))


def broadcast(array: Array, shape: tuple[int, ...]) -> Array:
    """An array repeated to a shape."""
    return array if array.shape == shape else array_of(broadcast_value(node_of(array), shape))


def summed_to(array: Array, shape: tuple[int, ...]) -> Array:
    """What flows back to a value of this shape that was broadcast: its repetitions are summed."""
    if array.shape == shape:
        return array
    lead = array.ndim - len(shape)
    axes = (*range(lead), *(lead + k for k, extent in enumerate(shape) if extent == 1 != array.shape[lead + k]))
    found = array.sum(axes, array.dtype) if axes else array
    return found.reshape(shape)


def in_memory_order(array: Array, node: Node) -> Node:
    """The array as a dense value laid out like `node`."""
    dense = arranged(node_of(array), node.shape, node.strides, node.code)
    return build.copied(dense, node.strides, node.code) if dense.kind in (FILL, SCALAR) and not node.shape else dense


def turned(array: Array) -> Array:
    """Matrices in the last two axes, transposed."""
    return array.transpose((*range(array.ndim - 2), array.ndim - 1, array.ndim - 2))


def constant(array: Array) -> Array:
    """The same numbers, through which no gradient flows, as none does through whole numbers."""
    dense = wrap(build.copied(node_of(array), c_strides(array.shape, ITEMSIZES[array.code]), array.code))
    bits = dense.view(np.int32 if ITEMSIZES[array.code] == 4 else np.int64)
    return (bits | 0).view(array.dtype)


def added(parts: Sequence[Array | None]) -> Array | None:
    """The sum of those that are there."""
    known = [part for part in parts if part is not None]
    total = known[0] if known else None
    for part in known[1:]:
        total = total + part
    return total


__all__ = [
    "Array",
    "added",
    "applied",
    "array_of",
    "broadcast",
    "cast_to",
    "constant",
    "filled",
    "in_memory_order",
    "is_smooth",
    "named",
    "new_storage",
    "seen_by",
    "summed_to",
    "turned",
    "zeros_like",
]
