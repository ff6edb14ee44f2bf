"""Filters of finite response, channels, shifts of frequency, and convolutions of second and third order."""

from __future__ import annotations

from typing import Any

import numpy as np

import numloom as nl
from numloom.cupyx.scipy.lookup import member

Array = Any


def firfilter(b: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Samples through a filter of finite response, as SciPy's ``lfilter(b, 1, x)``, on the host.

    Parameters
    ----------
    b : array_like
        The filter.
    x : array_like
        The samples.
    axis : int
        The axis of the samples.
    zi : array_like, optional
        The filter's state before them; with it the state after them is given too.

    Returns
    -------
    ndarray or tuple of ndarray

    Examples
    --------
    >>> firfilter([0.5, 0.5], [2.0, 4.0, 4.0])
    array([1., 3., 4.])
    """
    return member("signal", "lfilter")(nl.asarray(b), 1, nl.asarray(x), axis=axis, zi=zi)


def firfilter_zi(b: Any) -> Array:
    """The state of a filter of finite response that a constant 1 has brought about.

    Parameters
    ----------
    b : array_like
        The filter.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> firfilter_zi([1.0, 2.0, 3.0])
    array([5., 3.])
    """
    taps = nl.asarray(b)
    return nl.cumsum(taps[:0:-1])[::-1]


def firfilter2(
    b: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None, method: str = "pad",
    irlen: int | None = None,
) -> Array:  # fmt: skip
    """Samples through a filter forwards and backwards, as SciPy's ``filtfilt(b, 1, x)``, on the host.

    Parameters
    ----------
    b : array_like
        The filter.
    x : array_like
        The samples.
    axis : int
        The axis of the samples.
    padtype : {"odd", "even", "constant", None}
        How the samples go on beyond their ends.
    padlen : int, optional
        For how long; three times the filter's length if None.
    method : {"pad", "gust"}
        How the ends are treated.
    irlen : int, optional
        Length of the response, for "gust".

    Returns
    -------
    ndarray
    """
    options = {"axis": axis, "padtype": padtype, "padlen": padlen, "method": method, "irlen": irlen}
    return member("signal", "filtfilt")(nl.asarray(b), 1, nl.asarray(x), **options)


def freq_shift(x: Any, freq: float, fs: float) -> Array:
    """Samples with their frequencies lowered by `freq`.

    Parameters
    ----------
    x : array_like
        The samples.
    freq : float
        By how much.
    fs : float
        Samples per unit of time.

    Returns
    -------
    ndarray
        Complex.

    Examples
    --------
    >>> freq_shift([1.0, 1.0], 1.0, 2.0).round(9)
    array([ 1.+0.j, -1.-0.j])
    """
    given = nl.asarray(x)
    return given * nl.exp(-2j * np.pi * freq / fs * nl.arange(given.size))


def channelize_poly(x: Any, h: Any, n_chans: int) -> Array:
    """Samples split into bands of frequencies by a polyphase filter.

    Parameters
    ----------
    x : array_like
        The samples, one axis; what does not fill a block of `n_chans` at the end is left out.
    h : array_like
        The filter, whose length is a multiple of `n_chans`.
    n_chans : int
        The number of bands.

    Returns
    -------
    ndarray
        Complex, of a row for each band.

    Raises
    ------
    ValueError
        If the filter's length is no multiple of `n_chans`.

    Examples
    --------
    >>> channelize_poly([1.0, 1.0, 1.0, 1.0], [1.0, 1.0], 2).real
    array([[2., 2.],
           [0., 0.]])
    """
    samples, taps = nl.asarray(x), nl.asarray(h)
    if taps.size == 0 or taps.size % n_chans:
        raise ValueError(f"the filter's length is a multiple of n_chans={n_chans}, got {taps.size}: pad it with zeros")
    dtype = np.result_type(samples.dtype, taps.dtype)
    blocks = samples[: samples.size // n_chans * n_chans].reshape(-1, n_chans)[:, ::-1].conj().astype(dtype)
    rows = taps.reshape(-1, n_chans).conj().astype(dtype)
    mixed = nl.zeros(blocks.shape, dtype)
    for delay in range(min(len(rows), len(blocks))):
        mixed[delay:] += blocks[: len(blocks) - delay] * rows[delay]
    result = nl.fft.fft(mixed, axis=1).conj().T
    return result.astype(np.complex64 if samples.dtype.char in "fF" else np.complex128)


def convolve1d2o(in1: Any, in2: Any, mode: str = "valid", method: str = "direct") -> Array:
    """The second-order (Volterra) convolution: ``sum(in1[i - p] * in1[i - q] * in2[p, q])``.

    Where the kernel's axes differ in length, their windows of samples begin together, as in CuPy.

    Parameters
    ----------
    in1 : array_like
        The samples, one axis.
    in2 : array_like
        The kernel, two axes.
    mode : {"valid"}
        Where the kernel meets samples alone.
    method : {"direct"}
        Taken for CuPy's sake.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> convolve1d2o([1.0, 2.0, 3.0], [[1.0, 0.0], [0.0, 1.0]])
    array([ 5., 13.])
    """
    samples, kernel = _checked(in1, in2, 2, mode, method)
    p, q = _windows(samples, kernel.shape)
    return ((p @ kernel) * q).sum(-1)


def convolve1d3o(in1: Any, in2: Any, mode: str = "valid", method: str = "direct") -> Array:
    """The third-order (Volterra) convolution: a kernel of three axes meets products of three samples.

    Where the kernel's axes differ in length, their windows of samples begin together, as in CuPy.

    Parameters
    ----------
    in1 : array_like
        The samples, one axis.
    in2 : array_like
        The kernel, three axes.
    mode : {"valid"}
        Where the kernel meets samples alone.
    method : {"direct"}
        Taken for CuPy's sake.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> convolve1d3o([1.0, 2.0, 3.0], [[[1.0, 0.0]]])
    array([ 2., 12.])
    """
    samples, kernel = _checked(in1, in2, 3, mode, method)
    p, q, r = _windows(samples, kernel.shape)
    first = (p @ kernel.reshape(kernel.shape[0], -1)).reshape(-1, *kernel.shape[1:])
    return ((first @ r[:, :, None])[..., 0] * q).sum(-1)


def _checked(in1: Any, in2: Any, order: int, mode: str, method: str) -> tuple[Array, Array]:
    samples, kernel = nl.asarray(in1), nl.asarray(in2)
    if mode != "valid":
        raise ValueError(f"mode is 'valid', got {mode!r}: pad the samples with zeros for the other modes")
    if method != "direct":
        raise ValueError(f"method is 'direct', got {method!r}")
    if samples.ndim != 1 or kernel.ndim != order:
        raise ValueError(f"samples have 1 axis and the kernel {order}, got {samples.ndim} and {kernel.ndim}")
    if not kernel.size or max(kernel.shape) > samples.size:
        raise ValueError(f"a kernel of shape {kernel.shape} does not fit into {samples.size} samples")
    return samples, kernel


def _windows(samples: Array, lengths: tuple[int, ...]) -> list[Array]:
    """The newest samples first, for each place where the longest window fits: as many windows of each length."""
    count = samples.size - max(lengths) + 1
    view = nl.lib.stride_tricks.sliding_window_view
    return [view(samples, length)[:count, ::-1] for length in lengths]


__all__ = [
    "channelize_poly", "convolve1d2o", "convolve1d3o", "firfilter", "firfilter2", "firfilter_zi", "freq_shift",
]  # fmt: skip
