"""Stores at index arrays, and operations there: the same result in every run.

Index arrays become one number an element, the line of the target that it names. Of elements that are stored at one
line the last wins: each leaves its position there by an atomic maximum, or, where lines are far more than elements,
numbers are sorted and the last of equal ones is taken. Operations are done in turn: sorting keeps equal numbers in
their order, and the first of them takes the steps of all; where whole numbers are added the order does not matter, and
they are added atomically. An index out of bounds is written nowhere, and told of at the next look.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from numloom.base.dtypes import DTYPES, F64, code_of
from numloom.device.cuda.routines.kernels import (
    PRELUDE,
    THREADS,
    Grid,
    address,
    cell_of,
    collapse,
    ctype_of,
    dense_strides,
    empty,
    run,
)
from numloom.device.cuda.routines.order import argsort
from numloom.device.interface import Strided
from numloom.emit.folding import step_text
from numloom.graph.layout import broadcast_strides

FEW = 16
"""Lines for each element up to which every line has a word of its own."""
SMALL = 1 << 22
"""Lines that have one in any case."""


@cache
def lines_text(ctype: str, key: str, count: int, rank: int) -> str:
    """Text that gives each element's line; one past all of them where an index is out of bounds."""
    return f"""{PRELUDE}
struct P {{
    {key}* keys; i64* error; i64 place, n, lines;
    const {ctype}* index[{count}]; i64 length[{count}], weight[{count}], shape[{rank}], stride[{count}][{rank}];
}};
extern "C" __global__ void __launch_bounds__({THREADS}) number(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n) return;
    i64 line = 0;
    bool good = true;
#pragma unroll
    for (int k = 0; k < {count}; ++k) {{
        const {ctype} given = p.index[k][place<{rank}>(i, p.shape, p.stride[k])];
        const i64 at = given < {ctype}(0) ? (i64)given + p.length[k] : (i64)given;
        good = good && at >= 0 && at < p.length[k];
        line += at * p.weight[k];
    }}
    if (!good) *p.error = p.place;
    p.keys[i] = ({key})(good ? line : p.lines);
}}
"""


@cache
def store_text(cell: str, key: str, word: str, axes: int, rank: int, value_rank: int) -> str:
    """Text of stores: ``claim`` leaves the last position at each line, ``store`` writes what that one says.

    Without `owner`, `order` gives positions by their lines.
    """
    return f"""{PRELUDE}
struct P {{
    {cell}* a; const {cell}* value; const {key}* keys; {word}* owner; const i64* order; i64 n, width, lines;
    i64 extent[{axes}], stride[{axes}], part[{rank}], part_stride[{rank}];
    i64 shape[{value_rank}], index_stride[{value_rank}], value_stride[{rank}];
}};
extern "C" __global__ void __launch_bounds__({THREADS}) claim(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i < p.n) atomicMax(p.owner + p.keys[i], ({word})(i + 1));
}}
extern "C" __global__ void __launch_bounds__({THREADS}) store(const __grid_constant__ P p) {{
    const i64 all = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    i64 i = all / p.width;
    if (i >= p.n) return;
    const i64 r = all - i * p.width;
    if (p.order) {{
        const i64 next = i + 1 < p.n ? p.order[i + 1] : -1;
        i = p.order[i];
        if (next >= 0 && p.keys[next] == p.keys[i]) return;
    }}
    const i64 line = (i64)p.keys[i];
    if (line == p.lines || (!p.order && p.owner[line] != ({word})(i + 1))) return;
    p.a[place<{axes}>(line, p.extent, p.stride) + place<{rank}>(r, p.part, p.part_stride)] =
        p.value[place<{value_rank}>(i, p.shape, p.index_stride) + place<{rank}>(r, p.part, p.value_stride)];
}}
"""


@cache
def combine_text(op: str, code: int, loop: tuple[int, ...], key: str, axes: int, rank: int, value_rank: int) -> str:
    """Text of operations at lines: the first of elements with one line does it for all of them, in their order.

    ``combine`` has a thread for each element of a line's part; ``combine_lines`` (parts of one element) has warps
    help with those that many name. ``add`` adds whole numbers in any order.
    """
    unary = len(loop) == 2
    whole = op in ("add", "subtract") and DTYPES[code].kind in "iu" and set(loop) == {code}
    atomic = ""
    if whole and DTYPES[code].itemsize >= 4:
        word = "u64" if DTYPES[code].itemsize == 8 else "u32"
        value = f"({word})p.value[place<{value_rank}>(i, p.shape, p.index_stride)]"
        atomic = f"""
extern "C" __global__ void __launch_bounds__({THREADS}) add(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n || (i64)p.keys[i] == p.lines) return;
    const {word} x = {value if op == "add" else f"({word})0 - {value}"};
    atomicAdd(({word}*)(p.a + place<{axes}>((i64)p.keys[i], p.extent, p.stride)), x);
}}
"""
    taken = "" if unary else ", x"
    return f"""{step_text(op, code, loop)}
struct P {{
    T* a; const U* value; const {key}* keys; const i64* order; i64 n, width, lines;
    i64 extent[{axes}], stride[{axes}], part[{rank}], part_stride[{rank}];
    i64 shape[{value_rank}], index_stride[{value_rank}], value_stride[{rank}];
}};
extern "C" __global__ void __launch_bounds__({THREADS}) combine(const __grid_constant__ P p) {{
    const i64 all = (i64)blockIdx.x * {THREADS} + threadIdx.x, r = all % p.width;
    i64 i = all / p.width;
    if (i >= p.n) return;
    const {key} line = p.keys[p.order[i]];
    if ((i64)line == p.lines || (i > 0 && p.keys[p.order[i - 1]] == line)) return;
    T* a = p.a + place<{axes}>((i64)line, p.extent, p.stride) + place<{rank}>(r, p.part, p.part_stride);
    V sum = get(*a);
    for (; i < p.n; ++i) {{
        const i64 at = p.order[i];
        if (p.keys[at] != line) break;
        {
        ""
        if unary
        else f'''const W x = operand(p.value[
            place<{value_rank}>(at, p.shape, p.index_stride) + place<{rank}>(r, p.part, p.value_stride)]);'''
    }
        sum = step(sum{taken});
    }}
    *a = put(sum);
}}
extern "C" __global__ void __launch_bounds__({THREADS}) combine_lines(const __grid_constant__ P p) {{
    const i64 own = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    const int lane = threadIdx.x & 31;
    i64 i = own < p.n ? own : p.n - 1;
    const {key} line = p.keys[p.order[i]];
    const bool first = own < p.n && (i64)line != p.lines && (i == 0 || p.keys[p.order[i - 1]] != line);
    T* a = p.a + (first ? place<{axes}>((i64)line, p.extent, p.stride) : 0);
    V sum = get(*a);
    bool more = first;
    for (int k = 0; k < 32 && more; ++k) {{
        const i64 at = p.order[i];
        {"" if unary else f"const W x = operand(p.value[place<{value_rank}>(at, p.shape, p.index_stride)]);"}
        sum = step(sum{taken});
        ++i;
        more = i < p.n && p.keys[p.order[i]] == line;
    }}
    for (u32 longer = __ballot_sync(0xffffffffu, more); longer; longer &= longer - 1) {{
        int from = 0;
        while (!(longer >> from & 1)) ++from;
        const {key} its = ({key})lane_of(line, from);
        i64 at = lane_of(i, from);
        V total = lane_of(sum, from);
        for (;;) {{
            const i64 j = at + lane;
            const i64 position = p.order[j < p.n ? j : p.n - 1];
            const u32 same = __ballot_sync(0xffffffffu, j < p.n && p.keys[position] == its);
            {"" if unary else f"const W x0 = operand(p.value[place<{value_rank}>(position, p.shape, p.index_stride)]);"}
            for (int k = 0; k < 32 && (same >> k & 1); ++k) {{
                {"" if unary else "const W x = lane_of(x0, k);"}
                total = step(total{taken});
            }}
            if (same != 0xffffffffu) break;
            at += 32;
        }}
        if (lane == from) sum = total;
    }}
    if (first) *a = put(sum);
}}
{atomic}"""


def scatter(
    device: Any, a: Strided, *operands: Strided, axes: tuple[int, ...], position: int, op: str, loop: tuple[int, ...],
    place: int,
) -> None:  # fmt: skip
    """Store at integer indices along `axes` of `a`, or combine with what is there (see `numloom.ops.routines`)."""
    values, indices = operands[: len(operands) - len(axes)], operands[len(operands) - len(axes) :]
    shape = np.broadcast_shapes(*(index.shape for index in indices))
    rest = [k for k in range(len(a.shape)) if k not in axes]
    n, width = prod(shape), prod(a.shape[k] for k in rest)
    if not n or not width:
        return
    keys = _lines(device, a, indices, axes, shape, place)
    parts = [a.strides[k] for k in rest]
    value_strides: list[int] = [0] * len(rest)
    index_strides: list[int] = [0] * len(shape)
    if values:
        whole = (*(a.shape[k] for k in rest[:position]), *shape, *(a.shape[k] for k in rest[position:]))
        strides = broadcast_strides(values[0].shape, values[0].strides, whole)
        index_strides = list(strides[position : position + len(shape)])
        value_strides = [*strides[:position], *strides[position + len(shape) :]]
    part, (part_strides, value_strides) = collapse([a.shape[k] for k in rest], parts, value_strides)
    extents, (index_strides,) = collapse(shape, index_strides)
    lengths = [a.shape[k] for k in axes]
    lines = prod(lengths)
    key = ctype_of(keys.dtype)
    tail = [n, width, lines, *lengths, *(a.strides[k] for k in axes), *part, *part_strides]
    tail += [*extents, *index_strides, *value_strides]
    ranks = len(axes), len(part), len(extents)
    head = [address(a), address(values[0]) if values else 0, address(keys)]
    if op:
        text = combine_text(op, code_of(a.dtype), loop, key, *ranks)
        if width == 1 and "add(const" in text:
            run(device, text, "add", Grid(-(-n // THREADS)), [*head, 0, *tail])
            return
        order = _order(device, keys)
        entry, threads = ("combine_lines", n) if width == 1 else ("combine", n * width)
        run(device, text, entry, Grid(-(-threads // THREADS)), [*head, address(order), *tail])
        return
    word = np.dtype(np.uint32 if n < (1 << 32) - 1 else np.uint64)
    text = store_text(cell_of(a.dtype), key, ctype_of(word), *ranks)
    grid = Grid(-(-n * width // THREADS))
    if lines <= max(FEW * n, SMALL):
        owner = empty(device, (lines + 1,), word)
        device.clear(owner.buffer, owner.buffer.nbytes)
        words = [*head, address(owner), 0, *tail]
        run(device, text, "claim", Grid(-(-n // THREADS)), words)
        run(device, text, "store", grid, words)
    else:
        order = _order(device, keys)
        run(device, text, "store", grid, [*head, 0, address(order), *tail])


def _lines(
    device: Any, a: Strided, indices: tuple[Strided, ...], axes: tuple[int, ...], shape: tuple[int, ...], place: int
) -> Strided:
    """The line of `a` that each element names, in the smallest type that also holds their number."""
    lengths = [a.shape[k] for k in axes]
    lines = prod(lengths)
    keys = empty(device, (prod(shape),), np.min_scalar_type(lines))
    strides = [broadcast_strides(index.shape, index.strides, shape) for index in indices]
    extents, strides_of = collapse(shape, *strides)
    text = lines_text(ctype_of(indices[0].dtype), ctype_of(keys.dtype), len(axes), len(extents))
    words = [address(keys), device.error_address(), place, prod(shape), lines]
    words += [*map(address, indices), *lengths, *dense_strides(lengths), *extents]
    for stride in strides_of:
        words += stride
    run(device, text, "number", Grid(-(-prod(shape) // THREADS)), words)
    return keys


def _order(device: Any, keys: Strided) -> Strided:
    """Positions by their lines, those of one line in their order."""
    order = empty(device, keys.shape, np.int64)
    argsort(device, keys, axis=0, out=order)
    return order


def weighted_bincount(device: Any, a: Strided, weights: Strided, *, minlength: int, out: Strided) -> None:
    """``out`` = sums (float64) of the weights of each of 0 ... minlength - 1 in `a`, added in their order."""
    device.clear(out.buffer, 8 * minlength)
    scatter(device, out, weights, a, axes=(0,), position=0, op="add", loop=(F64, F64, F64), place=1)
