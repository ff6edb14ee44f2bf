"""Zeros have NumPy's signs where a function subtracts, mirrors or divides: angles and quotients show the other one."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import numloom as nl
from compilers import needed
from numloom.testing import assert_bits_equal

CHARS = "efdFD"
EDGES: dict[str, Any] = {
    "nothing": (),
    "a number": (0.1,),
    "a falling one": (-2.0,),
    "points": "points",
}


def listed(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("spacing", EDGES)
@pytest.mark.parametrize("char", [*CHARS, "i", "B"])
def test_gradients(char: str, spacing: str, edge_order: int) -> None:
    rng = np.random.default_rng(5)
    for shape in ((3,), (5,), (4, 3)):
        for numbers in (np.zeros(shape), np.ones(shape), rng.integers(0, 3, shape), 9 * rng.random(shape)):
            host = numbers.astype(char)
            points = [np.cumsum(rng.random(n) + 0.1) for n in shape]
            given = points if EDGES[spacing] == "points" else EDGES[spacing]
            want = np.gradient(host, *given, edge_order=edge_order)
            theirs = [nl.asarray(x) if isinstance(x, np.ndarray) else x for x in given]
            for got, each in zip(
                listed(nl.gradient(nl.asarray(host), *theirs, edge_order=edge_order)), listed(want), strict=True
            ):
                assert_bits_equal(got, each)


def test_gradients_of_an_edge_of_an_image() -> None:
    image = np.zeros((8, 8))
    image[:, :3] = 1
    y, x = nl.gradient(nl.asarray(image))
    assert_bits_equal(nl.signbit(nl.arctan2(y, x)), np.zeros((8, 8), bool))
    assert (1 / nl.gradient(nl.ones(4))).tolist() == [np.inf] * 4


@pytest.mark.parametrize("char", "FD")
@pytest.mark.parametrize("name", ["expm1", "tanh", "sinh", "tan", "arctan", "arcsinh", "sqrt", "log1p"])
def test_complex_zeros_and_infinities(name: str, char: str) -> None:
    """NumPy's signs, where the array API standard has others: tanh of infinities, expm1 of zeros."""
    zeros = [complex(a, b) for a in (0.0, -0.0) for b in (0.0, -0.0)]
    ends = [complex(a, b) for a in (np.inf, -np.inf) for b in (1.0, 2.0, 3.0, 4.0, -2.0)]
    for host in (np.array(zeros + ends, char), np.array((zeros + ends) * 40, char)):
        with np.errstate(all="ignore"):
            want = getattr(np, name)(host)
        got = getattr(nl, name)(nl.asarray(host))
        for part in ("real", "imag"):
            mine, theirs = getattr(got, part), getattr(want, part)
            assert_bits_equal(nl.isnan(mine), np.isnan(theirs))
            known = ~np.isnan(theirs)
            assert_bits_equal(nl.signbit(mine).get()[known], np.signbit(theirs)[known])
            assert_bits_equal((mine == 0).get(), theirs == 0)


ZEROS = np.array([0.0, -0.0, 1.0, -1.0, -2.0])


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", ["fft", "ifft"])
def test_spectra_of_real_numbers(name: str, char: str) -> None:
    """The mean of numbers below zero has the angle pi, and so has each number of the spectrum of -1, 0, 0."""
    for n in (1, 2, 3, 4, 5, 8, 9):
        for host in (-np.ones(n, char), -np.eye(1, n, dtype=char)[0], np.zeros(n, char), -np.ones((2, n), char).T):
            got, want = (getattr(xp.fft, name)(xp.asarray(host), axis=0) for xp in (nl, np))
            zero = (want.imag == 0) & (got.get().imag == 0)
            assert zero.flat[0]
            if got.device != "cpu":  # Zeros that cuFFT itself gives have its signs.
                zero[1:] = False
            assert_bits_equal(nl.signbit(got.imag).get()[zero], np.signbit(want.imag)[zero])
    for f in ("fft2", "ifft2", "fftn"):
        got, want = (getattr(xp.fft, f)(xp.asarray(-np.ones((3, 4), char))) for xp in (nl, np))
        part = ... if got.device == "cpu" else (slice(1), slice(1))
        assert_bits_equal(nl.signbit(got.imag)[part], np.signbit(want.imag)[part])


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("family", ["polynomial.polyvander", "chebyshev.chebvander", "legendre.legvander",
                                    "hermite.hermvander", "hermite_e.hermevander", "laguerre.lagvander"])  # fmt: skip
def test_matrices_of_powers(family: str, char: str) -> None:
    module, name = family.split(".")
    host = ZEROS.astype(char)
    got, want = (getattr(getattr(xp.polynomial, module), name)(xp.asarray(host), 2)[..., 1] for xp in (nl, np))
    assert_bits_equal(nl.signbit(got.real), np.signbit(want.real))


@pytest.mark.parametrize("char", "fdFD")
def test_interpolation_at_a_knot_of_the_other_sign(char: str) -> None:
    for left, middle, right in product([-1.0, 0.0, -0.0, 1.0], repeat=3):
        for knot in (0.0, -0.0):
            at = np.array([-0.0, 0.0, -1.0, 1.0, 0.5] * 60)  # So many are computed on the device.
            points, values = np.array([-1.0, knot, 1.0]), np.array([left, middle, right]).astype(char)
            want = np.interp(at, points, values)
            got = nl.interp(nl.asarray(at), nl.asarray(points), nl.asarray(values))
            assert_bits_equal(nl.signbit(got.real), np.signbit(want.real))


def test_the_first_of_two_zeros_stays_in_halves() -> None:
    """By kernels, too; of other floats NumPy promises nothing."""
    needed()
    a, b = np.array([[0.0, -0.0, 0.0, -0.0, 1.0, np.nan], [-0.0, 0.0, 0.0, -0.0, 2.0, 1.0]], "f2")
    names = ("minimum", "maximum", "fmin", "fmax")
    with nl.config(unplanned=0, cpu_compile="wait"):
        found = [getattr(nl, name)(nl.asarray(a), nl.asarray(b)) for name in names]
        nl.evaluate(*found)
    for name, value in zip(names, found, strict=True):
        np.testing.assert_array_equal(np.signbit(value.get()), np.signbit(getattr(np, name)(a, b)))
        np.testing.assert_array_equal(value.get(), getattr(np, name)(a, b))
