"""Gradients of decisions: what flows back through the value that was not taken ends where only that value leads.

`ifelse`, and `where` of a condition without axes, take one of two values. What flows back to each of them goes on as
it is, and is replaced by 0 where it reaches what others read as well: zeros on the way would become NaN where a
derivative is infinite (``0 * inf``).
"""

from __future__ import annotations

from collections.abc import Sequence

from numloom.compiled.gradient_values import Array, array_of, named
from numloom.graph.node import OP, Node
from numloom.ops.elementwise import ELEMENTWISE

_WHERE = ELEMENTWISE["where"]


class Branch:
    """A value of a decision, within the branches of other decisions.

    Attributes
    ----------
    around : Branch or None
        The branch in which the decision is.
    condition : Node
        What is decided by.
    then : bool
        Whether this is the value that is taken if it holds.
    depth : int
        How many decisions it is within.
    """

    __slots__ = ("around", "condition", "depth", "then")

    def __init__(self, around: Branch | None, condition: Node, then: bool) -> None:
        self.around = around
        self.condition = condition
        self.then = then
        self.depth: int = 1 if around is None else around.depth + 1


class Flows:
    """What flows back to the values of a tree, and from which branches it comes."""

    def __init__(self) -> None:
        self._flows: dict[int, tuple[Branch | None, Array]] = {}
        self._branches: dict[tuple[int, int, bool], Branch] = {}

    def __contains__(self, node: Node) -> bool:
        return id(node) in self._flows

    def add(self, node: Node, branch: Branch | None, part: Array) -> None:
        """Have something more flow to a value."""
        known = self._flows.get(id(node))
        if known is not None:
            before, total = known
            shared = _shared(before, branch)
            part = _taken(total, before, shared) + _taken(part, branch, shared)
            branch = shared
        self._flows[id(node)] = branch, part

    def pop(self, node: Node) -> tuple[Branch | None, Array]:
        """What flows to a value, and the branch to which all of it belongs."""
        return self._flows.pop(id(node))

    def joined(self, nodes: Sequence[Node]) -> tuple[Branch | None, list[Array]]:
        """What flows to some values, and the branch to which all of it belongs."""
        found = [self.pop(node) for node in nodes]
        shared = found[0][0]
        for branch, _ in found[1:]:
            shared = _shared(shared, branch)
        return shared, [_taken(part, branch, shared) for branch, part in found]

    def end(self, node: Node) -> Array | None:
        """What flows to a value outside of all branches."""
        known = self._flows.get(id(node))
        return None if known is None else _taken(known[1], known[0], None)

    def branches(self, node: Node, args: tuple[Node, ...], around: Branch | None) -> list[Branch | None]:
        """The branches to which the arguments of a value belong, as far as it reads them."""
        if not is_decision(node, args):
            return [around for _ in args]
        found = []
        for then in (True, False):
            key = (id(around), id(args[0]), then)
            if key not in self._branches:
                self._branches[key] = Branch(around, args[0], then)
            found.append(self._branches[key])
        return [around, *found]


def is_decision(node: Node, args: tuple[Node, ...]) -> bool:
    """Whether a value is one of two others, by one truth value."""
    return node.kind == OP and node.op_def is _WHERE and args[0].shape == ()


def _shared(one: Branch | None, other: Branch | None) -> Branch | None:
    """The innermost branch that both are within."""
    while one is not other:
        if other is None or (one is not None and one.depth >= other.depth):
            assert one is not None
            one = one.around
        else:
            other = other.around
    return one


def _taken(part: Array, branch: Branch | None, outside: Branch | None) -> Array:
    """What flows out of branches: nothing if their values were not taken."""
    while branch is not outside:
        assert branch is not None
        condition = array_of(branch.condition)
        part = named("where", condition, part, 0) if branch.then else named("where", condition, 0, part)
        branch = branch.around
    return part


__all__ = ["Branch", "Flows", "is_decision"]
