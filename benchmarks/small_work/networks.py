"""Graphs: ways, trees and ranks, with arrays for queues and marks."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


def weights_of(n: int, seed: int) -> np.ndarray[Any, Any]:
    """Lengths between nodes, infinite where there is no edge; a ring holds the graph together."""
    rng = np.random.default_rng(seed)
    w = np.where(rng.random((n, n)) < 0.2, rng.random((n, n)), np.inf)
    w[np.arange(n), (np.arange(n) + 1) % n] = 1.0
    np.fill_diagonal(w, np.inf)
    return w


@program(tiny=6, sizes=(50, 100, 200), rtol=1e-12)
def bellman_ford(xp: Any, n: int, seed: int) -> Any:
    """Shortest ways, edge by edge, until nothing changes."""
    host = weights_of(n, seed)
    tails, heads = np.nonzero(np.isfinite(host))
    lengths = xp.asarray(host[tails, heads])
    d = xp.full(n, np.inf)
    d[0] = 0
    for _ in range(n):
        changed = False
        for k, (i, j) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
            if d[i] + lengths[k] < d[j]:
                d[j] = d[i] + lengths[k]
                changed = True
        if not changed:
            break
    return d


@program(tiny=6, sizes=(50, 150, 600), rtol=1e-12)
def dijkstra(xp: Any, n: int, seed: int) -> Any:
    """Shortest ways: the nearest open node by argmin, its row at once."""
    w = xp.asarray(weights_of(n, seed))
    d, parent = xp.full(n, np.inf), xp.full(n, -1)
    done = xp.zeros(n, dtype=bool)
    d[0] = 0.0
    while not xp.all(done):
        u = int(xp.argmin(xp.where(done, np.inf, d)))
        done[u] = True
        through = d[u] + w[u]
        better = ~done & (through < d)
        d[better] = through[better]
        parent[better] = u
    return d, parent


@program(tiny=6, sizes=(50, 150, 600), rtol=1e-12)
def spanning_tree(xp: Any, n: int, seed: int) -> Any:
    """Prim's tree of points, a node at a time."""
    points = xp.asarray(np.random.default_rng(seed).random((n, 2)))
    near = xp.sum((points - points[0]) ** 2, axis=1)
    inside = xp.zeros(n, dtype=bool)
    inside[0] = True
    total, order = 0.0, [0]
    for _ in range(n - 1):
        k = xp.where(inside, np.inf, near).argmin()
        total += np.sqrt(float(near[k]))
        inside[k] = True
        order.append(int(k))
        near = xp.minimum(near, ((points - points[k]) ** 2).sum(axis=1))
    return total, xp.asarray(order)


@program(tiny=8, sizes=(20, 80, 300), rtol=1e-8)
def pagerank(xp: Any, n: int, seed: int) -> Any:
    """Ranks, node by node over the links that come in, until they stand."""
    rng = np.random.default_rng(seed)
    sources = [xp.asarray(rng.integers(0, n, 4)) for _ in range(n)]
    degrees = xp.zeros(n)
    for links in sources:
        xp.add.at(degrees, links, 1)
    degrees = xp.maximum(degrees, 1)
    rank = xp.full(n, 1 / n)
    for _ in range(10):
        new = xp.empty(n)
        for i in range(n):
            links = sources[i]
            new[i] = 0.15 / n + 0.85 * xp.sum(rank[links] / degrees[links])
        if xp.linalg.norm(new - rank, 1) < 1e-9:
            break
        rank = new
    return rank


@program(tiny=6, sizes=(30, 60, 150))
def flood_fill(xp: Any, n: int, seed: int) -> Any:
    """The cells that hang together with the middle, by a stack."""
    grid = xp.asarray((np.random.default_rng(seed).random((n, n)) < 0.65).astype(np.int8))
    grid[n // 2, n // 2] = 1
    stack = [(n // 2, n // 2)]
    while stack:
        i, j = stack.pop()
        if 0 <= i < n and 0 <= j < n and grid[i, j] == 1:
            grid[i, j] = 2
            stack += [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
    return grid, int(xp.count_nonzero(grid == 2))


@program(tiny=8, sizes=(1000, 4000, 20000))
def breadth_first(xp: Any, n: int, seed: int) -> Any:
    """Levels of nodes: whole fronts, whose sizes change, by masks and unique."""
    rng = np.random.default_rng(seed)
    near = xp.asarray(np.stack([(np.arange(n) + 1) % n, rng.integers(0, n, n), (np.arange(n) - 1) % n], axis=1))
    level = xp.full(n, -1)
    front = xp.asarray([0])
    depth = 0
    while front.size > 0:
        level[front] = depth
        following = xp.unique(near[front].ravel())
        front = following[level[following] < 0]
        depth += 1
    return level, depth


@program(tiny=8, sizes=(600, 2500, 10000))
def union_find(xp: Any, n: int, seed: int) -> Any:
    """Parts of a graph: parents in an array, followed and shortened by looks."""
    edges = np.random.default_rng(seed).integers(0, n, (n // 2, 2)).tolist()
    parent = xp.arange(n)

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = int(parent[i])
        return i

    for i, j in edges:
        a, b = root(i), root(j)
        if a != b:
            parent[max(a, b)] = min(a, b)
    return xp.asarray([root(i) for i in range(n)])
