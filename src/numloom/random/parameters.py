"""Parameters of distributions: numbers and arrays, checked as NumPy checks them.

What is on the host (numbers, lists, NumPy arrays) is checked at once. A numloom array may not be computed yet, so its
check is recorded with the draw, in the same kernel, and raises when the result is looked at: nobody waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Any

import numpy as np

from numloom.api.conditions import raised_where
from numloom.api.elementwise import signbit
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import DTYPES, KINDS
from numloom.base.integers import as_shape
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes
from numloom.graph.node import Node
from numloom.ops.elementwise import ELEMENTWISE

Array = Any
Parameter = Any
"""A Python number, a NumPy array or a numloom array, of float64 or int64."""


def real(value: Any) -> Parameter:
    """A parameter of float64."""
    if type(value) is float or type(value) is int:
        return float(value)
    if isinstance(value, ndarray):
        if KINDS[value.code] == "c":
            raise TypeError(f"a parameter of a distribution must be real, got an array of {value.dtype}")
        given: Any = value
        return given.astype(np.float64, copy=False)
    host = np.asarray(value)
    if host.dtype.kind == "c":
        raise TypeError(f"a parameter of a distribution must be real, got {value!r}")
    _refuse_others(host, "float64")
    return host.astype(np.float64) if host.ndim else float(host.item())


def whole(value: Any) -> Parameter:
    """A parameter of int64; fractions are cut off, as NumPy does it."""
    if type(value) is int and -(1 << 63) <= value < 1 << 63:
        return value
    if isinstance(value, ndarray):
        if KINDS[value.code] == "c":
            raise TypeError(f"a count must be real, got an array of {value.dtype}")
        given: Any = value
        return given.astype(np.int64, copy=False)
    host = np.asarray(value)
    if host.dtype.kind == "c":
        raise TypeError(f"a count must be real, got {value!r}")
    _refuse_others(host, "int64")
    if host.ndim:
        return host.astype(np.int64)
    number = int(host.item())
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError("Python int too large to convert to C long")
    return number


def _refuse_others(host: np.ndarray[Any, Any], wanted: str) -> None:
    """Raise NumPy's TypeError for arrays of dates, text and objects, whose bytes would pass for numbers."""
    if host.ndim and host.dtype.kind not in "biuf" and host.dtype not in DTYPES:
        raise TypeError(f"Cannot cast array data from {host.dtype!r} to dtype({wanted!r}) according to the rule 'safe'")


def refuse(value: Parameter, bad: Any, message: str, error: type[Exception] = ValueError) -> Parameter:
    """`value`, where `bad` (computed from parameters) holds nowhere; else the error, now or when it is looked at."""
    if not isinstance(bad, ndarray):
        if bad if type(bad) is bool else np.any(bad):
            raise error(message)
        return value
    checked = asarray(value)
    return checked + raised_where(bad, checked.code, error, message)


def _test(condition: Callable[[Any], Any], message: str) -> Callable[[Any, str], Parameter]:
    """A check of one parameter of float64."""

    def check(value: Any, name: str) -> Parameter:
        parameter = real(value)
        if type(parameter) is float:
            if condition(parameter):
                raise ValueError(message.format(name, "is NaN"))
            return parameter
        several = "contains NaNs" if np.ndim(parameter) else "is NaN"
        with np.errstate(all="ignore"):
            bad = condition(parameter)
        return refuse(parameter, bad, message.format(name, several))

    return check


def _negative(x: Any) -> Any:
    if type(x) is float:
        return copysign(1.0, x) < 0 and x == x
    return (signbit(x) if isinstance(x, ndarray) else np.signbit(x)) & (x == x)


MOST_EVENTS = 9.223372006484771e18
"""The largest mean of Poisson numbers that fit int64, ten deviations off the end."""

not_negative = _test(_negative, "{0} < 0")
positive = _test(lambda x: x <= 0, "{0} <= 0")
probability = _test(lambda x: (x != x) | (x < 0) | (x > 1), "{0} < 0, {0} > 1 or {0} {1}")
chance = _test(lambda x: (x != x) | (x <= 0) | (x > 1), "{0} <= 0, {0} > 1 or {0} contains NaNs")
below_one = _test(lambda x: (x != x) | (x < 0) | (x >= 1), "{0} < 0, {0} >= 1 or {0} {1}")
above_one = _test(lambda x: (x != x) | (x <= 1), "{0} <= 1 or {0} {1}")
_rate = _test(lambda x: (x != x) | (x < 0), "{0} < 0 or {0} {1}")
_small_rate = _test(lambda x: x > MOST_EVENTS, "{0} value too large")


def rate(value: Any, name: str) -> Parameter:
    """A mean of Poisson numbers."""
    return _small_rate(_rate(value, name), name)


def count(value: Any, name: str) -> Parameter:
    """A whole number that is not negative."""
    number = whole(value)
    return refuse(number, number < 0, f"{name} < 0")


# --- shapes ---------------------------------------------------------------------------------------


def shape_of(size: Any) -> tuple[int, ...]:
    """A shape from a `size` argument: None, an integer or integers."""
    if size is None:
        return ()
    if type(size) is int and size >= 0:
        return (size,)
    shape = as_shape(size)
    if any(extent < 0 for extent in shape):
        raise ValueError("negative dimensions are not allowed")
    return shape


def drawn_shape(size: Any, *parameters: Parameter) -> tuple[int, ...]:
    """The shape of a draw: `size`, or what the parameters broadcast to."""
    if all(type(x) is float or type(x) is int for x in parameters):
        return shape_of(size)
    common = broadcast_shapes(*(np.shape(x) if not isinstance(x, ndarray) else x.shape for x in parameters))
    if size is None:
        return common
    shape = shape_of(size)
    lead = len(shape) - len(common)
    if lead < 0 or any(extent not in (1, goal) for extent, goal in zip(common, shape[lead:], strict=True)):
        raise ValueError(f"Output size {shape} is not compatible with broadcast dimensions of inputs {common}.")
    return shape


# --- recorded -------------------------------------------------------------------------------------


def recorded(parameter: Parameter, code: int) -> Node:
    """A parameter as a value of the graph."""
    if isinstance(parameter, (int, float)):
        return build.scalar(parameter, code)
    return node_of(asarray(parameter))


def on_device(parameter: Parameter) -> Parameter:
    """A parameter that operators of numloom arrays take: a number, or a numloom array."""
    return parameter if isinstance(parameter, (int, float)) else asarray(parameter)


def apply(name: str, *operands: Array) -> Array:
    """An elementwise operation of the table on arrays and Python numbers."""
    nodes = [node_of(x) if isinstance(x, ndarray) else x for x in operands]
    return wrap(build.elementwise(ELEMENTWISE[name], nodes))


__all__ = [
    "MOST_EVENTS",
    "above_one",
    "apply",
    "below_one",
    "chance",
    "count",
    "drawn_shape",
    "not_negative",
    "on_device",
    "positive",
    "probability",
    "rate",
    "real",
    "recorded",
    "refuse",
    "shape_of",
    "whole",
]
