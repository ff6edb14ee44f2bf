"""Any view of an array is written into any other view of it, on every executor and on every path to a plan.

Run more of them with ``NUMLOOM_PROGRAMS=100000``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from view_writes import Sizes, check, draw_form, expected, run
from worlds import PROGRAMS, load_loops

import numloom as nl
from numloom.base.errors import MissingDependencyError
from numloom.engine.evaluate import run_roots
from numloom.graph.node import live_nodes
from numloom.testing import assert_bits_equal

PARTS = 4
TIMES = 12
"""How often a form runs: with other sizes, and every fourth time with the same ones."""

TARGETS: dict[str, Callable[[Any], Any]] = {
    "rows reversed": lambda v: v[::-1],
    "columns reversed": lambda v: v[:, ::-1],
    "both reversed": lambda v: v[::-1, ::-1],
    "transposed, reversed": lambda v: v.T[::-1],
    "inner part, reversed": lambda v: v[3:0:-1, 1:4],
    "every other, reversed": lambda v: v[::-2],
}
VALUES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda v: v,
    "copy": lambda v: v.copy(),
    "astype": lambda v: v.astype(v.dtype),
    "view": lambda v: v.view(),
    "real": lambda v: v.real,
    "transposed": lambda v: v.T,
    "sum": lambda v: v + v[::-1],
}

WAYS: dict[str, Callable[[Any, Any], None]] = {
    "subscript": lambda xp, v: v.__setitem__(slice(None, None, -1), v),
    "flip": lambda xp, v: xp.flip(v).__setitem__(..., v),
    "copyto": lambda xp, v: xp.copyto(v[::-1], v),
    "rot90": lambda xp, v: xp.rot90(v.reshape(20, -1), 2).__setitem__(..., v.reshape(20, -1)),
}


@pytest.fixture(scope="module", autouse=True)
def loops() -> None:
    """Nothing is compiled for a program."""
    load_loops()


@pytest.fixture(params=["compiled", "interpreted", "eager", "reference"])
def running(request: pytest.FixtureRequest) -> Any:
    """Each way to run; a device with one way only has no other."""
    changes: dict[str, Any] = {
        "compiled": {"cpu_compile": "wait"},
        "interpreted": {"cpu_compile": "never"},
        "eager": {"cpu_compile": "never", "eager": True},
        "reference": {"executor": "reference"},
    }[request.param]
    with nl.config(**changes):
        yield request.param


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("target", TARGETS)
def test_an_array_is_written_into_its_views(running: Any, target: str, value: str) -> None:
    for n in (5, 40):
        host = np.arange(float(n * n)).reshape(n, n)
        there, mine = host.copy(), nl.asarray(host) + 0
        for _ in range(2):
            part = VALUES[value](there).copy()
            to, mine_to = TARGETS[target](there), TARGETS[target](mine)
            to[...] = part[: to.shape[0], : to.shape[1]]
            mine_to[...] = VALUES[value](mine)[: to.shape[0], : to.shape[1]]
        assert_bits_equal(mine, there)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [20, 300_000])
def test_a_vector_is_reversed_in_place(running: Any, way: str, n: int) -> None:
    mine = nl.arange(float(n)) + 0
    WAYS[way](nl, mine)
    assert_bits_equal(mine, np.arange(float(n))[::-1])


def check_forms(first: int, count: int, times: int = TIMES) -> None:
    """Run forms, each so many times in this process."""
    ran = 0
    for number in range(first, first + count):
        form = draw_form(random.Random(number))
        for k in range(times):
            ran += check(form, number * times + k - (k % 4 == 3))
    assert not count or ran > count


@pytest.mark.parametrize("part", range(PARTS))
def test_views_of_an_array_are_written_into_others(part: int) -> None:
    count = max(PROGRAMS // TIMES // PARTS, 1)
    with nl.config(cpu_compile="never"):
        check_forms(1 + part * count, count)


def test_small_writes_that_are_planned() -> None:
    """As large ones are: without a plan each operation runs by itself."""
    with nl.config(cpu_compile="never", unplanned=0):
        check_forms(1, max(PROGRAMS // 50, 1))


def test_values_that_run_one_by_one_in_any_order() -> None:
    """As they do after an error: what has not run yet reads memory as it was when it was recorded."""
    with nl.config(cpu_compile="never", unplanned=0):
        for number in range(1, max(PROGRAMS // 2, 500)):
            form = draw_form(random.Random(number))
            sizes = Sizes(5 * number, form)
            want = expected(form, sizes)
            if want is None:
                continue
            try:
                have = run(nl, form, sizes)
                waiting = live_nodes()
                random.Random(number).shuffle(waiting)
                for node in waiting:
                    if node.buffer is None:
                        run_roots([node])
                found = [np.asarray(x.get() if isinstance(x, nl.ndarray) else x) for x in have]
            except MissingDependencyError:
                continue
            for x, y in zip(found, want, strict=True):
                assert np.array_equal(x, y), (form, number)


def test_values_of_one_executor_are_those_of_another() -> None:
    if nl.config.executor == "reference":
        pytest.skip("it is the only one")
    with nl.config(executor="reference"):
        check_forms(1, max(PROGRAMS // 100, 1))


@pytest.mark.slow
def test_compiled_writes() -> None:
    """Fused kernels from the host's compiler, waited for: few forms, many sizes."""
    if nl.config.executor == "reference":
        pytest.skip("the reference executor compiles nothing")
    with nl.config(cpu_compile="wait"):
        check_forms(1, max(PROGRAMS // 600, 2), 60)
