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
    offsets = np.cumsum(lengths) - lengths
    position = np.arange(int(lengths.sum())) - np.repeat(offsets, lengths)
    values = a[np.repeat(starts, lengths) + position]
    while int(lengths.max()) > 1:
        paired = (lengths + 1) // 2
        first = np.cumsum(paired) - paired
        position = np.arange(int(paired.sum())) - np.repeat(first, paired)
        left = np.repeat(offsets, paired) + 2 * position
        both = 2 * position + 1 < np.repeat(lengths, paired)
        merged = values[left]
        merged[both] = combine(merged[both], values[left[both] + 1])
        values, lengths, offsets = merged, paired, first
    return values
