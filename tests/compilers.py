"""The host's C++ compiler, for tests that need one; where there is none they are skipped."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from numloom.device.cpu import simt
from numloom.device.cpu.compiler import Compiler, find

SWITCHING = Path(simt.__file__).with_name("switching.hpp").read_text(encoding="utf-8")
"""From one emulated thread to another, without the two system calls of ``swapcontext``."""
WHY = "needs a C++ compiler"


@cache
def found() -> Compiler | None:
    """The compiler, or None."""
    return find()


def needed() -> Compiler:
    """The compiler; the test is skipped without one."""
    compiler = found()
    if compiler is None:
        pytest.skip(WHY)
    return compiler


def gxx() -> str:
    """The command of g++, whose extensions the emulation of CUDA takes."""
    command = shutil.which("g++")
    if command is None:
        pytest.skip("needs g++")
    return command
