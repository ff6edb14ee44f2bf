"""Radar: compressed pulses, Doppler spectra, thresholds that keep false alarms constant, and beams."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import numloom as nl
from numloom.cupyx.scipy.lookup import member

Array = Any


def pulse_compression(
    x: Any, template: Any, normalize: bool = False, window: Any = None, nfft: int | None = None
) -> Array:
    """Each pulse correlated with a template, by transforms.

    Parameters
    ----------
    x : array_like
        Pulses, a row each.
    template : array_like
        The template.
    normalize : bool
        Whether the template is divided by its norm.
    window : callable, str, tuple or array_like, optional
        What the template is multiplied with: of frequencies if callable, else as in ``scipy.signal.get_window``.
    nfft : int, optional
        Length of the transforms; that of a pulse if None.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> pulse_compression([[0.0, 1.0, 2.0, 0.0]], [1.0, 2.0]).round(9) + 0.0
    array([[2., 5., 2., 0.]])
    """
    pulses, pattern = nl.asarray(x), nl.asarray(template)
    count = pulses.shape[-1] if nfft is None else nfft
    dtype = np.result_type(pulses.dtype, pattern.dtype)
    pattern = _windowed(pattern, window)
    if normalize:
        pattern = pattern / nl.linalg.norm(pattern)
    found = nl.fft.ifft(nl.fft.fft(pulses, count) * nl.fft.fft(pattern, count).conj(), count)
    if dtype.kind == "c":
        return found.astype(dtype)
    return found.real.astype(dtype if dtype.kind == "f" else np.float64)


def pulse_doppler(x: Any, window: Any = None, nfft: int | None = None) -> Array:
    """The spectra over the pulses: what moves how fast.

    Parameters
    ----------
    x : array_like
        Pulses, a row each.
    window : callable, str, tuple or array_like, optional
        What the pulses are multiplied with, as in `pulse_compression`.
    nfft : int, optional
        Length of the transforms; the number of pulses if None.

    Returns
    -------
    ndarray
        Complex, of a row for each speed.
    """
    pulses = nl.asarray(x)
    spectrum = nl.fft.fft(_windowed(pulses.T, window), nfft).T
    return spectrum.astype(np.complex64 if pulses.dtype.char in "fF" else np.complex128)


def _windowed(x: Array, window: Any) -> Array:
    if window is None:
        return x
    count = x.shape[-1]
    if callable(window):
        return x * window(nl.fft.fftfreq(count))
    if isinstance(window, (str, tuple)):
        return x * member("signal", "get_window")(window, count, False)
    return x * nl.asarray(window)


def cfar_alpha(pfa: Any, N: int) -> Any:
    """The factor of a threshold over the mean of `N` cells of noise, for a probability of false alarms.

    Parameters
    ----------
    pfa : float or array_like
        The probability.
    N : int
        The number of cells.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> round(cfar_alpha(1e-3, 10), 4)
    9.9526
    """
    return N * (pfa ** (-1.0 / N) - 1)


def ca_cfar(array: Any, guard_cells: Any, reference_cells: Any, pfa: float = 1e-3) -> tuple[Array, Array]:
    """Where cells stand out of the mean of the cells around them, at a constant rate of false alarms.

    Parameters
    ----------
    array : array_like
        Cells, of one or two axes.
    guard_cells : int or tuple of int
        How many neighbours on each side are left out, along each axis.
    reference_cells : int or tuple of int
        How many beyond them are averaged.
    pfa : float
        The probability of false alarms.

    Returns
    -------
    threshold : ndarray
        The threshold of each cell; 0 where the neighbours do not all exist.
    detection : ndarray of bool
        Where a cell is above it.

    Raises
    ------
    ValueError
        If there is no cell with all neighbours, or none that is averaged.

    Examples
    --------
    >>> threshold, found = ca_cfar([1.0, 1.0, 1.0, 90.0, 1.0, 1.0, 1.0], 1, 2, pfa=0.1)
    >>> threshold.round(2)
    array([0.  , 0.  , 0.  , 3.11, 0.  , 0.  , 0.  ])
    >>> found[3].item()
    True
    """
    cells = nl.asarray(array)
    if cells.dtype.kind != "f":
        cells = cells.astype(np.float64)
    guard = (guard_cells,) * cells.ndim if np.ndim(guard_cells) == 0 else tuple(guard_cells)
    reference = (reference_cells,) * cells.ndim if np.ndim(reference_cells) == 0 else tuple(reference_cells)
    if cells.ndim not in (1, 2) or not len(guard) == len(reference) == cells.ndim:
        raise ValueError(f"ca_cfar takes 1 or 2 axes, and cells for each, got {cells.ndim}, {guard} and {reference}")
    reach = tuple(g + r for g, r in zip(guard, reference, strict=True))
    if min(guard) < 0 or min(reference) < 0 or not any(reference):
        raise ValueError(f"numbers of cells are 0 or more, with some to average, got {guard} and {reference}")
    if any(extent <= 2 * each for extent, each in zip(cells.shape, reach, strict=True)):
        raise ValueError(f"{cells.shape} cells are too few: no cell has {reach} neighbours on each side")
    count = int(np.prod([2 * each + 1 for each in reach]) - np.prod([2 * each + 1 for each in guard]))
    inner = tuple(slice(each, extent - each) for each, extent in zip(reach, cells.shape, strict=True))
    threshold = nl.zeros_like(cells)
    threshold[inner] = _around(cells, guard, reach) * (cfar_alpha(pfa, count) / count)
    return threshold, cells > threshold


def _around(cells: Array, guard: tuple[int, ...], reach: tuple[int, ...]) -> Array:
    """The sums of the cells around each inner cell, without the guard: sums of boxes, so that nothing cancels."""
    wide = cells.astype(np.float64)
    parts = [((-far, -near), (-near, near + 1), (near + 1, far + 1)) for near, far in zip(guard, reach, strict=True)]
    middle = tuple(each[1] for each in parts)
    total: Any = 0
    for box in product(*parts):
        if box != middle and all(end > start for start, end in box):
            total = total + _box(wide, box, reach)
    return total


def _box(cells: Array, box: tuple[tuple[int, int], ...], reach: tuple[int, ...]) -> Array:
    """The sums over a box, of offsets from ``start`` to before ``end`` along each axis, for each inner cell."""
    for axis, ((start, end), far) in enumerate(zip(box, reach, strict=True)):
        count = cells.shape[axis] - 2 * far
        sums = nl.lib.stride_tricks.sliding_window_view(cells, end - start, axis).sum(-1)
        at = (slice(None),) * axis + (slice(far + start, far + start + count),)
        cells = sums[at]
    return cells


def mvdr(x: Any, sv: Any, calc_cov: bool = True) -> Array:
    """The weights of sensors that pass a direction unchanged and the least of all else.

    Parameters
    ----------
    x : array_like
        Samples, a row for each sensor; or their covariance.
    sv : array_like
        How the direction arrives at the sensors.
    calc_cov : bool
        Whether `x` is of samples.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If there are more sensors than samples.

    Examples
    --------
    >>> mvdr([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], [1.0, 2.0]).round(9)
    array([-2. ,  1.5])
    """
    given, direction = nl.asarray(x), nl.asarray(sv)
    if given.ndim != 2 or given.shape[0] > given.shape[1]:
        raise ValueError(f"mvdr takes a row for each sensor and no fewer samples than sensors, got shape {given.shape}")
    dtype = np.result_type(given.dtype, direction.dtype, np.float32)
    covariance = nl.cov(given) if calc_cov else given
    weights = nl.linalg.solve(covariance, direction.astype(covariance.dtype))
    return (weights / (direction.conj() @ weights)).astype(dtype)


__all__ = ["ca_cfar", "cfar_alpha", "mvdr", "pulse_compression", "pulse_doppler"]
