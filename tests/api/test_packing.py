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


@pytest.mark.parametrize("order", ["big", "little"])
def test_the_same_call_again(order: Any) -> None:
    """Calls that are known by their operands' forms: of memory, of pending values, of strided ones, and of new data."""
    rng = np.random.default_rng(2)
    for shape in ((16, 24), (3, 5, 7), (0, 8), (40, 128)):
        for axis in (None, 0, -1, np.int64(1)):
            for _ in range(3):
                host = rng.integers(0, 3, shape).astype("u1")
                for given in (host, np.asfortranarray(host), host[::-1], host[..., ::2]):
                    array = nl.asarray(given)
                    for ours, theirs in ((array, given), (array > 1, given > 1), (array[::-1], given[::-1])):
                        bits = np.packbits(theirs, axis=axis, bitorder=order)
                        np.testing.assert_array_equal(nl.asnumpy(nl.packbits(ours, axis, order)), bits)
                        count = 5 if bits.size else None  # NumPy leaves those of nothing as they were.
                        back = nl.unpackbits(nl.asarray(bits), axis=axis, bitorder=order, count=count)
                        expected = np.unpackbits(bits, axis=axis, bitorder=order, count=count)
                        np.testing.assert_array_equal(nl.asnumpy(back), expected)


def test_axes_and_orders_that_there_are_not() -> None:
    x = nl.asarray(np.ones((4, 8), "?"))
    for _ in range(2):
        with pytest.raises(np.exceptions.AxisError):
            nl.packbits(x, 2)
        with pytest.raises(ValueError, match="'order' must be either"):
            nl.packbits(x, bitorder="middle")
        with pytest.raises(TypeError):
            nl.packbits(x, 0.5)


def test_bits_of_a_comparison_in_a_compiled_function() -> None:
    x = nl.symbol("x", shape=(64,))
    bits = nl.function([x], nl.packbits(x > 2))
    for seed in range(3):
        given = np.random.default_rng(seed).random(64) * 4
        np.testing.assert_array_equal(nl.asnumpy(bits(given)), np.packbits(given > 2))
