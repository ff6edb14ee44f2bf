"""Writes random programs: one choice a byte, each line run under NumPy as it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from worlds import Condition, NumPyWorld, Statement

SHAPES = [(), (0,), (1,), (5,), (8,), (3, 4), (4, 3), (4, 4), (5, 5), (1, 4), (2, 3, 4), (3, 1, 2), (0, 3), (40,)]
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
NUMBERS = ["p0", "n0", "p1", "f0", "f1", "b0", "0", "1", "2", "0.5"]
BIT_DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
SLOTS = 6
ERRORS = (TypeError, ValueError, IndexError, OverflowError, AttributeError)


class Author:
    """A program in the making."""

    def __init__(self, choices: bytes) -> None:
        self.choices = choices
        self.at = 0
        self.statements: list[Statement] = []
        self.world = NumPyWorld()
        # Programs of dtype views leave out what may make or change a NaN, whose bits nobody promises.
        self.bits = self.pick([False, False, False, True])
        self.dtypes = BIT_DTYPES if self.bits else DTYPES

    # ------------------------------------------------------------ choices

    def number(self, below: int) -> int:
        if self.at >= len(self.choices):
            return 0
        self.at += 1
        return self.choices[self.at - 1] % below

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.number(len(options))]

    # ------------------------------------------------------------ lines

    def write(self, steps: Sequence[Callable[[Author], None]], first: Callable[[Author], None]) -> None:
        """Add lines until the choices are used up, then look at everything."""
        for _ in range(2):
            first(self)
        while self.at < len(self.choices):
            self.pick(steps)(self)
        for name in self.arrays():
            self.add(f"read({name})")

    def add(self, text: str, *conditions: Condition) -> None:
        """Run a line under NumPy; keep it if NumPy does."""
        self._add(text, conditions, False)

    def add_wrong(self, text: str) -> None:
        """A line that NumPy must refuse, after which the program goes on."""
        self._add(text, (), True)

    def _add(self, text: str, conditions: tuple[Condition, ...], wrong: bool) -> None:
        if not all(condition.holds(self.world.names) for condition in conditions):
            return
        code = compile(text, "<program>", "exec")
        count = len(self.world.reads)
        try:
            fine = self.world.run(code)
        except ERRORS:
            fine = wrong
        else:
            fine = fine and not wrong
        if fine:
            self.statements.append(Statement(text, code, conditions, wrong))
        else:
            del self.world.reads[count:]

    def casts(self, text: str, dtype: Any) -> Condition:
        """That a cast gives the same on every platform, and loses no NaN's bits."""
        return Condition("bits" if self.bits else "cast", text, np.dtype(dtype).str)

    def full(self, text: str) -> Condition:
        """That there are elements."""
        return Condition("full", text)

    def tame(self, text: str) -> Condition:
        """That sums of it are close to each other in any order."""
        return Condition("tame", text)

    # ------------------------------------------------------------ names

    def arrays(self) -> list[str]:
        return self.world.arrays()

    def value(self, text: str) -> Any:
        with np.errstate(all="ignore"):
            return eval(text, self.world.names)

    def target(self) -> str:
        return f"a{self.number(SLOTS)}"

    def chosen(self) -> tuple[str, Any]:
        """An array."""
        name = self.pick(self.arrays() or ["a0"])
        if name not in self.world.names:
            self.add(f"{name} = fresh(1, (5,), 'i4', 'C')")
        return name, self.value(name)

    def related(self, name: str) -> str:
        """An array that shares memory with this one, maybe itself."""
        x = self.value(name)
        for other in self.rotated(self.arrays()):
            if np.may_share_memory(self.value(other), x):
                return other
        return name

    def rotated(self, names: list[str]) -> list[str]:
        start = self.number(len(names)) if names else 0
        return names[start:] + names[:start]

    def other(self, shape: tuple[int, ...]) -> str:
        """An operand that broadcasts with `shape`: an array, a part of one, or a number."""
        if self.number(3):
            for name in self.rotated(self.arrays()):
                try:
                    if np.broadcast_shapes(np.shape(self.value(name)), shape):
                        return name
                except ValueError:
                    continue
        return str(self.pick(NUMBERS))

    # ------------------------------------------------------------ pieces

    def index(self, shape: tuple[int, ...]) -> str:
        """A basic subscript that fits."""
        parts = []
        for extent in shape:
            options = [":", ":", "::-1", "1:", ":-1", "::2", "-2::-2", "1:3"]
            if extent:
                options.append(str(self.number(extent)))
            parts.append(self.pick(options))
        kind = self.number(12)
        if kind == 0:
            parts.insert(self.number(len(parts) + 1), "None")
        elif kind == 1 and parts:
            parts[self.number(len(parts))] = "..."
            return ", ".join(parts[: parts.index("...") + 1])
        elif kind == 2 and len(parts) > 1:
            parts.pop()
        return ", ".join(parts) if parts else "..."

    def picks(self, extent: int, count: int = 3) -> str:
        """A list of positions below an extent."""
        found = [self.number(extent) if self.number(4) else -1 - self.number(extent) for _ in range(count)]
        return str(found)

    def axis(self, ndim: int, several: bool = True) -> str:
        options = ["None", *map(str, range(ndim))]
        if ndim > 1:
            options.append("-1")
        if ndim > 1 and several:
            options.append("(0, 1)")
        return str(self.pick(options))

    def operation(self, x: Any) -> str:
        kind = x.dtype.kind
        if kind == "b":
            return str(self.pick(["&", "|", "^", "==", "!="]))
        if kind == "c":
            return str(self.pick(["+", "-", "==", "!="]))
        if kind == "f":
            return str(self.pick(["<", "=="] if self.bits else ["+", "-", "*", "/", "<", "==", ">=", "//", "%"]))
        return str(self.pick(["+", "-", "*", "//", "%", "&", "|", "^", "<", "<=", "!=", "/", "<<", ">>"]))

    def is_exact(self, x: Any, other: str, sign: str) -> bool:
        """Whether NumPy's own answer is the same everywhere."""
        y = self.value(other)
        if np.result_type(x, y).kind == "c":
            return sign in ("+", "-", "==", "!=")
        if self.bits:
            return np.asarray(y).dtype.kind in "iub" and x.dtype.kind in "iub" and sign != "/"
        return True

    def shown(self) -> str:
        return "\n".join(f"{number:3d}  {each.text}" for number, each in enumerate(self.statements, 1))
