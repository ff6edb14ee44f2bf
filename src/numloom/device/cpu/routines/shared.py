"""Loops in C++ that routines share out among threads, compiled in the background when one is first asked for."""

from __future__ import annotations

import os
from array import array
from functools import cache
from typing import Any

from numloom.device.cpu import threads
from numloom.device.cpu.libraries import address_of

PIECE = 16384
"""Elements of a piece of work."""
FEW = 4096
"""Fewer elements than this are NumPy's: they are done before a loop is found."""


@cache
def text() -> str:
    """All loops."""
    with open(os.path.join(os.path.dirname(__file__), "loops.hpp"), encoding="utf-8") as file:
        return file.read()


def run(device: Any, name: str, params: array[int], pieces: int, grain: int = 1) -> bool:
    """Run the loop `name` over its pieces, at least `grain` at a time; False (not done) until it is compiled."""
    library = device.builder.kernel(text(), "", wait=False).library
    if library is None:
        return False
    threads.run(address_of(library, name), params.buffer_info()[0], pieces, grain)
    return True


def pieces_of(count: int) -> int:
    """How many pieces so many elements are."""
    return -(-count // PIECE)
