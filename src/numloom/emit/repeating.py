"""Maps that are gone over again and again, as the body of a loop: the state never leaves the core that computes it.

CUDA: a thread an element, its state in registers. CPU: some elements at a time, whose state lies in the first cache,
so that each step is a loop that the compiler makes vectors of.
"""

from __future__ import annotations

from math import prod

from numloom.base.dtypes import CTYPES
from numloom.emit.block import MEMORY_TYPES
from numloom.emit.cost import grain_of
from numloom.emit.mapping import THREADS, MapText
from numloom.emit.values import header, loaded, prelude
from numloom.plan.program import Geometry, Instr, KernelSource, Program, Repeat

TILE = 256
"""Elements that a core of the host takes through all steps before it goes on."""


def emit_repeated(program: Program, entry: str) -> KernelSource:
    """Emit a map with `Program.repeat`; the entry's name is a placeholder that the caller fills in."""
    kernel = _Repeated(program)
    body = kernel.element()
    parts = (
        prelude(program), header("kernel"), "@STRUCT@", body, "#ifdef __CUDACC__\n", kernel.cuda(entry), "#else\n",
        kernel.cpu(entry), "#endif\n",
    )  # fmt: skip
    text = "".join(parts).replace("@STRUCT@", kernel.block.text())
    return KernelSource(text, entry, tuple(kernel.block.words), kernel.geometry())


class _Repeated(MapText):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        assert program.repeat is not None
        self.repeat: Repeat = program.repeat
        self.stores = [store.operand for store in program.stores]
        self.state_of = {read: number for number, (read, _) in enumerate(self.repeat.states) if read >= 0}
        """Which state an operand is that is read."""
        self.given = [k for k in self.reads if k not in self.state_of]
        self.result_of = {store: number for number, (_, store) in enumerate(self.repeat.states)}
        """Which state a stored operand is the next value of."""
        self.stacked = dict(self.repeat.stacked)

    def _number(self, iota: Instr, indices: list[str], first: str = "") -> str:
        """The number of the step, or the value of an iota."""
        if iota.index == self.repeat.counter:
            return f"{self.block.number('first', self.repeat.first)} + step"
        return super()._number(iota, indices, first)

    def steps(self) -> str:
        """The head of the loop."""
        return f"for (i64 step = 0; step < {self.block.number('steps', self.repeat.steps)}; ++step) {{"

    def cuda(self, entry: str) -> str:
        program, kind = self.program, self.index
        names = [f"i{d}" for d in range(self.rank)]
        lines = [
            f'extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(const __grid_constant__ P p) {{',
            f"const {kind} at = ({kind})blockIdx.x * {THREADS} + ({kind})threadIdx.x;",
            f"if (at >= ({kind}){self.block.number('n', prod(program.shape))}) return;",
            *self.split("at", names, kind),
        ]
        values = {}
        for k in self.reads:
            operand = program.operands[k]
            at = f"{self.pointer(k)}[{self.offset(f's{k}', operand.strides, names, kind)}]"
            name = f"s{self.state_of[k]}" if k in self.state_of else f"a{k}"
            const = "" if k in self.state_of else "const "
            lines.append(f"{const}{CTYPES[operand.code]} {name} = {at};")
            values[k] = loaded(name, operand.code)
        read = set(self.state_of.values())
        for number, (_, store) in enumerate(self.repeat.states):
            if number not in read:
                ctype = CTYPES[program.operands[store].code]
                lines.append(f"{ctype} s{number} = {ctype}();")
        lines += ["#pragma unroll 1", self.steps(), *self.results()]
        lines.append(self.call(values, names, kind, {k: f"r{k}" for k in self.stores}))
        for k in self.stores:
            offset = self.store_offset(k, names, kind)
            if k in self.stacked:
                lines.append(f"{self.pointer(k)}[{self.stack_offset(k)} + {offset}] = r{k};")
            else:
                lines.append(f"s{self.result_of[k]} = r{k};")
        lines.append("}")
        for number, (_, store) in enumerate(self.repeat.states):
            lines.append(f"{self.pointer(store)}[{self.store_offset(store, names, kind)}] = s{number};")
        return "\n".join([*lines, "}"]) + "\n"

    def split(self, linear: str, names: list[str], kind: str) -> list[str]:
        """Statements that split a linear index into one for each axis; once for many steps."""
        lines = [f"{kind} rest = {linear};"]
        for d in range(len(names) - 1, 0, -1):
            extent = f"({kind}){self.block.number(f'e{d}', self.program.shape[d])}"
            lines.append(f"const {kind} {names[d]} = rest % {extent}; rest /= {extent};")
        return [*lines, f"const {kind} {names[0]} = rest;"]

    def results(self) -> list[str]:
        """Declarations of what a step gives."""
        return [f"{CTYPES[self.program.operands[k].code]} r{k};" for k in self.stores]

    def stack_offset(self, k: int) -> str:
        """Elements from the results of the first step to those of this one."""
        return f"step * {self.block.number(f'stack{k}', self.stacked[k])}"

    def cpu(self, entry: str) -> str:
        program = self.program
        last = self.rank - 1
        outer = [f"i{d}" for d in range(last)]
        lines = [f'extern "C" void {entry}(const P* block, i64 begin, i64 end) {{', "const P p = *block;"]
        for number, (_, store) in enumerate(self.repeat.states):
            lines.append(f"{MEMORY_TYPES[program.operands[store].code]} s{number}[{TILE}];")
        if self.rank > 1:
            lines += ["for (i64 row = begin; row < end; ++row) {", *self.split("row", outer, "i64")]
            lines.append(f"const i64 from = 0, to = {self.block.number(f'e{last}', program.shape[last])};")
        else:
            lines.append("const i64 from = begin, to = end;")
        used = list(dict.fromkeys([*self.reads, *self.stores]))
        for k in used:
            operand = program.operands[k]
            const = "" if operand.written else "const "
            begin = self.offset(f"s{k}", operand.strides, [*outer, "0"], "i64")
            lines.append(f"{const}{MEMORY_TYPES[operand.code]}* __restrict__ y{k} = {self.pointer(k)} + {begin};")
        fixed = [k for k in self.given if not program.operands[k].strides[-1]]
        lines += [f"const {CTYPES[program.operands[k].code]} a{k} = *y{k};" for k in fixed]
        lines.append(f"for (i64 tile = from; tile < to; tile += {TILE}) {{")
        lines.append(f"const i64 count = to - tile < {TILE} ? to - tile : {TILE};")
        for number, (read, _) in enumerate(self.repeat.states):
            source = f"y{read}[{self.inner(read, '(tile + k)')}]" if read in self.reads else "{}"
            lines.append(f"for (i64 k = 0; k < count; ++k) s{number}[k] = {source};")
        lines += [self.steps(), "NL_IVDEP", "for (i64 k = 0; k < count; ++k) {", "const i64 i = tile + k;"]
        values = {}
        for k in self.reads:
            text = f"y{k}[{self.inner(k, 'i')}]"
            if k in self.state_of:
                text = f"s{self.state_of[k]}[k]"
            elif k in fixed:
                text = f"a{k}"
            values[k] = loaded(text, program.operands[k].code)
        lines += self.results()
        lines.append(self.call(values, [*outer, "i"], "i64", {k: f"r{k}" for k in self.stores}))
        for k in self.stores:
            if k in self.stacked:
                lines.append(f"y{k}[{self.stack_offset(k)} + {self.inner(k, 'i')}] = r{k};")
            else:
                lines.append(f"s{self.result_of[k]}[k] = r{k};")
        lines += ["}", "}"]
        for number, (_, store) in enumerate(self.repeat.states):
            lines.append(f"for (i64 k = 0; k < count; ++k) y{store}[{self.inner(store, '(tile + k)')}] = s{number}[k];")
        lines += ["}", *(["}"] if self.rank > 1 else []), "}"]
        return "\n".join(lines) + "\n"

    def inner(self, k: int, at: str) -> str:
        """Elements along a row."""
        stride = self.program.operands[k].strides[-1]
        if stride in (0, 1):
            return at if stride else "0"
        return f"{at} * {self.block.number(f's{k}_{self.rank - 1}', stride)}"

    def geometry(self) -> Geometry:
        shape, steps = self.program.shape, max(self.repeat.steps, 1)
        items, each = (shape[0], 1) if self.rank == 1 else (prod(shape[:-1]), shape[-1])
        grain = max(1, grain_of(self.program, each) // steps)
        if self.rank == 1:  # Whole tiles, else vectors are left over.
            grain = -(-grain // TILE) * TILE
        blocks = -(-prod(shape) // THREADS)
        return Geometry(items=items, grain=grain, blocks=blocks, threads=THREADS)


__all__ = ["emit_repeated"]
