"""Functions that are compiled, each written once over a namespace with NumPy's names, loops and gradients.

A namespace has the names of its array module, ``float32``, ``erf``, ``astype(x, dtype)``, and

- ``fori(lower, upper, body, state)`` with ``body(number, state)``,
- ``scan(body, state, over)`` with ``body(state, element)``, which gives the last state and what was kept,
- ``grad(function, argnums)``: the function that gives the gradient, or a tuple of them.

Functions take arrays and give an array or a tuple of them. Numbers are Python's, so that all libraries compute in the
arrays' float32.
"""

# ruff: noqa: D103 - names of cases say what functions are
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cases import options

Array = Any
Arrays = tuple[np.ndarray[Any, Any], ...]
Inputs = Callable[[np.random.Generator], Arrays]


@dataclass(frozen=True)
class Case:
    """A function and its data.

    Attributes
    ----------
    name : str
        Title of the row.
    inputs : callable
        The arguments, by a generator of random numbers.
    run : callable
        ``run(xp, *arrays)``.
    no_unrolling : str
        Why a library that unrolls loops leaves it out; nothing if it does not.
    differing : float
        Share of whole numbers that may differ: those decided by a last bit.
    drawn : float
        Of results that follow from random numbers, which each library draws anew, by what part their norms may differ.
    """

    name: str
    inputs: Inputs
    run: Callable[..., Any]
    no_unrolling: str = ""
    differing: float = 0.0
    drawn: float = 0.0


GROWS = "unrolled, it compiles for minutes"  # each step's expressions are written out in all that use them
CASES: list[Case] = []


def case(
    name: str, inputs: Inputs, no_unrolling: str = "", differing: float = 0.0, drawn: float = 0.0
) -> Callable[[Any], Any]:
    """Make a function a case with this data; several of them are in the table in the order of their decorators."""

    def added(function: Any) -> Any:
        above = next((place for place, known in enumerate(CASES) if known.run is function), len(CASES))
        CASES.insert(above, Case(name, inputs, function, no_unrolling, differing, drawn))
        return function

    return added


def uniform(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    """Numbers between 0 and 1."""
    return rng.random(shape, np.float32)


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray[Any, Any]:
    """Normal numbers."""
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def one_hot(rng: np.random.Generator, rows: int, classes: int) -> np.ndarray[Any, Any]:
    """Rows with one 1."""
    return np.eye(classes, dtype=np.float32)[rng.integers(0, classes, rows)]


def normals(*shapes: tuple[int, ...], scale: float = 1.0) -> Inputs:
    """Arrays of normal numbers."""
    return lambda rng: tuple(normal(rng, *shape, scale=scale) for shape in shapes)


# ---------------------------------------------------------------- loops


@case("100 updates of 1,000", lambda rng: (uniform(rng, 1000), uniform(rng, 1000)))
def updates(xp: Any, x: Array, b: Array) -> Array:
    return xp.fori(0, 100, lambda i, x: x * 0.9 + b, x)


def plane(n: int) -> Inputs:
    """Real and imaginary parts of n × n points, and counts."""

    def inputs(rng: np.random.Generator) -> Arrays:
        re, im = np.meshgrid(np.linspace(-2, 1, n, dtype=np.float32), np.linspace(-1.5, 1.5, n, dtype=np.float32))
        return re, im, np.zeros((n, n), np.int32)

    return inputs


@case("Mandelbrot 256², 30 steps", plane(256), GROWS, differing=1e-3)
@case("Mandelbrot 2048², 30 steps", plane(2048), GROWS, differing=1e-3)
def mandelbrot(xp: Any, re: Array, im: Array, count: Array) -> Array:
    def step(i: Any, state: Any) -> Any:
        x, y, k = state
        x2, y2 = x * x, y * y
        inside = x2 + y2 < 4
        return xp.where(inside, x2 - y2 + re, x), xp.where(inside, 2 * x * y + im, y), k + inside

    zero = xp.zeros_like(re)
    return xp.fori(0, 30, step, (zero, zero, count))[2]


@case(
    "logistic regression 400×784, 20 steps",
    lambda rng: (uniform(rng, 400, 784), one_hot(rng, 400, 2)[:, 0].copy(), np.zeros(784, np.float32)),
)
def logistic_regression(xp: Any, rows: Array, truth: Array, w: Array) -> Array:
    def step(i: Any, w: Array) -> Array:
        return w - 0.1 * (rows.T @ (1 / (1 + xp.exp(-(rows @ w))) - truth)) / 400

    return xp.fori(0, 20, step, w)


def cross_entropy(xp: Any, scores: Array, truth: Array) -> Array:
    """Mean over rows, with a 1 in each row of `truth`."""
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    return xp.mean(xp.log(xp.sum(xp.exp(scores), axis=1)) - xp.sum(scores * truth, axis=1))


def digits(rng: np.random.Generator) -> Arrays:
    """A perceptron of 64, 128 and 10 units, and rows for it."""
    first, second = normal(rng, 64, 128, scale=0.1), normal(rng, 128, 10, scale=0.1)
    biases = np.zeros(128, np.float32), np.zeros(10, np.float32)
    return first, biases[0], second, biases[1], uniform(rng, 1797, 64), one_hot(rng, 1797, 10)


@case("MLP 64-128-10, 1,797 rows, a step", digits)
def mlp_step(xp: Any, w1: Array, b1: Array, w2: Array, b2: Array, rows: Array, truth: Array) -> Any:
    def loss(w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
        return cross_entropy(xp, xp.maximum(rows @ w1 + b1, 0) @ w2 + b2, truth)

    gradient = xp.grad(loss, (0, 1, 2, 3))(w1, b1, w2, b2)
    return tuple(old - 0.1 * change for old, change in zip((w1, b1, w2, b2), gradient, strict=True))


def sequence(rng: np.random.Generator) -> Arrays:
    """A recurrent network, and 100 steps of 32 rows for it."""
    return normal(rng, 128, 128, scale=0.05), normal(rng, 128, 128, scale=0.05), normal(rng, 100, 32, 128)


@case("tanh RNN, 100 steps of 32×128", sequence)
def rnn(xp: Any, wx: Array, wh: Array, over: Array) -> Array:
    def step(h: Array, x: Array) -> Any:
        h = xp.tanh(x @ wx + h @ wh)
        return h, xp.sum(h * h)

    last, sums = xp.scan(step, xp.zeros((32, 128), xp.float32), over)
    return xp.sum(last * last) + xp.sum(sums)


@case("tanh RNN, its gradient", sequence)
def rnn_gradient(xp: Any, wx: Array, wh: Array, over: Array) -> Any:
    return xp.grad(lambda wx, wh: rnn(xp, wx, wh, over), (0, 1))(wx, wh)


@case("Newton's method, 50 steps of 1,000", lambda rng: (uniform(rng, 1000) + 1,), GROWS)
def newton(xp: Any, a: Array) -> Array:
    return xp.fori(0, 50, lambda i, x: x - (x * x * x - a) / (3 * x * x), a)


@case("200 operations of ten", lambda rng: (uniform(rng, 10),))
def many_operations(xp: Any, x: Array) -> Array:
    y = x
    for _ in range(100):
        y = y * 0.99 + x
    return y


def filtering(rng: np.random.Generator) -> Arrays:
    """A Kalman filter with four states, and what it is told."""
    move = np.eye(4, dtype=np.float32) + np.eye(4, k=2, dtype=np.float32) * np.float32(0.1)
    one = np.eye(4, dtype=np.float32)
    return move, one / 100, np.array([1, 1, 0, 0], np.float32), np.zeros(4, np.float32), one, normal(rng, 100)


@case("Kalman filter, 100 steps of 4", filtering)
def kalman(xp: Any, move: Array, noise: Array, sees: Array, x: Array, spread: Array, told: Array) -> Any:
    def step(state: Any, z: Array) -> Any:
        x, p = state
        x, p = move @ x, move @ p @ move.T + noise
        seen = p @ sees
        gain = seen / (sees @ seen + 0.1)
        x = x + gain * (z - sees @ x)
        return (x, p - gain[:, None] * seen[None, :]), x

    (x, p), path = xp.scan(step, (x, spread), told)
    return x, p, path


@case("k-means 5,000×8, 16 centres, 10 steps", normals((5000, 8), (16, 8)))
def kmeans(xp: Any, points: Array, centres: Array) -> Array:
    def step(i: Any, c: Array) -> Array:
        nearest = xp.argmin(xp.sum(c * c, axis=1) - 2 * (points @ c.T), axis=1)
        belongs = xp.astype(nearest[:, None] == xp.arange(16), xp.float32)
        return (belongs.T @ points) / xp.maximum(xp.sum(belongs, axis=0), 1)[:, None]

    return xp.fori(0, 10, step, centres)


@case("Lorenz by Runge–Kutta, 50 steps of 100", normals((100,), (100,), (100,)), GROWS)
@case("Lorenz by Runge–Kutta, 50 steps of 1e5", normals((100_000,), (100_000,), (100_000,)), GROWS)
def lorenz(xp: Any, x: Array, y: Array, z: Array) -> Any:
    def speed(state: Any) -> Any:
        x, y, z = state
        return 10 * (y - x), x * (28 - z) - y, x * y - z * (8 / 3)

    def ahead(state: Any, by: Any, step: float) -> Any:
        return tuple(a + step * b for a, b in zip(state, by, strict=True))

    def step(i: Any, state: Any) -> Any:
        k1 = speed(state)
        k2 = speed(ahead(state, k1, 0.005))
        k3 = speed(ahead(state, k2, 0.005))
        k4 = speed(ahead(state, k3, 0.01))
        slopes = tuple(a + 2 * b + 2 * c + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
        return ahead(state, slopes, 0.01 / 6)

    return xp.fori(0, 50, step, (x, y, z))


@case("descent with momentum, 100 steps of 100", normals((100,), scale=0.5), GROWS)
def momentum(xp: Any, x: Array) -> Array:
    def cost(x: Array) -> Array:
        a, b = x[:-1], x[1:]
        return xp.sum(100 * (b - a * a) * (b - a * a) + (1 - a) * (1 - a))

    def step(i: Any, state: Any) -> Any:
        x, v = state
        v = 0.9 * v - 1e-4 * xp.grad(cost, 0)(x)
        return x + v, v

    return xp.fori(0, 100, step, (x, xp.zeros_like(x)))[0]


def definite(n: int) -> Inputs:
    """A positive definite matrix and a vector."""

    def inputs(rng: np.random.Generator) -> Arrays:
        m = normal(rng, n, n)
        return m @ m.T / n + 0.05 * np.eye(n, dtype=np.float32), normal(rng, n)

    return inputs


@case("conjugate gradient 256², 40 steps", definite(256))
def conjugate_gradient(xp: Any, a: Array, b: Array) -> Array:
    def step(i: Any, state: Any) -> Any:
        x, r, p, size = state
        ap = a @ p
        far = size / xp.sum(p * ap)
        x, r = x + far * p, r - far * ap
        new = xp.sum(r * r)
        return x, r, r + (new / size) * p, new

    return xp.fori(0, 40, step, (xp.zeros_like(b), b, b, xp.sum(b * b)))[0]


@case("power iteration 256², 100 steps", definite(256))
def power_iteration(xp: Any, a: Array, v: Array) -> Array:
    def step(i: Any, v: Array) -> Array:
        v = a @ v
        return v / xp.sqrt(xp.sum(v * v))

    return xp.fori(0, 100, step, v)


@case(
    "LSTM 64 units, 50 steps of 32, gradient",
    lambda rng: (
        normal(rng, 32, 256, scale=0.1),
        normal(rng, 64, 256, scale=0.1),
        np.zeros(256, np.float32),
        normal(rng, 50, 32, 32),
    ),
)
def lstm_gradient(xp: Any, wx: Array, wh: Array, b: Array, over: Array) -> Any:
    def cost(wx: Array, wh: Array, b: Array) -> Array:
        def step(state: Any, x: Array) -> Any:
            h, c = state
            z = x @ wx + h @ wh + b
            gates = 1 / (1 + xp.exp(-z[:, :192]))
            c = gates[:, :64] * c + gates[:, 64:128] * xp.tanh(z[:, 192:])
            h = gates[:, 128:] * xp.tanh(c)
            return (h, c), xp.sum(h * h)

        zero = xp.zeros((32, 64), xp.float32)
        return xp.sum(xp.scan(step, (zero, zero), over)[1])

    return xp.grad(cost, (0, 1, 2))(wx, wh, b)


@case("Jacobi 512², 100 steps", normals((512, 512), (510, 510)))
def jacobi(xp: Any, u: Array, source: Array) -> Array:
    def step(i: Any, u: Array) -> Array:
        return xp.pad(0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] + source), 1)

    return xp.fori(0, 100, step, u)


@case("wave of 1,000, 200 steps", normals((1000,), (200,)))
def wave(xp: Any, u: Array, force: Array) -> Any:
    def step(state: Any, push: Array) -> Any:
        u, before = state
        bent = xp.pad(u[2:] - 2 * u[1:-1] + u[:-2], 1)
        new = 2 * u - before + 0.25 * bent + 0.01 * push
        return (new, u), xp.sum(new * new)

    (u, _), energy = xp.scan(step, (u, u), force)
    return u, energy


@case("cumulative log-sum-exp, 100 steps of 1,000", normals((100, 1000)))
def cumulative_logsumexp(xp: Any, x: Array) -> Array:
    def step(total: Array, row: Array) -> Any:
        total = xp.logaddexp(total, row)
        return total, total

    return xp.scan(step, xp.zeros_like(x[0]), x)[1]


# ---------------------------------------------------------------- without loops, or with Python's


@case("convolution 3×3 by slices, 64²", normals((64, 64), (3, 3)))
@case("convolution 3×3 by slices, 2048²", normals((2048, 2048), (3, 3)))
def convolution(xp: Any, image: Array, weights: Array) -> Array:
    rows, columns = image.shape[0] - 2, image.shape[1] - 2
    parts = [weights[i, j] * image[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    return sum(parts[1:], parts[0])


@case("FIR filter, 64 taps of 1e5", lambda rng: (normal(rng, 100_063), uniform(rng, 64)))
def fir(xp: Any, x: Array, taps: Array) -> Array:
    n = x.shape[0] - 63
    parts = [taps[k] * x[k : k + n] for k in range(64)]
    return sum(parts[1:], parts[0])


@case("attention, batch 8, 4 heads, 128×64", normals(*[(8, 4, 128, 64)] * 3))
def attention(xp: Any, q: Array, k: Array, v: Array) -> Array:
    scores = q @ xp.swapaxes(k, -1, -2) * 0.125
    e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return (e / xp.sum(e, axis=-1, keepdims=True)) @ v


def layers(rows: int, columns: int) -> Inputs:
    """Rows to be standardised, scales, offsets, and weights of the results."""
    return normals((rows, columns), (columns,), (columns,), (rows, columns))


@case("layer norm 8×16, gradient", layers(8, 16))
@case("layer norm 512×1024, gradient", layers(512, 1024))
def layer_norm_gradient(xp: Any, x: Array, scale: Array, offset: Array, weights: Array) -> Any:
    def cost(x: Array, scale: Array, offset: Array) -> Array:
        centred = x - xp.mean(x, axis=1, keepdims=True)
        spread = xp.sqrt(xp.mean(centred * centred, axis=1, keepdims=True) + 1e-5)
        return xp.sum(weights * (centred / spread * scale + offset))

    return xp.grad(cost, (0, 1, 2))(x, scale, offset)


@case("batch norm 32×64×28×28", normals((32, 64, 28, 28), (64, 1, 1), (64, 1, 1)))
def batch_norm(xp: Any, x: Array, scale: Array, offset: Array) -> Array:
    centred = x - xp.mean(x, axis=(0, 2, 3), keepdims=True)
    variance = xp.mean(centred * centred, axis=(0, 2, 3), keepdims=True)
    return xp.maximum(centred / xp.sqrt(variance + 1e-5) * scale + offset, 0)


@case("Black–Scholes 1e6", options(10**6))
def black_scholes(xp: Any, price: Array, strike: Array, years: Array) -> Any:
    def below(d: Array) -> Array:
        return 0.5 * (1 + xp.erf(d * 0.7071067811865476))

    spread = 0.3 * xp.sqrt(years)
    d1 = (xp.log(price / strike) + 0.065 * years) / spread
    n1, n2 = below(d1), below(d1 - spread)
    discounted = strike * xp.exp(-0.02 * years)
    return price * n1 - discounted * n2, discounted * (1 - n2) - price * (1 - n1)


@case("softmax cross entropy 1024×1000, gradient", lambda rng: (normal(rng, 1024, 1000), one_hot(rng, 1024, 1000)))
def cross_entropy_gradient(xp: Any, scores: Array, truth: Array) -> Array:
    return xp.grad(lambda scores: cross_entropy(xp, scores, truth), 0)(scores)


@case("distances of 1,000 pairs by products, 64-D", normals((1000, 64), (1000, 64)))
def distances(xp: Any, x: Array, y: Array) -> Array:
    squares = xp.sum(x * x, axis=1)[:, None] + xp.sum(y * y, axis=1)[None, :] - 2 * (x @ y.T)
    return xp.sqrt(xp.maximum(squares, 0))


@case("nearest of 500 to 2,000 points, 3-D", normals((2000, 3), (500, 3)))
def nearest(xp: Any, x: Array, y: Array) -> Array:
    apart = x[:, None, :] - y[None, :, :]
    return xp.min(xp.sum(apart * apart, axis=2), axis=1)


@case("Gaussian log likelihood of 1e5, gradient", normals((), (), (100_000,)))
def likelihood_gradient(xp: Any, mean: Array, log_spread: Array, x: Array) -> Any:
    def cost(mean: Array, log_spread: Array) -> Array:
        z = (x - mean) * xp.exp(-log_spread)
        return xp.mean(0.5 * z * z + log_spread)

    return xp.grad(cost, (0, 1))(mean, log_spread)


@case(
    "Adam, 10 arrays of 128²",
    lambda rng: (*[normal(rng, 128, 128) for _ in range(30)], *[uniform(rng, 128, 128) for _ in range(10)]),
)
def adam(xp: Any, *arrays: Array) -> Any:
    values, gradients, means, squares = (arrays[k : k + 10] for k in range(0, 40, 10))
    means = tuple(0.9 * m + 0.1 * g for m, g in zip(means, gradients, strict=True))
    squares = tuple(0.999 * s + 0.001 * g * g for s, g in zip(squares, gradients, strict=True))
    steps = [m / (xp.sqrt(s) + 1e-8) for m, s in zip(means, squares, strict=True)]
    return (*[x - 0.001 * step for x, step in zip(values, steps, strict=True)], *means, *squares)


@case(
    "MLP 784-256-256-10, a row",
    normals((1, 784), (784, 256), (256,), (256, 256), (256,), (256, 10), (10,), scale=0.1),
)
def inference(xp: Any, x: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> Array:
    return xp.maximum(xp.maximum(x @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3


@case("L-BFGS direction, 8 pairs of 1,000", normals((8, 1000), (8, 1000), (1000,)))
def lbfgs(xp: Any, moves: Array, noise: Array, g: Array) -> Array:
    changes = moves + 0.1 * noise  # of the gradient, so that each product below is positive
    kept = []
    for k in range(7, -1, -1):
        rate = 1 / xp.sum(moves[k] * changes[k])
        part = rate * xp.sum(moves[k] * g)
        g = g - part * changes[k]
        kept.append((k, rate, part))
    g = g * (xp.sum(moves[7] * changes[7]) / xp.sum(changes[7] * changes[7]))
    for k, rate, part in reversed(kept):
        g = g + moves[k] * (part - rate * xp.sum(changes[k] * g))
    return -g


@case("columns standardised, 1e4×50", normals((10_000, 50)))
def columns(xp: Any, x: Array) -> Array:
    return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)


@case("polynomial of degree 20, 1e6", lambda rng: (uniform(rng, 10**6), normal(rng, 21)))
def polynomial(xp: Any, x: Array, c: Array) -> Array:
    y = xp.zeros_like(x) + c[0]
    for k in range(1, 21):
        y = y * x + c[k]
    return y


@case("Asian option, 1e4 paths of 50", normals((10_000, 50)))
def asian_option(xp: Any, z: Array) -> Array:
    paths = 100 * xp.exp(xp.cumsum(0.03 * z - 0.00045, axis=1))
    return xp.mean(xp.maximum(xp.mean(paths, axis=1) - 100, 0)) * 0.98
