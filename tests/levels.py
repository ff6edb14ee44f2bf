"""How the host's compiler optimizes kernels of tests (``--light``): most of them little, a sample as users get them.

Most of the suite's time was GCC's at ``-O3``, which takes three to four times as long as ``-O1``. What a kernel's text
says is tested at any level, and bits must not depend on it; what may break above ``-O1`` alone, loops of vectors
foremost, shows in one text in `SAMPLE` (which ones follows from the texts alone), and in tests that are about that,
which have the mark ``optimized``. Without the option, as in ``make soak-tests``, all are compiled as users get them.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numloom.device.cpu import compiler as compilers
from numloom.device.cpu.compiler import Compiler
from numloom.device.cpu.simt import build

SAMPLE = 10
USUAL, LIGHT = "-O3", "-O1"


marked = False
"""Whether the test that runs has the mark."""


def usual(*texts: str) -> bool:
    """Whether these are compiled as users get them."""
    return marked or zlib.crc32("\0".join(texts).encode()) % SAMPLE == 0


def lighter(flags: Sequence[str]) -> tuple[str, ...]:
    """The flags of the lower level."""
    return tuple(LIGHT if flag == USUAL else flag for flag in flags)


def take_light() -> None:
    """Compile so from here on, in this process."""
    compile_texts, identify, begin = Compiler.compile, compilers.identify, build._Builder.__init__

    def compile_lightly(self: Compiler, *texts: str) -> bytes:
        return compile_texts(self if usual(*texts) else replace(self, flags=lighter(self.flags)), *texts)

    def begin_lightly(self: Any, request: Any, *rest: Any) -> None:
        begin(self, request, *rest)
        if not usual(*request.sources.values()):
            self.flags = list(lighter(self.flags))

    # What is kept in the user's folder is what users get. (CI's folder is its own, and processes that tests start take
    # from there what is kept.)
    if "NUMLOOM_CACHE_DIR" not in os.environ:
        compilers.identify = lambda command: f"{identify(command)} light"
    Compiler.compile = compile_lightly  # type: ignore[method-assign]
    build._Builder.__init__ = begin_lightly  # type: ignore[method-assign]
