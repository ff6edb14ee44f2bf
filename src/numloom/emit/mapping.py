"""What all kernels of maps have in common: an element's function, where operands lie, and the box."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

from numloom.base.dtypes import CTYPES
from numloom.emit.block import MEMORY_TYPES, ParameterBlock
from numloom.emit.values import (
    VALUE_TYPES,
    behind,
    gather_instrs,
    gather_offset,
    iota_instrs,
    read_operands,
    statements,
    stored,
)
from numloom.plan.program import Instr, Program
from numloom.plan.sizes import of_sizes

THREADS = 256


def index_type(program: Program) -> str:
    """i32 where every index and offset of the space fits in 31 bits, else i64."""
    limit = 2**31 - 2**16
    if prod(program.shape) >= limit:
        return "i64"
    for operand in program.operands:
        reach = sum(abs(s) * max(e - 1, 0) for s, e in zip(operand.strides, program.shape, strict=False))
        if reach >= limit:
            return "i64"
    return "i32"


@of_sizes
def magic(divisor: int, kind: str) -> tuple[int, int]:
    """Multiplier and shift for division of numbers of an index type (see `divide` in kernel.hpp)."""
    divisor = max(divisor, 1)
    width = (divisor - 1).bit_length()
    if kind == "i32":
        return -(-(1 << (31 + width)) // divisor), 31 + width
    multiplier = -(-(1 << (63 + width)) // divisor)
    return multiplier - (1 << 64 if multiplier >> 63 else 0), width


class MapText:
    """A program without reductions, and its parameter block.

    `taken` are gathers whose places are the same for neighbours: these are computed once for all of them.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.block = ParameterBlock()
        self.index = index_type(program)
        self.rank = len(program.shape)
        self.reads = read_operands(program.body)
        self.iotas = iota_instrs(program.body)
        self.gathers = gather_instrs(program.body)
        self.taken: list[int] = []

    def element(self, fast: bool = False) -> str:
        """The function that computes one element's outputs from its inputs; a fast one may set ``slow`` instead."""
        program = self.program
        args = ["const P& p"]
        args += [f"{VALUE_TYPES[program.operands[k].code]} in{k}" for k in self.reads]
        args += [f"i64 iota{i.index}" for i in self.iotas]
        for n in self.gathers:
            code = program.operands[program.body[n].operand].code
            args.append(f"{VALUE_TYPES[code]} taken{n}" if self.taken else f"const {MEMORY_TYPES[code]}* g{n}")
        args += [f"{CTYPES[program.operands[s.operand].code]}& out{s.operand}" for s in program.stores]
        lines = statements(
            program.body,
            self.block,
            "v",
            {k: f"in{k}" for k in self.reads},
            {i.index: f"iota{i.index}" for i in self.iotas},
            {n: f"g{n}" for n in self.gathers},
            taken={n: f"taken{n}" for n in self.taken},
            fast=fast,
        )
        for store in program.stores:
            lines.append(f"out{store.operand} = {stored(f'v{store.value}', program.operands[store.operand].code)};")
        name = "element"
        if fast:
            name, args = "fast_element", [*args, "nl::SlowFlags& slow"]
        places = self._places() if self.taken and not fast else ""
        return f"{places}NL_DEV void {name}({', '.join(args)}) {{\n  " + "\n  ".join(lines) + "\n}\n"

    def _places(self) -> str:
        """The function that computes where rows begin that are taken."""
        body, block = self.program.body, self.block
        wanted, reads, iotas = self.placing
        lines = statements(
            body, block, "v", {k: f"in{k}" for k in reads}, {i.index: f"iota{i.index}" for i in iotas}, {}, only=wanted
        )
        lines += [f"at{n} = {gather_offset(body[n], block, 'v')};" for n in self.taken]
        args = ["const P& p"]
        args += [f"{VALUE_TYPES[self.program.operands[k].code]} in{k}" for k in reads]
        args += [f"i64 iota{i.index}" for i in iotas] + [f"i64& at{n}" for n in self.taken]
        return f"NL_DEV void places({', '.join(args)}) {{\n  " + "\n  ".join(lines) + "\n}\n"

    @cached_property
    def placing(self) -> tuple[list[int], list[int], list[Instr]]:
        """What the places of taken rows are computed by: numbers of instructions, operands, iotas."""
        body = self.program.body
        wanted = behind(body, [arg for n in self.taken for arg in body[n].args])
        instrs = [body[number] for number in wanted]
        return wanted, read_operands(instrs), iota_instrs(instrs)

    def find_places(
        self, values: dict[int, str], indices: list[str], held: str = "", arguments: Sequence[str] = ()
    ) -> list[str]:
        """Statements that give the places of taken rows, with loaded values; `held` is a subscript of declared ones.

        `arguments` are others that the function takes: then all are declared.
        """
        _, reads, iotas = self.placing
        args = ["p", *(values[k] for k in reads)]
        for iota in iotas:
            args.append(self._number(iota, indices))
        args += [*(f"at{n}{held}" for n in self.taken), *arguments]
        declared = [] if held or arguments else ["i64 " + ", ".join(f"at{n}" for n in self.taken) + ";"]
        return [*declared, f"places({', '.join(args)});"]

    def pointer(self, k: int) -> str:
        operand = self.program.operands[k]
        return self.block.pointer(k, operand.code, const=not operand.written and not operand.in_place)

    def _number(self, iota: Instr, indices: list[str], first: str = "") -> str:
        """The value of an iota at indices; `first` is the inner index of `v` neighbours' first.

        Which neighbours share a block of random numbers a compiler finds where it sees a multiple of four, or of the
        neighbours' number, and bits set in it: from a sum it does not.
        """
        begin = self.block.iota_offset(iota.index)
        if not iota.by_four:
            return f"{begin} + (i64)({self.offset(f't{iota.index}', iota.strides, indices, 'i64')})"
        shared = first and iota.strides[-1] == 1
        indices = [*indices[:-1], f"({first} + (v & -4))"] if shared else indices
        offset = self.offset(f"t{iota.index}", iota.strides, indices, "i64", " & -4")
        return f"(({begin} & -4) + (i64)({offset}))" + (" | (v & 3)" if shared else "")

    def offset(self, name: str, strides: tuple[int, ...], indices: list[str], kind: str, rounded: str = "") -> str:
        """Sum of index times stride; a stride of 0 or 1 along the inner axis is part of the text."""
        terms = []
        for d, index in enumerate(indices):
            stride = strides[d]
            if d == self.rank - 1 and stride in (0, 1):
                if stride:
                    terms.append(index)
            elif self.rank == 1 or d == self.rank - 1 or any(strides[:-1]):
                number = self.block.number(f"{name}_{d}", stride)
                outer = rounded and d < self.rank - 1
                terms.append(f"{index} * ({number}{rounded})" if outer else f"{index} * ({kind}){number}")
        return " + ".join(terms) or "0"

    def call(
        self,
        values: dict[int, str],
        indices: list[str],
        kind: str,
        outs: dict[int, str],
        taken: dict[int, str] | None = None,
        first: str = "",
        fast: bool = False,
    ) -> str:
        """The call of `element` at indices: loaded values and output lvalues by operand, taken values by gather."""
        program = self.program
        args = ["p", *(values[k] for k in self.reads)]
        for iota in self.iotas:
            args.append(self._number(iota, indices, first))
        args += [(taken or {})[n] for n in self.taken]
        for n in self.gathers if not self.taken else []:
            k = program.body[n].operand
            args.append(f"{self.pointer(k)} + ({self.offset(f's{k}', program.operands[k].strides, indices, kind)})")
        args += [outs[s.operand] for s in program.stores]
        return f"fast_element({', '.join(args)}, slow);" if fast else f"element({', '.join(args)});"

    def store_offset(self, k: int, names: list[str], kind: str) -> str:
        return self.offset(f"s{k}", self.program.operands[k].strides, names, kind)

    # ------------------------------------------------------------ boxes

    def around(self, indices: list[str], kind: str) -> str:
        """The element outside of the box at indices."""
        program = self.program
        box = program.box
        assert box is not None
        if box.fill >= 0:
            return self.block.param(box.fill, program.operands[program.stores[0].operand].code)
        offset = self.offset(f"s{box.base}", program.operands[box.base].strides, indices, kind)
        return f"{self.pointer(box.base)}[{offset}]"

    def box_full(self, d: int) -> bool:
        """Whether the box holds every index along a dimension."""
        box = self.program.box
        assert box is not None
        return box.starts[d] == 0 and box.steps[d] == 1 and box.counts[d] == self.program.shape[d]

    def box_end(self, d: int) -> int:
        """One past the last index of the box."""
        box = self.program.box
        assert box is not None
        return box.starts[d] + box.steps[d] * (box.counts[d] - 1) + 1

    def box_grid(self, d: int, name: str, kind: str) -> str:
        """Whether an index lies on the box's steps; empty where they are 1."""
        box = self.program.box
        assert box is not None
        if box.steps[d] == 1:
            return ""
        start, step = self.block.number(f"bs{d}", box.starts[d]), self.block.number(f"bt{d}", box.steps[d])
        return f"({name} - ({kind}){start}) % ({kind}){step} == 0"

    def box_test(self, d: int, name: str, kind: str) -> str:
        """Whether an index lies in the box along a dimension."""
        box = self.program.box
        assert box is not None
        start, end = self.block.number(f"bs{d}", box.starts[d]), self.block.number(f"be{d}", self.box_end(d))
        grid = self.box_grid(d, name, kind)
        return f"{name} >= ({kind}){start} && {name} < ({kind}){end}" + (f" && {grid}" if grid else "")


__all__ = ["THREADS", "MapText", "index_type", "magic"]
