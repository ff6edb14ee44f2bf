"""An LSTM reads digits row by row: ``python examples/compiled/lstm_digits.py``.

`scan` goes over the eight rows of each picture and hands on what the network remembers; gradients flow back through
all steps, and Adam's averages are shared variables that are updated beside the weights.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy
from sklearn.datasets import load_digits

import numloom as np

BATCH, ROWS, HIDDEN, CLASSES = 100, 8, 48, 10
RATE, MEAN, SQUARE = 0.01, 0.9, 0.999


def load() -> tuple[Any, Any, Any, Any]:
    """Pictures, rows first, and labels, of 1,400 digits to learn and of 300 others."""
    digits = load_digits()
    order = numpy.random.default_rng(0).permutation(len(digits.target))
    pictures, labels = (digits.images[order] / 16).astype("f4"), digits.target[order]
    return pictures[300:1700], labels[300:1700], pictures[:300], labels[:300]


def initial() -> list[Any]:
    """The weights: of what is seen and of what is remembered to the four gates, and of the latter to classes."""
    rng = numpy.random.default_rng(1)

    def weights(name: str, rows: int, columns: int) -> Any:
        return np.shared((rng.standard_normal((rows, columns)) / rows**0.5).astype("f4"), name)

    bias = numpy.zeros(4 * HIDDEN, "f4")
    bias[HIDDEN : 2 * HIDDEN] = 1  # At first nothing is forgotten.
    return [
        weights("w", ROWS, 4 * HIDDEN), weights("u", HIDDEN, 4 * HIDDEN), np.shared(bias, "b"),
        weights("v", HIDDEN, CLASSES), np.shared(numpy.zeros(CLASSES, "f4"), "c"),
    ]  # fmt: skip


def scores(rows: Any, parameters: list[Any]) -> Any:
    """Scores of the classes, for pictures whose first axis is that of rows."""
    w, u, b, v, c = parameters

    def step(state: tuple[Any, Any], row: Any) -> tuple[tuple[Any, Any], None]:
        h, cell = state
        gates = np.dot(row, w) + np.dot(h, u) + b
        into, keep, out = [np.special.expit(gates[:, k * HIDDEN : (k + 1) * HIDDEN]) for k in range(3)]
        cell = keep * cell + into * np.tanh(gates[:, 3 * HIDDEN :])
        return (out * np.tanh(cell), cell), None

    begin = np.zeros((rows.shape[1], HIDDEN), "f4")
    (h, _), _ = np.scan(step, (begin, begin), rows)
    return np.dot(h, v) + c


def adam(cost: Any, parameters: list[Any]) -> dict[Any, Any]:
    """Updates of weights, and of the averages that they are made with."""
    count = np.shared(numpy.float32(0), "count")
    updates = {count: count + 1}
    for p, g in zip(parameters, np.grad(cost, parameters), strict=True):
        mean, square = np.shared(numpy.zeros(p.shape, "f4"), "mean"), np.shared(numpy.zeros(p.shape, "f4"), "square")
        updates[mean] = MEAN * mean + (1 - MEAN) * g
        updates[square] = SQUARE * square + (1 - SQUARE) * g * g
        unbiased = updates[mean] / (1 - MEAN ** updates[count])
        scale = np.sqrt(updates[square] / (1 - SQUARE ** updates[count])) + 1e-8
        updates[p] = p - RATE * unbiased / scale
    return updates


def network(pictures: Any, labels: Any, profile: bool = False) -> tuple[Any, Any]:
    """A function that learns from a minibatch of shared pictures by its number, and one that classifies 300 others."""
    parameters = initial()
    data, marks = np.shared(pictures, "data"), np.shared(labels, "marks")
    index = np.symbol("index", (), "int64")
    x, y = np.symbol("x", (BATCH, ROWS, ROWS), "f4"), np.symbol("y", (BATCH,), "int64")
    batch = slice(index * BATCH, (index + 1) * BATCH)
    found = np.special.log_softmax(scores(x.transpose(1, 0, 2), parameters), axis=1)
    cost = -found[np.arange(BATCH), y].mean()
    learn = np.function(
        [index], cost, updates=adam(cost, parameters), givens={x: data[batch], y: marks[batch]},
        name="learn", profile=profile,
    )  # fmt: skip
    seen = np.symbol("seen", (300, ROWS, ROWS), "f4")
    classes = scores(seen.transpose(1, 0, 2), parameters).argmax(axis=1)
    return learn, np.function([seen], classes, name="classify", host=True)


def main(epochs: int = 20, profile: bool = False) -> float:
    """Learn, and give the part of unseen digits that are classified right."""
    pictures, labels, unseen, expected = load()
    learn, classify = network(pictures, labels, profile)
    batches = len(pictures) // BATCH
    began = time.perf_counter()
    for epoch in range(epochs):
        costs = [learn(number) for number in range(batches)]
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: cost {numpy.mean([float(cost) for cost in costs]):.4f}")
    seconds = time.perf_counter() - began
    right = float(numpy.mean(classify(unseen) == expected))
    print(f"{right:.1%} of 300 unseen digits are right; {1e3 * seconds / (epochs * batches):.1f} ms a step")
    if profile:
        print(learn.profile)
    return right


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--profile", action="store_true", help="print where the time of training went")
    given = parser.parse_args()
    main(given.epochs, given.profile)
