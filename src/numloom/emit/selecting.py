"""The first of two kernels that select: a map gives truth values, which are counted and kept as bits.

What they select is written by the device's `select`, when its size is known.
"""

from __future__ import annotations

from math import prod

from numloom.base.dtypes import CTYPES
from numloom.emit.block import Block
from numloom.emit.values import VALUE_TYPES, header, iota_instrs, loaded, prelude, read_operands, statements
from numloom.plan.program import Geometry, Program, Source, Word

THREADS = 256
ROWS = 4
TILE = THREADS * 4 * ROWS
"""Elements that a block looks at: in each row of a warp four neighbours a lane."""
SELECT_WORDS = ("flags", "counts")
"""Words that the launch fills in: where a thread's 16 bits go, and a tile's count."""


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


def emit_select(program: Program, entry: str) -> Source:
    """Emit a program whose last value (or its one store) says what is selected; stored are bits and counts."""
    block = Block()
    operands = program.operands
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
            f"a{k}[k].x[v]" if k in packed else f"{pointers[k]}[{'at + v' if k in along else '0'}]", operands[k].code
        )
        for k in reads
    }
    declared = "".join(f"Four<{CTYPES[operands[k].code]}> a{k}[ROWS];\n" for k in packed)
    fetched = "".join(f"a{k}[k] = *(const Four<{CTYPES[operands[k].code]}>*)({pointers[k]} + at);\n" for k in packed)
    n = block.number("n", prod(program.shape))
    body = f"""\
{block.text().rstrip().removesuffix("};")} u16* flags; i64* counts; }};
template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Four {{ T x[4]; }};
constexpr int ROWS = {ROWS}, TILE = {TILE};
{chosen}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(const __grid_constant__ P p) {{
    __shared__ u32 counts[{THREADS // 32}];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 tile = blockIdx.x, first = tile * TILE + warp * (ROWS * 128) + lane * 4;
    u32 flags = 0;
    if ((tile + 1) * TILE <= {n}) {{
        {declared}
#pragma unroll
        for (int k = 0; k < ROWS; ++k) {{
            const i64 at = first + k * 128;
            {fetched}
        }}
#pragma unroll
        for (int k = 0; k < ROWS; ++k) {{
            const i64 at = first + k * 128;
#pragma unroll
            for (int v = 0; v < 4; ++v) flags |= (u32){call(quick, "at + v")} << (4 * k + v);
        }}
    }} else {{
        for (int k = 0; k < ROWS; ++k)
            for (int v = 0; v < 4; ++v) {{
                const i64 i = first + k * 128 + v;
                if (i < {n}) flags |= (u32){each} << (4 * k + v);
            }}
    }}
    p.flags[tile * {THREADS} + threadIdx.x] = (u16)flags;
    u32 count = __popc(flags);
#pragma unroll
    for (int d = 16; d; d /= 2) count += __shfl_xor_sync(0xffffffffu, count, d);
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    if (threadIdx.x == 0) {{
        u32 all = 0;
        for (int w = 0; w < {THREADS // 32}; ++w) all += counts[w];
        p.counts[tile] = all;
    }}
}}
"""
    words = (*block.words, *(Word(f"select_{name}") for name in SELECT_WORDS))
    geometry = Geometry(items=0, grain=1, blocks=-(-prod(program.shape) // TILE), threads=THREADS)
    return Source(prelude(program) + header("kernel") + body, entry, words, geometry)
