"""Memory of the host, seen as NumPy arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from numloom.base.dtypes import DTYPES
from numloom.device.interface import Strided

try:
    from numloom.device.cpu import _hostview as compiled  # type: ignore[attr-defined]
except ImportError:
    compiled = None

_BYTES = np.dtype(np.uint8)
_MOST = 1 << 63


class _Memory:
    """Speaks NumPy's array interface for memory of an owner, which it keeps alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def array_at_uncompiled(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any], owner: Any = None
) -> np.ndarray[Any, Any]:
    """The same as `array_at`, through NumPy's array interface."""
    # The interface has no names for the floats of ml_dtypes.
    named = dtype.str if dtype.isbuiltin == 1 else f"u{dtype.itemsize}"
    if any([not -_MOST <= stride < _MOST for stride in strides]):  # Of axes of one position, where it says nothing.
        strides = tuple([stride if extent > 1 else 0 for stride, extent in zip(strides, shape, strict=True)])
    interface = {"data": (address, False), "shape": shape, "strides": strides, "typestr": named, "version": 3}
    return np.asarray(_Memory(owner, interface)).view(dtype)


# array_at(address, shape, strides, dtype, owner=None): an array over memory that is already there, strides in
# bytes; it keeps `owner` alive. The address may be anything where the array has no elements.
array_at = array_at_uncompiled if compiled is None else compiled.array_at


ByAddresses: Any = None if compiled is None else compiled.ByAddresses
Product: Any = None if compiled is None else compiled.Product


def number_at_uncompiled(address: int, code: int) -> Any:
    """The same as `number_at`, through NumPy."""
    dtype = DTYPES[code]
    return array_at(address, (dtype.itemsize,), (1,), _BYTES).view(dtype)[0].item()


# number_at(address, code): the Python number of the dtype with this code at an address of any alignment.
number_at = number_at_uncompiled if compiled is None else compiled.number_at


def fill_uncompiled(address: int, host: np.ndarray[Any, Any]) -> None:
    """The same as `fill`, through ctypes."""
    ctypes.memmove(address, host.__array_interface__["data"][0], host.nbytes)


# fill(address, host): copy a contiguous array's memory to an address.
fill = fill_uncompiled if compiled is None else compiled.fill


def as_bytes(buffer: Any) -> np.ndarray[Any, Any]:
    """The whole buffer as a uint8 array."""
    return array_at(buffer.ptr, (buffer.nbytes,), (1,), _BYTES, buffer)


def as_array(operand: Strided) -> np.ndarray[Any, Any]:
    """The operand's memory itself as an array of its shape, strides and dtype."""
    itemsize = operand.dtype.itemsize
    strides = tuple([stride * itemsize for stride in operand.strides])
    buffer = operand.buffer
    return array_at(buffer.ptr + operand.offset * itemsize, operand.shape, strides, operand.dtype, buffer)
