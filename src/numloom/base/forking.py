"""What a fork must find in order: a child has the thread that forked alone, and all that the others held.

Locks that are asked for here are taken before a fork and given back on both sides, so no child finds one in the hands
of a thread that it has not, nor data that another thread was changing. They are taken from the outside in: a lock of
lower rank is never asked for while one of higher rank is held. What a child must make anew (threads above all) says
so by `anew`. Locks of a GPU's backend are not here, since no child can use it (`numloom.device.registry`).
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol

EVALUATION, DEVICES, BUILDING, RUNTIME, INNERMOST = range(5)
"""Ranks: the evaluation, the making of devices, the builder of kernels, users' kernels, and what is held while nothing
else is asked for."""


class Lock(Protocol):
    """A lock that its owner may take again, as whoever forks may be its owner."""

    def acquire(self) -> Any:
        """Take it."""

    def release(self) -> Any:
        """Give it back."""


_locks: dict[weakref.ref[Any], int] = {}
_makers: list[Callable[[], Callable[[], None] | None]] = []
_turn = threading.RLock()  # one fork at a time
_taken: list[Lock] = []
_passes: list[int] = []  # the thread that forks, once for each time that its fork has come by here


def held(lock: Lock, rank: int = INNERMOST) -> Any:
    """The lock itself, which every fork takes from now on, as long as it lives."""
    _locks[weakref.ref(lock, _locks.pop)] = rank  # No line of Python runs where one dies: Ctrl-C would be lost there.
    return lock


def lock(rank: int = INNERMOST) -> Any:
    """A new lock that every fork takes."""
    return held(threading.RLock(), rank)


def anew(function: Callable[[], None]) -> None:
    """Call this in every child; of a method, as long as its object lives."""
    _makers.append(weakref.WeakMethod(function) if hasattr(function, "__self__") else lambda: function)


def register() -> None:
    """Take our locks before those of a library that has registered its own just now.

    Functions before a fork run in the reverse of their registration, and what comes by here first takes the locks. A
    library's lock that is asked for by threads that hold ours has to be taken after them, whenever it was imported.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)


def _before() -> None:
    _turn.acquire()
    _passes.append(threading.get_ident())
    if len(_passes) > 1:
        return
    for reference, _ in sorted(_locks.copy().items(), key=lambda item: item[1]):
        lock = reference()
        if lock is not None:
            lock.acquire()
            _taken.append(lock)


def _after() -> None:
    if not _passes or _passes[-1] != threading.get_ident():
        return  # It was registered while this fork waited for a lock.
    _passes.pop()
    if not _passes:
        while _taken:
            _taken.pop().release()
    _turn.release()


def _after_in_child() -> None:
    if len(_passes) == 1:
        for make in _makers.copy():
            function = make()
            if function is not None:
                function()
    _after()


importing = lock()
"""Held while a library is imported at its first use: a child would wait for ever for what another thread had begun."""

register()
