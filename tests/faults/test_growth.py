"""What a process has of the system while it meets kernel after kernel: the same after many as after some.

``NUMLOOM_TEST_KERNELS`` is how many it meets (``make soak-tests``: 20,000, and a quarter as many programs).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from grown import MANY, grown

import numloom as np
from numloom.device import registry
from numloom.device.cpu import threads
from numloom.device.cpu.compiler import candidates
from numloom.device.cpu.libraries import close_idle

SCRIPT = Path(__file__).with_name("growing.py")
KERNELS = int(os.environ.get("NUMLOOM_TEST_KERNELS", "48"))

pytestmark = [
    pytest.mark.skipif(not any(candidates()), reason="no C++ compiler"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a process has is told by Linux's files"),
    pytest.mark.skipif(threads.compiled is None, reason="where the pool is Python's, libraries stay"),
]


@pytest.mark.parametrize(("kind", "share"), [("kernels", 1), ("programs", 4)])
def test_a_process_stays_as_large(kind: str, share: int) -> None:
    few = KERNELS < MANY
    count, room = KERNELS // (1 if few else share), 6 if few else 256
    command = [sys.executable, str(SCRIPT), kind, str(count), str(room)]
    environment = {**os.environ, "NUMLOOM_DEVICE": "cpu"}
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert found.returncode == 0, found.stdout[-1000:] + found.stderr[-2000:]
    lines = [[int(word) for word in line.split()] for line in found.stdout.splitlines()]
    assert len(lines) >= 8
    assert not grown(lines, room, memory=not few), found.stdout


@pytest.fixture
def crowd():
    """Have every kernel forgotten that nobody has, and all plans."""
    builder = registry.get("cpu").builder

    def forget() -> None:
        held = builder._kernels
        held._come = held.room
        room, held.room = held.room, -1
        try:  # The next plan finds it crowded, and what is new is met by a plan.
            number = next(numbers)
            x = np.arange(3.0 + number % 50)
            for _ in range(number // 50 + 1):
                x = x * 2.5 - 1
            float(x.sum())
        finally:
            held.room = room
        held._held.forget()
        close_idle()

    return forget


numbers = iter(range(1, 1 << 30))


@pytest.fixture(autouse=True)
def _planned():
    if registry.current().name != "cpu":
        pytest.skip("kernels of the host")
    with np.config(cpu_compile="wait", unplanned=0):
        yield


def loaded() -> int:
    """Libraries of kernels that are loaded."""
    return len(registry.get("cpu").builder._libraries)


def test_a_kernel_that_was_unloaded_is_there_again(crowd) -> None:
    double = np.ElementwiseKernel("T x", "T y", "y = x * 2.125", "grown_again")
    raw = np.ElementwiseKernel("raw T x", "T y", "y = x[i] * 2.125", "grown_raw")
    x, y = np.arange(5.0), np.zeros(5)
    for _ in range(6):
        assert double(x).get().tolist() == raw(x, y).tolist() == [k * 2.125 for k in range(5)]
        crowd()
        crowd()


def test_plans_let_go_of_their_kernels(crowd) -> None:
    for number in range(8):
        x = np.arange(7.0)
        (x * x + number * x - np.sqrt(x) + sum([x] * number, x)).get()
    before = loaded()
    for _ in range(5):
        crowd()
    assert loaded() <= before - 4


def test_who_holds_a_kernel_calls_it_still(crowd) -> None:
    compiled = np.compile(lambda a, b: (a * b + 1.375).sum())
    rows = np.compile(lambda a: np.sqrt(a) * a.mean(1, keepdims=True))
    x, y, z = np.arange(1000.0), np.arange(1000.0) + 1, np.arange(12.0).reshape(3, 4) + 1
    expected, expected_rows = float(compiled(x, y)), rows(z).get().tolist()
    for turn in range(200):
        assert float(compiled(x, y)) == expected
        assert rows(z).get().tolist() == expected_rows
        if turn % 25 == 0:
            crowd()


def test_loops_hold_their_kernels(crowd) -> None:
    def step(k, x):
        return x * 0.9375 + 0.5

    loop = np.compile(lambda x: np.fori_loop(0, 40, step, x)) if hasattr(np, "fori_loop") else None
    if loop is None:
        pytest.skip("no loops")
    x = np.arange(2000.0)
    expected = loop(x).get().tolist()
    for _ in range(6):
        crowd()
        assert loop(x).get().tolist() == expected


def test_kernels_go_while_threads_launch(crowd) -> None:
    kernels = [np.ElementwiseKernel("T x", "T y", f"y = x * {k} + 0.5", f"grown_{k}") for k in range(6)]
    wrong: list[object] = []
    until = time.monotonic() + 2.0

    def work(seed: int) -> None:
        x = np.arange(20_000.0)
        last = 19_999.0
        turn = seed
        while time.monotonic() < until and not wrong:
            k = turn % 6
            try:
                if float(kernels[k](x)[-1]) != last * k + 0.5:
                    wrong.append(k)
            except Exception as error:
                wrong.append(error)
            turn += 1

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for worker in workers:
        worker.start()
    while any([worker.is_alive() for worker in workers]):
        crowd()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_forgets_for_itself() -> None:
    """In a process of its own: one that had much memory gets none for a copy of it."""
    command, environment = [sys.executable, str(SCRIPT), "child", "8", "2"], {**os.environ, "NUMLOOM_DEVICE": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
