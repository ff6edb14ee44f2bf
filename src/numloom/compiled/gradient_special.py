"""Derivatives of special functions where a formula of one line would not do: near points at which its parts cancel.

Each is a function of arrays that has derivatives itself, at all orders. Where formulas differ between regions, each
gets numbers of its own region in the others' places, since 0 times what is infinite there would be NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, factorial, pi
from typing import Any

from numloom.compiled.gradient_values import Array, applied, named
from numloom.ops.special import SPECIAL

_TERMS = 20


def _special(name: str, *operands: Any) -> Array:
    return applied(SPECIAL[name], *operands)


def _where(condition: Array, a: Any, b: Any) -> Array:
    return named("where", condition, a, b)


def taylor(a: Array, coefficients: Sequence[Any]) -> Array:
    """A polynomial: what a function is near a point."""
    found: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        found = found * a + coefficient
    return found


def apart(a: Array, b: Array) -> Array:
    """The difference of two numbers; 0 of equal ones that are infinite."""
    return _where((a == b) & named("isinf", a), 0, a - b)


_SINE = [(-1) ** k * 2 * k / factorial(2 * k + 1) for k in range(1, 13)]


def of_sine_quotient(a: Array) -> Array:
    """The derivative of ``sin(a) / a``."""
    near = named("absolute", a) < 1
    small, large = _where(near, a, 0), _where(near, 1, a)
    formula = (named("cos", large) - named("sin", large) / large) / large
    return _where(near, small * taylor(small * small, _SINE), formula)


# ---------------------------------------------------------------- of the gamma function


def _of_pi(a: Array) -> tuple[Array, Array]:
    """Sine and cosine of pi times numbers, exact where these are whole."""
    whole = named("rint", a)
    sign = 1 - 2 * named("remainder", whole, 2)
    part = pi * (a - whole)
    return sign * named("sin", part), sign * named("cos", part)


def trigamma(a: Array) -> Array:
    """The derivative of ``psi``."""
    positive = a > 0
    there = _special("hurwitz_zeta", 2.0, _where(positive, a, 1 - a))
    sine = _of_pi(_where(positive, 0.5, a))[0]
    return _where(positive, there, pi**2 / (sine * sine) - there)


def of_rgamma(a: Array) -> Array:
    """The derivative of ``1 / gamma(a)``, which is finite everywhere: by reflection left of 1/2."""
    left = a < 0.5
    one, other = _where(left, a, 0), _where(left, 1, a)
    sine, cosine = _of_pi(one)
    reflected = _special("gamma", 1 - one) * (cosine - sine * _special("psi", 1 - one) / pi)
    return _where(left, reflected, -_special("rgamma", other) * _special("psi", other))


def of_beta(a: Array, b: Array, y: Array) -> Array:
    """The derivative of ``beta(a, b)`` by `a`, also where it is 0."""
    direct = (a + b < 0.5) & (named("absolute", a) < 50) & (named("absolute", b) < 50)
    one, other = _where(direct, a, 0.25), _where(direct, b, 0.25)
    total = one + other
    found = _special("psi", one) * _special("rgamma", total) + of_rgamma(total)
    found = _special("gamma", one) * _special("gamma", other) * found
    a, b = _where(direct, 1, a), _where(direct, 1, b)
    return _where(direct, found, y * (_special("psi", a) - _special("psi", a + b)))


def of_poch(a: Array, b: Array, y: Array) -> Array:
    """The derivative of ``gamma(a + b) / gamma(a)`` by `a`, also where it is 0."""
    direct = (a < 0.5) & (a > -100) & (named("absolute", a + b) < 100)
    one, other = _where(direct, a, 0.25), _where(direct, b, 1)
    total = one + other
    found = _special("psi", total) * _special("rgamma", one) + of_rgamma(one)
    a, b = _where(direct, 1, a), _where(direct, 1, b)
    return _where(
        direct, _special("gamma", total) * found, y * (_special("psi", a + b) - _special("psi", a))
    )  # fmt: skip


def _outside(n: Array, k: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Where ``binom(n, k)`` may be 0, with numbers for there and for elsewhere."""
    direct = (n > -1) & (n < 100) & (named("absolute", k) < 100) & ((k < 0) | (k > n))
    return direct, _where(direct, n, 1), _where(direct, k, 2), _where(direct, 1, n), _where(direct, 1, k)


def of_binom(n: Array, k: Array, y: Array) -> Array:
    """The derivative of ``binom(n, k)`` by `n`."""
    direct, m, j, n, k = _outside(n, k)
    rest = m - j + 1
    found = _special("psi", m + 1) * _special("rgamma", rest) + of_rgamma(rest)
    found = _special("gamma", m + 1) * _special("rgamma", j + 1) * found
    return _where(direct, found, y * (_special("psi", n + 1) - _special("psi", n - k + 1)))


def of_binom_by_count(n: Array, k: Array, y: Array) -> Array:
    """The derivative of ``binom(n, k)`` by `k`."""
    direct, m, j, n, k = _outside(n, k)
    rest = m - j + 1
    found = of_rgamma(j + 1) * _special("rgamma", rest) - _special("rgamma", j + 1) * of_rgamma(rest)
    found = _special("gamma", m + 1) * found
    return _where(direct, found, y * (_special("psi", n - k + 1) - _special("psi", k + 1)))


# ---------------------------------------------------------------- powers and logarithms

_EXPREL = [(k + 1) / factorial(k + 2) for k in range(_TERMS)]
_BOXCOX = [(-1) ** (k + 1) * (1 - 1 / k) for k in range(2, _TERMS + 2)]
_SPENCE = [-1 / (k + 1) for k in range(_TERMS)]


def of_exprel(a: Array) -> Array:
    """The derivative of ``(exp(a) - 1) / a``."""
    near = named("absolute", a) < 1
    small, large = _where(near, a, 0), _where(near, 1, a)
    return _where(near, taylor(small, _EXPREL), (named("exp", large) - _special("exprel", large)) / large)


def of_inverse_boxcox(a: Array, b: Array) -> Array:
    """The derivative of ``log(a * b + 1) / b`` by `b`."""
    inside = a * b
    near = named("absolute", inside) < 0.1
    small, large = _where(near, inside, 0), _where(near, 1, inside)
    formula = (large / (large + 1) - named("log1p", large)) / (large * large)
    return a * a * _where(near, taylor(small, _BOXCOX), formula)


def of_spence(a: Array) -> Array:
    """The derivative of ``spence``."""
    near = named("absolute", 1 - a) < 0.1
    small, large = _where(near, 1 - a, 0), _where(near, 2, a)
    return _where(near, taylor(small, _SPENCE), named("log", large) / (1 - large))


# ---------------------------------------------------------------- elliptic integrals

_ROOTS = [comb(2 * n, n) / 4**n for n in range(_TERMS + 2)]
"""Coefficients of ``(1 - x) ** -0.5``."""
_K = [pi / 2 * (n + 1) * _ROOTS[n + 1] ** 2 for n in range(_TERMS)]
_E = [pi / 2 * (n + 1) * _ROOTS[n + 1] ** 2 / (-1 - 2 * n) for n in range(_TERMS)]


def _near_zero(m: Array) -> tuple[Array, Array, Array]:
    near = named("absolute", m) < 0.1
    return near, _where(near, m, 0), _where(near, 0.5, m)


def of_ellipk(m: Array) -> Array:
    """The derivative of the complete integral of the first kind."""
    near, small, large = _near_zero(m)
    formula = (_special("ellipe", large) / (1 - large) - _special("ellipk", large)) / (2 * large)
    return _where(near, taylor(small, _K), formula)


def of_ellipe(m: Array) -> Array:
    """The derivative of the complete integral of the second kind."""
    near, small, large = _near_zero(m)
    return _where(near, taylor(small, _E), (_special("ellipe", large) - _special("ellipk", large)) / (2 * large))


def _powers_of_sines(angle: Array) -> list[Array]:
    """Integrals of ``sin(x) ** (2 * n)`` from 0 to an angle, n from 1."""
    sine, cosine = named("sin", angle), named("cos", angle)
    found, power, last = [], sine * cosine, angle
    for n in range(1, _TERMS + 1):
        last = ((2 * n - 1) * last - power) / (2 * n)
        found.append(last)
        power = power * sine * sine
    return found


def of_ellipkinc(angle: Array, m: Array) -> Array:
    """The derivative of the incomplete integral of the first kind by its parameter."""
    near, small, large = _near_zero(m)
    series = [n * _ROOTS[n] * one for n, one in enumerate(_powers_of_sines(angle), 1)]
    sine = named("sin", angle)
    ends = named("sin", 2 * angle) / (2 * named("sqrt", 1 - large * sine * sine))
    first, second = _special("ellipkinc", angle, large), _special("ellipeinc", angle, large)
    formula = ((second - large * ends) / (1 - large) - first) / (2 * large)
    return _where(near, taylor(small, series), formula)


def of_ellipeinc(angle: Array, m: Array) -> Array:
    """The derivative of the incomplete integral of the second kind by its parameter."""
    near, small, large = _near_zero(m)
    series = [n * _ROOTS[n] / (1 - 2 * n) * one for n, one in enumerate(_powers_of_sines(angle), 1)]
    formula = (_special("ellipeinc", angle, large) - _special("ellipkinc", angle, large)) / (2 * large)
    return _where(near, taylor(small, series), formula)


__all__ = [
    "apart",
    "of_beta",
    "of_binom",
    "of_binom_by_count",
    "of_ellipe",
    "of_ellipeinc",
    "of_ellipk",
    "of_ellipkinc",
    "of_exprel",
    "of_inverse_boxcox",
    "of_poch",
    "of_rgamma",
    "of_sine_quotient",
    "of_spence",
    "trigamma",
]
