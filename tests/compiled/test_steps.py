"""Loops whose steps run by what one of them ran: beside the same loops in Python, for bodies of several kernels."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.base.dtypes import DTYPES, I64
from numloom.command.info import core_modules
from numloom.compiled.captured import CapturedSteps
from numloom.compiled.control import UNROLLED
from numloom.compiled.steps import Stepping, affine
from numloom.compiled.symbols import symbol_of
from numloom.device.registry import current
from numloom.graph.tree import Placeholder

STEPS = UNROLLED + 5


@pytest.fixture(autouse=True)
def planned() -> Any:
    with nl.config(cpu_compile="wait", unplanned=0):
        yield


class Python:
    """NumPy, with loops that are Python's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def fori_loop(self, lower: int, upper: int, body: Any, state: Any) -> Any:
        for number in range(lower, upper):
            state = body(number, state)
        return state

    def scan(self, body: Any, state: Any, over: Any) -> Any:
        columns = []
        for element in over:
            state, result = body(state, element)
            columns.append(flat(result))
        return state, [np.stack(column) for column in zip(*columns, strict=True)]


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each loop that ran, whether it went on by what a step ran."""
    found: list[bool] = []
    go_on = Stepping._go_on

    def noted(self: Any, *args: Any) -> bool:
        found.append(go_on(self, *args))
        return found[-1]

    monkeypatch.setattr(Stepping, "_go_on", noted)
    return found


def products(xp: Any, x: Any, w: Any, h: Any) -> Any:
    """A recurrent network: a state that is a result of each step, too."""

    def body(h: Any, row: Any) -> Any:
        h = xp.tanh(row @ w + h @ w)
        return h, h

    return xp.scan(body, h, x)


def rows_backwards(xp: Any, x: Any, w: Any, h: Any) -> Any:
    """Rows by numbers, from the last one on, and each third of a longer array."""

    def body(k: Any, h: Any) -> Any:
        return xp.tanh(x[STEPS - 1 - k] @ w - h) + xp.where(k > 3, x[k], -x[k])

    return xp.fori_loop(0, STEPS, body, h)


def written(xp: Any, x: Any, w: Any, h: Any) -> Any:
    """A state that is written to in place, beside one that stays as it is and one that takes its place."""

    def body(states: Any, row: Any) -> Any:
        a, b, c = states
        total = (row @ w).sum(0)
        a = a.copy()
        a[1:] += total
        a[0, ::2] = c[0, ::2]
        return (a, b, a + b), (a[:2], c, row[0])

    return xp.scan(body, (h, h, h * 2), x)


def exchanged(xp: Any, x: Any, w: Any, h: Any) -> Any:
    """States that change places, results that are elements, states and invariants as they are."""

    def body(states: Any, row: Any) -> Any:
        a, b = states
        return (b, a), (row, a, w, (a @ w).max())

    return xp.scan(body, (h, h @ w), x)


def turned(xp: Any, x: Any, w: Any, h: Any) -> Any:
    """Rows that are turned, and sums of them."""

    def body(s: Any, row: Any) -> Any:
        s = s + row.T @ row
        return s / 2, (s.sum(0), row.T)

    return xp.scan(body, w * 0, x)


def solved(xp: Any, x: Any, w: Any, h: Any) -> Any:
    """Factorisations, which give several results."""

    def body(p: Any, row: Any) -> Any:
        n = p.shape[0]
        q = xp.linalg.solve(p + 4 * xp.eye(n, dtype=p.dtype), row[:n, :n] if row.shape[0] >= n else p)
        sign, log = xp.linalg.slogdet(q @ q.T + xp.eye(n, dtype=p.dtype))
        return xp.tanh(p + q), (sign, log)

    return xp.scan(body, w * 0.1, x)


def written_and_exchanged(xp: Any, x: Any, w: Any, h: Any) -> Any:
    """States that are written to where they lie, and are other states, or arrays from outside, in the next step."""

    def body(states: Any, row: Any) -> Any:
        a, b, c = states
        a = a + 0
        a[0] = (row @ w).sum(0)
        b = b.copy()
        b[-1:] += a[:1]
        return (b, h, a), (a, b, c)

    return xp.scan(body, (h, h * 2, h), x)


def nested(xp: Any, x: Any, w: Any, h: Any) -> Any:
    """A loop in each step of a loop."""

    def body(s: Any, row: Any) -> Any:
        inner, sums = xp.scan(lambda a, r: (xp.tanh(a + r[:1] @ w), a.sum(0)), s, x)
        return inner + row / 9, (sums if not isinstance(sums, list) else sums[0])[-1]

    return xp.scan(body, h, x)


BODIES = [written_and_exchanged, nested, products, rows_backwards, written, exchanged, turned, solved]
SHAPES = [(5, 4, 4), (3, 8, 8), (1, 1, 1), (7, 3, 3)]


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each loop all of whose steps were one launch, whether they ran so."""
    found: list[bool] = []
    run = CapturedSteps.run

    def noted(self: Any, *args: Any) -> bool:
        found.append(run(self, *args))
        return found[-1]

    monkeypatch.setattr(CapturedSteps, "run", noted)
    return found


def flat(found: Any) -> list[Any]:
    return [one for part in found for one in flat(part)] if isinstance(found, tuple | list) else [found]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_as_pythons_loop(
    body: Any, shape: tuple[int, ...], dtype: str, stepped: list[bool], together: list[bool]
) -> None:
    batch, n, m = shape
    function = nl.compile(lambda x, w, h: body(nl, x, w, h))
    rng = np.random.default_rng(0)
    for call in range(6):
        x = rng.standard_normal((STEPS, batch, n)).astype(dtype)
        w = (rng.standard_normal((n, m)) / n).astype(dtype)
        h = rng.standard_normal((batch, n)).astype(dtype)
        given = [nl.asarray(x), nl.asarray(w), nl.asarray(h)]
        found = flat(function(*given))
        expected = flat(body(Python(), x, w, h))
        for one, other in zip(found, expected, strict=True):
            assert one.shape == other.shape and one.dtype == other.dtype
            np.testing.assert_allclose(one.get(), other, rtol=2e-3 if dtype == "f4" else 1e-8, atol=1e-4)
        for before, after in zip((x, w, h), given, strict=True):
            np.testing.assert_array_equal(before, after.get())
    if nl.config.executor != "reference" and current().name != "reference":
        assert stepped and all(stepped)
    if current().name == "cpu" and core_modules()[0] and nl.config.executor != "reference" and body is not solved:
        assert together and all(together)


@pytest.mark.parametrize("width", [1, 3, 4, 5])
def test_rows_that_are_not_aligned(width: int) -> None:
    def body(s: Any, row: Any) -> Any:
        s = s + row.sum() * row[::-1]
        return s, s

    function = nl.compile(lambda s, x: nl.scan(body, s, x))
    for call in range(5):
        x = np.random.default_rng(call).integers(-5, 5, (STEPS, width)).astype("i8")
        s = np.arange(width, dtype="i8")
        last, every = function(nl.asarray(s), nl.asarray(x))
        expected = Python().scan(body, s, x)
        np.testing.assert_array_equal(last.get(), expected[0])
        np.testing.assert_array_equal(every.get(), expected[1][0])


def test_rows_of_memory_that_lies_otherwise() -> None:
    def body(s: Any, row: Any) -> Any:
        s = np.cumsum(s + row) if isinstance(s, np.ndarray) else nl.cumsum(s + row)
        return s / 2, s.max()

    function = nl.compile(lambda s, x: nl.scan(body, s, x))
    whole = np.random.default_rng(0).standard_normal((2 * STEPS + 1, 9))
    views = [
        lambda x: x[:STEPS, :8], lambda x: x[::2][:STEPS, ::-1], lambda x: x[-1:STEPS:-1], lambda x: x[1 : STEPS + 1],
        lambda x: x[:1].repeat(STEPS, 0),
    ]  # fmt: skip
    for _ in range(4):
        for view in views:
            x = view(whole)
            found = function(nl.asarray(np.ones(x.shape[1])), view(nl.asarray(whole)))
            expected = Python().scan(body, np.ones(x.shape[1]), x)
            np.testing.assert_allclose(found[0].get(), expected[0], rtol=1e-9)
            np.testing.assert_allclose(found[1].get(), expected[1][0], rtol=1e-9)


def test_a_step_that_cannot_be_computed() -> None:
    """Errors of a step are those of the loop in Python, also where the steps before ran by what one of them ran."""

    def body(p: Any, row: Any) -> Any:
        return nl.linalg.inv(p) + row, row.sum()

    function = nl.compile(lambda p, x: nl.scan(body, p, x))
    eye, rows = np.eye(3), np.zeros((STEPS, 3, 3))
    for _ in range(4):
        np.testing.assert_array_equal(function(nl.asarray(eye), nl.asarray(rows))[0].get(), eye)
    rows[STEPS - 3] = -eye
    with pytest.raises(np.linalg.LinAlgError):
        function(nl.asarray(eye), nl.asarray(rows))[0].get()
    rows[:] = 0
    np.testing.assert_array_equal(function(nl.asarray(eye), nl.asarray(rows))[0].get(), eye)


@pytest.mark.skipif(not core_modules()[0], reason="the uncompiled core is for one thread at a time")
def test_threads_at_once() -> None:
    """Steps are observed in one thread while others call routines, and functions that are observed."""
    function = nl.compile(lambda x, w, h: products(nl, x, w, h))
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(shape) for shape in ((STEPS, 2, 4), (4, 4), (2, 4))]
    expected = products(Python(), *given)[1][0]
    wrong: list[Any] = []

    def work(number: int) -> None:
        own = nl.compile(lambda x: nl.sort(nl.tanh(x @ x.T), axis=1) @ x)
        x = np.random.default_rng(number).standard_normal((20, 20))
        right = np.sort(np.tanh(x @ x.T), axis=1) @ x
        for _ in range(12):
            if not np.allclose(own(nl.asarray(x)).get(), right):
                wrong.append("function")
            if not np.allclose(nl.sort(nl.asarray(x), axis=0).get(), np.sort(x, axis=0)):
                wrong.append("routine")
            if not np.allclose(function(*[nl.asarray(one) for one in given])[1].get(), expected):
                wrong.append("loop")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_verification_compares_steps() -> None:
    function = nl.compile(lambda x, w, h: products(nl, x, w, h))
    rng = np.random.default_rng(0)
    for call in range(3):
        given = [nl.asarray(rng.standard_normal(shape)) for shape in ((STEPS, 2, 4), (4, 4), (2, 4))]
        with nl.config(verify=call > 0):
            found = function(*given)
        expected = products(Python(), *[one.get() for one in given])
        np.testing.assert_allclose(found[1].get(), expected[1][0], rtol=1e-9)


def test_numbers_that_follow_from_the_step() -> None:
    number = symbol_of(Placeholder("number"), I64, ())
    other = symbol_of(Placeholder("other"), I64, ())

    def of(array: Any) -> Any:
        return affine(node_of(array), node_of(number))

    assert of(number) == (1, 0)
    assert of(7 - number) == (-1, 7)
    assert of(-(2 * number + 3)) == (-2, -3)
    assert of((number - 1) * 4 + number) == (5, -4)
    assert of(number.astype(DTYPES[I64])) == (1, 0)
    for array in (number * number, number + other, nl.maximum(number, 3), number // 2, number * 1.5):
        assert of(array) is None
