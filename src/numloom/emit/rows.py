"""Kernels that go over a row several times: softmax, norms, standardising; a row stays on the chip.

A program in stages (`Program.stages`) makes passes over each row. A pass computes elements, ends with reductions
of the row's tree, and then computes what there is one of for the row; the next pass reads that. What a later pass
needs of an earlier one's elements is held: on CUDA in registers, so memory is read once and written once; on the CPU in
an array that the cache holds (what costs little is computed again).

CUDA: a row of up to 2048 elements has up to 32 threads (four of its 128 lanes each, one run); longer ones have blocks
of 128 threads a group of up to four runs, up to four groups. Where a row's held elements exceed the registers,
each pass computes them again from memory, which by then is cached.

Devices with thread block clusters (`Program.cluster`) share what is too long for one group among the blocks of a
cluster, each with an equal part: a power of two of runs, or whole chunks, so that each block has whole subtrees. Blocks
send each other what they have (accumulators of each lane, or of whole chunks) through the shared memory of all, and
then every block merges the rest for itself, in the same order.

On the host short rows of plain numbers go beside each other, 32 at a time: what they read is turned, so that every
loop is one over rows.

Columns (not `Program.fast`): a thread has runs of one column, one after the other, its neighbours those of the next
columns; groups and blocks are neighbours in the tree of each column. On the host columns go one by one, which no plan
asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from numloom.base.dtypes import ITEMSIZES
from numloom.emit.accumulators import Accumulators
from numloom.emit.across import Across, halves, pairs
from numloom.emit.beside import MOST, beside, beside_header, bytes_of, hoisted
from numloom.emit.block import MEMORY_TYPES
from numloom.emit.cost import grain_of
from numloom.emit.elements import Elements
from numloom.emit.pairing import Pairing
from numloom.emit.sharing import EXCHANGED, Shape, column_shape, row_shape
from numloom.emit.staging import staging_of
from numloom.emit.values import VALUE_TYPES, gather_instrs, header, loaded, read_operands
from numloom.ops.reduction_tree import CHUNKS, LANES, RUN
from numloom.plan.program import Geometry, KernelSource, Operand, Program, Stages, Store

SHORT = 16
ABREAST, MOST_ABREAST = 32, 64
"""Short rows that the host takes beside each other, and the most elements of such rows."""
_HERE = "@ARRAYS@"
KEPT_LAST = f"for (i64 l = width; l < {ABREAST}; ++l) kept[l] = kept[0];"
SMALL = 6
"""Most instructions whose text the host's loops repeat."""
COSTLY = 8
"""Instructions from which the host holds a value instead of computing it again."""
HELD_BYTES = 1 << 20
"""Bytes that a row's held elements may take on the host's stack."""
MANY = 264 << 10
"""Threads of so many short rows that rows of moments know their length: it does not change from call to call."""
TESTED = 32
"""Bytes of quotients by values of the row that share a test."""


def emit_rows(program: Program, entry: str) -> KernelSource:
    """Emit a program in stages; the entry's name is a placeholder that the caller fills in."""
    kernel = _Rows(program)
    shared, cuda, cpu = kernel.shared_text(), kernel.cuda(entry), kernel.cpu(entry)
    return kernel.source(entry, shared, cuda, cpu, kernel.geometry())


def _in_array(ctype: str) -> str:
    """Truth values in arrays are bytes, of which the host's compiler makes vectors."""
    return "bool8" if ctype == "bool" else ctype


@dataclass(slots=True)
class Pass:
    """One pass over a row: what it computes, what it takes from earlier passes and gives to later ones."""

    number: int
    reductions: list[int]
    stores: list[Store]
    evaluate: list[int] = field(default_factory=list)
    takes: list[int] = field(default_factory=list)
    gives: list[int] = field(default_factory=list)


def costs_of(program: Program) -> list[int]:
    """Instructions that each value of the body costs, with all that it is computed from."""
    costs: list[int] = []
    for instr in program.body:
        cost = instr.op_def.cost if instr.kind == "op" else 0
        for arg in instr.args:
            cost += costs[arg]
        costs.append(cost)
    return costs


def passes(program: Program, stages: Stages, costs: Sequence[int], least: float) -> list[Pass]:
    """The passes of a program; what costs at least `least` instructions is held once computed, else computed again."""
    found = [
        Pass(
            number,
            [k for k, r in enumerate(program.reductions) if stages.body[r.value] == number],
            [store for store in program.stores if stages.body[store.value] == number],
        )
        for number in range(stages.passes)
    ]
    made: dict[int, Pass] = {}
    for each in found:
        roots = [program.reductions[k].value for k in each.reductions] + [store.value for store in each.stores]
        # A gather reports indices out of range, even if nothing uses what it read.
        roots += [n for n in gather_instrs(program.body) if stages.body[n] == each.number]
        stack = list(dict.fromkeys(roots))
        seen = set(stack)
        while stack:
            value = stack.pop()
            instr = program.body[value]
            if value in made and costs[value] >= least and instr.kind not in ("kept", "param", "iota"):
                each.takes.append(value)
                if value not in made[value].gives:
                    made[value].gives.append(value)
                continue
            each.evaluate.append(value)
            for arg in instr.args:
                if arg not in seen:
                    seen.add(arg)
                    stack.append(arg)
        for value in each.evaluate:
            made.setdefault(value, each)
        each.evaluate.sort()
        each.takes.sort()
    return found


def held_bytes(program: Program, found: Sequence[Pass], smallest: int) -> int:
    """Most bytes an element that are held between two passes, each value being at least `smallest`."""
    most = 0
    for boundary in range(1, len(found)):
        live = {v for each in found[:boundary] for v in each.gives}
        live &= {v for each in found[boundary:] for v in each.takes}
        most = max(most, sum(max(smallest, _value_bytes(program, v)) for v in live))
    return most


def _value_bytes(program: Program, value: int) -> int:
    code = program.body[value].code
    return 4 if VALUE_TYPES[code] == "f32" else ITEMSIZES[code]


class _Rows(Elements):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.stages = program.stages()
        costs = costs_of(program)
        self.holding, self.repeating, self.on_host = (
            passes(program, self.stages, costs, least) for least in (0, inf, COSTLY)
        )
        self.accumulators = [
            Accumulators(program, [program.reductions[k] for k in each.reductions]) for each in self.holding
        ]
        self.clamped = self.rank - self.kept > 1 or bool(self.iotas or self.gathers)
        """Whether positions past the end of a row are moved to its last element, else loads there are skipped."""
        if not self.clamped and all(program.operands[k].strides[-1] in (0, 1) for k in self.streams):
            # Constants of 64-bit positions become part of the instruction.
            self.index = "i64"
        self.size = 1 << max(self.count - 1, 0).bit_length()
        if held_bytes(program, self.on_host, 1) * self.size > HELD_BYTES:
            self.on_host = self.repeating
        plain = [c.plain() for c in self.accumulators]
        nbytes = [c.nbytes() if c.reductions else 0 for c in self.accumulators]
        # Passes with accumulators of several numbers exchange them in the same shared memory.
        most = max((n for n, one in zip(nbytes, plain, strict=True) if not one), default=0)
        exchanged = most + sum(n for n, one in zip(nbytes, plain, strict=True) if one)
        words = max(1, -(-held_bytes(program, self.holding, 4) // 4))
        runs = any(c.has_runs() for c in self.accumulators)
        if program.fast:
            self.shape = row_shape(self.count, words, max(1, exchanged), program.cluster, runs)
        else:
            size = max((ITEMSIZES[program.operands[k].code] for k in self.streams), default=4)
            self.shape = column_shape(self.count, words, max(1, exchanged), size, program.cluster)
        self.staging = staging_of(program, words)
        self.static_length = self.staging is not None
        """Whether the row's length is in the text."""
        if self.staging is not None:
            self.shape = self.staging.shape()
        shape = self.shape
        self.pairing = None
        if runs and program.fast and shape.cluster == 1 and shape.in_registers and self.count <= CHUNKS[0]:
            whole = shape.always_valid == shape.elements_per_lane and shape.groups == 1
            self.static_length = self.static_length or bool(
                shape.elements_per_lane == 1 and self.outputs * shape.threads >= MANY
            )
            self.pairing = Pairing(shape.width, bool(whole), self.static_length)
        self.exact = (
            self.pairing is not None and shape.groups == 1 and shape.elements_per_lane - shape.always_valid <= 1
        )
        """Whether all lanes have `lines` elements, or one less."""
        self.places = "at"
        """Where element functions are asked for: a position of the row, or indices of its dimensions on the host."""
        self.dynamic_shared = self.shape.exchanged * exchanged > EXCHANGED
        """Whether passes exchange their accumulators in shared memory that has to be asked for."""
        self.shared = self.shape.exchanged * max(nbytes) if self.dynamic_shared else 0
        stages = self.stages.post
        of_row = {instr.index for instr in program.body if instr.kind == "kept"}
        for number, instr in enumerate(program.post):
            of_row.update(arg for arg in instr.args if stages[arg] < stages[number])
        self.of_row = sorted(of_row)
        divisors = {instr.args[1] for instr in program.body if instr.kind == "op" and instr.op_def.quotient}
        self.divisors = {
            v: program.body[v].index
            for v in sorted(divisors)
            if program.body[v].kind == "kept" and VALUE_TYPES[program.body[v].code] in ("f32", "f64")
        }
        """Values of the body that elements are divided by, and which values of the row these are."""

    def load(self, k: int) -> str:
        """An element of an operand."""
        text = super().load(k)
        return text if self.clamped else f"(exists ? {text} : {VALUE_TYPES[self.program.operands[k].code]}())"

    # ------------------------------------------------------------ shared text

    def shared_text(self) -> str:
        """Accumulators of each pass, positions of streams, values of the row and what follows each pass."""
        spaces = "".join(
            f"namespace pass{number} {{\n{accumulators.text()}{header('reduce')}{self._stack(accumulators)}"
            f"{self._pairs(accumulators)}}}\n"
            for number, accumulators in enumerate(self.accumulators)
            if accumulators.reductions
        )
        fields = " ".join(f"{VALUE_TYPES[self.program.post[q].code]} w{q};" for q in self.of_row)
        fields += "".join(f" {VALUE_TYPES[self.program.body[v].code]} r{q};" for v, q in self.divisors.items())
        posts = "".join(self._post(stage) for stage in range(self._posts()))
        return spaces + self.row() + self.index_text() + f"struct Kept {{ {fields} }};\n" + posts

    def _pairs(self, accumulators: Accumulators) -> str:
        """How lanes of moments merge on a GPU, where that is known."""
        if self.pairing is None or not accumulators.has_runs():
            return ""
        return f"#ifdef __CUDACC__\n{self.pairing.text(accumulators, self.count, self.number)}#endif\n"

    def _stack(self, accumulators: Accumulators) -> str:
        """What counts the runs of accumulators of several numbers, where runs are more than a few."""
        return "" if self.shape.in_registers or accumulators.plain() else header("stack")

    def _posts(self) -> int:
        return 1 + max((r for r in self.stages.post), default=0)

    def _post(self, stage: int) -> str:
        """post<stage>: values of a row that can be computed after `stage` passes."""
        program, stages = self.program, self.stages.post
        own = {q for q, at in enumerate(stages) if at == stage}
        args = {arg for q in own for arg in program.post[q].args} - own
        own |= {q for q in args if program.post[q].kind == "param"}
        lines = [self.split_line()]
        lines += [f"const {VALUE_TYPES[program.post[q].code]} w{q} = kept.w{q};" for q in sorted(args - own)]
        finished = {}
        if stage:
            count = self.number("count", self.count)
            for k, number in enumerate(self.holding[stage - 1].reductions):
                ctype = VALUE_TYPES[program.reductions[number].code]
                finished[number] = self.accumulators[stage - 1].finished(k, self.count, count, ctype)
        lines += self.post_lines(finished, sorted(own))
        lines += [f"kept.w{q} = w{q};" for q in self.of_row if stages[q] == stage]
        lines += [f"kept.r{q} = nl::inverse(w{q});" for q in self.divisors.values() if stages[q] == stage]
        stores = [self.post_store_line(s) for s in program.post_stores if stages[s.value] == stage]
        if stores:
            lines.append(f"if (first) {{ {' '.join(stores)} }}")
        accumulator = f", const pass{stage - 1}::A& a" if stage else ""
        return (
            f"NL_DEV void post{stage}(const P& p, i64 output, Kept& kept, bool first{accumulator}) {{\n  "
            + "\n  ".join(lines) + "\n}\n"
        )  # fmt: skip

    def _divides(self, each: Pass) -> bool:
        """Whether a pass without reductions divides by values of the row."""
        body = [self.program.body[v] for v in each.evaluate]
        divides = any(i.kind == "op" and i.op_def.quotient and i.args[1] in self.divisors for i in body)
        return divides and not each.reductions

    def _elements(self, found: Sequence[Pass], device: bool = False) -> str:
        """element<pass>(...): the values of a pass at position r of a row, those it takes and gives by argument.

        On a `device` also fast<pass>(..., slow): the same by inverses of values of the row, unless `slow` is set.
        """
        program = self.program
        kept = {q: f"kept.w{q}" for q in self.of_row}
        inverses = {v: f"kept.r{q}" for v, q in self.divisors.items()}
        indices = self.places != "at"
        places = [f"nl_index {place}" for place in self.places.split(", ")] if indices else ["nl_index r"]
        position = [] if indices else self.position_lines()
        found_before = len(self.position_lines()) if indices else 0
        text = []
        for each in found:
            args = ["const P& p", "const Row& row", "const Kept& kept", *places]
            args += [f"const {self._type(v)} v{v}" for v in each.takes]
            args += [f"{self._type(v)}& g{v}" for v in each.gives]
            args += [f"{self._type(store.value)}& y{n}" for n, store in enumerate(each.stores)]
            args += [f"{ctype}& o{k}" for k, ctype in enumerate(self.accumulators[each.number].types)]
            loads = self._loads(each)
            args += [f"const {self._read_type(k)} i{k}" for k in loads]
            if loads:
                reads = ", ".join(["const P& p", "const Row& row", *places, "bool exists",
                                   *(f"{self._read_type(k)}& i{k}" for k in loads)])  # fmt: skip
                lines = [*position, *(f"i{k} = {self.load(k)};" for k in loads)]
                text.append(f"NL_DEV void get{each.number}({reads}) {{\n  " + "\n  ".join(lines) + "\n}\n")
            given = [f"g{v} = v{v};" for v in each.gives]
            given += [f"y{n} = v{store.value};" for n, store in enumerate(each.stores)]
            given += [f"o{k} = v{program.reductions[number].value};" for k, number in enumerate(each.reductions)]
            forms: dict[str, tuple[str, Mapping[int, str]]] = {"element": ("", {})}
            if device and self._divides(each):
                forms = {"fast": (", bool& slow", inverses), "element": ("", dict.fromkeys(inverses, ""))}
            for name, (slow, by) in forms.items():
                lines = self.element_lines(each.evaluate, kept, {k: f"i{k}" for k in loads}, by)
                lines = [*lines[found_before:], *given]
                head = f"NL_DEV void {name}{each.number}({', '.join(args)}{slow}) {{\n  "
                text.append(head + "\n  ".join(lines) + "\n}\n")
            if each.stores:
                args = [f"{self._type(store.value)} v{store.value}" for store in each.stores]
                args = ["const P& p", "const Row& row", *places, *dict.fromkeys(args)]
                lines = [*position, *map(self.store_line, each.stores)]
                text.append(f"NL_DEV void put{each.number}({', '.join(args)}) {{\n  " + "\n  ".join(lines) + "\n}\n")
        return "".join(text)

    def _loads(self, each: Pass) -> list[int]:
        """Operands that a pass reads."""
        return read_operands([self.program.body[v] for v in each.evaluate])

    def _read_type(self, k: int) -> str:
        return VALUE_TYPES[self.program.operands[k].code]

    def _type(self, value: int) -> str:
        return VALUE_TYPES[self.program.body[value].code]

    def _arrays(self, each: Pass, slot: str) -> str:
        """Declarations of what a pass reads and writes."""
        read = [f"{self._read_type(k)} i{k}{slot};" for k in self._loads(each)]
        return " ".join([*read, *(f"{self._type(store.value)} y{n}{slot};" for n, store in enumerate(each.stores))])

    def _get(self, each: Pass, exists: str, slot: str) -> str:
        """The call that reads a pass's operands."""
        reads = [f"i{k}{slot}" for k in self._loads(each)]
        settled = " ".join(f"nl::settle({read});" for read in reads)
        return f"get{each.number}({', '.join(['p', 'row', self.places, exists, *reads])}); {settled}" if reads else ""

    def _call(
        self, each: Pass, held_slot: str, slot: str, fast: bool = False, values: Sequence[str] | None = None
    ) -> str:
        """The call that computes a pass's values; those to reduce go to `values`."""
        held = [f"h{v}[{held_slot}]" for v in (*each.takes, *each.gives)]
        written = [f"y{n}{slot}" for n in range(len(each.stores))]
        reads = [f"i{k}{slot}" for k in self._loads(each)]
        values = self.accumulators[each.number].values if values is None else values
        args = ["p", "row", "kept", self.places, *held, *written, *values, *reads]
        return f"{'fast' if fast else 'element'}{each.number}({', '.join([*args, 'slow'] if fast else args)});"

    def _put(self, each: Pass, slot: str) -> str:
        """The call that writes a pass's values."""
        values = {store.value: f"y{n}{slot}" for n, store in enumerate(each.stores)}
        return f"put{each.number}({', '.join(['p', 'row', self.places, *values.values()])});" if each.stores else ""

    def _held(self, found: Sequence[Pass], size: int) -> str:
        """Declarations of what is held of a row's elements."""
        return " ".join(f"{self._type(v)} h{v}[{size}];" for v in sorted({v for each in found for v in each.gives}))

    # ------------------------------------------------------------ threads

    def _share(self, each: Pass, shape: Shape, merged: str, device: bool = False) -> str:
        """One thread's share of a pass; `merged` makes accumulator `a` of the row from its accumulators ``lane``."""
        accumulators = self.accumulators[each.number]
        slot = f"j * {shape.elements_per_lane} + line" if shape.in_registers else "0"
        call = self._call(each, slot, "[e]")
        lanes = f"NL_UNROLL\nfor (int j = 0; j < {shape.lanes}; ++j) {{\n"
        runs = (
            f"{'NL_UNROLL' if shape.in_registers else '#pragma unroll 1'}\nfor (int r = 0; r < {shape.runs}; ++r) {{\n"
        )
        # A run's loads come before anything that branches or stores: what comes later would wait for them one by one.
        arrays = self._arrays(each, f"[{RUN}]")
        get = self._get(each, "exists", "[e]")
        put = f"if (exists && live) {self._put(each, '[e]')}" if each.stores else ""
        # What holds for every element is not in the text: compilers find it out late, after they copied all the rest.
        sure = shape.always_valid == shape.elements_per_lane
        counted = bool(accumulators.buffers()) and not sure
        count = " ++used;" if counted else ""
        take = f"if (exists) {{ {accumulators.collect('at')}{count} }}" if each.reductions else ""
        exists = "true" if sure else f"line < {shape.always_valid} || ahead < left"
        # One test for some: a branch for each element costs what is gained, and one for a run many registers.
        fast = self._call(each, slot, "[e]", fast=True) if device and self._divides(each) else ""
        if sure or shape.groups * shape.cluster == 1:
            compute = self._computed(shape, fast, f"{accumulators.declared} {call}\n{take}", exists)
            of_run = self._lines(shape, get, exists) + compute + self._lines(shape, put, exists)
        else:
            # Only a row's last elements may be absent, so runs that are whole are tested once. Values stand once in the
            # text: those of absent elements are computed too, and not used.
            arrays += "".join(f" {ctype} xs{k}[{RUN}];" for k, ctype in enumerate(accumulators.types))
            values = " ".join(f"const {ctype} x{k} = xs{k}[e];" for k, ctype in enumerate(accumulators.types))
            call = self._call(each, slot, "[e]", values=[f"xs{k}[e]" for k in range(len(accumulators.types))])
            of_run = (
                self._tested(shape, get, exists)
                + self._computed(shape, fast, call, exists if self.clamped else "true")
                + self._tested(shape, f"{values}\n{take}", exists)
                + self._tested(shape, put, exists)
            )
        of_run = f"{arrays}\n{of_run}"
        if not each.reductions:
            return f"{lanes}{runs}{of_run}}} }}\n"
        most = f"{shape.elements_per_lane} - r * {RUN} < {RUN} ? {shape.elements_per_lane} - r * {RUN} : {RUN}"
        close = ""
        if accumulators.buffers():
            # Lengths known to the compiler make its divisions cheap.
            close = f"const int most = {most};\n{accumulators.close('most')}\n"
            if device and self.exact and counted:
                close = f"const int most = {most};\n{accumulators.close_known('most', 'used == most')}\n"
            elif counted:
                close = f"const int most = {most};\nif (used == most) {{ {accumulators.close('most')} }} "
                close += f"else {{ {accumulators.close('used')} }}\n"
        used = "int used = 0;" if counted else ""
        run = f"A acc = a_none(); {accumulators.buffers()} {used}\n{of_run}{close}"
        if shape.in_registers:
            inner = f"A run[{shape.runs}];\n{runs}{run}run[r] = acc;\n}}\n"
            total = pairs([f"run[{r}]" for r in range(shape.runs)])
        else:
            counter = "stack" if self._stack(accumulators) else "counter"
            inner = f"{counter}<4> c; counter_start(c);\n{runs}{run}counter_add(c, acc);\n}}\n"
            total = "counter_total(c)"
        return (
            f"{{ using namespace pass{each.number};\nA lane[{shape.lanes}];\n{lanes}{inner}lane[j] = {total};\n}}\n"
            f"{merged}post{each.number + 1}(p, output, kept, first, a);\n}}\n"
        )

    def _tested(self, shape: Shape, work: str, exists: str) -> str:
        """Work on each element of a run, without tests where the run is whole."""
        if not work.strip():
            return ""
        last = f"j * {shape.threads} + (r * {RUN} + {RUN - 1}) * {shape.width}"
        whole, part = (self._lines(shape, work, each) for each in ("true", exists))
        return f"if ({last} < left) {{\n{whole}}} else {{\n{part}}}\n"

    def _computed(self, shape: Shape, fast: str, compute: str, exists: str) -> str:
        """The values of each element of a run: by `fast`, and again by `compute` where that set `slow`."""
        if not fast:
            return self._lines(shape, compute, exists)
        some = TESTED // max(4 if self._type(v) == "f32" else 8 for v in self.divisors)
        fast, compute = (self._lines(shape, work, exists, some) for work in (fast, compute))
        most = min(RUN, shape.elements_per_lane)
        return (
            f"NL_UNROLL\nfor (int b = 0; b < {most}; b += {some}) {{ bool slow = false;\n"
            f"{fast}if (slow) {{\n{compute}}} }}\n"
        )

    def _lines(self, shape: Shape, work: str, exists: str, some: int = 0) -> str:
        """Work on each element of run `r` of lane `j`, or on `some` of them from `b` on."""
        if not work:
            return ""
        most, guard = min(RUN, shape.elements_per_lane), f"if (line < {shape.elements_per_lane}) "
        if shape.elements_per_lane % most == 0 and (not some or most % some == 0):
            guard = ""
        return (
            f"NL_UNROLL\nfor (int e = {'b' if some else 0}; e < {f'b + {some}' if some else most}; ++e) {{ "
            f"const int line = r * {RUN} + e; {guard}{{\n"
            f"const int ahead = j * {shape.threads} + line * {shape.width};\nconst bool exists = {exists};\n"
            f"const nl_index at = {'exists ? start + ahead : last' if self.clamped else 'start + ahead'};\n"
            f"{work}\n}} }}\n"
        )

    def cuda(self, entry: str) -> str:
        """The kernel for the GPU."""
        shape = self.shape
        found = self.holding if shape.in_registers else self.repeating
        count = str(int(self.count)) if self.static_length else self.number("count", self.count)
        outputs = self.number("outputs", self.outputs)
        rows = shape.block // (shape.threads * shape.groups)
        # Several blocks, where they can be: while one waits for its threads, the others go on.
        bounds = f"{shape.block}, {shape.blocks}" if shape.blocks > 1 or shape.groups > 1 else f"{shape.block}"
        group = RUN * shape.runs * shape.width
        begin = (
            f"const int u = threadIdx.x & {shape.threads - 1}, g = threadIdx.x / {shape.threads} % {shape.groups};\n"
        )
        at, part, head = "blockIdx.x", "g", "g == 0"
        if shape.cluster > 1:
            begin += f"nl::cluster_begin();\nconst int rank = (int)(blockIdx.x % {shape.cluster}u);\n"
            at, part, head = f"(blockIdx.x / {shape.cluster}u)", f"(rank * {shape.groups} + g)", "rank == 0 && g == 0"
        if self.program.fast:
            wanted = f"threadIdx.x / {shape.threads * shape.groups}"
            offset, head = "u + ", f"u == 0 && {head}"
        else:
            wanted, rows, offset = "u", shape.threads, ""
        begin += (
            f"const i64 wanted = (i64){at} * {rows} + {wanted};\n"
            f"const bool live = wanted < {outputs}, first = live && {head};\n"
            # Threads without a row go along with the last one, since lanes of a warp exchange values.
            f"const i64 output = live ? wanted : {outputs} - 1;\n"
            f"const nl_index start = {offset}{part} * {group}, last = (nl_index){count} - 1;\n"
            f"const int left = (int){count} - (int)start;\n"
        )
        across = Across(shape, self.accumulators, not self.program.fast, self.dynamic_shared, self.pairing)
        begin += across.memory()
        shares = "".join(self._share(each, shape, across.merged(each.number), True) for each in found)
        together, clustered, stage, unstage = "", "", "", ""
        if shape.cluster > 1:
            together, clustered = header("cluster"), f"__cluster_dims__({shape.cluster}, 1, 1) "
        if self.staging is not None:
            together, stage, unstage = header("staging"), self.staging.begin(outputs), self.staging.end()
        return (
            together
            + self._elements(found, device=True)
            + f'extern "C" __global__ void {clustered}__launch_bounds__({bounds}) {entry}'
            + "(const __grid_constant__ P p) {\n"
            + begin + f"{'Row' if stage else 'const Row'} row = row_of(p, output);\nKept kept;\n"
            + f"post0(p, output, kept, first);\n{stage}"
            + self._held(found, shape.lanes * shape.elements_per_lane) + "\n" + shares + unstage + "}\n"
        )  # fmt: skip

    # ------------------------------------------------------------ CPU

    def cpu(self, entry: str) -> str:
        """The kernel for the host: one row after another."""
        n, arrays = f"(nl_index){self.number('count', self.count)}", ""
        if self._is_abreast():
            return self._cpu_abreast(entry, n)
        if not self.program.fast:
            found = self.on_host
            each_row = "".join(self._over_column(each, n) for each in found)
        elif self.count <= SHORT:
            sure = int(self.size == self.count)
            shape = Shape(self.size, 1, self.size, 1, 1, 1, sure, True)
            found = self.holding
            merged = f"const A a = {halves([f'lane[{j}]' for j in range(self.size)])};\n"
            each_row = f"const nl_index start = 0, last = {n} - 1;\nconst int left = (int){n};\n"
            each_row += "".join(self._share(each, shape, merged) for each in found)
        else:
            found = self.on_host
            if self.rank - self.kept > 1:
                self.places = ", ".join(f"r{d}" for d in range(self.kept, self.rank))
            passes = {f"pass{each.number}": self._over(each, n) for each in found}
            # They are used in turn, and yet the compiler may keep all of them.
            if bytes_of("".join(declare for declare, _ in passes.values())) > MOST:
                for space, (declare, text) in passes.items():
                    declare, names = hoisted(declare, space)
                    arrays, passes[space] = arrays + declare, (names, text)
            arrays, each_row = beside(arrays), "".join(text.replace(_HERE, here) for here, text in passes.values())
        return (
            self._elements(found)
            + "".join(dict.fromkeys(part for one in self.accumulators for part in one.host_parts()))
            + f'extern "C" void {entry}(const P* block, i64 from, i64 to) {{\nconst P p = *block;\n'
            + self._held(found, self.size)
            + arrays
            + "\nconst bool first = true, live = true;\nfor (i64 output = from; output < to; ++output) {\n"
            + "const Row row = row_of(p, output);\nKept kept;\npost0(p, output, kept, first);\n"
            + each_row + "}\n}\n"
        )  # fmt: skip

    def _is_abreast(self) -> bool:
        """Whether the host takes short rows beside each other: of numbers and moments, read where they lie in rows."""
        program = self.program
        plain = all(
            reduction.op_def.accumulator(char) in MEMORY_TYPES or k in one.moments()
            for one in self.accumulators
            for k, (reduction, char) in enumerate(zip(one.reductions, one.chars, strict=True))
        )
        simple = not (self.gathers or self.iotas or program.nested)
        return program.fast and plain and simple and self.kept > 0 and 0 < self.count <= MOST_ABREAST

    def _cpu_abreast(self, entry: str, n: str) -> str:
        """Short rows, some beside each other: what they read is turned, so that all loops go over rows."""
        program, found = self.program, self.on_host
        operands = [program.operands[k] for k in self.reads]
        turned = {k: o for k, o in zip(self.reads, operands, strict=True) if any(o.strides[: self.kept])}
        lines = {k: any(o.strides[self.kept :]) for k, o in turned.items()}
        types = {k: MEMORY_TYPES[o.code] for k, o in turned.items()}
        declare = [f"{types[k]} t{k}[{self.size if lines[k] else 1}][{ABREAST}];" for k in turned]
        held = sorted({v for each in found for v in each.gives})
        declare += [f"{_in_array(self._type(v))} h{v}[{self.size}][{ABREAST}];" for v in held]
        copy = "".join(
            self.over("0", n, f"t{k}[at][l_] = {self.fetch(k)};") if lines[k] else f"t{k}[0][l_] = row.q{k}[0];\n"
            for k in turned
        )
        last = " ".join(
            f"for (i64 at = 0; at < {n if lines[k] else 1}; ++at) "
            f"for (i64 l = width; l < {ABREAST}; ++l) t{k}[at][l] = t{k}[at][0];"
            for k in turned
        )
        shares = "".join(self._pass_abreast(each, n, turned, lines) for each in found)
        return (
            f'{self._elements(found)}{beside_header()}extern "C" void {entry}(const P* block, i64 from, i64 to) {{\n'
            f"const P p = *block;\n{beside(' '.join(declare))}\nKept kept[{ABREAST}];\nconst bool first = true;\n"
            f"for (i64 output = from; output < to; output += {ABREAST}) {{\n"
            f"const i64 width = to - output < {ABREAST} ? to - output : {ABREAST};\n"
            "const Row row = row_of(p, output);\n"
            "for (i64 l_ = 0; l_ < width; ++l_) {\nconst Row row = row_of(p, output + l_);\n"
            f"post0(p, output + l_, kept[l_], first);\n{copy}}}\n"
            f"if (width < {ABREAST}) {{ {last} {KEPT_LAST} }}\n{shares}}}\n}}\n"
        )

    def _pass_abreast(self, each: Pass, n: str, turned: Mapping[int, Operand], lines: Mapping[int, bool]) -> str:
        """A pass over rows beside each other: elements line by line, what it reduces by halving, what it stores."""
        accumulators, loads = self.accumulators[each.number], self._loads(each)
        kinds = [
            (k, r.op_def.accumulator(char))
            for k, (r, char) in enumerate(zip(accumulators.reductions, accumulators.chars, strict=True))
        ]
        stores = [_in_array(self._type(store.value)) for store in each.stores]
        moments = accumulators.moments()
        kinds = [(k, ctype) for k, ctype in kinds if k not in moments]
        arrays = [f"{ctype} a{k}f[{self.size}][{ABREAST}];" for k, ctype in kinds]
        arrays += [f"f64 mean{k}[{self.size}][{ABREAST}], m2{k}[{self.size}][{ABREAST}];" for k in moments]
        arrays += [f"{ctype} y{m}f[{self.size}][{ABREAST}];" for m, ctype in enumerate(stores)]
        values = []
        for k in loads:
            memory = f"t{k}[{'at' if lines[k] else 0}][l]" if k in turned else self.fetch(k)
            values.append(f"const {self._read_type(k)} i{k} = {loaded(memory, self.program.operands[k].code)};")
        places = "" if all(k in turned for k in loads) else f"const nl_index r = at; {' '.join(self.position_lines())}"
        values += [f"const {self._type(v)} v{v} = h{v}[at][l];" for v in each.takes]
        values += [f"{self._type(v)} g{v};" for v in each.gives]
        values += [f"{self._type(store.value)} y{m};" for m, store in enumerate(each.stores)]
        given = [*(f"v{v}" for v in each.takes), *(f"g{v}" for v in each.gives), *(f"y{m}" for m in range(len(stores)))]
        args = ["p", "row", "kept[l]", "at", *given, *accumulators.values, *(f"i{k}" for k in loads)]
        call = f"element{each.number}({', '.join(args)});"
        keep = [f"h{v}[at][l] = g{v};" for v in each.gives] + [f"y{m}f[at][l] = y{m};" for m in range(len(stores))]
        take = accumulators.single(call, "at", "") if each.reductions else call
        keep += [f"a{k}f[at][l] = acc.a{k};" for k, _ in kinds]
        keep += [f"mean{k}[at][l] = acc.a{k}.mean; m2{k}[at][l] = acc.a{k}.m2;" for k in moments]
        text = (
            f"for (i64 at = 0; at < {n}; ++at) {{ {places}\nNL_IVDEP\nfor (i64 l = 0; l < {ABREAST}; ++l) "
            f"{{ {' '.join([*values, take, *keep])} }}\n}}\n"
        )
        if each.reductions:
            merge = [accumulators.merged_in(k, f"a{k}f[j][l]", f"a{k}f[j + half][l]") for k, _ in kinds]
            # As nl::merge_by: all rows have as many elements in a lane.
            merge += [
                f"const f64 d{k} = mean{k}[j + half][l] - mean{k}[j][l]; mean{k}[j][l] += d{k} * weight; "
                f"m2{k}[j][l] = m2{k}[j][l] + m2{k}[j + half][l] + d{k} * d{k} * scale;"
                for k in moments
            ]
            counted, weights = "", ""
            if moments:
                counted = f"f64 of[{self.size}];\nfor (i64 at = 0; at < {n}; ++at) of[at] = 1.0;\n"
                weights = (
                    "const f64 weight = of[j + half] / (of[j] + of[j + half]), scale = of[j] * weight; "
                    "of[j] = of[j] + of[j + half];\n"
                )
            results = {k: f"a{k}f[0][l]" for k, _ in kinds}
            results |= {k: f"nl::make_moments(of[0], mean{k}[0][l], m2{k}[0][l])" for k in moments}
            text += (
                f"{counted}for (i64 half = {self.size // 2}, left = {n}; half > 0; "
                "left = left < half ? left : half, half /= 2)\n"
                f"for (i64 j = 0; j + half < left; ++j) {{\n{weights}NL_IVDEP\n"
                f"for (i64 l = 0; l < {ABREAST}; ++l) {{ {' '.join(merge)} }}\n}}\n"
                f"for (i64 l = 0; l < width; ++l) {{ const A a{{{', '.join(results[k] for k in sorted(results))}}}; "
                f"post{each.number + 1}(p, output + l, kept[l], first, a); }}\n"
                f"if (width < {ABREAST}) {{ {KEPT_LAST} }}\n"
            )
        if stores:
            written = ", ".join(["p", "row", "at", *dict.fromkeys(f"y{m}f[at][l]" for m in self._written(each))])
            text += (
                "for (i64 l = 0; l < width; ++l) {\nconst Row row = row_of(p, output + l);\n"
                f"for (i64 at = 0; at < {n}; ++at) put{each.number}({written});\n}}\n"
            )
        space = f"using namespace pass{each.number};\n" if each.reductions else ""
        return f"{{ {space}{beside(' '.join(arrays))}\n{text}}}\n"

    def _written(self, each: Pass) -> list[int]:
        """Which of a pass's stores give the arguments of its `put`: each value once."""
        return list({store.value: m for m, store in enumerate(each.stores)}.values())

    def _over_column(self, each: Pass, n: str) -> str:
        """A pass over a whole column, run by run."""
        call = (
            f"{self._arrays(each, '')} {self._get(each, 'true', '')} {self._call(each, 'at', '')} {self._put(each, '')}"
        )
        if not each.reductions:
            return f"for (i64 at = 0; at < {n}; ++at) {{ {call} }}\n"
        accumulators = self.accumulators[each.number]
        return (
            f"{{ using namespace pass{each.number};\ncounter<32> c; counter_start(c);\n"
            f"for (i64 begin = 0; begin < {n}; begin += {RUN}) {{\n"
            f"const int used = (int)({n} - begin < {RUN} ? {n} - begin : {RUN});\n"
            f"A acc = a_none(); {accumulators.buffers()}\n"
            f"for (int e = 0; e < used; ++e) {{ const i64 at = begin + e; {accumulators.declared} {call} "
            f"{accumulators.collect('at')} }}\n{accumulators.close('used')}\ncounter_add(c, acc);\n}}\n"
            f"const A a = counter_total(c);\npost{each.number + 1}(p, output, kept, first, a);\n}}\n"
        )

    def _over(self, each: Pass, n: str) -> tuple[str, str]:
        """The arrays of a pass over a whole row, and the pass, in which they have a place."""
        call = (
            f"{self._arrays(each, '')} {self._get(each, 'true', '')} {self._call(each, 'at', '')} {self._put(each, '')}"
        )
        if not each.reductions:
            return "", self.over("0", n, call)
        accumulators, body = self.accumulators[each.number], [self.program.body[v] for v in each.evaluate]
        cost = sum(instr.op_def.cost for instr in body if instr.kind == "op")
        fill = self.over if self.rank - self.kept > 1 or cost >= COSTLY else None
        small = fill is None and len(body) <= SMALL and accumulators.plain()
        lanes = min(self.size, LANES) if self.count <= CHUNKS[0] else 0
        declare, chunk = accumulators.chunk(call, small=small, most=lanes, fill=fill)
        return declare, (
            f"{{ using namespace pass{each.number};\n{_HERE}counter<8> c; counter_start(c);\n"
            f"for (i64 begin = 0; begin < {n}; begin += {CHUNKS[0]}) {{\n"
            f"const i64 count = {n} - begin < {CHUNKS[0]} ? {n} - begin : {CHUNKS[0]};\n"
            f"{chunk}counter_add(c, lane[0]);\n}}\nconst A a = counter_total(c);\n"
            f"post{each.number + 1}(p, output, kept, first, a);\n}}\n"
        )

    # ------------------------------------------------------------ launch

    def geometry(self) -> Geometry:
        """How the kernel is launched."""
        shape = self.shape
        rows = shape.block // (shape.threads * shape.groups) if self.program.fast else shape.threads
        return Geometry(
            items=self.outputs,
            grain=grain_of(self.program, self.count),
            blocks=-(-self.outputs // rows) * shape.cluster,
            threads=shape.block,
            shared=self.shared,
        )
