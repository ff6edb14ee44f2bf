"""Philox: known answers, the op definitions against their twins, distributions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from single_loops import Loop, build, loops_of, same_bits

from numloom.ops import philox, sampling
from numloom.ops.elementwise import ELEMENTWISE

LOOPS = [loop for name, op in ELEMENTWISE.items() if name.startswith("random_") for loop in loops_of(op)]


@functools.cache
def compiled() -> dict[Loop, Any]:
    return build(tuple(LOOPS))


def words(counter: int, high: int, key: int) -> str:
    return " ".join(f"{int(word):08x}" for word in philox.philox(counter, key, high))


def test_known_answers() -> None:
    # The known-answer vectors that accompany the generator's publication.
    ones = 2**64 - 1
    assert words(0, 0, 0) == "6627e8d5 e169c58d bc57ac4c 9b00dbd8"
    assert words(ones, ones, ones) == "408f276d 41c83b0e a20bc7c6 6d5451fd"
    assert words(0x85A308D3243F6A88, 0x0370734413198A2E, 0x299F31D0A4093822) == "d16cfe09 94fdcceb 5001e420 24126ea1"


def parameters(name: str, count: int) -> list[np.ndarray[Any, Any]]:
    """Parameters that reach every branch of a sampler, its limits and what it is not defined for."""
    rng = np.random.default_rng(1)

    def spread(low: float, high: float, *more: float) -> np.ndarray[Any, Any]:
        values = 10.0 ** rng.uniform(low, high, count)
        values[: len(more)] = more
        return rng.permutation(values)

    odd = (0.0, -1.0, np.nan, np.inf)
    parts = np.where(rng.random(count) < 0.5, rng.random(count), spread(-17, -1e-9, *odd, 0.5, 1.0, 0.999999))
    if name == "random_binomial":
        return [spread(0, 18).astype("q") - 1, parts]
    if name == "random_hypergeometric":
        good, bad = spread(0, 8.9).astype("q") - 1, spread(0, 8.9).astype("q") - 1
        return [good, bad, (rng.random(count) ** 4 * (good + bad + 2)).astype("q") - 1]
    return {
        "random_gamma": lambda: [spread(-3, 9, *odd)],
        "random_log_gamma": lambda: [spread(-3, 9, *odd)],
        "random_noncentral_chisquare": lambda: [spread(-1, 3, *odd), spread(-1, 3, *odd)],
        "random_wald": lambda: [spread(-3, 3, *odd), spread(-3, 3, *odd)],
        "random_vonmises": lambda: [spread(-9, 13, *odd)],
        "random_poisson": lambda: [spread(-2, 18.9, *odd, 10.0, 1e19)],
        "random_geometric": lambda: [parts],
        "random_logseries": lambda: [parts],
        "random_zipf": lambda: [1 + spread(-15, 3.1, *odd)],
        "random_position": lambda: [np.repeat([4, 5, 70_000, 2**40 + 3], -(-count // 4))[:count]],
        "random_beta": lambda: [spread(-3, 9, *odd), spread(-3, 9)],
        "random_below64": lambda: [np.resize(np.array([0, 1, 6, 1000, 2**40, 2**63 + 5, 2**64 - 1], "Q"), count)],
        "random_below32": lambda: [np.resize(np.array([0, 1, 6, 1000, 2**31 + 5, 2**32 - 1], "Q"), count)],
    }.get(name, list)()


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop[0])
def test_rows_agree_with_their_twins(loop: Loop) -> None:
    rng = np.random.default_rng(0)
    counters = np.concatenate([np.arange(2000), rng.integers(0, 2**64, 2000, np.uint64, endpoint=False)]).astype("Q")
    keys = np.resize(rng.integers(0, 2**64, 7, np.uint64, endpoint=False), counters.size)
    extra = parameters(loop[0], counters.size)
    if loop[0] == "random_position":
        counters %= np.uint64(4)
    if loop[0][-2:] in ("32", "64"):  # Element, first block and key.
        extra = [keys, *extra]
        keys = rng.permutation(counters)
    got = compiled()[loop](counters, keys, *extra)
    want = ELEMENTWISE[loop[0]].numpy(counters, keys, *extra)
    same = same_bits(got, want)
    if loop[2] == "d":
        same |= (got != got) & (want != want)
    assert ELEMENTWISE[loop[0]].exact and same.all()


@pytest.mark.parametrize("bits", [philox.bits32, philox.bits64])
def test_words_of_blocks(bits: Any) -> None:
    """Blocks computed once for all their elements, or for each element."""
    i = np.arange(5, 30, dtype=np.uint64).reshape(5, 5)
    alone = bits(i, np.full((5, 5), 2**64 - 3, np.uint64), np.uint64(7))
    assert (bits(i, np.uint64(2**64 - 3), np.uint64(7)) == alone).all()
    assert bits(i[1, 1], 2**64 - 3, 7) == alone[1, 1] and bits(i[:0], 3, 7).shape == (0, 5)


@pytest.mark.parametrize("size", [32, 64])
def test_distributions(size: int) -> None:
    counters = np.arange(100_000, dtype=np.uint64)
    uniform = getattr(philox, f"uniform{size}")(counters, 0, 42).astype(float)
    normal = getattr(philox, f"normal{size}")(counters, 0, 42).astype(float)
    exponential = getattr(philox, f"exponential{size}")(counters, 0, 42).astype(float)
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.005 and abs(uniform.var() - 1 / 12) < 0.001
    assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.01 and abs((normal**4).mean() - 3) < 0.15
    assert abs(exponential.mean() - 1) < 0.02 and exponential.min() >= 0
    assert np.isfinite(normal).all() and np.isfinite(exponential).all()
    assert abs(np.corrcoef(uniform[1:], uniform[:-1])[0, 1]) < 0.02


def test_below() -> None:
    counters = np.arange(60_000, dtype=np.uint64)
    counts = np.bincount(sampling.below64(counters, 0, 3, 6).astype(int), minlength=6)
    assert counts.size == 6 and abs(counts - 10_000).max() < 500
    wide = sampling.below64(counters[:100], 0, 3, 2**63 + 5)
    exact = [int(bits) * (2**63 + 5) >> 64 for bits in philox.bits64(counters[:100], 0, 3)]
    # The few whose product lies in the uneven part are drawn again, from the next block.
    again = [int(bits) * (2**63 + 5) % 2**64 < -(2**63 + 5) % 2**64 for bits in philox.bits64(counters[:100], 0, 3)]
    assert 30 < sum(again) < 70
    assert all(one == other for one, other, drawn in zip(wide.tolist(), exact, again, strict=True) if not drawn)


@pytest.mark.parametrize("count", [1, 2, 5, 64, 1000])
def test_positions_are_a_permutation(count: int) -> None:
    order = sampling.position(np.arange(count), 12345, count)
    assert sorted(order.tolist()) == list(range(count))
    if count == 1000:
        assert abs(np.corrcoef(np.arange(count), order)[0, 1]) < 0.15
        assert (order != sampling.position(np.arange(count), 12346, count)).mean() > 0.9


@np.errstate(all="ignore")
def test_portable_functions() -> None:
    x = np.concatenate([10.0 ** np.linspace(-300, 300, 2001), np.linspace(0.5, 2, 501)])
    np.testing.assert_allclose(sampling.log(x), np.log(x), rtol=4e-16, atol=1e-16)
    y = np.linspace(-700, 700, 2001)
    np.testing.assert_allclose(sampling.exp(y), np.exp(y), rtol=4e-16)
    z = np.concatenate([-(10.0 ** np.linspace(-18, -1e-3, 500)), 10.0 ** np.linspace(-18, 2, 500)])
    np.testing.assert_allclose(sampling.log1p(z), np.log1p(z), rtol=2e-15)
    np.testing.assert_allclose(sampling.expm1(z), np.expm1(z), rtol=2e-15)
    assert np.isnan(sampling.log(np.array([-1.0, np.nan]))).all()
    assert sampling.log(np.array([0.0, np.inf])).tolist() == [-np.inf, np.inf]
