"""A lock for work that is done in one thread at a time, cheap where nobody else wants it.

A `threading.RLock` reads the clock whenever it is taken, which is a tenth of what a small evaluation may cost. Here
taking a free lock is one comparison: the interpreter's own lock is held all along, so nobody comes between.
"""

from __future__ import annotations

import threading

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

if not cython.compiled:  # The compiled one makes no number object.
    from threading import get_ident


class Guard:
    """A lock that its owner may take again.

    Attributes
    ----------
    owner : int
        Thread that holds it; 0 where nobody does.
    depth : int
        How many times the owner took it.
    waiting : int
        Threads that wait for it.
    """

    __slots__ = ("depth", "owner", "turn", "waiting")

    owner: int
    depth: int
    waiting: int

    def __init__(self) -> None:
        self.owner = 0
        self.depth = 0
        self.waiting = 0
        self.turn = threading.Condition()

    def take(self) -> None:
        """Wait until no other thread has it."""
        me = get_ident()
        if self.owner == me:
            self.depth += 1
            return
        if self.owner:
            self._wait()
        self.owner = me
        self.depth = 1

    def _wait(self) -> None:
        self.waiting += 1
        try:
            with self.turn:
                while self.owner:
                    self.turn.wait()
        finally:
            self.waiting -= 1

    def give(self) -> None:
        """Give it back, once for each time it was taken."""
        self.depth -= 1
        if self.depth == 0:
            self.owner = 0
            if self.waiting:
                with self.turn:
                    self.turn.notify()


__all__ = ["Guard"]
