"""Members that CuPy's arrays have and NumPy's have not: `data` and `device` as objects, `set` and others."""

from __future__ import annotations

from typing import Any

from numloom.api.elementwise import UFUNCS, copyto
from numloom.array.members import set_member
from numloom.array.ndarray import ndarray
from numloom.array.storage import pin
from numloom.cuda.devices import Device
from numloom.cuda.memory import MemoryPointer, UnownedMemory
from numloom.engine import look

Array = Any
_PLACE = ndarray.__dict__["device"]
"""The device's name, which stands there without these members."""


def _data(array: Array) -> MemoryPointer:
    """The memory of the array's first element, which stays where it is from now on."""
    storage = array.storage
    node = pin(storage)
    look.check((node,))
    buffer = node.buffer
    return MemoryPointer(UnownedMemory(buffer.ptr, buffer.nbytes, storage), array.offset)


def _device(array: Array) -> Device:
    """Where it lies; of an array on the host beside a GPU, the current device."""
    kind, _, number = str(_PLACE.__get__(array)).partition(":")
    return Device(int(number or 0)) if kind == "cuda" else Device()


def _set(array: Array, arr: Any, stream: Any = None) -> None:
    """Take the values of a NumPy array of the same shape and dtype."""
    if arr.shape != array.shape:
        raise ValueError(f"set takes an array of shape {array.shape}, got {arr.shape}")
    if arr.dtype != array.dtype:
        raise TypeError(f"set takes an array of dtype {array.dtype}, got {arr.dtype}")
    copyto(array, arr)


def _to_dlpack(array: Array) -> Any:
    """A DLPack capsule."""
    return array.__dlpack__()


def _reduced_view(array: Array, dtype: Any = None) -> Array:
    """The same memory with as few axes as describe it: one, if it is dense in C order."""
    return array.reshape(-1) if array.flags.c_contiguous else array


def _position(name: str) -> Any:
    method = ndarray.__dict__[name]

    def position(array: Array, axis: Any = None, out: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
        if out is not None or dtype is None:
            return method(array, axis, out, keepdims=keepdims)
        return method(array, axis, keepdims=keepdims).astype(dtype)

    position.__name__, position.__doc__ = name, method.__doc__
    return position


def _scatter(name: str) -> Any:
    def scatter(array: Array, slices: Any, value: Any) -> None:
        UFUNCS[name].at(array, slices, value)

    return scatter


_MEMBERS: dict[str, Any] = {
    "argmax": _position("argmax"),
    "argmin": _position("argmin"),
    "data": property(_data),
    "device": property(_device),
    "reduced_view": _reduced_view,
    "scatter_add": _scatter("add"),
    "scatter_max": _scatter("maximum"),
    "scatter_min": _scatter("minimum"),
    "set": _set,
    "toDlpack": _to_dlpack,
}


class members:
    """Give numloom's arrays these members, for good or for a ``with`` block: ``run --cupy`` does it for its program.

    Without that `data` is a memoryview and `device` a name, as NumPy has them.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> x = cp.arange(3)
    >>> with cp.members():
    ...     x.set(cp.asnumpy(x) * 2)
    ...     x.device.id, x.data.ptr > 0
    (0, True)
    >>> x
    array([0, 2, 4])
    """

    def __init__(self) -> None:
        self._before = {name: set_member(ndarray, name, member) for name, member in _MEMBERS.items()}

    def __enter__(self) -> members:
        return self

    def __exit__(self, *error: object) -> None:
        for name, member in self._before.items():
            set_member(ndarray, name, member)


__all__ = ["members"]
