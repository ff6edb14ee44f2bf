"""Stable orders on the CPU by NumPy's fast sorts are those of its stable one."""

from __future__ import annotations

import numpy as np
import pytest

import numloom as nl
from numloom.device.cpu.routines.order import stable_order


@pytest.mark.parametrize("char", "iIlLfdFbBhH?e")
@pytest.mark.parametrize("spread", [3, 1e9])
def test_stable_order_is_numpys(char: str, spread: float) -> None:
    rng = np.random.default_rng(5)
    dtype = np.dtype(char)
    with np.errstate(invalid="ignore", over="ignore"):
        a = (rng.standard_normal((50, 80)) * spread).astype(np.int64).astype(dtype)
    if dtype.kind in "iu":
        a[0, 0], a[-1, -1] = np.iinfo(dtype).min, np.iinfo(dtype).max
    else:
        for value in (np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf):
            a[rng.random(a.shape) < 0.1] = value
    for lines in (a, a[::-1, ::-1], np.asfortranarray(a)):
        for axis in (0, 1):
            found = stable_order(lines, axis)
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found, np.argsort(lines, axis, kind="stable"))


@pytest.mark.parametrize("char", "?bHhfdqD")
@pytest.mark.parametrize(
    "shape", [(3, 40, 700), (200, 400), (400, 3, 80), (2, 40000), (70000,), (0, 9), (5, 0)], ids=str
)
def test_parts_of_many_lines(char: str, shape: tuple[int, ...]) -> None:
    host = (np.random.default_rng(6).random(shape) * 300).astype(char)
    if char in "fdD":
        host[..., ::7] = np.nan
    for given in (host, np.asfortranarray(host), host[::-1]):
        array = nl.asarray(given)
        for axis in {0, len(shape) - 1}:
            found = nl.argsort(array, axis)
            assert found.dtype == np.int64
            np.testing.assert_array_equal(nl.asnumpy(found), np.argsort(given, axis, kind="stable"))


def test_short_and_empty_ones() -> None:
    for shape in ((0,), (1,), (0, 5), (3000, 1)):
        a = np.zeros(shape)
        np.testing.assert_array_equal(stable_order(a, 0), np.argsort(a, 0, kind="stable"))
