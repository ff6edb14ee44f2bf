"""A restricted Boltzmann machine learns features of digits without labels: ``python examples/compiled/rbm_digits.py``.

It is trained by persistent contrastive divergence: a Markov chain goes on from call to call in a shared variable, and
random numbers are drawn within the compiled function. Then a linear classifier on its hidden units is fitted.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy
from sklearn.datasets import load_digits

import numloom as np

BATCH, HIDDEN, RATE = 100, 160, 0.05


def load() -> tuple[Any, Any, Any, Any]:
    """Pixels between 0 and 1 and labels, of 1,497 digits to learn and 300 others."""
    digits = load_digits()
    order = numpy.random.default_rng(0).permutation(len(digits.target))
    pixels, labels = (digits.data[order] / 16).astype("f4"), digits.target[order]
    return pixels[300:], labels[300:], pixels[:300], labels[:300]


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return 1 / (1 + np.exp(-x))


def machine(pixels: int, mean: Any, profile: bool = False) -> tuple[Any, Any, list[Any]]:
    """A function that learns from a batch and gives the error of its reconstruction; one of hidden units; weights."""
    rng = numpy.random.default_rng(1)
    w = np.shared((0.01 * rng.standard_normal((pixels, HIDDEN))).astype("f4"), "w")
    seen = np.shared(numpy.log((mean + 0.01) / (1.01 - mean)).astype("f4"), "seen")
    hidden = np.shared(numpy.zeros(HIDDEN, "f4"), "hidden")
    chain = np.shared(rng.integers(0, 2, (BATCH, pixels)).astype("f4"), "chain")
    draws = np.random.default_rng(2)
    v = np.symbol("v", (BATCH, pixels), "f4")
    with np.symbolic():
        h = sigmoid(np.dot(v, w) + hidden)
        reconstructed = sigmoid(np.dot(h, w.T) + seen)
        on = (draws.random((BATCH, HIDDEN), dtype="f4") < sigmoid(np.dot(chain, w) + hidden)).astype("f4")
        dream = (draws.random((BATCH, pixels), dtype="f4") < sigmoid(np.dot(on, w.T) + seen)).astype("f4")
        dreamt = sigmoid(np.dot(dream, w) + hidden)
        error = ((v - reconstructed) ** 2).mean()
        step = np.float32(RATE / BATCH)
        updates = [
            (w, w + step * (np.dot(v.T, h) - np.dot(dream.T, dreamt))),
            (seen, seen + step * (v - dream).sum(axis=0)),
            (hidden, hidden + step * (h - dreamt).sum(axis=0)),
            (chain, dream),
        ]
    learn = np.function([v], error, updates=updates, name="learn", profile=profile)
    x = np.symbol("x", (300, pixels), "f4")
    return learn, np.function([x], sigmoid(np.dot(x, w) + hidden), name="features", host=True), [w, seen, hidden]


def main(epochs: int = 60, profile: bool = False) -> tuple[float, float]:
    """Learn; give the error of reconstruction, and the part of unseen digits that a linear classifier gets right."""
    pixels, labels, unseen, expected = load()
    learn, features, _ = machine(pixels.shape[1], pixels.mean(axis=0), profile)
    x = np.asarray(pixels)
    order = numpy.random.default_rng(3)
    began, steps, error = time.perf_counter(), 0, 1.0
    for epoch in range(epochs):
        rows = order.permutation(len(pixels))
        for first in range(0, len(rows) - BATCH + 1, BATCH):
            found = learn(x[rows[first : first + BATCH]])
            steps += 1
        error = float(found)
        if epoch % 20 == 19:
            print(f"epoch {epoch + 1}: error of reconstruction {error:.4f}")
    seconds = time.perf_counter() - began
    known = numpy.concatenate([features(pixels[k : k + 300]) for k in (0, 300, 600, 900, 1197)])
    marks = numpy.concatenate([labels[k : k + 300] for k in (0, 300, 600, 900, 1197)])
    # Least squares with a small penalty, on the units and a constant.
    units = numpy.hstack([known, numpy.ones((len(known), 1))]).astype("f8")
    normal = units.T @ units + 0.1 * numpy.eye(units.shape[1])
    linear = numpy.linalg.solve(normal, units.T @ numpy.eye(10)[marks])
    given = numpy.hstack([features(unseen), numpy.ones((300, 1))])
    right = float(numpy.mean((given @ linear).argmax(axis=1) == expected))
    print(f"{right:.1%} of 300 unseen digits are right; {1e6 * seconds / steps:.0f} µs a step")
    if profile:
        print(learn.profile)
    return error, right


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--profile", action="store_true", help="print where the time of training went")
    given = parser.parse_args()
    main(given.epochs, given.profile)
