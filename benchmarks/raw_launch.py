"""The host's time of launching a user's kernel, beside CuPy in the same run: ``python -m benchmarks.raw_launch``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import numloom

CODE = r"""
extern "C" __global__ void nothing() { }
extern "C" __global__ void add(const float* x, const float* y, float* z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" __global__ void axpy(float* z, const float* x, float a, double b, int n, long long m)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i] + (float)b + (float)m;
}
"""
LAUNCHES = 400
TURNS = 25


def cases(module: Any, raw_kernel: Any, typed: bool) -> dict[str, Callable[[], None]]:
    """The statements, with one library's arrays; `typed` wraps numbers as CuPy needs them."""
    x, y, z = module.ones(256, np.float32), module.ones(256, np.float32), module.zeros(256, np.float32)
    nothing, add, axpy = (raw_kernel(CODE, name) for name in ("nothing", "add", "axpy"))
    n, a, b, m = (np.int32(256), np.float32(2), 0.5, 3) if typed else (256, 2.0, 0.5, 3)
    return {
        "no arguments": lambda: nothing((1,), (256,), ()),
        "3 arrays, 1 int": lambda: add((1,), (256,), (x, y, z, n)),
        "2 arrays, 4 numbers": lambda: axpy((1,), (256,), (z, x, a, b, n, m)),
    }


def launch_time(statement: Callable[[], None], synchronize: Callable[[], Any]) -> float:
    """Microseconds of one launch, the device's queue never being full."""
    synchronize()
    start = time.perf_counter()
    for _ in range(LAUNCHES):
        statement()
    took = time.perf_counter() - start
    synchronize()
    return took / LAUNCHES * 1e6


def main() -> None:
    """Time both libraries turn by turn and print the medians."""
    ours = cases(numloom, numloom.RawKernel, False)
    sides = {"numloom": (ours, numloom.synchronize)}
    try:
        import cupy
    except ImportError:
        print("CuPy is not installed: numloom alone")
    else:
        sides["cupy"] = (cases(cupy, cupy.RawKernel, True), cupy.cuda.Device().synchronize)
    for name in ours:
        times: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(TURNS):
            for side, (statements, synchronize) in sides.items():
                times[side].append(launch_time(statements[name], synchronize))
        shown = ", ".join(f"{side} {statistics.median(found):.2f} µs" for side, found in times.items())
        print(f"{name}: {shown}")


if __name__ == "__main__":
    main()
