"""Two hundred random graphs: gradients beside JAX's where it is installed, and beside differences always."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import numloom as nl

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # On a GPU it takes most of the memory, which all other tests need.
try:
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
except ImportError:
    jax = None

GRAPHS = 200
SHAPES = [(), (3,), (4,), (3, 4), (4, 3), (2, 3, 4), (1, 4), (3, 1)]


def unary_steps(np_like: Any) -> list[Any]:
    """Smooth functions of any numbers, written for any library of NumPy's names."""
    x = np_like
    return [
        x.sin,
        x.cos,
        x.tanh,
        x.arctan,
        x.arcsinh,
        lambda a: x.exp(x.tanh(a)),
        lambda a: x.log1p(a * a),
        lambda a: x.sqrt(a * a + 1.0),
        lambda a: x.logaddexp(a, 0.5),
        lambda a: a * 0.5 + 1.0,
        lambda a: -a,
        lambda a: a**2 * 0.3,
        lambda a: 1.0 / (a * a + 2.0),
        lambda a: x.abs(a - 0.1234),
        lambda a: x.maximum(a, 0.3321),
        lambda a: x.clip(a, -0.9871, 1.0713),
        lambda a: x.where(a > 0.1717, a, 0.5 * a),
        lambda a: x.expm1(0.2 * x.sin(a)),
        lambda a: x.hypot(a, 1.0),
    ]


def shape_steps(x: Any) -> list[Any]:
    """Views, reductions, order, scans and products."""
    return [
        lambda a: a.T,
        lambda a: a.reshape(-1),
        lambda a: a[None],
        lambda a: a[..., ::-1] if a.ndim else a,
        lambda a: a[1:] if a.ndim and a.shape[0] > 1 else a,
        lambda a: a[..., ::2] if a.ndim else a,
        lambda a: x.broadcast_to(a, (2, *a.shape)),
        lambda a: a.sum(0) if a.ndim else a,
        lambda a: a.mean(-1, keepdims=True) if a.ndim else a,
        lambda a: a.var(0) if a.ndim else a,
        lambda a: a.max(-1) if a.ndim and a.shape[-1] else a,
        lambda a: a.min(0, keepdims=True) if a.ndim and a.shape[0] else a,
        lambda a: a.prod(-1) if a.ndim else a,
        lambda a: x.cumsum(a, -1) if a.ndim else a,
        lambda a: x.cumprod(a, 0) if a.ndim else a,
        lambda a: x.sort(a, -1) if a.ndim else a,
        lambda a: x.concatenate([a, a * 2.0]) if a.ndim else a,
        lambda a: x.stack([a, a * a], -1),
        lambda a: x.pad(a, [(1, 2)] * a.ndim) if a.ndim else a,
        lambda a: x.take(a, np.array([0, 0, -1]), -1) if a.ndim and a.shape[-1] else a,
        lambda a: a[np.array([0, 0])] if a.ndim and a.shape[0] else a,
        lambda a: a @ x.ones((a.shape[-1], 2)) * 0.3 if a.ndim else a,
        lambda a: x.einsum("...i,...i->...", a, a) * 0.2 if a.ndim else a,
        lambda a: x.roll(a, 1, -1) if a.ndim else a,
        lambda a: x.repeat(a, 2, 0) if a.ndim else a,
        lambda a: x.tril(a) if a.ndim >= 2 else a,
        lambda a: x.outer(a, a) * 0.1 if a.size < 30 else a,
        lambda a: x.linalg.solve(x.eye(a.shape[-2]) * 3.0 + 0.1, a) if a.ndim == 2 and a.shape[0] else a,
        lambda a: x.linalg.inv(x.eye(a.shape[-1]) * 4.0 + a.T @ a) if a.ndim == 2 and a.size else a,
        lambda a: x.linalg.cholesky(x.eye(a.shape[-1]) * 4.0 + a.T @ a) if a.ndim == 2 and a.size else a,
        lambda a: x.linalg.slogdet(x.eye(a.shape[-1]) * 4.0 + a.T @ a)[1] if a.ndim == 2 and a.size else a,
        lambda a: x.abs(x.fft.fft(a, axis=-1)) ** 2 * 0.1 if a.ndim and a.shape[-1] else a,
        lambda a: x.fft.irfft(x.fft.rfft(a, axis=-1) * (1 + 0.5j), 4, -1) if a.ndim and a.shape[-1] else a,
    ]


PAIRS = 5


def pair(x: Any, number: int, a: Any, b: Any) -> Any:
    """Two values together."""
    if number == 0:
        return a + b
    if number == 1:
        return a * b
    if number == 2:
        return a / (b * b + 1.5)
    return x.maximum(a, b - 0.2718) if number == 3 else x.arctan2(a, b * b + 1.0)


def fit(a: Any, b: Any) -> bool:
    try:
        return int(np.prod(np.broadcast_shapes(a.shape, b.shape))) <= 500
    except ValueError:
        return False


def run(x: Any, plan: np.random.Generator, inputs: list[Any]) -> Any:
    """A random graph over inputs; the same for any library, since it follows from shapes alone."""
    values = list(inputs)
    unary, shaped = unary_steps(x), shape_steps(x)
    for _ in range(int(plan.integers(4, 14))):
        kind = plan.random()
        a = values[int(plan.integers(len(values)))]
        b = values[int(plan.integers(len(values)))]
        step = int(plan.integers(1000))
        if kind < 0.4:
            new = unary[step % len(unary)](a)
        elif kind < 0.75:
            new = shaped[step % len(shaped)](a)
        elif fit(a, b):
            new = pair(x, step % PAIRS, a, b)
        else:
            new = a * x.tanh(b.sum())
        if new.size <= 500:
            values.append(x.tanh(new * 0.7) if step % 3 == 0 else new)
    total = 0.0
    for value in values:
        total = total + x.sin(value * 0.5).sum()
    return total


def inputs_of(seed: int, turn: int) -> list[Any]:
    generator = np.random.default_rng([seed, turn])
    shapes = np.random.default_rng(seed)
    count = int(shapes.integers(1, 4))
    return [generator.uniform(-1.5, 1.5, SHAPES[int(shapes.integers(len(SHAPES)))]) for _ in range(count)]


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_random_graphs(seed: int) -> None:
    def cost(*arrays: Any) -> Any:
        return run(nl, np.random.default_rng(seed), list(arrays))

    everything = tuple(range(len(inputs_of(seed, 0))))
    found_of = nl.value_and_grad(cost, everything)
    both: Any = None
    if jax is not None:
        both = jax.jit(jax.value_and_grad(lambda *a: run(jnp, np.random.default_rng(seed), list(a)), everything))
    for turn in range(5):
        arrays = inputs_of(seed, turn)
        value, found = found_of(*map(nl.array, arrays))
        if both is not None:
            theirs, wanted = both(*arrays)
            np.testing.assert_allclose(float(value), float(theirs), rtol=1e-9, atol=1e-9)
            for ours, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(ours.get(), np.asarray(other), rtol=1e-7, atol=1e-8)
        generator = np.random.default_rng([seed, turn, 1])
        directions = [generator.uniform(-1, 1, array.shape) for array in arrays]
        step = 1e-6
        more = run(np, np.random.default_rng(seed), [a + step * d for a, d in zip(arrays, directions, strict=True)])
        less = run(np, np.random.default_rng(seed), [a - step * d for a, d in zip(arrays, directions, strict=True)])
        slope = sum(float((g.get() * d).sum()) for g, d in zip(found, directions, strict=True))
        np.testing.assert_allclose(slope, (more - less) / (2 * step), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(0, GRAPHS, 10))
def test_second_derivatives_of_random_graphs(seed: int) -> None:
    """The Hessian's product with a vector beside differences of gradients."""

    def cost(*arrays: Any) -> Any:
        return run(nl, np.random.default_rng(seed), list(arrays))

    first = nl.grad(cost, 0)
    arrays = inputs_of(seed, 9)
    direction = np.random.default_rng(seed).uniform(-1, 1, arrays[0].shape)
    rest = list(map(nl.array, arrays[1:]))
    second = nl.grad(lambda x: (first(x, *rest) * direction).sum(), allow_unused=True)(nl.array(arrays[0])).get()
    step = 1e-6
    more, less = (first(nl.array(arrays[0] + sign * step * direction), *rest).get() for sign in (1, -1))
    scale = 1 + np.abs(second).max(initial=0)
    np.testing.assert_allclose(second, (more - less) / (2 * step), rtol=1e-3, atol=1e-4 * scale)
