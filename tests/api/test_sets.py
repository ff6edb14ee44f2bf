"""Arrays as sets against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import assert_array_equal, for_all_dtypes, matches_numpy

CASES = """
xp.unique(a)
xp.unique(m)
xp.unique(m, return_index=True, return_inverse=True, return_counts=True)
xp.unique(a, return_counts=True)
xp.unique(a[:0], return_index=True, return_counts=True)
xp.unique(n)
xp.unique(n, equal_nan=False)
xp.unique(m, axis=0)
xp.unique(m, True, True, True, axis=0)
xp.unique(m, True, True, True, axis=1)
xp.unique(m, axis=5)
list(xp.unique_all(a))
list(xp.unique_counts(n))
list(xp.unique_inverse(a))
xp.unique_values(m)
xp.isin(a, b)
xp.isin(m, b, invert=True)
xp.isin(a, [])
xp.isin(n, n)
xp.isin(a, 2.5)
xp.isin(a, b, kind="nonsense")
xp.union1d(a, b)
xp.intersect1d(a, b)
xp.intersect1d(a, b, return_indices=True)
xp.intersect1d([1, 3, 4], [4, 1], assume_unique=True, return_indices=True)
xp.setdiff1d(a, b)
xp.setdiff1d(b, a)
xp.setxor1d(a, b)
xp.setxor1d(a[:0], a[:0])
xp.setxor1d([1, 2], [2, 5], assume_unique=True)
""".strip().splitlines()


def arrays(xp: Any) -> dict[str, Any]:
    random = np.random.default_rng(2)
    n = np.round(random.standard_normal(12) * 2)
    n[[1, 7]] = np.nan
    return {
        "xp": xp,
        "a": xp.asarray(random.integers(0, 9, 20)),
        "b": xp.asarray(random.integers(3, 15, 12)),
        "m": xp.asarray(random.integers(0, 2, (12, 3))),
        "n": xp.asarray(n),
    }


@pytest.mark.parametrize("expression", CASES)
@matches_numpy
def test_matches(xp: Any, expression: str) -> Any:
    return eval(expression, arrays(xp))


@for_all_dtypes()
def test_dtypes(dtype: Any) -> None:
    values = (np.arange(40) * 7 % 11).astype(dtype)
    assert_array_equal(nl.unique(nl.asarray(values)), np.unique(values), strict=True)
    assert_array_equal(nl.isin(nl.asarray(values), values[:3]), np.isin(values, values[:3]), strict=True)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (2, 0, 3), (4, 3), (1, 3)])
def test_parts_along_an_axis_however_many_elements_they_have(shape: tuple[int, ...]) -> None:
    """Values, places, numbers of each, their dtypes and their shapes, also where parts have no elements."""
    host = np.arange(float(np.prod(shape))).reshape(shape) % 4
    for axis in range(host.ndim):
        asked = {"return_index": True, "return_inverse": True, "return_counts": True, "axis": axis}
        for found, expected in zip(nl.unique(nl.asarray(host), **asked), np.unique(host, **asked), strict=True):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(found.get(), expected)
