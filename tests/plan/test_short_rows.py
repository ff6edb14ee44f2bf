"""Reductions of a few elements that are computed where their results are read (on a GPU; asked for here)."""

from __future__ import annotations

from collections.abc import Callable
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


def forces(d: Any) -> Any:
    return (d * ((d * d).sum(2) + 1)[..., None]).sum(1)


WORK: dict[str, tuple[Callable[..., Any], int]] = {
    "density": (lambda xp, x, y: xp.exp(-((x[:, None] - y[None]) ** 2).sum(-1)).sum(1), 1),
    "nearest": (lambda xp, x, y: ((x[:, None] - y[None]) ** 2).sum(axis=2).argmin(axis=1), 1),
    "farthest": (lambda xp, x, y: abs(x[:, None] - y[None]).max(axis=-1, keepdims=True).max(axis=(0, 2)), 1),
    "forces": (lambda xp, x, y: forces(x[None] - x[:, None]), 1),
    "down": (lambda xp, x, y: (x.T[:, :, None] - y.T[:, None]).min(axis=0).sum(0), 1),
    "fixed": (lambda xp, x, y: (x * x).sum(1), 1),
    "rows": (lambda xp, x, y: x / (x * x).sum(1, keepdims=True), 1),
}  # fmt: skip


def run_with_short_rows(array: nl.ndarray) -> int:
    """Run what is recorded by a plan of a GPU's kind; the number of its kernels."""
    root = node_of(array)
    found = walk([root])
    plan = make_plan(found.nodes, [root.number], short_rows=True)
    run_plan(tape_of(plan, registry.current(), found.second), found.nodes)
    return sum(step.program is not None for step in plan.steps)


@pytest.mark.usefixtures("on_the_device")
@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_same_bits_without_memory_between(name: str, width: int) -> None:
    work, kernels = WORK[name]
    rng = np.random.default_rng(width)
    for dtype in (np.float32, np.int64) if width == 3 else (np.float64,):
        x, y = (rng.normal(size=(n, width), scale=9).astype(dtype) for n in (7, 11))
        a, b = nl.asarray(x), nl.asarray(y)
        found = work(nl, a, b)
        counted = run_with_short_rows(found)
        with nl.config(executor="reference"):
            expected = work(nl, a, b).get()
        assert found.get().tobytes() == expected.tobytes() or name == "density"
        assert np.allclose(found.get(), work(np, x, y), rtol=1e-5)
        assert width > 4 or counted == kernels
