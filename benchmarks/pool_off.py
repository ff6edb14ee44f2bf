"""What a pool is for: ``a.T * 2`` of 1e6 elements, 1000 times, with the pool on, off, and NumPy beside.

``python -m benchmarks.pool_off [--cupy] [--json FILE]``: milliseconds a call, the best of four rows of calls. Off means
that each result's memory comes from the driver and goes back to it: ``cuda.using_allocator(None)`` in both libraries.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy

from benchmarks.libraries import Cupy, Library, Numloom
from benchmarks.measure import clock
from benchmarks.page import rows as markdown
from benchmarks.report import save_rows

ROUNDS = 1000
SIDE = 1000
TURNS = 4


@dataclass(frozen=True)
class Row:
    """One library with its pool on, off, or ("–") without one."""

    library: str
    pool: str
    milliseconds: float


def milliseconds(library: Library, rounds: int, side: int) -> float:
    """Of one call. The first row of calls compiles and fills the pool, so the best one is warm."""
    a = library.array(numpy.arange(side * side, dtype=numpy.float32).reshape(side, side))
    best = float("inf")
    for _ in range(TURNS):
        library.wait(a)
        begin = clock()
        for _ in range(rounds):
            library.start(a.T * 2)  # The result goes at once, as where nobody names it.
        library.wait(a)
        best = min(best, (clock() - begin) / rounds)
    return 1e3 * best


def measured(libraries: list[Library], rounds: int = ROUNDS, side: int = SIDE) -> list[Row]:
    """A row for NumPy, two for each library that has a pool."""
    found = []
    for library in libraries:
        for pool in ("–",) if library.name == "numpy" else ("on", "off"):
            with library.namespace.cuda.using_allocator(None) if pool == "off" else nullcontext():
                found.append(Row(library.name, pool, milliseconds(library, rounds, side)))
    return found


def table(rows: list[Row]) -> list[list[str]]:
    """Cells of the table, its head first."""
    return [["library", "pool", "ms a call"], *([row.library, row.pool, f"{row.milliseconds:.4f}"] for row in rows)]


def main() -> None:
    """Read the command line, measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cupy", action="store_true", help="CuPy, too")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    libraries = [Numloom(), Library(), *([Cupy()] if options.cupy else [])]
    # Also where a plan would run on the host, it is the device's pool that is measured.
    with libraries[0].namespace.config(placement="device"):
        rows = measured(libraries, options.rounds)
    print("\n".join(markdown(table(rows))))
    if options.json:
        save_rows(rows, {library.name: library.version for library in libraries}, options.json)


if __name__ == "__main__":
    main()
