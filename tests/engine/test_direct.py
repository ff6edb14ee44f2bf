"""The short way of single operations to their launch leads to the plan that a walk finds."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import numloom as nl
from compilers import needed
from numloom.device import registry
from numloom.engine.direct import clear_direct, find_direct
from numloom.engine.state import counters
from numloom.engine.walk import walk
from numloom.graph.node import Node

WORK: dict[str, Any] = {
    "x + y": lambda x, y: x + y,
    "x + x": lambda x, y: x + x,
    "y + x": lambda x, y: y + x,
    "x - y": lambda x, y: x - y,
    "x + 1": lambda x, y: x + 1,
    "2.5 * x": lambda x, y: 2.5 * x,
    "sqrt": lambda x, y: nl.sqrt(x),
    "cast": lambda x, y: x.astype("f4"),
    "sum": lambda x, y: x.sum(),
    "max of rows": lambda x, y: y.max(axis=-1),
    "deviation": lambda x, y: x.std(),
    "any": lambda x, y: x.any(),
    "any of rows": lambda x, y: (x > y).any(-1),
    "choice": lambda x, y: nl.where(x > y, x, y),
    "clip": lambda x, y: nl.clip(x, y, y),
    "clip itself": lambda x, y: nl.clip(x, x, 3),
    "inverted": lambda x, y: ~(x < y),
    "of a part": lambda x, y: x[..., :2] + 1,
    "of a part elsewhere": lambda x, y: x[..., 2:] + 1,
    "of parts of two": lambda x, y: x[..., 1:] * y[..., :-1],
    "of neighbours": lambda x, y: x[..., 2:] + x[..., :-2] - 2 * x[..., 1:-1],
    "of neighbours turned around": lambda x, y: x[..., :-2] + x[..., 2:] - 2 * x[..., 1:-1],
    "of parts far apart": lambda x, y: x.T[:1] + x.T[-1:],
    "of a part and the whole": lambda x, y: x[..., :1] * x,
    "of a part, converted": lambda x, y: x[..., ::-1].astype("f4") + x,
    "of the same part twice": lambda x, y: x[..., 1:] * x[..., 1:],
    "sum of a part": lambda x, y: x[..., 1:].sum(),
    "two": lambda x, y: (x + y) * y,
    "tree": lambda x, y: (x * 2 + y) * x - y * y,
    "other tree": lambda x, y: (x * 2 + x) * y - 1.5,
    "differences": lambda x, y: (x - y) * (x - y),
    "differences turned around": lambda x, y: (x - y) * (y - x),
    "shared": lambda x, y: (lambda t: t * t)(x + y),
    "many": lambda x, y: x + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + y,
    "as many as are told apart": lambda x, y: sum(range(1, 15), x) + y,
    "one more": lambda x, y: sum(range(1, 16), x) + y,
    "of a counter": lambda x, y: x * nl.arange(x.shape[-1]) - y,
    "of a counter by rows": lambda x, y: x + nl.arange(x.size).reshape(x.shape),
    "of counters that begin elsewhere": lambda x, y: x[..., 1:] + nl.arange(9)[2 : x.shape[-1] + 1],
    "of random bits": lambda x, y: nl.random.Generator(nl.random.Philox(key=7, counter=x.size)).random(x.shape),
    "of what dies": lambda x, y: x.copy("F") + 1,
}


def arrays() -> list[Any]:
    """Arrays of two shapes, in different orders, dtypes, and places in memory."""
    found = []
    for dtype in ("f8", "f4", "i8"):
        host = np.arange(12).astype(dtype).reshape(3, 4)
        x = nl.asarray(host)
        found += [x, nl.asarray(host.copy("F")), nl.asarray(host[0]), nl.asarray(host)]
    nl.evaluate(*found)
    return found


def pending(array: Any) -> Node:
    """The node that an array's evaluation runs."""
    node: Node = array.storage.value
    return node


def test_the_plan_is_the_walks() -> None:
    rng = random.Random(5)
    with registry.use("null"):
        clear_direct()
        given = arrays()
        hits = 0
        for _ in range(500):
            x, y = rng.choice(given), rng.choice(given)
            if x.shape != y.shape:
                continue
            work = WORK[rng.choice(list(WORK))]
            for _ in range(rng.choice((1, 2, 12))):  # Often enough to take another form's place.
                result = work(x, y)
                other = result * 1 if rng.random() < 0.1 else None  # reads it, too
                node = pending(result)
                if node.buffer is not None:
                    continue
                direct = find_direct(node)
                if direct is not None:
                    key = walk([node])
                    assert (direct.tape.first, direct.tape.second) == (key.first, key.second)
                    hits += 1
                before = counters.kernels, counters.flushes
                nl.evaluate(result)
                assert node.buffer is not None and counters.flushes == before[1] + 1
                assert direct is None or other is not None or counters.kernels == before[0] + 1
        assert hits > 200, hits


@pytest.mark.skipif(nl.config.executor != "fused", reason="the reference executor has no plans")
def test_values_follow_operands() -> None:
    with nl.config(cpu_compile="wait"):
        x, y = nl.asarray([1.0, 2, 3]), nl.asarray([10.0, 20, 30])
        for turn in range(6):
            assert (x + y).tolist() == [11 + turn, 22 + turn, 33 + turn]
            assert (y + y).tolist() == [20, 40, 60]
            # As many operands, read as often, but in another order.
            assert ((x - y) * (y - x)).tolist() == [-((9 - turn) ** 2), -((18 - turn) ** 2), -((27 - turn) ** 2)]
            assert ((x - y) * (x - y)).tolist() == [(9 - turn) ** 2, (18 - turn) ** 2, (27 - turn) ** 2]
            assert (x + nl.asarray([turn, 0.0, 0])).tolist() == [1 + 2 * turn, 2 + turn, 3 + turn]
            x = x + nl.ones(3)
            nl.evaluate(x)


@pytest.mark.skipif(nl.config.executor != "fused" or nl.config.eager, reason="there are no plans, or all runs at once")
def test_numbers_and_operands_are_those_of_each_run() -> None:
    needed()
    work: dict[str, Any] = {
        "number": lambda x, y, k: x * k,
        "numbers": lambda x, y, k: (x + k) * (y - 2 * k),
        "same": lambda x, y, k: (x - y) * (x - y),
        "turned around": lambda x, y, k: (x - y) * (y - x),
        "parts": lambda x, y, k: x[1:] * k - y[:-1],
    }
    clear_direct()
    with nl.config(cpu_compile="wait", unplanned=0):
        for name, call in [*work.items(), *work.items()]:
            hits = 0
            for turn in range(40):  # Trees that share a place take it from each other, in time.
                host = np.array([1.0, 2, 3]) + turn, np.array([10.0, 20, 30]) * turn
                x, y = (nl.asarray(part) for part in host)
                result = call(x, y, turn + 0.5)
                hits += find_direct(pending(result)) is not None
                assert result.tolist() == call(*host, turn + 0.5).tolist(), (name, turn)
            assert hits > 10, (name, hits)


def test_devices_have_plans_of_their_own() -> None:
    before = registry.current().name
    for name in (before, "null", before, "null", before):
        with registry.use(name):
            x = nl.asarray([1.0, 2.0])
            for _ in range(3):
                y = x * x
                nl.evaluate(y)
            assert y.tolist() == ([1.0, 4.0] if name != "null" else [0.0, 0.0])
