"""From values to a plan key: one iterative pass over what is pending.

The key says everything that a plan may depend on: operations, dtypes, shapes, orders, who is held
by a live array. It says nothing of addresses, offsets of views over computed memory, or numbers,
which are bound when the plan runs.
"""

from __future__ import annotations

from typing import Any

from numloom.graph.node import FILL, LEAF, OP, UPDATE, VIEW, Node, register


class Walk:
    """Nodes in the order of the walk (arguments first), and the plan key: two 64-bit hashes."""

    __slots__ = ("first", "nodes", "second")

    nodes: list[Node]
    first: int
    second: int


class Epoch:
    """Numbers walks, so that a node knows whether the walk under way has met it."""

    __slots__ = ("number",)

    number: int

    def __init__(self) -> None:
        self.number = 0


_epoch = Epoch()
_numbers: dict[Any, int] = {}
_MASK = 0xFFFFFFFFFFFFFFFF
_P1 = 0x9E3779B97F4A7C15
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x100000001B3
_P4 = 0x9FB21C651E98DF25


def pending_roots(wanted: Any) -> list[Node]:
    """What an observation of `wanted` runs: every pending value of a live array, in record order.

    Generated values (filled arrays, counters) that nobody asked for wait: they keep nothing alive.
    """
    r = register
    r.recorded = 0
    r.orphan_bytes = 0
    roots: list[Node] = []
    generated = False
    for node in r.live:
        if node.kind >= VIEW:
            roots.append(node)
    for node in wanted:
        if node.buffer is None and (node.cells == 0 or node.kind < VIEW):
            generated = True
            roots.append(node)
    return roots if not generated else list(dict.fromkeys(roots))


def walk(roots: list[Node]) -> Walk:
    """Visit everything that the roots need and is not computed yet, and the leaves they read."""
    result = Walk.__new__(Walk)
    nodes: list[Node] = []
    result.nodes = nodes
    _epoch.number += 1
    epoch = _epoch.number
    stack: list[Node] = []
    positions: list[int] = []
    for root in roots:
        if root.mark == epoch:
            continue
        root.mark = epoch
        root.number = -1
        stack.append(root)
        positions.append(0)
        while stack:
            node = stack[-1]
            position = positions[-1]
            args = node.args
            if position < len(args):
                positions[-1] = position + 1
                arg = args[position]
                if arg.mark != epoch:
                    arg.mark = epoch
                    arg.number = -1
                    stack.append(arg)
                    positions.append(0)
            else:
                stack.pop()
                positions.pop()
                node.number = len(nodes)
                nodes.append(node)
                node.seen = 0
    for node in nodes:
        for arg in node.args:
            arg.seen += 1
    make_key(result, len(roots))
    return result


def make_key(result: Walk, root_count: int) -> None:
    """Set the structural key of a walk: two independent 64-bit hashes of everything a plan may depend on."""
    nodes = result.nodes
    first = (_P1 + root_count) & _MASK
    second = (_P2 + root_count) & _MASK
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    updates = False
    for node in nodes:
        if node.kind == UPDATE:
            updates = True
    for node in nodes:
        kind = node.kind
        # Held by a live array, or read by pending work outside of this walk.
        word = node.code * 16 + kind
        if node.cells:
            word += 1024
        if node.readers > node.seen:
            word += 2048
        if kind == OP:
            number = node.row.id
            word += number * 4096
        for arg in node.args:
            word = (word * 65599 + arg.number + 1) & _MASK
        if node.shape is not shape:
            shape = node.shape
            word = (word * 69069 + number_of(shape)) & _MASK
        if node.strides is not strides:
            strides = node.strides
            word = (word * 69061 + number_of(strides)) & _MASK
        if kind == LEAF:
            number = node.buffer.ptr
            word += (number & 15) << 40
        elif kind == VIEW:
            base = node.args[0]
            if base.buffer is None or updates:
                number = node.attr
                word = (word * 69073 + number + 1) & _MASK
            else:
                number = node.attr
                word += (number & 15) << 40
        elif kind == FILL:
            if node.attr is None:
                word += 17592186044416
        elif kind > VIEW and kind != OP:
            word = (word * 69073 + number_of((node.attr, None if node.row is None else node.row.name))) & _MASK
        first = ((first ^ word) * _P3) & _MASK
        first = first ^ (first >> 29)
        second = ((second + word) * _P4) & _MASK
        second = second ^ (second >> 32)
    result.first = first
    result.second = second


def number_of(thing: Any) -> int:
    """A number of its own for each different shape, strides or attribute met so far."""
    number = _numbers.get(thing)
    if number is None:
        number = _numbers[thing] = len(_numbers) + 1
    return number
