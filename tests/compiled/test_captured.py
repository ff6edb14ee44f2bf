"""All steps of a loop as one launch: beside the steps one after another, for other memory, threads and settings."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.command.info import core_modules
from numloom.compiled import captured
from numloom.compiled.captured import CapturedSteps
from numloom.compiled.steps import Stepping
from numloom.device.registry import current
from numloom.engine.state import counters
from numloom.engine.verify import VerificationError

pytestmark = pytest.mark.skipif(
    not core_modules()[0] or current().name == "null" or nl.config.executor == "reference",
    reason="nothing is captured there",
)
STEPS = 40


@pytest.fixture(autouse=True)
def planned(request: pytest.FixtureRequest) -> Any:
    if request.config.getoption("--device") == "beside":
        pytest.skip("the stand-in for a GPU interprets kernels, and captures nothing")
    with nl.config(cpu_compile="wait", unplanned=0, placement="device"):
        yield


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each run of captured steps, whether they ran."""
    found: list[bool] = []
    run = CapturedSteps.run

    def noted(self: Any, *args: Any) -> bool:
        found.append(run(self, *args))
        return found[-1]

    monkeypatch.setattr(CapturedSteps, "run", noted)
    return found


def descent(xp: Any, x: Any, w: Any) -> Any:
    """A product, a sum and a map in each step, and what is stacked."""

    def step(w: Any, row: Any) -> Any:
        w = w - 0.1 * ((w @ x) / (1 + (w * w).sum()) + row)
        return w, (w.sum(), w[::-1])

    return xp.scan(step, w, x)


def by_numpy(x: Any, w: Any) -> Any:
    sums, turned = [], []
    for row in x:
        w = w - 0.1 * ((w @ x[: len(w)]) / (1 + (w * w).sum()) + row)
        sums.append(w.sum())
        turned.append(w[::-1])
    return w, (np.array(sums), np.array(turned))


def function() -> Any:
    return nl.compile(lambda x, w: descent(nl, x, w))


def check(call: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    x, w = rng.standard_normal((STEPS, STEPS)), rng.standard_normal(STEPS)
    last, (sums, turned) = call(nl.asarray(x), nl.asarray(w))
    expected, (these, others) = by_numpy(x, w)

    def same() -> None:
        np.testing.assert_allclose(last.get(), expected, rtol=1e-9)
        np.testing.assert_allclose(sums.get(), these, rtol=1e-9)
        np.testing.assert_allclose(turned.get(), others, rtol=1e-9)

    same()
    return same


def test_results_of_earlier_calls_stay(ran: list[bool]) -> None:
    call = function()
    kept = [check(call, seed) for seed in range(12)]
    assert len(ran) >= 8
    assert all(ran)
    for same in kept:
        same()


def test_the_same_array_twice(ran: list[bool]) -> None:
    def body(xp: Any, a: Any, b: Any) -> Any:
        return xp.fori_loop(0, STEPS, lambda i, s: s * 0.5 + (a @ b) / (1 + xp.abs(s).sum()), a)

    call = nl.compile(lambda a, b: body(nl, a, b))
    for number in range(12):
        host = np.random.default_rng(number).standard_normal((5, 5))
        other = host if number % 2 else host.T.copy()
        array = nl.asarray(host)
        found = call(array, array if number % 2 else nl.asarray(other))
        expected = host
        for _ in range(STEPS):
            expected = expected * 0.5 + (host @ other) / (1 + np.abs(expected).sum())
        np.testing.assert_allclose(found.get(), expected, rtol=1e-9)
        np.testing.assert_array_equal(array.get(), host)
    assert ran
    assert all(ran)


def test_what_cannot_run_now_runs_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[bool] = []

    def refuse(self: Any, *args: Any) -> bool:
        refused.append(True)
        return False

    monkeypatch.setattr(CapturedSteps, "run", refuse)
    call = function()
    for seed in range(8):
        check(call, seed)
    assert refused


def test_few_or_many_launches_are_not_captured(ran: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MOST", 2 * STEPS - 1), ("LEAST", 1000), ("AT_ONCE", 0), ("MEMORY", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(captured, name, value)
            call = function()
            for seed in range(6):
                check(call, seed)
    assert not ran


def test_little_memory(ran: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    module = "numloom.device.cuda.capture" if current().discrete else "numloom.device.cpu.capture"
    monkeypatch.setattr(f"{module}.CAPTURED", 0)
    call = function()
    for seed in range(6):
        check(call, seed)
    assert not ran


def test_memory_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[Stepping] = []
    ask = Stepping._captured

    def noted(self: Any, *args: Any) -> Any:
        met.append(self)
        return ask(self, *args)

    monkeypatch.setattr(Stepping, "_captured", noted)
    call = function()
    for seed in range(6):
        check(call, seed)
    made = weakref.ref(met[-1].together)
    used = current().pool.used
    met[-1].together = None
    gc.collect()
    assert made() is None
    assert current().pool.used < used
    check(call, 7)


def test_threads(ran: list[bool]) -> None:
    call = function()
    for seed in range(6):
        check(call, seed)
    errors: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for seed in range(first, first + 20):
                check(call, seed)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(100 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert ran
    assert all(ran)


@pytest.mark.slow
def test_verification_compares_them(monkeypatch: pytest.MonkeyPatch) -> None:
    call = function()
    for seed in range(6):
        check(call, seed)
    with nl.config(verify=True):
        for seed in range(6):
            check(call, seed)
        device = current()

        def wrong(self: Any, memory: Any, packed: Any) -> bool:
            device.clear(packed, 8)
            return True

        monkeypatch.setattr(CapturedSteps, "run", wrong)
        with pytest.raises(VerificationError, match="as one"):
            check(call, 0)


def test_counts_are_those_of_the_steps() -> None:
    call = function()
    rng = np.random.default_rng(0)
    x, w = nl.asarray(rng.standard_normal((STEPS, STEPS))), nl.asarray(rng.standard_normal(STEPS))
    counted = []
    for _ in range(8):
        before = counters.kernels, counters.library_calls
        call(x, w)
        counted.append((counters.kernels - before[0], counters.library_calls - before[1]))
    assert counted[2:] == [counted[2]] * 6


def test_other_numbers_of_threads(ran: list[bool]) -> None:
    call = function()
    for threads in (0, 1, 2, 0, 1, 0, 2):
        with nl.config(num_threads=threads):
            check(call, threads)
    assert all(ran)
