"""Programs in several processes, for tests/distributed."""

from __future__ import annotations

import os
import subprocess
import sys

from numloom.device.cuda import driver


def start(script: str, count: int, *arguments: str, **environment: str) -> list[tuple[int, str, str]]:
    """A program in `count` processes, which is given its number; what each printed."""
    ours = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(rank), str(count), *arguments], env=ours,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(count)
    ]  # fmt: skip
    found = []
    for process in running:
        try:
            out, errors = process.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            process.kill()
            out, errors = process.communicate()
        found.append((process.returncode, out, errors))
    return found


def gpus() -> int:
    """How many GPUs there are."""
    return 0 if driver.missing() else int(driver.call("cuDeviceGetCount"))
