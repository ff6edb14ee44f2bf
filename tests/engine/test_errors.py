"""Errors that are found only when recorded work runs name the line that recorded it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import numloom as nl
from numloom.device import registry


def test_an_index_out_of_range_names_its_line() -> None:
    x = nl.arange(5.0)
    index = nl.asarray(np.array([1, 9]))
    picked = x[index] + 1  # This is the line.
    with pytest.raises(IndexError) as caught:
        picked.get()
    if nl.config.executor == "fused":
        line = test_an_index_out_of_range_names_its_line.__code__.co_firstlineno + 3
        assert f"{__file__}:{line}" in str(caught.value)


def test_the_library_goes_on_after_an_error() -> None:
    x = nl.arange(5.0)
    with pytest.raises(IndexError):
        x[nl.asarray(np.array([7]))].get()
    assert (x[nl.asarray(np.array([-1]))]).get().tolist() == [4.0]


def test_reading_one_number_is_a_look() -> None:
    x = nl.arange(5.0)
    for look in (lambda y: float(y[0]), lambda y: y.item(1), lambda y: float(y.sum()), lambda y: y.tolist()):
        with pytest.raises(IndexError):
            picked = x[nl.asarray(np.array([1, 9]))]
            nl.evaluate(picked)
            look(picked)
        assert x.item(4) == 4.0


HUGE = {
    "a sum of all": lambda n: table(n).sum(),
    "sums of rows": lambda n: rows(n).sum(axis=1),
    "sums of columns": lambda n: rows(n).T.sum(axis=0),
    "places of the largest": lambda n: rows(n).argmax(axis=1),
    "a deviation": lambda n: table(n).std(),
    "a distance from the mean": lambda n: rows(n) - rows(n).mean(axis=1, keepdims=True),
    "a running sum": lambda n: nl.cumsum(nl.ones(n * n)),
    "a median": lambda n: nl.median(table(n)),
    "a product": lambda n: table(n) @ nl.ones((n, n)),
}


def table(n: int) -> nl.ndarray:
    """Numbers that are known by their places; `n` of them lie in memory."""
    return nl.ones((n, n)) * nl.arange(n) * nl.asarray(np.arange(float(n)))


def rows(n: int) -> nl.ndarray:
    """Few rows, of each of which the interpreter has all at once."""
    return nl.ones((3, n * n)) * nl.arange(n * n)


@pytest.mark.parametrize("name", HUGE)
def test_a_result_that_memory_does_not_hold_leaves_nothing_behind(name: str) -> None:
    """Nothing stays in use: neither scratch memory nor what was computed on the way."""
    device = registry.current()
    n, limit = (1 << 13, 1 << 14) if device.discrete else (1 << 20, 24 << 20)
    HUGE[name](16).get()  # Small scratch memory is kept.
    gc.collect()
    nl.synchronize()
    # Freed blocks would serve whatever the limit is, and other streams give theirs back where memory is short.
    nl.get_default_memory_pool().free_all_blocks()
    used = device.pool.used
    for _ in range(2):
        # Compiled kernels would set about it where they need no memory.
        with nl.config(memory_limit=used + limit, cpu_compile="never"):
            try:
                HUGE[name](n).get()
            except MemoryError:
                pass
            else:
                assert device.discrete
        gc.collect()
        assert device.pool.used == used
    assert nl.ones(5).sum() == 5
