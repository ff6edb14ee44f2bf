"""Philox 4x32-10 in NumPy: the twins of the rows of the random operations.

The generator is that of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(SC 2011): a bijection of a 128-bit counter under a 64-bit key. A row has a 64-bit counter, the low half. One counter
gives one number, so any element can be computed alone; the high half is zero, or counts the blocks that a sampler takes
for the same element (`ops/sampling.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def philox(counter: Any, key: Any, high: Any = 0) -> tuple[Array, Array, Array, Array]:
    """Four arrays of 32 random bits (in uint64) for 64-bit counters and keys.

    Parameters
    ----------
    counter, key : array_like of uint64
        Low half of the counter, and the key.
    high : array_like of uint64, optional
        High half of the counter.

    Examples
    --------
    >>> [f"{int(word):08x}" for word in philox(0, 0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    counter, key, high = (np.asarray(x).astype(np.uint64) for x in (counter, key, high))
    x, y, z, w = counter & _LOW, counter >> _32, high & _LOW, high >> _32
    k, l = key & _LOW, key >> _32
    for _ in range(10):
        a, b = x * _MULTIPLIERS[0], z * _MULTIPLIERS[1]
        x, y, z, w = (b >> _32) ^ y ^ k, b & _LOW, (a >> _32) ^ w ^ l, a & _LOW
        k, l = (k + _WEYL[0]) & _LOW, (l + _WEYL[1]) & _LOW
    return x, y, z, w


def bits32(counter: Any, key: Any) -> Array:
    """32 random bits."""
    return philox(counter, key)[0].astype(np.uint32)


def bits64(counter: Any, key: Any, high: Any = 0) -> Array:
    """64 random bits."""
    x, y, _, _ = philox(counter, key, high)
    return y << _32 | x


def uniform32(counter: Any, key: Any) -> Array:
    """A float32 in [0, 1), a multiple of 2**-24."""
    return (philox(counter, key)[0] >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)


def uniform64(counter: Any, key: Any) -> Array:
    """A float64 in [0, 1), a multiple of 2**-53."""
    return (bits64(counter, key) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normal32(counter: Any, key: Any) -> Array:
    """A standard normal float32 (Box and Muller)."""
    x, y, _, _ = philox(counter, key)
    u = _open_unit32(x)
    v = (y >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)
    return np.sqrt(np.float32(-2) * np.log(u)) * np.cos(np.float32(2 * np.pi) * v)


def normal64(counter: Any, key: Any) -> Array:
    """A standard normal float64 (Box and Muller)."""
    x, y, z, w = philox(counter, key)
    u = ((y << _32 | x) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    v = ((w << _32 | z) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.sqrt(-2.0 * np.log(1.0 - u)) * np.cos(2 * np.pi * v)


def exponential32(counter: Any, key: Any) -> Array:
    """A standard exponential float32."""
    return -np.log(_open_unit32(philox(counter, key)[0]))


def exponential64(counter: Any, key: Any) -> Array:
    """A standard exponential float64."""
    return -np.log1p(-uniform64(counter, key))


def high_product(x: Array, y: Array) -> Array:
    """The upper 64 of the 128 bits of products of uint64."""
    xl, xh, yl, yh = x & _LOW, x >> _32, y & _LOW, y >> _32
    middle = xh * yl + (xl * yl >> _32)
    other = xl * yh + (middle & _LOW)
    return xh * yh + (middle >> _32) + (other >> _32)


def _open_unit32(x: Array) -> Array:
    """A float32 in (0, 1] of 31 bits, fine near 0."""
    u = ((x >> np.uint64(1)).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-31)
    return np.minimum(u, np.float32(1))
