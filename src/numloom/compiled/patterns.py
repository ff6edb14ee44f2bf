"""Patterns of `rewrite`: Python functions, and whether a tree's value is what one computes of other values in it."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from itertools import product
from typing import Any

from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import ITEMSIZES
from numloom.engine.waiting import Part
from numloom.graph.layout import c_strides
from numloom.graph.node import FILL, GATHER, IOTA, OP, REDUCE, ROUTINE, SCALAR, SYMBOL, UPDATE, VIEW, Node
from numloom.graph.tree import Placeholder, recording, symbol_node

Form = tuple[int, tuple[int, ...], tuple[int, ...]]
_DEPTH = 6
"""How far beneath a value its operands are looked for, until a pattern is known to be deeper."""


class Pattern:
    """A Python function of arrays, recorded for each choice of its arguments' dtypes and shapes.

    What it records depends on these (the sum of a number is the number itself, and axes stand in reductions), so
    arguments have the forms of values that lie beneath the one that is looked at.

    Parameters
    ----------
    function : callable
        It takes a fixed number of arrays.
    count : int, optional
        How many, of a function with other parameters behind these.
    """

    def __init__(self, function: Callable[..., Any], count: int | None = None) -> None:
        kinds = [one.kind for one in signature(function).parameters.values()]
        if any([kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds]):
            raise TypeError("a pattern is a function of a fixed number of arrays, given by their places")
        self.function = function
        self.count = len(kinds) if count is None else count
        self.depth = _DEPTH
        self._known: dict[tuple[Form, ...], tuple[list[Placeholder], Node] | None] = {}

    def bound(self, node: Node) -> list[Node] | None:
        """The values of which the pattern computes this one; None where there are none."""
        while True:
            depth = self.depth
            for forms in product(_forms(node, depth), repeat=self.count):
                recorded = self._recorded(forms)
                found = None if recorded is None else _matched(recorded[1], node, recorded[0])
                if found is not None:
                    return found
            if self.depth == depth:
                return None

    def _recorded(self, forms: tuple[Form, ...]) -> tuple[list[Placeholder], Node] | None:
        """What stands for the arguments, and the end of the tree; None where it takes no such arguments."""
        if forms in self._known:
            return self._known[forms]
        wild = [Placeholder(f"argument_{number}") for number in range(self.count)]
        given = [symbol_node(one, *form) for one, form in zip(wild, forms, strict=True)]
        found = None
        try:
            with recording():
                result = self.function(*[wrap(one) for one in given])
        except (TypeError, ValueError, IndexError):  # Of arrays of other ranks or dtypes.
            result = None
        if type(result) is ndarray:
            end = node_of(result)
            found = None if end.kind == SYMBOL else (wild, end)
            self.depth = max(self.depth, _height(end))
        self._known[forms] = found
        return found


def _forms(node: Node, depth: int) -> list[Form]:
    """Dtypes, shapes and orders of the values beneath one, each once, the nearest ones first."""
    found: dict[Form, None] = {}
    seen = {id(node)}
    level = [node]
    for _ in range(depth):
        below = []
        for one in level:
            for arg in one.args:
                if id(arg) not in seen:
                    seen.add(id(arg))
                    below.append(arg)
                    found[arg.code, arg.shape, _strides(arg)] = None
        level = below
    return list(found)


def _strides(node: Node) -> tuple[int, ...]:
    """Strides of a dense value in the same order of axes, if there is one that this is; else those of C order."""
    expected = ITEMSIZES[node.code]
    for stride, extent in sorted(zip(node.strides, node.shape, strict=True)):
        if extent != 1 and stride != expected:
            return c_strides(node.shape, ITEMSIZES[node.code])
        expected *= extent
    return node.strides


def _height(end: Node) -> int:
    """How many values lie on the longest way down a tree."""
    heights: dict[int, int] = {}
    stack = [(end, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            heights[id(node)] = 1 + max([heights[id(arg)] for arg in node.args], default=0)
        elif id(node) not in heights:
            stack.append((node, True))
            stack += [(arg, False) for arg in node.args if node.tree]
            if not node.tree:
                heights.update({id(arg): 0 for arg in node.args})
    return heights[id(end)]


def _matched(pattern: Node, node: Node, wild: list[Placeholder]) -> list[Node] | None:
    """The values in the places of a pattern's arguments, if a value is what it computes of them."""
    bound: dict[int, Node] = {}
    places = {id(one) for one in wild}
    stack = [(pattern, node)]
    while stack:
        ours, theirs = stack.pop()
        if ours.code != theirs.code or ours.shape != theirs.shape:
            return None
        if ours.kind == SYMBOL and id(ours.attr) in places:
            if not same_value(bound.setdefault(id(ours.attr), theirs), theirs):
                return None
        elif not same_value(ours, theirs):
            if not _same_operation(ours, theirs):
                return None
            stack += list(zip(ours.args, theirs.args, strict=True))
    return [bound[id(one)] for one in wild] if len(bound) == len(wild) else None


def same_value(one: Node, other: Node) -> bool:
    """Whether two nodes are one value as they stand: views are made anew by each look, and numbers by each use."""
    if one is other:
        return True
    if one.kind != other.kind or (one.code, one.shape) != (other.code, other.shape):
        return False
    if one.kind == VIEW:
        return one.args[0] is other.args[0] and (one.attr, one.strides) == (other.attr, other.strides)
    return one.kind == IOTA or (one.kind in (SCALAR, FILL) and repr(one.attr) == repr(other.attr))


def _same_operation(one: Node, other: Node) -> bool:
    """Whether two values of equal forms are computed in the same way of their arguments."""
    if one.kind != other.kind or len(one.args) != len(other.args) or not one.args:
        return False
    if one.kind == ROUTINE:
        first: Any = one.op_def
        second: Any = other.op_def
        same = first.op_def is second.op_def or (
            isinstance(first.op_def, Part)
            and isinstance(second.op_def, Part)
            and (first.op_def.name, first.op_def.number) == (second.op_def.name, second.op_def.number)
        )
        if type(first) is not type(second) or not same or first.options != second.options:
            return False
        return bool(getattr(first, "seen", None) == getattr(second, "seen", None))
    if one.kind == GATHER:
        return bool(one.attr == other.attr)
    if one.kind in (OP, REDUCE) and one.op_def is not other.op_def:
        return False
    return bool(one.attr == other.attr) and (one.kind not in (VIEW, UPDATE) or one.strides == other.strides)


__all__ = ["Pattern", "same_value"]
