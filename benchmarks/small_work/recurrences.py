"""Recurrences and filters: each number needs the one before."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


@program(tiny=8, sizes=(100, 300, 1500), rtol=1e-9)
def levinson_durbin(xp: Any, n: int, seed: int) -> Any:
    """A Toeplitz system by growing slices, turned round."""
    # What is beside the diagonal sums to less than that, else errors grow a millionfold.
    r, y = xp.asarray(np.random.default_rng(seed).random(n) / (10 * np.arange(1, n + 1))), xp.zeros(n)
    alpha = -r[0]
    beta, y[0] = 1.0, alpha
    for k in range(1, n):
        beta = beta * (1 - alpha * alpha)
        alpha = -(r[k] + xp.dot(xp.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * xp.flip(y[:k])
        y[k] = alpha
    return y


@program(tiny=20, sizes=(2500, 10000, 100000), rtol=1e-12)
def decaying_sum(xp: Any, n: int, seed: int) -> Any:
    """A running sum with decay, number by number."""
    x = xp.asarray(np.random.default_rng(seed).random(n))
    s = 0.0
    for i in range(n):
        s = s * 0.9 + x[i] * x[i]
    return s


@program(tiny=20, sizes=(3000, 10000, 50000), rtol=1e-9)
def logistic_map(xp: Any, n: int, seed: int) -> Any:
    """A number of no dimension that is replaced at every step."""
    x = xp.asarray(0.3)
    growth = 2.8 + 0.1 * np.random.default_rng(seed).random()
    for _ in range(n):
        x = growth * x * (1 - x)
    return x


@program(tiny=16, sizes=(800, 3000, 15000), rtol=1e-12)
def iir_filter(xp: Any, n: int, seed: int) -> Any:
    """A section of second order, sample by sample."""
    x = xp.asarray(np.random.default_rng(seed).standard_normal(n))
    y = xp.zeros(n)
    for i in range(2, n):
        y[i] = 0.2 * x[i] + 0.3 * x[i - 1] + 0.2 * x[i - 2] + 0.5 * y[i - 1] - 0.25 * y[i - 2]
    return y


@program(tiny=6, sizes=(600, 3000, 15000), rtol=1e-11)
def horner(xp: Any, n: int, seed: int) -> Any:
    """A polynomial at a hundred points, coefficient by coefficient."""
    rng = np.random.default_rng(seed)
    c, x = xp.asarray(rng.standard_normal(n)), xp.asarray(rng.uniform(-1, 1, 100))
    y = xp.zeros_like(x)
    for i in range(n - 1, -1, -1):
        y = y * x + c[i]
    return y


@program(tiny=5, sizes=(20, 100, 600), rtol=1e-9)
def kalman_filter(xp: Any, n: int, seed: int) -> Any:
    """Position and speed from noisy positions, step by step."""
    z = xp.asarray(np.cumsum(np.random.default_rng(seed).standard_normal(n)))
    f, h = xp.asarray([[1.0, 1.0], [0.0, 1.0]]), xp.asarray([[1.0, 0.0]])
    q, r = 0.01 * xp.eye(2), xp.asarray([[0.5]])
    x, p = xp.zeros(2), xp.eye(2)
    path = xp.empty((n, 2))
    for t in range(n):
        x, p = f @ x, f @ p @ f.T + q
        s = h @ p @ h.T + r
        k = p @ h.T @ xp.linalg.inv(s)
        x = x + k @ (z[t : t + 1] - h @ x)
        p = (xp.eye(2) - k @ h) @ p
        path[t] = x
    return path, p


@program(tiny=12, sizes=(600, 3000, 15000), rtol=1e-11)
def holt_winters(xp: Any, n: int, seed: int) -> Any:
    """Level, trend and season of a series."""
    y = xp.asarray(10 + np.random.default_rng(seed).random(n))
    season, fitted = xp.zeros(12), xp.zeros(n)
    level, trend = y[0], 0.0
    for t in range(n):
        fitted[t] = level + trend + season[t % 12]
        before = level
        level = 0.3 * (y[t] - season[t % 12]) + 0.7 * (level + trend)
        trend = 0.1 * (level - before) + 0.9 * trend
        season[t % 12] = 0.2 * (y[t] - level) + 0.8 * season[t % 12]
    return fitted, level, trend


def halves(xp: Any, x: Any) -> Any:
    """The transform of a vector by those of its even and odd elements."""
    n = x.shape[0]
    if n == 1:
        return x
    even, odd = halves(xp, x[::2]), halves(xp, x[1::2])
    turned = xp.exp(-2j * np.pi * xp.arange(n // 2) / n) * odd
    return xp.concatenate([even + turned, even - turned])


@program(tiny=3, sizes=(7, 9, 12), rtol=1e-12)
def recursive_fft(xp: Any, n: int, seed: int) -> Any:
    """A Fourier transform of 2ⁿ numbers by recursion down to single elements."""
    return halves(xp, xp.asarray(np.random.default_rng(seed).random(2**n).astype(complex)))


@program(tiny=16, sizes=(250, 1000, 6000), rtol=1e-9)
def adaptive_filter(xp: Any, n: int, seed: int) -> Any:
    """Least mean squares: the last eight samples, and weights that follow the error."""
    rng = np.random.default_rng(seed)
    x = xp.asarray(rng.standard_normal(n))
    wanted = xp.asarray(rng.standard_normal(n))
    w, errors = xp.zeros(8), []
    for i in range(8, n):
        part = x[i - 8 : i][::-1]
        e = wanted[i] - w @ part
        w += 0.01 * e * part
        errors.append(e)
    return w, xp.asarray(errors)


@program(tiny=9, sizes=(500, 2000, 10000))
def median_filter(xp: Any, n: int, seed: int) -> Any:
    """The middle of five neighbours, window by window."""
    x = xp.asarray(np.random.default_rng(seed).random(n))
    y = x.copy()
    for i in range(2, n - 2):
        y[i] = xp.sort(x[i - 2 : i + 3])[2]
    return y


@program(tiny=10, sizes=(200, 1000, 5000), rtol=1e-12)
def online_variance(xp: Any, n: int, seed: int) -> Any:
    """Mean and variance of rows that come one by one."""
    mean, m2 = xp.zeros(4), xp.zeros(4)
    rows = xp.asarray(np.random.default_rng(seed).random((n, 4)))
    for count, row in enumerate(rows, 1):
        delta = row - mean
        mean += delta / count
        m2 += delta * (row - mean)
    return mean, m2 / (n - 1)
