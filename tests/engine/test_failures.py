"""An error belongs to the value that has it: the rest runs, stores are kept, and whoever looks at it gets the error."""

from __future__ import annotations

import contextlib
import gc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.base.config import config
from numloom.base.errors import CompileError
from numloom.device import registry
from numloom.engine import evaluate
from numloom.graph.node import live_nodes

HUGE = 1 << 42


def look(x: Any) -> None:
    x[0].get()


LOOKS: dict[str, Callable[[Any], Any]] = {
    "evaluate": nl.evaluate,
    "get": lambda x: x.get(),
    "element": lambda x: float(x[0]),
    "sum": lambda x: float(x.sum()),
    "slice": lambda x: x[3:5].get(),
    "print": str,
    "pointer": lambda x: nl.sort(x),
}


@pytest.fixture(autouse=True)
def _recorded() -> Any:
    """What fails must be recorded first."""
    nl.evaluate()
    with config(eager=False):
        yield
    assert not live_nodes()


@pytest.mark.parametrize("name", LOOKS)
def test_looking_at_a_failed_value_raises_each_time(name: str) -> None:
    huge = nl.ones(HUGE) + 1
    for _ in range(3):
        with pytest.raises(MemoryError):
            LOOKS[name](huge)
        assert (nl.arange(3) + 1).get().tolist() == [1, 2, 3]
    del huge


def test_what_is_left_reads_memory_as_it_was() -> None:
    """Run one by one, a store must not take memory that a later value reads through what both compute inline."""
    host = np.arange(1000.0)
    x = nl.asarray(host)
    both = x[::-1] * 3 + x
    huge = nl.ones(HUGE) + 1
    x[:500] = both[:500]
    later = both * 2
    del both
    with pytest.raises(MemoryError):
        huge.get()
    np.testing.assert_array_equal(later.get(), 2 * (host[::-1] * 3 + host))
    np.testing.assert_array_equal(x.get(), np.concatenate([(host[::-1] * 3 + host)[:500], host[500:]]))


def test_others_run_and_keep_their_stores() -> None:
    x = nl.zeros(6)
    before = x + 1
    huge = nl.ones(HUGE) + 1
    later = huge + 1
    x[2] = 5
    x[4:] = before[:2] * 3
    total = x.sum()
    assert x.get().tolist() == [0, 0, 5, 0, 3, 3]
    assert float(total) == 11
    assert before.get().tolist() == [1] * 6
    x[0] = 7
    x += 1
    nl.evaluate(x)
    assert x.get().tolist() == [8, 1, 6, 1, 4, 4]
    for failed in (huge, later, huge):
        with pytest.raises(MemoryError):
            look(failed)
    y = nl.sort(nl.asarray(np.array([3.0, 1.0, 2.0])) * 2)
    assert y.get().tolist() == [2, 4, 6]


def test_a_store_into_what_fails_and_a_value_made_of_both() -> None:
    huge = nl.ones(HUGE) + 1
    x = nl.arange(4.0)
    huge[1] = 3
    both = x.sum() + huge.max()
    x[1] = 9
    assert x.get().tolist() == [0, 9, 2, 3]
    for _ in range(2):
        with pytest.raises(MemoryError):
            float(huge[1])
    del huge, both
    assert (x + 1).get().tolist() == [1, 10, 3, 4]


def test_synchronize_raises_once_and_goes_on() -> None:
    huge = nl.ones(HUGE) + 1
    x = nl.ones(3) * 2
    with pytest.raises(MemoryError):
        nl.synchronize()
    assert x.get().tolist() == [2, 2, 2]
    nl.synchronize()
    with pytest.raises(MemoryError):
        nl.evaluate(x, huge)
    nl.evaluate(x)


def take_what_is_spare(pool: Any) -> list[Any]:
    """What a pool has left beyond its limit: parts of blocks that other tests' arrays keep stay when it is trimmed."""
    taken = []
    for power in range(40, -1, -1):
        with contextlib.suppress(MemoryError):
            while True:
                taken.append(pool.allocate(1 << power))
    return taken


def test_what_failed_runs_when_there_is_room_again() -> None:
    limit = config.memory_limit
    x = nl.ones(1 << 16) + 1
    taken = []
    for device in registry._devices.values():
        device.pool.trim()
        device.pool.allocate(1 << 24)  # Freed at once: the next one is a part of it, the rest is spare.
        taken.append([device.pool.allocate(1 << 20)])
        device.pool.trim()
    try:
        config.memory_limit = 1
        taken += [take_what_is_spare(device.pool) for device in registry._devices.values()]
        y = nl.full(3, 2.0) * 3
        with pytest.raises(MemoryError):
            look(x)
        with pytest.raises(MemoryError):
            look(y)
    finally:
        config.memory_limit = limit
        taken.clear()
    assert float(x[0]) == 2
    assert y.get().tolist() == [6, 6, 6]


def test_a_loop_that_runs_on_while_a_value_fails() -> None:
    huge = nl.ones(HUGE) + 1
    x, host = nl.arange(5.0), np.arange(5.0)
    with config(max_pending=3):
        for k in range(20):
            x = x * 0.5 + k
            x[k % 5] = k
            host = host * 0.5 + k
            host[k % 5] = k
            if k == 10:
                with pytest.raises(MemoryError):
                    look(huge)
    assert x.get().tolist() == host.tolist()


@pytest.mark.compiler
def test_a_kernel_that_is_refused_keeps_nobodys_arrays() -> None:
    """What is remembered of it has no traceback, whose frames have the arrays of all callers."""
    bad = nl.ElementwiseKernel("T x", "T y", "y = no_such_function(x)", "is_refused")

    def work() -> str:
        mine = nl.ones(50_000) + 1
        nl.evaluate(mine)
        try:
            with config(cpu_compile="wait"):
                bad(mine).get()
        except CompileError as error:
            return str(error)
        return ""

    assert "no_such_function" in work()
    gc.collect()
    before = registry.current().pool.used
    for _ in range(3):
        assert "no_such_function" in work()
        gc.collect()
        assert registry.current().pool.used == before
    bad = nl.ReductionKernel("T x", "T y", "no_such_function(x)", "a + b", "y = a", "0", "is_refused_too")
    assert "no_such_function" in work()
    gc.collect()
    assert registry.current().pool.used == before


@pytest.mark.parametrize(("kind", "warned"), [(IndexError, False), (MemoryError, False), (SystemError, True)])
def test_what_runs_one_by_one_and_not_together_is_told(kind: type[Exception], warned: bool) -> None:
    """Not of an index out of range: work that was launched tells of it late, and only its own values have it."""
    values = [nl.arange(5.0) + 1, nl.arange(7.0) * 2]
    nodes = [node_of(value) for value in values]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate.run_apart(nodes, kind("of something else"))
    assert [one.category for one in caught] == [RuntimeWarning] * warned
    assert values[0].tolist() == [1, 2, 3, 4, 5]
    assert values[1].tolist() == [0, 2, 4, 6, 8, 10, 12]
