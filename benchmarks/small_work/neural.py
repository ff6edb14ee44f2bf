"""Layers of networks, by loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


@program(tiny=2, sizes=(4, 8, 16), rtol=1e-10)
def convolution_channels(xp: Any, n: int, seed: int) -> Any:
    """A convolution by loops over batch, output and input channels and the kernel's places."""
    rng = np.random.default_rng(seed)
    x, w = xp.asarray(rng.standard_normal((2, n, 12, 12))), xp.asarray(rng.standard_normal((n, n, 3, 3)))
    out = xp.zeros((2, n, 10, 10))
    for b in range(2):
        for o in range(n):
            for c in range(n):
                for i in range(3):
                    for j in range(3):
                        out[b, o] += w[o, c, i, j] * x[b, c, i : i + 10, j : j + 10]
    return xp.maximum(out, 0)


@program(tiny=5, sizes=(10, 18, 30), rtol=1e-5)
def convolution_places(xp: Any, n: int, seed: int) -> Any:
    """A convolution by a loop over the places of its result, in float32."""
    rng = np.random.default_rng(seed)
    x = xp.asarray(rng.standard_normal((4, n, n, 3)).astype(np.float32))
    w = xp.asarray(rng.standard_normal((3, 3, 3, 8)).astype(np.float32))
    out = xp.empty((4, n - 2, n - 2, 8), dtype=xp.float32)
    for i in range(n - 2):
        for j in range(n - 2):
            part = x[:, i : i + 3, j : j + 3, :, None]
            out[:, i, j] = xp.sum(part * w[None], axis=(1, 2, 3))
    return out


@program(tiny=4, sizes=(12, 25, 60))
def max_pooling(xp: Any, n: int, seed: int) -> Any:
    """The largest of each two by two pixels, place by place, for all channels."""
    x = xp.asarray(np.random.default_rng(seed).random((2 * n, 2 * n, 4)))
    out = xp.empty((n, n, 4))
    for i in range(n):
        for j in range(n):
            out[i, j] = xp.max(x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(0, 1))
    return out


@program(tiny=3, sizes=(100, 400, 2500), rtol=1e-9)
def recurrent(xp: Any, n: int, seed: int) -> Any:
    """A network of sixteen hidden units, step by step."""
    rng = np.random.default_rng(seed)
    x = xp.asarray(rng.standard_normal((n, 8)))
    wx, wh = xp.asarray(0.2 * rng.standard_normal((16, 8))), xp.asarray(0.2 * rng.standard_normal((16, 16)))
    h, states = xp.zeros(16), []
    for t in range(n):
        h = xp.tanh(wx @ x[t] + wh @ h + 0.1)
        states.append(h)
    return xp.stack(states)


@program(tiny=3, sizes=(30, 120, 600), rtol=1e-9)
def long_memory(xp: Any, n: int, seed: int) -> Any:
    """An LSTM with a batch of four, gates by slices."""
    rng = np.random.default_rng(seed)
    x = xp.asarray(rng.standard_normal((n, 4, 6)))
    w = xp.asarray(0.3 * rng.standard_normal((6 + 10, 40)))
    h, c = xp.zeros((4, 10)), xp.zeros((4, 10))
    for t in range(n):
        z = xp.concatenate([x[t], h], axis=1) @ w
        i, f, o = (1 / (1 + xp.exp(-z[:, k : k + 10])) for k in (0, 10, 20))
        c = f * c + i * xp.tanh(z[:, 30:])
        h = o * xp.tanh(c)
    return h, c


@program(tiny=2, sizes=(30, 120, 600), rtol=1e-8)
def small_batches(xp: Any, n: int, seed: int) -> Any:
    """Two layers trained by batches of sixteen, with a loss that is looked at."""
    rng = np.random.default_rng(seed)
    x, y = xp.asarray(rng.random((256, 8))), xp.asarray(rng.random((256, 1)))
    w1, w2 = xp.asarray(0.5 * rng.standard_normal((8, 20))), xp.asarray(0.5 * rng.standard_normal((20, 1)))
    losses = []
    for step in range(n):
        k = 16 * step % 256
        a, b = x[k : k + 16], y[k : k + 16]
        h = xp.tanh(a @ w1)
        error = h @ w2 - b
        losses.append(float((error**2).mean()))
        g2 = h.T @ error / 8
        g1 = a.T @ ((error @ w2.T) * (1 - h**2)) / 8
        w1 -= 0.05 * g1
        w2 -= 0.05 * g2
    return w1, w2, xp.asarray(losses)


@program(tiny=4, sizes=(40, 120, 300), rtol=1e-9)
def attention_tokens(xp: Any, n: int, seed: int) -> Any:
    """A growing cache of keys and values, token by token."""
    rng = np.random.default_rng(seed)
    tokens = xp.asarray(rng.standard_normal((n, 16)))
    wq, wk, wv = (xp.asarray(0.3 * rng.standard_normal((16, 16))) for _ in range(3))
    keys, values, out = xp.zeros((0, 16)), xp.zeros((0, 16)), []
    for t in range(n):
        x = tokens[t]
        keys = xp.append(keys, (x @ wk)[None], axis=0)
        values = xp.append(values, (x @ wv)[None], axis=0)
        scores = keys @ (x @ wq) / 4.0
        e = xp.exp(scores - scores.max())
        out.append((e / e.sum()) @ values)
    return xp.stack(out)


@program(tiny=12, sizes=(400, 2000, 10000), rtol=1e-12)
def perceptron(xp: Any, n: int, seed: int) -> Any:
    """Weights that change where a sample is on the wrong side."""
    rng = np.random.default_rng(seed)
    host = rng.standard_normal((n, 5))
    x, y = xp.asarray(host), xp.asarray(np.sign(host @ np.array([1.0, -2.0, 0.5, 0.0, 1.0])))
    w, wrong = xp.zeros(5), 0
    for row, side in zip(x, y, strict=True):
        if side * xp.dot(w, row) <= 0:
            w += side * row
            wrong += 1
    return w, wrong
