"""What is recorded as a tree is a state of one thread, or of one task: others compute as ever meanwhile.

Threads take turns by events, so that only one runs at a time: the uncompiled core can do no more.
"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.graph.again import in_full, learning
from numloom.graph.node import recording_here, register, tracing

HOST = np.arange(12.0).reshape(3, 4)

pytestmark = pytest.mark.filterwarnings("ignore:numloom runs without its compiled core")


class Turns:
    """Another thread that runs what it is given, while this one waits."""

    def __init__(self) -> None:
        self.work: Callable[[], Any] | None = None
        self.go, self.done = threading.Event(), threading.Event()
        self.found: Any = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        while True:
            self.go.wait()
            self.go.clear()
            if self.work is None:
                return
            try:
                self.found = self.work()
            except BaseException as error:
                self.found = error
            self.done.set()

    def __call__(self, work: Callable[[], Any]) -> Any:
        self.work = work
        self.done.clear()
        self.go.set()
        assert self.done.wait(60)
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found

    def close(self) -> None:
        self.work = None
        self.go.set()
        self.thread.join()


@pytest.fixture
def other() -> Iterator[Turns]:
    turns = Turns()
    yield turns
    turns.close()


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Whatever happens, nothing is recorded as a tree afterwards."""
    assert register.tracing == 0
    yield
    gc.collect()
    assert register.tracing == 0 and not tracing() and not learning()
    assert float(nl.asarray([1.0, 2.0])[nl.asarray([True, False])].sum()) == 1.0


def plain() -> None:
    """Plain code that a tree refuses, or would leave pending."""
    x = nl.asarray(HOST)
    np.testing.assert_array_equal(x[x > 5].get(), HOST[HOST > 5])
    np.testing.assert_array_equal(nl.unique(x % 3).get(), np.unique(HOST % 3))
    np.testing.assert_array_equal(nl.sort(-x, axis=1).get(), np.sort(-HOST, axis=1))
    assert float(x.sum()) == HOST.sum()
    assert bool((x > 3).any())
    y = x * 2
    y[0] = 1
    assert y[1, 1] == 10
    assert nl.random.default_rng(5).random(3).tolist() == nl.random.default_rng(5).random(3).tolist()


def update() -> None:
    """A function with updates, which a tree refuses."""
    w = nl.shared(1.0, "w")
    f = nl.function([], w * 2, updates=[(w, w + 1)])
    assert [float(f()) for _ in range(3)] == [2.0, 4.0, 6.0]
    assert w.get_value() == 4.0


OTHERS = [plain, update]


@pytest.mark.parametrize("work", OTHERS)
def test_plain_code_beside_a_tree_that_is_recorded(work: Callable[[], None], other: Turns) -> None:
    with nl.symbolic():
        other(work)
        tree = nl.asarray(HOST) * 2
        assert tracing() and tree.storage.value.tree
        other(work)
    np.testing.assert_array_equal(tree.asnumpy(), HOST * 2)


@pytest.mark.parametrize("work", OTHERS)
@pytest.mark.parametrize("way", ["grad", "compile", "function", "jacobian", "scan"])
def test_plain_code_beside_each_way_of_tracing(way: str, work: Callable[[], None], other: Turns) -> None:
    met: list[bool] = []

    def cost(x: Any) -> Any:
        y = (x * x).sum()
        met.append(tracing())
        other(work)
        return y + x.sum()

    x = nl.asarray(HOST)
    if way == "grad":
        np.testing.assert_array_equal(nl.grad(cost)(x).get(), 2 * HOST + 1)
    elif way == "compile":
        assert float(nl.compile(cost)(x)) == (HOST * HOST).sum() + HOST.sum()
    elif way == "function":
        s = nl.symbol("s", (3, 4))
        assert float(nl.function([s], cost)(x)) == (HOST * HOST).sum() + HOST.sum()
    elif way == "jacobian":
        np.testing.assert_array_equal(nl.jacobian(lambda x: cost(x) * nl.asarray([1.0, 2.0]))(x).get()[0], 2 * HOST + 1)
    else:
        s = nl.symbol("s", (40,))
        f = nl.function([s], lambda s: nl.scan(lambda a, x: (a + cost(x.reshape(1)), a), nl.asarray(0.0), s)[0])
        row = np.arange(40.0)
        assert float(f(row)) == (row * row + row).sum()
    assert met and all(met)


def test_two_threads_record_at_once(other: Turns) -> None:
    """Also where the one that began first ends first."""
    mine, theirs = nl.symbolic(), nl.symbolic()
    mine.__enter__()
    other(theirs.__enter__)
    ours = nl.asarray(HOST) + 1
    other(lambda: nl.asarray(HOST) + 2)
    mine.__exit__(None, None, None)
    assert not tracing() and other(tracing)
    plain()
    assert other(lambda: node_of(nl.asarray(HOST) * 2).tree)
    other(lambda: theirs.__exit__(None, None, None))
    assert not other(tracing)
    np.testing.assert_array_equal(ours.asnumpy(), HOST + 1)


def test_draws_belong_to_the_function_that_took_them(other: Turns) -> None:
    rng, others = nl.random.default_rng(1), nl.random.default_rng(2)

    def draws(x: Any) -> Any:
        first = rng.random(4)
        other(lambda: nl.function([], lambda: others.random(4))())
        return first + x * 0

    f = nl.function([nl.symbol("x", (4,))], draws)
    want = nl.random.default_rng(1)
    for _ in range(3):
        np.testing.assert_array_equal(f(np.zeros(4)).get(), want.random(4).get())


def test_work_that_is_begun_in_one_thread_and_ended_in_another(other: Turns) -> None:
    x = nl.asarray(HOST)
    pending = x * 3
    with nl.symbolic():
        tree = pending + x
        np.testing.assert_array_equal(other(lambda: (pending - 1).get()), HOST * 3 - 1)
        np.testing.assert_array_equal(other(lambda: tree.asnumpy()), HOST * 4)
        handed = other(lambda: x + 1)
        more = handed * tree
    np.testing.assert_array_equal(other(lambda: (tree + handed).get()), HOST * 5 + 1)
    np.testing.assert_array_equal(other(lambda: more.get()), (HOST + 1) * HOST * 4)


def test_results_of_routines_of_two_trees(other: Turns) -> None:
    """What a routine of several results gave is kept for the tree that is computed, and for no other."""
    host = HOST[:, :3] + 7 * np.eye(3)
    with nl.symbolic():
        u, s, v = nl.linalg.svd(nl.asarray(host))
        whole = (u * s) @ v
    with nl.symbolic():
        np.testing.assert_allclose(other(lambda: whole.get()), host)
        assert other(lambda: recording_here.get()) is None
    np.testing.assert_allclose(whole.get(), host)


def test_all_calls_in_full_is_counted(other: Turns) -> None:
    """Whoever ends first leaves it to the other, and the last one ends it."""
    from numloom.graph import again

    mine, theirs = in_full(), in_full()
    mine.__enter__()
    other(theirs.__enter__)
    mine.__exit__(None, None, None)
    assert again._off if hasattr(again, "_off") else True
    other(lambda: theirs.__exit__(None, None, None))
    assert not getattr(again, "_off", False)


def test_tasks_that_take_turns_while_one_records() -> None:
    async def recorded(number: int) -> Any:
        with nl.symbolic():
            tree = nl.asarray(HOST) * number
            await asyncio.sleep(0)
            assert tracing()
            tree = tree + 1
            await asyncio.sleep(0)
            assert tracing()
            return tree

    async def computed() -> None:
        for _ in range(4):
            plain()
            update()
            await asyncio.sleep(0)
            assert not tracing()

    async def main() -> Any:
        return await asyncio.gather(recorded(2), computed(), recorded(3), computed())

    two, _, three, _ = asyncio.run(main())
    np.testing.assert_array_equal(two.get(), HOST * 2 + 1)
    np.testing.assert_array_equal(three.get(), HOST * 3 + 1)


def test_a_task_begun_while_a_tree_is_recorded_records_until_that_ends() -> None:
    """It has a copy of what was there when it was made, as of all that belongs to a context."""

    async def main() -> None:
        met = []

        async def child() -> None:
            met.append(tracing())
            await asyncio.sleep(0)
            met.append(tracing())
            plain()

        with nl.symbolic():
            task = asyncio.create_task(child())
            await asyncio.sleep(0)
        await task
        assert met == [True, False]

    asyncio.run(main())


class Stop(Exception):
    """Ends a test's function."""


@pytest.mark.parametrize("way", ["grad", "compile", "function", "symbolic", "scan", "vjp"])
def test_an_error_while_tracing(way: str) -> None:
    def fails(*args: Any) -> Any:
        assert tracing()
        raise Stop

    x = nl.asarray(HOST)
    with pytest.raises(Stop):
        if way == "grad":
            nl.grad(fails)(x)
        elif way == "compile":
            nl.compile(fails)(x)
        elif way == "function":
            nl.function([nl.symbol("x", (3, 4))], fails)(x)
        elif way == "scan":
            nl.function([nl.symbol("x", (40,))], lambda x: nl.scan(fails, nl.asarray(0.0), x))
        elif way == "vjp":
            nl.vjp(fails, x)
        else:
            with nl.symbolic():
                fails()
    plain()


def _trees() -> Iterator[Any]:
    with nl.symbolic():
        yield nl.asarray(HOST) + 1
        yield nl.asarray(HOST) + 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_suspended_generators_that_end_in_any_order(order: tuple[int, int]) -> None:
    """Each stops what it began and nothing else, as it does not when what was there before is put back."""
    several = [_trees(), _trees()]
    for one in several:
        next(one)
    assert tracing()
    several[order[0]].close()  # type: ignore[attr-defined]
    assert tracing()
    several[order[1]].close()  # type: ignore[attr-defined]
    assert not tracing()
    plain()


def test_a_suspended_generator_that_another_thread_lets_go(other: Turns) -> None:
    one = _trees()
    tree = next(one)
    with nl.symbolic():
        other(one.close)  # type: ignore[attr-defined]
        assert tracing() and not other(tracing)
        more = tree * 2
    assert not tracing()
    plain()
    other(plain)
    np.testing.assert_array_equal(more.get(), (HOST + 1) * 2)


def test_a_thread_that_ends_within_a_tree() -> None:
    """Nobody else records one; what it held is let go with it."""
    kept = []

    def work() -> None:
        kept.append(nl.symbolic())
        kept[0].__enter__()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert register.tracing == 1 and not tracing()
    plain()
    update()
    kept.clear()
    gc.collect()


def test_many_threads_each_in_turn(other: Turns) -> None:
    """Recordings of many threads that are open at once, ended in another order than they were begun."""
    turns = [Turns() for _ in range(6)]
    try:
        opened = [nl.symbolic() for _ in turns]
        for turn, one in zip(turns, opened, strict=True):
            turn(one.__enter__)
            plain()
        for number in (3, 0, 5, 1, 4, 2):
            assert turns[number](tracing)
            turns[number](lambda one=opened[number]: one.__exit__(None, None, None))
            assert not turns[number](tracing)
            turns[number](plain)
            other(update)
    finally:
        for turn in turns:
            turn.close()
