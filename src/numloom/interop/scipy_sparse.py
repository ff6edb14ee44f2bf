"""SciPy's sparse arrays: ours are dense operands, as NumPy's arrays are, which SciPy asks for by their type."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray


def isdense(x: Any) -> bool:
    """Whether this is a dense array: NumPy's or ours."""
    return type(x) is ndarray or isinstance(x, np.ndarray)


def register() -> None:
    """Give SciPy's sparse modules our answer to what is dense."""
    theirs = sys.modules["scipy.sparse._sputils"].isdense  # type: ignore[attr-defined]
    for name, module in list(sys.modules.items()):  # They take it from each other by name.
        if name.startswith("scipy.sparse.") and vars(module).get("isdense") is theirs:
            module.isdense = isdense  # type: ignore[attr-defined]


__all__ = ["register"]
