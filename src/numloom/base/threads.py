"""Threads of ours, whose stack is as large as what they run needs, whatever the program has set for its own."""

from __future__ import annotations

import threading

from numloom.base.forking import lock

STACK = 8 << 20
"""Bytes of a thread's stack, as the helpers of kernels have (threads.hpp); memory is taken for what is used of it."""
_lock = lock()


def begin(thread: threading.Thread) -> None:
    """Start a thread with a stack of that size.

    Raises
    ------
    RuntimeError
        If the system has no thread for us.
    """
    with _lock:
        before = threading.stack_size(STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(before)


__all__ = ["STACK", "begin"]
