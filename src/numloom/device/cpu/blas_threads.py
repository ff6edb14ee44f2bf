"""How many threads NumPy's BLAS takes: one for little work.

Threads of OpenBLAS wait for each other by spinning. Where other programs have the cores, a product of 0.02 ms took 1 to
8 ms by two threads on two cores, and one of 2 ms 24; alone they gain some 0.005 ms of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from numloom.base.forking import anew, lock

TINY = 1 << 13
"""Multiplications up to which OpenBLAS takes one thread by itself."""
LITTLE = 1 << 19
"""Those up to which a product is one thread's work, about 0.01 ms of float32."""

_lock = lock()
_running = 0
_before = 0


@cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """What asks and says how many threads NumPy's OpenBLAS takes; None where NumPy has another library."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "openblas" in line}
    except (OSError, IndexError):
        return None
    own = [path for path in paths if "numpy" in path.lower()]
    for path in own or (paths if len(paths) == 1 else ()):
        try:
            library = ctypes.PyDLL(path)  # With the GIL held: none of these calls waits.
        except OSError:
            continue
        for prefix in ("scipy_", ""):
            for suffix in ("64_", ""):
                ask = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
                say = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
                if ask is not None and say is not None:
                    ask.restype, say.restype, say.argtypes = ctypes.c_int, None, [ctypes.c_int]
                    return ask, say
    return None


def matmul(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
    """``np.matmul(x, y, out=out)`` by as many threads as the work is worth.

    What other threads of this process multiply at the same time has one as well, until the last of them ends.
    """
    global _before, _running
    found = _openblas() if TINY < out.size * x.shape[-1] <= LITTLE else None
    if found is None:
        np.matmul(x, y, out=out)
        return
    ask, say = found
    with _lock:
        if not _running:
            _before = ask()
            if _before > 1:
                say(1)
        _running += 1
    try:
        np.matmul(x, y, out=out)
    finally:
        with _lock:
            _running -= 1
            if not _running and _before > 1:
                say(_before)


def _whole() -> None:
    """A child has no thread that is in the middle of a product."""
    global _running
    if _running:
        _running = 0
        found = _openblas()
        if found is not None and _before > 1:
            found[1](_before)


anew(_whole)

__all__ = ["LITTLE", "matmul"]
