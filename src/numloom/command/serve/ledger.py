"""What ran where: calls, times, copies and reasons, as they are counted; and the report that is made of them."""

from __future__ import annotations

import linecache
import os
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from numloom.base import later
from numloom.base.wording import counted
from numloom.command.serve.lines import (
    COMPILING,
    COPIES,
    IMPORTS,
    PYTHON,
    RECORDING,
    RESULTS,
    WAITING,
    LineTimes,
    total,
)
from numloom.command.serve.lines import NUMPY as IN_NUMPY
from numloom.command.serve.program import ServedProgram
from numloom.device import registry
from numloom.engine.state import counters

NUMLOOM, NUMPY, NUMBERS = "numloom", "numpy", "numbers"
SMALL = 4096
"""Arrays of fewer elements are done faster by NumPy than any device can be told of them."""
_SHOWN = 12
"""Rows of a table in the text report."""
_LINES = 6
"""Lines of the program in the text report."""
_LONG = 1e-3
"""Seconds of work that no small arrays take at a time."""
_LOOKS = 20
"""Looks at results from one line that are worth a word."""
_MOSTLY = {RESULTS: "recorded work"}
"""Causes that the text names otherwise than the data."""


@dataclass
class Calls:
    """The calls of one function.

    Attributes
    ----------
    count : Counter
        How many ran where: "numloom", "numpy", or "numbers" (on numbers alone, by NumPy).
    seconds : dict
        Host time of these calls, what they called included.
    reasons : Counter
        Why NumPy ran.
    lines : Counter
        From which lines it was called when NumPy ran.
    """

    count: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    reasons: Counter[str] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)


@dataclass
class Copies:
    """Copies between NumPy's arrays and numloom's memory."""

    count: int = 0
    nbytes: int = 0

    def add(self, nbytes: int) -> None:
        self.count += 1
        self.nbytes += nbytes


class Ledger:
    """Everything that is counted while a program runs.

    Attributes
    ----------
    calls : dict
        `Calls` by function, as "linalg.norm".
    uploads, downloads : dict
        `Copies` to the device, and back, by the program's line.
    handed : dict
        `Copies` that a library asked for (``numpy.asarray`` of our array), by the library.
    fetched : int
        Copies from the device.
    made, small : int
        Arrays that functions of numloom gave, and those of them with fewer than `SMALL` elements.
    random, frozen : bool, Counter
        Whether random numbers were drawn by numloom; lines where a view of a copy became read-only.
    lines : LineTimes
        Seconds by line, where somebody lets it look.
    start : float
        Seconds from the process's start to the program's, where somebody says so.
    """

    def __init__(self, program: ServedProgram) -> None:
        self.program = program
        self.calls: defaultdict[str, Calls] = defaultdict(Calls)
        self.uploads: defaultdict[str, Copies] = defaultdict(Copies)
        self.downloads: defaultdict[str, Copies] = defaultdict(Copies)
        self.handed: defaultdict[str, Copies] = defaultdict(Copies)
        self.fetched = 0
        self.made = self.small = 0
        self.random = False
        self.frozen: Counter[str] = Counter()
        self.depth = 0
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.begin = time.perf_counter()
        self.end: float | None = None
        self.lines = LineTimes(program)
        self.start = 0.0
        self._start = (counters.kernels, counters.library_calls, counters.flushes)

    # ------------------------------------------------------------ counting

    def call(self, name: str, where: str, seconds: float, reason: str = "", nested: bool = False) -> None:
        """A call has ended; one that is `nested` in another is part of it."""
        calls = self.calls[name]
        calls.count[where] += 1
        calls.seconds[where] += seconds
        if not nested:
            self.seconds[where] += seconds
        if reason:
            calls.reasons[reason] += 1
            calls.lines[self.program.line()] += 1

    def result(self, size: int) -> None:
        """A function of numloom gave an array of so many elements."""
        self.made += 1
        if size < SMALL:
            self.small += 1

    def copied(self, to_device: bool, nbytes: int) -> None:
        """Bytes went to the device, or came from there."""
        (self.uploads if to_device else self.downloads)[self.program.line()].add(nbytes)
        if not to_device:
            self.fetched += 1
            self.shared(nbytes)

    def shared(self, nbytes: int = 0) -> None:
        """A library that asks, if one does, was given an array; so many bytes had to be copied."""
        first, own = self.program.caller()
        library = "" if first is None or first is own else str(first.f_globals.get("__name__", "")).partition(".")[0]
        if library not in ("", "numpy"):
            self.handed[library].add(nbytes)

    def finish(self) -> None:
        """The program has ended."""
        self.end = time.perf_counter()

    # ------------------------------------------------------------ the report

    def as_dict(self) -> dict[str, Any]:
        """The report as data, as `--report json` writes it."""
        kernels, library_calls, flushes = self._start
        whole, causes = self._whole(), self.lines.causes()
        functions = {
            f"numpy.{name}": {
                "calls": dict(calls.count),
                "seconds": {where: round(seconds, 6) for where, seconds in calls.seconds.items()},
                "reasons": dict(calls.reasons),
                "lines": dict(calls.lines.most_common(5)),
            }
            for name, calls in sorted(self.calls.items(), key=lambda item: -sum(item[1].seconds.values()))
        }
        return {
            "device": registry.current().name,
            "seconds": {
                "total": round(whole, 6),
                "numloom": round(self.seconds[NUMLOOM], 6),
                "numpy": round(self.seconds[NUMPY] + self.seconds[NUMBERS], 6),
                "start": round(self.start, 6),
                "elsewhere": round(max(whole - max(sum(causes.values()), sum(self.seconds.values())), 0.0), 6),
            },
            "causes": {kind: round(seconds, 6) for kind, seconds in causes.items()},
            "kernels": counters.kernels - kernels,
            "library_calls": counters.library_calls - library_calls,
            "runs_of_recorded_work": counters.flushes - flushes,
            "arrays": {"made": self.made, "smaller_than_4096_elements": self.small},
            "copied_to_device": _copies(self.uploads),
            "copied_to_host": _copies(self.downloads),
            "handed_to_libraries": {name: vars(copies) for name, copies in sorted(self.handed.items())},
            "made_read_only": dict(self.frozen),
            "random_numbers_by_numloom": self.random,
            "functions": functions,
            "lines": self.costly(),
            "advice": self.advice(),
        }

    def _whole(self) -> float:
        """Seconds that the program has run."""
        return (self.end or time.perf_counter()) - self.begin

    def costly(self) -> list[dict[str, Any]]:
        """Lines of the program by the time they took, each with what it was spent on and what to change."""
        whole = self._whole()
        reasons = self._reasons()
        told = []
        for line, spent in self.lines.largest():
            file, _, number = line.rpartition(":")
            told.append(
                {
                    "line": line,
                    "shown": shown(line),
                    "text": linecache.getline(file, int(number)).strip(),
                    "seconds": round(total(spent), 4),
                    "share": round(min(total(spent) / whole, 1.0), 4) if whole else 0.0,
                    "spent": {kind: round(seconds, 4) for kind, seconds in _by_cost(spent)},
                    "change": self._change(line, spent, reasons),
                }
            )
        return told

    def _reasons(self) -> dict[str, str]:
        """What NumPy had to do from each line, and why."""
        found: dict[str, tuple[float, str]] = {}
        for name, calls in self.calls.items():
            if not calls.reasons:
                continue
            text = f"numpy.{name} runs in NumPy: {calls.reasons.most_common(1)[0][0]}"
            for line, count in calls.lines.items():
                cost = calls.seconds[NUMPY] * count / calls.count[NUMPY]
                if cost >= found.get(line, (0.0, ""))[0]:
                    found[line] = cost, text
        return {line: text for line, (_, text) in found.items()}

    def _change(self, line: str, spent: dict[str, float], reasons: dict[str, str]) -> str:
        """What to change in a line, by what most of its time is spent on."""
        copies, looks = self.uploads.get(line), self.downloads.get(line)
        if copies is not None and copies.count > 2 and copies.nbytes > 1 << 20:
            return (
                f"copies NumPy arrays to the device {_times(copies.count)} ({_bytes(copies.nbytes)}): make them "
                "numloom's once, by np.array(...) before the loop"
            )
        kind = _by_cost(spent)[0][0]
        if kind == IN_NUMPY:
            return reasons.get(line, "a library works with NumPy here")
        if kind == RESULTS:
            if looks is not None and looks.count > _LOOKS:
                return (
                    f"looks at results {_times(looks.count)}, and waits each time: look less often, or at whole arrays"
                )
            return "recorded work runs here, where its result is first needed: explain() of the array shows its kernels"
        if kind == WAITING:
            return "waits for the GPU here: recorded work runs where its result is first needed; look less often"
        if kind == COMPILING:
            return "plans and compiles new work, once: shapes that differ in each step are new work each time"
        if kind == COPIES:
            return "copies between NumPy's arrays and numloom's: make arrays once, and look at whole ones"
        if kind == RECORDING:
            return "records many small calls: work on more data in each call, whole arrays instead of rows"
        if kind == PYTHON:
            return (
                "the interpreter's own steps (loops, numbers, single elements): use whole arrays, or x.tolist() once "
                "before a loop over elements"
            )
        return "" if kind == IMPORTS else f"{kind} works here, on the host"

    def as_json(self) -> str:
        """The report as JSON text."""
        return str(later.load("json").dumps(self.as_dict(), indent=2))

    def _works_long(self) -> bool:
        """Whether recorded work takes milliseconds when it runs: arrays that operators gave, uncounted, are large."""
        runs = counters.flushes - self._start[2]
        return sum(spent.get(RESULTS, 0.0) for _, spent in self.lines.largest()) > _LONG * max(runs, 1)

    def advice(self) -> list[str]:
        """What to change for more speed, the largest costs first."""
        said: list[tuple[float, str]] = []
        worth = 0.01 * self._whole()
        for name, calls in self.calls.items():
            if not calls.count[NUMPY] or calls.seconds[NUMPY] < worth:
                continue
            reason, line = calls.reasons.most_common(1)[0][0], calls.lines.most_common(1)[0][0]
            said.append(
                (
                    calls.seconds[NUMPY],
                    f"numpy.{name} ran in NumPy {_times(calls.count[NUMPY])} ({_seconds(calls.seconds[NUMPY])}), "
                    f"mostly from {shown(line)}: {reason}.",
                )
            )
        for line, copies in self.uploads.items():
            if copies.count > 2 and copies.nbytes > 1 << 20:
                said.append(
                    (
                        copies.nbytes / 5e9,
                        f"{shown(line)} copied NumPy arrays to the device {_times(copies.count)} "
                        f"({_bytes(copies.nbytes)}): make them numloom's once, before the loop, by np.array(...).",
                    )
                )
        for line, copies in self.downloads.items():
            if copies.count > _LOOKS:
                said.append(
                    (
                        copies.count * 2e-5 + copies.nbytes / 5e9,
                        f"{shown(line)} looked at results {_times(copies.count)} ({_bytes(copies.nbytes)}): each look "
                        "waits and copies; look less often, or at whole arrays.",
                    )
                )
        advice = [text for _, text in sorted(said, reverse=True)]
        if self.made > 100 and self.small > 0.8 * self.made and not self._works_long():
            advice.append(
                f"{100 * self.small // self.made} % of the arrays had fewer than {SMALL} elements: such programs are "
                "fastest under NumPy itself; work on more data at a time (whole arrays instead of rows)."
            )
        for line, count in self.frozen.most_common():
            advice.append(
                f"{shown(line)} took a view of a numloom array through NumPy {_times(count)}: view and array are "
                "read-only since then; take a copy first, np.array(...), if one of them is to be written."
            )
        return advice

    def as_text(self) -> str:
        """The report for reading."""
        data = self.as_dict()
        seconds = data["seconds"]
        lines = [
            "",
            f"numloom: {_seconds(seconds['total'])} on {data['device']}"
            + (f", after {_seconds(seconds['start'])} to start" if seconds["start"] else "")
            + f"; in NumPy's functions: numloom {_seconds(seconds['numloom'])}, NumPy {_seconds(seconds['numpy'])}",
            "  "
            + ", ".join(
                f"{_MOSTLY.get(kind, kind)} {_seconds(spent)}"
                for kind, spent in (*data["causes"].items(), ("elsewhere", seconds["elsewhere"]))
                if spent >= 0.005 * seconds["total"] or kind == "elsewhere"
            ),
            f"  {counted(data['kernels'], 'kernel')}, {counted(data['library_calls'], 'library call')}, "
            f"recorded work was run {_times(data['runs_of_recorded_work'])}",
            f"  copied to the device {_told(self.uploads)}, to the host {_told(self.downloads)}",
        ]
        if self.handed:
            told = ", ".join(f"{name} {_told({'': copies})}" for name, copies in sorted(self.handed.items()))
            lines.append(f"  of these handed to libraries: {told}")
        rows = [
            (name, calls) for name, calls in self.calls.items() if calls.count[NUMLOOM] or calls.count[NUMPY]
        ]  # fmt: skip
        rows.sort(key=lambda row: -sum(row[1].seconds.values()))
        if rows:
            width = max(len(name) for name, _ in rows[:_SHOWN]) + len("numpy.")
            lines.append(f"  {'function':<{width}}  on numloom  in NumPy   seconds  why NumPy")
            for name, calls in rows[:_SHOWN]:
                reason = calls.reasons.most_common(1)[0][0] if calls.reasons else ""
                lines.append(
                    f"  {'numpy.' + name:<{width}} {calls.count[NUMLOOM]:>11} {calls.count[NUMPY]:>9} "
                    f"{sum(calls.seconds.values()):>9.3f}  {reason}".rstrip()
                )
            if len(rows) > _SHOWN:
                lines.append(f"  ... and {len(rows) - _SHOWN} more (--report json has all)")
        if data["lines"]:
            lines.append("  lines that cost most (seconds, share, mostly)")
            for line in data["lines"][:_LINES]:
                kind = next(iter(line["spent"]))
                lines.append(
                    f"  {line['seconds']:>9.3f} {100 * line['share']:>3.0f} %  {_MOSTLY.get(kind, kind):<13} "
                    f"{line['shown']}  {_cut(line['text'])}".rstrip()
                )
        if self.random:
            lines.append("  random numbers are numloom's, of another stream than NumPy's for the same seed")
        lines += [f"  - {text}" for text in data["advice"][:_SHOWN]]
        return "\n".join(lines) + "\n"


def shown(line: str) -> str:
    """A line of the program, with its path made short."""
    if not line:
        return "code outside of the program"
    path, _, number = line.rpartition(":")
    short = os.path.relpath(path) if os.path.isabs(path) else path
    return f"{short if len(short) < len(path) else path}:{number}"


def _by_cost(spent: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(spent.items(), key=lambda item: -item[1])


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _copies(by_line: dict[str, Copies]) -> dict[str, Any]:
    return {
        "count": sum(copies.count for copies in by_line.values()),
        "bytes": sum(copies.nbytes for copies in by_line.values()),
        "lines": {
            line: vars(copies) for line, copies in sorted(by_line.items(), key=lambda item: -item[1].nbytes)[:20]
        },
    }


def _told(by_line: dict[str, Copies]) -> str:
    copies = _copies(by_line)
    return f"{_times(copies['count'])} ({_bytes(copies['bytes'])})"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.01 else f"{1000 * seconds:.2g} ms"


def _bytes(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
