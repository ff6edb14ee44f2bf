"""Loops of known length (`fori_loop`, `scan`) as the steps that they take, which gradients go back through."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from numloom.api.joining import stack
from numloom.array.ndarray import node_of
from numloom.base.dtypes import I64
from numloom.compiled.gradient_rules import NoGradientError
from numloom.compiled.gradient_values import array_of
from numloom.graph.build import copied, full, view
from numloom.graph.node import FILL, GATHER, ROUTINE, SCALAR, VIEW, Node
from numloom.graph.tree import rebuilt, recording, tree_nodes


def is_loop(node: Node) -> bool:
    """Whether a value is a loop's packed results."""
    if node.kind != ROUTINE:
        return False
    row: Any = node.op_def
    return bool(row.op_def.name == "loop")


def without_loops(roots: Sequence[Node], only: Container[int] | None = None) -> list[Node]:
    """The same trees with steps in the place of loops: all of them, or those of these rows (by their identities).

    Raises
    ------
    NoGradientError
        If the number of steps follows from values.
    """
    nodes = list(roots)
    while True:
        order = tree_nodes(nodes)
        loop = next((node for node in order if is_loop(node) and (only is None or id(node.op_def) in only)), None)
        if loop is None:
            return nodes
        results = _steps(loop)
        known = {
            node: _seen(node, results) for node in order if node.kind == VIEW and node.args and node.args[0] is loop
        }
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
    state = list(node.args[: loop.states])
    collected: list[list[Node]] = []
    for step in range(loop.steps):
        body = loop.body(step)
        with recording():
            given = [full(loop.first + step, I64, ()), *state, *loop.around(body, node.args)]
            found = rebuilt(body.roots, dict(zip(body.likes, given, strict=True)), _element)
        state = found[: loop.states]
        with recording():
            others = zip(body.forms[loop.states :], found[loop.states :], strict=True)
            collected.append([node_of(form.whole(array_of(one))) for form, one in others])
    with recording():
        columns = [node_of(stack([array_of(one) for one in column])) for column in zip(*collected, strict=True)]
        return {
            offset: copied(result, strides, code)
            for (offset, code, _, strides), result in zip(loop.layout, state + columns, strict=True)
        }


def _element(node: Node) -> Node | None:
    """What is read at numbers that are known by now, as a part of the array, which gradients flow into at once."""
    numbers = node.args[1:]
    if node.kind != GATHER or any([one.shape or one.kind not in (FILL, SCALAR) for one in numbers]):
        return None
    array = array_of(node.args[0])
    index: list[Any] = [slice(None)] * array.ndim
    for axis, number in zip(node.attr[0], numbers, strict=True):
        index[axis] = int(number.attr)
        if not -array.shape[axis] <= index[axis] < array.shape[axis]:
            return None
    return copied(node_of(array[tuple(index)]), node.strides, node.code)


def _seen(node: Node, results: dict[int, Node]) -> Node:
    """What a view of a loop's bytes sees, of the result that lies there."""
    offset = max(at for at in results if at <= node.attr)
    result = results[offset]
    if (node.attr, node.code, node.shape, node.strides) == (offset, result.code, result.shape, result.strides):
        return result
    with recording():
        return view(result, node.code, node.attr - offset, node.shape, node.strides)


__all__ = ["is_loop", "without_loops"]
