"""Order statistics, covariances, histograms, differences against NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api import histograms, reductions
from numloom.api.quantiles import METHODS
from numloom.testing import assert_allclose, assert_array_equal, matches_numpy

CASES = """
xp.median(m)
xp.median(m, 0)
xp.median(m, (0, 1), keepdims=True)
xp.median(i)
xp.median(i, 1)
xp.median(n)
xp.median(n, 0)
xp.quantile(m, 0.3)
xp.quantile(m, [0.1, 0.9], 1)
xp.quantile(m, [[0.1, 0.9]], 0, keepdims=True)
xp.quantile(m, 1.5)
xp.quantile(n, 0.5, 1)
xp.quantile(m, 0.5, method="nonsense")
xp.quantile(m > 0, 0.5)
xp.percentile(m, 30)
xp.percentile(i, [0, 50, 100], 0)
xp.percentile(m, 130)
xp.quantile(m.astype("f4"), 0.3)
xp.percentile(m.astype("f4"), 30)
xp.percentile(m.astype("f4"), [30, 40])
xp.cov(m)
xp.cov(m, rowvar=False)
xp.cov(m, bias=True)
xp.cov(m[0], m[1])
xp.cov(m, ddof=0, fweights=[1, 2, 3, 1, 2, 1])
xp.cov(m, aweights=xp.asarray([0.1, 0.2, 0.3, 0.1, 0.2, 0.1]))
xp.cov(m + 1j * m[::-1])
xp.cov(m[0])
xp.cov(xp.ones((2, 2, 2)))
xp.corrcoef(m)
xp.corrcoef(m[0], m[1])
xp.bincount(k)
xp.bincount(k, minlength=20)
xp.bincount(k, xp.ones(12) / 4)
xp.bincount(k, xp.ones(3))
xp.bincount(k - 5)
xp.bincount(m[0])
xp.bincount(xp.asarray([], dtype="i8"))
xp.bincount(k, minlength=-1)
xp.digitize(m, [-1, 0, 1])
xp.digitize(m, [1, 0, -1], right=True)
xp.digitize(m, [1, 0, 3])
xp.histogram(m)
xp.histogram(m, 4, (-1, 1))
xp.histogram(m, [-2, -0.5, 0, 0.25, 3])
xp.histogram(i)
xp.histogram(m, density=True)
xp.histogram(m, weights=abs(m))
xp.histogram(m, weights=i)
xp.histogram(m, 0)
xp.histogram(m, [2, 1])
xp.histogram(m, "sturges")
xp.histogram(n, 4, (-1, 1))
xp.histogram_bin_edges(m, 5)
xp.convolve(m[0], m[1])
xp.convolve(m[0], m[1][:3], "same")
xp.convolve(m[0][:3], m[1], "valid")
xp.convolve(i[0], i[1])
xp.convolve(m[0] + 1j * m[1], m[2] - 1j * m[0])
xp.convolve(m, m)
xp.convolve(m[0], m[0], "nonsense")
xp.correlate(m[0], m[1])
xp.correlate(m[0], m[1][:3], "full")
xp.correlate(m[0][:3], m[1], "same")
xp.correlate(m[0] + 1j * m[1], m[2] - 1j * m[0], "full")
xp.correlate(m[0][:3] + 1j * m[1][:3], m[2] - 1j * m[0], "full")
xp.diff(m)
xp.diff(m, 2, 0)
xp.diff(m, prepend=0, append=m)
xp.diff(m > 0)
xp.diff(m, 9)
xp.diff(m, -1)
xp.diff(3)
xp.ediff1d(m)
xp.ediff1d(i, 1, [2, 3])
xp.gradient(m)
xp.gradient(m, 2.5, axis=1)
xp.gradient(m, edge_order=2)
xp.gradient(m, [0.0, 1.0, 3.0, 4.5], axis=0)
xp.gradient(m, [0.0, 1.0, 3.0, 4.5], axis=0, edge_order=2)
xp.gradient(i[0])
xp.gradient(m.astype("f4"))
xp.gradient(m[:1], axis=0)
xp.gradient(m, 1, 2, 3)
xp.trapezoid(m)
xp.trapezoid(m, dx=0.5, axis=0)
xp.trapezoid(m, xp.asarray([0.0, 1.0, 3.0, 4.5]), axis=0)
xp.interp(m, [-1, 0, 0.5], [3, 4, 9])
xp.interp(m, [-1, 0, 0.5], [3, 4, 9], left=-1, right=8)
xp.interp(m, [-1, 0, 0.5], [3, 4, 9], period=1.7)
xp.interp(0.25, [0, 1], [2, 4])
xp.interp(n, [-1, 0, 0.5], [3, 4, 9])
xp.interp(m, [0, 1], [2])
xp.isclose(m, m + 1e-9)
xp.isclose(n, n, equal_nan=True)
xp.isclose([1.0, np.inf], [1.0, np.inf])
xp.isclose(xp.asarray([1e10, 1e-7], dtype="f4"), 1e10)
xp.allclose(m, m * (1 + 1e-9))
xp.allclose(n, n)
xp.array_equal(m, m.copy())
xp.array_equal(m, m[:2])
xp.array_equal(n, n, equal_nan=True)
xp.array_equiv(m, m[:1])
xp.array_equiv(m[:1], m[:1].reshape(6))
xp.iscomplex(m + 1j * (m > 0))
xp.isreal(m)
xp.iscomplexobj(m), xp.isrealobj(m)
""".strip().splitlines()


def arrays(xp: Any) -> dict[str, Any]:
    random = np.random.default_rng(8)
    m = random.standard_normal((4, 6))
    n = m.copy()
    n[1, 2] = np.nan
    return {
        "xp": xp,
        "np": np,
        "m": xp.asarray(m),
        "n": xp.asarray(n),
        "i": xp.asarray(random.integers(-9, 9, (4, 6)).astype(np.int32)),
        "k": xp.asarray(random.integers(0, 9, 12)),
    }


@pytest.mark.parametrize("expression", CASES)
@matches_numpy(rtol=1e-11, atol=1e-12)
def test_matches(xp: Any, expression: str) -> Any:
    return eval(expression, arrays(xp))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("count", [1, 2, 7, 10])
@pytest.mark.parametrize("method", [*METHODS])
@matches_numpy(rtol=1e-6)
def test_quantile_methods(xp: Any, method: str, count: int, dtype: str) -> Any:
    x = xp.asarray((np.random.default_rng(count).standard_normal(count) * 10).astype(dtype))
    return [xp.quantile(x, q, method=method) for q in (0.3, [0, 0.1, 0.25, 0.5, 0.9, 1.0], [[0.2, 0.4]])]


@pytest.mark.parametrize(
    ("dtype", "recorded"), [("f4", True), ("f4", False), ("f8", False), ("i8", True), ("u1", False), ("?", False)]
)
def test_edges_between_ends_that_nobody_waits_for(monkeypatch: pytest.MonkeyPatch, dtype: str, recorded: bool) -> None:
    """On a GPU edges are a routine's or recorded, and what is wrong with them is told when somebody looks."""
    monkeypatch.setattr(histograms, "numpy_is_near", lambda: False)
    if recorded:
        monkeypatch.setattr(
            histograms, "_edges_of", lambda x, count: histograms._edges_between(x.min(), x.max(), count)
        )
    random = np.random.default_rng(3)
    for sample in (random.standard_normal(300) * 40, np.full(3, 7.0), np.array([-1.0, -0.0])):
        sample = abs(sample).astype(dtype) if dtype in ("u1", "?") else sample.astype(dtype)
        for bins in (1, 100):
            for options in ({}, {"density": True}, {"weights": random.random(sample.size)}):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected = np.histogram(sample, bins, **options)
                found = nl.histogram(nl.asarray(sample), bins, **options)
                assert_array_equal(found[1], expected[1], strict=True)
                assert_allclose(found[0], expected[0], rtol=1e-12)
    points = np.stack([sample, sample[::-1]], 1)
    for density in (False, True):
        expected = np.histogram2d(*points.T, 3, density=density)
        for got, want in zip(nl.histogram2d(*nl.asarray(points.T), 3, density=density), expected, strict=True):
            assert_allclose(got, want, rtol=1e-12)
    for bins, error in ((0, ValueError), (2.5, TypeError), ("x", ValueError)):
        with pytest.raises(error):
            nl.histogram(nl.ones(3), bins)  # type: ignore[arg-type]
    if dtype[0] == "f":
        close = 1 + 100 * np.finfo(dtype).eps
        for wrong, message in (([1, np.nan], "not finite"), ([0, np.inf], "not finite"), ([1, close], "Too many")):
            with pytest.raises(ValueError, match=message):
                nl.histogram_bin_edges(np.array(wrong, dtype), 1000).get()


def test_edges_between_given_ends_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes to edges writes to a copy of what the next call finds."""
    monkeypatch.setattr(histograms, "numpy_is_near", lambda: False)
    sample = np.random.default_rng(3).standard_normal(300).astype("f4")
    for limits in ((-3, 3), (-3.0, 3), (0, 2), (-0.0, 2.0), [1, 2]):
        for _ in range(2):
            expected = np.histogram(sample, 10, limits)
            counts, edges = nl.histogram(nl.asarray(sample), 10, limits)
            assert_array_equal(counts, expected[0], strict=True)
            assert edges.get().tobytes() == expected[1].tobytes()
            edges[0] = 100
            assert edges[0] == 100
    for limits in ((3, 1), (np.nan, 1), (1,)):
        with pytest.raises(ValueError):
            nl.histogram(nl.asarray(sample), 5, limits)  # type: ignore[arg-type]


def test_positions_among_nan_that_nobody_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reductions, "numpy_is_near", lambda: False)
    x = np.random.default_rng(3).standard_normal((4, 6))
    x[x > 0.5] = np.nan
    x[2, 0] = np.inf
    for name in ("nanargmin", "nanargmax"):
        for axis, keepdims in ((None, False), (0, False), (1, True)):
            expected = getattr(np, name)(x, axis, keepdims=keepdims)
            found = getattr(nl, name)(nl.asarray(x), axis, keepdims=keepdims)
            assert_array_equal(found, np.asarray(expected), strict=True)
        x[1] = np.nan
        assert getattr(nl, name)(nl.asarray(x)) == getattr(np, name)(x)
        try:
            getattr(nl, name)(nl.asarray(x), 1).get()
        except ValueError as error:  # What failed must not live on in a traceback that something keeps.
            told = str(error)
        assert told.startswith("All-NaN slice encountered")
        x[1] = 2.0


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i8", "?", "f4", "f8"])
def test_stones_rule_looks_at_edges_of_numpys_dtype(dtype: str) -> None:
    """Those of integers are doubles: in float16 elements fell into other bins."""
    random = np.random.default_rng(5)
    for size in (30, 3000):
        for _ in range(8):
            a = (random.integers(0, 256, size) if dtype != "?" else random.integers(0, 2, size)).astype(dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want, got = np.histogram(a, "stone"), nl.histogram(nl.asarray(a), "stone")
            np.testing.assert_array_equal(got[0].get(), want[0])
