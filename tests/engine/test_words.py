"""Parameter blocks: what a launch patches."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from numloom.engine.words import UncompiledWords, new_words

WAYS = [new_words, UncompiledWords]
"""The blocks in use, which are compiled where they can be, and those of the pure package."""


def test_addresses_are_stored_where_a_launch_says() -> None:
    words = UncompiledWords(5)
    words.put(1, -7)
    words.patch(2, [4, 0, 3], [1000, 2000, 3000], [2, 0, 1], [8, 16, 24])
    assert list(words.block) == [1016, -7, 0, 0, 3008]
    other = words.copy()
    other.patch(1, [1], [5], [0], [-5])
    assert words.block[1] == -7
    assert other.block[1] == 0


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
