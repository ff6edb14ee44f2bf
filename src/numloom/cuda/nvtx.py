"""Marks for NVIDIA's profilers by CuPy's names, over the package nvtx where it is installed; else nothing happens."""

from __future__ import annotations

import functools
import itertools
from typing import Any

_COLORS = ("blue", "green", "yellow", "purple", "rapids", "red", "orange", "white")


@functools.cache
def package() -> Any:
    """The package nvtx, or None."""
    try:
        import nvtx
    except ImportError:
        return None
    return nvtx


def _color(id_color: int) -> str | None:
    return None if id_color < 0 else _COLORS[id_color % len(_COLORS)]


def Mark(message: str, id_color: int = -1) -> None:
    """Mark a moment."""
    if package() is not None:
        package().mark(message=message, color=_color(id_color))


def MarkC(message: str, color: int = 0) -> None:
    """Mark a moment in a color (0xRRGGBB)."""
    if package() is not None:
        package().mark(message=message, color=color & 0xFFFFFF)


def RangePush(message: str, id_color: int = -1) -> None:
    """Begin a range of this thread, inside of those that are open.

    Examples
    --------
    >>> import numloom as np
    >>> np.cuda.nvtx.RangePush("both")
    >>> np.cuda.nvtx.RangePop()
    """
    if package() is not None:
        package().push_range(message=message, color=_color(id_color))


def RangePushC(message: str, color: int = 0) -> None:
    """Begin a range in a color (0xRRGGBB)."""
    if package() is not None:
        package().push_range(message=message, color=color & 0xFFFFFF)


def RangePop() -> None:
    """End the range that was begun last."""
    if package() is not None:
        package().pop_range()


def __getattr__(name: str) -> Any:
    if name == "available":
        return package() is not None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_open: dict[int, Any] = {}
"""Ranges by the numbers that `RangeStart` gave."""
_numbers = itertools.count(1)


def RangeStart(message: str, color: int = 0) -> int:
    """Begin a range that may end in another thread, in a color (0xRRGGBB); the number that `RangeEnd` takes.

    Examples
    --------
    >>> import numloom as np
    >>> np.cuda.nvtx.RangeEnd(np.cuda.nvtx.RangeStart("both", 0xFF0000))
    """
    number = next(_numbers)
    if package() is not None:
        _open[number] = package().start_range(message=message, color=color & 0xFFFFFF)
    return number


def RangeEnd(range_id: int) -> None:
    """End a range that `RangeStart` began."""
    begun = _open.pop(range_id, None)
    if begun is not None:
        package().end_range(begun)


__all__ = ["Mark", "MarkC", "RangeEnd", "RangePop", "RangePush", "RangePushC", "RangeStart"]
