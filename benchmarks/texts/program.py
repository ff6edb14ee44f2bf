"""What a fixed program is, and the memory that programs read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import numloom as nl

GPU, OLD_GPU, HOST = "gpu", "gpu without clusters", "host"
BOTH = (GPU, HOST)
ALL = (GPU, OLD_GPU, HOST)

LOW = ("float16", "bfloat16")
FLOATS = ("float32", "float64", *LOW)
INTEGERS = ("int32", "int64", "uint8", "int8", "uint32", "int16", "uint16", "uint64")
COMPLEX = ("complex64", "complex128")
REAL = ("bool", *INTEGERS, *FLOATS)
DTYPES = (*REAL, *COMPLEX)

Work = Callable[[], Any]
"""Records something: gives an array or several, or texts as they are."""
Named = tuple[str, Work]


@dataclass(frozen=True)
class Program:
    """One fixed program: its name is ``family/name``.

    `select` says what a kernel chooses by the mask which the program gives: how many bytes an element has, the operand
    of the mask that is chosen from itself (-1: none), and of how many axes indices are wanted instead (0: none).
    """

    family: str
    name: str
    work: Work
    targets: tuple[str, ...] = BOTH
    select: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """Family and name."""
        return f"{self.family}/{self.name}"


Family = Callable[[], Iterator[Named]]


def dtype_of(name: str) -> Any:
    """A dtype by its name; NumPy does not know all of them."""
    return np.dtype(getattr(nl, name)) if name.startswith(("bfloat", "float8")) else np.dtype(name)


@cache
def data(dtype: str, *shape: int) -> Any:
    """Memory of this shape, the same for all programs, which do not write to it.

    It stays: results could take the place of memory that is let go, and texts would depend on what ran before.
    """
    return nl.asarray(np.ones(shape, dtype_of(dtype)))


def fresh(dtype: str, *shape: int) -> Any:
    """Memory of a program's own, to be written to."""
    return nl.asarray(np.ones(shape, dtype_of(dtype)))


def extents(shape: Sequence[int]) -> str:
    """A shape as names have it."""
    return "x".join(map(str, shape)) or "()"
