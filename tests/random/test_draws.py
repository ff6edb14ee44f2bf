"""Draws that are replayed give the numbers, and take the blocks, of draws that are not."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api import verifying
from numloom.graph.again import in_full
from numloom.random.bit_generator import Philox
from numloom.random.generator import Generator
from numloom.random.legacy import RandomState

DRAWS: dict[str, Any] = {
    "random": lambda g, n: g.random(n),
    "random f4": lambda g, n: g.random((n, 3), dtype=np.float32),
    "random f4 by name": lambda g, n: g.random((n, 3), "f4"),
    "one": lambda g, n: g.random(),
    "none": lambda g, n: g.random((0, n)),
    "standard_normal": lambda g, n: g.standard_normal(n),
    "standard_exponential": lambda g, n: g.standard_exponential((2, n)),
    "uniform": lambda g, n: g.uniform(-1, 1, n),
    "uniform of other kinds": lambda g, n: g.uniform(-1.0, high=2, size=n),
    "normal": lambda g, n: g.normal(size=n),
    "normal around": lambda g, n: g.normal(n, 0.5, (n, 2)),
    "normal around a negative zero": lambda g, n: g.normal(-0.0, 0.0, n),
    "exponential": lambda g, n: g.exponential(2.0, n),
    "lognormal": lambda g, n: g.lognormal(0.0, 0.5, n),
    "laplace": lambda g, n: g.laplace(0.0, 2.0, n),
    "logistic": lambda g, n: g.logistic(size=n),
    "gumbel": lambda g, n: g.gumbel(size=n),
    "rayleigh": lambda g, n: g.rayleigh(size=n),
    "standard_cauchy": lambda g, n: g.standard_cauchy(n),
    "weibull": lambda g, n: g.weibull(1.5, n),
    "pareto": lambda g, n: g.pareto(1.5, n),
    "power": lambda g, n: g.power(1.5, n),
    "triangular": lambda g, n: g.triangular(0, 1, 2, n),
    "gamma": lambda g, n: g.gamma(2.0, 2.0, n),
    "chisquare": lambda g, n: g.chisquare(3, n),
    "f": lambda g, n: g.f(3, 4, n),
    "noncentral_f": lambda g, n: g.noncentral_f(3, 4, 1, n),
    "standard_t": lambda g, n: g.standard_t(3, n),
    "beta": lambda g, n: g.beta(1, 2, n),
    "vonmises": lambda g, n: g.vonmises(0, 1, n),
    "poisson": lambda g, n: g.poisson(3, n),
    "binomial": lambda g, n: g.binomial(10, 0.3, n),
    "negative_binomial": lambda g, n: g.negative_binomial(5, 0.5, n),
    "geometric": lambda g, n: g.geometric(0.5, n),
    "hypergeometric": lambda g, n: g.hypergeometric(5, 6, 4, n),
    "integers": lambda g, n: g.integers(0, 10, n),
    "integers of 32 bits": lambda g, n: g.integers(n, size=(n, 2), dtype=np.int32),
    "integers with the end": lambda g, n: g.integers(1, 6, n, endpoint=True),
    "all integers": lambda g, n: g.integers(0, 2**64 - 1, n, dtype=np.uint64, endpoint=True),
    "truth": lambda g, n: g.integers(0, 2, n, dtype=bool),
    "parameters that are arrays": lambda g, n: g.normal(nl.arange(n), 1.0),
    "parameters of NumPy": lambda g, n: g.normal(np.arange(n), np.float32(1)),
    "permutation": lambda g, n: g.permutation(n),
    "choice": lambda g, n: g.choice(n, 3),
}


def done_in_full(draw: Any, source: Any, n: int) -> np.ndarray[Any, Any]:
    with in_full():
        return np.asarray(draw(source, n).get())


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_draws_again(draw: Any) -> None:
    mine, theirs = (Generator(Philox(key=3, counter=2**63 - 5)) for _ in range(2))
    for turn, n in enumerate((5, 5, 7, 5, 7, 7, 5, 1, 1, 1)):
        if turn == 6:  # Another generator, with another key.
            mine, theirs = (Generator(Philox(key=2**64 - 1)) for _ in range(2))
        got = draw(mine, n)
        expected = done_in_full(draw, theirs, n)
        assert (got.dtype, got.shape, got.strides) == (expected.dtype, expected.shape, got.strides)
        np.testing.assert_array_equal(got.get(), expected)
        assert mine.bit_generator.state == theirs.bit_generator.state


def test_pending_draws_are_each_its_own() -> None:
    source = Generator(Philox(key=1))
    for _ in range(3):
        source.random(6)
    first, second = source.random(6), source.random(6)
    both = first + second
    assert not np.array_equal(first.get(), second.get())
    np.testing.assert_array_equal(both.get(), first.get() + second.get())


def test_the_old_class_draws_by_its_own_state() -> None:
    def numbers() -> list[Any]:
        source = RandomState(5)
        return [(source.rand(4).get(), source.randn(2, 2).get(), source.randint(0, 9, 3).get()) for _ in range(4)]

    for one, other in zip(numbers(), numbers(), strict=True):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(x, y)


def test_wrong_arguments_are_refused_each_time() -> None:
    source = Generator(Philox(key=1))
    for _ in range(4):
        with pytest.raises(ValueError, match="scale < 0"):
            source.normal(0.0, -1.0, 3)
        with pytest.raises(ValueError, match="low >= high"):
            source.integers(3, 3, 2)
        with pytest.raises(TypeError, match="Unsupported dtype"):
            source.random(3, dtype=np.int64)


def test_draws_into_an_array() -> None:
    source, other, out = Generator(Philox(key=1)), Generator(Philox(key=1)), nl.zeros(5)
    for _ in range(4):
        assert source.random(out=out) is out
        np.testing.assert_array_equal(out.get(), other.random(5).get())


def test_eager_draws() -> None:
    for eager in (True, False, True):
        source, other = Generator(Philox(key=9)), Generator(Philox(key=9))
        with nl.config(eager=eager):
            found = [source.normal(0.0, 3.0, 11).get() for _ in range(4)]
        np.testing.assert_array_equal(found, [other.normal(0.0, 3.0, 11).get() for _ in range(4)])


def test_threads_that_share_a_generator_take_blocks_of_their_own() -> None:
    source = Generator(Philox(key=4))
    found: list[Any] = []

    def work() -> None:
        for _ in range(20):
            found.append(source.random(33).get())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {Generator(Philox(key=4, counter=17 * k)).random(33).get().tobytes() for k in range(80)}
    assert {x.tobytes() for x in found} == expected


def test_blocks_are_taken_once_where_a_comparison_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where another thread learns a call meanwhile."""
    rng = nl.random.default_rng(8)
    drawn = [rng.standard_normal(700).tolist() for _ in range(3)]
    with nl.config(verify=True):
        monkeypatch.setattr(verifying, "learning", lambda: True)
        drawn += [rng.standard_normal(700).tolist() for _ in range(5)]
    alone = nl.random.default_rng(8)
    assert drawn == [alone.standard_normal(700).tolist() for _ in range(8)]
