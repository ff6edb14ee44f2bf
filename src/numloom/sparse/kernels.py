"""Kernels of our own: products, lines written out, lines copied. A group of lanes, or a block, takes a line.

Each adds in the same order on every device. Where no compiler is, callers do the same by array operations.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numloom.api.creation import ascontiguousarray, empty, zeros
from numloom.api.histograms import bincount
from numloom.api.joining import concatenate
from numloom.api.sorting import argsort, cumsum
from numloom.base.errors import MissingDependencyError
from numloom.kernels.raw import RawModule
from numloom.sparse.where import in_tree

Array = Any

SOURCE = r"""
constexpr int PIECE = 2048, BLOCK = 128, STAGE = 1024;

template <typename T>
__device__ T over_lanes(T sum, const int lanes)
{
    for (int step = lanes / 2; step; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step, lanes);
    return sum;
}

// What one lane adds of the terms from k to end; four terms are on their way at once. The matrix is read once, so it
// should not push the vector out of the caches.
template <typename T, typename I>
__device__ T lane_sum(const T* data, const I* indices, const T* x, I k, I end, const int lanes)
{
    T sum = 0;
    for (; k + 3 * lanes < end; k += 4 * lanes) {
        T terms[4];
        #pragma unroll
        for (int j = 0; j < 4; j++) terms[j] = __ldcs(data + k + j * lanes) * x[__ldcs(indices + k + j * lanes)];
        #pragma unroll
        for (int j = 0; j < 4; j++) sum += terms[j];
    }
    for (; k < end; k += lanes) sum += __ldcs(data + k) * x[__ldcs(indices + k)];
    return sum;
}

template <typename T, typename I, int lanes>
__global__ void times_vector(const T* __restrict__ data, const I* __restrict__ indices,
                             const I* __restrict__ indptr, const T* __restrict__ x, T* __restrict__ y,
                             long long rows)
{
    long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long row = thread / lanes;
    int lane = threadIdx.x % lanes;
    T sum = row < rows ? lane_sum(data, indices, x, indptr[row] + (I)lane, indptr[row + 1], lanes) : 0;
    sum = over_lanes(sum, lanes);
    if (lane == 0 && row < rows) y[row] = sum;
}

// A block fetches the terms of its rows side by side, whatever rows they are of, and each thread adds those of a row:
// faster for many rows that are neither very short nor uneven, since neighbours fetch neighbours.
template <typename T, typename I>
__global__ void __launch_bounds__(BLOCK) times_staged(const T* __restrict__ data, const I* __restrict__ indices,
                                                      const I* __restrict__ indptr, const T* __restrict__ x,
                                                      T* __restrict__ y, long long rows)
{
    __shared__ T terms[STAGE + STAGE / 32];  // 32 neighbours lie one further, so that threads meet in no bank
    int me = threadIdx.x;
    long long first = blockIdx.x * (long long)BLOCK, row = first + me;
    I begin = indptr[first], end = indptr[first + BLOCK < rows ? first + BLOCK : rows];
    I k = row < rows ? indptr[row] : end, last = row < rows ? indptr[row + 1] : end;
    T sum = 0, numbers[STAGE / BLOCK];
    I places[STAGE / BLOCK];
    for (I base = begin; base < end; base += STAGE) {
        int count = end - base < STAGE ? (int)(end - base) : STAGE;
        #pragma unroll
        for (int j = 0; j < STAGE / BLOCK; j++) {
            I at = base + j * BLOCK + me;
            bool inside = at < end;
            numbers[j] = inside ? __ldcs(data + at) : T(0);
            places[j] = inside ? __ldcs(indices + at) : I(0);
        }
        #pragma unroll
        for (int j = 0; j < STAGE / BLOCK; j++) {
            int at = j * BLOCK + me;
            terms[at + at / 32] = numbers[j] * x[places[j]];
        }
        __syncthreads();
        I stop = last < base + count ? last : base + count;
        for (; k < stop; k++) {
            int at = (int)(k - base);
            sum += terms[at + at / 32];
        }
        __syncthreads();
    }
    if (row < rows) y[row] = sum;
}

// As times_vector, but rows longer than `longest` are noted for the two kernels below. One number counts their pieces
// and, above 40 bits, the rows, so that a row later in the list has later pieces.
template <typename T, typename I, int lanes>
__global__ void times_short_rows(const T* __restrict__ data, const I* __restrict__ indices,
                                 const I* __restrict__ indptr, const T* __restrict__ x, T* __restrict__ y,
                                 long long rows, long long longest, unsigned long long* noted, long long* list,
                                 long long room)
{
    long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long row = thread / lanes;
    int lane = threadIdx.x % lanes;
    I begin = row < rows ? indptr[row] : 0, end = row < rows ? indptr[row + 1] : 0;
    bool later = end - begin > longest;
    T sum = over_lanes(later ? T(0) : lane_sum(data, indices, x, begin + (I)lane, end, lanes), lanes);
    if (lane || row >= rows) return;
    if (!later) {
        y[row] = sum;
        return;
    }
    unsigned long long before = atomicAdd(noted, (1ull << 40) | (end - begin + PIECE - 1) / PIECE);
    long long place = before >> 40;
    if (place >= room) return;
    list[2 * place] = row;
    list[2 * place + 1] = before & ((1ull << 40) - 1);
}

// A block adds a piece of a long row.
template <typename T, typename I>
__global__ void times_pieces(const T* __restrict__ data, const I* __restrict__ indices,
                             const I* __restrict__ indptr, const T* __restrict__ x, T* __restrict__ sums,
                             const unsigned long long* noted, const long long* list, long long room,
                             long long most)
{
    __shared__ T warps[32];
    long long rows = min((long long)(*noted >> 40), room);
    long long pieces = min((long long)(*noted & ((1ull << 40) - 1)), most);
    for (long long piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
        long long low = 0, high = rows;  // the last row whose pieces begin at or before this one
        while (high - low > 1) {
            long long middle = (low + high) / 2;
            if (list[2 * middle + 1] <= piece) low = middle; else high = middle;
        }
        long long row = list[2 * low];
        I begin = indptr[row] + (I)((piece - list[2 * low + 1]) * PIECE), end = indptr[row + 1];
        if (end - begin > PIECE) end = begin + PIECE;
        T sum = over_lanes(lane_sum(data, indices, x, begin + (I)threadIdx.x, end, (int)blockDim.x), 32);
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 1; i < blockDim.x / 32; i++) sum += warps[i];
            sums[piece] = sum;
        }
        __syncthreads();
    }
}

// A warp adds the pieces of a long row.
template <typename T, typename I>
__global__ void add_pieces(const I* __restrict__ indptr, const T* __restrict__ sums, T* __restrict__ y,
                           const unsigned long long* noted, const long long* list, long long room)
{
    long long rows = min((long long)(*noted >> 40), room), warps = gridDim.x * (long long)blockDim.x / 32;
    int lane = threadIdx.x % 32;
    for (long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32; i < rows; i += warps) {
        long long row = list[2 * i], first = list[2 * i + 1];
        long long pieces = (indptr[row + 1] - indptr[row] + PIECE - 1) / PIECE;
        T sum = 0;
        for (long long j = lane; j < pieces; j += 32) sum += sums[first + j];
        sum = over_lanes(sum, 32);
        if (lane == 0) y[row] = sum;
    }
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

// Counts stand one further, after a 0: their running sums are pointers.
template <typename I>
__global__ void count_terms(const I* indices, const I* indptr, const I* other, long long* counts, long long rows)
{
    long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    long long count = 0;
    for (I k = indptr[row]; k < indptr[row + 1]; k++) count += other[indices[k] + 1] - other[indices[k]];
    if (row == 0) counts[0] = 0;
    counts[row + 1] = count;
}

template <typename I>
__global__ void count_lines(const I* indptr, const long long* chosen, long long* counts, long long lines)
{
    long long line = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (line >= lines) return;
    if (line == 0) counts[0] = 0;
    counts[line + 1] = indptr[chosen[line] + 1] - indptr[chosen[line]];
}

// A number beside its line, so that one fetch at a random place gives both. No byte of it is left out: memory is
// written in whole pieces then.
template <bool wide> struct Word { typedef unsigned type; };
template <> struct Word<true> { typedef unsigned long long type; };
template <typename T, typename I>
struct alignas(sizeof(T) > 4 || sizeof(I) > 4 ? 16 : 8) Record {
    typename Word<(sizeof(T) > 4 || sizeof(I) > 4)>::type number, line;
};

template <typename T, typename I>
__global__ void join_lines(const T* __restrict__ data, const I* __restrict__ indptr,
                           void* __restrict__ records, long long lines, int lanes)
{
    long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long line = thread / lanes;
    if (line >= lines) return;
    Record<T, I> made;
    made.line = line;
    for (I k = indptr[line] + threadIdx.x % lanes; k < indptr[line + 1]; k += lanes) {
        made.number = data[k];
        ((Record<T, I>*)records)[k] = made;
    }
}

template <typename T, typename I>
__global__ void part_records(const void* __restrict__ records, const long long* __restrict__ order,
                             T* __restrict__ data, I* __restrict__ lines, long long count)
{
    long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= count) return;
    Record<T, I> found = ((const Record<T, I>*)records)[order[k]];
    data[k] = (T)found.number;
    lines[k] = (I)found.line;
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
        lengths[row + 1] = sum;
        if (row == 0) lengths[0] = 0;
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
PIECE = 2048
"""Terms of a long row that a block adds (in the source, too)."""
ROUNDS = 32
"""A row with more terms than so many for each of its lanes is long."""
WIDE_FROM = 2**31 - 2**16
"""Stored numbers from which a product counts in int64: what lies a stretch behind the last has a place, too."""
STAGED_ROWS = 1 << 16
"""Rows from which blocks that take 128 of them fill a GPU."""
MOST_PIECES = 4096
"""Blocks that share the pieces of long rows."""


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


def lanes_for(nnz: int, rows: int, each: int = 2) -> int:
    """How many lanes take a line, a power of two, at most a warp: about `each` numbers of its mean length a lane."""
    lanes = 1
    while lanes < 32 and each * lanes < nnz // max(rows, 1):
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


def lines_counted(a: Any, chosen: Array) -> Any:
    """Where each of the chosen lines begins if they follow one another; None where no kernel does it."""
    lines = chosen.shape[0]
    count, blocks = kernel("count_lines", index_type(a.indptr.dtype)), blocks_for(lines, 1)
    if count is None or not blocks or in_tree(a.indptr, chosen):
        return None
    counts = empty(lines + 1, np.int64)
    count((blocks,), (BLOCK,), (ascontiguousarray(a.indptr), ascontiguousarray(chosen), counts, lines))
    return cumsum(counts)


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


def lines_turned(a: Any) -> Any:
    """Numbers and lines of CSR or CSC in the order of its indices, and where each index begins among them.

    They are the parts of the other of the two formats. None where no kernel does it.
    """
    lines, count = a.indptr.shape[0] - 1, a.nnz
    types = bytes_type(a.dtype), index_type(a.indices.dtype)
    lanes = lanes_for(count, lines)
    join, part, blocks = kernel("join_lines", *types), kernel("part_records", *types), blocks_for(lines, lanes)
    if join is None or part is None or not blocks or not count or in_tree(*a._parts):
        return None
    plain = np.dtype(f"u{a.dtype.itemsize}")
    records = empty(2 * count, np.uint64 if max(plain.itemsize, a.indices.itemsize) > 4 else np.uint32)
    data, turned = empty(count, plain), empty(count, a.indices.dtype)
    given = ascontiguousarray(a.data).view(plain), ascontiguousarray(a.indptr)
    join((blocks,), (BLOCK,), (*given, records, lines, lanes))
    part((blocks_for(count, 1),), (BLOCK,), (records, argsort(a.indices, kind="stable"), data, turned, count))
    width = a.shape[1] if a.format == "csr" else a.shape[0]
    pointers = concatenate([zeros(1, np.int64), cumsum(bincount(a.indices, minlength=width))])
    return data.view(a.dtype), turned, pointers


__all__ = [
    "BLOCK", "MOST_BLOCKS", "MOST_PIECES", "MOST_TERMS", "PIECE", "ROUNDS", "STAGED_ROWS", "WIDE_FROM", "blocks_for",
    "bytes_type", "index_type", "kernel", "lanes_for", "lines_copied", "lines_counted", "lines_turned", "lines_written",
    "number_type",
]  # fmt: skip
