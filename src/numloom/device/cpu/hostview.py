"""Device memory of the host, seen as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.device.interface import Strided


class _Memory:
    """Speaks NumPy's array interface for a piece of a buffer, which it keeps alive."""

    __slots__ = ("__array_interface__", "buffer")

    def __init__(self, buffer: Any, interface: dict[str, Any]) -> None:
        self.buffer = buffer
        self.__array_interface__ = interface


def as_bytes(buffer: Any) -> np.ndarray[Any, Any]:
    """The whole buffer as a uint8 array."""
    interface = {"data": (buffer.ptr, False), "shape": (buffer.nbytes,), "typestr": "|u1", "version": 3}
    return np.asarray(_Memory(buffer, interface))


def as_array(operand: Strided) -> np.ndarray[Any, Any]:
    """The operand's memory itself as an array of its shape, strides and dtype."""
    itemsize = operand.dtype.itemsize
    interface = {
        "data": (operand.buffer.ptr + operand.offset * itemsize, False),
        "shape": operand.shape,
        "strides": tuple([stride * itemsize for stride in operand.strides]),
        "typestr": operand.dtype.str,
        "version": 3,
    }
    return np.asarray(_Memory(operand.buffer, interface))
