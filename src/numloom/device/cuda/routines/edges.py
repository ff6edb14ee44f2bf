"""Edges of bins between the ends of data, found by one kernel that nobody waits for.

Blocks find the least and the largest element; the last of them to be done makes the edges, by the arithmetic of NumPy's
`linspace` in the dtype of the edges, and says in the error word what is wrong with them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numloom.device.cuda.routines.counting import text_of
from numloom.device.cuda.routines.kernels import PRELUDE, Grid, address, ctype_of, run
from numloom.device.cuda.routines.reading import PACK, THREADS, blocks_of, each_element, is_wide
from numloom.device.interface import Strided


@cache
def edges_text(ctype: str, edge: str) -> str:
    """Text of the kernel for elements and edges of these types."""
    return f"""{PRELUDE}
typedef {ctype} T;
typedef {edge} V;
struct P {{ const T* a; V* out; u64* ends; i64* error; i64 not_finite, not_apart, n, step, wide, bins; }};
{PACK}
struct Ends {{ T low, high; bool nan; }};
// Numbers of the order of float64; 0 is none, all ones stand for NaN.
DEV u64 key_of(f64 x) {{
    u64 b;
    memcpy(&b, &x, 8);
    return b >> 63 ? ~b : b | (u64)1 << 63;
}}
DEV f64 of_key(u64 key) {{
    const u64 b = key >> 63 ? key ^ (u64)1 << 63 : ~key;
    f64 x;
    memcpy(&x, &b, 8);
    return x;
}}
DEV void take(Ends& e, T x) {{
    if (x < e.low) e.low = x;
    if (x > e.high) e.high = x;
    e.nan = e.nan || x != x;
}}
struct Line {{ V first, last, distance, step, count; }};
DEV V edge(const Line& l, i64 i, i64 bins) {{
    if (i == bins) return l.last;
    return (l.step == (V)0 ? (V)i / l.count * l.distance : (V)i * l.step) + l.first;
}}
extern "C" __global__ void __launch_bounds__({THREADS}) edges(const __grid_constant__ P p) {{
    __shared__ u64 both[2];
    __shared__ int is_last;
    if (threadIdx.x < 2) both[threadIdx.x] = 0;
    const T first = p.a[0];
    Ends e = {{first, first, first != first}};
{each_element(lambda x: f"take(e, {x});")}
    // The least one as the largest of the complements.
    u64 high = e.nan ? ~(u64)0 : key_of((f64)e.high), low = e.nan ? ~(u64)0 : ~key_of((f64)e.low);
#pragma unroll
    for (int d = 16; d; d /= 2) {{
        const u64 other_high = __shfl_xor_sync(0xffffffffu, high, d), other_low = __shfl_xor_sync(0xffffffffu, low, d);
        if (other_high > high) high = other_high;
        if (other_low > low) low = other_low;
    }}
    __syncthreads();
    if ((threadIdx.x & 31) == 0) {{
        atomicMax(both, high);
        atomicMax(both + 1, low);
    }}
    __syncthreads();
    if (threadIdx.x == 0) {{
        atomicMax(p.ends, both[0]);
        atomicMax(p.ends + 1, both[1]);
        __threadfence();
        is_last = atomicAdd(p.ends + 2, (u64)1) == gridDim.x - 1;
        if (is_last) {{
            __threadfence();
            both[0] = atomicMax(p.ends, (u64)0);
            both[1] = atomicMax(p.ends + 1, (u64)0);
        }}
    }}
    __syncthreads();
    if (!is_last) return;
    const f64 nothing = __longlong_as_double(0x7ff8000000000000ll);
    Line l;
    l.last = (V)(both[0] == ~(u64)0 ? nothing : of_key(both[0]));
    l.first = (V)(both[1] == ~(u64)0 ? nothing : of_key(~both[1]));
    const bool finite = l.first - l.first == (V)0 && l.last - l.last == (V)0;
    if (!finite && threadIdx.x == 0) complain(p.error, p.not_finite);
    if (l.first == l.last) {{
        l.first = l.first - (V)0.5;
        l.last = l.last + (V)0.5;
    }}
    l.count = (V)p.bins;
    l.distance = l.last - l.first;
    l.step = l.distance / l.count;
#pragma unroll 1
    for (i64 i = threadIdx.x; i <= p.bins; i += {THREADS}) {{
        const V own = edge(l, i, p.bins);
        p.out[i] = own;
        if (finite && i < p.bins && own >= edge(l, i + 1, p.bins)) complain(p.error, p.not_apart);
    }}
}}
"""


def bin_edges(device: Any, a: Strided, *, bins: int, not_finite: int, not_apart: int, out: Strided) -> None:
    """``out`` = the edges (float32 or float64) of `bins` bins between the ends of the vector `a`."""
    ends = device.allocate(64)
    device.clear(ends, 64)
    text = edges_text(ctype_of(a.dtype), ctype_of(out.dtype))
    device.expect([text, text_of(a.dtype, out.dtype, bins, True)])  # what is counted next
    words = [
        address(a), address(out), ends.ptr, device.error_address(), not_finite, not_apart, a.shape[0], a.strides[0],
        int(is_wide(a)), bins,
    ]  # fmt: skip
    run(device, text, "edges", Grid(blocks_of(a), THREADS), words)
