"""Counting: how often whole numbers occur, and how many values fall in bins.

Blocks count in shared memory (several copies, where few numbers would have many threads meet at one counter) and add
what they found to the result at the end; more bins than fit there are counted in the result itself.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from numloom.device.cuda.routines.kernels import PRELUDE, Grid, address, ctype_of, empty, run
from numloom.device.cuda.routines.reading import BLOCKS, PACK, THREADS, blocks_of, each_element, is_wide
from numloom.device.cuda.routines.scripts import Remembered
from numloom.device.interface import Strided

COUNTERS = 6144
"""Counters of a block in shared memory."""
EDGES = 2048
"""Edges of bins that a block keeps there too."""

# A whole number is its own bin; the largest one is found on the way, a negative one being larger than all.
_WHOLE = """
struct Bins {};
DEV Bins bins_of(const P&, const V*) { return Bins(); }
DEV i64 bin_of(const P& p, const V*, const Bins&, T x, u64& top) {
    const u64 above = x < T(0) ? ~(u64)0 : (u64)x + 1;
    if (above > top) top = above;
    return above <= (u64)p.bins ? (i64)x : -1;
}
"""

# The bin of a value: computed from its distance from the first edge where bins are of one width, else searched for.
# What is computed less than `near` off the end of a bin is compared with its edges, since all of these were rounded.
_BINS = """
struct Bins { V low, high, half, begin, scale, near; };
DEV Bins bins_of(const P& p, const V* edges) {
    Bins b;
    b.low = edges[0], b.high = edges[p.bins];
    // Halves have a finite distance.
    b.half = (f64)(b.high - b.low) <= (sizeof(V) == 8 ? 1.7976931348623157e308 : 3.4028234663852886e38) ? (V)1 : (V)0.5;
    b.begin = b.low * b.half;
    b.scale = (V)((f64)p.bins / ((f64)b.high * (f64)b.half - (f64)b.begin));
    const V far = b.high > -b.low ? b.high : -b.low;
    b.near = p.exact ? (sizeof(V) == 8 ? (V)8.9e-16 : (V)4.8e-7) * (far * b.half * b.scale + (V)p.bins) : (V)1;
    return b;
}
// Seldom called: in the loop it would be there for every element.
__device__ __noinline__ Number settled(const V* edges, V x, Number b, Number last) {
    b = b < 0 ? 0 : b > last ? last : b;
    while (b > 0 && x < edges[b]) --b;
    while (b < last && x >= edges[b + 1]) ++b;
    return b;
}
DEV i64 bin_of(const P& p, const V* edges, const Bins& all, T value, u64&) {
    const V x = (V)widen(value);
    if (!(x >= all.low && x <= all.high)) return -1;
    if (UNIFORM) {
        const V at = (x * all.half - all.begin) * all.scale;
        const Number b = (Number)at;
        const V rest = at - (V)b;
        return rest >= all.near && rest <= (V)1 - all.near ? b : settled(edges, x, b, (Number)p.bins - 1);
    }
    Number b = 0, end = (Number)p.bins;
    while (b + 1 < end) {
        const Number mid = (b + end) >> 1;
        if (x >= edges[mid]) b = mid; else end = mid;
    }
    return b;
}
"""


@cache
def count_text(ctype: str, edges: str, shared: bool, uniform: bool, number: str) -> str:
    """Text of the kernel; `edges` is the type of the bins' edges (empty: values are bins), `number` that of bins."""
    keep = shared and bool(edges)

    def counted(x: str) -> str:
        add = "atomicAdd(mine + (int)b, 1u);" if shared else "atomicAdd(p.out + b, (u64)1);"
        return f"{{ const i64 b = bin_of(p, edges, all, {x}, top); if (b >= 0) {add} }}"

    return f"""{PRELUDE}
typedef {ctype} T;
typedef {number} Number;
constexpr bool UNIFORM = {int(uniform)};
typedef value_of<{edges or "i64"}>::type V;
struct P {{ const T* a; u64* out; const V* edges; i64 n, step, wide, bins, copies, exact; }};
{PACK}
{_BINS if edges else _WHOLE}
extern "C" __global__ void __launch_bounds__({THREADS}) count(const __grid_constant__ P p) {{
    __shared__ u32 counts[{COUNTERS if shared else 1}];
    __shared__ V own[{EDGES if keep else 1}];
    const V* edges = p.edges;
    if ({int(shared)}) {{
#pragma unroll 1
        for (i64 b = threadIdx.x; b < p.bins * p.copies; b += {THREADS}) counts[b] = 0;
        if ({int(keep)} && p.bins < {EDGES}) {{
            for (i64 b = threadIdx.x; b <= p.bins; b += {THREADS}) own[b] = p.edges[b];
            edges = own;
        }}
        __syncthreads();
    }}
    u32* mine = counts + (int)((threadIdx.x >> 5) % (u32)p.copies) * (int)p.bins;
    u64 top = 0;
    const Bins all = bins_of(p, edges);
{each_element(counted)}
    if ({int(not edges)}) {{
#pragma unroll
        for (int d = 16; d; d /= 2) {{
            const u64 other = __shfl_xor_sync(0xffffffffu, top, d);
            if (other > top) top = other;
        }}
        if ((threadIdx.x & 31) == 0) atomicMax(p.out + p.bins, top);
    }}
    if ({int(shared)}) {{
        __syncthreads();
#pragma unroll 1
        for (i64 b = threadIdx.x; b < p.bins; b += {THREADS}) {{
            u32 sum = 0;
#pragma unroll 1
            for (i64 copy = 0; copy < p.copies; ++copy) sum += counts[copy * p.bins + b];
            if (sum) atomicAdd(p.out + b, (u64)sum);
        }}
    }}
}}
"""


def text_of(values: np.dtype[Any], edges: np.dtype[Any] | None, bins: int, uniform: bool) -> str:
    """Text of the kernel for values, edges (None: values are bins) and a number of bins."""
    number = "int" if bins < 1 << 31 else "i64"
    return count_text(ctype_of(values), "" if edges is None else ctype_of(edges), bins <= COUNTERS, uniform, number)


def _count(device: Any, a: Strided, edges: Strided | None, out: Strided, *, bins: int, uniform: bool) -> None:
    """``out`` = how many of `a` are in each bin; behind those of whole numbers, the largest number and 1."""
    device.clear(out.buffer, 8 * prod(out.shape))
    n = prod(a.shape)
    if not n or not bins:
        return
    shared = bins <= COUNTERS
    copies = max(1, min(8, COUNTERS // (2 * bins)))
    # Without copies to add up at the end, more blocks wait for memory at once.
    blocks = blocks_of(a, BLOCKS if shared else 4 * BLOCKS)
    text = text_of(a.dtype, None if edges is None else edges.dtype, bins, uniform)
    where = 0 if edges is None else address(edges)
    # Edges between float16 numbers were rounded to float16.
    exact = edges is not None and (edges.dtype.itemsize == 8 or a.dtype == edges.dtype)
    words = [address(a), address(out), where, n, a.strides[0], int(is_wide(a)), bins, copies, int(exact)]
    run(device, text, "count", Grid(blocks, THREADS), words)


_counted = Remembered(_count)


def bincount(device: Any, a: Strided, *, minlength: int) -> Strided:
    """How often (int64) each whole number occurs in the vector `a`, of at least `minlength` of them.

    As many as fit in shared memory are counted before it is known how many there are; seldom are there more.
    """
    bins = max(minlength, COUNTERS)
    while True:
        counted = empty(device, (bins + 1,), np.int64)
        _counted(device, a, None, counted, bins=bins, uniform=False)
        top = int(device.download(counted.buffer, 8 * bins, 8).view(np.uint64)[0])
        if top > 1 << 63:
            raise ValueError("'list' argument must have no negative elements")
        if top <= bins:
            return Strided(counted.buffer, 0, (max(top, minlength),), (1,), counted.dtype)
        bins = top


def histogram(device: Any, a: Strided, edges: Strided, *, uniform: bool, out: Strided) -> None:
    """``out`` = how many (int64) of the vector `a` lie between neighbours of the dense vector `edges`."""
    _count(device, a, edges, out, bins=edges.shape[0] - 1, uniform=uniform)
