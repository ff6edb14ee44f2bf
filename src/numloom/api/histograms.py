"""Counting: how often numbers occur, and how many elements fall into bins, in one dimension or several."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from math import copysign
from typing import Any

import numpy as np

from numloom.api.at_once import at_once
from numloom.api.calling import Replayed, recalled, replayed
from numloom.api.conditions import numpy_is_near, raised_where, unless
from numloom.api.creation import zeros
from numloom.api.elementwise import add, isfinite, minimum, where
from numloom.api.manipulation import atleast_2d, repeat
from numloom.api.quantiles import percentile
from numloom.api.sorting import searchsorted, sort
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.array.views import has_no_number
from numloom.base.dtypes import BOOL, C128, DTYPES, F32, F64, I64, KINDS, ROUNDED, code_of
from numloom.base.given import as_sequence
from numloom.base.integers import as_integer, is_single
from numloom.base.release import FROM_2_5
from numloom.device.registry import current
from numloom.engine.routines import call
from numloom.graph import build
from numloom.graph.source_location import here
from numloom.graph.tree import sized_by_values
from numloom.ops.routines import TABLE_BINS

KEPT_BINS = 1 << 16
"""Most bins between given ends whose edges are kept."""
Array = Any
Host = np.ndarray[Any, Any]

# ---------------------------------------------------------------- numbers


@at_once(lambda x, minlength=0: np.bincount(x, None, minlength))
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """How often each whole number occurs, or the sum of its weights.

    Parameters
    ----------
    x : array_like
        A vector of integers, none negative.
    weights : array_like, optional
        What each element counts.
    minlength : int
        The least number of bins.

    Returns
    -------
    ndarray
        int64 counts, or float64 sums, of 0 to the largest element.
    """
    array = asarray(x)
    if array.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if array.ndim else "object of too small depth for desired array"
        )
    listed = type(x) is not ndarray and not isinstance(x, np.ndarray)
    whole = listed and (not FROM_2_5 or not array.size)  # NumPy 2.4 still takes lists of fractions.
    if array.dtype.kind not in ("biuf" if whole else "biu"):
        raise TypeError(f"Cannot cast array data from {array.dtype!r} to dtype('int64') according to the rule 'safe'")
    minlength = as_integer(minlength)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    small = array.dtype.kind in "iu" and array.dtype.char != "L"
    numbers = node_of(array) if small else build.cast(node_of(array), I64)
    if has_no_number(array):
        return _counted_in_tree(array, weights, minlength)
    if weights is None:
        return wrap(call("bincount", numbers, minlength=minlength))
    amounts = asarray(weights)
    if amounts.shape != array.shape:
        raise ValueError("The weights and list don't have the same length.")
    if amounts.dtype.kind == "c":
        raise TypeError(
            f"Cannot cast array data from {amounts.dtype!r} to dtype('float64') according to the rule 'safe'"
        )
    if not array.size:
        return wrap(build.full(0, I64, (minlength,)))
    low, high = (int(value) for value in (array.min(), array.max()))
    if low < 0:
        raise ValueError("'list' argument must have no negative elements")
    return _summed(wrap(numbers), amounts, max(minlength, high + 1))


def _counted_in_tree(array: Array, weights: Any, length: int) -> Array:
    """`bincount` of numbers that a tree does not know: of a length that is said, or the error at the next look."""
    if not length:
        raise sized_by_values("bincount", "say minlength=, which must be above every element")
    low = (array < 0).any()
    outside = low | (array >= length).any()
    place = where(outside, 0, array).astype(np.int64)
    found = zeros(length, np.int64 if weights is None else np.float64)
    add.at(found, place, asarray(1 if weights is None else weights))
    found = unless(
        outside & ~low, found, ValueError, f"an element is not below minlength={length}, which is the size in a tree"
    )
    return unless(low, found, ValueError, "'list' argument must have no negative elements")


def _summed(place: Array, amounts: Array, length: int) -> Array:
    """Sums (float64) of the amounts at each of the places 0 ... `length` - 1."""
    weights = node_of(amounts) if length <= TABLE_BINS else build.cast(node_of(amounts), F64)
    return wrap(call("weighted_bincount", node_of(place), weights, code=F64, shape=(length,), minlength=length))


def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """The bin that each element falls in.

    Parameters
    ----------
    x : array_like
        Real values.
    bins : array_like
        A vector of increasing or decreasing edges.
    right : bool
        Whether a bin holds its right edge and not its left one.

    Returns
    -------
    ndarray
        int64 numbers of bins: 0 before the first edge, ``len(bins)`` behind the last.
    """
    array = asarray(x)
    if array.dtype.kind == "c":
        raise TypeError("x may not be complex")
    edges = asarray(bins)
    if edges.dtype.kind == "c":
        raise TypeError(f"Cannot cast array data from {edges.dtype!r} to dtype('float64') according to the rule 'safe'")
    if edges.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if edges.ndim else "object of too small depth for desired array"
        )
    side = "left" if right else "right"
    if has_no_number(edges):
        return _digitized(array, edges, side)
    # Edges that were given on the host are looked at there.
    seen = edges.get() if bins is edges else np.asarray(bins)
    # The first step says which way: NaN is the last of increasing edges and the first of decreasing ones.
    others = seen[1:][~(seen[1:] == seen[:1])]
    if not others.size or seen[0] < others[0]:
        if not (seen[1:] < seen[:-1]).any():
            return searchsorted(edges, array, side)
    elif not (seen[1:] > seen[:-1]).any():
        return edges.size - searchsorted(edges[::-1], array, side)
    raise ValueError(_NO_ORDER)


_BINS = "bins must be a number, or a sequence of edges"
_NO_ORDER = "bins must be monotonically increasing or decreasing"


def _digitized(array: Array, edges: Array, side: str) -> Array:
    """`digitize` by edges that a tree does not know: both ways, and a choice between them."""
    found = searchsorted(edges, array, side)
    if edges.size < 2:
        return found
    first, last = edges[0], edges[-1]
    rises = where(first != first, last != last, (last != last) | (first <= last))
    broken = where(rises, (edges[1:] < edges[:-1]).any(), (edges[1:] > edges[:-1]).any())
    found = where(rises, found, edges.size - searchsorted(edges[::-1], array, side))
    return unless(broken, found, ValueError, _NO_ORDER)


# ---------------------------------------------------------------- numbers of bins


class _Sample:
    """A vector's statistics that rules for the width of bins ask for, each computed when it is."""

    def __init__(self, values: Array) -> None:
        self.values = values
        self.n = values.size

    @cached_property
    def spread(self) -> Any:
        return _difference(*_host_numbers(self.values.max(), self.values.min()))

    @cached_property
    def deviation(self) -> Any:
        return self.values.std().get()[()]

    @cached_property
    def middle_half(self) -> Any:
        upper, lower = percentile(self.values, [75, 25]).get()
        return upper - lower

    @cached_property
    def skewness(self) -> Any:
        standard = (self.values - self.values.mean()) / self.deviation.item()
        return (standard * standard * standard).mean().get()[()]


def _sturges(sample: _Sample, limits: Any) -> Any:
    return sample.spread / (np.log2(sample.n) + 1.0)


def _doane(sample: _Sample, limits: Any) -> Any:
    n = sample.n
    if n <= 2 or not sample.deviation > 0.0:
        return 0.0
    error = np.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    return sample.spread / (1.0 + np.log2(n) + np.log2(1.0 + np.absolute(sample.skewness) / error))


def _freedman_diaconis(sample: _Sample, limits: Any) -> Any:
    return 2.0 * sample.middle_half * sample.n ** (-1.0 / 3.0)


def _square_root(sample: _Sample, limits: Any) -> Any:
    return sample.spread / np.sqrt(sample.n)


def _auto(sample: _Sample, limits: Any) -> Any:
    return min(max(_freedman_diaconis(sample, limits), _square_root(sample, limits) / 2), _sturges(sample, limits))


def _stone(sample: _Sample, limits: Any) -> Any:
    """The number of bins with the least estimate of the squared error (C. J. Stone 1984), of at most the root of n.

    All histograms come from one sorting and one search: edges of 1 bin, of 2 bins, ... one after another.
    """
    n = sample.n
    if n <= 1 or sample.spread == 0:
        return 0
    most = max(100, int(np.sqrt(n)))
    sizes = asarray(np.arange(1, most + 1))
    bins = repeat(sizes, sizes + 1)
    number = wrap(build.iota(most * (most + 3) // 2)) - (bins - 1) * (bins + 2) // 2
    first, last = float(limits[0]), float(limits[1])
    kind = np.result_type(*limits, sample.values.dtype)
    edges = (number * ((last - first) / bins) + first).astype(np.float64 if kind.kind in "iu" else kind)
    below = where(number == bins, n, searchsorted(sort(sample.values), edges))
    counts = where(number[1:] > 0, below[1:] - below[:-1], 0)
    total = (counts * counts).cumsum()[(sizes * (sizes + 3)) // 2 - 2].get()
    squares = np.diff(total, prepend=0) / float(n) ** 2
    share = np.arange(1, most + 1)
    return sample.spread / share[np.argmin((2 - (n + 1) * squares) * share)]


_RULES: dict[str, Callable[[_Sample, Any], Any]] = {
    "auto": _auto,
    "doane": _doane,
    "fd": _freedman_diaconis,
    "rice": lambda sample, limits: sample.spread / (2.0 * sample.n ** (1.0 / 3)),
    "scott": lambda sample, limits: (24.0 * np.pi**0.5 / sample.n) ** (1.0 / 3.0) * sample.deviation,
    "sqrt": _square_root,
    "stone": _stone,
    "sturges": _sturges,
}
"""Width of a bin by NumPy's names of the rules; 0 where a rule has no answer."""


def _host_numbers(*values: Array) -> list[Any]:
    return [value.get()[()] for value in values]


def _difference(high: Any, low: Any) -> Any:
    """`high` - `low` of numbers, of signed integers as an unsigned one, which holds it."""
    kind = np.result_type(high, low)
    if kind.kind != "i":
        return np.subtract(high, low, dtype=kind)
    unsigned = np.dtype(kind.str.replace("i", "u"))
    return np.subtract(np.asarray(high, kind).astype(unsigned), np.asarray(low, kind).astype(unsigned))[()]


def _outer(array: Array, limits: Any) -> tuple[Any, Any]:
    """First and last edge; NumPy's errors for those that are none."""
    if limits is not None:
        first, last = limits
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        said = "supplied"
    elif not array.size:
        first, last = 0, 1
    else:
        first, last = _host_numbers(array.min(), array.max())
        said = "autodetected"
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(f"{said} range of [{first}, {last}] is not finite")
    return (first - 0.5, last + 0.5) if first == last else (first, last)


def _number_of_bins(array: Array, rule: str, limits: Any) -> tuple[int, Any]:
    """How many bins a rule asks for, and the outer edges."""
    if rule not in _RULES:
        raise ValueError(f"{rule!r} is not a valid estimator for `bins`")
    first, last = _outer(array, limits)
    if limits is not None:
        array = array[(array >= first) & (array <= last)]
    if not array.size:
        return 1, (first, last)
    width = _RULES[rule](_Sample(array), (first, last))
    if not width:
        return 1, (first, last)
    if array.dtype.kind in "iu" and width < 1:
        width = 1
    return int(np.ceil(_difference(last, first) / width)), (first, last)


def _edges(array: Array, bins: Any, limits: Any, weights: Any) -> Array:
    """Edges; those between the ends of data on a GPU are made there, so that nobody waits."""
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
        count, outer = _number_of_bins(array, bins, limits)
        return asarray(np.histogram_bin_edges(np.empty(0, np.result_type(*outer, array.dtype)), count, outer))
    given = bins.get() if isinstance(bins, ndarray) else bins
    if np.ndim(given):
        return asarray(np.histogram_bin_edges(np.empty(0), given, limits))
    ends = np.empty(0, array.dtype)
    if limits is None and array.size:
        if not numpy_is_near() and KINDS[array.code] != "c":
            return _edges_of(array, _count_of(given))
        # NumPy makes the edges from the two ends of the data alone.
        ends = np.array(_host_numbers(array.min(), array.max()))
    elif not numpy_is_near() and type(given) is int and 0 < given <= KEPT_BINS and _are_plain(limits):
        # The kept array stands for its memory, so whoever writes to the result writes to a copy.
        return wrap(node_of(_edges_from(given, *limits, array.code, id(current()))))
    return asarray(np.histogram_bin_edges(ends, given, limits))


def _are_plain(limits: Any) -> bool:
    """Whether limits are two numbers of Python that are equal only if they are the same."""
    return (
        type(limits) in (tuple, list)
        and len(limits) == 2
        and all(type(end) in (int, float) and (end != 0 or copysign(1, end) > 0) for end in limits)
    )


@lru_cache(16, typed=True)
def _edges_from(bins: int, first: float, last: float, code: int, device: int) -> Array:
    """Edges between given ends, on a device that is far: kept, since calls with the same ends follow each other."""
    return asarray(np.histogram_bin_edges(np.empty(0, DTYPES[code]), bins, (first, last)))


def _count_of(bins: Any) -> int:
    """A number of bins."""
    try:
        count = as_integer(bins)
    except TypeError as error:
        raise TypeError("`bins` must be an integer, a string, or an array") from error
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    return count


def _edges_of(array: Array, count: int) -> Array:
    """Edges of `count` bins between the ends of a vector; what is wrong with them is told when somebody looks."""
    if array.code in ROUNDED:  # where each step is rounded
        return _edges_between(array.min(), array.max(), count)
    code = F32 if array.code == F32 else F64
    not_finite, not_apart = (here((ValueError, message)) for message in (_NOT_FINITE, _TOO_MANY.format(count)))
    options: Any = {"bins": count, "not_finite": not_finite, "not_apart": not_apart}
    return wrap(call("bin_edges", node_of(array), code=code, shape=(count + 1,), **options))


_NOT_FINITE = "autodetected range is not finite"
_TOO_MANY = "Too many bins for data range. Cannot create {} finite-sized bins."


def _edges_between(first: Array, last: Array, count: int, apart: bool = True) -> Array:
    """Edges of `count` bins between computed numbers as NumPy makes them, recorded; not finite ones raise later.

    With `apart` so do edges of which two are equal.
    """
    code = F64 if KINDS[first.code] in "iu" else first.code
    first, last = (wrap(build.cast(node_of(end), code)) for end in (first, last))
    finite = isfinite(first) & isfinite(last)
    first = first + raised_where(~finite, code, ValueError, _NOT_FINITE)
    wide = first != last
    first, last = where(wide, first, first - 0.5), where(wide, last, last + 0.5)
    distance = last - first
    step = distance / count

    def edge(places: Array) -> Array:
        numbers = places.astype(first.dtype)
        inner = where(step == 0, numbers / count * distance, numbers * step) + first
        return where(places == count, last, inner)

    places = wrap(build.iota(count + 1))
    edges = edge(places)
    if not apart:
        return edges
    equal = finite & (places < count) & (edges >= edge(places + 1))
    return where(raised_where(equal, I64, ValueError, _TOO_MANY.format(count)) == 0, edges, first)


# ---------------------------------------------------------------- histograms


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """The edges of the bins that `histogram` counts in; parameters as there."""
    array, _ = _sampled(a, weights)
    return _edges(array, bins, range, weights)


def _sampled(a: Any, weights: Any) -> tuple[Array, Array | None]:
    """A sample as a vector of numbers, and its weights."""
    array = asarray(a)
    amounts = None
    if weights is not None:
        amounts = asarray(weights)
        if amounts.shape != array.shape:
            raise ValueError("weights should have the same shape as a.")
        amounts = amounts.ravel()
    array = array.ravel()
    return (array.astype(np.uint8) if array.code == BOOL else array), amounts


def _host_histogram(a: Any, bins: Any = 10, range: Any = None) -> Any:
    """NumPy's, of bins of one width; of truth values and complex numbers it warns."""
    return np.histogram(a, bins, range) if type(bins) is int and a.dtype.kind in "iuf" else None


@at_once(_host_histogram, anywhere=False)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Array, Array]:
    """Counts (or sums of weights) of elements in bins, and the edges of the bins.

    Parameters
    ----------
    a : array_like
        Values, flattened.
    bins : int, str or array_like
        How many bins of one width; or their edges, increasing; or a rule that finds a width: "auto", "doane", "fd"
        (Freedman and Diaconis), "rice", "scott", "sqrt", "stone", "sturges".
    range : (float, float), optional
        First and last edge; by default the least and the largest element.
    density : bool, optional
        Whether the integral over the bins is 1.
    weights : array_like, optional
        What each element counts.

    Returns
    -------
    counts, edges : ndarray
        A bin holds its left edge; the last one both.

    Examples
    --------
    >>> import numloom as np
    >>> np.histogram([1, 2, 1, 4], bins=3)[0]
    array([2, 1, 1])
    """
    # Else the edges are looked at, or made of ends that are.
    alike = type(bins) is int and (range is not None or not numpy_is_near())
    return (_traced_histogram if alike else _histogram)(a, bins, range, density, weights)


def _histogram(a: Any, bins: Any, limits: Any, density: Any, weights: Any) -> tuple[Array, Array]:
    array, amounts = _sampled(a, weights)
    sides = _edges(array, bins, limits, weights)
    uniform = not np.ndim(bins)
    if amounts is None:
        total = recalled(_COUNTED, "uniform" if uniform else "", (array, sides))
    else:
        total = _counts(array, sides, amounts, uniform)
    if not density:
        return total, sides
    widths = (sides[1:] - sides[:-1]).astype(np.float64)
    return total / widths / total.sum(), sides


_traced_histogram = replayed(_histogram)


def _counted(given: str, array: Array, sides: Array) -> Array:
    return _counts(array, sides, None, given == "uniform")


_COUNTED = Replayed(_counted)


def _counts(array: Array, sides: Array, amounts: Array | None, uniform: bool) -> Array:
    count = sides.size - 1
    code = code_of(np.result_type(array.dtype, sides.dtype))
    if amounts is None and KINDS[code] != "c":
        # Values are compared in the wider of both dtypes, float16 and the like in float32, which holds the same
        # numbers.
        between = build.cast(node_of(sides), F32 if code in ROUNDED else code)
        return wrap(call("histogram", node_of(array), between, code=I64, shape=(count,), uniform=uniform))
    place = _uniform_bin_of(array, sides) if uniform and KINDS[code] != "c" else _bin_of(array, sides)
    # Everything outside goes to two more bins, cut off afterwards.
    inside = slice(1, count + 1)
    if amounts is None:
        return bincount(place, minlength=count + 2)[inside].copy()
    if amounts.dtype.kind == "b" and not uniform:
        raise TypeError("weights must be numbers: sums of boolean ones have no dtype (use weights.astype(int))")
    if amounts.dtype.kind == "c":
        total = wrap(build.full(0, C128, (count,)))
        total.real, total.imag = (_summed(place, part, count + 2)[inside] for part in (amounts.real, amounts.imag))
        return total.astype(amounts.dtype)
    return _summed(place, amounts, count + 2)[inside].astype(amounts.dtype)


def _bin_of(values: Array, sides: Array) -> Array:
    """Number of the bin of each value from 1 on; 0 before the first edge, one more than there are bins behind."""
    place = searchsorted(sides, values, "right")
    # The last bin holds its right edge, too.
    return place - ((values == sides[-1:]) & (place == sides.size)).astype(np.int64)


def _uniform_bin_of(values: Array, sides: Array) -> Array:
    """`_bin_of` for bins of one width, recorded: computed, then compared with the edges, which rounding may miss."""
    count = sides.size - 1
    first, last = sides[0], sides[-1]
    inside = (values >= first) & (values <= last)
    near = values.astype(sides.dtype)
    number = where(inside, (near - first) / (last - first) * count, 0).astype(np.int64)
    number = minimum(number, count - 1)
    number = number - (near < _taken(sides, number))
    number = number + ((near >= _taken(sides, number + 1)) & (number != count - 1))
    return where(inside, number + 1, 0)


def _taken(sides: Array, number: Array) -> Array:
    return wrap(build.gather(node_of(sides), [node_of(number)], (0,), 0))


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Array, Array, Array]:
    """Counts of points of a plane in bins: `histogramdd` of two coordinates.

    Parameters
    ----------
    x, y : array_like
        Vectors of coordinates.
    bins : int, array_like or a pair of these
        How many bins, or their edges: for both coordinates, or for each.
    range : array_like of shape (2, 2), optional
        First and last edge of each coordinate.
    density : bool, optional
        Whether the integral over the bins is 1.
    weights : array_like, optional
        What each point counts.

    Returns
    -------
    counts, x_edges, y_edges : ndarray
        float64 counts, a row for each bin of `x`.
    """
    if len(as_sequence(x, "x must be a vector")) != len(as_sequence(y, "y must be a vector")):
        raise ValueError("x and y must have the same length.")
    if isinstance(bins, ndarray):
        bins = bins.get()
    if not is_single(bins) and len(as_sequence(bins, _BINS)) not in (1, 2):
        bins = [np.asarray(bins)] * 2
    total, edges = histogramdd([x, y], bins, range, density, weights)
    return total, edges[0], edges[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Array, list[Array]]:
    """Counts (or sums of weights) of points of several coordinates in bins.

    Parameters
    ----------
    sample : array_like
        An array of points, a row each; or a sequence of vectors, one a coordinate.
    bins : int or sequence
        How many bins, or for each coordinate how many or their edges.
    range : sequence, optional
        For each coordinate first and last edge, or None for the least and the largest element.
    density : bool, optional
        Whether the integral over the bins is 1.
    weights : array_like, optional
        What each point counts.

    Returns
    -------
    counts : ndarray
        float64, an axis for each coordinate.
    edges : list of ndarray
        Edges of the bins of each coordinate.
    """
    points = sample if isinstance(sample, (ndarray, np.ndarray)) and sample.ndim == 2 else atleast_2d(sample).T
    points = asarray(points)
    if points.ndim != 2:
        raise ValueError(f"a sample of points has two axes, not {points.ndim}")
    if points.dtype.kind == "c":
        raise TypeError("points must be real")
    dimensions = points.shape[1]
    sides, uniform = _grid(points, bins, range)
    place: Array = 0
    if points.code == BOOL:
        points = points.astype(np.uint8)
    for k, side in enumerate(sides):
        column = points[:, k]
        number = _uniform_bin_of(column, side) if uniform[k] else _bin_of(column, side)
        place = place * (side.size + 1) + number
    sizes = [side.size + 1 for side in sides]
    total = bincount(place, weights, int(np.prod(sizes))).reshape(sizes)[(slice(1, -1),) * dimensions]
    total = total.astype(np.float64)
    if density:
        whole = total.sum()
        for k, side in enumerate(sides):
            width = side[1:] - side[:-1]
            total = total / width.reshape(tuple(-1 if axis == k else 1 for axis in np.arange(dimensions)))
        total = total / whole
    return total, sides


def _grid(points: Array, bins: Any, limits: Any) -> tuple[list[Array], list[bool]]:
    """Edges of the bins of each coordinate, and whether its bins have one width."""
    dimensions = points.shape[1]
    if isinstance(bins, ndarray):
        bins = bins.get()
    if not is_single(bins):
        if len(as_sequence(bins, _BINS)) != dimensions:
            raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    else:
        bins = [bins] * dimensions
    if limits is None:
        limits = [None] * dimensions
    elif len(as_sequence(limits, "range must be a sequence of pairs")) != dimensions:
        raise ValueError("range argument must have one entry per dimension")
    given = [entry.get() if isinstance(entry, ndarray) else entry for entry in bins]
    ends: Any = None
    pairs = list(zip(given, limits, strict=True))
    if points.shape[0] and any(np.ndim(entry) == 0 and limit is None for entry, limit in pairs):
        values = points.astype(np.uint8) if points.code == BOOL else points
        ends = [values.min(0), values.max(0)]
        if numpy_is_near():
            ends = [column.get() for column in ends]
    grid = []
    for k, (entry, limit) in enumerate(pairs):
        if np.ndim(entry) > 1:
            raise ValueError(f"`bins[{k}]` must be a scalar or 1d array")
        if np.ndim(entry):
            edge = np.asarray(entry)
            if np.any(edge[:-1] > edge[1:]):
                raise ValueError(f"`bins[{k}]` must be monotonically increasing, when an array")
            grid.append(asarray(edge))
            continue
        if entry < 1:
            raise ValueError(f"`bins[{k}]` must be positive, when an integer")
        try:
            count = as_integer(entry)
        except TypeError as error:
            raise TypeError(f"`bins[{k}]` must be an integer, when a scalar") from error
        if limit is None and ends is not None and not numpy_is_near():
            grid.append(_edges_between(ends[0][k], ends[1][k], count, apart=False))
            continue
        column = np.empty(0)
        if limit is None and ends is not None:
            column = np.array([ends[0][k], ends[1][k]])
        first, last = _outer(asarray(column) if limit is None else column, limit)
        grid.append(asarray(np.linspace(first, last, count + 1)))
    return grid, [np.ndim(entry) == 0 for entry in given]


__all__ = ["bincount", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
