"""The dtypes that kernels know, their C++ names and NumPy's type rules as tables.

Every dtype has a small integer *code*, the index into `DTYPES`; hot paths compare
codes and look rules up by code, so NumPy is asked once per question.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from numloom.base.wording import NOTHING, unsupported

# One row a dtype: NumPy's letter (q and Q for 64 bits; ours for dtypes of ml_dtypes), its name, the C++ type of one
# element in memory, which the prelude declares, and what kind of number it is (NumPy calls some floats of ml_dtypes
# void). Codes are places in this table.
_TABLE = (
    ("?", "bool", "bool", "b"),
    ("b", "int8", "i8", "i"),
    ("B", "uint8", "u8", "u"),
    ("h", "int16", "i16", "i"),
    ("H", "uint16", "u16", "u"),
    ("i", "int32", "i32", "i"),
    ("I", "uint32", "u32", "u"),
    ("q", "int64", "i64", "i"),
    ("Q", "uint64", "u64", "u"),
    ("e", "float16", "f16", "f"),
    ("f", "float32", "f32", "f"),
    ("d", "float64", "f64", "f"),
    ("F", "complex64", "c64", "c"),
    ("D", "complex128", "c128", "c"),
    ("E", "bfloat16", "bf16", "f"),
    ("4", "float8_e4m3fn", "f8_e4m3fn", "f"),
    ("5", "float8_e5m2", "f8_e5m2", "f"),
    ("7", "float8_e4m3", "f8_e4m3", "f"),
    ("3", "float8_e3m4", "f8_e3m4", "f"),
    ("X", "float8_e4m3b11fnuz", "f8_e4m3b11fnuz", "f"),
    ("G", "float8_e4m3fnuz", "f8_e4m3fnuz", "f"),
    ("C", "float8_e5m2fnuz", "f8_e5m2fnuz", "f"),
)

CHARS = "".join([row[0] for row in _TABLE])
"""One character for each supported dtype, in code order."""

# Of the two 8-byte integer types NumPy prints one as plain int64: that one is meant by q.
DTYPES: tuple[np.dtype[Any], ...] = tuple([np.dtype(getattr(ml_dtypes, row[1], row[1])) for row in _TABLE])
CTYPES = tuple([row[2] for row in _TABLE])
"""C++ type of one element in memory, by code; the prelude declares them."""

ITEMSIZES = tuple([dtype.itemsize for dtype in DTYPES])
KINDS = tuple([row[3] for row in _TABLE])
KIND = {row[0]: row[3] for row in _TABLE}
"""Kinds by character."""

BOOL, I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64, C64, C128, BF16 = range(15)

LOW = tuple(range(BF16, len(_TABLE)))
"""Codes of bfloat16 and the kinds of float8, which ml_dtypes adds to NumPy."""
SHORT = frozenset("bBhH")
"""Characters of whole numbers shorter than a word."""
NUMPY_CHARS, NUMPY_DTYPES = CHARS[:BF16], DTYPES[:BF16]
"""Those of NumPy itself."""
ROUNDED = frozenset((F16, *LOW))
"""Codes of floats that are computed in float32 and rounded after each operation."""

_CODES: dict[Any, int] = {dtype: code for code, dtype in enumerate(DTYPES)}
# The platform has two 8-byte integer types (l and q); both are the same dtype to us.
for _char in "lL":
    _dtype = np.dtype(_char)
    _CODES[_dtype] = I64 if _dtype.kind == "i" and _dtype.itemsize == 8 else _CODES.get(_dtype, U64)

SCALAR_CODES: dict[type, int] = {dtype.type: code for code, dtype in enumerate(DTYPES)}
"""By the type of NumPy's scalars."""


def code_of(dtype: Any, given: Any = NOTHING) -> int:
    """Code of anything NumPy takes as a dtype; `given` is what has it, for the error.

    Raises
    ------
    TypeError
        If the dtype is not one that runs on the device, or of the other byte order (see `native`).

    Examples
    --------
    >>> code_of("float32") == F32
    True
    """
    try:
        return _CODES[dtype]
    except (KeyError, TypeError):
        pass
    found = resolved(dtype)
    code = _CODES.get(found)
    if code is None:
        raise TypeError(unsupported(found, given))
    if isinstance(dtype, (str, type)):
        _CODES[dtype] = code
    return code


def resolved(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype of anything that it takes as one, also of a class of `numpy.dtypes`, which it takes for objects."""
    if hasattr(dtype, "ndim") and not isinstance(dtype, (type, np.dtype)):
        raise TypeError("Cannot construct a dtype from an array")
    if (
        isinstance(dtype, dict)
        and not {"names", "formats"} <= dtype.keys()
        and not all(isinstance(field, tuple) for field in dtype.values())
    ):
        raise TypeError(f"a dict is a dtype by its names and formats, not {dtype!r}")
    of_numpy = isinstance(dtype, type) and issubclass(dtype, np.dtype) and dtype is not np.dtype
    return dtype() if of_numpy else np.dtype(dtype)


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in this machine's byte order that values have here which come in another one.

    Examples
    --------
    >>> native(np.dtype("i4").newbyteorder()) == np.int32
    True
    """
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def refuse_other_order(dtype: Any) -> None:
    """Raise TypeError for a dtype of the other byte order that a result is asked for in, or a field of one."""
    asked = resolved(float if dtype is None else dtype)
    for part in [asked] if asked.names is None else [asked[name] for name in asked.names]:
        if not part.isnative:
            raise TypeError(unsupported(part))


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """The canonical supported dtype equal to `dtype` (see `code_of` for what is refused)."""
    return DTYPES[code_of(dtype)]


def kind_of(dtype: np.dtype[Any]) -> str:
    """NumPy's kind of a dtype, and "f" for all floats of ml_dtypes, some of which NumPy calls void.

    Examples
    --------
    >>> kind_of(np.dtype("bfloat16"))
    'f'
    """
    return KINDS[_CODES[dtype]] if dtype in _CODES else dtype.kind


def limits_of(dtype: Any) -> Any:
    """`numpy.finfo` of a floating dtype, or that of ml_dtypes."""
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        return np.finfo(dtype)  # Of a number, or NumPy's error.
    if _CODES.get(resolved) in LOW:
        return ml_dtypes.finfo(resolved)  # type: ignore[no-untyped-call]
    return np.finfo(resolved)


def nan_of(code: int) -> complex:
    """NaN of a floating dtype, of a complex one in both parts."""
    return complex(np.nan, np.nan) if KINDS[code] == "c" else np.nan


def char_of(dtype: np.dtype[Any]) -> str:
    """The character by which rows know a dtype, or NumPy's for a dtype that is not supported."""
    return CHARS[_CODES[dtype]] if dtype in _CODES else dtype.char
