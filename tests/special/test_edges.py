"""Special functions at poles, at infinities, and where much would cancel."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special as scipys

import numloom as nl
from numloom import special

inf, nan = np.inf, np.nan


def _found(name: str, *args: object) -> np.ndarray:
    return nl.asnumpy(getattr(special, name)(*(nl.asarray(np.array(each, "f8")) for each in args)))


@pytest.mark.parametrize("df", [3.0, 1e4, 1e6, 1e8, 1e10, 1e13])
def test_students_distribution_of_many_degrees_of_freedom(df: float) -> None:
    t = np.array([-9.0, -4, -2.5, -2, -1.5, -1, -0.25, 0, 0.5, 1.25, 3])
    np.testing.assert_allclose(_found("stdtr", df, t), scipys.stdtr(df, t), rtol=2e-13)


@pytest.mark.parametrize("a", [0.5, 3.0, 40.0, 1e4, 1e7])
@pytest.mark.parametrize("b", [0.3, 1.0, 7.0, 600.0, 3e5])
def test_the_incomplete_beta_function_around_its_mean(a: float, b: float) -> None:
    mean, width = a / (a + b), np.sqrt(a * b / (a + b + 1)) / (a + b)
    x = mean + width * np.array([-6, -3, -1, -0.1, 0, 0.1, 1, 2, 5])
    x = x[(x > 0) & (x < 1)]
    for name in ("betainc", "betaincc"):
        expected = getattr(scipys, name)(a, b, x)
        # A rounding of x counts a + b times.
        np.testing.assert_allclose(_found(name, a, b, x), expected, rtol=1e-13 + 1e-15 * (a + b), atol=1e-300)


@pytest.mark.parametrize("a", [1.0, 5.0, 300.0])
@pytest.mark.parametrize("b", [2.0, 11.0, 1e5])
def test_the_f_distribution(a: float, b: float) -> None:
    x = np.array([0, 0.01, 0.5, 0.9, 1, 1.1, 2, 8, 100, inf])
    for name in ("fdtr", "fdtrc"):
        np.testing.assert_allclose(_found(name, a, b, x), getattr(scipys, name)(a, b, x), rtol=1e-11, atol=1e-300)


def test_the_f_distribution_has_finite_degrees_of_freedom() -> None:
    for name, last in (("fdtr", 1.0), ("fdtrc", 0.0)):
        assert np.isnan(_found(name, [2, inf, inf], [inf, 2, inf], 1.5)).all()
        np.testing.assert_array_equal(_found(name, [2, 3], [3, inf], inf), last)


def test_no_successes_have_no_distribution() -> None:
    for name in ("nbdtr", "nbdtrc"):
        assert np.isnan(_found(name, [0, 3, 3], 0, [0, 0.5, 1])).all()
        np.testing.assert_allclose(_found(name, 3, [1, 4], 0.5), getattr(scipys, name)(3, [1, 4], 0.5), rtol=1e-14)


def test_losses_of_infinities() -> None:
    delta, r = np.array([0.5, 2, 2, 3, 1e-9, 0]), np.array([inf, -inf, 1e20, -4, 1.0, inf])
    np.testing.assert_allclose(_found("pseudo_huber", delta, r), scipys.pseudo_huber(delta, r), rtol=1e-14)


def test_poles() -> None:
    degrees = np.array([-450, -270, -90, 90, 270, 810.0])
    np.testing.assert_array_equal(_found("tandg", degrees), inf)
    np.testing.assert_array_equal(_found("cotdg", degrees + 90), inf)
    a, b = np.array([-3, -3, -2, -3, -3, -3.0]), np.array([-3, -2, -3, 2, 1, 7.0])
    np.testing.assert_allclose(_found("beta", a, b), scipys.beta(a, b), rtol=1e-14)
