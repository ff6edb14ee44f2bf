"""PageRank over the characters of Les Misérables: the graph that networkx ships, as a sparse array."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

TITLE = "PageRank, Les Misérables"
STEPS = 60
DAMPING = 0.85


def load() -> dict[str, Any]:
    """Who is seen with whom how often, as rows, columns and weights."""
    graph = importlib.import_module("networkx").les_miserables_graph()
    names = sorted(graph)
    number = {name: k for k, name in enumerate(names)}
    edges = [(number[a], number[b], float(w)) for a, b, w in graph.edges(data="weight")]
    row, col, weight = (np.array(part) for part in zip(*edges, strict=True))
    return {"row": row, "col": col, "weight": weight, "names": np.array(names)}


def run(xp: Any, steps: Iterable[int], *, row: Any, col: Any, weight: Any, names: Any) -> dict[str, Any]:
    """Power iteration with the sparse arrays of `xp`, or SciPy's where it has none."""
    sparse = scipy.sparse if xp is np else xp.sparse
    n = len(names)
    a = sparse.coo_array((xp.array(weight), (xp.array(row), xp.array(col))), shape=(n, n)).tocsr()
    a = (a + a.T).tocsr()
    step = (a * (1 / a.sum(axis=0))).tocsr()  # each column adds up to 1
    rank = xp.full(n, 1 / n)
    changes = []
    for _ in steps:
        after = DAMPING * (step @ rank) + (1 - DAMPING) / n
        changes.append(abs(after - rank).sum())
        rank = after
    return {"rank": rank, "changes": [float(change) for change in changes]}


def agree(a: dict[str, Any], b: dict[str, Any]) -> tuple[bool, str]:
    """Whether two results (as NumPy arrays) agree, and by how much they differ."""
    difference = float(np.abs(a["rank"] - b["rank"]).max())
    return difference < 1e-13, f"ranks differ by at most {difference:.1e}"


def describe(result: dict[str, Any]) -> str:
    """What came out, in a few words."""
    names = load()["names"]
    return ", ".join(names[k] for k in np.argsort(-result["rank"])[:3]) + " come first"


def draw(folder: Path, inputs: dict[str, Any], result: dict[str, Any], other: dict[str, Any] | None = None) -> Path:
    """Draw the first ranks, and how the steps settle."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.4), layout="constrained")
    ranks, settle = figure.subplots(1, 2)
    first = np.argsort(-result["rank"])[:15][::-1]
    ranks.barh(inputs["names"][first], result["rank"][first])
    ranks.set_title("PageRank")
    settle.semilogy(np.maximum(result["changes"], 1e-17))
    settle.set_title("change of all ranks")
    settle.set_xlabel("step")
    path = folder / "pagerank_miserables.png"
    figure.savefig(path, dpi=120)
    return path
