"""A program's output under Python, and with NumPy served by numloom."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from numloom.command.run import run


def under_numpy(code: str) -> str:
    """What a program prints under Python."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    return out.getvalue()


def under_numloom(code: str, **options: Any) -> str:
    """What it prints when numpy is served by numloom."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run([code], kind="code", report="none", **options) == 0
    return out.getvalue()
