"""Kernels of our own: products, lines written out, lines copied. A group of lanes, or a block, takes a line.

Each adds in the same order on every device. Where no compiler is, callers do the same by array operations.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numloom.api.creation import ascontiguousarray, empty
from numloom.base.errors import MissingDependencyError
from numloom.kernels.raw import RawModule
from numloom.sparse.where import in_tree

Array = Any

SOURCE = r"""
template <typename T, typename I>
__global__ void times_vector(const T* __restrict__ data, const I* __restrict__ indices,
                             const I* __restrict__ indptr, const T* __restrict__ x, T* __restrict__ y,
                             long long rows, int lanes)
{
    long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long row = thread / lanes;
    int lane = threadIdx.x % lanes;
    T sum = 0;
    if (row < rows) {
        I end = indptr[row + 1];
        I k = indptr[row] + lane;
        for (; k + lanes < end; k += 2 * lanes) {  // two places on their way at once
            T first = data[k] * x[indices[k]];
            T second = data[k + lanes] * x[indices[k + lanes]];
            sum += first;
            sum += second;
        }
        if (k < end) sum += data[k] * x[indices[k]];
    }
    for (int step = lanes / 2; step; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step, lanes);
    if (lane == 0 && row < rows) y[row] = sum;
}

template <typename T, typename I>
__global__ void times_columns(const T* __restrict__ data, const I* __restrict__ indices,
                              const I* __restrict__ indptr, const T* __restrict__ x, T* __restrict__ y,
                              long long rows, long long columns)
{
    long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long row = thread / columns, column = thread % columns;
    if (row >= rows) return;
    T sum = 0;
    for (I k = indptr[row]; k < indptr[row + 1]; k++)
        sum += data[k] * x[(long long)indices[k] * columns + column];
    y[thread] = sum;
}

template <typename I>
__global__ void write_lines(const I* indptr, I* out, long long lines, int lanes)
{
    long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long line = thread / lanes;
    if (line >= lines) return;
    for (I k = indptr[line] + threadIdx.x % lanes; k < indptr[line + 1]; k += lanes) out[k] = (I)line;
}

template <typename T, typename I>
__global__ void copy_lines(const T* data, const I* indices, const I* indptr, const long long* chosen,
                           const long long* begins, T* data_out, I* indices_out, long long lines, int lanes)
{
    long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long line = thread / lanes;
    if (line >= lines) return;
    I from = indptr[chosen[line]];
    long long to = begins[line], count = begins[line + 1] - to;
    for (long long k = threadIdx.x % lanes; k < count; k += lanes) {
        data_out[to + k] = data[from + k];
        indices_out[to + k] = indices[from + k];
    }
}

template <typename I>
__global__ void count_terms(const I* indices, const I* indptr, const I* other, long long* counts, long long rows)
{
    long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    long long count = 0;
    for (I k = indptr[row]; k < indptr[row + 1]; k++) count += other[indices[k] + 1] - other[indices[k]];
    counts[row] = count;
}

// A block a row: the terms' columns are sorted in shared memory, with the terms' numbers, and terms of one column are
// added in the order in which they come. The row goes to where its terms begin.
template <typename T, typename I>
__global__ void multiply_row(const T* a_data, const I* a_indices, const I* a_indptr, const T* b_data,
                             const I* b_indices, const I* b_indptr, const long long* begins, T* data, I* indices,
                             long long* lengths, int size)
{
    extern __shared__ unsigned long long keys[];
    T* terms = (T*)(keys + size);
    int* heads = (int*)(terms + size);
    long long row = blockIdx.x;
    int threads = blockDim.x, me = threadIdx.x, count = (int)(begins[row + 1] - begins[row]);
    int at = 0;
    for (I k = a_indptr[row]; k < a_indptr[row + 1]; k++) {
        I begin = b_indptr[a_indices[k]];
        int length = (int)(b_indptr[a_indices[k] + 1] - begin);
        T factor = a_data[k];
        for (int j = me; j < length; j += threads) {
            keys[at + j] = ((unsigned long long)b_indices[begin + j] << 12) | (unsigned)(at + j);
            terms[at + j] = factor * b_data[begin + j];
        }
        at += length;
    }
    int width = 1;
    while (width < count) width *= 2;
    for (int j = count + me; j < width; j += threads) keys[j] = ~0ull;
    __syncthreads();
    for (int k = 2; k <= width; k *= 2)
        for (int step = k / 2; step; step /= 2) {
            for (int i = me; i < width; i += threads) {
                int other = i ^ step;
                if (other > i) {
                    unsigned long long x = keys[i], y = keys[other];
                    if ((x > y) == ((i & k) == 0)) { keys[i] = y; keys[other] = x; }
                }
            }
            __syncthreads();
        }
    // Each thread takes a stretch of the sorted terms and counts the columns that begin in it.
    int part = (count + threads - 1) / threads, from = me * part, to = min(from + part, count), mine = 0;
    for (int i = from; i < to; i++) mine += i == 0 || keys[i] >> 12 != keys[i - 1] >> 12;
    heads[me] = mine;
    __syncthreads();
    if (me == 0) {
        int sum = 0;
        for (int t = 0; t < threads; t++) { int each = heads[t]; heads[t] = sum; sum += each; }
        lengths[row] = sum;
    }
    __syncthreads();
    long long out = begins[row] + heads[me];
    for (int i = from; i < to; i++) {
        unsigned long long column = keys[i] >> 12;
        if (i && keys[i - 1] >> 12 == column) continue;
        T sum = terms[keys[i] & 4095];
        for (int j = i + 1; j < count && keys[j] >> 12 == column; j++) sum += terms[keys[j] & 4095];
        data[out] = sum;
        indices[out++] = (I)column;
    }
}
"""
_NUMBERS = {"f4": "float", "f8": "double"}
_INDICES = {"i4": "int", "i8": "long long"}
_BYTES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}
BLOCK = 128
MOST_BLOCKS = 2**31 - 1
MOST_TERMS = 2048
"""Terms of a row of a product that a block sorts in its shared memory."""


@functools.cache
def _kernel(name: str, *types: str) -> Any:
    expression = f"{name}<{', '.join(types)}>"
    return RawModule(code=SOURCE, options=("-std=c++17",), name_expressions=[expression]).get_function(expression)


def kernel(name: str, *types: str | None) -> Any:
    """A kernel for types by their names in C++; None where one is None, or no compiler is there."""
    if None in types:
        return None
    try:
        return _kernel(name, *types)  # type: ignore[arg-type]
    except MissingDependencyError:
        return None


def number_type(dtype: np.dtype[Any]) -> str | None:
    """The name in C++ of a dtype that the products are written for."""
    return _NUMBERS.get(dtype.str[1:])


def index_type(dtype: np.dtype[Any]) -> str | None:
    """The name in C++ of a dtype of indices."""
    return _INDICES.get(dtype.str[1:])


def bytes_type(dtype: np.dtype[Any]) -> str | None:
    """The name in C++ of a type that has as many bytes, to copy."""
    return _BYTES.get(dtype.itemsize)


def lanes_for(nnz: int, rows: int) -> int:
    """How many lanes take a line: the power of two at or above half its mean length, at most a warp."""
    lanes = 1
    while lanes < 32 and 2 * lanes < nnz // max(rows, 1):
        lanes *= 2
    return lanes


def blocks_for(lines: int, lanes: int) -> int | None:
    """How many blocks take so many lines; None if they are too many to launch."""
    blocks = -(-lines * lanes // BLOCK)
    return blocks if blocks <= MOST_BLOCKS else None


def lines_written(indptr: Array, count: int) -> Array:
    """The line of each of `count` stored numbers; None where no kernel does it."""
    lines = indptr.shape[0] - 1
    lanes = lanes_for(count, lines)
    write, blocks = kernel("write_lines", index_type(indptr.dtype)), blocks_for(lines, lanes)
    if write is None or not blocks or not count or in_tree(indptr):
        return None
    out = empty(count, indptr.dtype)
    write((blocks,), (BLOCK,), (ascontiguousarray(indptr), out, lines, lanes))
    return out


def lines_copied(a: Any, chosen: Array, begins: Array, total: int) -> Any:
    """Numbers and indices of chosen lines, one after the other; None where no kernel does it."""
    lines = chosen.shape[0]
    lanes = max(lanes_for(total, lines), 4)
    copy = kernel("copy_lines", bytes_type(a.dtype), index_type(a.indices.dtype))
    blocks = blocks_for(lines, lanes)
    if copy is None or not blocks or not total or in_tree(*a._parts, chosen, begins):
        return None
    plain = np.dtype(f"u{a.dtype.itemsize}")
    data, indices = empty(total, plain), empty(total, a.indices.dtype)
    given = (ascontiguousarray(a.data).view(plain), *map(ascontiguousarray, (a.indices, a.indptr, chosen, begins)))
    copy((blocks,), (BLOCK,), (*given, data, indices, lines, lanes))
    return data.view(a.dtype), indices


__all__ = [
    "BLOCK", "MOST_BLOCKS", "MOST_TERMS", "blocks_for", "bytes_type", "index_type", "kernel", "lanes_for",
    "lines_copied", "lines_written", "number_type",
]  # fmt: skip
