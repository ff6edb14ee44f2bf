"""What captures of all devices have: see `numloom.device.interface.Capture`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from numloom.device.memory import CAPTURED, Buffer, Pool, own_pool


class LiveCapture:
    """A `Capture` of launches whose blocks are read in each run; devices add what else they take down.

    Attributes
    ----------
    live : list of callable
        These launches.
    kept : list
        What must live as long as this.
    """

    def __init__(self, device: Any) -> None:
        self.device = device
        self.live: list[Callable[[], None]] = []
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

    def captured(self, calls: Callable[[Any], None]) -> Any:
        """Return what `calls` gives to be taken down, as one launch; None where that cannot be."""
        try:
            return self.taken(calls)
        except (RuntimeError, MemoryError):  # A driver's and its libraries', too: step by step they are met again.
            return None

    def taken(self, calls: Callable[[Any], None]) -> Any:
        """`captured`, which may raise."""
        calls(self)
        return self

    def launch(self, bound: Callable[[], None], words: Sequence[int] | None = None, buffers: Sequence[Any] = ()) -> None:
        """Take down a launch whose block is read in each run."""
        if words is not None:
            raise RuntimeError("a launch that has memory of its own, which nobody here gives it")
        self.live.append(bound)

    def workspace(self, nbytes: int, counters: int) -> Buffer:
        """Return scratch memory of one launch alone, whose counters its kernel leaves at zero."""
        buffer: Buffer = self.pool.allocate(nbytes)
        self.device.clear(buffer, counters)
        self.kept.append(buffer)
        return buffer

    def _refuse(self, *given: Any) -> Any:
        raise RuntimeError("nothing but launches whose blocks are read in each run is captured here")

    operand = result = call = copy = _refuse


__all__ = ["LiveCapture"]
