"""Parameter blocks: what a launch patches."""

from __future__ import annotations

from numloom.engine.words import UncompiledWords


def test_addresses_are_stored_where_a_launch_says() -> None:
    words = UncompiledWords(5)
    words.put(1, -7)
    words.patch(2, [4, 0, 3], [1000, 2000, 3000], [2, 0, 1], [8, 16, 24])
    assert list(words.block) == [1016, -7, 0, 0, 3008]
    other = words.copy()
    other.patch(1, [1], [5], [0], [-5])
    assert words.block[1] == -7
    assert other.block[1] == 0
