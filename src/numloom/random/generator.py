"""Random numbers: functions of a counter and a key, recorded like any elementwise operation.

A generator has a 64-bit key, made of its seed, and an offset, a host integer that advances by the
number of counters used. Element i of a draw is a function of (offset + i, key) alone: the numbers
are the same on every device and executor and for every launch shape, cost no memory until they
are stored, and fuse with what uses them.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np

from numloom.api.manipulation import moveaxis, normal_axis
from numloom.api.sorting import argsort, searchsorted
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, store_result, wrap
from numloom.base.dtypes import DTYPES, F32, F64, I64, U64, code_of
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes, c_strides
from numloom.graph.node import Node
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

ADD = ELEMENTWISE["add"]
_WORD = 1 << 64


class Generator:
    """Random numbers of a seed; made by `default_rng`.

    Attributes
    ----------
    key : int
        64 bits made of the seed.
    offset : int
        The next counter.
    """

    def __init__(self, seed: Any = None) -> None:
        self.seed_sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        self.key = int(self.seed_sequence.generate_state(1, np.uint64)[0])
        self.offset = 0

    def __repr__(self) -> str:
        return f"Generator(Philox, key={self.key:#018x}, offset={self.offset})"

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators of independent streams."""
        return [Generator(child) for child in self.seed_sequence.spawn(n_children)]

    # ------------------------------------------------------------ the source

    def _counters(self, shape: tuple[int, ...]) -> Node:
        """The next counters, as many as `shape` has elements."""
        count = prod(shape)
        start = self.offset
        self.offset = (start + count) % _WORD
        node = build.iota(count)
        if shape != (count,):
            node = build.view(node, I64, 0, shape, c_strides(shape, 8))
        return build.binary(ADD, build.cast(node, U64), build.scalar(start, U64))

    def _drawn(self, name: str, shape: tuple[int, ...], *more: Any) -> Node:
        """One number of the row `name` for each of the next counters."""
        return build.elementwise(ELEMENTWISE[name], [self._counters(shape), build.scalar(self.key, U64), *more])

    def _floats(self, name: str, size: Any, dtype: Any, out: Any) -> Array:
        code = code_of(dtype)
        if code not in (F32, F64):
            raise TypeError(f"Unsupported dtype {DTYPES[code]!r} for {name}")
        if out is not None:
            if out.code != code:
                raise TypeError(f"Supplied output array has the wrong type. Expected {DTYPES[code]}, got {out.dtype}")
            if size is not None and shape_of(size) != out.shape:
                raise ValueError("size must match out.shape when used together")
            size = out.shape
        result = wrap(self._drawn(f"{name}{32 if code == F32 else 64}", shape_of(size)))
        return result if out is None else store_result(out, result, name)

    # ------------------------------------------------------------ continuous

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Array:
        """Uniform in [0, 1)."""
        return self._floats("random_uniform", size, dtype, out)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Array:
        """Normal with mean 0 and deviation 1."""
        return self._floats("random_normal", size, dtype, out)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
    ) -> Array:
        """Exponential with mean 1."""
        return self._floats("random_exponential", size, dtype, out)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Array:
        """Uniform in [low, high)."""
        if _is_number(low) and _is_number(high):
            width = float(high) - float(low)
            if not np.isfinite(width):
                raise OverflowError("high - low range exceeds valid bounds")
            result = self.random(size)
            return result if (low, high) == (0, 1) else result * width + float(low)
        a, b = _parameter(low), _parameter(high)
        return self.random(_size(size, a, b)) * (b - a) + a

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Array:
        """Normal with mean `loc` and deviation `scale`."""
        return self._scaled(self.standard_normal, loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Array:
        """Exponential with mean `scale`."""
        return self._scaled(self.standard_exponential, 0.0, scale, size)

    def _scaled(self, standard: Any, loc: Any, scale: Any, size: Any) -> Array:
        loc, scale = _parameter(loc), _not_negative(scale, "scale")
        result = standard(_size(size, loc, scale)) * scale
        return result if _is_number(loc) and loc == 0 else result + loc

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Array:
        """The exponential of a normal number."""
        return _apply("exp", self._scaled(self.standard_normal, mean, _not_negative(sigma, "sigma"), size))

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Array:
        """Exponential on both sides of `loc`."""

        def standard(shape: Any) -> Array:
            u = self._open(shape)
            left = _apply("log", u + u)
            right = -_apply("log", 2.0 - (u + u))
            return _choose(u < 0.5, left, right)

        return self._scaled(standard, loc, scale, size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Array:
        """The logistic distribution."""

        def standard(shape: Any) -> Array:
            u = self._open(shape)
            return _apply("log", u) - _apply("log1p", -u)

        return self._scaled(standard, loc, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Array:
        """The distribution of the largest of many."""
        return self._scaled(lambda shape: -_apply("log", -_apply("log", self._open(shape))), loc, scale, size)

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Array:
        """The length of a vector of two normal numbers."""
        return self._scaled(lambda shape: _apply("sqrt", self.standard_exponential(shape) * 2.0), 0.0, scale, size)

    def standard_cauchy(self, size: Any = None) -> Array:
        """The quotient of two normal numbers."""
        return self.standard_normal(size) / self.standard_normal(size)

    def weibull(self, a: Any, size: Any = None) -> Array:
        """A power 1/a of an exponential number."""
        a = _not_negative(a, "a")
        return self.standard_exponential(_size(size, a)) ** (1.0 / a)

    def pareto(self, a: Any, size: Any = None) -> Array:
        """The Pareto II (Lomax) distribution of shape `a`."""
        a = _positive(a, "a")
        return _apply("expm1", self.standard_exponential(_size(size, a)) / a)

    def _open(self, shape: Any) -> Array:
        """Uniform in (0, 1)."""
        u = node_of(self.random(shape))
        return wrap(build.elementwise(ELEMENTWISE["maximum"], [u, 2.0**-54]))

    # ------------------------------------------------------------ whole numbers

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Array:
        """Whole numbers from `low` to below `high` (from 0 to below `low` without it), each as likely."""
        code = code_of(dtype)
        kind = DTYPES[code].kind
        if kind not in "biu":
            raise TypeError(f"Unsupported dtype {DTYPES[code]!r} for integers")
        if high is None:
            low, high = 0, low
        first, last = (_whole(x) for x in (low, high))
        last = last if endpoint else last - 1
        info = np.iinfo(DTYPES[code]) if kind != "b" else None
        bounds = (0, 1) if info is None else (int(info.min), int(info.max))
        if np.any(first < bounds[0]):
            raise ValueError(f"low is out of bounds for {DTYPES[code].name}")
        if np.any(last > bounds[1]):
            raise ValueError(f"high is out of bounds for {DTYPES[code].name}")
        if np.any(first > last):
            raise ValueError("low > high" if endpoint else "low >= high")
        shape = _size(size, first, last)
        # Python integers until here: a range may have 2**64 numbers (then 0 stands for the count).
        count, first = (last - first + 1) % _WORD, first % _WORD
        wide = bool(np.any((count > 1 << 32) & (count & (count - 1) != 0)))
        amounts, start = (
            build.scalar(int(x), U64) if not np.ndim(x) else node_of(asarray(x.astype(np.uint64)))
            for x in (count, first)
        )
        number = self._below(shape, amounts, wide)
        return wrap(build.cast(build.binary(ADD, number, start), code))

    def _below(self, shape: tuple[int, ...], count: Node, wide: bool) -> Node:
        """Whole numbers in [0, count); with 128 random bits each where 64 would be noticeably uneven."""
        if not wide:
            return self._drawn("random_below", shape, count)
        start = self.offset
        high = self._drawn("random_below", shape, count)
        self.offset = start
        bits = self._drawn("random_bits64", shape)
        low = build.binary(ELEMENTWISE["multiply"], bits, count)
        total = build.binary(ADD, low, self._drawn("random_below", shape, count))
        carry = build.cast(build.binary(ELEMENTWISE["less"], total, low), U64)
        return build.binary(ADD, high, carry)

    def bytes(self, length: int) -> bytes:
        """Random bytes (looks at them)."""
        words = wrap(self._drawn("random_bits64", (-(-length // 8),)))
        return words.get().astype("<u8").tobytes()[:length]  # type: ignore[no-any-return]

    # ------------------------------------------------------------ orders and samples

    def permutation(self, x: Any, axis: int = 0) -> Array:
        """The numbers below `x`, or the parts of an array along an axis, in random order."""
        if isinstance(x, (int, np.integer)):
            return argsort(wrap(self._drawn("random_bits64", (int(x),))))
        array = asarray(x)
        axis = normal_axis(axis, array.ndim)
        return _taken(array, self.permutation(array.shape[axis]), axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the parts of an array along an axis into random order, in place."""
        if not isinstance(x, ndarray):
            raise TypeError(f"shuffle works on numloom arrays, got {type(x).__name__}")
        if not x.ndim:
            raise TypeError("an array of 0 dimensions cannot be shuffled")
        x[...] = self.permutation(x, axis)

    def permuted(self, x: Any, axis: int | None = None, out: Any = None) -> Array:
        """Elements along an axis (of the flattened array if None) in random order, each row in its own."""
        array = asarray(x)
        if axis is None:
            order = self.permutation(array.size)
            result = _taken(array.ravel(), order, 0).reshape(array.shape)
        else:
            axis = normal_axis(axis, array.ndim)
            moved = moveaxis(array, axis, -1)
            extent = moved.shape[-1]
            order = argsort(wrap(self._drawn("random_bits64", moved.shape)), -1)
            rows = asarray(np.arange(moved.size // max(extent, 1)).reshape((*moved.shape[:-1], 1)) * extent)
            result = moveaxis(_taken(moved.ravel(), (rows + order).ravel(), 0).reshape(moved.shape), -1, axis)
        return result if out is None else store_result(out, result, "permuted")

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Array:
        """A sample of the numbers below `a`, or of the parts of an array along an axis."""
        array = None if isinstance(a, (int, np.integer)) else asarray(a)
        if array is None:
            population = int(a)
        else:
            if not array.ndim:
                return self.choice(int(array), size, replace, p, axis, shuffle)
            axis = normal_axis(axis, array.ndim)
            population = array.shape[axis]
        shape = shape_of(size)
        count = prod(shape)
        if population <= 0 and count:
            raise ValueError(
                "a must be a positive integer unless no samples are taken"
                if array is None
                else "a cannot be empty unless no samples are taken"
            )
        weights = None if p is None else _probabilities(p, population)
        if replace:
            if weights is None:
                index = self.integers(0, population, shape) if count else asarray(np.zeros(shape, np.int64))
            else:
                edges = np.cumsum(weights)
                index = searchsorted(asarray(edges / edges[-1]), self.random(shape), "right")
        else:
            if count > population:
                raise ValueError("Cannot take a larger sample than population when replace is False")
            if weights is None:
                order = self.permutation(population)
            else:
                if np.count_nonzero(weights) < count:
                    raise ValueError("Fewer non-zero entries in p than size")
                # The first of independent exponential clocks with these rates.
                with np.errstate(divide="ignore"):
                    order = argsort(self.standard_exponential(population) * asarray(1.0 / weights))
            index = order[:count].reshape(shape)
        if array is None:
            index.is_scalar = not index.shape
            return index
        result = wrap(build.gather(node_of(array), [node_of(index)], (axis,), axis))
        return result


def default_rng(seed: Any = None) -> Generator:
    """A generator of random numbers: the same numbers for the same seed, on every device.

    Parameters
    ----------
    seed : int, sequence of int, SeedSequence or Generator, optional
        Where to start; unpredictable by default. A generator is given back as it is.
    """
    return seed if isinstance(seed, Generator) else Generator(seed)


def shape_of(size: Any) -> tuple[int, ...]:
    """A shape from a `size` argument: None, an integer or integers."""
    if size is None:
        return ()
    shape = tuple(map(as_index, size)) if isinstance(size, Iterable) else (as_index(size),)
    if any(extent < 0 for extent in shape):
        raise ValueError("negative dimensions are not allowed")
    return shape


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number))


def _parameter(value: Any) -> Any:
    """A distribution's parameter: a float, or an array of float64."""
    return float(value) if _is_number(value) else asarray(value).astype(np.float64)


def _not_negative(value: Any, name: str) -> Any:
    value = _parameter(value)
    if isinstance(value, float) and (value < 0 or (value == 0 and np.signbit(value))):
        raise ValueError(f"{name} < 0")
    return value


def _positive(value: Any, name: str) -> Any:
    value = _parameter(value)
    if isinstance(value, float) and not value > 0:
        raise ValueError(f"{name} <= 0")
    return value


def _size(size: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape of a draw: `size`, or what the parameters broadcast to."""
    common = broadcast_shapes(*(np.shape(x) if not isinstance(x, ndarray) else x.shape for x in parameters))
    if size is None:
        return common
    shape = shape_of(size)
    lead = len(shape) - len(common)
    if lead < 0 or any(extent not in (1, goal) for extent, goal in zip(common, shape[lead:], strict=True)):
        raise ValueError(f"Output size {shape} is not compatible with broadcast dimensions of inputs {common}.")
    return shape


def _whole(value: Any) -> Any:
    """Bounds of whole numbers, as Python integers (in an object array if there are several)."""
    host = value.get() if isinstance(value, ndarray) else np.asarray(value)
    if host.dtype.kind == "f" and not (host == np.floor(host)).all():
        host = np.floor(host)
    whole = host if host.dtype == object else host.astype(object)
    return int(whole[()]) if not host.ndim else np.vectorize(int, otypes=[object])(whole)


def _probabilities(p: Any, population: int) -> np.ndarray[Any, Any]:
    """Probabilities of a sample on the host, checked."""
    weights = np.asarray(p.get() if isinstance(p, ndarray) else p, dtype=np.float64)
    if weights.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if weights.size != population:
        raise ValueError("a and p must have same size")
    if np.isnan(weights).any():
        raise ValueError("Probabilities contain NaN")
    if (weights < 0).any():
        raise ValueError("Probabilities are not non-negative")
    if abs(weights.sum() - 1.0) > 1e-8:
        raise ValueError("Probabilities do not sum to 1. See Notes section of docstring for more information.")
    return weights


def _apply(name: str, array: Array) -> Array:
    return wrap(build.unary(ELEMENTWISE[name], node_of(array)))


def _choose(condition: Array, x: Array, y: Array) -> Array:
    return wrap(build.elementwise(ELEMENTWISE["where"], [node_of(condition), node_of(x), node_of(y)]))


def _taken(array: Array, index: Array, axis: int) -> Array:
    return wrap(build.gather(node_of(array), [node_of(index)], (axis,), axis))


__all__ = ["Generator", "default_rng", "shape_of"]
