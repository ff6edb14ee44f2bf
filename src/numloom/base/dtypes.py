"""The dtypes that kernels know, their C++ names and NumPy's type rules as tables.

Every dtype has a small integer *code*, the index into `DTYPES`; hot paths compare
codes and look rules up by code, so NumPy is asked once per question.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CHARS = "?bBhHiIqQefdFD"
"""One character for each supported dtype, in code order (NumPy's letters, q and Q for 64 bits)."""

# Of the two 8-byte integer types NumPy prints one as plain int64: that one is meant by q.
DTYPES: tuple[np.dtype[Any], ...] = tuple(np.dtype(np.dtype(char).name) for char in CHARS)
CTYPES = ("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "c64", "c128")
"""C++ type of one element in memory, by code; the prelude declares them."""

ITEMSIZES = tuple(dtype.itemsize for dtype in DTYPES)
KINDS = tuple(dtype.kind for dtype in DTYPES)

BOOL, I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64, C64, C128 = range(14)

_CODES: dict[Any, int] = {dtype: code for code, dtype in enumerate(DTYPES)}
# The platform has two 8-byte integer types (l and q); both are the same dtype to us.
for _char in "lL":
    _dtype = np.dtype(_char)
    _CODES[_dtype] = I64 if _dtype.kind == "i" and _dtype.itemsize == 8 else _CODES.get(_dtype, U64)

SCALAR_CODES: dict[type, int] = {dtype.type: code for code, dtype in enumerate(DTYPES)}
"""By the type of NumPy's scalars."""


def code_of(dtype: Any) -> int:
    """Code of anything NumPy takes as a dtype.

    Raises
    ------
    TypeError
        If the dtype is not one that runs on the device.

    Examples
    --------
    >>> code_of("float32") == F32
    True
    """
    try:
        return _CODES[dtype]
    except (KeyError, TypeError):
        pass
    resolved = np.dtype(dtype)
    code = _CODES.get(resolved)
    if code is None and not resolved.isnative:
        code = _CODES.get(resolved.newbyteorder("="))
    if code is None:
        raise TypeError(
            f"dtype {resolved} is not supported on the device: numloom arrays hold bool, integers of 8 to 64 bits, "
            "float16/32/64 and complex64/128; keep other data in NumPy arrays or convert it with astype"
        )
    if isinstance(dtype, (str, type)):
        _CODES[dtype] = code
    return code


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """The canonical supported dtype equal to `dtype` (see `code_of` for what is refused)."""
    return DTYPES[code_of(dtype)]
