"""Run ``entry(params, begin, end)`` over many items on all cores, without the interpreter's lock.

The compiled pool (``_threads.pyx``, ``threads.hpp``) does it where the package was built with a
compiler, a pool of Python threads calling through ctypes elsewhere. Both cut the items into chunks
of a multiple of `grain` and run small work on the caller alone. Chunks never change results: each
item is computed by itself.
"""

from __future__ import annotations

import ctypes
from typing import Any

from numloom.base import later
from numloom.base.config import config
from numloom.base.forking import anew
from numloom.device.cpu.cores import available

try:
    from numloom.device.cpu import _threads  # type: ignore[attr-defined]
except ImportError:
    _threads = None
compiled: Any = _threads

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
CHUNKS_PER_THREAD = 4


def count() -> int:
    """Threads that kernels run on, by ``config.num_threads``."""
    return config.num_threads or available()


_threads = 0
_executor: Any = None


def run_uncompiled(entry: int, params: int, items: int, grain: int) -> None:
    """The same as `run`, through ctypes and Python threads."""
    global _executor, _threads
    function = ENTRY(entry)
    if _threads == 0:
        _threads = count()
    if items <= grain or _threads == 1:
        function(params, 0, items)
        return
    if _executor is None:
        _executor = later.load("numloom.base.pools").ThreadPoolExecutor(_threads, "numloom")
    grain = max(grain, 1)
    chunk = -(-items // (_threads * CHUNKS_PER_THREAD * grain)) * grain
    tasks = [
        _executor.submit(function, params, begin, min(begin + chunk, items)) for begin in range(chunk, items, chunk)
    ]
    function(params, 0, min(chunk, items))
    for task in tasks:
        task.result()


def _resize(number: int) -> None:
    """Use another number of threads from now on."""
    global _executor, _threads
    if _executor is not None:
        _executor.shutdown(wait=False)
    _executor = None
    _threads = 0
    if compiled is not None:
        compiled.reset(number or available())


def _after_fork() -> None:
    """A child process has none of its parent's threads."""
    global _executor
    _executor = None
    if compiled is not None:
        compiled.reset(count(), True)


launch: Any = None
bound: Any = None
Chain: Any = None
"""The device's `launch` and `bound` without a Python frame of their own, and launches in a row, where the pool is
compiled."""

if compiled is not None:
    run, launch, bound, Chain = compiled.run, compiled.launch, compiled.Bound, compiled.Chain
    compiled.reset(count())
else:
    run = run_uncompiled

config.listen("num_threads", _resize)
anew(_after_fork)
