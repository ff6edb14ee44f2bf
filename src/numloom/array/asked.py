"""Objects that NumPy does not take for arrays, since their ``__array__`` gives one of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray
from numloom.base.nesting import deeper

NO_ARRAY = "object __array__ method not producing an array"
"""NumPy's error for one."""


def asked_for_arrays(a: Any, depth: int = 0) -> Any:
    """An object, or those of nested lists, as the array of ours or of NumPy's that its ``__array__`` gives."""
    if isinstance(a, (list, tuple)):
        depth = deeper(depth)
        return [asked_for_arrays(item, depth) for item in a]
    if not hasattr(a, "__array__"):
        return a
    found = a.__array__()
    if not isinstance(found, (ndarray, np.ndarray)):
        raise ValueError(f"{NO_ARRAY}: that of {type(a).__name__} gave {type(found).__name__}")
    return found


__all__ = ["NO_ARRAY", "asked_for_arrays"]
