"""Loops of known length (`fori_loop`, `scan`) as the steps that they take, which gradients go back through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numloom.api.joining import stack
from numloom.array.ndarray import node_of
from numloom.base.dtypes import I64
from numloom.compiled.gradient_rules import NoGradientError
from numloom.compiled.gradient_values import array_of
from numloom.graph.build import full
from numloom.graph.node import ROUTINE, VIEW, Node
from numloom.graph.tree import rebuilt, recording, substitute, tree_nodes


def is_loop(node: Node) -> bool:
    """Whether a value is a loop's packed results."""
    if node.kind != ROUTINE:
        return False
    row: Any = node.op_def
    return bool(row.op_def.name == "loop")


def without_loops(roots: Sequence[Node]) -> list[Node]:
    """The same trees with steps in the place of loops.

    Raises
    ------
    NoGradientError
        If the number of steps follows from values.
    """
    nodes = list(roots)
    while True:
        order = tree_nodes(nodes)
        loop = next((node for node in order if is_loop(node)), None)
        if loop is None:
            return nodes
        results = _steps(loop)
        known = {node: results[node.attr] for node in order if node.kind == VIEW and node.args and node.args[0] is loop}
        if not known:
            return nodes
        with recording():
            nodes = rebuilt(nodes, known)


def _steps(node: Node) -> dict[int, Node]:
    """A loop's results by where they lie, of steps recorded one after the other."""
    loop: Any = node.op_def
    if loop.condition is not None:
        raise NoGradientError(
            "while_loop has no gradient, since its number of steps follows from values: use fori_loop or scan, and "
            "nl.where for what goes on"
        )
    count = len(loop.body.invariant)
    state = list(node.args[: loop.states])
    around = list(node.args[loop.states : loop.states + count])
    collected: list[list[Node]] = []
    for number in range(loop.first, loop.first + loop.steps):
        with recording():
            given = [full(number, I64, ()), *state, *around]
        found = substitute(loop.body.roots, dict(zip(loop.body.likes, given, strict=True)))
        state = found[: loop.states]
        collected.append(found[loop.states :])
    with recording():
        columns = [node_of(stack([array_of(one) for one in column])) for column in zip(*collected, strict=True)]
    results = state + columns
    return {offset: result for (offset, _, _), result in zip(loop.layout, results, strict=True)}


__all__ = ["is_loop", "without_loops"]
