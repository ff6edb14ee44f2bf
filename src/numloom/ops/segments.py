"""Reductions of segments in NumPy: neighbours are combined, then neighbours of these, as the kernels do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Host = np.ndarray[Any, Any]

TREE = frozenset(("add", "multiply"))
"""Operations whose order matters to the bits, but that may be combined as a tree."""
CARRIED = TREE | {"subtract", "divide"}
"""Operations that carry results of float16 in float32, as NumPy's reductions do; the others round each time."""
ANY_ORDER = frozenset(
    ("maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
     "bitwise_xor", "gcd")
)  # fmt: skip
"""Operations that give the same in any order."""


BLOCK = 64
"""Elements that are combined side by side with others."""


def reduce_segments(combine: Callable[..., Any], a: Host, starts: Host) -> Host:
    """Reduce segments along axis 0: each goes up to the next start (one element if that is not behind it).

    Parameters
    ----------
    combine : callable
        The operation, of two arrays.
    a : numpy.ndarray
        Elements.
    starts : numpy.ndarray
        Where segments begin (int64, within bounds, at least one).

    Examples
    --------
    >>> reduce_segments(np.add, np.arange(6), np.array([0, 4, 2]))
    array([ 6,  4, 14])
    """
    ends = np.append(starts[1:], len(a))
    lengths = np.where(ends > starts, ends - starts, 1)
    whole, rest = lengths // BLOCK, lengths % BLOCK
    if not whole.any():
        return _pairs(combine, *_gathered(a, starts, lengths))
    # Parts of a segment that begin at a multiple of a power of two are trees of their own.
    rows = np.lib.stride_tricks.sliding_window_view(a, BLOCK, 0)[_positions(starts, whole, BLOCK)]
    while rows.shape[-1] > 1:
        rows = combine(rows[..., ::2], rows[..., 1::2])
    tails = rest > 0
    parts = whole + tails
    values = np.empty((int(parts.sum()), *a.shape[1:]), a.dtype)
    first = np.cumsum(parts) - parts
    values[_positions(first, whole, 1)] = rows[..., 0]
    if tails.any():
        ragged = _gathered(a, (starts + whole * BLOCK)[tails], rest[tails])
        values[(first + whole)[tails]] = _pairs(combine, *ragged)
    return _pairs(combine, values, parts)


def _positions(starts: Host, counts: Host, step: int) -> Host:
    """``starts[k]``, ``starts[k] + step``, ... , `counts[k]` of them, for each k."""
    offsets = np.cumsum(counts) - counts
    return np.repeat(starts - offsets * step, counts) + np.arange(int(counts.sum())) * step


def _gathered(a: Host, starts: Host, lengths: Host) -> tuple[Host, Host]:
    """Segments one after another, and their lengths."""
    return a[_positions(starts, lengths, 1)], lengths


def _pairs(combine: Callable[..., Any], values: Host, lengths: Host) -> Host:
    """Reduce segments that lie one after another."""
    offsets = np.cumsum(lengths) - lengths
    while int(lengths.max()) > 1:
        paired = (lengths + 1) // 2
        left = _positions(offsets, paired, 2)
        both = left + 1 < np.repeat(offsets + lengths, paired)
        merged = values[left]
        merged[both] = combine(merged[both], values[left[both] + 1])
        values, lengths, offsets = merged, paired, np.cumsum(paired) - paired
    return values
