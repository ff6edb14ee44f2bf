"""The one place where run-at-once primitives are called.

A primitive evaluates its operands, describes their memory (views are not copied first), and runs
the device's routine of that name; where the device has none, its NumPy twin on the host.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from numloom.base.dtypes import DTYPES, ITEMSIZES, code_of
from numloom.device import registry
from numloom.device.interface import Device, Strided
from numloom.engine.evaluate import evaluate, leaf_from_host
from numloom.engine.state import counters, note_copy, settle_errors
from numloom.graph.build import copied, leaf
from numloom.graph.layout import Layout, c_strides, extent_of, k_strides
from numloom.graph.node import LEAF, VIEW, Node
from numloom.ops.routines import ROUTINES

Host = np.ndarray[Any, Any]


def call(
    name: str,
    *operands: Node,
    code: int = -1,
    shape: tuple[int, ...] | None = None,
    order: str = "C",
    strides: tuple[int, ...] | None = None,
    **options: Any,
) -> Any:
    """Run the primitive `name` of `numloom.ops.routines` on values, now.

    Parameters
    ----------
    name : str
        Its name.
    *operands : Node
        What it reads.
    code, shape : int, tuple of int
        dtype code and shape of the result, where it is `sized`.
    order : {"C", "K"}
        Memory order of a sized result: C, or that of the first operand (of equal shape).
    strides : tuple of int
        Byte strides of a sized result, instead of an order.
    **options
        Passed on.

    Returns
    -------
    Node or tuple of Node
        The computed result (the results, as the routine gives them).
    """
    row = ROUTINES[name]
    device = registry.current()
    described = describe(operands)
    counters.library_calls += 1
    function = routine_of(device, name)
    if row.sized:
        assert shape is not None
        if strides is None:
            strides = _dense_strides(shape, operands[0].strides if order == "K" else None, ITEMSIZES[code])
        result = empty(code, shape, strides)
        out = strided(result)
        if function is not None:
            function(device, *described, out=out, **options)
        else:
            store(device, out, row.numpy(*[host_array(device, operand) for operand in described], **options))
        return result
    if function is not None:
        results = function(device, *described, **options)
        return tuple(map(from_strided, results)) if isinstance(results, tuple) else from_strided(results)
    results = row.numpy(*[host_array(device, operand) for operand in described], **options)
    return tuple(map(leaf_from_host, results)) if isinstance(results, tuple) else leaf_from_host(results)


def call_in_place(name: str, target: Node, *operands: Node, **options: Any) -> None:
    """Run the primitive `name`, which changes computed memory (or a view of it) that nobody else needs.

    No operand may read that memory.
    """
    device = registry.current()
    described = describe(operands)
    counters.library_calls += 1
    out = strided(target)
    function = routine_of(device, name)
    if function is not None:
        function(device, out, *described, **options)
        return
    changed = host_array(device, out)
    ROUTINES[name].numpy(changed, *[host_array(device, operand) for operand in described], **options)
    if device.view(out.buffer) is None:
        put_back(device, out, changed)


@lru_cache(4096)
def _dense_strides(shape: tuple[int, ...], like: tuple[int, ...] | None, itemsize: int) -> tuple[int, ...]:
    """Byte strides of a result in C order, or in the order of other strides."""
    return c_strides(shape, itemsize) if like is None else k_strides(shape, [like], itemsize)


@lru_cache(4096)
def _element_strides(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple([stride // itemsize for stride in strides])


def routine_of(device: Device, name: str) -> Any:
    """The device's routine of this name, or None where its twin does the work on the host."""
    try:
        return device.routine(name)
    except (KeyError, NotImplementedError):
        return None


def put_back(device: Device, out: Strided, host: Host) -> None:
    """Copy changed elements to the device: the bytes from the first to the last that `out` touches."""
    itemsize = out.dtype.itemsize
    layout = Layout(out.offset * itemsize, out.shape, tuple([stride * itemsize for stride in out.strides]))
    low, high = extent_of(layout, itemsize)
    if high > low:
        memory = device.download(out.buffer, low, high - low).copy()
        np.ndarray(out.shape, out.dtype, memory.data, layout.offset - low, layout.strides)[...] = host
        device.copy(out.buffer, low, device.upload(memory), 0, high - low)


def empty(code: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Node:
    """Memory that nothing has been written to."""
    nbytes = max(prod(shape), 1) * ITEMSIZES[code]
    return leaf(
        registry.current().allocate(nbytes), code, shape, strides or _dense_strides(shape, None, ITEMSIZES[code])
    )


def describe(operands: tuple[Node, ...]) -> list[Strided]:
    """Computed memory of values, as routines take it."""
    if all([node.kind == LEAF for node in operands]):
        return [strided(node) for node in operands]
    ready = []
    for node in operands:
        if node.kind == VIEW:
            itemsize = ITEMSIZES[node.code]
            aligned = not node.attr % itemsize and not any(stride % itemsize for stride in node.strides)
            if not aligned or node.args[0].kind == VIEW:
                node = copied(node, k_strides(node.shape, [node.strides], itemsize), node.code)
        ready.append(node)
    evaluate([node.args[0] if node.kind == VIEW else node for node in ready])
    return [strided(node) for node in ready]


def strided(node: Node) -> Strided:
    """The memory of a computed value, or of a view of one."""
    itemsize = ITEMSIZES[node.code]
    buffer, offset = (node.args[0].buffer, node.attr // itemsize) if node.kind == VIEW else (node.buffer, 0)
    return Strided(buffer, offset, node.shape, _element_strides(node.strides, itemsize), DTYPES[node.code])


def from_strided(result: Strided) -> Node:
    """A routine's fresh, dense result as a value."""
    itemsize = result.dtype.itemsize
    strides = tuple([stride * itemsize for stride in result.strides])
    return leaf(result.buffer, code_of(result.dtype), result.shape, strides)


def host_array(device: Device, operand: Strided) -> Host:
    """The operand on the host: its own memory where the host can see it, else a copy."""
    dtype = operand.dtype
    if 0 in operand.shape:
        return np.empty(operand.shape, dtype)
    strides = tuple([stride * dtype.itemsize for stride in operand.strides])
    offset = operand.offset * dtype.itemsize
    memory = device.view(operand.buffer)
    if memory is None:
        low, high = extent_of(Layout(offset, operand.shape, strides), dtype.itemsize)
        memory = device.download(operand.buffer, low, high - low)
        note_copy(False, high - low)
        offset -= low
    else:
        device.synchronize()
    settle_errors(device)
    return np.ndarray(operand.shape, dtype, memory.data, offset, strides)


def store(device: Device, out: Strided, host: Host) -> None:
    """Put a host result where a routine would have written it."""
    if not host.size:
        return
    dtype = out.dtype
    strides = tuple([stride * dtype.itemsize for stride in out.strides])
    memory = device.view(out.buffer)
    dense = np.empty(host.size * dtype.itemsize, np.uint8) if memory is None else memory
    np.ndarray(out.shape, dtype, dense.data, 0, strides)[...] = host
    if memory is None:
        note_copy(True, dense.nbytes)
        device.copy(out.buffer, 0, device.upload(dense), 0, dense.nbytes)
