"""The parameter block of a kernel: 8-byte words that a launch patches."""

from __future__ import annotations

from array import array
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
        """Another block with the same words."""
        other = UncompiledWords(0)
        other.block = self.block[:]
        return other

    def put(self, index: int, value: int) -> None:
        """Store an int64."""
        self.block[index] = value

    def patch(
        self, count: int, targets: list[int], addresses: list[int], sources: list[int], offsets: list[int]
    ) -> None:
        """Store addresses: which of `addresses`, and how many bytes from there on, for each of `count` words."""
        for target, source, offset in zip(targets[:count], sources, offsets, strict=False):
            self.block[target] = addresses[source] + offset

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
    """A block of `count` words, compiled where the core is."""
    return UncompiledWords(count) if _Words is None else _Words(count)
