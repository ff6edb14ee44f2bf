"""The demo: three programs on real data under NumPy and under numloom, side by side."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from numloom.base.errors import MissingDependencyError
from numloom.command.examples import heat_elevation, logistic_digits, quantize_china
from numloom.command.script import compute
from numloom.device import registry
from numloom.engine.state import counters

EXAMPLES: tuple[ModuleType, ...] = (logistic_digits, quantize_china, heat_elevation)


def demo(output: Path, *, quick: bool = False, examples: tuple[ModuleType, ...] = EXAMPLES) -> int:
    """Run the examples, print the table, save the pictures; 0 if NumPy and numloom agree on all of them."""
    for module, package in (("sklearn", "scikit-learn"), ("matplotlib", "matplotlib")):
        if importlib.util.find_spec(module) is None:
            raise MissingDependencyError(
                f"the demo reads data of {package}, which is not installed", "run `pip install 'numloom[demo]'`"
            )
    console = Console()
    output.mkdir(parents=True, exist_ok=True)
    # The array module by its name, as a user's program has it.
    numloom = importlib.import_module("numloom")
    device = registry.current()
    table = Table(
        title=f"NumPy {np.__version__} and numloom on {device.name}, seconds", title_justify="left",
        box=box.SIMPLE_HEAD,
        collapse_padding=True, pad_edge=False,
    )  # fmt: skip
    table.add_column("example", no_wrap=True)
    table.add_column("device")
    for heading in ("kernels", "calls", "NumPy", "first", "again", "ratio"):
        table.add_column(heading, justify="right")
    table.add_column("agree")
    told, agreed = [], True
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        for example in examples:
            count = max(example.STEPS // 10, 2) if quick else example.STEPS
            inputs = example.load()
            # Both start warm: NumPy's first call loads BLAS threads, ours compiles kernels (shown as "first").
            compute(example, np, range(2), inputs)
            expected, numpy_time = compute(example, np, steps(progress, f"{example.TITLE}: NumPy", count), inputs)
            kernels, library_calls = counters.kernels, counters.library_calls
            label = f"{example.TITLE}: numloom"
            results, first_time = compute(example, numloom, steps(progress, label, count), inputs)
            kernels, library_calls = counters.kernels - kernels, counters.library_calls - library_calls
            results, again_time = compute(example, numloom, steps(progress, f"{label}, again", count), inputs)
            same, difference = example.agree(results, expected)
            agreed &= same
            table.add_row(
                example.__name__.rpartition(".")[2],
                device.name,
                str(kernels),
                str(library_calls),
                *(f"{seconds:.3f}" for seconds in (numpy_time, first_time, again_time)),
                f"{numpy_time / again_time:.1f} ×",
                "[green]yes[/]" if same else "[red]no[/]",
            )
            picture = example.draw(output, inputs, results, expected)
            told.append(f"{example.TITLE}: {example.describe(results)}; {difference}; {picture}")
    console.print(table)
    console.print(
        "Seconds from arrays on the host to answers on the host; the first run compiles\n"
        "what the kernel cache lacks. calls: library calls; ratio: NumPy / again.\n",
        highlight=False,
    )
    for line in told:
        console.print(line, highlight=False, soft_wrap=True)
    if not agreed:
        console.print("[red]numloom and NumPy do not agree.[/]")
    return 0 if agreed else 1


def steps(progress: Progress, label: str, count: int) -> Iterator[int]:
    """The steps of an example, shown while they are taken; the display is told ten times a second at most."""
    task: Any = progress.add_task(label, total=count)
    shown = time.perf_counter()
    for step in range(count):
        if (now := time.perf_counter()) - shown > 0.1:
            progress.update(task, completed=step)
            shown = now
        yield step
    progress.update(task, completed=count)
    progress.remove_task(task)
