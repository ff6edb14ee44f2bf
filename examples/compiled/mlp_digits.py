"""A network with one hidden layer, dropout and momentum learns digits: ``python examples/compiled/mlp_digits.py``.

Weights and their velocities are shared variables; one compiled function takes a batch, draws the dropout's mask, and
updates them by gradients. Another one, without dropout, classifies.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy
from sklearn.datasets import load_digits

import numloom as np

BATCH, HIDDEN, KEPT, RATE, MOMENTUM = 100, 256, 0.7, 0.2, 0.9


def load() -> tuple[Any, Any, Any, Any]:
    """Pixels and labels, of 1,497 digits to learn and 300 others."""
    digits = load_digits()
    order = numpy.random.default_rng(0).permutation(len(digits.target))
    pixels, labels = (digits.data[order] / 16).astype("f4"), digits.target[order]
    return pixels[300:], labels[300:], pixels[:300], labels[:300]


def network(pixels: int, classes: int, profile: bool = False) -> tuple[Any, Any]:
    """A function that learns from a batch and gives its mean loss, and one that gives the classes of 300 pictures."""
    rng = numpy.random.default_rng(1)
    weights = [
        np.shared((rng.standard_normal((pixels, HIDDEN)) * (2 / pixels) ** 0.5).astype("f4"), "w1"),
        np.shared(numpy.zeros(HIDDEN, "f4"), "b1"),
        np.shared((rng.standard_normal((HIDDEN, classes)) * (1 / HIDDEN) ** 0.5).astype("f4"), "w2"),
        np.shared(numpy.zeros(classes, "f4"), "b2"),
    ]
    velocities = [np.shared(numpy.zeros(w.shape, "f4"), "velocity") for w in weights]
    draws = np.random.default_rng(2)
    w1, b1, w2, b2 = weights

    def scores(x: Any, mask: Any = None) -> Any:
        hidden = np.maximum(np.dot(x, w1) + b1, 0)
        return np.dot(hidden if mask is None else hidden * mask, w2) + b2

    x, target = np.symbol("x", (BATCH, pixels), "f4"), np.symbol("target", (BATCH, classes), "f4")
    with np.symbolic():
        mask = (draws.random((BATCH, HIDDEN), dtype="f4") < KEPT) / np.float32(KEPT)
        found = scores(x, mask)
        found = found - found.max(axis=1, keepdims=True)
        loss = (np.log(np.exp(found).sum(axis=1)) - (found * target).sum(axis=1)).mean()
    gradients = np.grad(loss, weights)
    updates = []
    for w, velocity, gradient in zip(weights, velocities, gradients, strict=True):
        new = np.float32(MOMENTUM) * velocity - np.float32(RATE * (1 - MOMENTUM)) * gradient
        updates += [(velocity, new), (w, w + new)]
    learn = np.function([x, target], loss, updates=updates, name="learn", profile=profile)
    seen = np.symbol("seen", (300, pixels), "f4")
    return learn, np.function([seen], scores(seen).argmax(axis=1), name="classify", host=True)


def main(epochs: int = 30, profile: bool = False) -> float:
    """Learn, and give the part of unseen digits that are classified right."""
    pixels, labels, unseen, expected = load()
    learn, classify = network(pixels.shape[1], 10, profile)
    targets = numpy.eye(10, dtype="f4")[labels]
    x, t = np.asarray(pixels), np.asarray(targets)
    order = numpy.random.default_rng(3)
    began, steps = time.perf_counter(), 0
    for epoch in range(epochs):
        rows = order.permutation(len(pixels))
        loss = 0.0
        for first in range(0, len(rows) - BATCH + 1, BATCH):
            batch = rows[first : first + BATCH]
            loss = learn(x[batch], t[batch])
            steps += 1
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {float(loss):.4f}")
    seconds = time.perf_counter() - began
    right = float(numpy.mean(classify(unseen) == expected))
    print(f"{right:.1%} of 300 unseen digits are right; {1e6 * seconds / steps:.0f} µs a step")
    if profile:
        print(learn.profile)
    return right


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--profile", action="store_true", help="print where the time of training went")
    given = parser.parse_args()
    main(given.epochs, given.profile)
