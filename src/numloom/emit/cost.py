"""What a program computes, and how long one of the host's threads takes, roughly.

What is worth sharing among threads is cut into pieces of some microseconds.

Measured on two cores of an AMD EPYC: a kernel costs a microsecond more when its helpers are awake, and from 5 to 40
when they have to be woken. So a piece is of 10 (`GRAIN`), and the pool wakes nobody for fewer than four
(``threads.hpp``).
"""

from __future__ import annotations

from math import prod

from numloom.base.dtypes import ITEMSIZES, KINDS
from numloom.emit.runs import gathers_in_runs
from numloom.plan.program import Program
from numloom.plan.sizes import of_sizes

GRAIN = 10_000.0
"""Nanoseconds of a piece."""
SHARED_PIECES = 2
"""Pieces from which on it pays that threads share them."""
BYTES = 100.0
"""Bytes that a thread moves in a nanosecond, from its second cache."""
INSTRUCTION = 0.005
"""Nanoseconds of an instruction for a byte of a vector's element."""
SCALAR, SHORT = 16, 3
"""How much longer functions of complex numbers take, which are computed one by one, or first in short forms."""
GATHER = 2.0
"""Nanoseconds of a read at an index."""
FUNCTIONS_HERE = {
    "log": 12, "log2": 10, "log10": 11, "log1p": 16, "sin": 18, "cos": 18, "tan": 22, "arcsin": 12, "arccos": 12,
    "arctan": 14, "sinh": 15, "cosh": 12, "tanh": 14, "arcsinh": 24, "arccosh": 24, "arctanh": 11, "cbrt": 15,
    "power": 48, "float_power": 48, "arctan2": 22, "hypot": 15, "erf": 40, "erfc": 75, "ndtr": 160,
    "floor_divide": 14, "remainder": 12, "fmod": 10, "erfinv": 120, "erfcinv": 160, "ndtri": 160,
}  # fmt: skip
"""Instructions of real functions that take another number here than on a GPU."""
RUN = 0.5
"""Nanoseconds of an element of moments."""
LONG = 10
"""Cost of an expression without branches from which on a loop takes several vectors unrolled."""
UNROLLED = ((150, 4), (300, 2))
"""How many, by the cost: what is longer has work enough, and takes long to compile."""
FUNCTIONS = {
    "exp": 1, "log": 1, "logaddexp": 2, "hyperbolic": 1, "inverse_trigonometric": 1, "power": 2, "ldexp": 1,
    "loop_sin": 1, "loop_cos": 1, "loop_tan": 1, "erf": 2, "erf_inverse": 2,
    "division": 1,
}  # fmt: skip
"""Headers with functions of real numbers that are long and have no branch in short forms; how many wait for each other.

Two vectors unrolled are enough for one, and keep what they need in registers (measured).
"""
STRAIGHT = FUNCTIONS.keys() | {"integer", "order", "libm"}
"""Headers whose functions of real numbers have no branch."""


def nanoseconds(program: Program) -> float:
    """Nanoseconds of an element of the program's space."""
    body, operands = program.body, program.operands
    runs = gathers_in_runs(program)
    total = sum(ITEMSIZES[operands[store.operand].code] for store in program.stores) / BYTES
    for reduction in program.reductions:
        total += RUN if reduction.op_def.run else INSTRUCTION * ITEMSIZES[body[reduction.value].code]
    for instr in body:
        if instr.kind == "load" and any(operands[instr.operand].strides):
            total += ITEMSIZES[instr.code] / BYTES
        elif instr.kind == "gather":
            total += ITEMSIZES[instr.code] / BYTES if runs else GATHER
        elif instr.kind in ("op", "cast") and instr.args:
            code = max((body[arg].code for arg in instr.args), key=ITEMSIZES.__getitem__)
            cost, exact = (1, True) if instr.op_def is None else (instr.op_def.cost, instr.op_def.exact)
            alone = KINDS[code] == "c" and not exact
            if KINDS[code] == "f" and instr.op_def is not None:
                cost = FUNCTIONS_HERE.get(instr.op_def.name, cost)
            longer = SHORT if instr.op_def is not None and "c" in instr.op_def.fast_path else SCALAR
            total += INSTRUCTION * ITEMSIZES[code] * cost * (longer if alone else 1)
    return total


def grain_of(program: Program, elements: int) -> int:
    """Items that are a piece of work, an item being so many elements of the space."""
    return items_of(nanoseconds(program), elements)


@of_sizes
def items_of(each: float, elements: int) -> int:
    """Items that are a piece of work, at so many nanoseconds an element."""
    return max(1, int(GRAIN / max(each * max(elements, 1), 0.01)))


def pieces_of(program: Program, elements: int) -> int:
    """Pieces of work that so many elements of the program's space are."""
    return whole_pieces(nanoseconds(program), elements)


@of_sizes
def whole_pieces(each: float, elements: int) -> int:
    """Pieces of work at so many nanoseconds an element."""
    return int(each * elements / GRAIN)


def vectors_unrolled(program: Program) -> int:
    """Vectors that a loop over the program's elements takes at a time."""
    cost = functions = 0
    runs = gathers_in_runs(program)
    for instr in program.body:
        if (instr.kind == "gather" and not runs) or KINDS[instr.code] == "c":
            return 1
        if instr.kind == "op" and KINDS[instr.code] == "f":
            if instr.op_def.preamble or not STRAIGHT.issuperset(instr.op_def.headers):
                return 1
            deep = max((FUNCTIONS.get(name, 0) for name in instr.op_def.headers), default=0)
            functions += deep
            cost += instr.op_def.cost if deep else 0
    many = next((many for most, many in UNROLLED if LONG <= cost <= most), 1)
    return min(many, 2) if functions == 1 else many


def work_of(program: Program) -> tuple[int, int]:
    """Elementwise operations and combined elements, and the device instructions they are about."""
    points = prod(program.shape) * (1 if program.repeat is None else program.repeat.steps)
    outputs = prod(program.shape[: program.kept])
    operations = instructions = 0
    inside = [(inner.body, points * inner.shape[0]) for inner in program.nested]
    for instrs, count in ((program.body, points), (program.post, outputs), *inside):
        op_defs = [instr.op_def for instr in instrs if instr.kind == "op"]
        operations += len(op_defs) * count
        instructions += sum(op_def.cost for op_def in op_defs) * count
        instructions += 2 * count * sum(instr.kind == "cast" for instr in instrs)
    combined = points * len(program.reductions) + sum(points * inner.shape[0] for inner in program.nested)
    return operations + combined, instructions + combined


__all__ = ["SHARED_PIECES", "grain_of", "nanoseconds", "pieces_of", "vectors_unrolled", "work_of"]
