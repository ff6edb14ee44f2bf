"""Threads with little stack: what a kernel of the host keeps there is bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from numloom.device.cpu.compiler import candidates

SCRIPT = Path(__file__).with_name("small_stacks.py")


@pytest.mark.slow
@pytest.mark.skipif(not any(candidates()), reason="no C++ compiler")
@pytest.mark.parametrize("threads", ["1", "4"])
def test_kernels_run_in_64_kb(threads: str) -> None:
    environment = {**os.environ, "NUMLOOM_NUM_THREADS": threads, "NUMLOOM_PLACEMENT": "off", "NUMLOOM_DEVICE": "cpu"}
    command = [sys.executable, str(SCRIPT), "64"]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = found.stdout.splitlines()
    assert found.returncode == 0, f"{lines[-1:]} ended the process ({found.returncode})\n{found.stderr[-2000:]}"
    assert len(lines) > 40 and all(line.endswith(" True") for line in lines), found.stdout
