"""What runs while memory is asked for: hooks, and threads that have their turn then, write to operands, look at values.

A hook in the same thread does at a known place what another thread may do there.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.device import registry
from numloom.engine.guard import guard
from numloom.graph.node import register

pytestmark = pytest.mark.skipif(registry.current().discrete, reason="the hook is the host's")

RNG = np.random.default_rng(5)
BEFORE: dict[str, Any] = {
    "x": np.array([3.5, -1.0, 2.0, 8.0, -4.25, 1.0]),
    "y": np.array([1.0, 2.0, -3.0, 0.5, 6.0, 7.0]),
    "n": np.array([3, 1, 4, 1, 5, 9], np.int32),
    "i": np.array([5, 0, 3, 3, 1]),
    "b": np.array([True, False, False, True, False, False]),
    "m": np.arange(24.0).reshape(4, 6) - 11,
    "t": RNG.random((4, 6)) < 0.2,
    "w": np.arange(900.0) % 31 - 9,
    "p": np.arange(40.0) - 20,
    "q": np.arange(900) % 7 == 0,
}
AFTER: dict[str, Any] = {
    "x": np.array([0.5, 1.5, 2.5, -3.5, 4.5, 5.5]),
    "y": np.array([9.0, -8.0, 7.0, 6.0, 5.0, -4.0]),
    "n": np.array([2, 7, 1, 8, 2, 8], np.int32),
    "i": np.array([1, 1, 2, 0, 4]),
    "b": np.array([True] * 6),
    "m": np.arange(24.0).reshape(4, 6)[::-1] * 0.5,
    "t": np.ones((4, 6), bool),
    "w": np.arange(900.0) % 13,
    "p": np.arange(40.0) * 3,
    "q": np.ones(900, bool),
}

OPERATIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "sum of two": ("xy", lambda xp, x, y: x + y),
    "and a number": ("x", lambda xp, x: x * 2.5),
    "after a cast": ("xn", lambda xp, x, n: x + n),
    "compared": ("xy", lambda xp, x, y: x < y),
    "of one": ("x", lambda xp, x: -x),
    "a function": ("x", lambda xp, x: xp.sqrt(abs(x))),
    "broadcast": ("mx", lambda xp, m, x: m - x),
    "of a view": ("x", lambda xp, x: x[::-2] + 1),
    "turned": ("m", lambda xp, m: m.T * 2),
    "rows and a vector": ("mx", lambda xp, m, x: m @ x),
    "a vector and columns": ("xm", lambda xp, x, m: x @ m.T),
    "two vectors": ("xy", lambda xp, x, y: x @ y),
    "sum": ("m", lambda xp, m: m.sum(axis=0)),
    "largest": ("m", lambda xp, m: m.max(axis=1)),
    "place of the largest": ("m", lambda xp, m: m.argmax(axis=1)),
    "mean": ("m", lambda xp, m: m.mean(axis=0)),
    "count": ("b", lambda xp, b: b.sum()),
    "at indices": ("xi", lambda xp, x, i: x[i]),
    "rows at indices": ("mi", lambda xp, m, i: m[i % 4]),
    "at a list": ("x", lambda xp, x: x[[0, 2, -1]]),
    "at two lists": ("m", lambda xp, m: m[[0, 1, 3], [2, 5, 0]]),
    "at an index and an array": ("mi", lambda xp, m, i: m[1, i]),
    "taken": ("xi", lambda xp, x, i: xp.take(x, i)),
    "at a mask": ("xb", lambda xp, x, b: x[b]),
    "rows at a mask": ("mb", lambda xp, m, b: m[b[:4]]),
    "at a mask of two axes": ("mt", lambda xp, m, t: m[t]),
    "turned, at a mask": ("mt", lambda xp, m, t: m.T[t.T]),
    "at a long mask": ("wq", lambda xp, w, q: w[q]),
    "places": ("t", lambda xp, t: xp.nonzero(t)[1]),
    "places of a vector": ("b", lambda xp, b: xp.flatnonzero(b)),
    "chosen": ("bxy", lambda xp, b, x, y: xp.where(b, x, y)),
    "sorted": ("x", lambda xp, x: xp.sort(x)),
    "order": ("n", lambda xp, n: xp.argsort(n, kind="stable")),
    "running sum": ("x", lambda xp, x: xp.cumsum(x)),
    "differences": ("x", lambda xp, x: xp.diff(x)),
    "joined": ("xy", lambda xp, x, y: xp.concatenate([x, y])),
    "stacked": ("xy", lambda xp, x, y: xp.stack([x, y])),
    "rows joined": ("m", lambda xp, m: xp.vstack([m, m])),
    "interpolated": ("xi", lambda xp, x, i: xp.interp(xp.asarray([0.5, 2.5]), xp.arange(6.0), x)),
    "where they belong": ("xi", lambda xp, x, i: xp.searchsorted(xp.arange(-5.0, 5.0), x)),
    "counted": ("i", lambda xp, i: xp.bincount(i, minlength=8)),
    "copied": ("x", lambda xp, x: x.copy()),
    "copied in order": ("m", lambda xp, m: m.T.copy()),
    "converted": ("x", lambda xp, x: x.astype("f4")),
    "repeated": ("x", lambda xp, x: xp.repeat(x, 2)),
    "elements of a list": ("x", lambda xp, x: xp.asarray([x[0], 2.0, x[3]])),
    "rows of a list": ("x", lambda xp, x: xp.asarray([[1.0, 2.0], [3.0, 4.0]])),
    "a chain": ("xy", lambda xp, x, y: xp.exp(-(x * x) * 0.01) + y),
    "long": ("w", lambda xp, w: w * 2 + 1),
    "long and reduced": ("w", lambda xp, w: (w * w).sum()),
    "all pairs": ("p", lambda xp, p: (p[:, None] - p[None, :]) ** 2),
    "unwritten": ("x", lambda xp, x: xp.zeros(5)),
    "counting": ("x", lambda xp, x: xp.arange(9)),
}
"""What short ways are taken for: the arrays that are read, and what is done with them."""


def whole(arrays: dict[str, Any]) -> None:
    for name, array in arrays.items():
        array[...] = nl.asarray(AFTER[name])


def by_numbers(arrays: dict[str, Any]) -> None:
    """Element by element, in place where nobody else has the memory."""
    for name, array in arrays.items():
        for place in itertools.islice(np.ndindex(*AFTER[name].shape), 64):
            array[place] = AFTER[name][place].item()
        if array.size > 64:
            array[64:] = AFTER[name][64:]


def at_indices(arrays: dict[str, Any]) -> None:
    for name, array in arrays.items():
        array[np.arange(len(array))] = nl.asarray(AFTER[name])


def in_place(arrays: dict[str, Any]) -> None:
    for name, array in arrays.items():
        if array.dtype == bool:
            array |= AFTER[name]
        else:
            array += nl.asarray(AFTER[name] - BEFORE[name])


def let_go(arrays: dict[str, Any]) -> None:
    """Nobody has the operands any more, and others have got their memory."""
    arrays.clear()
    rubbish.extend(nl.asarray(np.full(count, 77)) for count in (1, 5, 6, 24, 900) for _ in range(4))


rubbish: list[Any] = []
CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "whole": whole, "by numbers": by_numbers, "at indices": at_indices, "in place": in_place, "let go": let_go,
}  # fmt: skip


PLACES = [(0, "malloc_before"), (1, "malloc_before"), (2, "malloc_before"), (0, "malloc_after"), (0, "free_before")]


class Once:
    """A hook that does something at one of its calls; `refused` if that is a look, or runs a routine, in between."""

    def __init__(self, action: Callable[[], None], at: int, what: str = "malloc_before") -> None:
        self.action = action
        self.at = at
        self.what = what
        self.calls = 0
        self.errors: list[BaseException] = []
        self.refused = False

    def __call__(self, what: str, *_: int) -> None:
        if what != self.what:
            return
        self.calls += 1
        if self.calls - 1 == self.at:
            try:
                self.action()
            except BaseException as error:
                self.refused = isinstance(error, RuntimeError) and "a hook of memory" in str(error)
                if not self.refused:
                    self.errors.append(error)


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody watches after a test; other tests recorded trees, after which less is done at once."""
    monkeypatch.setattr(register, "symbols", False)
    yield
    registry.current().pool.watch(None)
    rubbish.clear()


def watched(hook: Once, work: Callable[[], Any]) -> Any:
    pool = registry.current().pool
    pool.watch(hook)
    try:
        return work()
    finally:
        pool.watch(None)


def expected(names: str, operation: Callable[..., Any]) -> list[Any]:
    """What an operation may give: each operand is seen before or after it was written to."""
    choices = itertools.product(*[(BEFORE[name], AFTER[name]) for name in names])
    with np.errstate(all="ignore"):
        return [np.asarray(operation(np, *given)) for given in choices]


def read(result: Any) -> Any:
    return np.asarray(result.get())


def fits(result: Any, wanted: list[Any]) -> bool:
    """Whether a result is one of these."""
    return any(
        result.shape == one.shape and np.allclose(result, one, rtol=1e-12, atol=1e-12, equal_nan=True) for one in wanted
    )


def arrays_of(names: str) -> dict[str, Any]:
    return {name: nl.asarray(BEFORE[name]) for name in names}


def operate(arrays: dict[str, Any], operation: Callable[..., Any], names: str) -> Any:
    given = [arrays[name] for name in names]
    if len(given) == 1:  # No name of ours keeps an operand that the hook lets go.
        return operation(nl, given.pop())
    return operation(nl, *given)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operands_are_written_to(name: str, change: str) -> None:
    names, operation = OPERATIONS[name]
    wanted = expected(names, operation)
    for at, what in PLACES:
        arrays = arrays_of(names)
        hook = Once(lambda arrays=arrays: CHANGES[change](arrays), at, what)
        result = watched(hook, lambda arrays=arrays: read(operate(arrays, operation, names)))
        assert not hook.errors, hook.errors
        assert fits(result, wanted), (at, result)
        assert change == "at indices" or not hook.refused
        for one, array in arrays.items():
            after = (array.get() == AFTER[one]).all()
            assert after if hook.calls > at and not hook.refused else after or (array.get() == BEFORE[one]).all(), one


@pytest.mark.parametrize("change", ["whole", "in place"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_another_thread_writes(name: str, change: str) -> None:
    """It has a moment to do so; if it must wait until a run is done, it writes after that."""
    names, operation = OPERATIONS[name]
    arrays = arrays_of(names)
    threads: list[threading.Thread] = []

    def yielding() -> None:
        threads.append(threading.Thread(target=CHANGES[change], args=(arrays,)))
        threads[0].start()
        threads[0].join(0.05)

    result = watched(Once(yielding, 0), lambda: read(operate(arrays, operation, names)))
    for thread in threads:
        thread.join()
    assert fits(result, expected(names, operation)), result
    for one, array in arrays.items():
        assert (array.get() == (AFTER if threads else BEFORE)[one]).all(), one


@pytest.mark.parametrize("name", OPERATIONS)
def test_values_are_looked_at_in_between(name: str) -> None:
    """What is computed may be read; of the rest a look is refused, or told right, and nothing else changes."""
    names, operation = OPERATIONS[name]
    with np.errstate(all="ignore"):
        right = np.asarray(operation(np, *[BEFORE[one] for one in names]))
    for at in range(3):
        arrays = arrays_of(names)
        known = nl.asarray(np.arange(5.0))
        pending = nl.sqrt(nl.asarray(np.arange(700.0))) + 1
        seen: list[Any] = []

        def look(known: Any = known, pending: Any = pending, arrays: dict[str, Any] = arrays, seen: Any = seen) -> None:
            assert known.tolist() == [0, 1, 2, 3, 4]
            assert float(known[3]) == 3
            for one, array in arrays.items():
                assert (array.get() == BEFORE[one]).all()
            seen.append(nl.cumsum(known) * 2)
            try:
                assert float(pending[3]) == 3**0.5 + 1
            except RuntimeError as error:
                assert "hook of memory" in str(error)
                assert "numloom.evaluate(x) before" in str(error)

        hook = Once(look, at)
        result = watched(hook, lambda arrays=arrays: read(operate(arrays, operation, names)))
        assert not hook.errors, hook.errors
        assert fits(result, [right])
        assert float(pending[4]) == 3
        for one in seen:
            assert one.tolist() == [0, 2, 6, 12, 20]


@pytest.mark.parametrize("executor", ["plans", "loops"])
def test_a_look_at_what_is_being_computed_is_refused(executor: str) -> None:
    """By a run of several steps, of which each asks for memory."""
    limit = 0 if executor == "plans" else nl.config.unplanned
    for at in range(4):
        with nl.config(unplanned=limit):
            x = nl.asarray(np.arange(600.0).reshape(20, 30))
            first = nl.exp(x * 0.01)
            last = (first - first.mean(axis=1, keepdims=True)).sum(axis=0) * first[0]
            host = np.exp(np.arange(600.0).reshape(20, 30) * 0.01)
            right = (host - host.mean(axis=1, keepdims=True)).sum(axis=0) * host[0]
            told: list[str] = []

            def look(last: Any = last, told: list[str] = told) -> None:
                try:
                    last.get()
                except RuntimeError as error:
                    told.append(str(error))

            hook = Once(look, at)
            result = watched(hook, last.get)
            assert len(told) == (hook.calls > at)
            np.testing.assert_allclose(result, right, atol=1e-9)
            assert not hook.errors


@pytest.mark.parametrize("executor", ["plans", "loops"])
def test_what_comes_again_is_looked_at_in_between(executor: str) -> None:
    """Also where it runs without a walk: it is refused, or told right."""
    x = nl.asarray(np.arange(600.0))
    right = np.arange(600.0) * 2 + 1
    with nl.config(unplanned=0 if executor == "plans" else nl.config.unplanned):
        for _ in range(12):
            y = x * 2 + 1

            def look(y: Any = y) -> None:
                assert (y.get() == right).all()
                y[0] = -1

            hook = Once(look, 0)
            found = watched(hook, y.get)
            assert not hook.errors, hook.errors
            assert (found[1:] == right[1:]).all()
            assert found[0] in (1, -1)
            assert y.get()[0] == (1 if hook.refused else -1)


def test_a_hook_that_looks_fails_the_look_that_it_interrupts() -> None:
    """The value stays as it was: it is computed when it is asked for again."""
    x = nl.asarray(np.arange(900.0))
    pending, other = x * 2 + 1, nl.sqrt(x)
    busy: list[bool] = []

    def look(*_: Any) -> None:
        if not busy:
            busy.append(True)
            try:
                float(pending[4])
            finally:
                busy.clear()

    pool = registry.current().pool
    pool.watch(look)
    try:
        with pytest.raises(RuntimeError, match="hook of memory, a finalizer, or a handler"):
            pending.get()
    finally:
        pool.watch(None)
    assert pending.tolist() == (np.arange(900.0) * 2 + 1).tolist()
    assert float(other[9]) == 3


def test_work_that_is_recorded_in_between_runs_later() -> None:
    """Also in eager mode, and beyond a budget."""
    x = nl.asarray(np.arange(900.0))
    for settings in ({"eager": True}, {"max_pending": 1}, {}):
        made: list[Any] = []
        with nl.config(**settings):  # type: ignore[arg-type]
            hook = Once(lambda made=made: made.append((x + 1) * (x - 1)), 0)
            result = watched(hook, lambda: ((x * 3) - x).get())
            assert not hook.errors
            assert (result == np.arange(900.0) * 2).all()
            assert (made[0].get() == np.arange(900.0) ** 2 - 1).all()


def test_no_number_is_drawn_twice() -> None:
    reference = np.asarray(nl.random.default_rng(3).random(64).get())
    rng = nl.random.default_rng(3)
    others: list[Any] = []
    drawn = watched(Once(lambda: others.append(rng.random(5)), 0), lambda: rng.random(5).get())
    assert set(drawn) | set(others[0].tolist()) <= set(reference)
    assert not set(drawn) & set(others[0].tolist())


def test_lists_are_made_in_between() -> None:
    """Numbers of a list lie where those of the next one will."""
    others: list[Any] = []
    found = watched(
        Once(lambda: others.append(nl.asarray([7.0, 8.0, 9.0])), 0), lambda: nl.asarray([1.0, 2.0, 3.0, 4.0]).tolist()
    )
    assert (found, others[0].tolist()) == ([1, 2, 3, 4], [7, 8, 9])


@pytest.mark.parametrize("change", CHANGES)
def test_operands_of_compiled_calls_are_written_to(change: str) -> None:
    names, body = "xy", lambda xp, x, y: xp.exp(x * 0.1) * y + xp.cumsum(y)
    call = nl.compile(lambda x, y: body(nl, x, y))
    for _ in range(12):
        call(*arrays_of(names).values()).get()
    wanted = expected(names, body)
    for at in range(3):
        arrays = arrays_of(names)
        hook = Once(lambda arrays=arrays: CHANGES[change](arrays), at)
        result = watched(hook, lambda arrays=arrays: call(*[arrays[one] for one in names]).get())
        assert not hook.errors, hook.errors
        assert fits(result, wanted), result


def test_compiled_calls_call_each_other_in_between() -> None:
    call = nl.compile(lambda x, y: nl.exp(x * 0.1) * y + 1)
    for _ in range(12):
        call(*arrays_of("xy").values()).get()
    right = np.exp(BEFORE["x"] * 0.1) * BEFORE["y"] + 1
    for at in range(3):
        others: list[Any] = []
        hook = Once(lambda others=others: others.append(call(nl.asarray(AFTER["x"]), nl.asarray(AFTER["y"]))), at)
        result = watched(hook, lambda: call(*arrays_of("xy").values()).get())
        assert not hook.errors, hook.errors
        np.testing.assert_allclose(result, right, rtol=1e-13)
        for one in others:
            np.testing.assert_allclose(one.get(), np.exp(AFTER["x"] * 0.1) * AFTER["y"] + 1, rtol=1e-13)


@pytest.mark.parametrize("change", CHANGES)
def test_operands_of_loops_are_written_to(change: str) -> None:
    def body(xp: Any, x: Any) -> Any:  # Its first step is recorded, and would read the array twice.
        return nl.fori_loop(0, 20, lambda i, s: s * 0.99 + nl.cumsum(nl.sqrt(abs(s))) * 0.01, x + 1)

    right = []
    for source in (BEFORE, AFTER):
        for _ in range(6):
            result = body(nl, nl.asarray(source["x"])).get()
        right.append(result)
    for at in range(4):
        arrays = arrays_of("x")
        hook = Once(lambda arrays=arrays: CHANGES[change](arrays), at)
        result = watched(hook, lambda arrays=arrays: body(nl, arrays["x"]).get())
        assert not hook.errors, hook.errors
        assert fits(result, right), result


WRITES: dict[str, tuple[str, Callable[..., None]]] = {
    "number at indices": ("xi", lambda x, i: x.__setitem__(i, 2.5)),
    "array at indices": ("xiy", lambda x, i, y: x.__setitem__(i, y[: len(i)])),
    "number at a mask": ("xb", lambda x, b: x.__setitem__(b, 2.5)),
    "array at a mask": ("xby", lambda x, b, y: x.__setitem__(b, y)),
    "added at indices": ("xiy", lambda x, i, y: nl.add.at(x, i, y[: len(i)])),
    "part": ("xy", lambda x, y: x.__setitem__(slice(1, 4), y[2:5])),
    "pending, at indices": ("xiy", lambda x, i, y: (x + 1).__setitem__(i, (y * 2)[: len(i)])),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", WRITES)
def test_memory_is_kept_while_it_is_written_to(name: str, change: str) -> None:
    """In which order two writes come is not told, but neither reads nor writes beyond its memory."""
    names, write = WRITES[name]
    near = {one: nl.asarray(np.full(64, 3.0)) for one in range(30)}
    for at in range(3):
        arrays = arrays_of(names)
        held = [nl.exp(arrays["x"]), arrays["x"][1:]]  # Somebody else has the memory, so that pending work runs first.
        hook = Once(lambda arrays=arrays: CHANGES[change](arrays), at)

        def work(arrays: dict[str, Any] = arrays) -> None:
            write(*[arrays[one] for one in names])
            for array in list(arrays.values()):
                array.get()

        try:
            watched(hook, work)
        except ValueError:  # A mask that has been written to has other elements.
            assert "mask" in name
        assert not hook.errors, hook.errors
        assert len(held[1].get()) == 5
    for array in near.values():
        assert (array.get() == 3).all()


def test_threads_compute_what_is_made_of_one_pending_value() -> None:
    """One of them records and runs at once what reads a value that another one is just computing."""
    pool = registry.current().pool
    errors: list[BaseException] = []
    host = np.arange(12.0).reshape(3, 4)

    def work(shared: list[Any]) -> None:
        try:
            for one in shared:
                assert float((one * 2).max()) == (host.max() + 1) * 2
                assert one.sum(axis=0).tolist() == (host + 1).sum(axis=0).tolist()
        except BaseException as error:
            errors.append(error)

    pool.watch(lambda *what: time.sleep(1e-5))
    try:
        for _ in range(20):
            shared = [nl.where(nl.isnan(given), 0, given) + 1 for given in [nl.asarray(host) for _ in range(6)]]
            threads = [threading.Thread(target=work, args=(shared,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        pool.watch(None)
    assert not errors, errors


def test_threads_operate_on_what_others_write_to() -> None:
    """Nothing fails, and the process lives."""
    arrays = arrays_of("".join(BEFORE))
    errors: list[Any] = []
    end = time.monotonic() + 4

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        while time.monotonic() < end and not errors:
            name = str(rng.choice(list(OPERATIONS)))
            names, operation = OPERATIONS[name]
            try:
                result = operation(nl, *[arrays[one] for one in names])
                if rng.random() < 0.7:
                    read(result)
                for change in (whole, by_numbers, at_indices):
                    if rng.random() < 0.1:
                        one = names[int(rng.integers(len(names)))]
                        change({one: arrays[one]})
                        arrays[one][...] = BEFORE[one]
            except Exception as error:
                errors.append((name, error))

    pool = registry.current().pool
    pool.watch(lambda *what: time.sleep(0))
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        pool.watch(None)
    assert not errors


def test_what_a_run_reads_later_is_not_changed_in_place() -> None:
    """By stores at indices of many elements, which are a routine's."""
    count = 50_000
    x, y, other = np.linspace(0, 1, count), np.linspace(1, 2, count), np.linspace(5, 6, count)
    places = nl.asarray(np.arange(count))
    call = nl.compile(lambda x, y: nl.cumsum(nl.exp(x) * y) + nl.cumsum(y))
    for _ in range(12):
        call(nl.asarray(x), nl.asarray(y)).get()
    wanted = [np.cumsum(np.exp(x) * one) + np.cumsum(one) for one in (y, other)]
    for at in range(6):
        given = nl.asarray(y)

        def change(given: Any = given) -> None:
            if guard.is_mine():
                given[places] = nl.asarray(other)

        hook = Once(change, at)
        result = watched(hook, lambda given=given: call(nl.asarray(x), given).get())
        assert not hook.errors, hook.errors
        assert any(np.allclose(result, one) for one in wanted), at
