"""Compilers as processes that leave nothing behind: what they started ends with them, and they end with us.

Their own temporary files are made in the folder that they work in, and go with it.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from functools import cache
from typing import TYPE_CHECKING

from numloom.base.forking import anew
from numloom.base.later import Later
from numloom.base.progress import look
from numloom.device import temporary

if TYPE_CHECKING:
    import shutil
    import signal
    import subprocess
else:
    shutil, signal, subprocess = Later("shutil"), Later("signal"), Later("subprocess")

_PASSING = frozenset((errno.EAGAIN, errno.EFAULT, errno.EINTR, errno.ENOMEM, errno.ETXTBSY))
"""Errors of starting a program that a busy system gives once and not again."""
_LOOK = 0.1
"""Seconds between two looks whether a compiler died before those that it started."""
_GROUPS = os.name == "posix"
# The first line names the group; the pipe closes when its other end dies, whatever kills it.
_WATCH = 'read -r group; read -r end; [ -z "$group" ] || kill -KILL "-$group"'

_running: list[Process] = []
_ended = False


class Process:
    """A compiler that runs in a group of its own, and a shell that ends the group when this process is killed."""

    def __init__(self, command: list[str], folder: str) -> None:
        if _left_behind():
            sys.exit()
        self.watcher = _watcher()
        try:
            self.process = _start(command, folder)
        except BaseException:
            self._dismiss()
            raise
        _running.append(self)
        if _left_behind():
            self.kill()
        if self.watcher is not None and self.watcher.stdin is not None:
            try:
                self.watcher.stdin.write(b"%d\n" % self.process.pid)
                self.watcher.stdin.flush()
            except OSError:
                pass  # Somebody ended it: then the compiler ends by itself.

    def wait(self) -> tuple[int, str]:
        """Exit status and what was said, when the whole group has ended, also where that is by Ctrl-C."""
        try:
            while True:
                try:
                    log, _ = self.process.communicate(timeout=_LOOK)
                    if _left_behind():
                        sys.exit()
                    return self.process.returncode, log or ""
                except subprocess.TimeoutExpired:
                    look()
                    if self.process.poll() is not None:  # Killed: those that it started would go on for nobody.
                        self.kill()
        finally:
            self._dismiss()
            self.kill()
            self.process.wait()
            if self in _running:
                _running.remove(self)

    def kill(self) -> None:
        """End the compiler and all that it started."""
        try:
            if _GROUPS:
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        except OSError:
            pass  # It is gone.

    def _dismiss(self) -> None:
        watcher, self.watcher = self.watcher, None
        if watcher is not None:
            watcher.kill()
            _close(watcher)
            watcher.wait()


def end() -> None:
    """At exit: end all compilers that run in the background, and the threads that wait for them or would start one."""
    global _ended
    _ended = True
    for process in list(_running):
        process.kill()


def _left_behind() -> bool:
    """Whether Python ends and this is a thread that it does not wait for, which has nothing more to do."""
    return _ended and threading.current_thread() is not threading.main_thread()


def _let_go() -> None:
    """In a forked child: the compilers that run are the parent's."""
    for process in _running:
        if process.watcher is not None:
            _close(process.watcher)
    _running.clear()


anew(_let_go)


@cache
def _shell() -> str | None:
    return shutil.which("sh") if _GROUPS else None


def _watcher() -> subprocess.Popen[bytes] | None:
    shell = _shell()
    if shell is None:
        return None
    try:
        return subprocess.Popen(
            [shell, "-c", _WATCH], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            process_group=0,
        )  # fmt: skip
    except OSError:
        return None


def _close(watcher: subprocess.Popen[bytes]) -> None:
    if watcher.stdin is not None:
        try:
            watcher.stdin.close()
        except OSError:
            pass


def _start(command: list[str], folder: str) -> subprocess.Popen[str]:
    """The compiler's process; errors that pass are waited out."""
    for pause in (0.01, 0.05, 0.2, None):
        try:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", cwd=folder, process_group=0 if _GROUPS else None,
                env={**os.environ, "TMPDIR": folder, "TMP": folder, "TEMP": folder},
                pass_fds=temporary.descriptors(folder),
            )  # fmt: skip
        except OSError as error:
            if pause is None or error.errno not in _PASSING:
                raise
            time.sleep(pause)
    raise AssertionError("unreachable")
