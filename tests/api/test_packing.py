"""Bits of values that are computed only for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl


@pytest.mark.parametrize("order", ["big", "little"])
def test_bits_of_comparisons(order: Any) -> None:
    for shape in ((64,), (63,), (8, 16), (3, 5), (4, 24), (0, 8), (64, 64), (4104,), (100, 41)):
        x = np.random.default_rng(1).integers(0, 5, shape).astype("i4")
        for given in (x, np.asfortranarray(x)):
            for axis in (None, -1, 0):
                found = nl.packbits(nl.asarray(given) > 2, axis=axis, bitorder=order)
                np.testing.assert_array_equal(found.get(), np.packbits(given > 2, axis=axis, bitorder=order))


def test_bits_of_a_comparison_in_a_compiled_function() -> None:
    x = nl.symbol("x", shape=(64,))
    bits = nl.function([x], nl.packbits(x > 2))
    for seed in range(3):
        given = np.random.default_rng(seed).random(64) * 4
        np.testing.assert_array_equal(nl.asnumpy(bits(given)), np.packbits(given > 2))
