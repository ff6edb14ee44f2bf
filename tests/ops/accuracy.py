"""Errors of the mathematical functions on the host, in units of the last place (ULP).

``python tests/ops/accuracy.py`` prints the table of ``docs/accuracy.md``. The reference is NumPy's long double
(64 bits of precision); arguments are special values, random bits, and numbers where functions bend.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from single_loops import DTYPE, build, random_values, special_values

from numloom.ops.elementwise import ELEMENTWISE

Array = np.ndarray[Any, Any]

ONE = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh",
    "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "sqrt",
)  # fmt: skip
TWO = ("power", "arctan2", "hypot")
LIMITS = {"f": dict.fromkeys(ONE + TWO, 2.0), "d": dict.fromkeys(ONE + TWO, 2.0)}
"""Bounds that the tests hold, in ULP; exceptions below."""
for _name, _limit in (("exp", 1.0), ("log", 1.0), ("log1p", 1.0), ("sqrt", 0.501)):
    LIMITS["f"][_name] = LIMITS["d"][_name] = _limit
for _name in ("sinh", "cosh", "tan", "arccosh", "arcsinh", "arctanh", "cbrt"):
    LIMITS["f"][_name] = LIMITS["d"][_name] = 4.0  # libm's


def arguments(name: str, char: str, count: int, seed: int = 1) -> list[Array]:
    """Arguments of a function, as arrays of one length."""
    rng = np.random.default_rng(seed)
    dtype = DTYPE[char]

    def one() -> Array:
        reach = 105 if char == "f" else 750
        parts = [
            random_values(char, count, rng),
            rng.standard_normal(count) * 10.0 ** rng.uniform(-6, 3, count),
            1 + rng.standard_normal(count) * 10.0 ** rng.uniform(-8, -0.3, count),
            rng.uniform(-3, 3, count),
            rng.uniform(-reach, reach, count),
        ]
        return np.concatenate([part.astype(dtype) for part in parts])

    special = special_values(char)
    if name in ONE:
        return [np.concatenate([special, one()])]
    grid = np.meshgrid(special, special)
    second = one()
    rng.shuffle(second)
    return [np.concatenate([grid[0].ravel(), one()]), np.concatenate([grid[1].ravel(), second])]


def errors(name: str, args: list[Array], got: Array) -> tuple[Array, Array]:
    """Error of each result in ULP, and where a special result (zero's sign, infinity, NaN) is wrong."""
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(*(a.astype(np.longdouble) for a in args))
        rounded = exact.astype(got.dtype)
        finite = np.isfinite(got) & np.isfinite(rounded)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        wrong = ~finite & ~same
        wrong |= finite & (got == 0) & (rounded == 0) & (exact == 0) & (np.signbit(got) != np.signbit(rounded))
        # Next to overflow the nearest result may be either side of the end.
        edge = np.isfinite(exact) & (np.abs(exact) > 0.9999 * np.finfo(got.dtype).max)
        place = np.spacing(np.maximum(np.abs(rounded), np.finfo(got.dtype).tiny)).astype(np.longdouble)
        error = np.where(finite, np.abs(got.astype(np.longdouble) - exact) / place, 0).astype(float)
    return error, wrong & ~edge


def measure(count: int = 40_000) -> dict[tuple[str, str], tuple[float, Any, float, int]]:
    """Largest error, where, NumPy's own largest error, and the number of wrong special results."""
    loops = {(name, char): (name, char * ELEMENTWISE[name].nin, char) for name in ONE + TWO for char in "fd"}
    functions = build(tuple(loops.values()))
    found = {}
    for (name, char), loop in loops.items():
        args = arguments(name, char, count)
        got = functions[loop](*args)
        error, wrong = errors(name, args, got)
        with np.errstate(all="ignore"):
            numpys, _ = errors(name, args, getattr(np, name)(*args))
        worst = int(error.argmax())
        found[name, char] = (float(error.max()), tuple(a[worst] for a in args), float(numpys.max()), int(wrong.sum()))
    return found


def table() -> str:
    found = measure(200_000)
    lines = ["| function | float32 | float64 | NumPy float32 | NumPy float64 |", "| --- | ---: | ---: | ---: | ---: |"]
    for name in ONE + TWO:
        single, double = found[name, "f"], found[name, "d"]
        lines.append(f"| {name} | {single[0]:.2f} | {double[0]:.2f} | {single[2]:.2f} | {double[2]:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
