"""What one expression takes by its size, as the table in CuPy's paper has it: ``python -m benchmarks.sizes [--cupy]``.

``a.T * 2`` of 1e4 to 1e8 float32 numbers, memory of a pool, milliseconds a call; and the part of 3.35 TB/s (an H100's
memory) that numloom reaches, counting each number as read and written once. ``--plot FILE.svg`` draws it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy

SIZES = (10**4, 10**5, 10**6, 10**7, 10**8)
BANDWIDTH = 3.35e12
"""Bytes a second."""
LEAST_SECONDS = 0.1


def milliseconds(xp: Any, start: Callable[[Any], Any], wait: Callable[[], Any], size: int, seconds: float) -> float:
    """Of one call: the best of four rows of calls that take so many seconds each."""
    side = int(size**0.5)
    a = xp.asarray(numpy.arange(side * side, dtype=numpy.float32).reshape(side, side))
    calls, best = 1, float("inf")
    for turn in range(40):
        wait()
        begin = time.perf_counter()
        for _ in range(calls):
            start(a.T * 2)
        wait()
        took = time.perf_counter() - begin
        if took < seconds and calls < 1 << 16 and turn < 30:
            calls *= 2
            continue
        best = min(best, took / calls)
        if turn >= 3 and took >= seconds:
            break
    return 1e3 * best


def table(cupy: bool, sizes: tuple[int, ...] = SIZES, seconds: float = LEAST_SECONDS) -> dict[str, list[float]]:
    """Milliseconds for each size, by library."""
    import numloom as np

    found = {
        "NumPy": [milliseconds(numpy, lambda x: x, lambda: None, size, seconds) for size in sizes],
        "numloom": [milliseconds(np, np.evaluate, np.synchronize, size, seconds) for size in sizes],
    }
    if cupy:
        import cupy as cp

        wait = cp.cuda.runtime.deviceSynchronize
        found["CuPy"] = [milliseconds(cp, lambda x: x, wait, size, seconds) for size in sizes]
    return found


def plot(found: dict[str, list[float]], sizes: tuple[int, ...], path: str) -> None:
    """Draw the table, both axes by powers of ten."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3.2))
    for name, times in found.items():
        axes.loglog(sizes, times, "o-", label=name)
    axes.set_xlabel("numbers")
    axes.set_ylabel("milliseconds a call")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cupy", action="store_true", help="CuPy, too")
    parser.add_argument("--plot", metavar="FILE", help="draw it, too")
    options = parser.parse_args()
    found = table(options.cupy)
    print(f"| numbers | {' | '.join(found)} | of the bandwidth |\n| ---: |{' ---: |' * (len(found) + 1)}")
    for place, size in enumerate(SIZES):
        times = " | ".join([f"{times[place]:.4f}" for times in found.values()])
        part = 8 * size / (found["numloom"][place] * 1e-3) / BANDWIDTH
        print(f"| {size:.0e} | {times} | {part:.0%} |")
    if options.plot:
        plot(found, SIZES, options.plot)


if __name__ == "__main__":
    main()
