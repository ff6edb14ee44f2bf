"""The one reader of integers that are no data: counts, axes, extents, seeds.

What NumPy gives as a scalar (``mask.sum()``) is an array of no dimensions here, so it is an integer wherever NumPy's
scalars are. Dimensions tell arrays from sequences: being iterable does not, since their class has that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index as as_integer
from typing import Any

import numpy as np


def is_integer(value: Any) -> bool:
    """Whether a value is one integer: Python's, NumPy's, or an array of no dimensions."""
    return isinstance(value, (int, np.integer)) or (getattr(value, "ndim", None) == 0 and value.dtype.kind in "iu")


def is_single(value: Any) -> bool:
    """Whether a value stands alone: a number, or an array of no dimensions, and no sequence."""
    dimensions = getattr(value, "ndim", None)
    return not hasattr(value, "__iter__") if dimensions is None else not dimensions


def no_axis(axis: int, ndim: int) -> Exception:
    """What NumPy raises for an axis that there is not: one that fits no integer of C is another error."""
    if not -(1 << 63) <= axis < 1 << 63:
        return OverflowError("Python int too large to convert to C long")
    return np.exceptions.AxisError(axis, ndim)


def as_extent(value: Any) -> int:
    """An integer that is no truth value: NumPy reads extents (and axes of reductions) that way, other integers not.

    Raises
    ------
    TypeError
        Of what is no integer.
    """
    if isinstance(value, (bool, np.bool)):
        raise TypeError("an integer is required")
    return as_integer(value)


def as_integers(value: Any, read: Callable[[Any], int] = as_extent) -> tuple[int, ...]:
    """One integer or several, as a tuple."""
    return (read(value),) if is_single(value) else tuple([read(item) for item in value])


def as_shape(value: Any) -> tuple[int, ...]:
    """Extents as a tuple: one integer, or several in an order, which sets, tables and generators have not.

    Raises
    ------
    TypeError
        Of what is neither.
    """
    if value is None or not (is_single(value) or (hasattr(value, "__getitem__") and not isinstance(value, Mapping))):
        raise TypeError(f"expected a sequence of integers or a single integer, got '{value}'")
    return as_integers(value)


__all__ = ["as_extent", "as_integer", "as_integers", "as_shape", "is_integer", "is_single", "no_axis"]
