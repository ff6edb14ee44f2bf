"""The cache on disk, of kernels and of plans, shared by both backends and by all processes of one user.

One file an entry, in a folder that only its owner may write to. A file is a line of magic, a line
of JSON (what made the entry, the payload's length and a digest over everything) and the payload.
It is written under a temporary name, locked, synced and renamed, so a reader sees all of it or nothing,
and each reader checks it: an entry that is damaged, outdated, no file, not ours or writable by others is a miss and is
built again. When the
folder grows past its limit, the entries used least recently go. Nothing here raises: a folder that
cannot be read is a cache that misses, one that cannot be written is reported once.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from numloom.base.config import config
from numloom.base.forking import lock
from numloom.base.later import Later
from numloom.base.progress import track
from numloom.device.temporary import claim, kernel, only_ours, sweep_one

hashlib, json, secrets = Later("hashlib"), Later("json"), Later("secrets")

MAGIC = b"numloom kernel cache 1\n"
TEMPORARY = ".new-"
KEEP = 0.75  # share of the limit that is left after old entries went


def key_of(text: str, origin: str) -> str:
    """Name of the entry for kernel `text` built by `origin`."""
    digest = hashlib.sha256(MAGIC)
    digest.update(f"{len(origin)}:{origin}".encode())
    digest.update(text.encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """An entry on disk: its key, bytes, when it was used last (in Unix time), what made it, whether it is whole."""

    key: str
    nbytes: int
    used: float
    origin: str
    sound: bool


class DiskCache:
    """Bytes by key, kept between processes.

    `origin` of an entry is a text that says what made it: architecture, compiler, version, flags.

    Parameters
    ----------
    folder : str
        Made, with mode 0700, when the first entry is written.
    limit : int
        Bytes kept; 0 switches the cache off.

    Attributes
    ----------
    hits, misses : int
        Answers so far.
    trouble : str or None
        Why nothing is written (the folder is refused, read-only, full).
    """

    def __init__(self, folder: str, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.hits = 0
        self.misses = 0
        self.trouble: str | None = None
        self._size = -1  # bytes in the folder, about; -1 is not known yet

    def get(self, key: str, origin: str) -> bytes | None:
        """The payload of `key`, or None where there is no sound entry of this origin."""
        if self.limit == 0:
            return None
        payload = None
        try:
            folder = self._open(create=False)
        except OSError:
            folder = -1
        if folder >= 0:
            try:
                payload = self._read(folder, key, origin)
            except (OSError, ValueError):  # An entry that names another may name what is no name.
                payload = None
            finally:
                os.close(folder)
        if payload is None:
            self.misses += 1
        else:
            self.hits += 1
        return payload

    def opened(self) -> int:
        """A descriptor of the folder, which is made if need be.

        Raises
        ------
        OSError
            If there can be no such folder that is ours alone.
        """
        return self._open(create=True)

    def put(self, key: str, payload: bytes, origin: str, durable: bool = True) -> None:
        """Keep `payload`; on trouble warn once and go on without.

        What is not `durable` may be gone, or damaged and so no entry, if the machine loses its power.
        """
        if self.limit == 0 or self.trouble is not None:
            return
        try:
            folder = self._open(create=True)
            try:
                if self._size < 0:
                    self._size = self._sweep(folder)
                self._size += self._write(folder, key, payload, origin, durable)
                if self._size > self.limit:
                    self._size = self._sweep(folder)
            finally:
                os.close(folder)
        except OSError as error:
            self.trouble = f"{self.folder}: {error.strerror or error}"
            warnings.warn(
                f"compiled kernels are not kept on disk ({self.trouble}); they are compiled anew in each process. "
                "Name another folder in the environment variable NUMLOOM_CACHE_DIR",
                RuntimeWarning,
                stacklevel=2,
            )

    def remembered(self, key: str, make: Callable[[], str], sound: Callable[[str], bool] | None = None) -> str:
        """The short text kept under `key`, made and kept the first time, and again where it is not `sound`."""
        origin = "text"
        payload = self.get(key, origin)
        text = None if payload is None else text_of(payload)
        if text is not None and (sound is None or sound(text)):
            return text
        text = make()
        self.put(key, text.encode(), origin)
        return text

    def entries(self) -> list[CacheEntry]:
        """What is kept, used last first; each entry is read and checked, and none is changed."""
        try:
            folder = self._open(create=False)
        except OSError:
            return []
        found = []
        try:
            names = os.listdir(folder)
            for name in track(names, "reading the kernel cache", len(names)):
                if name.startswith(TEMPORARY):
                    continue
                try:
                    with _opened(os.open(name, _READING, dir_fd=folder), "rb") as stream:
                        status = os.fstat(stream.fileno())
                        regular = stat.S_ISREG(status.st_mode) and only_ours(status)
                        content = stream.read() if regular else b""
                except OSError:
                    continue
                origin = _origin_of(content)
                sound = origin is not None and _unpack(content, name, origin) is not None
                found.append(CacheEntry(name, status.st_size, status.st_mtime, origin or "", sound))
        finally:
            os.close(folder)
        return sorted(found, key=lambda entry: (-entry.used, entry.key))

    def discard(self, key: str) -> None:
        """Delete an entry."""
        folder = self._open(create=False)
        try:
            _unlink(folder, key)
        finally:
            os.close(folder)
        self._size = -1

    def clear(self) -> None:
        """Delete every entry."""
        try:
            folder = self._open(create=False)
        except OSError:
            return
        try:
            for name in os.listdir(folder):
                _unlink(folder, name)
            self._size = 0
        finally:
            os.close(folder)

    def _open(self, create: bool) -> int:
        """A descriptor of the folder, which is ours and writable by us alone; all work goes through it."""
        flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            folder = os.open(self.folder, flags)
        except FileNotFoundError:
            if not create:
                raise
            os.makedirs(os.path.dirname(self.folder), mode=0o700, exist_ok=True)
            try:
                os.mkdir(self.folder, 0o700)
            except FileExistsError:
                pass
            folder = os.open(self.folder, flags)
        try:
            status = os.fstat(folder)
            if not only_ours(status):
                other = status.st_uid != os.geteuid()
                raise PermissionError(
                    0, "the folder belongs to another user" if other else "other users may write to the folder"
                )
        except OSError:
            os.close(folder)
            raise
        return folder

    def _read(self, folder: int, key: str, origin: str) -> bytes | None:
        """A sound entry's payload; a damaged one is deleted."""
        try:
            file = os.open(key, _READING, dir_fd=folder)
        except FileNotFoundError:
            return None
        with _opened(file, "rb") as stream:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or not only_ours(status):
                return None  # What is written next takes its place.
            content = stream.read()
            payload = _unpack(content, key, origin)
            if payload is not None:
                _touch(file)
        if payload is None:
            _unlink(folder, key)
        return payload

    def _write(self, folder: int, key: str, payload: bytes, origin: str, durable: bool) -> int:
        """Write an entry for all to see at once; returns its size."""
        content = _pack(payload, key, origin)
        name = f"{TEMPORARY}{kernel()}-{secrets.token_hex(8)}"
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
        try:
            with _opened(file, "wb") as stream:
                if not claim(file, name, folder):  # Another process sweeps; the entry is made next time.
                    _unlink(folder, name)
                    return 0
                stream.write(content)
                stream.flush()
                if durable:
                    os.fsync(file)
                os.rename(name, key, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _unlink(folder, name)
            raise
        return len(content)

    def _sweep(self, folder: int) -> int:
        """Bytes in the folder, after deleting what died unfinished and, over the limit, what is oldest."""
        entries = []
        total = 0
        for name in os.listdir(folder):
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError:
                continue
            if name.startswith(TEMPORARY):
                sweep_one(name, folder)
                continue
            total += status.st_size
            entries.append((status.st_mtime, status.st_size, name))
        if total > self.limit:
            for _, size, name in sorted(entries):
                if total <= self.limit * KEEP:
                    break
                _unlink(folder, name)
                total -= size
        return total


_READING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))
"""Without waiting for whoever would write to a FIFO."""


def _digest(payload: bytes, key: str, origin: str) -> str:
    digest = hashlib.sha256(f"{key}\n{len(origin)}:{origin}\n".encode())
    digest.update(payload)
    return digest.hexdigest()


def _pack(payload: bytes, key: str, origin: str) -> bytes:
    header = {"origin": origin, "length": len(payload), "digest": _digest(payload, key, origin)}
    return MAGIC + json.dumps(header).encode() + b"\n" + payload


def _unpack(content: bytes, key: str, origin: str) -> bytes | None:
    if not content.startswith(MAGIC):
        return None
    line, _, payload = content[len(MAGIC) :].partition(b"\n")
    try:
        header = json.loads(line)
        expected = (header["origin"], header["length"], header["digest"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return payload if expected == (origin, len(payload), _digest(payload, key, origin)) else None


def _origin_of(content: bytes) -> str | None:
    """What made an entry, as it says itself."""
    try:
        return str(json.loads(content[len(MAGIC) :].partition(b"\n")[0])["origin"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def text_of(payload: bytes) -> str | None:
    """The text that an entry is; None for one that is none."""
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return None


def _opened(file: int, mode: str) -> IO[bytes]:
    """A file over a descriptor, which is closed in any case."""
    try:
        return os.fdopen(file, mode)
    except BaseException:
        os.close(file)
        raise


def _touch(file: int) -> None:
    """Mark an entry as used now; on a read-only disk it stays as it is."""
    try:
        os.utime(file)
    except (OSError, TypeError):
        pass


def _unlink(folder: int, name: str) -> None:
    """Delete a file that another process may have deleted already."""
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass


_shared: DiskCache | None = None
_lock = lock()


def shared() -> DiskCache:
    """The cache that ``config.cache_dir`` and ``config.cache_bytes`` name."""
    global _shared
    with _lock:
        if _shared is None or (_shared.folder, _shared.limit) != (config.cache_dir, config.cache_bytes):
            _shared = DiskCache(config.cache_dir, config.cache_bytes)
        return _shared
