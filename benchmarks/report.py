"""What was measured as a table, as JSON and as a plot."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from benchmarks.cases import Case
from benchmarks.measure import Measurement

OURS = "numloom"
# Below this floor a call's time is what starting it costs, and a share of the floor says nothing.
SMALLEST_FLOOR = 2e-6


@dataclass
class Report:
    """A run: the machine, the libraries and every measurement.

    Attributes
    ----------
    machine : dict
        Device, bytes a second, instructions a second and so on.
    versions : dict
        Version by library.
    cases : dict
        Measurements by case's name and library.
    floors : dict
        Floor in seconds by case's name; None where it is nothing.
    """

    machine: dict[str, Any]
    versions: dict[str, str]
    cases: dict[str, dict[str, Measurement]] = field(default_factory=dict)
    floors: dict[str, float | None] = field(default_factory=dict)

    def add(self, case: Case, found: dict[str, Measurement]) -> None:
        """Take in one case."""
        self.cases[case.name] = found
        rate = self.machine.get("instructions_per_second")
        floor = max(case.bytes / self.machine["bytes_per_second"], case.instructions / rate if rate else 0.0)
        self.floors[case.name] = floor if floor >= SMALLEST_FLOOR else None

    def best_peer(self, name: str) -> float | None:
        """Seconds of the fastest other library."""
        times = [found.seconds for library, found in self.cases[name].items() if library != OURS]
        return min((seconds for seconds in times if seconds is not None), default=None)

    def ratio(self, name: str) -> float | None:
        """How many times as fast as the best peer we are."""
        ours, peer = self.cases[name].get(OURS), self.best_peer(name)
        return peer / ours.seconds if ours and ours.seconds and peer else None

    def share(self, name: str) -> float | None:
        """The floor as a fraction of our time (of the best time where we did not run)."""
        floor = self.floors[name]
        ours = self.cases[name].get(OURS)
        seconds = ours.seconds if ours else self.best_peer(name)
        return floor / seconds if floor and seconds else None


def table(report: Report) -> Table:
    """The report for a terminal."""
    libraries = list(report.versions)
    shown = Table(
        title=f"{report.machine['device']}, {report.machine['bytes_per_second'] / 1e12:.3g} TB/s read plus written; "
        "µs a call, median",
        title_justify="left",
    )
    shown.add_column("case", no_wrap=True)
    shown.add_column("floor", justify="right")
    for library in libraries:
        shown.add_column(library, justify="right", style="bold" if library == OURS else "")
    if OURS in libraries:
        shown.add_column("best peer ÷ ours", justify="right")
    shown.add_column("of floor", justify="right")
    if OURS in libraries:
        shown.add_column("kernels", justify="right")
        shown.add_column("first, ms", justify="right")
    notes = []
    for name, found in report.cases.items():
        row = [escape(name), micro(report.floors[name])]
        for library in libraries:
            item = found.get(library, Measurement(note="not run"))
            row.append(micro(item.seconds) if item.seconds is not None else "–")
            if item.seconds is None:
                notes.append(f"{name}, {library}: {item.note}")
        ours = found.get(OURS, Measurement())
        ratio, share = report.ratio(name), report.share(name)
        if OURS in libraries:
            colour = "" if ratio is None else "green" if ratio >= 1 else "red" if ratio < 0.9 else "yellow"
            text = "–" if ratio is None else f"{ratio:.2f}"
            row.append(f"[{colour}]{text}[/]" if colour else text)
        row.append("–" if share is None else f"{100 * share:.0f} %")
        if OURS in libraries:
            row.append("–" if ours.kernels is None else f"{ours.kernels:g}")
            row.append("–" if ours.first is None else f"{1e3 * ours.first:.1f}")
        shown.add_row(*row)
    shown.caption = escape("\n".join(notes)) or None
    shown.caption_justify = "left"
    return shown


def micro(seconds: float | None) -> str:
    """Microseconds with three digits."""
    if seconds is None:
        return "–"
    value = 1e6 * seconds
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def markdown(report: Report) -> str:
    """The report as a table for docs/performance.md."""
    libraries = list(report.versions)
    lines = [
        "| case | floor | " + " | ".join(libraries) + " | best peer ÷ ours | of floor | kernels | first, ms |",
        "| --- " + "| ---: " * (len(libraries) + 5) + "|",
    ]
    for name, found in report.cases.items():
        ours = found.get(OURS, Measurement())
        ratio, share = report.ratio(name), report.share(name)
        cells = [name, micro(report.floors[name])]
        cells += [micro(found[library].seconds) if library in found else "–" for library in libraries]
        cells += [
            "–" if ratio is None else f"{ratio:.2f}",
            "–" if share is None else f"{100 * share:.0f} %",
            "–" if ours.kernels is None else f"{ours.kernels:g}",
            "–" if ours.first is None else f"{1e3 * ours.first:.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def save_json(report: Report, path: Path) -> None:
    """Write everything that was measured."""
    cases = [
        {
            "case": name,
            "floor": report.floors[name],
            "ratio_to_best_peer": report.ratio(name),
            "share_of_floor": report.share(name),
            "libraries": {library: dataclasses.asdict(item) for library, item in found.items()},
        }
        for name, found in report.cases.items()
    ]
    text = json.dumps({"machine": report.machine, "versions": report.versions, "cases": cases}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def device_name() -> str:
    """The GPU, or how many threads the host has."""
    from numloom import cuda

    if not cuda.is_available():
        return f"CPU, {len(os.sched_getaffinity(0))} threads"
    return str(cuda.runtime.getDeviceProperties(0)["name"].decode())


def save_rows(rows: Sequence[Any], versions: dict[str, str], path: Path, **more: Any) -> None:
    """Write the rows (dataclasses) of a small benchmark, with when, where and of which versions they are."""
    about = {"date": datetime.date.today().isoformat(), "device": device_name(), "versions": versions, **more}
    text = json.dumps({"about": about, "rows": [dataclasses.asdict(row) for row in rows]}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def save_plot(report: Report, path: Path) -> None:
    """Draw each library's time as a multiple of ours (or of the best), one line of dots a case."""
    from matplotlib.figure import Figure

    names = [name for name in report.cases if any(item.seconds for item in report.cases[name].values())]
    figure = Figure(figsize=(9, 1.5 + 0.28 * len(names)), layout="constrained")
    axis = figure.subplots()
    markers = "oDs^vP*X"
    for index, library in enumerate(report.versions):
        xs, ys = [], []
        for line, name in enumerate(names):
            item = report.cases[name].get(library)
            reference = report.cases[name].get(OURS)
            base = reference.seconds if reference and reference.seconds else report.best_peer(name)
            if item and item.seconds and base:
                xs.append(item.seconds / base)
                ys.append(line)
        axis.plot(xs, ys, markers[index % len(markers)], label=library, alpha=0.8)
    floors = [(report.floors[name], report.cases[name].get(OURS), line) for line, name in enumerate(names)]
    known = [(floor / ours.seconds, line) for floor, ours, line in floors if floor and ours and ours.seconds]
    if known:
        axis.plot(*zip(*known, strict=True), "|", color="black", markersize=10, label="floor")
    axis.set_xscale("log")
    axis.axvline(1, color="grey", linewidth=0.8)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.invert_yaxis()
    base_name = "numloom's" if OURS in report.versions else "the best"
    axis.set_xlabel(f"time ÷ {base_name} (left of 1: faster)")
    axis.set_title(report.machine["device"])
    figure.legend(fontsize=8, loc="outside right upper")
    figure.savefig(path, dpi=130)
