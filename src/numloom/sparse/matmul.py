"""Products on the device: a matrix with a vector, with dense columns, and with another sparse matrix.

Vectors and columns are kernels of their own: a group of lanes adds a row, so that lanes read neighbouring numbers.
Rows are always added in the same order, whatever the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.creation import arange, ascontiguousarray, empty, zeros
from numloom.api.elementwise import add, logical_or
from numloom.api.reductions import max as largest
from numloom.api.sorting import cumsum, searchsorted
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.sparse.kernels import (
    BLOCK,
    MOST_BLOCKS,
    MOST_PIECES,
    MOST_TERMS,
    PIECE,
    ROUNDS,
    STAGED_ROWS,
    WIDE_FROM,
    blocks_for,
    index_type,
    kernel,
    lanes_for,
    lines_copied,
    number_type,
)
from numloom.sparse.places import Triples, counts_to_pointers, index_dtype, lines_of, matrix_of, triples
from numloom.sparse.where import CLASSES, in_tree

Array = Any


def times_dense(a: Any, x: Array) -> Array:
    """A CSR matrix times a dense vector or matrix."""
    dtype = a.dtype if a.dtype is x.dtype else np.result_type(a.dtype, x.dtype)
    shape = (a.shape[0], *x.shape[1:])
    if not a.nnz or 0 in shape:
        return zeros(shape, dtype)
    data, x = _in_order(a.data, dtype), _in_order(x, dtype)
    types = number_type(dtype), index_type(a.indices.dtype)
    if None in types or in_tree(data, x):
        return _by_scatter(a, data, x, shape)
    index = a.indices.dtype if a.nnz < WIDE_FROM else np.dtype(np.int64)
    types = types[0], index_type(index)
    parts = data, _in_order(a.indices, index), _in_order(a.indptr, index)
    found = _times_vector(a, parts, x, types) if x.ndim == 1 else _times_columns(parts, x, shape, types)
    return _by_scatter(a, data, x, shape) if found is None else found


def _in_order(x: Array, dtype: Any = None) -> Array:
    """An array in C order and of a dtype; itself where it is that."""
    if dtype is not None and x.dtype is not dtype:
        x = x.astype(dtype)
    return x if x.strides == (x.itemsize,) else ascontiguousarray(x)


def _times_columns(parts: tuple[Array, ...], x: Array, shape: tuple[int, ...], types: tuple[str | None, ...]) -> Any:
    """The product with dense columns: a thread adds a number of it. None where no kernel does it."""
    blocks = blocks_for(*shape)
    run = kernel("times_columns", *types) if blocks else None
    if run is None:
        return None
    y = empty(shape, x.dtype)
    run((blocks,), (BLOCK,), (*parts, x, y, *shape))
    return y


def _times_vector(a: Any, parts: tuple[Array, ...], x: Array, types: tuple[str | None, ...]) -> Any:
    """The product with a vector: some lanes add a row; long rows in pieces, by blocks. None where no kernel does it."""
    rows, nnz = a.shape[0], a.nnz
    lanes = lanes_for(nnz, rows, 4)
    longest = ROUNDS * lanes
    if a._longest is None:
        a._longest = int(largest(parts[2][1:] - parts[2][:-1]))
    uneven = a._longest > longest  # Were a part written since, the answer would be as right, but slower.
    staged = not uneven and rows >= STAGED_ROWS and 2 <= lanes <= 16
    types = types if staged else (*types, str(lanes))
    run = kernel("times_short_rows" if uneven else "times_staged" if staged else "times_vector", *types)
    blocks = blocks_for(rows, 1 if staged else lanes)
    if run is None or not blocks:
        return None
    y = empty(rows, x.dtype)
    if not uneven:
        run((blocks,), (BLOCK,), (*parts, x, y, rows))
        return y
    room, most = nnz // longest + 1, nnz // longest + nnz // PIECE + 1
    noted, listed, sums = zeros(1, np.uint64), empty(2 * room, np.int64), empty(most, x.dtype)
    pieces, together = kernel("times_pieces", *types[:2]), kernel("add_pieces", *types[:2])
    run((blocks,), (BLOCK,), (*parts, x, y, rows, longest, noted, listed, room))
    pieces((min(most, MOST_PIECES),), (BLOCK,), (*parts, x, sums, noted, listed, room, most))
    together((min(-(-room * 32 // BLOCK), MOST_PIECES),), (BLOCK,), (parts[2], sums, y, noted, listed, room))
    return y


def _by_scatter(a: Any, data: Array, x: Array, shape: tuple[int, ...]) -> Array:
    """By array operations, for dtypes that the kernels are not written for."""
    y = zeros(shape, data.dtype)
    terms = x[a.indices]
    terms = (data if x.ndim == 1 else data[:, None]) * terms
    at = logical_or.at if y.dtype.kind == "b" else add.at
    at(y, lines_of(a.indptr, a.nnz), terms)
    return y


def times_sparse(a: Any, b: Any, name: str, kind: str) -> Any:
    """The product of two sparse matrices: every pair of terms, sorted by place and added."""
    made = _by_rows(a, b, kind) if name == "csr" else _by_rows(b.T, a.T, kind)
    if made is not None:
        return made if name == "csr" else made.T
    left, right = triples(a), b.tocsr()
    counts = (right.indptr[1:] - right.indptr[:-1])[left.col]
    begins = counts_to_pointers(counts)
    total = int(begins[-1])
    term = searchsorted(begins[1:], arange(total), side="right")
    at = right.indptr[left.col][term].astype(np.int64) + (arange(total) - begins[term])
    dtype = np.result_type(a.dtype, b.dtype)
    data = left.data.astype(dtype)[term] * right.data.astype(dtype)[at]
    found = Triples(left.row[term], right.indices[at], data, (a.shape[0], b.shape[1]))
    return matrix_of(found, name, kind)


def _by_rows(a: Any, b: Any, kind: str) -> Any:
    """The product as CSR, a block a row; None for long rows, and for dtypes that the kernels are not written for."""
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = a.tocsr(), b.tocsr()
    rows, index = a.shape[0], a.indices.dtype
    types = (number_type(dtype), index_type(index))
    count_terms, multiply = kernel("count_terms", types[1]), kernel("multiply_row", *types)
    if (
        count_terms is None
        or multiply is None
        or in_tree(*a._parts, *b._parts)
        or b.indices.dtype != index
        or not (a.nnz and b.nnz)
    ):
        return None
    if rows > MOST_BLOCKS:
        return None
    left, right = (tuple(ascontiguousarray(x) for x in (m.data.astype(dtype), m.indices, m.indptr)) for m in (a, b))
    counts = empty(rows + 1, np.int64)
    count_terms((-(-rows // BLOCK),), (BLOCK,), (left[1], left[2], right[2], counts, rows))
    begins = cumsum(counts)
    most, total = int(counts.max()), int(begins[-1])
    if most > MOST_TERMS or not total:
        return None
    size = 1
    while size < most:
        size *= 2
    threads = min(max(size // 2, 32), 256)
    data, indices, lengths = empty(total, dtype), empty(total, index), empty(rows + 1, np.int64)
    shared = size * (8 + dtype.itemsize) + 4 * threads
    multiply((rows,), (threads,), (*left, *right, begins, data, indices, lengths, size), shared_mem=shared)
    indptr = cumsum(lengths)
    stored = int(indptr[-1])
    made: Any = CLASSES[f"csr_{kind}"]
    shape = (rows, b.shape[1])
    wanted = index_dtype(*shape, stored)
    if stored < total:  # Rows that are shorter than their terms are moved together.
        loose = made._made((data, indices, begins.astype(index)), shape)
        found = lines_copied(loose, arange(rows), indptr, stored)
        if found is None:
            return None
        data, indices = found
    return made._made((data, indices.astype(wanted, copy=False), indptr.astype(wanted)), shape, True)


def _plain(x: Any) -> Any:
    """A dense operand of one or two axes as our array, else None."""
    if isinstance(x, (list, tuple)):
        x = np.asarray(x)
    if not isinstance(x, (ndarray, np.ndarray)) or x.ndim not in (1, 2) or x.dtype.kind not in "biufc":
        return None
    return asarray(x)


def matmul(a: Any, b: Any) -> Any:
    """``a @ b`` with one of the two sparse; NotImplemented for what SciPy should do or refuse."""
    if not hasattr(a, "_sparse_parts"):
        x = _plain(a)
        if x is None or b.ndim != 2 or x.shape[-1] != b.shape[0]:
            return NotImplemented
        found = matmul(b.T, x.T)
        return found if found is NotImplemented else found.T
    if a.ndim != 2:
        return NotImplemented
    if hasattr(b, "_sparse_parts"):
        if b.ndim != 2 or a.shape[1] != b.shape[0] or a._is_array != b._is_array or a.format == b.format == "dia":
            return NotImplemented
        kind = "array" if a._is_array else "matrix"
        return times_sparse(a, b, "csc" if a.format == "csc" else "csr", kind)
    x = _plain(b)
    if x is None or x.shape[0] != a.shape[1]:
        return NotImplemented
    return times_dense(a.tocsr(), x)


__all__ = ["matmul", "times_dense", "times_sparse"]
