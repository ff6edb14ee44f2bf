"""Functions whose results leave the real line: complex where an argument asks for it (`numloom.emath`).

Whether one does is looked at, so a result waits for its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.api import elementwise
from numloom.array.convert import asarray

Array = Any


def _complex_where(x: Any, outside: Callable[[Array], Array]) -> Array:
    """An array, complex if it is real and has an element outside of a domain."""
    array = asarray(x)
    if array.dtype.kind == "c" or not bool(outside(array).any()):
        return array
    narrow = array.dtype.kind in "iu" and array.dtype.itemsize <= 2
    return array.astype(np.complex64 if narrow or array.dtype == np.float32 else np.complex128)


def _negative(array: Array) -> Array:
    return array < 0


def _beyond_one(array: Array) -> Array:
    return abs(array) > 1


def sqrt(x: Any) -> Array:
    """Square roots, complex if an element is negative."""
    return elementwise.sqrt(_complex_where(x, _negative))


def log(x: Any) -> Array:
    """Natural logarithms, complex if an element is negative."""
    return elementwise.log(_complex_where(x, _negative))


def log10(x: Any) -> Array:
    """Logarithms to the base 10, complex if an element is negative."""
    return elementwise.log10(_complex_where(x, _negative))


def log2(x: Any) -> Array:
    """Logarithms to the base 2, complex if an element is negative."""
    return elementwise.log2(_complex_where(x, _negative))


def logn(n: Any, x: Any) -> Array:
    """Logarithms to the base `n`, complex if an element is negative."""
    return log(x) / log(n)


def power(x: Any, p: Any) -> Array:
    """`x` to the power `p`, complex if an element of `x` is negative; negative integers `p` become float64."""
    exponent = asarray(p)
    if exponent.dtype.kind in "iu" and bool(_negative(exponent).any()):
        exponent = exponent.astype(np.float64)
    return elementwise.power(_complex_where(x, _negative), exponent)


def arccos(x: Any) -> Array:
    """Inverse cosines, complex if an element is beyond 1."""
    return elementwise.arccos(_complex_where(x, _beyond_one))


def arcsin(x: Any) -> Array:
    """Inverse sines, complex if an element is beyond 1."""
    return elementwise.arcsin(_complex_where(x, _beyond_one))


def arctanh(x: Any) -> Array:
    """Inverse hyperbolic tangents, complex if an element is beyond 1."""
    return elementwise.arctanh(_complex_where(x, _beyond_one))


__all__ = ["arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt"]
