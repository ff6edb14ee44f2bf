"""Where in the user's code something was recorded, for errors that are found only when it runs."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_KEPT = 10_000

Complaint = tuple[type[Exception], str]
OUT_OF_BOUNDS: Complaint = (IndexError, "an index array holds an index that is out of bounds for the axis it indexes")


def _named(file: str, line: int) -> str:
    return f"{file}:{line}"


namer: Callable[[str, int], str] = _named
"""How a line of user code is called; a notebook names its cells (`set_namer`)."""


def set_namer(name: Callable[[str, int], str] | None) -> None:
    """Have lines of user code called by a function of file and line; by both of them, where it is None."""
    global namer
    namer = name or _named


class SourceLocation:
    """A line of user code, as the op definition of a node that may fail when it runs.

    Attributes
    ----------
    id : int
        What a kernel writes to the error word; never 0.
    file : str
        Name of the source file.
    line : int
        Number of the line.
    complaint : tuple of type and str
        The error that is raised if it fails.
    """

    __slots__ = ("complaint", "file", "id", "line")

    name = "gather"
    cost = 4

    def __init__(self, id: int, file: str, line: int, complaint: Complaint) -> None:
        self.id = id
        self.file = file
        self.line = line
        self.complaint = complaint

    def __str__(self) -> str:
        return namer(self.file, self.line)

    def shown(self) -> str:
        """The line's name, and its text if that is known."""
        source = linecache.getline(self.file, self.line).strip()
        return f"{self}: {source}" if source else str(self)

    def error(self, text: str = "") -> Exception:
        """The error to raise; a text that says more than the complaint's stands instead of it."""
        kind, complaint = self.complaint
        return kind(f"{text or complaint}; recorded at {self.shown()}")


INSIDE = SourceLocation(0, "", 0, OUT_OF_BOUNDS)
"""For gathers whose indices cannot be out of range."""

_locations: dict[int, SourceLocation] = {}
_count = 0


def here(complaint: Complaint = OUT_OF_BOUNDS) -> SourceLocation:
    """The innermost line outside of this package that is being executed."""
    global _count
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    _count += 1
    location = SourceLocation(_count, frame.f_code.co_filename, frame.f_lineno, complaint)
    _locations[_count] = location
    _locations.pop(_count - _KEPT, None)
    return location


def of(number: int) -> SourceLocation | None:
    """The source location with this id, if it is still known."""
    return _locations.get(number)
