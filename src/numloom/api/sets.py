"""Arrays as sets: distinct elements, membership, unions and differences."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numloom.api.at_once import at_once
from numloom.api.elementwise import where
from numloom.api.joining import concatenate
from numloom.api.manipulation import moveaxis, normal_axis
from numloom.api.sorting import flatnonzero, lexsort, searchsorted, sort
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import BOOL, I64, code_of
from numloom.engine.routines import call
from numloom.graph import build
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

EQUAL = ELEMENTWISE["equal"]


_FEW = 64
"""How many elements each element is compared with, rather than looked up among them."""


class UniqueAllResult(NamedTuple):
    """Distinct elements, where each is first, the inverse and the counts."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """Distinct elements and their counts."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """Distinct elements and the inverse."""

    values: Any
    inverse_indices: Any


@at_once(lambda ar: np.unique(ar), anywhere=False)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Sorted distinct elements.

    Parameters
    ----------
    ar : array_like
        Elements; flattened if no axis is given.
    return_index, return_inverse, return_counts : bool
        Whether to give the first position of each, the positions that make `ar` of them, how often each occurs.
    axis : int, optional
        The axis whose parts are compared as a whole.
    equal_nan : bool
        Whether NaN is one element.
    sorted : bool
        Taken for NumPy's sake: elements are always sorted.

    Returns
    -------
    ndarray or tuple of ndarray
        The distinct elements, and what was asked for, in that order.
    """
    array = asarray(ar)
    if axis is None or (array.ndim == 1 and not normal_axis(axis, 1)):
        asked = bool(return_index), bool(return_inverse), bool(return_counts)
        results = call("unique", node_of(array), equal_nan=equal_nan, index=asked[0], inverse=asked[1], counts=asked[2])
        found = [*map(wrap, results)]
        if return_inverse:
            place = 1 + bool(return_index)
            found[place] = found[place].reshape(array.shape)
        return tuple(found) if len(found) > 1 else found[0]
    values, index, inverse, counts = _unique_parts(array, normal_axis(axis, array.ndim))
    wanted = [values]
    wanted += [index] * return_index + [inverse] * return_inverse + [counts] * return_counts
    return tuple(wanted) if len(wanted) > 1 else values


def _unique_parts(array: Array, axis: int) -> tuple[Array, Array, Array, Array]:
    """As `unique`, of the parts along an axis in the order of their elements."""
    moved = moveaxis(array, axis, 0)
    count = moved.shape[0]
    rows = moved.reshape((count, -1)) if moved.size else moved.reshape((count, 0))
    width = rows.shape[1]
    if not count or not width:
        # Parts without elements are all equal.
        kept = min(count, 1)
        zeros = wrap(build.full(0, I64, (count,)))
        return (
            array[(slice(None),) * axis + (slice(0, kept),)].copy(),
            zeros[:kept],
            zeros,
            wrap(build.full(count, I64, (kept,))),
        )
    order = lexsort([rows[:, k] for k in range(width - 1, -1, -1)])
    ordered = wrap(build.gather(node_of(rows), [node_of(order)], (0,), 0))
    first = wrap(build.full(True, BOOL, (count,)))
    first[1:] = (ordered[1:] != ordered[:-1]).any(1)
    starts = flatnonzero(first)
    index = wrap(build.gather(node_of(order), [node_of(starts)], (0,), 0))
    values = wrap(build.gather(node_of(moved), [node_of(index)], (0,), 0))
    inverse = wrap(build.full(0, I64, order.shape))
    inverse[order] = first.cumsum() - 1
    ends = concatenate((starts[1:], asarray([count])))
    return moveaxis(values, 0, axis), index, inverse, ends - starts


def unique_all(x: Any) -> UniqueAllResult:
    """Distinct elements, where each is first, the inverse and the counts; each NaN is distinct."""
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Any) -> UniqueCountsResult:
    """Distinct elements and their counts; each NaN is distinct."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> UniqueInverseResult:
    """Distinct elements and the inverse; each NaN is distinct."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Any) -> Array:
    """Distinct elements; each NaN is distinct."""
    return unique(x, equal_nan=False)


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Array:
    """Which elements occur among `test_elements`.

    Parameters
    ----------
    element : array_like
        Elements to ask about.
    test_elements : array_like
        What they may be; a few are compared with each element, more are sorted and searched.
    assume_unique, kind : optional
        They change no result. Whole numbers are looked up in a table if the range of `test_elements` is small, which
        waits for its ends; ``kind="sort"`` sorts and searches instead, and waits for nothing.
    invert : bool
        Whether to tell which elements do not occur.

    Returns
    -------
    ndarray
        Booleans of the shape of `element`.
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    shape = asarray(element).shape
    array, tests = asarray(element).ravel(), asarray(test_elements).ravel()
    if kind == "table" and (array.dtype.kind not in "biu" or tests.dtype.kind not in "biu"):
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or None for kind."
        )
    if not tests.size:
        return wrap(build.full(bool(invert), BOOL, shape))
    common = np.result_type(array.dtype, tests.dtype)
    if common.kind == "f" and array.dtype.kind in "iu" and tests.dtype.kind in "iu":
        # Signed and unsigned ones of 64 bits have no common integer: what no test can be is ruled out first.
        fits = array >= 0 if array.dtype.kind == "i" else array <= np.iinfo(np.int64).max
        found = (isin(array.astype(tests.dtype if tests.dtype.kind == "u" else np.int64), tests) & fits).reshape(shape)
        return ~found if invert else found
    code = code_of(common)
    if tests.size <= _FEW:
        # Fewer than a kernel compares without sorting.
        equal = build.binary(EQUAL, node_of(array.astype(common)[:, None]), build.cast(node_of(tests), code))
        found = wrap(equal).any(-1).reshape(shape)
        return ~found if invert else found
    if kind != "sort" and common.kind in "iu":
        found = _in_table(array.astype(common), tests.astype(common), bool(invert))
        if found is not None:
            return found.reshape(shape)
    ordered = sort(tests.astype(common))
    value = build.cast(node_of(array), code)
    place = searchsorted(ordered, wrap(value)).clip(0, tests.size - 1)
    nearest = build.gather(node_of(ordered), [node_of(place)], (0,), 0)
    row = ELEMENTWISE["not_equal"] if invert else EQUAL
    return wrap(build.binary(row, nearest, value)).reshape(shape)


def _in_table(array: Array, tests: Array, invert: bool) -> Array | None:
    """`isin` by a table of truth values from the least to the greatest of `tests`; None where it would be long."""
    # Both are looked at in one array, so that there is one wait.
    low, high = (int(value) for value in concatenate((tests.min()[None], tests.max()[None])).get())
    span = high - low + 1
    if span > 6 * (array.size + tests.size):  # NumPy's rule
        return None
    table = wrap(build.full(invert, BOOL, (span,)))
    wide = np.uint64 if tests.dtype == np.uint64 else np.int64
    least = wide(low)
    table[(tests.astype(wide) - least).astype(np.int64)] = not invert
    outside = (array < low) | (array > high)
    place = where(outside, 0, (array.astype(wide) - least).astype(np.int64))
    found = _taken(table, place)
    return found | outside if invert else found & ~outside


def union1d(ar1: Any, ar2: Any) -> Array:
    """Sorted elements that are in either."""
    return unique(concatenate((ar1, ar2), None))


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Sorted elements that are in both (and where each is first)."""
    a, b = asarray(ar1), asarray(ar2)
    a_index = b_index = None
    if assume_unique:
        a, b = a.ravel(), b.ravel()
    elif return_indices:
        a, a_index = unique(a, return_index=True)
        b, b_index = unique(b, return_index=True)
    else:
        a, b = unique(a), unique(b)
    both = concatenate((a, b))
    order = both.argsort()
    ordered = _taken(both, order)
    twice = flatnonzero(ordered[1:] == ordered[:-1])
    values = _taken(ordered, twice)
    if not return_indices:
        return values
    first, second = _taken(order, twice), _taken(order, twice + 1) - a.size
    if a_index is not None and b_index is not None:
        first, second = _taken(a_index, first), _taken(b_index, second)
    return values, first, second


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """Sorted elements of the first that are not in the second (in their order if they are known to be unique)."""
    a = asarray(ar1).ravel() if assume_unique else unique(ar1)
    return _taken(a, flatnonzero(isin(a, ar2, invert=True)))


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """Sorted elements that are in just one of the two."""
    a, b = (asarray(x).ravel() if assume_unique else unique(x) for x in (ar1, ar2))
    both = concatenate((a, b))
    if not both.size:
        return both
    ordered = sort(both)
    edge = wrap(build.full(True, BOOL, (both.size + 1,)))
    edge[1:-1] = ordered[1:] != ordered[:-1]
    return _taken(ordered, flatnonzero(edge[1:] & edge[:-1]))


def _taken(array: ndarray, index: Array) -> Array:
    return wrap(build.gather(node_of(array), [node_of(index)], (0,), 0))


__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
