"""Many writes to slices of one array, which share kernels where they may: always NumPy's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numloom as nl
from numloom.testing import assert_bits_equal, assert_kernels

N = 6
LINES = st.tuples(st.sampled_from(["row", "column", "diagonal", "part"]), st.integers(0, N - 1), st.booleans())
WRITES = st.lists(
    st.tuples(st.sampled_from(["set", "number", "add", "scale", "both", "gather"]), LINES, LINES, LINES),
    min_size=2,
    max_size=7,
)


def line(x: Any, where: tuple[str, int, bool]) -> Any:
    """A line of a square array: N elements, or half as many of one."""
    kind, k, backwards = where
    if kind == "row":
        found = x[k]
    elif kind == "column":
        found = x[:, k]
    elif kind == "diagonal":
        found = x.ravel()[:: N + 1]
    else:
        found = x[k, ::2] if k % 2 else x[k // 2 :: 2, k][: N // 2]
        found = found[: N // 2]
    return found[::-1] if backwards else found


def write(xp: Any, x: Any, other: Any, writes: list[Any]) -> None:
    """Do the writes, to an array and to a view of it."""
    index = xp.asarray([(5 * k + 2) % N for k in range(N)])
    for how, target, source, third in writes:
        to = line(x, target)
        given = line(x, source)[: len(to)]
        if len(given) < len(to):
            given = line(other, target)
        more = line(other, third)
        more = more[: len(to)] if len(more) >= len(to) else line(other, target)
        if xp is np:  # which reads some of what it has written, where both overlap in several dimensions
            given, more = given.copy(), more.copy()
        if how == "set":
            to[...] = given * 2 + more
        elif how == "number":
            to[...] = 7
        elif how == "add":
            to += more
        elif how == "scale":
            to *= 3
        elif how == "gather":
            to[...] = line(x, ("row", source[1], False))[index][: len(to)] - 1
        else:
            to[...] = given
            line(other, target)[...] = more + 1


@settings(max_examples=150)
@given(WRITES, st.sampled_from(["f4", "i8", "c8"]), st.booleans())
def test_lines_of_a_square(writes: list[Any], dtype: str, fresh: bool) -> None:
    host, beside = (np.arange(N * N).reshape(N, N) % 11).astype(dtype), np.arange(N * N).reshape(N, N).astype(dtype)
    mine, other = nl.asarray(host), nl.asarray(beside)
    if fresh:
        host, mine = host + 1, mine + 1  # computed, not yet there
    else:
        host = host.copy()
    beside = beside.copy()
    write(np, host, beside, writes)
    write(nl, mine, other, writes)
    assert_bits_equal(mine, host)
    assert_bits_equal(other, beside)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_joined_parts(axis: int, count: int) -> None:
    parts = [np.arange(40.0).reshape(8, 5) * (k + 1) for k in range(count)]
    mine = [nl.asarray(part) for part in parts]
    assert_bits_equal(nl.stack([x * 2 for x in mine], axis), np.stack([x * 2 for x in parts], axis))
    if axis < 2:
        assert_bits_equal(nl.concatenate(mine, axis), np.concatenate(parts, axis))


def test_what_shares_a_kernel() -> None:
    x, y = nl.asarray(np.arange(100.0)), nl.asarray(np.ones(100))
    square = nl.asarray(np.ones((100, 100)))
    nl.evaluate(x, y, square)
    with assert_kernels(1):
        nl.evaluate(nl.stack([10 * (y - x), x * 28 - y, x * y]))
    with assert_kernels(1):
        nl.evaluate(nl.concatenate([x, y, x + y]))
    with assert_kernels(1):  # rows that read others, but none that is written here
        square[0] += x
        square[1] += square[2]
        square[3] *= 2
        nl.evaluate(square)
    with assert_kernels(2):  # the second reads what the first writes
        square[0] += x
        square[1] += square[0]
        nl.evaluate(square)
    with assert_kernels(2):  # corners are written twice, in their order
        square[0] = 1
        square[-1] = 2
        square[:, 0] = 3
        square[:, -1] = 4
        nl.evaluate(square)


def test_large_parts_share_a_kernel_for_a_reason() -> None:
    x, y = (nl.asarray(np.arange(70_000.0) + k) for k in range(2))
    nl.evaluate(x, y)
    with assert_kernels(2):
        nl.evaluate(nl.concatenate([x, y]))
    with assert_kernels(1):  # one input
        nl.evaluate(nl.stack([x * 2, x + 1]))
    with assert_kernels(1):  # one cache line
        z = nl.empty((70_000, 2))
        z[:, 0] = x
        z[:, 1] = y
        nl.evaluate(z)
