"""An index out of range that a GPU finds late is told to who looks at what was computed with it, and to nobody else."""

from __future__ import annotations

import gc
import random
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from apart import stand_in
from numloom.device import complaints, registry
from numloom.engine.doubts import Doubt
from numloom.engine.state import counters, watchers


@pytest.fixture(autouse=True)
def far() -> Iterator[None]:
    """A device whose errors are found late, for all work: the one in use, or a stand-in."""
    if nl.config.executor == "reference":
        pytest.skip("it computes everything at once")
    if registry.current().discrete:
        with nl.config(placement="device"):
            yield
            nl.synchronize()
        return
    with stand_in(), nl.config(placement="device"):
        yield


def places(*numbers: int) -> Any:
    return nl.asarray(np.array(numbers))


def bad_read() -> Any:
    return nl.arange(3.0)[places(0, 5)]


def bad_store() -> Any:
    x = nl.arange(3.0)
    x[places(2) + 3] = 1
    return x


def innocent() -> None:
    assert float((nl.arange(1000.0) + 1).sum()) == 500500
    assert nl.arange(4)[places(3, -4)].tolist() == [3, 0]


BAD: dict[str, Callable[[], Any]] = {
    "a read": bad_read,
    "a store": bad_store,
    "take": lambda: nl.take(nl.arange(6.0).reshape(3, 2), places(1, 3), axis=0),
    "two indices": lambda: nl.arange(6.0).reshape(3, 2)[places(0, 1), places(0, 2)],
    "read and more": lambda: nl.sqrt(bad_read() * 2 + 1),
    "a reduction": lambda: bad_read().sum(),
    "a view": lambda: bad_read()[::-1][:1],
    "sorted": lambda: nl.sort(bad_read()),
    "a product": lambda: nl.ones((3, 2)) @ bad_read(),
    "a mask": lambda: nl.arange(2.0)[bad_read() > 0],
    "chosen": lambda: bad_read()[nl.asarray([True, False])],
    "updated": lambda: _updated(),
    "scanned": lambda: nl.cumsum(bad_read()),
    "stored elsewhere": lambda: _stored(),
    "added at": lambda: _added(),
    "reduceat": lambda: nl.add.reduceat(nl.arange(4.0), places(0, 4)),
}  # fmt: skip


def _updated() -> Any:
    x = nl.zeros((2, 2))
    x[1] += bad_read()
    return x


def _stored() -> Any:
    x = nl.zeros(4)
    x[places(1, 2)] = bad_read()
    return x


def _added() -> Any:
    x = nl.zeros(4)
    nl.add.at(x, places(1, -5), 1)
    return x


@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("what", BAD)
def test_who_looks_at_it_is_told_and_nobody_else(what: str, looked: bool) -> None:
    for _ in range(4):
        with pytest.raises(IndexError, match=r"out.of.bounds"):
            value = BAD[what]()  # Of the stand-in the host is told here, where its own routines look at operands.
            innocent()
            if looked:
                nl.evaluate(value)
                innocent()
            value.tolist()
        innocent()
        value = None
    nl.synchronize()


def test_index_and_size_are_said() -> None:
    value = nl.arange(7.0)[places(1, -9, 2)] + 1
    innocent()
    with pytest.raises(
        IndexError, match=r"index -9 is out of bounds for an axis with size 7; recorded at .*test_doubts"
    ):
        value.tolist()


def test_a_wrong_value_stays_wrong() -> None:
    value = bad_read()
    other = value + 1
    for _ in range(3):
        for one in (value, other, value[:1], value * 0):
            with pytest.raises(IndexError):
                one.tolist()
    innocent()


def test_after_a_failed_store_the_array_is_what_it_was() -> None:
    x = bad_store()
    derived = x + 1
    with pytest.raises(IndexError):
        x.tolist()
    assert x.tolist() == [0, 1, 2]
    with pytest.raises(IndexError):
        derived.tolist()
    x[places(0)] = 9
    assert x.tolist() == [9, 1, 2]


@pytest.mark.filterwarnings("ignore:.*nothing is left that depends on it:RuntimeWarning")
def test_what_is_written_anew_is_right() -> None:
    x = bad_store()
    x[:] = 4
    assert x.tolist() == [4, 4, 4]
    y = nl.zeros(2)
    y[1:] = bad_read()[1:]
    with pytest.raises(IndexError):
        y.tolist()
    y[...] = 1
    assert y.tolist() == [1, 1]


def test_synchronize_tells_once() -> None:
    value = bad_read()
    with pytest.raises(IndexError):
        nl.synchronize()
    nl.synchronize()
    innocent()
    with pytest.raises(IndexError):
        value.tolist()
    nl.synchronize()


def test_what_nobody_has_any_more_is_warned_of() -> None:
    x = bad_store()
    nl.evaluate(x)
    del x
    with pytest.warns(RuntimeWarning, match=r"out of bounds.*nothing is left that depends on it"):
        innocent()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        innocent()
        nl.synchronize()


def test_thousands_of_reads_without_a_look() -> None:
    source, total = nl.arange(5.0), nl.zeros(2)
    wrong, right = [], []
    for number in range(3 * complaints.SLOTS):
        bad = number % 1000 == 777
        read = source[places(1, 5 if bad else 4)]
        nl.evaluate(read)
        (wrong if bad else right).append(read)
        if not bad:
            total = total + read
    assert total.tolist() == [len(right), 4.0 * len(right)]
    for one in wrong:
        with pytest.raises(IndexError, match="index 5 "):
            one.tolist()
    for one in right[::100]:
        assert one.tolist() == [1, 4]


@pytest.mark.filterwarnings("ignore:.*nothing is left that depends on it:RuntimeWarning")
@pytest.mark.parametrize("before", [1021, 1022, 1023, 1024])
def test_much_in_doubt_before_a_wrong_one(before: int) -> None:
    """What makes room for more does not hear of what is not launched yet."""
    source, good, bad, other = nl.arange(5.0), places(1, 2), places(1, 7), places(0, 1)
    nl.evaluate(source, good, bad, other)
    kept = []
    for _ in range(before):
        kept.append(source[good])
        nl.evaluate(kept[-1])
    z = source[bad] + source[other]
    nl.evaluate(z)
    x = nl.zeros(3)
    x[bad] = 1.0
    y = x + 1
    innocent()
    for one in (z, x, y):
        with pytest.raises(IndexError):
            one.tolist()
    assert kept[7].tolist() == [1, 2]


def test_threads_that_look_at_the_same_time() -> None:
    """A look takes what was found; whoever it belongs to is told."""
    source, good, bad = nl.arange(5.0), places(1, 2), places(1, 7)
    y = source + 1
    nl.evaluate(y, good, bad)
    ended, wrong = threading.Event(), []

    def look() -> None:
        while not ended.is_set():
            try:
                if y.tolist() != [1, 2, 3, 4, 5]:
                    wrong.append("a number")
            except IndexError:
                wrong.append("an innocent look was told")

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for turn in range(150):
            x = (source[bad] + source[good]) if turn % 2 else nl.zeros(9)
            try:
                if not turn % 2:
                    x[bad + 3] = 1.0
                x.tolist()
                wrong.append(f"not told in turn {turn}")
            except IndexError:
                pass
    finally:
        ended.set()
        thread.join()
    assert wrong == []


def test_a_wait_that_is_refused_forgets_nothing() -> None:
    value, wrong = nl.arange(5.0)[places(1, 2)], bad_read()
    nl.evaluate(value, wrong)
    watchers.append(refuse)
    try:
        with pytest.raises(KeyError):
            value.tolist()
    finally:
        watchers.remove(refuse)
    assert value.tolist() == [1, 2]
    with pytest.raises(IndexError):
        wrong.tolist()


def refuse(to_device: bool, nbytes: int) -> None:
    raise KeyError("a watcher")


def test_what_is_computed_from_a_failed_store_is_not_forgiven() -> None:
    x, y = bad_store(), nl.zeros(2)
    w, v = x + 1, nl.sort(x)
    y[places(0, 1)] = x[:2]
    for one in (w, v, y, w, v, y):
        with pytest.raises(IndexError):
            one.tolist()
    x[places(1)] = 5
    with pytest.raises(IndexError):
        x.tolist()
    assert x.tolist() == [0, 5, 2]


def test_a_chain_of_wrong_values_does_not_grow() -> None:
    gc.collect()
    before, x, source = counters.doubts, bad_read(), nl.arange(3.0)
    for _ in range(50):
        x = x * 0.5 + source[places(1, 2)]
        nl.evaluate(x)
        innocent()
    gc.collect()
    assert counters.doubts - before < 5
    with pytest.raises(IndexError):
        x.tolist()


def test_two_that_share_a_slot_are_both_wrong() -> None:
    source, index = nl.arange(5.0), places(1, 7)
    first = source[index]
    for _ in range(complaints.SLOTS - 1):
        source[index]  # It takes a number, and never runs.
    second, third = source[index], source[places(0, 1)]
    nl.evaluate(first, second, third)
    assert third.tolist() == [0, 1]
    for one in (first, second):
        with pytest.raises(IndexError):
            one.tolist()


def test_compiled_functions() -> None:
    x, i = nl.symbol("x", (5,)), nl.symbol("i", (2,), "i8")
    function = nl.function([x, i], nl.sort(x[i]) * 2)
    given = nl.asarray(np.arange(5.0))
    for turn in range(12):
        bad = function(given, places(0, 5))
        assert function(given, places(0, 4)).tolist() == [0, 8], turn
        innocent()
        with pytest.raises(IndexError):
            bad.tolist()
        later = function(given + bad.sum(), places(0, 4))
        innocent()
        with pytest.raises(IndexError):
            later.tolist()


@pytest.mark.parametrize("pending", [False, True])
def test_what_is_wrong_changes_no_shared_variable(pending: bool) -> None:
    w, x = nl.shared(np.zeros(2)), nl.symbol("x", (2,))
    step = nl.function([x], x.sum(), updates=[(w, w + x)])
    for turn in range(12):
        bad = bad_read()
        if not pending:
            nl.evaluate(bad)
        with pytest.raises(IndexError):
            step(bad)
        innocent()
        step(nl.asarray(np.ones(2)))
        assert w.get_value().tolist() == [turn + 1] * 2


def test_loops() -> None:
    x, i = nl.symbol("x", (5,)), nl.symbol("i", (2,), "i8")

    def step(k: Any, s: Any) -> Any:
        return s + nl.take(x, i + k * 0).sum()

    function = nl.function([x, i], nl.fori_loop(0, 40, step, nl.asarray(0.0)))
    given = nl.asarray(np.arange(5.0))
    for _ in range(6):
        bad = function(given, places(0, 5))
        assert float(function(given, places(0, 4))) == 160
        with pytest.raises(IndexError):
            float(bad)
        innocent()


def test_kernels_of_users() -> None:
    if registry.current().name == "stand-in":
        pytest.skip("it has no compiler")
    twice = nl.ElementwiseKernel("float64 x", "float64 y", "y = 2 * x")
    raw = nl.ElementwiseKernel("raw float64 x, float64 z", "float64 y", "y = x[0] + z")
    value = bad_read()
    for one in (twice(value), raw(value, nl.ones(3)), nl.ReductionKernel(
        "float64 x", "float64 y", "x", "a + b", "y = a", "0")(value)):  # fmt: skip
        innocent()
        with pytest.raises(IndexError):
            one.tolist()


def test_nothing_is_kept_in_doubt() -> None:
    gc.collect()
    before = counters.doubts
    for _ in range(5):
        right = nl.sort(nl.arange(9.0)[places(1, 8)] + 1)
        assert right.tolist() == [2, 9]
        wrong = bad_read() + 1
        with pytest.raises(IndexError):
            wrong.tolist()
        del right, wrong
    innocent()
    gc.collect()
    left = [one for one in gc.get_objects() if type(one) is Doubt]
    assert counters.doubts == before, left


def test_on_the_host_beside_it() -> None:
    with nl.config(placement="auto"):
        large = nl.arange(200_000.0)
        bad = large[nl.arange(200_000) + 1].reshape(20_000, 10).sum(0)
        nl.evaluate(bad)
        small = nl.asarray([1.0, 2.0])
        assert (small + 1).tolist() == [2, 3]
        innocent()
        for one in (bad, small.sum() + bad, bad[0]):
            with pytest.raises(IndexError):
                one.tolist()
        assert (small + 1).tolist() == [2, 3]


class World:
    """Arrays of one program and their twins of NumPy; None of what no right value exists of."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ours = [nl.asarray(np.arange(6.0) + k) for k in range(4)]
        self.theirs: list[Any] = [np.arange(6.0) + k for k in range(4)]

    def index(self) -> tuple[Any, Any]:
        numbers = [self.random.randrange(-6, 6) for _ in range(6)]
        bad = self.random.random() < 0.15
        if bad:
            numbers[self.random.randrange(6)] = self.random.choice([6, -7, 1 << 40])
        return places(*numbers), None if bad else np.array(numbers)

    def step(self) -> None:
        pick = self.random.randrange
        a, b, to = pick(4), pick(4), pick(4)
        ours, theirs = self.ours, self.theirs
        known = theirs[a] is not None and theirs[b] is not None
        way = pick(7)
        if way == 0:
            ours[to], theirs[to] = ours[a] - ours[b], theirs[a] - theirs[b] if known else None
        elif way == 1:
            i, j = self.index()
            ours[to], theirs[to] = ours[a][i], None if j is None or theirs[a] is None else theirs[a][j]
        elif way == 2:
            i, j = self.index()
            if a == b or j is None:  # What a failed store leaves has tests of its own.
                return
            x = ours[a].copy()
            x[i] = ours[b]
            y = theirs[a].copy() if known else None
            if y is not None:
                y[j] = theirs[b]
            ours[to], theirs[to] = x, y
        elif way == 3:
            ours[to], theirs[to] = nl.sort(ours[a]), None if theirs[a] is None else np.sort(theirs[a])
        elif way == 4:
            ours[a] += ours[b].sum()
            theirs[a] = theirs[a] + theirs[b].sum() if known else None
        elif way == 5:
            ours[to] = nl.asarray(np.arange(6.0))
            theirs[to] = np.arange(6.0)
        else:
            nl.evaluate(ours[a])

    def look(self) -> None:
        at = self.random.randrange(4)
        if self.theirs[at] is None:
            with pytest.raises(IndexError):
                self.ours[at].get()
        else:
            np.testing.assert_allclose(self.ours[at].get(), self.theirs[at], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*nothing is left that depends on it:RuntimeWarning")
@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed: int) -> None:
    with np.errstate(all="ignore"):
        world = World(seed)
        for _ in range(60):
            wrong = [x is None for x in world.theirs]
            try:
                world.step()
            except IndexError:  # The host looks at operands where a routine is its own; so nothing has changed.
                assert any(wrong) and registry.current().name == "stand-in"
            if world.random.random() < 0.15:
                world.look()
        for _ in range(8):
            world.look()
