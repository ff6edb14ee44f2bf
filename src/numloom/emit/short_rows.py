"""Maps over short rows on the host: what the elements of a row are made of is loaded once, and rows are taken beside
each other.

A row of two or three elements (or of two by three) is less work than its beginning and end. So the loop goes over
neighbouring rows, and a row's elements, whose number is in the text, stand one after the other in it: compilers make
vectors of that.
"""

from __future__ import annotations

from itertools import product

from numloom.base.dtypes import CTYPES
from numloom.emit.block import MEMORY_TYPES
from numloom.emit.mapping import MapText
from numloom.emit.values import loaded

LONGEST = 8
"""Elements of a row up to which it is short."""
ABREAST = 8
"""Rows from which on they are taken beside each other."""
COST = 64
"""Most that the operations of a row may cost, whose text is repeated for each element."""


def short_axes(kernel: MapText) -> int:
    """How many last axes of a map are a short row that lies beside others; 0 where it is not for here."""
    program, short, length = kernel.program, 0, 1
    if kernel.iotas or kernel.gathers or program.box is not None:
        return 0
    if any(operand.in_place for operand in program.operands):
        return 0
    while short < kernel.rank - 1 and length * program.shape[-1 - short] <= LONGEST:
        length *= program.shape[-1 - short]  # Which is still a size: only the text needs its number.
        short += 1
    cost = sum(instr.op_def.cost for instr in program.body if instr.op_def is not None)
    if length < 2 or cost * length > COST or program.shape[-1 - short] < ABREAST:
        return 0
    return short


def short_rows_text(kernel: MapText, entry: str, short: int) -> str:
    """The host's function; an item is a row, which are the last `short` axes."""
    program, number = kernel.program, kernel.block.number
    lead = kernel.rank - short
    shape = [int(extent) for extent in program.shape[lead:]]
    lines = [f'extern "C" void {entry}(const P* block, i64 begin, i64 end) {{', "const P p = *block;"]
    lines += ["for (i64 row = begin, rows; row < end; row += rows) {", "i64 rest = row;"]
    for d in range(lead - 1, 0, -1):
        extent = number(f"e{d}", program.shape[d])
        lines.append(f"const i64 i{d} = rest % {extent}; rest /= {extent};")
    lines.append("const i64 i0 = rest;")
    lines.append(f"rows = {number(f'e{lead - 1}', program.shape[lead - 1])} - i{lead - 1};")
    lines.append("rows = rows < end - row ? rows : end - row;")
    used = list(dict.fromkeys([*kernel.reads, *(store.operand for store in program.stores)]))
    kinds, starts = [], []
    for k in used:
        operand = program.operands[k]
        const = "" if operand.written else "const "
        kinds.append(f"{const}{MEMORY_TYPES[operand.code]}* __restrict__ y{k}")
        begin = [f"i{d} * {number(f's{k}_{d}', operand.strides[d])}" for d in range(lead) if operand.strides[d]]
        starts.append(f"{kernel.pointer(k)} + {' + '.join(begin) or '0'}")
    # Of parameters only, compilers believe that nothing else points there.
    lines += [f"[&]({', '.join(kinds)}) __attribute__((always_inline)) {{", "NL_IVDEP"]
    lines.append("for (i64 i = 0; i < rows; ++i) {")

    def place(k: int, at: tuple[int, ...]) -> str:
        """The element at `at` of row `i`; short strides are in the text, so that neighbours are seen to be such."""
        terms = []
        for name, d in zip(("i", *at), range(lead - 1, kernel.rank), strict=True):
            stride = program.operands[k].strides[d]
            if stride and name:
                near = 0 < stride <= LONGEST
                terms.append(f"{name} * {int(stride) if near else number(f's{k}_{d}', stride)}")
        return f"y{k}[{' + '.join(terms) or '0'}]"

    stores = []
    for count, at in enumerate(product(*map(range, shape))):
        values = {k: loaded(place(k, at), program.operands[k].code) for k in kernel.reads}
        outs = {store.operand: f"r{store.operand}_{count}" for store in program.stores}
        for k, name in outs.items():
            lines.append(f"{CTYPES[program.operands[k].code]} {name};")
            stores.append(f"{place(k, at)} = {name};")
        lines.append(kernel.call(values, [], "i64", outs))
    return "\n".join([*lines, *stores, "}", f"}}({', '.join(starts)});", "}", "}"]) + "\n"


__all__ = ["short_axes", "short_rows_text"]
