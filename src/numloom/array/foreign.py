"""Operators, assignments, casts and comparisons with what is no array of ours and no number of Python's."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray, stood_for
from numloom.array.ndarray import FLOOR_DIVIDE, REMAINDER, apply2, ndarray, node_of, operand, wrap
from numloom.base.dtypes import BOOL, DTYPES, code_of
from numloom.base.errors import casting_error
from numloom.base.wording import NOTHING
from numloom.graph import build
from numloom.graph.node import Node
from numloom.ops.elementwise import resolve

_HOME = __name__.partition(".")[0]


def foreign_operand(value: Any) -> Any:
    """What is no array of ours and no plain number as an operand: a value, a number, or NotImplemented."""
    kind = type(value)
    if isinstance(value, np.generic):
        return build.scalar(value.item(), code_of(value.dtype))
    if kind is np.ndarray or kind is list or kind is tuple:
        return node_of(asarray(value))
    protocol = getattr(kind, "__array_ufunc__", NOTHING)
    if protocol is None:
        return NotImplemented  # It wants its own operators.
    listed = isinstance(value, (list, tuple)) and protocol is NOTHING
    if listed or isinstance(value, np.ndarray) or hasattr(value, "__dlpack__"):
        return node_of(asarray(value))
    if (meant := stood_for(value)) is not None:
        return node_of(meant)
    if hasattr(value, "__cuda_array_interface__"):
        return node_of(asarray(value))
    if hasattr(value, "__array_ufunc__"):
        return NotImplemented  # Dask's arrays, xarray's and pandas' hold ours: the operation is theirs.
    if hasattr(value, "__array__"):
        return node_of(asarray(value))
    if isinstance(value, (int, float, complex)):
        plain: Any = kind.__mro__[-2]
        return plain(value) if plain in (int, float, complex) else value
    return NotImplemented


def stands_aside(x: Any) -> bool:
    """Whether `x` is an array that may hold ours (Dask's, xarray's, pandas'): the operation is then its own."""
    return (
        type(x) is not ndarray
        and hasattr(x, "__array_ufunc__")
        and not isinstance(x, (np.ndarray, np.generic))
        and not hasattr(x, "__dlpack__")
    )


def multiplies_itself(x: Any) -> bool:
    """Whether products with `x` are its own: it may hold ours, or multiplies and is no array (SciPy's sparse)."""
    arrays = ("__array__", "__dlpack__", "__numloom_array__", "__cupy_get_ndarray__", "__cuda_array_interface__")
    if stands_aside(x) or getattr(type(x), "__array_ufunc__", NOTHING) is None:
        return True
    return hasattr(x, "__rmatmul__") and not any(hasattr(x, name) for name in arrays)


def answers(x: Any) -> bool:
    """Whether an operand answers for operators itself, by its own ``__array_ufunc__``, which NumPy asks.

    Our own classes have reflected operators, which are asked as Python does.
    """
    kind = type(x)
    asked = stands_aside(x) and callable(getattr(kind, "__array_ufunc__", None))
    return asked and kind.__module__.partition(".")[0] != _HOME


def answered(name: str, x: Any, y: Any) -> Any:
    """What NumPy's function gives where one of two operands answers itself; else NotImplemented."""
    function = getattr(np, name, None)
    asked = isinstance(function, np.ufunc) and (answers(x) or answers(y))
    return function(x, y) if asked else NotImplemented  # type: ignore[misc]


def divided(x: Any, y: Any) -> Any:
    """``divmod(x, y)``: both parts, the answer of an operand that answers itself, or NotImplemented."""
    if answers(x) or answers(y):
        return np.divmod(x, y)
    parts = apply2(FLOOR_DIVIDE, x, y), apply2(REMAINDER, x, y)
    return NotImplemented if any(part is NotImplemented for part in parts) else parts


def assigned_other(value: Any, code: int, basic: bool) -> Node:
    """What an assignment stores of what is no array of ours and no number of Python's (see `assigned_value`)."""
    if isinstance(value, (list, tuple)):
        return node_of(asarray(value, DTYPES[code]))
    if basic and isinstance(value, np.generic) and DTYPES[code].kind in "iu":
        made = np.zeros((), DTYPES[code])
        made[()] = value  # NumPy knows which of them must fit.
        return build.scalar(made.item(), code)
    strange = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "biufc"
    node = NotImplemented if strange else operand(value)
    if node is NotImplemented:
        # Text, None and arrays of them, objects with a number: NumPy knows which it is.
        made = np.zeros(np.shape(value) if isinstance(value, np.ndarray) else (), DTYPES[code])
        made[...] = value
        return node_of(asarray(made)) if made.shape else build.scalar(made.item(), code)
    return node if type(node) is Node else build.scalar(node, code)


def check_cast(op_def: Any, target: Any, other: Any) -> None:
    """NumPy's error if an operation's result does not cast to `target`, told before one of shapes."""
    value = operand(other)
    code = resolve(op_def, (DTYPES[target.code], DTYPES[value.code] if type(value) is Node else type(value)))[1]
    if not np.can_cast(DTYPES[code], DTYPES[target.code], "same_kind"):
        raise casting_error(op_def.name, "same_kind", code, target.code) from None


def unlike(array: Any, other: Any, answer: bool) -> Any:
    """What comparing with no number and no array gives: the same for each element, as in NumPy."""
    kind: Any = type(other)
    if other is None or isinstance(other, (str, bytes)):
        return wrap(build.full(answer, BOOL, array._shape))
    if getattr(kind, "__array_ufunc__", NOTHING) is None or (answer and kind.__ne__ is not object.__ne__):
        return NotImplemented  # It answers itself.
    if kind.__eq__ is object.__eq__:  # Equal to itself alone.
        return wrap(build.full(answer, BOOL, array._shape))
    # Of `!=` Python would negate what `==` gives, which has no truth value: NumPy asks each element.
    return asarray(array.get() != other) if answer else NotImplemented


__all__ = [
    "answered",
    "answers",
    "assigned_other",
    "check_cast",
    "divided",
    "foreign_operand",
    "multiplies_itself",
    "stands_aside",
    "unlike",
]
