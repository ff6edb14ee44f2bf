"""Rows that are stored as a table after all: no kernel can have them as a nested reduction (`plan.nested`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from numloom.graph.node import REDUCE
from numloom.plan.group import Choice, Draft
from numloom.plan.nested import REUSED, elements
from numloom.plan.sizes import of_sizes

LANES = 32
"""Threads that may share a row of results."""
THREADS = 1 << 15
"""Threads from which on a device is busy enough."""


def refused(choice: Choice, drafts: Sequence[Draft]) -> set[int]:
    """Nested reductions that no kernel can have, now that it is known what the kernels do."""
    wrong: set[int] = set()
    kernel: dict[int, int] = {}
    bits = sum(1 << number for number in choice.nested)
    for draft in drafts:
        inside = {number: choice.ops[number] & bits for number in draft.members if choice.ops[number] & bits}
        if not inside:
            continue
        own = {n for n in choice.nested if any(ops >> n & 1 for ops in inside.values())}
        reduces = all(choice.nodes[number].kind == REDUCE for number in inside)
        stores = any(choice.full[number] for number in draft.members)
        if not reduces or stores or draft.rows or draft.updates or not _is_busy(draft):
            wrong |= own
        wrong |= {n for n in own if kernel.setdefault(n, draft.index) != draft.index or _streams(choice, n)}
    return wrong


def _streams(choice: Choice, number: int) -> bool:
    """Whether rows are read from memory after all, since what they are computed from is stored as large as they are."""
    least = choice.nodes[number].args[0].size // REUSED
    return any(choice.loads[number] >> n & 1 and elements(node) > least for n, node in enumerate(choice.nodes))


def _is_busy(draft: Draft) -> bool:
    """Whether a kernel has threads enough, or so little to do that it does not matter."""
    assert draft.axes is not None
    (axis,) = draft.axes
    count = draft.space[axis]
    outputs = prod([extent for d, extent in enumerate(draft.space) if d != axis])
    return not draft.fast or threads_of(outputs, count) >= min(THREADS, outputs * count // LANES)


@of_sizes
def threads_of(outputs: int, count: int) -> int:
    """Threads that can share so many rows of so many results."""
    return outputs * max(1, min(LANES, count // 4)) * max(1, count >> 14)


__all__ = ["refused"]
