"""config.fast_math: arithmetic follows the setting under which it was recorded."""

from __future__ import annotations

import numpy as np
import pytest

import numloom as nl
from numloom.device import registry


@pytest.fixture
def x() -> nl.ndarray:
    return nl.asarray(np.linspace(0.1, 3, 1000, dtype=np.float32))


def work(x: nl.ndarray) -> nl.ndarray:
    return nl.exp(-x) / (1 + nl.sqrt(x)) * 3 + nl.log(x)


def test_recorded_work_follows_the_setting_of_its_record(x: nl.ndarray) -> None:
    exact = work(x).get()
    before = work(x)
    with nl.config(fast_math=True):
        inside = work(x)
        numbers = nl.random.default_rng(5).normal(size=50)
    after = work(x)
    assert before.get().tobytes() == after.get().tobytes() == exact.tobytes()
    assert np.allclose(inside.get(), exact, rtol=1e-5, atol=1e-6)
    assert numbers.get().tobytes() == nl.random.default_rng(5).normal(size=50).get().tobytes()


def test_only_the_gpu_is_less_exact(x: nl.ndarray) -> None:
    exact = work(x).get()
    with nl.config(fast_math=True):
        fast = work(x).get()
        wide = work(x.astype(nl.float64)).get()
    assert (fast.tobytes() == exact.tobytes()) == (
        registry.current().name != "cuda" or nl.config.executor == "reference"
    )
    assert np.allclose(wide, work(x.astype(nl.float64)).get(), rtol=1e-14)
