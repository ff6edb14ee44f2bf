"""Reductions inside reductions: which rows are reduced where their result is read, so that no table is written.

In ``((x[:, None] - c[None]) ** 2).sum(-1).argmin(1)`` the inner sum is of a row for each pair of a point and a centre.
On a GPU it is a nested reduction of the kernel that looks for the smallest (`Program.nested`), where

- its rows have `SHORT` to `LONGEST` elements along one axis and are read again and again: what they are computed from
  is far smaller than all rows together, so that it comes from registers and caches;
- nothing but elementwise work of its own size leads from it to reductions along one axis, and nobody else needs it or
  what lies between;
- all of these reductions are in one kernel, which does nothing else with its elements, and has threads enough
  (`plan.nested_refused`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from numloom.base.dtypes import KINDS
from numloom.graph.node import CAST, FILL, GATHER, LEAF, OP, REDUCE, SCALAR, UPDATE, VIEW, Node

SHORT = 4
"""Longest rows that are written out as operations."""
LONGEST = 64
"""Longest rows that are reduced in a nested reduction."""
REUSED = 8
"""How many times each element that rows are computed from is read at least."""
MOST = 64
"""Most values between a row's elements and memory, and between its result and a reduction."""


def nested_rows(
    nodes: Sequence[Node], roots: Sequence[int], users: Sequence[Sequence[int]], tables: Collection[int]
) -> frozenset[int]:
    """Reductions that may be nested reductions of the reductions that read them, but for `tables`."""
    wanted = {*roots, *tables}
    found: set[int] = set()
    for node in nodes:
        if (
            node.kind == REDUCE
            and node.number not in wanted
            and not node.storages
            and _fits(node)
            and _is_reused(node, found)
            and _only_reduced(node, nodes, wanted, users)
        ):
            found.add(node.number)
    return frozenset(found)


def _fits(node: Node) -> bool:
    """Whether rows have a length and a reduction for which a thread takes them alone."""
    source, axes, op_def = node.args[0], node.attr[0], node.op_def
    return (
        len(axes) == 1
        and SHORT < source.shape[axes[0]] <= LONGEST
        and node.size > 0
        and op_def.commutative
        and not op_def.run
        and not op_def.better
        and not (op_def.name == "prod" and KINDS[source.code] == "c")
    )


def _is_reused(node: Node, found: set[int]) -> bool:
    """Whether rows are computed, by operations alone, from far less memory than they would take."""
    least = node.args[0].size // REUSED
    stack = [node.args[0]]
    seen = {stack[0].number}
    while stack and len(seen) <= MOST:
        value = stack.pop()
        args: Sequence[Node] = ()
        if not _in_memory(value.args[0] if value.kind == VIEW else value) and value.kind in (OP, CAST, VIEW):
            args = value.args
        elif value.kind not in (SCALAR, FILL):
            if value.kind == VIEW:
                inside = value.args[0].number in found
            else:
                inside = value.number in found or not _in_memory(value)
            if inside or elements(value) > least:
                return False
        for arg in args:
            if arg.number not in seen:
                seen.add(arg.number)
                stack.append(arg)
    return not stack


def elements(value: Node) -> int:
    """Different elements of what is read."""
    return prod([extent for extent, stride in zip(value.shape, value.strides, strict=True) if stride])


def _in_memory(value: Node) -> bool:
    """Whether a value is read from memory."""
    return value.kind in (LEAF, UPDATE, REDUCE) or (bool(value.storages) and value.kind in (OP, CAST, GATHER))


def _only_reduced(node: Node, nodes: Sequence[Node], roots: set[int], users: Sequence[Sequence[int]]) -> bool:
    """Whether elementwise work on a result leads to reductions along one axis, and to nothing else."""
    seen = {node.number}
    stack = [node.number]
    while stack and len(seen) <= MOST:
        number = stack.pop()
        if not users[number]:
            return False
        for reader in users[number]:
            user = nodes[reader]
            if user.kind == REDUCE:
                if len(user.attr[0]) != 1 or user.args[0].size != node.size or not user.op_def.commutative:
                    return False
            elif user.kind not in (OP, CAST, VIEW) or user.storages or reader in roots or user.size > node.size:
                return False
            elif reader not in seen:
                seen.add(reader)
                stack.append(reader)
    return not stack


__all__ = ["REUSED", "SHORT", "elements", "nested_rows"]
