"""Products on the device: a matrix with a vector, with dense columns, and with another sparse matrix.

Vectors and columns are kernels of their own: a group of lanes adds a row, so that lanes read neighbouring numbers.
Rows are always added in the same order, whatever the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.creation import arange, ascontiguousarray, empty, zeros
from numloom.api.elementwise import add, logical_or
from numloom.api.sorting import searchsorted
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.sparse.kernels import (
    BLOCK,
    MOST_BLOCKS,
    MOST_TERMS,
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
    dtype = np.result_type(a.dtype, x.dtype)
    shape = (a.shape[0], *x.shape[1:])
    columns = x.shape[1] if x.ndim == 2 else 1
    if not a.nnz or 0 in shape:
        return zeros(shape, dtype)
    data, x = ascontiguousarray(a.data.astype(dtype)), ascontiguousarray(x.astype(dtype))
    lanes = lanes_for(a.nnz, a.shape[0]) if x.ndim == 1 else columns
    blocks = -(-a.shape[0] * lanes // BLOCK)
    name = "times_vector" if x.ndim == 1 else "times_columns"
    run = (
        kernel(name, number_type(dtype), index_type(a.indices.dtype))
        if blocks <= MOST_BLOCKS and not in_tree(data, x)
        else None
    )
    if run is None:
        return _by_scatter(a, data, x, shape)
    y = empty(shape, dtype)
    indices, indptr = ascontiguousarray(a.indices), ascontiguousarray(a.indptr)
    run((blocks,), (BLOCK,), (data, indices, indptr, x, y, a.shape[0], lanes))
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
    counts = empty(rows, np.int64)
    count_terms((-(-rows // BLOCK),), (BLOCK,), (left[1], left[2], right[2], counts, rows))
    begins = counts_to_pointers(counts)
    total, most = int(begins[-1]), int(counts.max())
    if most > MOST_TERMS or not total:
        return None
    size = 1
    while size < most:
        size *= 2
    threads = min(max(size // 2, 32), 256)
    data, indices, lengths = empty(total, dtype), empty(total, index), empty(rows, np.int64)
    shared = size * (8 + dtype.itemsize) + 4 * threads
    multiply((rows,), (threads,), (*left, *right, begins, data, indices, lengths, size), shared_mem=shared)
    indptr = counts_to_pointers(lengths)
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
