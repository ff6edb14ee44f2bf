"""Philox: known answers, the rows against their twins, distributions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from single_loops import Loop, build, loops_of, same_bits

from numloom.ops import philox
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


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop[0])
def test_rows_agree_with_their_twins(loop: Loop) -> None:
    rng = np.random.default_rng(0)
    counters = np.concatenate([np.arange(2000), rng.integers(0, 2**64, 2000, np.uint64, endpoint=False)]).astype("Q")
    keys = np.resize(rng.integers(0, 2**64, 7, np.uint64, endpoint=False), counters.size)
    extra = [np.resize(np.array([0, 1, 6, 1000, 2**40, 2**63 + 5], "Q"), counters.size)] * (len(loop[1]) - 2)
    got = compiled()[loop](counters, keys, *extra)
    want = ELEMENTWISE[loop[0]].numpy(counters, keys, *extra)
    if ELEMENTWISE[loop[0]].exact:
        assert same_bits(got, want).all()
    else:
        np.testing.assert_allclose(
            got, want, rtol=3e-6 if loop[2] == "f" else 3e-15, atol=1e-6 if loop[2] == "f" else 1e-15
        )


@pytest.mark.parametrize("size", [32, 64])
def test_distributions(size: int) -> None:
    counters = np.arange(100_000, dtype=np.uint64)
    uniform = getattr(philox, f"uniform{size}")(counters, 42).astype(float)
    normal = getattr(philox, f"normal{size}")(counters, 42).astype(float)
    exponential = getattr(philox, f"exponential{size}")(counters, 42).astype(float)
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.005 and abs(uniform.var() - 1 / 12) < 0.001
    assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.01 and abs((normal**4).mean() - 3) < 0.15
    assert abs(exponential.mean() - 1) < 0.02 and exponential.min() >= 0
    assert np.isfinite(normal).all() and np.isfinite(exponential).all()
    assert abs(np.corrcoef(uniform[1:], uniform[:-1])[0, 1]) < 0.02


def test_below() -> None:
    counters = np.arange(60_000, dtype=np.uint64)
    counts = np.bincount(philox.below(counters, 3, 6).astype(int), minlength=6)
    assert counts.size == 6 and abs(counts - 10_000).max() < 500
    wide = philox.below(counters[:100], 3, 2**63 + 5)
    exact = [int(bits) * (2**63 + 5) >> 64 for bits in philox.bits64(counters[:100], 3)]
    assert wide.tolist() == exact
