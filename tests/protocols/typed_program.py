"""A user's program with annotations, for `test_typing.py`: checked by mypy, and run."""

from __future__ import annotations

from typing import Any

import numloom as np
from numloom.typing import ArrayLike, DTypeLike, NDArray

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


def centred(x: Matrix) -> Matrix:
    """The matrix without the mean of its columns."""
    return x - x.mean(axis=0)


def image(side: int, dtype: DTypeLike = np.float32) -> NDArray[np.float32]:
    """Squares."""
    return np.zeros((side, side), dtype)


def total(values: ArrayLike) -> float:
    """The sum."""
    return float(np.asarray(values).sum())


def rows(x: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[int, ...]:
    """The shape."""
    return x.shape


m: Matrix = np.ones((3, 2))
v: Vector = centred(m)[:, 0]
print(total(v), rows(np.arange(6).reshape(2, 3)), image(2).shape, isinstance(m, np.ndarray))
