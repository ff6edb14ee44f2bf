"""The frequencies that the elements of a transform belong to, and their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.creation import arange
from numloom.api.elementwise import where
from numloom.api.manipulation import roll
from numloom.array.convert import asarray
from numloom.array.devices import another, made_on
from numloom.base.integers import as_integer, as_integers, is_integer

Array = Any


def _count(n: Any) -> int:
    if not is_integer(n):
        raise ValueError("n should be an integer")
    return as_integer(n)


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Array:
    """Frequencies of the `n` elements of `fft`, in cycles per unit of the sample spacing `d`; recorded.

    Parameters
    ----------
    n : int
        Number of points.
    d : number
        Sample spacing.
    device : str, optional
        Where it lies: "cpu", "cuda:1"; the current one by default.
    dtype : dtype, optional
        The array API's keyword: a real floating dtype, by default float64.

    Returns
    -------
    ndarray
        0, 1, ... upwards, then the negative ones up to -1, each over ``n * d``.

    Raises
    ------
    ValueError
        If `n` is no integer, or `dtype` is not real floating.

    Examples
    --------
    >>> import numloom as nl
    >>> nl.fft.fftfreq(4, 0.5).tolist()
    [0.0, 0.5, -1.0, -0.5]
    """
    n = _count(n)
    if (other := another(device)) is not None:
        return made_on(other, fftfreq, n, d, dtype=dtype)
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    step = 1.0 / (n * d)
    place = arange(n)
    return _of_dtype(where(place < (n + 1) // 2, place, place - n) * step, dtype)


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Array:
    """Frequencies of the ``n // 2 + 1`` elements of `rfft`; parameters and errors as of `fftfreq`."""
    n = _count(n)
    if (other := another(device)) is not None:
        return made_on(other, rfftfreq, n, d, dtype=dtype)
    return _of_dtype(arange(0, n // 2 + 1, dtype=int) * (1.0 / (n * d)), dtype)


def _of_dtype(frequencies: Array, dtype: Any) -> Array:
    if dtype is None:
        return frequencies
    if np.dtype(dtype).kind != "f":
        raise ValueError(f"frequencies have a real floating dtype, not {np.dtype(dtype).name}")
    return frequencies.astype(dtype, copy=False)


def fftshift(x: Any, axes: Any = None) -> Array:
    """Elements moved so that frequency zero stands in the middle of each of `axes` (of all if None); recorded."""
    return _shifted(x, axes, 1)


def ifftshift(x: Any, axes: Any = None) -> Array:
    """The inverse of `fftshift`."""
    return _shifted(x, axes, -1)


def _shifted(x: Any, axes: Any, sign: int) -> Array:
    array = asarray(x)
    if axes is None:
        axes = tuple(range(array.ndim))
    else:
        axes = as_integers(axes, as_integer)
    return roll(array, [sign * (array.shape[axis] // 2) for axis in axes], axes)


__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
