"""A lock for work that is done in one thread at a time, cheap where nobody else wants it.

A `threading.RLock` reads the clock whenever it is taken, which is a tenth of what a small evaluation may cost. Here
taking a free lock is one comparison: the interpreter's own lock is held all along, so nobody comes between. (A Python
without that lock is refused at import: `numloom.base.interpreter`.)
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

    __slots__ = ("__weakref__", "depth", "owner", "turn", "waiting")

    owner: int
    depth: int
    waiting: int

    def __init__(self) -> None:
        self.owner = 0
        self.depth = 0
        self.waiting = 0
        self.turn = threading.Condition()

    def renew(self) -> None:
        """In a child process nobody waits."""
        self.waiting = 0
        self.turn = threading.Condition()

    def take(self) -> None:
        """Wait until no other thread has it."""
        me = get_ident()
        if self.owner == me:
            self.depth += 1
            return
        while self.owner:  # again: whoever comes by before this thread goes on takes it without a look here
            self._wait()
        self.owner = me
        self.depth = 1

    def _wait(self) -> None:
        self.waiting += 1
        try:
            with self.turn:
                while self.owner:
                    self.turn.wait()
        except BaseException:  # Ctrl-C, say: what woke this thread was meant for one that goes on
            with self.turn:
                self.turn.notify()
            raise
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

    def acquire(self) -> None:
        """`take`, by the name that locks have elsewhere."""
        self.take()

    def release(self) -> None:
        """`give`, likewise."""
        self.give()


__all__ = ["Guard"]
