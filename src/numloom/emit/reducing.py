"""Kernels that reduce: elementwise work, one or several reductions, elementwise work on the results.

All of them build the tree of docs/design/reductions.md, whatever threads share it, so the bits depend
neither on the strategy nor on the executor. Strategies on CUDA, by the length R of a reduced row
and the number O of outputs:

- fast axis reduced (128 lanes): R <= 16 (64 where operands are read by many rows) a thread a row;
  R <= 128 a warp or a part of one a row, an element a lane; R <= 2048 a warp a row, a run a lane; up to one chunk a
  block a row (either takes some rows that share what lies along them); beyond, a block a chunk, and the block that
  finishes a row last merges its chunks in order (one launch). Blocks have 128 threads, or up to four groups of them
  that share a chunk's runs where blocks are few;
- fast axis kept (one lane): columns by parts a block, 32 by 8 where parts are many, fewer columns where there are
  no more, up to 256 where parts are not needed; parts of long columns over blocks too, merged by groups: the last
  block of each goes on.

What the host does with them is `reducing_host.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log2, prod

from numloom.base.dtypes import CTYPES, ITEMSIZES
from numloom.emit.accumulators import Accumulators
from numloom.emit.block import MEMORY_TYPES
from numloom.emit.elements import Elements
from numloom.emit.pairing import Pairing, distances, merged_at_once
from numloom.emit.values import VALUE_TYPES, header, loaded
from numloom.ops.reduction_tree import CHUNKS, LANES, RUN, chunk_of
from numloom.plan.program import Program
from numloom.plan.sizes import of_sizes

SHORT = 16
REUSED = 64
"""Longest rows that a thread takes alone where every operand is read by many rows, as in tables of distances."""
TOGETHER = 64
"""Outputs of such rows that a thread takes in turn."""
EACH = 8
"""Elements of a row of up to 128 that a thread takes where there are many rows; twice as many of positions."""
FULL = 132 << 10
"""Threads that keep a large GPU busy, about."""
WARP = LANES * RUN
DEAR = 24
"""Cost of an element from which few of them are taken together, since their text is long."""
FEW = 3
"""Levels of a counter of several numbers that are held in registers where no more are needed."""
VECTORS = 4
"""Vectors that a thread asks for at a time."""
GROUPS = 4
"""Most threads that share a lane of a chunk."""
SHARED = 32 << 10
"""Bytes of accumulators that a block exchanges at most."""
BLOCK = 256
COLUMNS = 32
OUTPUTS_PER_THREAD = 4
"""Most columns that a thread takes at a time."""
PART = 8 * RUN
"""Elements of a column that a thread has at least where blocks are many."""
BLOCKS = 264
"""Blocks that keep a large GPU busy, about."""
NEIGHBOURS = (4, 2)
"""Rows that share most of what they are computed from, and are taken together."""
AHEAD = 128
"""Bytes of partial results that a thread asks for at a time."""
LEVELS = (9, 30)
"""Levels of a column's counter: the fewest that hold its runs are in the text."""


class ReductionText(Elements):
    """A program that reduces: how its rows are shared out, and its CUDA text."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.accumulators = Accumulators(program, program.reductions)
        self.lanes = LANES if program.fast else 1
        self.chunk = chunk_of(self.count)
        self.together = 1
        self.line = 32
        self.groups = self.outputs_per_thread = self.unrolled = 1
        if program.fast:
            self.chunks = max(1, -(-self.count // self.chunk))
            if self.count <= SHORT or (self.count <= REUSED and self._reuse() >= 8):
                self.strategy = "thread"
                self.together = self._together()
            elif self.count <= LANES:
                self.strategy = "line"
                width = 1 << (self.count - 1).bit_length()
                each = 2 * EACH if self.accumulators.positions() else EACH
                while not program.stores and self.line > max(width // each, 4) and self.outputs * self.line >= 2 * FULL:
                    self.line //= 2
            elif self.count <= WARP and self.outputs * LANES > FULL:
                self.strategy = "warp"
            else:
                self.strategy = "block" if self.chunks == 1 else "split"
            self.unrolled = self._unrolled()
            if self.strategy in ("block", "split"):
                self.groups = self._groups()
        else:
            # One lane: any split at multiples of 16 * 2^k builds the same tree.
            self.outputs_per_thread = self._outputs_per_thread()
            self.columns, self.parts, self.part, self.chunks = column_split(
                self.outputs // self.outputs_per_thread, self.count
            )
            self.strategy = "columns" if self.chunks == 1 else "columns_split"
        self.split = self.rank - self.kept > 1 and self.outputs_per_thread == self.unrolled == 1
        """Whether positions of a row are split into several indices."""
        self.pairing = self._pairing()
        self.stride = LANES if program.fast else 1
        self.vector = self._vector()
        self.paired = not program.fast and self._is_paired()
        self.ahead = self.vector == 1 and not self.paired and self._is_ahead()

    def _outputs_per_thread(self) -> int:
        """Neighbouring columns that a thread takes at a time: a few that read the same, so that it is computed once."""
        program = self.program
        extent = program.shape[self.kept - 1] if self.kept > 1 else 1
        last = [program.operands[k].strides[self.kept - 1] for k in self.reads]
        same = len(last) > 1 and any(last) and not all(last) and not program.stores and not self.gathers
        plain = not self.accumulators.has_runs() and not self.accumulators.positions()
        return extent if same and plain and extent <= OUTPUTS_PER_THREAD else 1

    def _unrolled(self) -> int:
        """Neighbouring rows that a warp or block takes at a time: of numbers each has one of, and rows that all share.

        What the shared rows need is then read and computed once for all of them: outer-product reductions.
        """
        program, last = self.program, self.kept - 1
        if self.strategy not in ("warp", "block") or last < 0 or self.gathers or program.stores:
            return 1
        strides = [program.operands[k].strides for k in self.reads]
        own = [each for each in strides if each[last]]
        if (
            self.accumulators.has_runs()
            or not 0 < len(own) < len(strides)
            or any(any(each[self.kept :]) for each in own)
        ):
            return 1
        threads = 32 if self.strategy == "warp" else LANES
        return next((n for n in NEIGHBOURS if program.shape[last] % n == 0 and self.outputs // n * threads >= FULL), 1)

    def _most_groups(self) -> int:
        """Most groups of a block: known from the structure, so that rows of all lengths share a text."""
        return max(1, min(GROUPS, SHARED // (LANES * self.accumulators.nbytes())))

    def _groups(self) -> int:
        """Threads that share a lane of a chunk, each an equal part of its runs, so that the device is full.

        Several at least where chunks are merged: the last block has all of a row's to merge, and smaller shares of the
        work end together (four groups instead of two: sum of 1e8 101 instead of 109 µs, moments of rows 119 instead of
        105, measured).
        """
        least = (
            1 if self.strategy == "block" else 4 if self.accumulators.plain() or self.accumulators.positions() else 2
        )
        return groups_of(
            self.outputs // self.unrolled * self.chunks, self.count, self.chunk, self._most_groups(), least
        )

    def _together(self) -> int:
        """Outputs that a thread takes in turn, since they share an operand's row."""
        if self.kept < 2 or self.count < 2 or self.gathers:
            return 1
        down, across = self.program.shape[self.kept - 2 : self.kept]
        shared = [k for k in self.reads if not self.program.operands[k].strides[self.kept - 2]]
        other = [k for k in self.reads if k not in shared and self.program.operands[k].strides[self.kept - 1]]
        held = sum(self.count * max(1, ITEMSIZES[self.program.operands[k].code] // 4) for k in shared)
        return together_of(self.outputs, down, held) if shared and not other and across >= 32 else 1

    def _reuse(self) -> float:
        """How many times the operand that is read least often is read; what gathers take may be read once."""
        if self.gathers:
            return 1
        shape = self.program.shape
        unique = [
            prod(e for e, s in zip(shape, self.program.operands[k].strides, strict=True) if s)
            for k in self.streams
            if not self.program.operands[k].post
        ]
        return min((self.outputs * self.count / max(elements, 1) for elements in unique), default=1)

    def _tiles(self) -> int:
        return -(-(self.outputs // self.outputs_per_thread) // self.columns)

    # ------------------------------------------------------------ shared text

    def shared_text(self) -> str:
        """Accumulator, positions of streams, the element function and the post stage."""
        pairs = self.pairing.text(self.accumulators, self.count, self.number) if self.pairing is not None else ""
        if self.strategy == "thread" and self.accumulators.has_runs():
            pairs = self.accumulators.merge_by()
        return self.accumulators.text() + header("reduce") + self.row() + pairs + self._element() + self._post()

    def _pairing(self) -> Pairing | None:
        """How lanes of a row merge, if what is known of their lengths helps."""
        if self.strategy not in ("line", "warp", "block") or not self.accumulators.has_runs():
            return None
        width = LANES if self.strategy in ("warp", "block") else 1 << max(self.count - 1, 0).bit_length()
        known = self.strategy == "line" and self.line < 32
        return Pairing(width, self.count % width == 0, known)

    def _across(self, threads: int) -> str:
        """Statements that merge `a` of the neighbouring threads that share a short row, lane after lane."""
        if self.pairing is not None:
            return self.pairing.across(threads)
        return f"#pragma unroll\nfor (int mask = {threads // 2}; mask > 0; mask /= 2) a = a_down(a, mask);\n"

    def _is_ahead(self) -> bool:
        """Whether a thread reads its next run before it computes this one: positions, several reductions of columns.

        Elsewhere it costs registers and gains nothing (sum and max of columns 10 % slower, moments the same, measured).
        """
        program = self.program
        ahead = self.accumulators.positions() or (len(program.reductions) > 1 and not program.fast)
        ahead = ahead and not (self.gathers or program.stores)
        ahead = (
            ahead
            and self.outputs_per_thread == self.unrolled == 1
            and self.strategy in ("block", "split", "columns", "columns_split")
        )
        nbytes = sum(ITEMSIZES[program.operands[k].code] for k in self.reads)
        return ahead and 0 < nbytes <= 8 and not any(program.operands[k].written for k in self.reads)

    def _vector(self) -> int:
        """Neighbours that a thread reads at once, 16 bytes, where no order of elements changes the results; else 1."""
        program = self.program
        streams = [program.operands[k] for k in self.reads]
        if self.strategy not in ("block", "split") or not self.accumulators.unordered() or self.rank - self.kept != 1:
            return 1
        if (
            self.unrolled > 1
            or self.gathers
            or program.stores
            or any(o.written or o.strides[-1] not in (0, 1) for o in streams)
        ):
            return 1
        varying = [o for o in streams if o.strides[-1]]
        width = 16 // max((ITEMSIZES[o.code] for o in varying), default=16)
        return width if all(o.aligned for o in varying) and self.count % width == 0 else 1

    def _vectors(self, kind: str) -> str:
        """Statements that take the elements of a chunk in any order, `vector` neighbours at a time."""
        width, varying = self.vector, [k for k in self.reads if self.program.operands[k].strides[-1]]
        types = {k: f"nl::pack<{width}, {MEMORY_TYPES[self.program.operands[k].code]}>" for k in varying}
        moves = [f"part.q{k} = w{k}[j].x;" for k in varying]
        for iota in self.iotas:
            if iota.strides[-1]:
                step = self.number(f"t{iota.index}_{self.kept}", iota.strides[-1])
                moves.append(f"part.t{iota.index} += (i64)start * {step};")
        each = f"#pragma unroll\nfor (int j = 0; j < {VECTORS}; ++j) {{ const {kind} start = at + j * {LANES * width}; "
        return (
            f"A acc = a_none();\nfor ({kind} at = from + u * {width}; at < end; at += {LANES * width * VECTORS}) {{\n"
            + "".join(f"{ctype} w{k}[{VECTORS}];\n" for k, ctype in types.items())
            + each
            + "if (start < end) { "
            + " ".join(f"nl::load(w{k}[j], row.q{k} + start);" for k in varying)
            + " } }\n"
            + each
            + f"if (start < end) {{ Row part = row; {' '.join(moves)}\n"
            f"#pragma unroll\nfor (int e = 0; e < {width}; ++e) "
            f"{{ {self.accumulators.declared} {self._call('e', 'part')} {self.accumulators.collect('e')} }} }} }}\n}}\n"
        )

    def _read(self) -> str:
        """read(p, row, r): what lies in memory at position r of a row; ask: a run of that."""
        fields = " ".join(f"{MEMORY_TYPES[self.program.operands[k].code]} q{k};" for k in self.reads)
        sets = " ".join(f"w.q{k} = {self.fetch(k)};" for k in self.reads)
        return (
            f"struct W {{ {fields} }};\nNL_DEV W read(const P& p, const Row& row, nl_index r) {{\n"
            f"{' '.join(self.position_lines())} W w; {sets} return w;\n}}\n"
            f"NL_DEV void ask(const P& p, const Row& row, nl_index at, nl_index end, W* next) {{\n"
            f"if (at + {self.stride * (RUN - 1)} < end) {{\n#pragma unroll\n"
            f"for (int e = 0; e < {RUN}; ++e) next[e] = read(p, row, at + e * {self.stride});\n}} else {{\n"
            f"#pragma unroll\nfor (int e = 0; e < {RUN}; ++e) "
            f"if (at + e * {self.stride} < end) next[e] = read(p, row, at + e * {self.stride});\n}}\n}}\n"
        )

    def _element(self) -> str:
        """element(p, row, r, values...): the reduced values at position r of a row; side stores on the way."""
        if not self.ahead:
            return self._element_by()
        reads = {k: loaded(f"w.q{k}", self.program.operands[k].code) for k in self.reads}
        return (
            f"{self.index_text()}#ifdef __CUDACC__\n{self._read()}{self._element_by(reads)}#else\n"
            f"{self._element_by()}#endif\n"
        )

    def _element_by(self, reads: dict[int, str] | None = None) -> str:
        program = self.program
        places = self.position_lines() if self.split and reads is None else []
        lines = self.element_lines(reads=reads)[len(places) :]
        lines += [self.store_line(store) for store in program.stores]
        outs = []
        for k, reduction in enumerate(program.reductions):
            outs.append(f"{self.accumulators.types[k]}& o{k}")
            lines.append(f"o{k} = v{reduction.value};")
        given = ", const W& w" if reads is not None else ""
        head = f"NL_DEV void element(const P& p, const Row& row, nl_index r{given}, {', '.join(outs)}) {{\n  "
        if places:
            names = ", ".join(f"nl_index r{d}" for d in range(self.kept, self.rank))
            inside = f"NL_DEV void element_at(const P& p, const Row& row, {names}, {', '.join(outs)}) {{\n  "
            head = inside + "\n  ".join(lines) + f"\n}}\n{head}"
            lines = [*places, self._call_at(f"o{k}" for k in range(len(outs)))]
        many = max(self.outputs_per_thread, self.unrolled)
        several = self._several_elements(many) if many > 1 else ""
        return ("" if self.ahead else self.index_text()) + head + "\n  ".join(lines) + "\n}\n" + several

    def _several_elements(self, many: int) -> str:
        """elements(p, rows, r, x): the reduced values of rows unrolled, what they share computed once."""
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
        lines += [f"{{ const Row& row = rows[{j}]; {each.replace('{j}', str(j))} }}" for j in range(many)]
        return (
            f"struct X {{ {self.accumulators.declared} }};\n"
            "NL_DEV void elements(const P& p, const Row* rows, nl_index r, X* x) {\n  const Row& row = rows[0];\n  "
            + "\n  ".join(lines)
            + "\n}\n"
        )

    def _call(self, at: str, row: str = "row") -> str:
        """The call of the element function."""
        return f"element(p, {row}, {at}, {', '.join(self.accumulators.values)});"

    def _call_at(self, values: Iterable[str], last: str = "") -> str:
        """The call of the function of an element whose indices are known."""
        names = [f"r{d}" for d in range(self.kept, self.rank)]
        return f"element_at(p, row, {', '.join([*names[:-1], last or names[-1], *values])});"

    def _post(self) -> str:
        program = self.program
        count = self.number("count", self.count)
        finished = {
            k: self.accumulators.finished(k, self.count, count, VALUE_TYPES[reduction.code])
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
        """Statements that add one run (RUN elements at `index`, by e) into accumulator `acc`."""
        if not self.ahead:
            run = self.accumulators.run(self._call(f"({kind})({index})"), index, exists, fresh and not self.split)
            if not self.split:
                return run
            # Along the last dimension what the others fix is read once, and no position is divided.
            last, extent = f"r{self.rank - 1}", self.number(f"e{self.rank - 1}", self.program.shape[-1])
            call = self._call_at(self.accumulators.values, f"({kind})({last} + e * {self.stride})")
            return (
                f"{'A acc = a_none();' * fresh}\n{{ const nl_index r = at;\n{' '.join(self.position_lines())}\n"
                f"if (full && {last} + {self.stride * (RUN - 1)} < {extent}) {{\n"
                f"{self.accumulators.whole_run(call, index)}}} else {{ {run}}} }}\n"
            )
        call = f"element(p, row, ({kind})({index}), w[e], {', '.join(self.accumulators.values)});"
        return (
            f"W w[{RUN}];\n#pragma unroll\nfor (int e = 0; e < {RUN}; ++e) w[e] = next[e];\n"
            f"if (end - at > {self.stride * RUN}) ask(p, row, at + {self.stride * RUN}, end, next);\n"
            + self.accumulators.run(call, index, exists, fresh, in_registers=True)
        )

    def _first(self, at: str, live: str = "") -> str:
        """Statements that ask for a thread's first run, if runs are asked for ahead."""
        return f"W next[{RUN}];\nif ({live}{at} < end) ask(p, row, {at}, end, next);\n" if self.ahead else ""

    def _counting(self, run: str, levels: int) -> tuple[str, str, str]:
        """How a thread takes run after run: what stands before, for each (`run` fills `acc`), and the total."""
        if self.accumulators.positions():
            return "A acc = a_none();", run, "acc"
        if self.accumulators.plain() or levels <= FEW:
            kept = "counter" if self.accumulators.plain() else "few_levels"
            return f"{kept}<{levels}> c; counter_start(c);", f"{run}\ncounter_add(c, acc);", "counter_total(c)"
        start = f"low_levels c; A level[{levels - 2}]; counter_start(c);"
        return start, f"{run}\ncounter_add(c, level, acc);", "counter_total(c, level)"

    def _counting_unrolled(self, many: int, levels: int, at: str, kind: str, exists: str) -> tuple[str, str, str]:
        """`_counting` of `many` rows (by j), whose elements are `at` (by e)."""
        dear = self.strategy == "block" or self._cost() >= DEAR
        each = f"#pragma unroll\nfor (int j = 0; j < {many}; ++j) "
        run = self.accumulators.unrolled(f"elements(p, rows, ({kind})({at}), x);", at, exists, many, dear)
        fresh = self.accumulators.fresh(many)
        if self.accumulators.positions():
            return fresh, run, "accs[j]"
        start = f"counter<{levels}> c[{many}];\n{each}counter_start(c[j]);"
        return start, f"{fresh}{run}{each}counter_add(c[j], accs[j]);", "counter_total(c[j])"

    def _cost(self) -> int:
        return sum(instr.op_def.cost for instr in self.program.body if instr.kind == "op")

    def cuda(self, entry: str) -> str:
        kind = self.index
        n = self.block.narrow("count", self.count, kind)
        outputs = self.number("outputs", self.outputs)
        threads = LANES * self._most_groups() if self.strategy in ("block", "split") else 256
        # Moments: 64 registers, so that more threads wait for memory at a time (var of 512 rows of 65536 58 to 46 us).
        least = ", 2" if self.strategy in ("block", "split") and self.accumulators.has_runs() else ""
        head = (
            f'extern "C" __global__ void __launch_bounds__({threads}{least}) {entry}(const __grid_constant__ P p) {{\n'
        )
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
        names = [*(f"k{j}" for j in range(d)), "k", "last"]
        return (
            "i64 rest = (i64)blockIdx.x * 256 + threadIdx.x;\n"
            f"const i64 last = rest % {width}; rest /= {width};\nconst i64 group = rest % {groups}; rest /= {groups};\n"
            f"const i64 begin = group * {together}, outer = rest * {height};\n"
            f"i64 output = (outer + begin) * {width} + last;\nif (output >= {outputs}) return;\n"
            f"const i64 end = begin + {together} < {height} ? begin + {together} : {height};\n"
            "Row row = row_of(p, output), next = row;\n"
            + self._held_rows(shared, single=True)
            + f"{self.split_line()}\n#pragma unroll 1\nfor (i64 k = begin; k < end; ++k, output += {width}) {{\n"
            + "".join(f"row.q{k} = next.q{k}; next.q{k} += {step};\n" for k, step in steps.items())
            + "".join(f"row.t{index} = next.t{index}; next.t{index} += {step};\n" for index, step in counts.items())
            + self._held_rows([k for k in self.reads if k not in shared])
            # The text knows the row's length, since it holds rows.
            + self._short_row(str(int(self.count)), kind, f"post_at(p, {', '.join(names)}, lane[0]);")
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

    def _short_row(self, n: str, kind: str, post: str = "post(p, output, lane[0]);") -> str:
        """A row of few elements, a lane each, merged by halving; then its `post` stage.

        The text knows the row's length where it holds rows, and of moments, whose merges it makes much shorter.
        """
        width = 1 << max(self.count - 1, 0).bit_length()
        known = width if width == self.count else 0
        if self.accumulators.has_runs() or self.together > 1:
            known = int(self.count)
        if self.accumulators.positions():
            always_valid = known or width // 2
            places = self.accumulators.places(self._call("e"), "e", known or width, always_valid, f"e < {n}")
            return f"{places}A* lane = accs;\n{post}\n"
        one = self.accumulators.single(self._call("start"), "start", "" if known else f"start < {n}")
        lanes = known or width
        if self.accumulators.has_runs():
            merged = merged_at_once(lanes)
        elif 0 < known < width:
            merged = "".join(
                f"NL_UNROLL\nfor (int l = 0; l < {min(half, lanes - half)}; ++l) "
                f"lane[l] = a_merge(lane[l], lane[l + {half}]);\n"
                for half in distances(width)
                if half < lanes
            )
        else:
            merged = self._in_thread(width, 1)
        return (
            f"A lane[{max(lanes, 1)}];\nNL_UNROLL\n"
            f"for (int l = 0; l < {lanes}; ++l) {{ const {kind} start = l; {one} lane[l] = acc; }}\n{merged}{post}\n"
        )

    def _in_thread(self, each: int, threads: int) -> str:
        """Statements that merge the lanes of thread `u`, which are `threads` apart, into ``lane[0]``."""
        if self.pairing is not None:
            return self.pairing.in_thread(each, threads)
        return (
            f"NL_UNROLL\nfor (int half = {each // 2}; half > 0; half /= 2) {{\n"
            f"NL_UNROLL\nfor (int l = 0; l < {max(each // 2, 1)}; ++l) "
            "if (l < half) lane[l] = a_merge(lane[l], lane[l + half]); }\n"
        )

    def _cuda_line(self, kind: str, n: str, outputs: str) -> str:
        """Some threads of a warp a row of at most 128 elements, an element a lane; a thread merges its own lanes first.

        The fewer threads share a row the less is exchanged; all 32 where rows are few.
        """
        width, threads = 1 << (self.count - 1).bit_length(), self.line
        each = width // threads
        if self.pairing is not None and self.pairing.static_length:
            n = str(int(self.count))
        return (
            f"i64 output = (i64)blockIdx.x * {256 // threads} + threadIdx.x / {threads};\n"
            # Threads of a warp exchange, so all of them stay where they have several rows.
            + (
                f"if (output >= {outputs}) return;\nconst bool exists = true;\n"
                if threads == 32
                else f"const bool exists = output < {outputs};\nif (!exists) output = 0;\n"
            )
            + f"const Row row = row_of(p, output);\nconst int u = threadIdx.x % {threads};\n"
            + self._line_lanes(kind, n, width, each)
            + self._across(threads)
            + "if (exists && u == 0) post(p, output, a);\n"
        )

    def _line_lanes(self, kind: str, n: str, width: int, each: int) -> str:
        """Statements that make a thread's accumulator `a` of its elements of a row of at most 128."""
        at = f"({kind})(u + {self.line} * e)"
        if self.accumulators.positions():
            # Their order is that of positions, not of the tree.
            always_valid = min(each, int(self.count // self.line))
            call = self._call(at)
            return f"{self.accumulators.places(call, at, each, always_valid, f'{at} < {n}')}A a = accs[0];\n"
        one = self.accumulators.single(self._call(at), at, "" if width == self.count else f"{at} < {n}")
        return (
            f"A lane[{each}];\n#pragma unroll\nfor (int e = 0; e < {each}; ++e) {{ {one} lane[e] = acc; }}\n"
            f"{self._in_thread(each, self.line)}A a = lane[0];\n"
        )

    def _cuda_warp(self, kind: str, n: str, outputs: str) -> str:
        """A warp a row, four lanes a thread, one run each; the text knows how long runs are, about or exactly."""
        lines = -(-self.count // LANES)
        length = int(lines) if self.accumulators.has_runs() else 1 << int((lines - 1).bit_length())
        least = length - 1 if self.accumulators.has_runs() else length // 2
        many, accumulators = self.unrolled, self.accumulators
        units = outputs if many == 1 else self.number("units", self.outputs // many)
        head = (
            f"const i64 unit = (i64)blockIdx.x * 8 + (threadIdx.x >> 5);\nif (unit >= {units}) return;\n"
            f"const i64 output = unit * {many};\n{self._rows_unrolled()}const int u = threadIdx.x & 31;\n"
        )
        whole = self.count == length * LANES

        def call(at: str) -> str:
            return self._call(at) if many == 1 else f"elements(p, rows, {at}, x);"

        if accumulators.positions():
            at, always_valid = f"({kind})(u + 32 * e)", 4 * (length if whole else least)
            body = accumulators.places(call(at), at, 4 * length, always_valid, f"{at} < {n}", many)
            own = "accs[k]"
        else:
            at = f"at + e * {LANES}"
            run = accumulators.known_run(
                call(f"({kind})({at})"), at, length, least, "" if whole else f"{at} < {n}", many
            )
            body = (
                f"A lanes[{many}][4];\n#pragma unroll\nfor (int j = 0; j < 4; ++j) {{ const {kind} at = u + 32 * j;\n"
                f"{run}\n#pragma unroll\nfor (int k = 0; k < {many}; ++k) lanes[k][j] = accs[k]; }}\n"
            )
            own = "lane[0]"
        merge = "" if accumulators.positions() else f"A (&lane)[4] = lanes[k];\n{self._in_thread(4, 32)}"
        return (
            f"{head}{body}#pragma unroll\nfor (int k = 0; k < {many}; ++k) {{\n{merge}A a = {own};\n"
            f"{self._across(32)}if (u == 0) post(p, output + k, a);\n}}\n"
        )

    def _cuda_block(self, kind: str, n: str, outputs: str) -> str:
        """A block a chunk; the last block of a row merges its chunks."""
        split, most = self.strategy == "split", self._most_groups()
        levels = (CHUNKS[-1] // WARP).bit_length()
        if self.accumulators.has_runs() and self.count <= WARP << FEW - 1:
            levels = next(most for most in range(1, FEW + 1) if self.count <= WARP << most - 1)
        many, at = self.unrolled, f"at + e * {LANES}"
        if many == 1:
            run = self._run_text(f"{at} < end", at, kind, not self.accumulators.positions())
            start, add, total = self._counting(run, levels)
        else:
            start, add, total = self._counting_unrolled(many, levels, at, kind, f"{at} < end")
        runs = -(-min(self.count, self.chunk) // (WARP * self.groups))
        each = self.block.narrow("part", WARP << (runs - 1).bit_length(), kind)
        size = self.block.narrow("size", self.chunk, kind)
        chunks = self.number("chunks", self.chunks) if split else "1"
        loop = (
            f"{start}\n{self._first('from + u')}for ({kind} at = from + u; at < end; at += {WARP}) {{\n"
            f"const bool full = at + {LANES * (RUN - 1)} < end;\n{add} }}\n"
        )
        if self.vector > 1:
            loop, total = self._vectors(kind), "acc"
        rolled = "" if self.accumulators.plain() else " 1"  # once a block, and much text
        text = (
            f"const i64 output = (i64)blockIdx.x / {chunks} * {many};\n"
            f"const {kind} chunk = ({kind})(blockIdx.x % {chunks});\n@WORK@"
            f"const int u = threadIdx.x % {LANES}, group = threadIdx.x / {LANES}, groups = blockDim.x / {LANES};\n"
            f"{self._rows_unrolled()}"
            f"const {kind} begin = chunk * {size}, rest = {n} - begin;\n"
            f"const {kind} from = group * {each} < rest ? begin + group * {each} : {n};\n"
            f"const {kind} end = {each} < {n} - from ? from + {each} : {n};\n{loop}"
            f"__shared__ A part[{most}][{LANES}];\n@EACH@part[group][u] = {total};\n__syncthreads();\n"
            # Groups are neighbours in the tree: pairs of them, then pairs of pairs.
            "for (int step = 1; step < groups; step *= 2) {\n"
            "if (group % (2 * step) == 0) part[group][u] = a_merge(part[group][u], part[group + step][u]);\n"
            "__syncthreads(); }\n"
            "if (threadIdx.x >= 32) { if (__SKIP__) return; } else {\n"
            f"{self._lanes_of_block(rolled)}"
            "if (threadIdx.x == 0) { __DONE__ }\n}\n"
        )
        text = text.replace("@EACH@", "" if many == 1 else f"#pragma unroll\nfor (int j = 0; j < {many}; ++j) {{\n")
        if not split:
            done, skip = ("post(p, output, a);", "true") if many == 1 else ("post(p, output + j, a);", "false")
            text = text.replace("@WORK@", "").replace("__SKIP__", skip).replace("__DONE__", done)
            return text if many == 1 else f"{text}__syncthreads();\n}}\n"
        work = self.block.workspace()
        partial = self.number("partials", self._counter_bytes())
        second = self.number("second", self._counter_bytes() + self.outputs * self.chunks * self.accumulators.nbytes())
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
            f"#pragma unroll{rolled}\nfor (int mask = 1; mask < 32; mask *= 2) a = a_down(a, mask);\n"
            "if ((threadIdx.x & 31) == 0) to[g] = a;\n}\n"
            "__syncthreads();\nA* other = some; some = to; to = other; left = lines;\n}\n"
            "if (threadIdx.x == 0) { *done = 0; post(p, output, nl::fetch(some)); }\n"
        )

    def _lanes_of_block(self, rolled: str) -> str:
        """Statements by which a warp merges the lanes of a chunk."""
        if self.pairing is not None:
            lanes = "A lane[4] = {part[0][u], part[0][u + 32], part[0][u + 64], part[0][u + 96]};\n"
            return f"{lanes}{self.pairing.in_thread(4, 32)}A a = lane[0];\n{self.pairing.across(32)}"
        return (
            "A a = a_merge(a_merge(part[0][u], part[0][u + 64]), a_merge(part[0][u + 32], part[0][u + 96]));\n"
            f"#pragma unroll{rolled}\nfor (int mask = 16; mask > 0; mask /= 2) a = a_down(a, mask);\n"
        )

    def _counter_bytes(self) -> int:
        if self.program.fast:
            return -(-self.outputs * 4 // 256) * 256
        return -(-self._tiles() * self._merge_space()[0] * 4 // 256) * 256

    def _merge_space(self) -> tuple[int, int]:
        """Counters and partial results of a tile whose chunks are merged by groups, and groups of these."""
        return merge_space(self.chunks, self.parts * ahead_of(self.accumulators.nbytes()))

    def column_space(self, many: int) -> int:
        """Bytes of workspace of columns that several blocks share, of which a thread has `many`."""
        partials = self._tiles() * self._merge_space()[1] * self.columns * many
        return self._counter_bytes() + partials * self.accumulators.nbytes()

    def _cuda_columns(self, kind: str, n: str, outputs: str) -> str:
        """Columns by parts a block: neighbouring threads have neighbouring outputs, or groups of a few abreast."""
        columns = self.block.narrow("columns", self.columns, "i32")
        part = self.number("part", self.part)
        levels = next(most for most in LEVELS if self.part // RUN < 1 << most)
        many, pairs = self.outputs_per_thread, ""
        if many == 1:
            run = self._run_text("at + e < end", "at + e", kind, not self.accumulators.positions())
            start, add, total = self._counting(run, levels)
            pairs = self._pairs_of_runs(kind) if self.paired else ""
        else:
            start, add, total = self._counting_unrolled(many, levels, "at + e", kind, "at + e < end")
        return (
            f"const int columns = {columns}, parts = {BLOCK} / columns;\n"
            "const int tx = threadIdx.x & (columns - 1), ty = threadIdx.x / columns;\n"
            "const i64 tile = blockIdx.x, column = tile * columns + tx;\n"
            f"const bool live = column < {outputs if many == 1 else self.number('units', self.outputs // many)};\n"
            f"const i64 output = live ? column{f' * {many}' if many > 1 else ''} : 0;\n{self._rows_unrolled()}{start}\n"
            f"const i64 begin64 = ((i64)blockIdx.y * parts + ty) * {part};\n"
            f"const {kind} begin = begin64 < {n} ? ({kind})begin64 : {n};\n"
            f"const {kind} end = begin64 + {part} < {n} ? ({kind})(begin64 + {part}) : {n};\n"
            f"{self._first('begin', 'live && ')}{kind} at = begin;\n{pairs}"
            f"if (live) for (; at < end; at += {RUN}) {{\n"
            f"const bool full = at + {RUN - 1} < end;\n{add} }}\n"
            f"__shared__ A part[{BLOCK}];\n"
        ) + self.columns_end(total, many, str(BLOCK), "output + j", "live")

    def _is_paired(self) -> bool:
        """Whether a thread takes two runs of a column at a time: moments, where much waits for what it needs."""
        nbytes = sum(ITEMSIZES[self.program.operands[k].code] for k in self.reads)
        plain = self.outputs_per_thread == 1 and not self.gathers and not self.program.stores
        return self.accumulators.has_runs() and plain and nbytes <= 8 and self._cost() < DEAR

    def _pairs_of_runs(self, kind: str) -> str:
        """A loop that takes two whole runs of a column at a time."""
        runs = self.accumulators.whole_runs(lambda k: self._call(f"({kind})(at + {k * RUN} + e)"), 2)
        return (
            f"if (live) for (; end - at >= {2 * RUN}; at += {2 * RUN}) {{\n{runs}"
            "counter_add(c, level, accs[0], accs[1]);\n}\n"
        )

    def columns_end(self, total: str, many: int, block: str, output: str, live: str) -> str:
        """Statements that merge what threads, and blocks, have of columns: `many` (by j) for each thread."""
        # Parts are neighbours in the tree: pairs of them, then pairs of pairs.
        pairs = (
            "__syncthreads();\n"
            f"for (int step = columns; step < {block}; step *= 2) {{ if (ty * columns % (2 * step) == 0) "
            "part[threadIdx.x] = a_merge(part[threadIdx.x], part[threadIdx.x + step]); __syncthreads(); }\n"
        )
        each = f"#pragma unroll\nfor (int j = 0; j < {many}; ++j) "
        one_by_one = f"for (int j = 0; j < {many}; ++j) {{\n" if many == 1 else f"{each}{{\n"
        post = f"if (ty == 0 && {live}) post(p, {output}, part[tx]);\n__syncthreads();\n}}\n"
        if self.strategy == "columns":
            return f"{one_by_one}part[threadIdx.x] = {total};\n{pairs}{post}"
        counters, partials = self._merge_space()
        work, chunks = self.block.workspace(), self.number("chunks", self.chunks)
        space, start = self.number("space", partials), self.number("partials", self._counter_bytes())
        line = f"(({{}}) * {many} + j) * columns + tx"
        ahead = ahead_of(self.accumulators.nbytes())
        return (
            f"A* partial = (A*)({work} + {start}) + tile * {space} * columns * {many};\n"
            f"u32* done = (u32*){work} + tile * {self.number('counters', counters)};\n"
            f"const int shift = 31 - __clz(parts * {ahead});\n__shared__ bool last;\nA own[{many}];\n"
            f"{each}own[j] = {total};\n"
            f"for (int k = (int)blockIdx.y, left = (int){chunks};;) {{\n"
            f"{one_by_one}part[threadIdx.x] = own[j];\n{pairs}"
            f"if (ty == 0 && left > 1) {{ partial[{line.format('k')}] = part[tx]; __threadfence(); }}\n"
            f"if (ty == 0 && left == 1 && {live}) post(p, {output}, part[tx]);\n__syncthreads();\n}}\n"
            "if (left == 1) return;\n"
            # The block that comes last of a group goes on with what the group has.
            "const int group = k >> shift, from = group << shift;\n"
            "const int size = left - from < 1 << shift ? left - from : 1 << shift;\n"
            "if (threadIdx.x == 0) {\nlast = atomicAdd(done + group, 1u) == (u32)size - 1;\n"
            "if (last) done[group] = 0;\n}\n"
            "__syncthreads();\nif (!last) return;\n__threadfence();\n"
            f"{each}{{\n"
            # Several at a time: one after the other, each would wait for memory. They are neighbours in the tree.
            f"A some[{ahead}];\nconst int rest = size - ty * {ahead};\n#pragma unroll\n"
            f"for (int i = 0; i < {ahead}; ++i) "
            f"some[i] = i < rest ? nl::fetch(partial + {line.format(f'from + ty * {ahead} + i')}) : a_none();\n"
            f"#pragma unroll\nfor (int d = 1; d < {ahead}; d *= 2)\n#pragma unroll\n"
            f"for (int i = 0; i + d < {ahead}; i += 2 * d) "
            f"if (i + d < rest) some[i] = a_merge(some[i], some[i + d]);\nown[j] = some[0];\n}}\n"
            f"partial += (i64)left * columns * {many};\n"
            "left = (left + (1 << shift) - 1) >> shift; done += left; k = group;\n}\n"
        )

    def _rows_unrolled(self, first: str = "row_of(p, output)") -> str:
        """The rows of a thread's outputs; all but the first are the first one moved."""
        many = max(self.outputs_per_thread, self.unrolled)
        if many == 1:
            return "const Row row = row_of(p, output);\n"
        last, moves = self.kept - 1, []
        for k in self.streams:
            if stride := self.program.operands[k].strides[last]:
                moves.append(f"rows[j].q{k} += j * {self.number(f's{k}_{last}', stride)};")
        for iota in self.iotas:
            if stride := iota.strides[last]:
                moves.append(f"rows[j].t{iota.index} += j * {self.number(f't{iota.index}_{last}', stride)};")
        return (
            f"Row rows[{many}];\nrows[0] = {first};\n#pragma unroll\n"
            f"for (int j = 1; j < {many}; ++j) {{ rows[j] = rows[0]; {' '.join(moves)} }}\n"
        )


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
    # Each block merges at its end, so short parts are longer while blocks are enough.
    while part < PART and -(-units // columns) * -(-count // (2 * part * parts)) >= BLOCKS:
        part *= 2
    return columns, parts, part, max(1, -(-count // (part * parts)))


def ahead_of(nbytes: int) -> int:
    """Partial results of so many bytes that a thread asks for at a time."""
    return 1 << max(1, min(8, AHEAD // nbytes)).bit_length() - 1


@of_sizes
def merge_space(chunks: int, fan: int) -> tuple[int, int]:
    """Groups, and partial results, where `chunks` are merged in groups of `fan`, and these again, until one is left."""
    groups = partials = 0
    while chunks > 1:
        partials += chunks
        chunks = -(-chunks // fan)
        groups += chunks
    return groups, partials


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
