"""Random numbers that steps of loops draw: those that the same loop draws outside of a tree."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl

STEPS = (5, 40)
"""Of a loop that is unrolled, and of one that is a node."""


def step(rng: Any) -> Callable[[Any, Any], Any]:
    return lambda i, s: s * 0.5 + rng.normal(size=3) + i * rng.random(3)


def moved(rng: Any, first: int, last: int) -> Callable[[Any], Any]:
    return lambda x: nl.fori_loop(first, last, step(rng), x)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("first", [0, 7, -5])
@pytest.mark.parametrize("make", [nl.random.default_rng, nl.random.RandomState])
def test_each_call_goes_on_as_plain_code_does(make: Any, first: int, steps: int) -> None:
    compiled = nl.compile(moved(make(3), first, first + steps))
    traced = nl.function([nl.symbol("x", (3,))], moved(make(3), first, first + steps))
    plain = moved(make(3), first, first + steps)
    for _ in range(4):
        wanted = plain(nl.ones(3)).get()
        np.testing.assert_allclose(compiled(nl.ones(3)).get(), wanted, rtol=1e-13)
        np.testing.assert_allclose(traced(nl.ones(3)).get(), wanted, rtol=1e-13)


def test_draws_before_between_and_after_loops() -> None:
    def run(rng: Any, other: Any, x: Any) -> Any:
        x = x + rng.normal(size=3)
        last, rows = nl.scan(
            lambda s, e: (s + e * rng.integers(0, 5, size=3), rng.normal(size=2) + other.random()), x, nl.arange(50.0)
        )
        last = last + rng.random(3)
        again = nl.fori_loop(0, 60, lambda i, s: s + other.normal(size=3) * rng.random(), last)
        return last, rows, again, rng.random(2), other.random(2)

    one, two = nl.random.default_rng(1), nl.random.default_rng(2)
    compiled = nl.compile(lambda x: run(one, two, x))
    first, second = nl.random.default_rng(1), nl.random.default_rng(2)
    for _ in range(3):
        for found, wanted in zip(compiled(nl.zeros(3)), run(first, second, nl.zeros(3)), strict=True):
            np.testing.assert_allclose(found.get(), wanted.get(), rtol=1e-13)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("inner", STEPS)
def test_loops_in_loops(steps: int, inner: int) -> None:
    def run(rng: Any, x: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            s = s + rng.normal(size=2)
            return nl.fori_loop(0, inner, lambda j, t: t * 0.9 + rng.random(2) * j, s) + rng.random(2)

        return nl.fori_loop(0, steps, body, x)

    ours, plain = nl.random.default_rng(4), nl.random.default_rng(4)
    compiled = nl.compile(lambda x: run(ours, x))
    for _ in range(2):
        np.testing.assert_allclose(compiled(nl.zeros(2)).get(), run(plain, nl.zeros(2)).get(), rtol=1e-12)


def test_products_beside_draws() -> None:
    """Steps that are more than elementwise work: a chain of Gibbs sampling."""
    w = np.random.default_rng(0).normal(size=(6, 4))

    def chain(rng: Any, v: Any) -> Any:
        def body(i: Any, v: Any) -> Any:
            h = (rng.random((10, 4)) < 1 / (1 + nl.exp(-nl.dot(v, w)))).astype(float)
            return (rng.random((10, 6)) < 1 / (1 + nl.exp(-nl.dot(h, w.T)))).astype(float)

        return nl.fori_loop(0, 40, body, v)

    ours, plain = nl.random.default_rng(5), nl.random.default_rng(5)
    compiled = nl.compile(lambda v: chain(ours, v))
    for _ in range(3):
        assert np.array_equal(compiled(nl.zeros((10, 6))).get(), chain(plain, nl.zeros((10, 6))).get())


@pytest.mark.parametrize("steps", STEPS)
def test_gradients_see_the_numbers_of_the_call(steps: int) -> None:
    rng, plain = nl.random.default_rng(6), nl.random.default_rng(6)
    w = nl.shared(np.full(3, 0.9), "w")

    def cost(rng: Any, w: Any) -> Any:
        return (nl.fori_loop(0, steps, lambda i, s: s * w + rng.normal(size=3), nl.ones(3)) ** 2).sum()

    f = nl.function([], lambda: (c := cost(rng, w), nl.grad(c, w)))
    for _ in range(3):
        state = plain.bit_generator.state
        wanted, slope = cost(plain, nl.asarray(w.get_value())), []
        after = plain.bit_generator.state
        for place in range(3):
            ends = []
            for shift in (1e-6, -1e-6):
                plain.bit_generator.state = state
                near = w.get_value()
                near[place] += shift
                ends.append(float(cost(plain, nl.asarray(near))))
            slope.append((ends[0] - ends[1]) / 2e-6)
        plain.bit_generator.state = after
        found, gradient = f()
        np.testing.assert_allclose(found.get(), wanted.get(), rtol=1e-12)
        np.testing.assert_allclose(gradient.get(), slope, rtol=1e-5)


def test_gradients_of_plain_functions_draw_as_these_do() -> None:
    ours, plain = nl.random.default_rng(1), nl.random.default_rng(1)

    def cost(rng: Any) -> Any:
        return lambda x: nl.fori_loop(0, 40, lambda i, s: s * x + rng.normal(size=3), x).sum()

    for _ in range(3):
        value, _ = nl.value_and_grad(cost(ours))(np.full(3, 0.5))
        np.testing.assert_allclose(value.get(), cost(plain)(nl.asarray(np.full(3, 0.5))).get(), rtol=1e-12)


def test_under_givens_and_updates() -> None:
    rng, x = nl.random.default_rng(7), nl.symbol("x", (3,))
    with nl.symbolic():
        noise = nl.fori_loop(0, 40, lambda i, s: s + rng.normal(size=3), nl.zeros(3))
    w = nl.shared(np.zeros(3), "w")
    f = nl.function([], x * 2, givens={x: noise}, updates={w: w + noise})
    first, second = f().get(), f().get()
    assert not np.array_equal(first, second)
    np.testing.assert_allclose(w.get_value(), (first + second) / 2)
    g = pickle.loads(pickle.dumps(f))
    assert np.array_equal(g().get(), f().get()) and np.array_equal(g().get(), f().get())


def test_a_tree_that_is_no_function_has_its_numbers() -> None:
    rng, plain = nl.random.default_rng(8), nl.random.default_rng(8)
    with nl.symbolic():
        tree = moved(rng, 0, 40)(nl.ones(3))
    wanted = moved(plain, 0, 40)(nl.ones(3)).get()
    for _ in range(2):
        np.testing.assert_allclose(tree.asnumpy(), wanted, rtol=1e-13)
        np.testing.assert_allclose(tree.get(), wanted, rtol=1e-13)
    assert rng.random() == plain.random()


def test_states_in_other_orders() -> None:
    def run(rng: Any, x: Any) -> Any:
        return nl.fori_loop(0, 40, lambda i, s: (s + rng.normal(size=(3, 3))).T, x)

    ours, plain = nl.random.default_rng(9), nl.random.default_rng(9)
    compiled = nl.compile(lambda x: run(ours, x))
    for _ in range(2):
        np.testing.assert_allclose(compiled(nl.zeros((3, 3))).get(), run(plain, nl.zeros((3, 3))).get(), rtol=1e-13)


def test_they_are_checked_beside_the_full_way() -> None:
    rng = nl.random.default_rng(10)
    compiled = nl.compile(moved(rng, 0, 50))
    with nl.config(verify=True):
        first = compiled(nl.ones(3)).get()
        assert not np.array_equal(first, compiled(nl.ones(3)).get())


def test_while_loops_draw_nothing() -> None:
    rng = nl.random.default_rng(0)
    draws = nl.compile(lambda x: nl.while_loop(lambda s: s[0] < 9, lambda s: s + rng.random(3), x))
    with pytest.raises(TypeError, match="number of steps is not known"):
        draws(nl.zeros(3))


# ---------------------------------------------------------------- numbers of steps that wait


def test_fori_loops_with_bounds_that_wait() -> None:
    n, x = nl.symbol("n", (), "int32"), nl.symbol("x", (2,))
    powers = nl.function([n, x], nl.fori_loop(0, n, lambda i, s: {"y": s["y"] * x, "sum": s["sum"] + i},
                                              {"y": nl.ones(2), "sum": nl.asarray(0)}))  # fmt: skip
    for count in (0, 1, 7, 50, -3):
        found = powers(count, [2.0, 0.5])
        steps = max(count, 0)
        assert np.allclose(found["y"].get(), [2.0**steps, 0.5**steps]) and found["sum"] == sum(range(steps))
    m, k = nl.shared(np.int64(3), "m"), nl.symbol("k", (), "int64")
    between = nl.function([k], nl.fori_loop(m, k + 1, lambda i, s: s + i, nl.asarray(0)), updates={m: m + 1})
    assert [int(between(5)) for _ in range(4)] == [12, 9, 5, 0]


def test_what_cannot_wait_is_refused() -> None:
    n = nl.symbol("n", (), "int64")
    with pytest.raises(nl.TreeError, match="length of a scan"):
        nl.scan(lambda s, e: (s, s), nl.zeros(2), length=n)
    with pytest.raises(TypeError, match="must be integers"):
        nl.fori_loop(0, nl.symbol("f"), lambda i, s: s, nl.zeros(2))
    x = nl.symbol("x", (2,))
    with pytest.raises(nl.compiled.NoGradientError, match="while_loop"):
        nl.grad(nl.fori_loop(0, n, lambda i, s: s * x, x).sum(), x)
