"""What results that NumPy has as scalars are to Python: numbers, with the methods that Python's own numbers have.

They are arrays of no dimensions here, whose class cannot be a number's, since all arrays have it. So they say by
``__class__`` that they are numbers (`numbers.Real` and its kin, never float or int), and what one asks of a number
(``is_integer``, ``as_integer_ratio``) is there for them alone: ``hasattr`` tells them from arrays.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from numloom.array.ndarray import bind, ndarray
from numloom.device import registry


class _Claimed:
    """What is claimed prints as arrays do; printers (IPython's) ask the class for that."""

    __repr__ = ndarray.__repr__


@numbers.Integral.register
class IntegerScalar(_Claimed):
    """The class that a result of integer dtype claims."""


@numbers.Real.register
class RealScalar(_Claimed):
    """The class that a result of floating dtype claims."""


@numbers.Complex.register
class ComplexScalar(_Claimed):
    """The class that a result of complex dtype claims."""


_CLASSES = {"i": IntegerScalar, "u": IntegerScalar, "f": RealScalar, "c": ComplexScalar}


def claimed_class(array: Any) -> type:
    """``__class__``: what `isinstance` asks after the type itself.

    A number on a GPU claims nothing: libraries copy what is a scalar to them.
    """
    if not array.is_scalar or registry.current().discrete:
        return ndarray
    return _CLASSES.get(array.dtype.kind, ndarray)


def of_numbers(kinds: str, method: Callable[..., Any]) -> property:
    """A method that arrays of no dimensions and of these kinds of dtype have, and others lack."""

    def bound(array: Any) -> Callable[..., Any]:
        if array.ndim or array.dtype.kind not in kinds:
            raise AttributeError(f"'numloom.ndarray' object has no attribute {method.__name__!r}")
        return lambda *args: method(array.item(), *args)

    return property(bound, doc=method.__doc__)


def is_integer(number: Any) -> bool:
    """Whether a number has no fraction."""
    return isinstance(number, int) or number.is_integer()


def as_integer_ratio(number: Any) -> tuple[int, int]:
    """Two integers of which the number is the quotient, the second one positive."""
    return number.as_integer_ratio()  # type: ignore[no-any-return]


def _mpmath_(number: Any, prec: int, rounding: str) -> Any:
    """The number for mpmath, which computes with it at a precision of its own."""
    return number


def numerator(array: Any) -> Any:
    """Of an integer: itself, as Python's integers have it."""
    if array.ndim or array.dtype.kind not in "iu":
        raise AttributeError("'numloom.ndarray' object has no attribute 'numerator'")
    return array


def denominator(array: Any) -> int:
    """Of an integer: 1."""
    numerator(array)
    return 1


def method___trunc__(array: Any) -> int:
    """``math.trunc``: the integer part of a number."""
    return math.trunc(array.item())


bind(
    method___class__=property(claimed_class),
    method___trunc__=method___trunc__,
    method_as_integer_ratio=of_numbers("iuf", as_integer_ratio),
    method_denominator=property(denominator),
    method_is_integer=of_numbers("iuf", is_integer),
    method_numerator=property(numerator),
    method__mpmath_=of_numbers("iuf", _mpmath_),
)


__all__ = ["ComplexScalar", "IntegerScalar", "RealScalar"]
