"""Traced sizes: what is computed with them is computed again, and no answer of theirs is taken for granted."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numloom.engine.symbolic_key import play
from numloom.plan.sizes import GuardTrace, of_sizes


@of_sizes
def rounded(number: int, step: int) -> tuple[int, int]:
    """Not to be looked into: a table of two numbers."""
    if number > 20:
        return -(-number // step) * step, number.bit_length()
    return number, step


def collapsed(a: int, b: int, c: int) -> Any:
    """Extents of more than 1, merged where they fit."""
    shape: list[int] = []
    for extent in (a, b, c):
        if extent <= 1:
            continue
        if shape and shape[-1] % extent == 0:
            shape[-1] *= extent
        else:
            shape.append(extent)
    return shape, prod(shape)


FUNCTIONS: list[Callable[[int, int, int], Any]] = [
    lambda a, b, c: (a + b * c, a - b, 7 - c, -a, abs(a - b), a * 0, 1 * b, a + 0),
    lambda a, b, c: (a // b if b else -1, divmod(c, 3), 100 // max(a, 1), 17 % max(c, 1), a % 1, a // 1),
    lambda a, b, c: sorted([a, b, c, 5]),
    lambda a, b, c: (min(a, b, 9), max(c, 4), a if a else b, [k for k in (a, b, c) if k > 8]),
    lambda a, b, c: (1 << max(a - 1, 0).bit_length(), a & 15, (b | 3) >> 1, c << 2, 0 << a, 9 & b, 8 | c, c - 3),
    lambda a, b, c: (a - 2 * b, 5 - a, (3 - b) * (2 - c), -(-a // 4), 1 / (c + 1), divmod(50, b + 1), 2 - a > b),
    lambda a, b, c: (f"{a} of {b:03d}" if a < 6 else "many", c),
    lambda a, b, c: ([0] * min(a, 9), list(range(min(b, 4))), [10, 20, 30][min(c, 2)]),
    lambda a, b, c: ({(a, 1): "x", (b, 1): "y", (0, 1): "z"}.get((c, 1)), len({a, b, c, 0, 1})),
    lambda a, b, c: (a == b, (a, b) == (b, c), b in (0, 1, c), a == "a", not c),
    lambda a, b, c: (rounded(a, 16), rounded(b, 8)[0] + c, rounded(5, 3)),
    lambda a, b, c: (a if a * 1.25 <= b + c else -a, a / 2 < 3, round(float(c)), 3 / (a + 1) > 0.5),
    collapsed,
]


def settled(thing: Any, values: list[Any]) -> Any:
    if isinstance(thing, (tuple, list)):
        return [settled(each, values) for each in thing]
    return values[thing.slot] if hasattr(thing, "slot") else thing


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FUNCTIONS), *[st.tuples(*[st.integers(0, 40)] * 3)] * 2, st.booleans())
def test_a_tape_gives_what_the_function_gives(function: Any, first: Any, second: Any, near: bool) -> None:
    if near:
        second = (first[0], first[1], second[2])
    trace = GuardTrace(first)
    traced = function(*(trace.size(k) for k in range(3)))
    wanted = [size.slot for size in _sizes(traced)]
    held = []
    for sizes in (first, second):
        for entries, rest in (trace.program(), trace.program(wanted)):
            values = [*sizes, *rest]
            held.append(play(entries, values))
            if held[-1]:
                assert settled(traced, values) == settled(function(*sizes), [])
    assert held[0] and held[1]
    assert held[2] == held[3]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_sizes_hold_what_was_computed(function: Any) -> None:
    """What a plan is made by, before anything is played: the numbers themselves, in every computation."""
    for sizes in ((7, 3, 12), (3, 40, 5), (0, 1, 2), (30, 30, 1), (13, 9, 17)):
        trace = GuardTrace(sizes)
        traced = function(*(trace.size(k) for k in range(3)))
        assert [size.value for size in _sizes(traced)] == [trace.values[size.slot] for size in _sizes(traced)]
        assert settled(traced, trace.values) == settled(function(*sizes), [])


def _sizes(thing: Any) -> list[Any]:
    if isinstance(thing, (tuple, list)):
        return [size for each in thing for size in _sizes(each)]
    return [thing] if hasattr(thing, "slot") else []


@pytest.mark.parametrize(
    ("function", "same", "other"),
    [
        (lambda n: n * 4 + 1, [2, 3, 1000], []),
        (lambda n: n == 1, [2, 30], [1]),
        (lambda n: n < 100, [99, 0], [100]),
        (lambda n: str(n) + f"{n}", [7], [8]),
        (lambda n: [1] * n, [7], [6]),
        (lambda n: {n: 1}, [8, 2], [0, 1, -1]),
        (lambda n: -(-n // 16), [1, 33], []),
        (lambda n: str(-(-n // 16)), [1, 7, 16], [17, 0]),
        (lambda n: str(rounded(n, 4)[1]), [7, 20], [21]),
    ],
)
def test_where_a_tape_holds(function: Callable[[Any], Any], same: list[int], other: list[int]) -> None:
    """Only what was asked decides for which numbers it holds; it was traced for 7."""
    trace = GuardTrace([7])
    function(trace.size(0))
    entries, rest = trace.program()
    held = [number for number in (*same, *other) if play(entries, [number, *rest])]
    assert held == same


def test_equal_computations_are_one() -> None:
    trace = GuardTrace([6, 8])
    a, b = trace.size(0), trace.size(1)
    assert a * b is a * b
    assert a is trace.size(0)
    asked = len(trace.entries)
    assert a * b == a * b
    assert len(trace.entries) == asked
    assert a != b
    assert a != b
    assert len(trace.entries) == asked + 1


def test_what_is_no_number_is_refused() -> None:
    size: Any = GuardTrace([3]).size(0)
    for wrong in (lambda: size + "a", lambda: size < None, lambda: size & 1.5, lambda: size // []):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ZeroDivisionError):
        _ = size // 0
