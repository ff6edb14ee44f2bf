"""Philox 4x32-10 in NumPy: the twins of the definitions of the random operations.

The generator is that of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(SC 2011): a bijection of a 128-bit counter under a 64-bit key, a *block* of four words. The low half of the counter
is the number of a block: a draw takes blocks from `start` on, and its element i a word of block ``start + i // 4``, or
a half of block ``start + i // 2``. So any element can be computed alone, and neighbours share what a block costs. The
high half is zero, or counts the blocks that a sampler takes for the same element (`ops/sampling.py`).
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


def bits32(i: Any, start: Any, key: Any, high: Any = 0) -> Array:
    """32 random bits: words of blocks."""
    return _words(4, i, start, key, high).astype(np.uint32)


def bits64(i: Any, start: Any, key: Any, high: Any = 0) -> Array:
    """64 random bits: halves of blocks."""
    return _words(2, i, start, key, high)


def _words(each: int, i: Any, start: Any, key: Any, high: Any = 0) -> Array:
    """Element i of what blocks from `start` on are cut into, `each` of them from one block."""
    i, start, key, high = (np.asarray(x).astype(np.uint64) for x in (i, start, key, high))
    number, part = i // np.uint64(each), i % np.uint64(each)
    if i.size and start.size == key.size == high.size == 1:
        first, last = int(number.min()), int(number.max())
        if last - first < i.size:  # Each block once.
            blocks = np.arange(last - first + 1, dtype=np.uint64) + np.uint64(first) + start.ravel()
            parts = _parts(each, philox(blocks, key.ravel(), high.ravel()))
            found = parts[number - np.uint64(first), part]
            return found.reshape(np.broadcast_shapes(i.shape, start.shape, key.shape, high.shape))
    blocks = philox(start + number, key, high)
    return np.choose(np.broadcast_to(part, blocks[0].shape).astype(np.intp), np.moveaxis(_parts(each, blocks), -1, 0))


def _parts(each: int, blocks: tuple[Array, ...]) -> Array:
    x, y, z, w = blocks
    return np.stack((x, y, z, w) if each == 4 else (y << _32 | x, w << _32 | z), -1)


def uniform32(i: Any, start: Any, key: Any) -> Array:
    """A float32 in [0, 1), a multiple of 2**-24."""
    return (bits32(i, start, key) >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def uniform64(i: Any, start: Any, key: Any) -> Array:
    """A float64 in [0, 1), a multiple of 2**-53."""
    return (bits64(i, start, key) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normal32(i: Any, start: Any, key: Any) -> Array:
    """A standard normal float32: elements 2 j and 2 j + 1 are the coordinates of a point (Box and Muller 1958)."""
    i = np.asarray(i).astype(np.uint64)
    pair = i & ~np.uint64(1)
    radius = np.sqrt(np.float32(2) * _minus_log32(bits32(pair, start, key)))
    return radius * _turned32(bits32(pair | np.uint64(1), start, key), (i & np.uint64(1)).astype(np.uint32))


def normal64(i: Any, start: Any, key: Any) -> Array:
    """A standard normal float64, as `normal32`."""
    i = np.asarray(i).astype(np.uint64)
    pair = i & ~np.uint64(1)
    radius = np.sqrt(2.0 * minus_log64(bits64(pair, start, key)))
    return radius * turned64(bits64(pair | np.uint64(1), start, key), i & np.uint64(1))


def exponential32(i: Any, start: Any, key: Any) -> Array:
    """A standard exponential float32."""
    return _minus_log32(bits32(i, start, key))


def exponential64(i: Any, start: Any, key: Any) -> Array:
    """A standard exponential float64."""
    return minus_log64(bits64(i, start, key))


# --- as in emit/include/random.hpp ----------------------------------------------------------------

_LOG32 = (-0.07634493, 0.12761575, -0.13160183, 0.14201759, -0.16623357, 0.20001227, -0.2500082, 0.33333331)
_SINE32 = (-0.00019517, 0.00833218, -0.16666655)
_COSINE32 = (2.44384514e-05, -0.00138873675, 0.0416666469)
_SINE64 = (
    1.5896813444839284e-10, -2.505075841320564e-08, 2.7557313693747933e-06, -0.00019841269829812768,
    0.0083333333333224183, -0.16666666666666632,
)  # fmt: skip
_COSINE64 = (
    -1.1359649419769453e-11, 2.0875723291505545e-09, -2.7557314352388706e-07, 2.4801587289482194e-05,
    -0.0013888888888874125, 0.041666666666666602,
)  # fmt: skip
_ROOT32, _ONE32 = np.uint32(0x3F3504F3), np.uint32(0x3F800000)
_ROOT64, _ONE64 = np.uint64(0x3FE6A09E00000000), np.uint64(0x3FF0000000000000)


def _minus_log32(b: Array) -> Array:
    """-log of a float32 in (0, 1] made of 31 bits, fine near 0."""
    x = ((b >> np.uint32(1)).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-31)
    u = x.view(np.uint32) + (_ONE32 - _ROOT32)
    k = (u >> np.uint32(23)).astype(np.float32) - np.float32(127)
    f = ((u & np.uint32(0x7FFFFF)) + _ROOT32).view(np.float32) - np.float32(1)
    h = f * f
    p = polynomial(_LOG32, f) * (f * h) + k * np.float32(1.42860677e-06)
    return ((np.float32(0.5) * h - p) - f) - k * np.float32(0.693145752)


def minus_log64(b: Array) -> Array:
    """-log of a float64 in (0, 1] made of 52 bits."""
    x = 2.0 - (b >> np.uint64(12) | _ONE64).view(np.float64)
    k, f = split(x)
    h = 0.5 * f * f
    return ((h - (log_series(f, h) + k * LOG2_LOW)) - f) - k * LOG2_HIGH


def _turned32(b: Array, sine: Any) -> Array:
    """Cosine (sine) of b / 2**32 turns: the upper two bits are the nearest quarter, the others the rest."""
    x = ((b << np.uint32(2)).view(np.int32) >> 2).astype(np.float32) * np.float32(1.4629180792671596e-09)
    z = x * x
    s = polynomial(_SINE32, z) * z * x + x
    c = polynomial(_COSINE32, z) * (z * z) + (np.float32(1) - np.float32(0.5) * z)
    turn = ((b + np.uint32(0x20000000)) >> np.uint32(30)) + np.uint32(3) * sine
    y: Any = np.where(turn & np.uint32(1), s, c)
    return np.where((turn + np.uint32(1)) & np.uint32(2), -y, y)


def turned64(b: Array, sine: Any) -> Array:
    """Cosine (sine) of an angle: the upper two bits are quarter turns, the others how far it is from the middle."""
    x = (((b << np.uint64(2)) >> np.uint64(12) | _ONE64).view(np.float64) - 1.5) * 1.5707963267948966
    z = x * x
    s = polynomial(_SINE64, z) * z * x + x
    c = polynomial(_COSINE64, z) * (z * z) + (1.0 - 0.5 * z)
    turn = (b >> np.uint64(62)) + np.uint64(3) * sine
    y: Any = np.where(turn & np.uint64(1), s, c)
    return np.where((turn + np.uint64(1)) & np.uint64(2), -y, y)


# --- as in emit/include/portable.hpp --------------------------------------------------------------

_LOG64 = (
    0.14630031364122860468, 0.15330617306743304885, 0.18182922513515941633, 0.22222210674238515246,
    0.28571428628810995598, 0.39999999999893221763, 0.6666666666666669907,
)  # fmt: skip
LOG2_HIGH, LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""log(2) in two parts: whole numbers times the first are exact."""


def polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """A polynomial in the dtype of `x`, by Horner's scheme; the highest power comes first."""
    total: Any = x.dtype.type(coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + x.dtype.type(coefficient)
    return total  # type: ignore[no-any-return]


def split(x: Array) -> tuple[Array, Array]:
    """Exponent k and rest f: x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), for positive normal float64."""
    u = np.ascontiguousarray(x).view(np.uint64).reshape(np.shape(x)) + (_ONE64 - _ROOT64)
    k = (u >> np.uint64(52)).astype(np.float64) - 1023.0
    return k, ((u & np.uint64(0xFFFFFFFFFFFFF)) + _ROOT64).view(np.float64) - 1.0


def log_series(f: Array, h: Array) -> Array:
    """What log(1 + f) is above f - h, where h is f * f / 2."""
    s = f / (2.0 + f)
    z = s * s
    return s * (h + z * polynomial(_LOG64, z))


def high_product(x: Array, y: Array) -> Array:
    """The upper 64 of the 128 bits of products of uint64."""
    xl, xh, yl, yh = x & _LOW, x >> _32, y & _LOW, y >> _32
    middle = xh * yl + (xl * yl >> _32)
    other = xl * yh + (middle & _LOW)
    return xh * yh + (middle >> _32) + (other >> _32)
