"""Recording again what was recorded for an operand of the same form: the nodes are copied, nothing is decided anew.

What a reduction becomes (which casts, over which axes, of which dtype and order) follows from the dtype, shape and
order of its operand and from its arguments. So the chain of nodes that was recorded the first time says all.
"""

from __future__ import annotations

from typing import Any

from numloom.graph.node import LEAF, VIEW, Form, Node, formed1

_KEPT = 1024


class Chain:
    """What one call recorded, for one form of its operand and its arguments.

    Attributes
    ----------
    code, shape, strides, seen
        The operand's dtype code, shape and order, and whether it was a view.
    axis, keepdims
        The call's other arguments.
    links : list of Form
        What follows the operand.
    """

    __slots__ = ("axis", "code", "keepdims", "links", "seen", "shape", "strides")

    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    seen: bool
    axis: Any
    keepdims: bool
    links: list[Form]

    def __init__(self, operand: Node, axis: Any, keepdims: bool, links: list[Form]) -> None:
        self.code = operand.code
        self.shape = operand.shape
        self.strides = operand.strides
        self.seen = operand.kind == VIEW
        self.axis = axis
        self.keepdims = keepdims
        self.links = links


class Chains:
    """The chains of one function.

    Attributes
    ----------
    known : dict
        Chains by their form.
    last : Chain or None
        The one used last.
    """

    __slots__ = ("known", "last")

    known: dict[Any, Chain]
    last: Chain | None

    def __init__(self) -> None:
        self.known = {}
        self.last = None


def replay(chains: Chains, operand: Node, axis: Any, keepdims: bool) -> Node | None:
    """What a call with these arguments (an `axis` of integers) records for `operand`; None where it is not known."""
    if LEAF < operand.kind < VIEW:  # Of numbers known on the host other things may be recorded.
        return None
    seen = operand.kind == VIEW
    chain = chains.last
    if (
        chain is None
        or chain.axis is not axis
        or chain.shape is not operand.shape
        or chain.strides is not operand.strides
        or chain.code != operand.code
        or chain.seen != seen
        or chain.keepdims != keepdims
    ):
        chain = chains.known.get((operand.code, operand.shape, operand.strides, seen, axis, keepdims))
        if chain is None:
            return None
        chains.last = chain
    node = operand
    for link in chain.links:
        node = formed1(link, node)
    return node


def learn(chains: Chains, operand: Node, axis: Any, keepdims: bool, result: Node) -> None:
    """Keep how `result` was recorded, if it is a chain from `operand` on."""
    links: list[Form] = []
    node = result
    while node is not operand and not _same_view(node, operand):
        if node.kind <= VIEW or len(node.args) != 1:
            return
        links.append(Form(node) if node.form is None else node.form)
        node = node.args[0]
    if links and not LEAF < operand.kind < VIEW:
        if len(chains.known) >= _KEPT:
            chains.known.clear()
        links.reverse()
        seen = operand.kind == VIEW
        key = operand.code, operand.shape, operand.strides, seen, axis, keepdims
        chains.known[key] = Chain(operand, axis, keepdims, links)


def _same_view(a: Node, b: Node) -> bool:
    """Whether two nodes are the same view: an array gives a new one at each look."""
    if a.kind != VIEW or b.kind != VIEW or a.args[0] is not b.args[0]:
        return False
    return (a.attr, a.code, a.shape, a.strides) == (b.attr, b.code, b.shape, b.strides)


__all__ = ["Chains", "learn", "replay"]
