"""Compiled functions beside JAX and torch: ``python -m benchmarks.compiled``.

Each case (`benchmarks.compiled_cases`) is compiled by every library that is installed, in one process: by
`numloom.compile`, `jax.jit` and `torch.compile`, with their loops and gradients. The time of the first call is that of
tracing and compiling; then the libraries are called in turns, each call waited for, and the best counts.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import json
import math
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import benchmarks.training_cases  # noqa: F401  # Which adds to the table.
from benchmarks.compiled_cases import CASES, Case
from benchmarks.compiled_libraries import DEVICES, LIBRARIES, Compiling, leaves, warmed
from benchmarks.report import micro

OURS = "numloom"
RTOL = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-9}
TURNS = 8
LAUNCHES = 100  # calls of which none is waited for, of which the host's time is taken
WARM_CALLS = 8

clock = time.perf_counter


@dataclass
class Found:
    """What one library took for one case.

    Attributes
    ----------
    first : float or None
        Seconds of the first call: tracing, compiling and running.
    best : float or None
        Shortest time of a call that was waited for.
    host : float or None
        Seconds of the host for a call that is not waited for, on a GPU.
    calls : int
        Calls of which `best` is the shortest.
    wrong : str
        How the result differs from the first library's; nothing where it agrees.
    note : str
        Why there is no time.
    """

    first: float | None = None
    best: float | None = None
    host: float | None = None
    calls: int = 0
    wrong: str = ""
    note: str = ""


@dataclass
class Row:
    """One case: what each library took, by its name."""

    name: str
    found: dict[str, Found] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Our time as a multiple of the better of the others'."""
        ours = self.found.get(OURS, Found()).best
        others = [one.best for name, one in self.found.items() if name != OURS and one.best and not one.wrong]
        return ours / min(others) if ours and others else None

    @property
    def wrong(self) -> bool:
        """Whether two libraries differ."""
        return any(one.wrong for one in self.found.values())


@dataclass
class Limits:
    """Seconds of measuring a case and library, of repeating it before, and after which its first calls are given up."""

    budget: float = 1.0
    warm: float = 0.3
    first: float = 120.0


class GivenUp(BaseException):
    """Some seconds are over; compilers, which catch exceptions of all kinds, let it through."""


@contextlib.contextmanager
def given_up(seconds: float) -> Iterator[None]:
    """Raise GivenUp in this thread after some seconds, and again each second until what runs has ended."""

    def ring(number: int, frame: Any) -> None:
        raise GivenUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def measured(case: Case, libraries: Sequence[Compiling], limits: Limits, on_gpu: bool) -> Row:
    """Compile a case under each library, compare the results, and time them in turns."""
    row = Row(case.name)
    inputs = case.inputs(np.random.default_rng(0))
    calls: dict[str, Callable[[], Any]] = {}
    expected: list[np.ndarray[Any, Any]] | None = None
    for library in libraries:
        found = row.found[library.name] = Found()
        if library.unrolls and case.no_unrolling:
            found.note = case.no_unrolling
            continue
        try:
            with given_up(limits.first):
                call = begun(case, library, inputs, found)
                results = [library.host(one) for one in leaves(call())]
                warm(call, library, limits.warm)
            calls[library.name] = call
            if expected is not None and case.drawn:
                found.wrong = unlike(results, expected, case.drawn)
            elif expected is not None:
                found.wrong = difference(results, expected, case.differing)
            expected = results if expected is None else expected
        except GivenUp:
            found.note = f"over {limits.first:g} s"
        except Exception as error:
            found.note = first_line(error)
    for _ in range(TURNS):
        for library in libraries:
            if library.name in calls:
                turn(calls, library, row.found[library.name], limits.budget / TURNS, on_gpu)
    return row


def turn(calls: dict[str, Any], library: Compiling, found: Found, seconds: float, on_gpu: bool) -> None:
    """Time one library for some seconds; one that fails is called no more."""
    try:
        if on_gpu:
            host = launching(calls[library.name], library)
            found.host = host if found.host is None else min(found.host, host)
        waiting(calls[library.name], library, found, seconds)
    except Exception as error:
        found.best, found.note = None, first_line(error)
        del calls[library.name]


def begun(case: Case, library: Compiling, inputs: tuple[Any, ...], found: Found) -> Callable[[], Any]:
    """The case as a call, after its first one."""
    xp = library.namespace

    def function(*arrays: Any) -> Any:
        return case.run(xp, *arrays)

    arrays = tuple(library.array(host) for host in inputs)
    library.wait(arrays)
    begin = clock()
    call = functools.partial(library.prepare(function), *arrays)
    library.wait(call())
    found.first = clock() - begin
    return call


def warm(call: Callable[[], Any], library: Compiling, seconds: float) -> None:
    """Call until what compiles in the background is there: some work is compiled when it has come often."""
    for _ in range(2):
        end = clock() + seconds / 2
        count = 0
        while count < WARM_CALLS or clock() < end:
            library.wait(call())
            count += 1
        library.settle()


def waiting(call: Callable[[], Any], library: Compiling, found: Found, seconds: float) -> None:
    """Time calls one by one, each waited for."""
    wait = library.wait
    best = math.inf if found.best is None else found.best
    end = clock() + seconds
    while True:
        begin = clock()
        wait(call())
        now = clock()
        best = min(best, now - begin)
        found.calls += 1
        if now > end:
            break
    found.best = best


def launching(call: Callable[[], Any], library: Compiling) -> float:
    """Seconds of the host for each of some calls that nobody waits for."""
    library.wait(call())
    begin = clock()
    for _ in range(LAUNCHES):
        result = call()
    seconds = (clock() - begin) / LAUNCHES
    library.wait(result)
    return seconds


def difference(results: Sequence[Any], expected: Sequence[Any], differing: float) -> str:
    """How results differ from those of another library; nothing if they agree as closely as their dtype lets them."""
    if len(results) != len(expected):
        return f"{len(results)} results, not {len(expected)}"
    for number, (one, other) in enumerate(zip(results, expected, strict=True)):
        if one.shape != other.shape:
            return f"result {number} has shape {one.shape}, not {other.shape}"
        if other.dtype.kind not in "fc":
            share = float(np.mean(one != other)) if other.size else 0.0
            if share > differing:
                return f"{100 * share:.3g} % of result {number} differ"
            continue
        if not np.array_equal(np.isfinite(one), np.isfinite(other)):
            return f"result {number} is not finite elsewhere"
        finite = np.isfinite(other)
        apart = np.abs(one[finite].astype(np.float64) - other[finite]).max(initial=0.0)
        size = np.abs(other[finite].astype(np.float64)).max(initial=0.0)
        if apart > RTOL.get(other.dtype.name, 1e-3) * size:
            return f"result {number} is {apart / size if size else apart:.2g} of its largest element apart"
    return ""


def unlike(results: Sequence[Any], expected: Sequence[Any], part: float) -> str:
    """How results that follow from random numbers differ from another library's: by shape, or by norm."""
    shapes = [[one.shape for one in several] for several in (results, expected)]
    if shapes[0] != shapes[1]:
        return f"results have shapes {shapes[0]}, not {shapes[1]}"
    for number, norms in enumerate(zip(*[[np.linalg.norm(one) for one in several] for several in (results, expected)],
                                       strict=True)):  # fmt: skip
        if not abs(norms[0] - norms[1]) <= part * norms[1]:
            return f"result {number} has norm {norms[0]:.3g}, not {norms[1]:.3g}"
    return ""


def first_line(error: Exception) -> str:
    """A short text of an error."""
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:160]


# ---------------------------------------------------------------- reports


def time_of(found: Found) -> str:
    """A time in µs, with what there is to say about it."""
    return "WRONG" if found.wrong else micro(found.best)


def milli(seconds: float | None) -> str:
    """Milliseconds with three digits."""
    return "–" if seconds is None else f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def table(rows: Iterable[Row], libraries: Sequence[str], title: str, on_gpu: bool) -> Table:
    """The rows for a terminal."""
    shown = Table(title=f"{title}; the best time of a call", title_justify="left")
    shown.add_column("case", no_wrap=True)
    for name in libraries:
        shown.add_column(f"{name}, µs", justify="right", style="bold" if name == OURS else "")
    if len(libraries) > 1:
        shown.add_column("÷ the better", justify="right")
    for name in libraries:
        shown.add_column(f"{name}, first, ms", justify="right")
    for name in libraries if on_gpu else ():
        shown.add_column(f"{name}, host, µs", justify="right")
    for row in rows:
        found = [row.found.get(name, Found()) for name in libraries]
        cells = [escape(row.name), *[f"[red]{time_of(one)}[/]" if one.wrong else time_of(one) for one in found]]
        if len(libraries) > 1:
            colour = "" if row.ratio is None else "red" if row.ratio > 1 else "green"
            cells.append(f"[{colour}]{row.ratio:.2f}[/]" if row.ratio is not None else "–")
        cells += [milli(one.first) for one in found]
        cells += [micro(one.host) for one in found] if on_gpu else []
        shown.add_row(*cells)
    return shown


def notes(rows: Iterable[Row]) -> list[str]:
    """What failed, was left out or is wrong."""
    return [
        f"{row.name}, {name}: {'WRONG: ' if one.wrong else ''}{one.wrong or one.note}"
        for row in rows
        for name, one in row.found.items()
        if one.wrong or one.note
    ]


def summary(rows: Iterable[Row]) -> str:
    """How many rows are slower than the better of the others, and the geometric mean of the ratios."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if not ratios:
        return ""
    slower, mean = sum(ratio > 1 for ratio in ratios), statistics.geometric_mean(ratios)
    return f"{slower} of {len(ratios)} rows are slower than the better of the others; geometric mean {mean:.2f}"


def line_of(row: Row, on_gpu: bool) -> str:
    """One row as a line, as it is printed when it is ready."""
    parts = []
    for name, one in row.found.items():
        host = f", host {micro(one.host)}" if on_gpu and one.host is not None else ""
        said = f"WRONG: {one.wrong}" if one.wrong else one.note
        parts.append(f"{name} {micro(one.best)} µs (first {milli(one.first)} ms{host}{'; ' if said else ''}{said})")
    ratio = "" if row.ratio is None else f"; {row.ratio:.2f}{' !' if row.ratio > 1 else ''}"
    return f"{row.name}: {', '.join(parts)}{ratio}"


def markdown(rows: Sequence[Row], about: dict[str, Any]) -> str:
    """The rows as a page; a ratio above 1 is bold."""
    libraries, on_gpu = list(about["versions"]), about["device"] == "cuda"
    heads = [f"{name}, µs" for name in libraries] + ["÷ the better"] + [f"{name}, first, ms" for name in libraries]
    heads += [f"{name}, host, µs" for name in libraries] if on_gpu else []
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = [f"{about['machine']}; {versions}.", "", f"| case | {' | '.join(heads)} |"]
    lines.append("| --- " + "| ---: " * len(heads) + "|")
    for row in rows:
        found = [row.found.get(name, Found()) for name in libraries]
        ratio = "–" if row.ratio is None else f"**{row.ratio:.2f}**" if row.ratio > 1 else f"{row.ratio:.2f}"
        cells = [row.name, *map(time_of, found), ratio, *[milli(one.first) for one in found]]
        cells += [micro(one.host) for one in found] if on_gpu else []
        lines.append("| " + " | ".join(cells) + " |")
    said = [line for line in (summary(rows), *notes(rows)) if line]
    return "\n".join([*lines, "", *[f"- {line}" for line in said]]) + "\n"


def save_json(rows: Iterable[Row], about: dict[str, Any], path: Path) -> None:
    """Write all rows that there are."""
    kept = [{"name": row.name, "ratio": row.ratio, "found": _as_dicts(row.found)} for row in rows]
    path.write_text(json.dumps({"about": about, "rows": kept}, indent=1) + "\n", encoding="utf-8")


def _as_dicts(found: dict[str, Found]) -> dict[str, Any]:
    return {name: dataclasses.asdict(one) for name, one in found.items()}


def load_json(path: Path) -> list[Row]:
    """The rows of a file."""
    kept = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return [Row(row["name"], {name: Found(**one) for name, one in row["found"].items()}) for row in kept]


# ---------------------------------------------------------------- command line


def opened(names: str, device: str, console: Console) -> list[Compiling]:
    """The libraries that are named (or all) and installed, warmed up; says which do not start."""
    wanted = [name.strip() for name in names.split(",") if name.strip()] or list(LIBRARIES)
    unknown = sorted(set(wanted) - set(LIBRARIES))
    if unknown:
        raise SystemExit(f"there is no library {unknown[0]!r}; there are {', '.join(LIBRARIES)}")
    found = []
    for name in wanted:
        if not LIBRARIES[name].installed():
            console.print(f"{name} is not installed")
            continue
        try:
            found.append(warmed(LIBRARIES[name](device)))
        except Exception as error:
            console.print(f"{name} does not start: {first_line(error)}", markup=False)
    return found


def chosen(words: str) -> list[Case]:
    """Cases whose name has one of these words."""
    parts = [word.strip().lower() for word in words.split(",") if word.strip()]
    return [case for case in CASES if not parts or any(part in case.name.lower() for part in parts)]


def machine(device: str) -> str:
    """The GPU, or how many threads the host has."""
    if device == "cpu":
        return f"CPU, {len(os.sched_getaffinity(0))} threads"
    from benchmarks.report import device_name

    return device_name()


def default_device() -> str:
    """The GPU where there is one."""
    from numloom import cuda

    return "cuda" if cuda.is_available() else "cpu"


def main() -> int:
    """Read the command line, measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiled", description=__doc__)
    parser.add_argument("--device", choices=DEVICES, help="the GPU where there is one, if not given")
    parser.add_argument("--only", default="", metavar="NAME", help="cases whose name has one of these (by commas)")
    parser.add_argument("--libraries", default="", help=f"of {', '.join(LIBRARIES)}; all that are installed")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds of measuring a case and library")
    parser.add_argument("--warm", type=float, default=0.3, help="seconds of calls before that")
    parser.add_argument("--first-cap", type=float, default=120.0, help="seconds after which compiling is given up")
    parser.add_argument("--torch-mode", default="default", help="mode of torch.compile, such as reduce-overhead")
    parser.add_argument("--json", type=Path, metavar="FILE", help="written anew after each row")
    parser.add_argument("--resume", action="store_true", help="keep the rows that the JSON file has, and go on")
    parser.add_argument("--markdown", type=Path, metavar="FILE.md")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    options = parser.parse_args()
    cases = chosen(options.only)
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    console = Console(width=None if os.isatty(1) else 200, highlight=False)
    device = options.device or default_device()
    LIBRARIES["torch.compile"].mode = options.torch_mode  # type: ignore[attr-defined]
    libraries = opened(options.libraries, device, console)
    if not libraries:
        parser.exit(2, "no library to run\n")
    versions = {library.name: library.version for library in libraries}
    about = {"machine": machine(device), "device": device, "versions": versions, "torch_mode": options.torch_mode}
    rows = load_json(options.json) if options.resume and options.json and options.json.exists() else []
    known = {row.name for row in rows}
    limits = Limits(options.budget, options.warm, options.first_cap)
    for case in cases:
        if case.name in known:
            continue
        rows.append(measured(case, libraries, limits, device == "cuda"))
        console.print(line_of(rows[-1], device == "cuda"), markup=False, soft_wrap=True)
        console.file.flush()
        for library in libraries:
            library.release()
        if options.json:
            save_json(rows, about, options.json)
    console.print(table(rows, list(versions), f"{about['machine']}", device == "cuda"))
    for line in (summary(rows), *notes(rows)):
        console.print(line, markup=False)
    if options.markdown:
        options.markdown.write_text(markdown(rows, about), encoding="utf-8")
        console.print(f"wrote {options.markdown}")
    return int(any(row.wrong for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
