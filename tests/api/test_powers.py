"""Whole numbers to negative powers: NumPy's ValueError, at once or at the next look; all else as NumPy."""

from __future__ import annotations

import fractions
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing.compare import host

PAIRS = [("i8", "i8"), ("i1", "i8"), ("u1", "i1"), ("?", "i1"), ("u8", "i8"), ("f4", "i4"), ("i4", "u4"), ("i8", "?")]
"""dtypes of bases and exponents."""

VALUES = {"good": [0, 2, 1, 3], "bad": [1, 2, -1, 0]}

METHODS = """
xp.power(a, b) | a ** b | xp.power(a, b, out=xp.zeros(4, "f8")) | xp.power(a, b, dtype="f8") | xp.float_power(a, b)
xp.power(a, b, where=b >= 0, out=xp.zeros(4, "f8")) | xp.power(a, b, where=xp.asarray([True, False] * 2), out=o)
xp.power.outer(a, b) | xp.power(a[:, None], b) | xp.power(a[:0], b[2:3]) | xp.power(a[::2], b[::-2]) | xp.power(2, b)
b.dtype.type(2) ** b | xp.power(a, b[2]) | a ** b[2] | 3 ** b[:2] | a.reshape(2, 2) ** b[2:3] | xp.power(a, b, a)
xp.power.reduce(b) | xp.power.reduce(b[2:]) | xp.power.reduce(b[1:3]) | xp.power.reduce(b[2:], initial=2)
xp.power.reduce(b.reshape(2, 2), axis=1) | xp.power.reduce(b.reshape(2, 2), axis=0, keepdims=True)
xp.power.reduce(b[:0], initial=1) | xp.power.reduce(b, initial=2, where=b >= 0, dtype="i8")
xp.power.reduce(b, dtype="f8")
xp.power.accumulate(b) | xp.power.accumulate(b[2:]) | xp.power.accumulate(b.reshape(2, 2), axis=1)
xp.power.reduceat(b, [0, 2]) | xp.power.reduceat(b, [0, 3]) | xp.power.reduceat(b, [2, 1])
xp.power.reduceat(b, [3, 2])
"""
STATEMENTS = """
xp.power.at(a, [0, 2], b[1:3]) | xp.power.at(a, [0, 1], b[2]) | xp.power.at(a, [], b[2])
xp.power.at(a, slice(1, 3), b[:2])
a[:] = a ** b; a[0] = 1 | a **= b | a[1:3] **= b[1:3] | a[:2] **= b[:2]
"""


def outcome(call: Callable[[], Any]) -> Any:
    """A result on the host, or the built-in type of what was raised, at the latest when it is looked at."""
    try:
        found = call()
        nl.synchronize()
        return host(found)
    except Exception as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def same(ours: Any, theirs: Any, label: str) -> None:
    if isinstance(theirs, type):
        # Where a cast is refused as well, either may be found first.
        assert ours is theirs or {ours, theirs} == {ValueError, TypeError}, f"{label}: {ours!r}, NumPy raises {theirs}"
        return
    assert not isinstance(ours, type), f"{label}: {ours}, NumPy gives {theirs!r}"
    assert ours.dtype == np.asarray(theirs).dtype, label
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, err_msg=label)


def of(values: str, base: str, exponent: str, kept: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Names for a statement under NumPy and under numloom, whose arrays the host knows (`kept`) or has computed."""
    numbers = VALUES[values] if np.dtype(exponent).kind in "if" else np.abs(VALUES[values])
    a, b = np.array([1, 2, 3, 1]).astype(base), np.array(numbers).astype(exponent)
    found = []
    for xp in (np, nl):
        ours = [xp.asarray(x.copy()) for x in (a, b)]
        if xp is nl and not kept:
            ours = [xp.concatenate([x[:2], x[2:]]) for x in ours]
        found.append({"xp": xp, "a": ours[0], "b": ours[1], "o": xp.zeros(4, "f8")})
    return found[0], found[1]


def done(text: str, names: dict[str, Any]) -> Any:
    exec(text, names)
    return names["a"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kept", [True, False], ids=["known", "computed"])
@pytest.mark.parametrize(("base", "exponent"), PAIRS)
def test_exponents_of_all_kinds(base: str, exponent: str, kept: bool) -> None:
    for values, (statements, form) in itertools.product(VALUES, ((METHODS, eval), (STATEMENTS, done))):
        for text in statements.replace("\n", " | ").split(" | "):
            if text:
                theirs, ours = of(values, base, exponent, kept)
                expected = outcome(lambda: form(text, theirs))
                same(outcome(lambda: form(text, ours)), expected, f"{text} of {base} and {exponent}, {values}")


@pytest.mark.parametrize("number", [-1, -2, -3, np.int8(-1), np.int64(-2), [-1], np.array([-1, 1]), [2, -3]])
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8", "f4"])
@pytest.mark.parametrize("count", [0, 2])
def test_exponents_that_the_host_knows_are_refused_at_once(number: Any, dtype: str, count: int) -> None:
    for call in (lambda xp, x: x**number, lambda xp, x: xp.power(x, number)):
        x = np.ones(count, dtype)
        try:
            theirs = call(np, x)
        except (ValueError, OverflowError) as error:
            with pytest.raises(type(error)):
                call(nl, nl.asarray(x))
        else:
            same(host(call(nl, nl.asarray(x))), theirs, f"{dtype} {number!r}")


def test_a_loop_that_turns_negative() -> None:
    """What was recorded for good exponents is not replayed for bad ones unseen."""
    x = nl.arange(1, 5)
    for number in range(3, -3, -1):
        powers = x ** (nl.full(4, 1) * number)
        if number >= 0:
            np.testing.assert_array_equal(host(powers), np.arange(1, 5) ** number)
        else:
            with pytest.raises(ValueError, match="negative integer powers"):
                host(powers)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_powers_that_are_numbers_are_exact(dtype: str) -> None:
    bases = np.concatenate([np.arange(-60.0, 61), np.arange(-20.0, 21) / 8, [1e5, 2.0**-30]])[:, None]
    x, n = map(np.array, np.broadcast_arrays(bases.astype(dtype), np.arange(0.0, 24).astype(dtype)))
    exact = np.array([[a**b for b in range(24)] for a in map(fractions.Fraction, map(float, bases[:, 0]))])
    with np.errstate(all="ignore"):
        want = exact.astype(float).astype(dtype)
        there = np.array([abs(b) < 1e38 and fractions.Fraction(float(w)) == b for w, b in zip(want.flat, exact.flat)])
    there = there.reshape(x.shape) & ((want == 0) | (np.abs(want) > 1e-30))
    found = nl.power(nl.asarray(x), nl.asarray(n)).get()
    assert there.sum() > 700
    np.testing.assert_array_equal(found[there], want[there])


@pytest.mark.parametrize("known", [True, False])
def test_an_exponent_may_become_negative_by_its_cast(known: bool) -> None:
    for xp in (np, nl):
        two, n = xp.asarray(np.array([2], "u8")), xp.asarray(np.array([255, 1], "u8"))
        n = n if known else n + xp.asarray(np.array(0, "u8"))
        with pytest.raises(ValueError, match="negative integer powers"):
            np.asarray(xp.power(two, n, dtype="i1").tolist())
        assert xp.power(two, n[1:], dtype="i1").tolist() == [2]
