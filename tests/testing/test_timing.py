"""`benchmark` waits for results, and leaves out what first calls do."""

from __future__ import annotations

import numpy as np
import pytest

import numloom as nl
from numloom.engine.state import counters
from numloom.testing import Benchmark, benchmark


def root(x: object) -> object:
    return nl.sqrt(x)  # type: ignore[arg-type]


def test_every_call_runs_what_it_recorded() -> None:
    x = nl.arange(100_000.0)
    calls = 0

    def call() -> dict[str, object]:
        nonlocal calls
        calls += 1
        return {"root": [nl.sqrt(x + calls)], "sum": (x.sum(), 3)}

    before = counters.flushes
    found = benchmark(call, n_repeat=7, n_warmup=2)
    assert calls == 9 and counters.flushes >= before + 9
    assert len(found.times) == len(found.cpu_times) == 7
    assert (found.times >= found.cpu_times).all() and found.median > 0


def test_it_ends_in_time_and_reads_well() -> None:
    found = benchmark(root, (nl.ones(3),), max_duration=0.0)
    assert len(found.times) == 1
    assert str(found).startswith("root: ") and "median of 1 call;" in repr(found) and found.device in str(found)
    shown = Benchmark("f", "cuda:0", np.full(3, 2e-5), np.full(3, 1e-5), np.full(3, 5e-6))
    assert "20 µs a call on cuda:0 (median of 3 calls" in str(shown) and "5 µs of work on the GPU" in str(shown)


def test_functions_of_numpy_may_be_timed_and_names_given() -> None:
    assert benchmark(np.sort, ([3, 1],), {"axis": 0}, 2, name="theirs").name == "theirs"
    with pytest.raises(ValueError, match="n_repeat"):
        benchmark(root, (1.0,), n_repeat=0)
