"""The ``output=`` of filters: an array to fill, a dtype, or nothing, as SciPy takes it."""

from __future__ import annotations

from typing import Any

import numpy as np

import numloom as nl
from numloom.array.ndarray import ndarray
from numloom.base.dtypes import refuse_other_order

Array = Any


def dtype_of(output: Any, array: Array) -> np.dtype[Any]:
    """The dtype of a filter's result.

    Raises
    ------
    RuntimeError
        For an array of another shape than the input's.

    Examples
    --------
    >>> dtype_of(None, nl.ones(2, "f4")), dtype_of("u1", nl.ones(2))
    (dtype('float32'), dtype('uint8'))
    """
    if output is None:
        return array.dtype
    if not isinstance(output, ndarray):
        refuse_other_order(output)
        return nl.dtype(output)
    if output.shape != array.shape:
        raise RuntimeError(f"output shape not correct: it is {output.shape}, the input's is {array.shape}")
    return output.dtype


def delivered(result: Array, array: Array, output: Any) -> Array:
    """The result in the dtype asked for, or in the array given for it; below zero, unsigned integers wrap.

    Examples
    --------
    >>> delivered(nl.array([2.5, -2.5]), nl.ones(2), "u1")
    array([  2, 254], dtype=uint8)
    """
    to = dtype_of(output, array)
    if to.kind == "u" and result.dtype.kind == "f":
        result = nl.maximum(result, 0).astype(to) - nl.maximum(-result, 0).astype(to)
    result = result.astype(to, copy=False)
    if not isinstance(output, ndarray):
        return result
    output[...] = result
    return output


__all__ = ["delivered", "dtype_of"]
