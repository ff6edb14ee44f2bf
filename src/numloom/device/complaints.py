"""The table to which kernels write what they find wrong, as in ``emit/include/kernel.hpp``.

Its first word is the number of a source location (`numloom.graph.source_location`) as soon as there is one, or -1 after
a fault of a user's kernel on the host. The others are slots, one for each number up to `SLOTS`, then again the first:
the number, and the index and the extent that did not fit where the complaint is about an index.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

SLOTS = 1024
HEAD = 8
"""Words before the slots; a GPU has one of them for numbers that are read back."""
WORDS = HEAD + 4 * SLOTS
NBYTES = 8 * WORDS


class Found(NamedTuple):
    """A complaint: the number of a source location, an index, and an extent (-1 where it is about no index)."""

    number: int
    at: int
    extent: int


NOTHING: list[Found] = []
"""Where there is no complaint: no list is made at each look."""


def take(address: int) -> list[Found]:
    """What stands in the table, in the order of numbers; then it is empty."""
    words = (ctypes.c_int64 * WORDS).from_address(address)
    first = words[0]
    if not first:
        return []
    words[0] = 0  # Before the slots are read: who writes to one later sets it again.
    found = []
    for slot in range(HEAD, WORDS, 4):
        if words[slot]:
            number, index, extent, about = words[slot : slot + 4]
            words[slot + 3] = 0
            words[slot] = 0
            found.append(Found(number, index, extent if about else -1))
    if first > 0 and all(one.number != first for one in found):
        found.append(Found(first, 0, -1))
    return sorted(found)


def put(address: int, found: Found) -> None:
    """Write a complaint, as a kernel does."""
    words = (ctypes.c_int64 * WORDS).from_address(address)
    slot = HEAD + 4 * (found.number % SLOTS)
    if not words[slot]:
        words[slot + 1], words[slot + 2], words[slot + 3] = found.at, found.extent, found.extent >= 0
        words[slot] = found.number
    words[0] = found.number


__all__ = ["HEAD", "NBYTES", "NOTHING", "SLOTS", "WORDS", "Found", "put", "take"]
