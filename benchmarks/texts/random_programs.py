"""Fixed programs that are composed at random, the seed of each its name: what nobody would think of writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np

import numloom as nl
from benchmarks.texts.program import Named, data, dtype_of

CHOSEN = ("float32", "float32", "float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "bool")
SHAPES = ((1000,), (60, 90), (7, 2000), (12, 20, 33), (3, 5, 7, 11), (100_000,), (1, 50), (257, 16))
ROW_SHAPES = ((9, 16), (21, 24), (5, 100), (30, 200), (3, 1000), (2, 2049), (4, 3000), (2, 17_000), (2, 40_000))


def whole(x: Any) -> Any:
    """Values without truth values among them, which have no difference and no sign."""
    return x.astype(np.int32) if x.dtype == np.bool_ else x


UNARY: Sequence[Callable[[Any], Any]] = (
    lambda x: -x,
    nl.absolute,
    nl.square,
    nl.sqrt,
    lambda x: nl.exp(-nl.absolute(x)),
    lambda x: nl.sin(x * 2),
    lambda x: nl.floor(x / 3),
    lambda x: x > 1,
    nl.isnan,
    lambda x: 1 / (x + 2),
    lambda x: x**3,
    nl.sign,
    lambda x: nl.log1p(nl.absolute(x)),
    nl.tanh,
)
BINARY: Sequence[Callable[[Any, Any], Any]] = (
    nl.add,
    nl.subtract,
    nl.multiply,
    nl.divide,
    nl.maximum,
    nl.minimum,
    nl.less,
    nl.equal,
    nl.floor_divide,
    nl.remainder,
    lambda x, y: nl.where(x > y, x, y + 1),
    lambda x, y: nl.where(nl.isfinite(x), y, 0),
    lambda x, y: (x > 0) & (y < 1),
    nl.fmax,
    lambda x, y: x + y * 0.25,
)
REDUCE: Sequence[Callable[[Any, Any], Any]] = (
    lambda x, axis: x.sum(axis, keepdims=True),
    lambda x, axis: x.max(axis, keepdims=True),
    lambda x, axis: x.min(axis, keepdims=True),
    lambda x, axis: x.mean(axis, keepdims=True),
    lambda x, axis: x.astype(np.float32).var(axis, keepdims=True),
    lambda x, axis: (x > 0).any(axis, keepdims=True),
    lambda x, axis: (x > 0).all(axis, keepdims=True),
    lambda x, axis: nl.argmax(x, axis, keepdims=True),
    lambda x, axis: nl.argmin(x, axis, keepdims=True),
    lambda x, axis: nl.prod(x, axis, keepdims=True),
)
FIRST_OF_PLACES, LAST_OF_PLACES = 7, 8
"""Which of these give places, along one axis only."""


def operand(random: Random, shape: tuple[int, ...]) -> Any:
    """Memory seen in this shape, in one of several layouts."""
    dtype, kind = random.choice(CHOSEN), random.randrange(7)
    if kind == 0:
        return data(dtype, *shape[::-1]).T
    if kind == 1:
        return data(dtype, *shape[:-1], 2 * shape[-1])[..., ::2]
    if kind == 2:
        return data(dtype, *shape)[..., ::-1]
    if kind == 3:
        return data(dtype, *(1 for _ in shape[1:]), shape[-1])
    if kind == 4:
        return data(dtype, *(shape[0] if d == 0 else 1 for d in range(len(shape))))
    return data(dtype, *shape)


def operation(random: Random, values: Sequence[Any]) -> Any:
    """One more value, made of others."""
    choice, x, y = random.random(), whole(random.choice(values)), whole(random.choice(values))
    if choice < 0.15:
        return x.astype(dtype_of(random.choice(CHOSEN)))
    return random.choice(UNARY)(x) if choice < 0.45 else random.choice(BINARY)(x, y)


def composed(random: Random, values: list[Any], count: int) -> list[Any]:
    """The values, and others made of them."""
    for _ in range(count):
        values = [*values, operation(random, values)]
    return values


def some_map(number: int) -> list[Any]:
    """One to three results of a few operations."""
    random = Random(f"map {number}")
    shape = random.choice(SHAPES)
    begun = [data(random.choice(CHOSEN), *shape), *(operand(random, shape) for _ in range(random.randint(0, 2)))]
    values = composed(random, begun, random.randint(2, 8))
    made = values[len(begun) :]
    return [made[-1], *random.sample(made[:-1], min(random.randint(0, 2), len(made) - 1))]


def reduced(random: Random, x: Any, axis: Any) -> Any:
    """One reduction; places are of one axis."""
    which = random.randrange(len(REDUCE))
    if isinstance(axis, tuple) and which in (FIRST_OF_PLACES, LAST_OF_PLACES):
        which = 0
    return REDUCE[which](whole(x), axis)


def some_reduction(number: int) -> list[Any]:
    """Operations, one or two reductions of them, and operations on these."""
    random = Random(f"reduction {number}")
    shape = random.choice(SHAPES)
    rank = len(shape)
    axis = random.choice([None, 0, rank - 1, tuple(range(max(rank - 2, 0), rank))])
    values = composed(random, [data(random.choice(CHOSEN), *shape), operand(random, shape)], random.randint(0, 4))
    found = [reduced(random, values[-1], axis), reduced(random, values[0], axis)][: random.randint(1, 2)]
    after = composed(random, list(found), random.randint(0, 3))
    return [*found, after[-1] + 1]


def some_rows(number: int) -> list[Any]:
    """Reductions of rows, and elements computed from them, one to three times."""
    random = Random(f"rows {number}")
    shape = random.choice(ROW_SHAPES)
    axis = 0 if number % 5 == 4 else 1
    values = composed(random, [data(random.choice(CHOSEN), *shape), operand(random, shape)], random.randint(0, 3))
    kept = []
    for _ in range(random.randint(1, 3)):
        total = reduced(random, values[-1], axis)
        kept.append(total)
        values = composed(random, [*values[-2:], values[-1] * 0.5 - total], random.randint(0, 3))
        values.append(nl.maximum(values[-1], total))
    return [values[-1], *kept[: random.randint(0, 1)]]


def random_maps() -> Iterator[Named]:
    """Compositions without reductions."""
    for number in range(40):
        yield f"{number}", partial(some_map, number)


def random_reductions() -> Iterator[Named]:
    """Compositions around one or two reductions."""
    for number in range(30):
        yield f"{number}", partial(some_reduction, number)


def random_rows() -> Iterator[Named]:
    """Compositions in several passes over rows."""
    for number in range(30):
        yield f"{number}", partial(some_rows, number)
