"""Trees as programs: recorded once as instructions, and replayed for other values of their symbols.

A program is a recorded trace of `numloom.graph.replay`: its operands are what the symbols stand for, its instructions
the nodes of the trees.
"""

from __future__ import annotations

from collections.abc import Sequence

from numloom.engine.waiting import Output, forget_results
from numloom.graph.node import FILL, GATHER, IOTA, ROUTINE, SCALAR, SYMBOL, VIEW, Node, form_of
from numloom.graph.replay import Chain, Link, replay
from numloom.graph.tree import Placeholder, tree_nodes


class Program:
    """Trees whose symbols are given at each run.

    Attributes
    ----------
    placeholders : list of Placeholder
        What the operands of a run stand for, in turn; the operands must be laid out as the symbols are.
    results : list of int
        Numbers of the trees' ends among operands and instructions.
    chain : Chain or None
        The instructions; None where there are none.
    several : bool
        Whether some of them are results of one routine.
    """

    def __init__(self, roots: Sequence[Node], inputs: Sequence[Node]) -> None:
        order = tree_nodes(roots)
        self.placeholders: list[Placeholder] = [node.attr for node in inputs]
        operands = list(inputs)
        numbers: dict[int, int] = {}
        places = {id(placeholder): place for place, placeholder in enumerate(self.placeholders)}
        for node in order:
            if node.kind == SYMBOL:
                place = places.setdefault(id(node.attr), len(operands))
                if place == len(operands):
                    operands.append(node)
                    self.placeholders.append(node.attr)
                numbers[id(node)] = place
        links: list[Link] = []

        def number(node: Node) -> int:
            found = numbers.get(id(node))
            if found is None:  # A value from outside of the tree.
                links.append(_constant(node))
                found = numbers[id(node)] = len(operands) + len(links) - 1
            return found

        for node in order:
            if node.kind != SYMBOL:
                links.append(_link(node, [number(arg) for arg in node.args]))
                numbers[id(node)] = len(operands) + len(links) - 1
        self.results = [number(root) for root in roots]
        self.several = any([isinstance(link.call, Output) for link in links])
        # A chain gives its last value, and all of them in the list that grows.
        self.chain = Chain(None, operands, links, None, tuple(self.results)) if links else None

    def run(self, operands: list[Node]) -> list[Node]:
        """Record the trees for operands; the list grows."""
        if self.chain is not None:
            try:
                replay(self.chain, operands)
            finally:
                if self.several:
                    forget_results()
        return [operands[number] for number in self.results]


def _constant(node: Node) -> Link:
    """The instruction for a value from outside of the tree: what is generated is generated anew."""
    if node.kind in (SCALAR, FILL, IOTA):
        return Link(form_of(node), (), node.attr)
    return Link(None, (), node)


def _link(node: Node, args: list[int]) -> Link:
    """The instruction that records a node."""
    kind = node.kind
    if kind == ROUTINE:
        return Link(None, args, None, node.row)
    if kind == VIEW:
        return Link(form_of(node), args, node.attr)
    if kind == GATHER:
        return Link(form_of(node), args, node.row)
    return Link(form_of(node), args)


__all__ = ["Program"]
