"""What single small calls cost beside NumPy, with their results looked at: ``python -m benchmarks.constants``.

A line is a statement that runs in a loop under either library, in turns. The value of its last expression is looked
at: a number becomes Python's, arrays are computed (`numloom.evaluate`; a call of a function that does nothing for
NumPy's). Lines that loop over sizes or draws give the time of one turn. The best of several rounds counts, after
rounds in which numloom meets the line, plans it and has its kernels compiled.
"""

from __future__ import annotations

import argparse
import ast
import gc
import itertools
import json
import math
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy
from rich.console import Console
from rich.table import Table
from rich.text import Text

import numloom
from numloom.device.registry import current

GOAL, MAKING_GOAL = 1.2, 2.0
PASSES = 3
MAKING = "creation"
"""The section whose lines have the other goal."""


@dataclass(frozen=True)
class Line:
    """A statement, what stands before its loop, and what it belongs to.

    Attributes
    ----------
    text : str
        The statement, over ``np`` and the names of `SETUP` and `setup`. Its last expression is looked at.
    section : str
        What it is of.
    setup : str
        Statements that run once before.
    turns : int
        Turns of the loop that the statement has.
    loose : bool
        Whether its numbers are drawn or left over, so that only shapes and dtypes are NumPy's.
    """

    text: str
    section: str = ""
    setup: str = ""
    turns: int = 1
    loose: bool = False


SETUP = """
draws = numpy.random.default_rng(7)
x3, x10, x100, x1000 = (np.asarray(draws.random(n)) for n in (3, 10, 100, 1000))
y3, y10, y100, y1000 = (np.asarray(draws.random(n)) for n in (3, 10, 100, 1000))
f10, f1000 = np.asarray(draws.random(10), dtype="f4"), np.asarray(draws.random(1000), dtype="f4")
i10, i1000 = np.asarray(draws.integers(0, 10, 10)), np.asarray(draws.integers(0, 10, 1000))
z10, b10 = np.asarray(draws.random(10) + 1j), np.asarray(draws.random(10) < 0.5)
m3, m10, m30 = (np.asarray(draws.random((n, n)) + n * numpy.eye(n)) for n in (3, 10, 30))
s, k = x10[3], i10[3]
"""
"""Names that every line has: s is an element of floats, k one of integers."""

SECTIONS: dict[str, tuple[str, ...]] = {
    MAKING: (
        "np.zeros(10)", "np.zeros((10, 10))", "np.empty(10)", "np.ones(10)", "np.full(10, 0.5)",
        "np.zeros(10, dtype=int)", "np.zeros_like(x10)", "np.ones_like(x10)", "np.array([1.0, 2.0, 3.0])",
        "np.array([[1, 2], [3, 4]])", "np.array([x10[0], x10[1]])", "np.array(x10)", "np.asarray(x10)",
        "np.asarray([1, 2, 3])", "np.arange(10)", "np.arange(0.0, 1.0, 0.1)", "np.linspace(0, 1, 10)", "np.eye(3)",
        "np.identity(3)", "np.diag(x3)", "x10.copy()", "np.copy(m10)", "x10.astype('f4')", "x10.astype(int)",
        "np.meshgrid(x3, x10)",
    ),
    "elements": (
        "x10[3]", "m10[3, 4]", "i10[3]", "x10[-1]", "x10.item(3)", "x10[3] = 0.5; x10", "m10[3, 4] = 0.5; m10",
        "x10[3] += 0.5; x10", "x10[3] = x10[4]; x10", "x10[3], x10[4] = x10[4], x10[3]; x10",
        "m10[3, 4] = m10[4, 3] * 0.5; m10", "x10[k]",
    ),
    "slices": (
        "x10[2:5]", "m10[3]", "m10[:, 3]", "m10[2:5, 2:5]", "x10[::-1]", "x10[None]", "x10[2:5] = 0.5; x10",
        "m10[3] = x10; m10", "m10[:, 3] = x10; m10", "x10[2:5] += 0.5; x10", "m10[3] -= 0.5 * m10[4]; m10",
        "x10[1:] - x10[:-1]", "x10.fill(0.5); x10", "x10[:] = y10; x10",
    ),
    "numbers": (
        "s + 1", "s + s", "s * 0.5", "s / 3", "s ** 2", "-s", "abs(s)", "s < 0.5", "s == s", "k + 1", "k % 3", "k // 3",
        "np.sqrt(s)", "np.exp(s)", "np.maximum(s, 0.5)", "(s + 1) * (s - 1)", "float(s)", "int(k)", "bool(s < 0.5)",
        "min(s, 0.5)", "s.item()", "1 if s > 0.5 else 0",
    ),
    "ufuncs": (
        "x3 + y3", "x10 + y10", "x100 + y100", "x1000 + y1000", "x10 + 1", "x10 * y10", "x1000 * 2", "x10 / y10",
        "x10 ** 2", "f10 + f10", "f1000 * f1000", "i10 + i10", "i10 % 3", "i1000 + 1", "z10 * z10", "b10 & b10", "~b10",
        "x10 < y10", "x1000 < y1000", "np.sqrt(x10)", "np.exp(x10)", "np.exp(x1000)", "np.sin(x100)", "np.abs(x10)",
        "np.maximum(x10, y10)", "m10 + x10", "m10 * x10[:, None]", "x10 += 1e-9; x10", "x10 *= 1.0; x10",
        "np.add(x10, y10, out=y10); y10", "x10 * y10 + x10", "np.isnan(x10)", "np.outer(x3, x10)",
    ),
    "reductions": (
        "x3.sum()", "x10.sum()", "x100.sum()", "x1000.sum()", "np.sum(x10)", "i10.sum()", "f1000.sum()", "x10.mean()",
        "x10.std()", "x10.max()", "x1000.min()", "x10.argmax()", "x10.prod()", "b10.any()", "b10.all()",
        "np.count_nonzero(b10)", "m10.sum(axis=0)", "m10.sum(axis=1)", "m10.mean(axis=0)", "m10.max(axis=1)",
        "m10.argmin(axis=1)", "np.linalg.norm(x10)", "(x10 * y10).sum()", "np.abs(x10 - y10).max()",
        "np.allclose(x10, y10)", "np.median(x10)",
    ),
    "indices and masks": (
        "x10[i10]", "x1000[i1000]", "x10[[1, 3]]", "x10[b10]", "x1000[x1000 > 0.5]", "m10[i10, i10]", "m10[i10]",
        "x10[i10] = 0.5; x10", "x10[b10] = 0.5; x10", "x1000[x1000 > 0.5] = 0.5; x1000", "np.take(x10, i10)",
        "np.nonzero(b10)[0]", "np.where(b10)[0]", "np.where(b10, x10, y10)", "np.flatnonzero(b10)",
        "np.add.at(x10, i10, 1e-9); x10", "np.ix_(i10, i10)",
    ),
    "order and joins": (
        "np.sort(x10)", "np.sort(x1000)", "np.argsort(x10)", "np.searchsorted(x10, 0.5)", "np.searchsorted(x10, y10)",
        "np.cumsum(x10)", "np.diff(x10)", "np.concatenate([x10, y10])", "np.stack([x10, y10])", "np.vstack([x10, y10])",
        "np.hstack([x10, y10])", "np.append(x10, 1.0)", "np.clip(x10, 0.2, 0.8)", "np.roll(x10, 1)", "np.repeat(x3, 2)",
        "np.tile(x3, 2)", "np.bincount(i10)", "np.histogram(x10, bins=5)", "np.unique(i10)", "np.interp(0.5, x3, y3)",
    ),
    "shapes": (
        "x10.reshape(2, 5)", "m10.ravel()", "m10.T", "m10.flatten()", "np.transpose(m10)", "x10.shape", "len(x10)",
        "x10.size", "x10.ndim", "x10.dtype", "np.expand_dims(x10, 0)", "np.broadcast_to(x10, (3, 10))",
    ),
    "looks": (
        "x10.tolist()", "(x10 + 1).tolist()", "list(x10)", "[v for v in x10]", "[float(v) for v in x10]",
        "for v in m10: v", "float(x10.sum())", "int(i10.max())", "bool((x10 < 2).all())", "m3.tolist()",
        "float(x10 @ y10)", "int(np.argmax(x10))",
    ),
    "matrices": (
        "x3 @ y3", "np.dot(x10, y10)", "m3 @ m3", "m3 @ x3", "m10 @ m10", "m10 @ x10", "m30 @ m30",
        "np.linalg.solve(m3, x3)", "np.linalg.inv(m3)", "np.linalg.det(m3)", "np.linalg.solve(m10, x10)",
        "np.cross(x3, y3)", "np.trace(m3)", "np.einsum('ij,j->i', m3, x3)", "m3 @ m3 @ m3.T + m3",
        "np.linalg.eigh(m3 + m3.T)[0]",
    ),
}  # fmt: skip
"""Statements, by what they are of."""

DRAWS = ("random()", "random(3)", "normal()", "normal(0, 1, 10)", "standard_normal(3)", "integers(0, 10)",
         "uniform(-1, 1)", "exponential(2.0)", "permutation(10)", "choice(10)")  # fmt: skip

LINES: tuple[Line, ...] = (
    *(Line(text, section, loose="empty" in text) for section, texts in SECTIONS.items() for text in texts),
    *(Line(f"rng.{draw}", "draws", "rng = np.random.default_rng(1)", loose=True) for draw in DRAWS),
    Line("np.random.rand()", "draws", "np.random.seed(1)", loose=True),
    Line("np.random.randint(10)", "draws", "np.random.seed(1)", loose=True),
    Line("for _ in range(100): rng.random() < 0.5", "draws", "rng = np.random.default_rng(1)", 100, True),
    Line("for n in range(1, 1001): x[:n].sum()", "sizes", "x = np.arange(8000.0)", 1000),
    Line("for n in range(1, 1101): x[:n].sum()", "sizes", "x = np.arange(8000.0)", 1100),
    Line("for n in range(1, 5001): x[:n].sum()", "sizes", "x = np.arange(8000.0)", 5000),
    Line("for n in range(1, 8001): x[:n] + 1", "sizes", "x = np.arange(8000.0)", 8000),
    Line("for n in range(1, 1001): x[n - 1 : n + 2].mean()", "sizes", "x = np.arange(8000.0)", 1000),
    Line("for n in range(1, 1001): x[n] = x[n - 1] * 0.5 + 1\nx", "sizes", "x = np.arange(8000.0)", 1000),
    Line("for n in range(1, 1001): np.zeros(n)", "sizes", "", 1000),
)

NUMBERS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
"""Python's numbers, by kinds of dtypes."""

LOOP = """
def timed(np, times, clock, look):
{setup}
    begin = clock()
    for _ in times:
{body}
    yield clock() - begin
"""


class Looking(ast.NodeTransformer):
    """Has the value of the last expression of a statement, and of its loop, looked at."""

    def __init__(self, call: str) -> None:
        self.call = call

    def last(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements of which the last, if it is an expression, is looked at."""
        end = body[-1]
        if isinstance(end, ast.Expr):
            return [*body[:-1], ast.parse(self.call.format(ast.unparse(end))).body[0]]
        return [*body[:-1], self.visit(end)]

    def visit_For(self, node: ast.For) -> ast.For:
        """A loop: what its last statement gives."""
        node.body = self.last(node.body)
        return node


def looked_at(text: str, call: str = "look({})") -> str:
    r"""The statement with its result looked at.

    Examples
    --------
    >>> looked_at("x[3] = 1; x")
    'x[3] = 1\nlook(x)'
    >>> print(looked_at("for n in range(3): x[:n].sum()", "float({})"))
    for n in range(3):
        float(x[:n].sum())
    """
    return "\n".join(map(ast.unparse, Looking(call).last(ast.parse(text).body)))


def indented(text: str, depth: int) -> str:
    """Text that stands inside of something."""
    return "\n".join("    " * depth + line for line in text.strip().splitlines())


def results(line: Line, np: Any) -> list[Any]:
    """What a line's statement gives, once; each turn of a loop."""
    found: list[Any] = []
    space = {"np": np, "numpy": numpy, "look": found.append}
    exec(f"{SETUP}\n{line.setup}\n{looked_at(line.text)}", space)
    return found


def way_to_look(given: Any) -> str:
    """How a result is looked at: the call of it, as text."""
    parts = list(given) if isinstance(given, (tuple, list)) else []
    if parts and all(hasattr(part, "dtype") for part in parts):
        return "look(*{})" if parts[0].ndim else f"list(map({NUMBERS[parts[0].dtype.kind]}, {{}}))"
    if not hasattr(given, "dtype"):
        return "id({})"  # Python's own
    return "look({})" if given.ndim else f"{NUMBERS[given.dtype.kind]}({{}})"


def unseen(*arrays: Any) -> None:
    """What looks at several arrays of NumPy's, whose numbers are there: nothing."""


class Statement:
    """A line under one library, timed in batches."""

    def __init__(self, line: Line, np: Any) -> None:
        self.np, self.turns = np, line.turns
        given = results(line, np)
        self.way = way_to_look(given[0] if given else None)
        body = looked_at(line.text, self.way)
        space: dict[str, Any] = {"numpy": numpy}
        # Each batch has fresh arrays, so that what a line adds up stays small.
        exec(LOOP.format(setup=indented(f"{SETUP}\n{line.setup}", 1), body=indented(body, 2)), space)
        self.timed: Callable[..., Iterator[float]] = space["timed"]
        self.look = numloom.evaluate if np is numloom else id if "*" not in self.way else unseen

    def seconds(self, calls: int) -> float:
        """Seconds of a call (of a turn of its loop), the work that it left pending included."""
        run = self.timed(self.np, itertools.repeat(None, calls), time.perf_counter, self.look)
        spent = next(run)  # the arrays of the batch live on while it is finished
        if self.np is numloom:
            begin = time.perf_counter()
            numloom.synchronize()
            spent += time.perf_counter() - begin
        run.close()
        return spent / calls / self.turns


@dataclass(frozen=True)
class Found:
    """Nanoseconds of a line, ours and NumPy's."""

    text: str
    section: str
    ours: float
    numpy: float

    @property
    def ratio(self) -> float:
        """Ours ÷ NumPy's."""
        return self.ours / self.numpy

    @property
    def within(self) -> bool:
        """Whether it is within its goal."""
        return self.ratio <= (MAKING_GOAL if self.section == MAKING else GOAL)


def measured(lines: list[Line], rounds: int, batch: float) -> list[Found]:
    """The best times of lines in rounds of batches of about so many seconds, the libraries in turns.

    The rounds of a line follow one another, since others would have it forgotten; a noisy moment does not last until
    the next pass over all lines.
    """
    pairs = [(Statement(line, numloom), Statement(line, numpy)) for line in lines]
    calls = []
    for pair in pairs:  # met, planned where it comes to that, and its kernels asked for
        for statement in pair:
            begin = time.perf_counter()
            while time.perf_counter() - begin < 3 * batch:
                statement.seconds(10)
    if (builder := getattr(current(), "builder", None)) is not None:
        builder.drain(60)
    for pair in pairs:
        calls.append([max(1, int(batch / (one.seconds(10) * one.turns))) for one in pair])
    best = [[math.inf, math.inf] for _ in pairs]
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(PASSES):
            for pair, times, least in zip(pairs, calls, best, strict=True):
                for _, (which, statement) in itertools.product(range(rounds), enumerate(pair)):
                    least[which] = min(least[which], statement.seconds(times[which]))
    finally:
        if enabled:
            gc.enable()
    return [
        Found(line.text, line.section, 1e9 * ours, 1e9 * theirs)
        for line, (ours, theirs) in zip(lines, best, strict=True)
    ]


def summary(found: list[Found]) -> dict[str, float]:
    """Lines, the geometric mean and the median of their ratios, and how many are within their goals."""
    ratios = [one.ratio for one in found]
    return {
        "lines": len(found),
        "mean": statistics.geometric_mean(ratios),
        "median": statistics.median(ratios),
        "within": sum(one.within for one in found),
    }


def by_section(found: list[Found]) -> Table:
    """`summary` of each section and of all."""
    made = Table("", "lines", "geometric mean", "median", f"within {GOAL:g} ({MAKING} {MAKING_GOAL:g})")
    for section in [*dict.fromkeys(one.section for one in found), ""]:
        own = summary([one for one in found if section in ("", one.section)])
        made.add_row(
            section or "all", f"{own['lines']}", f"{own['mean']:.2f}", f"{own['median']:.2f}", f"{own['within']}"
        )
    return made


def by_ratio(found: list[Found]) -> Table:
    """The lines, the slowest beside NumPy first."""
    made = Table("statement", "section", "numloom, ns", "NumPy, ns", "ratio")
    for one in sorted(found, key=lambda one: -one.ratio):
        mark = "" if one.within else "! "
        made.add_row(
            Text(one.text.replace("\n", "; ")),
            one.section,
            f"{one.ours:,.0f}",
            f"{one.numpy:,.0f}",
            f"{mark}{one.ratio:.2f}",
        )
    return made


def chosen(words: str) -> list[Line]:
    """Lines whose section or text has one of the words (split at ;)."""
    asked = [word.strip() for word in words.split(";") if word.strip()]
    return [line for line in LINES if not asked or any(word in f"{line.section} {line.text}" for word in asked)]


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constants", description=__doc__)
    parser.add_argument("--only", default="", help="lines whose section or text has one of these words (split at ;)")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, for a first impression")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    lines = chosen(options.only)
    if not lines:
        parser.exit(2, "no line has such a word\n")
    warnings.simplefilter("ignore")
    with numpy.errstate(all="ignore"):
        found = measured(lines, 2 if options.quick else options.rounds, 0.002 if options.quick else 0.005)
    console = Console(width=None if os.isatty(1) else 120, highlight=False)
    console.print(by_ratio(found), by_section(found))
    if options.json:
        rows = [{**asdict(one), "ratio": one.ratio} for one in found]
        options.json.write_text(
            json.dumps({"summary": summary(found), "rows": rows}, indent=1) + "\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
