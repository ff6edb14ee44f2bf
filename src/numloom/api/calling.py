"""Plain calls of ufuncs and reductions: nothing of Python's between them and what they record.

Calls with rarer arguments go on to the functions that know them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.array.ndarray import apply1, apply2, ndarray, node_of, record2, wrap
from numloom.array.storage import write
from numloom.base.dtypes import BOOL
from numloom.engine.evaluate import after_record
from numloom.graph.build import cast, elementwise, unary
from numloom.graph.node import Node
from numloom.graph.replay import Chains, learn, replay

_SAME_KIND, _ANY = "same_kind", "K"
_NO_VALUE: Any = np._NoValue  # type: ignore[attr-defined]


class ElementwiseCall:
    """What calling a ufunc does.

    Attributes
    ----------
    nin, nout : int
        Number of inputs and of outputs.
    _row : Op
        The operation, of several outputs the first one's.
    _rows : tuple of Op
        Those of all outputs.
    """

    _row: Any
    _rows: tuple[Any, ...]
    nin: int
    nout: int

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        where: Any = True,
        casting: Any = _SAME_KIND,
        order: Any = _ANY,
        dtype: Any = None,
        subok: Any = True,
        signature: Any = None,
        sig: Any = None,
    ) -> Any:
        count = len(args)
        if (
            count == self.nin
            and where is True
            and dtype is None
            and signature is None
            and sig is None
            and (casting is _SAME_KIND or casting == _SAME_KIND)
            and (order is _ANY or order == _ANY)
        ):
            result = call_plainly(self, args[0], args[1] if count > 1 else None, out)
            if result is not NotImplemented:
                return result
        return self._general(args, out, where, casting, order, dtype, subok, signature, sig)

    def _general(self, *given: Any, **options: Any) -> Any:
        """A call with any arguments, which the function's own class knows."""
        raise NotImplementedError


def call_plainly(function: ElementwiseCall, x: Any, y: Any, out: Any) -> Any:
    """What a call of a ufunc gives for its inputs and an output; NotImplemented where more must be looked at."""
    row = function._row
    if function.nout == 1:
        if function.nin == 2:
            if out is None:
                return apply2(row, x, y)
            if type(out) is ndarray:
                node = record2(row, x, y)
                if node is not NotImplemented and store_plainly(out, node):
                    return out
        elif function.nin == 1 and type(x) is ndarray:
            if out is None:
                return apply1(row, x)
            if type(out) is ndarray and store_plainly(out, unary(row, node_of(x))):
                return out
        return NotImplemented
    if out is not None:
        return NotImplemented
    results = []
    for row in function._rows:
        if function.nin == 2:
            result = apply2(row, x, y)
        elif function.nin == 1 and type(x) is ndarray:
            result = apply1(row, x)
        else:
            result = NotImplemented
        if result is NotImplemented:
            return result
        results.append(result)
    return tuple(results)


def choose_plainly(row: Any, condition: Any, x: Any, y: Any) -> Any:
    """An operation on a truth value and two values, all of them arrays of ours."""
    result = wrap(elementwise(row, (cast(node_of(condition), BOOL), node_of(x), node_of(y))))
    if condition.cell.pins or x.cell.pins or y.cell.pins:
        after_record(result.cell.value, now=True)
    return result


def store_plainly(out: Any, node: Node) -> bool:
    """Write a value to an array that is just like it; False where more must be looked at."""
    if not out.writeable or node.code != out.code or node.shape != out.extents:
        return False
    write(out.cell, out.code, out.offset, out.extents, out.steps, node)
    return True


class Plain:
    """A reduction that is asked for with nothing but axes, or a product with nothing but its operands.

    Attributes
    ----------
    general : callable
        ``general(array, axis, keepdims=...)`` or ``general(x, y)`` in full.
    chains : Chains
        What it recorded before.
    """

    __slots__ = ("chains", "general")

    general: Callable[..., Any]
    chains: Chains

    def __init__(self, general: Callable[..., Any]) -> None:
        self.general = general
        self.chains = Chains()

    def __call__(self, x: Any, y: Any) -> Any:
        return combine_plainly(self, x, y)


def reduce_plainly(function: Plain, array: Any, axis: Any, keepdims: Any) -> Any:
    """The reduction of an array over axes; what is known of arrays like it is recorded at once."""
    keep = keepdims is True or (keepdims is not False and keepdims is not _NO_VALUE and bool(keepdims))
    if type(array) is not ndarray or not _is_plain(axis):
        return function.general(array, axis, keepdims=keep)
    given = array
    operand = node_of(given)
    node = replay(function.chains, operand, None, axis, keep)
    if node is None:
        result = function.general(array, axis, keepdims=keep)
        learn(function.chains, operand, None, axis, keep, result.cell.value)
        return result
    result = wrap(node)
    if given.cell.pins:
        after_record(node, now=True)
    return result


def combine_plainly(function: Plain, x: Any, y: Any) -> Any:
    """The product of two values; what is known of arrays like them is recorded at once."""
    if type(x) is not ndarray or type(y) is not ndarray:
        return function.general(x, y)
    left, right = x, y
    a, b = node_of(left), node_of(right)
    node = replay(function.chains, a, b, None, False)
    if node is None:
        given = function.general(x, y)
        if type(given) is ndarray and is_whole(given):
            learn(function.chains, a, b, None, False, given.cell.value)
        return given
    result = wrap(node)
    if left.cell.pins or right.cell.pins:
        after_record(node, now=True)
    return result


def is_whole(array: Any) -> bool:
    """Whether an array is what `wrap` makes of the value that its memory holds."""
    node = array.cell.value
    whole = array.offset == 0 and array.code == node.code and array.is_scalar == (not node.shape)
    return whole and array.extents == node.shape and array.steps == node.strides


def _is_plain(axis: Any) -> bool:
    """Whether an axis is none, an integer or a tuple of integers (True and 1.0 would be taken for 1)."""
    if axis is None or type(axis) is int:
        return True
    if type(axis) is not tuple:
        return False
    for one in axis:  # noqa: SIM110  (compiled)
        if type(one) is not int:
            return False
    return True


__all__ = ["ElementwiseCall", "Plain", "call_plainly", "choose_plainly", "combine_plainly", "reduce_plainly"]
