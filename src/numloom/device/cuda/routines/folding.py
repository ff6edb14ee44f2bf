"""Operations in turn along lines, and over segments of lines.

What neither a tree nor a scan computes as NumPy does (differences, quotients, powers, orders of complex numbers) is
done element after element. Many lines beside each other are a thread's each; else a warp fetches a line and all of its
lanes take the steps, which is as fast as steps follow one another.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from numloom.base.dtypes import code_of
from numloom.device.cuda.routines.kernels import Grid, address, collapse, empty, run
from numloom.device.interface import Strided
from numloom.emit.folding import ITEMS, THREADS, fold_text, segments_text
from numloom.ops.segments import ANY_ORDER, TREE

THREAD_LINES = 4096
"""Lines from which a thread each is enough to keep memory busy."""
FEW_SEGMENTS = 4096
"""Segments up to which a warp each leaves most of the device idle."""
PIECE = 4096
"""Elements of the smallest piece of a segment: a power of two, at least the 256 that a warp combines at a time."""
MOST_PIECES = 1 << 15


def _folded(
    device: Any, a: Strided, out: Strided, op: str, axis: int, first: Strided | None, mask: Strided | None, every: bool
) -> None:
    """Results of `op` along lines, all of them if `every`; then `out` has the axis, too."""
    keep = [k for k in range(len(a.shape)) if k != axis]
    shape = [a.shape[k] for k in keep]
    if not prod(shape) or (every and not a.shape[axis]):
        return
    a_strides = [a.strides[k] for k in keep]
    out_strides = [out.strides[k] for k in keep] if every else out.strides
    mask_strides = a_strides if mask is None else [mask.strides[k] for k in keep]
    extents, strides = collapse(shape, a_strides, out_strides, mask_strides)
    lines, length, step = prod(shape), a.shape[axis], a.strides[axis]
    text = fold_text(op, code_of(a.dtype), len(extents), every)
    words = [address(a), address(out), 0 if first is None else address(first), 0 if mask is None else address(mask)]
    words += [lines, length, step, out.strides[axis] if every else 0, 0 if mask is None else mask.strides[axis]]
    words += [*extents, *strides[0], *strides[1], *strides[2]]
    if lines >= THREAD_LINES or (lines >= 32 and abs(step) != 1) or length <= 8:
        run(device, text, "fold", Grid(-(-lines // THREADS), THREADS), words)
    else:
        run(device, text, "fold_by_warps", Grid(-(-lines * 32 // THREADS), THREADS), words)


def fold(device: Any, a: Strided, *others: Strided, op: str, axis: int, initial: bool, out: Strided) -> None:
    """``out`` = `op` from left to right along `axis`, in the dtype of `a`."""
    first = others[0] if initial else None
    mask = others[-1] if len(others) > initial else None
    _folded(device, a, out, op, axis, first, mask, False)


def scan_in_turn(device: Any, a: Strided, *, op: str, axis: int, out: Strided) -> None:
    """``out`` = running `op` from left to right along `axis`, in the dtype of `a`."""
    _folded(device, a, out, op, axis, None, None, True)


def reduceat(device: Any, a: Strided, starts: Strided, *, op: str, axis: int, location: int, out: Strided) -> None:
    """``out`` = `op` over segments along `axis` that begin at `starts`, in the dtype of `a`."""
    if not prod(out.shape):
        return
    keep = [k for k in range(len(a.shape)) if k != axis]
    shape = [a.shape[k] for k in keep]
    extents, strides = collapse(shape, [a.strides[k] for k in keep], [out.strides[k] for k in keep])
    lines, segments, length = prod(shape), starts.shape[0], a.shape[axis]
    tree = op in TREE or op in ANY_ORDER
    count, piece = lines * segments, PIECE
    while piece < length and count * -(-length // piece) > MOST_PIECES:
        piece *= 2
    most = -(-length // piece)
    split = tree and most > 1 and count < FEW_SEGMENTS
    # The largest type in which segments are carried has 16 bytes.
    parts = empty(device, (count * most,), np.complex128) if split else None
    words = [address(a), address(out), address(starts), device.error_address(), location, segments, starts.strides[0]]
    words += [lines, length, a.strides[axis], out.strides[axis], piece, most, address(parts) if parts else 0]
    words += [*extents, *strides[0], *strides[1]]
    # Short ones are a lane's each.
    short = tree and count >= FEW_SEGMENTS and length <= ITEMS * segments
    grid = Grid(-(-count * (1 if short else 32) // THREADS), THREADS)
    entries = ("pieces", "join") if split else ("short_segments",) if short else ("segments",)
    texts = [segments_text(op, code_of(a.dtype), len(extents), tree, entry) for entry in entries]
    if split:
        device.expect(texts)
        run(device, texts[0], "pieces", Grid(-(-count * most * 32 // THREADS), THREADS), words)
    run(device, texts[-1], entries[-1], grid, words)
