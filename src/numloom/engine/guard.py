"""A lock for work that is done in one thread at a time, cheap where nobody else wants it.

A `threading.RLock` reads the clock whenever it is taken, which is a tenth of what a small evaluation may cost. Here
taking a free lock is one comparison: the interpreter's own lock is held all along, so nobody comes between. (A Python
without that lock is refused at import: `numloom.base.interpreter`.)
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.base.forking import EVALUATION, anew, held

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
    queue : list of tuple
        Threads that wait for it, in their order, each with a lock that is released when it has the guard.
    running : bool
        Whether its owner is in the middle of computing values. What runs in between in the same thread (a hook of
        memory, a finalizer, a handler of a signal) begins no other walk or plan then.
    """

    __slots__ = ("__weakref__", "depth", "owner", "queue", "running")

    owner: int
    depth: int
    queue: list[Any]
    running: bool

    def __init__(self) -> None:
        self.owner = 0
        self.depth = 0
        self.queue = []
        self.running = False

    def renew(self) -> None:
        """In a child process nobody waits."""
        self.queue = []

    def take(self) -> None:
        """Wait until no other thread has it."""
        me = get_ident()
        if self.owner == me:
            self.depth += 1
            return
        if self.owner:
            self._wait(me)
            return
        self.owner = me
        self.depth = 1

    def _wait(self, me: int) -> None:
        """Have it when it is this thread's turn: it is handed over, so that nobody who comes by is faster."""
        turn = threading.Lock()
        turn.acquire()
        entry = (me, turn)
        self.queue.append(entry)
        if not self.owner:  # given back meanwhile, when nobody waited
            self.owner = me
            self.depth = 1
            self.queue.remove(entry)
            return
        try:
            turn.acquire()
        except BaseException:  # Ctrl-C, say
            if entry in self.queue:
                self.queue.remove(entry)
            else:  # it is this thread's already, or just about to be
                turn.acquire()
                self.give()
            raise

    def give(self) -> None:
        """Give it back, once for each time it was taken."""
        self.depth -= 1
        if self.depth == 0:
            if self.queue:
                self._hand_over()
            else:
                self.owner = 0

    def _hand_over(self) -> None:
        thread, turn = self.queue.pop(0)
        self.owner = thread
        self.depth = 1
        turn.release()

    def is_mine(self) -> bool:
        """Whether this thread has it."""
        return self.owner == get_ident()

    def is_between(self) -> bool:
        """Whether this thread is in the middle of computing values, so that what is done now is done in between."""
        return self.running and self.owner == get_ident()

    def acquire(self) -> None:
        """`take`, by the name that locks have elsewhere."""
        self.take()

    def release(self) -> None:
        """`give`, likewise."""
        self.give()


guard: Guard = held(Guard(), EVALUATION)
"""Of evaluations, and of whatever else changes where values lie."""
anew(guard.renew)


def refused() -> RuntimeError:
    """The error of who looks in between at what is being computed."""
    return RuntimeError(
        "a value is looked at while it is being computed, by what runs in between: a hook of memory, a finalizer, or a "
        "handler of a signal. Look at it afterwards, or call numloom.evaluate(x) before, where x is that array"
    )


_first_thread = 0


def warn_of_threads() -> None:
    """What is compiled is never interrupted in the middle of recording; what is not may be, by other threads."""
    global _first_thread
    me = threading.get_ident()
    if not _first_thread:
        _first_thread = me
    elif _first_thread not in (me, -1):
        _first_thread = -1
        warnings.warn(
            "numloom runs without its compiled core, which is safe in one thread at a time only: several threads may "
            "get wrong results (install it where there is a C compiler; `python -m numloom info` says what is there)",
            RuntimeWarning,
            stacklevel=3,
        )


__all__ = ["Guard", "guard", "refused", "warn_of_threads"]
