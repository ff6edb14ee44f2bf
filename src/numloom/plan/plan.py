"""A plan: the steps that compute some values, as plain data over node numbers of one walk.

Planning is a handful of passes, each linear in the nodes and none recursive:

0. `rewrites.rewritten`: values that are equal to the bit become one.
1. `group.choose_stored`: which values are written to memory (rules there).
2. `group.group`: stored values become kernels; later ones join earlier ones where they may.
3. `lower.lower`: each kernel becomes a `Program` with operands bound to node numbers.

A plan holds no nodes and no addresses, so it serves every later walk with the same key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numloom.graph.node import Node
from numloom.plan.group import MAX_OUTPUTS, Draft, choose_stored, group
from numloom.plan.lower import lower
from numloom.plan.nearby import Nearby
from numloom.plan.nested_refused import refused
from numloom.plan.rewrites import rewritten
from numloom.plan.step import Plan, Step

SHARED = tuple([MAX_OUTPUTS << doublings for doublings in range(6, -1, -1)])
"""Values of a kernel that are tried in turn, until no kernel has more outputs than it may."""


def make_plan(
    nodes: Sequence[Node],
    roots: Sequence[int],
    short_rows: bool = False,
    nearby: Mapping[int, Nearby] | None = None,
    cluster: int = 1,
) -> Plan:
    """Plan the values numbered `roots` of a walk (`nodes` in order).

    `short_rows` is for a device with many threads, `cluster` for one whose blocks share their memory, so many at most.

    `nearby` is what `nearby_views` says of the walk, for nodes that do not know where views begin.
    """
    nodes = rewritten(nodes, roots)
    tables: set[int] = set()
    while True:
        choice = choose_stored(nodes, roots, short_rows, nearby, tables, cluster)
        # Nobody knows yet which values of a kernel are read by others: mostly few are.
        for most in SHARED:
            drafts = group(choice, most)
            wrong = refused(choice, drafts) if choice.nested else None
            if wrong:
                break
            lowered = [lower(choice, draft) for draft in drafts]
            outputs = outputs_of(drafts, lowered, nodes, roots)
            if all([len(numbers) <= MAX_OUTPUTS for numbers in outputs]):
                break
        if not wrong:
            break
        tables |= wrong
    steps = [step for each, numbers in zip(lowered, outputs, strict=True) for step in each.steps(numbers)]
    return finish(steps, nodes, roots)


def outputs_of(
    drafts: Sequence[Draft], lowered: Sequence[Any], nodes: Sequence[Node], roots: Sequence[int]
) -> list[list[int]]:
    """Return of each kernel the values that are stored: others read them, or arrays hold them."""
    loaded: set[int] = set(roots)
    for each in lowered:
        loaded.update(each.loaded)
    return [[n for n in draft.members if n in loaded or nodes[n].storages or draft.updates] for draft in drafts]


def finish(steps: list[Step], nodes: Sequence[Node], roots: Sequence[int]) -> Plan:
    """Say after which step each value is needed no more, and which are not needed at all."""
    last: dict[int, int] = {}
    for index, step in enumerate(steps):
        for number in step.numbers():
            last[number] = index
    releases: list[list[int]] = [[] for _ in steps]
    for number, index in last.items():
        releases[index].append(number)
    for step, numbers in zip(steps, releases, strict=True):
        step.release = tuple(numbers)
    drop = tuple(number for number in range(len(nodes)) if number not in last)
    return Plan(tuple(steps), drop)


__all__ = ["Any", "Draft", "Plan", "make_plan"]
