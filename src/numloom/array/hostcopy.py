"""Host copies of arrays on a GPU for who asks for a NumPy array: plots, tables, files and other libraries.

A copy that is asked for once, to look at it, is what people expect; one in every turn of a loop is what makes a program
slow. So copies are made and counted by the user's line, and a line that has cost much is named once.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from typing import Any

import numpy as np

from numloom.base.config import config
from numloom.base.errors import HostCopyWarning
from numloom.base.later import load

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_EACH, _BYTES = 10_000, 20
"""What a copy is taken to cost: 10 µs, and a nanosecond for each 20 bytes (a usual bus to the GPU)."""
MUCH = 10_000_000
"""Nanoseconds by that count after which a line is named: 1,000 small copies, or 200 MB. Counted, never by a clock."""
_LINES = 4096
"""Lines that are remembered at most."""

copies: dict[tuple[str, int], list[int]] = {}
"""Copies, bytes and cost in nanoseconds of each line."""


def host_copy(array: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """A NumPy array with what an array on a GPU holds; it cannot be written to, unless `copy` says that it is one.

    Raises
    ------
    TypeError
        If ``config.host_copy`` is "raise".
    ValueError
        If `copy` is False: the host does not see the memory.
    """
    policy = config.host_copy
    if policy == "raise":
        raise TypeError(
            "numloom arrays on a GPU do not become NumPy arrays by themselves while config.host_copy is 'raise': "
            "bring the values to the host by x.get() or numloom.asnumpy(x)"
        )
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested: the array lies on a GPU")
    count(array.nbytes, policy == "warn")
    host: np.ndarray[Any, Any] = array.get()
    if dtype is not None and host.dtype != dtype:
        host = host.astype(dtype)
    if copy is None:
        host.flags.writeable = False  # What is written there would not be written here.
    return host


@cache
def _others() -> tuple[str, ...]:
    """Files that are not the user's: ours, and those in the folders of installed libraries."""
    paths = load("sysconfig").get_paths()
    folders = {os.path.abspath(path) + os.sep for name, path in paths.items() if "lib" in name}
    return _PACKAGE, "<__array_function__", *folders


def count(nbytes: int, warn: bool) -> None:
    """Count a copy for the user's line; name the line once when it has cost much."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_others()):
        frame = frame.f_back
    place = frame.f_code.co_filename, frame.f_lineno
    if place not in copies:
        if len(copies) >= _LINES:
            return
        copies[place] = [0, 0, 0]
    line = copies[place]
    before = line[2]
    line[0] += 1
    line[1] += nbytes
    line[2] += _EACH + nbytes // _BYTES
    if warn and before < MUCH <= line[2]:
        warnings.warn_explicit(
            f"this line has copied arrays from the GPU to the host {line[0]} times, {line[1]:,} bytes: keep the work "
            "in numloom, copy once before the loop by x.get(), or set numloom.config.host_copy to 'allow'",
            HostCopyWarning,
            *place,
        )


__all__ = ["copies", "host_copy"]
