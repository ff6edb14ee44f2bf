"""Reductions of their own for users' texts that cannot be fused: raw inputs, carriers that are no dtype, options.

The loop runs over the outputs' dimensions, then the reduced ones. A row is cut into parts; a part is reduced by one
block on CUDA (its threads' results by halving in shared memory) and by one item on the CPU, and the parts of a row in
order by ``ENTRY_finish``.
"""

from __future__ import annotations

from collections.abc import Sequence

from numloom.emit.user import USER_TYPES, guarded, part, user_text
from numloom.emit.user_loop import (
    Slot,
    UserKernel,
    block_text,
    count_of,
    elements,
    first_line,
    numbers_given,
    raw_arrays,
)

NUMBERS = ("count", "parts", "length", "work")
"""Numbers of the block behind n, the outputs: elements of a row, its parts, the length of all but the last, address of
partial results.
Then come `order`, the steps of `i` along the loop's dimensions, and the loop's extents."""
ACCUMULATOR_BYTES = 256
"""Room of a partial result in scratch memory."""


def _indexer(name: str, count: str, rank: int) -> str:
    sets = " ".join(f"{name}.extents[{d}] = nl_p.extents[{d}];" for d in range(rank))
    return f"nl_user::indexer<{rank}> {name};\n{name}.count = {count}; {sets}\n"


def emit_reduce(
    name: str, slots: Sequence[Slot], rank: int, kept: int, types: Sequence[tuple[str, str]], *, accumulator: str,
    preamble: str, map_expr: str, reduce_expr: str, post_map_expr: str, identity: str | None, threads: int,
    options: Sequence[str] = (),
) -> UserKernel:  # fmt: skip
    """A kernel that reduces the last ``rank - kept`` dimensions; `slots` are inputs, then what is written."""
    ins = [slot for slot in slots if not slot.written]
    order = " + ".join(f"_ind.at[{d}] * nl_p.order[{d}]" for d in range(rank)) or "0"
    start = "r.any = false;"
    if identity is not None:
        start = "r.any = true;" + part("identity", identity, " r.value = (_type_reduce)(", ");")
    sizes = "const nl_extent _in_ind = { nl_p.n * nl_p.count }, _out_ind = { nl_p.n };\n"
    outs = "".join(
        f"{USER_TYPES[slot.code]}& {slot.name} = "
        f"*({USER_TYPES[slot.code]}*)(nl_p.a{k} + nl_user::offset<{kept}>(nl_ind.at, nl_p.s{k}));\n"
        for k, slot in enumerate(slots)
        if slot.written
    )
    body = (
        part("reduce_type", accumulator, "typedef", "_type_reduce;")
        + "struct nl_held { _type_reduce value; bool any; };\n"
        f'static_assert(sizeof(nl_held) <= {ACCUMULATOR_BYTES}, "reduce_type is larger than a reduction can carry");\n'
        "struct nl_extent { i64 count; NL_METHOD i64 size() const { return count; } };\n"
        f"NL_DEV nl_held nl_none() {{ nl_held r; {start} return r; }}\n"
        "NL_DEV _type_reduce nl_combine(_type_reduce a, _type_reduce b) {\n"
        + part("reduce_expr", reduce_expr, "return (_type_reduce)(", ");") + "}\n"
        "NL_DEV nl_held nl_merge(nl_held x, nl_held y) {\n"
        "if (!x.any) return y;\nif (!y.any) return x;\nx.value = nl_combine(x.value, y.value);\nreturn x;\n}\n"
        "NL_DEV nl_held nl_map(const nl_params& nl_p, i64 nl_at) {\n" + count_of(slots, "nl_p.n * nl_p.count")
        + _indexer("_ind", "nl_p.n * nl_p.count", rank) + f"_ind.set(nl_at);\nconst ptrdiff_t i = {order};\n" + sizes
        + raw_arrays(ins) + numbers_given(ins) + elements(ins, rank)
        + "nl_held nl_r;\nnl_r.any = true;\n" + part("map_expr", map_expr, "nl_r.value = (_type_reduce)(", ");")
        + "return nl_r;\n}\n"
        "NL_DEV nl_held nl_reduce(const nl_params& p, i64 row, i64 from, i64 to, i64 step) {\n"
        "nl_held r = nl_none();\n"
        "for (i64 j = from; j < to; j += step) r = nl_merge(r, nl_map(p, row * p.count + j));\nreturn r;\n}\n"
        "NL_DEV void nl_finish(const nl_params& nl_p, i64 nl_row, nl_held nl_r) {\n"
        + sizes + numbers_given(ins)
        + _indexer("nl_ind", "nl_p.n", kept) + "nl_ind.set(nl_row);\n_type_reduce a = nl_r.value;\n" + outs
        + part("post_map_expr", post_map_expr, "do {", "; } while (0);") + "}\n"
    )  # fmt: skip
    parts = (
        ("map_expr", map_expr), ("reduce_expr", reduce_expr), ("post_map_expr", post_map_expr),
        ("identity", identity or ""), ("reduce_type", accumulator),
    )  # fmt: skip
    block = block_text(slots, rank, (*NUMBERS, f"order[{max(rank, 1)}]"))
    user = user_text(name, preamble, types, body, parts, [slot.code for slot in slots], ("user_loop",), block)
    entry = f"{name}_{user.space.rpartition('_')[2]}"
    space = user.space
    # Not the smaller of two numbers: see `ParameterBlock.narrow`.
    ends = "const i64 from = part * p.length, to = part + 1 < p.parts ? from + p.length : p.count;\n"
    merged = (
        f"{space}::nl_held r = {space}::nl_none();\nfor (i64 k = 0; k < p.parts; ++k) "
        f"r = {space}::nl_merge(r, *({space}::nl_held*)(p.work + (row * p.parts + k) * {ACCUMULATOR_BYTES}));\n"
        f"{space}::nl_finish(p, row, r);\n"
    )
    cuda = (
        f'extern "C" __global__ void {entry}(const __grid_constant__ nl_params p) {{\n'
        "const i64 row = blockIdx.x / p.parts, part = blockIdx.x % p.parts;\nconst int t = threadIdx.x;\n"
        + ends
        + f"__shared__ alignas(16) char memory[{threads} * sizeof({space}::nl_held)];\n"
        f"{space}::nl_held* const all = ({space}::nl_held*)memory;\n"
        f"all[t] = {space}::nl_reduce(p, row, from + t, to, {threads});\n__syncthreads();\n"
        f"for (int half = {threads // 2}; half > 0; half /= 2) {{\n"
        f"if (t < half) all[t] = {space}::nl_merge(all[t], all[t + half]);\n__syncthreads();\n}}\n"
        f"if (t == 0) {{\nif (p.parts == 1) {space}::nl_finish(p, row, all[0]);\n"
        f"else *({space}::nl_held*)(p.work + (i64)blockIdx.x * {ACCUMULATOR_BYTES}) = all[0];\n}}\n}}\n"
        f'extern "C" __global__ void {entry}_finish(const __grid_constant__ nl_params p) {{\n'
        f"const i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x;\nif (row < p.n) {{\n{merged}}}\n}}\n"
    )
    cpu = (
        f'extern "C" void {entry}(const nl_params* block, i64 begin, i64 last) {{\nconst nl_params p = *block;\n'
        "for (i64 item = begin; item < last; ++item) {\nconst i64 row = item / p.parts, part = item % p.parts;\n"
        + ends + f"const {space}::nl_held r = {space}::nl_reduce(p, row, from, to, 1);\n"
        f"if (p.parts == 1) {space}::nl_finish(p, row, r);\n"
        f"else *({space}::nl_held*)(p.work + item * {ACCUMULATOR_BYTES}) = r;\n}}\n}}\n"
        f'extern "C" void {entry}_finish(const nl_params* block, i64 begin, i64 last) {{\nconst nl_params p = *block;\n'
        f"for (i64 row = begin; row < last; ++row) {{\n{merged}}}\n}}\n"
    )  # fmt: skip
    text = f"{first_line(options)}{user.prelude()}#ifdef __CUDACC__\n{cuda}#else\n{cpu}#endif\n"
    return UserKernel(user, guarded(text, entry), entry)


__all__ = ["ACCUMULATOR_BYTES", "emit_reduce"]
