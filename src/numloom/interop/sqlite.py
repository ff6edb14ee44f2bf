"""sqlite3: our numbers are stored as numbers. Without this it takes the bytes of whatever has a buffer."""

from __future__ import annotations

import sqlite3
from typing import Any

from numloom.array.ndarray import ndarray


def stored(array: Any) -> Any:
    """What a column gets: of a scalar its number, of an array its bytes, as of NumPy's arrays."""
    return array.item() if not array.ndim else array.tobytes()


def register() -> None:
    """Enter our arrays in the table of adapters."""
    sqlite3.register_adapter(ndarray, stored)


__all__ = ["register"]
