"""``r_`` and ``c_``: arrays put together by brackets."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.creation import arange, linspace
from numloom.api.joining import concatenate
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.base.dtypes import code_of

Array = Any


class AxisConcatenator:
    """Concatenates what stands in brackets: arrays, numbers, and slices for ranges.

    A slice ``start:stop:step`` stands for `arange`, ``start:stop:5j`` for `linspace` with 5 values. A text in
    front, ``"axis"``, ``"axis,ndim"`` or ``"axis,ndim,place"``, says along which axis to join, to how many
    dimensions to raise arrays first, and where the axes of a raised array stand (-1: last).

    Parameters
    ----------
    axis : int
        Axis along which arrays are joined.
    matrix : bool
        Must be false: there are no matrices.
    ndmin : int
        Least number of dimensions.
    trans1d : int
        Where the first axis of a raised array stands.
    """

    __slots__ = ("axis", "ndmin", "trans1d")

    concatenate = staticmethod(concatenate)

    def __init__(self, axis: int = 0, matrix: bool = False, ndmin: int = 1, trans1d: int = -1) -> None:
        if matrix:
            raise TypeError("numloom has no matrices: two-dimensional arrays and @ do their work")
        self.axis = axis
        self.ndmin = ndmin
        self.trans1d = trans1d

    def __getitem__(self, key: Any) -> Array:
        axis, ndmin, place = self.axis, self.ndmin, self.trans1d
        parts: list[Any] = []
        kinds: list[Any] = []
        item: Any
        for position, item in enumerate(key if isinstance(key, tuple) else (key,)):
            if isinstance(item, str):
                if position:
                    raise ValueError("special directives must be the first entry.")
                axis, ndmin, place = _directive(item, axis, ndmin, place)
                continue
            if type(item) in np.ScalarType:
                # Python's numbers take the dtype of the arrays beside them.
                parts.append(item)
                kinds.append(item)
                continue
            part = _range(item) if isinstance(item, slice) else asarray(item)
            parts.append(_raised(part, ndmin, place))
            kinds.append(part.dtype)
        if not parts:
            return concatenate([], axis)
        dtype = np.result_type(*kinds)
        code_of(dtype)
        arrays = [_raised(part if type(part) is ndarray else asarray(part, dtype), ndmin, -1) for part in parts]
        return concatenate([array.astype(dtype, copy=False) for array in arrays], axis)

    def __len__(self) -> int:
        return 0


def _directive(text: str, axis: int, ndmin: int, place: int) -> tuple[int, int, int]:
    """Axis, dimensions and place that a text in front asks for."""
    if text in ("r", "c"):
        raise TypeError("numloom has no matrices: leave out the directive, two-dimensional arrays do their work")
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"unknown special directive {text!r}") from None
    if len(numbers) == 1:
        return numbers[0], ndmin, place
    return numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else place


def _range(item: slice) -> Array:
    """The values that a slice stands for."""
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if isinstance(step, (complex, np.complexfloating)):
        return linspace(start, item.stop, int(np.abs(step)))
    return arange(start, item.stop, step)


def _raised(array: Array, ndmin: int, place: int) -> Array:
    """An array with at least `ndmin` dimensions; its own axes start at `place` (-1: they are the last)."""
    missing = ndmin - array.ndim
    if missing <= 0:
        return array
    own = list(range(missing, ndmin))
    before = place if place >= 0 else missing + place + 1
    if not 0 <= before <= missing:
        raise ValueError("axes don't match array")
    raised = array.reshape((1,) * missing + array.shape)
    return raised.transpose([*range(before), *own, *range(before, missing)])


class RClass(AxisConcatenator):
    """`r_`: joins along the first axis.

    Examples
    --------
    >>> import numloom as np
    >>> np.r_[np.asarray([1, 2]), 0, 3:6, np.asarray([7])]
    array([1, 2, 0, 3, 4, 5, 7])
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0)


class CClass(AxisConcatenator):
    """`c_`: vectors become columns, and arrays are joined along the last axis.

    Examples
    --------
    >>> import numloom as np
    >>> np.c_[np.asarray([1, 2]), np.asarray([3, 4])]
    array([[1, 3],
           [2, 4]])
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(-1, ndmin=2, trans1d=0)


r_ = RClass()
c_ = CClass()

__all__ = ["AxisConcatenator", "CClass", "RClass", "c_", "r_"]
