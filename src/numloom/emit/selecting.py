"""Kernels that select: a map gives truth values, and what they select of an array is written without gaps, in order.

One pass: a tile counts what it selects, learns from those before it how much they selected (``prefix.hpp``), gathers
its own in shared memory and writes it from there. CUDA only: elsewhere blocks do not run side by side.
"""

from __future__ import annotations

from math import prod

from numloom.base.dtypes import CTYPES
from numloom.emit.block import Block
from numloom.emit.values import VALUE_TYPES, header, iota_instrs, loaded, prelude, read_operands, statements
from numloom.plan.program import Geometry, Program, Source, Word

THREADS = 256
SELECT_WORDS = ("from", "to", "mail", "launch", "tiles", "wide", "total")
"""Words that the launch fills in: the array and its alignment, the result, and where the count is written."""
_CELLS = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "wide_cell"}


def selectable(program: Program) -> bool:
    """Whether a map can give a selection's truth values: a plain one over memory without gaps."""
    return (
        len(program.shape) == 1
        and not program.reductions
        and program.box is None
        and len(program.stores) == 1
        and all(instr.kind != "gather" for instr in program.body)
        and all(operand.strides[0] in (0, 1) and not operand.in_place for operand in program.operands)
    )


def tile_of(itemsize: int) -> int:
    """Elements that a block looks at."""
    return THREADS * 4 * _rows(itemsize)


def _rows(itemsize: int) -> int:
    return 2 if itemsize == 16 else 4


def emit_select(program: Program, entry: str) -> Source:
    """Emit a program that selects; its one store (if it has one) is of the truth values."""
    block, operands = Block(), program.operands
    reads, iotas = read_operands(program.body), iota_instrs(program.body)
    flag = program.stores[0].value if program.stores else len(program.body) - 1
    args = ["const P& p", *(f"{VALUE_TYPES[operands[k].code]} in{k}" for k in reads)]
    args += [f"i64 iota{i.index}" for i in iotas]
    lines = statements(
        program.body, block, "v", {k: f"in{k}" for k in reads}, {i.index: f"iota{i.index}" for i in iotas}, {}
    )
    chosen = f"NL_DEV bool chosen({', '.join(args)}) {{\n  " + "\n  ".join([*lines, f"return v{flag};"]) + "\n}\n"

    def call(values: dict[int, str], index: str) -> str:
        at = [
            f"{block.iota_offset(i.index)} + ({index}) * {block.number(f't{i.index}_0', i.strides[0])}" for i in iotas
        ]
        return f"chosen({', '.join(['p', *(values[k] for k in reads), *at])})"

    pointers = {k: block.pointer(k, operands[k].code, const=True) for k in reads}
    along = [k for k in reads if operands[k].strides[0] == 1]
    values = {k: loaded(f"{pointers[k]}[{'i' if k in along else '0'}]", operands[k].code) for k in reads}
    each = call(values, "i")
    packed = [k for k in along if operands[k].aligned]
    quick = {
        k: loaded(
            f"a{k}.x[v]" if k in packed else f"{pointers[k]}[{'at + v' if k in along else '0'}]", operands[k].code
        )
        for k in reads
    }
    declared = "".join(f"const Four<{CTYPES[operands[k].code]}> a{k} = four({pointers[k]} + at);\n" for k in packed)
    store = ""
    if program.stores:
        k = program.stores[0].operand
        store = block.pointer(k, operands[k].code, const=False)
    n = block.number("n", prod(program.shape))
    size = program.select
    cell, rows = _CELLS[size], _rows(size)
    fields = f"const {cell}* from; {cell}* to; u64* mail; i64 launch, tiles, wide; i64* total;"
    body = f"""\
struct alignas(16) wide_cell {{ u64 a, b; }};
{block.text().rstrip().removesuffix("};")} {fields} }};
template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Four {{ T x[4]; }};
template <class T> NL_DEV Four<T> four(const T* from) {{ return *reinterpret_cast<const Four<T>*>(from); }}
struct Sum {{ template <class T> __device__ T operator()(T a, T b) const {{ return a + b; }} }};
{chosen}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(const __grid_constant__ P p) {{
    constexpr int ROWS = {rows}, TILE = {THREADS} * 4 * ROWS;
    __shared__ {cell} kept[TILE];
    __shared__ u32 counts[{THREADS // 32}];
    __shared__ i64 start;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 tile = blockIdx.x, first = tile * TILE + warp * (ROWS * 128) + lane * 4;
    {cell} x[ROWS][4];
    u32 flags = 0;
    if ((tile + 1) * TILE <= {n}) {{
#pragma unroll
        for (int k = 0; k < ROWS; ++k) {{
            const i64 at = first + k * 128;
            {declared}
            if (p.wide) {{
                const Four<{cell}> y = four(p.from + at);
#pragma unroll
                for (int v = 0; v < 4; ++v) x[k][v] = y.x[v];
            }} else
#pragma unroll
                for (int v = 0; v < 4; ++v) x[k][v] = p.from[at + v];
            Four<bool> found;
#pragma unroll
            for (int v = 0; v < 4; ++v) {{
                found.x[v] = {call(quick, "at + v")};
                flags |= (u32)found.x[v] << (4 * k + v);
            }}
            {f"*reinterpret_cast<Four<bool>*>({store} + at) = found;" if store else ""}
        }}
    }} else {{
#pragma unroll
        for (int k = 0; k < ROWS; ++k)
#pragma unroll
            for (int v = 0; v < 4; ++v) {{
                const i64 i = first + k * 128 + v;
                if (i < {n}) {{
                    const bool found = {each};
                    flags |= (u32)found << (4 * k + v);
                    x[k][v] = p.from[i];
                    {f"{store}[i] = found;" if store else ""}
                }}
            }}
    }}
    // Counts of the rows of a warp side by side in one word: none exceeds 128.
    u32 own = 0;
#pragma unroll
    for (int k = 0; k < ROWS; ++k) own |= (u32)__popc(flags >> 4 * k & 15) << 8 * k;
    const u32 sum = nl::scan_lanes(own, Sum()), before = sum - own, whole = nl::of_lane(sum, 31);
    u32 row = 0, at_row[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        at_row[k] = row;
        row += whole >> 8 * k & 255;
    }}
    if (lane == 0) counts[warp] = row;
    __syncthreads();
    u32 at_warp = 0, all = 0;
#pragma unroll
    for (int w = 0; w < {THREADS // 32}; ++w) {{
        if (w == warp) at_warp = all;
        all += counts[w];
    }}
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {{
        u32 at = at_warp + at_row[k] + (before >> 8 * k & 255);
#pragma unroll
        for (int v = 0; v < 4; ++v)
            if (flags >> (4 * k + v) & 1) kept[at++] = x[k][v];
    }}
    if (warp == 0) {{
        const i64 earlier = nl::before(p.mail, p.tiles, tile, (u32)p.launch, (i64)all, Sum());
        if (lane == 0) {{
            start = tile > 0 ? earlier : 0;
            if (tile == p.tiles - 1) *p.total = start + all;
        }}
    }}
    __syncthreads();
    for (u32 i = threadIdx.x; i < all; i += {THREADS}) p.to[start + i] = kept[i];
}}
"""
    words = (*block.words, *(Word(f"select_{name}") for name in SELECT_WORDS))
    tiles = -(-prod(program.shape) // tile_of(size))
    text = prelude(program) + header("kernel") + header("prefix") + body
    return Source(text, entry, words, Geometry(items=0, grain=1, blocks=tiles, threads=THREADS))
