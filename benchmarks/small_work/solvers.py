"""Iterative and structured solvers of linear systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.linear_algebra import positive_definite, well_conditioned
from benchmarks.small_work.program import program


@program(tiny=8, sizes=(100, 200, 400), rtol=1e-6)
def conjugate_gradients(xp: Any, n: int, seed: int) -> Any:
    """Until the residual is small."""
    a = xp.asarray(positive_definite(n, seed))
    b = xp.asarray(np.random.default_rng(seed + 1).random(n))
    x = xp.zeros(n)
    r = b - a @ x
    p, rr = r.copy(), r @ r
    steps = 0
    while xp.sqrt(rr) > 1e-9 and steps < 10 * n:
        ap = a @ p
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / rr) * p
        rr = new
        steps += 1
    return x


@program(tiny=6, sizes=(300, 500, 1000), rtol=1e-6)
def power_iteration(xp: Any, n: int, seed: int) -> Any:
    """The largest eigenvalue and its vector, until the value stands."""
    a = xp.asarray(np.random.default_rng(seed).random((n, n)))
    v = xp.ones(n) / np.sqrt(n)
    value = before = 0.0
    for _ in range(500):
        w = a @ v
        v = w / xp.linalg.norm(w)
        value = v @ a @ v
        if abs(value - before) < 1e-12 * abs(value):
            break
        before = value
    return value, v


@program(tiny=6, sizes=(20, 100, 300), rtol=1e-7)
def jacobi_iteration(xp: Any, n: int, seed: int) -> Any:
    """All unknowns at once, until none changes much."""
    a = xp.asarray(well_conditioned(n, seed))
    b = xp.asarray(np.random.default_rng(seed + 1).random(n))
    d = xp.diagonal(a)
    rest = a - xp.diag(d)
    x = xp.zeros(n)
    for _ in range(200):
        new = (b - rest @ x) / d
        if xp.allclose(new, x, rtol=1e-10, atol=1e-12):
            break
        x = new
    return x


@program(tiny=6, sizes=(16, 50, 120), rtol=1e-7)
def gauss_seidel(xp: Any, n: int, seed: int) -> Any:
    """One unknown after another, from the newest ones."""
    a = xp.asarray(well_conditioned(n, seed))
    b = xp.asarray(np.random.default_rng(seed + 1).random(n))
    x = xp.zeros_like(b)
    for _ in range(30):
        before = x.copy()
        for i in range(n):
            x[i] = (b[i] - xp.dot(a[i, :i], x[:i]) - xp.dot(a[i, i + 1 :], before[i + 1 :])) / a[i, i]
        if xp.max(xp.abs(x - before)) < 1e-10:
            break
    return x


@program(tiny=12, sizes=(600, 3000, 15000), rtol=1e-12)
def thomas(xp: Any, n: int, seed: int) -> Any:
    """A tridiagonal system, number by number."""
    rng = np.random.default_rng(seed)
    lower, upper, right = (xp.asarray(rng.random(n)) for _ in range(3))
    c, d, x = xp.zeros(n), xp.zeros(n), xp.zeros(n)
    c[0], d[0] = upper[0] / 4.0, right[0] / 4.0
    for i in range(1, n):
        m = 4.0 - lower[i] * c[i - 1]
        c[i] = upper[i] / m
        d[i] = (right[i] - lower[i] * d[i - 1]) / m
    x[-1] = d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


@program(tiny=8, sizes=(30, 120, 400), rtol=1e-12)
def alternating_directions(xp: Any, n: int, seed: int) -> Any:
    """Sweeps of a diffusion solver, by columns and then by rows."""
    u = xp.asarray(np.random.default_rng(seed).random((n, n)))
    v, p, q = (xp.zeros((n, n)) for _ in range(3))
    for _ in range(2):
        v[0, 1:-1] = 1
        v[n - 1, 1:-1] = 1
        p[1:-1, 0], q[1:-1, 0] = 0, v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = 0.5 / (2.0 - 0.5 * p[1:-1, j - 1])
            right = 0.4 * u[1:-1, j] + 0.3 * (u[:-2, j] + u[2:, j]) + 0.5 * q[1:-1, j - 1]
            q[1:-1, j] = right / (2.0 - 0.5 * p[1:-1, j - 1])
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        p[0, 1:-1], q[0, 1:-1] = 0, u[0, 1:-1]
        for i in range(1, n - 1):
            p[i, 1:-1] = 0.3 / (1.6 - 0.3 * p[i - 1, 1:-1])
            right = 0.4 * v[i, 1:-1] + 0.3 * (v[i, :-2] + v[i, 2:]) + 0.3 * q[i - 1, 1:-1]
            q[i, 1:-1] = right / (1.6 - 0.3 * p[i - 1, 1:-1])
        for i in range(n - 2, 0, -1):
            u[i, 1:-1] = p[i, 1:-1] * u[i + 1, 1:-1] + q[i, 1:-1]
    return u, v


@program(tiny=6, sizes=(12, 24, 40), rtol=1e-9)
def laplace_until_converged(xp: Any, n: int, seed: int) -> Any:
    """A small stencil until it changes little."""
    u = xp.zeros((n, n))
    u[0] = xp.asarray(np.random.default_rng(seed).random(n))
    change, steps = 1.0, 0
    while change > 1e-4:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        change = xp.abs(new - u).max()
        u = new
        steps += 1
    return u, steps


@program(tiny=5, sizes=(15, 30, 80), rtol=1e-12)
def seidel_cells(xp: Any, n: int, seed: int) -> Any:
    """A stencil in place, cell by cell: each reads what was just written."""
    u = xp.asarray(np.random.default_rng(seed).random((n, n)))
    for _ in range(2):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] = (u[i - 1 : i + 2, j - 1 : j + 2].sum()) / 9.0
    return u


@program(tiny=8, sizes=(16, 32, 64), rtol=1e-9)
def red_black(xp: Any, n: int, seed: int) -> Any:
    """Over-relaxation of every other point in turns, by slices of stride two."""
    u = xp.asarray(np.random.default_rng(seed).random((n, n)))
    for _ in range(20):
        for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
            up, down = u[i - 1 : -2 : 2, j:-1:2], u[i + 1 :: 2, j:-1:2]
            left, right = u[i:-1:2, j - 1 : -2 : 2], u[i:-1:2, j + 1 :: 2]
            u[i:-1:2, j:-1:2] += 1.5 * (0.25 * (up + down + left + right) - u[i:-1:2, j:-1:2])
    return u


def v_cycle(xp: Any, u: Any, f: Any) -> Any:
    """One V-cycle on a line of points with fixed ends."""
    h = 1.0 / (u.size - 1)
    for _ in range(3):
        u[1:-1] += 0.4 * (u[:-2] + u[2:] - 2 * u[1:-1] + h * h * f[1:-1])
    if u.size > 3:
        r = xp.zeros_like(u)
        r[1:-1] = f[1:-1] + (u[:-2] + u[2:] - 2 * u[1:-1]) / (h * h)
        coarse = r[::2].copy()
        coarse[1:-1] = 0.25 * r[1:-2:2][: coarse.size - 2] + 0.5 * r[2:-2:2] + 0.25 * r[3::2]
        e = v_cycle(xp, xp.zeros_like(coarse), coarse)
        u[::2] += e
        u[1::2] += 0.5 * (e[:-1] + e[1:])
    for _ in range(3):
        u[1:-1] += 0.4 * (u[:-2] + u[2:] - 2 * u[1:-1] + h * h * f[1:-1])
    return u


@program(tiny=3, sizes=(4, 7, 10), rtol=1e-9)
def multigrid(xp: Any, n: int, seed: int) -> Any:
    """Cycles over 2ⁿ + 1 points: another size at each level."""
    f = xp.asarray(np.random.default_rng(seed).random(2**n + 1))
    u = xp.zeros(2**n + 1)
    for _ in range(4):
        u = v_cycle(xp, u, f)
    return u


@program(tiny=12, sizes=(150, 600, 3000), rtol=1e-12)
def csr_product(xp: Any, n: int, seed: int) -> Any:
    """A sparse matrix times a vector, row by row."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 9, n))])
    columns = xp.asarray(rng.integers(0, n, starts[-1]))
    values, x = xp.asarray(rng.random(starts[-1])), xp.asarray(rng.random(n))
    bounds, y = xp.asarray(starts), xp.empty(n)
    for i in range(n):
        row = slice(int(bounds[i]), int(bounds[i + 1]))
        y[i] = xp.sum(values[row] * x[columns[row]])
    return y


@program(tiny=8, sizes=(40, 80, 200), rtol=1e-6)
def lanczos(xp: Any, n: int, seed: int) -> Any:
    """A tridiagonal matrix of a growing basis, made orthogonal again."""
    a = xp.asarray(positive_definite(n, seed))
    q = xp.asarray(np.random.default_rng(seed + 1).random(n))
    basis = (q / xp.linalg.norm(q))[None, :]
    alphas, betas = [], []
    for _ in range(min(n // 2, 30)):
        w = a @ basis[-1]
        alphas.append(w @ basis[-1])
        w = w - basis.T @ (basis @ w)
        w = w - basis.T @ (basis @ w)
        betas.append(xp.linalg.norm(w))
        basis = xp.vstack([basis, w / betas[-1]])
    return xp.stack(alphas), xp.stack(betas)
