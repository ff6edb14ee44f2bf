"""Comparisons of arrays of any module, to the bit; each brings its arguments to the host first."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.base.dtypes import kind_of


def host(value: Any) -> np.ndarray[Any, Any]:
    """A NumPy array of anything: arrays with a ``get`` method (numloom's), NumPy's, scalars, lists."""
    get = getattr(value, "get", None)
    return np.asarray(value if get is None else get())


def assert_bits_equal(actual: Any, desired: Any, *, message: str = "") -> None:
    """Fail unless shapes, dtypes and bits are equal; NaNs are equal whatever their payload."""
    a, b = host(actual), host(desired)
    assert_dtype_equal(a, b, message)
    assert_shape_equal(a, b, message)
    x, y = _parts(a), _parts(b)
    if kind_of(x.dtype) == "f":
        same = (_words(x) == _words(y)) | (np.isnan(x) & np.isnan(y))
    else:
        same = _words(x) == _words(y)
    if not same.all():
        at = np.flatnonzero(~same)
        lines = [f"  [{i}] {x[i]!r} != {y[i]!r}" for i in at[:5]]
        raise AssertionError("\n".join([f"{message} {at.size} of {same.size} differ in their bits:".strip(), *lines]))


def assert_shape_equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], message: str = "") -> None:
    """Fail unless shapes are equal."""
    if a.shape != b.shape:
        raise AssertionError(f"{message} shapes differ: {a.shape} and {b.shape}".strip())


def assert_dtype_equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], message: str = "") -> None:
    """Fail unless dtypes are equal."""
    if a.dtype != b.dtype:
        raise AssertionError(f"{message} dtypes differ: {a.dtype} and {b.dtype}".strip())


def _parts(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Flat real numbers: complex ones as pairs."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _words(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.view(f"u{array.itemsize}")
