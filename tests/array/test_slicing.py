"""What slices of an axis take: Python's ranges, and no answer where a bound is not known yet."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array import slicing

try:
    from numloom.array import _slicing  # type: ignore[attr-defined]
except ImportError:  # the pure package
    _slicing = None

WAYS = [slicing.bounds, *([] if _slicing is None else [_slicing.bounds])]
"""The function itself and the compiled one, which give the same."""


@pytest.mark.parametrize("bounds", WAYS)
def test_pythons_ranges(bounds: Any) -> None:
    numbers = (None, 0, 1, 3, 7, 8, 100, -1, -2, -7, -8, -100)
    for start, stop, step in itertools.product(numbers, numbers, (None, 1, 2, 3, 50, -1, -2, -50)):
        for extent in (0, 1, 7):
            taken = range(extent)[start:stop:step]
            assert bounds(slice(start, stop, step), extent) == (taken.start, len(taken), taken.step)
    assert bounds(slice(np.int64(1), np.uint8(6), np.int16(2)), 7) == (1, 3, 2)


@pytest.mark.parametrize("bounds", WAYS)
def test_bounds_that_are_no_numbers(bounds: Any) -> None:
    """A bound that waits for its number is told from one that is none."""
    waiting = nl.symbol("i", (), "int64")
    for item in (slice(waiting, None), slice(None, waiting), slice(None, None, waiting), slice(waiting, waiting + 3)):
        with pytest.raises(slicing.WaitingBoundError):
            bounds(item, 7)
    for wrong in (slice(1.0, None), slice(None, "3"), slice(None, None, nl.zeros(2))):
        with pytest.raises(TypeError):
            bounds(wrong, 7)
    with pytest.raises(ValueError, match="zero"):
        bounds(slice(None, None, 0), 7)
