"""``generic_filter`` and ``generic_filter1d``: users' kernels, each run once over the windows of an array.

The array is padded as the mode says, its windows (or lines) are gathered as the rows of a matrix, and a kernel of a
thread for each row calls what the user wrote. Functions of Python are SciPy's to call, on the host.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

import numloom as nl
from numloom.array.convert import asarray
from numloom.cupyx.scipy.host import call, to_host
from numloom.cupyx.scipy.outputs import delivered, dtype_of
from numloom.cupyx.scipy.rows import call_on_rows, over_rows
from numloom.device.registry import many, several
from numloom.kernels.arguments import elsewhere_for
from numloom.kernels.elementwise import ElementwiseKernel
from numloom.kernels.raw import RawKernel
from numloom.kernels.reduction import ReductionKernel

Array = Any
_PAD_MODES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip
"""NumPy's names of what is beyond an edge, by SciPy's."""
_AT_ONCE = 1 << 23
"""Elements of all windows that are in memory at once."""


# ---------------------------------------------------------------- the functions


def generic_filter(
    input: Any, function: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, origin: Any = 0, extra_arguments: tuple[Any, ...] = (),
    extra_keywords: dict[str, Any] | None = None, *, axes: Any = None,
) -> Array:  # fmt: skip
    """A filter whose every element is what a function makes of the window around it.

    Parameters
    ----------
    input : array_like
        What is filtered.
    function : RawKernel, ReductionKernel or callable
        A kernel runs where the array is. A ``RawKernel`` is ``__global__ void f(const double* window, int size,
        double* result)`` and asks for no index of a thread. A ``ReductionKernel`` has one input, of `input`'s dtype,
        and one output; it may use ``_raw_x[k]`` (for an input ``x``) and ``_in_ind.size()``, those of the window.
        Another callable gets NumPy's float64 windows, on the host.
    size : int or sequence of int, optional
        Lengths of the window; all of its elements count.
    footprint : array_like of bool, optional
        Which elements of the window count, in place of `size`.
    output : ndarray or dtype, optional
        Where the result goes, or its dtype: else that of `input`.
    mode : {"reflect", "constant", "nearest", "mirror", "wrap"}
        What is beyond the edges.
    cval : number
        It, for the mode "constant".
    origin : int or sequence of int
        How far the window is moved towards lower indices.
    extra_arguments, extra_keywords : tuple, dict
        More arguments, for a callable that is no kernel.
    axes : int or tuple of int, optional
        The axes that windows reach along: all where nothing is given.

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError
        For a kernel of another kind, or with extra arguments.
    ValueError
        For an origin outside the window, or a `cval` that the dtype which a ``ReductionKernel`` gets cannot hold.
    RuntimeError
        Where neither size nor footprint is given, or one does not go with the axes; for another mode or shape.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> spread = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a - _raw_x[0]", "0", "spread")
    >>> generic_filter(cp.array([1.0, 5.0, 2.0, 3.0]), spread, 3)
    array([4., 4., 0., 1.])
    """
    if not _is_kernel(function):
        options = {
            "size": size, "footprint": footprint, "output": output, "mode": mode, "cval": cval, "origin": origin,
            "extra_arguments": extra_arguments, "extra_keywords": extra_keywords, "axes": axes,
        }  # fmt: skip
        return _by_scipy("generic_filter", (input,), function, options)
    _no_extras(extra_arguments, extra_keywords)
    array = asarray(input)
    apply = over_rows(function, array.dtype, dtype_of(output, array))
    if size is None and footprint is None:
        raise RuntimeError("generic_filter needs a size or a footprint of the window, got neither")
    windows = _windows(array.shape, size, footprint, origin, axes)
    with _place(array):
        padded = _padded(array, windows.reach, mode, cval, apply.dtype)
        results = [apply.run(rows) for rows in windows.gathered(padded)]
        made = nl.concatenate(results) if results else nl.empty(0, apply.dtype)
        return delivered(made.reshape(array.shape), array, output)


def generic_filter1d(
    input: Any, function: Any, filter_size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0, extra_arguments: tuple[Any, ...] = (),
    extra_keywords: dict[str, Any] | None = None,
) -> Array:  # fmt: skip
    """A filter that a function computes line by line.

    Parameters
    ----------
    input : array_like
        What is filtered.
    function : RawKernel or callable
        A kernel runs where the array is: ``__global__ void f(const double* line, ptrdiff_t length, double* result,
        ptrdiff_t result_length)``, which asks for no index of a thread. Another callable is called with NumPy's
        float64 lines, on the host, and fills the second one.
    filter_size : int
        How many elements of the line, which is longer than the result by one less, one of the result comes of.
    axis : int
        Along which the lines are.
    output : ndarray or dtype, optional
        Where the result goes, or its dtype: else that of `input`.
    mode : {"reflect", "constant", "nearest", "mirror", "wrap"}
        What is beyond the edges.
    cval : number
        It, for the mode "constant".
    origin : int
        How far the filter is moved towards lower indices.
    extra_arguments, extra_keywords : tuple, dict
        More arguments, for a callable that is no kernel.

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError
        For a kernel of another kind, with extra arguments, or for complex values.
    ValueError
        For an origin outside the filter.
    RuntimeError
        For a `filter_size` below one, another mode or shape.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> sums = cp.RawKernel('''extern "C" __global__ void sums(const double* x, ptrdiff_t n, double* y, ptrdiff_t m) {
    ...     for (int k = 0; k < m; ++k) y[k] = x[k] + x[k + 1];
    ... }''', "sums")
    >>> generic_filter1d(cp.arange(5.0), sums, 2)
    array([0., 1., 3., 5., 7.])
    """
    if not _is_kernel(function):
        options = {
            "filter_size": filter_size, "axis": axis, "output": output, "mode": mode, "cval": cval, "origin": origin,
            "extra_arguments": extra_arguments, "extra_keywords": extra_keywords,
        }  # fmt: skip
        return _by_scipy("generic_filter1d", (input,), function, options)
    _no_extras(extra_arguments, extra_keywords)
    array = asarray(input)
    if not isinstance(function, RawKernel):
        raise TypeError(f"generic_filter1d takes a RawKernel or a function of Python, not {type(function).__name__}")
    if array.dtype.kind == "c":
        raise TypeError("Complex type not supported: a RawKernel gets doubles; filter .real and .imag on their own")
    if filter_size < 1:
        raise RuntimeError(f"invalid filter size: filter_size is one or more, got {filter_size}")
    axis = _axes(axis, array.ndim)[0]
    reach = [(0, 0)] * array.ndim
    reach[axis] = _reach(operator.index(filter_size), origin)
    with _place(array):
        padded = nl.moveaxis(_padded(array, reach, mode, cval, np.dtype("f8")), axis, -1)
        length = array.shape[axis]
        lines = nl.ascontiguousarray(padded).reshape(math.prod(padded.shape[:-1]), padded.shape[-1])
        results = call_on_rows(function, lines, length, lines=True).reshape(*padded.shape[:-1], length)
        return delivered(nl.moveaxis(results, -1, axis), array, output)


# ---------------------------------------------------------------- what is given


def _is_kernel(function: Any) -> bool:
    return isinstance(function, (RawKernel, ReductionKernel, ElementwiseKernel))


def _no_extras(extra_arguments: Any, extra_keywords: Any) -> None:
    if extra_arguments or extra_keywords:
        raise TypeError("a kernel takes no extra_arguments and no extra_keywords: write them into its source")


def _by_scipy(name: str, arrays: tuple[Any, ...], function: Any, options: dict[str, Any]) -> Array:
    """SciPy's filter; what goes wrong in the function is raised as it is, which SciPy does not see to."""
    import scipy.ndimage

    if not callable(function) and type(function).__name__ not in ("LowLevelCallable", "PyCapsule"):
        raise TypeError(
            f"function is a RawKernel, a ReductionKernel or a function of Python, not {type(function).__name__}"
        )
    raised: list[BaseException] = []

    @wraps(function)
    def guarded(*args: Any, **more: Any) -> Any:
        if raised:
            return 0.0
        try:
            return function(*args, **more)
        except BaseException as error:
            raised.append(error)
            return 0.0

    result = call(getattr(scipy.ndimage, name), (*arrays, guarded if callable(function) else function), options)
    if raised:
        raise raised[0]
    return result


def _axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """Each axis, counted from the first."""
    if axes is None:
        return tuple(range(ndim))
    given = [operator.index(each) for each in (axes if np.iterable(axes) else (axes,))]
    for axis in given:
        if not -ndim <= axis < ndim:
            raise np.exceptions.AxisError(axis, ndim)
    found = tuple(axis % ndim for axis in given)
    if len({*found}) < len(found):
        raise ValueError(f"axes must be unique, got {tuple(given)}")
    return found


def _each(value: Any, count: int, what: str) -> list[Any]:
    values = list(value) if np.iterable(value) else [value] * count
    if len(values) != count:
        raise RuntimeError(f"{what} must have an entry for each of the {count} axes, got {len(values)}")
    return values


def _reach(size: int, origin: Any) -> tuple[int, int]:
    """How many elements a window takes before and behind the one that it is for."""
    before = size // 2 + operator.index(origin)
    if not 0 <= before < max(size, 1):
        raise ValueError(f"invalid origin: {origin} moves a window of {size} off its element")
    return before, max(size, 1) - 1 - before


def _place(array: Array) -> Any:
    """What to enter to work where the array is."""
    place = elsewhere_for((array,)) if several() or many() else None
    return nullcontext() if place is None else place


def _padded(array: Array, reach: Sequence[tuple[int, int]], mode: str, cval: float, dtype: np.dtype[Any]) -> Array:
    if mode not in _PAD_MODES:
        raise RuntimeError(f"boundary mode not supported: mode is one of {', '.join(_PAD_MODES)}, got {mode!r}")
    array = array.astype(dtype, copy=False)
    if not array.size or not reach:
        return array
    if _PAD_MODES[mode] != "constant":
        return nl.pad(array, reach, mode=_PAD_MODES[mode])
    with np.errstate(all="ignore"):
        held = np.asarray(to_host(cval)).astype(dtype)
    if dtype.kind in "biu" and held != to_host(cval):
        raise ValueError(f"the kernel gets {dtype.name}, which cannot hold cval={cval!r}: filter input.astype('f8')")
    return nl.pad(array, reach, constant_values=held[()])


# ---------------------------------------------------------------- windows


@dataclass(frozen=True)
class _Windows:
    """The windows of an array of this shape: how far they reach, and where in them the elements are that count."""

    shape: tuple[int, ...]
    reach: list[tuple[int, int]]
    points: np.ndarray[Any, Any]

    def gathered(self, padded: Array) -> Iterator[Array]:
        """The windows as rows of matrices, as many at once as memory shall hold."""
        total, count = math.prod(self.shape), len(self.points)
        steps = [math.prod(padded.shape[axis + 1 :]) for axis in range(padded.ndim)]
        inner = [math.prod(self.shape[axis + 1 :]) for axis in range(padded.ndim)]
        within = asarray(self.points @ np.asarray(steps, "i8").reshape(-1))
        flat, at_once = padded.reshape(-1), max(_AT_ONCE // max(count, 1), 1)
        for start in range(0, total, at_once):
            position = nl.arange(start, min(start + at_once, total))
            first = nl.zeros_like(position)
            for step, width, extent in zip(steps, inner, self.shape, strict=True):
                first = first + position // width % extent * step
            yield flat[first[:, None] + within]


def _windows(shape: tuple[int, ...], size: Any, footprint: Any, origin: Any, axes: Any) -> _Windows:
    along = _axes(axes, len(shape))
    if footprint is None:
        kept = np.ones([operator.index(each) for each in _each(size, len(along), "size")], bool)
    else:
        kept = np.asarray(asarray(footprint).get(), bool)
        if kept.ndim != len(along):
            raise RuntimeError(f"footprint.ndim ({kept.ndim}) must match the number of axes ({len(along)})")
    if not kept.any():
        raise ValueError(f"the window has no element that counts: its shape is {kept.shape}")
    kept = kept.transpose(np.argsort(along))
    kept = np.expand_dims(kept, tuple(axis for axis in range(len(shape)) if axis not in along))
    moved = dict(zip(along, _each(origin, len(along), "origin"), strict=True))
    reach = [_reach(extent, moved.get(axis, 0)) for axis, extent in enumerate(kept.shape)]
    return _Windows(shape, reach, np.argwhere(kept))


__all__ = ["generic_filter", "generic_filter1d"]
