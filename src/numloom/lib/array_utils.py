"""Axes and extents of memory."""

from __future__ import annotations

from typing import Any

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from numloom.array.convert import asarray
from numloom.array.storage import materialize
from numloom.graph.layout import Layout, extent_of


def byte_bounds(a: Any) -> tuple[int, int]:
    """The first address of an array's memory on its device, and the one behind the last; runs what is recorded."""
    array = asarray(a)
    start = materialize(array.storage).buffer.ptr
    if not array.size:
        return start + array.offset, start + array.offset
    low, high = extent_of(Layout(array.offset, array.shape, array.strides), array.itemsize)
    return start + low, start + high


__all__ = ["byte_bounds", "normalize_axis_index", "normalize_axis_tuple"]
