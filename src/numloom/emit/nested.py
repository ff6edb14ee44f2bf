"""Kernels that reduce what they find by reducing short rows: distances, then the nearest, a sum, a mean.

Each element of a long row is the result of a short one (`Program.nested`), which a thread takes alone. On CUDA a thread
has one to four neighbouring results and keeps their own operand's rows (a point's numbers) in registers. All threads of
a warp are at the same element of their rows, so what that is computed from (a centre's numbers) is read once for a warp
and once for all results of a thread: reading it takes the first cache longer than three operations an element take.

The tree is that of `emit.reducing`. Along the fast axis a thread has some of the 128 lanes, neighbours in the tree
(lanes in the order of their reversed bits), else some runs; threads that share a result merge through shared
memory as parts of columns do. Loops are not unrolled: an element's work is some hundred instructions already.
"""

from __future__ import annotations

from dataclasses import replace
from operator import index

from numloom.base.dtypes import CHARS, ITEMSIZES
from numloom.emit.block import MEMORY_TYPES
from numloom.emit.reducing import FULL, LEVELS, WARP
from numloom.emit.reducing_host import HostReductionText
from numloom.emit.values import VALUE_TYPES, header, loaded, read_operands, rounded, statements
from numloom.ops.reduction_tree import LANES, RUN
from numloom.ops.reductions import REDUCTIONS
from numloom.plan.program import Geometry, KernelSource, Program
from numloom.plan.sizes import of_sizes

THREADS = 128
"""Threads of a block, at most twice as many where many share a result."""
COLUMNS = 8
"""Fewest results side by side in a block: each group of them reads rows of its own."""
HELD = 128
"""Registers for what a thread's results are computed from."""
POINTS = ((16, 4), (32, 2))
"""Results a thread, by the registers that one's own rows take."""
PARTS = 32
"""Most threads of a block that share a result."""
TOGETHER = 4
"""Lanes of one element that a thread merges at once."""
STAGED = 32 << 10
"""Most bytes of rows that a block keeps in shared memory."""
BUSY = FULL // 4
"""Threads that keep a device busy, each with much to do at once."""


def emit_nested(program: Program, entry: str) -> KernelSource:
    """Emit a reduction of what nested reductions give; the entry's name is a placeholder that the caller fills in."""
    kernel = _Nested(program)
    shared, cuda, cpu = kernel.shared_text(), kernel.cuda(entry), kernel.cpu(entry)
    return kernel.source(entry, shared, cuda, cpu, kernel.geometry())


class _Nested(HostReductionText):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        last = self.kept - 1
        # Operands of rows, the elements that they read, and where these are the same.
        self.extents = {k: index(inner.shape[0]) for inner in program.nested for k in read_operands(inner.body)}
        operands = program.operands
        words = {k: extent * max(1, ITEMSIZES[operands[k].code] // 4) for k, extent in self.extents.items()}
        own = [k for k in self.extents if not operands[k].strides[self.kept] and operands[k].inner[0]]
        taken = sum(words[k] for k in own)
        self.held = own if taken <= HELD else []
        # What is the same for the results of a thread is read once for them.
        self.shared = [
            k
            for k in self.extents
            if k not in own and (not self.kept or not operands[k].strides[last]) and operands[k].inner[0]
        ]
        most = next((points for registers, points in POINTS if taken <= registers), 1)
        if any(reduction.op_def.run for reduction in program.reductions):
            most = 1
        self.staged = next((k for k in self.shared if self._fits(k)), -1)
        self.across = program.shape[last] if self.kept else 1
        self.width = min(LANES, 1 << (index((self.count - 1).bit_length()) if self.count <= LANES else 7))
        if program.fast:
            parts = min(PARTS, max(1, self.width // TOGETHER))
            self.points, self.columns, self.parts = split_lanes(self.outputs, self.across, parts, most)
        else:
            self.points, self.columns, self.parts, self.part, self.chunks = split_runs(
                self.outputs, self.across, self.count, most
            )
        self.points = index(self.points)
        # Positions are sought beside the tree of the others, which they need not.
        self.sought = [] if self._is_free() else self.accumulators.sought()
        self.strategy = "columns" if self.chunks == 1 else "columns_split"
        self.vector, self.ahead = 1, False
        self.per_row = -(-self.across // (self.columns * self.points))

    def _tiles(self) -> int:
        return self.per_row * (self.outputs // max(self.across, 1))

    # ------------------------------------------------------------ shared text

    def shared_text(self) -> str:
        return (
            self.accumulators.text() + header("reduce") + header("stack") + self.row() + self._element() + self._post()
        )

    def _element(self) -> str:
        """nested0(p, rows...), element_of(p, row, r, rows..., values...), and element(p, row, r, values...)."""
        program = self.program
        inside = {m: f"nested{m}(p{self._names(m)})" for m in range(len(program.nested))}
        lines = self.element_lines(nested=inside)
        lines += [self.store_line(store) for store in program.stores]
        lines += [f"o{k} = v{reduction.value};" for k, reduction in enumerate(program.reductions)]
        outs = ", ".join(f"{ctype}& o{k}" for k, ctype in enumerate(self.accumulators.types))
        names = ", ".join(f"o{k}" for k in range(len(self.accumulators.types)))
        rows = {k: f"row.q{k} + {self.position(k)}, {self._inner(k)}" for k in self.extents}
        return (
            self.index_text()
            + "".join(self._nested(m) for m in range(len(program.nested)))
            + f"NL_DEV void element_of(const P& p, const Row& row, nl_index r{self._arguments()}, {outs}) {{\n  "
            + "\n  ".join(lines)
            + f"\n}}\nNL_DEV void element(const P& p, const Row& row, nl_index r, {outs}) {{\n  "
            + "\n  ".join(self.position_lines())
            + f"\n  element_of(p, row, r, {', '.join(rows.values())}{', ' * bool(rows)}{names});\n}}\n"
        )

    def _arguments(self, m: int | None = None) -> str:
        """Parameters: where the rows of operands begin, and their strides."""
        operands = self.program.operands
        return "".join(f", const {MEMORY_TYPES[operands[k].code]}* n{k}, i64 m{k}" for k in self._operands(m))

    def _names(self, m: int) -> str:
        return "".join(f", n{k}, m{k}" for k in self._operands(m))

    def _operands(self, m: int | None) -> list[int]:
        return list(self.extents) if m is None else read_operands(self.program.nested[m].body)

    def _inner(self, k: int) -> str:
        """The stride along an operand's rows."""
        stride = self.program.operands[k].inner[0]
        return str(index(stride)) if stride in (0, 1) else self.number(f"inner{k}", stride)

    def _nested(self, m: int) -> str:
        """The function that reduces one short row: lanes merged by halving, or runs in turn."""
        inner = self.program.nested[m]
        reduction, extent = inner.reductions[0], index(inner.shape[0])
        op_def, char = reduction.op_def, CHARS[inner.body[reduction.value].code]
        ctype, result = op_def.accumulator(char), VALUE_TYPES[reduction.code]
        cast = f"({ctype})" if ctype in MEMORY_TYPES else ""
        reads = {k: loaded(f"n{k}[l * m{k}]", self.program.operands[k].code) for k in read_operands(inner.body)}
        value = " ".join(statements(inner.body, self.block, "u", reads, {}, {}))
        mapped = op_def.map.replace("{x}", f"u{reduction.value}")

        def merge(a: str, b: str) -> str:
            return f"{a} = {cast}({op_def.combined(char, a, b)});"

        if inner.fast:
            width = 1 << (extent - 1).bit_length()
            lines = [
                f"{ctype} lane[{extent}];",
                f"NL_UNROLL\nfor (int l = 0; l < {extent}; ++l) {{ {value} lane[l] = {mapped}; }}",
            ]
            while width > 1:
                width //= 2
                pairs = min(width, extent - width)
                if pairs > 0:
                    lines.append(
                        f"NL_UNROLL\nfor (int l = 0; l < {pairs}; ++l) {merge('lane[l]', f'lane[l + {width}]')}"
                    )
        else:
            runs = -(-extent // RUN)
            lines = [f"{ctype} lane[{runs}];"]
            for run in range(runs):
                end = min(extent, (run + 1) * RUN)
                lines.append(f"{{ const int l = {run * RUN}; {value} lane[{run}] = {mapped}; }}")
                lines.append(
                    f"NL_UNROLL\nfor (int l = {run * RUN + 1}; l < {end}; ++l) {{ {value} "
                    f"const {ctype} x = {mapped}; {merge(f'lane[{run}]', 'x')} }}"
                )
            step = 1
            while step < runs:
                lines += [merge(f"lane[{k}]", f"lane[{k + step}]") for k in range(0, runs - step, 2 * step)]
                step *= 2
        finished = op_def.finalize.replace("{a}", "lane[0]").replace("{n}", str(extent)).replace("{T}", result)
        finished = rounded(finished, reduction.code)
        body = "\n  ".join(lines)
        return f"NL_DEV {result} nested{m}(const P& p{self._arguments(m)}) {{\n  {body}\n  return {finished};\n}}\n"

    # ------------------------------------------------------------ CUDA

    def cuda(self, entry: str) -> str:
        kind, points = self.index, self.points
        columns = self.block.narrow("columns", self.columns, "i32")
        tiles, across = self.number("tiles", self.per_row), self.number("across", self.across)
        each = f"#pragma unroll\nfor (int j = 0; j < {points}; ++j) "
        if self.program.fast:
            loop, total = self._pieces(kind) if self._is_free() else self._lanes(kind)
        else:
            loop, total = self._runs(kind)
        if self.sought:
            before, after = self._beside(kind)
            loop = f"{before}{loop}A all[{points}];\n{each}{{ all[j] = {total}; {after} }}\n"
            total = "all[j]"
        return (
            f'extern "C" __global__ void __launch_bounds__({2 * THREADS}) {entry}(const __grid_constant__ P p) {{\n'
            f"const int columns = {columns}, parts = blockDim.x / columns;\n"
            "const int tx = threadIdx.x & (columns - 1), ty = threadIdx.x / columns;\n"
            f"const i64 tile = blockIdx.x, outer = tile / {tiles};\n"
            f"const i64 first = (tile - outer * {tiles}) * columns * {points} + tx;\n"
            f"const i64 output = outer * {across} + first;\n"
            f"Row rows[{points}];\n{each}rows[j] = row_of(p, first + j * columns < {across} ? output + j * columns : "
            f"outer * {across});\n{self._held()}{self._stage()}{loop}__shared__ A part[{2 * THREADS}];\n"
            + self.columns_end(total, points, "blockDim.x", "output + j * columns", f"first + j * columns < {across}")
            + "}\n"
        )

    def _held(self) -> str:
        """Statements that read the rows of a thread's own results into registers."""
        text = ""
        for k in self.held:
            ctype, extent = MEMORY_TYPES[self.program.operands[k].code], self.extents[k]
            text += (
                f"{ctype} held{k}[{self.points}][{extent}];\n#pragma unroll\n"
                f"for (int j = 0; j < {self.points}; ++j) {{ {self._row_into(k, f'held{k}[j]', f'rows[j].q{k}')} }}\n"
            )
        return text

    def _row_into(self, k: int, to: str, begin: str) -> str:
        """Statements that read a row, 16 bytes at a time where it is aligned and dense."""
        operand, extent = self.program.operands[k], self.extents[k]
        ctype, itemsize = MEMORY_TYPES[operand.code], ITEMSIZES[operand.code]
        each = 1
        if operand.inner[0] == 1 and operand.word and not operand.past:
            each = next((w // itemsize for w in (operand.word, 8) if w > itemsize and extent * itemsize % w == 0), 1)
        if each == 1:
            return f"\n#pragma unroll\nfor (int l = 0; l < {extent}; ++l) {to}[l] = ({begin})[l * {self._inner(k)}];"
        return (
            f"\n#pragma unroll\nfor (int l = 0; l < {extent}; l += {each}) {{ nl::pack<{each}, {ctype}> w; "
            f"nl::load(w, {begin} + l);\n#pragma unroll\n"
            f"for (int v = 0; v < {each}; ++v) {to}[l + v] = w.x[v]; }}"
        )

    def _take(self, at: str, collect: str = "") -> str:
        """Statements that take the element at a position into ``acc[j]`` of all results, or as `collect` says."""
        reads = "".join(
            f"{MEMORY_TYPES[self.program.operands[k].code]} y{k}[{self.extents[k]}]; "
            f"{self._row_into(k, f'y{k}', self._source(k))}\n"
            for k in self.shared
        )
        rows = ""
        for k in self.extents:
            held = f"held{k}[j], 1" if k in self.held else f"y{k}, 1" if k in self.shared else ""
            rows += f", {held or f'row.q{k} + {self.position(k)}, {self._inner(k)}'}"
        collect = collect or self._collect()
        return (
            f"{{ const nl_index r = {at}; {' '.join(self.position_lines())}\n{reads}"
            f"#pragma unroll\nfor (int j = 0; j < {self.points}; ++j) {{ const Row& row = rows[j]; "
            f"{self.accumulators.declared} element_of(p, row, r{rows}, {', '.join(self.accumulators.values)}); "
            f"{collect} }} }}"
        )

    def _collect(self) -> str:
        """Statements that take values into ``acc[j]``, or (positions beside a tree) into ``best[j]`` and ``at[j]``."""
        if not self.sought:
            return self.accumulators.collect("r").replace("acc.", "acc[j].")
        lines = []
        for k, reduction in enumerate(self.accumulators.reductions):
            if k not in self.sought:
                add = (
                    f"buf{k}[e] = x{k};"
                    if reduction.op_def.run
                    else self.accumulators.add(k, f"acc[j].a{k}", "(i64)(r)")
                )
                lines.append(f"{{ {add} }}")
                continue
            as_good = ">=" if reduction.op_def.better == "<" else "<="
            best, at, word = f"best{k}[j]", f"at{k}[j]", self.accumulators.as_word
            lines.append(
                f"const bool wins{k} = (!({word(k, f'x{k}')} {as_good} {word(k, best)}) & ({best} == {best})) | "
                f"((r < {at}) & ((x{k} == {best}) | ((x{k} != x{k}) & ({best} != {best})))); "
                f"{best} = wins{k} ? x{k} : {best}; {at} = wins{k} ? r : {at};"
            )
        return " ".join(lines)

    def _beside(self, kind: str) -> tuple[str, str]:
        """Declarations for positions that are sought in any order, and what puts them into ``all[j]``."""
        last = f"({kind})(~({kind.replace('i', 'u')})0 >> 1)"
        before, after = "", ""
        for k in self.sought:
            reduction, char = self.accumulators.reductions[k], self.accumulators.chars[k]
            worst = REDUCTIONS["min" if reduction.op_def.better == "<" else "max"].identity(char)
            before += (
                f"{self.accumulators.types[k]} best{k}[{self.points}]; {kind} at{k}[{self.points}];\n#pragma unroll\n"
                f"for (int j = 0; j < {self.points}; ++j) {{ best{k}[j] = {worst}; at{k}[j] = {last}; }}\n"
            )
            accumulator = reduction.op_def.accumulator(char)
            after += f"all[j].a{k} = {accumulator}{{best{k}[j], at{k}[j] == {last} ? -1 : (i64)at{k}[j]}};"
        return before, after

    def _fits(self, k: int) -> bool:
        """Whether a block can keep all rows of an operand: few neighbours (the nearest of 64 centres 43 to 36 us)."""
        operand = self.program.operands[k]
        if not self.program.fast or self.count > LANES or operand.inner[0] != 1:
            return False
        width = 1 << index((self.count - 1).bit_length())
        return width * self.extents[k] * ITEMSIZES[operand.code] <= STAGED

    def _stage(self) -> str:
        """Statements that bring the rows of an operand to shared memory."""
        if (k := self.staged) < 0:
            return ""
        operand, extent = self.program.operands[k], self.extents[k]
        n = self.block.narrow("count", self.count, self.index)
        step = self.number(f"s{k}_{self.kept}", operand.strides[self.kept])
        return (
            f"alignas(16) __shared__ {MEMORY_TYPES[operand.code]} s{k}[{self.width * extent}];\n"
            f"for (int i = threadIdx.x; i < {n} * {extent}; i += blockDim.x) "
            f"s{k}[i] = rows[0].q{k}[(i / {extent}) * (i64){step} + i % {extent}];\n__syncthreads();\n"
        )

    def _source(self, k: int) -> str:
        """Where row r of an operand lies."""
        return f"s{k} + r * {self.extents[k]}" if k == self.staged else f"rows[0].q{k} + {self.position(k)}"

    def _run(self, start: str, limit: str, step: int) -> str:
        """Statements that take a run of elements, `step` apart, into fresh ``acc[j]``."""
        buffers = self.accumulators.buffers()
        count = "++e" if buffers else ""
        close = self.accumulators.close("e").replace("acc.", "acc[0].")
        after = f", {count}" if count else ""
        return (
            f"A acc[{self.points}];\n#pragma unroll\nfor (int j = 0; j < {self.points}; ++j) acc[j] = a_none();\n"
            f"{buffers} {'int e = 0;' if buffers else ''}\n#pragma unroll 1\n"
            f"for ({self.index} at = {start}; at < {limit}; at += {step}{after}) {self._take('at')}\n{close}\n"
        )

    def _counter(self, name: str, levels: int, kept: str = "stack") -> str:
        return (
            f"{kept}<{max(levels, 3)}> {name}[{self.points}];\n#pragma unroll\n"
            f"for (int j = 0; j < {self.points}; ++j) counter_start({name}[j]);\n"
        )

    def _chunk(self, kind: str) -> str:
        """The begin of a block's chunk and the end of it."""
        n = self.block.narrow("count", self.count, kind)
        if self.chunks == 1:
            return f"const {kind} base = 0, limit = {n};\n"
        size = self.block.narrow("size", self.chunk, kind)
        return (
            f"const {kind} base = ({kind})blockIdx.y * {size}, left = {n} - base, "
            f"limit = left < {size} ? {n} : base + {size};\n"
        )

    def _is_free(self) -> bool:
        """Whether no tree changes the results: positions of extremes, or whole numbers and truth values."""
        return self.accumulators.positions() or self.accumulators.unordered()

    def _taken(self, kind: str) -> str:
        """Statements that take the elements from `begin` to `end` where no tree changes the results."""
        return self._search(kind) if self.accumulators.positions() else self._run("begin", "end", 1)

    def _pieces(self, kind: str) -> tuple[str, str]:
        """Parts are pieces of a chunk, if no tree changes the results."""
        share = self.block.narrow("share", -(-min(self.count, self.chunk) // self.parts), kind)
        return (
            self._chunk(kind) + f"const {kind} begin = base + ty * {share}, rest = limit - begin, "
            f"end = rest < {share} ? limit : begin + {share};\n{self._taken(kind)}",
            "acc[j]",
        )

    def _search(self, kind: str) -> str:
        """Statements that find the positions of extremes from `begin` to `end`.

        What wins is better, or the first NaN: not as good or worse, where the best one so far is no NaN. An extreme of
        nothing but the worst value is where the search begins.
        """
        each = f"#pragma unroll\nfor (int j = 0; j < {self.points}; ++j) "
        before, take, after = [], [], []
        for k, (reduction, ctype) in enumerate(zip(self.accumulators.reductions, self.accumulators.types, strict=True)):
            better, char = reduction.op_def.better, self.accumulators.chars[k]
            worst = REDUCTIONS["min" if better == "<" else "max"].identity(char)
            before.append(f"{ctype} best{k}[{self.points}]; {kind} at{k}[{self.points}];")
            before.append(f"{each}{{ best{k}[j] = {worst}; at{k}[j] = begin; }}")
            as_good = ">=" if better == "<" else "<="
            new, old = [self.accumulators.as_word(k, value) for value in (f"x{k}", f"best{k}[j]")]
            take.append(
                f"const bool wins{k} = !({new} {as_good} {old}) & (best{k}[j] == best{k}[j]); "
                f"best{k}[j] = wins{k} ? x{k} : best{k}[j]; at{k}[j] = wins{k} ? r : at{k}[j];"
            )
            after.append(
                f"acc[j].a{k} = {reduction.op_def.accumulator(char)}{{best{k}[j], begin < end ? (i64)at{k}[j] : -1}};"
            )
        return (
            "\n".join(before)
            + f"\n#pragma unroll 1\nfor ({kind} at = begin; at < end; ++at) {self._take('at', ' '.join(take))}\n"
            f"A acc[{self.points}];\n{each}{{ {' '.join(after)} }}\n"
        )

    def _lanes(self, kind: str) -> tuple[str, str]:
        """Parts are lanes that are neighbours in the tree."""
        points, bits = self.points, self.width.bit_length() - 1
        each = self.block.narrow("each", self.width // self.parts, "i32")
        all_j = f"#pragma unroll\nfor (int j = 0; j < {points}; ++j) "
        reversed_bits = f"(int)(__brev((u32)i) >> {32 - bits})" if bits else "0"
        if self.count > LANES:
            several = self.count > WARP
            run = self._run("at0", "end", LANES)
            lane = f"{{ const {kind} at0 = base + lane, end = limit;\n{run}{all_j}counter_add(c[j], acc[j]);\n}}\n"
            if several:
                runs = (self.chunk // WARP).bit_length()
                lane = (
                    self._counter("d", index(runs)) + f"for ({kind} at0 = base + lane; at0 < limit; at0 += {WARP}) {{\n"
                    f"const {kind} left = limit - at0, end = left < {WARP} ? limit : at0 + {WARP};\n"
                    f"{run}{all_j}counter_add(d[j], acc[j]);\n}}\n{all_j}counter_add(c[j], counter_total(d[j]));\n"
                )
            return (
                self._chunk(kind)
                + self._counter("c", 8)
                + f"for (int i = ty * {each}; i < (ty + 1) * {each}; ++i) {{\n"
                f"const int lane = {reversed_bits};\n{lane}}}\n",
                "counter_total(c[j])",
            )
        together = min(TOGETHER, self.width)
        n = self.block.narrow("count", self.count, kind)
        lines = []
        for g in range(together):
            step = int(f"{g:b}".zfill(bits)[::-1], 2) if bits else 0
            lines.append(f"{{ const {kind} at = lane + {step};\n")
            guard = "" if self.count == self.width else f"if (at < {n}) "
            buffers = self.accumulators.buffers()
            lines.append(f"{all_j}some[{g}][j] = a_none();\n{guard}{{ A (&acc)[{points}] = some[{g}]; ")
            lines.append(f"{buffers} {'const int e = 0;' if buffers else ''} {self._take('at')}\n")
            lines.append(f"{self.accumulators.close('1').replace('acc.', 'acc[0].')} }} }}\n")
        step = 1
        while step < together:
            for g in range(0, together, 2 * step):
                lines.append(f"{all_j}some[{g}][j] = a_merge(some[{g}][j], some[{g + step}][j]);\n")
            step *= 2
        levels = (self.width // together).bit_length()
        others = [k for k in range(len(self.accumulators.types)) if k not in self.sought]
        kept = "stack" if any(self.accumulators.reductions[k].op_def.run for k in others) else "counter"
        return (
            f"{self._counter('c', levels, kept)}#pragma unroll 1\n"
            f"for (int i = ty * {each}; i < (ty + 1) * {each}; i += {together}) {{\n"
            f"const {kind} lane = {reversed_bits};\nA some[{together}][{points}];\n{''.join(lines)}"
            f"{all_j}counter_add(c[j], some[0][j]);\n}}\n",
            "counter_total(c[j])",
        )

    def _runs(self, kind: str) -> tuple[str, str]:
        """Parts are runs that follow each other."""
        n = self.block.narrow("count", self.count, kind)
        part = self.number("part", self.part)
        bounds = (
            f"const i64 begin64 = ((i64)blockIdx.y * parts + ty) * {part};\n"
            f"const {kind} begin = begin64 < {n} ? ({kind})begin64 : {n};\n"
            f"const {kind} limit = begin64 + {part} < {n} ? ({kind})(begin64 + {part}) : {n};\n"
        )
        if self._is_free():
            return bounds + f"const {kind} end = limit;\n{self._taken(kind)}", "acc[j]"
        levels = next(most for most in LEVELS if self.part // RUN < 1 << most)
        return (
            bounds + self._counter("c", levels) + f"for ({kind} at0 = begin; at0 < limit; at0 += {RUN}) {{\n"
            f"const {kind} left = limit - at0, end = left < {RUN} ? limit : at0 + {RUN};\n{self._run('at0', 'end', 1)}"
            f"#pragma unroll\nfor (int j = 0; j < {self.points}; ++j) counter_add(c[j], acc[j]);\n}}\n",
            "counter_total(c[j])",
        )

    # ------------------------------------------------------------ launch

    def geometry(self) -> Geometry:
        host = super().geometry()
        counters = space = 0
        if self.chunks > 1:
            counters, space = self._counter_bytes(), self.column_space(self.points)
        return replace(
            host, blocks=self._tiles(), threads=self.columns * self.parts, blocks_y=self.chunks, counters=counters,
            workspace=max(host.workspace, space),
        )  # fmt: skip


@of_sizes
def split_lanes(outputs: int, across: int, parts: int, most: int) -> tuple[int, int, int]:
    """Results a thread (up to `most`), columns of threads a block, and threads (up to `parts`) that share results."""
    points = most
    while points > 1 and (points > across or -(-outputs // points) * parts < BUSY):
        points //= 2
    wanted = -(-BUSY // max(-(-outputs // points), 1))
    wide = 1 << max(-(-across // points) - 1, 0).bit_length()
    shared = min(parts, max(1 << (wanted - 1).bit_length(), 32 // wide, 1))
    return points, min(max(THREADS // shared, COLUMNS), wide), shared


@of_sizes
def split_runs(outputs: int, across: int, count: int, most: int) -> tuple[int, int, int, int, int]:
    """The same where runs are shared: results, columns, parts, their length, and blocks that share columns.

    What runs are computed from comes from memory, so there are more threads to wait for it.
    """
    runs = max(1, -(-count // RUN))
    points = most
    while points > 1 and (points > across or -(-outputs // points) * runs < 2 * BUSY):
        points //= 2
    wanted = max(1, min(-(-2 * BUSY // max(-(-outputs // points), 1)), runs))
    wide = 1 << max(-(-across // points) - 1, 0).bit_length()
    columns = min(2 * THREADS // min(8, 1 << (wanted - 1).bit_length()), wide)
    parts = min(2 * THREADS // columns, 1 << (wanted - 1).bit_length())
    part = RUN << max(-(-runs // max(wanted, parts)) - 1, 0).bit_length()
    return points, columns, parts, part, max(1, -(-count // (part * parts)))


__all__ = ["emit_nested"]
