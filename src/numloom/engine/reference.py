"""The reference executor: values one by one, through NumPy. The oracle of the other two.

Sums and products follow the same reduction tree as the kernels (ops.reduction_tree), so that all executors
agree to the bit wherever NumPy's arithmetic is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from numloom.base.dtypes import DTYPES, ITEMSIZES
from numloom.base.errors import untraced
from numloom.base.low import cast_host
from numloom.base.progress import track
from numloom.device.cpu.hostview import array_at
from numloom.engine.state import counters
from numloom.graph.node import (
    CAST,
    FILL,
    GATHER,
    IOTA,
    LEAF,
    LOST,
    OP,
    REDUCE,
    ROUTINE,
    SCALAR,
    UPDATE,
    VIEW,
    Node,
    become_leaf,
)
from numloom.graph.source_location import OUT_OF_BOUNDS
from numloom.graph.tree import valued
from numloom.ops.definitions import is_low
from numloom.ops.reduction_tree import reduce_axes

Host = np.ndarray[Any, Any]


def order_of(roots: Iterable[Node]) -> list[Node]:
    """Every node that the roots need, arguments before users, without recursion."""
    seen: set[int] = set()
    order: list[Node] = []
    for root in roots:
        stack = [(root, 0)]
        while stack:
            node, position = stack.pop()
            if position == 0:
                if id(node) in seen:
                    continue
                seen.add(id(node))
            if position < len(node.args):
                stack.append((node, position + 1))
                stack.append((node.args[position], 0))
            else:
                order.append(node)
    return order


def dense_array(memory: Host, node: Node) -> Host:
    """A node's dense bytes as an array of its shape, dtype and order."""
    return np.ndarray(node.shape, DTYPES[node.code], memory.data, 0, node.strides)


def flat_bytes(array: Host) -> Host:
    """The bytes of a dense array, in memory order."""
    return array_at(array.ctypes.data, (array.size * array.itemsize,), (1,), np.dtype(np.uint8), array)


def compute(roots: list[Node], read_leaf: Callable[[Node], Host]) -> list[Host]:
    """Values of `roots` as host arrays in their own physical order.

    `read_leaf` gives the uint8 memory of a computed node.
    """
    values: dict[int, Host] = {}
    with np.errstate(all="ignore"):
        order = order_of(roots)
        for node in track(order, "computing the reference through NumPy", len(order)):
            values[id(node)] = _value(node, [values[id(arg)] for arg in node.args], read_leaf)
    return [values[id(root)] for root in roots]


def run_reference(roots: list[Node], device: Any, read: Callable[[Node, Any], Host]) -> None:
    """Compute values one by one, into memory of a device; `read` gives the bytes of leaves."""
    for root, host in zip(roots, compute(roots, lambda leaf: read(leaf, device)), strict=True):
        if root.buffer is None:
            counters.kernels += 1
            become_leaf(root, device.upload(flat_bytes(host) if host.ndim else host.reshape(1).view(np.uint8)))


def _value(node: Node, args: list[Host], read_leaf: Callable[[Node], Host]) -> Host:
    kind = node.kind
    dtype = DTYPES[node.code]
    if kind == LOST:
        raise untraced(node.attr)
    if kind == LEAF:
        return dense_array(read_leaf(node), node)
    if kind == SCALAR:
        return np.array(node.attr, dtype)
    if kind == VIEW:
        if not node.size:
            return np.empty(node.shape, dtype)
        base = args[0]
        flat = flat_bytes(base) if base.ndim else base.reshape(1).view(np.uint8)
        view = array_at(flat.ctypes.data + node.attr, node.shape, node.strides, dtype, flat)
        return view.copy("K") if 0 not in node.strides else view
    out = np.ndarray(node.shape, dtype, np.empty(max(node.size, 1) * dtype.itemsize, np.uint8).data, 0, node.strides)
    if kind == FILL:
        out[...] = np.array(node.attr, dtype)
    elif kind == IOTA:
        out[...] = np.arange(node.size, dtype=dtype)
    elif kind == OP:
        out[...] = node.op_def.on_host(args, dtype)
    elif kind == CAST:
        # What is out of range: NaN of float8 would be 0, and infinities saturate.
        wide = args[0].astype(np.float32) if is_low(args[0].dtype) and dtype.kind in "iu" else args[0]
        out[...] = cast_host(wide.real if wide.dtype.kind == "c" and is_low(dtype) else wide, dtype)
    elif kind == REDUCE:
        axes, fast, keepdims = node.attr
        out[...] = reduce_axes(node.op_def, args[0], axes, physical_axes(node.args[0], axes), fast, keepdims)
    elif kind == GATHER:
        axes, position, _, _ = node.attr
        try:
            out[...] = gathered(args[0], args[1:], axes, position)
        except IndexError as error:
            if node.op_def.complaint is OUT_OF_BOUNDS:
                raise  # NumPy names the index
            raise node.op_def.error() from error
    elif kind == UPDATE:
        out[...] = args[0]
        offset, shape, strides, code = node.attr
        memory = flat_bytes(out) if out.ndim else out.reshape(1).view(np.uint8)
        np.ndarray(shape, DTYPES[code], memory.data, offset, strides)[...] = args[1]
    elif kind == ROUTINE:
        _call_routine(node.op_def, out, args)
    else:
        raise AssertionError(kind)
    return out


def _call_routine(call: Any, out: Host, args: list[Host]) -> None:
    """What a routine gives, or leaves of the memory that it changes, by its twin."""
    op_def, options = call.op_def, call.options_here()
    if not op_def.in_place:
        out[...] = op_def.numpy(*args, **options)
        return
    out[...] = args[0]
    memory = flat_bytes(out) if out.ndim else out.reshape(1).view(np.uint8)
    code, offset, shape, strides = call.seen
    op_def.numpy(np.ndarray(shape, DTYPES[code], memory.data, offset, strides), *args[1:], **options)


def reference_value(node: Node, device: Any, read: Callable[[Node, Any], Host]) -> Host:
    """A value through this executor, from the same leaves, which `read` reads; the recorded tree stays as it is."""
    if node.tree:
        node = valued([node])[0]
    return compute([node], lambda leaf: read(leaf, device))[0]


def physical_axes(node: Node, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Reduced axes in physical order, slowest first (broadcast axes slowest of all)."""
    return tuple(sorted(axes, key=lambda axis: -abs(node.strides[axis]) if node.strides[axis] else -(1 << 62)))


def gathered(array: Host, indices: list[Host], axes: tuple[int, ...], position: int) -> Host:
    """`array` at integer `indices` along `axes`, the index shape put at `position` of the result."""
    order = (*axes, *(axis for axis in range(array.ndim) if axis not in axes))
    result = array.transpose(order)[tuple(indices)]
    count = np.broadcast_shapes(*(index.shape for index in indices))
    return np.moveaxis(result, range(len(count)), range(position, position + len(count)))


__all__ = [
    "ITEMSIZES", "compute", "dense_array", "flat_bytes", "gathered", "order_of", "physical_axes", "reference_value",
    "run_reference",
]  # fmt: skip
