"""Names that NumPy 1 had and CuPy has yet."""

from __future__ import annotations

from typing import Any

import numpy as np

import numloom
from numloom import exceptions
from numloom.array.storage import pin
from numloom.cuda.memory import MemoryPointer, UnownedMemory

Array = Any

Inf = Infinity = PINF = infty = np.inf
NINF = -np.inf
NAN = NaN = np.nan
PZERO, NZERO = 0.0, -0.0
float_ = np.float64
complex_ = cfloat = np.complex128
singlecomplex = np.complex64
AxisError = exceptions.AxisError
ComplexWarning = exceptions.ComplexWarning
ModuleDeprecationWarning = exceptions.ModuleDeprecationWarning
RankWarning = exceptions.RankWarning
TooHardError = exceptions.TooHardError
VisibleDeprecationWarning = exceptions.VisibleDeprecationWarning
alltrue, sometrue = numloom.all, numloom.any
cumproduct, product = numloom.cumprod, numloom.prod
round_ = numloom.round
trapz = numloom.trapezoid
byte_bounds = numloom.lib.array_utils.byte_bounds
disable_experimental_feature_warning = False
DataSource, format_parser = np.lib.npyio.DataSource, np.rec.format_parser


def asfarray(a: Any, dtype: Any = float) -> Array:
    """An array of a floating or complex dtype.

    >>> import numloom.cupy as cp
    >>> cp.asfarray([1, 2])
    array([1., 2.])
    """
    wanted = np.dtype(dtype)
    return numloom.asarray(a, wanted if wanted.kind in "fc" else np.float64)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Array:
    """Which elements of the first array, as one axis, are in the second."""
    return numloom.isin(numloom.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def msort(a: Any) -> Array:
    """Sorted along the first axis."""
    return numloom.sort(a, axis=0)


def fromDlpack(dltensor: Any) -> Array:
    """An array over the memory of a DLPack capsule; `from_dlpack` takes what has the protocol.

    A capsule of the older form does not say whether it may be written: as in CuPy, it may.
    """
    if repr(dltensor).startswith('<capsule object "used_'):
        raise ValueError("a DLPack capsule cannot be consumed multiple times: export the array once more")
    found = numloom.from_dlpack(_Capsule(dltensor))
    if found.flags.writeable or not found.size or min(found.strides, default=0) < 0:
        return found
    pairs = zip(found.shape, found.strides, strict=True)
    nbytes = sum((extent - 1) * stride for extent, stride in pairs) + found.itemsize
    storage = found.storage
    memory = UnownedMemory(pin(storage).buffer.ptr + found.offset, nbytes, found)
    made: Any = numloom.ndarray
    return made(found.shape, found.dtype, MemoryPointer(memory, 0), strides=found.strides)


class _Capsule:
    """Hands a capsule on, which may be taken once."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return numloom.zeros(1).__dlpack_device__()  # type: ignore[no-any-return]


def issubclass_(arg1: Any, arg2: Any) -> bool:
    """`issubclass`, False where the first is no class.

    >>> import numloom.cupy as cp
    >>> cp.issubclass_(cp.int32, int), cp.issubclass_(3, int)
    (False, False)
    """
    return isinstance(arg1, type) and issubclass(arg1, arg2)


def issubsctype(arg1: Any, arg2: Any) -> bool:
    """Whether the type of what is given first is one of the second's."""
    return issubclass(_type_of(arg1), _type_of(arg2))


def _type_of(given: Any) -> type:
    return given if isinstance(given, type) and issubclass(given, np.generic) else np.dtype(given).type


def issctype(rep: Any) -> bool:
    """Whether it is NumPy's type of a number, or a dtype."""
    if not isinstance(rep, (type, np.dtype)):
        return False
    kind = obj2sctype(rep)
    return kind is not None and kind is not np.object_


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """The type of a number that a type, a dtype or an array has.

    >>> import numloom.cupy as cp
    >>> cp.obj2sctype(cp.arange(3)), cp.obj2sctype("f4")
    (<class 'numpy.int64'>, <class 'numpy.float32'>)
    """
    if isinstance(rep, type) and issubclass(rep, np.generic):
        return rep
    try:
        return np.dtype(getattr(rep, "dtype", rep)).type
    except (TypeError, ValueError):
        return default


def sctype2char(sctype: Any) -> str:
    """The letter of a type.

    >>> import numloom.cupy as cp
    >>> cp.sctype2char(cp.float32)
    'f'
    """
    kind = obj2sctype(sctype)
    if kind is None:
        raise ValueError(f"{sctype!r} is the type of no number")
    return np.dtype(kind).char


__all__ = [
    "NAN",
    "NINF",
    "NZERO",
    "PINF",
    "PZERO",
    "AxisError",
    "ComplexWarning",
    "DataSource",
    "Inf",
    "Infinity",
    "ModuleDeprecationWarning",
    "NaN",
    "RankWarning",
    "TooHardError",
    "VisibleDeprecationWarning",
    "alltrue",
    "asfarray",
    "byte_bounds",
    "cfloat",
    "complex_",
    "cumproduct",
    "disable_experimental_feature_warning",
    "float_",
    "format_parser",
    "fromDlpack",
    "in1d",
    "infty",
    "issctype",
    "issubclass_",
    "issubsctype",
    "msort",
    "obj2sctype",
    "product",
    "round_",
    "sctype2char",
    "singlecomplex",
    "sometrue",
    "trapz",
]  # fmt: skip
