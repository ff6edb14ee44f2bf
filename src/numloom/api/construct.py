"""``numloom.ndarray(shape, dtype, buffer, offset, strides, order)``: memory of its own, or memory that is there."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from numloom.api.creation import empty
from numloom.array.convert import from_host, over, over_host
from numloom.array.ndarray import bind, ndarray, view_of
from numloom.base.dtypes import DTYPES, code_of
from numloom.device import registry
from numloom.device.cpu.hostview import array_at
from numloom.graph.layout import Layout, extent_of, is_c_contiguous, is_f_contiguous, strides_in_order

Array = Any

_SOMEWHERE = 4096
"""An address at which nothing is read: NumPy says where elements lie from there, and what does not fit."""


def construct(
    shape: Any, dtype: Any = float, buffer: Any = None, offset: Any = 0, strides: Any = None, order: Any = None,
    *, memptr: Any = None,
) -> Array:  # fmt: skip
    """An array of a shape, as `numpy.ndarray` makes one: with undefined values, or over the memory of `buffer`.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape; -1 for as many elements as the buffer has room for.
    dtype : dtype
        Of its elements.
    buffer : array or object with the buffer protocol, optional
        One of our arrays, whose memory is shared, or memory of the host: shared on the CPU, copied to a GPU. What
        NumPy may not write is read-only.
    offset : int
        Bytes of the buffer before the first element.
    strides : tuple of int, optional
        Bytes from element to element of each axis.
    order : {"C", "F"}, optional
        Memory order without `strides`.
    memptr : numloom.cuda.MemoryPointer, optional
        Memory of the device to lie in, which may be given as `buffer`, too.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError, TypeError
        As NumPy does, where the elements would leave the buffer.
    """
    buffer = memptr if buffer is None else buffer
    shared = buffer is None or type(buffer) is ndarray or hasattr(buffer, "mem")
    code = code_of(float if dtype is None else dtype) if shared else -1  # Bytes of the host may be of any order.
    if buffer is None:
        if strides is None:
            if order not in (None, "C", "F"):
                np.ndarray(0, order=order)  # which refuses what is none
            return empty(shape, DTYPES[code], "F" if order == "F" else "C")
        host = np.ndarray(shape, DTYPES[code], None, offset, strides, order)
        memory = empty(prod(host.shape), DTYPES[code])
        result = view_of(memory, 0, host.shape, host.strides)
        result.base = None
        return result
    if hasattr(buffer, "mem") and hasattr(buffer, "ptr"):
        return _in_memory(buffer, shape, DTYPES[code], operator.index(offset), strides, order)
    if operator.index(offset) < 0:  # which NumPy takes, to read what lies before the buffer
        raise ValueError("offset must be non-negative")
    if type(buffer) is ndarray:
        return _shared(buffer, shape, code, offset, strides, order)
    host = np.ndarray(shape, dtype, buffer, offset, strides, order)
    if not host.size or not host.dtype.isnative or not registry.current().discrete:
        return over_host(host, buffer)
    result = _copied(host)
    result.writeable = host.flags.writeable
    return result


def _copied(host: np.ndarray[Any, Any]) -> Array:
    """The same layout over a copy of the memory between the first byte and the last."""
    if host.flags.forc:
        return from_host(host)
    low, high = extent_of(Layout(0, host.shape, host.strides), host.itemsize)
    unit = host.dtype if (high - low) % host.itemsize == 0 else np.dtype(np.uint8)
    address = host.__array_interface__["data"][0] + low
    whole = array_at(address, ((high - low) // unit.itemsize,), (unit.itemsize,), unit, host)
    result = view_of(from_host(whole), -low, host.shape, host.strides)
    result.code = code_of(host.dtype)
    result.base = None
    return result


def _in_memory(pointer: Any, shape: Any, dtype: Any, offset: int, strides: Any, order: Any) -> Array:
    """An array over memory of the device that somebody allocated, and that may hold other arrays, too."""
    shape = tuple(map(operator.index, shape)) if isinstance(shape, (tuple, list)) else (operator.index(shape),)
    laid = tuple(strides) if strides is not None else strides_in_order(shape, (), dtype.itemsize, order or "C")
    low, high = extent_of(Layout(offset, shape, laid), dtype.itemsize) if prod(shape) else (offset, offset)
    room = pointer.mem.size - (pointer.ptr - pointer.mem.ptr)
    if low < 0 or high > room:
        raise ValueError(f"an array of bytes {low} to {high} does not fit into memory of {room} bytes")
    return over(pointer.ptr + offset, dtype, shape, laid, pointer)


def _shared(buffer: Array, shape: Any, code: int, offset: Any, strides: Any, order: Any) -> Array:
    """Another array over the memory of one of ours, laid out as NumPy would."""
    layout = buffer.shape, buffer.strides, buffer.itemsize
    if not is_c_contiguous(*layout) and not is_f_contiguous(*layout):
        raise ValueError("ndarray is not contiguous")
    memory = array_at(_SOMEWHERE, (buffer.nbytes,), (1,), np.dtype(np.uint8))
    seen = np.ndarray(shape, DTYPES[code], memory, offset, strides, order)
    result = view_of(buffer, buffer.offset + seen.__array_interface__["data"][0] - _SOMEWHERE, seen.shape, seen.strides)
    result.code = code
    result.base = buffer
    result.is_scalar, result.writeable = False, buffer.writeable and not buffer.is_scalar
    return result


construct.__qualname__ = "ndarray"  # as errors name it
bind(construct=construct)
