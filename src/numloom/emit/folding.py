"""Texts that apply a binary operation strictly in turn, or over segments: what no planned reduction can do.

A *step* is the function ``V step(V a, W b)``: `a` (of one dtype, with casts where the loop has others) combined
with `b`. Folds take the elements of a line in order, running results included; segments are reduced by a tree of
neighbours (`numloom.ops.segments`) where the operation is associative, else in order as well.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from numloom.base.dtypes import CHARS, CTYPES, F32, ROUNDED
from numloom.emit.values import VALUE_TYPES, header, loaded, rounded, stored
from numloom.ops.elementwise import ELEMENTWISE, cast_headers, cast_text, dtype_headers, header_order, headers_for
from numloom.ops.segments import CARRIED

THREADS = 256
AHEAD = 8
ITEMS = 8
"""Neighbours of a segment that a lane takes."""
LEVELS = 56

LANES = """
template <class V> NL_DEV V lane_of(V x, int l) {
    constexpr int N = (sizeof(V) + 3) / 4;
    u32 w[N];
    w[N - 1] = 0;
    NL_COPY(w, &x, sizeof(V));
#pragma unroll
    for (int k = 0; k < N; ++k) w[k] = __shfl_sync(0xffffffffu, w[k], l);
    NL_COPY(&x, w, sizeof(V));
    return x;
}
template <int R> NL_DEV i64 offset_of(i64 i, const i64* extent, const i64* stride) {
    i64 at = 0;
#pragma unroll
    for (int d = R - 1; d > 0; --d) {
        const i64 q = i / extent[d];
        at += (i - q * extent[d]) * stride[d];
        i = q;
    }
    return at + i * stride[0];
}
"""


def step_text(op: str, code: int, loop: tuple[int, ...], headers: Collection[str] = ()) -> str:
    """Headers, types and functions of a step: `code` is the dtype of what is kept, `loop` those of the loop.

    Defines T and V (memory and value of what is kept), U and W (of the other operand, which has the dtype of the
    loop's second input already), ``get``, ``put`` and ``step``; a unary operation has no second operand.
    """
    op_def = ELEMENTWISE[op]
    chars = "".join(CHARS[c] for c in loop)
    ins, out, own = chars[:-1], chars[-1], CHARS[code]
    needed = {*headers, *headers_for(op_def, ins, out), *cast_headers(own, ins[0]), *cast_headers(out, own)}
    needed |= dtype_headers(own + chars)
    x = cast_text(own, ins[0]).replace("{0}", "a")
    result = op_def.text(ins, out).replace("{0}", "x").replace("{1}", "b").replace("{T}", VALUE_TYPES[loop[-1]])
    result = rounded(result, loop[-1])
    other = loop[1] if len(ins) == 2 else code
    second = f", {VALUE_TYPES[other]} b" if len(ins) == 2 else ""
    return f"""{"".join(header(name) for name in header_order(needed))}{header("kernel")}{LANES}
typedef {CTYPES[code]} T;
typedef {VALUE_TYPES[code]} V;
typedef {CTYPES[other]} U;
typedef {VALUE_TYPES[other]} W;
NL_DEV V get(T x) {{ return {loaded("x", code)}; }}
NL_DEV T put(V x) {{ return {stored("x", code)}; }}
NL_DEV W operand(U x) {{ return {loaded("x", other)}; }}
NL_DEV V step(V a{second}) {{
    const {VALUE_TYPES[loop[0]]} x = {x};
    const {VALUE_TYPES[loop[-1]]} r = {result};
    return {cast_text(out, own).replace("{0}", "r")};
}}
"""


def _typed_step(op: str, code: int, carried: bool) -> str:
    """A step of one dtype, which lies in memory as E; ``value`` and ``kept`` convert. float16 and the
    like may travel as float32.
    """
    wide = F32 if carried and code in ROUNDED and op in CARRIED else code
    return f"""{step_text(op, wide, (wide,) * 3, dtype_headers(CHARS[code]))}
typedef {CTYPES[code]} E;
NL_DEV V value(E x) {{ return {loaded("x", code)}; }}
NL_DEV E kept(V x) {{ return {stored(rounded("x", code) if wide != code else "x", code)}; }}
"""


@cache
def fold_text(op: str, code: int, rank: int, every: bool) -> str:
    """Text of ``fold`` (a thread a line) and ``fold_by_warps`` (a warp a line), all of one dtype.

    Without `first` a line begins with its first element; with `every` all running results are stored.
    """
    return f"""{_typed_step(op, code, not every)}
constexpr bool ALL = {"true" if every else "false"};
struct P {{
    const E* a; E* out; const E* first; const bool* mask; i64 lines, length, step, out_step, mask_step;
    i64 extent[{rank}], stride[{rank}], out_stride[{rank}], mask_stride[{rank}];
}};
extern "C" __global__ void __launch_bounds__({THREADS}) fold(const __grid_constant__ P p) {{
    const i64 line = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (line >= p.lines) return;
    const E* a = p.a + offset_of<{rank}>(line, p.extent, p.stride);
    E* out = p.out + offset_of<{rank}>(line, p.extent, p.out_stride);
    const bool* mask = p.mask ? p.mask + offset_of<{rank}>(line, p.extent, p.mask_stride) : nullptr;
    V sum = value(p.first ? *p.first : a[0]);
    i64 i = p.first ? 0 : 1;
    if (!p.first && ALL) out[0] = a[0];
    for (; i + {AHEAD} <= p.length; i += {AHEAD}) {{
        V x[{AHEAD}];
#pragma unroll
        for (int k = 0; k < {AHEAD}; ++k) x[k] = value(a[(i + k) * p.step]);
#pragma unroll
        for (int k = 0; k < {AHEAD}; ++k) {{
            if (!mask || mask[(i + k) * p.mask_step]) sum = step(sum, x[k]);
            if (ALL) out[(i + k) * p.out_step] = kept(sum);
        }}
    }}
    for (; i < p.length; ++i) {{
        if (!mask || mask[i * p.mask_step]) sum = step(sum, value(a[i * p.step]));
        if (ALL) out[i * p.out_step] = kept(sum);
    }}
    if (!ALL) out[0] = kept(sum);
}}
// Lanes fetch side by side; each of them takes all of the steps.
extern "C" __global__ void __launch_bounds__({THREADS}) fold_by_warps(const __grid_constant__ P p) {{
    const i64 line = ((i64)blockIdx.x * {THREADS} + threadIdx.x) >> 5;
    const int lane = threadIdx.x & 31;
    if (line >= p.lines) return;
    const E* a = p.a + offset_of<{rank}>(line, p.extent, p.stride);
    E* out = p.out + offset_of<{rank}>(line, p.extent, p.out_stride);
    const bool* mask = p.mask ? p.mask + offset_of<{rank}>(line, p.extent, p.mask_stride) : nullptr;
    V sum = value(p.first ? *p.first : a[0]);
    i64 i = p.first ? 0 : 1;
    if (!p.first && ALL && lane == 0) out[0] = a[0];
    for (; i < p.length; i += 32) {{
        const i64 j = i + lane < p.length ? i + lane : p.length - 1;
        const V x = value(a[j * p.step]);
        const u32 some = __ballot_sync(0xffffffffu, !mask || mask[j * p.mask_step]);
        const int count = p.length - i < 32 ? (int)(p.length - i) : 32;
        V mine = sum;
        for (int k = 0; k < count; ++k) {{
            const V y = lane_of(x, k);
            if (some >> k & 1) sum = step(sum, y);
            if (k == lane) mine = sum;
        }}
        if (ALL && lane < count) out[j * p.out_step] = kept(mine);
    }}
    if (!ALL && lane == 0) out[0] = kept(sum);
}}
"""


_SEGMENTS = {
    "segments": """\
extern "C" __global__ void __launch_bounds__(%(threads)d) segments(const __grid_constant__ P p) {
    const i64 warp = ((i64)blockIdx.x * %(threads)d + threadIdx.x) >> 5;
    if (warp >= p.lines * p.segments) return;
    const i64 line = warp / p.segments, segment = warp - line * p.segments;
    i64 start;
    const i64 length = bounds(p, segment, start);
    if (length == 0) {
        if ((threadIdx.x & 31) == 0) nl::complain(p.error, p.location, 0, -1);
        return;
    }
    const StridedElements a = {p.a + offset_of<%(rank)d>(line, p.extent, p.stride) + start * p.step, p.step};
    finish(p, line, segment, %(reduce)s(a, length));
}
""",
    "short_segments": """\
extern "C" __global__ void __launch_bounds__(%(threads)d) short_segments(const __grid_constant__ P p) {
    const i64 which = (i64)blockIdx.x * %(threads)d + threadIdx.x;
    const i64 line = which / p.segments, segment = which - line * p.segments;
    i64 start = 0, length = 0;
    if (line < p.lines) {
        length = bounds(p, segment, start);
        if (length == 0) nl::complain(p.error, p.location, 0, -1);
    }
    const E* from = p.a + offset_of<%(rank)d>(line < p.lines ? line : 0, p.extent, p.stride);
    if (length > 0 && length <= %(items)d) {
        const StridedElements a = {from + start * p.step, p.step};
        V x[%(items)d];
#pragma unroll
        for (int k = 0; k < %(items)d; ++k) x[k] = element(a, k < length ? k : 0);
#pragma unroll
        for (int d = 1; d < %(items)d; d *= 2)
#pragma unroll
            for (int k = 0; k + d < %(items)d; k += 2 * d) if (k + d < length) x[k] = step(x[k], x[k + d]);
        write(p, line, segment, x[0]);
    }
    for (u32 longer = __ballot_sync(0xffffffffu, length > %(items)d); longer; longer &= longer - 1) {
        const int owner = __popc((longer & -longer) - 1);
        const StridedElements a = {lane_of(from, owner) + lane_of(start, owner) * p.step, p.step};
        finish(p, lane_of(line, owner), lane_of(segment, owner), by_tree(a, lane_of(length, owner)));
    }
}
""",
    "pieces": """\
extern "C" __global__ void __launch_bounds__(%(threads)d) pieces(const __grid_constant__ P p) {
    const i64 warp = ((i64)blockIdx.x * %(threads)d + threadIdx.x) >> 5;
    const i64 which = warp / p.most, first = (warp - which * p.most) * p.piece;
    if (which >= p.lines * p.segments) return;
    const i64 line = which / p.segments, segment = which - line * p.segments;
    i64 start;
    const i64 left = bounds(p, segment, start) - first;
    if (left <= 0) return;
    const StridedElements a = {p.a + offset_of<%(rank)d>(line, p.extent, p.stride) + (start + first) * p.step, p.step};
    const V sum = by_tree(a, left < p.piece ? left : p.piece);
    if ((threadIdx.x & 31) == 0) p.part[warp] = sum;
}
""",
    "join": """\
extern "C" __global__ void __launch_bounds__(%(threads)d) join(const __grid_constant__ P p) {
    const i64 which = ((i64)blockIdx.x * %(threads)d + threadIdx.x) >> 5;
    if (which >= p.lines * p.segments) return;
    const i64 line = which / p.segments, segment = which - line * p.segments;
    i64 start;
    const i64 length = bounds(p, segment, start);
    if (length == 0) {
        if ((threadIdx.x & 31) == 0) nl::complain(p.error, p.location, 0, -1);
        return;
    }
    finish(p, line, segment, by_tree((const V*)p.part + which * p.most, (length + p.piece - 1) / p.piece));
}
""",
}


@cache
def segments_text(op: str, code: int, rank: int, tree: bool, entry: str) -> str:
    """Text of one kernel. ``segments``: a warp reduces one segment of one line, by a tree or in order.

    Where most are short, each lane reduces one (``short_segments``), and a warp the longer ones of its lanes in turn.
    Where segments are few and long a warp takes a piece: ``pieces`` reduces those, which are whole trees since they
    begin at multiples of a power of two, and ``join`` goes on with their results.
    """
    return f"""{_typed_step(op, code, True)}
struct P {{
    const E* a; E* out; const i64* at; i64* error; i64 location, segments, at_step, lines, length, step, out_step;
    i64 piece, most; V* part;
    i64 extent[{rank}], stride[{rank}], out_stride[{rank}];
}};
struct StridedElements {{ const E* a; i64 step; }};
NL_DEV V element(const StridedElements m, i64 i) {{ return value(m.a[i * m.step]); }}
NL_DEV V element(const V* a, i64 i) {{ return a[i]; }}
// Neighbours are combined, then neighbours of these: 8 of a lane, those of the lanes, and parts of 256 as a binary
// counter carries.
template <class A> NL_DEV V by_tree(const A a, i64 length) {{
    const int lane = threadIdx.x & 31;
    V levels[{LEVELS}], whole = element(a, 0);
    i64 part = 0;
    for (i64 first = 0; first < length; first += 32 * {ITEMS}, ++part) {{
        const i64 left = length - first;
        const int count = left < 32 * {ITEMS} ? (int)left : 32 * {ITEMS};
        const int own = count - lane * {ITEMS};
        V x[{ITEMS}];
#pragma unroll
        for (int k = 0; k < {ITEMS}; ++k) x[k] = element(a, first + (k < own ? lane * {ITEMS} + k : 0));
#pragma unroll
        for (int d = 1; d < {ITEMS}; d *= 2)
#pragma unroll
            for (int k = 0; k + d < {ITEMS}; k += 2 * d) if (k + d < own) x[k] = step(x[k], x[k + d]);
        V sum = x[0];
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {{
            const V other = lane_of(sum, (lane + d) & 31);
            if (lane % (2 * d) == 0 && (lane + d) * {ITEMS} < count) sum = step(sum, other);
        }}
        sum = lane_of(sum, 0);
        int level = 0;
        for (; part >> level & 1; ++level) sum = step(levels[level], sum);
        levels[level] = sum;
    }}
    bool any = false;
    for (int level = 0; level < {LEVELS} && part >> level; ++level)
        if (part >> level & 1) {{
            whole = any ? step(levels[level], whole) : levels[level];
            any = true;
        }}
    return whole;
}}
NL_DEV V in_order(const StridedElements a, i64 length) {{
    const int lane = threadIdx.x & 31;
    V sum = element(a, 0);
    for (i64 i = 1; i < length; i += 32) {{
        const V x = element(a, i + lane < length ? i + lane : length - 1);
        const int count = length - i < 32 ? (int)(length - i) : 32;
        for (int k = 0; k < count; ++k) sum = step(sum, lane_of(x, k));
    }}
    return sum;
}}
// Where a segment begins, and its length; 0 where that is out of bounds.
NL_DEV i64 bounds(const P& p, i64 segment, i64& start) {{
    start = p.at[segment * p.at_step];
    if (start < 0 || start >= p.length) return 0;
    const i64 end = segment + 1 < p.segments ? p.at[(segment + 1) * p.at_step] : p.length;
    return end <= start ? 1 : (end > p.length ? p.length : end) - start;
}}
NL_DEV void write(const P& p, i64 line, i64 segment, V sum) {{
    p.out[offset_of<{rank}>(line, p.extent, p.out_stride) + segment * p.out_step] = kept(sum);
}}
NL_DEV void finish(const P& p, i64 line, i64 segment, V sum) {{
    if ((threadIdx.x & 31) == 0) write(p, line, segment, sum);
}}
{_SEGMENTS[entry] % {"threads": THREADS, "rank": rank, "items": ITEMS, "reduce": "by_tree" if tree else "in_order"}}"""
