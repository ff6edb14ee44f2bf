"""Host time of evaluated small and middling work beside NumPy's, in turns: ``python -m benchmarks.turns``.

The clock of a shared machine changes by a factor of two within a minute, so that times of two runs say little. Here
each round times numloom's work and NumPy's one after the other, and a line is the median of these ratios over the
rounds, with the sixth and the sixth last. To compare two versions, run each with the same `--warm`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy
from rich.console import Console
from rich.table import Table

import numloom
from numloom.device.registry import current

STEPS = 100
EDGE = 5


class Line(NamedTuple):
    """What is timed: `work` of a module and a dictionary of arrays, which it may change; calls in a round."""

    name: str
    work: Callable[[Any, dict[str, Any]], Any]
    calls: int


def _updates(xp: Any, held: dict[str, Any]) -> Any:
    u, x = held["u"], held["x"]
    for _ in range(STEPS):
        u = u * 0.99 + x * 0.01
    held["u"] = u
    return u


def _unread(xp: Any, held: dict[str, Any]) -> Any:
    u, x = held["x"], held["y"]
    for _ in range(STEPS):
        u = u * 0.99 + x * 0.01
    return held["x"]


def _stencils(xp: Any, held: dict[str, Any]) -> Any:
    v = held["v"]
    for _ in range(STEPS):
        v[1:-1] += 0.1 * (v[2:] - 2 * v[1:-1] + v[:-2])
    return v


LINES = [
    Line("x + 1, 10 elements", lambda xp, held: held["ten"] + 1, 1000),
    Line("x + 1, 100", lambda xp, held: held["hundred"] + 1, 1000),
    Line("x + 1, 1,000", lambda xp, held: held["x"] + 1, 1000),
    Line("x * 2 + y - x / 3 * y, 1,000", lambda xp, held: held["x"] * 2 + held["y"] - held["x"] / 3 * held["y"], 300),
    Line("a - a.mean(1), 64 x 64", lambda xp, held: held["a"] - held["a"].mean(1), 300),
    Line("((a - a.mean(0)) ** 2).sum(0), 64 x 64", lambda xp, held: ((held["a"] - held["a"].mean(0)) ** 2).sum(0), 300),
    Line("100 updates of 1,000", _updates, 10),
    Line("100 stencils of 1,000 in place", _stencils, 10),
    Line("100 updates that nobody reads", _unread, 10),
]


def arrays(xp: Any) -> dict[str, Any]:
    """The arrays that lines work on, of NumPy or ours, with the same numbers."""
    rng = numpy.random.default_rng(0)
    shapes: dict[str, Any] = {"ten": 10, "hundred": 100, "x": 1000, "y": 1000, "u": 1000, "a": (64, 64)}
    made = {name: xp.asarray(rng.random(shape)) for name, shape in shapes.items()}
    return {**made, "v": xp.zeros(1000)}


def ratios(line: Line, rounds: int, warm: int) -> list[tuple[float, float]]:
    """For each round, numloom's seconds a call, and how many times NumPy's that is, from the least ratio on."""
    held, plain = arrays(numloom), arrays(numpy)
    for _ in range(warm * line.calls // 10):
        numloom.evaluate(line.work(numloom, held))
    numloom.synchronize()
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(line.calls):
            numloom.evaluate(line.work(numloom, held))
        numloom.synchronize()
        middle = time.perf_counter()
        for _ in range(line.calls):
            line.work(numpy, plain)
        end = time.perf_counter()
        found.append(((middle - begin) / line.calls, (middle - begin) / (end - middle)))
    return sorted(found, key=lambda one: one[1])


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--warm", type=int, default=300, help="tenths of a round's calls before the first round")
    parser.add_argument("--only", default="", help="lines whose name has this text")
    options = parser.parse_args(arguments)
    lines = [line for line in LINES if options.only in line.name]
    if not lines or options.rounds < 1:
        parser.exit(2, "no line has such a text, or no round is asked for\n")
    made = Table("work", "of NumPy's time", "rounds", "µs a call", title=current().name)
    for line in lines:
        found = ratios(line, options.rounds, options.warm)
        edge = min(EDGE, (len(found) - 1) // 2)
        ratio = median(one[1] for one in found)
        times = sorted(one[0] for one in found)
        made.add_row(
            line.name,
            f"{ratio:.2f}",
            f"{found[edge][1]:.2f} to {found[-1 - edge][1]:.2f}",
            f"{median(times) * 1e6:.2f}",
        )
    Console(width=None if os.isatty(1) else 120, highlight=False).print(made)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
