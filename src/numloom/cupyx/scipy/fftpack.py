"""``cupyx.scipy.fftpack``: the transforms of `numloom.fft` by SciPy's older names and layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numloom.api.creation import zeros_like
from numloom.api.joining import concatenate
from numloom.api.padding import pad
from numloom.array.convert import asarray
from numloom.base.integers import as_integer
from numloom.cupy.fft.plans import Plan, get_fft_plan
from numloom.cupyx.scipy import fft as newer

Array = Any


def _one(name: str) -> Callable[..., Array]:
    function = getattr(newer, name)

    def transform(x: Any, n: Any = None, axis: int = -1, overwrite_x: bool = False, plan: Plan | None = None) -> Array:
        """As SciPy's of the same name."""
        return function(x, n=n, axis=axis, plan=plan)

    transform.__name__ = name
    return transform


def _several(name: str, places: Any = None) -> Callable[..., Array]:
    function = getattr(newer, name)

    def transform(
        x: Any, shape: Any = None, axes: Any = places, overwrite_x: bool = False, plan: Plan | None = None
    ) -> Array:
        """As SciPy's of the same name."""
        return function(x, s=shape, axes=axes, plan=plan)

    transform.__name__ = name
    return transform


fft, ifft = map(_one, ("fft", "ifft"))
fftn, ifftn = map(_several, ("fftn", "ifftn"))
fft2, ifft2 = (_several(name, (-2, -1)) for name in ("fft2", "ifft2"))


def _real(x: Any) -> Array:
    array = asarray(x)
    if array.dtype.kind == "c":
        raise TypeError(f"rfft and irfft take real numbers, not {array.dtype}: fft takes complex ones")
    return array


def _length(n: Any) -> int:
    length = as_integer(n)
    if length < 1:
        raise ValueError(f"a transform has a length of at least 1, not {length}")
    return length


def rfft(x: Any, n: Any = None, axis: int = -1, overwrite_x: bool = False, plan: Plan | None = None) -> Array:
    """The transform of real numbers, as real numbers: the mean's term, then real and imaginary parts in turn.

    Examples
    --------
    >>> from numloom.cupyx.scipy import fftpack
    >>> fftpack.rfft([1.0, 2.0, 3.0, 4.0])
    array([10., -2.,  2., -2.])
    """
    array = _real(x)
    length = _length(array.shape[axis] if n is None else n)
    terms = newer.rfft(array, n=n, axis=axis, plan=plan).swapaxes(axis, -1)
    parts = concatenate([terms.real[..., None], terms.imag[..., None]], -1)
    pairs = parts.reshape(*terms.shape[:-1], 2 * terms.shape[-1])
    # The first term's imaginary part is zero, and so is the last's where the length is even.
    return concatenate([pairs[..., :1], pairs[..., 2 : length + 1]], -1).swapaxes(axis, -1)


def irfft(x: Any, n: Any = None, axis: int = -1, overwrite_x: bool = False) -> Array:
    """What `rfft` has made the argument of.

    Examples
    --------
    >>> from numloom.cupyx.scipy import fftpack
    >>> fftpack.irfft([10.0, -2.0, 2.0, -2.0])
    array([1., 2., 3., 4.])
    """
    array = _real(x).swapaxes(axis, -1)
    if array.dtype.char not in "efd":
        array = array.astype("f8")
    length = _length(array.shape[-1] if n is None else n)
    array = array[..., :length].astype("f4" if array.dtype.char == "e" else array.dtype)
    zeros = [(0, 0)] * (array.ndim - 1)
    padded = pad(array, [*zeros, (0, length - array.shape[-1])])
    first = padded[..., :1]
    rest = pad(padded[..., 1:], [*zeros, (0, (length - 1) % 2)])
    real = concatenate([first, rest[..., 0::2]], -1)
    imaginary = concatenate([zeros_like(first), rest[..., 1::2]], -1)
    terms = concatenate([real[..., None], imaginary[..., None]], -1).view("c8" if real.dtype.char == "f" else "c16")
    return newer.irfft(terms[..., 0], n=length).swapaxes(axis, -1)


__all__ = ["fft", "fft2", "fftn", "get_fft_plan", "ifft", "ifft2", "ifftn", "irfft", "rfft"]
