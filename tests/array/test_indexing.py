"""Elements that are written at index arrays at once, while others still have to read what was there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.base.config import config
from numloom.testing import assert_bits_equal


@pytest.mark.parametrize("size", [20_000, 50, 70_000])
@pytest.mark.parametrize("pending", [False, True])
def test_elements_are_written_though_pending_work_reads_them(size: int, pending: bool) -> None:
    """By numbers and by truth values, numbers and arrays, of small and of large memory."""
    host = np.arange(float(size))
    where, truth = np.array([3, 1, size - 1]), host % 7 == 3
    mine, at, mask = nl.asarray(host.copy()), nl.asarray(where), nl.asarray(truth)

    def write(x: Any, index: Any, value: Any) -> None:
        x[index] = value

    def add(x: Any, index: Any, value: Any) -> None:
        x[index] += value

    with config(unplanned=0 if pending else config.unplanned):
        for change in (write, add):
            for index, ours, values in ((where, at, np.array([7.0, 8.0, 9.0])), (truth, mask, host[truth] * 3)):
                for value, other in ((-4.5, -4.5), (values, nl.asarray(values))):
                    before, expected = mine * 2, host * 2
                    change(mine, ours, other)
                    change(host, index, value)
                    assert_bits_equal(mine, host)
                    assert_bits_equal(before, expected)
