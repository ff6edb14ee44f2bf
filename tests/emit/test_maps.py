"""Kernels without reductions: host text, emulated CUDA threads and plain NumPy give the same bits."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Case, describe, expected, random_map, run_emulated, run_host, same

from numloom.emit import maps


def check(case: Case, backwards: bool) -> None:
    host, emulated, want = run_host(case), run_emulated(case, backwards), expected(case)
    assert same(host.memory, want.memory), describe(case)
    assert same(emulated.memory, want.memory), describe(case)
    assert host.error == emulated.error == want.error


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_random_maps(seed: int) -> None:
    check(random_map(Random(seed)), backwards=bool(seed & 1))


@pytest.mark.parametrize("seed", range(12))
def test_wide_indices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Spaces beyond 2^31 points need more memory than a test has: their index arithmetic on small ones.
    monkeypatch.setattr(maps, "index_type", lambda program: "i64")
    check(random_map(Random(1000 + seed)), backwards=False)


@pytest.mark.parametrize("kind", ["i32", "i64"])
def test_division_by_multiplication(kind: str) -> None:
    limit = 2**31 if kind == "i32" else 2**62
    random = Random(5)
    divisors = [1, 2, 3, 7, 10, 641, 2**16, 2**16 + 1, 2**30 - 1]
    divisors += [random.randrange(1, limit // 2) for _ in range(200)]
    for divisor in divisors:
        multiplier, shift = maps.magic(divisor, kind)
        for n in [0, 1, divisor - 1, divisor, divisor + 1, limit - 1, *(random.randrange(limit) for _ in range(20))]:
            if kind == "i32":
                quotient = (n * multiplier) >> shift
                assert multiplier < 2**32
            else:
                quotient = ((2 * n * (multiplier % 2**64)) >> 64) >> shift
            assert quotient == n // divisor, (n, divisor)
