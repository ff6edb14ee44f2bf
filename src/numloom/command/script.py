"""Running one example from its own script, with the array module that the command line names."""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


def compute(example: ModuleType, xp: Any, steps: Any, inputs: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """An example's results as NumPy arrays, and the seconds from arrays on the host to answers on the host."""
    asnumpy = getattr(xp, "asnumpy", np.asarray)
    begin = time.perf_counter()
    results = example.run(xp, steps, **inputs)
    host = {name: np.asarray(value) if isinstance(value, list) else asnumpy(value) for name, value in results.items()}
    return host, time.perf_counter() - begin


def main(example: ModuleType) -> None:
    """Run an example as a script."""
    parser = argparse.ArgumentParser(description=(example.__doc__ or "").strip())
    parser.add_argument("--module", default="numloom", help="array module: numpy, numloom, cupy, ...")
    parser.add_argument("--steps", type=int, default=example.STEPS)
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for the picture")
    options = parser.parse_args()
    inputs = example.load()
    results, seconds = compute(example, importlib.import_module(options.module), range(options.steps), inputs)
    print(f"{example.TITLE}: {example.describe(results)}; {seconds:.2f} s with {options.module}")
    options.output.mkdir(parents=True, exist_ok=True)
    print(f"wrote {example.draw(options.output, inputs, results)}")
