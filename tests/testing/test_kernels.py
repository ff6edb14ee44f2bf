"""Kernels are counted inside the block, whatever is pending around it."""

from __future__ import annotations

import pytest

import numloom
from numloom.base.config import config
from numloom.testing import assert_kernels, count_kernels

fused = pytest.mark.skipif(
    config.executor == "reference" or config.eager, reason="nothing is fused: there are no kernels to count"
)


@fused
def test_a_chain_is_one_kernel() -> None:
    x = numloom.linspace(-1, 1, 1000)
    with assert_kernels(1):
        y = numloom.maximum(0, x) + numloom.log1p(numloom.exp(-abs(x)))
    assert y.shape == (1000,)


@fused
def test_small_work_of_several_values_is_counted_as_it_is_planned() -> None:
    x = numloom.arange(1000.0)
    with count_kernels() as counted:
        y, z = numloom.sqrt(x * x + 1) - 1, x + 3
    assert counted.kernels == 1
    assert float(y[0]) == 0 and float(z[0]) == 3


@fused
def test_pending_work_before_does_not_count() -> None:
    x = numloom.arange(100) * 2
    with count_kernels() as counted:
        pass
    assert counted.kernels == 0
    assert float(x.sum()) == 9900


@fused
def test_another_number_fails() -> None:
    x = numloom.arange(100)
    with pytest.raises(AssertionError, match="expected 7 kernels, 1 ran"), assert_kernels(7):
        (x + 1).get()


def test_an_error_inside_passes_through() -> None:
    with pytest.raises(ZeroDivisionError), assert_kernels(3):
        raise ZeroDivisionError
