"""Sorting, searching and scans against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.device import registry
from numloom.testing import assert_array_equal, for_all_dtypes, matches_numpy

CASES = """
xp.sort(m)
xp.sort(m, 0)
xp.sort(m, None)
xp.sort(m, kind="stable")
xp.sort(m, kind="nonsense")
xp.sort(m, stable=True)
xp.sort(m, 2)
xp.sort(xp.asarray(3.0))
xp.sort(n)
xp.sort(m[:, ::-2].T)
xp.argsort(m, 0, kind="stable")
xp.argsort(d, kind="stable")
xp.argsort(n, kind="stable")
xp.argsort(m, None, kind="stable")
m.argsort(kind="stable")
xp.partition(v, 3)[3]
xp.partition(v, [1, 4])[1]
xp.partition(v, 99)
v[xp.argpartition(v, 4)[4]]
xp.lexsort((d, v))
xp.lexsort((v, d))
xp.lexsort((m, m[::-1]), 0)
xp.lexsort(())
xp.searchsorted(w, [0.5, 9.0, -4.0, 1.0])
xp.searchsorted(w, 1.0)
xp.searchsorted(w, m, "right")
xp.searchsorted(v, m, sorter=xp.argsort(v))
xp.searchsorted(m, v)
xp.searchsorted(w, v, "middle")
xp.searchsorted(xp.asarray([1, 2, 3]), 2.5)
w.searchsorted(2)
xp.nonzero(d)
xp.nonzero(m > 3)
m.nonzero()
xp.nonzero(xp.asarray(3))
xp.flatnonzero(m > 3)
xp.argwhere(m > 3)
xp.argwhere(xp.asarray(3))
xp.argwhere(d[:0])
xp.extract(m > 3, m)
xp.extract([True, False, True], v)
xp.cumsum(m)
xp.cumsum(m, 0)
xp.cumsum(d, dtype="f4")
xp.cumsum(m, 7)
xp.cumsum(3)
xp.cumprod(m, 1)
m.cumsum(1)
xp.cumulative_sum(v)
xp.cumulative_sum(m, axis=1, include_initial=True)
xp.cumulative_prod(v, include_initial=True)
xp.cumulative_sum(m)
xp.nancumsum(n)
xp.nancumprod(n)
""".strip().splitlines()


def arrays(xp: Any) -> dict[str, Any]:
    random = np.random.default_rng(5)
    v = random.standard_normal(9) * 3
    n = v.copy()
    n[[2, 5]] = np.nan
    return {
        "xp": xp,
        "v": xp.asarray(v),
        "w": xp.asarray(np.sort(v)),
        "n": xp.asarray(n),
        "m": xp.asarray(np.round(random.standard_normal((4, 6)) * 4)),
        "d": xp.asarray((np.arange(9) * 5 % 4).astype(np.int16)),
    }


@pytest.mark.parametrize("expression", CASES)
@matches_numpy(rtol=1e-14)
def test_matches(xp: Any, expression: str) -> Any:
    return eval(expression, arrays(xp))


@for_all_dtypes()
@pytest.mark.parametrize("shape", [(0,), (1,), (37,), (5, 7)])
def test_dtypes(dtype: Any, shape: tuple[int, ...]) -> None:
    values = (np.arange(np.prod(shape)).reshape(shape) * 29 % 23 - 5 * (dtype.kind in "ifc")).astype(dtype)
    if dtype.kind == "c":
        values = values + values[..., ::-1] * 1j
    ours = nl.asarray(values)
    assert_array_equal(nl.sort(ours), np.sort(values), strict=True)
    assert_array_equal(nl.argsort(ours), np.argsort(values, kind="stable"), strict=True)
    assert_array_equal(nl.cumsum(ours), np.cumsum(values), strict=True)
    for have, want in zip(nl.nonzero(ours), np.nonzero(values), strict=True):
        assert_array_equal(have, want, strict=True)


@matches_numpy
def test_in_place(xp: Any) -> Any:
    x = arrays(xp)["m"]
    x.sort(0)
    part = x[:, 1:4]
    part.sort()
    out = xp.zeros(9)
    xp.cumsum(arrays(xp)["v"], out=out)
    return x, out


def test_argsort_is_stable() -> None:
    values = np.random.default_rng(0).integers(0, 4, 1000)
    assert_array_equal(nl.argsort(nl.asarray(values)), np.argsort(values, kind="stable"), strict=True)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f8", "F"])
def test_the_largest_first(dtype: str) -> None:
    """Stable, and NaN last, as NumPy 2.5 has it; older ones sort keys that run the other way."""
    values = np.random.default_rng(3).integers(0, 5, (4, 9)).astype(dtype)
    if dtype in ("f8", "F"):
        values[:, ::3] = np.nan
        values[1, 1] = -np.inf
    keys = ~values if dtype in ("?", "i1", "u8") else -values
    ours = nl.asarray(np.asfortranarray(values))
    for axis in (-1, 0, None):
        order = np.argsort(keys, axis, kind="stable")
        expected = np.take_along_axis(values, order, axis)
        assert_array_equal(nl.argsort(ours, axis, descending=True), order, strict=True)
        assert_array_equal(nl.sort(ours, axis, stable=True, descending=True), expected, strict=True)
    ours.sort(descending=True)
    assert_array_equal(ours, np.take_along_axis(values, np.argsort(keys, kind="stable"), -1), strict=True)
    with pytest.raises(ValueError, match="same time"):
        nl.sort(ours, kind="stable", descending=False)


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8"])
@pytest.mark.parametrize("value", [2.5, 3, -1, -1.5, 250.0])
def test_a_place_among_narrow_numbers_widens_none_of_them(dtype: str, value: float) -> None:
    """A number of another dtype becomes one of the vector's, which is searched where it lies."""
    host = np.repeat(np.arange(256), 40).astype(dtype)
    x = nl.asarray(host) + 0
    nl.evaluate(x)
    pool = registry.current().pool
    for side in ("left", "right"):
        pool.reset_peak()
        before = pool.used
        assert nl.searchsorted(x, value, side).item() == np.searchsorted(host, value, side)
        assert pool.peak - before < host.size
