"""Order statistics, covariances, histograms."""

from __future__ import annotations

from collections.abc import Callable
from operator import index as as_index
from typing import Any

import numpy as np

from numloom.api.manipulation import concatenate, moveaxis, normal_axes
from numloom.api.products import matmul
from numloom.api.sorting import searchsorted, sort
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, store_result, wrap
from numloom.base.dtypes import BOOL, C128, F16, F32, F64, I64, KINDS, code_of
from numloom.engine.routines import call
from numloom.graph import build
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

WHERE = ELEMENTWISE["where"]


# ---------------------------------------------------------------- quantiles


def _on_line(alpha: float, beta: float) -> Callable[[int, Any], Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


_POSITIONS: dict[str, Callable[[int, Any], Any]] = {
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "interpolated_inverted_cdf": _on_line(0, 1),
    "hazen": _on_line(0.5, 0.5),
    "weibull": _on_line(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _on_line(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _on_line(3 / 8.0, 3 / 8.0),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
}
"""Position among the n sorted elements, between two of them."""

_ELEMENTS: dict[str, Callable[[int, Any], Any]] = {
    "inverted_cdf": lambda n, q: np.ceil(n * q) - 1,
    "closest_observation": lambda n, q: np.where(
        ((n * q - 1.5) == np.floor(n * q - 1.5)) & (np.floor(n * q - 1.5) % 2 == 1),
        np.floor(n * q - 1.5),
        np.floor(n * q - 1.5) + 1,
    ),
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.around((n - 1) * q),
}
"""Position of one of the n sorted elements."""


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """The q-th quantiles along axes, by any of NumPy's methods; NaN where there is a NaN."""
    levels = np.asanyarray(q.get() if isinstance(q, ndarray) else q)
    array = asarray(a)
    if levels.dtype.kind == "f" and array.dtype.kind == "f" and isinstance(q, float):
        levels = levels.astype(array.dtype)
    return _quantiles(array, levels, axis, out, method, keepdims)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """The q-th percentiles along axes; see `quantile`."""
    array = asarray(a)
    levels = np.asanyarray(q.get() if isinstance(q, ndarray) else q)
    percent = array.dtype.type(100) if array.dtype.kind == "f" and isinstance(q, (int, float)) else 100
    levels = np.asanyarray(np.true_divide(q if isinstance(q, (int, float)) else levels, percent))
    if not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return _quantiles(array, levels, axis, out, method, keepdims)


def _quantiles(array: Array, levels: np.ndarray[Any, Any], axis: Any, out: Any, method: str, keepdims: bool) -> Array:
    if array.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if array.dtype.kind == "b":
        raise TypeError(
            "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` "
            "operator, or the logical_xor function instead."
        )
    if not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    if method not in _POSITIONS and method not in _ELEMENTS:
        raise ValueError(
            f"{method!r} is not a valid method. Use one of: {dict.fromkeys([*_POSITIONS, *_ELEMENTS]).keys()}"
        )
    ordered, shape = _sorted_last(array, axis, keepdims)
    n = ordered.shape[-1]
    if n == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    flat = levels.reshape(-1)
    if method in _ELEMENTS:
        at = np.clip(_ELEMENTS[method](n, flat), 0, n - 1).astype(np.int64)
        result = moveaxis(_taken_last(ordered, at), -1, 0)
    else:
        position = np.asanyarray(_POSITIONS[method](n, flat))
        position = np.clip(position, 0, n - 1)
        low = np.floor(position).astype(np.int64)
        gamma = position - np.floor(position)
        if method == "averaged_inverted_cdf":
            # A position on an element averages it with the next, one between two takes the upper.
            gamma = np.where(gamma == 0, 0.5, 1.0).astype(gamma.dtype)
            gamma[n * flat - 1 < 0] = 0
        elif method == "midpoint":
            gamma = np.where(gamma == 0, 0.0, 0.5).astype(gamma.dtype)
        high = np.minimum(low + 1, n - 1)
        result = moveaxis(_between(_taken_last(ordered, low), _taken_last(ordered, high), gamma), -1, 0)
    if array.dtype.kind == "f":
        last = ordered[..., -1:]
        result = moveaxis(_where(last != last, last, moveaxis(result, 0, -1)), -1, 0)
    return _stored(result.reshape((*levels.shape, *shape)), out, "quantile")


def _sorted_last(array: Array, axis: Any, keepdims: bool) -> tuple[Array, tuple[int, ...]]:
    """The array sorted along one last axis made of `axis`, and the shape of a reduction over it."""
    axes = tuple(range(array.ndim)) if axis is None else normal_axes(axis, array.ndim)
    kept = [k for k in range(array.ndim) if k not in axes]
    moved = array.transpose((*kept, *axes)) if array.ndim else array
    shape = tuple(array.shape[k] for k in kept)
    moved = moved.reshape((*shape, -1)) if array.size else moved.reshape((*shape, *_count(array, axes)))
    if keepdims:
        shape = tuple(1 if k in axes else extent for k, extent in enumerate(array.shape))
    return sort(moved, -1), shape


def _count(array: Array, axes: tuple[int, ...]) -> tuple[int]:
    count = 1
    for axis in axes:
        count *= array.shape[axis]
    return (count,)


def _taken_last(ordered: Array, at: np.ndarray[Any, Any]) -> Array:
    node = node_of(ordered)
    axis = len(node.shape) - 1
    return wrap(build.gather(node, [node_of(asarray(at))], (axis,), axis))


def _between(low: Array, high: Array, gamma: np.ndarray[Any, Any]) -> Array:
    """Linear interpolation that NumPy's bits agree with: from the nearer end."""
    weight = asarray(gamma if low.dtype.kind == "f" and gamma.dtype.kind == "f" else gamma.astype(np.float64))
    distance = high - low
    upper = high - distance * (1 - weight)
    lower = low + distance * weight
    return _where(weight >= 0.5, upper, lower)


def _where(condition: Array, x: Array, y: Array) -> Array:
    return wrap(build.elementwise(WHERE, [node_of(condition), node_of(x), node_of(y)]))


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    """The middle of the sorted elements along axes; the mean of the two middle ones of an even number."""
    array = asarray(a)
    ordered, shape = _sorted_last(array, axis, keepdims)
    n = ordered.shape[-1]
    if n == 0:
        middle = wrap(build.full(float("nan"), F64 if array.dtype.kind in "biu" else array.code, shape))
        return _stored(middle, out, "median")
    low, high = ordered[..., (n - 1) // 2], ordered[..., n // 2]
    if array.dtype.kind in "biu":
        low, high = low.astype(np.float64), high.astype(np.float64)
    # NumPy's mean of the middle elements; float16 sums in float32.
    if array.dtype == np.float16:
        middle = low if n % 2 else ((low.astype(np.float32) + high.astype(np.float32)) / 2).astype(np.float16)
    else:
        middle = low if n % 2 else (low + high) / 2
    if array.dtype.kind in "fc":
        last = ordered[..., -1]
        middle = _where(last != last, last, middle)
    return _stored(middle.reshape(shape), out, "median")


def _stored(result: Array, out: Any, name: str) -> Array:
    if out is None:
        result.is_scalar = not result.shape
        return result
    return store_result(out, result, name)


# ---------------------------------------------------------------- covariance


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Array:
    """Covariance matrix of variables in rows (in columns if not `rowvar`)."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = asarray(m)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    other = None if y is None else asarray(y)
    if other is not None and other.ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(x.dtype, np.float64, *(() if other is None else (other.dtype,)))
    x = _variables(x, rowvar, dtype)
    if not x.shape[0]:
        return wrap(build.full(0.0, F64, (0, 0)))
    if other is not None:
        x = concatenate((x, _variables(other, rowvar or other.ndim == 1, dtype)), 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = _weights(fweights, aweights, x.shape[1])
    if weights is None:
        average = x.mean(1)
        factor: Any = x.shape[1] - ddof
    else:
        total = weights.sum()
        average = (x * weights).sum(1) / total
        if ddof == 0:
            factor = total
        elif aweights is None:
            factor = total - ddof
        else:
            factor = total - ddof * (weights * asarray(aweights)).sum() / total
    if not isinstance(factor, ndarray):
        factor = float(max(factor, 0))
    x = x - average[:, None]
    turned = (x if weights is None else x * weights).T
    result = matmul(x, turned.conj() if x.dtype.kind == "c" else turned)
    return (
        result * np.true_divide(1, factor) if not isinstance(factor, ndarray) and factor else result / factor
    ).squeeze()


def _variables(x: Array, rowvar: bool, dtype: Any) -> Array:
    x = x.reshape((1, -1)) if x.ndim < 2 else x
    return (x if rowvar or x.shape[0] == 1 else x.T).astype(dtype)


def _weights(fweights: Any, aweights: Any, count: int) -> Array | None:
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        array = asarray(given)
        if name == "fweights" and array.dtype.kind not in "biu" and not bool((array == array.round()).all()):
            raise TypeError("fweights must be integer")
        if array.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if array.shape != (count,):
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if bool((array < 0).any()):
            raise ValueError(f"{name} cannot be negative")
        weights = array if weights is None else weights * array
    return weights


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    """Correlation coefficients of variables in rows."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviation = wrap(build.unary(ELEMENTWISE["sqrt"], node_of(c.diagonal().real)))
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind == "c":
        c.real, c.imag = c.real.clip(-1, 1), c.imag.clip(-1, 1)
        return c
    return c.clip(-1, 1)


# ---------------------------------------------------------------- counting


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """How often each whole number occurs, or the sum of its weights."""
    array = asarray(x)
    if array.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if array.ndim else "object of too small depth for desired array"
        )
    listed = type(x) is not ndarray and not isinstance(x, np.ndarray)
    if array.dtype.kind not in ("biuf" if listed else "biu"):
        raise TypeError(f"Cannot cast array data from {array.dtype!r} to dtype('int64') according to the rule 'safe'")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    numbers = node_of(array) if array.dtype.kind in "iu" else build.cast(node_of(array), I64)
    if weights is None:
        return wrap(call("bincount", numbers, minlength=as_index(minlength)))
    amounts = asarray(weights)
    if amounts.shape != array.shape:
        raise ValueError("The weights and list don't have the same length.")
    if amounts.dtype.kind == "c":
        raise TypeError(
            f"Cannot cast array data from {amounts.dtype!r} to dtype('float64') according to the rule 'safe'"
        )
    if not array.size:
        return wrap(build.full(0, I64, (as_index(minlength),)))
    node = build.cast(node_of(amounts), F64)
    length = minlength
    if array.size:
        low, high = (int(value) for value in (array.min(), array.max()))
        if low < 0:
            raise ValueError("'list' argument must have no negative elements")
        length = max(length, high + 1)
    return wrap(call("weighted_bincount", numbers, node, code=F64, shape=(length,), minlength=length))


def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """The bin that each element falls in: bins are increasing or decreasing edges."""
    array = asarray(x)
    if array.dtype.kind == "c":
        raise TypeError("x may not be complex")
    edges = asarray(bins)
    if edges.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if edges.ndim else "object of too small depth for desired array"
        )
    host = edges.get()
    steps = np.sign(host[1:].astype(np.float64) - host[:-1].astype(np.float64))
    side = "left" if right else "right"
    if (steps >= 0).all():
        return searchsorted(edges, array, side)
    if (steps <= 0).all():
        return edges.size - searchsorted(edges[::-1], array, "left" if side == "right" else "right")
    raise ValueError("bins must be monotonically increasing or decreasing")


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """The edges of the bins that `histogram` counts in."""
    array = asarray(a).ravel()
    return asarray(_edges(array, bins, range, weights))


def _edges(array: Array, bins: Any, limits: Any, weights: Any) -> np.ndarray[Any, Any]:
    """Edges on the host: their number is that of the bins."""
    if isinstance(bins, str):
        return np.histogram_bin_edges(array.get(), bins, limits, None if weights is None else asarray(weights).get())
    given = bins.get() if isinstance(bins, ndarray) else bins
    if np.ndim(given):
        return np.histogram_bin_edges(np.empty(0), given, limits)
    # NumPy makes the edges from the two ends of the data alone.
    ends = np.empty(0, array.dtype)
    if limits is None and array.size:
        ends = np.array([array.min().get(), array.max().get()])
    return np.histogram_bin_edges(ends, given, limits)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Array, Array]:
    """Counts (or sums of weights) of elements in bins, and the edges of the bins."""
    array = asarray(a).ravel()
    if array.code == BOOL:
        array = array.astype(np.uint8)
    amounts = None
    if weights is not None:
        amounts = asarray(weights)
        if amounts.shape != asarray(a).shape:
            raise ValueError("weights should have the same shape as a.")
        amounts = amounts.ravel()
    edges = _edges(array, bins, range, weights)
    count = edges.size - 1
    sides = asarray(edges)
    code = code_of(np.result_type(array.dtype, edges.dtype))
    if amounts is None and KINDS[code] != "c":
        # Values are compared in the wider of both dtypes, float16 in float32, which holds the same numbers.
        between = build.cast(node_of(sides), F32 if code == F16 else code)
        uniform = not np.ndim(bins)
        total = wrap(call("histogram", node_of(array), between, code=I64, shape=(count,), uniform=uniform))
        return _density(total, edges, sides, density)
    # The last bin holds its right edge, too.
    place = searchsorted(sides, array, "right")
    place = place - ((array == sides[-1:]) & (place == count + 1)).astype(np.int64)
    # Everything outside goes to two more bins, cut off afterwards; NaN is sorted behind the last edge.
    if amounts is None:
        total = bincount(place, minlength=count + 2)[1 : count + 1]
    elif amounts.dtype.kind == "c":
        parts = [bincount(place, part, count + 2)[1 : count + 1] for part in (amounts.real, amounts.imag)]
        total = wrap(build.full(0, C128, (count,)))
        total.real, total.imag = parts
    else:
        total = bincount(place, amounts, count + 2)[1 : count + 1]
        if amounts.dtype.kind in "iu" or (amounts.code != F64 and amounts.dtype.kind == "f"):
            total = total.astype(amounts.dtype)
    return _density(total.copy(), edges, sides, density)


def _density(total: Array, edges: np.ndarray[Any, Any], sides: Array, density: bool | None) -> tuple[Array, Array]:
    """Counts, or what share of them falls on a unit of the axis, and the edges."""
    if not density:
        return total, sides
    widths = asarray(np.diff(edges).astype(np.float64))
    return total / widths / total.sum(), sides


# ---------------------------------------------------------------- signals


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """Discrete convolution of two vectors."""
    x, y = _vectors(a), _vectors(v)
    if not x.size:
        raise ValueError("a cannot be empty")
    if not y.size:
        raise ValueError("v cannot be empty")
    if y.size > x.size:
        x, y = y, x
    turned = y[::-1]
    return _correlated(x, turned.conj() if y.dtype.kind == "c" else turned, mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """Cross-correlation of two vectors; `v` is conjugated."""
    x, y = _vectors(a), _vectors(v)
    if not x.size:
        raise ValueError("first array argument cannot be empty")
    if not y.size:
        raise ValueError("second array argument cannot be empty")
    if y.size > x.size:
        result = _correlated(y, x, mode)[::-1]
        return (result.conj() if result.dtype.kind == "c" else result).copy()
    return _correlated(x, y, mode)


def _vectors(a: Any) -> Array:
    array = asarray(a)
    array = array.reshape(1) if not array.ndim else array
    if array.ndim > 1:
        raise ValueError("object too deep for desired array")
    return array


def _correlated(x: Array, y: Array, mode: str) -> Array:
    modes = {"full": x.size + y.size - 1, "same": x.size, "valid": x.size - y.size + 1}
    if mode not in modes:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    code = code_of(np.result_type(x.dtype, y.dtype))
    nodes = build.cast(node_of(x), code), build.cast(node_of(y), code)
    return wrap(call("correlate", *nodes, code=code, shape=(modes[mode],), mode=mode))


__all__ = [
    "bincount",
    "convolve",
    "corrcoef",
    "correlate",
    "cov",
    "digitize",
    "histogram",
    "histogram_bin_edges",
    "median",
    "percentile",
    "quantile",
]
