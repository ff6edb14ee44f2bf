"""What a pool is for: ``a.T * 2`` of 1e6 elements, 1000 times, with the pool on, off, and NumPy beside.

``python -m benchmarks.pool_off [--cupy]``: milliseconds a call, and bytes that the last pool held.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy

ROUNDS = 1000


def milliseconds(xp: Any, start: Any, wait: Any, rounds: int) -> float:
    """Of one call."""
    a = xp.asarray(numpy.arange(1e6, dtype=numpy.float32).reshape(1000, 1000))
    best = []
    for _ in range(4):
        wait()
        begin = time.perf_counter()
        for _ in range(rounds):
            start(a.T * 2)
        wait()
        best.append((time.perf_counter() - begin) / rounds)
    return 1e3 * min(best)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cupy", action="store_true", help="CuPy, too")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    import numloom as np

    print("| library | pool | ms |\n| --- | --- | ---: |")
    with np.config(placement="device"):
        print(f"| numloom | on | {milliseconds(np, np.evaluate, np.synchronize, options.rounds):.4f} |", flush=True)
        with np.cuda.using_allocator(None):
            print(
                f"| numloom | off | {milliseconds(np, np.evaluate, np.synchronize, options.rounds):.4f} |", flush=True
            )
    print(f"| NumPy | | {milliseconds(numpy, lambda x: x, lambda: None, options.rounds):.4f} |", flush=True)
    if options.cupy:
        import cupy

        wait = cupy.cuda.runtime.deviceSynchronize
        print(f"| CuPy | on | {milliseconds(cupy, lambda x: x, wait, options.rounds):.4f} |", flush=True)
        with cupy.cuda.using_allocator(None):
            print(f"| CuPy | off | {milliseconds(cupy, lambda x: x, wait, options.rounds):.4f} |", flush=True)


if __name__ == "__main__":
    main()
