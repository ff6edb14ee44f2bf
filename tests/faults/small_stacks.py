"""Programs in a thread with little stack: ``python small_stacks.py KILOBYTES`` tells whether all bits are the same."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy

import numloom as np

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "standardised": lambda a: (a - a.mean(0)) / a.std(0),
    "columns": lambda a: a.sum(0) * a.max(0) - a.min(0),
    "chosen": lambda a: np.where(a > 0.5, a, -a).sum(0),
    "variances": lambda a: a.var(1),
    "all moments": lambda a: a.var() + a.mean(),
    "moments and sums": lambda a: a.var(1) + a.sum(1) * a.max(1),
    "softmax": lambda a: (
        np.exp(a - a.max(1, keepdims=True)) / np.exp(a - a.max(1, keepdims=True)).sum(1, keepdims=True)
    ),
    "extremes": lambda a: a.argmax(0) + a.argmin(0),
    "along rows": lambda a: a.argmax(1) + a.argmin(1),
    "outer": lambda a: (a[:, :, None] * a[:, None, :]).sum(0),
    "turned": lambda a: a.T + np.arange(a.shape[0]),
    "complex": lambda a: (a + 1j * a).sum(0) * (a - 1j).var(),
    "sums in order": lambda a: np.cumsum(a, 0) / a.sum(1, keepdims=True),
    "sorted": lambda a: np.sort(a * 2, 1),
    "products": lambda a: (a * 2) @ (a.T + 1),
    "counts": lambda a: (a > 0.5).sum(0) + (a > 0.25).any(0),
    "short": lambda a: (a.astype("f4") * 2).sum(0, dtype="f4") + a.astype("i4").sum(0),
    "user": lambda a: np.ElementwiseKernel("T x", "T y", "y = x * x + 1", "squared")(a),
    "short rows": lambda a: a.reshape(-1, 6).std(1) + a.reshape(-1, 6).max(1),
}
SHAPES = ((60, 90), (3000, 12), (4, 3000))


def same_in_a_thread(name: str, host: Any) -> bool:
    """Whether a program gives the same bits in a thread of `threading.stack_size` as here, where kernels are made."""
    wants = PROGRAMS[name](np.asarray(host)).get()
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(PROGRAMS[name](np.asarray(host)).get()))
    thread.start()
    thread.join()
    return bool(found) and found[0].tobytes() == wants.tobytes()


def main(kilobytes: str) -> None:
    """Compare what a small thread gives with what this one gives."""
    np.config.unplanned = 0
    np.config.cpu_compile = "wait"
    before = threading.stack_size(int(kilobytes) << 10)
    for shape in SHAPES:
        host = numpy.random.default_rng(0).random(shape)
        for name in PROGRAMS:
            print(name, shape, end=" ", flush=True)
            print(same_in_a_thread(name, host), flush=True)
    threading.stack_size(before)


if __name__ == "__main__":
    main(*sys.argv[1:])
