"""Random numbers: reproducible, independent of how they are drawn, and distributed as they should be."""

from __future__ import annotations

import random
import re
import warnings
from array import array
from collections import deque
from math import erf, exp, pi, sqrt
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.ops import philox
from numloom.testing import assert_array_equal

COUNT = 20_000


def rng(seed: int = 7) -> Any:
    return nl.random.default_rng(seed)


def values(array: Any) -> np.ndarray[Any, Any]:
    return array.get()  # type: ignore[no-any-return]


def distance(sample: np.ndarray[Any, Any], cdf: Any) -> float:
    """Kolmogorov and Smirnov's distance between a sample and a distribution, in units of its 0.1 % quantile."""
    ordered = np.sort(sample)
    expected = np.array([cdf(x) for x in ordered.tolist()])
    n = len(ordered)
    gap = max((np.arange(1, n + 1) / n - expected).max(), (expected - np.arange(n) / n).max())
    return float(gap * sqrt(n) / 1.95)


@pytest.mark.parametrize(
    ("draw", "cdf"),
    [
        (lambda g: g.random(COUNT), lambda x: x),
        (lambda g: g.random(COUNT, "f4"), lambda x: x),
        (lambda g: g.uniform(-2, 6, COUNT), lambda x: (x + 2) / 8),
        (lambda g: g.standard_normal(COUNT), lambda x: 0.5 + 0.5 * erf(x / sqrt(2))),
        (lambda g: g.standard_normal(COUNT, np.float32), lambda x: 0.5 + 0.5 * erf(x / sqrt(2))),
        (lambda g: g.normal(3, 2, COUNT), lambda x: 0.5 + 0.5 * erf((x - 3) / 2 / sqrt(2))),
        (lambda g: g.exponential(2, COUNT), lambda x: 1 - exp(-x / 2)),
        (lambda g: g.standard_exponential(COUNT, np.float32), lambda x: 1 - exp(-x)),
        (lambda g: g.laplace(1, 2, COUNT), lambda x: exp((x - 1) / 2) / 2 if x < 1 else 1 - exp((1 - x) / 2) / 2),
        (lambda g: g.logistic(1, 2, COUNT), lambda x: 1 / (1 + exp(-(x - 1) / 2))),
        (lambda g: g.gumbel(1, 2, COUNT), lambda x: exp(-exp(-(x - 1) / 2))),
        (lambda g: g.rayleigh(2, COUNT), lambda x: 1 - exp(-x * x / 8)),
        (lambda g: g.standard_cauchy(COUNT), lambda x: np.arctan(x) / pi + 0.5),
        (lambda g: g.weibull(3, COUNT), lambda x: 1 - exp(-(x**3))),
        (lambda g: g.pareto(3, COUNT), lambda x: 1 - (1 + x) ** -3),
        (lambda g: g.lognormal(0.5, 0.25, COUNT), lambda x: 0.5 + 0.5 * erf((np.log(x) - 0.5) * 4 / sqrt(2))),
    ],
)
def test_distributions(draw: Any, cdf: Any) -> None:
    assert distance(values(draw(rng())), cdf) < 1


def test_moments_and_independence() -> None:
    x = values(rng().standard_normal(COUNT))
    assert abs(x.mean()) < 4 / sqrt(COUNT)
    assert abs(x.var() - 1) < 4 * sqrt(2 / COUNT)
    assert abs((x**4).mean() - 3) < 4 * sqrt(96 / COUNT)
    for lag in (1, 2, 3, 128):
        assert abs((x[lag:] * x[:-lag]).mean()) < 4 / sqrt(COUNT)
    other = values(rng(8).standard_normal(COUNT))
    assert abs((x * other).mean()) < 4 / sqrt(COUNT)


def test_same_numbers_for_the_same_seed() -> None:
    assert_array_equal(rng().random(100), rng().random(100), strict=True)
    assert (values(rng(1).random(100)) != values(rng(2).random(100))).all()
    assert (values(nl.random.default_rng().random(8)) != values(nl.random.default_rng().random(8))).all()


def test_known_stream() -> None:
    """Elements are words, or halves, of the blocks of Philox 4x32-10 under the seed's key, for good."""
    generator = rng(42)
    generator.random(3)
    key = int(np.random.SeedSequence(42).generate_state(1, np.uint64)[0])
    x, y, z, w = philox.philox(np.arange(5), key)
    halves = np.stack([y << np.uint64(32) | x, w << np.uint64(32) | z], -1)
    assert_array_equal(generator.random(3), (halves.ravel() >> np.uint64(11))[4:7] * 2.0**-53, strict=True)
    words = np.stack([x[4], y[4], z[4], w[4]]).astype("u4")
    assert_array_equal(generator.integers(0, 2**32 - 1, 4, "u4", endpoint=True), words, strict=True)


def test_draws_are_cuts_of_one_stream() -> None:
    """A draw begins at a block of its own."""
    whole = values(rng().random(60))
    generator = rng()
    parts = [generator.random(7), generator.random((3, 5)), generator.random(), generator.random((34,))]
    expected = np.concatenate([whole[:7], whole[8:23], whole[24:25], whole[26:]])
    assert_array_equal(np.concatenate([np.ravel(values(part)) for part in parts]), expected, strict=True)


@pytest.mark.parametrize(
    "draw",
    [
        lambda g, n: g.random(n), lambda g, n: g.random(n, "f4"), lambda g, n: g.standard_normal(n),
        lambda g, n: g.standard_normal(n, "f4"), lambda g, n: g.standard_exponential(n, "f4"),
        lambda g, n: g.integers(7, size=n), lambda g, n: g.integers(3 << 30, size=n, dtype="u4"),
    ],
)  # fmt: skip
def test_parts_of_a_draw(draw: Any) -> None:
    """Any part can be computed alone, whatever block it begins in."""
    whole = values(draw(rng(), 3000))
    for begin in (0, 1, 2, 3, 4):
        assert_array_equal(draw(rng(), 3000)[begin:], whole[begin:], strict=True)
    assert_array_equal(draw(rng(), 3000)[::-3], whole[::-3], strict=True)
    assert_array_equal(draw(rng(), (60, 50))[:, 4:44] + 0, whole.reshape(60, 50)[:, 4:44], strict=True)


@pytest.mark.parametrize("eager", [False, True])
def test_values_do_not_depend_on_evaluation(eager: bool) -> None:
    expected = values(rng().normal(2, 3, (30, 4)))
    with nl.config(eager=eager):
        x = rng().normal(2, 3, (30, 4))
        total = x.sum()
        assert_array_equal(x, expected, strict=True)
        assert_array_equal(x.T[::-1], expected.T[::-1], strict=True)
        assert abs(float(total) - expected.sum()) < 1e-9


def test_reading_twice_gives_the_same() -> None:
    x = rng().random(50)
    y = x * 2
    assert_array_equal(y, values(x) * 2, strict=True)
    assert_array_equal(x, values(x), strict=True)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers(dtype: str) -> None:
    high = 2 if dtype == "?" else 10
    x = values(rng().integers(high, size=COUNT, dtype=dtype))
    assert x.dtype == dtype
    counts = np.bincount(x.astype(int), minlength=high)
    assert len(counts) == high
    # Chi-squared with high - 1 degrees of freedom: 40 is beyond the 0.001 % quantile of all of these.
    assert ((counts - COUNT / high) ** 2 / (COUNT / high)).sum() < 40


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "u8"])
def test_whole_range_of_integers(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = values(rng().integers(info.min, info.max, COUNT, dtype, endpoint=True))
    scaled = (x.astype(float) - float(info.min)) / (float(info.max) - float(info.min) + 1)
    assert abs(scaled.mean() - 0.5) < 4 / sqrt(12 * COUNT)
    assert scaled.min() < 0.01 and scaled.max() > 0.98


def test_integers_of_wide_ranges() -> None:
    high = 3 * 2**61 + 5
    x = values(rng().integers(0, high, COUNT))
    assert x.min() >= 0 and x.max() < high
    assert distance(x / high, lambda value: value) < 1
    low_bits = np.bincount((x & 7).astype(int), minlength=8)
    assert ((low_bits - COUNT / 8) ** 2 / (COUNT / 8)).sum() < 40


def test_integers_of_array_bounds() -> None:
    x = values(rng().integers([0, 10, -5], [[5], [20]] if False else [5, 20, -2], (1000, 3)))
    assert (x >= [0, 10, -5]).all() and (x < [5, 20, -2]).all()
    assert rng().integers([3, 4]).shape == (2,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, 5), "low >= high"), ((0, 300, None, "i1"), "high is out of bounds"), ((-1, 3, None, "u1"), "low is out"),
        ((0,), "high <= 0"),
    ],
)  # fmt: skip
def test_integers_refuses(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rng().integers(*arguments)


def test_permutations() -> None:
    x = values(rng().permutation(100))
    assert sorted(x.tolist()) == list(range(100)) and x.tolist() != list(range(100))
    generator = rng()
    firsts = np.bincount([int(generator.permutation(5)[0]) for _ in range(500)], minlength=5)
    assert ((firsts - 100) ** 2 / 100).sum() < 40
    rows = np.arange(12).reshape(4, 3)
    mixed = values(rng().permutation(rows))
    assert sorted(mixed[:, 0].tolist()) == [0, 3, 6, 9] and (mixed - mixed[:, :1] == [0, 1, 2]).all()
    columns = values(rng().permuted(np.tile(np.arange(50), (3, 1)), axis=1))
    assert (np.sort(columns, 1) == np.arange(50)).all() and (columns[0] != columns[1]).any()


def test_shuffle_in_place() -> None:
    x = nl.arange(50)
    view = x[10:40]
    rng().shuffle(view)
    host = values(x)
    assert sorted(host.tolist()) == list(range(50)) and (host[:10] == np.arange(10)).all()
    assert (host[10:40] != np.arange(10, 40)).any()


@pytest.mark.parametrize(
    "given",
    [
        bytearray(b"abcdefgh"),
        array("i", range(8)),
        deque(range(8)),
        memoryview(bytearray(b"abcdefgh")),
        list("abcdefgh"),
    ],
)
@pytest.mark.parametrize("of", [rng, nl.random.RandomState])
def test_shuffle_of_sequences(given: Any, of: Any) -> None:
    before = list(given)
    of(7).shuffle(given)
    assert list(given) != before and sorted(given) == sorted(before)


@pytest.mark.parametrize("given", [(1, 2), "ab", {0: 1, 1: 2}, memoryview(b"ab")])
def test_shuffle_refuses(given: Any) -> None:
    with pytest.raises(TypeError):
        rng().shuffle(given)


@pytest.mark.parametrize("of", [np.random.default_rng, np.random.RandomState, lambda seed: np.random])
@pytest.mark.parametrize("shape", [(6, 2), (6, 2, 3), (2, 1), (0, 3)])
def test_numpys_generators_refuse_to_lose_rows(of: Any, shape: tuple[int, ...]) -> None:
    host = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    x = nl.asarray(host)
    for seen in (x, x[::-1], x.T):
        with pytest.raises(TypeError, match=r"would lose rows .* use x\[\.\.\.\]"):
            of(1).shuffle(seen)
    assert_array_equal(x, host)
    x[...] = x[of(1).permutation(len(x))]
    assert_array_equal(nl.sort(x, axis=0), host)
    vector = nl.arange(1, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # That items may be lost, which is not so.
        of(1).shuffle(vector)
    assert sorted(vector.tolist()) == list(range(1, 9))
    with nl.config(host_copy="allow"):
        assert sorted(of(1).choice(vector, 8, replace=False).tolist()) == list(range(1, 9))


@pytest.mark.parametrize("shape", [(6,), (6, 2)])
def test_pythons_shuffle_is_as_of_numpys_arrays(shape: tuple[int, ...]) -> None:
    host = np.arange(1, 1 + np.prod(shape)).reshape(shape)
    x = nl.asarray(host)
    random.Random(3).shuffle(x)
    random.Random(3).shuffle(host)
    assert_array_equal(x, host)


PAIRS = [(a, b) for a in "?bBhHiIqQefdFD" for b in "?bBhHiIqQefdFD"]


@pytest.mark.parametrize(("given", "target"), PAIRS)
def test_permuted_casts_by_the_rule_safe(given: str, target: str) -> None:
    host, out = np.ones(4, given), np.zeros(4, target)
    x, ours = nl.asarray(host), nl.asarray(out)
    try:
        np.random.default_rng(1).permuted(host, out=out)
    except TypeError as error:
        with pytest.raises(TypeError, match=re.escape(str(error))):
            rng().permuted(x, out=ours)
    else:
        assert rng().permuted(x, out=ours) is ours
    assert_array_equal(ours, out, strict=True)


def test_integers_of_the_other_byte_order() -> None:
    other = np.dtype("i4").newbyteorder()
    with pytest.raises(ValueError, match="byteswap"):
        rng().integers(3, size=2, dtype=other)
    assert nl.random.RandomState(1).randint(3, size=2, dtype=other).dtype == np.dtype("i4")  # As NumPy's.


def test_choice() -> None:
    assert set(values(rng().choice(5, 200)).tolist()) == set(range(5))
    assert rng().choice([10.0, 20.0]).shape == ()
    x = values(rng().choice(10, 6, replace=False))
    assert len(set(x.tolist())) == 6
    weights = [0.1, 0.2, 0.7]
    counts = np.bincount(values(rng().choice(3, COUNT, p=weights)), minlength=3) / COUNT
    assert abs(counts - weights).max() < 0.02
    generator = rng()
    firsts = [values(generator.choice(3, 2, False, weights)) for _ in range(2000)]
    assert all(pair[0] != pair[1] for pair in firsts)
    assert abs(np.mean([pair[0] == 2 for pair in firsts]) - 0.7) < 0.05
    rows = nl.asarray(np.arange(12).reshape(4, 3))
    assert rng().choice(rows, (2, 2)).shape == (2, 2, 3)
    assert rng().choice(rows, 2, axis=1).shape == (4, 2)
    for bad in ((3, 4, False), (0, 1), (3, 1, True, [0.5, 0.5]), (3, 1, True, [0.5, 0.4, 0.3])):
        with pytest.raises(ValueError, match=r"\w"):
            rng().choice(*bad)


def test_parameters_broadcast() -> None:
    loc = nl.asarray(np.array([0.0, 1000.0]))
    x = values(rng().normal(loc, 1.0, (500, 2)))
    assert abs(x.mean(0) - [0, 1000]).max() < 0.3
    assert rng().uniform(np.zeros(3), 1).shape == (3,)
    with pytest.raises(ValueError, match="scale"):
        rng().normal(0, -1)
    with pytest.raises(ValueError, match="not compatible"):
        rng().normal(np.zeros(3), 1, 4)
    with pytest.raises(TypeError):
        rng().random(3, np.int32)


def test_out() -> None:
    out = nl.zeros(5)
    assert rng().random(out=out) is out
    assert_array_equal(out, values(rng().random(5)), strict=True)


def test_older_names() -> None:
    nl.random.seed(3)
    first = [values(x) for x in (nl.random.rand(2, 3), nl.random.randn(4), nl.random.randint(0, 9, 5))]
    state = nl.random.get_state()
    later = values(nl.random.random(3))
    nl.random.seed(3)
    again = [values(x) for x in (nl.random.rand(2, 3), nl.random.randn(4), nl.random.randint(0, 9, 5))]
    for x, y in zip(first, again, strict=True):
        assert_array_equal(x, y, strict=True)
    nl.random.set_state(state)
    assert_array_equal(nl.random.random(3), later, strict=True)
    assert_array_equal(nl.random.RandomState(3).rand(2, 3), first[0], strict=True)
    assert len(nl.random.bytes(11)) == 11


def test_spawned_generators_differ() -> None:
    a, b = rng().spawn(2)
    assert (values(a.random(10)) != values(b.random(10))).all()


def test_no_memory_until_stored() -> None:
    """A reduction of random numbers stores only its result."""
    x = rng().random((1000, 1000))
    with nl.testing.assert_kernels(1):
        assert abs(float(x.mean()) - 0.5) < 0.01
