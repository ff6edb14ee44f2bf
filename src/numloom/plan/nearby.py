"""Views of computed memory that begin near each other, as the planner may know: a plan key has that, but no offsets."""

from __future__ import annotations

from collections.abc import Sequence

from numloom.graph.layout import displacement
from numloom.graph.node import LEAF, VIEW, Node

PLACES = 4
"""Views of one memory that others are compared with, at most."""

Nearby = tuple[int, tuple[int, ...]]
"""Number of an earlier view, and how many steps along each of its own dimensions a view begins further."""


def nearby_views(nodes: Sequence[Node]) -> dict[int, Nearby]:
    """For views of computed memory that begin near an earlier one: that one, and where they begin from there.

    Compared are the first views of a memory that begin near none before.
    """
    found: dict[int, Nearby] = {}
    begins: dict[int, list[Node]] = {}
    for node in nodes:
        if node.kind != VIEW or node.args[0].kind != LEAF:
            continue
        known = begins.setdefault(node.args[0].number, [])
        for first in known:
            by = displacement(node.attr - first.attr, node.strides)
            if by is not None:
                found[node.number] = (first.number, by)
                break
        else:
            if len(known) < PLACES:
                known.append(node)
    return found


__all__ = ["PLACES", "Nearby", "nearby_views"]
