"""NumPy's BLAS: how many threads it takes (one for little work), and where its products begin.

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
def _library() -> tuple[ctypes.PyDLL, str, str] | None:
    """NumPy's OpenBLAS, and what stands before and behind its names; None where NumPy has another library."""
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
                if hasattr(library, f"{prefix}openblas_set_num_threads{suffix}"):
                    return library, prefix, suffix
    return None


@cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """What asks and says how many threads NumPy's OpenBLAS takes; None where NumPy has another library."""
    found = _library()
    if found is None:
        return None
    library, prefix, suffix = found
    ask = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
    say = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
    if ask is None or say is None:
        return None
    ask.restype, say.restype, say.argtypes = ctypes.c_int, None, [ctypes.c_int]
    return ask, say


@cache
def product_of(char: str) -> tuple[int, bool] | None:
    """The address of `cblas_?gemm` for a dtype (``f``, ``d``, ``F``, ``D``), and whether its integers have 64 bits."""
    found = _library()
    if found is None or _openblas() is None:
        return None
    library, prefix, suffix = found
    letter = {"f": "s", "d": "d", "F": "c", "D": "z"}[char]
    function = getattr(library, f"{prefix}cblas_{letter}gemm{suffix}", None)
    return None if function is None else (ctypes.cast(function, ctypes.c_void_p).value or 0, suffix == "64_")


def is_little(work: int) -> bool:
    """Whether a product of so many multiplications is one thread's, which OpenBLAS must be told."""
    return TINY < work <= LITTLE


def addresses() -> tuple[int, int]:
    """Where the functions begin that ask and say how many threads NumPy's OpenBLAS takes; zeros where it has none."""
    found = _openblas()
    if found is None:
        return 0, 0
    ask, say = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in found]  # type: ignore[arg-type]
    return ask, say


def matmul(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
    """``np.matmul(x, y, out=out)`` by as many threads as the work is worth."""
    if is_little(out.size * x.shape[-1]):
        by_one_thread(lambda: np.matmul(x, y, out=out))
    else:
        np.matmul(x, y, out=out)


def by_one_thread(work: Callable[[], object]) -> None:
    """``work()``, of which each product is one thread's.

    What other threads of this process multiply at the same time has one as well, until the last of them ends.
    """
    global _before, _running
    found = _openblas()
    if found is None:
        work()
        return
    ask, say = found
    with _lock:
        if not _running:
            _before = ask()
            if _before > 1:
                say(1)
        _running += 1
    try:
        work()
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

__all__ = ["LITTLE", "addresses", "by_one_thread", "is_little", "matmul", "product_of"]
