"""A table of calls against NumPy: statistics, sorting, sets, signals, shapes, functions of parts, with their errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api.quantiles import METHODS
from numloom.base.config import config
from numloom.testing import assert_kernels, for_all_dtypes, matches_numpy

pytestmark = pytest.mark.filterwarnings("ignore")

RULES = ("auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt")
MODES = ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap")

QUANTILES = """
xp.quantile(m, 0.3, weights=w, method="inverted_cdf")
xp.quantile(m, [0.3, 0, 1, 0.77], axis=1, weights=w, method="inverted_cdf")
xp.quantile(m, [0.3, 0, 1], axis=1, weights=w[0], method="inverted_cdf")
xp.quantile(m, [0.3, 0, 1], axis=0, weights=w, method="inverted_cdf", keepdims=True)
xp.quantile(n, [0.3, 0, 1], axis=0, weights=w, method="inverted_cdf")
xp.quantile(m, 0.3, weights=w)
xp.quantile(m, 0.3, weights=-w, method="inverted_cdf")
xp.quantile(m, 0.3, weights=w * 0, method="inverted_cdf")
xp.quantile(t, 0.3, axis=(0, 2), weights=abs(t), method="inverted_cdf")
xp.quantile(i, 0.3, method="inverted_cdf", weights=abs(i) + 1)
xp.quantile(m, 0.3, weights=w[0], method="inverted_cdf")
xp.quantile(z, 0.3)
xp.quantile(b, 0.5)
xp.quantile(b, 0.5, method="lower"), xp.quantile(b, 0.5, method="inverted_cdf"), xp.quantile(i, 1)
xp.quantile(i, 0), xp.quantile(i, [0, 1]), xp.quantile(n, [0, 1], axis=1), xp.quantile(u, 0.3)
xp.quantile(u, 0.3, method="nearest")
xp.quantile(m, [[[0.3]]])
xp.quantile(m, xp.asarray([0.2, 0.5]), axis=-1)
xp.quantile(m, np.nan)
xp.quantile(m, -0.1)
xp.quantile(s, 0.3), xp.quantile(2.5, 0.5), xp.quantile([1, 2, 3], 0.5)
xp.quantile(e, 0.3)
xp.quantile(e, 0.3, axis=0)
xp.quantile(e, 0.3, axis=1), xp.quantile(m, 0.3, axis=(0, 1)), xp.quantile(m, 0.3, axis=())
xp.quantile(m, 0.3, axis=2)
xp.quantile(m, 0.3, 0, out=xp.empty(6)), xp.quantile(m, [0.3, 0.5], 0, out=xp.empty((2, 6)))
xp.quantile(m, 0.3, 0, out=xp.empty((1, 6)), keepdims=True)
xp.quantile(m, 0.3, 0, out=xp.empty(5))
xp.quantile(m, 0.3, overwrite_input=True)
xp.percentile(i, [10, 50], method="inverted_cdf", weights=abs(i) + 1)
xp.percentile(m, 30, weights=w, method="inverted_cdf", axis=0)
xp.percentile(b, 30)
xp.percentile(i, 30)
xp.median(b), xp.median(b[0, :5]), xp.median(z), xp.median(z, 0), xp.median(m, 0, keepdims=True)
xp.median(m, (0, 1), keepdims=True), xp.median(t, (0, 2)), xp.median(m, axis=()), xp.median(m, 0, out=xp.empty(6))
xp.median(m, 0, out=xp.empty((1, 6)), keepdims=True), xp.median(e), xp.median(e, 0), xp.median(e, 1), xp.median(s)
xp.median([]), xp.median([1, 2, 4]), xp.median(2)
xp.median(m, 3)
xp.median(xp.asarray([np.inf, np.inf, 1, 2])), xp.median([np.inf, -np.inf]), xp.median(u), xp.median(q8, 0)
[xp.nanquantile(n, 0.3, method=mm) for mm in METHODS]
[xp.nanquantile(n, [0, 0.3, 1], axis=0, method=mm) for mm in METHODS]
[xp.nanquantile(n, [[0, 0.3, 0.25]], axis=1, method=mm) for mm in METHODS]
xp.nanquantile(n, 0.3, 1, weights=w, method="inverted_cdf")
xp.nanquantile(n, [0, 1, 0.5], weights=w, method="inverted_cdf")
xp.nanquantile(i, 0.3, 0, weights=w, method="inverted_cdf")
xp.nanquantile(n, 0.3, 0, weights=w, method="inverted_cdf")
xp.nanquantile(n, 1.3)
xp.nanquantile(z, 0.3)
xp.nanquantile(n, 0.3, 1, keepdims=True), xp.nanquantile(n, 0.3, (0, 1))
xp.nanquantile(n, [0.1, 0.4], 1, out=xp.empty((2, 4))), xp.nanquantile(i, 0.3), xp.nanquantile(e, 0.4)
xp.nanquantile(i, 1), xp.nanquantile(s, 0.2)
xp.nanpercentile(n, 130)
xp.nanpercentile(n, 30), xp.nanpercentile(n, [30, 60], 0), xp.nanpercentile(n, 30, 1, method="nearest")
xp.nanpercentile(n, xp.asarray([30, 50]), 1)
xp.nanmedian(z), xp.nanmedian(z, 0), xp.nanmedian(u), xp.nanmedian(b), xp.nanmedian(n), xp.nanmedian(n, 0)
xp.nanmedian(n, 1, keepdims=True), xp.nanmedian(n, (0, 1)), xp.nanmedian(i), xp.nanmedian(e), xp.nanmedian(e, 0)
xp.nanmedian(n, 1, out=xp.empty(4)), xp.nanmedian(s), xp.nanmedian(n, overwrite_input=True)
xp.nanmedian(t, (0, 2), keepdims=True)
xp.average(m), xp.average(m, 0), xp.average(m, 1, keepdims=True), xp.average(i), xp.average(m, weights=w)
xp.average(m, 0, weights=[1, 2, 3, 4]), xp.average(m, 1, weights=w[0], keepdims=True, returned=True)
xp.average(m, returned=True), xp.average(i, 0, returned=True)
xp.average(t, (0, 2), weights=abs(t[:, 0]), returned=True), xp.average(t, (2, 0), weights=abs(t[:, 0]).T)
xp.average(m, weights=[1, 2])
xp.average(m, 0, weights=[1, 2])
xp.average(m, 0, weights=[0, 0, 0, 0])
xp.average(e), xp.average(e, 0)
xp.average(m, 5)
xp.average(m, (0, 0))
xp.average(b), xp.average(z), xp.average(z, 0, [1, 2, 3])
""".strip().splitlines()

STATISTICS = """
xp.cov(m, m[::-1]), xp.cov(m, m[::-1], rowvar=False), xp.cov(m[0], m[1], rowvar=False), xp.cov(m, ddof=0)
xp.cov(m, ddof=2), xp.cov(m, bias=True)
xp.cov(m, ddof=1.5)
xp.cov(m, ddof=10), xp.cov(m, fweights=[1, 2, 3, 1, 2, 1])
xp.cov(m, fweights=xp.asarray([1, 2, 3, 1, 2, 1]), aweights=w[0]), xp.cov(m, aweights=w[0], ddof=0)
xp.cov(m, aweights=w[0], bias=True)
xp.cov(m, fweights=[1, 2, 3, 1, 2, 1.5])
xp.cov(m, fweights=[1, 2, 3, 1, 2, 1.0])
xp.cov(m, fweights=[1, 2, 3, 1, 2, -1])
xp.cov(m, fweights=[1, 2, 3])
xp.cov(m, fweights=[[1, 2, 3, 1, 2, 1]])
xp.cov(m, aweights=[[1, 2, 3, 1, 2, 1]])
xp.cov(m, aweights=[1, 2])
xp.cov(m, aweights=-w[0])
xp.cov(t)
xp.cov(m, t)
xp.cov(e), xp.cov([]), xp.cov(e.T), xp.cov(s), xp.cov([1, 2, 3]), xp.cov([[1, 2, 3]]), xp.cov(m[:, :1]), xp.cov(z)
xp.cov(z, z[::-1]), xp.cov(z, rowvar=False), xp.cov(i), xp.cov(b)
xp.corrcoef(xp.ones((2, 3))), xp.corrcoef(i), xp.corrcoef(e.T), xp.corrcoef(m), xp.corrcoef(m, m[::-1])
xp.corrcoef(m, rowvar=False), xp.corrcoef(m[0], m[1]), xp.corrcoef(z), xp.corrcoef([1, 2, 3])
[xp.histogram_bin_edges(m, r) for r in RULES], [xp.histogram_bin_edges(i, r) for r in RULES]
[xp.histogram_bin_edges(u, r) for r in RULES], [xp.histogram_bin_edges(q8, r) for r in RULES]
[xp.histogram_bin_edges(b, r) for r in RULES], [xp.histogram_bin_edges(m, r, (-0.5, 1)) for r in RULES]
[xp.histogram_bin_edges(xp.ones(5), r) for r in RULES], [xp.histogram_bin_edges(xp.ones(1), r) for r in RULES]
[xp.histogram_bin_edges(e, r) for r in RULES]
xp.histogram_bin_edges(m, "nonsense")
xp.histogram_bin_edges(m, "auto", weights=w)
xp.histogram_bin_edges(n, "auto")
xp.histogram_bin_edges(n, 5)
xp.histogram_bin_edges(m, 5, (2, 1))
xp.histogram_bin_edges(m, 5, (2, np.inf))
xp.histogram_bin_edges(m, 5.5)
xp.histogram_bin_edges(m, [[1, 2]])
xp.histogram_bin_edges(m, [1, 2, 2.5]), xp.histogram_bin_edges(i, [1, 2, 3])
xp.histogram_bin_edges(m, xp.asarray([1, 2, 3]))
[xp.histogram_bin_edges(np.random.default_rng(1).gamma(2, size=5000), r) for r in RULES]
[xp.histogram_bin_edges(np.random.default_rng(1).integers(-100, 100, size=10000).astype("i1"), r) for r in RULES]
xp.histogram(m, "auto"), xp.histogram(m, "fd", (-1, 1), density=True), xp.histogram(m, xp.asarray([-1, 0, 1]))
xp.histogram(i, [-1, 0, 1]), xp.histogram(m, 7, weights=w, density=True)
xp.histogram(m, 5, weights=[1, 2])
xp.histogram(z, 3), xp.histogram(m, [0, 1, 1, 2]), xp.histogram(m, [5]), xp.histogram(n, [-1, 0, 1])
xp.histogram(m, [2, 1])
xp.histogram(n)
xp.histogram(m, 5, weights=w > 0.5)
xp.histogram(m, [-1, 0, 1], weights=w > 0.5)
xp.histogram(m, 5, weights=i), xp.histogram(m, 5, weights=abs(m) + 1j)
xp.histogram(m, [-1, 0, 1], weights=i.astype("i1")), xp.histogram(u, 4), xp.histogram(q8, 4), xp.histogram(b, 2)
xp.histogram(s), xp.histogram([]), xp.histogram(e, 3), xp.histogram([1, 2, 2, 3])
xp.histogram2d(m[0], m[1]), xp.histogram2d(m[0], m[1], 3), xp.histogram2d(m[0], m[1], [2, 3])
xp.histogram2d(m[0], m[1], [-1, 0, 1]), xp.histogram2d(m[0], m[1], xp.asarray([-1, 0, 1, 2.0]))
xp.histogram2d(m[0], m[1], [[-1, 0, 2], 4], weights=w[0]), xp.histogram2d(m[0], m[1], 3, density=True)
xp.histogram2d(m[0], m[1], 3, [[-1, 1], [-2, 2]])
xp.histogram2d(m[0], m[1][:2])
xp.histogram2d(m[0], m[1], [2, 3, [4]])
xp.histogramdd(m[:, :2], [1, 2, 3])
xp.histogramdd(m[:, :2], 0)
xp.histogramdd(m[:, :2], 2.5)
xp.histogramdd(m[:, :2], 2, [(0, 1)])
xp.histogramdd(m[:, :2], 2, [(0, 1), (1, 0)])
xp.histogramdd(m[:, :2], [[1, 0], 2])
xp.histogramdd(m[:, :2], [[[1, 0]], 2])
xp.histogramdd(n[:, 2:5], 2)
xp.histogramdd(m[:, :3]), xp.histogramdd(m[:, :3], 2), xp.histogramdd([m[0], m[1], m[2]], [2, 3, 4])
xp.histogramdd(m[:, :2], [[-1, 0, 1], 3], density=True)
xp.histogramdd(m[:, :2], 3, [None, (-1, 1)], weights=w[:, 0]), xp.histogramdd(i[:, :2], 3), xp.histogramdd(m[0])
xp.histogramdd(xp.zeros((0, 2)), 2), xp.histogramdd(m[:, :2], xp.asarray([2, 3]))
xp.bincount(k, weights=i.ravel()[:12]), xp.bincount(k, [1] * 12), xp.bincount(b.ravel()), xp.bincount([])
xp.bincount([], minlength=3), xp.bincount([1, 2, 2]), xp.bincount(k.astype("u1")), xp.bincount(k.astype("u8"))
xp.bincount(3)
xp.bincount(k, minlength=2.5)
xp.bincount(k, weights=k + 1j)
xp.bincount(k, minlength=None)
xp.bincount([1, 2], weights=[1])
xp.digitize(m, [-1, 0, 1]), xp.digitize(m, [1, 0, -1]), xp.digitize(m, [-1, 0, 1], right=True)
xp.digitize(i, [-1, 0, 1]), xp.digitize(1.5, [1, 2]), xp.digitize(s, [1, 2, 3]), xp.digitize([1, 2], [0, 1, 1, 1])
xp.digitize(n, [-1, 0, 1]), xp.digitize(m, []), xp.digitize(e, [1, 2])
xp.digitize(z, [1, 2])
xp.digitize(m, [[1, 2]])
xp.digitize(i, np.array([1, 250], "u1")), xp.digitize(m, [1, 1, 1]), xp.digitize([1, 1, 2], [1, 1, 1], True)
xp.digitize(u, xp.asarray([200, 100, 50], dtype="u1"))
xp.nansum(n, 0), xp.nansum(n, where=n > 0), xp.nansum(n, initial=3, keepdims=True), xp.nansum(n, 0, out=xp.empty(6))
xp.nansum(z), xp.nansum(e, 0), xp.nansum(s)
xp.nanprod(n, 0), xp.nanprod(n, 1, where=n > 0, initial=2.0), xp.nanprod(i, 1), xp.nanprod(b)
xp.nanmax(n, 0), xp.nanmax(n, 1, where=n > 0, initial=0.0), xp.nanmax(n, keepdims=True), xp.nanmax(z)
xp.nanmax(b, 0)
xp.nanmax(e)
xp.nanmax(n, 1, where=n > 0)
xp.nanmin(n, 0, out=xp.empty(6)), xp.nanmin(i), xp.nanmin(n, (0, 1))
xp.nanargmax(n[:, :4], 0), xp.nanargmax(n), xp.nanargmax(z)
xp.nanargmax(n, 0)
xp.nanargmax(e)
xp.nanargmin(n[:, :4], 1, keepdims=True), xp.nanargmin(i), xp.nanargmin(n, out=xp.empty((), dtype="i8"))
xp.nanmean(n, dtype="i4")
xp.nanmean(n), xp.nanmean(n, 0), xp.nanmean(n, 1, where=n > 0), xp.nanmean(n, keepdims=True)
xp.nanmean(n, 1, out=xp.empty(4)), xp.nanmean(i), xp.nanmean(z), xp.nanmean(e)
xp.nanvar(n, 1, ddof=1, correction=1)
xp.nanvar(n), xp.nanvar(n, 0), xp.nanvar(n, 1, ddof=1), xp.nanvar(n, 1, keepdims=True, where=n > 0)
xp.nanvar(n, 1, correction=1), xp.nanvar(n, 1, mean=xp.nanmean(n, 1, keepdims=True)), xp.nanvar(i), xp.nanvar(z)
xp.nanvar(n, 1, ddof=5)
xp.nanstd(n), xp.nanstd(n, 0), xp.nanstd(n, 1, ddof=1), xp.nanstd(n, 1, keepdims=True, where=n > 0)
xp.nanstd(n, 1, correction=1), xp.nanstd(n, 1, out=xp.empty(4)), xp.nanstd(i, 0)
xp.ptp(m), xp.ptp(i, 0), xp.ptp(u, (0, 1), keepdims=True), xp.ptp(n), xp.ptp(m, 0, out=xp.empty(6)), xp.ptp(s)
xp.ptp(b)
xp.ptp(e)
xp.count_nonzero(m), xp.count_nonzero(i, 0), xp.count_nonzero(b, axis=(0, 1), keepdims=True)
xp.count_nonzero(m, axis=1, keepdims=True), xp.count_nonzero(z), xp.count_nonzero(e), xp.count_nonzero(e, 0)
xp.count_nonzero(3), xp.count_nonzero([[0, 1], [2, 0]]), xp.count_nonzero(n, keepdims=True), xp.count_nonzero(s)
xp.count_nonzero(m, axis=3)
""".strip().splitlines()

ORDER = """
xp.sort(m, stable=True), xp.sort(m, stable=False), xp.sort(m, kind="Q")
xp.sort(m, kind="stable", stable=True)
xp.sort(m, kind="nonsense")
xp.sort(m, order="x")
xp.sort(m, 5)
xp.sort(s)
xp.sort(3, None), xp.sort(m), xp.sort(m, 0), xp.sort(m, None), xp.sort(z), xp.sort(b), xp.sort(n)
xp.sort(u, 1, kind="heapsort"), xp.sort(e), xp.sort(F, 0), xp.sort(neg)
xp.argsort(m), xp.argsort(m, 0), xp.argsort(m, None), xp.argsort(z), xp.argsort(b, kind="stable")
xp.argsort(n, stable=True), xp.argsort(e), xp.argsort(s), xp.argsort([3, 1, 2]), xp.argsort(F, 0)
xp.argsort(m, kind=3)
xp.argsort(m, order="x")
xp.lexsort((k, k[::-1])), xp.lexsort((m, i)), xp.lexsort((m, i), axis=0), xp.lexsort(m), xp.lexsort(m, -1)
xp.lexsort(k), xp.lexsort([[1, 2, 1], [3, 2, 1]]), xp.lexsort(t, 0)
xp.lexsort((k, m))
xp.lexsort(())
xp.lexsort((m, i), axis=3)
xp.lexsort(3)
xp.partition(m, 2)[:, 2], xp.partition(m, [1, 3], 0)[[1, 3]]
xp.partition(m, 9)
xp.argpartition(m, 2)[:, 2]
xp.sort_complex(m[0]), xp.sort_complex(z), xp.sort_complex(b), xp.sort_complex(q8), xp.sort_complex([3, 1])
xp.sort_complex(u)
xp.searchsorted(v, 0.1, side="l")
xp.searchsorted(v, 0.1, side="R")
xp.searchsorted(v, 0.1, side="x")
xp.searchsorted(m, 0.1)
xp.searchsorted(v, 0.1, sorter=[1, 2])
xp.searchsorted([1, 2, 3], 2, sorter=[1.0, 2, 3])
xp.searchsorted([1, 2, 3], z), xp.searchsorted(xp.sort(z.ravel()), z)
xp.searchsorted(xp.asarray([1, 2, 3], dtype="u1"), 300), xp.searchsorted(xp.asarray([1, 2, 3], dtype="u1"), -1)
xp.searchsorted(v, [0.1, 2]), xp.searchsorted(v, 0.1, "right")
xp.searchsorted(v[::-1], [0.1, 2], sorter=xp.arange(24)[::-1]), xp.searchsorted([1, 2, 3], 2)
xp.searchsorted([1, 2, 3], [2.5, 9]), xp.searchsorted([], [1]), xp.searchsorted([1, 2, 3], m)
xp.searchsorted([1.0, np.nan], [np.nan, 2]), xp.searchsorted(k[:1], 3.5), xp.searchsorted([1, 2, 3], 2.5)
xp.searchsorted([1, 2, 3], 2.0, "right"), xp.searchsorted(xp.asarray([1, 2, 3], dtype="i1"), -2.5)
xp.searchsorted(xp.asarray([1, 2, 3], dtype="i1"), 1000), xp.searchsorted([1, 2], np.nan)
xp.searchsorted([1, 2], True), xp.searchsorted(xp.asarray([1, 2], dtype="u8"), -1.0)
xp.searchsorted([1.0, 2], 10 ** 30), xp.searchsorted(xp.asarray([1, 2], dtype="u1"), -1)
xp.unique(k), xp.unique(m), xp.unique(i, True, True, True), xp.unique(n), xp.unique(n, equal_nan=False)
xp.unique(z), xp.unique(b, return_counts=True), xp.unique([]), xp.unique(e), xp.unique(s), xp.unique([3, 1, 1])
xp.unique(i, axis=0), xp.unique(i, axis=1, return_index=True, return_inverse=True, return_counts=True)
xp.unique(b, axis=0), xp.unique(m[:1], axis=-1), xp.unique(t, axis=1), xp.unique(e, axis=0)
xp.unique(e, axis=1, return_inverse=True), xp.unique(k, axis=0, return_inverse=True, return_counts=True)
xp.unique(z, axis=0), xp.unique(xp.asarray([[1, 1], [0, 1], [1, 1]]), True, True, True, axis=0)
xp.unique(xp.asarray([[1, 1], [0, 1], [1, 1]]), axis=2)
xp.unique(xp.asarray([[1.0, np.nan], [0, 1], [1, np.nan]]), return_inverse=True, axis=0)
xp.unique(xp.asarray([[1.0, np.nan], [0, 1], [1, np.nan]]), axis=0, equal_nan=False)
xp.unique(i, return_inverse=True)[1], xp.sort(xp.unique(k, sorted=False)), xp.sort(xp.unique_values(k))
xp.unique_all(k), xp.unique_all(n)[0].shape
xp.unique_counts(m)
xp.unique_inverse(i)
xp.isin(m, [1], kind="table")
xp.isin(m, [1], kind="x")
xp.isin(xp.asarray([0, 5], dtype="u8"), xp.asarray([-1, 5]))
xp.isin(xp.asarray([2 ** 63], dtype="u8"), xp.asarray([-2 ** 63]))
xp.union1d(k, [20, 1]), xp.union1d(n, n), xp.union1d([], [])
xp.intersect1d(k, [1, 2, 3]), xp.intersect1d(k, [1, 2, 3], return_indices=True)
xp.intersect1d([1, 2], [2, 3], assume_unique=True, return_indices=True), xp.intersect1d(i, m)
xp.setdiff1d(k, [1]), xp.setdiff1d([3, 1, 2], [1], assume_unique=True), xp.setdiff1d([], [1])
xp.setxor1d(k, [1, 20]), xp.setxor1d([1, 2], [2, 3], assume_unique=True)
""".strip().splitlines()

SIGNALS = """
xp.cumsum(m, 4)
xp.cumsum(m), xp.cumsum(m, 0), xp.cumsum(b), xp.cumsum(u), xp.cumsum(s), xp.cumsum(e, 0)
xp.cumsum(m, 1, out=xp.empty((4, 6)))
xp.nancumsum(n), xp.nancumsum(n, 0), xp.nancumsum(i), xp.nancumsum(n, 1, out=xp.empty((4, 6)))
xp.nancumprod(n, 1)
xp.cumprod(q8, 1), xp.cumprod(z, 0)
xp.cumulative_sum(s)
xp.cumulative_sum(m)
xp.cumulative_sum(3), xp.cumulative_sum(k), xp.cumulative_sum(m, axis=0, include_initial=True)
xp.cumulative_sum(b, axis=1, include_initial=True)
xp.cumulative_sum(k, include_initial=True, out=xp.empty(13, dtype="i8"))
xp.cumulative_sum(e, axis=0, include_initial=True)
xp.cumulative_prod(m, axis=0, include_initial=True)
xp.diff(m, prepend=1, append=m[:, :2]), xp.diff(m, 0), xp.diff(b), xp.diff(u, axis=0), xp.diff(e, axis=0)
xp.diff(i, 2, append=5, axis=0), xp.diff(z, 3), xp.diff(k, prepend=[0]), xp.diff(k, append=2.5)
xp.diff(m, axis=3)
xp.diff(m, prepend=m)
xp.diff(m, prepend=[1, 2])
xp.ediff1d(m), xp.ediff1d(i, to_end=[1, 2]), xp.ediff1d(i, to_begin=5), xp.ediff1d([]), xp.ediff1d(s)
xp.ediff1d(z, 1, 2)
xp.ediff1d(i, to_end=2.5)
xp.gradient(m, [0, 1, 3], axis=0)
xp.gradient(m, [[0, 1, 3, 4]], axis=0)
xp.gradient(m, 1, 2, 3)
xp.gradient(m, edge_order=3)
xp.gradient(m[:1])
xp.gradient(s)
xp.gradient(b)
xp.gradient(m, 1j), xp.gradient(i[0], xp.arange(6) * 3), xp.gradient(m), xp.gradient(m, 2), xp.gradient(m, 2, 3)
xp.gradient(m, axis=0), xp.gradient(m, axis=(1, 0)), xp.gradient(z), xp.gradient(u), xp.gradient(i, 2, edge_order=2)
xp.gradient(m, xp.asarray([0, 1, 3, 4.5]), axis=0), xp.gradient(m, [0, 1, 3, 4.5], [0, 1, 2, 3, 4, 5])
xp.gradient(m, [0, 1, 3, 7], [0, 1, 2, 4, 8, 16], edge_order=2), xp.gradient(m, [0, 2, 4, 6], axis=0)
xp.trapezoid(m, [0, 1])
xp.trapezoid(s)
xp.trapezoid(m), xp.trapezoid(m, dx=0.5), xp.trapezoid(m, axis=0), xp.trapezoid(m, [0, 1, 2, 4, 5, 7])
xp.trapezoid(m, m), xp.trapezoid(i), xp.trapezoid(z, dx=2), xp.trapezoid([1, 2, 3])
xp.trapezoid(m, xp.asarray([0, 1, 3, 4.0]), axis=0), xp.trapezoid(b), xp.trapezoid(m, dx=[1, 2, 3, 4, 5])
xp.interp(m, [0, 1], [2, 3]), xp.interp(m, [0, 1], [2, 3], -1, 9)
xp.interp(m, [0, 1], [2, 3], left=xp.asarray(3.0)), xp.interp(m, [0, 0.5, 1], [2, 3j, 4])
xp.interp(2.5, [1, 2, 3], [1, 4, 9]), xp.interp([1, 2], [1], [5]), xp.interp(m, [-1, 0, 2], [3, 1, 2], period=3)
xp.interp(i, [-1, 0, 2], [3, 1, 2]), xp.interp(m, [0, 1], [1 + 1j, 2], left=1j), xp.interp(n, [0, 1], [1, 2])
xp.interp(e, [0, 1], [1, 2]), xp.interp(s, [1, 3], [0, 1])
xp.interp([-360, 540, 170], [-190, -190, 350, 0], [5, 10, 3, 4], period=360)
xp.interp(m, [0, 1, np.inf], [1, 2, 3]), xp.interp([0.5], [0, 1], [np.inf, 1])
xp.interp([0.0, 1, np.nan], [0, 0, 1], [1, 2, 3])
xp.interp(m, [], [])
xp.interp(m, [0, 1], [1, 2], period=0)
xp.interp(m, [[0, 1]], [[1, 2]])
xp.interp(m, [0, 1], [1])
xp.interp(z, [0, 1], [1, 2])
xp.interp(m, [0, 1], [1, 2], left=1j)
[xp.convolve(m[0], m[1][:3], mm) for mm in ("full", "same", "valid", "f")]
xp.convolve([], [1])
xp.convolve([1], [])
xp.convolve(m[0], m[1], "nonsense")
xp.convolve(m[0], m[1], 2), xp.convolve(i[0], i[1]), xp.convolve(b[0], b[1]), xp.convolve(u[0, 0], u[0, 1])
xp.convolve(q8[0], q8[1]), xp.convolve(z[0], m[0]), xp.convolve(3, m[0]), xp.convolve([1, 2], [0, 1, 0.5])
[xp.correlate(m[0][:3], m[1], mm) for mm in ("full", "same", "valid")]
xp.correlate([], [1])
xp.correlate(m[0], m[1], 1), xp.correlate(b[0], b[1]), xp.correlate(z[0], z[1], "full")
xp.correlate(i[0], m[0], "same"), xp.correlate(u[0, 0], u[0, 1], "full")
xp.unwrap(m * 5), xp.unwrap(m * 5, axis=0), xp.unwrap(m * 5, discont=4), xp.unwrap(i, period=4)
xp.unwrap(i, period=5), xp.unwrap(n), xp.unwrap([0, 5, 10]), xp.unwrap(e, axis=1)
""".strip().splitlines()

SHAPES = """
[xp.pad(m, (2, 3), mm) for mm in MODES], [xp.pad(i, ((1, 2), (0, 4)), mm) for mm in MODES]
[xp.pad(u, 1, mm) for mm in MODES]
[xp.pad(z, (7, 9), mm) for mm in ("constant", "edge", "linear_ramp", "mean", "reflect", "symmetric", "wrap")]
[xp.pad(b, 2, mm) for mm in ("constant", "edge", "maximum", "minimum", "reflect", "symmetric", "wrap")]
[xp.pad(k, (11, 13), mm, reflect_type="odd") for mm in ("reflect", "symmetric")]
[xp.pad(m, 3, mm, reflect_type="odd") for mm in ("reflect", "symmetric")]
[xp.pad(m, 3, mm, stat_length=2) for mm in ("maximum", "mean", "median", "minimum")]
[xp.pad(i, 3, mm, stat_length=((1, 2), (3, 4))) for mm in ("maximum", "mean", "median", "minimum")]
xp.pad(m, (1, 2), constant_values=(3, 4)), xp.pad(i, 1, constant_values=((1, 2), (3, 4)))
xp.pad(k, 2, "linear_ramp", end_values=(5, -4)), xp.pad(q8, 2, "linear_ramp", end_values=5)
xp.pad(m, ((1,), (2,)), "linear_ramp", end_values=((1, 2), (3, 4)))
xp.pad(m, (-1, 2))
xp.pad(m, 1.5)
xp.pad(m, 1, "nonsense")
xp.pad(m, 1, "edge", constant_values=1)
xp.pad(m, (1, 2, 3))
xp.pad(e, 1), xp.pad(e, ((0, 0), (1, 1)), "edge"), xp.pad(s, 1), xp.pad(m, 0, "edge")
xp.pad(e, 1, "edge")
xp.pad(m, 2, lambda vec, w, ax, kw: vec.__setitem__(slice(0, w[0]), kw.get("v", 7)), v=5)
xp.pad(m, 1, "mean", stat_length=0)
xp.pad(m, 1, "maximum", stat_length=0)
xp.pad(m, 1, "mean", stat_length=-1)
xp.pad(m, 1, "reflect", reflect_type="x"), xp.pad(F, 1).strides, xp.pad(F, 1, "edge").strides
[xp.pad(m[:, :c], w, mm) for c in (1, 2, 3) for w in ((0, 1), (7, 9), (5, 0)) for mm in ("edge", "wrap", *MODES[-3:])]
xp.pad(F, ((1, 2), (3, 4)), "reflect")
xp.pad(xp.asarray(np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))), ((1, 2), (0, 0), (3, 4)), "wrap")
[xp.pad(xp.asarray(np.asfortranarray(np.arange(12.0).reshape(3, 4))), 1, mm).flags.f_contiguous for mm in MODES]
xp.pad(q8, 2, "mean"), xp.pad(q8, 2, "median")
xp.trim_zeros([0, 0, 1, 2, 0]), xp.trim_zeros([0, 0, 1, 2, 0], "f"), xp.trim_zeros([0, 0, 1, 2, 0], "b")
xp.trim_zeros([0, 0]), xp.trim_zeros([]), xp.trim_zeros(xp.asarray([[0, 0, 0], [0, 1, 0], [0, 2, 0]]))
xp.trim_zeros(xp.asarray([[0, 0, 0], [0, 1, 0], [0, 2, 0]]), axis=0)
xp.trim_zeros(xp.asarray([[0.0, 0, 0], [0, 0, 0]]), axis=1), xp.trim_zeros(z)
xp.trim_zeros(xp.asarray([0, np.nan, 0]))
xp.trim_zeros([0, 1], "x")
xp.trim_zeros([0, 1], axis=2)
xp.rot90(m), xp.rot90(m, 2), xp.rot90(m, 3), xp.rot90(m, -1), xp.rot90(t, 1, (1, 2)), xp.rot90(t, 5, (2, 0))
xp.rot90(m, 0), xp.rot90([[1, 2], [3, 4]])
xp.rot90(k)
xp.rot90(m, 1, (0, 2))
xp.rot90(m, 1, (0, 0))
xp.rot90(m, 1, (0, 1, 2))
xp.rot90(m, 3.0)
xp.tile(m, 2), xp.tile(m, (2, 1, 3)), xp.tile(k, (2, 2)), xp.tile(s, 3), xp.tile(3, (2, 2)), xp.tile(m, 0)
xp.tile(t, (2,)), xp.tile([1, 2], ()), xp.tile(e, 2), xp.tile(m, xp.asarray([1, 2]))
xp.repeat(m, 2), xp.repeat(m, 2, 0), xp.repeat(m, [1, 2, 3, 0], 0), xp.repeat(3, 4), xp.repeat(m, [2], 1)
xp.repeat([1, 2], [0, 0]), xp.repeat(k, xp.asarray(2)), xp.repeat(m, xp.asarray([1, 0, 2, 1]), axis=0)
xp.repeat(e, 3, 1), xp.repeat(t, 0, 2), xp.repeat(m, True), xp.repeat([], [])
xp.repeat(m, [1, 2], 0)
xp.repeat(m, -1)
xp.repeat(m, [[1]])
xp.repeat(m, 2, 3)
xp.repeat(m, xp.asarray([1, 2, 0, 3]), 0), xp.repeat(m, xp.asarray([1, 2, 0, 3], dtype="u1"), 0)
xp.repeat(m.T, xp.asarray([True, False, True, True]), 1)
xp.repeat(m, xp.asarray([1, -2, 0, 3]), 0)
xp.repeat(m, xp.asarray([1, 2, 0]), 0)
xp.repeat(m, xp.asarray([1.5, 2, 0, 1]), 0)
xp.roll(m, 2), xp.roll(m, 1, 0), xp.roll(m, (1, 2), (0, 1)), xp.roll(m, (1, 2), 0), xp.roll(m, -7), xp.roll(e, 1)
xp.roll(e, 1, 0), xp.roll(s, 3), xp.roll(3, 1), xp.roll([1, 2, 3], 1), xp.roll(m, 1, (0, 1))
xp.roll(t, xp.asarray(1), 1), xp.roll(m, xp.asarray([1, 2]), (0, 1)), xp.roll(m, 10 ** 20, 0)
xp.roll(m, 1, 4)
xp.roll(m, (1, 2, 3), (0, 1))
xp.roll(m, [[1]], 0)
xp.flip(m), xp.flip(m, 0), xp.flip(m, (0, 1)), xp.flip(s), xp.flip([1, 2]), xp.flip(t, -1)
xp.flip(m, 3)
xp.flip(m, (0, 0))
xp.fliplr(m)
xp.fliplr(k)
xp.flipud(k)
xp.block([[m, m], [i, i]]), xp.block([1, 2, 3]), xp.block(m), xp.block([m, m]), xp.block([[k], [k]])
xp.block([[1, 2], [3, 4]]), xp.block([[[m]], [[m]]]), xp.block(3)
xp.block([[xp.ones((2, 2)), xp.zeros((2, 3))], [xp.ones((1, 5))]])
xp.block([])
xp.block([[], [1]])
xp.block([m, [m]])
xp.block((m, m))
xp.block([[m], [k]])
xp.block([F, F]).flags.f_contiguous, xp.block([m, m]).flags.c_contiguous
xp.append(m, 1), xp.append(m, m, 0), xp.append([1], [2.5]), xp.append(m, [[1] * 6], 0)
xp.append(m, [1, 2], 0)
xp.delete(m, 1), xp.delete(m, 1, 0), xp.delete(m, [0, 2], 1), xp.delete(m, slice(1, 3), 1)
xp.delete(m, [True, False, True, False], 0), xp.delete(m, xp.asarray([1, 3]), 1), xp.delete(m, -1, 1)
xp.delete(m, [], 0), xp.delete(k, [1, 1, 2])
xp.delete(F, xp.asarray([True, False, True, False]), 0), xp.delete(F, np.array([True] * 6), 1), xp.delete(k, k > 1)
xp.delete(m, xp.asarray([0, -1] * 40), 0), xp.delete(F, np.arange(99) % 5, 1), xp.delete(m, [False, True])
xp.delete(m, np.arange(99), 0)
xp.tril_indices(4, 1, 5), xp.triu_indices(3, -1), xp.triu_indices_from(m), xp.tril_indices(-1), xp.tri(-1)
xp.triu_indices_from(k)
xp.vander(xp.asarray([1.1, -2, 3]), 9), xp.vander([1, 2], 1), xp.vander([1, 2], 0), xp.vander([1j, 2], 10, True)
xp.geomspace(xp.asarray([1.0, -2]), [16.0, -32], 5, axis=1), xp.geomspace(1j, 16j, 5)
xp.geomspace(8, 1, 4, False, "f4"), xp.logspace(0, 3, 4, dtype=int), xp.logspace(1, 2, 0)
xp.geomspace(0, 1)
xp.logspace(0, 3, 7, base=2, dtype="f4"), xp.logspace([0, 1], 2, 3, axis=-1)
xp.nanargmin([[np.nan, 1], [2, np.nan]], 1, xp.zeros(2, int)), xp.nanargmax([np.nan, -np.inf])
xp.nanargmax([[np.nan, 1], [np.nan, 2]], 0)
xp.packbits(xp.ones((3, 16), dtype=bool), 1, "little"), xp.packbits(xp.asarray(range(-8, 8), dtype="i1"))
xp.delete(m, 9, 0)
xp.insert(m, 1, 5), xp.insert(m, 1, 5, 0), xp.insert(m, [1, 3], 7, 1), xp.insert(m, slice(0, 2), 3, 1)
xp.insert(k, [1, 1], [5, 6]), xp.insert(m, -1, 5, 1), xp.insert(m, 2, [1, 2, 3, 4], 1), xp.insert(k, 3, 2.7)
xp.insert(m, 9, 1, 0)
xp.array_split(k, 5), xp.array_split(m, [1, 3], 1)
xp.array_split(k, 0)
xp.split(m, 2)
xp.split(m, 3)
xp.hsplit(m, 3)
xp.vsplit(m, [1])
xp.dsplit(t, 2)
xp.unstack(m), xp.unstack(t, axis=1)
xp.resize(k, (3, 5)), xp.resize(m, 3), xp.resize([], (2,)), xp.resize(m, ()), xp.resize(m, 0)
""".strip().splitlines()

FUNCTIONS = """
xp.apply_along_axis(lambda a: a[0] * 2 + a[-1], 0, m), xp.apply_along_axis(lambda a: a[::-1], 1, m)
xp.apply_along_axis(xp.sort, -1, m), xp.apply_along_axis(xp.sum, 0, i), xp.apply_along_axis(xp.diag, -1, m)
xp.apply_along_axis(lambda a: 3, 0, m), xp.apply_along_axis(lambda a, p, q=1: a * p + q, 1, i, 2, q=5)
xp.apply_along_axis(lambda a: a.max(), 2, t), xp.apply_along_axis(lambda a: xp.outer(a, a), 1, t)
xp.apply_along_axis(xp.median, 0, m), xp.apply_along_axis(np.mean, 1, t), xp.apply_along_axis(xp.argmax, 1, m)
xp.apply_along_axis(lambda a: a.sum(), 0, k), xp.apply_along_axis(xp.cumsum, 0, b)
xp.apply_along_axis(lambda a: a > 0, 0, [[1, -2]])
xp.apply_along_axis(xp.sum, 0, e.T)
xp.apply_along_axis(xp.sum, 5, m)
xp.apply_along_axis(lambda a: a[a > 0], 0, m)
xp.apply_along_axis(lambda a: a.sum(), 1, e)
xp.apply_over_axes(xp.sum, t, (0, 2)), xp.apply_over_axes(xp.sum, t, 1), xp.apply_over_axes(xp.sum, t, [0, -1])
xp.apply_over_axes(lambda a, ax: xp.sum(a, ax, keepdims=True), t, (0, 1))
xp.apply_over_axes(lambda a, ax: a.sum(), t, (0,))
xp.piecewise(m, [m < 0, m >= 0], [-1, 1]), xp.piecewise(m, [m < 0], [lambda x: -x, lambda x: x * 2])
xp.piecewise(m, m > 0, [5])
xp.piecewise(m, [m < 0, m > 1], [xp.sin, xp.exp])
xp.piecewise(i, [i < 0, i > 5], [lambda x, y: x + y, 2.7, lambda x, y: 7], 3)
xp.piecewise(s, [s < 0, s >= 0], [lambda x: -x, lambda x: x]), xp.piecewise(s, s > 0, [3, 4])
xp.piecewise([1, 2, 3], [True, False, True], [10, 20]), xp.piecewise(m[0], [[True] * 3 + [False] * 3], [1, 2])
xp.piecewise(m, [m < 9, m < 0], [1, 2]), xp.piecewise(5, [False], [1])
xp.piecewise(m, [m < 0], [1, 2, 3])
xp.piecewise(m, [m[0] < 0], [1])
xp.mask_indices(3, xp.triu), xp.mask_indices(3, xp.tril, -1), xp.mask_indices(4, xp.triu, 1)
xp.packbits(b), xp.packbits(b, axis=0), xp.packbits(b, -1, "little"), xp.packbits(i, axis=1), xp.packbits([1, 0, 1])
xp.packbits(u, axis=1), xp.packbits(xp.zeros((0, 3), dtype=int)), xp.packbits(xp.zeros((0, 3), dtype=int), axis=0)
xp.packbits(xp.asarray(1)), xp.packbits(xp.asarray(1), axis=0), xp.packbits(xp.zeros((2, 0), dtype=int), axis=1)
xp.packbits(u.ravel() > 100), xp.packbits(xp.ones((2, 16, 3), dtype=bool), axis=1)
xp.packbits([1.5])
xp.packbits(b, bitorder="x")
xp.packbits(b, 5)
xp.unpackbits(u), xp.unpackbits(u, axis=1), xp.unpackbits(u, axis=-1, bitorder="little"), xp.unpackbits(u, count=5)
xp.unpackbits(u, axis=0, count=-3), xp.unpackbits(u, axis=2, count=40), xp.unpackbits(u, count=0)
xp.unpackbits(xp.asarray(5, dtype="u1")), xp.unpackbits(xp.zeros((2, 0), dtype="u1"), axis=1)
xp.unpackbits(xp.zeros(0, dtype="u1"))
xp.unpackbits(i)
xp.unpackbits(u, count=-1000)
xp.unpackbits(u, count=2.5)
xp.einsum("ij,kj->ik", m, m), xp.einsum("ij,kj->ik", m, m, optimize=True)
xp.einsum("ij,jk,kl->il", m, m.T, m, optimize="optimal")
xp.einsum("ij,jk,kl->il", m, m.T, m, optimize=["einsum_path", (0, 1), (0, 1)])
xp.einsum("ij,jk,kl->il", m, m.T, m, optimize=("greedy", 10))
xp.einsum("ij,jk,kl->il", m, m.T, m, optimize=("optimal", 10 ** 6)), xp.einsum("ii", m[:, :4])
xp.einsum(m, [0, 1], [1, 0]), xp.einsum("ij,jk,kl->il", m, m.T, m, optimize=["einsum_path", (0, 1, 2)])
xp.einsum("ij,jk,kl->il", m, m.T, m, optimize="nonsense")
xp.einsum("ij,jk,kl->il", m, m.T, m, optimize=["einsum_path", (0, 1)])
xp.einsum_path("ij,jk,kl->il", m, m.T, m), xp.einsum_path("ij,jk,kl->il", m, m.T, m, optimize="optimal")
xp.einsum_path(m, [0, 1], m, [2, 1], optimize=True)
xp.lib.stride_tricks.as_strided(k, (5, 4), (8, 16)), xp.lib.stride_tricks.as_strided(m, (3,), (48,))
xp.lib.stride_tricks.as_strided(m)
xp.lib.stride_tricks.as_strided(k[::2], (3, 2))
xp.lib.stride_tricks.as_strided(k[::-1], (3,), (-16,)), xp.lib.stride_tricks.as_strided(k, (0,))
xp.lib.stride_tricks.as_strided([1, 2, 3], (2, 2), (8, 8))
[(lambda y: (xp.lib.stride_tricks.as_strided(y, (2, 3), (16, 8)).__setitem__(Ellipsis, 7), y)[1])(k.copy())]
xp.lib.stride_tricks.sliding_window_view(k, 3), xp.lib.stride_tricks.sliding_window_view(m, (2, 3))
xp.lib.stride_tricks.sliding_window_view(m, 2, axis=1)
xp.lib.stride_tricks.sliding_window_view(t, (2, 2), axis=(1, 2)).sum(-1)
xp.lib.stride_tricks.sliding_window_view(m, (2, 2), (0, 0))
xp.lib.stride_tricks.sliding_window_view(k, 3).flags.writeable
xp.lib.stride_tricks.sliding_window_view(k * 2, 3).max(1)
xp.lib.stride_tricks.sliding_window_view(k, 30)
xp.lib.stride_tricks.sliding_window_view(m, 3)
xp.lib.stride_tricks.sliding_window_view(m, (3, -1))
xp.lib.stride_tricks.sliding_window_view(m, (3, 2), axis=0)
xp.lib.array_utils.normalize_axis_index(-1, 3)
xp.iterable(m), xp.iterable(s), xp.iterable([1]), xp.iterable(3)
xp.mintypecode(["d", "f", "S"]), xp.mintypecode([m, z, "f"]), xp.mintypecode("abceh", default="G")
xp.isnat(m)
xp.emath.sqrt(m), xp.emath.sqrt([1, 4]), xp.emath.sqrt(-1), xp.emath.sqrt(z), xp.emath.sqrt(u)
xp.emath.log(i)
xp.emath.logn(2, m)
xp.emath.power(m, 2), xp.emath.power([2, 4], -1), xp.emath.power(2, [1, 2]), xp.emath.power(-2, 0.5)
xp.emath.arccos(m)
xp.emath.arcsin([0.5])
xp.emath.arctanh(m)
""".strip().splitlines()

NARROW = """
xp.emath.log10(q8)
xp.quantile(f, np.float64(0.3)), xp.quantile(f, np.array(0.3)), xp.quantile(f, 0.3), xp.quantile(h, 0.3)
xp.quantile(h, [0.3]), xp.quantile(m, 0.3, 0, out=xp.empty(6, dtype="f4"))
xp.percentile(f, 30), xp.percentile(f, 30.0), xp.percentile(f, [30]), xp.percentile(f, np.float64(30))
xp.median(h), xp.median(f, 1)
xp.nanquantile(f, 0.3), xp.nanquantile(h, [0.3], 0)
xp.nanpercentile(f, 30)
xp.nanmedian(f), xp.nanmedian(h, 0)
xp.average(f), xp.average(f, weights=[1, 2, 3, 4], axis=0), xp.average(h)
xp.cov(f), xp.cov(f, dtype="f4")
xp.corrcoef(f), xp.corrcoef(f, dtype="f4")
[xp.histogram_bin_edges(f, r) for r in RULES]
[xp.histogram_bin_edges(np.random.default_rng(1).gamma(2, size=25000).astype("f4"), r) for r in RULES]
xp.histogram(m, 5, weights=(abs(m) + 1j).astype("F")), xp.histogram(m, [-1, 0, 1], weights=w.astype("f4"))
xp.histogram(m, 3, weights=w.astype("f2")), xp.histogram(f, 5), xp.histogram(f, [-1, 0, 0.5]), xp.histogram(h, 5)
xp.histogramdd(f[:, :2], 3)
xp.nansum(i, dtype="f4"), xp.nansum(h)
xp.nanmean(h), xp.nanmean(n, dtype="f4")
xp.nanvar(f)
xp.sort(h, kind="stable")
xp.sort_complex(f), xp.sort_complex(h)
xp.searchsorted(xp.asarray([1, 2, 3], dtype="f4"), 1.1), xp.searchsorted(xp.asarray([0.1, 0.2], dtype="f4"), 0.1)
xp.searchsorted(xp.asarray([0.1, 0.2], dtype="f4"), 0.1, "right")
xp.searchsorted(xp.asarray([0.1, 0.2], dtype="f4"), 1e+300)
xp.searchsorted(xp.asarray([0.1, np.inf], dtype="f4"), 1e+300, "right")
xp.cumsum(i, 1, dtype="f4"), xp.cumsum(h)
xp.nancumsum(n, 1, dtype="f4")
xp.cumulative_sum(m, axis=1, dtype="f4")
xp.gradient(h[0]), xp.gradient(f, 0.5), xp.gradient(f, [0, 1, 3, 7], axis=0)
xp.gradient(f, xp.asarray(2.5), axis=0)
xp.trapezoid(f), xp.trapezoid(h, dx=0.5)
xp.convolve(h[0], h[1][:2]), xp.convolve(f[0], f[1]), xp.convolve(i[0], f[0])
xp.correlate(h[0], h[1], "full")
xp.unwrap(f * 5)
[xp.pad(f, {1: (2, 1)}, mm) for mm in MODES], xp.pad(h, 1, "mean"), xp.pad(h, 1, "linear_ramp")
xp.trim_zeros(xp.asarray([[0, 0, 0], [0, 1, 0], [0, 2, 0]]), "F", axis=(1,))
xp.mintypecode([f])
xp.emath.sqrt(f)
xp.emath.log2(f)
""".strip().splitlines()


CORNERS = """
xp.concatenate([xp.broadcast_to(k, (3, 12)), xp.ones((1, 12))]), xp.stack([m, m], 1), xp.unstack(k), xp.tile(m, 1)
xp.roll(k, 1.7), xp.roll(m, (1.2, -1), (0, 1)), xp.repeat(k, 1.5), xp.repeat(m, (2.9, 1, 0, 1.1), 0)
xp.repeat(k, np.array(1.5))
xp.repeat(k, None)
xp.repeat(s, 3, 0), xp.repeat(s, [2], -1), xp.squeeze(s, 0), xp.squeeze(s, -1)
xp.insert(m, 0, 1j)
xp.insert(k, 0, np.nan)
xp.insert(q8, 0, 300)
xp.insert(k, 0, [1.5, 2]), xp.insert(m, 0, np.complex64(1j)), xp.insert(q8, 0, xp.asarray(300))
xp.full_like(m, 1j), xp.full(2, [np.nan, 1]), xp.full(3, 2 + 1j, dtype="f4")
xp.tril(s)
xp.digitize(m, [0, 1, np.nan]), xp.digitize(m, [np.nan, 1, 0]), xp.digitize(m, [np.nan, 1]), xp.digitize(m, [2, 2])
xp.digitize(m, [1, 0.5, 0.2], right=True), xp.digitize(m, []), xp.digitize(m, [1]), xp.digitize(m, [np.nan])
xp.digitize(m, [1, 3, 2])
xp.isin(xp.asarray([2**53 + 1, -1]), xp.asarray([2**53, 2**64 - 1], dtype="u8"))
xp.isin(xp.asarray([2**63, 5], dtype="u8"), xp.asarray([-(2**63), 5])), xp.isin(k, xp.arange(40, dtype="u8"))
xp.linspace(xp.asarray([0, 1], dtype="f4"), 10, 3), xp.linspace(np.float32(0), 1, 3), xp.linspace(0, np.float16(1), 3)
xp.linspace(np.float32(0), 1j, 3, retstep=True), xp.logspace(0, xp.asarray([1, 2], dtype="f4"), 3, axis=-1)
xp.logspace(0, 1, 3, base=xp.asarray([2, 3])), xp.logspace(0, 1, 3, base=xp.asarray([2, 3]), axis=-1)
xp.argmax(m, 0, xp.empty(6))
xp.argmax(m, 0, xp.empty(6, dtype="i4")), xp.argmin(m, 0, xp.empty(6, dtype="u4"))
xp.round(m, 1.5)
xp.array(m, copy=False, dtype="f4")
xp.array(m, copy=False, order="F")
xp.array(F, copy=False, order="F"), xp.array(m, copy=None, dtype="f4")
xp.cross([1, 2], [3, 4]), xp.cross(m[:, :2], m[:, 3:]), xp.cross(m[:, 3:], m[:, :2]), xp.cross(m[:, 4:], m[:, :2])
xp.cross(m[:, :3].T, m[:, :2].T, axis=0), xp.cross(i[:, :2], [1, 2, 3], axisc=0)
xp.cross(m[:, :4], m[:, :2])
(lambda y: (xp.putmask(y, y > 5, [7.9]), y))(k.copy()), (lambda y: (xp.putmask(y, y > 5, [True]), y))(u.copy())
xp.putmask(k, k > 0, xp.asarray([7.5]))
xp.putmask(q8, q8 > 0, [300])
(lambda y: (y.__setitem__(0, 2.9), y))(k.copy()), (lambda y: (y.fill(1j), y))(b.copy())
k.__setitem__(0, np.nan)
k.__setitem__(0, float("inf"))
q8.__setitem__(0, 300.5)
u.fill(-1.5)
m.reshape(3.0, 8)
xp.zeros((2, "a"))
xp.zeros(2.0)
xp.clip(b, 3, 1), xp.clip(b, [0, 1, 2, 3, 4, 5], 3), xp.clip(u, [300, 1, 2, 3], 260), xp.clip(b, None, 1)
xp.sum(m, where=1), xp.any(b, 0, where=[1, 0, 1, 0, 1, 1]), xp.max(m, 1, where=[[0.0]], initial=3)
xp.sum(m, where=xp.asarray([1, 0, 1, 0, 1, 1]))
xp.mean(h, 0, out=xp.empty(6)), xp.mean(h, 0, out=xp.empty(6, dtype="f2")), xp.mean(h, 0)
(m.reshape(3, 8), m.reshape(3.0, 8))
(t.reshape(1, 24), t.reshape(True, 24))
m.sum(axis=[0])
m.sum(axis=True)
xp.squeeze(m[None], [0])
xp.average(m, [0]), xp.median(m, [0]), xp.cumulative_sum(m, axis=(0,)), xp.tri(-1), xp.argpartition(2, 0)
xp.partition(e, 7, 0), xp.nanvar(s, 0), xp.var(m, dtype="D"), xp.take(k, np.float32(2)), round(xp.sum(k), 1)
xp.prod(u, initial=-1)
xp.sum(i, initial=np.nan)
xp.max(q8, initial=300)
xp.sum(i, initial=2.7), xp.sum(e, initial=3), xp.min(u, 0, initial=9, where=u > 4)
xp.can_cast(m, i)
xp.correlate(m[0], 2)
xp.digitize(m, z[0])
xp.average(e, 1)
xp.nan_to_num(f, nan=1j)
xp.ptp(m[:1], 0, out=xp.empty((2, 6)))
xp.std(i, 0, out=xp.zeros(6, dtype=int))
round(m[0, :1])
xp.add(m, 1, out=xp.empty((4, 6)), order="Z")
xp.add(m, 1, casting="equiv"), xp.subtract(i, i, casting="equiv", dtype="i4")
xp.add(i, 1, casting="equiv", dtype="D")
q8.__setitem__(0, np.uint8(200))
q8.__setitem__(0, np.float64("nan"))
q8.fill(np.int64(300))
q8.__setitem__(0, [1, 2, 300, 4])
q8.__setitem__([0], np.uint8(200)), xp.putmask(q8, q8 > 0, np.int64(-300)), q8
xp.choose(b, [u[0, :1, :1], 7]), xp.choose(b, [f, 2.5])
xp.choose(u.astype("u8"), [1, 2])
xp.cov(m[:1], rowvar=False), xp.cov(m[0], m[:1], rowvar=False), xp.trapezoid(t, m[:3, :4]), xp.trapezoid(m[0], m)
xp.einsum("ii", m[:1])
xp.place(q8, q8 > 0, xp.asarray([3], dtype="u8"))
xp.concatenate([u, 300], None), xp.concatenate([q8, 1, 2.5], None), xp.union1d(u, 7), xp.concatenate([1, 2], None)
m[[9], False], m[xp.asarray(False), [9]]
m[[9]]
""".strip().splitlines()


def arrays(xp: Any) -> dict[str, Any]:
    random = np.random.default_rng(8)
    m = random.standard_normal((4, 6))
    n = m.copy()
    n[1, 2] = np.nan
    n[:, 4] = np.nan
    host = {
        "m": m,
        "n": n,
        "w": abs(m),
        "b": m > 0,
        "f": m.astype(np.float32),
        "h": m.astype(np.float16),
        "F": np.asfortranarray(m),
        "v": np.sort(m.ravel()),
        "s": np.asarray(2.5),
        "e": np.zeros((0, 3)),
        "z": random.standard_normal((3, 5)) + 1j * random.standard_normal((3, 5)),
        "t": random.standard_normal((2, 3, 4)),
        "i": random.integers(-9, 9, (4, 6)).astype(np.int32),
        "k": random.integers(0, 9, 12),
        "u": random.integers(0, 255, (2, 3, 4)).astype(np.uint8),
        "q8": random.integers(-100, 100, (3, 4)).astype(np.int8),
    }
    given = {name: xp.asarray(array) for name, array in host.items()}
    views = {"neg": given["m"][::-1, ::-2]}
    return {"xp": xp, "np": np, "METHODS": METHODS, "RULES": RULES, "MODES": MODES, **given, **views}


@pytest.mark.parametrize("expression", [*QUANTILES, *STATISTICS, *ORDER, *SIGNALS, *SHAPES, *FUNCTIONS, *CORNERS])
@matches_numpy(rtol=1e-11, atol=1e-12)
def test_matches(xp: Any, expression: str) -> Any:
    return eval(expression, arrays(xp))


@pytest.mark.parametrize("expression", NARROW)
@matches_numpy(rtol=1e-2, atol=1e-2)
def test_narrow_dtypes_match(xp: Any, expression: str) -> Any:
    return eval(expression, arrays(xp))


EVERY_DTYPE = """
xp.median(x), xp.median(x, 1)
xp.nanmedian(x, 0)
xp.quantile(x, [0.2, 1.0]), xp.quantile(x, 0.3, 0)
xp.quantile(x, 0.3, 0, method="lower")
xp.nanquantile(x, 0.7, 1)
xp.percentile(x, 30, weights=abs(y), method="inverted_cdf")
xp.average(x), xp.average(x, 0, returned=True), xp.average(x, weights=abs(y) + 1)
xp.cov(x), xp.cov(x, y, rowvar=False)
xp.histogram(x, 4)
xp.histogram(x, [0, 1, 2, 5])
xp.histogram(x, "auto")
xp.histogram(x, 3, weights=y)
xp.histogram2d(y.real[0], y.real[1], 2), xp.histogramdd(y.real, 2)
xp.unique(x, True, True, True), xp.unique(x, axis=0), xp.unique_counts(x)
xp.isin(x, y), xp.isin(x, [1, 2]), xp.union1d(x, y), xp.intersect1d(x, y), xp.setdiff1d(x, y), xp.setxor1d(x, y)
xp.count_nonzero(x, 0, keepdims=True)
xp.searchsorted(xp.sort(x.ravel()), y), xp.searchsorted(xp.sort(x.ravel()), 1, "right")
xp.sort(x, 0, stable=True), xp.argsort(x, kind="stable"), xp.lexsort((x, y)), xp.sort_complex(x)
xp.partition(x, 2, 0)[2]
xp.digitize(x, [0, 1, 3])
xp.interp(x, [0, 1, 3], [2, 4, 5])
xp.convolve(x[0], y[0]), xp.correlate(x[0], y[0], "full")
xp.unwrap(x)
xp.gradient(x)
xp.gradient(x, 2, axis=0, edge_order=2)
xp.trapezoid(x), xp.trapezoid(x, dx=0.5, axis=0)
xp.diff(x), xp.diff(x, 2, 0, prepend=x[:1]), xp.ediff1d(x)
xp.cumsum(x), xp.cumprod(x, 1), xp.nancumsum(x, 0), xp.cumulative_sum(x, axis=0, include_initial=True)
xp.nansum(x), xp.nanprod(x, 1), xp.nanmean(x), xp.nanvar(x, 0, ddof=1), xp.nanstd(x), xp.nanmax(x), xp.nanargmin(x, 0)
xp.ptp(x, 0)
[xp.pad(x, (1, 3), mode) for mode in ("constant", "edge", "reflect", "symmetric", "wrap")]
[xp.pad(x, (1, 3), mode) for mode in ("maximum", "minimum")]
[xp.pad(x, (1, 3), mode) for mode in ("mean", "median")]
[xp.pad(x, (1, 3), mode) for mode in ("linear_ramp",)]
xp.pad(x, 2, "reflect", reflect_type="odd")
xp.trim_zeros(x), xp.rot90(x), xp.tile(x, (2, 1)), xp.repeat(x, [1, 0, 2], 0), xp.roll(x, 2, 1), xp.block([[x, y]])
xp.packbits(x, 1)
xp.piecewise(x, [y > 0], [1, lambda v: v + v]), xp.apply_along_axis(lambda v: v[:2], 0, x)
xp.lib.stride_tricks.sliding_window_view(x, 2, 1), xp.lib.stride_tricks.as_strided(x, (2, 2), (x.itemsize, x.itemsize))
xp.emath.sqrt(x), xp.emath.log(y)
xp.select([y > 0], [x], 3), xp.heaviside(x, 1)
xp.einsum("ij,kj->ik", x, y), xp.einsum("ij,kj,kl->il", x, y, y, optimize=True)
xp.nan_to_num(x), xp.clip(x, 1, 3), xp.round(x, 1)
xp.bincount(x[0])
""".strip().splitlines()


def outcome(expression: str, given: dict[str, Any]) -> Any:
    """What an expression gives or, as its name, what it raises: a TypeError for one dtype is none for the next."""
    try:
        result = eval(expression, given)
        # A GPU tells of some errors when the result is looked at.
        for part in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(part, nl.ndarray):
                part.get()
        return result
    except (TypeError, ValueError) as error:
        return "ValueError" if isinstance(error, ValueError) else "TypeError"


@pytest.fixture
def few_kernels(device: str) -> Iterator[None]:
    """On the CPU values go one by one through NumPy: kernels for every dtype have tests of their own."""
    with config(executor="reference" if device == "cpu" else config.executor):
        yield


@for_all_dtypes()
@pytest.mark.usefixtures("few_kernels")
def test_every_dtype(dtype: Any) -> None:
    random = np.random.default_rng(3)
    low, high = (0, 2) if dtype.kind == "b" else (0 if dtype.kind == "u" else -4, 7)
    x, y = (random.integers(low, high, (3, 4)).astype(dtype) for _ in range(2))
    if dtype.kind in "fc":
        x = x / dtype.type(4)
        x[1, 2] = np.nan
    if dtype.kind == "c":
        y = y + dtype.type(1j) * y[::-1]
    tolerance = {"e": 4e-3, "f": 2e-5, "F": 2e-5}.get(dtype.char, 1e-11)

    @matches_numpy(rtol=tolerance, atol=tolerance / 2)
    def compare(xp: Any, expression: str) -> Any:
        return outcome(expression, {"xp": xp, "x": xp.asarray(x), "y": xp.asarray(y)})

    for expression in EVERY_DTYPE:
        try:
            compare(expression=expression)
        except AssertionError as error:
            raise AssertionError(f"{expression}: {error}") from error


ORDERS = """
xp.sort(x, 0)
xp.partition(x, 1, 0)
xp.cumsum(x, 0)
xp.diff(x, axis=0)
xp.unwrap(x)
xp.gradient(x, axis=0)
[xp.pad(x, 1, mode) for mode in ("constant", "edge", "mean", "reflect", "linear_ramp")]
xp.tile(x, (2, 1)), xp.repeat(x, 2, 0), xp.roll(x, 1, 0), xp.rot90(x), xp.flip(x), xp.trim_zeros(x)
xp.block([x, x]), xp.append(x, x, 0), xp.cumulative_sum(x, axis=0), xp.unique(x, axis=0)
xp.isin(x, [1]), xp.isin(x, xp.arange(99)), xp.digitize(x, [1, 2]), xp.searchsorted([1.0, 2], x)
xp.interp(x, [0, 1], [1, 2]), xp.sort_complex(x), xp.emath.sqrt(x), xp.piecewise(x, [x > 1], [1])
xp.quantile(x, [0.2, 0.5], 0), xp.nanmax(x, -1), xp.ptp(x, -1), xp.count_nonzero(x, 0)
xp.apply_along_axis(lambda line: line * 2, 0, x), xp.packbits(x > 1, axis=0)
xp.concatenate([x, x[:1]]), xp.stack([x, x]), xp.stack([x, x], 1), xp.stack([x, x], -1), xp.vstack([x, x[::-1]])
xp.concatenate([xp.broadcast_to(x[..., :1], x.shape), x[::-1, ::-1]], 1), xp.concatenate([x, xp.ascontiguousarray(x)])
xp.delete(x, 1, 0), xp.delete(x[::-1], slice(0, 2), 1), xp.delete(x, [], 0), xp.insert(x, 1, 9, 0), xp.tile(x, 1)
xp.insert(x[::-1], [0, 1], 9, -1), xp.round(x, 1), xp.round(x[::-1], -1), x.imag, x[::-1].imag, xp.isreal(x)
xp.select([x > 1], [x]), xp.unpackbits(x.astype("u1"), axis=0), xp.unpackbits(x.astype("u1"), axis=-1, count=5)
xp.nanquantile(x, [0.2, 0.5], 0), xp.nanpercentile(x, [[20, 50]], 1), xp.nanquantile(x, [0.2, 0.5], (0, 1))
x.__copy__(), x[::-1].__deepcopy__({}), xp.cumulative_sum(x, axis=0, include_initial=True), x.copy("A")
x.round(1), x[::-1].astype("f4", order="A"), xp.array(x, order="A")
""".strip().splitlines()


@pytest.mark.parametrize("expression", ORDERS)
@pytest.mark.parametrize("axes", [(1, 0), (2, 0, 1)])
def test_memory_order(axes: tuple[int, ...], expression: str) -> None:
    host = np.random.default_rng(0).integers(0, 5, (3, 4, 2)[: len(axes)]).astype(float).transpose(axes)

    def orders(xp: Any) -> list[list[int]]:
        found = eval(expression, {"xp": xp, "x": xp.asarray(host)})
        results = found if isinstance(found, (tuple, list)) else [found]
        return [[s for s, extent in zip(r.strides, r.shape, strict=True) if extent > 1] for r in results]

    assert orders(nl) == orders(np)


@pytest.mark.parametrize(
    ("kernels", "calls", "expression"),
    [
        (1, 0, "np.packbits(v > 0)"),
        (1, 0, "np.lib.stride_tricks.sliding_window_view(v * 2, 8).mean(-1)"),
        (1, 0, "np.pad(m, 3, 'reflect') * 2"),
        (1, 0, "np.isin(v, [1, 2, 3])"),
        (1, 0, "np.piecewise(v, [v < 0], [np.exp, np.sqrt])"),
        (0, 1, "np.histogram(v, 10, (-1, 1))"),
        (1, 1, "np.quantile(m, [0.2, 0.4], 1)"),
        (2, 1, "np.nanquantile(m, 0.3, 1)"),
    ],
)
def test_kernels(kernels: int, calls: int, expression: str) -> None:
    random = np.random.default_rng(0)
    given = {"np": nl, "m": nl.asarray(random.standard_normal((40, 50))), "v": nl.asarray(random.standard_normal(800))}
    with assert_kernels(kernels, library_calls=calls):
        result = eval(expression, given)
    assert result is not None


@pytest.mark.parametrize("own", [np, nl])
@pytest.mark.parametrize("part", ["all", "view", "element"])
def test_lines_may_come_in_the_same_memory_each_time(own: Any, part: str) -> None:
    """NumPy copies what the function gives before it asks for the next line."""

    def program(xp: Any, own: Any) -> Any:
        memory = own.zeros(3)

        def line(a: Any) -> Any:
            memory[1:] = a * 2
            return {"all": memory, "view": memory[::-1], "element": memory[2, ...]}[part]

        return xp.apply_along_axis(line, 1, xp.arange(1.0, 7).reshape(3, 2))

    with nl.config(host_copy="allow"):  # Lines are written to NumPy's memory.
        assert program(nl, own).tolist() == program(np, np).tolist()


def test_lines_may_be_changed_in_place() -> None:
    def program(xp: Any) -> Any:
        x = xp.arange(1.0, 7).reshape(3, 2)

        def line(a: Any) -> Any:
            x[:] += 1  # all lines, those that were given too
            return a

        return xp.apply_along_axis(line, 1, x).tolist(), x.tolist()

    assert program(nl) == program(np)
