"""Running operations along an axis.

A line is cut into tiles of fixed size: tiles are reduced, their totals scanned, and each tile scanned from what is
before it. Of lines beside each other, threads take chunks. Which elements are combined in which order depends on shape
and strides alone, so results are the same in every run. No identity is needed: what a thread past the end holds never
reaches one before it. (One pass in which tiles learn from those before them was slower here: 350 to 380 µs for 1e8
float32, where reading twice should take 280; waiting for earlier tiles leaves the memory idle.)
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from numloom.device.cuda.routines.folding import scan_in_turn
from numloom.device.cuda.routines.kernels import (
    LANES,
    PRELUDE,
    THREADS,
    Grid,
    address,
    collapse,
    ctype_of,
    empty,
    run,
)
from numloom.device.interface import Strided

ROWS = 4
"""Accesses of a lane in a tile."""
AHEAD = 8
SERIAL_LINES = 32
SERIAL_LENGTH = 32
SERIAL_THREADS = 1 << 18

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
def scan_text(ctype: str, combine: str, rank: int, whole: bool, rows: int) -> str:
    """Text of the kernels; a lane has `rows` accesses in a tile; `whole`: a warp has a line to itself."""
    return f"""{PRELUDE}{LANES}
typedef {ctype} T;
typedef value_of<T>::type V;
constexpr int WARPS = {1 if whole else THREADS // 32}, VEC = sizeof(T) > 4 ? 16 / sizeof(T) : 4, ROWS = {rows};
constexpr int SPAN = 32 * VEC, TILE = WARPS * ROWS * SPAN;
struct alignas(VEC * sizeof(T)) Pack {{ T x[VEC]; }};
struct Combine {{ DEV V operator()(V a, V b) const {{ return (V)({combine}); }} }};
struct P {{
    const T* a; T* out; V* totals; i64 wide;
    i64 lines, length, tiles, chunk, step, out_step;
    i64 extent[{rank}], stride[{rank}], out_stride[{rank}];
}};
// Neighbours, lanes, rows, warps: what is past the end is behind everything that counts. Returns the tile's total.
DEV V scan_tile(V (&x)[ROWS][VEC], V before, bool some, V* totals) {{
    const Combine combine;
    const int lane = threadIdx.x & 31, warp = WARPS > 1 ? threadIdx.x >> 5 : 0;
    V head[ROWS], total;
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
#pragma unroll
        for (int v = 1; v < VEC; ++v) x[k][v] = combine(x[k][v - 1], x[k][v]);
        head[k] = scan_lanes(x[k][VEC - 1], combine);
    }}
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        const V row = of_lane(head[k], 31);
        head[k] = shifted(head[k], 1);
        if (k > 0) {{
            head[k] = lane > 0 ? combine(total, head[k]) : total;
            total = combine(total, row);
        }} else total = row;
    }}
    if (WARPS > 1) {{
        if (lane == 0) totals[warp] = total;
        __syncthreads();
        total = totals[0];
        if (warp > 0) {{ before = some ? combine(before, total) : total; some = true; }}
#pragma unroll
        for (int w = 1; w < WARPS; ++w) {{
            const V here = totals[w];
            if (w < warp) before = combine(before, here);
            total = combine(total, here);
        }}
        __syncthreads();
    }}
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        const bool inner = k > 0 || lane > 0;
        if (some) head[k] = inner ? combine(before, head[k]) : before;
        if (some || inner)
#pragma unroll
            for (int v = 0; v < VEC; ++v) x[k][v] = combine(head[k], x[k][v]);
    }}
    return total;
}}
// A block a tile (a warp a line): without `out` only the totals of all but the last tile of each line. The second pass
// begins at the end, which the first one left in the cache.
extern "C" __global__ void __launch_bounds__({THREADS}) scan(const __grid_constant__ P p) {{
    __shared__ V totals[WARPS];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 tiles = p.out ? p.tiles : p.tiles - 1;
    i64 line, tile = 0;
    if (WARPS == 1) line = (i64)blockIdx.x * {THREADS // 32} + warp;
    else {{
        const u32 number = p.out ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
        line = number / (u32)tiles;
        tile = number - line * tiles;
    }}
    if (line >= p.lines) return;
    const T* a = p.a + place<{rank}>(line, p.extent, p.stride);
    const i64 first = tile * TILE + (WARPS > 1 ? warp : 0) * (ROWS * SPAN) + lane * VEC;
    const bool wide = p.wide && (tile + 1) * TILE <= p.length;
    V x[ROWS][VEC], before;
    if (wide) {{
        Pack packs[ROWS];
#pragma unroll
        for (int k = 0; k < ROWS; ++k) packs[k] = *reinterpret_cast<const Pack*>(a + first + k * SPAN);
#pragma unroll
        for (int k = 0; k < ROWS; ++k)
#pragma unroll
            for (int v = 0; v < VEC; ++v) x[k][v] = widen(packs[k].x[v]);
    }} else {{
#pragma unroll
        for (int k = 0; k < ROWS; ++k) {{
            const i64 i = first + k * SPAN;
            if (p.wide && i + VEC <= p.length) {{
                const Pack pack = *reinterpret_cast<const Pack*>(a + i);
#pragma unroll
                for (int v = 0; v < VEC; ++v) x[k][v] = widen(pack.x[v]);
            }} else
#pragma unroll
                for (int v = 0; v < VEC; ++v) x[k][v] = widen(a[(i + v < p.length ? i + v : p.length - 1) * p.step]);
        }}
    }}
    if (p.out && tile > 0) before = p.totals[line * (p.tiles - 1) + tile - 1];
    const V total = scan_tile(x, before, p.out && tile > 0, totals);
    if (!p.out) {{
        if (threadIdx.x == 0) p.totals[line * tiles + tile] = total;
        return;
    }}
    T* out = p.out + place<{rank}>(line, p.extent, p.out_stride);
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        const i64 i = first + k * SPAN;
        if (p.wide && i + VEC <= p.length) {{
            Pack pack;
#pragma unroll
            for (int v = 0; v < VEC; ++v) put(pack.x + v, x[k][v]);
            *reinterpret_cast<Pack*>(out + i) = pack;
        }} else
#pragma unroll
            for (int v = 0; v < VEC; ++v) if (i + v < p.length) put(out + (i + v) * p.out_step, x[k][v]);
    }}
}}
// The totals of each line, in place, a block a line.
extern "C" __global__ void __launch_bounds__({THREADS}) scan_totals(const __grid_constant__ P p) {{
    __shared__ V totals[WARPS];
    const Combine combine;
    if (WARPS == 1) return;
    V* a = p.totals + (i64)blockIdx.x * (p.tiles - 1);
    const i64 length = p.tiles - 1;
    V carry;
    for (i64 tile = 0; tile * TILE < length; ++tile) {{
        V x[ROWS][VEC];
        const i64 first = tile * TILE + (threadIdx.x >> 5) * (ROWS * SPAN) + (threadIdx.x & 31) * VEC;
#pragma unroll
        for (int k = 0; k < ROWS; ++k)
#pragma unroll
            for (int v = 0; v < VEC; ++v) {{
                const i64 i = first + k * SPAN + v;
                x[k][v] = a[i < length ? i : length - 1];
            }}
        const V total = scan_tile(x, carry, tile > 0, totals);
        carry = tile > 0 ? combine(carry, total) : total;
#pragma unroll
        for (int k = 0; k < ROWS; ++k)
#pragma unroll
            for (int v = 0; v < VEC; ++v) {{
                const i64 i = first + k * SPAN + v;
                if (i < length) a[i] = x[k][v];
            }}
    }}
}}
// A thread a chunk of a line, lines side by side, {AHEAD} elements under way; without `out` only the totals.
extern "C" __global__ void __launch_bounds__({THREADS}) scan_serial(const __grid_constant__ P p) {{
    const Combine combine;
    const i64 id = (i64)blockIdx.x * {THREADS} + threadIdx.x, chunks = p.out ? p.tiles : p.tiles - 1;
    const i64 chunk = id / p.lines, line = id - chunk * p.lines;
    if (chunk >= chunks) return;
    const T* a = p.a + place<{rank}>(line, p.extent, p.stride);
    T* out = p.out + (p.out ? place<{rank}>(line, p.extent, p.out_stride) : 0);
    i64 i = chunk * p.chunk;
    const i64 end = i + p.chunk < p.length ? i + p.chunk : p.length;
    V sum = widen(a[i * p.step]);
    if (p.out && chunk > 0) sum = combine(p.totals[line * (p.tiles - 1) + chunk - 1], sum);
    if (p.out) put(out + i * p.out_step, sum);
    for (++i; i + {AHEAD} <= end; i += {AHEAD}) {{
        V x[{AHEAD}];
#pragma unroll
        for (int k = 0; k < {AHEAD}; ++k) x[k] = widen(a[(i + k) * p.step]);
#pragma unroll
        for (int k = 0; k < {AHEAD}; ++k) {{
            sum = combine(sum, x[k]);
            if (p.out) put(out + (i + k) * p.out_step, sum);
        }}
    }}
    for (; i < end; ++i) {{
        sum = combine(sum, widen(a[i * p.step]));
        if (p.out) put(out + i * p.out_step, sum);
    }}
    if (!p.out) p.totals[line * chunks + chunk] = sum;
}}
"""


def scan(device: Any, a: Strided, *, op: str, axis: int, out: Strided) -> None:
    """``out`` = running `op` (a ufunc's name) along `axis`, in the dtype of `a`.

    Operations that are not associative, and orders of complex numbers, are done in turn.
    """
    combine = combine_text(op, a.dtype)
    if combine is None:
        scan_in_turn(device, a, op=op, axis=axis, out=out)
        return
    if not prod(a.shape):
        return
    length = a.shape[axis]
    keep = [k for k in range(len(a.shape)) if k != axis]
    shape = [a.shape[k] for k in keep]
    extents, (strides, out_strides) = collapse(shape, [a.strides[k] for k in keep], [out.strides[k] for k in keep])
    lines, step, out_step = prod(shape), a.strides[axis], out.strides[axis]
    itemsize = a.dtype.itemsize
    vector = 16 // itemsize if itemsize > 4 else 4
    row = ROWS * 32 * vector
    serial = length <= SERIAL_LENGTH or (lines >= SERIAL_LINES and abs(step) != 1)
    whole = length <= row and not serial
    rows = ROWS
    while whole and rows > 1 and length <= row // 2:
        rows, row = rows // 2, row // 2
    if serial:
        chunk = max(-(-length * lines // SERIAL_THREADS), SERIAL_LENGTH)
        tiles = -(-length // chunk)
        blocks, totals_blocks = (-(-lines * count // THREADS) for count in (tiles, tiles - 1))
    else:
        chunk = row * (1 if whole else THREADS // 32)
        tiles = -(-length // chunk)
        blocks, totals_blocks = -(-lines * 32 // THREADS) if whole else lines * tiles, lines * (tiles - 1)
    # The accesses of a lane are 16 bytes where every line begins so, or four neighbours of smaller elements.
    offsets = [address(a) // itemsize, address(out) // itemsize, *(strides + out_strides if lines > 1 else [])]
    wide = step == out_step == 1 and all(at % vector == 0 for at in offsets)
    text = scan_text(ctype_of(a.dtype), combine, len(extents), whole, rows)
    entry = "scan_serial" if serial else "scan"
    totals = 0
    tail = [int(wide), lines, length, tiles, chunk, step, out_step, *extents, *strides, *out_strides]
    if tiles > 1:
        held = empty(device, (lines * (tiles - 1) * max(itemsize, 4 if a.dtype.kind == "f" else 1),), np.uint8)
        totals = address(held)
        run(device, text, entry, Grid(totals_blocks), [address(a), 0, totals, *tail])
        run(device, text, "scan_totals", Grid(lines), [0, 0, totals, *tail])
    run(device, text, entry, Grid(blocks), [address(a), address(out), totals, *tail])
