"""Every ufunc and reduction beside NumPy at sizes from 1 to 1e8, in decades; fused chains at the largest size.

``python -m benchmarks.curve --largest 1e7 --json curve.json --markdown curve.md --plot curve.png``. Both libraries take
turns, and the best time of each counts, so that other work on the machine does little harm. A time of ours records,
evaluates and frees; NumPy's computes and frees. Needs the compiled core for times that mean something at small sizes.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import numloom
from numloom.ops.elementwise import OF_UFUNC

clock = time.perf_counter
Host = np.ndarray[Any, Any]

GOAL = 0.9
"""Least ratio of NumPy's time to ours that is wanted everywhere."""
DTYPES = "?ilfdFD"
SHIFTS = ("left_shift", "right_shift")
TWO_RESULTS = (np.divmod, np.modf, np.frexp)


@dataclass(frozen=True)
class Line:
    """A call that is timed under both libraries.

    Attributes
    ----------
    name : str
        What it shows.
    run : callable
        ``run(namespace, *arrays)``.
    inputs : callable
        ``inputs(n)`` gives the arrays of about n elements on the host.
    least : int
        Smallest size with a meaning.
    """

    name: str
    run: Callable[..., Any]
    inputs: Callable[[int], tuple[Host, ...]]
    least: int = 1


@dataclass(frozen=True)
class Point:
    """Seconds a call of one line at one size."""

    line: str
    size: int
    ours: float
    numpy: float

    @property
    def ratio(self) -> float:
        """How many times as fast as NumPy we are."""
        return self.numpy / self.ours


# ------------------------------------------------------------------ the lines


def numbers(dtype: np.dtype[Any], n: int, low: float, high: float, seed: int) -> Host:
    """Random numbers of a dtype; of whole ones those from 1 on, of complex ones both parts."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    if dtype.kind in "iu":
        return rng.integers(1, 100, n).astype(dtype)
    found = low + (high - low) * rng.random(n)
    if dtype.kind == "c":
        found = found + 1j * (low + (high - low) * rng.random(n))
    return found.astype(dtype)


def range_of(name: str) -> tuple[float, float]:
    """Where the first argument of a function lies."""
    if name in ("sin", "cos", "tan"):
        return -10, 10
    if name == "arccosh":
        return 1.05, 3
    return 0.05, 0.95


def of_ufunc(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Line:
    """A ufunc on arguments of one dtype."""
    name = ufunc.__name__
    low, high = range_of(name)

    def inputs(n: int) -> tuple[Host, ...]:
        first = numbers(dtype, n, low, high, 1)
        if ufunc.nin == 1:
            return (first,)
        if name == "ldexp":
            return first, np.arange(n, dtype=np.int32) % 7
        second = numbers(dtype, n, 0.5, 2.5, 2)
        return first, second % 8 if name in SHIFTS or (name == "power" and dtype.kind in "iu") else second

    return Line(f"{name} {dtype}", lambda xp, *arrays: getattr(xp, name)(*arrays), inputs)


def of_reduction(name: str, dtype: np.dtype[Any], axis: int | None) -> Line:
    """A reduction of everything, of columns (axis 0) or of rows (axis 1)."""

    def inputs(n: int) -> tuple[Host, ...]:
        if dtype.kind == "b":  # nothing that ends the search early
            x = np.full(n, name == "all")
        else:
            x = numbers(dtype, n, 0.5, 1.5, 3)
        if axis is None:
            return (x,)
        width = 1000 if n >= 100_000 else 10
        return (x.reshape(-1, width),)

    where = {None: "", 0: " of columns", 1: " of rows"}[axis]
    arguments = {} if axis is None else {"axis": axis}
    return Line(
        f"{name}{where} {dtype}", lambda xp, x: getattr(xp, name)(x, **arguments), inputs, 1 if axis is None else 100
    )


REDUCTIONS = {
    "sum": "ilfdD", "prod": "fd", "max": "ilfd", "min": "fd", "mean": "fdD", "std": "fd", "var": "fd", "all": "?",
    "any": "?", "count_nonzero": "?ld", "argmax": "lfd", "argmin": "fd", "nansum": "d", "ptp": "d",
}  # fmt: skip
"""Reductions with the dtypes that they are timed on."""


def single_calls() -> Iterator[Line]:
    """Every ufunc on every dtype of `DTYPES` that it has a loop for, every reduction."""
    for ufunc in sorted({*OF_UFUNC, *TWO_RESULTS}, key=lambda ufunc: ufunc.__name__):
        for char in DTYPES:
            second = "i" if ufunc is np.ldexp else char
            if any(types.split("->")[0] == (char + second)[: ufunc.nin] for types in ufunc.types):
                yield of_ufunc(ufunc, np.dtype(char))
    for name, chars in REDUCTIONS.items():
        for char, axis in itertools.product(chars, (None, 0, 1)):
            yield of_reduction(name, np.dtype(char), axis)


def chain(text: str, names: str, dtype: str) -> Line:
    """An expression of several operations on vectors."""
    code = compile(text, text, "eval")

    def inputs(n: int) -> tuple[Host, ...]:
        return tuple(numbers(np.dtype(dtype), n, 0.5, 1.5, seed) for seed in range(len(names)))

    def run(xp: Any, *arrays: Any) -> Any:
        return eval(code, {"xp": xp, **dict(zip(names, arrays, strict=True))})

    return Line(f"{text} {dtype}", run, inputs)


CHAINS = [
    chain(text.strip(), "abc"[: 1 + ("b" in text.replace("abs", "")) + ("c" in text.replace("cos", ""))], dtype)
    for text, dtype in itertools.product(
        (
            "(a * 2 + b) * a - b * b",
            "a + b * c - a / (b + 1) + c",
            "((a - b) ** 2 + (b - c) ** 2 + (c - a) ** 2) / 3",
            "xp.sqrt(a * a + b * b + c * c) / 3",
            "xp.where(a > b, a - b, b - a) * 2 + c",
            "xp.exp(-(a * a)) * 0.5 + xp.sin(b) * b",
            "xp.minimum(xp.maximum(a * 3 - 1, 0), 1) * b + c",
            "((a - b) * (a + b) * 0.5 + b).sum()",
        ),
        "fd",
    )
]
"""Five operations or more, which we run as one kernel."""


# ------------------------------------------------------------------ measuring


def ours_of(line: Line, hosts: Sequence[Host]) -> Callable[[], None]:
    """Our call, run to its end: beside NumPy's there is one call of `evaluate` more."""
    arrays = [numloom.array(host) for host in hosts]
    run, evaluate = line.run, numloom.evaluate
    if isinstance(run(numloom, *arrays), tuple):

        def call() -> None:
            evaluate(*run(numloom, *arrays))

    else:

        def call() -> None:
            evaluate(run(numloom, *arrays))

    return call


def numpys_of(line: Line, hosts: Sequence[Host]) -> Callable[[], None]:
    """NumPy's call."""
    run = line.run

    def call() -> None:
        run(np, *hosts)

    return call


def seconds(call: Callable[[], None], times: int) -> float:
    """Seconds a call, of several in a row."""
    begin = clock()
    for _ in range(times):
        call()
    return (clock() - begin) / times


def point(line: Line, size: int, budget: float) -> Point:
    """Best times of both libraries, in turns for `budget` seconds; twice more where the goal seems to be missed."""
    found = times_of(line, size, budget)
    for _ in range(2):
        if found.ratio < GOAL:
            again = times_of(line, size, budget)
            found = Point(line.name, size, min(found.ours, again.ours), min(found.numpy, again.numpy))
    return found


def times_of(line: Line, size: int, budget: float) -> Point:
    """Best times of both libraries, in turns for `budget` seconds."""
    hosts = line.inputs(size)
    calls = [ours_of(line, hosts), numpys_of(line, hosts)]
    for call in calls:
        call()
    once = [seconds(call, 1) for call in calls]
    times = [max(1, min(500, int(0.002 / took))) for took in once]
    best = [np.inf, np.inf]
    end = clock() + budget
    rounds = 0
    while rounds < 3 or (clock() < end and rounds < 40):
        for k, call in enumerate(calls):
            best[k] = min(best[k], seconds(call, times[k]))
        rounds += 1
    return Point(line.name, size, *best)


def measure(
    lines: Sequence[Line], sizes: Sequence[int], budget: float, seen: Callable[[Point], None] = lambda point: None
) -> list[Point]:
    """Time every line at every size that it has a meaning for; what fails has no points."""
    points = []
    with np.errstate(all="ignore"):
        for line in lines:
            for size in sizes:
                if size < line.least:
                    continue
                try:
                    found = point(line, size, budget)
                except (TypeError, AttributeError) as error:
                    print(f"{line.name}: {error}")
                    break
                points.append(found)
                seen(found)
    return points


# ------------------------------------------------------------------ reporting


def sizes_to(largest: int) -> list[int]:
    """1, 10, ... to the largest."""
    return [10**k for k in range(len(str(largest)))]


def summary(points: Sequence[Point]) -> str:
    """For each size the lowest and the median ratio, and how many lines are below the goal."""
    rows = [f"| elements | lines | lowest | median | below {GOAL} |", "| ---: " * 5 + "|"]
    for size in sorted({point.size for point in points}):
        ratios = [point.ratio for point in points if point.size == size]
        below = sum(ratio < GOAL for ratio in ratios)
        rows.append(f"| {size:,} | {len(ratios)} | {min(ratios):.2f} | {statistics.median(ratios):.2f} | {below} |")
    return "\n".join(rows)


def lines_below(points: Sequence[Point], least: int) -> str:
    """Lines below the goal at sizes from `least` on, a column a size, the lowest first."""
    sizes = sorted({point.size for point in points if point.size >= least})
    of_line: dict[str, dict[int, float]] = {}
    for found in points:
        if found.size >= least:
            of_line.setdefault(found.line, {})[found.size] = found.ratio
    rows = ["| call | " + " | ".join(f"{size:.0e}".replace("e+0", "e") for size in sizes) + " |"]
    rows.append("| --- " + "| ---: " * len(sizes) + "|")
    for line, ratios in sorted(of_line.items(), key=lambda item: min(item[1].values())):
        if min(ratios.values()) < GOAL:
            cells = [f"{ratios[size]:.2f}" if size in ratios else "–" for size in sizes]
            rows.append(f"| {line} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def table_of(points: Sequence[Point]) -> str:
    """Times and ratio of each point."""
    rows = ["| call | elements | ours, ms | NumPy, ms | ratio |", "| --- | ---: | ---: | ---: | ---: |"]
    for found in points:
        cells = f"{1e3 * found.ours:.3g} | {1e3 * found.numpy:.3g} | {found.ratio:.2f}"
        rows.append(f"| `{found.line}` | {found.size:,} | {cells} |")
    return "\n".join(rows)


def save_plot(points: Sequence[Point], path: Path) -> None:
    """Draw every line's ratio against the size, with the median and the lowest."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axis = figure.subplots()
    of_line: dict[str, list[Point]] = {}
    for found in points:
        of_line.setdefault(found.line, []).append(found)
    for one in of_line.values():
        axis.plot([p.size for p in one], [p.ratio for p in one], color="tab:blue", alpha=0.08, linewidth=0.8)
    sizes = sorted({point.size for point in points})
    groups = [[point.ratio for point in points if point.size == size] for size in sizes]
    axis.plot(sizes, [statistics.median(group) for group in groups], "o-", color="tab:blue", label="median")
    axis.plot(sizes, [min(group) for group in groups], "v-", color="tab:red", label="lowest")
    axis.axhline(1, color="grey", linewidth=0.8)
    axis.axhline(GOAL, color="grey", linewidth=0.8, linestyle="--", label=f"goal: {GOAL}")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("elements")
    axis.set_ylabel("NumPy's time ÷ ours")
    axis.set_title(f"{len(of_line)} calls of ufuncs and reductions", fontsize=10)
    axis.legend(fontsize=8)
    figure.savefig(path, dpi=80)


def main() -> int:
    """Read the command line, measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curve", description=__doc__)
    parser.add_argument("--largest", type=float, default=1e6)
    parser.add_argument("--sizes", help="these sizes instead, with commas between")
    parser.add_argument("--only", default="", help="lines that begin with one of these words, with commas between")
    parser.add_argument("--chains", action="store_true", help="fused chains at the largest size instead")
    parser.add_argument("--budget", type=float, default=0.04, help="seconds for each point")
    parser.add_argument("--least", type=float, default=10_000, help="smallest size in the table of what is below")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--load", type=Path, help="points of an earlier run instead of measuring")
    options = parser.parse_args()
    largest = int(options.largest)
    sizes = [int(float(size)) for size in options.sizes.split(",")] if options.sizes else sizes_to(largest)
    if options.load:
        points = [Point(**found) for found in json.loads(options.load.read_text(encoding="utf-8"))]
    else:
        lines = CHAINS if options.chains else list(single_calls())
        words = tuple(word for word in options.only.split(",") if word)
        lines = [line for line in lines if line.name.startswith(words)] if words else lines
        with numloom.config(cpu_compile="wait"):  # kernels, not what stands in for them while they compile
            points = measure(lines, [largest] if options.chains else sizes, options.budget)
    text = table_of(points) if options.chains else f"{summary(points)}\n\n{lines_below(points, int(options.least))}"
    print(text)
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(found) for found in points]) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(text + "\n", encoding="utf-8")
    if options.plot:
        save_plot(points, options.plot)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
