"""Running operations along an axis, in one pass over memory.

A line is cut into tiles of fixed size. A tile's block scans it, publishes the tile's total, and puts together
what lies before it: the totals of earlier tiles of its group, and those of earlier groups, which a group's last tile
publishes. So nobody waits for a chain of tiles. Which elements are combined in which order depends on shape and strides
alone, so results are the same in every run. No identity is needed: what a thread past the end holds never reaches one
before it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from math import isqrt, prod
from typing import Any, NamedTuple

import numpy as np

from numloom.device.cuda.routines.folding import scan_in_turn
from numloom.device.cuda.routines.kernels import (
    LANES,
    LOOK_BACK,
    PRELUDE,
    THREADS,
    Grid,
    address,
    block_flags,
    collapse,
    ctype_of,
    run,
)
from numloom.device.interface import Strided

WARPS = THREADS // 32
SHORT = 4
"""Accesses of a lane in a line that a warp has to itself, at most."""
LONG = 8
"""Accesses of a lane in a line that a block has to itself, at most."""


class ScanTile(NamedTuple):
    """One of the tiles of a line: accesses of a lane, those of them that wait in registers, blocks that are to fit."""

    rows: int
    kept: int = 0
    resident: int = 1


SMALL, MIDDLE = ScanTile(2), ScanTile(8)
LARGE = {False: ScanTile(20, 8, 4), True: ScanTile(16, 4, 4)}
"""Where there are enough tiles they are large, since they wait for each other, so that it counts how much is under way
at once; of elements of 8 bytes and more fewer wait in registers, for computing with them takes more."""
COLUMN_ROWS = {False: 8, True: 32}
"""Elements of a lane in a tile of lines beside each other."""
AHEAD = 8
"""Elements that a thread reads at a time of a line of its own, or of what many lines hold."""
STAGED_LENGTH = 128
"""Elements up to which lines without gaps go by way of shared memory, many at a time."""
STAGED_BYTES = 24 << 10
"""Shared memory of a block for them."""
SERIAL_LENGTH = 32
"""Elements up to which a thread has a line to itself."""
SERIAL_LINES = 1 << 18
"""Lines beside each other that keep the device busy with a thread each."""
ENOUGH_BLOCKS = 264
"""Blocks from which larger tiles are better than more of them: two for each multiprocessor of a large GPU."""
GROUP = 8
"""Tiles of a group, at least; a power of two, and near the square root of all of them."""

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


@cache
def combine_text(op: str, dtype: np.dtype[Any]) -> str | None:
    """C++ expression of the operation, None where it is not associative or not known."""
    table = {"b": _TRUTH, "c": _COMPLEX, "f": _REAL}.get(dtype.kind, _REAL | _WHOLE)
    text = table.get(op)
    if text is not None and dtype.kind in "iu" and op in ("add", "multiply"):
        # Integers wrap; C++ says so of unsigned ones only.
        word = "u64" if dtype.itemsize == 8 else "u32"
        text = text.replace("a", f"({word})a").replace("b", f"({word})b")
    return text


def _head(ctype: str, combine: str, rank: int) -> str:
    """What the texts have in common."""
    return f"""{PRELUDE}{LANES}
typedef {ctype} T;
typedef value_of<T>::type V;
struct Combine {{ DEV V operator()(V a, V b) const {{ return (V)({combine}); }} }};
struct P {{
    const T* a; T* out; u64* state; i64 launch, group;
    i64 lines, length, tiles, step, out_step;
    i64 extent[{rank}], stride[{rank}], out_stride[{rank}];
}};
"""


def _tile(warps: int, rows: int, rank: int, wide: bool) -> str:
    """How a lane reads and writes `rows` accesses of a tile that `warps` warps share, 16 bytes at once where `wide`."""
    warp = "(threadIdx.x >> 5) * (ROWS * SPAN)" if warps > 1 else "0"
    apart = """
#pragma unroll
    for (int k = 0; k < N; ++k)
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
            const i64 i = first + k * SPAN + v;
            packs[k].x[v] = a[(i < p.length ? i : p.length - 1) * p.step];
        }"""
    together = """
    if ((tile + (i64)1) * TILE <= p.length) {
#pragma unroll
        for (int k = 0; k < N; ++k) packs[k] = *reinterpret_cast<const Pack*>(a + first + k * SPAN);
        return;
    }
    // At most one access of the line's is not whole, so that it stands here once and for all lanes.
    const i64 end = p.length / VEC * VEC;
    Pack last = Pack();
#pragma unroll
    for (int v = 0; v < VEC; ++v) if (end + v < p.length) last.x[v] = a[end + v];
#pragma unroll
    for (int k = 0; k < N; ++k) {
        packs[k] = last;
        if (first + k * SPAN < end) packs[k] = *reinterpret_cast<const Pack*>(a + first + k * SPAN);
    }"""
    vector = """
    if (i + VEC <= p.length) {
        Pack pack;
#pragma unroll
        for (int v = 0; v < VEC; ++v) put(pack.x + v, x[v]);
        *reinterpret_cast<Pack*>(out + i) = pack;
        return;
    }"""
    return f"""
constexpr int WARPS = {warps}, VEC = sizeof(T) > 4 ? 16 / sizeof(T) : 4, ROWS = {rows};
constexpr int SPAN = 32 * VEC, TILE = WARPS * ROWS * SPAN;
struct alignas(VEC * sizeof(T)) Pack {{ T x[VEC]; }};
DEV i64 first_of(i32 tile) {{ return (i64)tile * TILE + {warp} + (threadIdx.x & 31) * VEC; }}
// Accesses from `row` on; what is past the end of a line does not count.
template <int N> DEV void load(const P& p, i64 line, i32 tile, int row, Pack (&packs)[N]) {{
    const T* a = p.a + offset_of<{rank}>(line, p.extent, p.stride);
    const i64 first = first_of(tile) + row * SPAN;{together if wide else apart}
}}
DEV void store(const P& p, T* out, i64 i, const V (&x)[VEC]) {{{vector if wide else ""}
#pragma unroll
    for (int v = 0; v < VEC; ++v) if (i + v < p.length) put(out + (i + v){"" if wide else " * p.out_step"}, x[v]);
}}
"""


@cache
def lines_text(ctype: str, combine: str, rank: int, rows: int, warps: int, wide: bool) -> str:
    """Text of lines whose elements lie side by side and that one warp, or a block, scans at once, from registers."""
    together = """
    if (lane == 0) totals[warp] = total;
    __syncthreads();
    V before;
    bool some = false;
#pragma unroll
    for (int w = 0; w < WARPS - 1; ++w)
        if (w < warp) { before = some ? combine(before, totals[w]) : totals[w]; some = true; }"""
    return f"""{_head(ctype, combine, rank)}{_tile(warps, rows, rank, wide)}
extern "C" __global__ void __launch_bounds__({THREADS}) scan_lines(const __grid_constant__ P p) {{
    {"__shared__ V totals[WARPS];" if warps > 1 else ""}
    const Combine combine;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 line = {"blockIdx.x" if warps > 1 else f"(i64)blockIdx.x * {WARPS} + warp"};
    if (line >= p.lines) return;
    Pack packs[ROWS];
    load(p, line, 0, 0, packs);
    // What is before a lane's elements in its warp, access by access, and the warp's total.
    V head[ROWS], total;
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        V sum = widen(packs[k].x[0]);
#pragma unroll
        for (int v = 1; v < VEC; ++v) sum = combine(sum, widen(packs[k].x[v]));
        head[k] = scan_lanes(sum, combine);
    }}
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        const V row = of_lane(head[k], 31);
        head[k] = shifted(head[k], 1);
        if (k > 0) {{
            head[k] = lane > 0 ? combine(total, head[k]) : total;
            total = combine(total, row);
        }} else total = row;
    }}{together if warps > 1 else ""}
    T* out = p.out + offset_of<{rank}>(line, p.extent, p.out_stride);
    const i64 first = first_of(0);
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        const bool inner = k > 0 || lane > 0;
        V x[VEC];
        x[0] = widen(packs[k].x[0]);
        {"if (some) head[k] = inner ? combine(before, head[k]) : before;" if warps > 1 else ""}
        if ({"some || " if warps > 1 else ""}inner) x[0] = combine(head[k], x[0]);
#pragma unroll
        for (int v = 1; v < VEC; ++v) x[v] = combine(x[v - 1], widen(packs[k].x[v]));
        store(p, out, first + k * SPAN, x);
    }}
}}
"""


@cache
def tiles_text(ctype: str, combine: str, rank: int, form: ScanTile, wide: bool) -> str:
    """Text of longer lines, a block a tile, which waits in shared memory and registers for what lies before it."""
    # Small tiles are for few elements: as fast so (measured), and compiled in 97 ms instead of 166.
    quick = "// nvrtc: -Ofc=min\n" if form == SMALL else ""
    return f"""{quick}{_head(ctype, combine, rank)}{LOOK_BACK}{_tile(WARPS, form.rows, rank, wide)}
constexpr int HELD = ROWS - {form.kept}, BATCH = HELD < 4 ? HELD : 4, KEPT = {form.kept} % 4 ? 2 : 4;
struct alignas(VEC * sizeof(V) < 16 ? VEC * sizeof(V) : 16) Values {{ V x[VEC]; }};
// Scans some accesses of a warp: neighbours, lanes, accesses. `total` is that of those before.
template <int N> DEV void scan_rows(const P& p, i64 line, i32 tile, int row, Values (&y)[N], V& total) {{
    const Combine combine;
    const int lane = threadIdx.x & 31;
    Pack packs[N];
    load(p, line, tile, row, packs);
#pragma unroll
    for (int k = 0; k < N; ++k) {{
        y[k].x[0] = widen(packs[k].x[0]);
#pragma unroll
        for (int v = 1; v < VEC; ++v) y[k].x[v] = combine(y[k].x[v - 1], widen(packs[k].x[v]));
        const V sum = scan_lanes(y[k].x[VEC - 1], combine), own = of_lane(sum, 31);
        V head = shifted(sum, 1);
        const bool inner = row + k > 0 || lane > 0;
        if (row + k > 0) {{
            head = lane > 0 ? combine(total, head) : total;
            total = combine(total, own);
        }} else total = own;
        if (inner)
#pragma unroll
            for (int v = 0; v < VEC; ++v) y[k].x[v] = combine(head, y[k].x[v]);
    }}
}}
// What the warps of a block have, in their order.
DEV V sum_of(const V* totals) {{
    V sum = totals[0];
#pragma unroll
    for (int w = 1; w < WARPS; ++w) sum = Combine()(sum, totals[w]);
    return sum;
}}
extern __shared__ __align__(16) char memory[];
extern "C" __global__ void __launch_bounds__({THREADS}, {form.resident}) scan_tiles(const __grid_constant__ P p) {{
    Values* held = (Values*)memory;
    V* totals = (V*)(held + HELD * {THREADS});
    V* earlier = totals + WARPS;
    const Combine combine;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 tiles = (u32)p.tiles, line = blockIdx.x / tiles;
    const i32 tile = blockIdx.x - line * tiles;
    V total;
#pragma unroll 1
    for (int row = 0; row < HELD; row += BATCH) {{
        Values y[BATCH];
        scan_rows(p, line, tile, row, y, total);
#pragma unroll
        for (int k = 0; k < BATCH; ++k) held[(row + k) * {THREADS} + threadIdx.x] = y[k];
    }}
    Values kept[ROWS > HELD ? (ROWS - HELD) / KEPT : 1][KEPT];
#pragma unroll
    for (int k = 0; k < (ROWS - HELD) / KEPT; ++k) scan_rows(p, line, tile, HELD + k * KEPT, kept[k], total);
    if (lane == 0) totals[warp] = total;
    __syncthreads();
    // One warp asks the tiles of the group, another one the groups before, so that both answers take one way.
    const i32 group = (i32)p.group, number = tile / group, inside = tile - number * group;
    u64* state = p.state + (i64)line * (tiles + tiles / group) * SLOTS<V>();
    if (warp < 2) {{
        if (warp == 0 && lane == 0 && tile + 1 < tiles)
            publish_value(state + tile * SLOTS<V>(), p.launch, sum_of(totals));
        const i32 count = warp == 0 ? inside : number;
        if (count > 0) {{
            const u64* at = state + (warp == 0 ? tile - inside : (i32)tiles) * SLOTS<V>();
            const V sum = fold_published<V>(at, count, p.launch, combine);
            if (lane == 0) earlier[1 - warp] = sum;
        }}
        if (warp == 0 && lane == 0 && inside == group - 1) {{
            // Once more, since in a register it would be in the way all the time.
            const V own = sum_of(totals);
            publish_value(state + (tiles + number) * SLOTS<V>(), p.launch, inside > 0 ? combine(earlier[1], own) : own);
        }}
    }}
    __syncthreads();
    V before;
    bool some = false;
    if (number > 0) {{ before = earlier[0]; some = true; }}
    if (inside > 0) {{ before = some ? combine(before, earlier[1]) : earlier[1]; some = true; }}
#pragma unroll
    for (int w = 0; w < WARPS - 1; ++w)
        if (w < warp) {{ before = some ? combine(before, totals[w]) : totals[w]; some = true; }}
    T* out = p.out + offset_of<{rank}>(line, p.extent, p.out_stride);
    const i64 first = first_of(tile);
#pragma unroll 4
    for (int k = 0; k < HELD; ++k) {{
        Values y = held[k * {THREADS} + threadIdx.x];
        if (some)
#pragma unroll
            for (int v = 0; v < VEC; ++v) y.x[v] = combine(before, y.x[v]);
        store(p, out, first + k * SPAN, y.x);
    }}
#pragma unroll
    for (int k = 0; k < ROWS - HELD; ++k) {{
        Values& y = kept[k / KEPT][k % KEPT];
        if (some)
#pragma unroll
            for (int v = 0; v < VEC; ++v) y.x[v] = combine(before, y.x[v]);
        store(p, out, first + (HELD + k) * SPAN, y.x);
    }}
}}
"""


@cache
def columns_text(ctype: str, combine: str, rank: int, rows: int, beside: int) -> str:
    """Text of lines beside each other: a lane has `rows` elements of one of `beside` lines, a block a tile of each."""
    return f"""{_head(ctype, combine, rank)}{LOOK_BACK}
constexpr int WARPS = {WARPS}, ROWS = {rows}, BESIDE = {beside}, TILE = WARPS * ROWS * (32 / BESIDE);
// What `count` slots of each line have published, read by `of` warps from `begin` on, a part each, in order.
DEV void read_part(const u64* state, i64 stride, i32 count, i64 launch, int begin, int of, V (*parts)[BESIDE]) {{
    const i32 warp = threadIdx.x >> 5, each = (count + of - 1) / of;
    const i32 first = (warp - begin) * each, rest = count - first;
    if (warp >= begin && warp < begin + of && rest > 0 && (threadIdx.x & 31) < BESIDE)
        parts[warp][threadIdx.x & 31] =
            read_published<V>(state + first * stride, stride, rest < each ? rest : each, launch, Combine());
}}
DEV V sum_parts(i32 count, int begin, int of, const V (*parts)[BESIDE]) {{
    const i32 each = (count + of - 1) / of;
    V sum = parts[begin][threadIdx.x % BESIDE];
    for (int w = 1; w * each < count; ++w) sum = Combine()(sum, parts[begin + w][threadIdx.x % BESIDE]);
    return sum;
}}
extern "C" __global__ void __launch_bounds__({THREADS}) scan_columns(const __grid_constant__ P p) {{
    __shared__ V totals[WARPS][BESIDE];
    const Combine combine;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, column = lane % BESIDE;
    const u32 bundles = (u32)((p.lines + BESIDE - 1) / BESIDE);
    const i64 tile = blockIdx.x / bundles, own_line = (i64)(blockIdx.x - (u32)tile * bundles) * BESIDE + column;
    // Lanes past the last line repeat it, and write nothing.
    const i64 line = own_line < p.lines ? own_line : p.lines - 1;
    const T* a = p.a + offset_of<{rank}>(line, p.extent, p.stride);
    const i64 first = tile * TILE + (threadIdx.x / BESIDE) * ROWS;
    V x[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        const i64 i = first + k;
        x[k] = widen(a[(i < p.length ? i : p.length - 1) * p.step]);
    }}
#pragma unroll
    for (int k = 1; k < ROWS; ++k) x[k] = combine(x[k - 1], x[k]);
    V sum = x[ROWS - 1];
#pragma unroll
    for (int d = BESIDE; d < 32; d *= 2) {{
        const V other = shifted(sum, d);
        if (lane >= d) sum = combine(other, sum);
    }}
    if (lane >= 32 - BESIDE) totals[warp][column] = sum;
    V before = shifted(sum, BESIDE % 32);
    bool some = BESIDE < 32 && lane >= BESIDE;
    __syncthreads();
    V own = totals[0][column];
    if (warp > 0) {{
        V most = own;
#pragma unroll
        for (int w = 1; w < WARPS - 1; ++w) if (w < warp) most = combine(most, totals[w][column]);
        before = some ? combine(most, before) : most;
        some = true;
    }}
#pragma unroll
    for (int w = 1; w < WARPS; ++w) own = combine(own, totals[w][column]);
    __syncthreads();
    if (p.tiles > 1) {{
        const i32 group = (i32)p.group, number = (i32)tile / group, inside = (i32)tile - number * group;
        const i64 stride = p.lines * SLOTS<V>();
        u64* state = p.state + line * SLOTS<V>();
        u64* groups = state + p.tiles * stride;
        const u64* in_group = state + (tile - inside) * stride;
        const bool publishes = threadIdx.x < BESIDE && own_line < p.lines;
        if (publishes && tile < p.tiles - 1) publish_value(state + tile * stride, p.launch, own);
        // Half of the warps read the group's tiles, half the groups before; but a group's last tile publishes first.
        const bool last = inside == group - 1;
        const int half = last ? WARPS : WARPS / 2, other = WARPS - WARPS / 2;
        V earlier;
        if (inside > 0) read_part(in_group, stride, inside, p.launch, 0, half, totals);
        if (last) {{
            __syncthreads();
            if (inside > 0) earlier = sum_parts(inside, 0, half, totals);
            if (publishes) publish_value(groups + number * stride, p.launch, inside > 0 ? combine(earlier, own) : own);
            __syncthreads();
        }}
        if (number > 0) read_part(groups, stride, number, p.launch, WARPS / 2, other, totals);
        __syncthreads();
        if (inside > 0 && !last) earlier = sum_parts(inside, 0, half, totals);
        if (number > 0) {{
            const V of_groups = sum_parts(number, WARPS / 2, other, totals);
            earlier = inside > 0 ? combine(of_groups, earlier) : of_groups;
        }}
        if (tile > 0) {{ before = some ? combine(earlier, before) : earlier; some = true; }}
    }}
    if (own_line >= p.lines) return;
    T* out = p.out + offset_of<{rank}>(line, p.extent, p.out_stride);
#pragma unroll
    for (int k = 0; k < ROWS; ++k)
        if (first + k < p.length) put(out + (first + k) * p.out_step, some ? combine(before, x[k]) : x[k]);
}}
"""


@cache
def serial_text(ctype: str, combine: str, rank: int) -> str:
    """Text of many lines beside each other: a thread a line, some elements under way."""
    return f"""{_head(ctype, combine, rank)}
extern "C" __global__ void __launch_bounds__({THREADS}) scan_serial(const __grid_constant__ P p) {{
    const Combine combine;
    const i64 line = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (line >= p.lines) return;
    const T* a = p.a + offset_of<{rank}>(line, p.extent, p.stride);
    T* out = p.out + offset_of<{rank}>(line, p.extent, p.out_stride);
    V sum = widen(a[0]);
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


@cache
def staged_text(ctype: str, combine: str, itemsize: int) -> str:
    """Text of short lines without gaps: a block fetches many into shared memory, where a thread has a line each."""
    return f"""{_head(ctype, combine, 1)}
// Elements at an odd distance from line to line, so that threads meet different banks.
extern "C" __global__ void __launch_bounds__({THREADS}) scan_staged(const __grid_constant__ P p) {{
    __shared__ T held[{STAGED_BYTES // itemsize}];
    const Combine combine;
    const i64 begin = blockIdx.x * p.group, rest = p.lines - begin;
    const u32 lines = rest < p.group ? rest : p.group, length = (u32)p.length, n = lines * length;
    const u32 even = 1 - (length & 1), pitch = length + even;
    const T* a = p.a + begin * length;
    T* out = p.out + begin * length;
    for (u32 i = threadIdx.x; i < n; i += {THREADS * AHEAD}) {{
        T x[{AHEAD}];
#pragma unroll
        for (int k = 0; k < {AHEAD}; ++k) if (i + k * {THREADS} < n) x[k] = a[i + k * {THREADS}];
#pragma unroll
        for (int k = 0; k < {AHEAD}; ++k) {{
            const u32 j = i + k * {THREADS};
            if (j < n) held[j + even * (j / length)] = x[k];
        }}
    }}
    __syncthreads();
    if (threadIdx.x < lines) {{
        T* mine = held + threadIdx.x * pitch;
        V sum = widen(mine[0]);
        for (u32 i = 1; i < length; ++i) {{
            sum = combine(sum, widen(mine[i]));
            put(mine + i, sum);
        }}
    }}
    __syncthreads();
    for (u32 i = threadIdx.x; i < n; i += {THREADS}) out[i] = held[i + even * (i / length)];
}}
"""


def group_of(tiles: int) -> int:
    """How many tiles are a group.

    >>> [group_of(tiles) for tiles in (1, 1000, 12208)]
    [8, 32, 128]
    """
    return max(GROUP, 1 << (isqrt(tiles - 1)).bit_length()) if tiles > 1 else GROUP


class ScanLaunch(NamedTuple):
    """How a scan is launched: what it depends on but for addresses."""

    text: str
    entry: str
    grid: Grid
    look_back: int
    """Words of inter-block flags."""
    words: tuple[int, ...]


@lru_cache(4096)
def _launch(
    combine: str,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    axis: int,
    a_strides: tuple[int, ...],
    all_out_strides: tuple[int, ...],
    aligned: bool,
) -> ScanLaunch:
    length = shape[axis]
    keep = [k for k in range(len(shape)) if k != axis]
    lines = prod(shape[k] for k in keep)
    extents, (strides, out_strides) = collapse(
        [shape[k] for k in keep], [a_strides[k] for k in keep], [all_out_strides[k] for k in keep]
    )
    step, out_step = a_strides[axis], all_out_strides[axis]
    ctype, rank, itemsize = ctype_of(dtype), len(extents), dtype.itemsize
    # The accesses of a lane are 16 bytes where every line begins so, or four neighbours of smaller elements.
    vector = _vector(itemsize)
    wide = aligned and step == out_step == 1 and (lines == 1 or all(at % vector == 0 for at in strides + out_strides))
    tiles, group, shared, near = 1, 0, 0, lines > 1 and min(map(abs, strides)) < abs(step)
    if step == out_step == 1 and 1 < length <= STAGED_LENGTH and strides == out_strides == [length] and lines > 1:
        group = min(THREADS, STAGED_BYTES // (itemsize * (length | 1)))
        text, entry, blocks = staged_text(ctype, combine, itemsize), "scan_staged", -(-lines // group)
    elif length <= SERIAL_LENGTH or (near and lines >= SERIAL_LINES):
        text, entry, blocks = serial_text(ctype, combine, rank), "scan_serial", -(-lines // THREADS)
    elif near:
        beside = min(1 << (lines - 1).bit_length(), 32)
        bundles, chunks = -(-lines // beside), THREADS // beside
        many = bundles * -(-length // (COLUMN_ROWS[True] * chunks)) >= ENOUGH_BLOCKS and itemsize < 16
        rows = COLUMN_ROWS[many]
        tiles = -(-length // (rows * chunks))
        text, entry, blocks = columns_text(ctype, combine, rank, rows, beside), "scan_columns", bundles * tiles
    else:
        span = 32 * vector
        warps = 1 if length <= SHORT * span else WARPS
        needed = -(-length // (warps * span))
        if needed <= LONG:
            rows = 1 << (needed - 1).bit_length()
            text, entry = lines_text(ctype, combine, rank, rows, warps, wide), "scan_lines"
            blocks = -(-lines * warps // WARPS)
        else:
            for form in (LARGE[itemsize > 4], MIDDLE, SMALL):
                tiles = -(-needed // form.rows)
                if lines * tiles >= ENOUGH_BLOCKS:
                    break
            text, entry, blocks = tiles_text(ctype, combine, rank, form, wide), "scan_tiles", lines * tiles
            # Values of float16 travel as floats.
            value = max(itemsize, 4) if dtype.kind == "f" else itemsize
            shared = ((form.rows - form.kept) * THREADS * vector + WARPS + 2) * value
    look_back = 0
    if tiles > 1:
        group = group_of(tiles)
        look_back = lines * (tiles + tiles // group) * max(1, (itemsize + 3) // 4)
    words = (group, lines, length, tiles, step, out_step, *extents, *strides, *out_strides)
    return ScanLaunch(text, entry, Grid(blocks, shared=shared), look_back, words)


def _vector(itemsize: int) -> int:
    """Neighbours that a lane reads at once."""
    return 16 // itemsize if itemsize > 4 else 4


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
    at, to, itemsize = address(a), address(out), a.dtype.itemsize
    nbytes = _vector(itemsize) * itemsize
    aligned = at % nbytes == to % nbytes == 0
    launch = _launch(combine, a.dtype, a.shape, axis, a.strides, out.strides, aligned)
    state, number = block_flags(device, launch.look_back) if launch.look_back else (0, 0)
    run(device, launch.text, launch.entry, launch.grid, (at, to, state, number, *launch.words))
