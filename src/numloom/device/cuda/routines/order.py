"""Sorting: long vectors by their digits (`radix`), what is short, many or complex by merging.

Blocks sort tiles in shared memory, then runs are merged pairwise until one is left. A merge sort is stable, so it
gives `argsort` as well, and it needs no more than an order: NaN last, the two zeros equal, complex numbers by real and
then imaginary part, all as NumPy orders them. Where a block starts in a merge is found by a binary search along its
diagonal (merge path).
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from numloom.device.cuda.routines.compaction import compress, nonzero
from numloom.device.cuda.routines.kernels import (
    PRELUDE,
    THREADS,
    Grid,
    address,
    collapse,
    ctype_of,
    dense,
    empty,
    run,
)
from numloom.device.cuda.routines.radix import radix_sort, sortable
from numloom.device.cuda.routines.scans import scan
from numloom.device.cuda.routines.scripts import Remembered
from numloom.device.interface import Strided

APART = 1 << 17
"""Elements from which each of several lines is sorted by digits on its own."""
ORDER = """
template <class X> DEV bool less(X a, X b) { return a < b || (b != b && a == a); }
DEV bool less(f16 a, f16 b) { return less(widen(a), widen(b)); }
// Numbers without NaN, then NaN imaginary parts, then NaN real parts, then both.
template <class X> DEV bool less(complex<X> a, complex<X> b) {
    const int p = (a.re != a.re) * 2 + (a.im != a.im), q = (b.re != b.re) * 2 + (b.im != b.im);
    if (p != q) return p < q;
    return less(a.re, b.re) || (!less(b.re, a.re) && less(a.im, b.im));
}
template <class X> DEV bool is_nan(X a) { return a != a; }
DEV bool is_nan(f16 a) { return (a.bits & 0x7fff) > 0x7c00; }
template <class X> DEV bool is_nan(complex<X> a) { return a.re != a.re || a.im != a.im; }
"""


def _items(ctype: str) -> int:
    """Elements of a thread: shared memory holds a block's keys and positions."""
    return 4 if ctype == "c128" else 8


def tile_of(ctype: str) -> int:
    """Elements that a block sorts."""
    return THREADS * _items(ctype)


@cache
def sort_texts(ctype: str, rank: int, positions: str) -> tuple[str, str]:
    """Texts of the two kernels; each key brings along where it stood, as the type `positions` (empty: not)."""
    items, tile = _items(ctype), tile_of(ctype)
    shared = f"""{PRELUDE}{ORDER}
typedef {ctype} T;
typedef {positions or "i32"} At;
#define WITH {int(bool(positions))}
struct P {{
    const T* a; const i64* order; const T* keys; const At* at; T* next_keys; At* next_at; T* out; i64* out_at;
    i64 length, tiles, width, step, out_step, extent[{rank}], stride[{rank}], out_stride[{rank}];
}};
struct Tile {{ T keys[{tile}]; At at[WITH ? {tile} : 1]; }};
// How many of the first `d` elements of the merged runs come from the first one.
template <class K> DEV i64 split(const K* a, i64 na, const K* b, i64 nb, i64 d) {{
    i64 low = d > nb ? d - nb : 0, high = d < na ? d : na;
    while (low < high) {{
        const i64 mid = (low + high) >> 1;
        if (less(b[d - 1 - mid], a[mid])) high = mid; else low = mid + 1;
    }}
    return low;
}}
// This thread's share of two runs that lie behind one another in shared memory, in their place.
DEV void merge(Tile& s, int base, int na, int nb, int d) {{
    T keys[{items}];
    At at[{items}];
    const int count = na + nb - d < {items} ? na + nb - d : {items};
    if (count > 0) {{
        const T* a = s.keys + base;
        const T* b = a + na;
        int i = (int)split(a, (i64)na, b, (i64)nb, (i64)d), j = d - i;
#pragma unroll
        for (int k = 0; k < {items}; ++k)
            if (k < count) {{
                const bool first = j >= nb || (i < na && !less(b[j], a[i]));
                const int from = first ? i++ : na + j++;
                keys[k] = a[from];
                if (WITH) at[k] = s.at[base + from];
            }}
    }}
    __syncthreads();
#pragma unroll
    for (int k = 0; k < {items}; ++k)
        if (k < count) {{
            s.keys[base + d + k] = keys[k];
            if (WITH) s.at[base + d + k] = at[k];
        }}
    __syncthreads();
}}
// A finished tile goes to the result where it is the last pass, else to the next one.
DEV void leave(const P& p, const Tile& s, i64 line, i64 start, int count, bool last) {{
    const i64 out = last ? offset_of<{rank}>(line, p.extent, p.out_stride) : line * p.length;
#pragma unroll 1
    for (int k = threadIdx.x; k < count; k += {THREADS}) {{
        if (!last) {{
            p.next_keys[out + start + k] = s.keys[k];
            if (WITH) p.next_at[out + start + k] = s.at[k];
        }} else {{
            if (p.out) p.out[out + (start + k) * p.out_step] = s.keys[k];
            if (WITH && p.out_at) p.out_at[out + (start + k) * p.out_step] = s.at[k];
        }}
    }}
}}
"""
    tiles = f"""
extern "C" __global__ void __launch_bounds__({THREADS}) sort_tiles(const __grid_constant__ P p) {{
    __shared__ Tile s;
    const i64 line = blockIdx.x / p.tiles, start = (blockIdx.x - line * p.tiles) * {tile};
    const int count = p.length - start < {tile} ? (int)(p.length - start) : {tile};
    const T* a = p.a + offset_of<{rank}>(line, p.extent, p.stride);
    for (int k = threadIdx.x; k < count; k += {THREADS}) {{
        const i64 from = p.order ? p.order[line * p.length + start + k] : start + k;
        s.keys[k] = a[from * p.step];
        if (WITH) s.at[k] = (At)from;
    }}
    __syncthreads();
    const int first = threadIdx.x * {items}, own = count - first < {items} ? count - first : {items};
    // Neighbours exchanged in turn sort a thread's own elements.
#pragma unroll 1
    for (int round = 0; round < own; ++round)
        for (int k = round & 1; k + 1 < own; k += 2)
            if (less(s.keys[first + k + 1], s.keys[first + k])) {{
                const T key = s.keys[first + k];
                s.keys[first + k] = s.keys[first + k + 1];
                s.keys[first + k + 1] = key;
                if (WITH) {{
                    const At at = s.at[first + k];
                    s.at[first + k] = s.at[first + k + 1];
                    s.at[first + k + 1] = at;
                }}
            }}
    __syncthreads();
    for (int width = {items}; width < count; width *= 2) {{
        const int base = first / (2 * width) * (2 * width);
        const int left = count - base > 0 ? count - base : 0;
        const int na = left < width ? left : width, nb = left - na < width ? left - na : width;
        merge(s, base, na, nb, first - base);
    }}
    leave(p, s, line, start, count, p.tiles == 1);
}}
"""
    runs = f"""
extern "C" __global__ void __launch_bounds__({THREADS}) merge_runs(const __grid_constant__ P p) {{
    __shared__ Tile s;
    __shared__ i64 ends[2];
    const i64 line = blockIdx.x / p.tiles, start = (blockIdx.x - line * p.tiles) * {tile};
    const int count = p.length - start < {tile} ? (int)(p.length - start) : {tile};
    const i64 base = start / (2 * p.width) * (2 * p.width), left = p.length - base;
    const i64 na = left < p.width ? left : p.width, nb = left - na < p.width ? left - na : p.width;
    const T* a = p.keys + line * p.length + base;
    if (threadIdx.x < 2) ends[threadIdx.x] = split(a, na, a + na, nb, start - base + (threadIdx.x ? count : 0));
    __syncthreads();
    const i64 i = ends[0], j = start - base - i;
    const int ca = (int)(ends[1] - i), cb = count - ca;
    for (int k = threadIdx.x; k < count; k += {THREADS}) {{
        const i64 from = k < ca ? i + k : na + j + (k - ca);
        s.keys[k] = a[from];
        if (WITH) s.at[k] = p.at[line * p.length + base + from];
    }}
    __syncthreads();
    merge(s, 0, ca, cb, threadIdx.x * {items});
    leave(p, s, line, start, count, 2 * p.width >= p.length);
}}
"""
    return shared + tiles, shared + runs


def _sorted(
    device: Any, a: Strided, axis: int, order: Strided | None, out: Strided | None, positions: Strided | None
) -> None:
    """Sort along an axis, reading in the order of `order` (dense, the axis last); give keys, positions or both."""
    if not prod(a.shape):
        return
    target = out if out is not None else positions
    assert target is not None
    length = a.shape[axis]
    keep = [k for k in range(len(a.shape)) if k != axis]
    shape = [a.shape[k] for k in keep]
    extents, (strides, out_strides) = collapse(shape, [a.strides[k] for k in keep], [target.strides[k] for k in keep])
    if sortable(a.dtype, length) and (prod(shape) == 1 or length >= APART):
        for line in np.ndindex(*shape):
            each = [None if x is None else _line(x, axis, line) for x in (a, out, positions)]
            rows = None if order is None else _line(order, len(order.shape) - 1, line)
            radix_sort(device, each[0], rows, each[1], each[2])  # type: ignore[arg-type]
        return
    ctype = ctype_of(a.dtype)
    tile = tile_of(ctype)
    lines, tiles = prod(shape), -(-length // tile)
    word = np.dtype(np.int32 if length < 1 << 31 else np.int64)
    texts = sort_texts(ctype, len(extents), "" if positions is None else ctype_of(word))
    grid = Grid(lines * tiles)
    shared = [0 if out is None else address(out), 0 if positions is None else address(positions), length, tiles]
    tail = [a.strides[axis], target.strides[axis], *extents, *strides, *out_strides]
    runs: list[tuple[int, int]] = [(0, 0), (0, 0)]
    held = []
    if tiles > 1:
        device.expect(texts)
        for number in range(2):
            keys = empty(device, (lines * length,), a.dtype)
            at = empty(device, (lines * length,), word) if positions is not None else None
            held += [keys, at]
            runs[number] = (address(keys), 0 if at is None else address(at))
    first = 0 if order is None else address(order)
    run(device, texts[0], "sort_tiles", grid, [address(a), first, *runs[1], *runs[0], *shared, 0, *tail])
    width = tile
    while width < length:
        run(device, texts[1], "merge_runs", grid, [address(a), 0, *runs[0], *runs[1], *shared, width, *tail])
        runs.reverse()
        width *= 2


def _line(operand: Strided, axis: int, line: tuple[int, ...]) -> Strided:
    """One line along an axis, at an index of the other axes."""
    steps = [*operand.strides[:axis], *operand.strides[axis + 1 :]]
    at = operand.offset + sum(i * step for i, step in zip(line, steps, strict=True))
    return Strided(operand.buffer, at, (operand.shape[axis],), (operand.strides[axis],), operand.dtype)


def sort(device: Any, a: Strided, *, axis: int, out: Strided) -> None:
    """``out`` = `a` sorted along `axis`; NaN last."""
    _sorted(device, a, axis, None, out, None)


def argsort(device: Any, a: Strided, *, axis: int, out: Strided) -> None:
    """``out`` = positions (int64) that sort `a` along `axis`, stable; NaN last."""
    _sorted(device, a, axis, None, None, out)


def sort_with_positions(device: Any, a: Strided, out: Strided, positions: Strided) -> None:
    """``out`` = the dense vector `a` sorted, stable; ``positions`` (int64) of its elements in `a`."""
    _sorted(device, a, 0, None, out, positions)


def partition(device: Any, a: Strided, *, kth: tuple[int, ...], axis: int, out: Strided) -> None:
    """``out`` = `a` with the elements `kth` in their places, by sorting all."""
    _sorted(device, a, axis, None, out, None)


def argpartition(device: Any, a: Strided, *, kth: tuple[int, ...], axis: int, out: Strided) -> None:
    """``out`` = positions (int64) that partition, by sorting all."""
    _sorted(device, a, axis, None, None, out)


def lexsort(device: Any, *keys: Strided, axis: int, out: Strided) -> None:
    """``out`` = positions (int64) that sort by the last key, ties by the one before it, and so on."""
    order: Strided | None = None
    for key in keys[:-1]:
        shape = (*(extent for k, extent in enumerate(key.shape) if k != axis), key.shape[axis])
        rows = empty(device, shape, np.int64)
        _sorted(device, _moved(key, axis), len(shape) - 1, order, None, rows)
        order = rows
    _sorted(device, _moved(keys[-1], axis), len(out.shape) - 1, order, None, _moved(out, axis))


def _moved(operand: Strided, axis: int) -> Strided:
    """The same elements with `axis` as the last one."""
    axes = [*(k for k in range(len(operand.shape)) if k != axis), axis]
    shape = tuple([operand.shape[k] for k in axes])
    return Strided(operand.buffer, operand.offset, shape, tuple([operand.strides[k] for k in axes]), operand.dtype)


@cache
def search_text(ctype: str, rank: int, right: bool) -> str:
    """Text of a binary search for each value."""
    before = "!less(value, p.a[mid * p.step])" if right else "less(p.a[mid * p.step], value)"
    return f"""{PRELUDE}{ORDER}
typedef {ctype} T;
struct P {{
    const T* a; const T* v; i64* out; i64 length, step, n, extent[{rank}], stride[{rank}], out_stride[{rank}];
}};
extern "C" __global__ void __launch_bounds__({THREADS}) search(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n) return;
    const T value = p.v[offset_of<{rank}>(i, p.extent, p.stride)];
    i64 low = 0, high = p.length;
    while (low < high) {{
        const i64 mid = (low + high) >> 1;
        if ({before}) low = mid + 1; else high = mid;
    }}
    p.out[offset_of<{rank}>(i, p.extent, p.out_stride)] = low;
}}
"""


def searchsorted(device: Any, a: Strided, v: Strided, *, side: str, out: Strided) -> None:
    """``out`` = where in the sorted vector `a` each of `v` (of the same dtype) would go (int64)."""
    count = prod(v.shape)
    if not count:
        return
    extents, (strides, out_strides) = collapse(v.shape, v.strides, out.strides)
    words = [address(a), address(v), address(out), a.shape[0], a.strides[0], count, *extents, *strides, *out_strides]
    text = search_text(ctype_of(a.dtype), len(extents), side == "right")
    run(device, text, "search", Grid(-(-count // THREADS)), words)


@cache
def distinct_text(ctype: str, equal_nan: bool, flag: str) -> str:
    """Text of what `unique` does beside sorting, scanning and selecting; `flag` is the type of what is scanned."""
    return f"""{PRELUDE}{ORDER}
typedef {ctype} T;
struct P {{ const T* keys; {flag}* flags; i64 n; }};
extern "C" __global__ void __launch_bounds__({THREADS}) flag(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n) return;
    bool first = i == 0;
    if (!first) {{
        const T a = p.keys[i - 1], b = p.keys[i];
        first = is_nan(a) && is_nan(b) ? {"false" if equal_nan else "true"} : less(a, b);
    }}
    p.flags[i] = first;
}}
struct Q {{ const i64* ranks; const i64* at; i64* inverse; i64 n; }};
extern "C" __global__ void __launch_bounds__({THREADS}) invert(const __grid_constant__ Q p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i < p.n) p.inverse[p.at[i]] = p.ranks[i] - 1;
}}
struct R {{ const i64* starts; const T* a; const i64* at; T* values; i64* index; i64* counts; i64 n, total; }};
extern "C" __global__ void __launch_bounds__({THREADS}) gather(const __grid_constant__ R p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n) return;
    const i64 start = p.starts[i], from = p.at ? p.at[start] : start;
    p.values[i] = p.a[from];
    if (p.index) p.index[i] = from;
    if (p.counts) p.counts[i] = (i + 1 < p.n ? p.starts[i + 1] : p.total) - start;
}}
"""


def _flag(device: Any, a: Strided, keys: Strided, at: Strided | None, flags: Strided, *, equal_nan: bool) -> None:
    """``keys`` = the dense vector `a` sorted, ``at`` = positions of its elements, ``flags`` = which are first."""
    text = distinct_text(ctype_of(a.dtype), equal_nan, ctype_of(flags.dtype))
    device.expect([text])
    _sorted(device, a, 0, None, keys, at)
    n = a.shape[0]
    run(device, text, "flag", Grid(-(-n // THREADS)), [address(keys), address(flags), n])


_flagged = Remembered(_flag)


def unique(
    device: Any, a: Strided, *, equal_nan: bool, index: bool, inverse: bool, counts: bool
) -> tuple[Strided, ...]:
    """Sorted distinct elements; where asked for, the first position of each, the inverse (flat) and the counts."""
    n = prod(a.shape)
    wanted = index + inverse + counts
    if not n:
        return (empty(device, (0,), a.dtype), *(empty(device, (0,), np.int64) for _ in range(wanted)))
    flat = dense(device, a)
    flat = Strided(flat.buffer, flat.offset, (n,), (1,), a.dtype)
    keys = empty(device, (n,), a.dtype)
    at = empty(device, (n,), np.int64) if index or inverse else None
    flags = empty(device, (n,), np.int64 if inverse else np.bool_)
    _flagged(device, flat, keys, at, flags, equal_nan=equal_nan)
    if not wanted:
        return (compress(device, keys, flags),)
    (starts,) = nonzero(device, flags)
    count = starts.shape[0]
    values = empty(device, (count,), a.dtype)
    positions, found = (empty(device, (count,), np.int64) if asked else None for asked in (index, counts))
    text = distinct_text(ctype_of(a.dtype), equal_nan, ctype_of(flags.dtype))
    # With positions, equal keys were made alike: values come from the array itself.
    source = keys if at is None else flat
    pointers = [0 if x is None else address(x) for x in (starts, source, at, values, positions, found)]
    run(device, text, "gather", Grid(-(-count // THREADS)), [*pointers, count, n])
    inverted = None
    if inverse:
        assert at is not None
        inverted, ranks = empty(device, (n,), np.int64), empty(device, (n,), np.int64)
        scan(device, flags, op="add", axis=0, out=ranks)
        run(device, text, "invert", Grid(-(-n // THREADS)), [address(ranks), address(at), address(inverted), n])
    return (values, *(x for x in (positions, inverted, found) if x is not None))
