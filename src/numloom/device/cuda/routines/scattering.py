"""Stores at index arrays, and operations there: the same result in every run.

Index arrays become one number an element, the line of the target that it names. Of elements that are stored at one
line the last wins: each leaves its position there by an atomic maximum (small elements with their value in the same
word), and where lines are not many more than elements, these words are then read in the order of memory. Where lines
are far more than elements, numbers are sorted and the last of equal ones is taken. Operations are done in turn: sorting
keeps equal numbers in their order, and the first of them takes the steps of all; where the order does not matter
(whole numbers added, largest and smallest ones) they are done atomically. An index out of bounds is written nowhere,
and told of at the next look.
"""

from __future__ import annotations

import itertools
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from numloom.base.dtypes import DTYPES, code_of
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
from numloom.device.cuda.routines.order import argsort, sort_with_positions
from numloom.device.interface import Strided
from numloom.emit.folding import step_text
from numloom.graph.layout import broadcast_strides
from numloom.ops.elementwise import ELEMENTWISE

FEW = 16
"""Lines for each element up to which every line has a word of its own."""
SMALL = 1 << 22
"""Lines that have one in any case."""
DENSE = 4
"""Lines for each element up to which all lines are read in order after all elements have left their mark."""
MANY = 1 << 16
"""Elements from which these are first stored as if all lines were different."""
WIPERS = 1056
"""Blocks that clear what the lines have, if they must."""
AHEAD = 4
"""Elements of a line that a lane fetches at once."""
CROWDED = 16
"""Elements for each line from which later elements go first, and earlier ones look before they mark."""


def _line_text(ctype: str, count: int, rank: int) -> str:
    """Lines of C++ that make `line` and `good` of the position `i`."""
    return f"""\
    i64 line = 0;
    bool good = true;
#pragma unroll
    for (int k = 0; k < {count}; ++k) {{
        const i64 given = (i64)p.index[k][offset_of<{rank}>(i, p.shape, p.stride[k])];
        const i64 at = given < 0 ? given + p.length[k] : given;
        if (at < 0 || at >= p.length[k]) {{
            good = false;
            complain(p.error, p.location, given, p.length[k]);
        }}
        line += at * p.weight[k];
    }}"""


@cache
def lines_text(ctype: str, key: str, count: int, rank: int) -> str:
    """Text that gives each element's line; one past all of them where an index is out of bounds."""
    return f"""{PRELUDE}
struct P {{
    {key}* keys; i64* error; i64 location, n, lines;
    const {ctype}* index[{count}]; i64 length[{count}], weight[{count}], shape[{rank}], stride[{count}][{rank}];
}};
extern "C" __global__ void __launch_bounds__({THREADS}) number(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n) return;
{_line_text(ctype, count, rank)}
    p.keys[i] = ({key})(good ? line : p.lines);
}}
"""


@cache
def store_text(unit_type: str, key: str, word: str, axes: int, rank: int, value_rank: int) -> str:
    """Text of stores: ``claim`` leaves the last position at each line, ``store`` writes what that one says.

    Without `owner`, `order` gives positions by their lines.
    """
    return f"""{PRELUDE}
struct P {{
    {unit_type}* a; const {unit_type}* value; const {key}* keys; {word}* owner; const i64* order; i64 n, width, lines;
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
    p.a[offset_of<{axes}>(line, p.extent, p.stride) + offset_of<{rank}>(r, p.part, p.part_stride)] =
        p.value[offset_of<{value_rank}>(i, p.shape, p.index_stride) + offset_of<{rank}>(r, p.part, p.value_stride)];
}}
"""


@cache
def dense_text(unit_type: str, word: str, ctype: str, count: int, rank: int, part_rank: int, packed: bool) -> str:
    """Text of stores at few lines: ``claim`` leaves the last position at each line, ``collect`` goes over the lines.

    With `packed` the word of a line also holds the value of one element. ``assume`` stores elements whose lines are all
    different, which a bit for each line tells; if they are not, the others run (``wipe`` first), else they return.
    """
    at_value = f"offset_of<{rank}>(%s, p.shape, p.value_stride)"
    mark = f"(u64)(i + 1) << 32 | p.value[{at_value % 'i'}]" if packed else f"({word})(i + 1)"
    value = f"p.value[{at_value % '(i64)mark - 1'} + offset_of<{part_rank}>(r, p.part, p.part_value)]"
    return f"""{PRELUDE}
struct P {{
    {unit_type}* a; const {unit_type}* value; {word}* owner; u32* taken;
    i64* error; i64 location, n, lines, width, crowded;
    const {ctype}* index[{count}]; i64 length[{count}], weight[{count}], a_stride[{count}];
    i64 shape[{rank}], value_stride[{rank}], stride[{count}][{rank}];
    i64 part[{part_rank}], part_a[{part_rank}], part_value[{part_rank}];
}};
// Bits of lines follow the word that says whether two elements have named one.
extern "C" __global__ void __launch_bounds__({THREADS}) assume(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    // Past the first level of the cache, once a block: the first of many equal lines stops all blocks after it.
    __shared__ u32 known;
    if (threadIdx.x == 0) known = *(volatile u32*)p.taken;
    __syncthreads();
    if (i >= p.n || known) return;
{_line_text(ctype, count, rank)}
    if (!good) return;
    const u32 bit = 1u << (line & 31);
    if (atomicOr(p.taken + 1 + (line >> 5), bit) & bit) *(volatile u32*)p.taken = 1;
    p.a[offset_of<{count}>(line, p.length, p.a_stride)] = p.value[{at_value % "i"}];
}}
extern "C" __global__ void __launch_bounds__({THREADS}) wipe(const __grid_constant__ P p) {{
    if (!*p.taken) return;
    const i64 step = (i64)gridDim.x * {THREADS};
    for (i64 line = (i64)blockIdx.x * {THREADS} + threadIdx.x; line < p.lines; line += step) p.owner[line] = 0;
}}
extern "C" __global__ void __launch_bounds__({THREADS}) claim(const __grid_constant__ P p) {{
    i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n || (p.taken && !*p.taken)) return;
    if (p.crowded) i = p.n - 1 - i;
{_line_text(ctype, count, rank)}
    if (!good) return;
    const {word} mark = {mark};
    if (!p.crowded || p.owner[line] < mark) atomicMax(p.owner + line, mark);
}}
extern "C" __global__ void __launch_bounds__({THREADS}) collect(const __grid_constant__ P p) {{
    const i64 all = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (all >= p.lines * p.width || (p.taken && !*p.taken)) return;
    const i64 line = p.width == 1 ? all : all / p.width, r = all - line * p.width;
    const {word} mark = p.owner[line];
    if (mark == 0) return;
    p.a[offset_of<{count}>(line, p.length, p.a_stride) + offset_of<{part_rank}>(r, p.part, p.part_a)] =
        {f"({unit_type})mark" if packed else value};
}}
"""


def _atomic(op: str, code: int, loop: tuple[int, ...]) -> str:
    """C++ that does an operation at ``to`` with ``x`` in any order, where its result is the same in each; else none."""
    dtype = DTYPES[code]
    if set(loop) != {code} or len(loop) != 3 or dtype.itemsize < 4:
        return ""
    wide = dtype.itemsize == 8
    word, signed = ("u64", "i64") if wide else ("u32", "i32")
    if dtype.kind in "iu":
        own = word if dtype.kind == "u" else signed
        return {
            "add": f"atomicAdd(({word}*)to, ({word})x);",
            "subtract": f"atomicAdd(({word}*)to, ({word})0 - ({word})x);",
            "bitwise_and": f"atomicAnd(({word}*)to, ({word})x);",
            "bitwise_or": f"atomicOr(({word}*)to, ({word})x);",
            "bitwise_xor": f"atomicXor(({word}*)to, ({word})x);",
            "maximum": f"atomicMax(({own}*)to, ({own})x);",
            "minimum": f"atomicMin(({own}*)to, ({own})x);",
        }.get(op, "")
    if dtype.kind != "f" or op not in ("maximum", "minimum"):
        return ""
    # Bits of positive numbers are ordered as whole numbers are, those of negative ones the other way around. NaN gets
    # the sign with which it wins, and one that is there already stays.
    larger = op == "maximum"
    nan = ("7ff8" if larger else "fff8") + "0" * 12 if wide else ("7fc0" if larger else "ffc0") + "0" * 4
    up, down = ("atomicMax", "atomicMin") if larger else ("atomicMin", "atomicMax")
    return f"""\
const V old = *to;
    if (old != old || old {">" if larger else "<"} x) return;
    {signed} word = ({signed})0x{nan};
    if (x == x) NL_COPY(&word, &x, sizeof(x));
    if (word >= 0 {"|| x != x" if larger else "&& x == x"}) {up}(({signed}*)to, word);
    else {down}(({word}*)to, ({word})word);"""


@cache
def combine_text(op: str, code: int, loop: tuple[int, ...], key: str, axes: int, rank: int, value_rank: int) -> str:
    """Text of operations at lines: the first of elements with one line does it for all of them, in their order.

    For that `keys` are in order, and `order` says which element each was. ``combine`` has a thread for each element of
    a line's part; ``combine_lines`` (parts of one element) has warps help with those that many name. ``in_any_order``
    is there where the order does not matter.
    """
    unary = len(loop) == 2
    statement = _atomic(op, code, loop)
    atomic = (
        f"""
extern "C" __global__ void __launch_bounds__({THREADS}) in_any_order(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n || (i64)p.keys[i] == p.lines) return;
    const V x = p.value[offset_of<{value_rank}>(i, p.shape, p.index_stride)];
    T* to = p.a + offset_of<{axes}>((i64)p.keys[i], p.extent, p.stride);
    {statement}
}}
"""
        if statement
        else ""
    )
    taken, of_lane = ("", "") if unary else (", x", ", lane_of(found[b], k)")
    value = f"operand(p.value[offset_of<{value_rank}>(@AT@, p.shape, p.index_stride)])"
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
    const {key} line = p.keys[i];
    if ((i64)line == p.lines || (i > 0 && p.keys[i - 1] == line)) return;
    T* a = p.a + offset_of<{axes}>((i64)line, p.extent, p.stride) + offset_of<{rank}>(r, p.part, p.part_stride);
    V sum = get(*a);
    for (; i < p.n && p.keys[i] == line; ++i) {{
        {
        ""
        if unary
        else f'''const i64 at = p.order[i];
        const W x = operand(p.value[
            offset_of<{value_rank}>(at, p.shape, p.index_stride) + offset_of<{rank}>(r, p.part, p.value_stride)]);'''
    }
        sum = step(sum{taken});
    }}
    *a = put(sum);
}}
extern "C" __global__ void __launch_bounds__({THREADS}) combine_lines(const __grid_constant__ P p) {{
    const i64 own = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    const int lane = threadIdx.x & 31;
    i64 i = own < p.n ? own : p.n - 1;
    const {key} line = p.keys[i];
    const bool first = own < p.n && (i64)line != p.lines && (i == 0 || p.keys[i - 1] != line);
    T* a = p.a + (first ? offset_of<{axes}>((i64)line, p.extent, p.stride) : 0);
    V sum = get(*a);
    bool more = first;
    for (int k = 0; k < 32 && more; ++k) {{
        {"" if unary else f"const W x = {value.replace('@AT@', 'p.order[i]')};"}
        sum = step(sum{taken});
        ++i;
        more = i < p.n && p.keys[i] == line;
    }}
    for (u32 longer = __ballot_sync(0xffffffffu, more); longer; longer &= longer - 1) {{
        int from = 0;
        while (!(longer >> from & 1)) ++from;
        const {key} its = ({key})lane_of(line, from);
        V total = lane_of(sum, from);
        bool open = true;
        for (i64 at = lane_of(i, from); open; at += {32 * AHEAD}) {{
            u32 same[{AHEAD}];
            {"" if unary else f"W found[{AHEAD}];"}
#pragma unroll
            for (int b = 0; b < {AHEAD}; ++b) {{
                const i64 j = at + b * 32 + lane;
                same[b] = __ballot_sync(0xffffffffu, j < p.n && p.keys[j < p.n ? j : p.n - 1] == its);
                {"" if unary else f"found[b] = {value.replace('@AT@', 'p.order[j < p.n ? j : p.n - 1]')};"}
            }}
#pragma unroll
            for (int b = 0; b < {AHEAD}; ++b) {{
                if (!open) continue;
                open = same[b] == 0xffffffffu;
                if (open) {{
#pragma unroll {8 if ELEMENTWISE[op].cost <= 8 else 1}
                    for (int k = 0; k < 32; ++k) total = step(total{of_lane});
                }} else {{
                    for (int k = 0; same[b] >> k & 1; ++k) total = step(total{of_lane});
                }}
            }}
        }}
        if (lane == from) sum = total;
    }}
    if (first) *a = put(sum);
}}
{atomic}"""


def scatter(
    device: Any, a: Strided, *operands: Strided, axes: tuple[int, ...], position: int, op: str, loop: tuple[int, ...],
    location: int,
) -> None:  # fmt: skip
    """Store at integer indices along `axes` of `a`, or combine with what is there (see `numloom.ops.routines`)."""
    values, indices = operands[: len(operands) - len(axes)], operands[len(operands) - len(axes) :]
    shape = np.broadcast_shapes(*(index.shape for index in indices))
    rest = [k for k in range(len(a.shape)) if k not in axes]
    n, width = prod(shape), prod(a.shape[k] for k in rest)
    if not n or not width:
        return
    parts = [a.strides[k] for k in rest]
    value_strides: list[int] = [0] * len(rest)
    index_strides: list[int] = [0] * len(shape)
    if values:
        whole = (*(a.shape[k] for k in rest[:position]), *shape, *(a.shape[k] for k in rest[position:]))
        strides = broadcast_strides(values[0].shape, values[0].strides, whole)
        index_strides = list(strides[position : position + len(shape)])
        value_strides = [*strides[:position], *strides[position + len(shape) :]]
    part, (part_strides, value_strides) = collapse([a.shape[k] for k in rest], parts, value_strides)
    lengths = [a.shape[k] for k in axes]
    lines = prod(lengths)
    if not lines:  # Every index is out of bounds.
        _lines(device, a, indices, axes, shape, location)
        return
    if not op and lines <= DENSE * n:
        marks = _Marks(axes, shape, index_strides, part, part_strides, value_strides, location)
        _store_densely(device, a, values[0], indices, marks)
        return
    keys = _lines(device, a, indices, axes, shape, location)
    key = ctype_of(keys.dtype)
    tail = [n, width, lines, *lengths, *(a.strides[k] for k in axes), *part, *part_strides]
    extents, (index_strides,) = collapse(shape, index_strides)
    tail += [*extents, *index_strides, *value_strides]
    ranks = len(axes), len(part), len(extents)
    head = [address(a), address(values[0]) if values else 0, address(keys)]
    if op:
        text = combine_text(op, code_of(a.dtype), loop, key, *ranks)
        if width == 1 and _atomic(op, code_of(a.dtype), loop):
            run(device, text, "in_any_order", Grid(-(-n // THREADS)), [*head, 0, *tail])
            return
        device.expect([text])  # beside those that sort
        lines_in_order, order = empty(device, keys.shape, keys.dtype), empty(device, keys.shape, np.int64)
        sort_with_positions(device, keys, lines_in_order, order)
        head[2] = address(lines_in_order)
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
        order = empty(device, keys.shape, np.int64)
        argsort(device, keys, axis=0, out=order)
        run(device, text, "store", grid, [*head, 0, address(order), *tail])


class _Marks(NamedTuple):
    """What `_store_densely` is told of layouts: those of the index shape, and of the part at each line."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    value_strides: list[int]
    part: list[int]
    part_strides: list[int]
    part_value_strides: list[int]
    location: int


def _store_densely(device: Any, a: Strided, value: Strided, indices: tuple[Strided, ...], m: _Marks) -> None:
    """Stores at lines that are not many more than the elements: each line then has a word of its own."""
    lengths = [a.shape[k] for k in m.axes]
    n, lines, width = prod(m.shape), prod(lengths), prod(m.part)
    few = n < (1 << 32) - 1
    packed = few and width == 1 and a.dtype.itemsize <= 4
    owner = empty(device, (lines,), np.uint64 if packed or not few else np.uint32)
    taken = 0
    if MANY <= n <= lines and width == 1:
        bits = device.allocate(4 * (lines // 32 + 2))
        device.clear(bits, bits.nbytes)
        taken = bits.ptr
    else:
        device.clear(owner.buffer, owner.buffer.nbytes)
    strides = [broadcast_strides(index.shape, index.strides, m.shape) for index in indices]
    extents, (value_strides, *index_strides) = collapse(m.shape, m.value_strides, *strides)
    types = cell_of(a.dtype), ctype_of(owner.dtype), ctype_of(indices[0].dtype)
    text = dense_text(*types, len(m.axes), len(extents), len(m.part), packed)
    words = [address(a), address(value), address(owner), taken, device.error_address(), m.location, n, lines, width]
    words += [int(n >= CROWDED * lines), *map(address, indices), *lengths, *dense_strides(lengths)]
    words += [*(a.strides[k] for k in m.axes), *extents, *value_strides, *itertools.chain(*index_strides)]
    words += [*m.part, *m.part_strides, *m.part_value_strides]
    if taken:
        run(device, text, "assume", Grid(-(-n // THREADS)), words)
        run(device, text, "wipe", Grid(min(-(-lines // THREADS), WIPERS)), words)
    run(device, text, "claim", Grid(-(-n // THREADS)), words)
    run(device, text, "collect", Grid(-(-lines * width // THREADS)), words)


def _lines(
    device: Any, a: Strided, indices: tuple[Strided, ...], axes: tuple[int, ...], shape: tuple[int, ...], location: int
) -> Strided:
    """The line of `a` that each element names, in the smallest type that also holds their number."""
    lengths = [a.shape[k] for k in axes]
    lines = prod(lengths)
    keys = empty(device, (prod(shape),), np.min_scalar_type(lines))
    strides = [broadcast_strides(index.shape, index.strides, shape) for index in indices]
    extents, strides_of = collapse(shape, *strides)
    text = lines_text(ctype_of(indices[0].dtype), ctype_of(keys.dtype), len(axes), len(extents))
    words = [address(keys), device.error_address(), location, prod(shape), lines]
    words += [*map(address, indices), *lengths, *dense_strides(lengths), *extents]
    for stride in strides_of:
        words += stride
    run(device, text, "number", Grid(-(-prod(shape) // THREADS)), words)
    return keys
