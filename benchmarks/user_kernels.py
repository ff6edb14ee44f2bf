"""Users' elementwise and reduction kernels beside our own expressions and CuPy: ``python -m benchmarks.user_kernels``.

Each line is one statement: host and device together, many calls and then one synchronisation, medians of several
batches, the libraries turn by turn.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import numloom

Statement = Callable[[], Any]


def cases(module: Any, size: int) -> dict[str, Statement]:
    """The statements over `size` elements with one library's arrays."""
    rng = np.random.default_rng(3)
    x = module.asarray(rng.standard_normal(size, np.float32))
    y = module.asarray(rng.standard_normal(size, np.float32))
    rows = x.reshape(-1, min(size, 1000))
    places = module.asarray(rng.integers(0, 1000, size, np.int32))
    bins = module.zeros(1000, np.int32)
    squared_diff = module.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff")
    gauss = module.ElementwiseKernel("T x, T y", "T z", "z = exp(-(x * x + y * y) / 2)", "gauss")
    bincount = module.ElementwiseKernel("S x", "raw U bin", "atomicAdd(&bin[x], 1)", "bincount_kernel")
    l2norm = module.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    cases: dict[str, Statement] = {
        "(x-y)*(x-y), a kernel": lambda: squared_diff(x, y),
        "exp(-(x*x+y*y)/2), a kernel": lambda: gauss(x, y),
        "a kernel between expressions": lambda: squared_diff(x * 2, y) + 1,
        "l2norm rows, a kernel": lambda: l2norm(rows, axis=1),
        "l2norm columns, a kernel": lambda: l2norm(rows, axis=0),
        "l2norm of all, a kernel": lambda: l2norm(x),
        "bincount, a kernel": lambda: bincount(places, bins),
    }
    if module is numloom:
        cases |= {
            "(x-y)*(x-y), an expression": lambda: (x - y) * (x - y),
            "exp(-(x*x+y*y)/2), an expression": lambda: module.exp(-(x * x + y * y) / 2),
            "l2norm rows, an expression": lambda: module.sqrt((rows * rows).sum(1)),
            "l2norm columns, an expression": lambda: module.sqrt((rows * rows).sum(0)),
            "l2norm of all, an expression": lambda: module.sqrt((x * x).sum()),
        }
    return cases


def call_time(statement: Statement, start: Callable[[Any], Any], synchronize: Callable[[], Any]) -> float:
    """Microseconds of one call."""
    calls = 1
    while True:
        synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            start(statement())
        synchronize()
        took = time.perf_counter() - begin
        if took > 0.02 or calls >= 2000:
            return took / calls * 1e6
        calls *= 4


def main() -> None:
    """Time the libraries turn by turn and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,1000000,100000000")
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    sides: dict[str, tuple[Any, Callable[[Any], Any], Callable[[], Any]]] = {
        "numloom": (numloom, lambda result: numloom.evaluate(result) if result is not None else None,
                    numloom.synchronize),
    }  # fmt: skip
    try:
        import cupy
    except ImportError:
        print("CuPy is not installed: numloom alone")
    else:
        sides["cupy"] = (cupy, lambda result: None, cupy.cuda.Device().synchronize)
    for size in map(int, given.sizes.split(",")):
        print(f"{size:,} elements")
        statements = {side: cases(module, size) for side, (module, _, _) in sides.items()}
        for name in statements["numloom"]:
            found: dict[str, list[float]] = {}
            for _ in range(given.turns):
                for side, (_, start, synchronize) in sides.items():
                    if name in statements[side]:
                        taken = call_time(statements[side][name], start, synchronize)
                        found.setdefault(side, []).append(taken)
            shown = ", ".join(f"{side} {statistics.median(times):,.2f} µs" for side, times in found.items())
            print(f"  {name}: {shown}")


if __name__ == "__main__":
    main()
