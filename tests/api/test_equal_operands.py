"""Calls whose operands are equal but apart, met often, and then the same calls with operands that differ.

A call is learned when it is met again. What it does with equal operands says nothing of what it does with others.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import numloom as nl

CALLS: dict[str, Callable[..., Any]] = {
    "stack": lambda np, a, b, c: np.stack([a, b, c]),
    "concatenate": lambda np, a, b, c: np.concatenate([a, b, c]),
    "column_stack": lambda np, a, b, c: np.column_stack([a, b, c]),
    "where": lambda np, a, b, c: np.where(a.real > 0, b, c),
    "cov": lambda np, a, b, c: np.cov(np.stack([a, b]), c),
    "einsum": lambda np, a, b, c: np.einsum("i,i,i->i", a, b, c),
    "isclose": lambda np, a, b, c: np.isclose(a, b, rtol=0.5) + np.isclose(b, c, rtol=0.5) * 2,
    "interp": lambda np, a, b, c: np.interp(a.real, np.sort(b.real), c),
    "outer": lambda np, a, b, c: np.outer(a[:7], b[:5]) * c[0],
    "append": lambda np, a, b, c: np.append(np.append(a, b), c),
    "convolve": lambda np, a, b, c: np.convolve(a[:30], b[:20]) + c[3],
    "choose": lambda np, a, b, c: np.select([a.real > 0, b.real > 0], [b, c], a),
}  # fmt: skip

EQUAL: dict[str, Callable[..., Any]] = {
    "the same": lambda np, x: (x, x, x),
    "negatives": lambda np, x: (-x, -x, -x),
    "negatives and itself": lambda np, x: (-x, x, -x),
    "magnitudes": lambda np, x: (x, abs(x) + 0j, abs(x) + 0j),
    "absolute and itself": lambda np, x: (abs(x), x, abs(x)),
    "parts": lambda np, x: (x.real, x.real, x.real),
    "parts and itself": lambda np, x: (x.real, x, x.imag),
    "views": lambda np, x: (x[:60], x[:60], x[:60]),
    "negative views": lambda np, x: (-x[:60], -x[:60], x[:60]),
    "casts": lambda np, x: (x.astype("c8"), x.astype("c8"), x.astype("c8")),
    "conjugates": lambda np, x: (x.conj(), x.conj(), x),
}  # fmt: skip

OTHER: list[Callable[..., Any]] = [
    lambda np, x, y, z: (x - y, x - z, x + z),
    lambda np, x, y, z: (-x, -y, -z),
    lambda np, x, y, z: (x, y, z),
    lambda np, x, y, z: (abs(x), y, abs(z)),
    lambda np, x, y, z: (x.real, y.real, z.real),
    lambda np, x, y, z: (x.real, y, z.imag),
    lambda np, x, y, z: (x[:60], x[1:61], y[:60]),
    lambda np, x, y, z: (-x[:60], -x[4:64], y[:60]),
    lambda np, x, y, z: (x.astype("c8"), y.astype("c8"), z.astype("c8")),
    lambda np, x, y, z: (x.conj(), y.conj(), z),
]

_sizes = count(64)  # Each test has an extent of its own: what others learned says nothing here.


def numbers(seed: int, size: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=size) + 1j * rng.normal(size=size)


@pytest.mark.parametrize("unplanned", [0, 4096])
@pytest.mark.parametrize("equal", EQUAL)
@pytest.mark.parametrize("call", CALLS)
def test_calls_that_were_learned_with_equal_operands(call: str, equal: str, unplanned: int) -> None:
    size, f = next(_sizes), CALLS[call]
    with nl.config(unplanned=unplanned, cpu_compile="never"):
        for seed in range(4):
            host = numbers(seed, size)
            found, want = f(nl, *EQUAL[equal](nl, nl.asarray(host))), f(np, *EQUAL[equal](np, host))
            np.testing.assert_allclose(found.get(), want, rtol=1e-5, atol=1e-6)
        for seed, other in enumerate(OTHER):
            hosts = [numbers(10 * seed + part, size) for part in range(3)]
            ours = [nl.asarray(host) for host in hosts]
            found, want = f(nl, *other(nl, *ours)), f(np, *other(np, *hosts))
            np.testing.assert_allclose(found.get(), want, rtol=1e-5, atol=1e-6, err_msg=f"{seed}")
