"""Single calls beside NumPy, over functions, dtypes, orders, shapes and sizes: ``python -m benchmarks.walk``."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

import numloom as nl
from numloom.device.registry import current

Call = Callable[[Any, Any, Any], Any]
"""Of a namespace, an array, and indices that are within each of its axes."""

CALLS: dict[str, Call] = {
    "a + 1": lambda xp, a, i: a + 1,
    "a * a": lambda xp, a, i: a * a,
    "a + a[0]": lambda xp, a, i: a + a[0],
    "a // 3": lambda xp, a, i: a // 3,
    "a == a[::-1]": lambda xp, a, i: a == a[::-1],
    "a < a.T": lambda xp, a, i: a < a.T,
    "sqrt(a)": lambda xp, a, i: xp.sqrt(a),
    "exp(a)": lambda xp, a, i: xp.exp(a),
    "abs(a)": lambda xp, a, i: xp.abs(a),
    "maximum(a, a[::-1])": lambda xp, a, i: xp.maximum(a, a[::-1]),
    "clip(a, 1, 5)": lambda xp, a, i: xp.clip(a, 1, 5),
    "where(a > 2, a, 0)": lambda xp, a, i: xp.where(a > 2, a, 0),
    "outer(a[0], a[1])": lambda xp, a, i: xp.outer(a[0], a[1]),
    "a.astype(f4)": lambda xp, a, i: a.astype("f4"),
    "a.sum()": lambda xp, a, i: a.sum(),
    "a.sum(0)": lambda xp, a, i: a.sum(0),
    "a.sum(1)": lambda xp, a, i: a.sum(1),
    "a.mean()": lambda xp, a, i: a.mean(),
    "a.mean(1)": lambda xp, a, i: a.mean(1),
    "a.std()": lambda xp, a, i: a.std(),
    "a.std(0)": lambda xp, a, i: a.std(0),
    "a.std(1)": lambda xp, a, i: a.std(1),
    "a.prod()": lambda xp, a, i: a.prod(),
    "a.max()": lambda xp, a, i: a.max(),
    "a.max(0)": lambda xp, a, i: a.max(0),
    "a.max(1)": lambda xp, a, i: a.max(1),
    "a.argmax()": lambda xp, a, i: a.argmax(),
    "a.argmax(0)": lambda xp, a, i: a.argmax(0),
    "a.argmax(1)": lambda xp, a, i: a.argmax(1),
    "ptp(a)": lambda xp, a, i: xp.ptp(a),
    "a.any()": lambda xp, a, i: a.any(),
    "a.all(1)": lambda xp, a, i: a.all(1),
    "count_nonzero(a)": lambda xp, a, i: xp.count_nonzero(a),
    "cumsum(a, 0)": lambda xp, a, i: xp.cumsum(a, 0),
    "cumsum(a, 1)": lambda xp, a, i: xp.cumsum(a, 1),
    "diff(a, axis=1)": lambda xp, a, i: xp.diff(a, axis=1),
    "median(a)": lambda xp, a, i: xp.median(a),
    "roll(a, 3)": lambda xp, a, i: xp.roll(a, 3),
    "roll(a, 3, 0)": lambda xp, a, i: xp.roll(a, 3, 0),
    "roll(a, 3, 1)": lambda xp, a, i: xp.roll(a, 3, 1),
    "pad(a, 1)": lambda xp, a, i: xp.pad(a, 1),
    "pad(a, 1, edge)": lambda xp, a, i: xp.pad(a, 1, "edge"),
    "pad(a, 2, reflect)": lambda xp, a, i: xp.pad(a, 2, "reflect"),
    "pad(a, 1, wrap)": lambda xp, a, i: xp.pad(a, 1, "wrap"),
    "repeat(a, 2, 0)": lambda xp, a, i: xp.repeat(a, 2, 0),
    "repeat(a, 2, 1)": lambda xp, a, i: xp.repeat(a, 2, 1),
    "tile(a, (2, 2))": lambda xp, a, i: xp.tile(a, (2, 2)),
    "stack([a, a], -1)": lambda xp, a, i: xp.stack([a, a], -1),
    "concatenate([a, a], 0)": lambda xp, a, i: xp.concatenate([a, a], 0),
    "concatenate([a, a], 1)": lambda xp, a, i: xp.concatenate([a, a], 1),
    "a[:, ::-1].copy()": lambda xp, a, i: a[:, ::-1].copy(),
    "a.T.copy()": lambda xp, a, i: a.T.copy(),
    "a.ravel()": lambda xp, a, i: a.T.ravel(),
    "rot90(a).copy()": lambda xp, a, i: xp.rot90(a).copy(),
    "a[i]": lambda xp, a, i: a[i],
    "a[:, i]": lambda xp, a, i: a[:, i],
    "take(a, i, 1)": lambda xp, a, i: xp.take(a, i, 1),
    "a[i, i]": lambda xp, a, i: a[i, i],
    "a[a > 2]": lambda xp, a, i: a[a > 2],
    "nonzero(a > 2)": lambda xp, a, i: xp.nonzero(a > 2)[0],
    "tril(a)": lambda xp, a, i: xp.tril(a),
    "trace(a)": lambda xp, a, i: xp.trace(a),
    "sort(a, 1)": lambda xp, a, i: xp.sort(a, 1),
    "argsort(a, 1)": lambda xp, a, i: xp.argsort(a, 1),
    "unique(a)": lambda xp, a, i: xp.unique(a),
    "isin(a, [1, 2, 3])": lambda xp, a, i: xp.isin(a, [1, 2, 3]),
    "packbits(a > 2)": lambda xp, a, i: xp.packbits(a > 2),
    "a @ a": lambda xp, a, i: a @ a,
    "a @ a[0]": lambda xp, a, i: a @ a[0],
}
DTYPES = "?BhifdFD"
SIZES = (64, 512)
LIMITS = (1.2, 2, 5)
SHAPES: dict[str, Callable[[int], tuple[int, ...]]] = {
    "square": lambda n: (n, n),
    "deep": lambda n: (n // 8, 8, n),
    "points": lambda n: (n * n // 3, 3),
}
"""Shapes of about as many elements as a square of a size."""


@dataclass(frozen=True)
class Line:
    """One call: our time and NumPy's, in microseconds."""

    call: str
    dtype: str
    order: str
    shape: tuple[int, ...]
    size: int
    ours: float
    numpy: float

    @property
    def ratio(self) -> float:
        """Ours ÷ NumPy's."""
        return self.ours / self.numpy


def values(shape: tuple[int, ...], char: str, order: str) -> Any:
    """Random numbers from 0 to 100 (or truth values, 3 of 10 true)."""
    rng = np.random.default_rng(shape)
    numbers = rng.random(shape)
    made = numbers < 0.3 if char == "?" else numbers * 100 + (1j * rng.random(shape) if char in "FD" else 0)
    return np.asarray(made, dtype=char, order=order)  # type: ignore[call-overload]


def seconds(call: Callable[[], object], budget: float) -> float:
    """The best time of a call, of those that the budget has room for, and of two at least."""
    best, end, rounds = math.inf, time.perf_counter() + budget, 0
    while rounds < 2 or time.perf_counter() < end:
        rounds += 1
        begun = time.perf_counter()
        call()
        first = time.perf_counter() - begun
        times = int(min(100, 0.001 // max(first, 1e-7)))
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter() - begun) / (times + 1))
    return best


def measured(name: str, char: str, order: str, kind: str, size: int, budget: float) -> Line | None:
    """One line; None where NumPy refuses the dtype or the shape."""
    shape = SHAPES[kind](size)
    call, host = CALLS[name], values(shape, char, order)
    index = np.random.default_rng(1).integers(0, min(shape), size)
    try:
        call(np, host, index)
    except (TypeError, ValueError):
        return None
    array, places = nl.asarray(host), nl.asarray(index)
    nl.evaluate(array, places)

    def ours() -> None:
        nl.evaluate(call(nl, array, places))

    seconds(ours, budget)  # Until it has a plan, and that its kernels.
    builder = getattr(current(), "builder", None)
    if builder is not None:
        builder.drain(30)
    return Line(name, char, order, shape, size, 1e6 * seconds(ours, budget),
                1e6 * seconds(lambda: call(np, host, index), budget))  # fmt: skip


def lines(names: list[str], dtypes: str, kinds: list[str], sizes: list[int], budget: float) -> Iterator[Line]:
    """All of them."""
    for size, kind, char, order, name in itertools.product(sizes, kinds, dtypes, "CF", names):
        found = measured(name, char, order, kind, size, budget)
        if found is not None:
            yield found


def summary(found: list[Line]) -> str:
    """The geometric mean of the ratios, and how many are above each limit."""
    mean = math.exp(sum(math.log(one.ratio) for one in found) / len(found))
    above = ", ".join(f"{sum(one.ratio > limit for one in found)} above {limit:g}" for limit in LIMITS)
    return f"{len(found)} lines, geometric mean {mean:.2f}; {above}"


def table(found: list[Line], worst: int) -> Table:
    """The lines in which we are slowest beside NumPy."""
    made = Table("call", "dtype", "order", "shape", "numloom, µs", "NumPy, µs", "ratio")
    for one in sorted(found, key=lambda one: -one.ratio)[:worst]:
        made.add_row(Text(one.call), one.dtype, one.order, " × ".join(map(str, one.shape)), f"{one.ours:.1f}",
                     f"{one.numpy:.1f}", f"{one.ratio:.1f}")  # fmt: skip
    return made


def main() -> None:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walk", description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--shapes", default=",".join(SHAPES), help="kinds of shapes")
    parser.add_argument("--dtypes", default=DTYPES, help="characters of NumPy's")
    parser.add_argument("--only", default="", help="calls that have one of these words (split at ;)")
    parser.add_argument("--budget", type=float, default=0.02, help="seconds of measuring a call")
    parser.add_argument("--worst", type=int, default=10, help="lines that are printed")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    words = [word.strip() for word in options.only.split(";") if word.strip()]
    names = [name for name in CALLS if not words or any(word in name for word in words)]
    sizes, kinds = [int(size) for size in options.sizes.split(",")], options.shapes.split(",")
    warnings.simplefilter("ignore")
    found: list[Line] = []
    with np.errstate(all="ignore"):
        found += lines(names, options.dtypes, kinds, sizes, options.budget)
    console = Console(width=120, highlight=False, markup=False)
    for size, kind in itertools.product(sizes, kinds):
        own = [one for one in found if one.size == size and one.shape == SHAPES[kind](size)]
        if own:
            console.print(f"{kind}, {size}²: {summary(own)}")
            console.print(table(own, options.worst))
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
