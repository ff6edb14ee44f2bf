"""Temporary files and folders that do not outlive their maker, however it ends.

Each is locked (``flock``) from its making until it is removed or has its final name. A folder's lock is shared with
the compilers that work in it. The system gives up a lock when all its holders are gone, so what can be locked is
abandoned, and `sweep` removes it. Locks are seen by all processes under one kernel, in whatever container, but not
always by those of another machine that shares the file system. So names tell kernels apart: what was made under
another one, or lies where there are no locks, must be untouched for a day as well.
"""

from __future__ import annotations

import atexit
import errno
import os
import platform
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from numloom.base.forking import anew, lock
from numloom.base.later import Later

if sys.platform == "win32":  # Files there have neither such locks nor owners: nothing is swept.
    fcntl = None
else:
    import fcntl

hashlib, shutil, tempfile = Later("hashlib"), Later("shutil"), Later("tempfile")

STALE_SECONDS = 24 * 3600.0
SWEEP_SECONDS = 0.1
"""How long a sweep looks through a folder of many files, at most."""
ATTEMPTS = 8
PREFIX = "numloom-"
_OURS = re.compile(PREFIX + r"[0-9a-f]{8}-\w{8}(\.so)?")
_LOOKING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))

_live: dict[str, int] = {}
"""What there is of ours now: the descriptor that holds its lock, by path."""
_lock = lock()
_swept: set[str] = set()


@cache
def kernel() -> str:
    """What tells the system's running kernel from others: after it has started anew, and on other machines."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            name = file.read()
    except OSError:
        name = platform.node()
    return str(hashlib.sha256(name.encode()).hexdigest()[:8])


def only_ours(status: os.stat_result) -> bool:
    """Whether this user alone may write to what has this status."""
    return status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o022


# ---------------------------------------------------------------- locks


def claim(handle: int, path: str, folder: int | None = None) -> bool:
    """Lock what was just made at a path (in a folder); False where a sweep came first and removes it, or has."""
    if fcntl is None:
        return True
    if handle < 0:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # No locks here: it is left alone for a day.
    try:
        os.stat(path, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def abandoned(handle: int, path: str, folder: int | None = None) -> bool:
    """Whether an open file or folder is this user's, and its maker is gone; its lock is ours then."""
    if fcntl is None:
        return False
    status = os.fstat(handle)
    if not only_ours(status) or not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return False
    sure = f"-{kernel()}-" in os.path.basename(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        sure = False
    if not sure and time.time() - status.st_mtime <= STALE_SECONDS:
        return False
    return os.path.samestat(status, os.stat(path, dir_fd=folder, follow_symlinks=False))


def sweep_one(path: str, folder: int | None = None) -> bool:
    """Remove a file or a folder if it is `abandoned`; links are not followed."""
    try:
        handle = os.open(path, _LOOKING, dir_fd=folder)
    except OSError:
        return False
    try:
        if not abandoned(handle, path, folder):
            return False
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            shutil.rmtree(path, ignore_errors=True, dir_fd=folder)
        else:
            os.unlink(path, dir_fd=folder)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def sweep(parent: str) -> None:
    """Remove what processes of this user have left in a folder; several may do so at once."""
    end = time.monotonic() + SWEEP_SECONDS
    try:
        with os.scandir(parent) as entries:
            for entry in entries:
                if _OURS.fullmatch(entry.name):
                    sweep_one(entry.path)
                if time.monotonic() > end:
                    return
    except OSError:
        pass


# ---------------------------------------------------------------- files and folders


@contextmanager
def folder() -> Iterator[str]:
    """A new folder in the system's one for temporary files, which is swept when this process makes its first."""
    parent = tempfile.gettempdir()
    if parent not in _swept:
        _swept.add(parent)
        sweep(parent)
    path = _made(_new_folder)[1]
    try:
        yield path
    finally:
        _give_back(path)


@contextmanager
def file(suffix: str) -> Iterator[tuple[int, str]]:
    """A new file in the system's folder for temporary files: its descriptor, which is closed here, and its path."""
    handle, path = _made(lambda: tempfile.mkstemp(prefix=_prefix(), suffix=suffix))
    try:
        yield handle, path
    finally:
        _give_back(path)


def descriptors(path: str) -> tuple[int, ...]:
    """What those who work in a folder must have open, so that it is theirs as well."""
    handle = _live.get(path, -1)
    return () if handle < 0 else (handle,)


def _prefix() -> str:
    return f"{PREFIX}{kernel()}-"


def _new_folder() -> tuple[int, str]:
    # No TemporaryDirectory: a child process forked meanwhile would delete it at its exit.
    path = tempfile.mkdtemp(prefix=_prefix())
    try:
        return -1 if fcntl is None else os.open(path, _LOOKING), path
    except FileNotFoundError:
        return -1, path  # by a sweep, too
    except BaseException:
        _remove(path)
        raise


def _made(make: Callable[[], tuple[int, str]]) -> tuple[int, str]:
    """Descriptor and path of what was made, locked and taken down, by the first attempt that no sweep disturbs."""
    for _ in range(ATTEMPTS):
        with _lock:
            handle, path = make()
            try:
                if claim(handle, path):
                    _live[path] = handle
                    return handle, path
            finally:
                if path not in _live:
                    _remove(path)
                    _close(handle)
    raise FileNotFoundError(errno.ENOENT, "what is made in the folder for temporary files is deleted at once", path)


def _give_back(path: str) -> None:
    """Remove what is ours; a forked child has nothing of its parent's."""
    if path in _live:
        _remove(path)
        _close(_live.pop(path, -1))


def _close(handle: int) -> None:
    if handle >= 0:
        os.close(handle)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError:  # a folder
        shutil.rmtree(path, ignore_errors=True)


def _end() -> None:
    """At exit: what is in use by threads that go no further."""
    for path in list(_live):
        _give_back(path)


def _forget() -> None:
    """In a forked child: the parent's locks are not to live as long as the child."""
    for handle in _live.values():
        _close(handle)
    _live.clear()


anew(_forget)
atexit.register(_end)
