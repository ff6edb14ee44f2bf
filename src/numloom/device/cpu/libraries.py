"""Shared objects of compiled kernels: loaded from bytes, and closed when nobody has them any more.

Each takes memory maps, of which Linux lets a process have some 65,000, and a process may meet more kernels than that: a
number that is written into a text is enough. So what calls into a library holds it for as long as it may do so: a
kernel its library, a bound launch its kernel.

A library is not closed where it is let go of, which may be in the middle of anything, but when another one is loaded.
"""

from __future__ import annotations

import ctypes
import errno
import os

from numloom.base.forking import lock
from numloom.base.lasting import Rest, settled, token
from numloom.device import temporary
from numloom.device.cpu import threads
from numloom.device.cpu.simt.elf import is_whole

try:
    from _ctypes import dlclose
except ImportError:  # No such system.
    dlclose = None  # type: ignore[assignment]

_idle: list[Rest] = []
"""Handles, and descriptors or -1, of libraries that nobody has."""
_closing = lock()
"""Held while the system's loader changes what a child would find half done."""


def load(content: bytes, stays: bool = False) -> ctypes.CDLL:
    """Load the bytes of a shared object; the file is gone afterwards.

    One that `stays` is never closed: its addresses are kept where nothing holds it.

    Raises
    ------
    OSError
        If the system's loader refuses them, or would read beyond their end, which ends the process.
    """
    close_idle()
    if not is_whole(content):
        raise OSError(errno.ENOEXEC, "the library is cut short")
    library, descriptor = _opened(content)
    # Python's own pool may run on in its threads when its caller is interrupted.
    if not stays and dlclose is not None and threads.compiled is not None:
        library.numloom_token = token((library._handle, descriptor), _idle)  # type: ignore[attr-defined]
    return library


def close_idle() -> None:
    """Close the libraries that nobody has."""
    while _idle:
        try:
            rest = _idle.pop()
        except IndexError:  # Another thread was sooner.
            return
        settled(rest)
        handle, descriptor = rest.what
        with _closing:
            try:
                dlclose(handle)
            except OSError:  # It stays, then.
                continue
        if descriptor >= 0:
            os.close(descriptor)


def address_of(library: ctypes.CDLL, name: str) -> int:
    """Address of a function or variable, 0 where the library has none of this name.

    An attribute of the library would be kept in it and hold it in turn, so that nobody saw when it is let go of.
    """
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(library, name))
    except ValueError:
        return 0


def _opened(content: bytes) -> tuple[ctypes.CDLL, int]:
    """The library, and the descriptor that it needs, or -1."""
    with temporary.file(".so") as (handle, path):
        try:
            _fill(os.dup(handle), content)
            return ctypes.CDLL(path), -1
        except OSError:
            if not hasattr(os, "memfd_create"):
                raise
    # The folder may forbid execution. The loader knows libraries by path, so this descriptor stays open as long.
    handle = os.memfd_create("numloom-kernel", 0)
    try:
        _fill(os.dup(handle), content)
        return ctypes.CDLL(f"/proc/self/fd/{handle}"), handle
    except OSError:
        os.close(handle)
        raise


def _fill(handle: int, content: bytes) -> None:
    """Write all of a file, and close the descriptor in any case."""
    try:
        file = os.fdopen(handle, "wb")
    except BaseException:
        os.close(handle)
        raise
    with file:
        file.write(content)


__all__ = ["address_of", "close_idle", "load"]
