"""Random numbers in trees that are called again: which calls take new ones."""

from __future__ import annotations

from collections.abc import Sequence

from numloom.graph.node import OP, Node
from numloom.graph.tree import Placeholder, tree_nodes


def give_back(draws: Sequence[Placeholder]) -> None:
    """Have generators go back to before draws that were recorded alone, in turn: each call takes blocks of its own."""
    for one in reversed(draws):
        source, count = one.stream
        source.give_back(one.value.attr, count)  # type: ignore[union-attr]


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


__all__ = ["give_back", "refuse_lost_draws"]
