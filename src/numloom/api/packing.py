"""Bits: eight truth values in a byte, and back; recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.calling import Replayed, recalled, replayed
from numloom.api.elementwise import left_shift, not_equal, right_shift
from numloom.api.inserting import ordered_as
from numloom.api.manipulation import lines_along
from numloom.api.padding import pad
from numloom.array.convert import asarray
from numloom.base.dtypes import BOOL, KINDS
from numloom.base.given import as_name
from numloom.base.integers import as_integer
from numloom.device.registry import current

Array = Any

_SHIFTS = {"big": np.arange(7, -1, -1, dtype=np.uint8), "little": np.arange(8, dtype=np.uint8)}
"""How far each of the eight elements of a byte is shifted."""

_MANY = 4096
"""Truth values from which on the host takes less time to store them and read words than to add up bits at once."""

# Python's numbers take the dtype of the words that they meet, and are recorded without a conversion.
_EACH = 0x0101010101010101
_LOW = 127 * _EACH
_PICKED = {"big": np.uint64(0x0102040810204080), "little": np.uint64(0x8040201008040201)}
"""The bit that each byte of a word takes; the lowest byte is the first."""

_COLLECTED = {"big": np.uint64(0x8040201008040201), "little": np.uint64(0x0102040810204080)}
"""What moves the lowest bits of all bytes of a word to the highest byte."""


def _shifts(bitorder: str) -> np.ndarray[Any, Any]:
    if as_name(bitorder, "bitorder") not in _SHIFTS:
        raise ValueError("'order' must be either 'little' or 'big'")
    return _SHIFTS[bitorder]


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Array:
    """The elements along an axis as bits (set where not zero), eight in a byte.

    Parameters
    ----------
    a : array_like
        Integers or booleans.
    axis : int, optional
        Axis to pack along; by default the array is flattened.
    bitorder : {"big", "little"}
        Whether the first of eight elements is the highest bit or the lowest.

    Returns
    -------
    ndarray
        uint8; the last byte is filled with zero bits.

    Examples
    --------
    >>> import numloom as np
    >>> np.packbits([1, 0, 1, 0, 0, 0, 0, 1, 1])
    array([161, 128], dtype=uint8)
    """
    array = asarray(a)
    if KINDS[array.code] not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    _shifts(bitorder)
    # A value that is computed only here is fused with the sum of its bits; bytes in memory are read eight at a time. On
    # the host that is so much faster that many are put there.
    stored = array.code == BOOL and array.size >= _MANY and not current().discrete
    in_memory = stored or array.storage.value.buffer is not None
    if axis is not None and type(axis) is not int:
        axis = as_integer(axis)
    return recalled(_PACKED, (axis, bitorder, in_memory), (array,))


def _packed(given: tuple[int | None, str, bool], array: Array) -> Array:
    axis, bitorder, in_memory = given
    array, axis = lines_along(array, axis)
    extent = array.shape[axis]
    lines = array.itemsize == 1 and array.flags.c_contiguous and axis == array.ndim - 1
    if lines and in_memory and extent and not extent % 8:
        return _gathered(array.view(np.uint64), bitorder)
    bits = not_equal(array, 0)
    if extent % 8:
        bits = pad(bits, [(0, -extent % 8) if k == axis else (0, 0) for k in range(array.ndim)])
    lead, rest = array.shape[:axis], array.shape[axis + 1 :]
    eights = bits.reshape((*lead, -(-extent // 8), 8, *rest)).astype(np.uint8)
    shifted = left_shift(eights, _column(_SHIFTS[bitorder], rest))
    packed = shifted.sum(axis + 1, dtype=np.uint8)
    return packed if packed.flags.c_contiguous or array.flags.fnc else packed.copy()


_PACKED = Replayed(_packed)


def _gathered(words: Array, bitorder: str) -> Array:
    """A byte of each word of eight: a bit for each that is not zero."""
    # 127 more reach a byte's highest bit from the lower ones, and never the next byte.
    ones = ((((words & _LOW) + _LOW) | words) >> 7) & _EACH
    # Each product of two ones has a place of its own: the highest byte collects the bits in their order.
    return ((ones * _COLLECTED[bitorder]) >> 56).astype(np.uint8)


@replayed
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Array:
    """The bits of bytes, along an axis, as elements 0 and 1.

    Parameters
    ----------
    a : array_like
        uint8 values.
    axis : int, optional
        Axis to unpack along; by default the array is flattened.
    count : int, optional
        How many elements the axis gets: more are zeros, a negative number is how many are left out at the end.
    bitorder : {"big", "little"}
        Whether the highest bit of a byte comes first or the lowest.

    Returns
    -------
    ndarray
        uint8.

    Examples
    --------
    >>> import numloom as np
    >>> np.unpackbits(np.array([161], dtype=np.uint8), count=-1)
    array([1, 0, 1, 0, 0, 0, 0], dtype=uint8)
    """
    array = asarray(a)
    if array.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    shifts = _shifts(bitorder)
    array, axis = lines_along(array, axis)
    lead, rest = array.shape[:axis], array.shape[axis + 1 :]
    extent = 8 * array.shape[axis]
    if not rest and array.size and array.flags.c_contiguous:
        bits = _spread(array, bitorder).view(np.uint8)
        return _cut(bits, count, axis)
    shifted = right_shift(array.reshape((*lead, -1 if array.size else extent // 8, 1, *rest)), _column(shifts, rest))
    bits = (shifted & 1).reshape((*lead, extent, *rest))
    return ordered_as(_cut(bits, count, axis), array)


def _spread(array: Array, bitorder: str) -> Array:
    """Words of eight bytes, each 0 or 1: a bit of an element in each."""
    words = (array.astype(np.uint64) * _EACH) & _PICKED[bitorder]
    # A byte holds one bit or none: 127 more reach its highest bit, and never the next byte.
    return ((words + _LOW) >> 7) & _EACH


def _cut(bits: Array, count: Any, axis: int) -> Array:
    """The first `count` bits along an axis (all but the last ones, where it is negative), zeros behind them."""
    extent = bits.shape[axis]
    if count is None:
        return bits
    kept = as_integer(count)
    if kept < 0:
        if -kept > extent:
            raise ValueError("-count larger than number of elements")
        kept += extent
    if kept > extent:
        bits = pad(bits, [(0, kept - extent) if k == axis else (0, 0) for k in range(bits.ndim)])
    elif kept < extent:
        bits = bits[(slice(None),) * axis + (slice(0, kept),)].copy()
    return bits


def _column(shifts: np.ndarray[Any, Any], rest: tuple[int, ...]) -> Array:
    return asarray(shifts.reshape((8, *((1,) * len(rest)))))


__all__ = ["packbits", "unpackbits"]
