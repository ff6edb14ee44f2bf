"""Coefficients of the special functions in `src/numloom/emit/include`, computed by mpmath.

``python tools/special_coefficients.py`` prints them as C++ arrays: Chebyshev series by interpolation at the zeros of
a Chebyshev polynomial, cut where terms fall below 1e-17 of the largest; and Temme's expansion of the incomplete gamma
function (DLMF 8.12) in powers of its parameter and variable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

mp.mp.dps = 50


def chebyshev(function: Callable[[Any], Any], count: int = 48, tolerance: float = 1e-17) -> list[Any]:
    """Coefficients of `function` on [-1, 1]; the first one is to be halved by nobody."""
    angles = [mp.pi * (k + mp.mpf(1) / 2) / count for k in range(count)]
    values = [function(mp.cos(angle)) for angle in angles]
    series = [2 * mp.fsum(v * mp.cos(n * a) for v, a in zip(values, angles, strict=True)) / count for n in range(count)]
    series[0] /= 2
    largest = max(map(abs, series))
    while abs(series[-1]) < tolerance * largest:
        series.pop()
    return series


def erfcx(t: Any) -> Any:
    """(1 + 2x) erfcx(x) for all x >= 0."""
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * (mp.exp(x * x) * mp.erfc(x) if x < 20 else 1 / mp.sqrt(mp.pi) * _tail(x))


def _tail(x: Any) -> Any:
    """sqrt(pi) erfcx(x) by its continued fraction."""
    value = mp.mpf(0)
    for k in range(200, 0, -1):
        value = mp.mpf(k) / 2 / (x + value)
    return 1 / (x + value)


def near_zero(order: int) -> Callable[[Any], Any]:
    """exp(-x) I(x), of order 1 over x, up to 8."""

    def function(t: Any) -> Any:
        x = 4 * (t + 1)
        if not x:
            return mp.mpf(1) / (order + 1)
        return mp.exp(-x) * mp.besseli(order, x) / (x if order else 1)

    return function


def far(bessel: Callable[[Any, Any], Any], order: int, scale: int, sign: int) -> Callable[[Any], Any]:
    """A modified Bessel function without its exponential and square root, from `scale` on."""

    def function(t: Any) -> Any:
        x = 2 * scale / (t + 1)
        return mp.exp(sign * x) * mp.sqrt(x) * bessel(order, x)

    return function


def k_near_zero(order: int) -> Callable[[Any], Any]:
    """K(x) without its logarithm up to 2, of order 1 times x."""

    def function(t: Any) -> Any:
        x = mp.sqrt(2 * (t + 1))
        if order:
            return x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))
        return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)

    return function


ROOT = mp.findroot(mp.digamma, 1.46)


def digamma(t: Any) -> Any:
    """digamma(x) over x less its root, on [1, 2]."""
    x = (3 + t) / 2
    return mp.digamma(x) / (x - ROOT)


def temme(orders: int, terms: int) -> list[list[Any]]:
    """Coefficients d[k][n] of eta^n / a^k in Temme's sum (DLMF 8.12.10 to 8.12.12)."""
    size = terms + 2 * orders + 3
    # lambda - 1 = mu as a series in eta, from eta d eta = mu / (1 + mu) d mu.
    mu = [mp.mpf(0), mp.mpf(1)]
    for n in range(2, size):
        # (1 + mu) eta = mu mu'
        rest = mu[n - 1] - mp.fsum(mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n))
        mu.append(rest / (n + 1))
    inverse = [1 / mu[1]]  # of mu / eta
    for n in range(1, size - 1):
        inverse.append(-mp.fsum(mu[i + 1] * inverse[n - i] for i in range(1, n + 1)))
    # 1 / mu = inverse / eta; c0 = 1 / mu - 1 / eta.
    stirling = _stirling(orders)
    rows = [inverse[1:]]
    for k in range(1, orders):
        last = rows[-1]
        # c_k = c_{k-1}' / eta + (-1)^k g_k / mu; the terms 1 / eta cancel.
        sign = (-1) ** k * stirling[k]
        derived = [(n + 1) * last[n + 1] for n in range(len(last) - 1)]
        assert abs(derived[0] + sign * inverse[0]) < mp.mpf(10) ** -30, k
        rows.append([derived[n + 1] + sign * inverse[n + 1] for n in range(len(derived) - 1)])
    return [row[:terms] for row in rows]


def _stirling(count: int) -> list[Any]:
    """Coefficients of 1 / z^k in gamma(z) sqrt(z / (2 pi)) (e / z)^z."""
    logs = [mp.mpf(0)] * (count + 1)
    for k in range(1, count // 2 + 2):
        if 2 * k - 1 <= count:
            logs[2 * k - 1] = mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))
    series = [mp.mpf(1)]
    for n in range(1, count + 1):
        series.append(mp.fsum(i * logs[i] * series[n - i] for i in range(1, n + 1)) / n)
    return series


def array(name: str, values: list[Any]) -> str:
    """C++ text of a table."""
    shown = [mp.nstr(value, 20, min_fixed=-3, max_fixed=3) for value in values]
    lines, line = [], "   "
    for number in shown:
        if len(line) + len(number) > 112:
            lines.append(line)
            line = "   "
        line += f" {number},"
    return "\n".join([f"constexpr f64 {name}[] = {{", *lines, line, "};"])


def main() -> None:
    """Print all tables."""
    for name, function in (
        ("erfcx", erfcx), ("i0_near", near_zero(0)), ("i0_far", far(mp.besseli, 0, 8, -1)), ("i1_near", near_zero(1)),
        ("i1_far", far(mp.besseli, 1, 8, -1)), ("k0_near", k_near_zero(0)), ("k0_far", far(mp.besselk, 0, 2, 1)),
        ("k1_near", k_near_zero(1)), ("k1_far", far(mp.besselk, 1, 2, 1)), ("digamma", digamma),
    ):  # fmt: skip
        print(array(name, chebyshev(function)))
    rest = ROOT - mp.mpf(float(ROOT))
    print(f"// root of digamma: {float(ROOT)!r} + {mp.nstr(rest, 17)}")
    print(array("log_gamma1p", [mp.zeta(k) / k * (-1) ** k for k in range(2, 26)]))
    print(array("temme", [value for row in temme(8, 16) for value in row]))
    print(array("bernoulli", [mp.bernoulli(2 * k) / mp.factorial(2 * k) for k in range(1, 13)]))
    print(array("stirling", [mp.bernoulli(2 * k) / (2 * k * (2 * k - 1)) for k in range(1, 8)]))


if __name__ == "__main__":
    main()
