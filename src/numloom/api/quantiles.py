"""Order statistics: quantiles by all of NumPy's methods, with weights and without NaN, and medians.

Positions among the sorted elements follow R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The
American Statistician 50 (1996), pp. 361-365. They are computed on the host where all lines have as many elements, and
recorded where each line has its own number (of those that are not NaN).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from numloom.api.calling import replayed
from numloom.api.conditions import unless
from numloom.api.elementwise import isfinite, where
from numloom.api.inserting import relaid
from numloom.api.manipulation import broadcast_to, normal_axes
from numloom.api.reductions import nanmean
from numloom.api.sorting import argsort, scanned, searchsorted, sort
from numloom.api.ufunc import NO_VALUE, store
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.array.views import constant_of, has_no_number, in_tree
from numloom.base.dtypes import DTYPES, F64, ROUNDED, nan_of
from numloom.engine.routines import call
from numloom.graph import build
from numloom.graph.layout import c_strides, ordered_strides, reduced_strides

Array = Any
Position = Callable[[Any, Any], Any]

# ---------------------------------------------------------------- methods


class Method(NamedTuple):
    """A row of the table of methods.

    Attributes
    ----------
    position : callable
        Where, among n sorted elements, the quantile of level q lies: of NumPy's functions, so that n may be a
        number or one of our arrays.
    weight : callable or None
        Weight of the upper neighbour from the fraction and the position; None where the position is an element's.
    """

    position: Position
    weight: Callable[[Any, Any], Any] | None = lambda fraction, position: fraction


def _on_line(alpha: float, beta: float) -> Position:
    """Positions of a continuous method by its plotting constants."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _nearest_odd(n: Any, q: Any) -> Any:
    """The nearest element; of two equally near ones that with an odd position (an even number from one on)."""
    place = n * q - 1.5
    low = np.floor(place)
    return np.where((place == low) & (low % 2 == 1), low, low + 1)


def _half_where(halved: Any, other: float, level: Any) -> Any:
    """One half or another weight, of the dtype of the level."""
    return np.where(halved, 0.5, other).astype(level.dtype)


METHODS: dict[str, Method] = {
    "inverted_cdf": Method(lambda n, q: np.ceil(n * q - 1), None),
    "averaged_inverted_cdf": Method(
        lambda n, q: n * q - 1, lambda fraction, _: _half_where(fraction == 0, 1.0, fraction)
    ),
    "closest_observation": Method(_nearest_odd, None),
    "interpolated_inverted_cdf": Method(_on_line(0, 1)),
    "hazen": Method(_on_line(0.5, 0.5)),
    "weibull": Method(_on_line(0, 0)),
    "linear": Method(lambda n, q: (n - 1) * q),
    "median_unbiased": Method(_on_line(1 / 3.0, 1 / 3.0)),
    "normal_unbiased": Method(_on_line(3 / 8.0, 3 / 8.0)),
    "lower": Method(lambda n, q: np.floor((n - 1) * q), None),
    "higher": Method(lambda n, q: np.ceil((n - 1) * q), None),
    "midpoint": Method(
        lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
        lambda _, position: _half_where(position % 1 != 0, 0.0, position),
    ),
    "nearest": Method(lambda n, q: np.around((n - 1) * q), None),
}


class Places(NamedTuple):
    """Positions of the neighbours of a quantile, and the weight of the upper one (None: the quantile is `low`)."""

    low: Any
    high: Any
    weight: Any


def _places(n: Any, levels: Any, method: Method, name: str) -> Places:
    """Where quantiles lie among n elements: host arrays for a number n, recorded for an array."""
    position = method.position(n, levels)
    if method.weight is None or (name == "linear" and position.dtype.kind in "iu"):
        at = np.minimum(np.maximum(position, 0), np.maximum(n - 1, 0)).astype(np.int64)
        return Places(at, at, None)
    low = np.floor(position)
    # Beyond the ends both neighbours are the end itself, and the weight does not matter.
    low = np.where(position >= n - 1, n - 1, np.where(position < 0, 0, low))
    high = np.where(position < 0, 0, np.minimum(low + 1, n - 1))
    return Places(low.astype(np.int64), high.astype(np.int64), method.weight(position - low, position))


# ---------------------------------------------------------------- lines


class SortedLines(NamedTuple):
    """An array as lines along its last axis.

    Attributes
    ----------
    values : ndarray
        The lines: the axes that stay, then one of all the elements that are reduced.
    weights : ndarray or None
        Weights of the same shape.
    shape : tuple of int
        Shape of a reduction of the lines, as `keepdims` asks.
    """

    values: Any
    weights: Any
    shape: tuple[int, ...]


def _lines(array: Array, axis: Any, keepdims: Any, weights: Any = None) -> SortedLines:
    axes = tuple(range(array.ndim)) if axis is None else tuple(sorted(normal_axes(axis, array.ndim)))
    kept = [k for k in range(array.ndim) if k not in axes]
    lead = tuple(array.shape[k] for k in kept)
    count = prod(array.shape[k] for k in axes)

    def arranged(a: Array) -> Array:
        return (a.transpose((*kept, *axes)) if a.ndim else a).reshape((*lead, count))

    shape = lead
    if keepdims is not NO_VALUE and keepdims:
        shape = tuple(1 if k in axes else extent for k, extent in enumerate(array.shape))
    spread = None if weights is None else arranged(broadcast_to(weights, array.shape))
    return SortedLines(arranged(array), spread, shape)


def _taken(lines: Array, at: Any) -> Array:
    """Elements of lines at host positions (their shape comes first) or at recorded ones, a row of lines each."""
    if isinstance(at, np.ndarray):
        if not at.ndim:
            return lines[..., int(at)]
        return wrap(build.gather(node_of(lines), [node_of(asarray(at))], (lines.ndim - 1,), 0))
    count = prod(lines.shape[:-1])
    first = wrap(build.iota(count)).reshape(lines.shape[:-1]) * lines.shape[-1]
    return wrap(build.gather(node_of(lines.reshape(-1)), [node_of(at + first)], (0,), 0))


def _partitioned(lines: Array, positions: np.ndarray[Any, Any]) -> Array:
    """Lines in which the elements at `positions`, and the last one, are where sorting would put them."""
    n = lines.shape[-1]
    places = tuple(sorted({*positions.reshape(-1).tolist(), n - 1}))
    if len(places) > 16:
        return sort(lines, -1)
    order = {"kth": places, "axis": lines.ndim - 1}
    return wrap(call("partition", node_of(lines), code=lines.code, shape=lines.shape, order="K", **order))


def _between(low: Array, high: Array, weight: Any, weak: bool) -> Array:
    """Linear interpolation from the nearer end, which is what NumPy's bits come from."""
    distance = high - low
    rest = 1 - weight
    if isinstance(weight, np.ndarray) and not weight.ndim and weak:
        return high - distance * float(rest) if weight >= 0.5 else low + distance * float(weight)
    nearer = asarray(weight >= 0.5)
    weight, rest = asarray(weight), asarray(rest)
    if weak and low.dtype.kind == "f":
        # A Python number does not widen the result.
        weight, rest = weight.astype(low.dtype), rest.astype(low.dtype)
    return where(nearer, high - distance * rest, low + distance * weight)


# ---------------------------------------------------------------- arguments


class Levels(NamedTuple):
    """Levels of quantiles, and whether they were a Python number, which does not widen results.

    They are on the host, but where a tree does not know them: recorded then.
    """

    values: Any
    weak: bool


def _levels(q: Any, percent: bool) -> Levels:
    message = "Percentiles must be in the range [0, 100]" if percent else "Quantiles must be in [0, 1]"
    if has_no_number(q):
        levels = q / 100 if percent else q * 1.0
        return Levels(unless(~((levels >= 0) & (levels <= 1)).all(), levels, ValueError, message), False)
    given = np.asanyarray(q.get() if isinstance(q, ndarray) else q)
    if given.dtype.kind not in "biuf" and given.dtype not in DTYPES:
        raise TypeError(f"q must be real numbers, not {type(q).__name__}: float(q) makes one of what can be a number")
    values = np.asanyarray(np.true_divide(given, 100)) if percent else given
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError(message)
    return Levels(values, type(q) in (int, float))


def _checked(a: Any, q: Any, axis: Any, method: str, weights: Any, percent: bool) -> tuple[Array, Levels, Any]:
    array = asarray(a)
    if array.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    levels = _levels(q, percent)
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        weights = _aligned(asarray(weights), array, axis)
        if bool((weights < 0).any()):
            raise ValueError("Weights must be non-negative.")
    if levels.values.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    if method not in METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {METHODS.keys()}")
    return array, levels, weights


def _aligned(weights: Array, array: Array, axis: Any) -> Array:
    """Weights along some axes, shaped to broadcast with the array."""
    if weights.shape == array.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normal_axes(axis, array.ndim)
    if weights.shape != tuple(array.shape[k] for k in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return weights.transpose(order).reshape(tuple(e if k in axes else 1 for k, e in enumerate(array.shape)))


def _delivered(result: Array, shape: tuple[int, ...], out: Any, name: str) -> Array:
    if result.shape != shape:
        result = result.reshape(shape)
    if out is not None:
        casting = "unsafe" if name in _CAST_ANYHOW else "same_kind"
        return store(out, node_of(result), name, casting, exact=True)
    result.is_scalar = not shape
    return result


_CAST_ANYHOW = {"median", "nanmedian", "nanquantile", "nanpercentile"}
"""Which of these NumPy writes into an output of any dtype: it ends with a mean, or with an assignment."""


# ---------------------------------------------------------------- quantiles


@replayed
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Array:
    """Quantiles along axes; NaN where a line holds a NaN.

    Parameters
    ----------
    a : array_like
        Real values.
    q : array_like
        Levels from 0 to 1.
    axis : None, int or tuple of int
        Axes to go over; None for all.
    out : ndarray, optional
        Where the result goes.
    overwrite_input : bool
        Taken for NumPy's sake; nothing is overwritten.
    method : str
        How a quantile lies between elements: the nine methods of Hyndman and Fan ("inverted_cdf",
        "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear",
        "median_unbiased", "normal_unbiased"), or "lower", "higher", "midpoint", "nearest".
    keepdims : bool
        Whether the axes stay, with extent 1.
    weights : array_like, optional
        Weights, not negative, of the shape of `a` or of its extents along `axis`; with "inverted_cdf" only.

    Returns
    -------
    ndarray
        Axes of `q` first, then those of `a` that stay.

    Examples
    --------
    >>> import numloom as np
    >>> np.quantile(np.arange(5.0), [0.25, 0.9])
    array([1. , 3.6])
    """
    if in_tree(q) and not has_no_number(q) and method == "linear" and weights is None:
        return _by_levels(quantile, a, q, axis, out, keepdims)
    array, levels, weights = _checked(a, q, axis, method, weights, percent=False)
    return _quantiles(array, levels, axis, out, method, keepdims, weights)


@replayed
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Array:
    """Percentiles along axes: `quantile` of levels from 0 to 100."""
    if in_tree(q) and not has_no_number(q) and method == "linear" and weights is None:
        return _by_levels(percentile, a, q, axis, out, keepdims)
    array, levels, weights = _checked(a, q, axis, method, weights, percent=True)
    return _quantiles(array, levels, axis, out, method, keepdims, weights)


def _by_levels(function: Any, a: Any, q: Any, axis: Any, out: Any, keepdims: Any) -> Array:
    """Quantiles at levels of a tree: the neighbours are found by their numbers, and the slope lies between these."""
    array, levels = asarray(a), asarray(q)
    fixed = constant_of(levels).get()
    options: dict[str, Any] = {"axis": axis} if keepdims is NO_VALUE else {"axis": axis, "keepdims": keepdims}
    low, high = (function(array, fixed, method=method, **options) for method in ("lower", "higher"))
    known = array == array if function in (nanquantile, nanpercentile) else array.astype(bool) | True
    steps = known.sum(**options) - 1
    slope = (high - low) * (steps / 100 if function in (percentile, nanpercentile) else steps)
    result = function(array, fixed, **options)
    if not isfinite(slope).all():
        levels.get()  # Beside an infinite number there is no slope.
    # A level less itself is 0, and has the derivative of the level.
    moved = (levels - fixed).reshape((*levels.shape, *((1,) * (result.ndim - levels.ndim))))
    return _delivered(result + (slope * moved).astype(result.dtype), result.shape, out, "quantile")


def _quantiles(array: Array, levels: Levels, axis: Any, out: Any, method: str, keepdims: Any, weights: Any) -> Array:
    lines = _lines(array, axis, keepdims, weights)
    n = lines.values.shape[-1]
    if not n:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    if weights is not None:
        order, share = _distribution(lines, levels, array.dtype.kind == "f")
        result = _taken(order, _reached(share, levels.values, n - 1))
    else:
        known = isinstance(levels.values, np.ndarray)
        places = _places(n, levels.values if known else _spread(levels.values, lines.values), METHODS[method], method)
        if known:
            used = places.low if places.weight is None else np.concatenate((places.low.ravel(), places.high.ravel()))
        order = _partitioned(lines.values, used) if known else sort(lines.values, -1)
        result = _taken(order, places.low)
        if places.weight is not None:
            weight = _spread(places.weight, order) if known else places.weight
            result = _between(result, _taken(order, places.high), weight, levels.weak)
    if array.dtype.kind == "f":
        last = order[..., -1]
        result = where(last != last, last.astype(result.dtype), result)
    result = relaid(result, c_strides(result.shape, result.itemsize))
    return _delivered(result, (*levels.values.shape, *lines.shape), out, "quantile")


def _spread(levels: Any, lines: Array) -> Any:
    """One number a level, shaped to stand before the axes that stay."""
    return levels.reshape((*levels.shape, *((1,) * (lines.ndim - 1)))) if levels.ndim else levels


# ---------------------------------------------------------------- weights


def _distribution(lines: SortedLines, levels: Levels, with_nan: bool, without_nan: bool = False) -> tuple[Array, Array]:
    """Sorted lines and the share of all weight up to each element; ValueError for weights that have no sum."""
    n = lines.values.shape[-1]
    index = argsort(lines.values, -1)
    count = prod(lines.values.shape[:-1])
    flat = index + wrap(build.iota(count)).reshape((*lines.values.shape[:-1], 1)) * n
    order, weights = (
        wrap(build.gather(node_of(a.reshape(-1)), [node_of(flat)], (0,), 0)) for a in (lines.values, lines.weights)
    )
    if without_nan and with_nan:
        weights = where(order != order, 0, weights)
    share = scanned("add", weights, -1, np.float64, None, "cumsum")
    share = share / share[..., -1:]
    broken = share[..., -1] != share[..., -1]
    if without_nan and with_nan:
        first = order[..., 0]
        broken = broken & (first == first)
    if bool(broken.any()):
        raise ValueError("Weights included NaN, inf or were all zero.")
    if levels.values.dtype.kind == "f":
        share = share.astype(levels.values.dtype)
    # Elements of no weight at the start are no quantile of level 0.
    return order, where(share == 0, -1, share)


def _reached(share: Array, levels: np.ndarray[Any, Any], last: Any) -> Array:
    """Position of the first element whose share reaches each level, in each line; levels come first."""
    flat = np.asarray(levels, np.float64).reshape(-1)
    if share.ndim == 1:
        place = searchsorted(share, asarray(flat))
    else:
        level = asarray(flat).reshape((-1, *((1,) * share.ndim)))
        place = (share < level).sum(-1)
    place = place.reshape((*levels.shape, *share.shape[:-1]))
    return np.minimum(place, last)


# ---------------------------------------------------------------- without NaN


@replayed
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NO_VALUE,
    *,
    weights: Any = None,
) -> Array:
    """`quantile` of the elements that are not NaN; NaN where there are none."""
    if in_tree(q) and not has_no_number(q) and method == "linear" and weights is None:
        return _by_levels(nanquantile, a, q, axis, out, keepdims)
    array, levels, weights = _checked(a, q, axis, method, weights, percent=False)
    return _nan_quantiles(array, levels, axis, out, method, keepdims, weights)


@replayed
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NO_VALUE,
    *,
    weights: Any = None,
) -> Array:
    """`percentile` of the elements that are not NaN; NaN where there are none."""
    if in_tree(q) and not has_no_number(q) and method == "linear" and weights is None:
        return _by_levels(nanpercentile, a, q, axis, out, keepdims)
    array, levels, weights = _checked(a, q, axis, method, weights, percent=True)
    return _nan_quantiles(array, levels, axis, out, method, keepdims, weights)


def _nan_quantiles(
    array: Array, levels: Levels, axis: Any, out: Any, method: str, keepdims: Any, weights: Any
) -> Array:
    if not array.size:
        return nanmean(array, axis, out=out, keepdims=keepdims)
    lines = _lines(array, axis, keepdims, weights)
    shape = (*levels.values.shape, *lines.shape)
    if array.dtype.kind == "f":
        result = _without_nan(lines, levels, method)
    elif out is not None:
        return _quantiles(array, levels, axis, out, method, keepdims, weights)
    else:
        result = _quantiles(array, levels, axis, None, method, keepdims, weights)
    if axis is not None and out is None:
        # NumPy goes line by line: what it finds of a line lies together.
        count = levels.values.ndim
        order = (*range(count, len(shape)), *range(count))
        result = relaid(result.reshape(shape), ordered_strides(shape, order, result.itemsize))
    return _delivered(result, shape, out, "nanquantile")


def _without_nan(lines: SortedLines, levels: Levels, method: str) -> Array:
    """Quantiles of the numbers of each line."""
    n = (lines.values == lines.values).sum(-1)
    if lines.weights is not None:
        order, share = _distribution(lines, levels, True, without_nan=True)
        return _taken(order, _reached(share, levels.values, np.maximum(n - 1, 0)))
    order = sort(lines.values, -1)
    places = _places(n, _spread(levels.values, order), METHODS[method], method)
    # A line of nothing but NaN is read anywhere.
    low, high = (np.maximum(place, 0) for place in (places.low, places.high))
    result = _taken(order, low)
    if places.weight is None:
        return result
    return _between(result, _taken(order, high), places.weight, levels.weak)


# ---------------------------------------------------------------- medians


@replayed
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    """The middle of the sorted elements along axes, the mean of the two middle ones of an even number.

    Parameters
    ----------
    a : array_like
        Values.
    axis : None, int or tuple of int
        Axes to go over; None for all.
    out : ndarray, optional
        Where the result goes.
    overwrite_input : bool
        Taken for NumPy's sake; nothing is overwritten.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    ndarray
        NaN where a line holds a NaN or nothing.
    """
    array = asarray(a)
    lines = _lines(array, axis, keepdims)
    n = lines.values.shape[-1]
    if not n:
        code = F64 if array.dtype.kind in "biu" else array.code
        middle = wrap(build.full(nan_of(code), code, lines.shape))
        return _delivered(middle, lines.shape, out, "median")
    order = _partitioned(lines.values, np.array([(n - 1) // 2, n // 2]))
    middle = _mean_of(order[..., (n - 1) // 2], order[..., n // 2], n % 2)
    if array.dtype.kind in "fc":
        last = order[..., -1]
        middle = where(last != last, last, middle)
    # NumPy sorts a copy in the array's own order, where an axis that repeats is the fastest.
    order = sorted(range(middle.ndim), key=lambda k: -abs(lines.values.strides[k]))
    middle = relaid(middle, ordered_strides(middle.shape, order, middle.itemsize))
    return _delivered(middle, lines.shape, out, "median")


@replayed
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = NO_VALUE
) -> Array:
    """`median` of the elements that are not NaN; NaN where there are none."""
    array = asarray(a)
    if not array.size:
        return nanmean(array, axis, out=out, keepdims=keepdims)
    if array.dtype.kind not in "fc":
        return median(array, axis, out, overwrite_input, keepdims is not NO_VALUE and bool(keepdims))
    lines = _lines(array, axis, keepdims)
    n = (lines.values == lines.values).sum(-1)
    order = sort(lines.values, -1)
    low, high = (_taken(order, np.maximum(place, 0)) for place in ((n - 1) // 2, n // 2))
    # A line of nothing but NaN has none that is not.
    result = where(n % 2 == 1, low, _mean_of(low, high)).reshape(lines.shape)
    if out is None and axis is not None:
        axes = tuple(sorted(normal_axes(axis, array.ndim)))
        kept = keepdims is not NO_VALUE and bool(keepdims)
        result = relaid(result, reduced_strides(array.shape, array.strides, axes, kept, result.itemsize))
    return _delivered(result, lines.shape, out, "nanmedian")


def _mean_of(low: Array, high: Array, same: int = 0) -> Array:
    """The mean of two arrays (of one, if they are the same) as NumPy takes it: integers as float64, float16
    and the like wider.
    """
    if same:
        return low.astype(np.float64) if low.dtype.kind in "biu" else low
    if low.dtype.kind in "biu":
        return (low.astype(np.float64) + high.astype(np.float64)) / 2
    if low.code in ROUNDED:
        return ((low.astype(np.float32) + high.astype(np.float32)) / 2).astype(low.dtype)
    return (low + high) / 2


__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]
