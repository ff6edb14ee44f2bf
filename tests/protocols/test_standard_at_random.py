"""Random calls of the array API standard's functions and operators, beside array_api_strict: shapes, dtypes, numbers.

`test_standard.py` calls every function; here each is called often, with arrays of none to four axes, empty ones, every
dtype, infinities, NaN, both zeros and the ends of integers.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.device import registry

strict = pytest.importorskip("array_api_strict")

CALLS = 12 if registry.current().discrete else 60
"""Calls of each function; on a GPU most need kernels of their own."""

DTYPES = {"b": ["bool"], "i": ["int8", "int16", "int32", "int64"], "u": ["uint8", "uint16", "uint32", "uint64"],
          "f": ["float32", "float64"], "c": ["complex64", "complex128"]}  # fmt: skip
NUMBERS = {"b": True, "i": 3, "u": 3, "f": 1.5, "c": 1j}
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.0, 1e30, -1e-30, 7.25]

Host = np.ndarray[Any, Any]
Call = Callable[[Any], Any]
"""A call for a namespace."""


class Author:
    """Draws calls; `wild` ones have special values."""

    def __init__(self, seed: str, wild: bool = True) -> None:
        self.random = random.Random(seed)
        self.wild = wild

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        return tuple(self.random.choice([0, 1, 1, 2, 3, 4]) for _ in range(self.random.randint(low, high)))

    def narrowed(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that is broadcast to this one."""
        narrow = tuple(1 if self.chance(0.3) else extent for extent in shape)
        return narrow[self.random.randint(0, len(shape)) if self.chance(0.3) else 0 :]

    def axis(self, shape: tuple[int, ...]) -> int:
        return self.random.randrange(-len(shape), len(shape))

    def number(self, dtype: str) -> Any:
        kind = np.dtype(dtype).kind
        special = self.wild and self.chance(0.4)
        if kind == "b":
            return self.chance(0.5)
        if kind in "iu":
            ends = np.iinfo(dtype)
            return (
                self.random.choice([ends.min, ends.max, 0])
                if special
                else self.random.randint(0 if kind == "u" else -5, 6)
            )
        parts = [self.random.choice(SPECIAL) if special else self.random.randint(-8, 8) / 4 for _ in range(2)]
        return parts[0] if kind == "f" else complex(*parts)

    def host(self, dtype: str, shape: tuple[int, ...]) -> Host:
        made = np.array([self.number(dtype) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
        return np.asfortranarray(made) if self.chance(0.2) and made.ndim > 1 else made

    def one(self, kinds: str, shape: tuple[int, ...] | None = None) -> Host:
        chosen = self.random.choice(DTYPES[self.random.choice(kinds)])
        return self.host(chosen, self.shape() if shape is None else shape)

    def two(self, kinds: str) -> list[Any]:
        """Two arrays that are broadcast, of one kind of dtypes; or an array and a number."""
        kind = self.random.choice(kinds)
        shape = self.shape()
        first = self.host(self.random.choice(DTYPES[kind]), shape)
        if self.chance(0.2):
            return [first, NUMBERS[kind]]
        pair = [first, self.host(self.random.choice(DTYPES[kind]), self.narrowed(shape))]
        self.random.shuffle(pair)
        return pair

    def subscript(self, shape: tuple[int, ...]) -> tuple[Any, ...]:
        found: list[Any] = []
        for extent in shape:
            if extent and self.chance(0.3):
                found.append(self.random.randrange(-extent, extent))
            else:
                start, stop = (self.random.choice([None, self.random.randint(0, extent)]) for _ in range(2))
                found.append(slice(start, stop, self.random.choice([None, 1, 2])))
        if self.chance(0.2):
            found.insert(self.random.randint(0, len(found)), None)
        return (*found[: self.random.randint(0, len(found))], ...) if self.chance(0.3) else tuple(found)


def held(xp: Any, x: Any) -> Any:
    return xp.asarray(x, copy=True) if isinstance(x, np.ndarray) else x


def plain(name: str, *args: Any, **options: Any) -> Call:
    return lambda xp: operator.attrgetter(name)(xp)(*[held(xp, x) for x in args], **options)


# ---------------------------------------------------------------- what is drawn for a name


def unary(kinds: str) -> Callable[[Author, str], Call]:
    return lambda author, name: plain(name, author.one(kinds))


def binary(kinds: str) -> Callable[[Author, str], Call]:
    return lambda author, name: plain(name, *author.two(kinds))


def by_operator(kinds: str) -> Callable[[Author, str], Call]:
    def draw(author: Author, name: str) -> Call:
        args = author.two(kinds)
        return lambda xp: getattr(operator, name)(*[held(xp, x) for x in args])

    return draw


def in_place(kinds: str) -> Callable[[Author, str], Call]:
    def draw(author: Author, name: str) -> Call:
        kind = author.random.choice(kinds)
        dtype = author.random.choice(DTYPES[kind])
        shape = author.shape()
        target = author.host(dtype, shape)
        value = NUMBERS[kind] if author.chance(0.4) else author.host(dtype, author.narrowed(shape))
        return lambda xp: getattr(operator, name)(held(xp, target), held(xp, value))

    return draw


def reduction(kinds: str, **more: Any) -> Callable[[Author, str], Call]:
    def draw(author: Author, name: str) -> Call:
        x = author.one(kinds)
        options = {key: value for key, value in more.items() if author.chance(0.4)}
        if x.ndim and author.chance(0.5):
            options["axis"] = author.axis(x.shape)
        elif x.ndim > 1 and author.chance(0.4):
            options["axis"] = tuple(author.random.sample(range(x.ndim), 2))
        if author.chance(0.3):
            options["keepdims"] = True
        return plain(name, x, **options)

    return draw


def along(kinds: str, **more: Any) -> Callable[[Author, str], Call]:
    def draw(author: Author, name: str) -> Call:
        x = author.one(kinds, author.shape(1, 3))
        options = {key: value for key, value in more.items() if author.chance(0.4)}
        return plain(name, x, axis=author.axis(x.shape), **options)

    return draw


def clip(author: Author, name: str) -> Call:
    dtype = author.random.choice(DTYPES[author.random.choice("iuf")])
    shape = author.shape()
    bounds = [None if author.chance(0.3) else author.host(dtype, author.narrowed(shape)) for _ in range(2)]
    return plain(name, author.host(dtype, shape), *bounds)


def choose(author: Author, name: str) -> Call:
    args = author.two("biufc")
    shape = np.broadcast_shapes(*[np.shape(x) for x in args])
    return plain(name, author.host("bool", author.narrowed(shape)), *args)


def join(author: Author, name: str) -> Call:
    kind, shape = author.random.choice("biufc"), list(author.shape(1, 3))
    axis = author.axis(tuple(shape))
    parts = []
    for _ in range(author.random.randint(1, 3)):
        shape[axis] = author.random.randint(0, 3)
        parts.append(author.host(author.random.choice(DTYPES[kind]), tuple(shape)))
    return lambda xp: getattr(xp, name)([held(xp, x) for x in parts], axis=axis)


def read(author: Author, name: str) -> Call:
    x = author.one("biufc")
    index = author.subscript(x.shape)
    return lambda xp: held(xp, x)[index]


def store(author: Author, name: str) -> Call:
    kind, shape = author.random.choice("biufc"), author.shape()
    dtype = author.random.choice(DTYPES[kind])
    x, index = author.host(dtype, shape), author.subscript(shape)
    value = NUMBERS[kind] if author.chance(0.5) else author.host(dtype, author.narrowed(x[index].shape))

    def call(xp: Any) -> Any:
        target = held(xp, x)
        target[index] = held(xp, value)
        return target

    return call


def select(author: Author, name: str) -> Call:
    x = author.one("biufc", author.shape(1, 3))
    mask = author.host("bool", x.shape)
    return lambda xp: held(xp, x)[held(xp, mask)]


def convert(author: Author, name: str) -> Call:
    kind = author.random.choice([bool, int, float, complex])
    x = author.one({bool: "biufc", int: "biu", float: "biuf", complex: "biufc"}[kind], ())
    return lambda xp: xp.asarray(kind(held(xp, x)))


def product(author: Author, name: str) -> Call:
    author.wild = False
    kind, stack = author.random.choice("iufc"), author.shape(0, 2)
    rows, inner, columns = (author.random.randint(0, 4) for _ in range(3))
    first = author.host(author.random.choice(DTYPES[kind]), (*stack, rows, inner))
    second = author.host(author.random.choice(DTYPES[kind]), (*author.narrowed(stack), inner, columns))
    if author.chance(0.3):
        second = author.host(str(second.dtype), (inner,))
    return plain(name, first, second)


def shift(author: Author, name: str) -> Call:
    dtype = author.random.choice(DTYPES[author.random.choice("iu")])
    shape = author.shape()
    by = author.host("uint8", author.narrowed(shape)) % 7
    return plain(name, author.host(dtype, shape), by.astype(dtype))


def counted(author: Author, name: str) -> Call:
    start, stop, step = (author.random.randint(-5, 6) for _ in range(3))
    if author.chance(0.4):
        return plain(name, start / 2, stop / 2, step / 4 or 0.5)
    return plain(name, start, stop, step or 1) if author.chance(0.7) else plain(name, abs(stop))


def spaced(author: Author, name: str) -> Call:
    start, stop = (author.random.randint(-9, 9) / 2 for _ in range(2))
    return plain(name, start, stop, author.random.randint(0, 9), endpoint=author.chance(0.5))


def identity(author: Author, name: str) -> Call:
    rows, columns, k = (author.random.randint(0, 4) for _ in range(3))
    return plain(name, rows, author.random.choice([None, columns]), k=k - 2)


def filled(author: Author, name: str) -> Call:
    kind = author.random.choice("biufc")
    dtype = author.random.choice(DTYPES[kind])
    shape, number = author.shape(), author.number(dtype)
    return lambda xp: xp.full(shape, number, dtype=getattr(xp, dtype))


def filled_like(author: Author, name: str) -> Call:
    x = author.one("biufc")
    return plain(name, x, author.number(str(x.dtype)))


def reshaped(author: Author, name: str) -> Call:
    x = author.one("biufc", (author.random.randint(1, 4), 2, author.random.randint(0, 3)))
    shapes = [(x.size,), (2, -1), (*x.shape[::-1],), (x.shape[0] * 2, x.shape[2]), (1, *x.shape), (-1, 3)]
    return plain(name, x, author.random.choice(shapes))


def grid(author: Author, name: str) -> Call:
    dtype = author.random.choice(DTYPES[author.random.choice("iufc")])
    lines = [author.host(dtype, (author.random.randint(0, 3),)) for _ in range(author.random.randint(1, 3))]
    return plain(name, *lines, indexing=author.random.choice(["xy", "ij"]))


def conversion(author: Author, name: str) -> Call:
    author.wild = False
    kind = author.random.choice("biufc")
    kinds = {"b": "biufc", "i": "bifc", "u": "biufc", "f": "fc", "c": "c"}[kind]
    to = author.random.choice(DTYPES[author.random.choice(kinds)])
    x = author.one(kind)
    return lambda xp: xp.astype(held(xp, x), getattr(xp, to), copy=True)


def common(author: Author, name: str) -> Call:
    x, y = author.two(author.random.choice(["i", "u", "f", "c", "iu", "fc"]))
    return lambda xp: xp.zeros((), dtype=xp.result_type(held(xp, x), held(xp, y)))


def kind_of(author: Author, name: str) -> Call:
    dtype = author.random.choice(DTYPES[author.random.choice("biufc")])
    kind: Any = author.random.choice(["bool", "signed integer", "unsigned integer", "integral", "real floating",
                                      "complex floating", "numeric"])  # fmt: skip
    if author.chance(0.3):
        kind = (kind, "bool")
    return lambda xp: xp.asarray(xp.isdtype(getattr(xp, dtype), kind))


def spread(author: Author, name: str) -> Call:
    shape = author.shape()
    if name == "broadcast_to":
        return plain(name, author.host("float32", author.narrowed(shape)), shape)
    return plain(name, *[author.host("int16", author.narrowed(shape)) for _ in range(3)])


def taken(author: Author, name: str) -> Call:
    x = author.one("biufc", author.shape(1, 3))
    axis = author.axis(x.shape)
    count, extent = author.random.randint(0, 4), x.shape[axis]
    shape = (count,)
    if name == "take_along_axis":
        shape = tuple(count if at == axis % x.ndim else length for at, length in enumerate(x.shape))
    if not extent:
        shape = tuple(0 for _ in shape)
    low = 0 if name == "take" else -extent
    at = np.array([author.random.randrange(low, extent) for _ in range(int(np.prod(shape)))], "int64")
    return plain(name, x, at.reshape(shape), axis=axis)


def turned(author: Author, name: str) -> Call:
    x = author.one("biufc", author.shape(2, 4))
    axes = author.random.sample(range(x.ndim), x.ndim)
    if name == "permute_dims":
        return plain(name, x, tuple(axes))
    if name == "moveaxis":
        return plain(name, x, axes[0], axes[1] - x.ndim)
    return plain(name, x)


def rolled(author: Author, name: str) -> Call:
    x = author.one("biufc")
    if not x.ndim or author.chance(0.3):
        return plain(name, x, author.random.randint(-4, 4))
    if author.chance(0.4):
        axes = tuple(author.random.sample(range(x.ndim), author.random.randint(1, x.ndim)))
        return plain(name, x, tuple(author.random.randint(-4, 4) for _ in axes), axis=axes)
    return plain(name, x, author.random.randint(-4, 4), axis=author.axis(x.shape))


def squeezed(author: Author, name: str) -> Call:
    x = author.one("biufc", (*author.shape(0, 2), 1, *author.shape(0, 1), 1))
    ones = [axis for axis, extent in enumerate(x.shape) if extent == 1]
    return plain(name, x, axis=tuple(author.random.sample(ones, author.random.randint(1, len(ones)))))


def expanded(author: Author, name: str) -> Call:
    x = author.one("biufc", author.shape(0, 3))
    return plain(name, x, axis=author.random.randint(-x.ndim - 1, x.ndim))


def tiled(author: Author, name: str) -> Call:
    return plain(name, author.one("biufc", author.shape(0, 3)), tuple(author.random.choices([0, 1, 2, 3], k=2)))


def searched(author: Author, name: str) -> Call:
    dtype = author.random.choice(DTYPES[author.random.choice("iuf")])
    author.wild = False
    line = np.sort(author.host(dtype, (author.random.randint(0, 6),)))
    return plain(name, line, author.host(dtype, author.shape()), side=author.random.choice(["left", "right"]))


def among(author: Author, name: str) -> Call:
    dtype = author.random.choice(DTYPES[author.random.choice("iu")])
    author.wild = False
    return plain(name, author.host(dtype, author.shape()), author.host(dtype, (3,)))


def contracted(author: Author, name: str) -> Call:
    author.wild = False
    kind = author.random.choice("iufc")
    dtype, shape, extra = author.random.choice(DTYPES[kind]), author.shape(1, 3), author.shape(0, 2)
    count = author.random.randint(1, len(shape))
    second = author.host(dtype, (*shape[len(shape) - count :], *extra))
    return plain(name, author.host(dtype, shape), second, axes=count)


def vectors(author: Author, name: str) -> Call:
    author.wild = False
    kind, shape = author.random.choice("iufc"), author.shape(1, 3)
    dtype = author.random.choice(DTYPES[kind])
    if name.endswith("outer"):
        return plain(name, author.host(dtype, shape[:1]), author.host(dtype, shape[-1:]))
    if name.endswith("cross"):
        shape = (*shape[:-1], 3)
        return plain(name, author.host(dtype, shape), author.host(dtype, shape))
    return plain(name, author.host(dtype, shape), author.host(dtype, (*author.narrowed(shape[:-1]), shape[-1])))


def matrices(author: Author, kinds: str = "fc", square: bool = True) -> Host:
    """Matrices far from singular ones, if they are square."""
    author.wild = False
    stack, rows = author.shape(0, 2), author.random.randint(1, 4)
    made = author.one(kinds, (*stack, rows, rows if square else author.random.randint(1, 4)))
    return made + np.eye(rows, dtype=made.dtype) * 12 if square else made


def hermitian(author: Author) -> Host:
    made = matrices(author)
    return made + np.conj(np.swapaxes(made, -1, -2))


def of_matrices(**more: Any) -> Callable[[Author, str], Call]:
    return lambda author, name: plain(name, matrices(author), **more)


def of_any_matrices(kinds: str) -> Callable[[Author, str], Call]:
    def draw(author: Author, name: str) -> Call:
        x = matrices(author, kinds, False)
        options = {"offset": author.random.randint(-2, 2)} if name.endswith(("diagonal", "trace")) else {}
        return plain(name, x, **options)

    return draw


def power(author: Author, name: str) -> Call:
    return plain(name, matrices(author), author.random.randint(-2, 3))


def equations(author: Author, name: str) -> Call:
    x = matrices(author)
    right = (*x.shape[:-1], 2) if x.ndim > 2 or author.chance(0.5) else x.shape[-1:]
    return plain(name, x, author.host(str(x.dtype), right))


def again(author: Author, name: str) -> Call:
    """Factors, of which signs and order are open, by what their product is."""
    x = hermitian(author) if name.endswith("eigh") else matrices(author, square=False)

    def call(xp: Any) -> Any:
        options = {"full_matrices": False} if name.endswith("svd") else {}
        factors = operator.attrgetter(name)(xp)(held(xp, x), **options)
        if name.endswith("qr"):
            return xp.matmul(*factors)
        if name.endswith("eigh"):
            values, columns = factors
            back = xp.matmul(columns * values[..., None, :], xp.conj(xp.matrix_transpose(columns)))
            return values, back
        left, values, right = factors
        return values, xp.matmul(left * values[..., None, :], right)

    return call


def norm(author: Author, name: str) -> Call:
    author.wild = False
    options: dict[str, Any] = {"keepdims": author.chance(0.3)}
    if name.endswith("matrix_norm"):
        options["ord"] = author.random.choice(["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
        return plain(name, matrices(author, square=False), **options)
    x = author.one("fc", author.shape(1, 3))
    options["ord"] = author.random.choice([0, 1, 2, 3, np.inf, 0.5])
    if author.chance(0.6):
        options["axis"] = author.axis(x.shape)
    if x.size:
        return plain(name, x, **options)
    return plain(name, x, ord=2)


def transform(author: Author, name: str) -> Call:
    author.wild = False
    several, real = name.endswith("n"), name.rpartition(".")[2] in ("rfft", "rfftn", "ihfft")
    x = author.one("f" if real else "fc" if name.endswith(("fft", "fftn")) and "h" not in name else "c",
                   tuple(author.random.randint(1, 5) for _ in range(author.random.randint(1, 3))))  # fmt: skip
    options: dict[str, Any] = {"norm": author.random.choice(["backward", "ortho", "forward"])}
    if several:
        axes = tuple(author.random.sample(range(x.ndim), author.random.randint(1, x.ndim)))
        options["axes"] = axes
        if author.chance(0.4):
            options["s"] = tuple(author.random.randint(2, 6) for _ in axes)
    else:
        options["axis"] = author.axis(x.shape)
        if author.chance(0.5) or x.shape[options["axis"]] == 1:
            options["n"] = author.random.randint(2, 7)
    if several and "s" not in options:
        options["s"] = tuple(author.random.randint(2, 6) for _ in options["axes"])
    if "irfft" in name or "hfft" in name or real:
        x = x.astype({"f": "f", "d": "d", "F": "F", "D": "D"}[x.dtype.char])
    return plain(name, x, **options)


def shifted(author: Author, name: str) -> Call:
    return plain(name, author.one("fc", author.shape(1, 3)))


def frequencies(author: Author, name: str) -> Call:
    return plain(name, author.random.randint(1, 9), d=author.random.choice([1.0, 0.5, 0.25]))


DRAWN: dict[str, Callable[[Author, str], Call]] = {
    **dict.fromkeys(("abs", "negative", "positive", "isfinite", "isinf", "isnan", "round"), unary("iufc")),
    **dict.fromkeys(("square", "sign"), unary("iuf")),  # Of complex zeros the signs; infinities in squares.
    **dict.fromkeys(("ceil", "floor", "trunc"), unary("iuf")),
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10",
                     "log2", "reciprocal", "sin", "sinh", "sqrt", "tan"), unary("fc")),
    # Complex ones have infinities, and small numbers, of their own: docs/accuracy.md.
    **dict.fromkeys(("expm1", "log1p", "tanh", "signbit"), unary("f")),
    **dict.fromkeys(("conj", "real", "imag"), unary("c")),
    "logical_not": unary("b"), "bitwise_invert": unary("biu"),
    **dict.fromkeys(("add", "subtract"), binary("iufc")), "multiply": binary("iuf"), "divide": binary("f"),
    **dict.fromkeys(("equal", "not_equal"), binary("biufc")),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "floor_divide", "remainder", "maximum",
                     "minimum"), binary("iuf")),
    **dict.fromkeys(("atan2", "copysign", "hypot", "logaddexp", "nextafter", "pow"), binary("f")),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), binary("b")),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), binary("biu")),
    **dict.fromkeys(("max", "min"), reduction("iuf")),
    **dict.fromkeys(("all", "any", "count_nonzero"), reduction("biufc")),
    **dict.fromkeys(("sum", "prod"), reduction("iuf")), "mean": reduction("f"),
    **dict.fromkeys(("std", "var"), reduction("f", correction=1)),
    **dict.fromkeys(("argmax", "argmin"), along("iuf", keepdims=True)),
    "sort": along("iuf", stable=False), "argsort": along("iuf", stable=True), "diff": along("iuf", n=2),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod"), along("iuf", include_initial=True)),
    **dict.fromkeys(("flip", "unstack"), along("biufc")),
    "repeat": lambda author, name: plain(name, author.one("biufc"), author.random.randint(0, 3)),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"), unary("biu")),
    "nonzero": lambda author, name: plain(name, author.one("biufc", author.shape(1, 3))),
    **dict.fromkeys(("zeros_like", "ones_like"), unary("biufc")), "clip": clip, "where": choose, "concat": join,
    **dict.fromkeys(("tril", "triu"), lambda author, name: plain(
        name, author.one("biufc", author.shape(2, 4)), k=author.random.randint(-3, 3))),
    "matmul": product, "linalg.matmul": product, "reshape": reshaped,
    "getitem": read, "setitem": store, "mask": select, "number": convert,
    "arange": counted, "linspace": spaced, "eye": identity, "full": filled, "full_like": filled_like, "meshgrid": grid,
    "astype": conversion, "result_type": common, "isdtype": kind_of,
    **dict.fromkeys(("broadcast_to", "broadcast_arrays"), spread),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), shift),
    **dict.fromkeys(("take", "take_along_axis"), taken), "roll": rolled, "squeeze": squeezed, "tile": tiled,
    **dict.fromkeys(("matrix_transpose", "permute_dims", "moveaxis", "linalg.matrix_transpose"), turned),
    "expand_dims": expanded, "searchsorted": searched, "isin": among,
    **dict.fromkeys(("tensordot", "linalg.tensordot"), contracted),
    **dict.fromkeys(("vecdot", "linalg.vecdot", "linalg.outer", "linalg.cross"), vectors),
    "linalg.cholesky": lambda author, name: plain(name, hermitian(author)), "linalg.solve": equations,
    "linalg.eigvalsh": lambda author, name: plain(name, hermitian(author)), "linalg.matrix_power": power,
    **dict.fromkeys(("linalg.det", "linalg.inv", "linalg.slogdet"), of_matrices()),
    **dict.fromkeys(("linalg.pinv", "linalg.svdvals", "linalg.matrix_rank"), of_any_matrices("fc")),
    **dict.fromkeys(("linalg.diagonal", "linalg.trace"), of_any_matrices("iufc")),
    **dict.fromkeys(("linalg.eigh", "linalg.qr", "linalg.svd"), again),
    **dict.fromkeys(("linalg.matrix_norm", "linalg.vector_norm"), norm),
    **dict.fromkeys([f"fft.{name}" for name in ("fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn",
                                                "hfft", "ihfft")], transform),
    **dict.fromkeys(("fft.fftshift", "fft.ifftshift"), shifted),
    **dict.fromkeys(("fft.fftfreq", "fft.rfftfreq"), frequencies),
}  # fmt: skip
"""How calls of a function are drawn."""

OPERATORS: dict[str, Callable[[Author, str], Call]] = {
    **dict.fromkeys(("add", "sub"), by_operator("iufc")), "mul": by_operator("iuf"), "truediv": by_operator("f"),
    **dict.fromkeys(("floordiv", "mod", "lt", "le", "gt", "ge"), by_operator("iuf")), "pow": by_operator("f"),
    **dict.fromkeys(("and_", "or_", "xor"), by_operator("biu")), **dict.fromkeys(("eq", "ne"), by_operator("biufc")),
    **dict.fromkeys(("iadd", "isub"), in_place("iufc")), "imul": in_place("iuf"), "itruediv": in_place("f"),
    **dict.fromkeys(("ifloordiv", "imod"), in_place("iuf")), "ipow": in_place("f"),
    **dict.fromkeys(("iand", "ior", "ixor"), in_place("biu")),
}  # fmt: skip
"""The same of operators."""

OF_MATRICES = {name for name in DRAWN if "." in name and not name.endswith(("shift", "freq", "transpose", "diagonal"))}
SUMS = {"sum", "prod", "mean", "std", "var", "cumulative_sum", "cumulative_prod", "matmul", "tensordot", "vecdot",
        "linspace", *OF_MATRICES}  # fmt: skip
LOOSE_ZEROS = SUMS | {"max", "min", "maximum", "minimum", "clip"}
"""Where the sign of a zero follows from the order of the work."""


def host(x: Any) -> Host:
    return x.get() if type(x) is nl.ndarray else np.asarray(getattr(x, "_array", x))


def test_every_function_is_drawn() -> None:
    modules = {"": strict, "linalg.": strict.linalg, "fft.": strict.fft}
    found = {start + name for start, module in modules.items() for name in module.__all__}
    functions = {name for name in found if callable(operator.attrgetter(name)(strict)) and not name.endswith("_flags")}
    types = {name for name in functions if isinstance(operator.attrgetter(name)(strict), type)}
    # Of these there is nothing to compare, or test_standard.py does.
    rest = {"empty", "empty_like", "asarray", "zeros", "ones", "from_dlpack", "can_cast", "finfo", "iinfo", "stack",
            "broadcast_shapes", "__array_namespace_info__"}  # fmt: skip
    assert functions - types - set(DRAWN) <= rest


def is_same(have: Any, want: Any, name: str) -> bool:
    if type(have) is not nl.ndarray:
        return False
    x, y = host(have), host(want)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind not in "fc":
        return bool((x == y).all())
    eps = float(np.finfo(x.dtype).eps) * (64 if name in OF_MATRICES else 1)
    for a, b in zip((x.real, x.imag), (y.real, y.imag), strict=True):
        if not np.allclose(a, b, rtol=64 * eps, atol=64 * eps if name in SUMS else eps**2, equal_nan=True):
            return False
        zeros = (a == 0) & (b == 0)
        if name not in LOOSE_ZEROS and not (np.signbit(a) == np.signbit(b))[zeros].all():
            return False
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*DRAWN, *[f"operator {name}" for name in OPERATORS]])
def test_random_calls(name: str) -> None:
    strict.set_array_api_strict_flags(api_version="2025.12")
    kind, _, word = name.rpartition(" ")
    draw = OPERATORS[word] if kind else DRAWN[word]
    compared = 0
    for number in range(CALLS):
        author = Author(f"{name} {number}", word not in SUMS)
        call = draw(author, word)
        with np.errstate(all="ignore"):
            try:
                wanted = call(strict)
            except (TypeError, ValueError, OverflowError, IndexError):
                continue  # What the standard does not say.
            found = call(nl)
        compared += 1
        want, have = (list(x) if isinstance(x, (tuple, list)) else [x] for x in (wanted, found))
        assert len(have) == len(want), name
        for x, y in zip(have, want, strict=True):
            assert is_same(x, y, word), f"call {number} of {name}: {host(x)!r}, the standard's {host(y)!r}"
    assert compared >= CALLS // 6, f"{name}: only {compared} calls were compared"
