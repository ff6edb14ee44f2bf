"""Dear elements that are stored and reduced: by one kernel, or by two where few threads would have all the work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.device import registry
from numloom.engine.link import tape_of
from numloom.engine.tape import run_plan
from numloom.engine.walk import walk
from numloom.plan.plan import make_plan


def dear(xp: Any, x: Any) -> Any:
    h = xp.sqrt(1 / (x * x + 1)) / xp.sqrt(x * x + 2)
    return h, (h * h).sum(axis=1)


def cheap(xp: Any, x: Any) -> Any:
    h = x * 2 + 1
    return h, (h * h).sum(axis=1)


@pytest.mark.usefixtures("on_the_device")
@pytest.mark.parametrize(
    ("work", "shape", "busy", "kernels"),
    [
        (dear, (1, 2048), True, 2), (dear, (30, 2048), True, 2), (dear, (3, 16384), True, 2),
        (dear, (200, 2048), True, 1), (dear, (1, 1 << 20), True, 1), (dear, (5, 100), True, 1),
        (cheap, (1, 2048), True, 1), (dear, (1, 2048), False, 1), (dear, (0, 2048), True, 1), (dear, (3, 0), True, 1),
    ],
)  # fmt: skip
def test_kernels_of_values_that_are_stored_and_reduced(work: Any, shape: Any, busy: bool, kernels: int) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    outputs = work(nl, nl.asarray(x))
    numbers = [node_of(one) for one in outputs]
    found = walk(numbers)
    plan = make_plan(found.nodes, [node.number for node in numbers], short_rows=busy, cluster=8 if busy else 1)
    run_plan(tape_of(plan, registry.current(), found.second), found.nodes)
    assert sum(step.program is not None for step in plan.steps) <= kernels
    assert x.size == 0 or sum(step.program is not None for step in plan.steps) == kernels
    with nl.config(executor="reference"):
        expected = [one.get() for one in work(nl, nl.asarray(x))]
    for one, other in zip(outputs, expected, strict=True):
        assert one.get().tobytes() == other.tobytes()
