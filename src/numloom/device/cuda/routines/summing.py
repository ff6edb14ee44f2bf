"""Sums of weights by bins: each warp sums a part of the elements in a table of its own in shared memory, in order.

Lanes whose elements fall in one bin add them one after another, so a part's sums are those of a loop over it; then the
parts are added up in an order that their number alone fixes. So every run gives the same bits. What has more bins than
a table holds is brought in order of the bins first (`scattering.py`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from numloom.base.dtypes import F64
from numloom.device.cuda.routines.kernels import PRELUDE, Grid, address, ctype_of, empty, run
from numloom.device.cuda.routines.radix import PEERS
from numloom.device.cuda.routines.scattering import scatter
from numloom.device.interface import Strided
from numloom.ops.routines import TABLE_BINS

WARPS = 8
ITEMS = 4
"""Elements that a lane fetches at once."""
PART = 1024
"""Elements of a part at least."""
PARTS = 2048
ROOM = 1 << 22
"""Sums of all parts at most."""


@cache
def sum_texts(key: str, weight: str) -> tuple[str, str]:
    """Texts of the two kernels: ``sums`` of parts, and their ``total``."""
    shared = f"""{PRELUDE}
typedef {key} K;
typedef {weight} T;
struct P {{
    const K* keys; const T* weights; f64* parts; f64* out; i64 n, key_step, weight_step, bins, bits, count, each;
}};
"""
    sums = f"""
DEV void keep_peers(u32& peers, u32 bit) {{
    asm volatile("{PEERS}" : "+r"(peers) : "r"(bit));
}}
extern "C" __global__ void __launch_bounds__({32 * WARPS}) sums(const __grid_constant__ P p) {{
    __shared__ f64 tables[{TABLE_BINS}];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, bins = (int)p.bins;
    const i64 part = (i64)blockIdx.x * (blockDim.x >> 5) + warp;
    if (part >= p.count) return;
    f64* table = tables + warp * bins;
#pragma unroll 1
    for (int b = lane; b < bins; b += 32) table[b] = 0.0;
    __syncwarp();
    const i64 begin = part * p.each, end = begin + p.each < p.n ? begin + p.each : p.n;
    for (i64 first = begin; first < end; first += {32 * ITEMS}) {{
        int bin[{ITEMS}];
        f64 x[{ITEMS}];
        u32 peers[{ITEMS}];
#pragma unroll
        for (int k = 0; k < {ITEMS}; ++k) {{
            const i64 i = first + k * 32 + lane;
            // Those past the end are in no bin, which all bits tell.
            bin[k] = i < end ? (int)p.keys[i * p.key_step] : -1;
            x[k] = i < end ? (f64)widen(p.weights[i * p.weight_step]) : 0.0;
            peers[k] = 0xffffffffu;
        }}
        for (int b = 0; b < (int)p.bits; ++b)
#pragma unroll
            for (int k = 0; k < {ITEMS}; ++k) keep_peers(peers[k], (u32)bin[k] & 1u << b);
#pragma unroll
        for (int k = 0; k < {ITEMS}; ++k) {{
            const int before = bin[k] < 0 ? 32 : __popc(peers[k] & ((1u << lane) - 1));
            for (int turn = 0; __ballot_sync(0xffffffffu, before < 32 && before >= turn); ++turn) {{
                if (before == turn) table[bin[k]] += x[k];
                __syncwarp();
            }}
        }}
    }}
#pragma unroll 1
    for (int b = lane; b < bins; b += 32) p.parts[part * bins + b] = table[b];
}}
"""
    total = """
extern "C" __global__ void __launch_bounds__(1024) total(const __grid_constant__ P p) {
    __shared__ f64 rows[32][33];
    const int lane = threadIdx.x & 31, row = threadIdx.x >> 5;
    const i64 b = (i64)blockIdx.x * 32 + lane, each = (p.count + 31) / 32;
    f64 sum = 0.0;
    if (b < p.bins)
#pragma unroll 8
        for (i64 part = row * each; part < p.count && part < (row + 1) * each; ++part)
            sum += p.parts[part * p.bins + b];
    rows[row][lane] = sum;
    __syncthreads();
    if (row || b >= p.bins) return;
#pragma unroll 8
    for (int r = 1; r < 32; ++r) sum += rows[r][lane];
    p.out[b] = sum;
}
"""
    return shared + sums, shared + total


def weighted_bincount(device: Any, a: Strided, weights: Strided, *, minlength: int, out: Strided) -> None:
    """``out`` = sums (float64) of the weights of each of 0 ... minlength - 1 in `a`, which has no others."""
    n = a.shape[0]
    if minlength > TABLE_BINS or not n:
        device.clear(out.buffer, 8 * minlength)
        scatter(device, out, weights, a, axes=(0,), position=0, op="add", loop=(F64, F64, F64), location=1)
        return
    count = max(1, min(n // PART, PARTS, ROOM // minlength))
    span = 32 * ITEMS
    each = -(-n // (count * span)) * span
    count = -(-n // each)
    parts = empty(device, (count, minlength), np.float64)
    warps = max(1, min(WARPS, TABLE_BINS // minlength))
    bits = (minlength - 1).bit_length() + 1
    words = [address(a), address(weights), address(parts), address(out), n, a.strides[0], weights.strides[0]]
    words += [minlength, bits, count, each]
    texts = sum_texts(ctype_of(a.dtype), ctype_of(weights.dtype))
    device.expect(texts)
    run(device, texts[0], "sums", Grid(-(-count // warps), 32 * warps), words)
    run(device, texts[1], "total", Grid(-(-minlength // 32), 1024), words)
