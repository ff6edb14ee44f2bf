"""NumPy's older polynomials: coefficients with the highest power first."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.device import registry
from numloom.polynomial import fitting
from numloom.testing import assert_kernels, matches_numpy

CASES = """
xp.poly([1, 2, 3])
xp.poly([])
xp.poly(q)
xp.poly([[1.0, 2], [3, 4]])
xp.poly([1 + 1j, 1 - 1j])
xp.poly([1j, 2])
xp.poly([[[1]]])
xp.poly(p)
xp.roots([1, -3, 2])
xp.roots([0, 0, 1, -3, 0])
xp.roots([1, 0, 1])
xp.roots([])
xp.roots([0, 0])
xp.roots([[1, 2]])
xp.roots(p)
xp.polyadd([1, 2], [3, 4, 5])
xp.polyadd(c, q)
xp.polyadd(p, q)
xp.polyadd(2, q)
xp.polysub(q, c)
xp.polysub(c.astype("f4"), xp.asarray([1], dtype="i2"))
xp.polymul(c, q)
xp.polymul([0, 0, 1], [1, 2])
xp.polymul(p, [1, 2])
xp.polymul([0], [1, 2])
xp.polydiv(c, q)
xp.polydiv(q, c)
xp.polydiv(p, q)
xp.polydiv([1], [0])
xp.polyder(c)
xp.polyder(c, 2)
xp.polyder(c, 9)
xp.polyder(c, 0)
xp.polyder(c, -1)
xp.polyder(p)
xp.polyder([1, 2, 3])
xp.polyint(c)
xp.polyint(c, 2, [1, 2])
xp.polyint(c, 3, 4)
xp.polyint(c, 2, [1, 2, 3])
xp.polyint(c, 3, [1, 2])
xp.polyint(c, -1)
xp.polyint(c, 0)
xp.polyint(p, 1, 2)
xp.polyval(c, x)
xp.polyval([1, 2, 3], xp.arange(4))
xp.polyval([1, 2, 3], [1, 2])
xp.polyval(c.astype("f4"), x.astype("f4"))
xp.polyval(c.astype("f2"), 0.5)
xp.polyval([], x)
xp.polyval(c, 2)
xp.polyval(c, x * 1j)
xp.polyval(c, x[::-1, ::2].T)
xp.polyval(c, [np.nan, np.inf])
xp.polyval(p, q)
xp.polyval(p, xp.poly1d([1, 1]))
xp.polyfit(x[0], y[0], 2)
xp.polyfit(x[0], y.T, 1)
xp.polyfit(x[0], y[0], 2, w=y[1])
xp.polyfit(x[0], y[0], 2, full=True)
xp.polyfit(x[0], y[0], 2, rcond=0.9, full=True)
xp.polyfit(x[0], y[0], 1, cov=True)
xp.polyfit(x[0], y.T, 1, cov=True, w=y[1])
xp.polyfit(x[0], y[0], 1, cov="unscaled")
xp.polyfit(x[0, :2], y[0, :2], 1, cov=True)
xp.polyfit([0, 1, 2], [1, 3, 5], 1)
xp.polyfit(x[0].astype("f4"), y[0].astype("f4"), 1)
xp.polyfit(x[0].astype("f2"), y[0], 1)
xp.polyfit(x[0], y[0].astype("f2"), 1)
xp.polyfit(x[0], y[0] * 1j, 1)
xp.polyfit(x[0], y[0], -1)
xp.polyfit(x, y, 1)
xp.polyfit(x[0, :0], y[0, :0], 1)
xp.polyfit(x[0], y[0, :3], 1)
xp.polyfit(x[0], y[0], 1, w=y)
xp.polyfit(x[0], y[0], 1, w=[1])
p.c
p.coef
p.order
p.o
p.r
len(p)
list(p)
p(x)
p[1]
p[9]
p[-1]
xp.poly1d([0, 0, 1, 2]).coeffs
xp.poly1d([0, 0]).coeffs
xp.poly1d([1, 2], True).coeffs
xp.poly1d([[1]])
xp.poly1d(p, variable="z").variable
xp.poly1d(3).coeffs
str(p)
str(xp.poly1d([1, 0, -2.5], variable="t"))
str(xp.poly1d([1j, 2]))
repr(p)
(p + 1).c
(1 + p).c
(p - q).c
(q - p).c
(p * q).c
(q * p).c
(2 * p).c
(p * 2.5).c
(p ** 2).c
(p ** 0).c
p ** -1
p ** 1.5
(p / 2).c
[v.c for v in p / [1, 2]]
[v.c for v in [1, 2, 3, 4] / p]
(-p).c
(+p).c
p == xp.poly1d([1, -3, 2])
p != xp.poly1d([1, -3, 2])
p == xp.poly1d([1, 2])
p == 3
p.deriv().c
p.integ(2, [1, 2]).c
xp.sum(p)
xp.add(p, 1)
xp.asarray(p)
p.__setitem__(-1, 2)
hash(p)
setattr(p, "coeffs", [1])
"""


@pytest.mark.parametrize("text", [text for text in CASES.split("\n") if text])
def test_as_numpy(text: str) -> None:
    def body(xp: Any) -> Any:
        random = np.random.default_rng(1)
        known = {"c": random.normal(size=4), "q": np.array([2.0, 1]), "x": random.normal(size=(2, 6)),
                 "y": random.uniform(1, 2, (2, 6))}  # fmt: skip
        arrays = {name: xp.asarray(array) for name, array in known.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(text, {"xp": xp, "np": np, "p": xp.poly1d([1, -3, 2]), **arrays})
        several = isinstance(result, tuple)
        unwrapped = [r.coeffs if isinstance(r, xp.poly1d) else r for r in (result if several else (result,))]
        return unwrapped if several else unwrapped[0]

    rtol = 2e-3 if "f2" in text else 1e-5 if "f4" in text else 1e-10
    matches_numpy(body, rtol=rtol, atol=rtol)()


def test_assignment_changes_the_polynomial() -> None:
    for xp in (nl, np):
        p = xp.poly1d([1, 2])
        p[3] = 5
        p[0] = 7
        p.coeffs *= 2
        assert list(p.coeffs) == [10, 0, 2, 14]
        assert type(p) is xp.poly1d


def test_numpy_takes_the_coefficients_of_the_host() -> None:
    p = nl.poly1d([1, -3, 2])
    if registry.current().discrete:
        with pytest.raises(TypeError, match="on a GPU"):
            np.asarray(p)
    else:
        np.testing.assert_array_equal(np.asarray(p), [1, -3, 2])


def test_kinds_of_results() -> None:
    p = nl.poly1d([1, 2])
    for result in (nl.polyadd(p, [1]), nl.polymul([1, 2], p), *nl.polydiv(p, p), nl.polyder(p), nl.polyval(p, p)):
        assert type(result) is nl.poly1d
    for result in (nl.polyadd([1], [2]), p.c, p.r, p[0], p(2), nl.roots([1, 2]), np.float64(2) * p, nl.ones(2) * p):
        assert type(result) is nl.ndarray


def test_a_polynomial_of_an_array_is_one_kernel() -> None:
    c, x = nl.asarray([1.0, 2, 3, 4]), nl.arange(100.0)
    with assert_kernels(1):
        y = nl.polyval(c, x * 2) + 1
    assert y.shape == (100,)


def test_long_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "HOST_ELEMENTS", 0)
    x = np.linspace(0, 50, 300)
    y = np.sin(x / 20) + np.cos(x)
    ours, spread = nl.polyfit(nl.asarray(x), nl.asarray(y), 5, cov=True)
    theirs, expected = np.polyfit(x, y, 5, cov=True)
    np.testing.assert_allclose(ours.get(), theirs, rtol=1e-8)
    np.testing.assert_allclose(spread.get(), expected, rtol=1e-6)
    with pytest.warns(np.exceptions.RankWarning):
        nl.polyfit(np.repeat([0.0, 1.0], 50), np.arange(100.0), 3)
