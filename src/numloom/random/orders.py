"""Orders and samples: sorting by random keys, on the device; whole numbers without a bias."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numloom.api.calling import drawn
from numloom.api.manipulation import broadcast_to, moveaxis, normal_axis
from numloom.api.sorting import argsort, cumsum, searchsorted, sort
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, store_result, wrap
from numloom.base.dtypes import DTYPES, I64, ITEMSIZES, KINDS, U64, code_of, native, resolved
from numloom.base.errors import casting_error
from numloom.base.integers import as_integer, is_integer
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.ops.elementwise import ELEMENTWISE
from numloom.random.distributions import MOST_COLOURS, Distributions, split_between
from numloom.random.parameters import apply, drawn_shape, refuse, shape_of

try:
    from numloom.random import _drawn  # type: ignore[attr-defined]
except ImportError:
    _drawn = None

Array = Any

_WORD = 1 << 64
_LIMIT = 1 << 62
_BELOW = ELEMENTWISE["random_below64"]
_SPARSE = 1 << 16
"""Populations from here on are not sorted for a sample of less than a sixteenth."""


_LIMITS = {
    code: (0, 1) if KINDS[code] == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    for code, dtype in enumerate(DTYPES)
    if KINDS[code] in "biu"
}
"""Least and largest number by dtype code."""


class Orders(Distributions):
    """Orders, samples and whole numbers of a bit generator."""

    # ------------------------------------------------------------ whole numbers

    def _integers(self, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool, name: str) -> Array:
        few = None
        if type(low) is int and (high is None or type(high) is int) and (dtype is np.int64 or dtype is int):
            few = self._few_integers(0 if high is None else low, (low if high is None else high) - (not endpoint), size)
        return self._recorded_integers(low, high, size, dtype, endpoint, name) if few is None else few

    def _few_integers(self, first: int, last: int, size: Any) -> Array | None:
        """One whole number between these, or a short vector of such, drawn at once; None where draws are recorded."""
        if _drawn is None or not -_LIMIT <= first <= last < _LIMIT:
            return None
        return _drawn.integers(self._bit_generator, _BELOW, U64, size, first % _WORD, last - first + 1, I64)

    @drawn
    def _recorded_integers(self, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool, name: str) -> Array:
        given = resolved(dtype)
        asked = native(given)
        if asked.kind not in "biu":
            raise TypeError(f"Unsupported dtype {given!r} for {name}")
        code = code_of(asked)
        if asked != given and name == "integers":  # Of RandomState NumPy's are the machine's, too.
            raise ValueError(
                f"dtype {given.str} is not in this machine's byte order, in which draws are: draw them as "
                f"{asked} and call byteswap"
            )
        alone = high is None
        if alone:
            low, high = 0, low
        limits = _LIMITS[code]
        if isinstance(low, ndarray) or isinstance(high, ndarray):
            return self._between_arrays(low, high, size, code, endpoint, limits)
        bounds: tuple[Any, ...] = tuple([x if type(x) is int else _whole(x) for x in (low, high)])
        first, last = bounds
        last = last if endpoint else last - 1
        one = type(first) is int and type(last) is int
        if one and limits[0] <= first <= last <= limits[1]:
            amount, start = (build.scalar(x % _WORD, U64) for x in (last - first + 1, first))
            return self._from(start, amount, shape_of(size), code)
        if np.any(first < limits[0]):
            raise ValueError(f"low is out of bounds for {DTYPES[code].name}")
        if np.any(last > limits[1]):
            raise ValueError(f"high is out of bounds for {DTYPES[code].name}")
        if np.any(first > last):
            if alone:
                raise ValueError("high < 0" if endpoint else "high <= 0")
            raise ValueError("low > high" if endpoint else "low >= high")
        shape = drawn_shape(size, first, last)
        # Python integers until here: a range may have 2**64 numbers (then 0 stands for the count).
        amount, start = (
            build.scalar(int(x), U64) if not np.ndim(x) else node_of(asarray(x.astype(np.uint64)))
            for x in ((last - first + 1) % _WORD, first % _WORD)
        )
        return self._from(start, amount, shape, code)

    def _between_arrays(
        self, low: Any, high: Any, size: Any, code: int, endpoint: bool, limits: tuple[int, int]
    ) -> Array:
        """As `_integers`; bounds that are numloom arrays are checked when the result is looked at."""
        name = DTYPES[code].name
        low, high = (_bound(x) for x in (low, high))
        most = limits[1] + (not endpoint)
        # What the bounds' own dtype cannot exceed needs no check.
        if np.iinfo(low.dtype).min < limits[0]:
            low = refuse(low, low < limits[0], f"low is out of bounds for {name}")
        if np.iinfo(high.dtype).max > most:
            high = refuse(high, high > most, f"high is out of bounds for {name}")
        wrong = low > high if endpoint else low >= high
        high = refuse(high, wrong, "low > high" if endpoint else "low >= high")
        start, end = (build.cast(node_of(x), U64) for x in (low, high))
        amount = build.binary(ELEMENTWISE["subtract"], end, start)
        if endpoint:
            amount = build.binary(ELEMENTWISE["add"], amount, 1)
        return self._from(start, amount, drawn_shape(size, low, high), code)

    def _from(self, start: Any, amount: Any, shape: tuple[int, ...], code: int) -> Array:
        """`amount` numbers from `start` on, each as likely (Lemire 2019)."""
        bits = 64 if ITEMSIZES[code] == 8 else 32
        places = self._bit_generator.places(shape, 128 // bits)
        number = build.elementwise(ELEMENTWISE[f"random_below{bits}"], [*places, amount])
        return wrap(build.cast(build.binary(ELEMENTWISE["add"], build.cast(number, U64), start), code))

    def bytes(self, length: int) -> bytes:
        """Random bytes, on the host.

        Parameters
        ----------
        length : int
            How many.
        """
        length = max(int(length), 0)
        words = self._bit_generator.random_raw((-(-length // 8),))
        return words.get().astype("<u8").tobytes()[:length]  # type: ignore[no-any-return]

    # ------------------------------------------------------------ orders

    def _order(self, *shape: int) -> Array:
        """The positions along the last axis in random order: random keys are sorted."""
        keys = self._bit_generator.random_raw(shape)
        width = max(shape[-1] - 1, 0).bit_length()
        if 3 * width > 64:
            return argsort(keys, -1, stable=True)
        # Positions in the low bits of the keys are sorted with them; so few bits are taken that no two keys are equal
        # above them, but for one order in eight at most.
        positions = wrap(build.cast(build.iota(shape[-1]), U64))
        return (sort((keys >> width << width) | positions, -1) & ((1 << width) - 1)).astype(np.int64)

    def _permutation(self, x: Any, axis: int) -> Array:
        if is_integer(x):
            return self._order(max(int(x), 0))
        array = asarray(x)
        axis = normal_axis(axis, array.ndim)
        return _taken(array, self._order(array.shape[axis]), axis)

    def _shuffle(self, x: Any, axis: int) -> None:
        if isinstance(x, (ndarray, np.ndarray)):
            if not x.ndim:
                raise TypeError("len() of unsized object")
            axis = normal_axis(axis, x.ndim)
            order = self._order(x.shape[axis])
            x[...] = _taken(x, order, axis) if isinstance(x, ndarray) else np.take(x, order.get(), axis)
            return
        count = len(x)
        if axis != 0:
            raise NotImplementedError("Axis argument is only supported on ndarray objects")
        if not hasattr(x, "__setitem__"):
            raise TypeError(f"{type(x).__name__!r} object does not support item assignment")
        if not isinstance(x, Sequence):
            raise TypeError(
                f"shuffle takes arrays of numloom's or NumPy's, and lists and the like; got {type(x).__name__!r}"
            )
        given: Any = x
        for place, item in enumerate([given[k] for k in self._order(count).tolist()]):
            given[place] = item

    def _permuted(self, x: Any, axis: int | None, out: Any) -> Array:
        array = asarray(x)
        if not array.ndim:
            raise TypeError("len() of unsized object")
        if out is not None and not isinstance(out, ndarray):
            raise TypeError("out must be a numloom array")
        if out is not None and out.shape != array.shape:
            raise ValueError("out must have the same shape as x")
        if out is not None and not np.can_cast(array.dtype, out.dtype, "safe"):
            raise casting_error("permuted", "safe", array.code, out.code)
        if axis is None:
            result = _taken(array.ravel(), self._order(array.size), 0).reshape(array.shape)
        else:
            axis = normal_axis(axis, array.ndim)
            moved = moveaxis(array, axis, -1)
            # Positions among all elements: those of the row, and where the row begins.
            starts = wrap(build.view(build.iota(moved.size), I64, 0, moved.shape, c_strides(moved.shape, 8)))
            order = self._order(*moved.shape) + starts[..., :1]
            result = moveaxis(_taken(moved.ravel(), order.ravel(), 0).reshape(moved.shape), -1, axis)
        return result if out is None else store_result(out, wrap(node_of(result)), "permuted")

    # ------------------------------------------------------------ samples

    def _choice(self, a: Any, size: Any, replace: bool, p: Any, axis: int) -> Array:
        array = None
        if is_integer(a):
            population = int(a)
        else:
            array = asarray(a)
            if not array.ndim:
                raise ValueError(f"a must be a sequence or an integer, not {type(a)}")
            axis = normal_axis(axis, array.ndim)
            population = array.shape[axis]
        shape = shape_of(size)
        amount = prod(shape)
        if population <= 0 and amount:
            raise ValueError(
                "a must be a positive integer unless no samples are taken"
                if array is None
                else "a cannot be empty unless no samples are taken"
            )
        if p is not None:
            p = _probabilities(p, population)
        index = self._with(population, shape, p) if replace else self._without(population, shape, p)
        if array is None:
            index.is_scalar = not index.shape
            return index
        return _taken(array, index, axis)

    def _with(self, population: int, shape: tuple[int, ...], p: Any) -> Array:
        """Positions, each drawn from all."""
        if not prod(shape):
            return asarray(np.zeros(shape, np.int64))
        if p is None:
            return self._integers(0, population, shape, np.int64, False, "integers")
        edges = cumsum(p) if isinstance(p, ndarray) else np.cumsum(p)
        return searchsorted(asarray(edges / edges[-1]), self._uniform(shape), "right")

    def _without(self, population: int, shape: tuple[int, ...], p: Any) -> Array:
        """Positions that are all different."""
        amount = prod(shape)
        if amount > population:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        if p is not None:
            possible = p > 0
            message = "Fewer non-zero entries in p than size"
            p = refuse(p, possible.sum() < amount, message)
            # The first of independent exponential clocks with these rates (Efraimidis and Spirakis 2006).
            p = asarray(p)
            clocks = apply("where", p > 0, self._exponential(population) / p, np.inf)
            return argsort(clocks)[:amount].reshape(shape)
        if population >= _SPARSE and population >= 16 * amount:
            # The first positions of a random order that is never stored.
            own = ELEMENTWISE["random_bits64"].numpy(0, *self._bit_generator.reserve(1))
            nodes = [build.cast(build.iota(amount), U64), build.scalar(int(own), U64), build.scalar(population, U64)]
            return wrap(build.elementwise(ELEMENTWISE["random_position"], nodes)).reshape(shape)
        return self._order(population)[:amount].reshape(shape)


def split_colours(source: Distributions, colors: Any, nsample: Any, size: Any, method: str) -> Array:
    """Samples without replacement from several colours, by hypergeometric numbers between halves of them."""
    if method not in ("count", "marginals"):
        raise ValueError('method must be "count" or "marginals".')
    try:
        drawn = as_integer(nsample)
    except TypeError:
        raise ValueError("nsample must be an integer") from None
    if drawn < 0:
        raise ValueError("nsample must be nonnegative.")
    most = np.iinfo(np.int64).max
    if drawn > most:
        raise ValueError(f"nsample must not exceed {most}")
    found = colors.get() if isinstance(colors, ndarray) else np.asarray(colors)
    if found.ndim != 1 or (found.size and (found.dtype.kind not in "iu" or (found < 0).any() or (found > most).any())):
        raise ValueError(f"colors must be a one-dimensional sequence of nonnegative integers not exceeding {most}.")
    total = sum(found.tolist())
    if total > most:
        raise ValueError(f"sum(colors) must not exceed the maximum value of a 64 bit signed integer ({most})")
    if method == "marginals" and total >= MOST_COLOURS:
        raise ValueError('When method is "marginals", sum(colors) must be less than 1000000000.')
    if drawn > total:
        raise ValueError("nsample > sum(colors)")
    shape = shape_of(size)
    if not found.size:
        return asarray(np.zeros((*shape, 0), np.int64))

    def halves(left: Array, right: Array, counts: Array) -> Array:
        return source.draw("random_hypergeometric", counts.shape, left, right, counts, chars="qqq")

    return split_between(broadcast_to(asarray(drawn), shape), found.astype(np.int64), halves)


def _whole(value: Any) -> Any:
    """Bounds of whole numbers, as Python integers (in an object array if there are several)."""
    host = np.asarray(value)
    if host.dtype.kind not in "biufO":
        raise TypeError(f"bounds must be whole numbers, got {value!r}")
    return int(host.item()) if not host.ndim else np.vectorize(int, otypes=[object])(host)


def _bound(value: Any) -> Array:
    """Bounds of whole numbers as a numloom array of integers."""
    if not isinstance(value, ndarray):
        whole = _whole(value)
        value = asarray(np.array(whole if isinstance(whole, int) else whole.tolist()))
    return value if KINDS[value.code] in "iu" else value.astype(np.int64)


def _probabilities(p: Any, population: int) -> Any:
    """Probabilities of a sample, checked: at once on the host, else when the sample is looked at."""
    given: Any = p
    weights = given.astype(np.float64) if isinstance(p, ndarray) else np.asarray(p, dtype=np.float64)
    if weights.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if weights.size != population:
        raise ValueError("a and p must have same size")
    total = weights.sum()
    weights = refuse(weights, (weights != weights).any(), "Probabilities contain NaN")
    weights = refuse(weights, (weights < 0).any(), "Probabilities are not non-negative")
    off = (total < 1.0 - _TOLERANCE) | (total > 1.0 + _TOLERANCE)
    return refuse(weights, off, "Probabilities do not sum to 1. See Notes section of docstring for more information.")


_TOLERANCE = float(np.sqrt(np.finfo(np.float64).eps))


def _taken(array: Array, index: Array, axis: int) -> Array:
    return wrap(build.gather(node_of(array), [node_of(index)], (axis,), axis))


__all__ = ["Orders", "split_colours"]
