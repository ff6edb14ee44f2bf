"""What a program's end leaves uncompiled, for its next run: a process of its own compiles that, after the program.

Short programs end before their kernels are compiled in the background. Without this each run would begin anew, and be
done by slower loops. One process at a time, the least urgent one of the system, gives a cache's folder what it lacks.
"""

from __future__ import annotations

import os
import sys
import time

from numloom.base.config import config
from numloom.base.later import Later
from numloom.device.cache import shared
from numloom.device.cpu.builder import Builder, unfinished

try:
    import fcntl
except ImportError:  # No such system.
    fcntl = None  # type: ignore[assignment]

json, subprocess, tempfile = Later("json"), Later("subprocess"), Later("tempfile")
SECONDS = 120.0
"""How long it may take."""


def leave() -> bool:
    """Have what this process has queued and not compiled be compiled after its end; whether there is such work."""
    texts = unfinished()
    if fcntl is None or not texts or not config.cache_bytes or config.cpu_compile != "background":
        return False
    try:
        folder = shared().opened()
    except OSError:
        return False
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Held by the process that is begun, until it ends.
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(texts).encode())
            file.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__], stdin=file, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, pass_fds=(folder,), start_new_session=True,
                env={**os.environ, "NUMLOOM_CACHE_DIR": config.cache_dir, "NUMLOOM_DEVICE": "cpu"},
            )  # fmt: skip
        process.returncode = 0  # It outlives this one: no warning that nobody has waited for it.
    except OSError:  # Another one is at work, or the system lets us have no process.
        return False
    finally:
        os.close(folder)
    return True


def compile_all(texts: list[tuple[str, str]], builder: Builder, until: float) -> None:
    """Compile kernels (texts and the names of their functions) that the cache lacks, as long as there is time."""
    for text, entry in texts:
        builder.kernel(text, entry, wait=False)
    while time.monotonic() < until and not builder.drain(1.0):
        pass


def main() -> None:
    """Compile what the standard input names."""
    os.nice(19)
    texts = [(text, entry) for text, entry in json.load(sys.stdin.buffer)]
    compile_all(texts, Builder(), time.monotonic() + SECONDS)


if __name__ == "__main__":
    main()

__all__ = ["compile_all", "leave", "main"]
