"""What NumPy's notation does not have, for source text of trees: computed by NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numloom.engine.reference import gathered
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reduction_tree import reduce_axes
from numloom.ops.reductions import REDUCTIONS
from numloom.ops.routines import ROUTINES
from numloom.ops.special import SPECIAL

Host = np.ndarray[Any, Any]


def _dense(a: Any, strides: tuple[int, ...]) -> tuple[bytearray, Host]:
    """A copy of an array, laid out densely by strides, and its memory."""
    array = np.asarray(a)
    memory = bytearray(max(array.nbytes, 1))
    copy: Host = np.ndarray(array.shape, array.dtype, memory, 0, strides)
    copy[...] = array
    return memory, copy


def seen(
    a: Any, lies: tuple[int, ...], offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str
) -> Host:
    """The memory of an array that lies by the strides `lies`, seen through a layout (bytes)."""
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, _dense(a, lies)[0], offset, strides).copy()


def written(
    a: Any, value: Any, lies: tuple[int, ...], offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str
) -> Host:
    """An array with a value written through a layout of its memory."""
    memory, copy = _dense(a, lies)
    np.ndarray(shape, dtype, memory, offset, strides)[...] = value
    return copy


def operation(name: str, dtype: str, *args: Any) -> Host:
    """An elementwise operation, by its name."""
    row = ELEMENTWISE[name] if name in ELEMENTWISE else SPECIAL[name]
    return np.asarray(row.on_host([np.asarray(arg) for arg in args], np.dtype(dtype)))


def reduction(
    name: str, dtype: str, a: Any, axes: tuple[int, ...], physical: tuple[int, ...], fast: bool, keepdims: bool
) -> Host:
    """A reduction, by its name and in the order of memory."""
    return np.asarray(reduce_axes(REDUCTIONS[name], np.asarray(a), axes, physical, fast, keepdims)).astype(dtype)


def routine(name: str, number: int, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """A result of a routine, by its name; of a function with a gradient of its user's the value, which is there."""
    if name == "custom_gradient":
        return np.asarray(args[0])
    found = ROUTINES[name].numpy(*map(np.asarray, args), **options)
    return found[number] if isinstance(found, tuple) else found


def changed(
    name: str, args: Sequence[Any], lies: tuple[int, ...], dtype: str, layout: tuple[Any, ...], options: dict[str, Any]
) -> Host:
    """An array after a routine that changes what is seen through a layout of its memory."""
    memory, copy = _dense(args[0], lies)
    offset, shape, strides = layout
    ROUTINES[name].numpy(np.ndarray(shape, dtype, memory, offset, strides), *map(np.asarray, args[1:]), **options)
    return copy


__all__ = ["changed", "gathered", "operation", "reduction", "routine", "seen", "written"]
