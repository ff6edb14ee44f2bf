"""What captures of all devices have: see `numloom.device.interface.Capture`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numloom.device.interface import Capture, Captured
from numloom.device.memory import CAPTURED, Buffer, Pool, own_pool


class LiveCapture:
    """A `Capture` of launches whose blocks are read in each run; devices add what else they take down.

    Attributes
    ----------
    launches : list of callable
        These.
    kept : list
        What must live as long as this.
    """

    def __init__(self, device: Any) -> None:
        self.device = device
        self.launches: list[Callable[[], None]] = []
        self.kept: list[Any] = []

    @functools.cached_property
    def pool(self) -> Pool:
        """Memory of its own, made when it is asked for: that takes longer than to capture a few launches."""
        return own_pool(self.device.pool, CAPTURED)

    @property
    def nbytes(self) -> int:
        """Bytes of that memory."""
        pool = self.__dict__.get("pool")
        return 0 if pool is None else pool.used + pool.cached

    def captured(self, calls: Callable[[Capture], None]) -> Captured | None:
        """Return what `calls` gives to be taken down, as one launch; None where that cannot be."""
        try:
            found: Captured | None = self.taken(calls)
            return found
        except (RuntimeError, MemoryError):  # A driver's and its libraries', too: step by step they are met again.
            return None

    def taken(self, calls: Callable[[Capture], None]) -> Any:
        """`captured`, which may raise."""
        calls(self)
        return self

    def live(self, bound: Callable[[], None]) -> None:
        """Take down a launch whose block is read in each run."""
        self.launches.append(bound)

    def workspace(self, nbytes: int, counters: int) -> Buffer:
        """Return scratch memory of one launch alone, whose counters its kernel leaves at zero."""
        buffer: Buffer = self.pool.allocate(nbytes)
        self.device.clear(buffer, counters)
        self.kept.append(buffer)
        return buffer

    def refuse(self, *given: Any) -> Any:
        """Take nothing of this kind down."""
        raise RuntimeError("this device does not capture such work")

    operand = result = number = launch = call = copy = refuse


__all__ = ["LiveCapture"]
