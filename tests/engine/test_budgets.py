"""What is remembered of programs that do not come again: so many steps, whatever their number."""

from __future__ import annotations

import gc
import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.device import registry
from numloom.engine import evaluate, resized


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(evaluate, "_STEPS_KEPT", 150)
    monkeypatch.setattr(resized, "_STEPS_KEPT", 150)
    for table in (evaluate, resized):  # What other tests left.
        while table._steps:
            table._drop_half()
    with nl.config(unplanned=0):
        yield


def program(np: Any, seed: int, x: Any) -> Any:
    """Twenty operations, of which reductions make some ten kernels."""
    rng = random.Random(seed)
    values = [x]
    for _ in range(20):
        a = rng.choice(values[-4:])
        kind = rng.randrange(3)
        if kind == 0:
            values.append(a.sum(axis=rng.randrange(2), keepdims=True) / 8 + x)
        elif kind == 1:
            values.append(np.cumsum(a, axis=rng.randrange(2)) / 8)
        else:
            values.append(a * 0.5 + rng.randrange(9))
    return values[-1]


@pytest.mark.skipif(nl.config.executor == "reference", reason="plans")
def test_plans_are_kept_by_their_steps() -> None:
    host = np.arange(12.0).reshape(3, 4)
    x = nl.asarray(host)
    steps = []
    for _ in range(2):
        for seed in range(60):
            np.testing.assert_allclose(program(nl, seed, x).get(), program(np, seed, host), rtol=1e-12)
            steps.append(evaluate._steps)
            assert resized._steps <= 150 + 40
    assert max(steps) <= 150 + 40
    assert sum(after < before for before, after in itertools.pairwise(steps)) > 3, "nothing was dropped"


def test_other_sizes_of_what_was_dropped() -> None:
    """A specialisation that goes while its key is being looked at is made again."""
    for seed in range(12):
        for rows in (2, 3, 5, 8):
            host = np.arange(4.0 * rows).reshape(rows, 4)
            found = program(nl, seed, nl.asarray(host)).get()
            np.testing.assert_allclose(found, program(np, seed, host), rtol=1e-12)


@pytest.mark.skipif(registry.current().name != "cpu", reason="kernels that wait for a compiler are the host's")
def test_kernels_that_are_not_compiled_go_with_their_plans() -> None:
    builder = registry.current().builder
    with nl.config(cpu_compile="never"):
        x = nl.ones((3, 4))
        counts = []
        for seed in range(100, 200):
            program(nl, seed, x).get()
            if seed % 10 == 9:
                gc.collect()
                counts.append(sum([not one.ready and not one.refused for one in builder._kernels.values()]))
    assert counts[-1] < 250, counts
