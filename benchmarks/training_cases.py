"""Steps of training as Theano's users have them, of the models of ``examples/compiled`` at the sizes of MNIST.

Beside the names of `benchmarks.compiled_cases` a namespace has ``rows(x, start, count)``, a part that begins where an
array says, and ``uniform(key, shape)``, numbers that no other call gets; libraries that need no key leave it.
"""

# ruff: noqa: D103 - names of cases say what functions are
from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.compiled_cases import Array, Arrays, case, cross_entropy, normal, one_hot, uniform

DRAWN = 0.2
"""By how much norms of results may differ from library to library, since each draws other numbers."""


def sigmoid(xp: Any, x: Array) -> Array:
    return 1 / (1 + xp.exp(-x))


def binary(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return (rng.random(shape) < 0.3).astype(np.float32)


def minibatches(rng: np.random.Generator) -> Arrays:
    """Weights, 6,000 pictures with labels, and the number of a minibatch of 600."""
    return (
        normal(rng, 784, 10, scale=0.01), np.zeros(10, np.float32), uniform(rng, 6000, 784), one_hot(rng, 6000, 10),
        np.array(3, np.int32),
    )  # fmt: skip


@case("step of logistic regression, minibatch 600×784", minibatches)
def logistic_step(xp: Any, w: Array, b: Array, pictures: Array, truth: Array, index: Array) -> Any:
    x, y = xp.rows(pictures, index * 600, 600), xp.rows(truth, index * 600, 600)
    g_w, g_b = xp.grad(lambda w, b: cross_entropy(xp, x @ w + b, y), (0, 1))(w, b)
    return w - 0.13 * g_w, b - 0.13 * g_b


def perceptron(rng: np.random.Generator) -> Arrays:
    """Weights of 784, 500 and 10 units, their velocities, a batch of 100, and a key."""
    weights = [
        normal(rng, 784, 500, scale=0.05), np.zeros(500, np.float32), normal(rng, 500, 10, scale=0.05),
        np.zeros(10, np.float32),
    ]  # fmt: skip
    return (
        *weights, *[0.01 * normal(rng, *w.shape) for w in weights], uniform(rng, 100, 784), one_hot(rng, 100, 10),
        np.array(1, np.int32),
    )  # fmt: skip


@case("step of an MLP 784-500-10, dropout and momentum, batch 100", perceptron, drawn=DRAWN)
def dropout_step(xp: Any, *arrays: Array) -> Any:
    weights, velocities, (x, truth, key) = arrays[:4], arrays[4:8], arrays[8:]
    mask = xp.astype(xp.uniform(key, (100, 500)) < 0.5, xp.float32) * 2

    def loss(w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
        return cross_entropy(xp, (xp.maximum(x @ w1 + b1, 0) * mask) @ w2 + b2, truth)

    gradients = xp.grad(loss, (0, 1, 2, 3))(*weights)
    moves = [0.9 * v - 0.01 * g for v, g in zip(velocities, gradients, strict=True)]
    return (*[w + v for w, v in zip(weights, moves, strict=True)], *moves)


def machine(rng: np.random.Generator) -> Arrays:
    """Weights of 784 units that are seen and 500 that are hidden, a batch of 100, and a key."""
    return (
        normal(rng, 784, 500, scale=0.05), normal(rng, 784, scale=0.1), normal(rng, 500, scale=0.1),
        binary(rng, 100, 784), np.array(1, np.int32),
    )  # fmt: skip


@case("step of an RBM 784-500, CD-1, batch 100", machine, drawn=DRAWN)
def divergence_step(xp: Any, w: Array, seen: Array, hidden: Array, v: Array, key: Array) -> Any:
    h = sigmoid(xp, v @ w + hidden)
    on = xp.astype(xp.uniform(key, (100, 500)) < h, xp.float32)
    dream = xp.astype(xp.uniform(key + 1, (100, 784)) < sigmoid(xp, on @ w.T + seen), xp.float32)
    dreamt = sigmoid(xp, dream @ w + hidden)
    return (
        w + 0.001 * (v.T @ h - dream.T @ dreamt),
        seen + 0.001 * xp.sum(v - dream, axis=0),
        hidden + 0.001 * xp.sum(h - dreamt, axis=0),
    )


def reader(rng: np.random.Generator) -> Arrays:
    """An LSTM of 128 units that reads 28 rows of 28, Adam's averages of its weights, a batch of 100."""
    weights = (
        normal(rng, 28, 512, scale=0.1), normal(rng, 128, 512, scale=0.1), np.zeros(512, np.float32),
        normal(rng, 128, 10, scale=0.1), np.zeros(10, np.float32),
    )  # fmt: skip
    means = [0.01 * normal(rng, *w.shape) for w in weights]
    squares = [0.01 * uniform(rng, *w.shape) for w in weights]
    return (*weights, *means, *squares, uniform(rng, 28, 100, 28), one_hot(rng, 100, 10), np.array(5, np.float32))


@case("step of an LSTM, 128 units, 28 rows, Adam, batch 100", reader)
def lstm_step(xp: Any, *arrays: Array) -> Any:
    weights, (over, truth, count) = arrays[:5], arrays[15:]

    def loss(wx: Array, wh: Array, b: Array, v: Array, c: Array) -> Array:
        def step(state: Any, x: Array) -> Any:
            h, cell = state
            z = x @ wx + h @ wh + b
            gates = sigmoid(xp, z[:, :384])
            cell = gates[:, :128] * cell + gates[:, 128:256] * xp.tanh(z[:, 384:])
            h = gates[:, 256:] * xp.tanh(cell)
            return (h, cell), xp.sum(h)

        zero = xp.zeros((100, 128), xp.float32)
        (h, _), _ = xp.scan(step, (zero, zero), over)
        return cross_entropy(xp, h @ v + c, truth)

    gradients = xp.grad(loss, (0, 1, 2, 3, 4))(*weights)
    means = [0.9 * m + 0.1 * g for m, g in zip(arrays[5:10], gradients, strict=True)]
    squares = [0.999 * s + 0.001 * g * g for s, g in zip(arrays[10:15], gradients, strict=True)]
    rate = 0.001 * xp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    moved = [w - rate * m / (xp.sqrt(s) + 1e-8) for w, m, s in zip(weights, means, squares, strict=True)]
    return (*moved, *means, *squares)


def small_reader(rng: np.random.Generator) -> Arrays:
    """An LSTM of 24 units that reads 20 rows of 8 in float64, Adam's averages of its weights, a batch of 16."""
    weights = [rng.standard_normal(shape) * 0.1 for shape in ((8, 96), (24, 96), (24, 1))]
    weights += [np.zeros(96), np.zeros(1)]
    means = [0.01 * rng.standard_normal(w.shape) for w in weights]
    squares = [0.01 * rng.random(w.shape) for w in weights]
    return (*weights, *means, *squares, rng.standard_normal((20, 16, 8)), rng.standard_normal((16, 1)), np.array(5.0))


@case("step of an LSTM, 24 units, 20 rows, Adam, batch 16, float64", small_reader)
def small_lstm_step(xp: Any, *arrays: Array) -> Any:
    weights, (over, truth, count) = arrays[:5], arrays[15:]

    def loss(wx: Array, wh: Array, v: Array, b: Array, c: Array) -> Array:
        def step(state: Any, x: Array) -> Any:
            h, cell = state
            z = x @ wx + h @ wh + b
            gates = sigmoid(xp, z[:, :72])
            cell = gates[:, :24] * cell + gates[:, 24:48] * xp.tanh(z[:, 72:])
            h = gates[:, 48:] * xp.tanh(cell)
            return (h, cell), xp.sum(h)

        zero = xp.zeros((16, 24), xp.float64)
        (h, _), _ = xp.scan(step, (zero, zero), over)
        far = h @ v + c - truth
        return xp.mean(far * far)

    gradients = xp.grad(loss, (0, 1, 2, 3, 4))(*weights)
    means = [0.9 * m + 0.1 * g for m, g in zip(arrays[5:10], gradients, strict=True)]
    squares = [0.999 * s + 0.001 * g * g for s, g in zip(arrays[10:15], gradients, strict=True)]
    rate = 0.001 * xp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    moved = [w - rate * m / (xp.sqrt(s) + 1e-8) for w, m, s in zip(weights, means, squares, strict=True)]
    return (*moved, *means, *squares)


CASES = (logistic_step, dropout_step, divergence_step, lstm_step, small_lstm_step)
"""The steps, in turn."""
