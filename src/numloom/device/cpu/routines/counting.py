"""Counting, distinct numbers and places in sorted ones."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from numloom.device.cpu.hostview import as_array
from numloom.device.cpu.routines import shared
from numloom.device.cpu.routines.order import stable_order
from numloom.device.cpu.routines.selecting import fresh
from numloom.device.interface import Strided
from numloom.ops.routines import ROUTINES as ROWS

Host = np.ndarray[Any, Any]

_BINS = 4096
_LOOPS = {"f": "histogram_f32", "d": "histogram_f64"}
_CACHED = 1 << 20
"""Bytes that the second cache holds: numbers are looked for in larger vectors in their order."""


def histogram(device: Any, a: Strided, edges: Strided, *, uniform: bool, out: Strided) -> None:
    """``out`` = how many of the vector `a` lie between neighbours of `edges`; see the row."""
    source, between, counts = as_array(a), as_array(edges), as_array(out)
    loop = _LOOPS.get(a.dtype.char) if a.dtype == edges.dtype else None
    regular = uniform and loop is not None and counts.size <= _BINS and bool(between[0] < between[-1])
    if regular and source.size >= shared.FEW and counts.flags.c_contiguous and np.isfinite(between[-1] - between[0]):
        source, between = np.ascontiguousarray(source), np.ascontiguousarray(between)
        addresses = [source.ctypes.data, between.ctypes.data, counts.ctypes.data]
        counts[...] = 0
        params = array("q", [*addresses, source.size, counts.size, shared.PIECE])
        if shared.run(device, str(loop), params, shared.pieces_of(source.size)):
            return
    counts[...] = ROWS["histogram"].numpy(source, between, uniform=uniform)


def searchsorted(_: Any, table: Host, values: Host, places: Host, *, side: str) -> None:
    """`places` = where in a sorted vector each of the values would go.

    Numbers in no order miss the cache at every step in a large vector, so they are put in order first.
    """
    if table.nbytes <= _CACHED or values.size < shared.FEW or values.dtype.kind not in "iuf":
        places[...] = table.searchsorted(values, side)  # type: ignore[call-overload]
        return
    flat = values.reshape(-1)
    order = stable_order(flat, 0)
    found = np.empty(flat.size, np.int64)
    found[order] = table.searchsorted(flat[order], side)  # type: ignore[call-overload]
    places[...] = found.reshape(values.shape)


def unique(
    device: Any, a: Strided, *, equal_nan: bool, index: bool, inverse: bool, counts: bool
) -> tuple[Strided, ...]:
    """Sorted distinct elements, and what else is asked for; whole numbers of a small range are not sorted."""
    source = as_array(a).reshape(-1)
    results = None
    if source.dtype.kind in "iu" and source.size >= shared.FEW:
        low, high = int(source.min()), int(source.max())
        if high - low <= source.size:
            results = _unique_of_few(source, low, high - low + 1, index, inverse, counts)
    if results is None:
        results = ROWS["unique"].numpy(source, equal_nan=equal_nan, index=index, inverse=inverse, counts=counts)
    return tuple(fresh(device, result) for result in results)


def _unique_of_few(source: Host, low: int, extent: int, index: bool, inverse: bool, counts: bool) -> tuple[Host, ...]:
    """The same by a table of the range."""
    wide = np.dtype(np.uint64 if source.dtype == np.uint64 else np.int64)
    places = (source.astype(wide) - wide.type(low)).astype(np.int64, copy=False)
    if counts:
        number = np.bincount(places, minlength=extent)
        there = number > 0
    else:
        there = np.zeros(extent, bool)
        there[places] = True
    distinct = np.flatnonzero(there)
    results = [(distinct.astype(wide) + wide.type(low)).astype(source.dtype)]
    if index:
        first = np.empty(extent, np.int64)
        first[places[::-1]] = np.arange(source.size - 1, -1, -1)  # the last one written is the first
        results.append(first[distinct])
    if inverse:
        results.append((np.cumsum(there) - 1)[places])
    if counts:
        results.append(number[distinct])
    return tuple(results)
