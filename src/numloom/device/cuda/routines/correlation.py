"""Sliding products of two vectors, summed directly: no Fourier transform, whose rounding reaches all results.

A block takes a tile of the results. The part of the longer vector that they meet, and as many taps of the shorter one,
lie in shared memory; a thread sums several results that lie `THREADS` apart, so that lanes read side by side. Products
are added tap after tap with one rounding each. Where there are few results and many taps, parts of the taps are summed
apart and then added in order: how many parts is decided by the sizes alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numloom.device.cuda.routines.kernels import PRELUDE, THREADS, Grid, address, ctype_of, empty, run
from numloom.device.cuda.routines.products import FUSED, SUMS, result_text
from numloom.device.interface import Strided

EACH = 8
"""Results of a thread."""
TAPS = 256
"""Taps that lie in shared memory at a time."""
LEAST_PART = 1024
"""Taps of a part at least."""
BLOCKS = 256
"""Blocks that keep a device busy."""


@cache
def correlation_text(ctype: str, split: bool) -> str:
    """Text of ``correlate``, and of ``join``, which adds parts where `split`."""
    conjugated = "S{x.re, -x.im}" if ctype in ("c64", "c128") else "x"
    total = f"put(p.out + o * p.out_step, {result_text(ctype, 'total')});"
    return f"""{PRELUDE}
typedef {ctype} T;
typedef {SUMS.get(ctype, "u32")} S;
{FUSED}
DEV S turned(S x) {{ return {conjugated}; }}
struct P {{
    const T* a; const T* v; T* out; S* part;
    i64 n, taps, results, shift, each, parts, a_step, v_step, out_step;
}};
// Taps [from, to) of a tile whose first result is at `first`.
template <bool EDGE> DEV void sum_taps(const P& p, i64 first, i64 from, i64 to, S* sum, const S* x, const S* v) {{
    for (i64 k = from; k < to; ++k) {{
        const S tap = v[k - from];
#pragma unroll
        for (int e = 0; e < {EACH}; ++e) {{
            const int at = e * {THREADS} + threadIdx.x;
            // Nothing is added for what lies outside: zeros would make NaN of infinite taps.
            if (EDGE && (u64)(first + at + k - p.shift) >= (u64)p.n) continue;
            sum[e] = fused(x[at + (int)(k - from)], tap, sum[e]);
        }}
    }}
}}
extern "C" __global__ void __launch_bounds__({THREADS}) correlate(const __grid_constant__ P p) {{
    __shared__ S x[{EACH * THREADS + TAPS}], v[{TAPS}];
    const i64 tiles = (p.results + {EACH * THREADS - 1}) / {EACH * THREADS};
    const i64 part = blockIdx.x / tiles, first = (blockIdx.x - part * tiles) * {EACH * THREADS};
    const i64 begin = part * p.each, end = begin + p.each < p.taps ? begin + p.each : p.taps;
    const bool inside = first + begin >= p.shift && first + {EACH * THREADS} + end - p.shift <= p.n;
    S sum[{EACH}] = {{}};
    for (i64 from = begin; from < end; from += {TAPS}) {{
        const i64 to = from + {TAPS} < end ? from + {TAPS} : end;
        const i64 at = first + from - p.shift;
        for (int e = threadIdx.x; e < {EACH * THREADS + TAPS}; e += {THREADS})
            x[e] = (u64)(at + e) < (u64)p.n ? (S)widen(p.a[(at + e) * p.a_step]) : S{{}};
        for (int e = threadIdx.x; e < to - from; e += {THREADS}) v[e] = turned((S)widen(p.v[(from + e) * p.v_step]));
        __syncthreads();
        if (inside) sum_taps<false>(p, first, from, to, sum, x, v);
        else sum_taps<true>(p, first, from, to, sum, x, v);
        __syncthreads();
    }}
#pragma unroll
    for (int e = 0; e < {EACH}; ++e) {{
        const i64 o = first + e * {THREADS} + threadIdx.x;
        if (o >= p.results) continue;
        const S total = sum[e];
        {"p.part[part * p.results + o] = total;" if split else total}
    }}
}}
""" + (
        f"""
DEV u32 plus(u32 a, u32 b) {{ return a + b; }}
DEV u64 plus(u64 a, u64 b) {{ return a + b; }}
DEV f32 plus(f32 a, f32 b) {{ return a + b; }}
DEV f64 plus(f64 a, f64 b) {{ return a + b; }}
template <class R> DEV complex<R> plus(complex<R> a, complex<R> b) {{ return {{a.re + b.re, a.im + b.im}}; }}
extern "C" __global__ void __launch_bounds__({THREADS}) join(const __grid_constant__ P p) {{
    const i64 o = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (o >= p.results) return;
    S total = p.part[o];
    for (i64 k = 1; k < p.parts; ++k) total = plus(total, p.part[k * p.results + o]);
    {total}
}}
"""
        if split
        else ""
    )


def correlate(device: Any, a: Strided, v: Strided, *, mode: str, out: Strided) -> None:
    """``out`` = sums of ``a[i + k] * conj(v[k])`` over the taps `k`; `a` is the longer vector."""
    n, taps, results = a.shape[0], v.shape[0], out.shape[0]
    tiles = -(-results // (EACH * THREADS))
    parts = max(1, min(BLOCKS // tiles, taps // LEAST_PART))
    # Whole loads of taps for all parts but the last.
    each = -(-taps // (parts * TAPS)) * TAPS if parts > 1 else taps
    parts = -(-taps // each)
    shift = {"valid": 0, "same": taps // 2, "full": taps - 1}[mode]
    wide = empty(device, (parts * results * 16,), "u1") if parts > 1 else None
    words = [address(a), address(v), address(out), address(wide) if wide else 0, n, taps, results, shift, each, parts]
    words += [a.strides[0], v.strides[0], out.strides[0]]
    text = correlation_text(ctype_of(out.dtype), parts > 1)
    run(device, text, "correlate", Grid(parts * tiles), words, wait=True)
    if parts > 1:
        run(device, text, "join", Grid(-(-results // THREADS)), words)
