"""Random writes of views of an array into other views of it, under NumPy and under numloom.

A `Form` is a program without sizes: of which dtype and rank the array is and how it comes to be, which views are taken,
what is computed of them, how that is written. `play` runs it for random sizes, starts and steps. So a form is planned
once and met again with other sizes, and its kernels are compiled once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import numloom as nl
from numloom.base.errors import MissingDependencyError

DTYPES = ["f8", "f8", "i1", "c16", "f4", "i4", "c8", "u2", "?", "i8"]
MAKINGS = ["host", "computed", "computed", "filled", "viewed", "shared"]
"""Memory that is there, an expression, a filled array, a view of something larger, a value that is held twice."""

TURNS = [
    "plain",
    "plain",
    "transposed",
    "swapped",
    "flipped",
    "reshaped",
    "real",
    "imag",
    "bits",
    "widened",
    "diagonal",
    "flat",
]

Expression = Callable[[Any, Any, Any, Any], Any]
EXPRESSIONS: list[tuple[str, Expression]] = [
    ("s", lambda xp, s, t, o: s),
    ("s.copy()", lambda xp, s, t, o: s.copy()),
    ("s.astype", lambda xp, s, t, o: s.astype(s.dtype, copy=False)),
    ("s.real", lambda xp, s, t, o: s.real),
    ("s.view()", lambda xp, s, t, o: s.view()),
    ("-s or ~s", lambda xp, s, t, o: ~s if s.dtype.kind == "b" else -s),
    ("s + 1", lambda xp, s, t, o: s ^ True if s.dtype.kind == "b" else s + s.dtype.type(1)),
    ("t + s", lambda xp, s, t, o: t | s if s.dtype.kind == "b" else t + s),
    ("s + t + s", lambda xp, s, t, o: s ^ t ^ s if s.dtype.kind == "b" else s + t + s),
    ("s + o", lambda xp, s, t, o: s ^ o if s.dtype.kind == "b" else s + o),
    ("where(s == t, o, s)", lambda xp, s, t, o: xp.where(s == t, o, s)),
    ("s + s.max()", lambda xp, s, t, o: s | s.any() if s.dtype.kind in "bc" else s + s.max()),
    ("s + t.max(0)", lambda xp, s, t, o: s ^ t.any(0) if s.dtype.kind in "bc" else s + t.max(0)),
    ("t - s.sum(-1)", lambda xp, s, t, o: t ^ s.any(-1, keepdims=True) if s.dtype.kind == "b"
     else t - s.max(-1, keepdims=True)),
    ("s[0]", lambda xp, s, t, o: s[:1]),
    ("s[::-1] + t", lambda xp, s, t, o: s[::-1] ^ t if s.dtype.kind == "b" else s[::-1] + t),
    ("gathered", lambda xp, s, t, o: s[xp.asarray(np.arange(s.shape[0])[::-1] // 2)]),
    ("gathered twice", lambda xp, s, t, o: xp.take(s, xp.asarray(np.arange(s.shape[0]) // 2), 0) == t),
    ("concatenated", lambda xp, s, t, o: xp.concatenate([s[1:], t[:1]])),
    ("repeated", lambda xp, s, t, o: xp.broadcast_to(s[-1:], s.shape) == t),
    ("repeated whole", lambda xp, s, t, o: xp.broadcast_to(o[:1], t.shape)),
    ("swapped axes", lambda xp, s, t, o: s.T if s.shape == s.shape[::-1] else s),
]  # fmt: skip
WAYS = ["set", "set", "copyto", "out", "add", "where", "mask"]


@dataclass(frozen=True)
class Write:
    """One write: how the three views are turned, what is computed, how it is written."""

    turns: tuple[str, str, str]
    expression: int
    way: str


@dataclass(frozen=True)
class Form:
    """A program but for its sizes."""

    dtype: str
    rank: int
    making: str
    writes: tuple[Write, ...]
    look: bool
    """Whether the array is looked at between writes."""
    kept: bool
    """Whether something else is computed of each value before it is written."""


def draw_form(generator: random.Random) -> Form:
    pick = generator.choice
    dtype, rank = pick(DTYPES), pick([1, 1, 1, 2, 2, 3])
    writes = []
    for _ in range(pick([1, 1, 1, 2, 2, 3])):
        simple = generator.random() < 0.5
        turns = ("plain",) * 3 if simple else (pick(TURNS), pick(TURNS), pick(TURNS))
        writes.append(Write(turns, generator.randrange(len(EXPRESSIONS)), pick(WAYS)))
    return Form(dtype, rank, pick(MAKINGS), tuple(writes), generator.random() < 0.3, generator.random() < 0.3)


def turned(xp: Any, x: Any, how: str) -> Any:
    """A view of another kind than slices give."""
    if how == "transposed":
        return x.T
    if how == "swapped":
        return x.swapaxes(0, -1)[..., ::-1]
    if how == "flipped":
        return xp.flip(x)
    if how == "reshaped" and x.shape[-1] % 2 == 0:
        return x.reshape(*x.shape[:-1], 2, x.shape[-1] // 2)[..., ::-1, :]
    if how in ("real", "imag") and x.dtype.kind == "c":
        return x.real if how == "real" else x.imag
    if how == "bits" and x.dtype.kind in "iu":
        return x.view(f"{'u' if x.dtype.kind == 'i' else 'i'}{x.dtype.itemsize}")
    if how == "widened" and x.dtype.kind in "iu" and x.dtype.itemsize > 1:
        return x.view(f"u{x.dtype.itemsize // 2}")
    if how == "diagonal" and x.ndim == 2 and x.shape[0] == x.shape[1]:
        return x.ravel()[:: x.shape[0] + 1]
    if how == "flat":
        return x.reshape(-1)
    return x


def cut(generator: random.Random, shape: tuple[int, ...], most: tuple[int, ...] | None) -> tuple[slice, ...]:
    """Slices of random starts and steps, of extents of at most so many."""
    found = []
    for axis, extent in enumerate(shape):
        want = extent if most is None else min(most[axis], extent)
        step = generator.choice([1, 1, 1, -1, -1, 2, -2, 3])
        count = min(want, 1 + (extent - 1) // abs(step)) if extent else 0
        if most is None and count > 1 and generator.random() < 0.4:
            count = generator.randrange(1, count + 1)
        if not count:
            found.append(slice(0, 0))
            continue
        room = extent - 1 - abs(step) * (count - 1)
        low = generator.choice([0, room, generator.randint(0, room)])
        high = low + abs(step) * (count - 1)
        found.append(slice(low, high + 1, step) if step > 0 else slice(high, low - 1 if low else None, step))
    return tuple(found)


class Sizes:
    """Random sizes, starts and steps, drawn once: the same in both worlds and in each way of running."""

    def __init__(self, seed: int, form: Form) -> None:
        generator = random.Random(seed)
        choices = [[1, 2, 5, 8, 16, 33, 100, 300], [2, 3, 4, 8, 8, 17], [2, 3, 4, 6]][form.rank - 1]
        square = generator.random() < 0.5
        first = generator.choice(choices)
        self.shape = tuple(first if square else generator.choice(choices) for _ in range(form.rank))
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.data: np.ndarray[Any, Any] = rng.integers(0, 2 if form.dtype == "?" else 9, self.shape).astype(form.dtype)
        if self.data.dtype.kind == "c":
            self.data += self.data.dtype.type(1j) * rng.integers(0, 9, self.shape)


def made(xp: Any, form: Form, sizes: Sizes) -> tuple[Any, list[Any]]:
    """The array, and what else must be right in the end."""
    x = xp.asarray(sizes.data.copy())
    one = np.dtype(form.dtype).type(1)
    if form.making == "computed":
        return (x ^ one if form.dtype == "?" else x + one), []
    if form.making == "filled":
        return xp.full(sizes.shape, one), []
    if form.making == "viewed":
        larger = xp.concatenate([x, x[::-1]])
        return larger[x.shape[0] // 2 :][: x.shape[0]], [larger]
    if form.making == "shared":
        y = x ^ one if form.dtype == "?" else x + one
        return y, [y.copy(), y == x]
    return x, []


def run(xp: Any, form: Form, sizes: Sizes) -> list[Any]:
    """Run the program; what it leaves."""
    generator = random.Random(sizes.seed)
    x, found = made(xp, form, sizes)
    for write in form.writes:
        target, source, other = (turned(xp, x, turn) for turn in write.turns)
        target = target[cut(generator, target.shape, None)]
        views = []
        for view in (source, other):
            if view.ndim != target.ndim:
                view = target
            view = view[cut(generator, view.shape, target.shape)]
            if view.dtype != target.dtype:
                view = (view if target.dtype.kind == "c" else view.real).astype(target.dtype)
            views.append(view)
        small = tuple(min(sizes) for sizes in zip(target.shape, *(view.shape for view in views), strict=True))
        s, o = (view[tuple(slice(n) for n in small)] for view in views)
        t = target[tuple(slice(n) for n in small)]
        value = EXPRESSIONS[write.expression][1](xp, s, t, o)
        if xp is np:  # which reads some of what it has written
            value = value.copy()
        if form.kept:
            found.append(value[::-1] == value if value.ndim and generator.random() < 0.5 else value == t)
        store(xp, t, value, write.way)
        if form.look:
            found.append(x.copy() if xp is np else x.get())
    return [x, *found]


def store(xp: Any, t: Any, value: Any, way: str) -> None:
    """Write a value into a view."""
    if way == "copyto":
        xp.copyto(t, value, casting="unsafe")
    elif way == "out":
        xp.add(value, 0, out=t, casting="unsafe") if t.dtype.kind != "b" else xp.logical_not(value, out=t)
    elif way == "add" and t.dtype.kind != "b" and value.dtype == t.dtype:
        t += value
    elif way == "where":
        xp.copyto(t, value, where=t == value, casting="unsafe")
    elif way == "mask" and value.shape == t.shape:
        mask = t != value
        t[mask] = value[mask]
    else:
        t[...] = value


def expected(form: Form, sizes: Sizes) -> list[np.ndarray[Any, Any]] | None:
    """NumPy's values; None where it refuses."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(x) for x in run(np, form, sizes)]
    except (TypeError, ValueError, IndexError):
        return None


def check(form: Form, seed: int) -> bool:
    """Compare; False where NumPy refuses the program, or a kernel of it has no loop and must not be compiled."""
    sizes = Sizes(seed, form)
    want = expected(form, sizes)
    if want is None:
        return False
    try:
        have = [np.asarray(x.get() if isinstance(x, nl.ndarray) else x) for x in run(nl, form, sizes)]
    except MissingDependencyError:
        return False
    for x, y in zip(have, want, strict=True):
        assert x.dtype == y.dtype, (form, seed)
        assert np.array_equal(x, y), (form, seed, sizes.shape, x, y)
    return True
