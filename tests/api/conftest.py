"""Sample values of every dtype: the corners and random ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Host = np.ndarray[Any, Any]


def sample(dtype: Any, size: int = 61, seed: int = 0, plain: bool = False) -> Host:
    """`size` values of `dtype`; `plain` ones are small, finite, not negative and not zero."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng([seed, dtype.num, size])
    if dtype.kind == "b":
        return random.integers(0, 2, size).astype(bool)
    if dtype.kind in "iu":
        if plain:
            return random.integers(1, 8, size).astype(dtype)
        limits = np.iinfo(dtype)
        values = random.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
        corners = np.array([0, 1, 2, 3, 5, 10, limits.max, limits.min, limits.max - 1], dtype)
        values[: size // 2] = random.integers(0 if dtype.kind == "u" else -12, 12, size // 2).astype(dtype)
    elif dtype.kind == "f":
        values = (random.normal(size=size) * 3).astype(dtype)
        if plain:
            return np.abs(values) + np.asarray(0.25, dtype)
        limits = np.finfo(dtype)
        corners = np.array(
            [0.0, -0.0, 1, -1, 0.5, 2, -2.5, np.inf, -np.inf, np.nan, limits.max, limits.tiny,
             limits.smallest_subnormal],
            dtype,
        )  # fmt: skip
    else:
        part = np.dtype("f4" if dtype.char == "F" else "f8")
        values = np.empty(size, dtype)
        values.real, values.imag = sample(part, size, seed, plain), sample(part, size, seed + 1, plain)
        corners = np.array([0, 1, 1j, -1, 2 - 3j, -1.5 + 0.25j], dtype)
        if plain:
            return values
        # Corners of complex functions (infinities, branch cuts) have tests of their own.
        finite = (random.normal(size=size) + 1j * random.normal(size=size)).astype(dtype)
        values = np.where(np.isfinite(values) & (np.abs(values) < 1e3), values, finite)
    values[random.permutation(size)[: corners.size]] = corners[:size]
    return values


@pytest.fixture(scope="session", name="sample")
def sample_fixture() -> Callable[..., Host]:
    return sample
