"""Selection in order: flags are counted a chunk at a time, the counts scanned, and what is selected written.

The same three small kernels give `nonzero` (indices along each axis) and `compress` (elements). Their results'
sizes are known only afterwards, so both wait once for the device.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import cache, lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from numloom.base.dtypes import BOOL
from numloom.base.errors import OutOfMemoryError
from numloom.device.cuda.routines.kernels import (
    LANES,
    PRELUDE,
    THREADS,
    Grid,
    address,
    cell_of,
    collapse,
    ctype_of,
    empty,
    is_dense,
    mail,
    run,
)
from numloom.device.cuda.routines.scans import group_of
from numloom.device.interface import Strided
from numloom.device.memory import Buffer, Pool
from numloom.emit.emit import emit
from numloom.emit.selecting import SELECT_WORDS
from numloom.plan.program import Instr, Operand, Program, Select, Source

ROUNDS = 16
CHUNK = THREADS * ROUNDS
WARPS = THREADS // 32

MOST = 4
"""Elements are chosen into memory for all of them where that is at most such a part of what is neither used nor cut."""
PARTED = 8
"""And where at most such a part of all memory is in blocks that were cut before."""
SPARSE = 8
"""Up to such a part of the elements is copied to memory of its own: that reads and writes little, and cuts nothing."""
UNCUT = 1 << 16
"""Bytes of the smallest block that is cut; of smaller ones up to a half stays unused."""

_SCAN_THREADS = 1024
_SCAN_ITEMS = 32

# Exclusive sums of `n` counts by one block, the total behind them and told to the host.
_OFFSETS = f"""{LANES}
struct Q {{ i64* counts; i64 n; volatile i64* told; }};
extern "C" __global__ void __launch_bounds__({_SCAN_THREADS}) offsets(const __grid_constant__ Q p) {{
    __shared__ i64 warps[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    i64 carry = 0;
    for (i64 start = 0; start < p.n; start += {_SCAN_THREADS * _SCAN_ITEMS}) {{
        const i64 first = start + (i64)threadIdx.x * {_SCAN_ITEMS};
        i64 x[{_SCAN_ITEMS}], own = 0;
#pragma unroll
        for (int k = 0; k < {_SCAN_ITEMS}; ++k) x[k] = first + k < p.n ? p.counts[first + k] : 0;
#pragma unroll
        for (int k = 0; k < {_SCAN_ITEMS}; ++k) own += x[k];
        const i64 sum = scan_lanes(own, Sum());
        if (lane == 31) warps[warp] = sum;
        __syncthreads();
        const i64 all = scan_lanes(warps[lane], Sum());
        i64 before = carry + sum - own;
        before += of_lane(all, warp > 0 ? warp - 1 : 0) * (warp > 0);
#pragma unroll
        for (int k = 0; k < {_SCAN_ITEMS}; ++k) {{
            if (first + k < p.n) p.counts[first + k] = before;
            before += x[k];
        }}
        carry += of_lane(all, 31);
        __syncthreads();
    }}
    if (threadIdx.x == 0) {{
        p.counts[p.n] = carry;
        *p.told = carry;
    }}
}}
"""


def _queue_offsets(device: Any, text: str, counts: int, n: int, told: int) -> None:
    """Queue the kernel that makes `n` counts offsets, and writes their sum to `told`."""
    run(device, text, "offsets", Grid(1, _SCAN_THREADS), (counts, n, told))


@cache
def count_text(ctype: str, rank: int) -> str:
    """Text of the first two kernels."""
    return f"""{PRELUDE}
struct P {{ const {ctype}* a; i64* counts; i64 n; i64 extent[{rank}], stride[{rank}]; }};
extern "C" __global__ void __launch_bounds__({THREADS}) count(const __grid_constant__ P p) {{
    __shared__ int warps[{WARPS}];
    const i64 first = (i64)blockIdx.x * {CHUNK} + threadIdx.x;
    int found = 0;
    for (int k = 0; k < {ROUNDS}; ++k) {{
        const i64 i = first + k * {THREADS};
        const bool flag = i < p.n && truth(p.a[place<{rank}>(i, p.extent, p.stride)]);
        found += __popc(__ballot_sync(0xffffffffu, flag));
    }}
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = found;
    __syncthreads();
    if (threadIdx.x == 0) {{
        int sum = 0;
        for (int w = 0; w < {WARPS}; ++w) sum += warps[w];
        p.counts[blockIdx.x] = sum;
    }}
}}
{_OFFSETS}"""


def _write_text(ctype: str, rank: int, fields: str, store: str) -> str:
    """Text of the third kernel: `store` writes what belongs to element `i`, the `at`-th that is selected."""
    return f"""{PRELUDE}
struct P {{ const {ctype}* a; const i64* offsets; i64 n; i64 extent[{rank}], stride[{rank}]; {fields} }};
extern "C" __global__ void __launch_bounds__({THREADS}) write(const __grid_constant__ P p) {{
    __shared__ int found[{ROUNDS * WARPS}];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 first = (i64)blockIdx.x * {CHUNK} + threadIdx.x;
    u32 flags[{ROUNDS}];
#pragma unroll
    for (int k = 0; k < {ROUNDS}; ++k) {{
        const i64 i = first + k * {THREADS};
        flags[k] = __ballot_sync(0xffffffffu, i < p.n && truth(p.a[place<{rank}>(i, p.extent, p.stride)]));
        if (lane == 0) found[k * {WARPS} + warp] = __popc(flags[k]);
    }}
    __syncthreads();
    if (warp == 0) {{
        // Each lane sums a run of counts, lanes are scanned, and each run again from what is before it.
        int sum = 0;
        for (int k = 0; k < {ROUNDS * WARPS // 32}; ++k) sum += found[lane * {ROUNDS * WARPS // 32} + k];
        int before = sum;
        for (int d = 1; d < 32; d *= 2) {{
            const int other = __shfl_up_sync(0xffffffffu, before, d);
            if (lane >= d) before += other;
        }}
        before -= sum;
        for (int k = 0; k < {ROUNDS * WARPS // 32}; ++k) {{
            const int here = found[lane * {ROUNDS * WARPS // 32} + k];
            found[lane * {ROUNDS * WARPS // 32} + k] = before;
            before += here;
        }}
    }}
    __syncthreads();
    const i64 base = p.offsets[blockIdx.x];
#pragma unroll
    for (int k = 0; k < {ROUNDS}; ++k) {{
        if (!(flags[k] >> lane & 1u)) continue;
        const i64 i = first + k * {THREADS};
        const i64 at = base + found[k * {WARPS} + warp] + __popc(flags[k] & ((1u << lane) - 1u));
        {store}
    }}
}}
"""


@cache
def indices_text(ctype: str, rank: int, axes: int) -> str:
    """Text that writes the index of each selected element along each of `axes` axes."""
    fields = f"i64* out[{axes}]; i64 shape[{axes}];"
    store = f"""i64 rest = i;
        for (int d = {axes} - 1; d > 0; --d) {{
            const i64 e = p.shape[d], q = ((u64)rest | (u64)e) >> 32 ? rest / e : (i64)((u32)rest / (u32)e);
            p.out[d][at] = rest - q * e;
            rest = q;
        }}
        p.out[0][at] = rest;"""
    return _write_text(ctype, rank, fields, store)


@cache
def elements_text(rank: int, cell: str, value_rank: int) -> str:
    """Text that writes the elements which a mask of the same shape selects."""
    fields = f"const {cell}* from; {cell}* out; i64 e[{value_rank}], s[{value_rank}];"
    return _write_text("bool", rank, fields, f"p.out[at] = p.from[place<{value_rank}>(i, p.e, p.s)];")


@cache
def parts_text(cell: str, lead: int, rest: int) -> str:
    """Text that gathers whole parts (everything behind the leading axes) at flat positions."""
    return f"""{PRELUDE}
struct P {{
    const {cell}* a; const i64* at; {cell}* out;
    i64 n, width, e[{lead}], s[{lead}], re[{rest}], rs[{rest}];
}};
extern "C" __global__ void __launch_bounds__({THREADS}) parts(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n) return;
    const i64 k = i / p.width;
    p.out[i] = p.a[place<{lead}>(p.at[k], p.e, p.s) + place<{rest}>(i - k * p.width, p.re, p.rs)];
}}
"""


class _Selection:
    """Where the true elements of an operand go: offsets a chunk, and how many there are."""

    def __init__(self, device: Any, flags: Strided) -> None:
        self.n = prod(flags.shape)
        self.blocks = -(-self.n // CHUNK)
        self.extents, (self.strides,) = collapse(flags.shape, flags.strides)
        self.flags = flags
        self.offsets = empty(device, (self.blocks + 1,), np.int64)
        if not self.n:
            self.total = 0
            return
        text = count_text(ctype_of(flags.dtype), len(self.extents))
        where = address(self.offsets)
        run(device, text, "count", Grid(self.blocks), [address(flags), where, self.n, *self.extents, *self.strides])
        self.total = device.told(partial(_queue_offsets, device, text, where, self.blocks))

    def write(self, device: Any, text: str, words: list[int]) -> None:
        """Run a kernel of `_write_text` with the words of its own fields."""
        if self.total:
            head = [address(self.flags), address(self.offsets), self.n, *self.extents, *self.strides]
            run(device, text, "write", Grid(self.blocks), [*head, *words])

    def indices(self, device: Any) -> tuple[Strided, ...]:
        """Index arrays of the selected elements, one an axis."""
        shape = self.flags.shape
        found = tuple(empty(device, (self.total,), np.int64) for _ in shape)
        text = indices_text(ctype_of(self.flags.dtype), len(self.extents), len(shape))
        self.write(device, text, [*(address(item) for item in found), *shape])
        return found


def nonzero(device: Any, a: Strided) -> tuple[Strided, ...]:
    """Indices (int64) of elements that are not zero, an array an axis, in C order."""
    return _Selection(device, a).indices(device)


class Chosen:
    """What a kernel of `numloom.emit.selecting` chooses of a dense `a`, and the memory that it needs for that."""

    def __init__(self, device: Any, tiles: int, a: Strided) -> None:
        self.device, self.a = device, a
        self.group = group_of(tiles)
        self.talk = tiles + tiles // self.group

    def result(self, queue: Callable[[tuple[int, ...]], None]) -> Strided:
        """The chosen elements (waits); `queue` launches the kernel, whose last words it is given.

        They are written to memory of the size of `a`, which is then cut. Where there is little left, they are counted
        first.
        """
        device, dtype = self.device, self.a.dtype
        block = _room(device, prod(self.a.shape) * dtype.itemsize)
        if block is None:
            found = device.told(partial(self._launch, queue, 0))
            result = empty(device, (found,), dtype)
            if found:
                self._launch(queue, result.buffer.ptr, 0)
            return result
        found = device.told(partial(self._launch, queue, block.ptr))
        return Strided(_shrunk(device, block, found * dtype.itemsize), 0, (found,), (1,), dtype)

    def _launch(self, queue: Callable[[tuple[int, ...]], None], to: int, told: int) -> None:
        at = address(self.a)
        state, launch = mail(self.device, self.talk)
        wide = at % min(16, 4 * self.a.dtype.itemsize) == 0
        queue((at, to, state, launch, self.group, told, int(wide)))


def _room(device: Any, nbytes: int) -> Buffer | None:
    """Memory that is to be cut; None where so much is a large part of what is left."""
    pool: Pool = device.pool
    total = pool.limit or device.total_memory
    if nbytes * MOST > total - pool.used - pool.parted or pool.parted * PARTED > total:
        return None
    try:
        return pool.allocate(nbytes)
    except OutOfMemoryError:
        return None


def _shrunk(device: Any, block: Buffer, nbytes: int) -> Buffer:
    """What holds the first bytes of a block, and no more memory than they need."""
    if nbytes * (SPARSE if block.nbytes >= UNCUT else 2) <= block.nbytes:
        copied: Buffer = device.pool.allocate(nbytes)
        device.copy(copied, 0, block, 0, nbytes)
        return copied
    if block.nbytes >= UNCUT:
        device.pool.cut(block, nbytes)
    return block


@lru_cache(1024)
def _by_mask(count: int, aligned: bool, itemsize: int) -> Source:
    """The kernel that chooses elements of so many bytes by a mask in memory."""
    operand = Operand(BOOL, (1,), 16 if aligned else 0)
    body = (Instr("load", BOOL, operand=0),)
    return emit(Program((count,), 1, body, (), (operand,), select=Select(itemsize)))


def compress(device: Any, a: Strided, mask: Strided) -> Strided:
    """The elements (in C order) of `a` where `mask`, of the leading axes of `a`, is true."""
    lead = len(mask.shape)
    rest = a.shape[lead:]
    cell = cell_of(a.dtype)
    if lead == len(a.shape) and 0 not in a.shape and is_dense(a) and is_dense(mask):
        at = address(mask)
        source = _by_mask(prod(a.shape), at % 16 == 0, a.dtype.itemsize)
        kernel = device.kernel(source.text, source.entry, wait=True)
        known = [at if word.kind == "pointer" else word.value for word in source.words[: -len(SELECT_WORDS)]]

        def queue(words: tuple[int, ...]) -> None:
            device.launch(kernel, array("q", (*known, *words)), source.geometry)

        return Chosen(device, source.geometry.blocks, a).result(queue)
    selection = _Selection(device, mask)
    result = empty(device, (selection.total, *rest), a.dtype)
    if not prod(result.shape):
        return result
    if not rest:
        extents, (strides,) = collapse(a.shape, a.strides)
        text = elements_text(len(selection.extents), cell, len(extents))
        selection.write(device, text, [address(a), address(result), *extents, *strides])
        return result
    # Flat positions first, then everything behind them.
    positions = empty(device, (selection.total,), np.int64)
    text = indices_text(ctype_of(mask.dtype), len(selection.extents), 1)
    selection.write(device, text, [address(positions), selection.n])
    extents, (strides,) = collapse(a.shape[:lead], a.strides[:lead])
    inner, (steps,) = collapse(rest, a.strides[lead:])
    count = prod(result.shape)
    words = [address(a), address(positions), address(result), count, prod(rest), *extents, *strides, *inner, *steps]
    run(device, parts_text(cell, len(extents), len(inner)), "parts", Grid(-(-count // THREADS)), words)
    return result
