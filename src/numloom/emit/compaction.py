"""Selection by a map's truth values in one pass: a tile's elements wait in shared memory for what comes before them.

A block evaluates the mask over its tile, keeps what it chooses in shared memory, and publishes how many that are. It
adds up what earlier tiles of its group and earlier groups published (decoupled look-back), so its elements go to their
places in order and without gaps. Blocks wait for blocks of lower numbers only, which the hardware starts first.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from numloom.base.dtypes import ITEMSIZES
from numloom.emit.block import MEMORY_TYPES, ParameterBlock
from numloom.emit.values import VALUE_TYPES, header, iota_instrs, loaded, prelude, read_operands, statements
from numloom.plan.program import Geometry, KernelSource, Operand, Program, Select, Word

THREADS = 256
WARPS = THREADS // 32
ROW = 128
"""Elements of a row of a warp: four neighbours a lane."""
LOOK_BACK_WORDS = ("state", "launch", "group", "count_to")
"""Last words, which the launch fills in: inter-block flags, the launch's number, tiles of a group, and where the host
reads how many there are (0: nowhere)."""
UNIT_TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "nl::Sixteen"}
"""Types that move elements, by size."""
HEAD = 64
"""Bytes of shared memory before the elements: what comes before the tile, and counts of warps."""
PAD = 16
ENOUGH_BLOCKS = 264
"""Tiles from which larger ones are better than more of them."""


class SelectTile(NamedTuple):
    """Rows of a warp in a tile, and how many of them are in registers at a time."""

    rows: int
    batch: int


LARGE = {1: SelectTile(16, 8), 2: SelectTile(16, 8), 4: SelectTile(12, 4), 8: SelectTile(6, 2), 16: SelectTile(3, 1)}
SMALL = {1: SelectTile(4, 4), 2: SelectTile(4, 4), 4: SelectTile(4, 4), 8: SelectTile(2, 2), 16: SelectTile(1, 1)}
"""Tiles by the size of an element; large ones fill a quarter of a multiprocessor's shared memory."""
RESIDENT = 4
FLAGS = 8
"""Rows of a lane whose flags fit in a word."""
SHORT = 8
"""Instructions of a mask up to which its kernel is held to the registers that so many blocks leave each other."""


def selectable(program: Program) -> bool:
    """Whether a map can give a selection's truth values: a plain one of one dimension."""
    return (
        len(program.shape) == 1
        and not program.reductions
        and program.box is None
        and len(program.stores) == 1
        and all(instr.kind != "gather" for instr in program.body)
        and not any(operand.in_place for operand in program.operands)
    )


def select_words(select: Select) -> tuple[str, ...]:
    """Words that the launch fills in, before `LOOK_BACK_WORDS`.

    Where elements lie, where they go, and whether four may be read at once; or where indices along each axis go, and
    the shape. What would go to 0 is only counted.
    """
    if select.axes:
        return tuple(f"{name}{axis}" for name in ("to", "shape") for axis in range(select.axes))
    return "from", "to", "wide"


def batch_of(operands: list[Operand], rows: int, most: int, registers: int) -> int:
    """Rows whose operands are in registers at a time: a divisor of `rows`, at most `most`."""
    width = sum(ITEMSIZES[operand.code] for operand in operands)
    return max(k for k in range(1, most + 1) if k == 1 or (rows % k == 0 and k * width <= registers))


def emit_select(program: Program, entry: str) -> KernelSource:
    """Emit a program whose last value (or its one store) says what is selected, as its `select` says."""
    assert program.select is not None
    itemsize, same, axes = program.select
    block = ParameterBlock()
    operands, n = program.operands, prod(program.shape)
    form = (LARGE if n >= ENOUGH_BLOCKS * WARPS * ROW * LARGE[itemsize].rows else SMALL)[itemsize]
    reads, iotas = read_operands(program.body), iota_instrs(program.body)
    flag = program.stores[0].value if program.stores else len(program.body) - 1
    args = ["const P& p", *(f"{VALUE_TYPES[operands[k].code]} in{k}" for k in reads)]
    args += [f"i64 iota{i.index}" for i in iotas]
    lines = statements(
        program.body, block, "v", {k: f"in{k}" for k in reads}, {i.index: f"iota{i.index}" for i in iotas}, {}
    )
    chosen = f"NL_DEV bool chosen({', '.join(args)}) {{\n  " + "\n  ".join([*lines, f"return v{flag};"]) + "\n}\n"

    pointers = {k: block.pointer(k, operands[k].code, const=True) for k in reads}
    along = [k for k in reads if operands[k].strides[0] != 0]
    values = {k: loaded(f"a{k}[k].x[v]" if k in along else f"{pointers[k]}[0]", operands[k].code) for k in reads}
    counted = [f"{block.iota_offset(i.index)} + (i + v) * {block.number(f't{i.index}_0', i.strides[0])}" for i in iotas]
    call = f"chosen({', '.join(['p', *(values[k] for k in reads), *counted])})"
    types = {k: MEMORY_TYPES[operands[k].code] for k in along}
    declared = "".join(f"nl::Four<{types[k]}> a{k}[BATCH];\n        " for k in along)
    fast, slow = [], []
    for k in along:
        dense = operands[k].strides[0] == 1
        step = "" if dense else f" * {block.number(f's{k}', operands[k].strides[0])}"
        each = f"for (int v = 0; v < 4; ++v) a{k}[k].x[v] = {pointers[k]}[({{}}){step}];"
        at_once = f"a{k}[k] = *(const nl::Four<{types[k]}>*)({pointers[k]} + i);"
        fast.append(at_once if dense and operands[k].aligned else each.format("i + v"))
        slow.append(each.format("i + v < p.n ? i + v : p.n - 1"))
    block.number("n", n)
    chosen_now = same >= 0 or axes
    most = form.batch if chosen_now else FLAGS if len(program.body) <= SHORT else 4
    batch = batch_of([operands[k] for k in along], form.rows, most, 16 if axes else 24)
    fields, target = "const T* from; T* to; i64 wide;", "p.to"
    counts, fetch = "if (lane == 0) counts[warp] = count;", ""
    write = "nl::write_kept(p.to + at, kept, count);"
    if chosen_now:
        taken = f"NL_COPY(x, a{same}, sizeof(x));"
        if axes:
            fields, target = f"i64* to[{axes}]; i64 shape[{axes}];", "p.to[0]"
            write = f"nl::write_indices<{axes}>(p.to, p.shape, at, first - lane * 4, kept, count);"
            taken = f"""#pragma unroll
        for (int k = 0; k < BATCH; ++k)
#pragma unroll
            for (int v = 0; v < 4; ++v) x[k].x[v] = (u16)((row + k) * {ROW} + lane * 4 + v);"""
        moved = f"""nl::Four<T> x[BATCH];
        {taken}
        count = nl::keep(address, count, flags, x);"""
    else:
        moved = "all_flags |= (u64)flags << 4 * row;\n        count += __popc(flags);"
        counts = f"""#pragma unroll
    for (int d = 16; d; d /= 2) count += __shfl_xor_sync(0xffffffffu, count, d);
    {counts}"""
        fetch = f"""
    count = 0;
    if (p.to)
#pragma unroll 1
    for (int row = 0; row < ROWS; row += {form.batch}) {{
        const u32 flags = (u32)(all_flags >> 4 * row) & {hex((1 << 4 * form.batch) - 1)}u;
        const T* from = p.from + first + row * {ROW};
        nl::Four<T> x[{form.batch}];
#pragma unroll
        for (int k = 0; k < {form.batch}; ++k) {{
            if (whole && p.wide) {{
                if (flags >> 4 * k & 15) x[k] = *(const nl::Four<T>*)(from + k * {ROW});
            }} else
#pragma unroll
                for (int v = 0; v < 4; ++v)
                    if (flags >> (4 * k + v) & 1) x[k].x[v] = nl::fetched(from + k * {ROW} + v);
        }}
        count = nl::keep(address, count, flags, x);
    }}"""
    body = f"""\
typedef {UNIT_TYPES[itemsize]} T;
{block.text().rstrip().removesuffix("};")} {fields} u64* state; i64 launch, group; volatile i64* count_to; }};
{chosen}
extern __shared__ __align__(16) char memory[];
extern "C" __global__ void __launch_bounds__({_bounds(program)}) {entry}(const __grid_constant__ P p) {{
    constexpr int ROWS = {form.rows}, BATCH = {batch}, TILE = {WARPS * ROW} * ROWS;
    i64* earlier = (i64*)memory;
    u32* counts = (u32*)(memory + 16);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    T* kept = (T*)(memory + {HEAD}) + warp * (ROWS * {ROW});
    const nl::SharedAddress address = nl::shared_address(kept);
    const i64 tile = blockIdx.x, first = tile * TILE + warp * (ROWS * {ROW}) + lane * 4;
    const bool whole = (tile + 1) * TILE <= p.n;
    u32 count = 0;
    u64 all_flags = 0;
#pragma unroll 1
    for (int row = 0; row < ROWS; row += BATCH) {{
        {declared}if (whole) {{
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {{
                const i64 i = first + (row + k) * {ROW};
                {_lines(fast)}
            }}
        }} else {{
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {{
                const i64 i = first + (row + k) * {ROW};
                {_lines(slow)}
            }}
        }}
        u32 flags = 0;
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {{
            const i64 i = first + (row + k) * {ROW};
#pragma unroll
            for (int v = 0; v < 4; ++v) flags |= (u32){call} << (4 * k + v);
        }}
        if (!whole) flags &= nl::present(p.n - first - row * {ROW}, BATCH);
        {moved}
    }}
    {counts}
    __syncthreads();
    // One warp adds up the tiles of the group, another one the groups before.
    const i32 tiles = gridDim.x, group = (i32)p.group, number = (i32)tile / group, inside = (i32)tile - number * group;
    if (warp == 0) {{
        u32 own = 0;
#pragma unroll
        for (int w = 0; w < {WARPS}; ++w) own += counts[w];
        if (lane == 0) nl::publish(p.state + tile, p.launch, own);
        const i64 of_tiles = nl::sum_published(p.state + (tile - inside), inside, p.launch);
        if (lane == 0) {{
            earlier[0] = of_tiles;
            if (inside == group - 1) nl::publish(p.state + tiles + number, p.launch, (u32)of_tiles + own);
        }}
    }} else if (warp == 1) {{
        const i64 of_groups = nl::sum_published(p.state + tiles, number, p.launch);
        if (lane == 0) earlier[1] = of_groups;
    }}{fetch}
    __syncthreads();
    i64 at = earlier[0] + earlier[1];
#pragma unroll
    for (int w = 0; w < {WARPS}; ++w) if (w < warp) at += counts[w];
    if (p.count_to && tile == tiles - 1 && threadIdx.x == {THREADS - 1}) *p.count_to = at + counts[{WARPS - 1}];
    if ({target}) {write}
}}
"""
    names = (*select_words(program.select), *LOOK_BACK_WORDS)
    words = (*block.words, *(Word(f"select_{name}") for name in names))
    tile = WARPS * ROW * form.rows
    geometry = Geometry(items=0, grain=1, blocks=-(-n // tile), threads=THREADS, shared=HEAD + tile * itemsize + PAD)
    return KernelSource(prelude(program) + header("kernel") + header("select") + body, entry, words, geometry)


def _lines(texts: list[str]) -> str:
    return f"\n{' ' * 16}".join(texts)


def _bounds(program: Program) -> str:
    return f"{THREADS}, {RESIDENT}" if len(program.body) <= SHORT else f"{THREADS}"
