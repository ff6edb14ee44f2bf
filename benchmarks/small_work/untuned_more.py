"""More programs of many sciences that nothing was tuned for."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


@program(tiny=1, sizes=(5, 20, 80), rtol=1e-8)
def runge_kutta_fehlberg(xp: Any, n: int, seed: int) -> Any:
    """Hares and foxes until time n, by steps as long as the error of fourth order beside fifth allows."""
    c = xp.array([0, 1 / 4, 3 / 8, 12 / 13, 1, 1 / 2])
    a = xp.zeros((6, 6))
    a[1, 0] = 1 / 4
    a[2, :2] = xp.array([3, 9]) / 32
    a[3, :3] = xp.array([1932, -7200, 7296]) / 2197
    a[4, :4] = xp.array([439 / 216, -8, 3680 / 513, -845 / 4104])
    a[5, :5] = xp.array([-8 / 27, 2, -3544 / 2565, 1859 / 4104, -11 / 40])
    fourth = xp.array([25 / 216, 0, 1408 / 2565, 2197 / 4104, -1 / 5, 0])
    fifth = xp.array([16 / 135, 0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55])

    def slope(t: Any, y: Any) -> Any:
        return xp.array([y[0] * (1 - y[1]) + 0.05 * xp.sin(t), y[1] * (y[0] - 1)])

    t, h, y = 0.0, 0.1, 0.8 + 0.5 * xp.asarray(np.random.default_rng(seed).random(2))
    times, states = [t], [y]
    while t < n:
        h = min(h, n - t)
        k = xp.zeros((6, 2))
        for i in range(6):
            k[i] = slope(t + c[i] * h, y + h * (a[i, :i] @ k[:i]))
        error = h * xp.abs((fifth - fourth) @ k).max()
        if error <= 1e-6:
            t, y = t + h, y + h * (fifth @ k)
            times.append(t)
            states.append(y)
        h *= min(4, max(0.1, 0.9 * (1e-6 / max(error, 1e-12)) ** 0.2))
    return xp.array(times), xp.array(states)


@program(tiny=2, sizes=(5, 25, 100), rtol=1e-9)
def differential_evolution(xp: Any, n: int, seed: int) -> Any:
    """The lowest of many valleys, by n generations of twenty that cross with differences of others."""
    rng = np.random.default_rng(seed)
    low, high = xp.array([-5.0] * 4), xp.array([5.0] * 4)
    members = low + (high - low) * xp.asarray(rng.random((20, 4)))

    def height(x: Any) -> Any:
        return 10 * x.size + xp.sum(x**2 - 10 * xp.cos(2 * np.pi * x))

    heights = xp.array([height(x) for x in members])
    best = xp.zeros(n)
    for generation in range(n):
        for i in range(len(members)):
            one, two, three = rng.choice([j for j in range(len(members)) if j != i], 3, replace=False)
            mutant = xp.clip(members[one] + 0.7 * (members[two] - members[three]), low, high)
            crossed = xp.asarray(rng.random(4)) < 0.8
            crossed[rng.integers(4)] = True
            trial = xp.where(crossed, mutant, members[i])
            found = height(trial)
            if found < heights[i]:
                members[i], heights[i] = trial, found
        best[generation] = heights.min()
    return members[heights.argmin()], best


@program(tiny=15, sizes=(100, 1000, 5000), rtol=1e-9)
def savitzky_golay(xp: Any, n: int, seed: int) -> Any:
    """A noisy signal and its slope by cubics through eleven neighbours, the ends by those of the last windows."""
    half, degree = 5, 3
    t = xp.linspace(0, 6, n)
    y = xp.sin(t) + 0.1 * xp.asarray(np.random.default_rng(seed).standard_normal(n))
    powers = xp.arange(-half, half + 1.0)[:, None] ** xp.arange(degree + 1)
    weights = xp.linalg.inv(powers.T @ powers) @ powers.T
    smooth, slope = xp.empty(n), xp.empty(n)
    for i in range(half, n - half):
        window = y[i - half : i + half + 1]
        smooth[i] = weights[0] @ window
        slope[i] = weights[1] @ window
    for ends, start in ((range(half), 0), (range(n - half, n), n - 2 * half - 1)):
        fit = weights @ y[start : start + 2 * half + 1]
        for i in ends:
            s = i - start - half
            smooth[i] = sum(fit[k] * s**k for k in range(degree + 1))
            slope[i] = sum(k * fit[k] * s ** (k - 1) for k in range(1, degree + 1))
    return smooth, slope / (t[1] - t[0])


@program(tiny=12, sizes=(50, 200, 800))
def dbscan(xp: Any, n: int, seed: int) -> Any:
    """Clusters of points that have five neighbours near, grown from one to the next; the rest is noise."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0], [3, 0], [1, 3]])[rng.integers(0, 3, n)]
    around = centres + 0.4 * rng.standard_normal((n, 2))
    points = xp.asarray(np.where(rng.random((n, 1)) < 0.9, around, 8 * rng.random((n, 2)) - 2))
    radius = 5.0 / np.sqrt(n)

    def near(i: int) -> Any:
        return xp.nonzero(((points - points[i]) ** 2).sum(axis=1) <= radius**2)[0]

    labels = xp.full(n, -2)
    cluster = -1
    for i in range(n):
        if labels[i] != -2:
            continue
        found = near(i)
        if len(found) < 5:
            labels[i] = -1
            continue
        cluster += 1
        labels[i] = cluster
        queue = list(found)
        while queue:
            j = queue.pop()
            if labels[j] == -1:
                labels[j] = cluster
            if labels[j] != -2:
                continue
            labels[j] = cluster
            found = near(j)
            if len(found) >= 5:
                queue.extend(found[labels[found] < 0])
    return labels, xp.bincount(labels + 1)


@program(tiny=5, sizes=(50, 500, 3000), rtol=1e-10)
def cubic_spline(xp: Any, n: int, seed: int) -> Any:
    """A natural spline through n points: its curvatures by a sweep there and back, then its values at 4n places."""
    rng = np.random.default_rng(seed)
    x = xp.cumsum(xp.asarray(0.5 + rng.random(n)))
    y = xp.sin(x) + 0.1 * xp.asarray(rng.standard_normal(n))
    h = xp.diff(x)
    right = 6 * xp.diff(xp.diff(y) / h)
    diagonal, m = 2 * (h[:-1] + h[1:]), xp.zeros(n)
    for i in range(1, n - 2):
        w = h[i] / diagonal[i - 1]
        diagonal[i] -= w * h[i]
        right[i] -= w * right[i - 1]
    for i in range(n - 3, -1, -1):
        m[i + 1] = (right[i] - h[i + 1] * m[i + 2]) / diagonal[i]
    at = xp.linspace(x[0], x[-1], 4 * n)
    k = xp.clip(xp.searchsorted(x, at) - 1, 0, n - 2)
    a, b = (x[k + 1] - at) / h[k], (at - x[k]) / h[k]
    bend = ((a**3 - a) * m[k] + (b**3 - b) * m[k + 1]) * h[k] ** 2 / 6
    return a * y[k] + b * y[k + 1] + bend, m


@program(tiny=4, sizes=(20, 100, 500), rtol=1e-11)
def de_boor(xp: Any, n: int, seed: int) -> Any:
    """A curve of cubic pieces in the plane at 2n places, each from its four control points, pair by pair."""
    rng = np.random.default_rng(seed)
    control = xp.asarray(rng.standard_normal((n, 2)))
    inner = np.sort(rng.random(n - 4))
    knots = xp.asarray(np.concatenate([np.zeros(4), inner, np.ones(4)]))
    curve = xp.empty((2 * n, 2))
    for row, x in enumerate(xp.linspace(0, 1, 2 * n, endpoint=False)):
        k = int(xp.searchsorted(knots, x, side="right")) - 1
        d = [control[j + k - 3] for j in range(4)]
        for r in range(1, 4):
            for j in range(3, r - 1, -1):
                left = knots[j + k - 3]
                alpha = (x - left) / (knots[j + 1 + k - r] - left)
                d[j] = (1 - alpha) * d[j - 1] + alpha * d[j]
        curve[row] = d[3]
    return curve, xp.sqrt((xp.diff(curve, axis=0) ** 2).sum(axis=1)).sum()


@program(tiny=3, sizes=(20, 100, 500), rtol=1e-8)
def kalman_smoother(xp: Any, n: int, seed: int) -> Any:
    """Place and speed from noisy places: a filter forwards, then the smoother of Rauch, Tung and Striebel back."""
    rng = np.random.default_rng(seed)
    seen = xp.asarray(np.cumsum(np.cumsum(0.1 * rng.standard_normal(n))) + rng.standard_normal(n))
    move, look = xp.array([[1.0, 1.0], [0.0, 1.0]]), xp.array([[1.0, 0.0]])
    drift, noise = 0.01 * xp.array([[1 / 3, 1 / 2], [1 / 2, 1.0]]), xp.array([[1.0]])
    state, spread = xp.zeros((n, 2)), xp.zeros((n, 2, 2))
    ahead, ahead_spread = xp.zeros((n, 2)), xp.zeros((n, 2, 2))
    x, p = xp.zeros(2), 10 * xp.eye(2)
    for t in range(n):
        x, p = move @ x, move @ p @ move.T + drift
        ahead[t], ahead_spread[t] = x, p
        gain = p @ look.T @ xp.linalg.inv(look @ p @ look.T + noise)
        x = x + gain @ (seen[t] - look @ x)
        p = (xp.eye(2) - gain @ look) @ p
        state[t], spread[t] = x, p
    for t in range(n - 2, -1, -1):
        back = xp.linalg.solve(ahead_spread[t + 1], move @ spread[t]).T
        state[t] += back @ (state[t + 1] - ahead[t + 1])
        spread[t] += back @ (spread[t + 1] - ahead_spread[t + 1]) @ back.T
    return state, spread
