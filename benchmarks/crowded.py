"""Times beside other processes that burn cores: ``python -m benchmarks.crowded``.

Each piece of work runs under NumPy and numloom in turns, alone and beside 1 and 2 processes that never rest. What
counts is the mean time of a call, and how many times longer it is than alone: threads that wait by spinning take cores
from their own process where others have them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

Work = Callable[[Any, dict[str, Any]], Any]


def _wave(xp: Any, data: dict[str, Any]) -> Any:
    u = data["plane"]
    return u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


def _functions(xp: Any, data: dict[str, Any]) -> Any:
    return xp.exp(-data["million"]) * xp.sin(3 * data["million"])


def _sum(xp: Any, data: dict[str, Any]) -> Any:
    return (data["million"] * data["million"]).sum()


def _small_steps(xp: Any, data: dict[str, Any]) -> Any:
    x = data["small"]
    for _ in range(20):
        x = x + 0.01 * (1 - x * x)
        float(x[0])
    return x


def _softmax(xp: Any, data: dict[str, Any]) -> Any:
    x = xp.exp(data["rows"] - data["rows"].max(axis=1, keepdims=True))
    return x / x.sum(axis=1, keepdims=True)


def _product(xp: Any, data: dict[str, Any]) -> Any:
    return data["square"] @ data["square"]


WORKS: dict[str, Work] = {
    "wave step 700 x 700": _wave, "exp and sin of 1,000,000": _functions, "sum of 1,000,000 squares": _sum,
    "20 steps of 50,000, looked at": _small_steps, "softmax of 3,000 x 300": _softmax, "product 400 x 400": _product,
}  # fmt: skip
BURN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for k in range(100_000): pass\n"
"""A process that never rests, until its parent ends."""


def data_of(xp: Any) -> dict[str, Any]:
    """What the work is done on."""
    rng = np.random.default_rng(0)
    shapes: dict[str, Any] = {
        "plane": (700, 700),
        "million": 1_000_000,
        "small": 50_000,
        "rows": (3000, 300),
        "square": (400, 400),
    }
    return {name: xp.asarray(rng.random(size=shape, dtype=np.float64)) for name, shape in shapes.items()}


@contextmanager
def burners(count: int) -> Iterator[None]:
    """So many processes that burn beside the block."""
    begun = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(count)]
    try:
        time.sleep(0.2 if begun else 0.0)
        yield
    finally:
        for process in begun:
            process.kill()
            process.wait()


def mean_of(work: Work, both: dict[str, tuple[Any, dict[str, Any]]], seconds: float) -> dict[str, float]:
    """The mean time of a call under each library, in turns of some calls."""
    spent, calls = dict.fromkeys(both, 0.0), dict.fromkeys(both, 0)
    while min(spent.values()) < seconds:
        for name, (xp, data) in both.items():
            begin = time.perf_counter()
            while time.perf_counter() - begin < seconds / 10:
                result = work(xp, data)
                getattr(xp, "evaluate", id)(result)
                calls[name] += 1
            spent[name] += time.perf_counter() - begin
    return {name: spent[name] / calls[name] for name in both}


def measure(counts: list[int], seconds: float, only: str = "") -> dict[str, list[dict[str, float]]]:
    """Mean seconds of a call by work, for each number of burning processes, under each library."""
    import numloom

    both: dict[str, tuple[Any, dict[str, Any]]] = {
        "numpy": (np, data_of(np)), "numloom": (numloom, data_of(numloom)),
    }  # fmt: skip
    found: dict[str, list[dict[str, float]]] = {name: [] for name in WORKS if only in name}
    for name in found:  # Kernels are compiled first.
        for xp, data in both.values():
            for _ in range(5):
                getattr(xp, "evaluate", id)(WORKS[name](xp, data))
    time.sleep(3 if seconds > 0.1 else 0)
    for count in counts:
        with burners(count):
            for name, row in found.items():
                row.append(mean_of(WORKS[name], both, seconds))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.crowded", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--burners", default="0,1,2", help="numbers of processes that burn, the first is compared to")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each work, library and number (1)")
    parser.add_argument("--only", default="", metavar="WORD", help="work whose name has this")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    counts = [int(word) for word in options.burners.split(",")]
    found = measure(counts, options.seconds, options.only)
    beside = "".join(f"{f'x beside {count}':>22}" for count in counts[1:])
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; NumPy / numloom")
    print(f"{'work':<32}{f'ms beside {counts[0]}':>18}{beside}")
    for name, row in found.items():
        alone = row[0]
        cells = [f"{1e3 * alone['numpy']:.3f} / {1e3 * alone['numloom']:.3f}"]
        cells += [
            f"{each['numpy'] / alone['numpy']:.2f} / {each['numloom'] / alone['numloom']:.2f}" for each in row[1:]
        ]
        print(f"{name:<32}{cells[0]:>18}" + "".join(f"{cell:>22}" for cell in cells[1:]))
    if options.json:
        options.json.write_text(json.dumps({"burners": counts, "seconds": found}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
