"""Assignments, casts and comparisons with what is no array of ours and no number of Python's."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import node_of, operand, wrap
from numloom.base.dtypes import BOOL, DTYPES
from numloom.base.errors import casting_error
from numloom.base.wording import NOTHING
from numloom.graph import build
from numloom.graph.node import Node
from numloom.ops.elementwise import resolve


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


__all__ = ["assigned_other", "check_cast", "unlike"]
