"""Libraries that tests had compiled before (``--kept``), kept from run to run.

The host's compiler takes most of the suite's time, and the same command over the same text gives the same library. Its
key is all that the library depends on: compiler and processor (`identify`), flags, and texts, which include no file of
a user's. Tests of folders that are about compiling (`WATCHED`), and processes that tests start, compile for themselves.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from numloom.device.cpu.compiler import Compiler

FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "numloom-tests"
MOST = 1 << 30
"""Bytes that are kept; beyond, what was used longest ago goes until half is left."""
WATCHED = ("base", "command", "device", "distributed", "faults")

taken = False
"""Whether libraries are kept."""
watched = False
"""Whether the test that runs is in one of these folders."""


def once(parts: Iterable[str], make: Callable[[], bytes]) -> bytes:
    """What `make` gives for these parts, or gave in this run or an earlier one."""
    if not taken or watched:
        return make()
    path = FOLDER / hashlib.sha256("\0".join(parts).encode()).hexdigest()
    try:
        found = path.read_bytes()
        if hashlib.sha256(found[32:]).digest() == found[:32]:
            os.utime(path)
            return found[32:]
    except OSError:
        pass
    content = make()
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=FOLDER, delete=False) as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(file.name, path)
    except OSError:  # A full disk, say: it is compiled again next time.
        pass
    return content


def prune() -> None:
    """Remove what was used longest ago where there is too much."""
    files = []
    for path in FOLDER.glob("*"):
        try:
            stat = path.stat()
        except OSError:  # Another session's.
            continue
        files.append((stat.st_mtime, stat.st_size, path))
    size = sum(nbytes for _, nbytes, _ in files)
    if size <= MOST:
        return
    for _, nbytes, path in sorted(files):
        path.unlink(missing_ok=True)
        size -= nbytes
        if size <= MOST // 2:
            return


def take_kept() -> None:
    """Have kernels' libraries kept from here on, in this process."""
    global taken
    taken = True
    compile_texts = Compiler.compile

    def compile_once(self: Compiler, *texts: str) -> bytes:
        # A script that a test wrote in a compiler's place is none.
        script = os.path.realpath(self.command[0]).startswith(os.path.realpath(tempfile.gettempdir()))
        if script or any(flag.startswith("-I") for flag in self.flags):
            return compile_texts(self, *texts)
        return once((*self.command, *self.flags, self.identity, *texts), lambda: compile_texts(self, *texts))

    Compiler.compile = compile_once  # type: ignore[method-assign]
