"""Cepstra: what the logarithm of a spectrum transforms back to."""

from __future__ import annotations

from typing import Any

import numpy as np

import numloom as nl

Array = Any


def real_cepstrum(x: Any, n: int | None = None, axis: int = -1) -> Array:
    """The real cepstrum: the inverse transform of the logarithm of the spectrum's magnitude.

    Parameters
    ----------
    x : array_like
        Real samples.
    n : int, optional
        Length of the transform; as many as there are samples if None.
    axis : int
        The axis of the samples.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> real_cepstrum([2.0, 0.0]).round(4) + 0.0
    array([0.6931, 0.    ])
    """
    return nl.fft.ifft(nl.log(nl.absolute(nl.fft.fft(nl.asarray(x), n, axis))), axis=axis).real


def complex_cepstrum(x: Any, n: int | None = None, axis: int = -1) -> tuple[Array, Array]:
    """The complex cepstrum of real samples, and by how many samples it turned them to make the phase continuous.

    Parameters
    ----------
    x : array_like
        Real samples.
    n : int, optional
        Length of the transform; as many as there are samples if None.
    axis : int
        The axis of the samples: the last one.

    Returns
    -------
    ceps : ndarray
        The cepstrum.
    ndelay : ndarray
        The delay, one for each row of samples.

    Examples
    --------
    >>> import numloom as nl
    >>> ceps, ndelay = complex_cepstrum(nl.array([4.0, 1.0, 0.5]))
    >>> inverse_complex_cepstrum(ceps, ndelay).round(12)
    array([4. , 1. , 0.5])
    """
    given = nl.asarray(x)
    if axis not in (-1, given.ndim - 1):
        raise ValueError(f"complex_cepstrum takes the last axis: move axis {axis} there with numloom.moveaxis")
    spectrum = nl.fft.fft(given, n)
    phase = nl.unwrap(nl.angle(spectrum))
    center = _center(phase.shape[-1])
    ndelay = nl.rint(phase[..., center] / np.pi)
    phase = phase - _turn(ndelay, phase.shape[-1])
    return nl.fft.ifft(nl.log(nl.absolute(spectrum)) + 1j * phase).real, ndelay


def inverse_complex_cepstrum(ceps: Any, ndelay: Any) -> Array:
    """The samples of a complex cepstrum and its delay.

    Parameters
    ----------
    ceps : array_like
        The cepstrum.
    ndelay : array_like
        The delay that `complex_cepstrum` gave with it.

    Returns
    -------
    ndarray
    """
    logarithm = nl.fft.fft(nl.asarray(ceps))
    phase = logarithm.imag + _turn(nl.asarray(ndelay), logarithm.shape[-1])
    return nl.fft.ifft(nl.exp(logarithm.real + 1j * phase)).real


def minimum_phase(x: Any, n: int | None = None) -> Array:
    """Samples whose spectrum has the same magnitudes and the least delay.

    Parameters
    ----------
    x : array_like
        Real samples.
    n : int, optional
        Length of the transform; as many as there are samples if None.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> minimum_phase([0.5, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).round(2)[:2]
    array([2. , 0.5])
    """
    given = nl.asarray(x)
    count = given.shape[-1] if n is None else n
    # The cepstrum's negative times are folded onto its positive ones.
    fold = np.zeros(count)
    fold[0] = 1
    fold[1 : (count + 1) // 2] = 2
    if count % 2 == 0:
        fold[count // 2] = 1
    return nl.fft.ifft(nl.exp(nl.fft.fft(nl.asarray(fold) * real_cepstrum(given, count)))).real


def _center(samples: int) -> int:
    return 0 if samples == 1 else (samples + 1) // 2


def _turn(ndelay: Array, samples: int) -> Array:
    """The phase, sample by sample, of a delay; one sample has none."""
    return ndelay[..., None] * (np.pi / max(_center(samples), 1) * nl.arange(samples))


__all__ = ["complex_cepstrum", "inverse_complex_cepstrum", "minimum_phase", "real_cepstrum"]
