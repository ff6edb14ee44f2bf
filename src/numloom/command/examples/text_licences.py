"""Which licences are alike: words of the licence texts that installed packages carry, times a dense matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

TITLE = "text features of licences"
STEPS = 12
TEXTS = 60


def load() -> dict[str, Any]:
    """How often each word stands in each text, as rows, columns and counts; sorted, so that it is the same again."""
    found: dict[str, str] = {}
    for package in distributions():
        for file in package.files or ():
            if re.match(r"(LICEN[CS]E|COPYING)", file.name) and Path(str(file.locate())).is_file():
                text = Path(str(file.locate())).read_text(encoding="utf-8", errors="replace")
                found.setdefault(str(package.metadata["Name"]), text)
    texts = [re.findall(r"[a-z]{3,}", found[name].lower()) for name in sorted(found)[:TEXTS]]
    words = {word: k for k, word in enumerate(sorted({word for text in texts for word in text}))}
    row = np.concatenate([np.full(len(text), k) for k, text in enumerate(texts)])
    col = np.array([words[word] for text in texts for word in text])
    return {"row": row, "col": col, "names": np.array(sorted(found)[:TEXTS]), "words": np.array(list(words))}


def run(xp: Any, steps: Iterable[int], *, row: Any, col: Any, names: Any, words: Any) -> dict[str, Any]:
    """Directions that tell texts apart by subspace iteration: the sparse counts times dense columns and back."""
    sparse = scipy.sparse if xp is np else xp.sparse
    shape = (len(names), len(words))
    counts = sparse.coo_array((xp.ones(len(row)), (xp.array(row), xp.array(col))), shape=shape).tocsr()
    rare = xp.log(shape[0] / (counts != 0).sum(axis=0)) + 1
    weights = counts.log1p().multiply(rare.reshape(1, -1)).tocsr()
    lengths = xp.sqrt(weights.multiply(weights).sum(axis=1))
    unit = weights.multiply((1 / lengths).reshape(-1, 1)).tocsr()
    basis = xp.array(np.random.default_rng(0).standard_normal((shape[1], 3)))
    for _ in steps:
        basis, _ = xp.linalg.qr(unit.T @ (unit @ basis))
    return {"places": unit @ basis, "alike": (unit @ unit.T).toarray()}


def agree(a: dict[str, Any], b: dict[str, Any]) -> tuple[bool, str]:
    """Whether two results (as NumPy arrays) agree, and by how much they differ."""
    difference = float(np.abs(a["alike"] - b["alike"]).max())
    # The signs of directions may differ: what they span may not.
    spanned = float(np.abs(a["places"] @ a["places"].T - b["places"] @ b["places"].T).max())
    return max(difference, spanned) < 1e-9, f"likeness differs by at most {difference:.1e}, places by {spanned:.1e}"


def describe(result: dict[str, Any]) -> str:
    """What came out, in a few words."""
    alike = result["alike"] - 2 * np.eye(len(result["alike"]))
    return f"{len(alike)} texts, {int((alike > 0.9).sum()) // 2} pairs nearly the same"


def draw(folder: Path, inputs: dict[str, Any], result: dict[str, Any], other: dict[str, Any] | None = None) -> Path:
    """Draw the texts in two directions, and how alike they are."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    places, alike = figure.subplots(1, 2)
    places.scatter(result["places"][:, 1], result["places"][:, 2], s=12)
    places.set_title("texts by two directions")
    order = np.argsort(result["places"][:, 1])
    figure.colorbar(alike.imshow(result["alike"][np.ix_(order, order)], cmap="viridis"), ax=alike)
    alike.set_title("likeness")
    path = folder / "text_licences.png"
    figure.savefig(path, dpi=120)
    return path
