"""Arguments of a launch to the parameters of a kernel: checked by name and type, packed into one block.

Ordinary Python, compiled with the types of ``arguments.pxd``.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray
from numloom.array.storage import materialize, pin, read_only, unpin
from numloom.base.dtypes import DTYPES, ITEMSIZES, kind_of
from numloom.device.interface import MemorySpan
from numloom.device.registry import is_mixed, on
from numloom.engine.owners import elsewhere
from numloom.engine.placement import bring_home
from numloom.graph.layout import Layout, extent_of
from numloom.kernels.parameters import Parameter

MEMORY, INTEGER, FLOAT, VALUE, UNKNOWN = range(5)
"""How a parameter is filled: from an array, by a fast check of Python's numbers, by `encoded`, by what is given."""

_POINTER_BYTES = 8
_HANDLES = {"cudaTextureObject_t": "a texture (numloom.Texture)", "cudaSurfaceObject_t": "a surface (SurfaceObject)"}
_FORMATS: dict[str, dict[int, str]] = {
    "i": {1: "b", 2: "h", 4: "i", 8: "q"},
    "u": {1: "B", 2: "H", 4: "I", 8: "Q"},
    "f": {2: "e", 4: "f", 8: "d"},
}


EVERY_CODE = (1 << len(DTYPES)) - 1


def elsewhere_for(args: Sequence[Any]) -> on | None:
    """What to enter for a launch on these arguments, where a process has several devices; None on their device."""
    return elsewhere([arg.storage.value for arg in args if type(arg) is ndarray], writes=True)


def codes_accepted(parameter: Parameter) -> int:
    """Codes of the arrays that a pointer parameter takes, a bit each.

    Integers of one width are the same to memory, halves may go by their bits, and complex numbers and vectors by
    their components.
    """
    dtype = parameter.dtype
    if dtype is None:
        return EVERY_CODE
    if dtype.fields:
        components = {field[0] for field in dtype.fields.values()}
        dtype = components.pop()
        if components:
            return EVERY_CODE
    kind, size = dtype.kind, dtype.itemsize
    if kind in "iub":
        kinds = "iubf" if size == 1 else "iuf" if size == 2 else "iu"
        taken = [kind_of(own) in kinds and own.itemsize == size for own in DTYPES]
    elif kind in "fc":
        same = {dtype, np.dtype(np.uint16) if size == 2 else np.dtype(f"c{2 * size}") if kind == "f" else dtype}
        taken = [own in same for own in DTYPES]
    else:
        taken = [own == dtype or (own.itemsize == size and own.kind in "iuf") for own in DTYPES]
    return sum(1 << code for code, take in enumerate(taken) if take)


class Signature:
    """How the arguments of one kernel become its parameters.

    Parameters
    ----------
    name : str
        The kernel's.
    parameters : tuple of Parameter or None
        As the source declares them; None where it does not tell.
    layout : tuple of (int, int) or None
        Offset and bytes of each parameter in the compiled code; None where the device does not tell.
    """

    def __init__(
        self,
        name: str,
        parameters: tuple[Parameter, ...] | None,
        layout: tuple[tuple[int, int], ...] | None = None,
    ) -> None:
        self.name = name
        if layout is not None and (parameters is None or len(parameters) != len(layout)):
            parameters = tuple(
                Parameter(str(at), f"{size} bytes", False, False, None) for at, (_, size) in enumerate(layout)
            )
        self.known = parameters is not None
        self.parameters = parameters or ()
        self.layout = layout
        self.count = len(self.parameters)
        sizes = [-1] * self.count if layout is None else [size for _, size in layout]
        self.kinds = bytes(map(_kind_of, self.parameters, sizes))
        self.accepted = tuple(
            [codes_accepted(parameter) if parameter.pointer else EVERY_CODE for parameter in self.parameters]
        )
        self.constants = bytes([parameter.const for parameter in self.parameters])
        self.packer: Any = self._packer() if layout is not None else None

    def _packer(self) -> Any:
        """A `struct.Struct` of the whole block."""
        text, end = "<", 0
        assert self.layout is not None
        for kind, parameter, (offset, size) in zip(self.kinds, self.parameters, self.layout, strict=True):
            text += f"{offset - end}x" if offset > end else ""
            end = offset + size
            if kind == MEMORY:
                text += "Q"
            elif kind in (INTEGER, FLOAT):
                text += _format(parameter.dtype)
            else:
                text += f"{size}s"
        return struct.Struct(text)

    def values(self, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The values of our arrays among arguments, and of those that the kernel may write to."""
        given = [(at, a.storage.value) for at, a in enumerate(args) if type(a) is ndarray]
        written = [node for at, node in given if at >= self.count or not self.constants[at]]
        return [node for _, node in given], written

    # ------------------------------------------------------------ both ways to launch

    def pack(self, args: tuple[Any, ...], pinned: list[Any]) -> bytes:
        """The block of parameters; storages that must stay where they are until the launch go to `pinned`."""
        if len(args) != self.count:
            self._wrong_count(len(args))
        kinds = self.kinds
        values: list[Any] = []
        for at in range(self.count):
            a = args[at]
            kind = kinds[at]
            if kind == MEMORY:
                if type(a) is ndarray:
                    array = a
                    accepted = self.accepted[at]
                    if not accepted >> array.code & 1:
                        self._wrong_array(at, array)
                    storage = array.storage
                    node = storage.value
                    if node.buffer is not None and is_mixed():  # It may lie on the host.
                        bring_home(node)
                    if self.constants[at]:
                        if node.buffer is None:
                            node = materialize(storage)
                    else:
                        if not array.writeable:
                            self._read_only(at, array)
                        if node.buffer is None or node.readers or node.storages != 1:
                            node = pin(storage)
                            pinned.append(storage)
                        elif node.attr is not None:
                            node.attr = 0  # A copy that the host keeps is of what was there before the kernel.
                    values.append(node.buffer.ptr + array.offset)
                else:
                    values.append(self._address(at, a, pinned))
            elif (kind == INTEGER and type(a) is int) or (kind == FLOAT and type(a) is float):
                values.append(a)
            elif kind == UNKNOWN:
                values.append(self._untyped(at, a, pinned))
            else:
                values.append(self._scalar(at, a, kind))
        try:
            return self.packer.pack(*values)
        except (struct.error, OverflowError):
            for at in range(self.count):
                if kinds[at] in (INTEGER, FLOAT):
                    self._scalar(at, args[at], VALUE)  # says which, and why
            raise

    def spans(self, args: tuple[Any, ...], pinned: list[Any]) -> list[MemorySpan | bytes]:
        """Memory and bytes of values one by one, for devices that do not tell their layout."""
        if self.known and len(args) != self.count:
            self._wrong_count(len(args))
        for at, a in enumerate(args):
            # All that may be written first: pinning one array may move another's memory.
            if type(a) is ndarray and a.writeable and not (self.known and self.parameters[at].const):
                pin(a.storage)
                pinned.append(a.storage)
        result: list[MemorySpan | bytes] = []
        for at, a in enumerate(args):
            kind = self.kinds[at] if self.known else UNKNOWN
            if type(a) is ndarray and kind in (MEMORY, UNKNOWN):
                if kind == MEMORY and not self.accepted[at] >> a.code & 1:
                    self._wrong_array(at, a)
                result.append(self._span(at, a, pinned))
            elif kind in (MEMORY, UNKNOWN) and isinstance(getattr(a, "span", None), MemorySpan):
                result.append(a.span)
            elif kind == MEMORY:
                result.append(self._address(at, a, pinned).to_bytes(_POINTER_BYTES, "little"))
            elif kind == UNKNOWN:
                result.append(self._untyped(at, a, pinned))
            else:
                result.append(self._scalar(at, a, VALUE))
        return result

    def _span(self, at: int, a: Any, pinned: list[Any]) -> MemorySpan:
        """The memory of an array, in which the kernel may write unless it says const."""
        if self.known and self.parameters[at].const:
            node = materialize(a.storage)
        else:
            if not a.writeable:
                self._read_only(at, a)
            node = pin(a.storage)
            pinned.append(a.storage)
        low, high = extent_of(Layout(a.offset, a._shape, a._strides), ITEMSIZES[a.code]) if a.size else (a.offset,) * 2
        start = node.buffer.ptr
        return MemorySpan(start + a.offset, start + low, start + high)

    # ------------------------------------------------------------ one argument

    def _address(self, at: int, a: Any, pinned: list[Any]) -> int:
        """The address that a pointer parameter gets from anything but one of our arrays."""
        if a is None:
            return 0
        if isinstance(a, np.ndarray):
            raise TypeError(
                f"{self._place(at)} is a NumPy array, which lies on the host: pass numloom.asarray(x) (and read it "
                "back after the launch)"
            )
        interface = getattr(a, "__cuda_array_interface__", None)
        if interface is not None:
            return int(interface["data"][0])
        if isinstance(a, (bool, float, np.bool_, np.floating, complex, str, bytes)):
            raise TypeError(f"{self._place(at)} needs an array, an address or None; got {a!r}")
        try:
            address = (
                int(a.ptr) if hasattr(a, "ptr") else int(a.data_ptr()) if hasattr(a, "data_ptr") else operator.index(a)
            )
        except TypeError:
            try:
                address = int(a)
            except (TypeError, ValueError):
                raise TypeError(
                    f"{self._place(at)} needs an array, an address or None; got an object of type {type(a).__name__}"
                ) from None
        if not 0 <= address < 1 << 64:
            raise OverflowError(f"{self._place(at)} got {address}, which is no address")
        return address

    def _untyped(self, at: int, a: Any, pinned: list[Any]) -> bytes:
        """The bytes of an argument whose parameter's type is not known: by its own type, of the size that is needed."""
        size = self.layout[at][1] if self.layout is not None else -1
        if type(a) is ndarray:
            data = self._span(at, a, pinned).ptr.to_bytes(_POINTER_BYTES, "little")
        elif isinstance(a, np.generic) or (isinstance(a, np.ndarray) and a.ndim == 0):
            data = a.tobytes()
        elif isinstance(a, (bytes, bytearray, memoryview)):
            data = bytes(a)
        elif isinstance(a, bool):
            data = np.bool_(a).tobytes()
        elif isinstance(a, int):
            width = size if size in (1, 2, 4, 8) else 8
            low, high = -(1 << (8 * width - 1)), 1 << (8 * width)
            if not low <= a < high:
                raise OverflowError(f"{self._place(at)} got {a}, which does not fit into {width} bytes")
            data = (a % high).to_bytes(width, "little")
        elif isinstance(a, float):
            data = (np.float32(a) if size == 4 else np.float64(a)).tobytes()
        elif isinstance(a, complex):
            data = (np.complex64(a) if size == 8 else np.complex128(a)).tobytes()
        else:
            data = self._address(at, a, pinned).to_bytes(_POINTER_BYTES, "little")
        if size >= 0 and len(data) != size:
            raise TypeError(f"{self._place(at)} got {_shown(a)} of {len(data)} bytes, the kernel takes {size}")
        return data

    def _scalar(self, at: int, a: Any, kind: int) -> Any:
        """A value for a parameter of known type: bytes, or for INTEGER and FLOAT a number for the packer."""
        parameter = self.parameters[at]
        if "Object_t" in parameter.text or hasattr(a, "kernel_parameter"):
            self._check_handle(at, a)
        if type(a) is ndarray:
            raise TypeError(
                f"{self._place(at)} takes a number, got an array of shape {a.shape} and dtype {a.dtype}: pass a number "
                "(x.item() of an array with one element)"
            )
        assert parameter.dtype is not None
        try:
            value = encoded(a, parameter.dtype)
        except (TypeError, OverflowError) as error:
            raise type(error)(f"{self._place(at)} {error}") from None
        return value.item() if kind in (INTEGER, FLOAT) else value.tobytes()

    def _check_handle(self, at: int, a: Any) -> None:
        """Textures and surfaces go where their handles belong."""
        parameter = self.parameters[at]
        wanted = next((name for name in _HANDLES if name in parameter.text), None)
        given = getattr(a, "kernel_parameter", None)
        if type(a) is ndarray and wanted is not None:
            raise TypeError(f"{self._place(at)} takes {_HANDLES[wanted]}, got an array: make one of it")
        if given is not None and (given != wanted if wanted is not None else parameter.dtype != np.uint64):
            raise TypeError(f"{self._place(at)} takes {_HANDLES.get(wanted or '', parameter.text)}, got a {given}")

    # ------------------------------------------------------------ complaints

    def _place(self, at: int) -> str:
        what = f" ({self.parameters[at]})" if at < len(self.parameters) else ""
        return f"kernel {self.name}: argument {at + 1}{what}"

    def _wrong_count(self, count: int) -> None:
        takes = ", ".join(map(str, self.parameters)) or "nothing"
        raise TypeError(
            f"kernel {self.name} takes {self.count} argument{'s' * (self.count != 1)} ({takes}), "
            f"{count} {'was' if count == 1 else 'were'} given"
        )

    def _wrong_array(self, at: int, a: Any) -> None:
        raise TypeError(
            f"{self._place(at)} points to {_dtype_name(self.parameters[at].dtype)}, the array given has dtype "
            f"{a.dtype}: convert it with astype, or look at its bytes with view"
        )

    def _read_only(self, at: int, a: Any) -> None:
        if a.is_scalar:
            raise read_only(a, f"{self._place(at)} may be written by the kernel and the array")
        raise ValueError(
            f"{self._place(at)} may be written by the kernel and the array is read-only: pass a copy, or declare the "
            "parameter const"
        )


def release(pinned: list[Any]) -> None:
    """Let storages go that `pack` or `spans` pinned."""
    while pinned:
        unpin(pinned.pop())


def _kind_of(parameter: Parameter, size: int) -> int:
    if parameter.pointer:
        return MEMORY if size in (-1, _POINTER_BYTES) else UNKNOWN
    dtype = parameter.dtype
    if dtype is None or size not in (-1, dtype.itemsize):
        return UNKNOWN
    if dtype.kind in "iu":
        return INTEGER
    return FLOAT if dtype.kind == "f" else VALUE


def _format(dtype: Any) -> str:
    return _FORMATS[dtype.kind][dtype.itemsize]


def _dtype_name(dtype: Any) -> str:
    return "its kind" if dtype is None else f"{dtype.name if not dtype.fields else dtype}"


def _shown(a: Any) -> str:
    return f"an array of dtype {a.dtype}" if type(a) is ndarray else f"{type(a).__name__} {a!r}"


def encoded(value: Any, dtype: np.dtype[Any]) -> np.generic:
    """A number (or struct) as a NumPy scalar of exactly this dtype, if nothing is lost.

    Python's integers and floats go where they fit, as in NumPy; NumPy's own scalars keep their type, so that a
    float64 is not cut to a float32 unseen, while integers of any type may go where their value fits.

    Examples
    --------
    >>> encoded(3, np.dtype("uint8"))
    np.uint8(3)
    >>> encoded(np.float64(0.1), np.dtype("float32"))
    Traceback (most recent call last):
    ...
    TypeError: got a float64, which float32 would cut: pass numpy.float32(x)
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    kind = dtype.kind
    if kind in "iu" and not isinstance(value, (np.floating, float)):
        try:
            number: int | None = operator.index(value)
        except TypeError:
            number = int(value) if isinstance(value, np.bool_) else None
        if number is not None:
            limits = np.iinfo(dtype)
            if not limits.min <= number <= limits.max:
                raise OverflowError(f"got {number}, out of the range of {dtype} ({limits.min} to {limits.max})")
            return dtype.type(number)
    elif kind == "b":
        if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
            return np.bool_(value)
    elif dtype.fields is not None:
        return _struct(value, dtype)
    elif kind in "fc" or dtype.name == "bfloat16":
        return _inexact(value, dtype)
    raise TypeError(f"takes {dtype}, got {type(value).__name__} {value!r}")


def _inexact(value: Any, dtype: np.dtype[Any]) -> np.generic:
    """A floating or complex number."""
    kind = dtype.kind
    numbers = (
        (bool, int, float, np.bool_, np.number) if kind != "c" else (bool, int, float, complex, np.bool_, np.number)
    )
    # NumPy takes None for float64, so a missing dtype must not be compared.
    if not isinstance(value, numbers) and not (hasattr(value, "dtype") and value.dtype == dtype):
        raise TypeError(f"takes {dtype}, got {type(value).__name__} {value!r}")
    if isinstance(value, np.inexact) and not (np.can_cast(value.dtype, dtype) or value.dtype == dtype):
        raise TypeError(f"got a {value.dtype}, which {dtype} would cut: pass numpy.{dtype}(x)")
    whole = isinstance(value, (int, np.integer))
    with np.errstate(over="ignore"):
        result: Any = np.asarray(float(value) if whole else value).astype(dtype)[()]
    if whole:
        if not math.isfinite(result.real) or int(result.real) != int(value):
            raise OverflowError(f"got {value}, which {dtype} cannot hold exactly")
    elif np.isfinite(complex(value)) and not np.isfinite(complex(result)):
        raise OverflowError(f"got {value}, out of the range of {dtype}")
    return result  # type: ignore[no-any-return]


def _struct(value: Any, dtype: np.dtype[Any]) -> np.generic:
    """A vector such as float4: from a NumPy struct of its size, a complex number of it, or a tuple."""
    if isinstance(value, np.void) or (isinstance(value, np.complexfloating) and len(dtype.names or ()) == 2):
        if value.dtype.itemsize == dtype.itemsize:
            return np.frombuffer(value.tobytes(), dtype)[0]
        raise TypeError(f"takes {dtype.itemsize} bytes, got {value.dtype} of {value.dtype.itemsize}")
    names: Sequence[str] = dtype.names or ()
    if isinstance(value, (tuple, list)) and len(value) == len(names):
        fields = [encoded(part, dtype[name]) for part, name in zip(value, names, strict=True)]
        return np.array([tuple(fields)], dtype)[0]
    raise TypeError(f"takes {len(names)} numbers ({', '.join(names)}), got {type(value).__name__} {value!r}")


__all__ = ["Signature", "elsewhere_for", "encoded", "release"]
