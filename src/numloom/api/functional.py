"""Functions of users over parts of arrays: lines, axes, pieces.

A function that is called on parts gets our arrays and may look at them, so it is called once a part; what it returns
stays recorded. Functions of ours that know axes are called once for all lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numloom.api import quantiles, reductions, sorting
from numloom.api.calling import replayed
from numloom.api.creation import ones, zeros_like
from numloom.api.elementwise import not_equal
from numloom.api.elementwise import where as choose
from numloom.api.inserting import relaid
from numloom.api.joining import stack
from numloom.api.manipulation import expand_dims, moveaxis, normal_axis
from numloom.api.sorting import nonzero
from numloom.api.ufunc import WHERE, ufunc
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.array.views import has_no_number
from numloom.base.dtypes import BOOL
from numloom.base.given import as_sequence
from numloom.base.integers import as_integer, as_integers
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.graph.tree import sized_by_values

Array = Any
_TO_SELECT = "select takes sequences of arrays"

_ALONG_AXIS: dict[str, Any] = {
    name: getattr(module, name)
    for module, names in (
        (reductions, "all amax amin any argmax argmin count_nonzero max mean min nanargmax nanargmin nanmax nanmean"),
        (reductions, "nanmin nanprod nanstd nansum nanvar prod ptp std sum var"),
        (sorting, "argsort cumprod cumsum nancumprod nancumsum sort"),
        (quantiles, "median nanmedian"),
    )
    for name in names.split()
}
"""Functions that give for an axis what they give for each line along it."""

_WHOLE = {function: function for function in _ALONG_AXIS.values()} | {
    getattr(np, name): function for name, function in _ALONG_AXIS.items()
}


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Array:
    """A function of vectors applied to every line along an axis.

    Parameters
    ----------
    func1d : callable
        Takes a vector; gives a number or an array, of one shape for all lines. A reduction, scan or sort of NumPy's
        names without further arguments is called once, with ``axis=``; any other function once a line.
    axis : int
        The axis along which lines lie.
    arr : array_like
        The array.
    *args, **kwargs
        Passed on to the function.

    Returns
    -------
    ndarray
        Axes of what the function gives stand where `axis` did; the dtype is that of the first line's result.

    Examples
    --------
    >>> import numloom as np
    >>> np.apply_along_axis(lambda line: line[::-1] - line[0], 1, np.arange(6).reshape(2, 3))
    array([[2, 1, 0],
           [2, 1, 0]])
    """
    array = asarray(arr)
    axis = normal_axis(axis, array.ndim)
    lines = moveaxis(array, axis, -1)
    if 0 in lines.shape[:-1]:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    whole = None if args or kwargs else _known(func1d)
    if whole is not None:
        result = whole(array, axis=axis)
        result.is_scalar = False
        return result
    # Copies: the function may give the same memory each time, and write to it before the next line.
    results = [asarray(func1d(lines[place], *args, **kwargs)).copy() for place in np.ndindex(lines.shape[:-1])]
    first = results[0]
    if any(result.shape != first.shape for result in results):
        shape = next(result.shape for result in results if result.shape != first.shape)
        raise ValueError(f"could not broadcast input array from shape {shape} into shape {first.shape}")
    together = stack(results, dtype=first.dtype, casting="unsafe").reshape((*lines.shape[:-1], *first.shape))
    lead = lines.ndim - 1
    result = moveaxis(together, tuple(range(lead, together.ndim)), tuple(range(axis, axis + first.ndim)))
    result.is_scalar = False
    return result


def _known(function: Any) -> Any:
    """Our function that takes an axis and is this one for each line, or None."""
    try:
        return _WHOLE.get(function)
    except TypeError:
        return None


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Array:
    """A function ``func(array, axis)`` applied over several axes in turn.

    Parameters
    ----------
    func : callable
        Gives an array with as many axes, or without the one it went over (which is put back with extent 1).
    a : array_like
        The array.
    axes : int or sequence of int
        The axes.

    Returns
    -------
    ndarray
        With as many axes as `a`.
    """
    result = asarray(a)
    ndim = result.ndim
    for axis in as_integers(axes, as_integer):
        axis += ndim if axis < 0 else 0
        found = asarray(func(result, axis))
        if found.ndim != ndim:
            found = expand_dims(found, axis)
            if found.ndim != ndim:
                raise ValueError("function is not returning an array of the correct shape")
        result = found
    return result


@replayed
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Array:
    """Elements of the first of several arrays whose condition is true, else `default`.

    Parameters
    ----------
    condlist : list of array_like of bool
        Conditions, which broadcast with the choices.
    choicelist : list of array_like
        As many arrays.
    default : array_like
        What stands where no condition is true.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numloom as np
    >>> x = np.arange(5)
    >>> np.select([x < 2, x > 3], [x, x * 10], default=-1)
    array([ 0,  1, -1, -1, 40])
    """
    if len(as_sequence(condlist, _TO_SELECT)) != len(as_sequence(choicelist, _TO_SELECT)):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [asarray(c) for c in condlist]
    for number, condition in enumerate(conditions):
        if condition.code != BOOL:
            raise TypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
    weak = (int, float, complex)
    found = np.result_type(*(c if type(c) in weak else asarray(c).dtype for c in (*choicelist, default)))
    result = asarray(default).astype(found)
    for condition, choice in zip(conditions[::-1], list(choicelist)[::-1], strict=True):
        value = asarray(choice).astype(found)
        result = wrap(build.elementwise(WHERE, (node_of(condition), node_of(value), node_of(result))))
    result = relaid(result, c_strides(result.shape, result.itemsize))
    result.is_scalar = False
    return result


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """A function given in pieces: where a condition holds, one function or number applies.

    Parameters
    ----------
    x : array_like
        Arguments.
    condlist : array_like of bool, or a sequence of these
        Conditions; where several hold, the last one counts.
    funclist : sequence of callable or scalar
        What applies for each condition; one more applies where none holds (0 without it). Functions get the chosen
        elements of `x` as a vector. Numbers and ufuncs fuse with the conditions; other functions wait for them.
    *args, **kw
        Passed on to the functions.

    Returns
    -------
    ndarray
        Of the shape and dtype of `x`.

    Examples
    --------
    >>> import numloom as np
    >>> np.piecewise(np.array([-2.0, 0.5]), [np.array([True, False])], [-1, np.sqrt])[0]
    array(-1.)
    """
    array = asarray(x)
    pieces = list(as_sequence(funclist, "funclist must be a sequence of functions or numbers"))
    conditions = _conditions(condlist, array.ndim)
    if len(conditions) == len(pieces) - 1:
        held = conditions[0]
        for condition in conditions[1:]:
            held = held | condition
        conditions.append(~held)
    elif len(conditions) != len(pieces):
        count = len(conditions)
        raise ValueError(f"with {count} condition(s), either {count} or {count + 1} functions are expected")
    result = zeros_like(array)
    for condition, piece in zip(conditions, pieces, strict=True):
        if isinstance(piece, ufunc) and not args and not kw and condition.shape == array.shape:
            result = choose(condition, piece(array).astype(array.dtype), result)
        elif not callable(piece):
            result[condition] = piece
        else:
            if has_no_number(condition):
                raise sized_by_values("piecewise to a function", "choose by where(condition, f(x), ...)")
            chosen = array[condition]
            if chosen.size:
                result[condition] = piece(chosen, *args, **kw)
    return result


def _conditions(condlist: Any, ndim: int) -> list[Array]:
    """Conditions as arrays of their own; a single one may stand without a list."""
    arrays = (ndarray, np.ndarray)
    if isinstance(condlist, arrays):
        single = condlist.ndim <= 1 if ndim else not condlist.ndim
    else:
        single = np.isscalar(condlist) or bool(ndim and not isinstance(condlist[0], (list, *arrays)))
    return [asarray(condition).astype(np.bool_) for condition in ([condlist] if single else condlist)]


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Array, ...]:
    """Indices of the elements of an n by n matrix that a mask function keeps.

    Parameters
    ----------
    n : int
        Extent of the matrix.
    mask_func : callable
        As `triu`: ``mask_func(matrix, k)`` gives zeros where an element is left out.
    k : scalar
        Passed on to it.

    Returns
    -------
    tuple of ndarray
        Two vectors of indices.
    """
    return nonzero(not_equal(mask_func(ones((n, n), int), k), 0))


__all__ = ["apply_along_axis", "apply_over_axes", "mask_indices", "piecewise", "select"]
