"""Programs that do much small work, beside NumPy: ``python -m benchmarks.small_work``.

Each program runs at each size in a fresh process with an empty kernel cache: NumPy's best time, then numloom's first
and third run, the making of the data and the reading of the results included, the opening of the device not. What is
beyond a goal has a mark. The status is 1 if a result is not NumPy's or a program fails.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.small_work.catalogue import PROGRAMS
from benchmarks.small_work.program import Program
from benchmarks.small_work.report import first_ratio, goals, marked, save_json, summary, table, third_ratio, worst
from benchmarks.small_work.timing import Row, run_apart, run_one


def main() -> int:
    """Read the command line, run, print and save."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.small_work", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="PATTERN", help="words of names or fields, comma-separated")
    parser.add_argument("--quick", action="store_true", help="only the smallest size of each")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each process (20)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "SIZE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(options.one[0], int(options.one[1]))
        return 0
    pairs = chosen(options.only, options.quick)
    if not pairs:
        parser.exit(2, "no program has such a name\n")

    import numloom
    from numloom.device import registry

    on_gpu = registry.current().name != "cpu"
    device = "GPU" if on_gpu else f"CPU, {len(os.sched_getaffinity(0))} threads"
    versions = {"numloom": numloom.__version__, "numpy": np.__version__}
    title = ", ".join([device, *(f"{name} {version}" for name, version in versions.items())])
    console = Console(width=None if os.isatty(1) else 200)
    console.print(title, f"– {len(pairs)} runs of at most {options.limit:g} s", highlight=False)
    rows = run_all(pairs, options.limit)
    console.print(table(rows, title, on_gpu))
    console.print(f"!: beyond a goal ({goals(on_gpu)})", highlight=False)
    console.print(summary(rows, on_gpu))
    console.print("worst third runs:", *worst(rows), sep="\n  ", markup=False, highlight=False)
    failed = [row for row in rows if row.wrong or (row.third is None and not row.note.startswith("over"))]
    for row in failed:
        console.print(f"{row.name} {row.size}: {row.wrong or row.note}", style="red", markup=False)
    if options.json:
        save_json(rows, device, versions, options.json)
        console.print(f"wrote {options.json}")
    return 1 if failed else 0


def chosen(only: str, quick: bool) -> list[tuple[Program, int]]:
    """The programs with their sizes."""
    words = [word.strip().lower() for word in only.split(",") if word.strip()]
    return [
        (program, size)
        for program in PROGRAMS.values()
        if not words or any(word in f"{program.field}.{program.name}" for word in words)
        for size in program.sizes[: 1 if quick else None]
    ]


def run_all(pairs: list[tuple[Program, int]], limit: float) -> list[Row]:
    """The rows, those before Ctrl-C if it comes; how far it is, is said on the error stream."""
    console, rows = Console(stderr=True), []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        contextlib.suppress(KeyboardInterrupt),  # what was measured is reported
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
    ):
        task = progress.add_task("", total=len(pairs))
        for program, size in pairs:
            progress.update(task, description=f"{program.name} {size}")
            row = run_apart(program, size, limit)
            rows.append(row)
            progress.advance(task)
            if not console.is_terminal:
                ratios = " ".join(f"{marked(ratio(row), True):>12}" for ratio in (first_ratio, third_ratio))
                said = f"{len(rows):3}/{len(pairs)} {row.name:24} {size:8} {ratios} {row.wrong or row.note}"
                console.print(said, markup=False, highlight=False, soft_wrap=True)
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
