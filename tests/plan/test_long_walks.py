"""Walks of many nodes: what is dropped on the way changes no decision, and memory grows with the nodes alone."""

from __future__ import annotations

import random

import pytest
from tests.plan.test_plan import counts, leaf, op, reduce, sliced, written  # noqa: F401

from numloom.engine.walk import walk
from numloom.graph.node import Node
from numloom.plan import group
from numloom.plan.group import MAX_OPS, Choice, choose_stored

SIZE = 5000


def grown(rng: random.Random, count: int) -> list[Node]:
    """Random values, each of earlier ones: near ones mostly, through views, writes, reductions and what broadcasts."""
    values = [leaf(SIZE) for _ in range(3)]
    for _ in range(count):
        near, far = rng.choice(values[-6:]), rng.choice(values)
        kind = rng.randrange(12)
        if kind < 6:
            values.append(op(rng.choice(["add", "multiply", "maximum"]), near, far if kind < 3 else near))
        elif kind < 8:
            values.append(op("exp", near))
        elif kind == 8:
            values.append(op("add", near, reduce("sum", far, keepdims=True)))
        elif kind == 9:
            start = rng.randrange(0, 100)
            values.append(op("add", sliced(near, start, start + 1), far))
        elif kind == 10:
            start = rng.randrange(0, 100)
            values.append(written(near, sliced(far, start, start + 900), 0, 900))
        else:
            a, b = sorted(rng.sample(range(SIZE), 2))
            values.append(op("multiply", near, reduce("max", sliced(far, a, b), keepdims=True)))
    return values


@pytest.mark.parametrize("seed", range(40))
def test_what_is_dropped_changes_no_kernel(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    values = grown(rng, rng.choice([20, 80, 300]))
    found = walk(roots := [values[-1], *rng.sample(values[3:], 3)])
    numbers = sorted({root.number for root in roots})
    drafts = []
    for most in (0, 1 << 30):
        monkeypatch.setattr(group, "_LONG", most)
        drafts.append(group.group(choose_stored(found.nodes, numbers, short_rows=bool(seed % 2)), MAX_OPS))
    assert drafts[0] == drafts[1]


def test_memory_of_a_long_chain() -> None:
    """Bit sets of all nodes took the square of their number: 800 MB for 75,000 operations."""
    y = leaf(SIZE)
    for turn in range(6000):
        y = op("exp", y) if turn % 2 else op("negative", y)
    found = walk([y])
    choice: Choice = choose_stored(found.nodes, [y.number])
    bits = sum([number.bit_length() for number in choice.ops + choice.loads])
    assert bits < 100 * len(found.nodes)
