"""Labels of a few handwritten digits spread over a graph of neighbours, as a sparse array times scores."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

TITLE = "label propagation, digits"
STEPS = 100
NEIGHBOURS = 7
KNOWN = 100
STAYS = 0.05
"""How much of a digit's score is what is known of itself (Zhou et al. 2003: 1 - alpha)."""


def load() -> dict[str, Any]:
    """The nearest neighbours of each digit that scikit-learn ships, all labels, and which of them are known."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import NearestNeighbors

    digits = load_digits()
    found = NearestNeighbors(n_neighbors=NEIGHBOURS + 1).fit(digits.data)
    near = found.kneighbors(digits.data, return_distance=False)[:, 1:]  # The nearest is the digit itself.
    known = np.random.default_rng(0).permutation(len(digits.target))[:KNOWN]
    return {"near": near, "labels": digits.target, "known": np.sort(known), "images": digits.images}


def run(xp: Any, steps: Iterable[int], *, near: Any, labels: Any, known: Any, images: Any) -> dict[str, Any]:
    """Spread labels with the sparse arrays of `xp`, or SciPy's where it has none; scores, and how many are right."""
    sparse = scipy.sparse if xp is np else xp.sparse
    n, each = near.shape
    pointers = xp.arange(0, n * each + 1, each)
    graph = sparse.csr_array((xp.ones(n * each), xp.asarray(near).ravel(), pointers), shape=(n, n))
    graph = graph.maximum(graph.T).tocsr()
    root = 1 / xp.sqrt(graph.sum(axis=1))
    step = graph.multiply(root).multiply(root[:, None]).tocsr() * (1 - STAYS)
    labels, known = xp.asarray(labels), xp.asarray(known)
    told = xp.zeros((n, 10))
    told[known, labels[known]] = STAYS
    scores, right = told, []
    for _ in steps:
        scores = step @ scores + told
        right.append((scores.argmax(axis=1) == labels).mean())
    return {"scores": scores, "right": [float(share) for share in right]}


def agree(a: dict[str, Any], b: dict[str, Any]) -> tuple[bool, str]:
    """Whether two results (as NumPy arrays) agree, and by how much they differ."""
    difference = float(np.abs(a["scores"] - b["scores"]).max())
    return difference < 1e-13, f"scores differ by at most {difference:.1e}"


def describe(result: dict[str, Any]) -> str:
    """What came out, in a few words."""
    return f"{result['right'][-1]:.1%} of {len(result['scores'])} digits are right, {KNOWN} were told"


def draw(folder: Path, inputs: dict[str, Any], result: dict[str, Any], other: dict[str, Any] | None = None) -> Path:
    """Draw how labels spread, and digits that got a wrong one."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.4), layout="constrained")
    course, wrong = figure.subplots(1, 2)
    course.plot(np.arange(1, len(result["right"]) + 1), result["right"])
    course.set_title("share of digits that are right")
    course.set_xlabel("step")
    found = result["scores"].argmax(axis=1)
    missed = np.flatnonzero(found != inputs["labels"])[:24]
    sheet = np.zeros((4 * 9, 6 * 9))
    for place, k in enumerate(missed):
        down, right = divmod(place, 6)
        sheet[9 * down : 9 * down + 8, 9 * right : 9 * right + 8] = inputs["images"][k]
    wrong.imshow(sheet, cmap="gray_r")
    wrong.set_title("taken for " + " ".join(str(found[k]) for k in missed[:12]) + " ...", fontsize=9)
    wrong.axis("off")
    path = folder / "labels_digits.png"
    figure.savefig(path, dpi=120)
    return path
