"""The host's own time: recording, planning from the cache and launching, with no device behind them.

``python -m benchmarks.host_time`` prints the table; ``--check`` ends with status 1 if a budget is exceeded.
Launches go to the null device, so what is measured is what every operation costs before a device sees it.
NumPy's times are taken in the same run, turn by turn with ours.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import numloom


@dataclass(frozen=True)
class Row:
    """A statement timed under both libraries.

    Attributes
    ----------
    name : str
        What it shows.
    ours, numpy : str
        Statements over ``a``, ``b`` (10 float64), ``m`` (10 × 10), ``row`` and ``xp``; NumPy's is `ours` if empty.
    budget : float or None
        Most that ours may take, as a multiple of NumPy's add of 10 elements.
    before : str
        Statement that goes before each of ours and is not timed.
    """

    name: str
    ours: str
    numpy: str = ""
    budget: float | None = None
    before: str = ""


FIVE = "(a * 2 + b) * a - b * b"

ROWS = (
    Row("record an add", "a + b", budget=1.2),
    Row("evaluate and launch five operations", "xp.evaluate(e)", FIVE, 4.0, f"e = {FIVE}"),
    Row("record, evaluate and launch five", f"xp.evaluate({FIVE})", FIVE),
    Row("record an add with a Python scalar", "a + 1.5"),
    Row("record an add that broadcasts", "m + row"),
    Row("record an add in place", "a += b"),
    Row("record through the ufunc", "xp.add(a, b)"),
    Row("record exp", "xp.exp(a)"),
    Row("record a cast", "a.astype('f4')"),
    Row("slice", "a[1:-1]"),
    Row("slice two axes", "m[1:-1, 2:]"),
    Row("take one element", "a[3]"),
    Row("transpose", "m.T"),
    Row("reshape", "a.reshape(2, 5)"),
    Row("assign one element", "a[3] = 1.0"),
    Row("record a sum", "a.sum()"),
    Row("record a sum of an axis", "m.sum(axis=0)"),
    Row("record a mean", "a.mean()"),
    Row("record a standard deviation", "a.std()"),
    Row("record a position", "a.argmax()"),
    Row("record into an output", "xp.add(a, b, out=row)"),
    Row("evaluate and launch an add", "xp.evaluate(e)", "a + b", None, "e = a + b"),
    Row("evaluate and launch a sum", "xp.evaluate(e)", "a.sum()", None, "e = a.sum()"),
    Row("record, evaluate and launch an add", "xp.evaluate(a + b)", "a + b"),
)


LOOP = """
def timed(xp, a, b, m, row, times, clock):
    begin = clock()
    for _ in times:
        {}
    return clock() - begin
"""

LOOP_AFTER = """
def timed(xp, a, b, m, row, times, clock):
    spent = 0.0
    for _ in times:
        {}
        begin = clock()
        {}
        spent += clock() - begin
    return spent
"""


class Statement:
    """A statement under one library, timed in batches; the loop's own time is taken off."""

    def __init__(self, text: str, xp: Any, before: str = "") -> None:
        space: dict[str, Any] = {}
        exec(LOOP_AFTER.format(before, text) if before else LOOP.format(text), space)
        self.timed = space["timed"]
        self.xp = xp
        self.arrays = xp.arange(10.0), xp.arange(10.0) / 10, xp.arange(100.0).reshape(10, 10), xp.arange(10.0)

    def seconds(self, calls: int) -> float:
        """Seconds a call."""
        spent = self.timed(self.xp, *self.arrays, itertools.repeat(None, calls), time.perf_counter)
        if self.xp is numloom:  # what the batch left pending belongs to nobody's time
            numloom.synchronize()
        return float(spent) / calls


def measure(rows: tuple[Row, ...], rounds: int = 15, batch: float = 0.004) -> list[tuple[Row, float, float]]:
    """Best seconds of each row, ours and NumPy's, in turns over several rounds; a row that fails gives NaN."""
    pairs = []
    for row in rows:
        ours, numpys = Statement(row.ours, numloom, row.before), Statement(row.numpy or row.ours, np)
        try:
            ours.seconds(200)
        except (AttributeError, NotImplementedError, TypeError) as error:
            print(f"{row.name}: {error}")
            continue
        numpys.seconds(200)
        pairs.append((row, ours, numpys))
    best = {row: [np.inf, np.inf] for row, _, _ in pairs}
    loop, clock = (min(Statement("pass", np, before).seconds(10_000) for _ in range(10)) for before in ("", "pass"))
    calls = {row: [max(20, int(batch / s.seconds(100))) for s in pair] for row, *pair in pairs}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for row, *pair in pairs:
                for index, statement in enumerate(pair):
                    spent = statement.seconds(calls[row][index]) - (clock if row.before and not index else loop)
                    best[row][index] = min(best[row][index], spent)
    finally:
        if enabled:
            gc.enable()
    return [(row, *best[row]) for row, _, _ in pairs]


def main() -> int:
    """Measure, print, and judge if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.host_time", description=__doc__)
    parser.add_argument("--check", action="store_true", help="status 1 if a budget is exceeded")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    numloom.config.device = "null"
    # Errors of one noisy moment are not a regression: a row over its budget is measured again.
    found = measure(ROWS, options.rounds)
    numpy_add = next(theirs for row, _, theirs in found if row.name == "record an add")
    over = [row for row, ours, _ in found if row.budget and ours > row.budget * numpy_add]
    if over and options.check:
        again = measure((ROWS[0], *(row for row in over if row is not ROWS[0])), 2 * options.rounds)
        numpy_add = next(theirs for row, _, theirs in again if row is ROWS[0])
        found = again + [item for item in found if item[0] not in {row for row, *_ in again}]
        over = [row for row, ours, _ in found if row.budget and ours > row.budget * numpy_add]
    table = Table(title=f"host time; NumPy's add of 10 elements takes {1e9 * numpy_add:.0f} ns", title_justify="left")
    for heading in ("", "ns", "NumPy, same statement", "× NumPy's add", "budget"):
        table.add_column(heading, justify="right" if heading else "left")
    for row, ours, theirs in found:
        ratio = ours / numpy_add
        colour = "" if row.budget is None else "red" if ratio > row.budget else "green"
        shown = f"[{colour}]{ratio:.2f}[/]" if colour else f"{ratio:.2f}"
        budget = "" if row.budget is None else f"≤ {row.budget}"
        table.add_row(row.name, f"{1e9 * ours:.0f}", f"{1e9 * theirs:.0f}", shown, budget)
    Console(width=None if os.isatty(1) else 120).print(table)
    for row in over:
        print(f"over budget: {row.name}")
    return 1 if over and options.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
