"""Logistic regression by minibatches of shared data: ``python examples/compiled/logistic_sgd.py``.

All pictures lie in shared variables, on the GPU where there is one. A compiled function takes the number of a
minibatch, `givens` put a slice of the data in the place of its symbols, and `updates` move the weights.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy
from sklearn.datasets import load_digits

import numloom as np

BATCH, CLASSES, RATE = 100, 10, 0.5


def load() -> tuple[Any, Any]:
    """Pixels and labels as shared variables, of 1,400 digits to learn and of 300 others."""
    digits = load_digits()
    order = numpy.random.default_rng(0).permutation(len(digits.target))
    pixels, labels = (digits.data[order] / 16).astype("f4"), digits.target[order]

    def shared(part: slice) -> tuple[Any, Any]:
        return np.shared(pixels[part], "pixels"), np.shared(labels[part], "labels")

    return shared(slice(300, 1700)), shared(slice(0, 300))


def model(profile: bool = False) -> tuple[Any, Any, int, int]:
    """A function that learns from a minibatch and one that counts mistakes in one, and how many there are of both."""
    (train_x, train_y), (test_x, test_y) = load()
    index = np.symbol("index", (), "int64")
    x, y = np.symbol("x", (BATCH, train_x.shape[1]), "f4"), np.symbol("y", (BATCH,), "int64")
    w = np.shared(numpy.zeros((train_x.shape[1], CLASSES), "f4"), "w")
    b = np.shared(numpy.zeros(CLASSES, "f4"), "b")

    p_y_given_x = np.special.softmax(np.dot(x, w) + b, axis=1)
    cost = -np.stable(np.log(p_y_given_x))[np.arange(BATCH), y].mean()
    errors = (p_y_given_x.argmax(axis=1) != y).sum()
    g_w, g_b = np.grad(cost, [w, b])

    batch = slice(index * BATCH, (index + 1) * BATCH)
    train = np.function(
        [index],
        cost,
        updates=[(w, w - np.float32(RATE) * g_w), (b, b - np.float32(RATE) * g_b)],
        givens={x: train_x[batch], y: train_y[batch]},
        name="train",
        profile=profile,
    )
    test = np.function([index], errors, givens={x: test_x[batch], y: test_y[batch]}, name="test")
    return train, test, len(train_x) // BATCH, len(test_x) // BATCH


def main(epochs: int = 100, profile: bool = False) -> float:
    """Learn, and give the part of unseen digits that are classified right."""
    train, test, batches, test_batches = model(profile)
    began = time.perf_counter()
    for epoch in range(epochs):
        costs = [train(number) for number in range(batches)]
        if epoch % 25 == 24:
            print(f"epoch {epoch + 1}: cost {numpy.mean([float(cost) for cost in costs]):.4f}")
    wrong = sum([int(test(number)) for number in range(test_batches)])
    seconds = time.perf_counter() - began
    right = 1 - wrong / (test_batches * BATCH)
    print(f"{right:.1%} of 300 unseen digits are right; {1e6 * seconds / (epochs * batches):.0f} µs a step")
    if profile:
        print(train.profile)
    return right


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--profile", action="store_true", help="print where the time of training went")
    given = parser.parse_args()
    main(given.epochs, given.profile)
