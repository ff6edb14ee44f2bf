"""The library of single-operation loops: built with the package, or once from its text."""

from __future__ import annotations

import ctypes
import os

from numloom.device.cpu.libraries import address_of

_FOLDER = os.path.dirname(__file__)
PACKAGED = os.path.join(_FOLDER, "_loops.so")
WIDE = os.path.join(_FOLDER, "_loops_wide.so")
"""The same loops for processors with AVX2 and fused multiply-adds, which give the same bits 5 to 30 times as fast."""


class Loops:
    """Addresses of loops by name."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self._addresses: dict[str, int] = {}

    def address(self, name: str) -> int:
        """Address of the loop `name`, 0 where there is none."""
        address = self._addresses.get(name)
        if address is None:
            address = self._addresses[name] = address_of(self.library, name)
        return address

    def __contains__(self, name: str) -> bool:
        return self.address(name) != 0


def packaged() -> Loops | None:
    """The library that was built with the package, if it was; the wide one where the processor runs it."""
    try:
        loops = Loops(ctypes.CDLL(PACKAGED))
        if os.path.exists(WIDE) and "runs_wide_loops" in loops and loops.library.runs_wide_loops():
            loops = Loops(ctypes.CDLL(WIDE))
        return loops
    except OSError:
        return None
