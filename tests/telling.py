"""Parameters that CI leaves out (``--telling``): others of the same test reach all that they do.

``soak.txt`` names them, and is written by ``python tools/reach`` from what each test was seen to reach. A parameter
that it does not name runs, so a new one does. Without the option, as in ``make soak-tests``, all run.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path

LEFT_OUT = Path(__file__).with_name("soak.txt")


def short(parameters: str) -> str:
    """What stands for a test's parameters in the file."""
    return f"{zlib.crc32(parameters.encode()) & 0xFFFF:04x}"


def read(text: str) -> dict[str, frozenset[str]]:
    """What is left out, by test function."""
    lines = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {function: frozenset(left_out) for function, *left_out in lines}


def tells(test: str, left_out: dict[str, frozenset[str]]) -> bool:
    """Whether a test reaches what no other of its function does, as far as was seen."""
    function, _, parameters = test.partition("[")
    return short(parameters.removesuffix("]")) not in left_out.get(function, ())


def written(left_out: dict[str, Iterable[str]]) -> str:
    """The text of the file for what is left out (`short`) of each function."""
    head = "# Written by tools/reach: parameters that CI leaves out, as the last 16 bits of their crc32 (telling.py).\n"
    lines = (f"{function} {' '.join(sorted(left_out[function]))}\n" for function in sorted(left_out))
    return head + "".join(lines)
