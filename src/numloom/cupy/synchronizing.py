"""``cupyx.allow_synchronize``: an error where the host waits for values that it should not ask for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from numloom.engine.state import counters, watchers


class DeviceSynchronized(RuntimeError):
    """The host has waited for values within ``allow_synchronize(False)``."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(
            message or "the host has waited for values: keep the work in arrays, or look at them after the block"
        )


class _State(threading.local):
    """Of this thread: whether a block within allows what the one around it forbids, and the waits of such blocks."""

    allowed: bool = False
    excused: int = 0


_Mode = _State()


@contextmanager
def allow_synchronize(allow: bool) -> Iterator[None]:
    """Forbid the host to wait for values within a ``with`` block, or allow it again.

    Parameters
    ----------
    allow : bool
        Whether it may.

    Raises
    ------
    DeviceSynchronized
        At the line that copies from a GPU, else at the end of the block. (A single number of memory that the host sees
        is not noticed; what other threads do is.)

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> from numloom.cupy.synchronizing import allow_synchronize
    >>> with allow_synchronize(False):
    ...     x = cp.arange(3) * 2
    >>> with allow_synchronize(False):
    ...     host = x.get()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    numloom.cupy.synchronizing.DeviceSynchronized: the host has waited for values: ...
    """
    if not allow:
        with _watched():
            yield
        return
    before, _Mode.allowed = _Mode.allowed, True
    waits = counters.waits
    try:
        yield
    finally:
        _Mode.allowed = before
        _Mode.excused += counters.waits - waits


@contextmanager
def _watched() -> Iterator[None]:
    thread = threading.get_ident()

    def watch(to_device: bool, nbytes: int) -> None:
        if not to_device and not _Mode.allowed and threading.get_ident() == thread:
            raise DeviceSynchronized

    before, _Mode.allowed = _Mode.allowed, False
    waits, excused = counters.waits, _Mode.excused
    watchers.append(watch)
    try:
        yield
    finally:
        watchers.remove(watch)
        _Mode.allowed = before
    if counters.waits - waits > _Mode.excused - excused:
        raise DeviceSynchronized


__all__ = ["DeviceSynchronized", "allow_synchronize"]
