"""What functions of linear algebra take: stacks of matrices of an inexact dtype, and how factorisations are called."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

import numloom.ops.factorizations  # noqa: F401  (enters the rows that are called below)
from numloom.api.products import permuted, reshaped_array
from numloom.array.convert import asarray
from numloom.array.ndarray import node_of
from numloom.base.dtypes import C64, C128, F16, F32, F64, KINDS, LOW, code_of
from numloom.engine.routines import call
from numloom.graph import build

Array = Any

REAL = {F32: F32, F64: F64, C64: F32, C128: F64}
"""Codes of the real dtypes of those that factorisations work in."""

COMPLEX = {F32: C64, F64: C128, C64: C64, C128: C128}
WIDE = {F32: F64, F64: F64, C64: C128, C128: C128}


def working_code(*arrays: Array) -> int:
    """Code of the dtype that arrays are factorised in: integers, bool, bfloat16 and float8 count as float64.

    Raises
    ------
    TypeError
        For float16, as in NumPy.
    """
    code = F32
    for array in arrays:
        if array.code == F16:
            raise TypeError("array type float16 is unsupported in linalg")
        code = code_of(np.promote_types("fdFD"[(F32, F64, C64, C128).index(code)], _inexact(array)))
    return code


def _inexact(array: Array) -> np.dtype[Any]:
    return array.dtype if KINDS[array.code] in "fc" and array.code not in LOW else np.dtype(float)  # type: ignore[no-any-return]


def matrices(a: Any) -> Array:
    """An array of matrices in its last two axes; LinAlgError if it has fewer."""
    array = asarray(a)
    if array.ndim < 2:
        raise LinAlgError(f"{array.ndim}-dimensional array given. Array must be at least two-dimensional")
    return array


def square_matrices(a: Any) -> Array:
    """An array of square matrices in its last two axes; LinAlgError if it is none."""
    array = matrices(a)
    if array.shape[-1] != array.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return array


def factored(name: str, a: Array, code: int, **options: Any) -> tuple[Array, ...]:
    """Results of a row of `numloom.ops.factorizations` for an array of matrices.

    Leading axes of the results lie in memory in the order of those of `a`, as in NumPy.
    """
    node = build.cast(node_of(a), code)
    lead = a.ndim - 2
    order = list(range(lead))
    if lead > 1 and 0 not in a.strides[:lead]:
        order.sort(key=lambda axis: -abs(a.strides[axis]))
    found = call(name, permuted(node, (*order, lead, lead + 1)), **options)
    back = [order.index(axis) for axis in range(lead)]
    results = found if isinstance(found, tuple) else (found,)
    return tuple(reshaped_array(permuted(each, (*back, *range(lead, len(each.shape))))) for each in results)
