"""Bounds of a slice; ``_slicing.pyx`` is its compiled twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class WaitingBoundError(TypeError):
    """A bound of a slice has no number yet."""


_asked: list[Callable[[Any], bool]] = []


def set_waiting(waits: Callable[[Any], bool]) -> None:
    """Have a function asked of each slice with bounds that are no integers of Python whether one of them waits."""
    _asked[:] = [waits]


def refuse_waiting(item: slice) -> None:
    """Raise `WaitingBoundError` if a bound of a slice waits."""
    for waits in _asked:
        if waits(item):
            raise WaitingBoundError("this slice has a bound whose number is not known yet")


def bounds(item: slice, extent: int) -> tuple[int, int, int]:
    """First position, number of positions and step of a slice of an axis.

    Raises
    ------
    TypeError
        If a bound is no integer.
    ValueError
        If the step is 0.
    WaitingBoundError
        If a bound has no number yet.
    """
    if not {type(item.start), type(item.stop), type(item.step)} <= {int, type(None)}:
        refuse_waiting(item)
    start, stop, step = item.indices(extent)
    return start, max(0, (stop - start + (step - (1 if step > 0 else -1))) // step), step


__all__ = ["WaitingBoundError", "bounds", "refuse_waiting", "set_waiting"]
