"""Elements of rows: what kernels that reduce have in common before and after their reductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod

from numloom.emit.block import MEMORY_TYPES, ParameterBlock
from numloom.emit.mapping import index_type, magic
from numloom.emit.values import (
    behind,
    gather_instrs,
    gather_offset,
    header,
    iota_instrs,
    loaded,
    prelude,
    read_operands,
    statements,
    stored,
)
from numloom.plan.program import Geometry, KernelSource, Program, Store


class Elements:
    """A program over rows: streams that begin somewhere for each row, elements of it, and values of the row."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.block = ParameterBlock()
        self.kept = program.kept
        self.rank = len(program.shape)
        self.outputs = prod(program.shape[: self.kept])
        self.count = prod(program.shape[self.kept :])
        self.index = index_type(program)
        self.reads = read_operands(program.body)
        self.iotas = iota_instrs(program.body)
        self.gathers = gather_instrs(program.body)
        self.streams = list(
            dict.fromkeys(
                [
                    *self.reads,
                    *(program.body[n].operand for n in self.gathers),
                    *(s.operand for s in program.stores),
                    *(k for inner in program.nested for k in read_operands(inner.body)),
                ]
            )
        )

    @cached_property
    def taken(self) -> list[int]:
        """Gathers of the body that read at one place of a row (rows taken by an index array): found once a row."""
        body, operands = self.program.body, self.program.operands

        def varies(number: int) -> bool:
            instr = body[number]
            if instr.kind == "load":
                return any(operands[instr.operand].strides[self.kept :])
            return instr.kind in ("gather", "kept", "nested") or (
                instr.kind == "iota" and any(instr.strides[self.kept :])
            )

        if self.program.nested:
            return []
        return [n for n in self.gathers if not any(map(varies, behind(body, body[n].args)))]

    def _taken_text(self) -> str:
        """Functions that give where taken rows begin, by gather."""
        body, operands, text = self.program.body, self.program.operands, ""
        for n in self.taken:
            wanted = behind(body, body[n].args)
            instrs = [body[number] for number in wanted]
            reads = {k: loaded(f"row.q{k}[0]", operands[k].code) for k in read_operands(instrs)}
            iotas = {iota.index: f"row.t{iota.index}" for iota in iota_instrs(instrs)}
            lines = statements(body, self.block, "v", reads, iotas, {}, only=wanted)
            table = body[n].operand
            text += (
                f"NL_DEV const {MEMORY_TYPES[operands[table].code]}* taken{n}(const P& p, const Row& row) "
                f"{{ {' '.join(lines)} return row.q{table} + {gather_offset(body[n], self.block, 'v')}; }}\n"
            )
        return text

    def source(self, entry: str, shared: str, cuda: str, cpu: str, geometry: Geometry) -> KernelSource:
        """The whole text, the parameter block before what was written with it."""
        text = (
            f"{prelude(self.program)}{header('kernel')}{self.block.text()}{shared}"
            f"#ifdef __CUDACC__\n{cuda}#else\n{cpu}#endif\n"
        )
        return KernelSource(text, entry, tuple(self.block.words), geometry)

    def number(self, name: str, value: int) -> str:
        """A number of the parameter block."""
        return self.block.number(name, value)

    def _sum(self, name: str, strides: tuple[int, ...], first: int, last: int, kind: str, prefix: str) -> str:
        terms = []
        for d in range(first, last):
            stride = strides[d]
            if stride == 0:
                continue
            factor = "" if stride == 1 and d == self.rank - 1 else f" * ({kind}){self.number(f'{name}_{d}', stride)}"
            terms.append(f"{prefix}{d}{factor}")
        return " + ".join(terms) or "0"

    def row(self) -> str:
        """Struct Row: where the streams of one output begin; and the split of an output's number."""
        program = self.program
        fields, sets = [], []
        for k in self.streams:
            operand = program.operands[k]
            const = "" if operand.written else "const "
            fields.append(f"{const}{MEMORY_TYPES[operand.code]}* q{k};")
            pointer = self.block.pointer(k, operand.code, const=not operand.written)
            begin = f"{pointer} + ({self._sum(f's{k}', operand.strides, 0, self.kept, 'i64', 'k')})"
            sets.append(f"r.q{k} = {begin};")
        for iota in self.iotas:
            fields.append(f"i64 t{iota.index};")
            offset = self._sum(f"t{iota.index}", iota.strides, 0, self.kept, "i64", "k")
            sets.append(f"r.t{iota.index} = {self.block.iota_offset(iota.index)} + {offset};")
        for n in self.taken:
            fields.append(f"const {MEMORY_TYPES[program.operands[program.body[n].operand].code]}* g{n};")
            sets.append(f"r.g{n} = taken{n}(p, r);")
        names = ", ".join(f"i64& k{d}" for d in range(self.kept))
        comma = ", " if names else ""
        split = f"NL_DEV void split(const P& p, i64 output{comma}{names}) {{{self._split_lines()}}}\n"
        args = ", ".join(f"k{d}" for d in range(self.kept))
        declared = f"i64 {args}; " if args else ""
        return (
            split
            + f"struct Row {{ {' '.join(fields)} }};\n{self._taken_text()}"
            + f"NL_DEV Row row_of(const P& p, i64 output) {{ {declared}split(p, output{comma}{args}); Row r; "
            + " ".join(sets)
            + " return r; }\n"
        )

    def _split_lines(self) -> str:
        """Statements that split an output's number into its indices; on the GPU by 32-bit reciprocals where it fits."""
        if not self.kept:
            return ""
        by_division, by_reciprocal = ["i64 rest = output;"], ["i32 rest = (i32)output, q;"]
        for d in range(self.kept - 1, 0, -1):
            extent = self.program.shape[d]
            e = self.number(f"e{d}", extent)
            by_division.append(f"k{d} = rest % {e}; rest /= {e};")
            if self.index == "i32":
                m, s = magic(extent, "i32")
                q = f"nl::divide(rest, {self.number(f'km{d}', m)}, {self.number(f'kh{d}', s)})"
                by_reciprocal.append(f"q = {q}; k{d} = rest - q * (i32){e}; rest = q;")
        division, reciprocal = (f" {' '.join(lines)} k0 = rest; " for lines in (by_division, by_reciprocal))
        if self.index != "i32" or self.kept == 1:
            return division
        return f"\n#ifdef __CUDACC__\n{reciprocal}\n#else\n{division}\n#endif\n"

    def index_text(self) -> str:
        """The type of positions in a row, nl_index, and their division."""
        # Plain 64-bit indices on the host: wrapping 32-bit ones keep its compiler from seeing neighbours.
        return (
            f"#ifdef __CUDACC__\ntypedef {self.index} nl_index;\n#define NL_DIVIDE(n, m, s, d) nl::divide(n, m, s)\n"
            "#else\ntypedef i64 nl_index;\n#define NL_DIVIDE(n, m, s, d) ((n) / (d))\n#endif\n"
        )

    def position_lines(self) -> list[str]:
        """Statements that split position r of a row into indices of the reduced dimensions."""
        kind = "nl_index"
        if self.rank - self.kept == 1:
            return [f"const {kind} r{self.kept} = r;"]
        lines = [f"{kind} rest = r;"]
        for d in range(self.rank - 1, self.kept, -1):
            m, s = magic(self.program.shape[d], self.index)
            e = self.number(f"e{d}", self.program.shape[d])
            lines.append(
                f"const {kind} u{d} = NL_DIVIDE(rest, {self.number(f'm{d}', m)}, {self.number(f'h{d}', s)}, {e});"
            )
            lines.append(f"const {kind} r{d} = rest - u{d} * ({kind}){e}; rest = u{d};")
        lines.append(f"const {kind} r{self.kept} = rest;")
        return lines

    def over(self, begin: str, count: str, each: str) -> str:
        """Statements of the host that go over `count` positions of a row from `begin`.

        `each` may use the position `at`, its number `s` among these, and indices of the reduced dimensions: where there
        are several of those, a loop goes along the last one, whose elements are neighbours, and no position is divided.
        """
        last, kept = self.rank - 1, self.kept
        if last == kept:
            head = f"for (i64 s = 0; s < {count}; ++s) {{ const i64 at = {begin} + s; const nl_index r{kept} = at;"
            return f"NL_IVDEP\n{head} {each} }}\n"
        dimensions = range(kept, self.rank)
        carry = f"++b{kept};"
        for d in dimensions[1:]:
            more = f"b{d} += some;" if d == last else f"++b{d};"
            carry = f"{more} if (b{d} == {self.number(f'e{d}', self.program.shape[d])}) {{ b{d} = 0; {carry} }}"
        extent = self.number(f"e{last}", self.program.shape[last])
        found = " ".join(f"b{d} = r{d};" for d in dimensions)
        return (
            f"{{ nl_index {', '.join(f'b{d}' for d in dimensions)};\n"
            f"{{ const nl_index r = {begin}; {' '.join(self.position_lines())} {found} }}\n"
            f"for (i64 gone = 0, some; gone < {count}; gone += some) {{\n"
            f"some = {extent} - b{last} < {count} - gone ? {extent} - b{last} : {count} - gone;\n"
            + "".join(f"const nl_index r{d} = b{d};\n" for d in dimensions[:-1])
            + "NL_IVDEP\nfor (i64 l = 0; l < some; ++l) { "
            + f"const i64 s = gone + l, at = {begin} + s; const nl_index r{last} = b{last} + l; {each} }}\n"
            + f"{carry}\n}} }}\n"
        )

    def element_lines(
        self,
        only: Sequence[int] | None = None,
        kept: Mapping[int, str] | None = None,
        reads: dict[int, str] | None = None,
        inverses: Mapping[int, str] | None = None,
        nested: Mapping[int, str] | None = None,
    ) -> list[str]:
        """Statements for the body's values (those in `only`) at position r of a row.

        `kept` gives values of the row, `reads` elements that were read before, `inverses` those of values of the row,
        `nested` results of nested reductions.
        """
        program = self.program
        lines = self.position_lines()
        if reads is None:
            reads = {k: self.load(k) for k in self.reads}
        iotas, gathers, taken = {}, {}, {}
        for iota in self.iotas:
            at = self._sum(f"t{iota.index}", iota.strides, self.kept, self.rank, "i64", "r")
            iotas[iota.index] = f"(row.t{iota.index} + {at})"
        for n in self.gathers:
            k = program.body[n].operand
            gathers[n] = f"(row.q{k} + {self.position(k)})"
        for n in self.taken:
            k = program.body[n].operand
            taken[n] = loaded(f"row.g{n}[{self.position(k)}]", program.operands[k].code)
        values = statements(
            program.body, self.block, "v", reads, iotas, gathers, kept, only, taken, inverses=inverses, nested=nested,
            summed=self.kept > 0,
        )  # fmt: skip
        return lines + values

    def load(self, k: int) -> str:
        """An element of an operand."""
        return loaded(self.fetch(k), self.program.operands[k].code)

    def fetch(self, k: int) -> str:
        """The memory of an element of an operand."""
        return f"row.q{k}[{self.position(k)}]"

    def store_line(self, store: Store) -> str:
        """The statement that writes an element's value."""
        operand = self.program.operands[store.operand]
        value = stored(f"v{store.value}", operand.code)
        return f"row.q{store.operand}[{self.position(store.operand)}] = {value};"

    def position(self, k: int) -> str:
        """Elements from where an operand's row begins to its element at a position."""
        return self._sum(f"s{k}", self.program.operands[k].strides, self.kept, self.rank, "nl_index", "r")

    def post_lines(self, finished: Mapping[int, str], only: Sequence[int] | None = None) -> list[str]:
        """Statements for the values of a row (those in `only`); `finished` gives the results of reductions."""
        program = self.program
        reads, iotas, gathers = {}, {}, {}
        for k in read_operands(program.post):
            operand = program.operands[k]
            pointer = self.block.pointer(k, operand.code, const=not operand.written)
            reads[k] = loaded(f"{pointer}[{self._kept_sum(f's{k}', operand.strides)}]", operand.code)
        for iota in iota_instrs(program.post):
            at = self._kept_sum(f"t{iota.index}", iota.strides)
            iotas[iota.index] = f"({self.block.iota_offset(iota.index)} + {at})"
        for n in gather_instrs(program.post):
            k = program.post[n].operand
            operand = program.operands[k]
            pointer = self.block.pointer(k, operand.code, const=True)
            gathers[n] = f"({pointer} + {self._kept_sum(f's{k}', operand.strides)})"
        return statements(program.post, self.block, "w", reads, iotas, gathers, finished, only)

    def post_store_line(self, store: Store) -> str:
        """The statement that writes a value of a row."""
        operand = self.program.operands[store.operand]
        pointer = self.block.pointer(store.operand, operand.code, const=False)
        at = self._kept_sum(f"s{store.operand}", operand.strides)
        return f"{pointer}[{at}] = {stored(f'w{store.value}', operand.code)};"

    def split_line(self) -> str:
        """The statement that gives the kept indices of an output."""
        names = ", ".join(f"k{d}" for d in range(self.kept))
        return f"i64 {names}; split(p, output, {names});" if names else ""

    def _kept_sum(self, name: str, strides: tuple[int, ...]) -> str:
        terms = []
        for d, stride in enumerate(strides[: self.kept]):
            if stride:
                last = stride == 1 and d == self.kept - 1
                terms.append(f"k{d}" if last else f"k{d} * {self.number(f'{name}_{d}', stride)}")
        return " + ".join(terms) or "0"
