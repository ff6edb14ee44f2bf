"""Elementwise functions that NumPy builds on ufuncs: choice, rounding, parts, powers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api import elementwise
from numloom.array.ndarray import node_of
from numloom.base.dtypes import NUMPY_DTYPES as DTYPES
from numloom.testing import assert_allclose, assert_bits_equal, for_all_dtypes, matches_numpy

X = [-2.5, -1.5, -0.5, 0.0, 0.5, 1.25, 2.5, np.nan, np.inf, -np.inf, 123.456]


@for_all_dtypes()
def test_operator_power(dtype: np.dtype[Any], sample: Any) -> None:
    host = sample(dtype, plain=True)
    mine = nl.asarray(host)
    with np.errstate(all="ignore"):
        for exponent in (2, 0, 1, 3, 0.5, 2.0, -0.5, np.float32(2), 2 + 0j, True):
            theirs = host**exponent
            ours = mine**exponent
            assert ours.dtype == theirs.dtype, exponent
            assert_allclose(ours, theirs, rtol=1e-2 if theirs.dtype.char in "eF" else 1e-5, err_msg=f"{exponent}")
        for base in (2, 2.5, 1j):
            theirs, ours = base**host, base**mine
            assert ours.dtype == theirs.dtype, base
            usable = np.isfinite(theirs)
            assert_allclose(ours.get()[usable], theirs[usable], rtol=2e-2 if theirs.dtype.char in "eF" else 1e-5)
        if dtype.kind in "fc":
            assert_allclose(mine**-1, host**-1, rtol=1e-3)
        else:
            for bad in (-1, -2):
                if dtype.kind in "iu":
                    with pytest.raises((ValueError, OverflowError)):
                        (mine**bad).get()


def test_power_of_special_values_follows_the_operator() -> None:
    x = np.array([-np.inf, -0.0, 4.0])
    with np.errstate(all="ignore"):
        assert_bits_equal(nl.asarray(x) ** 0.5, x**0.5)
        assert_bits_equal(nl.asarray(x) ** 2, x**2)
    y = nl.asarray(x)
    y **= 2
    assert y.tolist() == [np.inf, 0, 16]


@matches_numpy
def test_where(xp: Any) -> Any:
    c = xp.asarray([[True, False, True]])
    return [
        xp.where(c, xp.arange(3), 5.5), xp.where(c, 1, 0), xp.where(c, xp.arange(3, dtype="f4"), 2.0),
        xp.where([1, 0, 2], [1, 2, 3], xp.zeros((2, 1), "i1")), *xp.where(xp.asarray([[0, 1], [2, 0]])),
        xp.where(True, xp.ones(2), 0),
    ]  # fmt: skip


@matches_numpy
def test_where_with_one_choice(xp: Any) -> Any:
    return xp.where(xp.asarray([True]), 1)


CLIPS = [
    (0, 2), (None, 1), (-1, None), (None, None), (0.5, 1.5), (2, 0), ([0, 1, 2], 5), (-1000, 1000), (0, 300),
]  # fmt: skip


@pytest.mark.parametrize("bounds", CLIPS, ids=str)
@for_all_dtypes()
def test_clip(dtype: np.dtype[Any], bounds: Any) -> None:
    host = np.array([0, 1, 3]).astype(dtype)

    @matches_numpy
    def check(xp: Any) -> Any:
        return xp.clip(xp.asarray(host), *bounds)

    check()


@matches_numpy
def test_clip_arguments(xp: Any) -> Any:
    x = xp.asarray([1.0, 5, 9])
    out = xp.zeros(3, "f4")
    return xp.clip(x, 2, 6, out=out), x.clip(2, 6), x.clip(max=3), xp.clip(x, min=2), x.clip(min=2, max=3)


@pytest.mark.parametrize("decimals", [0, 1, 3, -1, -2])
@for_all_dtypes()
def test_round(dtype: np.dtype[Any], decimals: int, sample: Any) -> None:
    host = sample(dtype)
    if dtype.kind in "iu":
        host = host // 4

    @matches_numpy
    def check(xp: Any) -> Any:
        return xp.round(xp.asarray(host), decimals)

    check()


@matches_numpy
def test_rounding_functions(xp: Any) -> Any:
    x = xp.asarray(X)
    out = xp.zeros(len(X), "f4")
    return xp.around(x, 1), x.round(), xp.fix(x), xp.fix(xp.arange(3)), xp.round(x, 1, out), xp.rint(x)


@pytest.mark.parametrize("char", "?iefdFD")
def test_nan_to_num(char: str, sample: Any) -> None:
    host = sample(char)
    if np.dtype(char).kind == "c":
        host = np.array([complex(np.nan, 1), complex(np.inf, -np.inf), 1 + 2j], char)

    @matches_numpy
    def check(xp: Any) -> Any:
        x = xp.asarray(host)
        y = x.copy()
        xp.nan_to_num(y, copy=False)
        return xp.nan_to_num(x), xp.nan_to_num(x, nan=7, posinf=1, neginf=-1), y

    check()


@matches_numpy
def test_parts_of_complex_numbers(xp: Any) -> Any:
    z = xp.asarray([1 + 2j, -3 - 4j, 0])
    x = xp.asarray([1, -2, 0])
    w = z.copy()
    w.real = 5
    w.imag[1:] = 8
    return [
        z.real, z.imag, xp.real(z), xp.imag(x), xp.real(x), xp.angle(z), xp.angle(z, deg=True), xp.angle(x), z.conj(),
        w, x.conj(), xp.conj(x), xp.real_if_close(z), xp.real_if_close(x + 0j),
    ]  # fmt: skip


@matches_numpy(rtol=1e-6)
def test_other_functions(xp: Any) -> Any:
    x = xp.asarray(X)
    return [
        xp.sinc(x[:7]), xp.sinc(xp.arange(3)), xp.isposinf(x), xp.isneginf(x), xp.heaviside(x, 0.5),
        xp.unwrap(xp.asarray([0.0, 3, 6.5, 1, -4])), xp.isfinite(x), xp.signbit(x),
        xp.unwrap(xp.asarray([0, 1, 2, -1, 0]), period=4), xp.sinc(0.0),
    ]  # fmt: skip


@matches_numpy
def test_copyto(xp: Any) -> Any:
    x = xp.zeros((2, 3), "f4")
    xp.copyto(x, xp.arange(3))
    xp.copyto(x, 7, where=xp.asarray([[True], [False]]))
    y = xp.zeros(3, "i4")
    xp.copyto(y, xp.asarray([1.5, 2, 3]), casting="unsafe")
    return x, y


@matches_numpy
def test_copyto_refuses(xp: Any) -> Any:
    xp.copyto(xp.zeros(3, "i4"), xp.asarray([1.5, 2, 3]))


@for_all_dtypes()
def test_astype(dtype: np.dtype[Any], sample: Any) -> None:
    host = sample(dtype, plain=True)
    mine = nl.asarray(host)
    with np.errstate(all="ignore"):
        for target in DTYPES:
            # The real part of complex numbers is taken without a warning.
            theirs = host.real if dtype.kind == "c" and target.kind not in "bc" else host
            assert_bits_equal(mine.astype(target), theirs.astype(target), message=f"{target}")
    assert nl.astype(mine, dtype, copy=False) is mine
    assert mine.astype(dtype) is not mine


@pytest.mark.parametrize("char", "efd")
def test_powers_by_few_halves(char: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exponents that a GPU takes by products and a root, special numbers among what they are taken of."""
    monkeypatch.setattr(elementwise, "numpy_is_near", lambda: False)
    random = np.random.default_rng(0)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, -2.5, 1e-5, 3e4, -7e-6]
    x = np.concatenate([special, np.exp(random.uniform(-10, 10, 200)), -random.uniform(0, 9, 50)]).astype(char)
    ours = nl.asarray(x)
    powers = elementwise.HALVES[ours.code] - {0.5, -1.0, 2.0}
    assert len(powers) > 4
    for y in sorted(powers):
        found = (ours**y).get()
        with np.errstate(all="ignore"):
            expected = np.power(x.astype(np.float64 if char != "d" else np.longdouble), y).astype(char)
        np.testing.assert_allclose(
            found, expected, rtol={"e": 1e-3, "f": 2e-7, "d": 8e-16}[char], atol=0, err_msg=str(y)
        )
        assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all(), y


def test_frequent_powers_have_operations_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exponents that the compiler knows; others are an argument; dtypes are those of NumPy in any case."""
    monkeypatch.setattr(elementwise, "numpy_is_near", lambda: False)
    monkeypatch.setattr(nl.config, "unplanned", 0)
    names = [node_of(nl.ones(3, "f4") ** y).op_def.name for y in (3, 3.0, -1.5, 5, 2.5)]
    assert names == ["power_of_6_halves"] * 2 + ["power_of_minus_3_halves"] + ["power_by_halves"] * 2
    for code in DTYPES:
        x = np.ones(3, code)
        for y in (3, 1.5, 4.0):
            with np.errstate(all="ignore"):
                expected = x**y
            found = nl.asarray(x) ** y
            assert found.dtype == expected.dtype, (code, y)
            assert_bits_equal(found, expected)


@pytest.mark.parametrize("char", "efdFD")
def test_powers_by_python_floats_are_numpys(char: str) -> None:
    """Squares, inverses and roots; of complex numbers NumPy's operator knows the root alone."""
    x = (np.arange(-4, 5) / 4 + (0.5j if char in "FD" else 0)).astype(char)
    with np.errstate(all="ignore"):
        for y in (2.0, -1.0, 0.5):
            expected = x**y
            if char in "FD":
                np.testing.assert_allclose((nl.asarray(x) ** y).get(), expected, rtol=1e-6 if char == "F" else 1e-14)
            else:
                assert_bits_equal(nl.asarray(x) ** y, expected)


def test_astype_takes_what_numpy_has() -> None:
    value: Any
    for value in (np.int16(3), np.float64(2.5), np.arange(3), np.array(7)):
        got, want = nl.astype(value, "f4"), np.astype(value, "f4")
        assert isinstance(got, nl.ndarray) and got.dtype == want.dtype
        np.testing.assert_array_equal(got.get(), want)
    for value in (3, 2.5, [3]):
        with pytest.raises(TypeError, match="Input should be"):
            nl.astype(value, "f4")
