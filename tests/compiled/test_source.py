"""Texts of trees: a user's kernel has one name in them for each dtype, however often it stands there."""

from __future__ import annotations

import numpy as np
import pytest

import numloom as nl
from numloom.kernels import ElementwiseKernel


@pytest.mark.parametrize("times", [3, 1, 2])
def test_kernels_of_users_are_named_once(times: int) -> None:
    kernel = ElementwiseKernel("T x, T y", "T z", "z = x * 2 + y", "scaled")
    other = ElementwiseKernel("T x, T y", "T z", "z = x - y", "scaled")
    x, y = nl.symbol("x", (4,)), nl.symbol("scaled", (4,), "f4")
    a, b = x, y
    for _ in range(times):
        a, b = kernel(other(a, x), x), kernel(b, y)
    text = nl.source(a + b)
    assert len(text.kernels) == 3
    hosts = np.arange(4.0), np.arange(4, dtype="f4") + 1
    wide, single = hosts
    for _ in range(times):
        wide, single = (wide - hosts[0]) * 2 + hosts[0], single * 2 + hosts[1]
    np.testing.assert_allclose(text.compile()(*hosts), wide + single, rtol=1e-6)
