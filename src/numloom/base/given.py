"""Readers of parameters that are neither data nor integers: flags, names and sequences.

What is none is told by what was given and what is expected, before Python's own error about what is done with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np

C_INT = 1 << 31
"""Integers of C end before this."""


def as_flag(value: Any) -> bool:
    """A truth value that NumPy reads as an integer of C: a float, text or None is none.

    Raises
    ------
    TypeError
        Of what is no truth value and no integer.
    OverflowError
        Of an integer that C's cannot be.
    """
    if isinstance(value, (bool, np.bool)) or (getattr(value, "ndim", None) == 0 and value.dtype.kind == "b"):
        return bool(value)
    return as_c_int(value) != 0


def as_c_int(value: Any) -> int:
    """An integer that NumPy reads as one of C.

    Raises
    ------
    OverflowError
        Of one that C's cannot be.
    """
    found = index(value)
    if not -C_INT <= found < C_INT:
        raise OverflowError("Python int too large to convert to C int")
    return found


def as_name(value: Any, what: str) -> str:
    """A name; TypeError of what is no text."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be str, not {type(value).__name__}")
    return value


def as_sequence(value: Any, text: str) -> Any:
    """A sequence, which sets, tables, generators, numbers and text are not.

    Raises
    ------
    TypeError
        Of what is none, with `text`.
    """
    kind = type(value)
    if kind is list or kind is tuple:
        return value
    listed = hasattr(value, "__getitem__") and hasattr(value, "__len__") and not isinstance(value, (Mapping, type))
    if not listed or getattr(value, "ndim", 1) == 0:
        raise TypeError(f"{text}, not {kind.__name__}")
    return value


__all__ = ["as_c_int", "as_flag", "as_name", "as_sequence"]
