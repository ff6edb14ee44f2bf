"""Comparing whole arrays, and questions about dtypes and elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.elementwise import add, less_equal, multiply
from numloom.array.convert import asarray
from numloom.array.ndarray import node_of, wrap
from numloom.array.views import as_truth
from numloom.base.dtypes import BOOL
from numloom.graph import build
from numloom.graph.layout import c_strides, f_strides
from numloom.ops.elementwise import ELEMENTWISE

Array = Any


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Array:
    """Which elements are equal within ``atol + rtol * abs(b)``."""
    x, y = asarray(a), asarray(b)
    if y.dtype.kind in "biu" or (not y.ndim and isinstance(b, (float, complex))):
        y = y.astype(np.result_type(y.dtype, 1.0) if y.dtype.kind in "biu" else np.result_type(x.dtype, b))
    tolerance = add(atol, multiply(rtol, abs(y)))
    finite = wrap(build.unary(ELEMENTWISE["isfinite"], node_of(y)))
    close = (less_equal(abs(x - y), tolerance) & finite) | (x == y)
    if equal_nan:
        close = close | ((x != x) & (y != y))
    close.is_scalar = not close.shape
    return close


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are equal within a tolerance; looks at the values, but in trees without numbers."""
    return as_truth(isclose(a, b, rtol, atol, equal_nan).all())


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and elements; looks at the values, but in trees without numbers."""
    x, y = asarray(a1), asarray(a2)
    if x.shape != y.shape:
        return False
    same = x == y
    if equal_nan:
        same = same | ((x != x) & (y != y))
    # A mask that has no name any more is not stored where it is looked at.
    same = same.all()
    return as_truth(same)


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays are equal after broadcasting; looks at the values, but in trees without numbers."""
    x, y = asarray(a1), asarray(a2)
    try:
        same = (x == y).all()
    except ValueError:
        return False
    return as_truth(same)


def iscomplex(x: Any) -> Array:
    """Which elements have an imaginary part that is not zero."""
    array = asarray(x)
    if array.dtype.kind == "c":
        return array.imag != 0
    return wrap(build.full(False, BOOL, array.shape))


def isreal(x: Any) -> Array:
    """Which elements have no imaginary part (or one of zero)."""
    array = asarray(x)
    if array.dtype.kind == "c":
        return array.imag == 0
    strides = (f_strides if array.flags.fnc else c_strides)(array.shape, 1)
    return wrap(build.full(True, BOOL, array.shape, strides))


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(asarray(x).dtype.kind == "c")


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


__all__ = ["allclose", "array_equal", "array_equiv", "isclose", "iscomplex", "iscomplexobj", "isreal", "isrealobj"]
