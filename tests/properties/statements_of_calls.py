"""Statements of random programs for compiled functions: exact sums and products of floats, loops, and what they give.

Sums and products of floats are the same in any order where all numbers are small multiples of a power of two. So what
they give is compared to the bit, and other lines go on from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from author import Author
from worlds import Condition

UNITS = {4: (6, 12), 8: (20, 12)}
"""Of floats of so many bytes: digits behind the point that a factor may have, and before it those of a sum."""


class Dyadic(Condition):
    """That sums of these numbers, and of their products, are exact; `text` makes a tuple of the factors."""

    __slots__ = ()

    def holds(self, names: dict[str, Any]) -> bool:
        """Look at NumPy's values."""
        try:
            factors = [np.asarray(one) for one in eval(self.text, names)]
        except Exception:
            return False
        bound = 1.0
        for number, x in enumerate(factors):
            if x.dtype.kind in "biu":
                x = x.astype("f8")
            if x.dtype.kind != "f" or x.itemsize not in UNITS or not np.isfinite(x).all():
                return False
            x = abs(x.astype("f8"))
            bound *= max(1.0, float(x.max(initial=0.0) if number else x.sum()))
        behind, before = min(
            [UNITS.get(x.itemsize, UNITS[8]) for x in factors if x.dtype.kind == "f"], default=UNITS[8]
        )
        whole = [float(1 << behind) * x for x in factors if x.dtype.kind == "f"]
        return bound < 1 << before and all([bool((x == np.rint(x)).all()) for x in whole])


def dyadic(*names: str) -> Dyadic:
    """Say that what is made of these is exact."""
    return Dyadic("dyadic", f"({', '.join(names)},)")


def make_alike(a: Author) -> None:
    """A constant in the shape of an array."""
    _, x = a.chosen()
    dtype = a.pick([x.dtype.str[1:], "f8", "f4", "i4"]).replace("b1", "?")
    a.add(f"{a.target()} = fresh({a.number(11)}, {np.shape(x)}, {dtype!r}, 'C')")


def sums(a: Author) -> None:
    """Sums of floats."""
    name, x = a.chosen()
    if x.dtype.kind != "f":
        return
    axis, t = a.axis(np.ndim(x)), a.target()
    options = [f"{t} = {name}.sum({axis})", f"{t} = np.sum({name}, {axis}, keepdims=True)",
               f"{t} = ({name} * 2).sum({axis})", f"{t} = {name} - {name}.sum({axis}, keepdims=True)"]  # fmt: skip
    if "(" not in axis:
        options += [f"{t} = np.cumsum({name}, {axis})"] * 2
        if axis != "None":
            options += [f"{t} = np.cumsum({name}, {axis})[::-1]", f"{t} = np.diff({name}, axis={axis})"]
    a.add(a.pick(options), dyadic(name))


def products(a: Author) -> None:
    """Products of floats, complex numbers left out, which NumPy multiplies as it likes."""
    name, x = a.chosen()
    if x.dtype.kind != "f" or not np.ndim(x):
        return
    y, t = a.other(np.shape(x)), a.target()
    if np.ndim(a.value(y)) == 0:
        y = name
    options = [f"np.dot({name}, {y}.T)", f"{name} @ {y}.T", f"np.inner({name}, {y})", f"np.vdot({name}, {name})",
               f"np.einsum('...i,...i->...', {name}, {y})", f"np.tensordot({name}, {name}, {np.ndim(x)})"]  # fmt: skip
    if np.ndim(x) == 2:
        options += [f"{name}.T @ {y}", f"np.einsum('ij,kj->ik', {name}, {y})", f"np.einsum('ij->j', {name})",
                    f"{name}[::-1].T @ {y}", f"np.matmul({name}, {y}.T)[::2]", f"np.trace({name})",
                    f"np.dot({name}, {name}[0])", f"{name} @ {y}[-1]"]  # fmt: skip
    text = a.pick(options)
    if x.size * max(np.shape(x)) <= 1 << 20:
        a.add(f"{t} = {text}", dyadic(name, y))


def smooth(a: Author) -> None:
    """Functions of real numbers, whose last bits are the library's: looked at, never kept."""
    name, x = a.chosen()
    if x.dtype.kind != "f" or x.itemsize < 4:
        return
    options = [f"np.exp(-abs({name}))", f"np.sin({name}) * p0", f"np.tanh({name} + f0)", f"np.log1p(abs({name}))",
               f"np.cumsum(np.sqrt(abs({name})))", f"np.exp(-abs({name})).sum(-1)" if np.ndim(x) else f"np.cos({name})",
               f"np.sort(np.sin({name}).ravel())"]  # fmt: skip
    if np.ndim(x) == 2 and x.size <= 4096:
        options += [f"np.tanh({name}) @ np.cos({name}).T", f"np.einsum('ij,ij->i', np.sin({name}), {name})"]
    a.add(f"near({a.pick(options)})", a.tame(name))


def bodies(a: Author, name: str, x: Any) -> list[str]:
    """Next states of a loop whose state `s` is like `x`; dtype and shape stay."""
    dtype = x.dtype.str[1:]
    alike = [one for one in a.rotated(a.arrays()) if np.shape(a.value(one)) == x.shape]
    other = next((one for one in alike if not np.iscomplexobj(a.value(one))), "2")
    found = [f"np.minimum(s + {other}, 9).astype({dtype!r})", "np.where(s > 3, s - 2, s + 1)", "s * 2 - s", "s + p1",
             "np.maximum(s, 1) - p1"]  # fmt: skip
    if x.ndim:
        found += [
            "np.roll(s, 1, 0)",
            "s[::-1] + 1",
            "np.sort(s, -1)[::-1]",
            "np.where(s > s.max(initial=0) - 1, 0, s + 1)",
        ]
    if x.dtype.kind in "iu":
        found += [
            f"(s + s.sum() % 5).astype({dtype!r})",
            f"(np.cumsum(s, -1) % 7).astype({dtype!r})" if x.ndim else "s ^ 3",
        ]
        if x.ndim == 2 and x.shape[0] <= 40:
            found.append(f"((s @ s.T @ s) % 5).astype({dtype!r})" if x.shape[1] <= 40 else "s ^ 1")
    if "u" in x.dtype.kind:
        found = [one for one in found if "- " not in one]
    return found


def loops(a: Author) -> None:
    """Loops of few and of many steps."""
    name, x = a.chosen()
    if isinstance(x, np.generic) or x.dtype.kind in "bc" or (x.dtype.kind == "f" and x.itemsize < 4) or x.size > 4096:
        return
    t, steps, kind = a.target(), a.pick([1, 1, 3, 33, 40]), a.number(4)
    body = a.pick(bodies(a, name, x))
    if kind == 0:
        # Its state keeps its order in memory.
        body = f"(lambda s: np.asarray({body}, order='C'))(s[1])"
        a.add(f"{t} = while_(lambda s: s[0] < {steps}, lambda s: (s[0] + 1, {body}), "
              f"(np.asarray(0), np.asarray({name}, order='C')))[1]")  # fmt: skip
    elif kind == 1 and x.ndim > 1 and 0 < len(x) <= 40 and x[0].size:
        row = a.pick(["np.maximum(s, e)", "np.where(e > 0, s - e, s)", "np.minimum(s + e, 7)"])
        given = a.pick(["s + e", "s", "e * 2", "s.max()", "np.sort(s)"])
        if x.dtype.kind != "u":
            a.add(f"{t} = scan(lambda s, e: ({row}, {given}), {name}[0].copy(), {name})[{a.number(2)}]")
    elif kind == 2:
        a.add(f"{t} = fori(0, {steps}, lambda i, s: (s + i % 3).astype({x.dtype.str[1:]!r}), {name})")
    else:
        a.add(f"{t} = fori(0, {steps}, lambda i, s: {body}, {name})")
