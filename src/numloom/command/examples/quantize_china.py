"""A photograph in few colours: k-means over the pixels of china.jpg, which scikit-learn ships."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

TITLE = "k-means colours, china.jpg"
STEPS = 10
COLOURS = 16


def load() -> dict[str, Any]:
    """The photograph (float32, 0 to 1) and first colours: pixels drawn from it."""
    from sklearn.datasets import load_sample_image

    photograph = load_sample_image("china.jpg").astype(np.float32) / 255
    pixels = photograph.reshape(-1, 3)
    drawn = np.random.default_rng(1).choice(len(pixels), COLOURS, replace=False)
    return {"photograph": photograph, "centres": pixels[drawn]}


def run(xp: Any, steps: Iterable[int], *, photograph: Any, centres: Any) -> dict[str, Any]:
    """Find the colours with the array module `xp` and paint the photograph with them."""
    pixels = xp.asarray(photograph).reshape(-1, 3)
    centres = xp.asarray(centres)
    numbers = xp.arange(len(centres))
    for _ in steps:
        distances = ((pixels[:, None, :] - centres) ** 2).sum(axis=2)
        members = distances.argmin(axis=1)[:, None] == numbers
        counts = members.sum(axis=0)[:, None]
        sums = members.astype(xp.float32).T @ pixels
        centres = xp.where(counts > 0, sums / xp.maximum(counts, 1).astype(xp.float32), centres)
    labels = ((pixels[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return {"centres": centres, "labels": labels, "painted": centres[labels].reshape(photograph.shape)}


def agree(a: dict[str, Any], b: dict[str, Any]) -> tuple[bool, str]:
    """Whether two results (as NumPy arrays) agree, and by how much they differ."""
    difference = float(np.abs(a["centres"] - b["centres"]).max())
    moved = float(np.mean(a["labels"] != b["labels"]))
    # A pixel halfway between two colours may take either; it then moves both a little.
    return (
        difference <= 1e-3 and moved <= 1e-3,
        f"colours differ by {difference:.1e} (≤ 1e-3), {100 * moved:.3f} % of pixels (≤ 0.1 %)",
    )


def describe(result: dict[str, Any]) -> str:
    """What came out, in a few words."""
    return f"{len(result['centres'])} colours for {len(result['labels'])} pixels"


def draw(folder: Path, inputs: dict[str, Any], result: dict[str, Any], other: dict[str, Any] | None = None) -> Path:
    """Draw before, after, what was lost and, given a second result, where the two differ."""
    from matplotlib.figure import Figure

    before, after = inputs["photograph"], result["painted"]
    pictures = [("before", before), ("after", after), ("residual, 4 ×", np.clip(4 * np.abs(after - before), 0, 1))]
    if other is not None:
        unequal = np.abs(after - other["painted"])
        pictures.append((f"against NumPy: ≤ {unequal.max():.1e}", np.clip(unequal / (unequal.max() or 1), 0, 1)))
    figure = Figure(figsize=(5 * len(pictures), 3.7), layout="constrained")
    for axis, (title, picture) in zip(figure.subplots(1, len(pictures)), pictures, strict=True):
        axis.imshow(picture)
        axis.set_title(title)
        axis.axis("off")
    path = folder / "quantize_china.png"
    figure.savefig(path, dpi=120)
    return path
