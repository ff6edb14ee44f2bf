"""Bounds of a slice; ``_slicing.pyx`` is its compiled twin."""

from __future__ import annotations


def bounds(item: slice, extent: int) -> tuple[int, int, int]:
    """First position, number of positions and step of a slice of an axis.

    Raises
    ------
    TypeError
        If a bound is no integer.
    ValueError
        If the step is 0.
    """
    start, stop, step = item.indices(extent)
    return start, max(0, (stop - start + (step - (1 if step > 0 else -1))) // step), step


__all__ = ["bounds"]
