"""Quantiles of random arrays along random axes; levels and weights of every form; memory order of borders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numloom as nl
from numloom.api.quantiles import METHODS

pytestmark = pytest.mark.filterwarnings("ignore")


@st.composite
def samples(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], Any]:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    host = random.integers(-5, 6, shape).astype(draw(st.sampled_from(["f8", "f4", "i2"])))
    if host.dtype.kind == "f":
        host[random.random(shape) < draw(st.sampled_from([0, 0.3, 1]))] = np.nan
    axes = st.lists(st.integers(-len(shape), len(shape) - 1), unique_by=lambda k: k % len(shape), max_size=3)
    axis = draw(st.none() | axes.map(tuple))
    return np.asarray(host, order=draw(st.sampled_from("CF"))), axis


@given(samples(), st.sampled_from(sorted(METHODS)), st.booleans(), st.sampled_from([0.3, (0.0, 0.5, 0.999, 1.0)]))
@settings(max_examples=20)
def test_quantiles(sample: tuple[Any, Any], method: str, keepdims: bool, q: Any) -> None:
    host, axis = sample
    levels = q if isinstance(q, float) else list(q)
    for name in ("quantile", "nanquantile"):
        options = {"axis": axis, "method": method, "keepdims": keepdims}
        want = getattr(np, name)(host, levels, **options)
        have = getattr(nl, name)(nl.asarray(host), levels, **options)
        np.testing.assert_allclose(have.get(), want, rtol=1e-6, err_msg=f"{name} {options}")
        # The dtype is that of interpolation, which NumPy leaves out for lines of nothing but NaN.
        assert have.dtype == want.dtype or np.isnan(want).any()
    for name in ("median", "nanmedian"):
        have, want = (getattr(xp, name)(xp.asarray(host), axis, keepdims=keepdims) for xp in (nl, np))
        np.testing.assert_allclose(have.get(), want, rtol=1e-6, err_msg=name)


@given(samples(), st.integers(0, 99))
@settings(max_examples=15)
def test_weights_count_as_repetitions_do(sample: tuple[Any, Any], seed: int) -> None:
    host, axis = sample
    times = np.random.default_rng(seed).integers(1, 4, host.shape)
    have = nl.quantile(nl.asarray(host), [0.25, 0.6], axis, weights=nl.asarray(times), method="inverted_cdf")
    want = np.quantile(host, [0.25, 0.6], axis, weights=times, method="inverted_cdf")
    np.testing.assert_array_equal(have.get(), want)
    without = nl.nanquantile(nl.asarray(host), 0.4, weights=times, method="inverted_cdf")
    np.testing.assert_array_equal(
        without.get(), np.nanquantile(np.repeat(host.ravel(), times.ravel()), 0.4, method="inverted_cdf")
    )


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.lists(st.integers(0, 9), min_size=4, max_size=4),
    st.sampled_from(["edge", "wrap", "reflect", "symmetric"]),
)
@settings(max_examples=20)
def test_borders_of_any_width(rows: int, columns: int, widths: list[int], mode: Any) -> None:
    host = np.asfortranarray(np.arange(rows * columns).reshape(rows, columns))
    pairs = [(widths[0], widths[1]), (widths[2], widths[3])]
    have, want = nl.pad(host, pairs, mode), np.pad(host, pairs, mode)
    np.testing.assert_array_equal(have.get(), want)
    assert have.flags.f_contiguous == want.flags.f_contiguous


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", ["f2", "f4", "f8"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_dtypes_of_levels(method: str, level: str, dtype: str) -> None:
    """A level's dtype is the dtype of positions and weights, by every method."""
    a: Any = (np.random.default_rng(2).normal(size=300) * 50).astype(dtype)
    q: Any
    for q in (np.dtype(level).type(0.0841), np.array([0.1377, 0.607, 1], level)):
        want = np.quantile(a, q, method=method)  # type: ignore[call-overload]
        got = nl.quantile(nl.asarray(a), q, method=method).get()
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["median", "nanmedian", "nanquantile", "nanpercentile"])
@pytest.mark.parametrize("dtype", ["i4", "?", "f2", "u1"])
@pytest.mark.parametrize("given", ["f8", "f4"])
def test_outputs_of_any_dtype(name: str, dtype: str, given: str) -> None:
    """NumPy ends these with a mean, or an assignment, which cast to anything."""
    a = np.array([1.0, 2.0, 4.0, 9.0], given)
    level = (0.4,) if "med" not in name else ()
    want, got = np.zeros((), dtype), nl.zeros((), dtype)
    getattr(np, name)(a, *level, out=want)
    assert getattr(nl, name)(nl.asarray(a), *level, out=got) is got
    np.testing.assert_array_equal(got.get(), want)
