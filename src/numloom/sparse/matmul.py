"""Products on the device: a matrix with a vector, with dense columns, and with another sparse matrix.

Vectors and columns are kernels of their own: a group of lanes adds a row, so that lanes read neighbouring numbers.
Rows are always added in the same order, whatever the device.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numloom.api.creation import arange, ascontiguousarray, empty, zeros
from numloom.api.elementwise import add, logical_or
from numloom.api.sorting import searchsorted
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.base.errors import MissingDependencyError
from numloom.kernels.raw import RawModule
from numloom.sparse.places import Triples, counts_to_pointers, lines_of, matrix_of, triples

Array = Any

SOURCE = r"""
template <typename T, typename I>
__global__ void times_vector(const T* data, const I* indices, const I* indptr, const T* x, T* y, long long rows,
                             int lanes)
{
    long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long row = thread / lanes;
    int lane = threadIdx.x % lanes;
    T sum = 0;
    if (row < rows)
        for (I k = indptr[row] + lane; k < indptr[row + 1]; k += lanes)
            sum += data[k] * x[indices[k]];
    for (int step = lanes / 2; step; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step, lanes);
    if (lane == 0 && row < rows) y[row] = sum;
}

template <typename T, typename I>
__global__ void times_columns(const T* data, const I* indices, const I* indptr, const T* x, T* y, long long rows,
                              long long columns)
{
    long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long row = thread / columns, column = thread % columns;
    if (row >= rows) return;
    T sum = 0;
    for (I k = indptr[row]; k < indptr[row + 1]; k++)
        sum += data[k] * x[(long long)indices[k] * columns + column];
    y[thread] = sum;
}
"""
_TYPES = {"f4": "float", "f8": "double", "i4": "int", "i8": "long long"}
_BLOCK = 128
_MOST_BLOCKS = 2**31 - 1


@functools.cache
def _kernel(name: str, data: str, index: str) -> Any:
    expression = f"{name}<{_TYPES[data]}, {_TYPES[index]}>"
    return RawModule(code=SOURCE, options=("-std=c++17",), name_expressions=[expression]).get_function(expression)


def lanes_for(nnz: int, rows: int) -> int:
    """How many lanes add a row: the power of two at or above half its mean length, at most a warp."""
    lanes = 1
    while lanes < 32 and 2 * lanes < nnz // max(rows, 1):
        lanes *= 2
    return lanes


def times_dense(a: Any, x: Array) -> Array:
    """A CSR matrix times a dense vector or matrix."""
    dtype = np.result_type(a.dtype, x.dtype)
    shape = (a.shape[0], *x.shape[1:])
    columns = x.shape[1] if x.ndim == 2 else 1
    if not a.nnz or 0 in shape:
        return zeros(shape, dtype)
    data, x = ascontiguousarray(a.data.astype(dtype)), ascontiguousarray(x.astype(dtype))
    lanes = lanes_for(a.nnz, a.shape[0]) if x.ndim == 1 else columns
    blocks = -(-a.shape[0] * lanes // _BLOCK)
    if dtype.str[1:] not in _TYPES or blocks > _MOST_BLOCKS:
        return _by_scatter(a, data, x, shape)
    y = empty(shape, dtype)
    name = "times_vector" if x.ndim == 1 else "times_columns"
    try:
        kernel = _kernel(name, dtype.str[1:], a.indices.dtype.str[1:])
    except MissingDependencyError:  # A host without a compiler.
        return _by_scatter(a, data, x, shape)
    indices, indptr = ascontiguousarray(a.indices), ascontiguousarray(a.indptr)
    kernel((blocks,), (_BLOCK,), (data, indices, indptr, x, y, a.shape[0], lanes))
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


__all__ = ["lanes_for", "matmul", "times_dense", "times_sparse"]
