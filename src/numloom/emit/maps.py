"""Kernels of maps: every point of the space on its own, one or several outputs.

CUDA: a thread takes V elements. Where the inner accesses are aligned these are V neighbours, read
and written 16 bytes at a time; otherwise a block takes a stencil of rows (`stencils.py`), or (where rows are
short) elements 256 apart, so that every access of a warp is coalesced whatever its alignment. Transposed
operands (neighbours in memory along another dimension) go through square tiles of shared memory. CPU: a
plain loop over the inner dimension that the compiler vectorises; items are elements of a one-dimensional
space, else rows.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from numloom.base.dtypes import CTYPES, ITEMSIZES, KINDS
from numloom.emit.beside import beside, beside_header
from numloom.emit.block import MEMORY_TYPES
from numloom.emit.cost import grain_of, vectors_unrolled
from numloom.emit.mapping import THREADS, MapText, magic
from numloom.emit.runs import HELD, gathers_in_runs, run_places
from numloom.emit.short_rows import short_axes, short_rows_text
from numloom.emit.stencils import blocks_of, stencil_body, stencil_of
from numloom.emit.values import behind, header, loaded, prelude
from numloom.plan.program import Geometry, KernelSource, Operand, Program

LIGHT = 40
"""Cost of an element's operations up to which functions may be called, which is compiled sooner."""
DEAR = 400
"""Cost from which a thread takes one element: computing takes longer than memory, and copies of the text to compile."""
COMPLEX, FUNCTION = 6, 10
"""How much longer functions of complex numbers take; what costs at least so much is one."""
TAKEN = 2
"""Vectors of taken rows that a thread asks for at once: a load that waits for an index is late (measured)."""
EARLY_BYTES = 256
"""Bytes of operands that a thread asks for at once, before its block's tile is there."""
TURNED = 4
"""Bytes of elements up to which the host turns tiles by blocks in registers."""
BROUGHT = 4096
"""Bytes of a row that the host brings together where all rows read it, and its elements are no neighbours."""
TILE_BYTES = 40 << 10
"""Most shared memory that tiles of 64 by 64 elements may take, else they are of 32 by 32."""


def emit_map(program: Program, entry: str) -> KernelSource:
    """Emit a program without reductions; the entry's name is a placeholder that the caller fills in."""
    kernel = _Map(program)
    shared, device = kernel.element(), kernel.cuda(entry)
    if kernel.runs:  # What the host reads is there before an element is computed.
        shared, device = "", shared + device
    host = kernel.cpu(entry)
    # Such a kernel waits for memory; others, and reductions, run slower than they could with this (measured).
    cost = sum(instr.op_def.cost for instr in program.body if instr.op_def is not None)
    light = kernel.wide and kernel.rank == 1 and program.box is None and cost <= LIGHT
    quick = "// nvrtc: -Ofc=min\n" if light else ""
    text = "".join(
        (
            quick,
            prelude(program),
            header("kernel"),
            kernel.block.text(),
            shared,
            "#ifdef __CUDACC__\n",
            device,
            "#else\n",
            host,
            "#endif\n",
        )
    )
    return KernelSource(text, entry, tuple(kernel.block.words), kernel.geometry())


def is_dear(program: Program) -> bool:
    """Whether an element takes long to compute; functions of complex numbers are made of several real ones."""
    cost = 0
    for instr in program.body:
        if instr.op_def is not None:
            function = KINDS[instr.code] == "c" and instr.op_def.cost >= FUNCTION
            cost += instr.op_def.cost * (COMPLEX if function else 1)
    return cost >= DEAR


class _RowContext(NamedTuple):
    """What the loop over a row is inside of: indices, where elements of some operands are, what gathers have taken."""

    outer: list[str]
    elsewhere: dict[int, str]
    taken: dict[int, str]


class _Map(MapText):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        sizes = [ITEMSIZES[o.code] for o in program.operands] or [4]
        moving = [ITEMSIZES[o.code] for o in program.operands if o.strides[-1]] or sizes
        self.vector = max(1, min(16 // min(moving), 32 // max(moving)))
        inner = program.shape[-1]
        contiguous = [o for o in program.operands if o.strides[-1] == 1]
        self.taken = self.gathers if self._takes_rows() else []
        self.wide = (
            program.box is None
            and self.taken == self.gathers
            and self.vector > 1
            and bool(contiguous)
            and all(o.aligned for o in contiguous)
            and all(o.strides[-1] in (0, 1) for o in program.operands)
            and (self.rank == 1 or inner % self.vector == 0)
        )
        dear = not self.taken and is_dear(program)
        if dear:
            self.wide, self.vector = False, 1
        elif not self.wide:
            self.taken = []
            self.vector = max(1, min(4, 16 // max(sizes)))
        self.across, self.turned = self._turned()
        room = sum(64 * 65 * ITEMSIZES[program.operands[k].code] for k in self.turned)
        self.tile = 64 if room <= TILE_BYTES else 32
        self.stencil = None if self.wide or self.turned or dear else stencil_of(self)
        self.runs = gathers_in_runs(program)
        self.short = 0 if self.turned or self._has_fast_path() else short_axes(self)
        """Last axes that are a row of few elements, of which the host takes many beside each other."""
        self.brought: list[int] = []
        """Operands of which the host's loops read a row that was brought together."""
        self.by_runs = False
        """Whether the text is the host's, which reads them so."""

    def _takes_rows(self) -> bool:
        """Whether all gathers take rows: where one reads is the same for neighbours, who read neighbours there."""
        program, body = self.program, self.program.body
        if self.rank < 2 or program.box is not None:
            return False
        for n in self.gathers:
            itemsize = ITEMSIZES[body[n].code]
            if program.operands[body[n].operand].strides[-1] != 1:
                return False
            if any(stride * itemsize % 16 for _, stride in body[n].strides):
                return False
            for number in behind(body, body[n].args):
                instr = body[number]
                if instr.kind == "gather" or (instr.kind == "iota" and instr.strides[-1]):
                    return False
                if instr.kind == "load" and program.operands[instr.operand].strides[-1]:
                    return False
        return True

    def _turned(self) -> tuple[int, list[int]]:
        """The dimension along which operands that are read across are contiguous, and those operands."""
        program, last = self.program, self.rank - 1
        along = all(program.operands[s.operand].strides[-1] == 1 for s in program.stores)
        if program.box is not None or self.gathers or not along:
            return 0, []
        for d in range(last):
            turned = [
                k
                for k in self.reads
                if program.operands[k].strides[d] == 1
                and abs(program.operands[k].strides[last]) > 1
                and not program.operands[k].in_place
            ]
            room = sum(32 * 33 * ITEMSIZES[program.operands[k].code] for k in turned)
            if turned and room <= TILE_BYTES and min(program.shape[d], program.shape[last]) >= 32:
                return d, turned
        return 0, []

    # ------------------------------------------------------------ CUDA

    def cuda(self, entry: str) -> str:
        program, block, kind = self.program, self.block, self.index
        count = prod(program.shape)
        n = block.number("n", count)
        v = self.vector
        lines = [f'extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(const __grid_constant__ P p) {{']
        names = [f"i{d}" for d in range(self.rank)]
        if self.turned:
            lines += self._tiled_body(names, kind)
        elif self.wide and self.taken:
            lines += self._taking_body(names, kind, v)
        elif self.wide:
            lines.append(f"const {kind} t = ({kind})blockIdx.x * {THREADS} + ({kind})threadIdx.x;")
            if self.rank == 1:
                lines.append(f"const {kind} i0 = t * {v};")
                lines.append(f"if (i0 + {v} <= ({kind}){n}) {{")
            else:
                lines.append(f"if (t >= ({kind}){block.number('nt', count // v)}) return;")
                lines += self._decompose("t", names, kind, inner=program.shape[-1] // v)
                lines.append(f"i{self.rank - 1} *= {v};")
                lines.append("{")
            lines += self._wide_body(names, kind, v)
            lines.append("}")
            if self.rank == 1:
                lines.append(f"else\n#pragma unroll 1\nfor ({kind} i = i0; i < ({kind}){n}; ++i) {{")
                lines += self._scalar_body(["i"], kind)
                lines.append("}")
        elif self.stencil is not None:
            lines += stencil_body(self, self.stencil, names, kind)
        else:
            lines.append(f"const {kind} first = ({kind})blockIdx.x * {THREADS * v} + ({kind})threadIdx.x;")
            where = [f"const {kind} at = first + v * {THREADS};", f"if (at < ({kind}){n}) {{"]
            dense = all(program.operands[s.operand].strides == _c_strides(program.shape) for s in program.stores)
            split = self._decompose("at", names, kind, inner=program.shape[-1])
            lines += self._several_body(names, kind, v, where, split, "at" if dense else "")
        lines.append("}")
        return "\n".join(lines) + "\n"

    def _decompose(self, linear: str, names: list[str], kind: str, inner: int) -> list[str]:
        """Statements that split a linear index into one for each axis, by reciprocals."""
        extents = [*self.program.shape[:-1], inner]
        lines = [f"{kind} rest = {linear};"]
        for d in range(len(names) - 1, 0, -1):
            m, s = magic(extents[d], kind)
            number = self.block.number
            tag = f"{d}" if d < len(names) - 1 or inner == self.program.shape[-1] else f"{d}v"
            e = number(f"e{tag}", extents[d])
            lines.append(f"const {kind} q{d} = nl::divide(rest, {number(f'm{tag}', m)}, {number(f'h{tag}', s)});")
            lines.append(f"{kind} {names[d]} = rest - q{d} * ({kind}){e};")
            lines.append(f"rest = q{d};")
        lines.append(f"{kind} {names[0]} = rest;")
        return lines

    def _wide_body(self, names: list[str], kind: str, v: int) -> list[str]:
        program = self.program
        lines, values, outs = [], {}, {}
        for k in self.reads:
            operand = program.operands[k]
            at = f"{self.pointer(k)} + ({self.offset(f's{k}', operand.strides, names, kind)})"
            if operand.strides[-1] == 1:
                lines.append(f"nl::pack<{v}, {CTYPES[operand.code]}> a{k}; nl::load(a{k}, {at});")
                values[k] = loaded(f"a{k}.x[v]", operand.code)
            else:
                lines.append(f"const {CTYPES[operand.code]} a{k} = *({at});")
                values[k] = loaded(f"a{k}", operand.code)
        for store in program.stores:
            operand = program.operands[store.operand]
            lines.append(f"nl::pack<{v}, {CTYPES[operand.code]}> b{store.operand};")
            outs[store.operand] = f"b{store.operand}.x[v]"
        inner = [*names[:-1], f"({names[-1]} + v)"]
        each = self.call(values, inner, kind, outs, first=names[-1])
        lines.append(f"#pragma unroll\nfor (int v = 0; v < {v}; ++v) {{ {each} }}")
        for store in program.stores:
            operand = program.operands[store.operand]
            at = f"{self.pointer(store.operand)} + ({self.store_offset(store.operand, names, kind)})"
            lines.append(f"nl::store({at}, b{store.operand});")
        return lines

    def _taking_body(self, names: list[str], kind: str, v: int) -> list[str]:
        """Rows that gathers take, `TAKEN` vectors a thread: first all that says where, then all that lies there."""
        program, number = self.program, self.block.number
        n, last = number("nt", prod(program.shape) // v), self.rank - 1
        lines, values, outs, taken = [], {}, {}, {}
        lines.append(f"const {kind} first = ({kind})blockIdx.x * {THREADS * TAKEN} + ({kind})threadIdx.x;")
        loop = [
            f"#pragma unroll\nfor (int u = 0; u < {TAKEN}; ++u) {{",
            f"const {kind} there = first + u * {THREADS}, t = there < ({kind}){n} ? there : ({kind}){n} - 1;",
            *self._decompose("t", names, kind, inner=program.shape[-1] // v), f"{names[last]} *= {v};",
        ]  # fmt: skip
        reads = []
        for k in self.reads:
            operand, ctype = program.operands[k], CTYPES[program.operands[k].code]
            at = f"{self.pointer(k)} + ({self.offset(f's{k}', operand.strides, names, kind)})"
            if operand.strides[-1] == 1:
                lines.append(f"nl::pack<{v}, {ctype}> a{k}[{TAKEN}];")
                reads.append(f"nl::load(a{k}[u], {at});")
                values[k] = loaded(f"a{k}[u].x[v]", operand.code)
            else:
                lines.append(f"{ctype} a{k}[{TAKEN}];")
                reads.append(f"a{k}[u] = *({at});")
                values[k] = loaded(f"a{k}[u]", operand.code)
        takes = []
        for g in self.taken:
            k, code = program.body[g].operand, program.body[g].code
            at = f"{self.pointer(k)} + ({self.offset(f's{k}', program.operands[k].strides, names, kind)}) + at{g}[u]"
            lines.append(f"i64 at{g}[{TAKEN}]; nl::pack<{v}, {CTYPES[code]}> y{g}[{TAKEN}];")
            takes.append(f"nl::load(y{g}[u], {at});")
            taken[g] = loaded(f"y{g}[u].x[v]", code)
        computed, stores = [], []
        for store in program.stores:
            k = store.operand
            computed.append(f"nl::pack<{v}, {CTYPES[program.operands[k].code]}> b{k};")
            outs[k] = f"b{k}.x[v]"
            stores.append(f"nl::store({self.pointer(k)} + ({self.store_offset(k, names, kind)}), b{k});")
        inner = [*names[:-1], f"({names[-1]} + v)"]
        each = self.call(values, inner, kind, outs, taken, names[-1])
        computed.append(f"#pragma unroll\nfor (int v = 0; v < {v}; ++v) {{ {each} }}")
        computed += [f"if (t == there) {{ {' '.join(stores)} }}"]
        for part in (reads, self.find_places(values, names, "[u]"), takes, computed):
            lines += [*loop, *part, "}"]
        return lines

    def _scalar_body(self, names: list[str], kind: str) -> list[str]:
        program = self.program
        values = {}
        for k in self.reads:
            operand = program.operands[k]
            at = f"{self.pointer(k)}[{self.offset(f's{k}', operand.strides, names, kind)}]"
            values[k] = loaded(at, operand.code)
        outs = {s.operand: f"r{s.operand}" for s in program.stores}
        lines = [f"{CTYPES[program.operands[s.operand].code]} r{s.operand};" for s in program.stores]
        lines.append(self.call(values, names, kind, outs))
        for s in program.stores:
            lines.append(f"{self.pointer(s.operand)}[{self.store_offset(s.operand, names, kind)}] = r{s.operand};")
        return lines

    def _several_body(
        self, names: list[str], kind: str, v: int, where: list[str], split: list[str], at: str = ""
    ) -> list[str]:
        """V elements a thread: read all, compute all, write all.

        `where` says which element `v` is and opens a block for it, `split` gives its indices, `at` is its place in
        dense results.
        """
        program, box = self.program, self.program.box
        lines = []
        for k in self.reads:
            lines.append(f"{CTYPES[program.operands[k].code]} a{k}[{v}];")
        for s in program.stores:
            lines.append(f"{CTYPES[program.operands[s.operand].code]} b{s.operand}[{v}];")
        if box is not None:
            lines.append(f"bool inside[{v}];")
        loop = f"#pragma unroll\nfor (int v = 0; v < {v}; ++v) {{"
        lines += [loop, *where, *split]
        if box is not None:
            tests = [self.box_test(d, name, kind) for d, name in enumerate(names) if not self.box_full(d)]
            lines.append(f"inside[v] = {' && '.join(tests) or 'true'};")
            store = program.stores[0].operand
            lines.append(f"if (!inside[v]) b{store}[v] = {self.around(names, kind)}; else {{")
        for k in self.reads:
            operand = program.operands[k]
            lines.append(f"a{k}[v] = {self.pointer(k)}[{self.offset(f's{k}', operand.strides, names, kind)}];")
        if box is not None:
            lines.append("}")
        lines += ["} }", loop, *where]
        if self.iotas or self.gathers:
            lines += split
        values = {k: loaded(f"a{k}[v]", program.operands[k].code) for k in self.reads}
        outs = {s.operand: f"b{s.operand}[v]" for s in program.stores}
        condition = "if (inside[v]) " if box is not None else ""
        lines += [condition + self.call(values, names, kind, outs), "} }", loop, *where]
        if not at:
            lines += split
        for s in program.stores:
            place = at or self.store_offset(s.operand, names, kind)
            lines.append(f"{self.pointer(s.operand)}[{place}] = b{s.operand}[v];")
        lines.append("} }")
        return lines

    def _tiled_body(self, names: list[str], kind: str) -> list[str]:
        """A block a tile: a transposed operand is read along its own neighbours into shared memory, and read there
        turned.

        Each thread has elements eight rows apart. What else is read is asked for before the tile is there, if all is
        little, else for four elements at a time.
        """
        program, number, size = self.program, self.block.number, self.tile
        across, last = self.across, self.rank - 1
        extents = {d: number(f"e{d}", program.shape[d]) for d in range(self.rank)}
        lines = ["const int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;", "i64 rest = blockIdx.x;"]
        for d, name in ((last, "jt"), (across, "it")):
            tiles = number(f"tiles{d}", -(-program.shape[d] // size))
            lines.append(f"const {kind} {name} = ({kind})(rest % {tiles}) * {size}; rest /= {tiles};")
        for d in range(last - 1, -1, -1):
            if d != across:
                lines.append(f"const {kind} {names[d]} = ({kind})(rest % {extents[d]}); rest /= {extents[d]};")
        ranges = f"{names[across]} < ({kind}){extents[across]} && {names[last]} < ({kind}){extents[last]}"
        for k in self.turned:
            lines.append(f"__shared__ {CTYPES[program.operands[k].code]} tile{k}[{size}][{size + 1}];")
        straight = [k for k in self.reads if k not in self.turned]
        columns = size // 32
        count = size // 8 * columns
        early = sum(ITEMSIZES[program.operands[k].code] for k in self.reads) * count <= EARLY_BYTES

        def loop(first: str, times: int) -> str:
            """Elements of a thread, from one on: row r and column c of each."""
            return (
                f"#pragma unroll\nfor (int v = 0; v < {times}; ++v) {{ const int u = {first} + v, "
                f"r = ty + 8 * (u / {columns}), c = tx + 32 * (u % {columns});"
            )

        turned = f"const {kind} {names[across]} = it + c, {names[last]} = jt + r;\nif ({ranges}) {{"
        where = f"const {kind} {names[across]} = it + r, {names[last]} = jt + c;\nif ({ranges}) {{"
        values = {k: loaded(f"tile{k}[c][r]", program.operands[k].code) for k in self.turned}
        reads = []
        for k in straight:
            offset = self.offset(f"s{k}", program.operands[k].strides, names, kind)
            reads.append(f"a{k}[v] = {self.pointer(k)}[{offset}];")
            values[k] = loaded(f"a{k}[v]", program.operands[k].code)
        each = count if early else 4
        held = [f"{CTYPES[program.operands[k].code]} a{k}[{each}];" for k in straight]
        sources = {
            k: f"{self.pointer(k)}[{self.offset(f's{k}', program.operands[k].strides, names, kind)}]"
            for k in self.turned
        }
        if early:
            lines += [f"{CTYPES[program.operands[k].code]} t{k}[{count}];" for k in self.turned]
            lines += [*held, loop("0", count), turned, *(f"t{k}[v] = {text};" for k, text in sources.items()), "} }"]
            lines += [loop("0", count), where, *reads, "} }"] if reads else []
            lines += [loop("0", count), *(f"tile{k}[r][c] = t{k}[v];" for k in self.turned), "}"]
        else:
            lines += [loop("0", count), turned, *(f"tile{k}[r][c] = {text};" for k, text in sources.items()), "} }"]
        lines.append("__syncthreads();")
        if not early:
            lines += [f"#pragma unroll 1\nfor (int w = 0; w < {count}; w += 4) {{", *held]
            lines += [loop("w", 4), where, *reads, "} }"]
        lines += [loop("0" if early else "w", each), where]
        outs = {s.operand: f"r{s.operand}" for s in program.stores}
        lines += [f"{CTYPES[program.operands[s.operand].code]} r{s.operand};" for s in program.stores]
        lines.append(self.call(values, names, kind, outs))
        for s in program.stores:
            lines.append(f"{self.pointer(s.operand)}[{self.store_offset(s.operand, names, kind)}] = r{s.operand};")
        lines.append("} }" if early else "} } }")
        return lines

    # ------------------------------------------------------------ CPU

    def cpu(self, entry: str) -> str:
        own = ""
        if self.runs:
            self.taken, self.by_runs = self.runs, True
            self.__dict__.pop("placing", None)  # Which follows from what is taken.
            own = header("runs") + self.element()
        fast = self.element(fast=True) if self._has_fast_path() else ""
        if any(ITEMSIZES[self.program.operands[k].code] <= TURNED for k in self.turned):
            own += header("turned")
        if self.short:
            return short_rows_text(self, entry, self.short)
        return own + fast + (self._cpu_tiles(entry) if self.turned else self._cpu_rows(entry))

    def _places(self) -> str:
        return run_places(self) if self.by_runs else super()._places()

    def _cpu_tiles(self, entry: str) -> str:
        """A transposed operand is turned in the cache, a tile at a time; the rows of a tile are loops like all
        others.
        """
        program, number, size = self.program, self.block.number, self.tile
        across, last = self.across, self.rank - 1
        outer = [f"i{d}" for d in range(last)]
        lines = [
            f'{beside_header()}extern "C" void {entry}(const P* block, i64 begin, i64 end) {{',
            "const P p = *block;",
        ]
        pads = {k: size + 64 // ITEMSIZES[program.operands[k].code] for k in self.turned}
        types = {k: MEMORY_TYPES[program.operands[k].code] for k in pads}
        lines.append(beside(" ".join(f"{types[k]} tile{k}[{size}][{pad}];" for k, pad in pads.items())))
        lines += ["for (i64 item = begin; item < end; ++item) {", "i64 rest = item;"]
        for d, name in ((last, "j"), (across, "a")):
            tiles, extent = number(f"tiles{d}", -(-program.shape[d] // size)), number(f"e{d}", program.shape[d])
            lines.append(f"const i64 {name}0 = rest % {tiles} * {size}; rest /= {tiles};")
            lines.append(f"const i64 {name}n = {extent} - {name}0 < {size} ? {extent} - {name}0 : {size};")
        for d in range(last - 1, -1, -1):
            if d != across:
                extent = number(f"e{d}", program.shape[d])
                lines.append(f"const i64 i{d} = rest % {extent}; rest /= {extent};")
        for k in self.turned:
            operand = program.operands[k]
            at = self._outer_offset(k, operand, ["a0" if d == across else name for d, name in enumerate(outer)])
            lines.append(f"const {MEMORY_TYPES[operand.code]}* __restrict__ z{k} = {self.pointer(k)} + {at};")
            stride = number(f"s{k}_{last}", operand.strides[last])
            itemsize = ITEMSIZES[operand.code]
            if itemsize <= TURNED:
                to, start = f"(char*)tile{k}, {pads[k] * itemsize}", f"(const char*)(z{k} + j0 * {stride})"
                lines.append(f"nl::turn<{itemsize}>({to}, {start}, {stride} * {itemsize}, jn, an);")
                continue
            lines.append("for (i64 j = 0; j < jn; ++j) for (i64 a = 0; a < an; ++a)")
            lines.append(f"tile{k}[a][j] = z{k}[(j0 + j) * {stride} + a];")
        lines += ["for (i64 a = 0; a < an; ++a) {", f"const i64 i{across} = a0 + a;"]
        turned = {k: f"tile{k}[a][i - j0]" for k in self.turned}
        lines += [*self._cpu_pointers(outer, "j0", "j0 + jn"), *self._cpu_loop("j0", "j0 + jn", outer, turned)]
        return "\n".join([*lines, "}", "}", *(["NL_LEAVE"] if self._has_fast_path() else []), "}"]) + "\n"

    def _cpu_rows(self, entry: str) -> str:
        program, block = self.program, self.block
        box = program.box
        self.brought = self._read_by_all_rows()
        kind = "NL_SCHEDULED void" if self._unrolled() > 1 else "void"
        lines = [f'extern "C" {kind} {entry}(const P* block, i64 begin, i64 end) {{', "const P p = *block;"]
        outer = [f"i{d}" for d in range(self.rank - 1)]
        lines += self._cpu_brought()
        if self.rank > 1:
            lines.append("for (i64 row = begin; row < end; ++row) {")
            lines.append("i64 rest = row;")
            for d in range(self.rank - 2, 0, -1):
                e = block.number(f"e{d}", program.shape[d])
                lines.append(f"const i64 i{d} = rest % {e}; rest /= {e};")
            lines.append("const i64 i0 = rest;")
            if not self.brought:
                lines.append(f"const i64 from = 0, to = {block.number(f'e{self.rank - 1}', program.shape[-1])};")
        else:
            lines.append("const i64 from = begin, to = end;")
        lines += self._cpu_pointers(outer, "from", "to")
        low, high = "from", "to"
        if box is not None:
            lines += self._cpu_box(box, outer)
            low, high = "low", "high"
            for k in self.reads:
                if program.operands[k].strides[-1] == 0:
                    ctype = CTYPES[program.operands[k].code]
                    lines.append(f"const {ctype} a{k} = low < high ? *y{k} : {ctype}();")
        lines += self._cpu_loop(low, high, outer, {})
        lines += ["}"] * ((self.rank > 1) + bool(self.brought))
        return "\n".join([*lines, *(["NL_LEAVE"] if self._has_fast_path() else []), "}"]) + "\n"

    def _read_by_all_rows(self) -> list[int]:
        """Operands of which every row reads the same elements, which are no neighbours."""
        operands = self.program.operands
        if self.rank < 2 or not self._is_free():
            return []
        return [
            k
            for k in self.reads
            if operands[k].strides[-1] not in (0, 1) and not any(operands[k].strides[:-1]) and not operands[k].written
        ]

    def _cpu_brought(self) -> list[str]:
        """The head of a loop over parts of a row, of which all rows read some operands: these are copied first."""
        operands, last = self.program.operands, self.rank - 1
        if not self.brought:
            return []
        size = BROUGHT // max(ITEMSIZES[operands[k].code] for k in self.brought)
        extent = self.block.number(f"e{last}", self.program.shape[last])
        lines = [f"{MEMORY_TYPES[operands[k].code]} brought{k}[{size}];" for k in self.brought]
        lines += [f"for (i64 from = 0, to; from < {extent}; from = to) {{"]
        lines += [f"to = {extent} - from < {size} ? {extent} : from + {size};"]
        for k in self.brought:
            stride = self.block.number(f"s{k}_{last}", operands[k].strides[last])
            lines.append(f"for (i64 i = from; i < to; ++i) brought{k}[i - from] = {self.pointer(k)}[i * {stride}];")
        return lines

    def _cpu_pointers(self, outer: list[str], low: str, high: str) -> list[str]:
        """Where each operand's row begins, and what there is one of for a row."""
        program, lines = self.program, []
        box = program.box
        used = list(dict.fromkeys([*self.reads, *(s.operand for s in program.stores)]))
        if box is not None and box.fill < 0 and box.base not in used:
            used.append(box.base)
        for k in used:
            operand = program.operands[k]
            self.pointer(k)
            const = "" if operand.written or operand.in_place else "const "
            restrict = "" if operand.in_place or operand.written else " __restrict__"
            start = f"brought{k} - from" if k in self.brought else f"p.x{k} + {self._outer_offset(k, operand, outer)}"
            lines.append(f"{const}{MEMORY_TYPES[operand.code]}*{restrict} y{k} = {start};")
        for k in self.reads:
            operand = program.operands[k]
            if operand.strides[-1] == 0 and box is None:
                ctype = CTYPES[operand.code]
                lines.append(f"const {ctype} a{k} = {low} < {high} ? *y{k} : {ctype}();")
        return lines

    def _cpu_loop(self, low: str, high: str, outer: list[str], elsewhere: dict[int, str]) -> list[str]:
        """The loop over a row; `elsewhere` says where elements of some operands are."""
        program = self.program
        lines: list[str] = []
        taken = {n: loaded(f"z{n}[i]", program.body[n].code) for n in self.taken}
        closing: list[str] = []
        if self.runs:
            lines, closing = self._cpu_runs(low, high, outer), ["}"]
            low, high = "cut", "next"
        elif self.taken:
            fixed = {k: loaded(f"a{k}", program.operands[k].code) for k in self.placing[1]}
            lines += self.find_places(fixed, [*outer, "0"])
            for n in self.taken:
                k, code = program.body[n].operand, program.body[n].code
                start = f"{self.pointer(k)} + {self._outer_offset(k, program.operands[k], outer)} + at{n}"
                restrict = "" if program.operands[k].in_place else " __restrict__"
                lines.append(f"const {MEMORY_TYPES[code]}*{restrict} z{n} = {start};")
        used = list(dict.fromkeys([*self.reads, *(s.operand for s in program.stores)]))
        # Of parameters only, compilers believe that nothing else points there, and mix loads with stores before.
        kinds = [(k, "" if program.operands[k].written else "const ", program.operands[k].code) for k in used]
        given = ", ".join(f"{const}{MEMORY_TYPES[code]}* __restrict__ y{k}" for k, const, code in kinds)
        many = self._unrolled()
        row = _RowContext(outer, elsewhere, taken)
        if self._has_fast_path():
            return lines + self._cpu_fast(low, high, row, given, used) + closing
        each = self._cpu_each(low, high, row)
        if many == 1:
            return lines + each + closing
        pointers = ", ".join(f"y{k}" for k in used)
        return [
            *lines,
            f"[&]({given}) __attribute__((always_inline)) {{",
            f"NL_UNROLL_BY({many})",
            *each,
            f"}}({pointers});",
            *closing,
        ]

    def _cpu_runs(self, low: str, high: str, outer: list[str]) -> list[str]:
        """The head of a loop over runs of a row: elements from `cut` to `next`, where z{n}[i] is what gather n reads.

        Where a run's elements are no neighbours, some are brought together first.
        """
        program = self.program
        fixed = {k: loaded(f"a{k}", program.operands[k].code) for k in self.placing[1]}
        found = ", ".join(f"at{n} = 0, step{n} = 0" for n in self.runs)
        lines = [f"for (i64 cut = {low}, next; cut < {high}; cut = next) {{", f"i64 left = {high} - cut, {found};"]
        lines += self.find_places(fixed, [*outer, "cut"], arguments=["left", *(f"step{n}" for n in self.runs)])
        apart = []
        for n in self.runs:
            lines += [f"{MEMORY_TYPES[program.body[n].code]} held{n}[{HELD}];"]
            apart.append(f"step{n} != 1")
        lines += [f"if ({' || '.join(apart)}) left = nl::fewer(left, {HELD});", "next = cut + left;"]
        for n in self.runs:
            k, code = program.body[n].operand, program.body[n].code
            operand = program.operands[k]
            at = f"cut * {self.block.number(f's{k}_{self.rank - 1}', operand.strides[-1])} + at{n}"
            start = f"{self.pointer(k)} + {self._outer_offset(k, operand, outer)} + {at}"
            ctype = MEMORY_TYPES[code]
            restrict = "" if operand.in_place else " __restrict__"
            lines += [
                f"const {ctype}* from{n} = {start};",
                f"if (step{n} != 1) {{",
                f"for (i64 k = 0; k < left; ++k) held{n}[k] = from{n}[k * step{n}];",
                f"from{n} = held{n};",
                "}",
                f"const {ctype}*{restrict} z{n} = from{n} - cut;",
            ]
        return lines

    def _cpu_fast(self, low: str, high: str, row: _RowContext, given: str, used: list[int]) -> list[str]:
        """The loop over a row by short forms of functions, some hundred elements at a time.

        Where an argument was out of the ordinary, these elements are computed again in full.

        What is left at the end becomes a vector, too: with elements before it, or with copies of its last one.
        """
        operands = self.program.operands
        lanes = 64 // min(ITEMSIZES[operands[k].code] for k in used)
        called, many = "__attribute__((noinline))", self._unrolled()
        lines = [f"const auto fast = [&]({given}, const i64 begin, const i64 count) {called} NL_SCHEDULED {{"]
        lines += ["nl::SlowFlags slow = {};", *([f"NL_UNROLL_BY({many})"] if many > 1 else [])]
        lines += self._cpu_each("0", f"(count & -{lanes})", row, fast=True)
        lines += ["return nl::is_slow(slow);", "};"]
        lines += [f"const auto whole = [&]({given}, const i64 begin, const i64 end) {called} {{"]
        lines += [*self._cpu_each("begin", "end", row), "};"]
        whole = ", ".join(f"y{k}" for k in used)
        begin = ", ".join(f"y{k} + {self._inner(k, operands[k], 'first')}" for k in used)
        lines += [f"i64 first = {low}, more = 0;"]
        lines += [f"for (i64 count; (count = nl::fast_count({high} - first, {lanes})); first += count) {{"]
        # Where one is out of the ordinary, more are expected: as many again as before go the slow way at once.
        lines += [f"if (!fast({begin}, first, count)) {{ more = 0; continue; }}"]
        lines += [f"count = first + count + more < {high} ? count + more : {high} - first;"]
        lines += [f"whole({whole}, first, first + count);", "more = count;", "}", f"if (first < {high}) {{"]
        apart = any(self._step(k) not in (0, 1) for k in used)
        if (
            apart
            or row.elsewhere
            or row.taken
            or any(operands[s.operand].strides[-1] != 1 for s in self.program.stores)
        ):
            return [*lines, f"whole({whole}, first, {high});", "}"]
        last = ", ".join(f"y{k} + {high} - {lanes}" if operands[k].strides[-1] else f"y{k}" for k in used)
        lines.append(f"if ({high} - {low} >= {lanes}) {{")
        lines.append(
            f"if (fast({last}, {high} - {lanes}, {lanes})) whole({whole}, {high} - {lanes}, {high});\n}} else {{"
        )
        lines.append(f"const i64 left = {high} - first;")
        for k in used:
            if operands[k].strides[-1]:
                lines.append(f"{MEMORY_TYPES[operands[k].code]} z{k}[{lanes}];")
        for k in self.reads:
            if operands[k].strides[-1]:
                lines.append(f"for (i64 k = 0; k < {lanes}; ++k) z{k}[k] = y{k}[first + (k < left ? k : left - 1)];")
        ends = ", ".join(f"z{k}" if operands[k].strides[-1] else f"y{k}" for k in used)
        copies = " ".join(f"y{s.operand}[first + k] = z{s.operand}[k];" for s in self.program.stores)
        lines.append(f"if (fast({ends}, first, {lanes})) whole({whole}, first, {high});")
        return [*lines, f"else for (i64 k = 0; k < left; ++k) {{ {copies} }}", "}", "}"]

    def _cpu_each(self, low: str, high: str, row: _RowContext, fast: bool = False) -> list[str]:
        """The loop itself; a fast one begins at `begin`, where its pointers point to."""
        program = self.program
        lines = ["NL_IVDEP", f"for (i64 i = {low}; i < {high}; ++i) {{"]
        at = "i"
        if fast:
            lines, at = ["NL_IVDEP", f"for (i64 k = {low}; k < {high}; ++k) {{", "const i64 i = begin + k;"], "k"
        values = {}
        for k in self.reads:
            operand = program.operands[k]
            text = f"a{k}" if operand.strides[-1] == 0 else f"y{k}[{self._inner(k, operand, at)}]"
            values[k] = loaded(row.elsewhere.get(k, text), operand.code)
        outs = {s.operand: f"r{s.operand}" for s in program.stores}
        for s in program.stores:
            lines.append(f"{CTYPES[program.operands[s.operand].code]} r{s.operand};")
        grid = self.box_grid(self.rank - 1, "i", "i64") if program.box is not None else ""
        if grid:
            lines.append(f"if (!({grid})) {{ {self._cpu_copy()} continue; }}")
        lines.append(self.call(values, [*row.outer, "i"], "i64", outs, row.taken, fast=fast))
        for s in program.stores:
            lines.append(f"y{s.operand}[{self._inner(s.operand, program.operands[s.operand], at)}] = r{s.operand};")
        lines.append("}")
        return lines

    def _has_fast_path(self) -> bool:
        """Whether loops first take functions to be of ordinary arguments."""
        body = self.program.body
        kinds = {
            KINDS[instr.code]
            for instr in body
            if instr.op_def is not None and KINDS[instr.code] in instr.op_def.fast_path
        }
        return self._is_free() and ("c" in kinds or ("f" in kinds and self._unrolled() > 1))

    def _is_free(self) -> bool:
        """Whether every element is computed, and no result lies where others read."""
        return self.program.box is None and not any(o.in_place for o in self.program.operands)

    def _unrolled(self) -> int:
        """Vectors that a loop takes at a time."""
        return vectors_unrolled(self.program) if self._is_free() else 1

    def _outer_offset(self, k: int, operand: Operand, outer: list[str]) -> str:
        terms = [
            f"{name} * {self.block.number(f's{k}_{d}', operand.strides[d])}"
            for d, name in enumerate(outer)
            if any(operand.strides[:-1])
        ]
        return " + ".join(terms) or "0"

    def _step(self, k: int) -> int:
        """How far neighbours of a row lie apart in what the host's loops read of an operand."""
        return 1 if k in self.brought else self.program.operands[k].strides[-1]

    def _inner(self, k: int, operand: Operand, at: str = "i") -> str:
        stride = self._step(k)
        if stride in (0, 1):
            return at if stride else "0"
        if stride == -1:  # In the text, since compilers make vectors of a row that is read backwards.
            return f"-{at}"
        return f"{at} * {self.block.number(f's{k}_{self.rank - 1}', stride)}"

    def _cpu_box(self, box: object, outer: list[str]) -> list[str]:
        """Copy what lies outside of the box; leaves the inner range inside it as [low, high)."""
        program, number = self.program, self.block.number
        b = program.box
        assert b is not None
        last = self.rank - 1
        tests = [self.box_test(d, name, "i64") for d, name in enumerate(outer) if not self.box_full(d)]
        lines = [f"const bool row_inside = {' && '.join(tests) or 'true'};"]
        if self.box_full(last):
            lines += ["i64 low = from, high = row_inside ? to : from;"]
        else:
            start = number(f"bs{last}", b.starts[last])
            end = number(f"be{last}", self.box_end(last))
            lines += [
                f"i64 low = {start} > from ? {start} : from, high = {end} < to ? {end} : to;",
                "low = low < to ? low : to;",
                "if (!row_inside || high < low) high = low;",
            ]
        copy = self._cpu_copy()
        lines += [
            f"NL_IVDEP\nfor (i64 i = from; i < low; ++i) {copy}",
            f"NL_IVDEP\nfor (i64 i = high; i < to; ++i) {copy}",
        ]
        return lines

    def _cpu_copy(self) -> str:
        """The statement that copies the base's element at `i`."""
        program, box = self.program, self.program.box
        assert box is not None
        store = program.stores[0].operand
        target = self._inner(store, program.operands[store])
        if box.fill >= 0:
            return f"y{store}[{target}] = {self.around([], 'i64')};"
        return f"y{store}[{target}] = y{box.base}[{self._inner(box.base, program.operands[box.base])}];"

    # ------------------------------------------------------------ launch

    def geometry(self) -> Geometry:
        shape = self.program.shape
        count = prod(shape)
        threads = -(-count // self.vector)
        items, each = (count, 1) if self.rank == 1 else (prod(shape[:-1]), shape[-1])
        if self.short:
            items, each = prod(shape[: -self.short]), prod(shape[-self.short :])
        blocks = -(-threads // THREADS)
        if self.turned:
            tiles = [-(-shape[d] // self.tile) for d in (self.across, self.rank - 1)]
            blocks = prod(tiles) * (count // (shape[self.across] * shape[-1]))
            items, each = blocks, 2 * self.tile**2
        elif self.wide and self.taken:
            blocks = -(-threads // (THREADS * TAKEN))
        elif self.stencil is not None:
            blocks = blocks_of(self.program, self.stencil)
        return Geometry(items=items, grain=grain_of(self.program, each), blocks=blocks, threads=THREADS)


def _c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


__all__ = ["emit_map"]
