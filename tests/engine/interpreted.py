"""Cases of the emitter's tests, run by the interpreter."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from programs import Case, Result, host_library

from numloom.base.dtypes import CHARS, F16, F32
from numloom.device import complaints
from numloom.emit.loops import loop_source
from numloom.engine.interpret import can_interpret, interpret
from numloom.ops.reduction_tree import operation_of
from numloom.ops.single_loops import CASTS, loop_name


class Loops:
    """Single-operation loops, each compiled when it is asked for."""

    def __init__(self) -> None:
        self.sources: dict[str, Any] = {}

    def offer(self, case: Case) -> None:
        """Make the loops of a case's operations available."""
        for instrs in (case.program.body, case.program.post):
            for instr in instrs:
                op_def = CASTS.get(instr.code) if instr.kind == "cast" else instr.op_def
                if op_def is not None:
                    codes = tuple(instrs[arg].code for arg in instr.args)
                    name = loop_name(op_def, "".join(CHARS[code] for code in codes))
                    self.sources[name] = (op_def, codes, instr.code)

        for reduction in case.program.reductions:
            op = operation_of(reduction.op_def)
            if op is not None:
                code = case.program.body[reduction.value].code
                code = F32 if code == F16 else code
                self.sources[loop_name(op, CHARS[code] * 2)] = (op, (code, code), code)

    def address(self, name: str) -> int:
        """Address of a loop, 0 where it was not offered."""
        if name not in self.sources:
            return 0
        source = loop_source(*self.sources[name])
        return ctypes.cast(getattr(host_library(source.text), source.entry), ctypes.c_void_p).value or 0


class Host:
    """What the interpreter needs of a device."""

    def __init__(self) -> None:
        self.loops = Loops()
        self.error = np.zeros(complaints.WORDS, np.int64)

    def error_address(self) -> int:
        return int(self.error.ctypes.data)


def run_interpreted(case: Case) -> Result | None:
    """Run a case by the interpreter; None where it says that it would give other bits."""
    device = Host()
    device.loops.offer(case)
    if not can_interpret(case.program, device.loops):
        return None
    memory = case.fresh()
    interpret(case.program, case.pointers(memory), case.params, case.iota_offsets, device)
    return Result(memory, int(device.error[0]))
