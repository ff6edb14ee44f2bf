"""Rows of 8-byte words: the parameter block of a kernel, which a launch patches, and what says by which numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from struct import Struct
from typing import Any

try:
    from numloom.engine._words import Words as _Words  # type: ignore[import-not-found]
except ImportError:
    _Words = None

_float_word = Struct("<f4x")
_double_word = Struct("<d")
_long_word = Struct("<q")


class UncompiledWords:
    """The block, an ``array('q')`` of zeros at first, and stores of one word as each type."""

    __slots__ = ("block",)

    block: array[int]

    def __init__(self, count: int) -> None:
        self.block = array("q", bytes(8 * count))

    def copy(self) -> UncompiledWords:
        """Return another block with the same words."""
        other = UncompiledWords(0)
        other.block = self.block[:]
        return other

    def count(self) -> int:
        """Return the number of words."""
        return len(self.block)

    def get(self, index: int) -> int:
        """Return a word as an int64."""
        return self.block[index]

    def put(self, index: int, value: int) -> None:
        """Store an int64."""
        self.block[index] = value

    def patch(self, rows: UncompiledWords, addresses: UncompiledWords) -> None:
        """Store addresses: for each row of three numbers the word, the place of the address, and bytes from there."""
        known = rows.block
        for at in range(0, len(known), 3):
            self.block[known[at]] = addresses.block[known[at + 1]] + known[at + 2]

    def put_f32(self, index: int, value: float) -> None:
        """Store a number as float32 (infinite where it is too large)."""
        value = float(value)
        try:
            word = _float_word.pack(value)
        except OverflowError:
            word = _float_word.pack(float("inf") if value > 0 else -float("inf"))
        self.block[index] = _long_word.unpack(word)[0]

    def put_f64(self, index: int, value: float) -> None:
        """Store a number as float64."""
        self.block[index] = _long_word.unpack(_double_word.pack(float(value)))[0]


def new_words(count: int) -> Any:
    """Return a block of `count` words, compiled where the core is."""
    return UncompiledWords(count) if _Words is None else _Words(count)


def words_of(numbers: Iterable[int]) -> Any:
    """Return a block that holds these numbers."""
    known = list(numbers)
    words = new_words(len(known))
    for index, number in enumerate(known):
        words.put(index, number)
    return words


def rows_of(words: Any) -> list[tuple[int, int, int]]:
    """Return the rows of three numbers that a block holds."""
    known = words.block
    return [(known[at], known[at + 1], known[at + 2]) for at in range(0, len(known), 3)]
