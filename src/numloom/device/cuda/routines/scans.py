"""Running operations along an axis, in one pass.

A line is cut into tiles of fixed size; a tile is scanned in registers and learns from those before it what comes
before (``prefix.hpp``). Where there are many lines beside each other, a thread runs along each. Which elements are
combined in which order depends on shape and strides alone, so results are the same in every run. No identity
is needed: what a thread past the end holds never reaches one before it.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from numloom.device.cuda.routines.host import on_host
from numloom.device.cuda.routines.kernels import (
    PREFIX,
    PRELUDE,
    THREADS,
    Grid,
    address,
    collapse,
    ctype_of,
    mail,
    run,
)
from numloom.device.interface import Strided

WARPS = THREADS // 32
ROWS = 4
"""Accesses of a lane in a tile."""
AHEAD = 8
SERIAL_LINES = 8192
SERIAL_LENGTH = 32

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
def scan_text(ctype: str, combine: str, rank: int, warps: int) -> str:
    """Text of the kernels, in blocks of `warps` warps."""
    return f"""{PRELUDE}{PREFIX}
typedef {ctype} T;
typedef value_of<T>::type V;
#define WARPS {warps}
constexpr int VEC = sizeof(T) > 4 ? 16 / sizeof(T) : 4, ROWS = {ROWS}, SPAN = 32 * VEC, TILE = WARPS * ROWS * SPAN;
struct alignas(VEC * sizeof(T)) Pack {{ T x[VEC]; }};
struct Combine {{ DEV V operator()(V a, V b) const {{ return (V)({combine}); }} }};
struct P {{
    const T* a; T* out; u64* mail; i64 launch, words, wide;
    i64 lines, length, tiles, step, out_step;
    i64 extent[{rank}], stride[{rank}], out_stride[{rank}];
}};
extern "C" __global__ void __launch_bounds__({32 * warps}) scan(const __grid_constant__ P p) {{
    __shared__ V totals[WARPS], before_tile;
    const Combine combine;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 line = blockIdx.x / p.tiles, tile = blockIdx.x - line * p.tiles;
    const T* a = p.a + place<{rank}>(line, p.extent, p.stride);
    T* out = p.out + place<{rank}>(line, p.extent, p.out_stride);
    const i64 first = tile * TILE + warp * (ROWS * SPAN) + lane * VEC;
    const bool wide = p.wide && (tile + 1) * TILE <= p.length;
    V x[ROWS][VEC], sum[ROWS], head[ROWS];
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
        for (int k = 0; k < ROWS; ++k)
#pragma unroll
            for (int v = 0; v < VEC; ++v) {{
                const i64 i = first + k * SPAN + v;
                x[k][v] = widen(a[(i < p.length ? i : p.length - 1) * p.step]);
            }}
    }}
    // Neighbours, lanes, rows, warps, tiles: what is past the end is behind everything that counts.
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
#pragma unroll
        for (int v = 1; v < VEC; ++v) x[k][v] = combine(x[k][v - 1], x[k][v]);
        sum[k] = nl::scan_lanes(x[k][VEC - 1], combine);
        head[k] = nl::shifted(sum[k], 1);
    }}
    V total;
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        const V row = nl::of_lane(sum[k], 31);
        if (k > 0) {{
            head[k] = lane > 0 ? combine(total, head[k]) : total;
            total = combine(total, row);
        }} else total = row;
    }}
    if (lane == 0) totals[warp] = total;
    __syncthreads();
    V start = total;
    bool some = warp > 0;
    if (some) start = totals[0];
    for (int w = 1; w < warp; ++w) start = combine(start, totals[w]);
    if (p.tiles > 1) {{
        if (warp == 0) {{
            total = totals[0];
            for (int w = 1; w < WARPS; ++w) total = combine(total, totals[w]);
            total = nl::before(p.mail + line * p.words, p.tiles, tile, (u32)p.launch, total, combine);
            if (lane == 0) before_tile = total;
        }}
        __syncthreads();
        if (tile > 0) {{ start = some ? combine(before_tile, start) : before_tile; some = true; }}
    }}
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        const bool inner = k > 0 || lane > 0;
        if (some) head[k] = inner ? combine(start, head[k]) : start;
        if (some || inner)
#pragma unroll
            for (int v = 0; v < VEC; ++v) x[k][v] = combine(head[k], x[k][v]);
        if (wide) {{
            Pack pack;
#pragma unroll
            for (int v = 0; v < VEC; ++v) put(pack.x + v, x[k][v]);
            *reinterpret_cast<Pack*>(out + first + k * SPAN) = pack;
        }} else
#pragma unroll
            for (int v = 0; v < VEC; ++v) {{
                const i64 i = first + k * SPAN + v;
                if (i < p.length) put(out + i * p.out_step, x[k][v]);
            }}
    }}
}}
// A thread a line, {AHEAD} elements under way.
extern "C" __global__ void __launch_bounds__({32 * warps}) scan_serial(const __grid_constant__ P p) {{
    const Combine combine;
    const i64 line = (i64)blockIdx.x * {32 * warps} + threadIdx.x;
    if (line >= p.lines) return;
    const T* a = p.a + place<{rank}>(line, p.extent, p.stride);
    T* out = p.out + place<{rank}>(line, p.extent, p.out_stride);
    V sum = widen(*a);
    put(out, sum);
    i64 i = 1;
    for (; i + {AHEAD} <= p.length; i += {AHEAD}) {{
        V x[{AHEAD}];
#pragma unroll
        for (int k = 0; k < {AHEAD}; ++k) x[k] = widen(a[(i + k) * p.step]);
#pragma unroll
        for (int k = 0; k < {AHEAD}; ++k) {{
            sum = combine(sum, x[k]);
            put(out + (i + k) * p.out_step, sum);
        }}
    }}
    for (; i < p.length; ++i) {{
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
    itemsize = a.dtype.itemsize
    source, target = address(a), address(out)
    tail = [*extents, *strides, *out_strides]
    serial = length <= SERIAL_LENGTH or (lines >= SERIAL_LINES and abs(step) != 1)
    row = ROWS * 32 * (16 // itemsize if itemsize > 4 else 4)
    warps = 1 if length <= row and not serial else WARPS
    text = scan_text(ctype_of(a.dtype), combine, len(extents), warps)
    if serial:
        words = [source, target, 0, 0, 0, 0, lines, length, 1, step, out_step, *tail]
        run(device, text, "scan_serial", Grid(-(-lines // THREADS)), words)
        return
    tiles = -(-length // (warps * row))
    held = (0, 0, 0)
    if tiles > 1:
        size = 4 if a.dtype.char == "e" else itemsize
        held = mail(device, tiles, size, lines)
    # The accesses of a lane are 16 bytes where every line begins so, or four neighbours of smaller elements.
    unit = max(16 // itemsize, 1) if itemsize > 4 else 4
    offsets = [source // itemsize, target // itemsize, *(strides + out_strides if lines > 1 else [])]
    wide = step == out_step == 1 and all(at % unit == 0 for at in offsets)
    words = [source, target, *held, int(wide), lines, length, tiles, step, out_step, *tail]
    run(device, text, "scan", Grid(lines * tiles, 32 * warps), words)
