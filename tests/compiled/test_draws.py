"""Random numbers in compiled functions: calls take the numbers that plain code would take."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import numloom as nl

ZEROS = nl.zeros(3)


def numbers(seed: int, count: int = 3, skip: int = 0) -> list[float]:
    rng = nl.random.default_rng(seed)
    for _ in range(skip):
        rng.normal(size=3)
    return rng.normal(size=count).tolist()


def two_draws(rng: Any) -> Any:
    return rng.normal(size=3) + 2 * rng.uniform(size=3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nl.random.default_rng(3),
        lambda: nl.random.Generator(nl.random.Philox(3)),
        lambda: nl.random.Generator(nl.random.Philox(key=3)),
        lambda: nl.random.RandomState(3),
        lambda: nl.random.default_rng(3).spawn(2)[1],
        lambda: nl.random.default_rng(nl.random.Philox(3).jumped()),
    ],
)
def test_a_generator_made_in_a_function_starts_anew_in_each_call(make: Any) -> None:
    wanted = two_draws(make()).tolist()
    compiled = nl.compile(lambda x: x + two_draws(make()))
    traced = nl.function([x := nl.symbol("x", (3,))], lambda x: x + two_draws(make()))
    for _ in range(3):
        assert compiled(ZEROS).tolist() == wanted
        assert traced(ZEROS).tolist() == wanted
    assert x.shape == (3,)


def test_a_state_set_in_a_function_is_that_of_each_call() -> None:
    outer = nl.random.default_rng(5)
    state = nl.random.default_rng(3).bit_generator.state

    @nl.compile
    def drawn(x: Any) -> Any:
        outer.bit_generator.state = state
        return x + outer.normal(size=3)

    for _ in range(3):
        assert drawn(ZEROS).tolist() == numbers(3)


def test_other_generators_go_on() -> None:
    outer, unseeded = nl.random.default_rng(5), []

    @nl.compile
    def drawn(x: Any) -> Any:
        inner = nl.random.default_rng(3)
        unseeded.append(nl.random.default_rng())
        return x + outer.normal(size=3), x + inner.normal(size=3), x + unseeded[0].normal(size=3)

    seen = []
    for turn in range(3):
        mine, own, unknown = drawn(ZEROS)
        assert mine.tolist() == numbers(5, 3, turn)
        assert own.tolist() == numbers(3)
        seen.append(unknown.tolist())
    assert seen[0] != seen[1] != seen[2] != seen[0]


def test_a_generator_made_in_a_loop_s_body_starts_anew_in_each_step() -> None:
    def run(x: Any, steps: int) -> Any:
        return nl.fori_loop(0, steps, lambda i, s: s + nl.random.default_rng(3).normal(size=3), x)

    wanted = [40 * one for one in numbers(3)]
    np.testing.assert_allclose(nl.compile(lambda x: run(x, 40))(ZEROS).get(), wanted)

    def outside(x: Any) -> Any:
        rng = nl.random.default_rng(3)
        return nl.fori_loop(0, 40, lambda i, s: s + rng.normal(size=3), x)

    compiled = nl.compile(outside)
    for _ in range(2):  # It is made anew in each call, and goes on from step to step.
        np.testing.assert_allclose(compiled(ZEROS).get(), outside(ZEROS).get(), rtol=1e-14)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=3),
        lambda rng: rng.normal(size=3) * 0.1,
        lambda rng: rng.normal(1.0, 2.0, size=3),
        lambda rng: rng.integers(0, 5, size=3),
        lambda rng: rng.random(),
        lambda rng: nl.where(rng.random(3) < 0.5, 1.0, 0.0),
        lambda rng: rng.random((2, 3)).sum(0),
    ],
)
def test_numbers_drawn_in_an_expression_outside_of_a_tree_are_refused(draw: Any) -> None:
    x, rng = nl.symbol("x", (3,)), nl.random.default_rng(0)
    y = nl.sin(x) * draw(rng)
    with pytest.raises(TypeError, match="drawn as part of an expression"):
        nl.function([x], y)
    with pytest.raises(TypeError, match=r"with nl.symbolic\(\)"):
        nl.function([x], [x, {"y": nl.exp(y)}])
    # The cures.
    noise = draw(rng)
    named = nl.function([x], x + noise)
    assert named(ZEROS).tolist() == named(ZEROS).tolist() == (ZEROS + noise).tolist()
    with nl.symbolic():
        y = x + draw(rng) + rng.normal(size=3)
    fresh = nl.function([x], y)
    assert fresh(ZEROS).tolist() != fresh(ZEROS).tolist()


def test_another_draw_while_a_function_is_recorded() -> None:
    """Another thread takes blocks that no call takes again."""
    rng = nl.random.default_rng(5)
    taken: list[float] = []

    def drawn(x: Any) -> Any:
        first = rng.random(3)
        other = threading.Thread(target=lambda: taken.extend(rng.random(5).tolist()))
        if not taken:
            other.start()
            other.join()
        return x + first + 2 * rng.random(3) - 2 * rng.random(3), first

    for make in (nl.compile, lambda f: nl.function([nl.symbol("x", (3,))], f)):
        taken.clear()
        call = make(drawn)
        seen = [number for _ in range(3) for number in call(ZEROS)[1].tolist()] + rng.random(3).tolist()
        assert len(set(seen + taken)) == len(seen) + 5


def test_threads_that_draw_from_a_generator_that_functions_draw_from() -> None:
    rng = nl.random.default_rng(7)
    interval, ended = sys.getswitchinterval(), threading.Event()
    taken: list[float] = []

    def go_on() -> None:
        while not ended.is_set():
            taken.append(float(rng.random()))

    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        seen = []
        for _ in range(40):
            call = nl.compile(lambda x: sum([rng.random(3) for _ in range(6)], x) * 0 + rng.random(3))
            seen += call(ZEROS).tolist() + call(ZEROS).tolist()
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert len(set(seen + taken)) == len(seen) + len(taken)
