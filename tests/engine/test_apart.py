"""A device whose memory the host does not see, as a GPU's, with the kernels of the host: elements are pending there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from apart import apart as memory_apart
from apart import stand_in
from compilers import needed
from numloom.array.ndarray import node_of
from numloom.base.config import config
from numloom.device import registry
from numloom.engine.guard import guard
from numloom.graph.node import LEAF

pytestmark = pytest.mark.skipif(
    registry.current().discrete or config.executor == "reference", reason="a GPU is one, the reference has none"
)


@pytest.fixture
def apart() -> Iterator[Any]:
    needed()
    with memory_apart() as device, nl.config(cpu_compile="wait"):
        device.interprets = False
        yield device


def test_elements_are_pending(apart: Any) -> None:
    x = nl.asarray(np.arange(6.0)) * 2
    nl.evaluate(x)
    assert node_of(x).kind == LEAF and node_of(x[2]).kind != LEAF
    x[2] = x[1] * 0.5
    assert x.tolist() == [0, 2, 1, 6, 8, 10]


def jumping(x: Any) -> None:
    for k in range(9):
        x[x[k]] = x[x[x[k]]]


def swapping(x: Any) -> None:
    for k in range(9):
        i, j = x[k] % 9, x[8 - k] % 9
        x[i], x[j] = x[j], x[i]


def counting(x: Any) -> None:
    for k in range(9):
        x[x[k] % 9] += 1


def copying(x: Any) -> None:
    for k in range(1, 9):
        x[x[k - 1 : k].copy() % 9] = x[k] + x[x[k] % 9]


def slicing(x: Any) -> None:
    for k in range(1, 8):
        x[k:] += x[x[k] % 9]
        x[:k] -= x[k - 1]


@pytest.mark.parametrize("program", [jumping, swapping, counting, copying, slicing])
@pytest.mark.parametrize("dtype", ["i8", "i4"])
def test_a_write_at_an_index_that_is_an_element(apart: Any, program: Any, dtype: str) -> None:
    """A learned call takes an index that was computed from the array itself for no part of that array."""
    for seed in range(6):
        x = np.random.default_rng(seed).integers(0, 9, 9).astype(dtype)
        y = nl.asarray(x.copy())
        program(x)
        program(y)
        assert y.tolist() == x.tolist(), seed


def test_calls_of_elements(apart: Any) -> None:
    """Other elements in each call: as numbers, as bounds, as operands."""
    for name, call in {
        "clip": lambda xp, x, k: xp.clip(x, x[k], x[k] + 2),
        "take": lambda xp, x, k: xp.take(x, xp.argsort(x)[k : k + 2]),
        "where": lambda xp, x, k: xp.where(x > x[k], x - x[k], x[k]),
        "interp": lambda xp, x, k: xp.interp(x, [0.0, 4, 9], [1.0, 2, 5]) * x[k],
        "searchsorted": lambda xp, x, k: xp.searchsorted(xp.sort(x), x[k : k + 3]),
        "roll": lambda xp, x, k: xp.roll(x, k) * x[k],
    }.items():
        for seed in range(6):
            x = np.random.default_rng(seed).permutation(9).astype(float)
            y = nl.asarray(x)
            np.testing.assert_allclose(nl.asnumpy(call(nl, y, seed)), call(np, x, seed), rtol=1e-14, err_msg=name)


ROUTINES = {
    "a sort": lambda xp, x: xp.sort(x),
    "a product": lambda xp, x: x.reshape(300, 20).T @ x.reshape(300, 20),
    "a selection": lambda xp, x: xp.compress((x > 0) & (x < 9), x),
    "distinct values": lambda xp, x: xp.unique(x),
    "places of numbers": lambda xp, x: xp.nonzero(x)[0],
}


@pytest.mark.parametrize("name", ROUTINES)
def test_what_a_routine_queues_is_one_piece(name: str) -> None:
    """Another thread launches nothing between its launches, which may share scratch memory and parameters."""
    with stand_in() as device, nl.config(placement="device"):
        owners, find = [], device.routine

        def noted(routine: Any) -> Any:
            def run(*given: Any, **options: Any) -> Any:
                owners.append(guard.owner)
                return routine(*given, **options)

            return run

        bind = device.bound_routine
        device.routine = lambda routine: noted(find(routine))
        device.bound_routine = lambda *given, **options: (lambda found: found and noted(found))(bind(*given, **options))
        host = np.arange(6000.0)[::-1].copy()
        for _ in range(4):
            np.testing.assert_array_equal(ROUTINES[name](nl, nl.asarray(host)).get(), ROUTINES[name](np, host))
        assert owners
        assert {*owners} == {threading.get_ident()}
        assert not guard.owner


def test_widths_and_values_of_pad_may_lie_there() -> None:
    host = np.arange(6.0).reshape(2, 3)
    with stand_in(), nl.config(placement="device", host_copy="raise"):
        widths, values = np.array([[1, 2], [0, 1]]), np.array([[7.0, 8.0], [9.0, 10.0]])
        got = nl.pad(nl.asarray(host), nl.asarray(widths), constant_values=nl.asarray(values))
        np.testing.assert_array_equal(got.get(), np.pad(host, widths, constant_values=values))
        got = nl.pad(nl.asarray(host), 1, "linear_ramp", end_values=(nl.asarray(values)[0, 0], 3))
        np.testing.assert_array_equal(got.get(), np.pad(host, 1, "linear_ramp", end_values=(7.0, 3)))


def test_a_stand_in_within_another_leaves_it() -> None:
    """As where a test has one of its own under ``--device beside``; once two devices have memory each is asked for."""
    host = np.arange(6.0)
    with stand_in() as outer, nl.config(placement="device"):
        x = nl.asarray(host) + 1
        nl.evaluate(x)
        with stand_in() as inner, nl.config(placement="device"):
            y = nl.asarray(host) * 2
            nl.evaluate(y)
            assert [registry.holder(node_of(one).buffer) for one in (x, y)] == [outer, inner]
            assert registry.get(inner.name) is inner
            np.testing.assert_array_equal(y.get(), host * 2)
            np.testing.assert_array_equal(x.get(), host + 1)
            del y
        assert registry.holder(node_of(x).buffer) is outer and registry.get(outer.name) is outer
        np.testing.assert_array_equal((x * 3).get(), (host + 1) * 3)
