"""Casts of NumPy arrays to floats of ml_dtypes, rounded once: before version 0.7 these went by way of float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.base.dtypes import DTYPES, LOW

Host = np.ndarray[Any, Any]
_LOW = frozenset(DTYPES[code] for code in LOW)


def cast_host(x: Host, dtype: np.dtype[Any]) -> Host:
    """Return ``x.astype(dtype)``; floats of ml_dtypes are the nearest, and those with an even last bit between two.

    Examples
    --------
    >>> import ml_dtypes
    >>> between = np.array([1 + 2.0**-8, np.nextafter(1 + 2.0**-8, 2)])  # two numbers of bfloat16
    >>> cast_host(between, np.dtype(ml_dtypes.bfloat16)).astype(float).tolist()
    [1.0, 1.0078125]
    """
    if dtype in _LOW and x.dtype not in _LOW and x.dtype.kind in "iuf" and x.dtype.itemsize >= 4:
        x = odd(x)
    return x.astype(dtype)


def odd(x: Host) -> Host:
    """Return float32 numbers that, rounded to fewer digits, give what `x` gives: inexact ones have an odd last bit.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd" (2008).
    """
    if x.dtype == np.float32:
        return x
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8:
        few = x.dtype.type(2047)
        large = (x >= 1 << 53) | (x <= -(1 << 53)) if x.dtype.kind == "i" else x >= 1 << 53
        x = np.where(large, (x & ~few) | ((x & few) != 0).astype(x.dtype) << x.dtype.type(11), x)
    wide = x if x.dtype.kind == "f" else x.astype(np.float64)
    near = wide.astype(np.float32)
    back = near.astype(wide.dtype)
    bits = near.view(np.uint32)
    inexact = (back < wide) | (back > wide)
    away = inexact & np.where(wide < 0, back < wide, back > wide)
    return ((bits - away.astype(np.uint32)) | inexact.astype(np.uint32)).view(np.float32)


__all__ = ["cast_host", "odd"]
