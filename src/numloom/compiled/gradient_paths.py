"""The ways on which gradients flow back through trees: which values lead from others to an end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from numloom.compiled.custom_gradients import is_with_rule
from numloom.compiled.gradient_loops import is_loop
from numloom.compiled.gradient_memory import of_view
from numloom.compiled.gradient_values import Array, is_smooth
from numloom.graph.build import view
from numloom.graph.node import FILL, IOTA, OP, REDUCE, SCALAR, VIEW, Node
from numloom.graph.tree import recording, tree_nodes


def sees_loop(node: Node) -> bool:
    """Whether a value is a view of a loop's packed results."""
    return node.kind == VIEW and bool(node.args) and is_loop(node.args[0])


@dataclass(frozen=True)
class _Seen:
    """A view of a loop's bytes, as one of the result that lies there."""

    code: int
    attr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int


class Results:
    """Results of the loops of a tree, each as one value, however many views of a loop's bytes see it.

    Parameters
    ----------
    targets : sequence of Node
        Values which are what the tree has for results, if they are such.
    """

    def __init__(self, targets: Sequence[Node] = ()) -> None:
        self._known: dict[tuple[int, int], Node] = {}
        for node in targets:
            if sees_loop(node) and self._is_whole(node):
                self._known.setdefault((id(node.args[0]), _place(node)), node)

    def whole(self, node: Node) -> Node:
        """The result of which a view of a loop sees something."""
        return self.of(node.args[0], _place(node))

    def of(self, loop: Node, place: int) -> Node:
        """The result of this number."""
        key = (id(loop), place)
        if key not in self._known:
            row: Any = loop.op_def
            offset, code, shape, strides = row.layout[place]
            with recording():
                self._known[key] = view(loop, code, offset, shape, strides)
        return self._known[key]

    def same(self, node: Node) -> Node:
        """The value, or the result that it is all of."""
        return self.whole(node) if sees_loop(node) and self._is_whole(node) else node

    def flow(self, g: Array, node: Node) -> Array | None:
        """What flows back to a result of which a view sees something."""
        whole = self.whole(node)
        if not is_smooth(whole.code):
            return None
        if self._is_whole(node):
            return g
        seen: Any = _Seen(node.code, node.attr - whole.attr, node.shape, node.strides, node.size)
        return of_view(g, seen, whole)

    @staticmethod
    def _is_whole(node: Node) -> bool:
        row: Any = node.args[0].op_def
        offset, code, shape, strides = row.layout[_place(node)]
        return bool((node.attr, node.code, node.shape, node.strides) == (offset, code, shape, strides))


def _place(node: Node) -> int:
    """The number of the result that a view of a loop's bytes sees."""
    row: Any = node.args[0].op_def
    found = 0
    for place, (offset, _, shape, _) in enumerate(row.layout):
        # Those without elements take no room.
        if offset <= node.attr and (prod(shape) or not node.size):
            found = place
    return found


def outside(row: Any) -> list[Node]:
    """Floats from outside of trees that a loop's bodies read, also within loops in them."""
    found: dict[int, Node] = {}
    for body in row.bodies:
        for node in tree_nodes(body.roots):
            read = [arg for arg in node.args if not arg.tree]
            for one in [*read, *(outside(node.op_def) if is_loop(node) else [])]:
                if one.kind not in (SCALAR, FILL, IOTA) and (is_smooth(one.code) or one.kind == VIEW):
                    found[id(one)] = one
    return list(found.values())


def operands(node: Node, results: Results) -> tuple[Node, ...]:
    """What a gradient flows back to.

    Of a view of a loop its result, of a loop also what its bodies read from outside of trees, of a user's reduction
    with a rule the inputs of the kernel, of a function with a rule its arguments.
    """
    if sees_loop(node):
        whole = results.whole(node)
        return node.args if whole is node else (whole,)
    if is_loop(node):
        return (*node.args, *outside(node.op_def))
    if is_with_rule(node):
        return node.args[1:]
    if node.kind == REDUCE and node.op_def.of_inputs is not None and node.args[0].kind == OP:
        return node.args[0].args
    return node.args


def ordered(roots: Sequence[Node], ends: Mapping[int, Any], results: Results) -> list[tuple[Node, tuple[Node, ...]]]:
    """Values of floats that lead to `roots`, arguments first, with their arguments, which may be let go meanwhile."""
    seen: set[int] = set()
    order: list[tuple[Node, tuple[Node, ...]]] = []
    for root in roots:
        stack: list[tuple[Node, tuple[Node, ...] | None]] = [(root, None)]
        while stack:
            node, args = stack.pop()
            if args is not None:
                order.append((node, args))
            elif id(node) not in seen and (
                is_smooth(node.code) or id(node) in ends or node.kind == VIEW or is_loop(node)
            ):
                seen.add(id(node))
                known = () if id(node) in ends else operands(node, results)
                stack.append((node, known))
                stack.extend([(arg, None) for arg in known])
    return order


def leading(order: Sequence[tuple[Node, tuple[Node, ...]]], ends: Mapping[int, Any]) -> set[int]:
    """Those that are computed from the ends, by their identities."""
    leads: set[int] = set(ends)
    for node, args in order:
        if any([id(arg) in leads for arg in args]):
            leads.add(id(node))
    return leads


__all__ = ["Results", "leading", "operands", "ordered", "outside", "sees_loop"]
