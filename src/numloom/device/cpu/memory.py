"""Host memory for arrays: aligned blocks from the C library, in huge pages where they are large."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from numloom.device.memory import POISON

ALIGNMENT = 256
HUGE = 4 << 20
_MADV_HUGEPAGE = 14

if sys.platform == "win32":
    _libc: Any = ctypes.CDLL("ucrtbase")
    _libc._aligned_malloc.restype = ctypes.c_void_p
    _libc._aligned_malloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
    _libc._aligned_free.argtypes = (ctypes.c_void_p,)
else:
    _libc = ctypes.CDLL(None)
    _libc.posix_memalign.argtypes = (ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_size_t)
    _libc.free.argtypes = (ctypes.c_void_p,)


def allocate(nbytes: int) -> int:
    """Address of a new block, or 0 where there is no memory."""
    if sys.platform == "win32":
        return _libc._aligned_malloc(nbytes, ALIGNMENT) or 0
    address = ctypes.c_void_p()
    alignment = 2 << 20 if nbytes >= HUGE else ALIGNMENT
    if _libc.posix_memalign(ctypes.byref(address), alignment, nbytes):
        return 0
    if nbytes >= HUGE and sys.platform == "linux":
        # Touching fresh memory costs one fault a page, so a few large pages are much faster.
        _libc.madvise(address, ctypes.c_size_t(nbytes), _MADV_HUGEPAGE)
    return address.value or 0


def poison(address: int, nbytes: int) -> None:
    """Fill memory with bytes that are no likely numbers."""
    ctypes.memset(address, POISON, nbytes)


def free(address: int, nbytes: int) -> None:
    """Give a block back to the system."""
    if sys.platform == "win32":
        _libc._aligned_free(address)
    else:
        _libc.free(address)


def total() -> int:
    """Bytes of memory that the machine, or the container, has; 0 where that cannot be told."""
    sizes = []
    try:
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        pass
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            sizes.append(int(file.read()))
    except (OSError, ValueError):
        pass
    return min(sizes, default=0)
