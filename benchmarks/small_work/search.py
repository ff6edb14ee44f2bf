"""Roots, minima, sorted orders and clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


@program(tiny=3, sizes=(100, 500, 3000), rtol=1e-10)
def newton(xp: Any, n: int, seed: int) -> Any:
    """Roots of x³ − x − a for several a, one by one, while the step is large."""
    given = xp.asarray(1 + np.random.default_rng(seed).random(n))
    roots = xp.zeros(n)
    for k, a in enumerate(given):
        x = xp.asarray(1.5)
        step = xp.asarray(1.0)
        while abs(step) > 1e-7:
            step = (x**3 - x - a) / (3 * x**2 - 1)
            x = x - step
        roots[k] = x
    return roots


@program(tiny=2, sizes=(25, 100, 600), rtol=1e-9)
def bisection(xp: Any, n: int, seed: int) -> Any:
    """Roots of cos x − a x, one by one, by halves."""
    given = xp.asarray(0.5 + np.random.default_rng(seed).random(n))
    roots = []
    for a in given:
        low, high = xp.asarray(0.0), xp.asarray(2.0)
        while high - low > 1e-10:
            middle = (low + high) / 2
            if xp.cos(middle) - a * middle > 0:
                low = middle
            else:
                high = middle
        roots.append((low + high) / 2)
    return xp.stack(roots)


@program(tiny=2, sizes=(5, 25, 120), rtol=1e-6)
def golden_section(xp: Any, n: int, seed: int) -> Any:
    """Minima of sums of squares along lines."""
    rng = np.random.default_rng(seed)
    p, q = xp.asarray(rng.random((n, 8))), xp.asarray(rng.random((n, 8)))
    ratio, found = (5**0.5 - 1) / 2, xp.zeros(n)
    for k in range(n):
        a, b = -5.0, 5.0
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        fc, fd = xp.sum((p[k] + c * q[k]) ** 2), xp.sum((p[k] + d * q[k]) ** 2)
        while b - a > 1e-6:
            if fc < fd:
                b, d, fd = d, c, fc
                c = b - ratio * (b - a)
                fc = xp.sum((p[k] + c * q[k]) ** 2)
            else:
                a, c, fc = c, d, fd
                d = a + ratio * (b - a)
                fd = xp.sum((p[k] + d * q[k]) ** 2)
        found[k] = (a + b) / 2
    return found


@program(tiny=6, sizes=(40, 80, 250))
def bubble_sort(xp: Any, n: int, seed: int) -> Any:
    """Neighbours that change places."""
    x = xp.asarray(np.random.default_rng(seed).random(n))
    for end in range(n - 1, 0, -1):
        swapped = False
        for i in range(end):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1].copy(), x[i].copy()
                swapped = True
        if not swapped:
            break
    return x


@program(tiny=7, sizes=(100, 200, 500))
def insertion_sort(xp: Any, n: int, seed: int) -> Any:
    """Each number moves down to its place."""
    x = xp.asarray(np.random.default_rng(seed).integers(0, 1000, n))
    for i in range(1, n):
        key, j = int(x[i]), i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


def quick(xp: Any, x: Any) -> Any:
    """A sorted vector, by masks and recursion."""
    if len(x) <= 1:
        return x
    pivot = x[len(x) // 2]
    return xp.concatenate((quick(xp, x[x < pivot]), x[x == pivot], quick(xp, x[x > pivot])))


@program(tiny=8, sizes=(300, 1000, 5000))
def quick_sort(xp: Any, n: int, seed: int) -> Any:
    """Smaller, equal and larger numbers, over and over: sizes that depend on data."""
    return quick(xp, xp.asarray(np.random.default_rng(seed).integers(0, n, n)))


@program(tiny=20, sizes=(100, 400, 2000), rtol=1e-9)
def k_means(xp: Any, n: int, seed: int) -> Any:
    """Lloyd's algorithm, with a loop over clusters."""
    rng = np.random.default_rng(seed)
    points = xp.asarray(rng.standard_normal((n, 2)) + 8 * rng.integers(0, 2, (n, 2)))
    centres = points[:4].copy()
    labels = xp.zeros(n, dtype=int)
    for _ in range(25):
        away = xp.sum((points[:, None] - centres[None]) ** 2, axis=2)
        labels = xp.argmin(away, axis=1)
        new = centres.copy()
        for k in range(4):
            mine = points[labels == k]
            if mine.shape[0]:
                new[k] = mine.mean(axis=0)
        if xp.allclose(new, centres):
            break
        centres = new
    return centres, labels


@program(tiny=12, sizes=(2000, 10000, 50000))
def histogram_by_hand(xp: Any, n: int, seed: int) -> Any:
    """A count that is raised for each number."""
    x = xp.asarray(np.random.default_rng(seed).standard_normal(n))
    bins = xp.clip(xp.floor((x + 4) * 4), 0, 31).astype(int)
    counts = xp.zeros(32, dtype=int)
    for b in bins:
        counts[b] += 1
    return counts


@program(tiny=4, sizes=(300, 1500, 8000))
def binary_search(xp: Any, n: int, seed: int) -> Any:
    """Places in a sorted vector, by looks at its middle."""
    rng = np.random.default_rng(seed)
    sorted_x, wanted = xp.asarray(np.sort(rng.random(1000))), rng.random(n).tolist()
    places = []
    for value in wanted:
        low, high = 0, 1000
        while low < high:
            middle = (low + high) // 2
            if sorted_x[middle] < value:
                low = middle + 1
            else:
                high = middle
        places.append(low)
    return xp.array(places)


@program(tiny=4, sizes=(20, 100, 400), rtol=1e-9)
def line_search(xp: Any, n: int, seed: int) -> Any:
    """Gradient steps on Rosenbrock's function, halved until it falls."""
    x = xp.asarray(0.5 + 0.2 * np.random.default_rng(seed).random(4))

    def value(x: Any) -> Any:
        return xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    for _ in range(n):
        g = xp.zeros_like(x)
        g[:-1] = -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
        g[1:] += 200 * (x[1:] - x[:-1] ** 2)
        step, at, slope = 0.01, value(x), g @ g
        while step > 1e-8 and value(x - step * g) > at - 0.5 * step * slope:
            step /= 2
        x = x - step * g
    return value(x)


@program(tiny=5, sizes=(40, 200, 1000), rtol=1e-5)
def simplex_descent(xp: Any, n: int, seed: int) -> Any:
    """Nelder and Mead's steps on a bowl: sorted rows, and the worst is moved."""
    points = xp.asarray(np.random.default_rng(seed).random((4, 3)))
    scale = xp.asarray([1.0, 2.0, 3.0])

    def value(p: Any) -> float:
        return float(xp.sum(scale * (p - 0.3) ** 2))

    values = xp.asarray([value(p) for p in points])
    for _ in range(n):
        order = xp.argsort(values)
        points, values = points[order], values[order]
        middle = xp.mean(points[:-1], axis=0)
        tried = 2 * middle - points[-1]
        found = value(tried)
        if found < values[-2]:
            points[-1], values[-1] = tried, found
        else:
            points[1:] = 0.5 * (points[1:] + points[0])
            values[1:] = xp.asarray([value(p) for p in points[1:]])
        if values.max() < 1e-14:
            break
    return xp.mean(points, axis=0), values
