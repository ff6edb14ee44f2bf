"""softmax, sums of exponentials, and functions of whole orders against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import numloom as nl

HOST = np.random.default_rng(2).normal(size=(3, 5)) * 20


def same(got: Any, want: Any) -> None:
    assert got.shape == np.shape(want)
    assert got.dtype == np.asarray(want).dtype
    rtol = 1e-12 if got.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(got.get(), want, rtol=rtol, atol=1e-14 if rtol == 1e-12 else 1e-6)


@pytest.mark.parametrize("axis", [None, -1])
def test_softmax_and_logarithms_of_sums(axis: Any) -> None:
    x = nl.asarray(HOST)
    same(nl.special.softmax(x, axis), special.softmax(HOST, axis))
    same(nl.special.log_softmax(x, axis), special.log_softmax(HOST, axis))
    same(nl.special.logsumexp(x, axis), special.logsumexp(HOST, axis))
    same(nl.special.logsumexp(x, axis, keepdims=True), special.logsumexp(HOST, axis, keepdims=True))
    factors = np.array([1.0, -0.5, 0, 2, 3])
    for got, want in zip(
        nl.special.logsumexp(x, axis, nl.asarray(factors), return_sign=True),
        special.logsumexp(HOST, axis, factors, return_sign=True),
        strict=True,
    ):
        same(got, want)


def test_sums_of_infinite_and_large_exponents() -> None:
    for values in ([-np.inf, -np.inf], [np.inf, 1.0], [1000.0, 1000.0], [np.nan, 1.0], [-np.inf, 0.0]):
        same(nl.special.logsumexp(values), special.logsumexp(values))
    same(nl.special.logsumexp([0.0, 1.0], b=[1.0, -1.0]), np.nan)
    same(nl.special.softmax(nl.asarray(HOST.astype("f4")), 1), special.softmax(HOST.astype("f4"), 1))
    same(nl.special.softplus(nl.asarray([-800.0, 0.0, 800.0])), special.softplus(np.array([-800.0, 0.0, 800.0])))
    with pytest.raises(TypeError, match="real"):
        nl.special.logsumexp(nl.ones(2, "F"))


def test_zeta_and_polygamma() -> None:
    x, q = np.array([1.5, 2.0, 3.0, 20.0]), np.array([0.5, 1.0, 7.0, 1e3])
    same(nl.special.zeta(nl.asarray(x)), special.zeta(x))
    np.testing.assert_allclose(nl.special.zeta(nl.asarray(x), nl.asarray(q)).get(), special.zeta(x, q), rtol=1e-12)
    for n in range(4):
        np.testing.assert_allclose(nl.special.polygamma(n, nl.asarray(q)).get(), special.polygamma(n, q), rtol=1e-12)
    assert nl.special.polygamma([[1], [2]], q).shape == (2, 4)
    assert nl.special.polygamma(1, nl.ones(2, "f4")).dtype == special.polygamma(1, np.ones(2, "f4")).dtype


def test_multigammaln() -> None:
    x = np.array([3.0, 4.5])
    same(nl.special.multigammaln(nl.asarray(x), 3), special.multigammaln(x, 3))
    for bad in ((x, 1.5), (x, 0), (np.array([0.5]), 4)):
        with pytest.raises(ValueError, match=r"d|condition"):
            nl.special.multigammaln(nl.asarray(bad[0]), bad[1])
