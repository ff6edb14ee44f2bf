"""Sorting and running operations by NumPy."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from numloom.device.cpu.routines import shared

Host = np.ndarray[Any, Any]

_SHORT = 2048
"""Fewer elements than this are merged sooner than they are packed."""

_SHORT_LINE = 1024
"""Elements up to which a line of short integers is sorted sooner with its positions than by digits."""

_BLOCK = 1 << 16
"""Elements of lines that are sorted together, so that what is made on the way stays in the cache."""

_LOWEST = -(1 << 31)


def sort(_: Any, a: Host, out: Host, *, axis: int) -> None:
    """``out`` = `a` sorted along `axis`; NaN last."""
    out[...] = a
    out.sort(axis)


def argsort(_: Any, a: Host, out: Host, *, axis: int) -> None:
    """``out`` = positions (int64) that sort `a` along `axis`, stable; NaN last."""
    if a.ndim < 2 or a.size <= _BLOCK:
        out[...] = stable_order(a, axis)
        return
    lines, order = np.moveaxis(a, axis, -1), np.moveaxis(out, axis, -1)
    each = max(1, _BLOCK * len(lines) // a.size)
    for first in range(0, len(lines), each):
        order[first : first + each] = stable_order(lines[first : first + each], -1)


def stable_order(a: Host, axis: int) -> Host:
    """NumPy's stable argsort, by its fast sorts of numbers.

    NumPy sorts numbers by vector instructions, but not stably, and merges to sort stably. So keys of 32 bits are sorted
    with their positions in the lower half of a word, and so are shorter ones of short lines; of larger ones the equal
    ones are put in order after sorting, their positions below the number of their run.
    """
    extent = a.shape[axis] if a.ndim else 0
    if a.size < _SHORT or not 1 < extent <= 1 << 32 or a.dtype.kind not in "biuf":
        return np.argsort(a, axis, kind="stable")
    if a.itemsize < 4 and (extent > _SHORT_LINE or a.dtype.kind == "f"):
        return np.argsort(a, axis, kind="stable")
    last = axis in (-1, a.ndim - 1)
    lines = a if last else np.moveaxis(a, axis, -1)
    if a.itemsize > 4:
        order = _order_of_runs(lines)
    else:
        word, half = ("u8", 32) if a.itemsize == 4 else ("u4", 16)
        words: Any = _ordered_bits(lines).astype(word, order="C")
        words <<= half
        words |= np.arange(extent, dtype=word)
        words.sort(-1)
        words &= (1 << half) - 1
        order = words.view(np.int64) if half == 32 else words.astype(np.int64)
    return order if last else np.moveaxis(order, -1, axis)


def _order_of_runs(lines: Host) -> Host:
    """The stable order of each line of numbers of 64 bits or more."""
    extent = lines.shape[-1]
    dense = np.ascontiguousarray(lines)
    order = np.argsort(dense, -1)
    places = order.reshape(-1, extent)
    if len(places) > 1:
        places = places + np.arange(0, lines.size, extent)[:, None]
    values = dense.reshape(-1).take(places).reshape(order.shape)
    new = values[..., 1:] != values[..., :-1]
    if lines.dtype.kind == "f" and np.isnan(values[..., -1]).any():
        new &= ~np.isnan(values[..., :-1])  # only NaN follows NaN, and is equal to it in this order
    if new.all():
        return order
    words = order.astype(np.uint64)
    words[..., 1:] |= np.cumsum(new, -1, dtype=np.uint64) << np.uint64(32)
    words.sort(-1)
    words &= np.uint64(0xFFFFFFFF)
    return words.view(np.int64)


def _ordered_bits(a: Host) -> Host:
    """Unsigned numbers in the order of those of up to 32 bits; both zeros are one, and so are all NaN."""
    if a.dtype.kind in "bu":
        return a
    if a.dtype.kind == "i":
        return np.bitwise_xor(a, np.iinfo(a.dtype).min, order="C").view(f"u{a.itemsize}")
    bits = np.add(a, np.float32(0), order="C").view(np.int32)
    bits ^= (bits >> np.int32(31)) | np.int32(_LOWEST)
    keys = bits.view(np.uint32)
    keys[np.isnan(a)] = 0xFFFFFFFF
    return keys


def scan(device: Any, a: Host, out: Host, *, op: str, axis: int) -> None:
    """``out`` = running `op` (a ufunc's name) along `axis`, in the dtype of `a`; lines are shared out among threads."""
    if a.size >= shared.FEW and _scan_lines(device, a, out, op, axis):
        return
    running = getattr(np, op).accumulate
    if a.dtype.kind in "biu":
        running(a, axis, a.dtype, out)
        return
    with np.errstate(all="ignore"):
        running(a, axis, a.dtype, out)


_SCANNED = {"f": "f4", "d": "f8", "i": "i4", "l": "i8", "q": "i8"}
_WRAPPING = {**_SCANNED, "I": "i4", "L": "i8", "Q": "i8"}
_SCANS = {"add": _WRAPPING, "multiply": _WRAPPING, "maximum": _SCANNED, "minimum": _SCANNED}
"""Operations with a loop, and its name by the dtype's character: unsigned integers are added as signed ones are."""


def _scan_lines(device: Any, a: Host, out: Host, op: str, axis: int) -> bool:
    """`scan` of several lines of dense arrays; False where NumPy must do it."""
    axis %= a.ndim
    if not (a.flags.c_contiguous and out.flags.c_contiguous):
        a, out, axis = a.T, out.T, a.ndim - 1 - axis
    name = _SCANS.get(op, {}).get(a.dtype.char)
    lines = a.size // a.shape[axis]
    if name is None or lines < 2 or not (a.flags.c_contiguous and out.flags.c_contiguous and a.flags.aligned):
        return False
    inner = 1
    for extent in a.shape[axis + 1 :]:
        inner *= extent
    params = array("q", [a.ctypes.data, out.ctypes.data, a.shape[axis], inner])
    return shared.run(device, f"scan_{op}_{name}", params, lines, 8 * max(1, shared.FEW // (8 * a.shape[axis])))
