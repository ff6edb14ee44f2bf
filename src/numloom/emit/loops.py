"""Single-operation loops: what the CPU runs at once while a fused kernel is being compiled.

Each loop is the emitter's own text of a program of one operation, so its bits are those of any
kernel that holds the operation. Only operations whose bits NumPy does not give need one.
``python -m numloom.emit.loops OUT.cpp`` writes all of them as one translation unit, which is
compiled when the package is built.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache

from numloom.base.dtypes import CHARS, DTYPES, LOW
from numloom.emit.maps import emit_map
from numloom.emit.values import header, prelude
from numloom.ops.definitions import OpDef
from numloom.ops.elementwise import ELEMENTWISE, HEADERS, resolve
from numloom.ops.single_loops import CASTS, loop_name
from numloom.ops.special import SPECIAL
from numloom.plan.program import Instr, KernelSource, Operand, Program, Store


def loop_program(op: OpDef, in_codes: tuple[int, ...], out_code: int) -> Program:
    """A map of one operation over contiguous memory."""
    body = tuple(Instr("load", code, operand=k) for k, code in enumerate(in_codes))
    body += (Instr("op", out_code, tuple(range(len(in_codes))), op_def=op),)
    operands = tuple(Operand(code, (1,), word=0) for code in in_codes)
    operands += (Operand(out_code, (1,), word=0, written=True),)
    return Program((1024,), 1, body, (Store(len(in_codes), len(in_codes)),), operands)


@cache
def loop_source(op: OpDef, in_codes: tuple[int, ...], out_code: int) -> KernelSource:
    """The loop as a kernel of its own; its parameters are `numloom.ops.single_loops.loop_words`."""
    in_chars = "".join(CHARS[code] for code in in_codes)
    return emit_map(loop_program(op, in_codes, out_code), loop_name(op, in_chars))


def all_loops() -> Iterator[tuple[OpDef, tuple[int, ...], int]]:
    """Every loop that NumPy's bits or pace do not serve (what is computed in float32 has the loop of that)."""
    for op in (*ELEMENTWISE.values(), *CASTS.values(), *SPECIAL.values()):
        if op.exact and op.exact_kinds == "?biufc" and not op.looped:
            continue
        seen = set()
        for dtype in [dtype for code, dtype in enumerate(DTYPES) if code not in LOW]:
            try:
                in_codes, out_code = resolve(op, (dtype,) * op.nin)
            except TypeError:
                continue
            chars = "".join(CHARS[code] for code in in_codes)
            if in_codes not in seen and not op.is_numpys(chars):
                seen.add(in_codes)
                yield op, in_codes, out_code


def loops_text() -> str:
    """One translation unit with every loop."""
    parts = [header(name) for name in HEADERS]
    parts.append(header("kernel"))
    for number, (op, in_codes, out_code) in enumerate(all_loops()):
        source = loop_source(op, in_codes, out_code)
        program = loop_program(op, in_codes, out_code)
        own = source.text[len(prelude(program)) + len(header("kernel")) :]
        parts.append(f"namespace loop{number} {{\n{own}}}\n")
    return "".join(parts)


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(loops_text())
