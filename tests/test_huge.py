"""Arrays of more elements than 32 bits number: on a GPU; elsewhere the same programs on small ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import numloom as nl
from numloom.device import registry

PERIOD = 100  # elements repeat, so that every result is known


@pytest.fixture
def count() -> Iterator[int]:
    """How many elements: no multiple of the period, nor of anything that kernels cut into."""
    device = registry.current()
    yield (1 << 31) + 12_357 if device.name == "cuda" else 12_357
    nl.synchronize()
    if device.name == "cuda":
        device.pool.trim()


def pattern(count: int) -> Any:
    """0 ... 99 again and again, as uint8."""
    return (nl.arange(count) % PERIOD).astype(nl.uint8)


def total(count: int) -> int:
    """The sum of the pattern."""
    whole, rest = divmod(count, PERIOD)
    return whole * (PERIOD * (PERIOD - 1) // 2) + rest * (rest - 1) // 2


def far(count: int) -> list[int]:
    """Places at both ends and on both sides of 2^31 and of the middle."""
    return [place % count for place in (0, 1, 99, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, count // 2, count - 1)]


def test_elementwise(count: int) -> None:
    x = pattern(count)
    y = x + 3
    z = nl.where(x < 50, y[::-1], x)  # a map of two orders
    for place in far(count):
        mirrored = (count - 1 - place) % PERIOD + 3
        assert int(y[place]) == place % PERIOD + 3
        assert int(z[place]) == (mirrored if place % PERIOD < 50 else place % PERIOD)
    x[1:-1] += 1  # in place, from an odd address on
    assert [int(x[place]) for place in (0, 1, count - 2, count - 1)] == [
        0, 2, (count - 2) % PERIOD + 1, (count - 1) % PERIOD,
    ]  # fmt: skip


def test_reductions(count: int) -> None:
    x = pattern(count)
    assert int(x.sum(dtype=nl.int64)) == total(count)
    assert int(x.max()) == PERIOD - 1 and int(x.min()) == 0 and int(nl.count_nonzero(x == 7)) == (count + 92) // PERIOD
    x[count - 3] = 200
    assert int(x.argmax()) == count - 3
    rows = x[: count // 3 * 3].reshape(3, -1)
    assert int(rows.sum(dtype=nl.int64)) == int(rows.sum(axis=1, dtype=nl.int64).sum())
    assert int(rows.sum(axis=0, dtype=nl.int32).sum(dtype=nl.int64)) == int(rows.sum(dtype=nl.int64))
    assert rows.argmax(axis=1).tolist()[0] == PERIOD - 1


def test_indexing(count: int) -> None:
    x = pattern(count)
    places = nl.asarray(far(count))
    assert x[places].tolist() == [place % PERIOD for place in far(count)]
    x[places] = 150
    assert nl.flatnonzero(x == 150).tolist() == sorted(set(far(count)))
    chosen = x[x > 98]
    assert chosen.size == int((x > 98).sum()) and int(chosen.min()) == 99
    with pytest.raises(IndexError):
        x[count]
    assert int(nl.concatenate([x[:5], x])[count + 4]) == 150
    side = nl.broadcast_to(x[: count // 64 * 64].reshape(-1, 64)[:, :1], (count // 64, 64)).T.copy()
    assert int(side[63, count // 64 - 1]) == int(x[(count // 64 - 1) * 64])


def test_order(count: int) -> None:
    x = pattern(count)[::-1]
    ordered = nl.sort(x)
    counts = [(count - value + PERIOD - 1) // PERIOD for value in range(PERIOD)]
    ends = [sum(counts[: value + 1]) for value in range(PERIOD)]
    assert nl.searchsorted(ordered, nl.arange(PERIOD, dtype=nl.uint8), "right").tolist() == ends
    assert nl.bincount(x).tolist() == counts
    values, found = nl.unique(x, return_counts=True)
    assert values.tolist() == list(range(PERIOD)) and found.tolist() == counts
    running = nl.cumsum(x, dtype=nl.int64)
    assert int(running[-1]) == total(count)
    assert int(running[count // 2]) == total(count) - total(count - 1 - count // 2)
