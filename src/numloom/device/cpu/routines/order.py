"""Sorting and running operations by NumPy."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from numloom.device.cpu.routines import shared

Host = np.ndarray[Any, Any]

_SHORT = 2048
"""Fewer elements than this are merged sooner than they are packed."""

_LOWEST = -(1 << 31)


def sort(_: Any, a: Host, out: Host, *, axis: int) -> None:
    """``out`` = `a` sorted along `axis`; NaN last."""
    out[...] = a
    out.sort(axis)


def argsort(_: Any, a: Host, out: Host, *, axis: int) -> None:
    """``out`` = positions (int64) that sort `a` along `axis`, stable; NaN last."""
    out[...] = stable_order(a, axis)


def stable_order(a: Host, axis: int) -> Host:
    """NumPy's stable argsort, by its fast sorts of numbers.

    NumPy sorts numbers of 64 bits by vector instructions, but not stably, and merges to sort stably. So keys of 32
    bits are sorted with their positions in the lower half of a word; of larger ones the equal ones are put in order
    after sorting, their positions below the number of their run.
    """
    extent = a.shape[axis] if a.ndim else 0
    if a.size < _SHORT or not 1 < extent <= 1 << 32 or a.dtype.kind not in "iuf" or a.itemsize < 4:
        return np.argsort(a, axis, kind="stable")
    lines = np.moveaxis(a, axis, -1)
    if a.itemsize == 4:
        words = _ordered_bits(lines).astype(np.uint64) << np.uint64(32)
        words |= np.arange(extent, dtype=np.uint64)
        words.sort(-1)
        order = words.view(np.int64)
    else:
        order = np.argsort(lines, -1)
        values = np.take_along_axis(lines, order, -1)
        new = values[..., 1:] != values[..., :-1]
        if a.dtype.kind == "f":
            new &= ~np.isnan(values[..., :-1])  # only NaN follows NaN, and is equal to it in this order
        if new.all():
            return np.moveaxis(order, -1, axis)
        words = order.astype(np.uint64)
        words[..., 1:] |= np.cumsum(new, -1, dtype=np.uint64) << np.uint64(32)
        words.sort(-1)
        order = words.view(np.int64)
    order &= 0xFFFFFFFF
    return np.moveaxis(order, -1, axis)


def _ordered_bits(a: Host) -> Host:
    """uint32 in the order of numbers of 32 bits; both zeros are one, and so are all NaN."""
    if a.dtype.kind == "u":
        return a
    if a.dtype.kind == "i":
        return np.bitwise_xor(a, np.int32(_LOWEST)).view(np.uint32)
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
