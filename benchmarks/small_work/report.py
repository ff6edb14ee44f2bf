"""The table of programs, its means, and its worst lines."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from benchmarks.small_work.timing import FIRST_GOAL, GPU_FIRST_GOAL, GPU_THIRD_GOAL, THIRD_GOAL, Row

MARK = "! "
Ratio = Callable[[Row], float | None]
Goal = tuple[float, float]


def asked(on_gpu: bool) -> tuple[Goal, Goal]:
    """The goals of the first and of the third run: so many times NumPy's time, and seconds more."""
    return (GPU_FIRST_GOAL, GPU_THIRD_GOAL) if on_gpu else (FIRST_GOAL, THIRD_GOAL)


def first_ratio(row: Row) -> float | None:
    """The first run over NumPy's time."""
    return row.ratio(row.first)


def third_ratio(row: Row) -> float | None:
    """The third run over NumPy's time."""
    return row.ratio(row.third)


def table(rows: Sequence[Row], title: str, on_gpu: bool) -> Table:
    """All lines; what is beyond a goal is marked."""
    first_goal, third_goal = asked(on_gpu)
    shown = Table(title=title, title_justify="left")
    shown.add_column("program", no_wrap=True)
    for name in ("size", "NumPy, ms", "first, ms", "third, ms", "first ÷ NumPy", "third ÷ NumPy"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("equal to", no_wrap=True)
    field = None
    for row in rows:
        if row.field != field:
            shown.add_section()
            field = row.field
        cells = [milli(seconds) for seconds in (row.numpy, row.first, row.third)]
        first = marked(first_ratio(row), row.reaches(row.first, first_goal))
        third = marked(third_ratio(row), row.reaches(row.third, third_goal))
        agrees = f"[red]{row.agrees}[/]" if row.wrong else row.agrees or "–"
        noted = f"{agrees}, {escape(row.note)}" if row.note else agrees
        shown.add_row(row.name, f"{row.size}", *cells, first, third, noted)
    return shown


def marked(ratio: float | None, reached: bool) -> str:
    """A ratio, with a mark where a goal is missed."""
    text = "–" if ratio is None else f"{ratio:.2f}" if ratio < 100 else f"{ratio:,.0f}"
    return text if reached else f"[red]{MARK}{text}[/]"


def milli(seconds: float | None) -> str:
    """Milliseconds with three digits or more."""
    if seconds is None:
        return "–"
    value = 1e3 * seconds
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def summary(rows: Sequence[Row], on_gpu: bool) -> Table:
    """Geometric means of the ratios that there are, and how many lines reach the goals, by field and of all."""
    shown = Table(title="geometric means of ratios, and lines within the goals", title_justify="left")
    shown.add_column("field", no_wrap=True)
    for name in ("lines", "first", "reached", "third", "reached", "without a third run", "wrong"):
        shown.add_column(name, justify="right")
    for field in dict.fromkeys(row.field for row in rows):
        shown.add_row(field, *summary_cells([row for row in rows if row.field == field], on_gpu))
    shown.add_section()
    shown.add_row("all", *summary_cells(rows, on_gpu))
    return shown


def summary_cells(rows: Sequence[Row], on_gpu: bool) -> list[str]:
    """One line of the summary."""
    first_goal, third_goal = asked(on_gpu)
    firsts = sum(row.reaches(row.first, first_goal) for row in rows)
    thirds = sum(row.reaches(row.third, third_goal) for row in rows)
    missing, wrong = sum(row.third is None for row in rows), sum(bool(row.wrong) for row in rows)
    return [
        f"{len(rows)}", marked(mean_ratio(rows, first_ratio), True), f"{firsts}",
        marked(mean_ratio(rows, third_ratio), True), f"{thirds}", f"{missing}", f"{wrong}",
    ]  # fmt: skip


def goals(on_gpu: bool) -> str:
    """What is asked for, in words."""
    (first, more), (third, _) = asked(on_gpu)
    return f"third ≤ {third:g} × NumPy, first ≤ {first:g} × NumPy + {1e3 * more:g} ms"


def mean_ratio(rows: Iterable[Row], ratio: Ratio) -> float | None:
    """The geometric mean of the ratios that there are."""
    logs = [math.log(found) for row in rows if (found := ratio(row))]
    return math.exp(sum(logs) / len(logs)) if logs else None


def worst(rows: Sequence[Row], count: int = 10) -> list[str]:
    """The lines with the largest ratios of the third run; those that did not come so far stand first."""

    def badness(row: Row) -> float:
        found = third_ratio(row)
        return math.inf if found is None else found

    lines = []
    for row in sorted(rows, key=badness, reverse=True)[:count]:
        found = third_ratio(row)
        text = row.note or "no third run" if found is None else f"{found:,.2f} × NumPy's {milli(row.numpy)} ms"
        lines.append(f"{row.name} {row.size}: {text}")
    return lines


def save_json(rows: Sequence[Row], device: str, versions: dict[str, str], path: Path) -> None:
    """Write everything that was measured."""
    lines = [
        {**dataclasses.asdict(row), "first_ratio": first_ratio(row), "third_ratio": third_ratio(row)} for row in rows
    ]
    text = json.dumps({"device": device, "versions": versions, "rows": lines}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
