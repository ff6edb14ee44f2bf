"""Matrices with a diagonal, triangles of matrices, powers as columns: generated, or chosen element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.calling import replayed
from numloom.api.creation import arange, empty, full, new_array, shape_of, zeros
from numloom.api.elementwise import multiply, where
from numloom.array.convert import asarray, host_numbers, made_like
from numloom.array.devices import another, made_on
from numloom.array.ndarray import node_of, view_of
from numloom.base.dtypes import DTYPES, I64, ITEMSIZES, code_of
from numloom.base.integers import as_integer, is_integer
from numloom.graph import build
from numloom.graph.layout import f_strides, named_order
from numloom.graph.node import Node
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

WHERE = ELEMENTWISE["where"]
EQUAL = ELEMENTWISE["equal"]


def _diagonal_mask(rows: int, columns: int, k: int) -> Node:
    """Where column minus row is `k`, generated."""
    k = max(-rows, min(k, columns))
    row = build.view(build.iota(rows), I64, 0, (rows, 1), (8, 0))
    column = build.binary(ELEMENTWISE["subtract"], build.iota(columns), k)
    return build.binary(EQUAL, row, column)


@replayed
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    order: str | None = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Array:
    """Ones on a diagonal, zeros elsewhere; generated."""
    if like is not None:
        return made_like(like, np.eye, N, M, k, dtype, order, device=device)
    if (other := another(device)) is not None:
        return made_on(other, eye, N, M, k, dtype, order)
    rows, columns = shape_of((N, N if M is None else M))
    code = code_of(dtype if dtype is not None else float)
    order = named_order(order, "C", "CF")
    if not rows or not columns:
        return full((rows, columns), 0, DTYPES[code], order)
    diagonal = min(max(as_integer(k), -rows), columns)  # Further away there are none either.
    node = build.cast(_diagonal_mask(rows, columns, diagonal), code)
    if order == "F":
        node = build.copied(node, f_strides(node.shape, ITEMSIZES[code]), code)
    return new_array(node)


@replayed
def identity(n: int, dtype: Any = None, *, like: Any = None) -> Array:
    """The square identity matrix."""
    if like is not None:
        return made_like(like, np.identity, n, dtype)
    return eye(n, dtype=float if dtype is None else dtype)


@replayed
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, like: Any = None) -> Array:
    """Ones on and below a diagonal, zeros above; generated."""
    if like is not None:
        return made_like(like, np.tri, N, M, k, dtype)
    rows, columns = (max(as_integer(extent), 0) for extent in (N, N if M is None else M))
    mask = _lower(rows, columns, _diagonal(k))
    return new_array(build.cast(mask, code_of(dtype if dtype is not None else float)))


def _diagonal(k: Any) -> int:
    """The number of a diagonal of a triangle, with which NumPy computes: it may be a float, if that is whole."""
    if is_integer(k):
        return as_integer(k)
    found = host_numbers(k)
    if not hasattr(type(k), "__float__") or (isinstance(found, np.ndarray) and found.dtype.kind not in "biuf"):
        raise TypeError(f"the number of a diagonal must be an integer, not {type(k).__name__}")
    number = float(found + 0.0 if isinstance(found, (float, np.ndarray)) else found)  # As NumPy computes with it.
    if not number.is_integer():
        raise TypeError(f"the number of a diagonal must be whole, got {number}")
    return int(number)


def _lower(rows: int, columns: int, k: int) -> Node:
    k = max(-rows, min(k, columns))
    row = build.view(build.iota(rows), I64, 0, (rows, 1), (8, 0))
    column = build.binary(ELEMENTWISE["subtract"], build.iota(columns), k)
    return build.binary(ELEMENTWISE["greater_equal"], row, column)


@replayed
def tril(m: Any, k: int = 0) -> Array:
    """A matrix with zeros above a diagonal."""
    return _part(m, _diagonal(k), lower=True)


@replayed
def triu(m: Any, k: int = 0) -> Array:
    """A matrix with zeros below a diagonal."""
    return _part(m, _diagonal(k) - 1, lower=False)


def _part(m: Any, k: int, lower: bool) -> Array:
    matrix = asarray(m)
    if matrix.ndim == 1:
        matrix = view_of(matrix, matrix.offset, matrix.shape * 2, (0, matrix.strides[0]))
    if matrix.ndim < 1:
        raise TypeError("a triangle is taken of arrays of at least one dimension")
    node = node_of(matrix)
    zero = build.scalar(0, node.code)
    mask = _lower(matrix.shape[-2], matrix.shape[-1], k)
    return new_array(build.elementwise(WHERE, (mask, node, zero) if lower else (mask, zero, node)))


@replayed
def diag(v: Any, k: int = 0) -> Array:
    """A matrix with a vector on a diagonal, or a diagonal of a matrix (a read-only view)."""
    array = asarray(v)
    if array.ndim == 2:
        return array.diagonal(k)
    if array.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    k = as_integer(k)
    size = array.size + (k if k >= 0 else -k)
    result = zeros((size, size), array.dtype)
    if array.size:
        step = size * array.itemsize
        start = k * array.itemsize if k >= 0 else -k * step
        target = view_of(result, start, array.shape, (step + array.itemsize,))
        target[...] = array
    return result


@replayed
def diagflat(v: Any, k: int = 0) -> Array:
    """A matrix with the flattened values on a diagonal."""
    return diag(asarray(v).ravel(), k)


_FEW_COLUMNS = 8
"""Columns up to which a power is chosen element by element."""


@replayed
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """Powers of a vector as the columns of a matrix."""
    vector = asarray(x)
    if vector.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = vector.size if N is None else as_integer(N)
    dtype = np.promote_types(vector.dtype, int)
    if not 1 < columns <= _FEW_COLUMNS:
        result = empty((vector.size, columns), dtype)
        places = result if increasing else result[:, ::-1]
        if columns > 0:
            places[:, :1] = 1
        if columns > 1:
            base = vector.astype(dtype)[:, None]
            places[:, 1:] = multiply.accumulate(
                view_of(base, base.offset, (vector.size, columns - 1), (base.strides[0], 0)), axis=1
            )
        return result
    # One kernel: each element chooses among the powers, which are products from the left as NumPy has them.
    numbers = arange(columns) if increasing else arange(columns - 1, -1, -1)
    power_of = base = vector.astype(dtype)[:, None]
    chosen = where(numbers == 0, np.ones((), dtype), base)
    for column in range(2, columns):
        power_of = power_of * base
        chosen = where(numbers == column, power_of, chosen)
    return chosen


__all__ = [
    "diag",
    "diagflat",
    "eye",
    "identity",
    "tri",
    "tril",
    "triu",
    "vander",
]
