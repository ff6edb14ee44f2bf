"""Softmax regression by gradient descent on the handwritten digits that scikit-learn ships."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

TITLE = "logistic regression, digits"
STEPS = 1000


def load() -> dict[str, Any]:
    """Training and test images (float64, 0 to 1) and the digits that they show."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images, labels = digits.data[order] / 16, digits.target[order]
    return {
        "images": images[:1400],
        "labels": labels[:1400],
        "test_images": images[1400:],
        "test_labels": labels[1400:],
    }


def run(
    xp: Any, steps: Iterable[int], *, images: Any, labels: Any, test_images: Any, test_labels: Any
) -> dict[str, Any]:
    """Train with the array module `xp`; weights, bias, the loss's course and which tests were right."""
    images, labels = xp.asarray(images), xp.asarray(labels)
    wanted = (labels[:, None] == xp.arange(10)).astype(images.dtype)
    weights = xp.zeros((images.shape[1], 10))
    bias = xp.zeros(10)
    losses = []
    for step in steps:
        scores = images @ weights + bias
        scores -= scores.max(axis=1, keepdims=True)
        exponentials = xp.exp(scores)
        chances = exponentials / exponentials.sum(axis=1, keepdims=True)
        if step % 100 == 0:
            losses.append(float(-xp.log(chances[wanted > 0]).mean()))
        error = (chances - wanted) / len(images)
        weights -= 2.0 * (images.T @ error)
        bias -= 2.0 * error.sum(axis=0)
    guesses = (xp.asarray(test_images) @ weights + bias).argmax(axis=1)
    return {"weights": weights, "bias": bias, "right": guesses == xp.asarray(test_labels), "losses": losses}


def agree(a: dict[str, Any], b: dict[str, Any]) -> tuple[bool, str]:
    """Whether two results (as NumPy arrays) agree, and by how much they differ."""
    difference = float(np.abs(a["weights"] - b["weights"]).max() / np.abs(a["weights"]).max())
    same = np.array_equal(a["right"], b["right"]) and np.allclose(a["losses"], b["losses"], rtol=1e-8, atol=0)
    return bool(difference <= 1e-8 and same), f"weights differ by {difference:.1e} (≤ 1e-8)"


def describe(result: dict[str, Any]) -> str:
    """What came out, in a few words."""
    return f"{100 * np.mean(result['right']):.1f} % of the tests right, loss {result['losses'][-1]:.3f}"


def draw(folder: Path, inputs: dict[str, Any], result: dict[str, Any], other: dict[str, Any] | None = None) -> Path:
    """Draw samples, the weights of each digit and, given a second result, where the two differ."""
    from matplotlib.figure import Figure

    rows = [
        ("image", [inputs["images"][inputs["labels"] == digit][0] for digit in range(10)]),
        ("weights", list(result["weights"].T)),
    ]
    if other is not None:
        rows.append(("difference", list((result["weights"] - other["weights"]).T)))
    figure = Figure(figsize=(10, 1.2 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), 10, squeeze=False)
    for line, (title, pictures) in zip(axes, rows, strict=True):
        limit = max(float(np.abs(picture).max()) for picture in pictures) or 1.0
        for axis, picture in zip(line, pictures, strict=True):
            if title == "image":
                axis.imshow(picture.reshape(8, 8), cmap="gray_r")
            else:
                axis.imshow(picture.reshape(8, 8), cmap="RdBu", vmin=-limit, vmax=limit)
            axis.set_xticks([])
            axis.set_yticks([])
        line[0].set_ylabel(title if title == "image" else f"{title}\n±{limit:.1e}", fontsize=8)
    path = folder / "logistic_digits.png"
    figure.savefig(path, dpi=120)
    return path
