"""Windows for spectra, and the Bessel function that one of them is made of; recorded like any expression."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from numloom.api.creation import arange, ones, zeros
from numloom.api.elementwise import cos, sqrt, where
from numloom.api.running import deliver
from numloom.array.convert import asarray, host_numbers
from numloom.array.ndarray import node_of
from numloom.array.views import in_tree
from numloom.graph import build
from numloom.ops.special import SPECIAL

Array = Any

_I0 = SPECIAL["i0"]


def i0(x: Any) -> Array:
    """The modified Bessel function of the first kind of order 0.

    Parameters
    ----------
    x : array_like
        Real numbers; integers are taken as float64.

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError
        If `x` is complex.

    Examples
    --------
    >>> import numloom as nl
    >>> nl.i0(0.0).item()
    1.0
    """
    array = asarray(x)
    if array.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    node = build.cast(build.unary(_I0, node_of(array)), array.code)
    result = deliver(node, (array,))
    result.is_scalar = False
    return result


def _steps(M: Any) -> tuple[float, Array | None]:
    """`M` as a number, and ``1 - M, 3 - M, ...``; None where the window is empty or a single 1."""
    count = float(np.asarray([0.0, host_numbers(M)])[1])
    return (count, arange(1 - count, count, 2)) if count >= 1 and count != 1 else (count, None)


def _short(count: float) -> Array:
    return ones(1) if count == 1 else zeros(0)


def bartlett(M: Any) -> Array:
    """The triangular window of `M` points that ends at 0."""
    count, n = _steps(M)
    if n is None:
        return _short(count)
    slope = n / (count - 1)
    return where(n <= 0, 1 + slope, 1 - slope)


def _cosines(M: Any, level: float, *amplitudes: float) -> Array:
    """A window that is a sum of cosines."""
    count, n = _steps(M)
    if n is None:
        return _short(count)
    angle = pi * n / (count - 1)
    total = level + amplitudes[0] * cos(angle)
    for k, amplitude in enumerate(amplitudes[1:], 2):
        total = total + amplitude * cos(k * angle)
    return total


def blackman(M: Any) -> Array:
    """Blackman's window of `M` points: 0.42 + 0.5 cos + 0.08 cos of twice the angle."""
    return _cosines(M, 0.42, 0.5, 0.08)


def hamming(M: Any) -> Array:
    """Hamming's window of `M` points: 0.54 + 0.46 cos."""
    return _cosines(M, 0.54, 0.46)


def hanning(M: Any) -> Array:
    """Von Hann's window of `M` points: 0.5 + 0.5 cos.

    Examples
    --------
    >>> import numloom as nl
    >>> nl.hanning(3).tolist()
    [0.0, 1.0, 0.0]
    """
    return _cosines(M, 0.5, 0.5)


def kaiser(M: Any, beta: Any) -> Array:
    """Kaiser's window of `M` points and shape `beta`: `i0` of half an ellipse, over ``i0(beta)``."""
    waits = in_tree(beta)
    _, count, number = map(float, np.asarray(host_numbers([0.0, M, 0.0 if waits else beta])))
    if count == 1:
        return ones(1)
    n = arange(0, count)
    middle = (count - 1) / 2.0
    inside = sqrt(1 - ((n - middle) / middle) ** 2.0)
    if waits:
        return i0(beta * inside) / i0(beta)
    # NumPy's own number for beta: it is the same for all points.
    return i0(number * inside) / float(np.i0(number))


__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"]
