"""Loops as programs have them, and what each step costs: ``python -m benchmarks.loops``.

Times are µs a step (the best of three turns, one wait at the end of each), with what a step launches, waits for and
plans, the texts that the loop compiled, and the memory that it took at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

import numloom as nl
from benchmarks.cases import black_scholes, options
from numloom.device import registry
from numloom.engine.state import counters

TURNS = 3
SIDE = 1024

Step = Callable[[int], None]


@dataclass
class Cost:
    """What a step of a loop costs."""

    seconds: float
    kernels: float
    waits: float
    plans: float
    texts: int
    peak: int


def measured(step: Step, steps: int) -> Cost:
    """The cost of a loop of some steps, after one of as many that compiles."""
    device = registry.current()
    known = getattr(device, "_kernels", {})
    texts = len(known)
    for number in range(steps):
        step(number)
    nl.synchronize()
    texts = len(known) - texts
    device.pool.reset_peak()
    used, best = device.pool.used, float("inf")
    before = counters.kernels, counters.waits, counters.plans
    for turn in range(TURNS):
        start = time.perf_counter()
        for number in range(steps):
            step(steps * (turn + 1) + number)
        nl.synchronize()
        best = min(best, time.perf_counter() - start)
    after = counters.kernels, counters.waits - TURNS, counters.plans
    kernels, waits, plans = ((b - a) / steps / TURNS for a, b in zip(before, after, strict=True))
    return Cost(best / steps, kernels, waits, plans, texts, device.pool.peak - used)


def relaxation() -> Step:
    """A Jacobi step, and a look at the change: ``if change < tolerance: break``."""
    u = nl.asarray(np.random.default_rng(0).random((SIDE, SIDE), np.float32))

    def step(number: int) -> None:
        nonlocal u
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        change = abs(new - u).max()
        u = new
        if change < -1:
            raise AssertionError("a change is not negative")

    return step


def metric() -> Step:
    """A running metric that nobody reads before the end."""
    x = nl.asarray(np.random.default_rng(0).random((SIDE, SIDE), np.float32))
    total = nl.zeros((), nl.float32)

    def step(number: int) -> None:
        nonlocal total
        total += (x * 0.5 - 1).sum()

    return step


def scalars() -> Step:
    """Another Python number each step."""
    x = nl.asarray(np.random.default_rng(0).random(SIDE * SIDE, np.float32))

    def step(number: int) -> None:
        nl.evaluate(nl.exp(x * (1 + 1e-3 * number)) - number)

    return step


def shapes() -> Step:
    """Another size each step."""
    x = nl.asarray(np.random.default_rng(0).random(SIDE * SIDE, np.float32))

    def step(number: int) -> None:
        part = x[: SIDE * SIDE - 4 * (number % 1000)]
        nl.evaluate(part * 2 + 1, (part - 1).sum())

    return step


def batches() -> Step:
    """Softmax of another number of rows each step."""
    x = nl.asarray(np.random.default_rng(0).standard_normal((4096, 512)).astype(np.float32))

    def step(number: int) -> None:
        rows = x[: 4096 - number % 4000]
        e = nl.exp(rows - rows.max(axis=1, keepdims=True))
        nl.evaluate(e / e.sum(axis=1, keepdims=True))

    return step


def halves() -> Step:
    """A vector folded in halves: a launch and another size at each of some ten levels."""
    x = nl.asarray(np.random.default_rng(0).random(SIDE * SIDE, np.float32))

    def step(number: int) -> None:
        part = x[: SIDE * SIDE - 1024 * (number % 500)]
        while part.size > 1024:
            half = part.size // 2
            part = part[:half] + part[half : 2 * half]
            nl.evaluate(part)

    return step


def updates() -> Step:
    """A hundred small updates, then one launch."""
    x = nl.zeros(1000, nl.float32)

    def step(number: int) -> None:
        nonlocal x
        for _ in range(100):
            x = x * 0.9 + 0.1
        nl.evaluate(x)

    return step


def softplus(dtype: type) -> Step:
    """log(1 + e**x) of 1e7 numbers."""
    x = nl.asarray(np.random.default_rng(0).standard_normal(10**7).astype(dtype))
    return lambda number: nl.evaluate(nl.maximum(0, x) + nl.log1p(nl.exp(-abs(x))))


def prices(dtype: type) -> Step:
    """Black–Scholes of 1e6 options."""
    given = [nl.asarray(a.astype(dtype)) for a in options(10**6)(np.random.default_rng(0))]
    return lambda number: nl.evaluate(*black_scholes(nl, *given))


def layer_norm(dtype: type) -> Step:
    """Rows of 4096 standardised."""
    x = nl.asarray(np.random.default_rng(0).standard_normal((2048, 4096)).astype(dtype))

    def step(number: int) -> None:
        mean = x.mean(axis=1, keepdims=True)
        nl.evaluate((x - mean) / nl.sqrt(x.var(axis=1, keepdims=True) + 1e-5))

    return step


LOOPS: dict[str, tuple[Callable[[], Step], int]] = {
    "Jacobi 1024², if change < tolerance: break": (relaxation, 50),
    "a running metric, read at the end": (metric, 1000),
    "another number each step, 1e6": (scalars, 200),
    "another size each step, about 1e6": (shapes, 200),
    "softmax of another batch each step, 4096×512": (batches, 200),
    "folded in halves, 10 sizes a step, about 1e6": (halves, 50),
    "x = x * 0.9 + 0.1, 100 times, 1000": (updates, 50),
    "softplus 1e7 float32": (lambda: softplus(np.float32), 20),
    "softplus 1e7 float64": (lambda: softplus(np.float64), 20),
    "Black–Scholes 1e6 float32": (lambda: prices(np.float32), 20),
    "Black–Scholes 1e6 float64": (lambda: prices(np.float64), 20),
    "layer norm 2048×4096 float32": (lambda: layer_norm(np.float32), 20),
    "layer norm 2048×4096 float64": (lambda: layer_norm(np.float64), 20),
}


def main() -> None:
    """Run the loops, exact and (on a GPU) with fast math, and print the table."""
    gpu = registry.current().name == "cuda"
    table = Table("loop", *("µs a step", "kernels", "waits", "plans", "new texts", "MB at most"))
    if gpu:
        table.add_column("µs, fast math")
    for name, (prepare, steps) in LOOPS.items():
        cost = measured(prepare(), steps)
        numbers = [f"{cost.kernels:.3g}", f"{cost.waits:.3g}", f"{cost.plans:.3g}", f"{cost.texts}"]
        row = [name, f"{cost.seconds * 1e6:.1f}", *numbers, f"{cost.peak / 1e6:.3g}"]
        if gpu:
            with nl.config(fast_math=True):
                row.append(f"{measured(prepare(), steps).seconds * 1e6:.1f}")
        table.add_row(*row)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
