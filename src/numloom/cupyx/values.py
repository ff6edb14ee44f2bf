"""What a kernel in Python is made of while it is translated: numbers, arrays, iterators, and names of Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

_C = {
    "?": "bool", "b": "signed char", "B": "unsigned char", "h": "short", "H": "unsigned short", "i": "int",
    "I": "unsigned int", "l": "long long", "L": "unsigned long long", "q": "long long", "Q": "unsigned long long",
    "e": "__half", "f": "float", "d": "double", "F": "complex<float>", "D": "complex<double>",
}  # fmt: skip
_RESERVED = """
    alignas alignof asm auto bool case catch char class const constexpr const_cast decltype default delete do double
    dynamic_cast else enum explicit export extern false float friend goto inline int long mutable namespace new noexcept
    nullptr operator private protected public register reinterpret_cast requires restrict short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t xor and or not bitand bitor compl and_eq or_eq xor_eq not_eq concept
    y0 y1 j0 j1 yn jn gamma
"""
_WORDS = frozenset(_RESERVED.split())
"""Words of C++, and functions of C that variables are named after."""
Kind = tuple[str, int]


class Untranslatable(TypeError):
    """A kernel in Python says something that has no translation."""


class UntranslatableValue(Untranslatable, ValueError):
    """A kernel in Python gives a value where its type is right and the value is not."""


class UnboundName(Untranslatable, NameError):
    """A kernel in Python reads a name that stands for nothing."""


@dataclass(frozen=True)
class Expression:
    """An expression in C++: its text, its dtype, and whether it is a constant that takes other types."""

    text: str
    dtype: np.dtype[Any]
    weak: bool = False
    known: Any = field(default=None, compare=False)
    """Its value, where that is known before the kernel runs."""


@dataclass(frozen=True)
class ArrayVariable:
    """An array: the name of its pointer, dtype, and extents and strides as C++ says them."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[str, ...]
    strides: tuple[str, ...]
    root: str = ""
    """The parameter or local pointer that it is a part of; "" for shared memory."""


@dataclass(frozen=True)
class Iterator:
    """A place in a range: over elements of an array, one value, or numbers that count upwards."""

    text: str
    dtype: np.dtype[Any]
    form: str = "strided"

    @property
    def kind(self) -> str:
        """Its type in C++."""
        return f"nl_{self.form}<{c_name(self.dtype)}>"


@dataclass(frozen=True)
class Pair:
    """Two iterators that a function gives together."""

    text: str
    parts: tuple[Iterator, Iterator]

    @property
    def kind(self) -> str:
        """Its type in C++."""
        return f"nl_pair<{self.parts[0].kind}, {self.parts[1].kind}>"

    def each(self) -> tuple[Iterator, Iterator]:
        """Both, by the names that C++ has for them."""
        a, b = self.parts
        return Iterator(f"({self.text}).first", a.dtype, a.form), Iterator(f"({self.text}).second", b.dtype, b.form)


@dataclass(frozen=True)
class Storage:
    """Shared memory that a reduction of a block or warp works in: `count` times room for its threads."""

    name: str
    reduction: Reduction
    at: str = "0"


@dataclass(frozen=True)
class Reduction:
    """``cub.WarpReduce[dtype]`` or ``cub.BlockReduce[dtype, threads]``, and the memory it was given."""

    dtype: np.dtype[Any]
    threads: int
    warp: bool
    memory: str = ""

    @property
    def kind(self) -> str:
        """What it sums in: float16 in float, as NumPy does."""
        return "float" if self.dtype == np.float16 else c_name(self.dtype)


@dataclass(frozen=True)
class Thing:
    """A Python object that the function names: a module, a function, a dtype."""

    value: Any


INT32, INT64, FLOAT64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64)
BOOL = np.dtype(bool)


def c_name(dtype: np.dtype[Any]) -> str:
    """A dtype in C++.

    >>> c_name(np.dtype("f4")), c_name(np.dtype("i8"))
    ('float', 'long long')
    """
    try:
        return _C[dtype.char]
    except KeyError:
        raise Untranslatable(f"kernels in Python have no dtype {dtype}") from None


def spelled(name: str) -> str:
    """A variable of Python's in C++, where some names are words of the language.

    >>> spelled("x"), spelled("new")
    ('x', 'new_')
    """
    return name + "_" if name in _WORDS or name.startswith("nl_") else name


def promoted(a: Expression, b: Expression) -> Expression:
    """What two values meet in: constants take the other's dtype if its kind has room for them."""
    if a.weak == b.weak:
        return Expression("", np.result_type(a.dtype, b.dtype), a.weak)
    weak, strong = (a, b) if a.weak else (b, a)
    if weak.dtype.kind == "c" and strong.dtype.kind != "c":
        narrow = strong.dtype.kind == "f" and strong.dtype.itemsize <= 4
        return Expression("", np.dtype(np.complex64 if narrow else np.complex128))
    if weak.dtype.kind == "f" and strong.dtype.kind not in "fc":
        return Expression("", FLOAT64)
    return Expression("", INT64 if strong.dtype == BOOL else strong.dtype)


def meeting(values: list[Expression]) -> np.dtype[Any]:
    """The dtype in which all values meet."""
    both = values[0]
    for value in values[1:]:
        both = promoted(both, value)
    return both.dtype


__all__ = [
    "BOOL", "FLOAT64", "INT32", "INT64", "ArrayVariable", "Expression", "Iterator", "Kind", "Pair", "Reduction",
    "Storage", "Thing", "UnboundName", "Untranslatable", "UntranslatableValue", "c_name", "meeting", "promoted",
    "spelled",
]  # fmt: skip
