"""Counters of what ran, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Counters:
    """What ran since the process started.

    Attributes
    ----------
    kernels : int
        Fused kernels that plans ran, whichever tier ran them.
    library_calls : int
        Vendor routines and device-wide primitives.
    copies : int
        Buffer copies that plans asked for.
    doubts : int
        Doubts about memory that are not known to be groundless (`numloom.engine.doubts`); of now.
    plans : int
        Plans made (not found in the cache).
    resized : int
        Plans that came from one for other sizes.
    flushes : int
        Times that recorded work was run.
    waits : int
        Times that the host waited for values (`synchronize`, and what brings values to the host).
    profiler : object or None
        While a profile is taken, who is told how long what runs takes (`numloom.engine.profiling.ProfileRecorder`).
    recorder : object or None
        While a call is recorded, who is told what runs (`numloom.engine.observed.Observer`).
    watched : bool
        Whether either is there: ways that tell nobody are not taken then.
    """

    __slots__ = (
        "copies", "doubts", "flushes", "kernels", "library_calls", "plans", "profiler", "recorder", "resized", "waits",
        "watched",
    )  # fmt: skip

    copies: int
    doubts: int
    flushes: int
    kernels: int
    library_calls: int
    plans: int
    resized: int
    waits: int
    profiler: Any
    recorder: Any
    watched: bool

    def __init__(self) -> None:
        self.kernels = 0
        self.library_calls = 0
        self.copies = 0
        self.doubts = 0
        self.plans = 0
        self.resized = 0
        self.flushes = 0
        self.waits = 0
        self.profiler = self.recorder = None
        self.watched = False

    def profile_by(self, profiler: Any) -> None:
        """Have this one take times, or nobody."""
        self.profiler = profiler
        self.watched = profiler is not None or self.recorder is not None

    def record_by(self, recorder: Any) -> None:
        """Have this one be told what runs, or nobody."""
        self.recorder = recorder
        self.watched = recorder is not None or self.profiler is not None


counters = Counters()
_counters = counters
"""The same, found faster by what is compiled here."""


def count_flush() -> None:
    """Recorded work ran once more."""
    c = _counters
    c.flushes += 1


def count_kernel() -> None:
    """One fused kernel more ran."""
    c = _counters
    c.kernels += 1


UNSET = object()
"""The attribute of values whose memory nothing was written to."""

watchers: list[Callable[[bool, int], None]] = []
"""Who is told of each copy between NumPy's arrays and the device's memory: whether to the device, and the bytes."""


def note_copy(to_device: bool, nbytes: int) -> None:
    """Tell of a copy between a NumPy array and the device's memory."""
    for watcher in watchers:
        watcher(to_device, nbytes)
