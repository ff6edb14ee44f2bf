"""Bodies, cells and chances, a step at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


@program(tiny=6, sizes=(100, 500, 2000))
def rule_110(xp: Any, n: int, seed: int) -> Any:
    """An automaton of 200 cells: the rule's table by a fancy subscript, each generation a row."""
    rule = xp.asarray([(110 >> k) & 1 for k in range(8)], dtype=xp.uint8)
    cells = xp.zeros((n + 1, 200), dtype=xp.uint8)
    cells[0] = xp.asarray(np.random.default_rng(seed).integers(0, 2, 200, dtype=np.uint8))
    for t in range(n):
        row = cells[t]
        cells[t + 1] = rule[4 * xp.roll(row, 1) + 2 * row + xp.roll(row, -1)]
    return cells


@program(tiny=4, sizes=(20, 100, 400))
def life(xp: Any, n: int, seed: int) -> Any:
    """Conway's game on 32 × 32 cells, neighbours by rolls, until nothing lives."""
    board = xp.asarray(np.random.default_rng(seed).random((32, 32)) < 0.4)
    for _ in range(n):
        count = sum(xp.roll(board, (i, j), (0, 1)).astype(int) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        board = (count == 3) | (board & (count == 2))
        if not board.any():
            break
    return board


@program(tiny=4, sizes=(10, 40, 200), rtol=1e-9)
def velocity_verlet(xp: Any, n: int, seed: int) -> Any:
    """Five bodies, forces by pairs."""
    rng = np.random.default_rng(seed)
    x, v = xp.asarray(3 * rng.random((5, 3))), xp.asarray(rng.standard_normal((5, 3)))
    m = xp.asarray(1 + rng.random(5))

    def forces() -> Any:
        f = xp.zeros((5, 3))
        for i in range(5):
            for j in range(i):
                d = x[j] - x[i]
                pull = m[i] * m[j] * d / (xp.dot(d, d) + 0.01) ** 1.5
                f[i] += pull
                f[j] -= pull
        return f

    f = forces()
    for _ in range(n):
        v += 0.0005 * f / m[:, None]
        x += 0.001 * v
        f = forces()
        v += 0.0005 * f / m[:, None]
    return x, v, 0.5 * xp.sum(m * xp.sum(v * v, axis=1))


@program(tiny=3, sizes=(10, 40, 200), rtol=1e-8)
def three_bodies(xp: Any, n: int, seed: int) -> Any:
    """Runge–Kutta steps of three bodies in a plane, all pairs by broadcasting."""
    rng = np.random.default_rng(seed)
    state = xp.asarray(np.concatenate([3 * rng.random((3, 2)), 0.3 * rng.standard_normal((3, 2))]))

    def slope(s: Any) -> Any:
        d = s[None, :3] - s[:3, None]
        r2 = (d**2).sum(axis=-1, keepdims=True) + 0.05
        return xp.concatenate([s[3:], (d / r2**1.5).sum(axis=1)])

    h = 0.002
    for _ in range(n):
        a = slope(state)
        b = slope(state + h / 2 * a)
        c = slope(state + h / 2 * b)
        d = slope(state + h * c)
        state = state + h / 6 * (a + 2 * b + 2 * c + d)
    return state


@program(tiny=3, sizes=(40, 150, 1000), rtol=1e-9)
def pendulum(xp: Any, n: int, seed: int) -> Any:
    """Runge–Kutta steps of a damped pendulum, its path kept."""
    y = xp.asarray(np.random.default_rng(seed).random(2))
    path = xp.zeros((n + 1, 2))
    path[0] = y
    h = 0.01

    def slope(y: Any) -> Any:
        return xp.array([y[1], -9.81 * xp.sin(y[0]) - 0.2 * y[1]])

    for k in range(n):
        a = slope(y)
        b = slope(y + 0.5 * h * a)
        c = slope(y + 0.5 * h * b)
        d = slope(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
        path[k + 1] = y
    return path


@program(tiny=12, sizes=(350, 1500, 10000), rtol=1e-9)
def lorenz(xp: Any, n: int, seed: int) -> Any:
    """Euler steps of three coordinates, each in an array of its own."""
    x, y, z = (xp.empty(n) for _ in range(3))
    x[0], y[0], z[0] = np.random.default_rng(seed).random(3)
    for i in range(n - 1):
        x[i + 1] = x[i] + 0.0005 * 10 * (y[i] - x[i])
        y[i + 1] = y[i] + 0.0005 * (x[i] * (28 - z[i]) - y[i])
        z[i + 1] = z[i] + 0.0005 * (x[i] * y[i] - 8 / 3 * z[i])
    return x, y, z


@program(tiny=6, sizes=(60, 300, 1500), rtol=1e-12)
def monte_carlo_batches(xp: Any, n: int, seed: int) -> Any:
    """A quarter of a circle by batches of a hundred points, with a running error."""
    rng = np.random.default_rng(seed)
    inside, total, tracks = 0, 0, []
    for _ in range(n):
        p = xp.asarray(rng.random((100, 2)))
        inside += int(xp.sum(p[:, 0] ** 2 + p[:, 1] ** 2 < 1))
        total += 100
        tracks.append(4 * inside / total)
    return xp.asarray(tracks), 4 * inside / total


@program(tiny=6, sizes=(100, 600, 3000))
def random_walks(xp: Any, n: int, seed: int) -> Any:
    """Fifty walkers on a line between two walls, and when each comes home first."""
    steps = xp.asarray(np.random.default_rng(seed).choice([-1, 1], (n, 50)))
    at = xp.zeros(50, dtype=xp.int64)
    home = xp.full(50, n)
    for t in range(n):
        at = xp.clip(at + steps[t], -20, 20)
        home[(at == 0) & (home == n)] = t
    return at, home


@program(tiny=5, sizes=(20, 40, 100))
def ising(xp: Any, n: int, seed: int) -> Any:
    """Metropolis steps of spins, cell by cell, with looks at the neighbours' sum."""
    rng = np.random.default_rng(seed)
    spins = xp.asarray(rng.choice([-1, 1], (n, n)))
    chances = rng.random((n, n))
    for i in range(n):
        for j in range(n):
            around = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % n]
            cost = 2 * spins[i, j] * around
            if cost <= 0 or chances[i, j] < np.exp(-0.5 * float(cost)):
                spins[i, j] *= -1
    return spins, int(spins.sum())


@program(tiny=5, sizes=(12, 24, 40))
def sandpile(xp: Any, n: int, seed: int) -> Any:
    """Grains that topple to four sides until all cells hold less than four."""
    piles = xp.asarray(np.random.default_rng(seed).integers(0, 7, (n, n)))
    while True:
        high = piles >= 4
        if not xp.any(high):
            break
        piles[high] -= 4
        piles[1:] += high[:-1]
        piles[:-1] += high[1:]
        piles[:, 1:] += high[:, :-1]
        piles[:, :-1] += high[:, 1:]
    return piles


@program(tiny=10, sizes=(400, 2000, 10000), rtol=1e-9)
def epidemic(xp: Any, n: int, seed: int) -> Any:
    """Susceptible, infected and recovered parts, as one vector, with the highest day."""
    s, i = 0.99, 0.01 * (1 + np.random.default_rng(seed).random())
    state = xp.asarray([s, i, 0.0])
    peak, day = 0.0, 0
    for t in range(n):
        new, gone = 0.03 * state[0] * state[1], 0.01 * state[1]
        state[0] -= new
        state[1] += new - gone
        state[2] += gone
        if state[1] > peak:
            peak, day = state[1].copy(), t
    return state, peak, day
