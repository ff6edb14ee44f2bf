"""From values to a plan key: one iterative pass over what is pending.

The key says everything that a plan may depend on: operations, dtypes, shapes, orders, who is held
by a live array. It says nothing of addresses, offsets of views over computed memory, or numbers,
which are bound when the plan runs.
"""

from __future__ import annotations

from typing import Any

from numloom.graph.node import FILL, IOTA, LEAF, OP, SCALAR, UPDATE, VIEW, Node


class Walk:
    """Nodes in the order of the walk (arguments first), and the plan key."""

    __slots__ = ("counts", "key", "nodes")

    nodes: list[Node]
    counts: list[int]
    key: tuple[Any, ...]

    def __init__(self) -> None:
        self.nodes = []
        self.counts = []
        self.key = ()


class Epoch:
    """Numbers walks, so that a node knows whether the walk under way has met it."""

    __slots__ = ("number",)

    number: int

    def __init__(self) -> None:
        self.number = 0


_epoch = Epoch()


def walk(roots: list[Node]) -> Walk:
    """Visit everything that the roots need and is not computed yet, and the leaves they read."""
    result = Walk()
    nodes = result.nodes
    counts = result.counts
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
                counts.append(0)
    for node in nodes:
        for arg in node.args:
            counts[arg.number] += 1
    result.key = make_key(result, len(roots))
    return result


def make_key(result: Walk, root_count: int) -> tuple[Any, ...]:
    """The structural key of a walk."""
    nodes = result.nodes
    counts = result.counts
    key: list[Any] = [root_count]
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    for node in nodes:
        kind = node.kind
        number = node.number
        # Held by a live array, or read by pending work outside of this walk.
        held = (1 if node.cells else 0) + (2 if node.readers > counts[number] else 0)
        if kind == OP:
            key.append(node.row.id * 4096 + node.code * 64 + held * 16 + OP)
        else:
            key.append(node.code * 64 + held * 16 + kind)
        for arg in node.args:
            key.append(arg.number)
        if node.shape is not shape:
            shape = node.shape
            key.append(shape)
        if node.strides is not strides:
            strides = node.strides
            key.append(strides)
        if kind == OP or kind == SCALAR or kind == FILL or kind == IOTA:
            continue
        if kind == LEAF:
            key.append(node.buffer.ptr & 15)
        elif kind == VIEW:
            if node.args[0].buffer is not None:
                key.append(node.attr & 15)
            else:
                key.append(node.attr)
        elif kind == UPDATE:
            key.append(node.attr)
        else:
            key.append(node.row.id if node.row is not None else -1)
            key.append(node.attr)
    return tuple(key)
