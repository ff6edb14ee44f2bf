# cython: boundscheck=False, wraparound=False
"""Operations on numbers that the host knows: done at once, by Python's own numbers where they have NumPy's bits.

A 0-d array whose value is known (an element read from computed memory, a number that became an array) is not worth a
recorded operation. What Python does otherwise than NumPy (division by zero, integers that overflow) is left to
whoever records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.storage import Storage
from numloom.base.dtypes import BOOL, DTYPES, F16, F32, F64, I64
from numloom.engine.evaluate import element_on_host
from numloom.graph.build import known_read, scalar
from numloom.graph.node import FILL, LEAF, SCALAR, Node, register, scalar_as
from numloom.ops.elementwise import ELEMENTWISE

_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = [ELEMENTWISE[name] for name in ("add", "subtract", "multiply", "divide")]
_FLOOR_DIVIDE, _REMAINDER = ELEMENTWISE["floor_divide"], ELEMENTWISE["remainder"]
_LESS, _LESS_EQUAL = ELEMENTWISE["less"], ELEMENTWISE["less_equal"]
_GREATER, _GREATER_EQUAL = ELEMENTWISE["greater"], ELEMENTWISE["greater_equal"]
_EQUAL, _NOT_EQUAL = ELEMENTWISE["equal"], ELEMENTWISE["not_equal"]
_NEGATIVE, _ABSOLUTE = ELEMENTWISE["negative"], ELEMENTWISE["absolute"]

_MOST = (1 << 63) - 1
_LEAST = -(1 << 63)
_WHOLE = 1 << 53
"""Integers up to here are numbers of float64."""


def known_number(storage: Storage, code: int, offset: int) -> Any:
    """The float, integer or bool that a 0-d array is, if the host knows it and it is a number as Python has them."""
    node = storage.value
    if node.code != code or storage.pins or node.shape or offset or register.tracing:
        return None  # Of a tree being recorded a number would be a constant.
    if node.kind == LEAF:
        value = element_on_host(node, code, 0)
    elif node.kind == FILL or node.kind == SCALAR:
        value = node.attr
    else:
        return None
    kind = type(value)
    if (kind is float and code == F64) or (kind is int and code == I64) or (kind is bool and code == BOOL):
        return value
    return None


def node_of_number(value: Any) -> Node:
    """A number that others came to, as a value of the dtype that its type says."""
    kind = type(value)
    return known_read(value, F64 if kind is float else BOOL if kind is bool else I64)


def number_as(value: Any, code: int) -> Node:
    """A number of Python's as a value that is stored; integers must fit the dtype, as in NumPy."""
    kind = type(value)
    if kind is float and BOOL < code < F16:
        value, kind = int(value), int
    if kind is int or kind is bool:
        if BOOL < code < F16:
            return scalar_as(int(value), code)
        return scalar(float(value) if code == F64 else DTYPES[code].type(value).item(), code)
    if kind is float:
        if code in (F32, F64):
            return scalar(value, code)
        with np.errstate(all="ignore"):
            return scalar(np.array(value).astype(DTYPES[code]).item(), code)
    if code == BOOL:
        return scalar(bool(value), code)
    if DTYPES[code].kind != "c":
        raise TypeError(f"cannot assign a complex number to an array of dtype {DTYPES[code]}; take .real first")
    return scalar(value, code)


def binary_number(op_def: Any, p: Any, q: Any) -> Node | None:
    """An operation on floats or on integers, one of which is of an array; None where it is not for here."""
    found = _binary(op_def, p, q)
    return None if found is None else node_of_number(found)


def _binary(op_def: Any, p: Any, q: Any) -> Any:
    real = type(p) is float
    if real != (type(q) is float):
        # An integer beside a float becomes one.
        if real:
            if type(q) is not int or not -_WHOLE <= q <= _WHOLE:
                return None
            q = float(q)
        else:
            if type(p) is not int or not -_WHOLE <= p <= _WHOLE:
                return None
            p = float(p)
            real = True
    elif not real and (
        type(p) is not int or type(q) is not int or not _LEAST <= p <= _MOST or not _LEAST <= q <= _MOST
    ):
        return None
    if op_def is _ADD:
        found = p + q
    elif op_def is _SUBTRACT:
        found = p - q
    elif op_def is _MULTIPLY:
        found = p * q
    elif op_def is _LESS:
        return p < q
    elif op_def is _GREATER:
        return p > q
    elif op_def is _LESS_EQUAL:
        return p <= q
    elif op_def is _GREATER_EQUAL:
        return p >= q
    elif op_def is _EQUAL:
        return p == q
    elif op_def is _NOT_EQUAL:
        return p != q
    elif op_def is _DIVIDE:
        if q == 0 or not (real or (-_WHOLE <= p <= _WHOLE and -_WHOLE <= q <= _WHOLE)):
            return None
        return p / q
    elif not real and q > 0 and op_def is _FLOOR_DIVIDE:
        return p // q
    elif not real and q > 0 and op_def is _REMAINDER:
        return p % q
    else:
        return None
    return found if real or _LEAST <= found <= _MOST else None


def unary_number(op_def: Any, p: Any) -> Node | None:
    """An operation on a float or an integer; None where it is not for here."""
    kind = type(p)
    if kind is bool or (kind is int and not -_MOST <= p <= _MOST):
        return None
    if op_def is _NEGATIVE:
        return node_of_number(-p)
    return node_of_number(abs(p)) if op_def is _ABSOLUTE else None


def repeats(other: Any) -> bool:
    """Whether the product with a number that NumPy has as a scalar repeats this, as Python's own numbers do."""
    return type(other) is list or type(other) is tuple


__all__ = ["binary_number", "known_number", "number_as", "repeats", "unary_number"]
