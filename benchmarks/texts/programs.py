"""All fixed programs, by family: a line in a table each, recorded as users write them.

They use the public API alone, so that they are the same programs on older commits. A name says what is computed of
what; nothing here may depend on the time, on Python's hash seed or on what ran before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import numloom as nl
from benchmarks.texts.inside import loops
from benchmarks.texts.operations import (
    casts,
    complex_operations,
    operations,
    several_results,
    special_functions,
    user_kernels,
)
from benchmarks.texts.program import ALL, BOTH, FLOATS, GPU, HOST, Family, Named, Program, data, extents, fresh
from benchmarks.texts.random_programs import random_maps, random_reductions, random_rows

# ---------------------------------------------------------------- where memory lies

LAYOUTS = {
    "dense": lambda x: x,
    "transposed": lambda x: x.T,
    "every second column": lambda x: x[:, ::2],
    "every third row": lambda x: x[::3],
    "columns reversed": lambda x: x[:, ::-1],
    "rows reversed": lambda x: x[::-1],
    "inner part": lambda x: x[1:-1, 1:-1],
    "aligned part": lambda x: x[4:-4, 8:-8],
    "one column": lambda x: x[:, 3],
    "one row": lambda x: x[3],
    "one element": lambda x: x[3, 4],
    "diagonal": lambda x: nl.diagonal(x),
    "flat": lambda x: x.reshape(-1),
    "blocks": lambda x: x.reshape(4, 16, 8, 12).transpose(0, 2, 1, 3),
    "three axes turned": lambda x: x.reshape(16, 4, 96).transpose(2, 0, 1),
    "Fortran copy": lambda x: nl.asfortranarray(x),
}

BROADCASTS = {
    "row": ((64, 96), (96,)),
    "column": ((64, 96), (64, 1)),
    "number": ((64, 96), ()),
    "row by column": ((1, 96), (64, 1)),
    "middle": ((8, 1, 96), (8, 12, 96)),
    "outer planes": ((8, 12, 96), (12, 96)),
    "four axes": ((4, 1, 6, 1), (1, 5, 1, 7)),
    "long row": ((3, 100_000), (100_000,)),
}


def layouts() -> Iterator[Named]:
    """Maps over views."""
    for name, view in LAYOUTS.items():
        yield f"{name} + 1", lambda view=view: view(data("float32", 64, 96)) + 1
        yield f"{name}, two of float64", lambda view=view: view(data("float64", 64, 96)) * view(data("int32", 64, 96))
    for name in ("transposed", "columns reversed", "every second column"):
        view = LAYOUTS[name]
        for dtype in ("float16", "uint8", "complex64"):
            yield (
                f"{name}, dense copy of {dtype}",
                lambda view=view, d=dtype: nl.ascontiguousarray(view(data(d, 64, 96))),
            )
    yield "dense + transposed", lambda: data("float32", 96, 96) + data("float32", 96, 96).T
    yield "batch of transposed", lambda: data("float32", 5, 64, 96).transpose(0, 2, 1) * 2 + data("float32", 5, 96, 64)


def broadcasts() -> Iterator[Named]:
    """Operands of different shapes."""
    for name, (one, other) in BROADCASTS.items():
        for dtype in ("float32", "float16"):
            yield f"{name}, {dtype}", lambda a=one, b=other, d=dtype: data(d, *a) * 2 + data(d, *b)


SIZES = (1, 3, 31, 128, 129, 1000, 4096, 100_000, 1_000_000, 20_000_000)


def sizes() -> Iterator[Named]:
    """One expression at many sizes; at the largest, views of little memory."""
    for size in SIZES:
        yield f"1 - exp(x), {size}", lambda n=size: 1 - nl.exp(nl.broadcast_to(data("float32", 1), (n,)))
        if size <= 1_000_000:
            yield f"x * x + y, {size}", lambda n=size: data("float64", n) * data("float64", n) + data("float32", n)
    yield "beyond 32 bits", lambda: nl.broadcast_to(data("float32", 70_000), (70_000, 70_000)) + 1
    yield "sum beyond 32 bits", lambda: nl.broadcast_to(data("float32", 70_000), (70_000, 70_000)).sum(1)


# ---------------------------------------------------------------- reductions

REDUCTIONS = {
    "sum": lambda x, axis: nl.sum(x, axis),
    "prod": lambda x, axis: nl.prod(x, axis),
    "max": lambda x, axis: nl.max(x, axis),
    "min": lambda x, axis: nl.min(x, axis),
    "mean": lambda x, axis: nl.mean(x, axis),
    "var": lambda x, axis: nl.var(x, axis),
    "std": lambda x, axis: nl.std(x, axis, ddof=1),
    "any": lambda x, axis: nl.any(x > 2, axis),
    "all": lambda x, axis: nl.all(x, axis),
    "count_nonzero": lambda x, axis: nl.count_nonzero(x, axis),
    "argmax": lambda x, axis: nl.argmax(x, axis),
    "argmin": lambda x, axis: nl.argmin(x * 2, axis),
    "nansum": lambda x, axis: nl.nansum(x, axis),
    "nanmax": lambda x, axis: nl.nanmax(x, axis),
    "range": lambda x, axis: nl.max(x, axis) * 1 - nl.min(x, axis) * 1,
    "norm": lambda x, axis: nl.sqrt((x * x).sum(axis)),
}
ONE_AXIS = ("argmax", "argmin")
AXES = {"rows": 1, "columns": 0, "all": None, "first and last": (0, 2), "last two": (1, 2)}
ROTATED = ("float32", "float64", "int32", "float16", "uint8", "bfloat16", "int64", "bool", "complex64")
UNORDERED = ("sum", "prod", "mean", "var", "all", "count_nonzero", "nansum")


def reductions() -> Iterator[Named]:
    """Every reduction over every choice of axes, the dtypes in turns."""
    turn = 0
    for name, reduction in REDUCTIONS.items():
        for axes, axis in AXES.items():
            if isinstance(axis, tuple) and name in ONE_AXIS:
                continue
            shape = (12, 40, 30) if isinstance(axis, tuple) else (120, 300)
            dtype = ROTATED[turn % len(ROTATED)]
            turn += 1
            if dtype == "complex64" and name not in UNORDERED:
                dtype = "float64"
            yield f"{name} of {axes}, {dtype}", partial(reduce, reduction, dtype, shape, axis)


def reduce(reduction: Any, dtype: str, shape: tuple[int, ...], axis: Any) -> Any:
    """One reduction of memory."""
    return reduction(data(dtype, *shape), axis)


def lengths() -> Iterator[Named]:
    """Reductions of short, long and very long rows and columns."""
    for rows, length in ((100_000, 3), (5000, 17), (600, 100), (100, 1000), (7, 20_000), (1, 1 << 20)):
        for name in ("sum", "argmax", "var"):
            work, shape = REDUCTIONS[name], (rows, length)
            yield f"{name}, {extents(shape)} rows", partial(reduce, work, "float32", shape, 1)
            yield f"{name}, {extents(shape[::-1])} columns", partial(reduce, work, "float32", shape[::-1], 0)
    yield "sum of nothing", partial(reduce, REDUCTIONS["sum"], "float32", (2, 0), 1)


def sums_of_expressions() -> Iterator[Named]:
    """Reductions with maps before and after."""
    x, y = partial(data, "float32", 200, 300), partial(data, "float64", 200, 300)
    yield "mean of squared differences", lambda: ((x() - y()) ** 2).mean()
    yield "columns of exp", lambda: nl.exp(x()).sum(0) + 1
    yield "rows of transposed", lambda: (x().T * 2).sum(1)
    yield "log of sum of exp", lambda: nl.log(nl.exp(x() - x().max(1, keepdims=True)).sum(1)) + x().max(1)
    yield "weighted mean", lambda: (x() * y()).sum(1) / y().sum(1)
    yield "cosine of rows", lambda: (x() * y()).sum(1) / nl.sqrt((x() * x()).sum(1) * (y() * y()).sum(1))
    yield "sum of where", lambda: nl.where(x() > 0, x(), 0).sum(0)
    yield "share above the mean", lambda: (x() > x().mean()).mean()
    yield "trace of product", lambda: (x() * y()).sum()
    yield "sum of bool as int", lambda: (x() > 0).sum(1)
    yield "sum of float16 as float32", lambda: data("float16", 200, 300).sum(1, dtype=np.float32)
    yield "nearest centre", lambda: ((data("float32", 500, 1, 8) - data("float32", 1, 10, 8)) ** 2).sum(2).argmin(1)
    yield "pairwise distances", lambda: nl.sqrt(((x()[:, None, :20] - x()[None, :, :20]) ** 2).sum(2))
    yield "longest distance", lambda: nl.abs(x()[:, None, :20] - x()[None, :, :20]).max(2)


# ---------------------------------------------------------------- rows that are read again

ROWS = {
    "softmax": lambda x, axis: softmax(x, axis),
    "log softmax": lambda x, axis: x - x.max(axis, keepdims=True) - nl.log(softmax_sum(x, axis)),
    "layer norm": lambda x, axis: (x - x.mean(axis, keepdims=True)) / nl.sqrt(x.var(axis, keepdims=True) + 1e-5),
    "root mean square": lambda x, axis: x / nl.sqrt((x * x).mean(axis, keepdims=True) + 1e-6),
    "centred": lambda x, axis: x - x.mean(axis, keepdims=True),
    "scaled to one": lambda x, axis: (x - x.min(axis, keepdims=True)) / (x.max(axis, keepdims=True) + 1),
    "moments and place": lambda x, axis: standardised(x, axis),
    "place, then moments": lambda x, axis: moved(x, axis),
}
LENGTHS = (16, 200, 3000, 9000, 40_000, 100_000)


def softmax_sum(x: Any, axis: int) -> Any:
    """Of exponentials."""
    return nl.exp(x - x.max(axis, keepdims=True)).sum(axis, keepdims=True)


def softmax(x: Any, axis: int) -> Any:
    """As textbooks have it."""
    e = nl.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def standardised(x: Any, axis: int) -> list[Any]:
    """Rows standardised, and where their largest and smallest elements are."""
    shifted = x - x.mean(axis, keepdims=True)
    place = nl.argmin(shifted, axis, keepdims=True)
    return [shifted / nl.sqrt(shifted.var(axis, keepdims=True) + 1) + place, x.max(axis), nl.argmax(x, axis)]


def moved(x: Any, axis: int) -> Any:
    """By the place of the largest, and scaled: the passes over a row need different headers."""
    shifted = x - nl.argmax(x, axis, keepdims=True)
    return shifted * shifted.var(axis, keepdims=True)


def rows() -> Iterator[Named]:
    """Normalisations of rows and columns."""
    for number, (name, work) in enumerate(ROWS.items()):
        for length in LENGTHS if number < 3 else LENGTHS[number % 2 :: 2]:
            shape = (max(2, 60_000 // length), length)
            yield f"{name} of {extents(shape)}", lambda w=work, s=shape: w(data("float32", *s), 1)
        for dtype in (("float16", "float64"), ("bfloat16", "float64"))[number % 2]:
            yield f"{name} of {dtype}", lambda w=work, d=dtype: w(data(d, 40, 1000), 1)
        yield f"{name} of columns", lambda w=work: w(data("float32", 300, 50), 0)
        if number % 2:
            yield f"{name} of parts", lambda w=work: w(data("float32", 30, 2000)[:, 1:-1], 1)
            yield f"{name} of three axes", lambda w=work: w(data("float32", 6, 50, 70), 2)
    yield "attention weights", lambda: softmax(nl.where(nl.tri(64, dtype=bool), data("float32", 8, 64, 64), -1e9), 2)
    yield "scale and shift", lambda: ROWS["layer norm"](data("float32", 90, 500), 1) * data("float32", 500) + 1


# ---------------------------------------------------------------- writing in place


def updated(x: Any, where: Any, change: Any) -> Any:
    """A copy of x with a part replaced."""
    y = x.copy()
    y[where] = change
    return y


def added(x: Any, where: Any, change: Any) -> Any:
    """Memory of our own, added to in place."""
    x[where] += change
    return x


def masked(x: Any, mask: Any) -> Any:
    """Memory of our own, with a number where a mask is true."""
    x[mask] = 3
    return x


def mean_of_neighbours(x: Any) -> Any:
    """Of inner points of a plane."""
    return (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4


def steps_of_heat(x: Any, count: int) -> Any:
    """Several steps in a row."""
    for _ in range(count):
        x = updated(x, np.s_[1:-1, 1:-1], mean_of_neighbours(x))
    return x


def box_blur(x: Any) -> Any:
    """Nine points by shifted views."""
    parts = [x[i : x.shape[0] - 2 + i, j : x.shape[1] - 2 + j] for i in range(3) for j in range(3)]
    return sum(parts[1:], parts[0]) / 9


def updates() -> Iterator[Named]:
    """Stencils and writes to parts."""
    x = partial(data, "float32", 300, 400)
    for dtype in FLOATS:
        yield f"heat of {dtype}", lambda d=dtype: steps_of_heat(data(d, 300, 400), 1)
        yield f"box blur of {dtype}", lambda d=dtype: box_blur(data(d, 300, 400))
    yield "heat in place", lambda: added(fresh("float32", 300, 400), np.s_[1:-1, 1:-1], mean_of_neighbours(x()))
    yield "heat, two steps", lambda: steps_of_heat(x(), 2)
    yield "a row replaced", lambda: updated(x(), np.s_[3], 1.5)
    yield "a column replaced", lambda: updated(x(), np.s_[:, 3], x()[:, 4] * 2)
    yield "every second column replaced", lambda: updated(x(), np.s_[:, ::2], x()[:, 1::2])
    yield "one element replaced", lambda: updated(x(), np.s_[5, 6], 2)
    yield "all replaced", lambda: updated(x(), np.s_[...], x().sum(0))
    yield "a part of zeros", lambda: updated(nl.zeros((50, 60)), np.s_[2:9, 3:], 7)
    yield "in place, another dtype", lambda: added(fresh("int32", 1000), np.s_[::3], 4)
    yield "in place, by itself", lambda: added(fresh("float64", 1000), np.s_[1:], data("float64", 999))
    yield "in place, a row of a sum", lambda: added(fresh("float32", 50, 60), np.s_[2], data("float32", 50, 60).sum(0))
    yield "where a mask is true", lambda: updated(x(), x() > 2, 0)
    yield "in place, masked", lambda: masked(fresh("float32", 300, 400), x() > 1)
    yield "at indices", lambda: updated(data("float32", 1000), data("int64", 20), 5)
    yield "differences", lambda: nl.diff(x(), axis=1)
    yield "second differences", lambda: x()[:, 2:] - 2 * x()[:, 1:-1] + x()[:, :-2]
    yield "gradient", lambda: nl.gradient(x())
    yield "periodic neighbours", lambda: nl.roll(x(), 1, 0) + nl.roll(x(), -1, 0) - 2 * x()
    yield "three-dimensional", lambda: seven_points(data("float32", 40, 50, 60))
    yield "wave", lambda: updated(x(), np.s_[1:-1], 2 * x()[1:-1] - x()[:-2] + 0.1 * x()[2:])


def seven_points(x: Any) -> Any:
    """Inner points of a volume."""
    inner = x[1:-1, 1:-1, 1:-1]
    sides = x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1]
    return sides + x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:] - 6 * inner


WINDOWS = {"max": lambda x, axis: x.max(axis), "mean": lambda x, axis: x.mean(axis), "dot": lambda x, axis: dotted(x)}


def dotted(x: Any) -> Any:
    """Windows weighted."""
    return (x * nl.arange(x.shape[-1], dtype=np.float32)).sum(-1)


def windows() -> Iterator[Named]:
    """Sliding windows and pools."""
    slide = nl.lib.stride_tricks.sliding_window_view
    for name, work in WINDOWS.items():
        for width in (3, 5, 40):
            yield f"{name} of {width} in a row", lambda w=work, n=width: w(slide(data("float32", 5000), n), -1)
        yield f"{name} of columns", lambda w=work: w(slide(data("float32", 300, 400), 5, 0), -1)
    yield "max of 3x3", lambda: slide(data("float32", 100, 120), (3, 3)).max((-2, -1))
    yield "pool 2x2", lambda: data("float32", 100, 120).reshape(50, 2, 60, 2).max((1, 3))
    yield "pool of means, float16", lambda: data("float16", 100, 120).reshape(25, 4, 30, 4).mean((1, 3))
    yield "var of windows", lambda: slide(data("float64", 3000), 7).var(-1)
    yield "argmax of windows", lambda: slide(data("int32", 3000), 7).argmax(-1)


# ---------------------------------------------------------------- choosing


def choices() -> Iterator[Named]:
    """Where, clip, and elements by index."""
    x, y, at = partial(data, "float32", 200, 300), partial(data, "float64", 300), partial(data, "int64", 40)
    for dtype in ("float32", "int8", "bool", "bfloat16", "complex128"):
        yield f"where of {dtype}", lambda d=dtype: nl.where(data("bool", 1000), data(d, 1000), data(d, 1))
    yield "where with numbers", lambda: nl.where(x() > 0, 1, -1)
    yield "where, mixed", lambda: nl.where(x() > y(), x(), y())
    yield "clip", lambda: nl.clip(x(), -1, 1)
    yield "clip between arrays", lambda: nl.clip(x(), y() - 1, y() + 1)
    yield "select", lambda: nl.select([x() > 1, x() < -1], [x() - 1, x() + 1], 0)
    yield "nan_to_num", lambda: nl.nan_to_num(x())
    yield "rows taken", lambda: nl.take(x(), at(), 0)
    yield "columns taken", lambda: x()[:, at()] * 2
    yield "pairs of indices", lambda: x()[at(), at() + 1]
    yield "indices from numbers", lambda: x()[(y()[:5]).astype(np.int64)].sum(1)
    yield "table of values", lambda: data("float32", 256)[data("uint8", 5000)] + 1
    yield "along an axis", lambda: nl.take_along_axis(x(), data("int64", 200, 1), 1)
    yield "choose", lambda: nl.choose(data("int32", 300), [y(), y() * 2, y() - 1])
    yield "triangle", lambda: nl.tril(data("float32", 60, 60)) + nl.triu(data("float32", 60, 60), 1)
    yield "joined", lambda: nl.concatenate([x(), x() + 1, x()[:5]])
    yield "stacked", lambda: nl.stack([y(), y() * 2], 1)
    yield "padded", lambda: nl.pad(x(), 2)
    yield "tiled", lambda: nl.tile(y(), 3)
    yield "repeated", lambda: nl.repeat(y(), 3)


MASKS = {
    "above a number": lambda: data("float32", 100_000) > 0.5,
    "between": lambda: (data("float64", 1000) > 0) & (data("float64", 1000) < 2),
    "finite": lambda: nl.isfinite(data("float16", 5000)),
    "not equal, int32": lambda: data("int32", 5000) != 3,
    "of two axes": lambda: data("float32", 50, 60) > data("float32", 60),
    "cast": lambda: data("uint8", 300).astype(bool),
    "of a function": lambda: nl.sin(data("float32", 3000)) > nl.cos(data("float32", 3000)),
    "complex": lambda: nl.abs(data("complex64", 300)) > 1,
}


CHOSEN = {"4 bytes": (4,), "8 bytes": (8,), "indices": (2, -1, 1), "pairs of indices": (2, -1, 2)}
"""What kernels choose by them: see `Program.select`."""


def masks() -> Iterator[Named]:
    """Masks by which a kernel chooses."""
    yield from MASKS.items()


# ---------------------------------------------------------------- numbers made on the device


def generated() -> Iterator[Named]:
    """Counters and filled arrays."""
    yield "arange", lambda: nl.arange(1000) * 2 + 1
    yield "arange of float32", lambda: nl.sin(nl.arange(0, 10, 0.01, dtype=np.float32))
    yield "linspace", lambda: nl.exp(nl.linspace(0, 1, 500))
    yield "eye", lambda: nl.eye(50) + 1
    yield "full", lambda: nl.full((40, 50), 3.5, np.float32) * data("float32", 50)
    yield "ones of complex", lambda: nl.ones(300, np.complex64) * 2j
    yield "grid", lambda: nl.arange(60)[:, None] * 100 + nl.arange(80)
    yield "grid, distances", lambda: nl.hypot(nl.arange(60.0)[:, None], nl.arange(80.0))
    yield "indices", lambda: nl.indices((20, 30)).sum(0)
    yield "mandelbrot", lambda: mandelbrot(5)


def mandelbrot(count: int) -> Any:
    """A few steps."""
    c = nl.linspace(-2, 1, 60) + 1j * nl.linspace(-1, 1, 40)[:, None]
    z = c
    for _ in range(count):
        z = nl.where(nl.abs(z) < 2, z * z + c, z)
    return nl.abs(z) < 2


DRAWS = {
    "random": lambda rng: rng.random(1000),
    "random float32": lambda rng: rng.random((50, 60), np.float32),
    "normal": lambda rng: rng.normal(1, 2, 1000),
    "standard_normal float32": lambda rng: rng.standard_normal(1000, np.float32),
    "integers": lambda rng: rng.integers(0, 100, 1000),
    "integers uint8": lambda rng: rng.integers(0, 200, 1000, np.uint8),
    "exponential": lambda rng: rng.exponential(2.0, 1000),
    "uniform": lambda rng: rng.uniform(-1, 1, (40, 50)),
    "gamma": lambda rng: rng.gamma(2.5, 1.0, 500),
    "beta": lambda rng: rng.beta(2.0, 3.0, 500),
    "poisson": lambda rng: rng.poisson(4.0, 500),
    "binomial": lambda rng: rng.binomial(20, 0.3, 500),
    "lognormal": lambda rng: rng.lognormal(0, 1, 500),
    "geometric": lambda rng: rng.geometric(0.2, 500),
    "vonmises": lambda rng: rng.vonmises(0, 2.0, 500),
    "sum of noise": lambda rng: (rng.standard_normal((100, 200)) ** 2).sum(1),
    "inside the circle": lambda rng: (rng.random(10_000) ** 2 + rng.random(10_000) ** 2 < 1).mean(),
    "noise on memory": lambda rng: data("float32", 100, 200) + 0.1 * rng.standard_normal((100, 200), np.float32),
}


def draws() -> Iterator[Named]:
    """Random numbers of one seed."""
    for name, work in DRAWS.items():
        yield name, lambda w=work: w(nl.random.default_rng(5))


# ---------------------------------------------------------------- products


def products() -> Iterator[Named]:
    """Outer products, small matrices, and sums of products."""
    for n, k, m in ((1, 300, 40), (8, 8, 8), (40, 3, 50), (64, 64, 64), (300, 400, 1)):
        for dtype in ("float32", "int32"):
            yield f"{extents((n, k, m))} of {dtype}", lambda a=n, b=k, c=m, d=dtype: data(d, a, b) @ data(d, b, c)
    for dtype in ("float64", "float16", "bfloat16", "complex64", "uint8"):
        yield f"32x48x16 of {dtype}", lambda d=dtype: data(d, 32, 48) @ data(d, 48, 16)
    yield "batch", lambda: data("float32", 50, 4, 6) @ data("float32", 50, 6, 5)
    yield "transposed", lambda: data("float32", 40, 30).T @ data("float32", 40, 20)
    yield "with bias", lambda: nl.maximum(data("float32", 20, 30) @ data("float32", 30, 10) + data("float32", 10), 0)
    yield "outer", lambda: nl.outer(data("float32", 300), data("float32", 200))
    yield "dot", lambda: nl.dot(data("float64", 5000), data("float64", 5000))
    yield "vector by matrix", lambda: data("float32", 300) @ data("float32", 300, 200)
    yield "written out", lambda: (data("float32", 200, 100)[:, :, None] * data("float32", 100, 150)).sum(1)
    yield "written out, min-plus", lambda: (data("int32", 90, 80)[:, :, None] + data("int32", 80, 70)).min(1)
    yield "written out, any", lambda: (data("bool", 90, 80)[:, :, None] & data("bool", 80, 70)).any(1)
    yield "written out, rows by rows", lambda: (data("float64", 90, 1, 80) * data("float64", 70, 80)).sum(2)
    yield "einsum", lambda: nl.einsum("ij,ij->i", data("float32", 200, 300), data("float32", 200, 300))
    yield "kron", lambda: nl.kron(data("float32", 6, 5), data("float32", 7, 8))
    yield "cross", lambda: nl.cross(data("float32", 100, 3), data("float32", 100, 3))
    yield "polynomial", lambda: nl.polyval(np.array([1.0, 2, 3, 4]), data("float64", 1000))
    yield "small tensor", lambda: nl.tensordot(data("float32", 4, 5, 6), data("float32", 6, 5, 3), ((1, 2), (1, 0)))


FAMILIES: dict[str, tuple[Family, tuple[str, ...]]] = {
    "operations": (operations, BOTH),
    "complex": (complex_operations, BOTH),
    "special functions": (special_functions, BOTH),
    "casts": (casts, BOTH),
    "layouts": (layouts, BOTH),
    "broadcasts": (broadcasts, BOTH),
    "sizes": (sizes, BOTH),
    "reductions": (reductions, BOTH),
    "lengths": (lengths, ALL),
    "sums of expressions": (sums_of_expressions, BOTH),
    "rows": (rows, ALL),
    "updates": (updates, BOTH),
    "windows": (windows, BOTH),
    "choices": (choices, BOTH),
    "masks": (masks, BOTH),
    "generated": (generated, BOTH),
    "draws": (draws, BOTH),
    "products": (products, ALL),
    "several results": (several_results, BOTH),
    "users' kernels": (user_kernels, BOTH),
    "random maps": (random_maps, BOTH),
    "random reductions": (random_reductions, BOTH),
    "random rows": (random_rows, ALL),
    "loops": (loops, (HOST,)),
}


def programs(only: tuple[str, ...] = ()) -> Iterator[Program]:
    """All programs in their order, or those of some families.

    Raises
    ------
    ValueError
        If a name is of no family.
    """
    unknown = [name for name in only if name not in FAMILIES]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no family; these are: {', '.join(FAMILIES)}")
    for family, (named, targets) in FAMILIES.items():
        if not only or family in only:
            for name, work in named():
                yield Program(family, name, work, targets)
                for chosen, select in CHOSEN.items() if family == "masks" else ():
                    yield Program(family, f"{name}, {chosen} chosen", work, (GPU,), select)
