"""Large arrays (10⁶ elements at the largest size) and small ones in turns."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


@program(tiny=200, sizes=(10**4, 10**5, 10**6), rtol=1e-8)
def normal_equations(xp: Any, n: int, seed: int) -> Any:
    """Logistic regression by Newton steps: sums over all rows, then three unknowns."""
    rng = np.random.default_rng(seed)
    x = xp.asarray(rng.random(n))
    y = xp.asarray((rng.random(n) < 0.3).astype(float))
    b = xp.zeros(3)
    for _ in range(3):
        p = 1 / (1 + xp.exp(-(b[0] + b[1] * x + b[2] * x * x)))
        w, r = p * (1 - p), y - p
        powers = [xp.sum(w * x**k) for k in range(5)]
        h, g = xp.zeros((3, 3)), xp.zeros(3)
        for i in range(3):
            g[i] = xp.sum(r * x**i)
            for j in range(3):
                h[i, j] = powers[i + j]
        step = xp.linalg.solve(h, g)
        b = b + step
        if xp.linalg.norm(step) < 1e-10:
            break
    return b


@program(tiny=200, sizes=(20000, 10**5, 10**6), rtol=1e-12)
def growing_blocks(xp: Any, n: int, seed: int) -> Any:
    """Blocks of a large vector, each longer than the last, and a table of what was found in each."""
    x = xp.asarray(np.random.default_rng(seed).standard_normal(n))
    start, size, table = 0, 8, xp.zeros((0, 3))
    while start < n:
        block = x[start : start + size]
        row = xp.asarray([[float(block.min()), float(block.max()), float(block.mean())]])
        table = xp.concatenate([table, row])
        start += size
        size += size // 2
    return table


@program(tiny=100, sizes=(10**5, 10**6), rtol=1e-12)
def median_by_bisection(xp: Any, n: int, seed: int) -> Any:
    """The median: how many are below, over and over, with bounds of no dimension."""
    x = xp.asarray(np.random.default_rng(seed).random(n))
    low, high = x.min(), x.max()
    for _ in range(16):
        middle = 0.5 * (low + high)
        if xp.count_nonzero(x < middle) < n // 2:
            low = middle
        else:
            high = middle
    return low, high


@program(tiny=100, sizes=(10**4, 10**5, 10**6), rtol=1e-12)
def probes_of_a_wave(xp: Any, n: int, seed: int) -> Any:
    """A long string is moved in place; a few probes are read at each step and smoothed one by one."""
    u = xp.asarray(np.random.default_rng(seed).random(n))
    before = u.copy()
    places = [n // 5, n // 3, n // 2]
    smooth, track = [0.0] * len(places), []
    for _ in range(12):
        new = 2 * u - before
        new[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
        new[0] = new[-1] = 0
        before, u = u, new
        for k, place in enumerate(places):
            smooth[k] = 0.9 * smooth[k] + 0.1 * u[place]
        track.append(xp.stack(smooth))
    return xp.stack(track), u


@program(tiny=400, sizes=(20000, 10**5, 10**6), rtol=1e-10)
def statistics_by_group(xp: Any, n: int, seed: int) -> Any:
    """A large column, group by group by masks, and a small table of ranks by loops."""
    rng = np.random.default_rng(seed)
    values, groups = xp.asarray(rng.random(n)), xp.asarray(rng.integers(0, 8, n))
    means = xp.zeros(8)
    for g in range(8):
        means[g] = values[groups == g].mean()
    ranks = xp.zeros(8, dtype=int)
    for i in range(8):
        for j in range(8):
            if means[j] < means[i]:
                ranks[i] += 1
    return means, ranks


@program(tiny=100, sizes=(50000, 10**6), rtol=1e-9)
def descent_with_history(xp: Any, n: int, seed: int) -> Any:
    """Steps on a large vector whose lengths come from the last few inner products, in a small array."""
    d = xp.asarray(1 + np.random.default_rng(seed).random(n))
    x, history = xp.ones(n), xp.full(4, 1e9)
    step = 0.4
    for k in range(10):
        g = d * x
        value = 0.5 * xp.dot(x, g)
        if value < history.max():
            step = min(step * 1.1, 0.6)
        else:
            step *= 0.5
        history[k % 4] = value
        x -= step * g
    return x, history


@program(tiny=100, sizes=(20000, 10**6), rtol=1e-9)
def signal_and_coefficients(xp: Any, n: int, seed: int) -> Any:
    """Autocorrelations of a long signal, then its predictor by a recursion of small slices, then the signal again."""
    x = xp.asarray(np.random.default_rng(seed).standard_normal(n))
    r = xp.stack([xp.dot(x[: n - k], x[k:]) for k in range(9)]) / n
    a, error = xp.zeros(9), r[0]
    a[0] = 1
    for k in range(1, 9):
        turn = -xp.dot(a[:k], r[k:0:-1]) / error
        a[1 : k + 1] += turn * a[:k][::-1].copy()
        error = error * (1 - turn * turn)
    rest = x[8:].copy()
    for k in range(1, 9):
        rest += a[k] * x[8 - k : n - k]
    return a, error, rest.std()
