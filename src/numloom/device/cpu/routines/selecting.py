"""Elements chosen by a mask, and their positions."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from numloom.device.cpu.hostview import as_array
from numloom.device.cpu.routines import shared
from numloom.device.interface import Strided

Host = np.ndarray[Any, Any]

_LOOPS = {1: "select_u8", 2: "select_u16", 4: "select_u32", 8: "select_u64", 16: "select_u128"}


def compress(device: Any, a: Strided, mask: Strided) -> Strided:
    """The elements (in C order) of `a` where `mask`, of its leading axes, is true."""
    source, where = as_array(a), as_array(mask)
    if source.ndim == where.ndim and source.size >= shared.FEW and _dense(source) and _dense(where):
        found = _chosen(device, _LOOPS[a.dtype.itemsize], source, where, a.dtype)
        if found is not None:
            return found
    return fresh(device, source[where])


def nonzero(device: Any, a: Strided) -> tuple[Strided, ...]:
    """Indices (int64) of elements that are not zero, an array an axis, in C order."""
    source = as_array(a)
    if source.ndim == 1 and source.size >= shared.FEW:
        where = source if source.dtype == np.bool_ and _dense(source) else source != 0
        found = _chosen(device, "select_place", where, where, np.dtype(np.int64))
        if found is not None:
            return (found,)
    return tuple(fresh(device, places) for places in np.nonzero(source))


def _dense(host: Host) -> bool:
    return bool(host.flags.c_contiguous and host.flags.aligned)


def _chosen(device: Any, loop: str, source: Host, mask: Host, dtype: np.dtype[Any]) -> Strided | None:
    """What the loop chooses; None where it is not compiled yet."""
    flat = mask.reshape(-1)
    starts = _starts(flat)
    pieces = len(starts) - 1
    chosen = int(starts[-1])
    asked = device.pool.asked
    buffer = device.pool.allocate(max(chosen * dtype.itemsize, 1))
    if asked != device.pool.asked and (starts != _starts(flat)).any():  # Others have written to the mask meanwhile.
        return None
    params = array("q", [source.ctypes.data, flat.ctypes.data, buffer.ptr, starts.ctypes.data, flat.size, shared.PIECE])
    if not shared.run(device, loop, params, pieces):
        return None
    return Strided(buffer, 0, (chosen,), (1,), dtype)


def _starts(flat: Host) -> Host:
    """Where what each piece chooses begins, and at last how much all of them choose."""
    pieces = shared.pieces_of(flat.size)
    starts = np.zeros(pieces + 1, np.int64)
    for piece in range(pieces):
        starts[piece + 1] = np.count_nonzero(flat[piece * shared.PIECE : (piece + 1) * shared.PIECE])
    return np.cumsum(starts, out=starts)


def fresh(device: Any, host: Host) -> Strided:
    """A result of NumPy's, in C order, as the device's."""
    dense = np.ascontiguousarray(host).reshape(host.shape)
    strides = tuple([stride // host.itemsize for stride in dense.strides])
    return Strided(device.upload(dense.reshape(-1).view(np.uint8)), 0, host.shape, strides, host.dtype)
