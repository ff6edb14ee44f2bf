"""Every public function beside CuPy's or NumPy's: ``python -m benchmarks.functions``."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.calls import INPUTS, Call, calls
from benchmarks.libraries import LIBRARIES, Library
from benchmarks.measure import Measurement, clock, measure_calls
from benchmarks.report import OURS, SMALLEST_FLOOR, micro

_SHARED: dict[str, tuple[str, ...]] = {
    "no work on the GPU: the time is that of Python": (
        "broadcast_arrays(r, Q)",
        "ravel(M)",
        "M.ravel()",
        "dsplit(Q[:, :, None], 1)",
    ),
    "Philox and exact arithmetic without fused multiply-adds, so that every processor draws the same numbers": (
        "rng.standard_normal(len(x), dtype=float32)",
        "rng.random(len(x), dtype=float32)",
        "rng.standard_normal(len(x))",
        "rng.standard_exponential(len(x))",
    ),
    "logarithms by exact arithmetic in float64, so that every processor draws the same numbers": (
        "rng.beta(2, 3, len(x))",
        "rng.standard_gamma(2, len(x))",
        "rng.gamma(2, 1, len(x))",
        "rng.chisquare(3, len(x))",
        "rng.f(3, 4, len(x))",
        "rng.poisson(3, len(x))",
        "rng.poisson(100, len(x))",
        "rng.logseries(0.5, len(x))",
    ),
    "up to 40 are drawn one by one, each by half a block of Philox": ("rng.hypergeometric(30, 20, 10, len(x))",),
    "the last of equal indices wins in every run: a bit for each line tells whether two elements name it": (
        "z = x.copy(); z[i] = y; z",
        "z = x.copy(); put(z, i, y); z",
        "z = x.copy(); z.put(i, y); z",
        "z = x.copy(); z[k] = 1; z",
    ),
    "equal indices are added in their order, after a sort: the same bits in every run": (
        "z = x.copy(); add.at(z, k, 1); z",
    ),
    "parts of the elements are summed in their order: the same bits in every run": ("bincount(k, x)",),
    "sorts the vector, as CuPy does": (
        "percentile(x, [10, 50, 90])",
        "quantile(x, 0.3)",
    ),
    "sorted by the positions of keys of 64 bits, eight passes, since zeros and NaN keep their bits": (
        "sort_complex(c)",
    ),
    "waits once, to see whether the weights add up to zero; CuPy waits, too": ("average(x, weights=p)",),
    "fractions in float64 until they agree to float32's precision; lanes wait for the longest": (
        "special.bdtr(j, 20, u)",
        "special.bdtrc(j, 20, u)",
        "special.chdtr(p, p)",
        "special.gdtr(p, p, u)",
        "special.gammainc(p, u)",
        "special.exp1(p)",
        "special.fdtr(p, p, u)",
    ),
    "in float64, with more terms than CuPy's, for errors of less than a unit in the last place": (
        "special.i0(x)",
        "special.i0e(x)",
        "special.i1(x)",
        "special.i1e(x)",
        "special.k0(p)",
        "special.k0e(p)",
        "special.k1(p)",
        "special.k1e(p)",
    ),
    "logarithms by exact arithmetic in float64": ("special.kl_div(p, u)", "special.log_ndtr(x)"),
    "more terms than CuPy's, for errors of less than a unit in the last place": (
        "i0(x)",
        "kaiser(len(x), 14)",
    ),
    "the time of a call on the host, most of it Python, since shortened": (
        "linalg.matmul(G, D)",
        "matmul(G, D)",
        "inner(G, D)",
        "G @ D",
        "G.dot(D)",
        "tensordot(G, D, 1)",
        "linalg.matrix_power(D, 5)",
    ),
    "one kernel of ten recorded operations: the time is that of Python": ("packbits(m)",),
    "two selections: of positions by the mask, and of values": ("z = x.copy(); place(z, m, y); z",),
    "a stable sort by digits of our own, which waits for the totals of earlier tiles": ("sort(k)",),
    "cuFFT's own plan for lines that are not contiguous; why CuPy's is faster was not looked into": (
        "fft.fft(Z, axis=0)",
    ),
    "the same function of cuSOLVER, and a wait that tells real from complex results": (
        "linalg.eig(G[:64, :64])[0].sum().real",
    ),
    "measured when SciPy computed it on the host; it is a kernel since": (
        "special.binom(p, u)",
        "special.betaincinv(p, u, u)",
        "special.betainccinv(p, u, u)",
        "special.chdtri(p, u)",
        "special.ellipeinc(u, u)",
    ),
    "inverts the incomplete beta function step by step in float64": ("special.bdtri(j, 20, u)",),
    "SciPy computes it on the host": (
        "special.bdtrik(u, 20, u)",
        "special.bdtrin(j, u, u)",
        "special.chdtriv(u, p)",
        "special.fdtridfd(3, u, p)",
        "special.gdtria(u, p, p)",
        "special.gdtrib(p, u, p)",
        "special.hyp0f1(p, x)",
        "special.hyp2f1(p, p, p + 3, u)",
        "special.hyperu(p, 1.5, p)",
        "special.iv(p, p)",
        "special.ive(p, p)",
        "special.jn(j, p)",
        "special.jv(p, p)",
        "special.jve(p, p)",
        "special.kv(u, p)",
        "special.kve(u, p)",
    ),
    "cuSOLVER's 64-bit function; CuPy calls the batched Jacobi method": ("linalg.eigh(B)[0]",),
    "the 64-bit functions of cuSOLVER; CuPy calls the older ones": (
        "linalg.cholesky(D)",
        "linalg.lstsq(L, L[:, 0], rcond=None)[0]",
        "linalg.pinv(G)",
    ),
    "one more kernel looks over the reports, since singular matrices raise LinAlgError as in NumPy": (
        "linalg.solve(B, B)",
        "linalg.inv(B)",
        "linalg.cholesky(B)",
    ),
    "a small matrix: the time is that of Python and of launches": (
        "linalg.tensorsolve(K, K[:, :, 0, 0])",
        "linalg.tensorinv(K)",
    ),
    "a table of the range is filled and read, after a wait for its ends": (
        "isin(k, l)",
        "setdiff1d(k, l)",
    ),
}
"""Lines by the reason that they have in common."""

REASONS: dict[str, str] = {text: reason for reason, texts in _SHARED.items() for text in texts}
"""Why a line takes longer than 1.2 times the other library's time, where that is known."""

PRINTED = 40
"""Rows that are printed where there is no terminal."""

SLOWER = 1 / 1.2
"""Ratio below which a line asks for a reason."""

CLASSES = (0.1, 0.3, 1 / 1.2, 1, 2, 10)
"""Bounds of the ratios that rows are counted by."""

COMPUTING = ("linalg", "polynomials", "products")
"""Sections whose time is arithmetic rather than memory's."""

FIRST = {
    "sort(x)": "float32 float64 int32 int64 uint8",
    "argsort(x)": "float32 float64 int32 int64",
    "unique(x)": "float32 float64 int32 int64 uint8",
    "histogram(x, 100)": "float32 float64 int32 int64",
    "cumsum(x)": "float32 float64 int32 int64",
    "bincount(abs(x))": "int32 int64 uint8",
    "x[x > 0]": "float32 float64 int32 int64",
    "fft.fft(x)": "float32 float64 complex64",
    "linalg.solve(G, R)": "float32 float64",
}
"""Calls whose first time counts, and their dtypes."""


@dataclass
class Row:
    """A line of the table as it was measured.

    Attributes
    ----------
    call : Call
        The line.
    ours, other : Measurement
        Our time, the other library's.
    floor : float or None
        Seconds to read the inputs and write the results once.
    """

    call: Call
    ours: Measurement
    other: Measurement
    floor: float | None

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the other library we are."""
        return self.other.seconds / self.ours.seconds if self.ours.seconds and self.other.seconds else None

    @property
    def share(self) -> float | None:
        """The floor as a fraction of our time, for what moves memory."""
        ran = (self.ours.kernels or 0) + (self.ours.library_calls or 0)
        if not ran or not self.ours.seconds or not self.floor or self.floor < SMALLEST_FLOOR:
            return None
        share = self.floor / self.ours.seconds
        # Twice as fast as memory: it does not read all of its inputs.
        return None if self.call.section in COMPUTING or share > 2 else share


class Workplace:
    """A library with the inputs on its device, made when they are first used."""

    def __init__(self, library: Library, hosts: Callable[[str], np.ndarray[Any, Any]]) -> None:
        self.library, self.hosts = library, hosts
        self._arrays: dict[str, Any] = {}

    def find(self, name: str) -> Any:
        """What the library has under a name of the table."""
        if name == "rng":
            return self.library.namespace.random.default_rng(1)
        if name == "special" and self.library.name != OURS:
            return importlib.import_module({"numpy": "scipy", "cupy": "cupyx.scipy"}[self.library.name] + ".special")
        if name == "polynomial":
            return importlib.import_module(f"{self.library.module}.polynomial")
        return getattr(self.library.namespace, name)

    def bind(self, call: Call) -> Callable[[], Any]:
        """A function that makes the call."""
        for name in call.inputs:
            if name not in self._arrays:
                self._arrays[name] = self.library.array(self.hosts(name))
        arrays = [self._arrays[name] for name in call.inputs]
        self.library.wait(arrays)
        return functools.partial(call.function(self.find), *arrays)

    def prepare(self, call: Call) -> Callable[[], tuple[Any, ...]]:
        """A function that makes the call and gives the arrays of its result."""
        run, kinds = self.bind(call), (self.library.namespace.ndarray,)
        return lambda: tuple(arrays_in(run(), kinds))


def arrays_in(result: Any, kinds: tuple[type, ...]) -> Iterator[Any]:
    """The arrays and numbers of a result that may be nested."""
    if isinstance(result, kinds):
        yield result
    elif isinstance(result, (tuple, list)):
        for part in result:
            yield from arrays_in(part, kinds)


def host_inputs(n: int) -> Callable[[str], np.ndarray[Any, Any]]:
    """Inputs on the host by name, each made once."""
    order = list(INPUTS)
    return functools.cache(lambda name: INPUTS[name](np.random.default_rng(order.index(name)), n))


def main() -> int:
    """Read the command line, run, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.functions", description=__doc__)
    parser.add_argument("--size", type=float, help="elements of a vector; 1e7 on a GPU, 1e6 on a CPU")
    parser.add_argument("--libraries", default="", help="numloom and one to compare with: cupy on a GPU, else numpy")
    parser.add_argument("--only", default="", help="only lines or sections with one of these words (comma-separated)")
    parser.add_argument("--time-budget", type=float, default=440.0, help="seconds for the whole run")
    parser.add_argument("--cap", type=float, default=0.1, help="seconds of measuring a line and library")
    parser.add_argument("--first-cap", type=float, default=6.0, help="seconds after which one of them is given up")
    parser.add_argument(
        "--first", action="store_true", help="first calls in fresh processes with an empty cache instead"
    )
    parser.add_argument("--list", action="store_true", help="print the lines and stop")
    parser.add_argument("--json", type=Path, help="a JSON object a line, written as they come")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--worst", type=int, default=0, help="only so many rows in the tables; 0 is all")
    parser.add_argument("--resume", action="store_true", help="go on after the lines that the JSON file has")
    parser.add_argument("--from", type=Path, dest="source", metavar="JSON", help="report what a file has; time nothing")
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--one-first", nargs=3, metavar=("LINE", "DTYPE", "SIZE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_first:
        print(first_call(options.one_first[0], options.one_first[1], int(options.one_first[2])))
        return 0
    console = Console(width=None if os.isatty(1) else 180)
    words = [word.strip() for word in options.only.split(",") if word.strip()]
    chosen = [call for call in calls() if not words or any(w == call.section or w in call.text for w in words)]
    if options.list:
        for call in chosen:
            console.print(f"{call.section:13} {call.text}", markup=False, highlight=False)
        return 0
    if options.source:
        found, other_name = load_rows(options.source)
        report(console, [row for row in found if row.call in chosen], other_name, 0, options)
        return 0
    ours = LIBRARIES[OURS]()
    on_gpu = ours.device == "cuda"
    size = int(options.size or (1e7 if on_gpu else 1e6))
    if options.first:
        return first_calls(console, size, options.markdown, words)
    names = [name for name in options.libraries.split(",") if name and name != OURS]
    other = LIBRARIES[names[0] if names else "cupy" if on_gpu else "numpy"]
    hosts = host_inputs(size)
    places = [Workplace(ours, hosts)]
    if other.installed():
        places.append(Workplace(other(), hosts))
    else:
        console.print(f"{other.name} is not installed: {OURS} alone")
    rate = float(str(machine(on_gpu)["bytes_per_second"]))
    if options.until is None:
        console.print(f"{len(chosen)} lines, {size:,} elements, copies at {rate / 1e12:.3g} TB/s", highlight=False)
    path = options.json or Path(tempfile.mkdtemp()) / "functions.jsonl"
    rows = load_rows(path)[0] if options.resume else []
    done = {row.call.text for row in rows}
    # What a signal breaks off is reported as far as it went.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        end = options.until or time.time() + options.time_budget
        measure_rows([call for call in chosen if call.text not in done], rows, places, path, options, end, rate)
    except KeyboardInterrupt:
        console.print("interrupted")
    report(console, rows, other.name, len(chosen) - len(rows), options)
    return 0


def measure_rows(
    left: list[Call], rows: list[Row], places: list[Workplace], path: Path, options: Any, end: float, rate: float
) -> None:
    """Time lines and save them one by one, until there is no time left."""
    other = places[-1].library.name
    for number, call in enumerate(left):
        seconds = end - time.time()
        if seconds < 1:
            return
        cap = min(options.cap, seconds / (len(left) - number) / len(places))
        rows.append(measure_row(call, places, cap, min(options.first_cap, seconds), rate))
        save_row(rows[-1], path, other, fresh=len(rows) == 1)
        if any(found.note.startswith("over") for found in (rows[-1].ours, rows[-1].other)):
            # A call that was broken off may have left its library in any state: go on in a fresh process.
            again = ["--resume", "--json", str(path), "--until", str(end)]
            os.execv(sys.executable, [sys.executable, "-m", "benchmarks.functions", *sys.argv[1:], *again])


def report(console: Console, rows: list[Row], other: str, missing: int, options: Any) -> None:
    """Print what was measured, all of it on a terminal, and write it down."""
    rows.sort(key=lambda row: (row.ours.seconds is not None, row.ratio is None, row.ratio))
    most = options.worst or (None if console.is_terminal else PRINTED)
    console.print(table(rows[:most], other))
    for line in counts(rows, other):
        console.print(line, highlight=False)
    if missing > 0:
        console.print(f"{missing} lines not measured")
    if options.markdown:
        options.markdown.write_text(markdown(rows, other, options.worst) + "\n", encoding="utf-8")


def measure_row(call: Call, places: list[Workplace], cap: float, hard_cap: float, rate: float) -> Row:
    """Time one line under each library."""
    found = [Measurement(note="not installed")] * 2
    nbytes = 0
    for index, place in enumerate(places):
        if hard_cap <= 0:
            found[index] = Measurement(note="the time budget was used up")
            continue

        def prepare(place: Workplace = place) -> Callable[[], Any]:
            nonlocal nbytes
            run = place.prepare(call)
            if place.library.name == OURS:
                results = run()
                place.library.start(results)
                nbytes = sum(int(array.nbytes) for array in results)
            return run

        found[index] = measure_calls(prepare, place.library, cap, hard_cap)
    nbytes += sum(places[0].hosts(name).nbytes for name in call.inputs)
    return Row(call, *found, floor=nbytes / rate)


def fields(row: Row) -> list[str]:
    """A row's cells."""

    def count(value: float | None) -> str:
        return "–" if value is None else f"{value:.3g}"

    return [
        row.call.text,
        micro(row.ours.seconds),
        micro(row.other.seconds),
        "–" if row.ratio is None else f"{row.ratio:.2f}",
        "–" if row.share is None else f"{100 * row.share:.0f} %",
        count(row.ours.kernels),
        count(row.ours.library_calls),
        count(row.ours.waits),
        REASONS.get(row.call.text, row.ours.note),
    ]


def headings(other: str) -> list[str]:
    """Titles of the cells."""
    return ["call", f"{OURS}, µs", other, f"{other} ÷ ours", "of floor", "kernels", "routines", "waits", "reason"]


def table(rows: list[Row], other: str) -> Table:
    """The rows for a terminal."""
    shown = Table()
    for number, heading in enumerate(headings(other)):
        shown.add_column(heading, justify="right" if 0 < number < 8 else "left")
    for row in rows:
        shown.add_row(*(cell.replace("[", r"\[") for cell in fields(row)))
    return shown


def counts(rows: list[Row], other: str) -> list[str]:
    """How many rows lie in each class of ratios."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    bounds = [0.0, *CLASSES, float("inf")]
    lines = [
        f"{low:.2g} ≤ {other} ÷ ours < {high:.2g}: {sum(low <= ratio < high for ratio in ratios)}"
        for low, high in itertools.pairwise(bounds)
    ]
    alone = sum(row.ratio is None and row.ours.seconds is not None for row in rows)
    failed = sum(row.ours.seconds is None for row in rows)
    return [*lines, f"no time of {other}: {alone}", f"no time of ours: {failed}"]


def sections(rows: list[Row]) -> Iterator[tuple[str, int, float, int]]:
    """Name, number of ratios, median ratio and how many lines are slower, for each section in the table's order."""
    for name in dict.fromkeys(call.section for call in calls()):
        ratios = [row.ratio for row in rows if row.call.section == name and row.ratio is not None]
        if ratios:
            yield name, len(ratios), statistics.median(ratios), sum(ratio < SLOWER for ratio in ratios)


def markdown(rows: list[Row], other: str, worst: int = 0) -> str:
    """For docs/performance.md: counts, medians by section, and the lines that are slower or have no time."""
    lines = [f"| {other}'s time ÷ ours | lines |", "| --- | ---: |"]
    lines += ["| {} | {} |".format(*line.rsplit(": ", 1)) for line in counts(rows, other)]
    lines += ["", "| section | lines | median ratio | below 0.83 |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {name} | {count} | {median:.2f} | {slow} |" for name, count, median, slow in sections(rows)]
    lines += ["", "| " + " | ".join(headings(other)) + " |", "| --- " + "| ---: " * 7 + "| --- |"]
    slower = [row for row in rows if row.ours.seconds is None or (row.ratio is not None and row.ratio < SLOWER)]
    for row in slower[: worst or None]:
        text, *rest = fields(row)
        cells = [f"`{text}`", *rest]
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def save_row(row: Row, path: Path, other: str, fresh: bool) -> None:
    """Add what was measured of a line to a file."""
    found: dict[str, Any] = {"call": row.call.text, "section": row.call.section, "library": other, "floor": row.floor}
    found |= {"ratio": row.ratio, "share_of_floor": row.share}
    found |= {"ours": dataclasses.asdict(row.ours), "other": dataclasses.asdict(row.other)}
    with path.open("w" if fresh else "a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")


def load_rows(path: Path) -> tuple[list[Row], str]:
    """What `save_row` wrote of the lines that there are still, and the other library's name."""
    by_text = {call.text: call for call in calls()}
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [
        Row(by_text[row["call"]], *(Measurement(**row[side]) for side in ("ours", "other")), floor=row["floor"])
        for row in found
        if row["call"] in by_text
    ]
    return rows, found[0].get("library", "cupy") if found else "cupy"


def first_call(line: str, dtype: str, size: int) -> float:
    """Seconds of a line's first call in this process, its inputs being on the device."""
    import numloom

    hosts = host_inputs(size)
    found = next((call for call in calls() if call.text == line), None)
    call = found or Call(line, "", ("x",), ("abs", "bincount"))
    # Random numbers around nought, wide enough for whole numbers to differ.
    arrays = [numloom.asarray((hosts(name) * (20 if dtype.strip("u").startswith("int") else 1)).astype(dtype))
              for name in call.inputs]  # fmt: skip
    function = call.function(lambda name: getattr(numloom, name))
    numloom.synchronize()
    begin = clock()
    numloom.evaluate(*arrays_in(function(*arrays), (numloom.ndarray,)))
    numloom.synchronize()
    return clock() - begin


def first_calls(console: Console, size: int, path: Path | None, words: list[str]) -> int:
    """Each first call in a process of its own with an empty cache; status 1 if one takes over a second."""
    lines = ["| call | dtype | first, ms |", "| --- | --- | ---: |"]
    slow = 0
    for line, dtypes in FIRST.items():
        if words and not any(word in line for word in words):
            continue
        for dtype in dtypes.split():
            with tempfile.TemporaryDirectory() as cache:
                command = [sys.executable, "-m", "benchmarks.functions", "--one-first", line, dtype, str(size)]
                environment = {**os.environ, "NUMLOOM_CACHE_DIR": cache}
                ran = subprocess.run(command, env=environment, capture_output=True, text=True)
            seconds = float(ran.stdout) if ran.returncode == 0 else float("nan")
            slow += not seconds <= 1
            said = "" if ran.returncode == 0 else ran.stderr.strip().split("\n")[-1]
            lines.append(f"| `{line}` | {dtype} | {1e3 * seconds:.0f} |")
            console.print(f"{line:20} {dtype:10} {1e3 * seconds:8.1f} ms {said}", markup=False, highlight=False)
    console.print(f"{slow} over a second")
    if path:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
