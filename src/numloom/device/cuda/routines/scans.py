"""Running operations along an axis.

A line is cut into chunks of fixed size: chunks are reduced, their results scanned, and each chunk scanned from
what is before it. Where there are many lines beside each other, a thread runs along each. Which elements are
combined in which order depends on shape and strides alone, so results are the same in every run. No identity
is needed: what a thread past the end holds never reaches one before it.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from numloom.device.cuda.routines.host import on_host
from numloom.device.cuda.routines.kernels import PRELUDE, THREADS, Grid, address, collapse, ctype_of, empty, run
from numloom.device.interface import Strided

ITEMS = 4
TILE = THREADS * ITEMS
CHUNK = TILE * 8
_SERIAL_LINES = 8192
_SERIAL_LENGTH = 32

# How two values of dtype kinds combine, `a` being the earlier one.
_REAL = {
    "add": "a + b",
    "multiply": "a * b",
    "maximum": "(a > b || a != a) ? a : b",
    "minimum": "(a < b || a != a) ? a : b",
    "fmax": "(a > b || b != b) ? a : b",
    "fmin": "(a < b || b != b) ? a : b",
}
_WHOLE = {"bitwise_and": "a & b", "bitwise_or": "a | b", "bitwise_xor": "a ^ b"}
_TRUTH = {
    "add": "a || b", "multiply": "a && b", "maximum": "a || b", "minimum": "a && b", "fmax": "a || b", "fmin": "a && b",
    "logical_and": "a && b", "logical_or": "a || b", "logical_xor": "a != b",
    "bitwise_and": "a && b", "bitwise_or": "a || b", "bitwise_xor": "a != b",
}  # fmt: skip
_COMPLEX = {"add": "V{a.re + b.re, a.im + b.im}", "multiply": "V{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}"}


def combine_text(op: str, dtype: np.dtype[Any]) -> str | None:
    """C++ expression of the operation, None where it is not associative or not known."""
    table = {"b": _TRUTH, "c": _COMPLEX, "f": _REAL}.get(dtype.kind, _REAL | _WHOLE)
    text = table.get(op)
    if text is not None and dtype.kind in "iu" and op in ("add", "multiply"):
        # Integers wrap; C++ says so of unsigned ones only.
        word = "u64" if dtype.itemsize == 8 else "u32"
        text = text.replace("a", f"({word})a").replace("b", f"({word})b")
    return text


@cache
def scan_text(ctype: str, combine: str, rank: int) -> str:
    """Text of the three kernels."""
    return f"""{PRELUDE}
typedef {ctype} T;
typedef value_of<T>::type V;
DEV V combine(V a, V b) {{ return (V)({combine}); }}
struct P {{
    const T* a; T* out; const V* carry; V* totals;
    i64 lines, length, chunks, step, out_step;
    i64 extent[{rank}], stride[{rank}], out_stride[{rank}];
}};
struct Q {{ V* a; i64 length; }};
template <class X> DEV X shifted(X x, int d) {{
    constexpr int N = (sizeof(X) + 3) / 4;
    u32 w[N];
    w[N - 1] = 0;
    memcpy(w, &x, sizeof(X));
#pragma unroll
    for (int k = 0; k < N; ++k) w[k] = __shfl_up_sync(0xffffffffu, w[k], d);
    memcpy(&x, w, sizeof(X));
    return x;
}}
// Inclusive scan of a tile; `carry` is what is before it, and then what is before the next one.
DEV void scan_tile(V (&x)[{ITEMS}], V& carry, bool& carried, V* warps) {{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int k = 1; k < {ITEMS}; ++k) x[k] = combine(x[k - 1], x[k]);
    V sum = x[{ITEMS - 1}];
    for (int d = 1; d < 32; d *= 2) {{
        const V other = shifted(sum, d);
        if (lane >= d) sum = combine(other, sum);
    }}
    if (lane == 31) warps[warp] = sum;
    V before = shifted(sum, 1);
    __syncthreads();
    bool some = carried;
    V head = carry;
    for (int w = 0; w < warp; ++w) {{ head = some ? combine(head, warps[w]) : warps[w]; some = true; }}
    if (lane > 0) {{ head = some ? combine(head, before) : before; some = true; }}
    if (some) for (int k = 0; k < {ITEMS}; ++k) x[k] = combine(head, x[k]);
    for (int w = 0; w < {THREADS // 32}; ++w) {{
        carry = carried ? combine(carry, warps[w]) : warps[w];
        carried = true;
    }}
    __syncthreads();
}}
// Chunk by chunk: without `out` only the totals of all but the last chunk of each line.
extern "C" __global__ void __launch_bounds__({THREADS}) scan(const __grid_constant__ P p) {{
    __shared__ V warps[{THREADS // 32}];
    const i64 chunks = p.out ? p.chunks : p.chunks - 1;
    const i64 line = blockIdx.x / chunks, chunk = blockIdx.x - line * chunks;
    const T* a = p.a + place<{rank}>(line, p.extent, p.stride);
    T* out = p.out ? p.out + place<{rank}>(line, p.extent, p.out_stride) : 0;
    V carry;
    bool carried = p.out && chunk > 0;
    if (carried) carry = p.carry[line * (p.chunks - 1) + chunk - 1];
    const i64 end = (chunk + 1) * {CHUNK} < p.length ? (chunk + 1) * {CHUNK} : p.length;
    for (i64 start = chunk * {CHUNK}; start < end; start += {TILE}) {{
        const i64 first = start + (i64)threadIdx.x * {ITEMS};
        V x[{ITEMS}];
#pragma unroll
        for (int k = 0; k < {ITEMS}; ++k) {{
            const i64 i = first + k < end ? first + k : end - 1;
            x[k] = widen(a[i * p.step]);
        }}
        scan_tile(x, carry, carried, warps);
        if (out)
#pragma unroll
            for (int k = 0; k < {ITEMS}; ++k) if (first + k < end) put(out + (first + k) * p.out_step, x[k]);
    }}
    if (!p.out && threadIdx.x == 0) p.totals[blockIdx.x] = carry;
}}
// The totals of each line, in place, a block a line.
extern "C" __global__ void __launch_bounds__({THREADS}) scan_totals(const __grid_constant__ Q p) {{
    __shared__ V warps[{THREADS // 32}];
    V* a = p.a + (i64)blockIdx.x * p.length;
    V carry;
    bool carried = false;
    for (i64 start = 0; start < p.length; start += {TILE}) {{
        const i64 first = start + (i64)threadIdx.x * {ITEMS};
        V x[{ITEMS}];
        for (int k = 0; k < {ITEMS}; ++k) x[k] = a[first + k < p.length ? first + k : p.length - 1];
        scan_tile(x, carry, carried, warps);
        for (int k = 0; k < {ITEMS}; ++k) if (first + k < p.length) a[first + k] = x[k];
    }}
}}
extern "C" __global__ void __launch_bounds__({THREADS}) scan_serial(const __grid_constant__ P p) {{
    const i64 line = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (line >= p.lines) return;
    const T* a = p.a + place<{rank}>(line, p.extent, p.stride);
    T* out = p.out + place<{rank}>(line, p.extent, p.out_stride);
    V sum = widen(*a);
    put(out, sum);
    for (i64 i = 1; i < p.length; ++i) {{
        sum = combine(sum, widen(a[i * p.step]));
        put(out + i * p.out_step, sum);
    }}
}}
"""


def scan(device: Any, a: Strided, *, op: str, axis: int, out: Strided) -> None:
    """``out`` = running `op` (a ufunc's name) along `axis`, in the dtype of `a`.

    Operations that are not associative, and orders of complex numbers, go through the host.
    """
    combine = combine_text(op, a.dtype)
    if combine is None:
        on_host("scan", device, a, out=out, op=op, axis=axis)
        return
    if not prod(a.shape):
        return
    length = a.shape[axis]
    keep = [k for k in range(len(a.shape)) if k != axis]
    shape = [a.shape[k] for k in keep]
    extents, (strides, out_strides) = collapse(shape, [a.strides[k] for k in keep], [out.strides[k] for k in keep])
    lines, step, out_step = prod(shape), a.strides[axis], out.strides[axis]
    text = scan_text(ctype_of(a.dtype), combine, len(extents))
    chunks = -(-length // CHUNK)
    source, target = address(a), address(out)
    tail = [*extents, *strides, *out_strides]
    if length <= _SERIAL_LENGTH or (lines >= _SERIAL_LINES and abs(step) != 1):
        words = [source, target, 0, 0, lines, length, chunks, step, out_step, *tail]
        run(device, text, "scan_serial", Grid(-(-lines // THREADS)), words)
        return
    totals = 0
    if chunks > 1:
        size = max(a.dtype.itemsize, 4) if a.dtype.kind == "f" else a.dtype.itemsize
        held = empty(device, (lines * (chunks - 1) * size,), np.uint8)
        totals = address(held)
        words = [source, 0, 0, totals, lines, length, chunks, step, out_step, *tail]
        run(device, text, "scan", Grid(lines * (chunks - 1)), words)
        run(device, text, "scan_totals", Grid(lines), [totals, chunks - 1])
    words = [source, target, totals, 0, lines, length, chunks, step, out_step, *tail]
    run(device, text, "scan", Grid(lines * chunks), words)
