"""``python -m numloom bench``: a table of a minute, NumPy beside numloom on the device at hand."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from numloom.api.timing import benchmark
from numloom.base.config import config
from numloom.device import registry

LARGE, SMALL = 1_000_000, 1_000


@dataclass(frozen=True)
class BenchProgram:
    """A program that both libraries run: ``run(xp, *inputs)`` over random float32 arrays of these shapes."""

    name: str
    run: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def _standardise(xp: Any, x: Any) -> Any:
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def _smoothed(xp: Any, x: Any) -> Any:
    return (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[1:-1, 1:-1]) * xp.float32(0.2)


PROGRAMS = (
    BenchProgram("a + b, 1,000 elements", lambda xp, a, b: a + b, ((SMALL,), (SMALL,))),
    BenchProgram("a + b", lambda xp, a, b: a + b, ((LARGE,), (LARGE,))),
    BenchProgram(
        "softplus", lambda xp, x: xp.maximum(x, 0) + xp.log1p(xp.exp(-abs(x))), ((LARGE,),)
    ),
    BenchProgram("sum", lambda xp, x: x.sum(), ((LARGE,),)),
    BenchProgram("rows less mean, by deviation", _standardise, ((1000, 1000),)),
    BenchProgram("stencil of five points", _smoothed, ((1000, 1000),)),
    BenchProgram("cumulative sum", lambda xp, x: xp.cumsum(x), ((LARGE,),)),
    BenchProgram("sort", lambda xp, x: xp.sort(x), ((LARGE,),)),
    BenchProgram("matrix product", lambda xp, a, b: a @ b, ((500, 500), (500, 500))),
)  # fmt: skip


def bench(*, quick: bool = False, console: Console | None = None, programs: tuple[BenchProgram, ...] = PROGRAMS) -> int:
    """Time the programs, print the table; always 0."""
    console = console or Console()
    numloom = importlib.import_module("numloom")
    rng = np.random.default_rng(1)
    seconds = 0.2 if quick else 2.0
    table = Table(
        title=f"NumPy {np.__version__} and numloom {numloom.__version__} on {registry.current().name}, "
        "milliseconds a call",
        title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False,
    )  # fmt: skip
    table.add_column("float32, 1,000,000 elements", no_wrap=True)
    for heading in ("NumPy", "first", "numloom", "ratio"):
        table.add_column(heading, justify="right")
    with config(cpu_compile="wait"):
        for program in track(programs, "timing", console=console, transient=True):
            given = [rng.random(shape, np.float32) for shape in program.shapes]
            theirs = benchmark(program.run, (np, *given), n_warmup=1, max_duration=seconds).median
            arrays = [numloom.asarray(each) for each in given]
            begin = time.perf_counter()
            numloom.evaluate(program.run(numloom, *arrays))
            numloom.synchronize()
            first = time.perf_counter() - begin
            ours = benchmark(program.run, (numloom, *arrays), n_warmup=3, max_duration=seconds).median
            table.add_row(
                program.name, *(f"{1e3 * each:.3f}" for each in (theirs, first, ours)), f"{theirs / ours:.1f} ×"
            )
    console.print(table)
    console.print(
        "Medians of calls until the result is there. first: with compiling, if the kernel cache lacks it.\n"
        "ratio: NumPy / numloom. A machine that does other work gives other numbers: run it twice.",
        highlight=False,
    )
    return 0
