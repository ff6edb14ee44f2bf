"""Parameter blocks: what a launch patches."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from numloom.engine import words as words_module
from numloom.engine.words import UncompiledWords, new_words, rows_of, words_of

WAYS = [new_words, UncompiledWords]
"""The blocks in use, which are compiled where they can be, and those of the pure package."""


@pytest.fixture(params=WAYS)
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make blocks of numbers in one way."""
    monkeypatch.setattr(words_module, "new_words", request.param)
    return words_of


def test_addresses_are_stored_where_a_launch_says(blocks: Any) -> None:
    words, addresses = blocks([0, -7, 0, 0, 0]), blocks([1000, 2000, 3000])
    words.patch(blocks([4, 2, 8, 0, 0, 16]), addresses)
    assert list(words.block) == [1016, -7, 0, 0, 3008]
    other = words.copy()
    other.patch(blocks([1, 0, -1000]), addresses)
    assert words.block[1] == -7 and other.block[1] == 0
    other.patch(blocks([]), addresses)
    assert [other.get(index) for index in range(other.count())] == [1016, 0, 0, 0, 3008]


def test_rows_are_what_was_given(blocks: Any) -> None:
    assert rows_of(blocks([1, 2, 3, 4, 5, -6])) == [(1, 2, 3), (4, 5, -6)] and rows_of(blocks([])) == []


@pytest.mark.parametrize("make", WAYS)
def test_copies_hold_the_same_words_apart(make: Any) -> None:
    words = make(4)
    assert list(words.block) == [0] * 4
    words.put(0, -(1 << 63))
    words.put_f32(1, 0.1)
    words.put_f64(2, -2.5)
    held = [-(1 << 63), *struct.unpack("<qq", struct.pack("<f4xd", 0.1, -2.5)), 0]
    assert list(words.block) == held
    other = words.copy()
    assert type(other) is type(words) and list(other.block) == held
    other.put(3, 5)
    words.put(0, 1)
    assert list(other.block) == [*held[:3], 5] and list(words.block) == [1, *held[1:]]


@pytest.mark.parametrize("make", WAYS)
def test_a_float_leaves_nothing_of_what_was_there(make: Any) -> None:
    words = make(1)
    for before in (-1, 1 << 40):
        words.put(0, before)
        words.put_f32(0, 1.5)
        assert words.block[0] == struct.unpack("<q", struct.pack("<f4x", 1.5))[0]
