"""Programs of many sciences that nothing was tuned for."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


@program(tiny=8, sizes=(200, 1000, 5000), rtol=1e-9)
def hidden_markov(xp: Any, n: int, seed: int) -> Any:
    """Chances of three hidden states, scaled, forwards and backwards."""
    rng = np.random.default_rng(seed)
    move = rng.random((3, 3)) + 0.2
    move = xp.asarray(move / move.sum(axis=1, keepdims=True))
    seen = xp.asarray(rng.random((3, 4)) + 0.1)
    seen /= seen.sum(axis=1)[:, None]
    told = rng.integers(0, 4, n)
    ahead, back, scale = xp.zeros((n, 3)), xp.ones((n, 3)), xp.zeros(n)
    for t in range(n):
        ahead[t] = seen[:, told[t]] * (ahead[t - 1] @ move if t else 1 / 3)
        scale[t] = ahead[t].sum()
        ahead[t] /= scale[t]
    for t in range(n - 2, -1, -1):
        back[t] = move @ (seen[:, told[t + 1]] * back[t + 1]) / scale[t + 1]
    both = ahead * back
    return both / both.sum(axis=1, keepdims=True), xp.log(scale).sum()


@program(tiny=20, sizes=(200, 600, 1500), rtol=1e-9)
def periodogram(xp: Any, n: int, seed: int) -> Any:
    """Lomb and Scargle's powers of a signal at uneven times, frequency by frequency."""
    rng = np.random.default_rng(seed)
    t = xp.asarray(np.sort(rng.random(n)) * 20)
    y = xp.sin(3 * t) + 0.3 * xp.asarray(rng.standard_normal(n))
    y -= y.mean()
    power = xp.zeros(100)
    for k in range(100):
        w = 0.5 + 0.1 * k
        tau = xp.arctan2(xp.sin(2 * w * t).sum(), xp.cos(2 * w * t).sum()) / (2 * w)
        c, s = xp.cos(w * (t - tau)), xp.sin(w * (t - tau))
        power[k] = 0.5 * ((y @ c) ** 2 / (c @ c) + (y @ s) ** 2 / (s @ s))
    return power, power.argmax()


@program(tiny=20, sizes=(500, 1000, 2000))
def nearest_neighbours(xp: Any, n: int, seed: int) -> Any:
    """Classes by the five nearest of known points, and a table of which was taken for which."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    points = xp.asarray(rng.standard_normal((n, 2)) + 1.5 * kind[:, None])
    kind = xp.asarray(kind)
    known, asked = points[: n // 2], points[n // 2 :]
    away = ((asked[:, None] - known[None]) ** 2).sum(axis=-1)
    near = xp.argsort(away, axis=1)[:, :5]
    table = xp.zeros((3, 3), dtype=int)
    for row, true in zip(kind[: n // 2][near], kind[n // 2 :], strict=True):
        table[true, xp.bincount(row, minlength=3).argmax()] += 1
    return table


@program(tiny=8, sizes=(300, 1000, 3000), rtol=1e-10)
def binomial_tree(xp: Any, n: int, seed: int) -> Any:
    """An American put, back through a tree."""
    strike = 90 + 20 * np.random.default_rng(seed).random()
    up = np.exp(0.3 * np.sqrt(1 / n))
    p = (np.exp(0.05 / n) - 1 / up) / (up - 1 / up)
    price = 100 * up ** xp.arange(-n, n + 1, 2).astype(float)
    value = xp.maximum(strike - price, 0)
    for step in range(n - 1, -1, -1):
        price = price[1:] / up
        value = np.exp(-0.05 / n) * (p * value[1:] + (1 - p) * value[: step + 1])
        value = xp.maximum(value, strike - price)
    return value


@program(tiny=3, sizes=(10, 40, 160), rtol=1e-9)
def lattice_boltzmann(xp: Any, n: int, seed: int) -> Any:
    """A fluid of nine speeds on 24 × 24 cells."""
    e = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
    w = xp.asarray([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    f = w[:, None, None] * (1 + 0.1 * xp.asarray(np.random.default_rng(seed).random((9, 24, 24))))
    for _ in range(n):
        for k in range(9):
            f[k] = xp.roll(f[k], tuple(e[k].tolist()), axis=(0, 1))
        rho = f.sum(axis=0)
        u = xp.einsum("kd,kij->dij", xp.asarray(e.astype(float)), f) / rho
        eu = xp.einsum("kd,dij->kij", xp.asarray(e.astype(float)), u)
        rest = w[:, None, None] * rho * (1 + 3 * eu + 4.5 * eu**2 - 1.5 * (u**2).sum(axis=0))
        f += 0.8 * (rest - f)
    return f, u


@program(tiny=3, sizes=(16, 18, 20), rtol=1e-11)
def haar_wavelet(xp: Any, n: int, seed: int) -> Any:
    """A signal of 2ⁿ numbers in levels, small ones dropped, and back."""
    x = xp.asarray(np.random.default_rng(seed).random(2**n))
    size = 2**n
    while size > 1:
        a, b = x[:size:2].copy(), x[1:size:2].copy()
        size //= 2
        x[:size], x[size : 2 * size] = (a + b) / np.sqrt(2), (a - b) / np.sqrt(2)
    x[xp.abs(x) < 0.1] = 0
    kept = xp.count_nonzero(x)
    while size < 2**n:
        a, b = x[:size].copy(), x[size : 2 * size].copy()
        x[: 2 * size : 2], x[1 : 2 * size : 2] = (a + b) / np.sqrt(2), (a - b) / np.sqrt(2)
        size *= 2
    return x, kept


@program(tiny=16, sizes=(500, 2000, 8000), rtol=1e-7)
def gaussian_mixture(xp: Any, n: int, seed: int) -> Any:
    """Two bells on a line by expectation and maximisation."""
    rng = np.random.default_rng(seed)
    x = xp.asarray(np.where(np.arange(n) % 3 == 0, rng.normal(-3, 1, n), rng.normal(3, 1.5, n)))
    mean, var, part = xp.asarray([-2.0, 2.0]), xp.ones(2), xp.full(2, 0.5)
    for _ in range(20):
        dense = part * xp.exp(-0.5 * (x[:, None] - mean) ** 2 / var) / xp.sqrt(2 * np.pi * var)
        mine = dense / dense.sum(axis=1, keepdims=True)
        total = mine.sum(axis=0)
        mean = (mine * x[:, None]).sum(axis=0) / total
        var = (mine * (x[:, None] - mean) ** 2).sum(axis=0) / total
        part = total / n
    return mean, var, part


@program(tiny=10, sizes=(1000, 5000, 20000), rtol=1e-11)
def pool_adjacent(xp: Any, n: int, seed: int) -> Any:
    """The nearest rising sequence: neighbours that fall are pooled."""
    y = xp.asarray(np.arange(n) * 3 / n + np.random.default_rng(seed).standard_normal(n))
    value, weight = xp.zeros(n), xp.zeros(n, dtype=int)
    top = -1
    for i in range(n):
        top += 1
        value[top], weight[top] = y[i], 1
        while top > 0 and value[top - 1] > value[top]:
            both = weight[top - 1] + weight[top]
            value[top - 1] = (weight[top - 1] * value[top - 1] + weight[top] * value[top]) / both
            weight[top - 1] = both
            top -= 1
    return xp.repeat(value[: top + 1], weight[: top + 1])


@program(tiny=8, sizes=(64, 128, 256))
def label_components(xp: Any, n: int, seed: int) -> Any:
    """Labels of connected cells: the largest of the neighbours', until none changes."""
    mask = xp.asarray(np.random.default_rng(seed).random((n, n)) < 0.5)
    labels = xp.where(mask, xp.arange(1, n * n + 1).reshape(n, n), 0)
    while True:
        new = labels.copy()
        new[1:] = xp.maximum(new[1:], labels[:-1])
        new[:-1] = xp.maximum(new[:-1], labels[1:])
        new[:, 1:] = xp.maximum(new[:, 1:], labels[:, :-1])
        new[:, :-1] = xp.maximum(new[:, :-1], labels[:, 1:])
        new[~mask] = 0
        if (new == labels).all():
            break
        labels = new
    found, sizes = xp.unique(labels, return_counts=True)
    return labels, found, sizes


@program(tiny=8, sizes=(256, 512, 1024), rtol=1e-10)
def otsu_threshold(xp: Any, n: int, seed: int) -> Any:
    """The grey level that parts an image best, from its histogram."""
    rng = np.random.default_rng(seed)
    image = xp.asarray(np.clip(rng.normal(80, 20, (n, n)) + 90 * (rng.random((n, n)) < 0.4), 0, 255).astype(np.uint8))
    counts, edges = xp.histogram(image, bins=256, range=(0, 256))
    p = counts / counts.sum()
    below, mean = xp.cumsum(p), xp.cumsum(p * xp.arange(256))
    room = below * (1 - below)
    spread = xp.zeros(256)
    good = room > 1e-12
    spread[good] = (mean[-1] * below[good] - mean[good]) ** 2 / room[good]
    return spread, (image > 140).mean(axis=1), edges


@program(tiny=8, sizes=(100, 400, 2000), rtol=1e-10)
def bootstrap(xp: Any, n: int, seed: int) -> Any:
    """How sure a mean and a median are, from 200 drawings of the sample."""
    rng = np.random.default_rng(seed)
    x = xp.asarray(rng.exponential(2.0, n))
    means, medians = xp.empty(200), xp.empty(200)
    for k in range(200):
        sample = x[xp.asarray(rng.integers(0, n, n))]
        means[k], medians[k] = sample.mean(), xp.median(sample)
    return xp.percentile(means, [2.5, 97.5]), xp.quantile(medians, 0.5), means.std(ddof=1)


@program(tiny=6, sizes=(150, 200, 300), rtol=1e-8)
def chebyshev_solve(xp: Any, n: int, seed: int) -> Any:
    """u″ − u = f by the matrix of derivatives at Chebyshev's points."""
    x = xp.cos(np.pi * xp.arange(n + 1) / n)
    c = xp.ones(n + 1)
    c[[0, -1]] = 2
    c[1::2] *= -1
    d = xp.outer(c, 1 / c) / (x[:, None] - x[None] + xp.eye(n + 1))
    d -= xp.diag(d.sum(axis=1))
    a = (d @ d)[1:-1, 1:-1] - xp.eye(n - 1)
    f = xp.exp(x[1:-1] * (1 + np.random.default_rng(seed).random()))
    u = xp.zeros(n + 1)
    u[1:-1] = xp.linalg.solve(a, f)
    return u, abs(u).max()


@program(tiny=12, sizes=(100, 400, 1000), rtol=1e-9)
def ada_boost(xp: Any, n: int, seed: int) -> Any:
    """Ten stumps, each for what the last ones took wrongly."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, 3))
    y = xp.asarray(np.where(points.sum(axis=1) + 0.5 * rng.standard_normal(n) > 0, 1, -1))
    x, w, score = xp.asarray(points), xp.full(n, 1 / n), xp.zeros(n)
    for _ in range(10):
        best, vote = 2.0, None
        for j in range(3):
            for cut in xp.linspace(-1.5, 1.5, 7):
                tried = xp.where(x[:, j] > cut, 1, -1)
                wrong = w[tried != y].sum()
                if wrong < best - 1e-9:
                    best, vote = wrong, tried
        best = xp.maximum(best, 1e-6)
        alpha = 0.5 * xp.log((1 - best) / best)
        score += alpha * vote
        w *= xp.exp(-alpha * y * vote)
        w /= w.sum()
    return score, (xp.sign(score) == y).mean()
