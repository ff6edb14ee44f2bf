"""Views by shape and strides."""

from __future__ import annotations

from math import prod
from typing import Any

from numpy.lib.array_utils import normalize_axis_tuple

from numloom.array.convert import asarray
from numloom.array.ndarray import view_of
from numloom.base.dtypes import ITEMSIZES
from numloom.base.integers import as_integer, as_integers
from numloom.graph.layout import Layout, extent_of

Array = Any


def as_strided(
    x: Any,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
    *,
    check_bounds: bool | None = None,
) -> Array:
    """A view of an array's memory with any shape and strides.

    Parameters
    ----------
    x : array_like
        The array.
    shape : sequence of int, optional
        Shape of the view; by default that of `x`.
    strides : sequence of int, optional
        Its strides in bytes; by default those of `x`.
    subok : bool
        Taken for NumPy's sake.
    writeable : bool
        Whether the view can be written; where its elements share memory, the last one written stays.
    check_bounds : bool, optional
        Taken for the sake of NumPy 2.5: bounds are always looked at.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If the view would leave the memory, which NumPy looks at only where asked to.
    """
    array = asarray(x)
    extents = array.shape if shape is None else as_integers(shape, as_integer)
    steps = array.strides if strides is None else as_integers(strides, as_integer)
    if len(extents) != len(steps):
        raise ValueError("mismatch in length of strides and shape")
    if any(extent < 0 for extent in extents):
        raise ValueError("negative dimensions are not allowed")
    memory = array.storage.value
    low, high = extent_of(Layout(array.offset, extents, steps), array.itemsize) if prod(extents) else (0, 0)
    if low < 0 or high > memory.size * ITEMSIZES[memory.code]:
        raise ValueError(f"a view of shape {extents} with strides {steps} leaves the memory of the array")
    result = view_of(array, array.offset, extents, steps)
    result.writeable = array.writeable and bool(writeable)
    return result


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    """Every window of a shape as a view: the windows' own axes come last.

    Parameters
    ----------
    x : array_like
        The array.
    window_shape : int or sequence of int
        Extents of a window.
    axis : int or sequence of int, optional
        The axes that windows slide along, one for each extent; by default all of them.
    subok : bool
        Taken for NumPy's sake.
    writeable : bool
        Whether the view can be written; windows overlap.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numloom as np
    >>> np.lib.stride_tricks.sliding_window_view(np.arange(5), 3).sum(-1)
    array([3, 6, 9])
    """
    array = asarray(x)
    window = as_integers(window_shape, as_integer)
    if any(extent < 0 for extent in window):
        raise ValueError("`window_shape` cannot contain negative values")
    axes = range(array.ndim) if axis is None else normalize_axis_tuple(axis, array.ndim, allow_duplicate=True)
    if len(window) != len(axes):
        if axis is None:
            raise ValueError(
                f"Since axis is `None`, must provide window_shape for all dimensions of `x`; got {len(window)} "
                f"window_shape elements and `x.ndim` is {array.ndim}."
            )
        raise ValueError(
            f"Must provide matching length window_shape and axis; got {len(window)} window_shape elements and "
            f"{len(axes)} axes elements."
        )
    shape = list(array.shape)
    for k, extent in zip(axes, window, strict=True):
        if shape[k] < extent:
            raise ValueError("window shape cannot be larger than input array shape")
        shape[k] -= extent - 1
    strides = (*array.strides, *(array.strides[k] for k in axes))
    return as_strided(array, (*shape, *window), strides, writeable=writeable)


__all__ = ["as_strided", "sliding_window_view"]
