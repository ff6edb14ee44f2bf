"""The assertions accept what is equal and refuse what is not."""

from __future__ import annotations

import numpy as np
import pytest

from numloom.testing import assert_bits_equal


def test_equal_arrays_pass() -> None:
    x = np.array([1.0, np.nan, -0.0])
    assert_bits_equal(x, x.copy())
    assert_bits_equal(x * 1j, x * 1j)
    assert_bits_equal(np.zeros((0, 3), np.float16), np.zeros((0, 3), np.float16))
    assert_bits_equal(np.True_, np.array(True))


def test_shapes_are_compared() -> None:
    with pytest.raises(AssertionError, match="shapes differ"):
        assert_bits_equal(np.zeros(3), np.zeros((1, 3)))


def test_dtypes_are_compared() -> None:
    with pytest.raises(AssertionError, match="dtypes differ"):
        assert_bits_equal(np.zeros(3, np.float32), np.zeros(3))


def test_bits_tell_zeros_apart_and_not_nans() -> None:
    with pytest.raises(AssertionError, match="1 of 2 differ in their bits"):
        assert_bits_equal(np.array([0.0, 1.0]), np.array([-0.0, 1.0]))
    other_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    assert_bits_equal(np.array([np.nan]), other_nan)


def test_arrays_of_numloom_are_brought_to_the_host() -> None:
    import numloom

    assert_bits_equal(numloom.arange(4) * 2, np.arange(4) * 2)
