"""Kernels that reduce: elementwise work, one or several reductions, elementwise work on the results.

All of them build the tree of docs/architecture.md, whatever threads share it, so the bits depend
neither on the strategy nor on the executor. Strategies on CUDA, by the length R of a reduced row
and the number O of outputs:

- fast axis reduced (128 lanes): R <= 16 (64 where operands are read by many rows) a thread a row;
  R <= 128 a warp or a part of one a row, an element a lane; R <= 2048 a warp a row, a run a lane; up to one chunk a
  block a row; beyond, a block a chunk, and the block that finishes a row last merges its chunks in order (one
  launch). Blocks have 128 threads, or up to four groups of them that share a chunk's runs where blocks are few;
- fast axis kept (one lane): columns by parts a block, 32 by 8 where parts are many, fewer columns where there are
  no more, up to 256 where parts are not needed; parts of long columns over blocks too, merged by the last block of a
  tile.

On the CPU a chunk is a loop over arrays of 128 lanes, or of up to 256 columns, which vectorises.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod

from numloom.base.dtypes import CTYPES, F16, ITEMSIZES
from numloom.emit.carriers import LINES, Carriers
from numloom.emit.cost import grain_of
from numloom.emit.elements import Elements
from numloom.emit.values import VALUE_TYPES, header
from numloom.ops.tree import CHUNKS, LANES, RUN, chunk_of
from numloom.plan.program import Geometry, Program, Source
from numloom.plan.sizes import of_sizes

SHORT = 16
REUSED = 64
"""Longest rows that a thread takes alone where every operand is read by many rows, as in tables of distances."""
TOGETHER = 64
"""Outputs of such rows that a thread takes in turn."""
EACH = 8
"""Elements of a row of up to 128 that a thread takes where there are many rows."""
FULL = 132 << 10
"""Threads that keep a large GPU busy, about."""
WARP = LANES * RUN
GROUPS = 4
"""Most threads that share a lane of a chunk."""
SHARED = 32 << 10
"""Bytes of carriers that a block exchanges at most."""
BLOCK = 256
COLUMNS = 32
ABREAST = 4
"""Most columns that a thread takes at a time."""
AHEAD = 128
"""Bytes of partial results that a thread asks for at a time."""
NARROW = 256
"""Columns from which one line of them after the other is read faster than several at a time."""
HEAVY = 40
"""Cost from which short rows are taken beside each other wherever they lie."""
ROW = 32
"""Elements of a long row that the CPU takes in the time of a row's beginning and end."""
SMALL = 6
"""Most instructions whose text the CPU's loops repeat."""
LEVELS = (9, 30)
"""Levels of a column's counter: the fewest that hold its runs are in the text."""


def emit_reduction(program: Program, entry: str) -> Source:
    """Emit a program with reductions; the entry's name is a placeholder that the caller fills in."""
    kernel = _Reduction(program)
    shared, cuda, cpu = kernel.shared_text(), kernel.cuda(entry), kernel.cpu(entry)
    return kernel.source(entry, shared, cuda, cpu, kernel.geometry())


class _Reduction(Elements):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.carriers = Carriers(program, program.reductions)
        self.lanes = LANES if program.fast else 1
        self.chunk = chunk_of(self.count)
        self.together = 1
        self.line = 32
        self.groups = self.abreast = 1
        if program.fast:
            self.chunks = max(1, -(-self.count // self.chunk))
            if self.count <= SHORT or (self.count <= REUSED and self._reuse() >= 8):
                self.strategy = "thread"
                self.together = self._together()
            elif self.count <= LANES:
                self.strategy = "line"
                width = 1 << (self.count - 1).bit_length()
                while not program.stores and self.line > max(width // EACH, 4) and self.outputs * self.line >= 2 * FULL:
                    self.line //= 2
            elif self.count <= WARP:
                self.strategy = "warp"
            else:
                self.strategy = "block" if self.chunks == 1 else "split"
                self.groups = self._groups()
        else:
            # One lane: any split at multiples of 16 * 2^k builds the same tree.
            self.abreast = self._abreast()
            self.columns, self.parts, self.part, self.chunks = column_split(self.outputs // self.abreast, self.count)
            self.strategy = "columns" if self.chunks == 1 else "columns_split"

    def _abreast(self) -> int:
        """Neighbouring columns that a thread takes at a time: a few that read the same, so that it is computed once."""
        program = self.program
        extent = program.shape[self.kept - 1] if self.kept > 1 else 1
        last = [program.operands[k].strides[self.kept - 1] for k in self.reads]
        same = len(last) > 1 and any(last) and not all(last) and not program.stores and not self.gathers
        plain = not any(reduction.row.run for reduction in program.reductions) and not self.carriers.positions()
        return extent if same and plain and extent <= ABREAST else 1

    def _most_groups(self) -> int:
        """Most groups of a block: known from the structure, so that rows of all lengths share a text."""
        return max(1, min(GROUPS, SHARED // (LANES * self.carriers.nbytes())))

    def _groups(self) -> int:
        """Threads that share a lane of a chunk, each an equal part of its runs, so that the device is full.

        Several at least where chunks are merged: the last block has all of a row's to merge, and smaller shares of the
        work end together (four groups instead of two: sum of 1e8 101 instead of 109 µs, moments of rows 119 instead of
        105, measured).
        """
        least = 1 if self.strategy == "block" else 4 if self.carriers.plain() or self.carriers.positions() else 2
        return groups_of(self.outputs * self.chunks, self.count, self.chunk, self._most_groups(), least)

    def _together(self) -> int:
        """Outputs that a thread takes in turn, since they share an operand's row."""
        if self.kept < 2 or self.count < 8 or self.gathers:
            return 1
        down, across = self.program.shape[self.kept - 2 : self.kept]
        shared = [k for k in self.reads if not self.program.operands[k].strides[self.kept - 2]]
        other = [k for k in self.reads if k not in shared and self.program.operands[k].strides[self.kept - 1]]
        held = sum(self.count * max(1, ITEMSIZES[self.program.operands[k].code] // 4) for k in shared)
        return together_of(self.outputs, down, held) if shared and not other and across >= 32 else 1

    def _reuse(self) -> float:
        """How many times the operand that is read least often is read."""
        shape = self.program.shape
        unique = [
            prod(e for e, s in zip(shape, self.program.operands[k].strides, strict=True) if s)
            for k in self.streams
            if not self.program.operands[k].post
        ]
        return min((self.outputs * self.count / max(elements, 1) for elements in unique), default=1)

    def _tiles(self) -> int:
        return -(-(self.outputs // self.abreast) // self.columns)

    # ------------------------------------------------------------ shared text

    def shared_text(self) -> str:
        """Carrier, positions of streams, the element function and the post stage."""
        return self.carriers.text() + header("reduce") + self.row() + self._element() + self._post()

    def _element(self) -> str:
        """element(p, row, r, values...): the reduced values at position r of a row; side stores on the way."""
        program = self.program
        lines = self.element_lines()
        lines += [self.store_line(store) for store in program.stores]
        outs = []
        for k, reduction in enumerate(program.reductions):
            outs.append(f"{self.carriers.types[k]}& o{k}")
            lines.append(f"o{k} = v{reduction.value};")
        head = f"NL_DEV void element(const P& p, const Row& row, nl_index r, {', '.join(outs)}) {{\n  "
        several = self._several_elements() if self.abreast > 1 else ""
        return self.index_text() + head + "\n  ".join(lines) + "\n}\n" + several

    def _several_elements(self) -> str:
        """elements(p, rows, r, x): the reduced values of rows abreast, what they share computed once."""
        program = self.program
        own: set[int] = set()
        for number, instr in enumerate(program.body):
            strides = program.operands[instr.operand].strides if instr.kind == "load" else instr.strides
            reads = instr.kind in ("load", "iota") and bool(strides[self.kept - 1])
            if reads or own.intersection(instr.args):
                own.add(number)
        lines = self.element_lines(only=[n for n in range(len(program.body)) if n not in own])
        values = [f"x[{{j}}].x{k} = v{reduction.value};" for k, reduction in enumerate(program.reductions)]
        each = " ".join([*self.element_lines(only=sorted(own)), *values])
        lines += [f"{{ const Row& row = rows[{j}]; {each.replace('{j}', str(j))} }}" for j in range(self.abreast)]
        return (
            f"struct X {{ {self.carriers.declared} }};\n"
            "NL_DEV void elements(const P& p, const Row* rows, nl_index r, X* x) {\n  const Row& row = rows[0];\n  "
            + "\n  ".join(lines)
            + "\n}\n"
        )

    def _call(self, at: str) -> str:
        """The call of the element function."""
        return f"element(p, row, {at}, {', '.join(self.carriers.values)});"

    def _post(self) -> str:
        program = self.program
        count = self.number("count", self.count)
        finished = {
            k: self.carriers.finished(k, self.count, count, VALUE_TYPES[reduction.code])
            for k, reduction in enumerate(program.reductions)
        }
        lines = self.post_lines(finished)
        lines += [self.post_store_line(store) for store in program.post_stores]
        names = "".join(f", k{d}" for d in range(self.kept))
        return (
            f"NL_DEV void post_at(const P& p{names.replace(', ', ', i64 ')}, const A& a) {{\n  "
            + "\n  ".join(lines)
            + "\n}\nNL_DEV void post(const P& p, i64 output, const A& a) "
            + f"{{ {self.split_line()} post_at(p{names}, a); }}\n"
        )

    # ------------------------------------------------------------ CUDA

    def _run_text(self, exists: str, index: str, kind: str, fresh: bool = True) -> str:
        """Statements that add one run (RUN elements at `index`, by e) into carrier `acc`."""
        return self.carriers.run(self._call(f"({kind})({index})"), index, exists, fresh)

    def _counting(self, run: str, levels: int) -> tuple[str, str, str]:
        """How a thread takes run after run: what stands before, for each (`run` fills `acc`), and the total."""
        if self.carriers.positions():
            return "A acc = a_none();", run, "acc"
        kept = "counter" if self.carriers.plain() else "stack"
        return f"{kept}<{levels}> c; counter_start(c);", f"{run}\ncounter_add(c, acc);", "counter_total(c)"

    def cuda(self, entry: str) -> str:
        kind = self.index
        n = self.block.narrow("count", self.count, kind)
        outputs = self.number("outputs", self.outputs)
        threads = LANES * self._most_groups() if self.strategy in ("block", "split") else 256
        head = f'extern "C" __global__ void __launch_bounds__({threads}) {entry}(const __grid_constant__ P p) {{\n'
        if self.strategy == "thread":
            return head + self._cuda_thread(kind, n, outputs) + "}\n"
        if self.strategy == "line":
            return head + self._cuda_line(kind, n, outputs) + "}\n"
        if self.strategy == "warp":
            return head + self._cuda_warp(kind, n, outputs) + "}\n"
        if self.strategy in ("block", "split"):
            return head + self._cuda_block(kind, n, outputs) + "}\n"
        return head + self._cuda_columns(kind, n, outputs) + "}\n"

    def _cuda_thread(self, kind: str, n: str, outputs: str) -> str:
        """A thread a row: one element a lane, lanes merged by halving.

        Where some operand is the same for outputs along the last dimension but one, a thread takes `together` of
        these, which read it once; what else they read is then the same for neighbouring threads.
        """
        if self.together == 1:
            return (
                f"const i64 output = (i64)blockIdx.x * 256 + threadIdx.x;\nif (output >= {outputs}) return;\n"
                + f"Row row = row_of(p, output);\n{self._held_rows(self.reads)}"
                + self._short_row(n, kind)
            )
        down, across = self.program.shape[self.kept - 2 : self.kept]
        shared = [k for k in self.reads if not self.program.operands[k].strides[self.kept - 2]]
        groups = self.number("groups", -(-down // self.together))
        width, height = self.number("across", across), self.number("down", down)
        together = self.number("together", self.together)
        # From one output to the next, what is not shared begins a step further.
        d, operands = self.kept - 2, self.program.operands
        steps = {k: self.number(f"s{k}_{d}", operands[k].strides[d]) for k in self.streams if k not in shared}
        counts = {iota.index: self.number(f"t{iota.index}_{d}", iota.strides[d]) for iota in self.iotas}
        return (
            "i64 rest = (i64)blockIdx.x * 256 + threadIdx.x;\n"
            f"const i64 last = rest % {width}; rest /= {width};\nconst i64 group = rest % {groups}; rest /= {groups};\n"
            f"const i64 begin = group * {together}, outer = rest * {height};\n"
            f"i64 output = (outer + begin) * {width} + last;\nif (output >= {outputs}) return;\n"
            f"const i64 end = begin + {together} < {height} ? begin + {together} : {height};\n"
            "Row row = row_of(p, output), next = row;\n"
            + self._held_rows(shared, single=True)
            + f"#pragma unroll 1\nfor (i64 k = begin; k < end; ++k, output += {width}) {{\n"
            + "".join(f"row.q{k} = next.q{k}; next.q{k} += {step};\n" for k, step in steps.items())
            + "".join(f"row.t{index} = next.t{index}; next.t{index} += {step};\n" for index, step in counts.items())
            + self._held_rows([k for k in self.reads if k not in shared])
            + self._short_row(n, kind)
            + "}\n"
        )

    def _held_rows(self, reads: Sequence[int], single: bool = False) -> str:
        """Statements that read whole rows into registers: 16 bytes at a time, or (`single`) also element by element."""
        lines = []
        for k in reads:
            operand = self.program.operands[k]
            ctype, itemsize = CTYPES[operand.code], ITEMSIZES[operand.code]
            each = 16 // itemsize if operand.aligned and self.count * itemsize % 16 == 0 else 1
            dense = self.rank - self.kept == 1 and self.count > 0 and operand.strides[-1] == 1
            if dense and (each > 1 or single or itemsize == 16) and not operand.written and not operand.in_place:
                lines.append(
                    f"{ctype} held{k}[{self.count}];\n#pragma unroll\n"
                    f"for (int l = 0; l < {self.count}; l += {each}) {{ "
                    f"nl::pack<{each}, {ctype}> w; nl::load(w, row.q{k} + l);\n#pragma unroll\n"
                    f"for (int v = 0; v < {each}; ++v) held{k}[l + v] = w.x[v]; }}\nrow.q{k} = held{k};\n"
                )
        return "".join(lines)

    def _short_row(self, n: str, kind: str) -> str:
        """A row of few elements, a lane each, merged by halving; then its post stage."""
        width = 1 << max(self.count - 1, 0).bit_length()
        unroll = "NL_UNROLL\n"
        return (
            f"A lane[{width}];\n{unroll}"
            f"for (int l = 0; l < {width}; ++l) {{ const {kind} start = l; "
            + self.carriers.single(self._call("start"), "start", "" if width == self.count else f"start < {n}")
            + f" lane[l] = acc; }}\n{unroll}"
            f"for (int half = {width // 2}; half > 0; half /= 2) {{\n{unroll}"
            f"for (int l = 0; l < {max(width // 2, 1)}; ++l) if (l < half) lane[l] = a_merge(lane[l], lane[l + half]);"
            f" }}\npost(p, output, lane[0]);\n"
        )

    def _cuda_line(self, kind: str, n: str, outputs: str) -> str:
        """Some threads of a warp a row of at most 128 elements, an element a lane; a thread merges its own lanes first.

        The fewer threads share a row the less is exchanged; all 32 where rows are few.
        """
        width, threads = 1 << (self.count - 1).bit_length(), self.line
        each = width // threads
        return (
            f"i64 output = (i64)blockIdx.x * {256 // threads} + threadIdx.x / {threads};\n"
            # Threads of a warp exchange, so all of them stay where they have several rows.
            + (
                f"if (output >= {outputs}) return;\nconst bool exists = true;\n"
                if threads == 32
                else f"const bool exists = output < {outputs};\nif (!exists) output = 0;\n"
            )
            + f"const Row row = row_of(p, output);\nA lane[{each}];\n#pragma unroll\n"
            f"for (int j = 0; j < {each}; ++j) {{ const {kind} at = threadIdx.x % {threads} + {threads} * j;\n"
            + self.carriers.single(self._call("at"), "at", "" if width == self.count else f"at < {n}")
            + " lane[j] = acc; }\n"
            f"#pragma unroll\nfor (int half = {each // 2}; half > 0; half /= 2) {{\n#pragma unroll\n"
            f"for (int j = 0; j < {max(each // 2, 1)}; ++j) if (j < half) lane[j] = a_merge(lane[j], lane[j + half]);"
            " }\nA a = lane[0];\n"
            f"#pragma unroll\nfor (int mask = {threads // 2}; mask > 0; mask /= 2) a = a_across(a, mask);\n"
            f"if (exists && threadIdx.x % {threads} == 0) post(p, output, a);\n"
        )

    def _cuda_warp(self, kind: str, n: str, outputs: str) -> str:
        """A warp a row, four lanes a thread, one run each."""
        run = self._run_text(f"at + e * {LANES} < {n}", f"at + e * {LANES}", kind)
        return (
            f"const i64 output = (i64)blockIdx.x * 8 + (threadIdx.x >> 5);\nif (output >= {outputs}) return;\n"
            "const Row row = row_of(p, output);\nA lane[4];\n#pragma unroll\n"
            f"for (int j = 0; j < 4; ++j) {{ const {kind} at = (threadIdx.x & 31) + 32 * j;\n"
            f"const bool full = at + {LANES * (RUN - 1)} < {n};\n{run}\nlane[j] = acc; }}\n"
            "A a = a_merge(a_merge(lane[0], lane[2]), a_merge(lane[1], lane[3]));\n"
            "#pragma unroll\nfor (int mask = 16; mask > 0; mask /= 2) a = a_across(a, mask);\n"
            "if ((threadIdx.x & 31) == 0) post(p, output, a);\n"
        )

    def _cuda_block(self, kind: str, n: str, outputs: str) -> str:
        """A block a chunk; the last block of a row merges its chunks."""
        split, most = self.strategy == "split", self._most_groups()
        levels = (CHUNKS[-1] // WARP).bit_length()
        run = self._run_text(f"at + e * {LANES} < end", f"at + e * {LANES}", kind, not self.carriers.positions())
        start, add, total = self._counting(run, levels)
        runs = -(-min(self.count, self.chunk) // (WARP * self.groups))
        each = self.block.narrow("part", WARP << (runs - 1).bit_length(), kind)
        size = self.block.narrow("size", self.chunk, kind)
        chunks = self.number("chunks", self.chunks) if split else "1"
        text = (
            f"const i64 output = (i64)blockIdx.x / {chunks};\n"
            f"const {kind} chunk = ({kind})(blockIdx.x % {chunks});\n@WORK@"
            f"const int u = threadIdx.x % {LANES}, group = threadIdx.x / {LANES}, groups = blockDim.x / {LANES};\n"
            f"const Row row = row_of(p, output);\n{start}\n"
            f"const {kind} begin = chunk * {size}, rest = {n} - begin;\n"
            f"const {kind} from = group * {each} < rest ? begin + group * {each} : {n};\n"
            f"const {kind} end = {each} < {n} - from ? from + {each} : {n};\n"
            f"for ({kind} at = from + u; at < end; at += {WARP}) {{\n"
            f"const bool full = at + {LANES * (RUN - 1)} < end;\n{add} }}\n"
            f"__shared__ A part[{most}][{LANES}];\npart[group][u] = {total};\n__syncthreads();\n"
            # Groups are neighbours in the tree: pairs of them, then pairs of pairs.
            "for (int step = 1; step < groups; step *= 2) {\n"
            "if (group % (2 * step) == 0) part[group][u] = a_merge(part[group][u], part[group + step][u]);\n"
            "__syncthreads(); }\n"
            "if (threadIdx.x >= 32) { if (__SKIP__) return; } else {\n"
            "A a = a_merge(a_merge(part[0][u], part[0][u + 64]), a_merge(part[0][u + 32], part[0][u + 96]));\n"
            "#pragma unroll\nfor (int mask = 16; mask > 0; mask /= 2) a = a_across(a, mask);\n"
            "if (threadIdx.x == 0) { __DONE__ }\n}\n"
        )
        if not split:
            return text.replace("@WORK@", "").replace("__SKIP__", "true").replace("__DONE__", "post(p, output, a);")
        work = self.block.workspace()
        partial = self.number("partials", self._counter_bytes())
        second = self.number("second", self._counter_bytes() + self.outputs * self.chunks * self.carriers.nbytes())
        start = (
            f"A* partial = (A*)({work} + {partial}) + output * {chunks};\n"
            f"u32* done = (u32*){work} + output;\n__shared__ bool last;\n"
        )
        return (
            text.replace("@WORK@", start)
            .replace("__SKIP__", "false")
            .replace(
                "__DONE__",
                f"partial[chunk] = a; __threadfence(); last = atomicAdd(done, 1u) == (u32){chunks} - 1;",
            )
            + "__syncthreads();\nif (!last) return;\n__threadfence();\n"
            f"A* some = partial;\nA* to = (A*)({work} + {second}) + output * ({chunks} / 32 + 2);\n"
            f"int left = (int){chunks};\n"
            "while (left > 1) {\n"
            "const int lines = (left + 31) / 32;\n"
            "for (int g = threadIdx.x >> 5; g < lines; g += 4 * groups) {\n"
            "const int k = g * 32 + (threadIdx.x & 31);\n"
            "A a = k < left ? nl::fetch(some + k) : a_none();\n"
            "#pragma unroll\nfor (int mask = 1; mask < 32; mask *= 2) a = a_across(a, mask);\n"
            "if ((threadIdx.x & 31) == 0) to[g] = a;\n}\n"
            "__syncthreads();\nA* other = some; some = to; to = other; left = lines;\n}\n"
            "if (threadIdx.x == 0) { *done = 0; post(p, output, nl::fetch(some)); }\n"
        )

    def _counter_bytes(self) -> int:
        units = self.outputs if self.program.fast else self._tiles()
        return -(-units * 4 // 256) * 256

    def _cuda_columns(self, kind: str, n: str, outputs: str) -> str:
        """Columns by parts a block: neighbouring threads have neighbouring outputs, or groups of a few abreast."""
        columns = self.block.narrow("columns", self.columns, "i32")
        part = self.number("part", self.part)
        levels = next(most for most in LEVELS if self.part // RUN < 1 << most)
        many = self.abreast
        each = f"#pragma unroll\nfor (int j = 0; j < {many}; ++j) "
        if many == 1:
            run = self._run_text("at + e < end", "at + e", kind, not self.carriers.positions())
            start, add, total = self._counting(run, levels)
        else:
            run = self.carriers.abreast(f"elements(p, rows, ({kind})(at + e), x);", "at + e", "at + e < end", many)
            start = f"counter<{levels}> c[{many}];\n{each}counter_start(c[j]);"
            add, total = f"{run}{each}counter_add(c[j], accs[j]);", "counter_total(c[j])"
        # Parts are neighbours in the tree: pairs of them, then pairs of pairs.
        pairs = (
            "__syncthreads();\n"
            f"for (int step = columns; step < {BLOCK}; step *= 2) {{ if (ty * columns % (2 * step) == 0) "
            "part[threadIdx.x] = a_merge(part[threadIdx.x], part[threadIdx.x + step]); __syncthreads(); }\n"
        )
        text = (
            f"const int columns = {columns}, parts = {BLOCK} / columns;\n"
            "const int tx = threadIdx.x & (columns - 1), ty = threadIdx.x / columns;\n"
            "const i64 tile = blockIdx.x, column = tile * columns + tx;\n"
            f"const bool live = column < {outputs if many == 1 else self.number('units', self.outputs // many)};\n"
            f"const i64 output = live ? column{f' * {many}' if many > 1 else ''} : 0;\n{self._rows_abreast()}{start}\n"
            f"const i64 begin64 = ((i64)blockIdx.y * parts + ty) * {part};\n"
            f"const {kind} begin = begin64 < {n} ? ({kind})begin64 : {n};\n"
            f"const {kind} end = begin64 + {part} < {n} ? ({kind})(begin64 + {part}) : {n};\n"
            f"if (live) for ({kind} at = begin; at < end; at += {RUN}) {{\n"
            f"const bool full = at + {RUN - 1} < end;\n{add} }}\n"
            f"__shared__ A part[{BLOCK}];\n"
        )
        one_by_one = f"for (int j = 0; j < {many}; ++j) {{\n" if many == 1 else f"{each}{{\n"
        if self.strategy == "columns":
            return text + (
                f"{one_by_one}part[threadIdx.x] = {total};\n{pairs}"
                "if (ty == 0 && live) post(p, output + j, part[tx]);\n__syncthreads();\n}\n"
            )
        work = self.block.workspace()
        partial = self.number("partials", self._counter_bytes())
        chunks = self.number("chunks", self.chunks)
        per = self.number("per", chunks_each(self.chunks, self.parts))
        ahead = max(1, min(8, AHEAD // self.carriers.nbytes()))
        before, merge, merged = self._counting("const A& acc = some[i];", LEVELS[0])
        if self.carriers.positions():
            merge = "acc = a_merge(acc, some[i]);"
        line = f"((k{{}}) * {many} + j) * columns + tx"
        return text + (
            f"A* partial = (A*)({work} + {partial}) + tile * {chunks} * columns * {many};\n"
            f"u32* done = (u32*){work} + tile;\n__shared__ bool last;\n"
            f"const i64 k = blockIdx.y;\n{one_by_one}part[threadIdx.x] = {total};\n{pairs}"
            f"if (ty == 0) {{ partial[{line.format('')}] = part[tx]; __threadfence(); }}\n__syncthreads();\n}}\n"
            f"if (threadIdx.x == 0) last = atomicAdd(done, 1u) == (u32){chunks} - 1;\n__syncthreads();\n"
            "if (!last) return;\n__threadfence();\n"
            f"const i64 stop = (ty + 1) * {per} < {chunks} ? (ty + 1) * {per} : {chunks};\n"
            f"for (int j = 0; j < {many}; ++j) {{\n{before}\n"
            # Several at a time: one after the other, each would wait for memory.
            f"for (i64 k = ty * {per}; k < stop; k += {ahead}) {{\nA some[{ahead}];\n"
            f"#pragma unroll\nfor (int i = 0; i < {ahead}; ++i) "
            f"if (k + i < stop) some[i] = nl::fetch(partial + {line.format(' + i')});\n"
            f"#pragma unroll\nfor (int i = 0; i < {ahead}; ++i) if (k + i < stop) {{ {merge} }}\n}}\n"
            f"part[threadIdx.x] = {merged};\n{pairs}"
            "if (ty == 0 && live) post(p, output + j, part[tx]);\n__syncthreads();\n}\n"
            "if (threadIdx.x == 0) *done = 0;\n"
        )

    def _rows_abreast(self, first: str = "row_of(p, output)") -> str:
        """The rows of a thread's outputs; all but the first are the first one moved."""
        if self.abreast == 1:
            return "const Row row = row_of(p, output);\n"
        last, moves = self.kept - 1, []
        for k in self.streams:
            if stride := self.program.operands[k].strides[last]:
                moves.append(f"rows[j].q{k} += j * {self.number(f's{k}_{last}', stride)};")
        for iota in self.iotas:
            if stride := iota.strides[last]:
                moves.append(f"rows[j].t{iota.index} += j * {self.number(f't{iota.index}_{last}', stride)};")
        return (
            f"Row rows[{self.abreast}];\nrows[0] = {first};\n#pragma unroll\n"
            f"for (int j = 1; j < {self.abreast}; ++j) {{ rows[j] = rows[0]; {' '.join(moves)} }}\n"
        )

    # ------------------------------------------------------------ CPU

    def cpu(self, entry: str) -> str:
        if (
            self.program.fast
            and self.count <= LANES
            and self.carriers.plain()
            and not (self.gathers or self.program.stores)
        ):
            if self.count > SHORT:
                return self._cpu_line_rows(entry)
            if self._abreast_pays():
                return self._cpu_rows_abreast(entry)
        if self.program.fast and self.count <= SHORT:
            if self.carriers.positions() and self._abreast_pays() and not (self.gathers or self.program.stores):
                return self._cpu_rows_abreast(entry)
            return self._cpu_short(entry)
        return self._cpu_fast(entry) if self.program.fast else self._cpu_columns(entry)

    def _cpu_short(self, entry: str) -> str:
        """Rows of a few elements: one after another, each unrolled."""
        n = f"(nl_index){self.number('count', self.count)}"
        if self.carriers.positions():
            row = self.carriers.positions_in_turn(n, self._call("at")) + "post(p, output, done[0]);\n"
        else:
            row = self._short_row(n, "nl_index")
        return (
            f'extern "C" void {entry}(const P* block, i64 from, i64 to) {{\nconst P p = *block;\n'
            f"for (i64 output = from; output < to; ++output) {{\nRow row = row_of(p, output);\n{row}}}\n}}\n"
        )

    def _cpu_line_rows(self, entry: str) -> str:
        """Rows of at most 128 elements: a lane each, the number of lanes known."""
        width = int(1 << (self.count - 1).bit_length())
        n = f"(nl_index){self.number('count', self.count)}"
        take = f"{{ {self.carriers.single(self._call('l'), 'l', '')} lane[l] = acc; }}"
        first = width if self.count == width else width // 2
        text = f"NL_IVDEP\nfor (nl_index l = 0; l < {first}; ++l) {take}\n"
        if first < width:
            text += f"NL_IVDEP\nfor (nl_index l = {first}; l < {n}; ++l) {take}\n"
            text += f"for (nl_index l = {n}; l < {width}; ++l) lane[l] = a_none();\n"
        while width > 1:
            width //= 2
            text += f"for (int l = 0; l < {width}; ++l) lane[l] = a_merge(lane[l], lane[l + {width}]);\n"
        return (
            f'extern "C" void {entry}(const P* block, i64 from, i64 to) {{\nconst P p = *block;\nA lane[{LANES}];\n'
            "for (i64 output = from; output < to; ++output) {\nconst Row row = row_of(p, output);\n"
            f"{text}post(p, output, lane[0]);\n}}\n}}\n"
        )

    def _abreast_pays(self) -> bool:
        """Whether short rows beside each other make a loop of vectors: neighbours, or where much is computed."""
        program = self.program
        if not self.kept or not 0 < self.count * len(program.body) <= 16 * SMALL:
            return False
        near = all(program.operands[k].strides[self.kept - 1] in (0, 1) for k in self.streams)
        near = near or self.carriers.positions()
        cost = sum(instr.row.cost for instr in (*program.body, *program.post) if instr.kind == "op")
        return near or cost >= HEAVY

    def _cpu_rows_abreast(self, entry: str) -> str:
        """Rows of a few elements whose outputs are neighbours: the loop over the outputs makes vectors."""
        last, width = self.kept - 1, int(1 << (self.count - 1).bit_length())
        n = f"(nl_index){self.number('count', self.count)}"
        lines = []
        for j in range(width):
            # An element that may not exist is the first one again, and does not count.
            sure = j <= width // 2 or self.count == width
            at = f"{j}" if sure else f"({j} < {n} ? {j} : 0)"
            if self.carriers.positions():
                lines.append(self.carriers.position_abreast(j, self._call(at)))
                continue
            lines.append(f"A e{j}; {{ {self.carriers.single(self._call(at), at, '')} e{j} = acc; }}")
            if not sure:
                lines += [
                    f"e{j}.a{k} = {j} < {n} ? e{j}.a{k} : none.a{k};" for k in range(len(self.program.reductions))
                ]
        if self.carriers.positions():
            lines.append(self.carriers.found_abreast())
        half = 0 if self.carriers.positions() else width // 2
        while half:
            lines += [f"e{j} = a_merge(e{j}, e{j + half});" for j in range(half)]
            half //= 2
        names = ", ".join(f"k{d}" for d in range(self.kept))
        inner = self.number("inner", self.program.shape[last])
        return (
            f'extern "C" void {entry}(const P* block, i64 from, i64 to) {{\nconst P p = *block;\n'
            "const A none = a_none();\nfor (i64 output = from; output < to;) {\n"
            f"i64 {names}; split(p, output, {names});\n"
            f"const i64 width = {inner} - k{last} < to - output ? {inner} - k{last} : to - output;\n"
            "const Row base = row_of(p, output);\nNL_IVDEP\nfor (i64 l = 0; l < width; ++l) {\n"
            f"Row row = base; {self._moves()}\n" + "\n".join(lines) + f"\npost_at(p, {names} + l, e0);\n}}\n"
            "output += width;\n}\n}\n"
        )

    def _moves(self) -> str:
        """Statements that move `row` from `base` by l along the last kept dimension."""
        last, moves = self.kept - 1, []
        for k in self.streams:
            stride = self.program.operands[k].strides[last] if self.kept else 0
            if stride == 1:
                moves.append(f"row.q{k} = base.q{k} + l;")
            elif stride:
                moves.append(f"row.q{k} = base.q{k} + l * {self.number(f's{k}_{last}', stride)};")
        for iota in self.iotas:
            stride = iota.strides[last] if self.kept else 0
            if stride:
                moves.append(
                    f"row.t{iota.index} = base.t{iota.index} + l * {self.number(f't{iota.index}_{last}', stride)};"
                )
        return " ".join(moves)

    def _cpu_line(self, width: str, at: str, guard: str) -> str:
        return self.carriers.line(width, at, f"{guard} {self.carriers.declared} {self._call(f'(nl_index)({at})')}")

    def _cpu_fast(self, entry: str) -> str:
        chunks = self.number("chunks", self.chunks)
        size = self.number("size", self.chunk)
        n = self.number("count", self.count)
        declare, chunk = self.carriers.chunk(
            self._call("(nl_index)at"), self._direct(), "item > from && begin > 0", self._small(),
            self.chunks == 1 and self.count > LANES,
        )  # fmt: skip
        finish = ""
        done = "post(p, output, lane[0]);"
        if self.chunks > 1:
            work = self.block.workspace()
            done = f"((A*){work})[item] = lane[0];"
            finish = (
                f'extern "C" void {entry}_finish(const P* block, i64 from, i64 to) {{\nconst P p = *block;\n'
                f"for (i64 output = from; output < to; ++output) {{\n"
                "counter<31> c; counter_start(c);\n"
                f"for (i64 k = 0; k < {chunks}; ++k) counter_add(c, ((A*){work})[output * {chunks} + k]);\n"
                "post(p, output, counter_total(c));\n}\n}\n"
            )
        return (
            f'{self.carriers.host_text()}extern "C" void {entry}(const P* block, i64 from, i64 to) {{\n'
            f"const P p = *block;\n{declare}"
            "for (i64 item = from; item < to; ++item) {\n"
            f"const i64 output = item / {chunks};\nconst i64 begin = item % {chunks} * {size};\n"
            f"const i64 count = {n} - begin < {size} ? {n} - begin : {size};\n"
            f"const Row row = row_of(p, output);\n{self._undecided()}{{\n{chunk}}}\n{done}\n}}\n}}\n{finish}"
        )

    def _undecided(self) -> str:
        """A test whether a chunk can change what the row's chunks before it gave, which then is its result as well."""
        ends = {"any": "{a}", "all": "!{a}"}
        found = [ends.get(reduction.row.name, "") for reduction in self.program.reductions]
        if not all(found) or self.gathers or self.program.stores:
            return ""
        decided = " && ".join(end.replace("{a}", f"lane[0].a{k}") for k, end in enumerate(found))
        return f"if (item == from || begin == 0 || !({decided})) "

    def _small(self) -> bool:
        """Whether there is little to compute, so that several copies of the text are still quickly compiled."""
        return len(self.program.body) <= SMALL and not self.gathers and self.carriers.plain()

    def _direct(self) -> dict[int, str]:
        """Reductions whose values are neighbours in memory, and where a row's begin, if nothing else is computed."""
        program, direct = self.program, {}
        if program.stores or self.gathers or self.rank - self.kept != 1:
            return {}
        for k, reduction in enumerate(program.reductions):
            value = program.body[reduction.value]
            if value.kind != "load" or value.code == F16:
                return {}
            if program.operands[value.operand].strides[-1] != 1:
                return {}
            direct[k] = f"row.q{value.operand}"
        return direct

    def _cpu_columns(self, entry: str) -> str:
        """Blocks of neighbouring outputs, all rows of each one after another."""
        program = self.program
        size = self._cpu_width()
        declare, reset, close = self.carriers.arrays(size)
        inner = self.number("inner", program.shape[self.kept - 1] if self.kept else 1)
        n = self.number("count", self.count)
        chunks = self.number("cpu_chunks", self.cpu_parts())
        part = self.number("cpu_part", self._cpu_part())
        groups = self.number("groups", -(-(program.shape[self.kept - 1] if self.kept else 1) // size))
        move = f"Row row = base; {self._moves()}"
        run = "for (i64 e = 0; e < lines; ++e) {\n{line}\n}\n"
        if self.abreast > 1 and self.carriers.plain():
            run = self._cpu_run_abreast()
        elif self._small() and self.kept and program.shape[self.kept - 1] < NARROW:
            run = self._cpu_lines_together(move) + run.replace("i64 e = 0", "")
        step = "all" if self.carriers.free() else f"{RUN}"
        if self.carriers.positions():
            # No tree changes them.
            levels, line = "", self._cpu_line("width", "start + e", move)
            lines = (
                f"{reset}\nfor (i64 e = 0; e < all; ++e) {{\n{line}\n}}\n{close}\n"
                "for (i64 l = 0; l < width; ++l) total[l] = done[l];\n"
            )
        else:
            levels, line = f"A level[31][{size}];\n", self._cpu_line("width", "start + first + e", move)
            lines = (
                "u32 runs = 0;\nbool any = false;\nconst i64 tail = width;\n"
                f"for (i64 first = 0; first < all; first += {step}) {{\n"
                f"const i64 lines = all - first < {step} ? all - first : {step};\n"
                f"{reset}\n{run.replace('{line}', line)}{self.carriers.levels(close, step, 'total')}"
            )
        finish = ""
        done = "for (i64 l = 0; l < width; ++l) post(p, output + l, total[l]);"
        if self.cpu_parts() > 1:
            work = self.block.workspace()
            done = f"for (i64 l = 0; l < width; ++l) ((A*){work})[(output + l) * {chunks} + piece] = total[l];"
            finish = (
                f'extern "C" void {entry}_finish(const P* block, i64 from, i64 to) {{\nconst P p = *block;\n'
                "for (i64 output = from; output < to; ++output) {\ncounter<31> c; counter_start(c);\n"
                f"for (i64 k = 0; k < {chunks}; ++k) counter_add(c, ((A*){work})[output * {chunks} + k]);\n"
                "post(p, output, counter_total(c));\n}\n}\n"
            )
        return (
            f'extern "C" void {entry}(const P* block, i64 from, i64 to) {{\nconst P p = *block;\n{declare}\n'
            f"A done[{size}], total[{size}];\n{levels}"
            "for (i64 item = from; item < to; ++item) {\n"
            f"const i64 piece = item % {chunks};\nconst i64 group = item / {chunks};\n"
            f"const i64 column = group % {groups} * {size};\n"
            f"const i64 output = group / {groups} * {inner} + column;\n"
            f"const i64 width = {inner} - column < {size} ? {inner} - column : {size};\n"
            f"const i64 start = piece * {part};\n"
            f"const i64 all = {n} - start < {part} ? {n} - start : {part};\n"
            f"const Row base = row_of(p, output);\n{lines}{done}\n}}\n}}\n{finish}"
        )

    def _cpu_lines_together(self, move: str) -> str:
        """Statements that take several lines of columns at a time, so that carriers stay in registers meanwhile."""
        kinds = range(len(self.program.reductions))
        call, at = self._call("(nl_index)at"), "start + first + e"
        each = " ".join(f"{{ const i64 e = line + {j}; {self.carriers.take(call, at)} }}" for j in range(LINES))
        load, store = (
            " ".join(form.format(k=k) for k in kinds) for form in ("auto a{k} = acc{k}[l];", "acc{k}[l] = a{k};")
        )
        return (
            f"i64 e = 0;\nfor (; e + {LINES} <= lines; e += {LINES}) {{\nconst i64 line = e;\nNL_IVDEP\n"
            f"for (i64 l = 0; l < width; ++l) {{ {move} {load} {each} {store} }}\n}}\n"
        )

    def _cpu_run_abreast(self) -> str:
        """Statements that take a run of a few columns that share what they are computed from, once for all of them.

        The loop over the run's elements makes vectors; then each column takes its elements in turn.
        """
        many, kinds = self.abreast, list(enumerate(self.carriers.types))
        keep = " ".join(f"b{k}[{j}][e] = x[{j}].x{k};" for k, _ in kinds for j in range(many))
        take = " ".join(
            f"const {ctype} x{k} = b{k}[l][e]; {self.carriers.add(k, f'acc{k}[l]', '0')}" for k, ctype in kinds
        )
        return (
            "".join(f"{ctype} b{k}[{many}][{RUN}];\n" for k, ctype in kinds) + f"{self._rows_abreast('base')}NL_IVDEP\n"
            f"for (i64 e = 0; e < lines; ++e) {{ X x[{many}]; "
            f"elements(p, rows, (nl_index)(start + first + e), x); {keep} }}\n"
            f"for (i64 e = 0; e < lines; ++e) for (i64 l = 0; l < {many}; ++l) {{ {take} }}\n"
        )

    def _cpu_width(self) -> int:
        """Columns that the CPU takes side by side.

        More of wide numbers: with 256 doubles a row, a sum of 10,000 x 1,000 took 2.5 times as long, since rows were
        read in short pieces.
        """
        inner = self.program.shape[self.kept - 1] if self.kept else 1
        wide = any(ITEMSIZES[self.program.operands[k].code] >= 8 for k in self.streams)
        return 1024 if inner > 256 and wide and self.carriers.plain() and len(self.program.reductions) <= 2 else 256

    def _cpu_part(self) -> int:
        """Rows of one item of a column reduction: RUN * 2^k."""
        groups = self._cpu_groups()
        wanted = max(1, 64 // max(groups, 1))
        runs = max(64 if self._cpu_width() == 256 else 16, -(-self.count // (RUN * wanted)))
        return RUN * (1 << (runs - 1).bit_length())

    def _cpu_groups(self) -> int:
        inner = self.program.shape[self.kept - 1] if self.kept else 1
        return -(-inner // self._cpu_width()) * (self.outputs // max(inner, 1))

    def cpu_parts(self) -> int:
        """Items into which the CPU splits each column."""
        return max(1, -(-self.count // self._cpu_part()))

    # ------------------------------------------------------------ launch

    def geometry(self) -> Geometry:
        carrier = self.carriers.nbytes()
        if self.program.fast:
            items = self.outputs * self.chunks
            grain = grain_of(self.program, min(self.count, self.chunk) + ROW)
            finish = self.outputs if self.chunks > 1 else 0
            cpu_space = items * carrier if self.chunks > 1 else 0
        else:
            items = self._cpu_groups() * self.cpu_parts()
            grain = grain_of(self.program, min(self.count, self._cpu_part()) * min(self._cpu_width(), self.outputs))
            finish = self.outputs if self.cpu_parts() > 1 else 0
            cpu_space = self.outputs * self.cpu_parts() * carrier if finish else 0
        counters = space = 0
        if self.strategy == "thread":
            threads = 256
            down = self.program.shape[self.kept - 2] if self.together > 1 else 1
            blocks = -(-(self.outputs // down) * -(-down // self.together) // 256)
        elif self.strategy in ("line", "warp"):
            blocks, threads = -(-self.outputs * self.line // 256), 256
        elif self.strategy in ("block", "split"):
            blocks, threads = self.outputs * self.chunks, LANES * self.groups
            if self.strategy == "split":
                counters = self._counter_bytes()
                space = counters + self.outputs * (self.chunks + self.chunks // 32 + 2) * carrier
        else:
            blocks, threads = self._tiles(), BLOCK
            if self.strategy == "columns_split":
                counters = self._counter_bytes()
                space = counters + self._tiles() * self.chunks * self.columns * self.abreast * carrier
        return Geometry(
            items=items, grain=grain, blocks=blocks, threads=threads, finish_items=finish,
            workspace=max(space, cpu_space), counters=counters, blocks_y=self.chunks if not self.program.fast else 1,
        )  # fmt: skip


@of_sizes
def column_split(units: int, count: int) -> tuple[int, int, int, int]:
    """Columns a block, its parts of a column, their length, and blocks that share a column.

    Parts fill the device where there are few `units` (columns, or groups of them abreast) of `count` elements.
    """
    runs = max(1, -(-count // RUN))
    wanted = max(1, min(FULL // max(units, 1), runs))
    parts = min(BLOCK // COLUMNS, 1 << (wanted - 1).bit_length())
    columns = min(BLOCK // parts, 1 << max(units - 1, 0).bit_length())
    parts = BLOCK // columns
    part = RUN << max(0, round(log2(runs / max(wanted, parts))))
    return columns, parts, part, max(1, -(-count // (part * parts)))


@of_sizes
def chunks_each(chunks: int, parts: int) -> int:
    """Partial results of a column that each part of the last block merges: whole subtrees."""
    return 1 << (-(-chunks // parts) - 1).bit_length()


@of_sizes
def groups_of(blocks: int, count: int, chunk: int, most: int, least: int) -> int:
    """Groups of threads of a block: at most as many as there are runs, at least what keeps the device busy."""
    runs = -(-min(count, chunk) // WARP)
    wanted = max(FULL // (LANES * max(blocks, 1)), least)
    return 1 << (min(most, runs, wanted).bit_length() - 1)


@of_sizes
def together_of(outputs: int, down: int, held: int) -> int:
    """Outputs that a thread takes in turn, so that threads fill the device, and as many times as it takes, evenly.

    A thread holds `held` registers of what these outputs share (and about 32 more), which says how many fit at once.
    """
    most = min(TOGETHER, down, max(-(-outputs // FULL), 1))
    if most < SHORT // 2:
        return 1 << (most.bit_length() - 1)
    resident = max(FULL >> 10, 1) * BLOCK * max(1, (64 << 10) // (BLOCK * (held + 32)))

    def taken(together: int) -> int:
        threads = -(-down // together) * (outputs // down)
        return -(-threads // resident) * (together + 6)

    return min(range(SHORT // 2, most + 1), key=lambda together: (taken(together), -together))


__all__ = ["emit_reduction"]
