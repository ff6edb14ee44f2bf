"""Special functions of several parameters over logarithmic grids of these, against mpmath (``python grid.py [NAME]``).

An error counts in epsilons of the result times one and its condition: by how many epsilons the exact value changes
where the parameters do by one. Left out are results outside of 1e-290 to 1e290, points where SciPy itself is NaN,
conditions above 1e12, and points for which mpmath finds no value in a second.
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import mpmath as mp
import numpy as np
from scipy import special

import numloom as nl

EPS = 2.0**-52
POINTS = 60
SECONDS = 1

# ---------------------------------------------------------------- exact values


def _gamma(sign: int) -> Callable[..., Any]:
    def exact(a: Any, x: Any) -> Any:
        if a > 1e6 or x > 1e6:
            raise ValueError("too long a series")
        lower = mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * mp.hyp1f1(1, a + 1, x)
        return lower if sign < 0 else 1 - lower

    return exact


def _beta(a: Any, b: Any, x: Any, y: Any) -> Any:
    """I_x(a, b), with y = 1 - x."""
    if max(a, b) > 1e6:
        raise ValueError("too long a series")
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, y, x)
    density = mp.exp(a * mp.log(x) + b * mp.log(y) - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b))
    return density / a * mp.hyp2f1(1, a + b, a + 1, x)


def _student(v: Any, t: Any) -> Any:
    tail = _beta(v / 2, mp.mpf(1) / 2, v / (v + t * t), t * t / (v + t * t)) / 2
    return tail if t < 0 else 1 - tail


def _times_log(x: Any, y: Any) -> Any:
    return x * mp.log(y)


LOWER, UPPER = _gamma(-1), _gamma(1)
ANY, UNIT, WHOLE, SIGNED, ORDER, MODULUS, DEGREE = "any", "unit", "whole", "signed", "order", "modulus", "degree"
"""Kinds of parameters: positive numbers of every size, between 0 and 1 (near both), whole numbers, both signs."""
CASES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "beta": (lambda a, b: mp.exp(mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)), (ANY, ANY)),
    "betaln": (lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), (ANY, ANY)),
    "gammainc": (LOWER, (ANY, ANY)),
    "gammaincc": (UPPER, (ANY, ANY)),
    "chdtr": (lambda v, x: LOWER(v / 2, x / 2), (ANY, ANY)),
    "chdtrc": (lambda v, x: UPPER(v / 2, x / 2), (ANY, ANY)),
    "gdtr": (lambda a, b, x: LOWER(b, a * x), (ANY, ANY, ANY)),
    "gdtrc": (lambda a, b, x: UPPER(b, a * x), (ANY, ANY, ANY)),
    "pdtr": (lambda k, m: UPPER(k + 1, m), (WHOLE, ANY)),
    "pdtrc": (lambda k, m: LOWER(k + 1, m), (WHOLE, ANY)),
    "betainc": (lambda a, b, x: _beta(a, b, x, 1 - x), (ANY, ANY, UNIT)),
    "betaincc": (lambda a, b, x: _beta(b, a, 1 - x, x), (ANY, ANY, UNIT)),
    "fdtr": (lambda a, b, x: _beta(a / 2, b / 2, a * x / (b + a * x), b / (b + a * x)), (ANY, ANY, ANY)),
    "fdtrc": (lambda a, b, x: _beta(b / 2, a / 2, b / (b + a * x), a * x / (b + a * x)), (ANY, ANY, ANY)),
    "bdtr": (lambda k, n, p: _beta(n - k, k + 1, 1 - p, p), (WHOLE, WHOLE, UNIT)),
    "bdtrc": (lambda k, n, p: _beta(k + 1, n - k, p, 1 - p), (WHOLE, WHOLE, UNIT)),
    "nbdtr": (lambda k, n, p: _beta(n, k + 1, p, 1 - p), (WHOLE, WHOLE, UNIT)),
    "nbdtrc": (lambda k, n, p: _beta(k + 1, n, 1 - p, p), (WHOLE, WHOLE, UNIT)),
    "stdtr": (_student, (ANY, SIGNED)),
    "binom": (lambda n, k: mp.exp(mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)), (ANY, ANY)),
    "poch": (lambda a, m: mp.exp(mp.loggamma(a + m) - mp.loggamma(a)), (ANY, ANY)),
    "zeta": (lambda x, q: mp.zeta(1 + x, q), (ANY, ANY)),
    "kn": (mp.besselk, (ORDER, ANY)),
    "yn": (mp.bessely, (ORDER, ANY)),
    "expn": (lambda n, x: mp.expint(n, x), (ORDER, ANY)),
    "ellipkinc": (mp.ellipf, (ANY, MODULUS)),
    "ellipeinc": (mp.ellipe, (ANY, MODULUS)),
    "rel_entr": (lambda x, y: x * mp.log(x / y), (ANY, ANY)),
    "kl_div": (lambda x, y: x * mp.log(x / y) - x + y, (ANY, ANY)),
    "xlogy": (_times_log, (SIGNED, ANY)),
    "xlog1py": (lambda x, y: x * mp.log(1 + y), (SIGNED, ANY)),
    "huber": (lambda d, r: r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2), (ANY, SIGNED)),
    "pseudo_huber": (lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1), (ANY, SIGNED)),
    "boxcox": (lambda x, l: (mp.power(x, l) - 1) / l, (ANY, SIGNED)),
    "boxcox1p": (lambda x, l: (mp.power(1 + x, l) - 1) / l, (ANY, SIGNED)),
    "inv_boxcox": (lambda y, l: mp.power(1 + l * y, 1 / l), (SIGNED, SIGNED)),
    "inv_boxcox1p": (lambda y, l: mp.power(1 + l * y, 1 / l) - 1, (SIGNED, SIGNED)),
}  # fmt: skip
INVERSES: dict[str, tuple[Callable[..., Any], int, tuple[str, ...]]] = {
    "gammaincinv": (LOWER, 1, (ANY, UNIT)),
    "gammainccinv": (UPPER, 1, (ANY, UNIT)),
    "chdtri": (lambda v, x: UPPER(v / 2, x / 2), 1, (ANY, UNIT)),
    "gdtrix": (lambda a, b, x: LOWER(b, a * x), 2, (ANY, ANY, UNIT)),
    "betaincinv": (CASES["betainc"][0], 2, (ANY, ANY, UNIT)),
    "betainccinv": (CASES["betaincc"][0], 2, (ANY, ANY, UNIT)),
    "fdtri": (CASES["fdtr"][0], 2, (ANY, ANY, UNIT)),
    "stdtrit": (_student, 1, (ANY, UNIT)),
}
"""Functions, which of their arguments the inverse finds, and the inverse's parameters."""

WIDE = 1000
"""Bound of functions that go by logarithms of what may be 1e-290: its size is in their exponents."""
BOUNDS = {
    name: WIDE
    if kinds[0] == WHOLE or any(part in name for part in ("beta", "gamma", "dtr", "dtri", "dtrix", "binom", "poch"))
    else 8
    for name, kinds in [
        *[(name, row[-1]) for name, row in CASES.items()],
        *[(name, row[-1]) for name, row in INVERSES.items()],
    ]
}
"""The most epsilons that a point may miss, by function."""

# ---------------------------------------------------------------- parameters


def draws(kind: str, rng: Any, count: int) -> Any:
    """Parameters of one kind: half of all sizes that there are, half of those that are used."""
    wide = 10.0 ** np.where(rng.random(count) < 0.5, rng.uniform(-300, 300, count), rng.uniform(-12, 4, count))
    if kind == ANY:
        return wide
    if kind == SIGNED:
        return wide * rng.choice([-1.0, 1.0], count)
    if kind == WHOLE:
        return np.floor(10.0 ** rng.uniform(0, 6, count)) - 1 + (rng.random(count) < 0.5)
    if kind == ORDER:
        return np.floor(10.0 ** rng.uniform(0, 2.5, count)) - 1
    small = np.where(rng.random(count) < 0.5, 10.0 ** rng.uniform(-300, 0, count), 10.0 ** rng.uniform(-8, 0, count))
    if kind == MODULUS:
        return np.where(rng.random(count) < 0.5, -np.minimum(wide, 1e10), small)
    return np.where(rng.random(count) < 0.5, small, 1 - small)


def exact_at(function: Callable[..., Any], point: tuple[float, ...]) -> tuple[Any, float]:
    """The value and its condition, or None where that is not known in time."""
    sizes = [abs(mp.log10(abs(x))) for x in point if x]
    mp.mp.dps = 60 + int(2.2 * max(sizes, default=0))
    signal.alarm(SECONDS)
    try:
        exact = [mp.mpf(x) for x in point]
        value, step, condition = mp.re(function(*exact)), mp.mpf(10) ** -25, 0.0
        for place in range(len(point)):
            moved = [x * (1 + step) if k == place else x for k, x in enumerate(exact)]
            if moved[place] != exact[place] and value:
                condition += float(abs(mp.re(function(*moved)) / value - 1) / step)
        return value, condition
    except (ArithmeticError, OverflowError, ValueError, NotImplementedError, TimeoutError, mp.libmp.NoConvergence):
        return None, 0.0
    finally:
        signal.alarm(0)


def _late(*_: Any) -> None:
    raise TimeoutError


def errors(
    name: str, count: int = POINTS, seed: int = 1
) -> Iterator[tuple[float, tuple[float, ...], float, float, float]]:
    """Of each point that counts the error in epsilons, the point, our value, the exact one and SciPy's."""
    signal.signal(signal.SIGALRM, _late)
    rng = np.random.default_rng(seed)
    inverse = INVERSES.get(name)
    function, kinds = CASES[name] if inverse is None else (inverse[0], inverse[2])
    given = [draws(kind, rng, count) for kind in kinds]
    if name == "zeta":
        given[0] = 1 + given[0]
        function = mp.zeta
    # So many that a kernel of their own computes them, not a loop that was built with the package.
    many = [nl.asarray(np.resize(x, 4096)) for x in given]
    ours = getattr(nl.special, name)(*many).get()[:count]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scipys = getattr(special, name)(*given)
    for place in range(count):
        point = tuple(float(x[place]) for x in given)
        got, theirs = float(ours[place]), float(scipys[place])
        if theirs != theirs:
            continue
        if inverse is not None:
            found = error_of_inverse(function, inverse[1], point, got)
            if found is not None:
                yield found, point, got, float("nan"), theirs
            continue
        value, condition = exact_at(function, point)
        if value is None or not 1e-290 < abs(value) < 1e290 or condition > 1e12:
            continue
        error = abs((mp.mpf(got) - value) / value) if np.isfinite(got) else mp.inf
        yield float(error) / EPS / (1 + condition), point, got, float(value), theirs


def error_of_inverse(function: Callable[..., Any], place: int, point: tuple[float, ...], got: float) -> float | None:
    """By how many epsilons what an inverse found misses the probability it was asked for, of its condition."""
    probability = point[-1]
    at = (*point[:place], got)
    if not np.isfinite(got) or not 1e-290 < abs(got) < 1e290:
        return None
    value, condition = exact_at(function, at)
    if value is None or not condition or condition > 1e12:
        return None
    tail = min(probability, 1 - probability)
    missed = abs(value - probability)
    return float(missed / (EPS * (tail + probability * condition))) if tail else None


def main(names: list[str]) -> None:
    """The worst points of each function."""
    for name in names or [*CASES, *INVERSES]:
        found = sorted(errors(name), key=lambda row: -row[0] if row[0] == row[0] else -np.inf)
        print(f"{name}: {len(found)} points, worst " + ", ".join(f"{row[0]:.3g}" for row in found[:4]), flush=True)
        for row in found[:3]:
            if not row[0] < 1000:
                print("    ", row[1], "ours", row[2], "exact", row[3], "SciPy", row[4], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
