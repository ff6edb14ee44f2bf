"""Gathers that read runs of memory on the host: along a row their places are steps, cut at few positions.

What rolls, pads and shifts record is a read at places that are computed from the position by sums, comparisons and
choices. Element by element that takes a nanosecond; from one cut to the next it is a row of memory like any other, from
which compilers make vectors or copies. Where the cuts are is computed by the same operations on runs (``runs.hpp``).
"""

from __future__ import annotations

from numloom.base.dtypes import BOOL, I64
from numloom.emit.mapping import MapText
from numloom.emit.values import VALUE_TYPES, behind, gather_instrs, statements
from numloom.plan.program import Instr, Program

OPERATIONS = {
    "add": "nl::run_add({0}, {1})",
    "subtract": "nl::run_subtract({0}, {1})",
    "less": "nl::run_less({0}, {1})",
    "greater": "nl::run_less({1}, {0})",
    "less_equal": "nl::run_not(nl::run_less({1}, {0}))",
    "greater_equal": "nl::run_not(nl::run_less({0}, {1}))",
    "where": "nl::run_where({0}, {1}, {2})",
    "minimum": "nl::run_minimum({0}, {1})",
    "maximum": "nl::run_maximum({0}, {1})",
    "clip": "nl::run_minimum(nl::run_maximum({0}, {1}), {2})",
    "remainder": "nl::run_remainder({0}, {1})",
}
"""What makes runs of runs."""
SUMS = ("add", "subtract", "remainder")
"""Those that are something else for truth values."""

LONG_ROW = 64
"""Elements of a row from which on its cuts are looked for."""
HELD = 256
"""Elements that are brought together where a run's are not neighbours."""


def varying(program: Program, wanted: list[int]) -> set[int]:
    """Which of some instructions of the body differ along the last dimension."""
    found: set[int] = set()
    for number in wanted:
        instr = program.body[number]
        moves = instr.kind == "iota" and instr.strides[-1]
        moves = moves or (instr.kind == "load" and program.operands[instr.operand].strides[-1])
        if moves or not found.isdisjoint(instr.args):
            found.add(number)
    return found


def _is_run(instr: Instr) -> bool:
    if instr.kind == "iota":
        return True
    if instr.kind != "op" or instr.op_def.name not in OPERATIONS:
        return False
    return instr.code == I64 or (instr.code == BOOL and instr.op_def.name not in SUMS)


def gathers_in_runs(program: Program) -> list[int]:
    """The gathers of a map's body if all of them read runs; none of what reduces or repeats."""
    body = program.body
    if program.kept < len(program.shape) or program.repeat is not None:
        return []
    gathers = gather_instrs(body)
    wanted = behind(body, [arg for n in gathers for arg in body[n].args])
    moving = varying(program, wanted)
    if any(body[number].kind in ("gather", "nested") for number in wanted):
        return []
    if not all(_is_run(body[number]) and _whole(body, number) for number in moving):
        return []
    if moving and program.shape[-1] < LONG_ROW:
        return []
    return gathers if all(_by_neighbours(program, n, moving) for n in gathers) else []


def _by_neighbours(program: Program, gather: int, moving: set[int]) -> bool:
    """Whether what is read a step further lies beside: of what lies apart nothing is gained."""
    instr = program.body[gather]
    steps = [stride for arg, (_, stride) in zip(instr.args, instr.strides, strict=True) if arg in moving]
    own = program.operands[instr.operand].strides[-1]
    return own == 1 if not steps else len(steps) == 1 and steps[0] == 1 and own == 0


def _whole(body: tuple[Instr, ...], number: int) -> bool:
    """Whether an operation is of indices and truth values."""
    return all(body[arg].code in (I64, BOOL) for arg in body[number].args)


def run_places(kernel: MapText) -> str:
    """The function that says where each gather reads at a position, how far apart, and for how many elements."""
    program, block = kernel.program, kernel.block
    body, last = program.body, len(program.shape) - 1
    wanted, reads, iotas = kernel.placing
    moving = varying(program, wanted)
    fixed = [number for number in wanted if number not in moving]
    lines = statements(
        body, block, "v", {k: f"in{k}" for k in reads}, {i.index: f"iota{i.index}" for i in iotas}, {}, only=fixed
    )

    def run(number: int) -> str:
        return f"v{number}" if number in moving else f"nl::run_of((i64)v{number})"

    for number in sorted(moving):
        instr = body[number]
        if instr.kind == "iota":
            text = f"{{iota{instr.index}, {block.number(f't{instr.index}_{last}', instr.strides[last])}, left}}"
        else:
            text = OPERATIONS[instr.op_def.name].format(*map(run, instr.args))
        lines.append(f"const nl::Run v{number} = {text};")
    for n in kernel.taken:
        instr, operand = body[n], program.operands[body[n].operand]
        lines.append(f"nl::Run r{n} = {{0, {block.number(f's{instr.operand}_{last}', operand.strides[last])}, left}};")
        for k, (arg, (extent, stride)) in enumerate(zip(instr.args, instr.strides, strict=True)):
            most = block.number(f"ge{instr.index}_{k}", extent)
            at = f"nl::run_from_end({run(arg)}, {most})"
            if not instr.inside:
                at = f"nl::run_checked({run(arg)}, {most}, {block.error()}, {block.location(instr.index)})"
            step = block.number(f"gs{instr.index}_{k}", stride)
            lines.append(f"r{n} = nl::run_add(r{n}, nl::run_times({at}, {step}));")
        lines.append(f"at{n} = r{n}.at; step{n} = r{n}.step; left = nl::fewer(left, r{n}.left);")
    args = ["const P& p"]
    args += [f"{VALUE_TYPES[program.operands[k].code]} in{k}" for k in reads]
    args += [f"i64 iota{i.index}" for i in iotas] + [f"i64& at{n}" for n in kernel.taken]
    args += ["i64& left", *(f"i64& step{n}" for n in kernel.taken)]
    return f"NL_DEV void places({', '.join(args)}) {{\n  " + "\n  ".join(lines) + "\n}\n"


__all__ = ["HELD", "OPERATIONS", "gathers_in_runs", "run_places", "varying"]
