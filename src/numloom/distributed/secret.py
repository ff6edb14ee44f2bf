"""What the processes of a group know and nobody else does, and the small files that hold it, for one user alone."""

from __future__ import annotations

import os
import secrets
import stat
import time

from numloom.base.config import config
from numloom.device.cache import DiskCache
from numloom.distributed.errors import GroupError

VARIABLE = "NUMLOOM_DISTRIBUTED_SECRET"
_MOST = 1 << 16
_LENGTH = 64
_PATIENCE = 1.0
"""Seconds in which another process writes what it has begun to."""
_READING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC"))
_MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def fresh() -> bytes:
    """A secret that nobody knows yet."""
    return secrets.token_hex(_LENGTH // 2).encode()


def make(file: str, content: bytes) -> None:
    """Make a file for this user alone.

    Raises
    ------
    FileExistsError
        If there is one already, or a link.
    """
    with os.fdopen(os.open(file, _MAKING, 0o600), "wb") as stream:
        stream.write(content)


def read(file: str) -> bytes:
    """What stands in a file that this user alone can read and write; none of it may be there yet.

    Raises
    ------
    GroupError
        If another user owns the file or may use it.
    """
    descriptor = os.open(file, _READING)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise GroupError(f"{file} is no file: name another place")
        if status.st_uid != os.geteuid():
            raise GroupError(
                f"the file {file} belongs to user {status.st_uid}, not to {os.geteuid()}: whoever wrote it could "
                "take the place of process 0. Name a file in a folder that others cannot write to"
            )
        mode = stat.S_IMODE(status.st_mode)
        if mode & 0o077:
            raise GroupError(
                f"the file {file} holds a secret of the group, and others may use it (mode {mode:04o}, not 0600): "
                "delete it and start all processes again"
            )
        return os.read(descriptor, _MOST)
    finally:
        os.close(descriptor)


def known() -> bytes:
    """The secret of groups that meet at a host and port: the environment's, or one kept for all groups of this user.

    Raises
    ------
    GroupError
        If there is none, and none can be kept.
    """
    given = os.environ.get(VARIABLE)
    return os.fsencode(given) if given else _kept(f"{config.cache_dir}-distributed")


def _kept(folder: str) -> bytes:
    """The secret in a folder that is this user's alone; made by whoever comes first."""
    file = os.path.join(folder, "secret")
    try:
        os.close(DiskCache(folder, 1).opened())
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                make(file, fresh())
            except FileExistsError:
                pass
            found = read(file)
            if len(found) == _LENGTH:
                return found
            if time.monotonic() > end:
                raise GroupError(f"the file {file} is damaged: delete it and start all processes again")
            time.sleep(0.01)
    except OSError as error:
        raise GroupError(
            f"no secret can be kept for the processes of this user ({error}): set the environment variable {VARIABLE} "
            "to a long text of your choice in all of them, or give all the same file="
        ) from error


__all__ = ["VARIABLE", "fresh", "known", "make", "read"]
