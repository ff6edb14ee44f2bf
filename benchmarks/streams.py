"""Do two streams overlap? ``python -m benchmarks.streams [--cupy] [--json FILE] [--plot FILE.svg]``; needs a GPU.

Each of `STREAMS` streams computes a chain of sines of few numbers (an `ElementwiseKernel` and a product at a time),
which leaves most of a GPU idle, once after another on the default stream and once each within its own ``with stream:``.
Events say when each chain began and ended; the picture is that timeline.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from benchmarks.libraries import Cupy, Library, Numloom
from benchmarks.page import rows as markdown
from benchmarks.report import save_rows

STREAMS = 4
LENGTH = 12
NUMBERS = 4096
SINES = "c = a; for (int i = 0; i < 2000; i++) c = sin(c) * 1.5"
TURNS = 4


@dataclass(frozen=True)
class Row:
    """When the chain of one stream began and ended, in milliseconds."""

    library: str
    streams: str
    chain: int
    begin: float
    end: float


def chain(sines: Any, a: Any, start: Callable[[Any], Any]) -> Any:
    """Sines one after the other."""
    x = a
    for _ in range(LENGTH):
        x = sines(x) * 1.25
        start(x)
    return x


def timeline(library: Library, own: bool) -> list[tuple[float, float]]:
    """Begin and end of each chain, each on a stream of its `own` or all on the default one."""
    np = library.namespace
    cuda = np.cuda
    host = numpy.random.default_rng(0).random(NUMBERS)
    sines = np.ElementwiseKernel("float64 a", "float64 c", SINES, "sines")
    streams = [cuda.Stream(non_blocking=True) for _ in range(STREAMS)]
    operands = [np.asarray(host) for _ in streams]
    found: list[tuple[float, float]] = []
    for _ in range(TURNS):
        origin = cuda.Event()
        origin.record()
        for stream in streams:
            stream.wait_event(origin)
        events, kept = [], []
        for stream, a in zip(streams, operands, strict=True):
            with stream if own else nullcontext():
                begin, end = cuda.Event(), cuda.Event()
                begin.record()
                kept.append(chain(sines, a, library.start))
                end.record()
                events.append((begin, end))
        cuda.Device().synchronize()
        found = [tuple(float(cuda.get_elapsed_time(origin, event)) for event in pair) for pair in events]  # type: ignore
    return found


def measured(libraries: list[Library]) -> list[Row]:
    """The timelines of the libraries, of one stream and of several."""
    return [
        Row(library.name, name, k, *times)
        for library in libraries
        for name, own in (("one", False), ("several", True))
        for k, times in enumerate(timeline(library, own))
    ]


def table(rows: list[Row]) -> list[list[str]]:
    """Cells of the table, its head first: how long all took, and how many chains were under way on the average."""
    cells = [["library", "streams", "all chains, ms", "chains at once"]]
    for library, streams in dict.fromkeys((row.library, row.streams) for row in rows):
        of = [row for row in rows if (row.library, row.streams) == (library, streams)]
        whole = max(row.end for row in of) - min(row.begin for row in of)
        at_once = sum(row.end - row.begin for row in of) / whole
        cells.append([library, streams, f"{whole:.2f}", f"{at_once:.1f}"])
    return cells


def plot(rows: list[Row], path: Path) -> None:
    """Draw the timelines."""
    from matplotlib.figure import Figure

    groups = list(dict.fromkeys((row.library, row.streams) for row in rows))
    figure = Figure(figsize=(6, 1 + 0.8 * len(groups)), layout="constrained")
    axes = figure.subplots(len(groups), sharex=True, squeeze=False)[:, 0]
    for axis, (library, streams) in zip(axes, groups, strict=True):
        for row in rows:
            if (row.library, row.streams) == (library, streams):
                axis.barh(row.chain, row.end - row.begin, left=row.begin, height=0.8)
        axis.set_title(f"{library}, {streams} stream{'s' if streams != 'one' else ''}", loc="left", fontsize="small")
        axis.set_yticks([])
        axis.invert_yaxis()
    axes[-1].set_xlabel("milliseconds")
    figure.savefig(path)


def main() -> None:
    """Read the command line, measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cupy", action="store_true", help="CuPy, too")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    options = parser.parse_args()
    ours = Numloom()
    if ours.device == "cpu":
        raise SystemExit("there is no GPU here, and streams of the host run in order")
    libraries = [ours, *([Cupy()] if options.cupy else [])]
    rows = measured(libraries)
    print("\n".join(markdown(table(rows))))
    if options.json:
        save_rows(rows, {library.name: library.version for library in libraries}, options.json)
    if options.plot:
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
