"""Sorting long vectors by digits of 8 bits, the lowest first, one pass over the keys a digit that tells them apart.

Keys are recoded to unsigned numbers of the same order: NaN last (complex64 is sorted by positions, then gathered). A
block ranks its tile in shared memory, each warp by votes on the bits of its digits, so a pass is stable; how many keys
of each digit lie in earlier tiles it adds up from what those tiles left (decoupled look-back; whole numbers, so in any
order). All digits are counted beforehand at once.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np

from numloom.device.cuda.routines.kernels import (
    LANES,
    LOOK_BACK,
    PRELUDE,
    Grid,
    address,
    block_flags,
    ctype_of,
    empty,
    kernel_of,
    launch,
    run,
)
from numloom.device.interface import Strided

THREADS = 512
WARPS = THREADS // 32
WINDOW = 8
"""Earlier tiles that are asked at once for what they hold."""
FULL = 1 << 20
"""Elements from which full tiles fill the device."""
LONG = 1 << 14
"""Elements from which a vector is sorted by digits."""


def sortable(dtype: np.dtype[Any], length: int) -> bool:
    """Whether vectors of this dtype and length are sorted by digits."""
    return dtype.char != "D" and LONG <= length < 1 << 32


PEERS = (
    "{ .reg .pred p; .reg .b32 v; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 v, p, 0xffffffff; "
    "@!p not.b32 v, v; and.b32 %0, %0, v; }"
)


def items_of(itemsize: int, length: int) -> int:
    """Keys of a thread: few where a tile more is worth more than a longer one."""
    if length < FULL:
        return 4
    return 8 if itemsize == 8 else 16


_HALF_KEY = """\
DEV u64 half_key(f32 x) {
    u32 b;
    memcpy(&b, &x, 4);
    if (b == 0x80000000u) b = 0;
    return b >> 31 ? ~b : b | 0x80000000u;
}
"""
_COMPLEX_KEY = """
    // Behind all numbers, whose upper halves end at infinity's: NaN imaginary parts, then NaN real parts, then both.
    const bool re = x.re != x.re, im = x.im != x.im;
    if (re && im) return ~0ull;
    if (re || im) return re ? 0xffb00000ull << 32 | half_key(x.im) : 0xffa00000ull << 32 | half_key(x.re);
    return half_key(x.re) << 32 | half_key(x.im);
"""


def _keys(dtype: np.dtype[Any], positions: bool) -> str:
    """Functions between elements and keys; with positions, what compares equal has one key."""
    size = dtype.itemsize
    key = f"u{8 * size}"
    if dtype.kind == "c":
        # Only their positions are taken, since a key has lost the signs of zeros and what kind of NaN it was.
        there, back = _COMPLEX_KEY, "return T{};"
    elif dtype.kind in "bu":
        there, back = "return (U)x;", "return (T)x;"
    elif dtype.kind == "i":
        there, back = "return (U)x ^ SIGN;", "return (T)(x ^ SIGN);"
    else:
        same = "if ((b & ~SIGN) > INF) return (U)~(U)0; if (b == SIGN) b = 0;" if positions else ""
        there = f"U b; memcpy(&b, &x, sizeof(U)); {same} return (U)((b & SIGN ? (U)~b : (U)(b | SIGN)) - LOW);"
        back = "x = (U)(x + LOW); x = x & SIGN ? (U)(x ^ SIGN) : (U)~x; T r; memcpy(&r, &x, sizeof(U)); return r;"
    infinity = {2: "0x7c00", 4: "0x7f800000", 8: "0x7ff0000000000000"}.get(size, "0")
    return f"""
typedef {key} U;
{_HALF_KEY if dtype.kind == "c" else ""}
constexpr U SIGN = (U)((U)1 << {8 * size - 1}), INF = (U){infinity}, LOW = (U)~(INF | SIGN);
DEV U key_of(T x) {{ {there} }}
DEV T of_key(U x) {{ {back} }}
"""


def _shared_text(dtype: np.dtype[Any], positions: bool, items: int) -> str:
    """What the texts of the two kernels begin with."""
    tile = THREADS * items
    return f"""{PRELUDE}
typedef {ctype_of(dtype)} T;
{_keys(dtype, positions)}
constexpr int ITEMS = {items}, TILE = {tile}, DIGITS = sizeof(U), WINDOW = {WINDOW};
#define WITH {int(positions)}
struct P {{
    const T* a; const i64* order; U* held[2]; u32* held_at[2]; T* out; i64* out_at;
    u32* counts; u64* state; i64 launch, n, step, out_step, digit;
}};
"""


@cache
def digits_text(dtype: np.dtype[Any], positions: bool, items: int) -> str:
    """Text of the kernel that counts digits."""
    return f"""{_shared_text(dtype, positions, items)}
// How many keys have each value of each digit; the last block sees which digits tell keys apart (one at least).
extern "C" __global__ void __launch_bounds__({THREADS}) digits(const __grid_constant__ P p) {{
    __shared__ u32 counts[DIGITS * 256];
    for (int b = threadIdx.x; b < DIGITS * 256; b += {THREADS}) counts[b] = 0;
    __syncthreads();
    const i64 step = (i64)gridDim.x * TILE;
    for (i64 start = (i64)blockIdx.x * TILE; start < p.n; start += step) {{
        U x[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {{
            const i64 i = start + k * {THREADS} + threadIdx.x;
            x[k] = i < p.n ? key_of(p.a[i * p.step]) : (U)0;
        }}
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
            if (start + k * {THREADS} + threadIdx.x < p.n)
#pragma unroll
                for (int d = 0; d < DIGITS; ++d) atomicAdd(counts + d * 256 + (int)(x[k] >> 8 * d & 255), 1u);
    }}
    __syncthreads();
    for (int b = threadIdx.x; b < DIGITS * 256; b += {THREADS}) if (counts[b]) atomicAdd(p.counts + b, counts[b]);
    __threadfence();
    __syncthreads();
    u32* passes = p.counts + DIGITS * 256;
    if (threadIdx.x == 0 && atomicAdd(passes + 1, 1u) == gridDim.x - 1) {{
        __threadfence();
        const U key = key_of(p.a[0]);
        u32 differ = 0;
#pragma unroll
        for (int d = 0; d < DIGITS; ++d)
            if (atomicAdd(p.counts + d * 256 + (int)(key >> 8 * d & 255), 0u) != (u32)p.n) differ |= 1u << d;
        *passes = differ ? differ : 1u << (DIGITS - 1);
    }}
}}
"""


@cache
def move_text(dtype: np.dtype[Any], positions: bool, items: int) -> str:
    """Text of the kernel that moves keys by a digit; each brings along where it stood if `positions` are asked for."""
    return f"""{_shared_text(dtype, positions, items)}{LANES}{LOOK_BACK}
// Leaves of the lanes `peers` those whose `bit` is as one's own is (compilers make twice as much of plain C++).
DEV void keep_peers(u32& peers, u32 bit) {{
    asm volatile("{PEERS}" : "+r"(peers) : "r"(bit));
}}
extern "C" __global__ void __launch_bounds__({THREADS}, 2) move(const __grid_constant__ P p) {{
    constexpr int KEYS = TILE * (int)sizeof(U), RANKS = {WARPS} * 256 * 4, ATS = WITH ? TILE * 4 : 0;
    constexpr int MOST = KEYS > RANKS ? (KEYS > ATS ? KEYS : ATS) : (RANKS > ATS ? RANKS : ATS);
    __shared__ u64 memory[MOST / 8];
    __shared__ u32 places[256];
    __shared__ u64 sums[8];
    u32* ranks = (u32*)memory;
    U* keys = (U*)memory;
    u32* ats = (u32*)memory;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, shift = 8 * (int)p.digit;
    const i64 tile = blockIdx.x, base = tile * TILE, first = base + warp * (32 * ITEMS) + lane;
    const int count = p.n - base < TILE ? (int)(p.n - base) : TILE;
    for (int b = threadIdx.x; b < {WARPS} * 256; b += {THREADS}) ranks[b] = 0;
    // Passes take turns with two pieces of memory. The first pass reads the array, the last one the second piece, since
    // the first piece may be the result's memory.
    const u32 passes = p.counts[DIGITS * 256] >> p.digit, left = __popc(passes);
    if (!(passes & 1)) return;
    const bool begins = left == __popc(p.counts[DIGITS * 256]), ends = left == 1;
    const U* const from = p.held[left & 1];
    const u32* const from_at = p.held_at[left & 1];
    U* const to_keys = p.held[left + 1 & 1];
    u32* const to_at = p.held_at[left + 1 & 1];
    U x[ITEMS];
    u32 rank[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {{
        const i64 i = first + k * 32;
        // What is past the end has the largest key and comes last.
        x[k] = (U)~(U)0;
        if (i < p.n) {{
            if (!begins) x[k] = from[i];
            else x[k] = key_of(p.a[(p.order ? p.order[i] : i) * p.step]);
        }}
    }}
    __syncthreads();
    u32* mine = ranks + warp * 256;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {{
        const u32 d = (u32)(x[k] >> shift) & 255;
        u32 peers = 0xffffffffu;
#pragma unroll
        for (int b = 0; b < 8; ++b) {{
            keep_peers(peers, d & 1u << b);
        }}
        const u32 below = peers & ((1u << lane) - 1), before = mine[d];
        __syncwarp();
        if (!below) mine[d] = before + __popc(peers);
        __syncwarp();
        rank[k] = before + __popc(below);
    }}
    __syncthreads();
    // A thread a digit: what earlier warps have, then what smaller digits have, here and in all keys.
    const int d = threadIdx.x;
    u64* state = p.state + tile * 256 + d;
    u64 own = 0, sum = 0;
    if (d < 256) {{
        u32 all = 0;
#pragma unroll
        for (int w = 0; w < {WARPS}; ++w) {{
            const u32 here = ranks[w * 256 + d];
            ranks[w * 256 + d] = all;
            all += here;
        }}
        publish(state, (u64)(p.launch + (tile == 0)) << 32 | all);
        own = (u64)p.counts[p.digit * 256 + d] << 32 | all;
        sum = scan_lanes(own, Sum());
        if (lane == 31) sums[warp] = sum;
    }}
    __syncthreads();
    if (d < 256) {{
        for (int w = 0; w < warp; ++w) sum += sums[w];
        sum -= own;
#pragma unroll
        for (int w = 0; w < {WARPS}; ++w) ranks[w * 256 + d] += (u32)sum;
    }}
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) rank[k] += mine[(u32)(x[k] >> shift) & 255];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) keys[rank[k]] = x[k];
    // Where keys stood is fetched only now, when there are registers for it.
    u32 at[WITH ? ITEMS : 1];
    if (WITH)
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {{
            const i64 i = first + k * 32;
            at[k] = i >= p.n ? 0 : !begins ? from_at[i] : p.order ? (u32)p.order[i] : (u32)i;
        }}
    if (d < 256) {{
        // Several earlier tiles are asked at once: the first wave of blocks has hundreds of them to go through.
        u32 before = 0;
        bool open = tile > 0;
        for (i64 t = tile - 1; open;) {{
            u64 found[WINDOW];
#pragma unroll
            for (int w = 0; w < WINDOW; ++w) found[w] = load_flag(p.state + (t > w ? t - w : 0) * 256 + d);
#pragma unroll
            for (int w = 0; w < WINDOW; ++w) {{
                const u32 whose = (u32)(found[w] >> 32) - (u32)p.launch;
                if (!open || whose > 1) break;
                before += (u32)found[w];
                open = whose == 0;
                --t;
            }}
        }}
        if (tile > 0) publish(state, (u64)(p.launch + 1) << 32 | (before + (u32)own));
        places[d] = (u32)(sum >> 32) + before - (u32)sum;
    }}
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {{
        const int i = k * {THREADS} + (int)threadIdx.x;
        if (i < count) {{
            const U key = keys[i];
            const u32 to = places[(u32)(key >> shift) & 255] + (u32)i;
            if (!ends) to_keys[to] = key;
            else if (p.out) p.out[(i64)to * p.out_step] = of_key(key);
        }}
    }}
    if (WITH) {{
        u32 to[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {{
            const int i = k * {THREADS} + (int)threadIdx.x;
            to[k] = i < count ? places[(u32)(keys[i] >> shift) & 255] + (u32)i : 0;
        }}
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) ats[rank[k]] = at[k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {{
            const int i = k * {THREADS} + (int)threadIdx.x;
            if (i < count) {{
                if (!ends) to_at[to[k]] = ats[i];
                else p.out_at[(i64)to[k] * p.out_step] = ats[i];
            }}
        }}
    }}
}}
"""


@cache
def gather_text(ctype: str) -> str:
    """Text that reads a vector at positions."""
    return f"""{PRELUDE}
struct P {{ const {ctype}* a; const i64* at; {ctype}* out; i64 n, step, at_step, out_step; }};
extern "C" __global__ void __launch_bounds__({THREADS}) gather(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i < p.n) p.out[i * p.out_step] = p.a[p.at[i * p.at_step] * p.step];
}}
"""


def radix_sort(device: Any, a: Strided, order: Strided | None, out: Strided | None, positions: Strided | None) -> None:
    """Sort a vector, reading in the order of `order`; give elements, positions or both (of equal strides).

    With positions, elements that compare equal come out as one of them: zeros positive, NaN alike.
    """
    n, dtype = a.shape[0], a.dtype
    if dtype.kind == "c" and out is not None:
        found = positions if positions is not None else empty(device, (n,), np.int64)
        radix_sort(device, a, order, None, found)
        words = [address(a), address(found), address(out), n, a.strides[0], found.strides[0], out.strides[0]]
        run(device, gather_text(ctype_of(dtype)), "gather", Grid(-(-n // THREADS), THREADS), words)
        return
    target = out if out is not None else positions
    assert target is not None
    itemsize = dtype.itemsize
    items = items_of(itemsize, n)
    texts = [of(dtype, positions is not None, items) for of in (digits_text, move_text)]
    device.expect(texts)
    tiles = -(-n // (THREADS * items))
    # One pass needs no memory between, two need one piece, more need two; the first may be the result's own memory.
    lent, lent_at = 0, 0
    if target.strides[0] == 1:
        if positions is not None:  # its lower half; keys of four bytes have room in the upper one
            lent_at = address(positions)
            lent = lent_at + 4 * n if itemsize == 4 else 0
        lent = lent if out is None else address(out)
    counts = 4 * (itemsize * 256 + 64)
    pieces = [(lent, itemsize, 2), (0, itemsize, 1), (lent_at, 4, 2), (0, 4, 1)]
    if positions is None:
        del pieces[2:]
    rooms = [0 if place or itemsize <= least else -(-n * size // 256) * 256 for place, size, least in pieces]
    work = device.allocate(counts + sum(rooms))
    device.clear(work, counts)
    ends = itertools.accumulate(rooms, initial=work.ptr + counts)
    held = [place or at for (place, _, _), at in zip(pieces, ends, strict=False)]
    held += [0] * (4 - len(held))
    final = [0 if x is None else address(x) for x in (out, positions)]
    state, number = block_flags(device, tiles * 256, itemsize)
    words = [address(a), 0 if order is None else address(order), *held, *final, work.ptr, state]
    rest = [n, a.strides[0], target.strides[0]]
    grid = Grid(tiles, THREADS)
    launch(
        device, kernel_of(device, texts[0], "digits", grid), [*words, number, *rest, 0], Grid(min(tiles, 528), THREADS)
    )
    move = kernel_of(device, texts[1], "move", grid)
    for digit in range(itemsize):
        launch(device, move, [*words, number + 2 * digit, *rest, digit], grid)
