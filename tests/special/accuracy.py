"""Errors of the special functions, relative, against mpmath: ``python tests/special/accuracy.py`` prints the table.

Arguments are random in the range where a function is commonly used, float64 and float32; SciPy's errors beside ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
from scipy import special

import numloom as nl

Array = np.ndarray[Any, Any]
mp.mp.dps = 40


def _spread(low: float, high: float) -> Callable[[Any, int], Array]:
    """Numbers of many magnitudes."""
    return lambda rng, count: np.exp(rng.uniform(np.log(low), np.log(high), count))


def _even(low: float, high: float) -> Callable[[Any, int], Array]:
    return lambda rng, count: rng.uniform(low, high, count)


_UNIT = _even(0, 1)
CASES: dict[str, tuple[Callable[..., Any], tuple[Callable[[Any, int], Array], ...]]] = {
    "erf": (mp.erf, (_even(-6, 6),)),
    "erfc": (mp.erfc, (_even(-6, 26),)),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), (_even(-20, 60),)),
    "erfinv": (mp.erfinv, (_even(-1, 1),)),
    "erfcinv": (lambda y: mp.findroot(lambda w: mp.erfc(w) - y, float(special.erfcinv(float(y)))), (_even(0.01, 1),)),
    "ndtr": (mp.ncdf, (_even(-36, 8),)),
    "log_ndtr": (lambda x: mp.log(mp.ncdf(x)), (_even(-40, 8),)),
    "gamma": (mp.gamma, (_even(-20, 170),)),
    "gammaln": (lambda x: mp.log(mp.gamma(x)), (_spread(1e-3, 1e5),)),
    "psi": (mp.digamma, (_even(0.01, 100),)),
    "beta": (mp.beta, (_spread(0.1, 200), _spread(0.1, 200))),
    "betaln": (lambda a, b: mp.log(mp.beta(a, b)), (_spread(0.1, 1e4), _spread(0.1, 1e4))),
    "zeta": (mp.zeta, (_even(-20, 30),)),
    "i0": (lambda x: mp.besseli(0, x), (_even(-100, 100),)),
    "i1": (lambda x: mp.besseli(1, x), (_even(-100, 100),)),
    "k0": (lambda x: mp.besselk(0, x), (_spread(1e-3, 100),)),
    "k1": (lambda x: mp.besselk(1, x), (_spread(1e-3, 100),)),
    "gammainc": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), (_spread(0.1, 500), _spread(0.1, 500))),
    "gammaincc": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), (_spread(0.1, 500), _spread(0.1, 500))),
    "betainc": (
        lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        (_spread(0.1, 100), _spread(0.1, 100), _UNIT),
    ),
    "stdtr": (lambda v, t: _student(v, t), (_spread(0.5, 200), _even(-20, 20))),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), (_even(-50, 50),)),
    "logit": (lambda x: mp.log(x / (1 - x)), (_UNIT,)),
    "rel_entr": (lambda x, y: x * mp.log(x / y), (_UNIT, _UNIT)),
    "kl_div": (lambda x, y: x * mp.log(x / y) - x + y, (_UNIT, _UNIT)),
    "exp10": (lambda x: mp.power(10, x), (_even(-300, 300),)),
    "exprel": (lambda x: mp.expm1(x) / x, (_even(-50, 50),)),
    "exp1": (mp.e1, (_spread(1e-3, 600),)),
    "expi": (mp.ei, (_spread(0.5, 600),)),
    "ellipk": (mp.ellipk, (_even(-10, 1),)),
    "ellipe": (mp.ellipe, (_even(-10, 1),)),
    "ellipkinc": (mp.ellipf, (_even(-10, 10), _even(-5, 1))),
    "ellipeinc": (mp.ellipe, (_even(-10, 10), _even(-5, 1))),
    "expn": (lambda n, x: mp.expint(int(n), x), (lambda rng, count: rng.integers(0, 20, count), _spread(1e-3, 50))),
    "spence": (lambda x: mp.polylog(2, 1 - x).real, (_spread(1e-3, 1e3),)),
    "binom": (mp.binomial, (_even(0, 60), _even(0, 60))),
    "poch": (mp.rf, (_even(0.1, 50), _even(-10, 50))),
    "kn": (lambda n, x: mp.besselk(int(n), x), (lambda rng, count: rng.integers(0, 20, count), _spread(0.1, 50))),
    "gammaincinv": (lambda a, p: _root(lambda x: mp.gammainc(a, 0, x, regularized=True) - p,
                                       special.gammaincinv(float(a), float(p))), (_spread(0.3, 100), _UNIT)),
    "betaincinv": (lambda a, b, p: _root(lambda x: mp.betainc(a, b, 0, x, regularized=True) - p,
                                         special.betaincinv(float(a), float(b), float(p))),
                   (_spread(0.5, 50), _spread(0.5, 50), _even(0.01, 0.99))),
}  # fmt: skip


def _root(function: Callable[[Any], Any], near: float) -> Any:
    """A root of a function, by the secant method from a number near it."""
    return mp.findroot(function, (mp.mpf(near), mp.mpf(near) * (1 + mp.mpf(10) ** -9)))


def _student(v: Any, t: Any) -> Any:
    tail = mp.betainc(v / 2, 0.5, 0, v / (v + t * t), regularized=True) / 2
    return tail if t < 0 else 1 - tail


def relative(got: Array, exact: list[Any], smallest: float) -> float:
    """Largest relative error where results are normal numbers."""
    errors = [
        abs((mp.mpf(float(g)) - e) / e) for g, e in zip(got, exact, strict=True) if smallest < abs(e) < 1 / smallest
    ]
    return float(max(errors))


def measure(name: str, count: int = 300) -> tuple[float, float, float]:
    """Largest errors of float64, float32 and of SciPy's float64."""
    function, ranges = CASES[name]
    rng = np.random.default_rng(1)
    single = [draw(rng, count).astype(np.float32) for draw in ranges]
    double = [x.astype(np.float64) for x in single]
    exact = [function(*map(mp.mpf, map(float, point))) for point in zip(*double, strict=True)]
    ours = getattr(nl.special, name)
    wide, narrow = (ours(*map(nl.asarray, args)).get() for args in (double, single))
    return (
        relative(wide, exact, 1e-290), relative(narrow, exact, 1e-36),
        relative(getattr(special, name)(*double), exact, 1e-290),
    )  # fmt: skip


def table() -> str:
    """The table of docs/accuracy.md, in units of each dtype's epsilon."""
    lines = ["| function | float64 | float32 | SciPy float64 |", "| --- | ---: | ---: | ---: |"]
    for name in CASES:
        wide, narrow, scipys = measure(name)
        lines.append(f"| {name} | {wide / 2**-52:.1f} | {narrow / 2**-23:.1f} | {scipys / 2**-52:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
