"""What was read before its memory is written, and is used behind: stored, so that the memory is not copied (S7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.plan import group

SLICES = [
    slice(0, 8),
    slice(8, 16),
    slice(0, 16, 2),
    slice(1, 16, 2),
    slice(7, None, -1),
    slice(4, 12),
    slice(11, 3, -1),
]


def program(xp: Any, seed: int) -> list[Any]:
    """Parts of an array that are read, written over in some order, and read again."""
    rng = np.random.default_rng([seed, 4405])
    shape = (16,) if rng.random() < 0.5 else (16, 16)
    x = xp.asarray(rng.integers(0, 50, shape).astype(rng.choice(["f8", "f4", "i8"])))
    held = []
    for _ in range(4):
        parts = [x[SLICES[rng.integers(0, 7)]].copy() for _ in range(rng.integers(1, 4))]
        for _ in range(rng.integers(0, 3)):
            one, other = rng.integers(0, len(parts), 2)
            parts[one] = parts[one] * 2 - parts[other] if rng.random() < 0.5 else abs(parts[other] - 7)
        if rng.random() < 0.3:
            held.append(parts[0] + x.sum(0))
        if rng.random() < 0.2:
            held.append(x)
            x = x + 1
        for part in parts:
            x[SLICES[rng.integers(0, 7)]] = part
            if rng.random() < 0.2:
                x[SLICES[rng.integers(0, 7)]] += x[SLICES[rng.integers(0, 7)]][::-1] if rng.random() < 0.5 else part
    return [x, *held]


@pytest.mark.parametrize("seed", range(40))
def test_programs_have_numpys_values(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "LARGE", 0)
    expected = program(np, seed)
    with nl.config(unplanned=0):
        found = program(nl, seed)
        nl.evaluate(*found)
    for ours, numpys in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.get(), numpys)


def test_halves_of_an_array_are_written_in_place() -> None:
    n = 1 << 16
    x = nl.arange(4.0 * n) + 0
    nl.evaluate(x)
    expected = x.get().copy()
    a, b = x[: 2 * n : 2].copy(), x[1 : 2 * n : 2].copy()
    x[:n], x[n : 2 * n] = (a + b) / 2, (a - b) / 2
    del a, b
    text = str(nl.explain(x))
    assert "in place" in text and "copy" not in text.split("kernel 0:")[0]
    p, q = expected[: 2 * n : 2].copy(), expected[1 : 2 * n : 2].copy()
    expected[:n], expected[n : 2 * n] = (p + q) / 2, (p - q) / 2
    np.testing.assert_array_equal(x.get(), expected)
