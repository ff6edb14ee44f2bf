"""What one expression takes by its size: ``python -m benchmarks.sizes [--cupy] [--json FILE] [--plot FILE.svg]``.

``a.T * 2`` of 1e4 to 1e8 float32 numbers, the expression that CuPy's slides show, NumPy beside. (Table 1 of CuPy's
paper has these sizes, too; what it timed could not be looked up.) Milliseconds a call are the best of several rows of
calls, each with one wait at its end; kernels are compiled, and pools have their memory. Inputs lie on the device, but
numloom has its default placement: arrays of up to `config.unplanned` elements begin on the host, and small work may
run there. *Of the bandwidth* counts each number as read and written once. Results of up to some ten megabytes stay in
a GPU's cache, so that they say little of its memory, and may be above 100 %.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from benchmarks.libraries import Cupy, Library, Numloom
from benchmarks.measure import copy_bandwidth, measure_calls
from benchmarks.page import rows as markdown
from benchmarks.report import save_rows

SIZES = (10**4, 10**5, 10**6, 10**7, 10**8)
BANDWIDTH = 3.35e12
"""Bytes a second of an H100's memory (SXM), as its data sheet has it."""
CAP, HARD_CAP = 1.0, 60.0
"""Seconds of measuring a size and library, and after which it is given up."""


@dataclass(frozen=True)
class Row:
    """One size: milliseconds a call by library, and the part of the memory's bandwidth that all but NumPy reach."""

    numbers: int
    milliseconds: dict[str, float]
    of_bandwidth: dict[str, float]


def operand(size: int) -> numpy.ndarray[Any, Any]:
    """So many numbers as a matrix, as square as their number allows."""
    rows = next(side for side in range(math.isqrt(size), 0, -1) if size % side == 0)
    return numpy.arange(size, dtype=numpy.float32).reshape(rows, -1)


def milliseconds(library: Library, size: int, cap: float = CAP) -> float:
    """Of one call."""

    def prepare() -> Callable[[], Any]:
        a = library.array(operand(size))
        library.wait(a)
        return lambda: a.T * 2

    found = measure_calls(prepare, library, cap, HARD_CAP)
    library.release()
    if found.best is None:
        raise RuntimeError(f"{library.name}, {size:,} numbers: {found.note}")
    return 1e3 * found.best


def measured(libraries: list[Library], bandwidth: float, sizes: Sequence[int] = SIZES, cap: float = CAP) -> list[Row]:
    """A row for each size."""
    found = []
    for size in sizes:
        times = {library.name: milliseconds(library, size, cap) for library in libraries}
        moved = 2 * size * numpy.dtype(numpy.float32).itemsize
        parts = {name: moved / (1e-3 * time) / bandwidth for name, time in times.items() if name != "numpy"}
        found.append(Row(size, times, parts))
    return found


def table(rows: list[Row]) -> list[list[str]]:
    """Cells of the table, its head first."""
    libraries = list(rows[0].milliseconds) if rows else ["numpy", "numloom", "cupy"]
    devices = [name for name in libraries if name != "numpy"]
    head = ["numbers", *(f"{name}, ms" for name in libraries), *(f"{name}, of the bandwidth" for name in devices)]
    return [
        head,
        *(
            [
                f"{row.numbers:,}",
                *(f"{row.milliseconds[name]:.4f}" for name in libraries),
                *(f"{row.of_bandwidth[name]:.0%}" for name in devices),
            ]
            for row in rows
        ),
    ]


def plot(rows: list[Row], path: Path) -> None:
    """Draw the table, both axes by powers of ten."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.2), layout="constrained")
    axis = figure.subplots()
    for name in rows[0].milliseconds:
        axis.loglog([row.numbers for row in rows], [row.milliseconds[name] for row in rows], "o-", label=name)
    axis.set_xlabel("numbers")
    axis.set_ylabel("milliseconds a call")
    axis.legend()
    figure.savefig(path)


def main() -> None:
    """Read the command line, measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cupy", action="store_true", help="CuPy, too")
    parser.add_argument("--bandwidth", type=float, help=f"bytes a second; {BANDWIDTH:.3g} for a GPU, else measured")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    options = parser.parse_args()
    ours = Numloom()
    libraries = [Library(), ours, *([Cupy()] if options.cupy else [])]
    measured_here = ours.device == "cpu" and not options.bandwidth
    bandwidth = copy_bandwidth(len(os.sched_getaffinity(0))) if measured_here else options.bandwidth or BANDWIDTH
    rows = measured(libraries, bandwidth)
    print("\n".join(markdown(table(rows))))
    if options.json:
        versions = {library.name: library.version for library in libraries}
        save_rows(rows, versions, options.json, bytes_per_second=bandwidth)
    if options.plot:
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
