"""Random numbers in trees that are called again: which calls take new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numloom.array.ndarray import node_of, wrap
from numloom.graph.node import OP, SYMBOL, Node
from numloom.graph.tree import Placeholder, rebuilt, recording, tree_nodes


def give_back(draws: Sequence[Placeholder]) -> None:
    """Have generators go back to before draws that were recorded alone, in turn: each call takes blocks of its own."""
    for one in reversed(draws):
        source, count = one.stream
        source.give_back(one.value.attr, count)  # type: ignore[union-attr]


class DrawsOfSteps:
    """Random numbers that each step of a loop draws: blocks for all steps are taken before the first one.

    So a loop takes the blocks that its steps would, one after the other.

    Parameters
    ----------
    first, steps : int
        The number of the first step, and how many there are.
    """

    def __init__(self, first: int, steps: int) -> None:
        self.first = first
        self.steps = steps
        self._taken: dict[int, tuple[Any, int, Node, Node]] | None = None

    def placed(self, roots: Sequence[Node], draws: Sequence[Placeholder], number: Node, what: str) -> list[Node]:
        """Trees of a step that take the step's blocks, of those that were recorded for one step alone."""
        totals: dict[int, int] = {}
        offsets: dict[int, int] = {}
        sources: dict[int, Any] = {}
        for one in draws:
            source, count = one.stream
            sources[id(source)] = source
            offsets[id(one)] = totals.get(id(source), 0)
            totals[id(source)] = offsets[id(one)] + count
        give_back(draws)
        if self._taken is None:
            self._taken = {
                key: (source, totals[key], *source.take(self.steps * totals[key])) for key, source in sources.items()
            }
        if {key: total for key, (_, total, _, _) in self._taken.items()} != totals:
            raise TypeError(
                f"the body of a {what} draws other random numbers where its state lies in memory in another order: "
                "draw them before the loop, for all steps, and take each step's by its number"
            )
        if not draws:
            return list(roots)
        known: dict[Node, Node] = {}
        with recording():
            step = (wrap(number) - self.first).astype("uint64")
            for node in tree_nodes(roots):
                if node.kind != SYMBOL or node.attr.stream is None or id(node.attr.stream[0]) not in self._taken:
                    continue
                _, total, start, key = self._taken[id(node.attr.stream[0])]
                if id(node.attr) in offsets:
                    known[node] = node_of(wrap(start) + (step * total + offsets[id(node.attr)]))
                elif node.attr.stream[1] < 0 and key.kind != SYMBOL:
                    known[node] = key  # Of a generator that is set in the function around.
            return rebuilt(roots, known)


def refuse_lost_draws(roots: Sequence[Node], name: str) -> None:
    """Refuse trees that read numbers drawn outside of a tree, which nothing but the trees has.

    Each call would have the same ones, though the expression reads as if it drew them.

    Raises
    ------
    TypeError
        If there are some. An array that somebody holds is a constant, as all arrays that trees read.
    """
    stack = [arg for node in [*tree_nodes(roots)] for arg in node.args if not arg.tree]
    stack += [root for root in roots if not root.tree]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen or node.storages:
            continue
        seen.add(id(node))
        stack += node.args
        if node.kind == OP and node.op_def.name.startswith("random_"):
            raise TypeError(
                f"{name} depends on random numbers that were drawn as part of an expression, but outside of a tree, so "
                "each call would have the same ones: write the expression within `with nl.symbolic():`, or give a "
                "Python function instead of it, for new numbers in each call; or name the numbers "
                "(noise = rng.normal(size=3)) and keep that array, to have those in all calls"
            )


__all__ = ["DrawsOfSteps", "give_back", "refuse_lost_draws"]
