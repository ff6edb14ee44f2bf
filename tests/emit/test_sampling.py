"""Draws of whole numbers in kernels have the means and the variances of their distributions, by every way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import numloom as nl
from compilers import needed

DRAWN: dict[str, list[tuple[Any, ...]]] = {
    "binomial": [(9, 0.7), (40, 0.3), (1000, 0.3), (100_000, 0.99), (10**9, 0.5)],
    "poisson": [(0.3,), (9.0,), (50.0,), (1e6,)],
    "hypergeometric": [(9, 5, 6), (900, 500, 600), (60_000, 20_000, 900)],
}
LAWS: dict[str, Any] = {
    "binomial": stats.binom, "poisson": stats.poisson,
    "hypergeometric": lambda good, bad, drawn: stats.hypergeom(good + bad, good, drawn),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_means_and_variances(name: str) -> None:
    needed()
    count = 20_000
    for given in DRAWN[name]:
        with nl.config(unplanned=0, cpu_compile="wait"):
            found = getattr(nl.random.default_rng(11), name)(*given, size=count).get().astype(float)
        mean, variance, excess = LAWS[name](*given).stats("mvk")
        assert abs(found.mean() - mean) < 5 * np.sqrt(variance / count), given
        assert abs(found.var() / variance - 1) < 5 * np.sqrt((2 + excess) / count), given


def test_kernels_draw_what_numpy_draws() -> None:
    """To the bit: small shapes take an exponential that is the same everywhere."""
    needed()
    with nl.config(unplanned=0, cpu_compile="wait"):
        found = nl.random.default_rng(11).standard_gamma(0.5, size=2000).get()
    with nl.config(executor="reference"):
        expected = nl.random.default_rng(11).standard_gamma(0.5, size=2000).get()
    assert len(np.unique(expected)) > 1000
    np.testing.assert_array_equal(found, expected)
