"""Loops in trees: long ones give what Python's loops give, in every order of memory, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled.control import UNROLLED

ORDERS: dict[str, Any] = {
    "C": lambda x: x.reshape(3, 4),
    "F": lambda x: x.reshape(4, 3).T,
    "turned axes": lambda x: x.reshape(2, 3, 2).transpose(2, 0, 1),
    "reversed F": lambda x: x.reshape(3, 4).T[::-1],
    "with gaps": lambda x: x.reshape(3, 4)[::2, ::2].T,
    "repeated rows": lambda x: np.broadcast_to(x[:4], (3, 4)),
    "repeated columns": lambda x: np.broadcast_to(x[:4, None], (4, 3)),
    "one axis, repeated": lambda x: np.broadcast_to(x[1], (4,)),
    "square": lambda x: x[:9].reshape(3, 3),
    "a row": lambda x: x.reshape(12, 1).T,
    "nothing": lambda x: x[:0].reshape(0, 3).T,
}  # fmt: skip
LENGTHS = [0, 1, 5, UNROLLED + 1, UNROLLED + 2]


class Python:
    """NumPy, with loops that are Python's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def fori_loop(self, lower: int, upper: int, body: Any, state: Any) -> Any:
        for number in range(lower, upper):
            state = body(np.asarray(number), state)
        return state

    def while_loop(self, condition: Any, body: Any, state: Any) -> Any:
        while condition(state):
            state = body(state)
        return state

    def scan(self, body: Any, state: Any, over: Any) -> Any:
        column = []
        for element in over:
            state, result = body(state, element)
            column.append(result)
        return state, np.stack(column) if column else None


def flat(xp: Any, x: Any) -> Any:
    """What follows from the order in which an array lies: writes through reshapes, and its memory's own order."""
    total = x * 0
    for order in ("C", "F", "A"):
        for made in (x * 1, x.copy("K"), xp.zeros_like(x)):
            made.reshape(-1, order=order)[:2] = -1
            total = total + made
    flat = xp.ravel(x, order="K")
    return total % 89 + (flat[:1] if x.size else 0)


BODIES: dict[str, Any] = {
    "as it is": lambda xp, s, k: flat(xp, s) + k,
    "C from now on": lambda xp, s, k: (flat(xp, s) + k).copy("C"),
    "F from now on": lambda xp, s, k: (flat(xp, s) + k).copy("F"),
    "turned each time": lambda xp, s, k: xp.ascontiguousarray((flat(xp, s) + k).T).T
    if s.ndim > 1 and s.strides[0] > s.strides[-1] else (flat(xp, s) + k).copy(),
    "transposed": lambda xp, s, k: (flat(xp, s) + k).T if s.ndim == 2 and s.shape[0] == s.shape[1] else s + k,
    "backwards": lambda xp, s, k: (flat(xp, s) + k)[::-1],
    "repeated": lambda xp, s, k: xp.broadcast_to((flat(xp, s) + k)[:1], s.shape) if s.size else s,
}  # fmt: skip


def by_number(xp: Any, state: Any, body: Any, steps: int) -> Any:
    last = xp.fori_loop(0, steps, lambda k, s: body(xp, s, k), state)
    return [last, flat(xp, last)]


def by_element(xp: Any, state: Any, body: Any, steps: int) -> Any:
    def step(s: Any, k: Any) -> Any:
        after = body(xp, s, k)
        return after, after

    last, column = xp.scan(step, state, xp.arange(float(steps)))
    return [last, flat(xp, last), *([column, flat(xp, column)] if steps else [])]


LOOPS = {"fori_loop": by_number, "scan": by_element}


def compare(found: Any, want: Any) -> None:
    for one, expected in zip(found, want, strict=True):
        np.testing.assert_array_equal(one.get(), expected)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("order", ORDERS)
def test_states(order: str, body: str, loop: str) -> None:
    for steps in LENGTHS:
        compiled = nl.compile(lambda s, steps=steps: LOOPS[loop](nl, s, BODIES[body], steps))
        for turn in range(2):
            host = np.arange(12.0) + turn
            want = LOOPS[loop](Python(), ORDERS[order](host), BODIES[body], steps)
            compare(compiled(ORDERS[order](nl.asarray(host))), want)
            compare(LOOPS[loop](nl, ORDERS[order](nl.asarray(host)), BODIES[body], steps), want)


def until(xp: Any, state: Any, limit: float) -> Any:
    def step(pair: Any) -> Any:
        s, k = pair
        return flat(xp, s) + k, k + 1

    last, count = xp.while_loop(lambda pair: pair[1] < limit, step, (state, xp.asarray(0.0)))
    return [last, flat(xp, last), count]


@pytest.mark.parametrize("order", [order for order in ORDERS if not order.startswith("repeated")])
def test_while_loops(order: str) -> None:
    compiled = nl.compile(lambda s, limit: until(nl, s, limit))
    for limit in (0.0, 1.0, 40.0):
        host = np.arange(12.0)
        want = until(Python(), ORDERS[order](host), limit)
        compare(compiled(ORDERS[order](nl.asarray(host)), nl.asarray(limit)), want)


def test_a_while_loop_whose_state_changes_its_order_is_refused() -> None:
    """What the result's order is would follow from whether a step was taken."""
    compiled = nl.compile(lambda s: nl.while_loop(lambda s: s.sum() < 100, lambda s: (s + 1).copy("C"), s))
    with pytest.raises(TypeError, match=r"keep its order in memory.*ascontiguousarray"):
        compiled(nl.ones((3, 4)).T)
    assert compiled(nl.ones((4, 3))).sum().item() == 108


@pytest.mark.parametrize("order", ["C", "F", "turned axes", "reversed F", "with gaps", "repeated rows", "a row"])
@pytest.mark.parametrize("steps", LENGTHS[2:])
def test_elements(order: str, steps: int) -> None:
    def elements(xp: Any, rows: Any) -> Any:
        return xp.scan(lambda s, x: (s + x.sum(), flat(xp, x) + s), xp.asarray(0.0), rows)

    element = ORDERS[order](np.arange(12.0))
    rows = np.arange(float(steps)).reshape(steps, *[1] * element.ndim) + element
    slowest_last = np.moveaxis(np.moveaxis(rows, 0, -1).copy("K"), -1, 0)
    ours = nl.broadcast_to(ORDERS[order](nl.arange(12.0)), rows.shape)
    pairs = [(one, nl.asarray(one)) for one in (rows, slowest_last, rows[::-1])]
    for host, array in [*pairs, (np.broadcast_to(element, rows.shape), ours)]:
        want = elements(Python(), host)
        compare(nl.compile(lambda rows: elements(nl, rows))(array), want)
        compare(elements(nl, array), want)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("body", BODIES)
def test_gradients(order: str, body: str) -> None:
    """Of long loops those of short ones, twice as many."""

    def cost(steps: int) -> Any:
        def twice(s: Any, k: int) -> Any:
            return nl.fori_loop(0, steps, lambda k, s: BODIES[body](nl, s, k) * 0.5, s)

        return lambda s: (twice(s, 0) ** 2).sum()

    half = (UNROLLED + 2) // 2
    state = ORDERS[order](nl.arange(12.0))
    whole = nl.grad(cost(2 * half), allow_unused=True)(state)

    def in_two(s: Any) -> Any:
        step = lambda k, s: BODIES[body](nl, s, k) * 0.5  # noqa: E731
        return (nl.fori_loop(half, 2 * half, step, nl.fori_loop(0, half, step, s)) ** 2).sum()

    np.testing.assert_allclose(whole.get(), nl.grad(in_two, allow_unused=True)(state).get(), rtol=1e-12)
    np.testing.assert_allclose(nl.compile(nl.grad(cost(2 * half), allow_unused=True))(state).get(), whole.get())


@pytest.mark.parametrize("steps", [5, UNROLLED + 1])
def test_results_of_a_step_are_those_of_that_step(steps: int) -> None:
    """Also where the next one writes to the state."""

    def step(s: Any, x: Any) -> Any:
        s += x
        return s, s

    for call in (nl.scan, nl.compile(lambda s, xs: nl.scan(step, s * 1, xs))):
        if call is nl.scan or steps <= UNROLLED:
            last, column = (
                call(step, nl.zeros(2), nl.ones(steps)) if call is nl.scan else call(nl.zeros(2), nl.ones(steps))
            )
            assert column.tolist() == [[k + 1.0] * 2 for k in range(steps)] and last.tolist() == [steps] * 2
        else:
            with pytest.raises(ValueError, match="read-only"):
                call(nl.zeros(2), nl.ones(steps))


def test_elements_of_long_loops_are_read_only() -> None:
    """They are no part of the rows, which a loop in Python would write to."""

    def total(rows: Any) -> Any:
        rows = rows * 1

        def step(s: Any, x: Any) -> Any:
            x += 1
            return s + x.sum(), None

        last, _ = nl.scan(step, nl.asarray(0.0), rows)
        return last, rows

    last, rows = nl.compile(total)(nl.zeros((5, 2)))
    assert last.item() == 10 and rows.sum().item() == 10
    with pytest.raises(ValueError, match="read-only"):
        nl.compile(total)(nl.zeros((UNROLLED + 1, 2)))


WRITES: dict[str, Any] = {
    "a number": lambda y, s: y.__setitem__(0, 1),
    "an element": lambda y, s: y.__setitem__(0, y[1] + 1),
    "in place": lambda y, s: y.__iadd__(1),
    "of the state": lambda y, s: y.__setitem__(slice(None), s),
    "a view": lambda y, s: y[1:].__setitem__(0, 2),
    "at indices": lambda y, s: y.__setitem__([0, 1], 3.0),
    "by a mask": lambda y, s: y.__setitem__(y > 5, 3.0),
    "add.at": lambda y, s: nl.add.at(y, [0, 0], 1),
    "fill": lambda y, s: y.fill(2),
    "sort": lambda y, s: y.sort(),
    "out": lambda y, s: nl.multiply(s, 2, out=y),
    "copyto": lambda y, s: nl.copyto(y, 3),
    "put": lambda y, s: nl.put(y, [0], 3),
}  # fmt: skip


@pytest.mark.parametrize("memory", ["ordinary", "ordinary, looked at", "of the tree", "an argument's copy"])
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("loop", ["fori_loop", "scan", "while_loop"])
def test_a_body_that_writes_to_what_is_outside_of_it_is_refused(loop: str, name: str, memory: str) -> None:
    """It is recorded once, so it would write once, and not at each step."""
    outer = nl.array([3.0, 2.0, 1.0])
    if memory.endswith("looked at"):
        outer.get()

    def step(s: Any, y: Any) -> Any:
        WRITES[name](y, s)
        return s + 1

    def function(x: Any) -> Any:
        y = outer if memory.startswith("ordinary") else nl.arange(3.0) if memory == "of the tree" else x.copy()
        if loop == "scan":
            return nl.scan(lambda s, e: (step(s, y), None), x, nl.arange(UNROLLED + 1.0))[0], y
        if loop == "while_loop":
            return nl.while_loop(lambda s: s.sum() < 100, lambda s: step(s, y), x), y
        return nl.fori_loop(0, UNROLLED + 1, lambda k, s: step(s, y), x), y

    with pytest.raises(ValueError, match=r"read-only.*state"):
        nl.compile(function)(nl.zeros(3))
    assert outer.tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize("name", WRITES)
def test_a_function_that_writes_to_what_is_outside_of_it_is_refused(name: str) -> None:
    outer = nl.array([3.0, 2.0, 1.0])

    def function(x: Any) -> Any:
        WRITES[name](outer, x)
        return x + outer

    for call in (nl.compile(function), lambda x: nl.function([nl.symbol("x", (3,))], function)(x)):
        with pytest.raises(ValueError, match=r"read-only.*nl\.shared"):
            call(nl.zeros(3))
        assert outer.tolist() == [3.0, 2.0, 1.0]


def test_bodies_write_to_what_they_make() -> None:
    def step(s: Any) -> Any:
        for make in (s.copy, lambda: s * 1, lambda: nl.zeros(3) + s, lambda: nl.array(s), lambda: OUTER.copy() + s):
            made = make()
            for write in WRITES.values():
                write(made, s)
            s = s + made
        return s % 7

    want = nl.arange(3.0)
    for _ in range(UNROLLED + 1):
        want = step(want)
    for call in (nl.compile(lambda s: nl.fori_loop(0, UNROLLED + 1, lambda k, s: step(s), s)),):
        np.testing.assert_array_equal(call(nl.arange(3.0)).get(), want.get())


def in_steps_of_memory(s: Any, x: Any) -> Any:
    """A state whose next one NumPy makes a scalar, and views of it that show which it was."""
    kept = s.copy()
    first, second = kept[...], kept[...]
    after = abs(first)
    first >>= 1
    return after, second + x


@pytest.mark.parametrize("steps", [3, UNROLLED + 3])
def test_a_state_without_axes_is_an_array(steps: int) -> None:
    """Also where a step gives what NumPy would make a scalar: what is written to its views is seen in them."""
    xs, want, s = np.arange(steps), [], np.asarray(-5)
    for x in xs:
        s, one = in_steps_of_memory(np.asarray(s), x)
        want.append(one)

    def scan(s: Any) -> Any:
        return nl.scan(in_steps_of_memory, s, xs)

    def fori_loop(s: Any) -> Any:
        return nl.fori_loop(0, steps, lambda k, s: (abs(s[0]), in_steps_of_memory(s[0], k)[1]), (s, s * 0))

    def while_loop(s: Any) -> Any:
        step = lambda s: (abs(s[0]), in_steps_of_memory(s[0], s[2])[1], s[2] + 1)  # noqa: E731
        return nl.while_loop(lambda s: s[2] < steps, step, (s, s * 0, s * 0))

    def scalar(s: Any) -> Any:  # The first state is one.
        return nl.scan(in_steps_of_memory, s + 0, xs)

    for call in (lambda f: f(nl.asarray(-5)), lambda f: nl.compile(f)(nl.asarray(-5))):
        for loop in (scan, scalar):
            last, found = call(loop)
            assert (int(last), found.tolist()) == (5, want)
        assert [int(one) for one in call(fori_loop)[:2]] == [5, want[-1]]
        assert [int(one) for one in call(while_loop)[:2]] == [5, want[-1]]


def test_a_scalar_given_as_a_state_is_not_written_to() -> None:
    def body(k: Any, s: Any) -> Any:
        s += 1
        return s

    x = nl.arange(3.0)
    total = x.sum()
    for _ in range(2):
        assert float(nl.fori_loop(0, 3, body, total)) == 6
        assert float(total) == 3
        total.tolist()


OUTER = nl.array([1.0, 2.0, 4.0])
