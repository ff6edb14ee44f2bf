"""Wavelets that CuPy has and SciPy has no more."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numloom as nl
from numloom.array.convert import asarray

Array = Any
_UNIT = math.pi**-0.25
"""What makes the energy of a Gaussian of width one to be one."""


def qmf(hk: Any) -> Array:
    """The high-pass filter that mirrors a low-pass filter: reversed, every other coefficient negated.

    Parameters
    ----------
    hk : array_like
        Coefficients of the low-pass filter.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> qmf([1, 2, 3])
    array([ 3, -2,  1])
    """
    backwards = asarray(hk)[::-1]
    signs = 1 - 2 * (nl.arange(backwards.shape[0]) % 2)
    return backwards * (signs if backwards.dtype.kind in "biu" else signs.astype(backwards.dtype))


def morlet(M: int, w: float = 5.0, s: float = 1.0, complete: bool = True) -> Array:
    """Morlet's wavelet between ``-2 pi s`` and ``2 pi s``: a complex wave under a Gaussian of width one.

    Parameters
    ----------
    M : int
        Number of points.
    w : float
        Angular frequency of the wave.
    s : float
        How far the points reach.
    complete : bool
        Whether the wave's mean under the Gaussian is taken away, which counts for a `w` below five or so.

    Returns
    -------
    ndarray
        complex128.

    Examples
    --------
    >>> abs(morlet(3)).round(4)
    array([0.    , 0.7511, 0.    ])
    """
    end = 2 * math.pi * s
    x = nl.linspace(-end, end, M)
    wave = nl.exp(1j * w * x) - (math.exp(-0.5 * w * w) if complete else 0.0)
    return _UNIT * wave * nl.exp(-0.5 * x * x)


def morlet2(M: int, s: float, w: float = 5) -> Array:
    """Morlet's wavelet of a width, in steps of one, for `cwt`: its energy is one at every width.

    Parameters
    ----------
    M : int
        Number of points; zero is in their middle.
    s : float
        The width.
    w : float
        Angular frequency of the wave, in terms of the width.

    Returns
    -------
    ndarray
        complex128.

    Examples
    --------
    >>> abs(morlet2(3, 1.0)).round(4)
    array([0.4556, 0.7511, 0.4556])
    """
    x = _around_zero(M) / s
    return _UNIT * math.sqrt(1 / s) * nl.exp(1j * w * x) * nl.exp(-0.5 * x * x)


def ricker(points: int, a: float) -> Array:
    """Ricker's wavelet, the "Mexican hat": the second derivative of a Gaussian, negated and of energy one.

    Parameters
    ----------
    points : int
        How many there are, in steps of one; zero is in their middle.
    a : float
        The Gaussian's width.

    Returns
    -------
    ndarray
        float64.

    Examples
    --------
    >>> ricker(5, 1.0).round(4)
    array([-0.3521,  0.    ,  0.8673,  0.    , -0.3521])
    """
    square = (_around_zero(points) / a) ** 2
    return 2 * _UNIT / math.sqrt(3 * a) * (1 - square) * nl.exp(-0.5 * square)


def _around_zero(points: int) -> Array:
    count = int(points)
    return nl.arange(count) - (count - 1) / 2


def cwt(data: Any, wavelet: Callable[..., Any], widths: Any, dtype: Any = None, **options: Any) -> Array:
    """The continuous wavelet transform: the data convolved with a wavelet of each width.

    Parameters
    ----------
    data : array_like
        Of one axis.
    wavelet : callable
        ``wavelet(points, width)`` gives that many values, such as `ricker` and `morlet2` do.
    widths : sequence of float
        One for each row of the result. The wavelet has ten times as many points, or as many as the data if these
        are fewer.
    dtype : dtype, optional
        Of the result: float64, or complex128 where the wavelet is complex.
    **options
        More arguments for the wavelet.

    Returns
    -------
    ndarray
        Of shape ``(len(widths), len(data))``.

    Raises
    ------
    ValueError
        For data of other than one axis, or a width so small that the wavelet would have no point.

    Examples
    --------
    >>> cwt([0.0, 0.0, 1.0, 0.0, 0.0], ricker, [1.0]).round(4)
    array([[-0.3521,  0.    ,  0.8673,  0.    , -0.3521]])
    """
    values = asarray(data)
    if values.ndim != 1:
        raise ValueError(f"cwt takes data of one axis, got shape {values.shape}")
    rows = []
    for width in np.asarray(nl.asnumpy(widths) if isinstance(widths, nl.ndarray) else widths).tolist():
        points = int(min(10 * width, values.shape[0]))
        if points < 1:
            raise ValueError(f"a wavelet of width {width} has no point here: widths are 0.1 or more, of some data")
        rows.append(nl.convolve(values, nl.conj(asarray(wavelet(points, width, **options))[::-1]), mode="same"))
    if dtype is None:
        dtype = "c16" if any(row.dtype.kind == "c" for row in rows) else "f8"
    return nl.stack([row.astype(dtype) for row in rows]) if rows else nl.empty((0, values.shape[0]), dtype)


__all__ = ["cwt", "morlet", "morlet2", "qmf", "ricker"]
