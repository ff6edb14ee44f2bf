"""Discrete Fourier transforms of one and several axes, by NumPy's names.

Cropping, padding, conjugation and casts are recorded; the transforms themselves run at once, all axes by one routine
(cuFFT on a GPU, SciPy's pocketfft on the host).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from numloom.api.calling import replayed
from numloom.api.elementwise import conjugate
from numloom.api.manipulation import normal_axis
from numloom.api.ufunc import check_out, store
from numloom.array.convert import asarray
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import C64, C128, F16, F32, F64, ITEMSIZES, KINDS, ROUNDED
from numloom.base.given import as_sequence
from numloom.base.integers import as_integer
from numloom.engine.routines import call as call_routine
from numloom.graph import build
from numloom.graph.layout import is_c_contiguous, is_f_contiguous, k_strides, ordered_strides
from numloom.ops.fourier import fourier

Array = Any

_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


# ---------------------------------------------------------------- the transform


def swapped(norm: Any) -> str:
    """The norm that scales the inverse as `norm` scales the transform, and the other way round."""
    try:
        return _SWAPPED[norm]
    except (KeyError, TypeError):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".') from None


def check_lengths(lengths: Sequence[Any], norm: Any) -> str:
    """The norm's name, after NumPy's errors for lengths and norm."""
    for n in lengths:
        if n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
        swapped(norm)
    return norm or "backward"


def _check_kind(array: Array, kind: str) -> None:
    if kind == "r2c" and array.dtype.kind == "c":
        raise TypeError(f"the transform of real numbers does not take {array.dtype}: use fft, or the real part")


def fitted(array: Array, lengths: dict[int, int]) -> Array:
    """`array` cropped or padded with zeros to these lengths along axes."""
    shape = tuple(lengths.get(axis, extent) for axis, extent in enumerate(array.shape))
    if shape == array.shape:
        return array
    array = array[tuple(slice(min(extents)) for extents in zip(shape, array.shape, strict=True))]
    if shape == array.shape:
        return array
    zeros = build.full(0, array.code, shape, k_strides(shape, [array.strides], array.itemsize))
    padded = wrap(zeros)
    padded[tuple(slice(extent) for extent in array.shape)] = array
    return padded


def _transformed(array: Array, kind: str, lengths: Sequence[int], axes: Sequence[int], forward: bool, norm: str) -> Any:
    """The transform along distinct axes as a value; `lengths` are those of the longer side."""
    code = array.code
    single = code in (F32, C64) or code in ROUNDED
    stored = list(lengths)
    if kind == "c2r":
        stored[-1] = lengths[-1] // 2 + 1
    given, strides = array.shape, array.strides
    array = fitted(array, dict(zip(axes, stored, strict=True)))
    real, spectral = (F32, C64) if single else (F64, C128)
    node = build.cast(node_of(array), spectral if kind == "c2r" or KINDS[code] == "c" else real)
    shape = list(array.shape)
    if kind != "c2c":
        shape[axes[-1]] = lengths[-1] if kind == "c2r" else lengths[-1] // 2 + 1
    result, target = tuple(shape), real if kind == "c2r" else spectral
    strides = ordered_strides(result, memory_order(given, strides, array.itemsize), ITEMSIZES[target])
    node = call_routine(
        fourier.__name__, node, code=target, shape=result, strides=strides,
        kind=kind, axes=tuple(axes), n=lengths[-1] if kind == "c2r" else 0, forward=forward, norm=norm,
    ) if 0 not in result else build.full(0, target, result, strides)  # fmt: skip
    # As NumPy, which transforms further axes before this one, to single precision.
    return build.cast(node, F16) if code == F16 and kind == "c2r" and len(axes) == 1 else node


def memory_order(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> list[int]:
    """Axes, slowest first, in which `numpy.empty_like` lays out an array like one of this layout."""
    axes = range(len(shape))
    if is_c_contiguous(shape, strides, itemsize):
        return list(axes)
    if is_f_contiguous(shape, strides, itemsize):
        return list(axes)[::-1]
    return sorted(axes, key=lambda axis: -abs(strides[axis]))


def _finished(node: Any, out: Any, name: str) -> Array:
    if out is None:
        return wrap(node)
    check_out(out)
    if out.shape != node.shape:
        raise ValueError("output array has wrong shape.")
    return store(out, node, name)


@replayed
def _one(
    a: Any, kind: str, n: Any, axis: Any, forward: bool, norm: Any, *, out: Any = None, conjugated: bool = False
) -> Array:
    """A transform along one axis; `conjugated` takes the conjugate on the side of the spectrum."""
    array = asarray(a)
    if n is None:
        n = array.shape[axis]
        if kind == "c2r":
            n = (n - 1) * 2
    norm = check_lengths([n], norm)
    axis = normal_axis(axis, array.ndim)
    _check_kind(array, kind)
    if conjugated and kind == "c2r":
        array = conjugate(array)
    node = _transformed(array, kind, [as_integer(n)], [axis], forward, norm)
    if conjugated and kind == "r2c":
        node = node_of(conjugate(wrap(node)))
    return _finished(node, out, "fft")


def _several(a: Any, kind: str, s: Any, axes: Any, forward: bool, norm: Any, out: Any) -> Array:
    """A transform along several axes."""
    if s is None and out is None:  # What else there is may warn.
        return _whole(a, kind, axes, forward, norm)
    return _any_several(a, kind, s, axes, forward, norm, out)


@replayed
def _whole(a: Any, kind: str, axes: Any, forward: bool, norm: Any) -> Array:
    return _any_several(a, kind, None, axes, forward, norm, None)


def _any_several(a: Any, kind: str, s: Any, axes: Any, forward: bool, norm: Any, out: Any) -> Array:
    """A transform along several axes, in NumPy's order: the last one first, of c2r the last one last."""
    array = asarray(a)
    shape = array.shape
    given = s is not None
    s = None if s is None else as_sequence(s, "s must be a sequence of integers")
    if axes is not None:
        axes = [as_integer(axis) for axis in as_sequence(axes, "axes must be a sequence of integers")]
    lengths = list(s) if given else list(shape) if axes is None else [shape[axis] for axis in axes]
    if axes is None:
        if given:
            warnings.warn(
                "`axes` should not be `None` if `s` is not `None` (Deprecated in NumPy 2.0).",
                DeprecationWarning,
                stacklevel=4,
            )
        axes = list(range(-len(lengths), 0))
    axes = list(axes)
    if len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if not axes and kind != "c2c":
        raise IndexError("list index out of range")
    if kind == "c2r" and not given:
        lengths[-1] = (shape[axes[-1]] - 1) * 2
    if None in lengths:
        warnings.warn(
            "Passing an array containing `None` values to `s` is deprecated in NumPy 2.0.",
            DeprecationWarning,
            stacklevel=4,
        )
    for k, (n, axis) in enumerate(zip(lengths, axes, strict=True)):
        if n is None and kind == "c2r" and k == len(axes) - 1:
            lengths[k] = (shape[axis] - 1) * 2
        elif n is None or n == -1:
            lengths[k] = shape[axis]
    if not axes:
        return array if out is None else out
    norm = check_lengths(lengths, norm)
    lengths = [as_integer(n) for n in lengths]
    axes[-1] = normal_axis(axes[-1], array.ndim)
    _check_kind(array, kind)
    axes = [normal_axis(axis, array.ndim) for axis in axes]
    if len(set(axes)) == len(axes):
        return _finished(_transformed(array, kind, lengths, axes, forward, norm), out, "fftn")
    # An axis that comes twice is transformed twice.
    steps = [(kind if k == len(axes) - 1 else "c2c", lengths[k], axis) for k, axis in enumerate(axes)]
    for each, n, axis in steps if kind == "c2r" else steps[::-1]:
        node = _transformed(array, each, [n], [axis], forward, norm)
        array = wrap(node)
    return _finished(node_of(array), out, "fftn")


# ---------------------------------------------------------------- one axis


def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Array | None = None) -> Array:
    """The discrete Fourier transform along one axis.

    Element k of the result is the sum over m of ``a[m] * exp(-2j * pi * m * k / n)``.

    Parameters
    ----------
    a : array_like
        Real or complex numbers; single precision stays single.
    n : int, optional
        Number of points: `a` is cropped, or padded with zeros, to it. By default all of the axis.
    axis : int
        The axis.
    norm : {"backward", "ortho", "forward"}, optional
        Which direction is scaled by 1/n: the inverse (the default), both by its square root, or this one.
    out : ndarray, optional
        Where the result goes.

    Returns
    -------
    ndarray
        Complex, in the memory order of `a`.

    Raises
    ------
    ValueError
        If `n` is less than 1, `norm` is none of these, or `out` has another shape.
    IndexError
        If there is no such axis.

    Examples
    --------
    >>> import numloom as nl
    >>> abs(nl.fft.fft([1.0, 0.0, -1.0, 0.0])).tolist()
    [0.0, 2.0, 0.0, 2.0]
    """
    return _one(a, "c2c", n, axis, True, norm, out=out)


def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Array | None = None) -> Array:
    """The inverse of `fft`; parameters, result and errors as there."""
    return _one(a, "c2c", n, axis, False, norm, out=out)


def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Array | None = None) -> Array:
    """The transform of real numbers: the first ``n // 2 + 1`` elements, which determine the others.

    Parameters and errors as of `fft`; complex input raises TypeError.
    """
    return _one(a, "r2c", n, axis, True, norm, out=out)


def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Array | None = None) -> Array:
    """The inverse of `rfft`: `n` real numbers (by default twice the elements of `a` less two).

    The imaginary part of the first element, and for even `n` of the last one, is ignored. Parameters and errors as
    of `fft`.
    """
    return _one(a, "c2r", n, axis, False, norm, out=out)


def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Array | None = None) -> Array:
    """The real transform of a signal whose second half is the conjugate of the first, which is given.

    `n` is the number of real results. Parameters and errors as of `fft`.
    """
    return _one(a, "c2r", n, axis, False, swapped(norm), out=out, conjugated=True)


def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Array | None = None) -> Array:
    """The inverse of `hfft`: the first half of a signal with a real transform. Parameters and errors as of `fft`."""
    return _one(a, "r2c", n, axis, True, swapped(norm), out=out, conjugated=True)


# ---------------------------------------------------------------- several axes


def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Array | None = None) -> Array:
    """The discrete Fourier transform along several axes.

    Parameters
    ----------
    a : array_like
        Real or complex numbers.
    s : sequence of int, optional
        Number of points along each of `axes`; -1 is all of an axis.
    axes : sequence of int, optional
        The axes, by default all (the last ``len(s)``); one that is named twice is transformed twice.
    norm : {"backward", "ortho", "forward"}, optional
        Which direction is scaled, see `fft`.
    out : ndarray, optional
        Where the result goes.

    Returns
    -------
    ndarray
        Complex, in the memory order of `a`.

    Raises
    ------
    ValueError
        If `s` and `axes` have different lengths, or as of `fft`.
    IndexError
        If there is no such axis.
    """
    return _several(a, "c2c", s, axes, True, norm, out)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Array | None = None) -> Array:
    """The inverse of `fftn`; parameters, result and errors as there."""
    return _several(a, "c2c", s, axes, False, norm, out)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Array | None = None) -> Array:
    """The transform of real numbers along several axes: of the last one the half that determines the rest.

    Parameters and errors as of `fftn`; complex input raises TypeError.
    """
    return _several(a, "r2c", s, axes, True, norm, out)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Array | None = None) -> Array:
    """The inverse of `rfftn`; parameters and errors as of `fftn`, `s` being the shape of the result."""
    return _several(a, "c2r", s, axes, False, norm, out)


def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Array | None = None) -> Array:
    """`fftn` along two axes."""
    return _several(a, "c2c", s, axes, True, norm, out)


def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Array | None = None) -> Array:
    """`ifftn` along two axes."""
    return _several(a, "c2c", s, axes, False, norm, out)


def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Array | None = None) -> Array:
    """`rfftn` along two axes."""
    return _several(a, "r2c", s, axes, True, norm, out)


def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Array | None = None) -> Array:
    """`irfftn` along two axes."""
    return _several(a, "c2r", s, axes, False, norm, out)


__all__ = [
    "fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftn",
]  # fmt: skip
