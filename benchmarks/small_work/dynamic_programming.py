"""Tables that are filled by cells, rows and diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


def two_texts(xp: Any, n: int, seed: int, letters: int = 4) -> tuple[Any, Any]:
    """Two sequences of letters."""
    rng = np.random.default_rng(seed)
    return xp.asarray(rng.integers(0, letters, n)), xp.asarray(rng.integers(0, letters, n + n // 4))


@program(tiny=5, sizes=(25, 50, 150))
def edit_distance(xp: Any, n: int, seed: int) -> Any:
    """Levenshtein's distance, cell by cell."""
    a, b = two_texts(xp, n, seed)
    d = xp.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0] = xp.arange(len(a) + 1)
    d[0, :] = xp.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[-1, -1], d


@program(tiny=6, sizes=(60, 150, 400))
def needleman_wunsch(xp: Any, n: int, seed: int) -> Any:
    """A global alignment: rows by running maxima, and the way back by looks."""
    a, b = two_texts(xp, n, seed)
    gap = 2
    steps = xp.arange(len(b) + 1) * gap
    f = xp.empty((len(a) + 1, len(b) + 1), dtype=xp.int64)
    f[0] = -steps
    for i in range(1, len(a) + 1):
        row = f[i - 1] - gap
        row[1:] = xp.maximum(row[1:], f[i - 1, :-1] + xp.where(b == a[i - 1], 3, -1))
        f[i] = xp.maximum.accumulate(row + steps) - steps
    i, j, path = len(a), len(b), []
    while i and j:
        path.append((i, j))
        if f[i, j] == f[i - 1, j] - gap:
            i -= 1
        elif f[i, j] == f[i, j - 1] - gap:
            j -= 1
        else:
            i, j = i - 1, j - 1
    return f, xp.asarray(path)


@program(tiny=6, sizes=(30, 100, 300))
def smith_waterman(xp: Any, n: int, seed: int) -> Any:
    """A local alignment, by diagonals: steps of fancy subscripts."""
    a, b = two_texts(xp, n, seed)
    rows, columns = len(a), len(b)
    h = xp.zeros((rows + 1, columns + 1), dtype=int)
    for k in range(2, rows + columns + 1):
        i = xp.arange(max(1, k - columns), min(rows, k - 1) + 1)
        j = k - i
        match = xp.where(a[i - 1] == b[j - 1], 2, -1)
        best = xp.maximum(h[i - 1, j - 1] + match, xp.maximum(h[i - 1, j], h[i, j - 1]) - 1)
        h[i, j] = xp.maximum(best, 0)
    where = xp.unravel_index(xp.argmax(h), h.shape)
    return h, int(where[0]), int(where[1])


@program(tiny=6, sizes=(250, 1000, 5000))
def knapsack(xp: Any, n: int, seed: int) -> Any:
    """The best value of each weight, item by item, in place."""
    rng = np.random.default_rng(seed)
    weights, values = rng.integers(1, 30, n), xp.asarray(rng.integers(1, 100, n))
    best = xp.zeros(500, dtype=xp.int64)
    for i, w in enumerate(weights):
        best[w:] = xp.maximum(best[w:], best[:-w] + values[i])
    return best


@program(tiny=7, sizes=(60, 100, 250), rtol=1e-12)
def floyd_warshall(xp: Any, n: int, seed: int) -> Any:
    """All shortest ways, by way of each node in turn."""
    d = xp.asarray(np.random.default_rng(seed).random((n, n)))
    xp.fill_diagonal(d, 0)
    for k in range(n):
        d = xp.minimum(d, d[:, k : k + 1] + d[k])
    return d


@program(tiny=6, sizes=(60, 200, 1000), rtol=1e-11)
def viterbi(xp: Any, n: int, seed: int) -> Any:
    """The likeliest states of a chain, and the way back."""
    rng = np.random.default_rng(seed)
    step, emit = xp.log(xp.asarray(rng.random((5, 5)))), xp.log(xp.asarray(rng.random((5, 8))))
    seen = xp.asarray(rng.integers(0, 8, n))
    score, back = emit[:, seen[0]], xp.zeros((n, 5), dtype=int)
    for t in range(1, n):
        ways = score[:, None] + step
        back[t] = xp.argmax(ways, axis=0)
        score = xp.max(ways, axis=0) + emit[:, seen[t]]
    states = [int(score.argmax())]
    for t in range(n - 1, 0, -1):
        states.append(int(back[t, states[-1]]))
    return xp.asarray(states[::-1]), score.max()


@program(tiny=5, sizes=(8, 14, 24))
def cyk(xp: Any, n: int, seed: int) -> Any:
    """Which symbols of a grammar derive which parts of a sentence: a table of booleans."""
    rng = np.random.default_rng(seed)
    rules = [tuple(int(v) for v in row) for row in rng.integers(0, 4, (6, 3))]
    word = rng.integers(0, 4, n)
    table = xp.zeros((n, n, 4), dtype=bool)
    for i in range(n):
        table[i, i, int(word[i])] = True
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            for head, left, right in rules:
                table[i, j, head] |= xp.any(table[i, i:j, left] & table[i + 1 : j + 1, j, right])
    return table, bool(table[0, n - 1, 0])


@program(tiny=5, sizes=(18, 40, 100))
def nussinov(xp: Any, n: int, seed: int) -> Any:
    """Pairs of a folded sequence, cell by cell from the last row, with splits."""
    bases = xp.asarray(np.random.default_rng(seed).integers(0, 4, n))
    t = xp.zeros((n, n), dtype=int)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            t[i, j] = max(t[i, j - 1], t[i + 1, j])
            if i < j - 1:
                t[i, j] = max(t[i, j], t[i + 1, j - 1] + int(bases[i] + bases[j] == 3))
                t[i, j] = max(t[i, j], (t[i, i + 1 : j] + t[i + 2 : j + 1, j]).max())
    return t


@program(tiny=5, sizes=(12, 40, 100), rtol=1e-12)
def time_warping(xp: Any, n: int, seed: int) -> Any:
    """Dynamic time warping of two series, with looks at three neighbours."""
    rng = np.random.default_rng(seed)
    a, b = xp.asarray(rng.random(n)), xp.asarray(rng.random(n))
    d = xp.full((n + 1, n + 1), np.inf)
    d[0, 0] = 0
    for i in range(n):
        for j in range(n):
            d[i + 1, j + 1] = abs(a[i] - b[j]) + xp.min(xp.asarray([d[i, j], d[i, j + 1], d[i + 1, j]]))
    return d[1:, 1:]


@program(tiny=5, sizes=(15, 30, 80))
def matrix_chain(xp: Any, n: int, seed: int) -> Any:
    """The cheapest order of a product, by slices of rows and columns."""
    sizes = xp.asarray(np.random.default_rng(seed).integers(2, 40, n + 1))
    cost = xp.zeros((n, n), dtype=int)
    split = xp.zeros((n, n), dtype=int)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            ways = cost[i, i:j] + cost[i + 1 : j + 1, j] + sizes[i] * sizes[i + 1 : j + 1] * sizes[j + 1]
            k = xp.argmin(ways)
            cost[i, j], split[i, j] = ways[k], i + k
    return cost, split
