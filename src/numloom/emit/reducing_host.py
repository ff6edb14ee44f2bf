"""Reductions on the host, and the launch of both targets: loops over arrays of lanes, or of columns side by side.

On the CPU a chunk is a loop over arrays of 128 lanes, or of up to 256 columns, which vectorises.
"""

from __future__ import annotations

from numloom.base.dtypes import ITEMSIZES, ROUNDED
from numloom.emit.accumulators import LINES
from numloom.emit.beside import beside, beside_header
from numloom.emit.block import MEMORY_TYPES
from numloom.emit.cost import SHARED_PIECES, grain_of, pieces_of
from numloom.emit.reducing import BLOCK, SHORT, ReductionText
from numloom.emit.values import loaded
from numloom.ops.reduction_tree import LANES, RUN
from numloom.plan.program import Geometry, KernelSource, Program

NARROW = 256
"""Columns from which one line of them after the other is read faster than several at a time."""
FEW = 64
"""Columns whose extremes are found several rows at a time (a constant of positions.hpp)."""
HEAVY = 40
"""Cost from which short rows are taken beside each other wherever they lie."""
ROW = 32
"""Elements of a long row that the CPU takes in the time of a row's beginning and end."""
ABREAST = 8
"""Neighbouring rows from which on short ones are taken beside each other wherever they lie."""
TILE, MOST_TILE, TILE_BYTES = 128, 2048, 64 << 10
"""Rows that are turned at a time, at least, and at most where all outer rows read them; bytes of these."""
POSTS, COSTLY = 64, 4
"""Rows whose results are finished together, and what that costs a row at least."""
SMALL = 6
"""Most instructions whose text the CPU's loops repeat."""


def emit_reduction(program: Program, entry: str) -> KernelSource:
    """Emit a program with reductions; the entry's name is a placeholder that the caller fills in."""
    kernel = HostReductionText(program)
    shared, cuda, cpu = kernel.shared_text(), kernel.cuda(entry), kernel.cpu(entry)
    return kernel.source(entry, shared, cuda, cpu, kernel.geometry())


class HostReductionText(ReductionText):
    """A program that reduces: texts for both targets, and their launch."""

    # ------------------------------------------------------------ CPU

    def cpu(self, entry: str) -> str:
        if (
            self.program.fast
            and self.count <= LANES
            and self.accumulators.plain()
            and not (self.gathers or self.program.stores)
        ):
            if self.count > SHORT:
                return self._cpu_line_rows(entry)
            if self._unrolling_pays():
                return self._cpu_rows_unrolled(entry)
        if self.program.fast and self.count <= SHORT:
            if self.accumulators.positions() and self._unrolling_pays() and not (self.gathers or self.program.stores):
                return self._cpu_rows_unrolled(entry)
            return self._cpu_short(entry)
        return self._cpu_fast(entry) if self.program.fast else self._cpu_columns(entry)

    def _cpu_short(self, entry: str) -> str:
        """Rows of a few elements: one after another, each unrolled."""
        n = f"(nl_index){self.number('count', self.count)}"
        if self.accumulators.positions():
            row = self.accumulators.positions_in_turn(n, self._call("at")) + "post(p, output, done[0]);\n"
        else:
            row = self._short_row(n, "nl_index")
        return (
            f'extern "C" void {entry}(const P* block, i64 from, i64 to) {{\nconst P p = *block;\n'
            f"for (i64 output = from; output < to; ++output) {{\nRow row = row_of(p, output);\n{row}}}\n}}\n"
        )

    def _cpu_line_rows(self, entry: str) -> str:
        """Rows of at most 128 elements: a lane each, the number of lanes known.

        Each lane of the first half takes one of the second at once. Elements that may be taken twice, and in any order,
        need no lanes, and the second half are the last ones, so that the loop is of a known length.
        """
        width = int(1 << (self.count - 1).bit_length()) // 2
        n = f"(nl_index){self.number('count', self.count)}"
        declare = fill = ""
        if self.split:
            call = self._call_at(self.accumulators.values)
            declare, fill, found = self.accumulators.filled(call, self.over, LANES, "(nl_index)0", n, "{at}")
        else:
            found = self._call("{at}")

        def lane(at: str) -> str:
            """The element `at` as an accumulator `acc`."""
            return self.accumulators.single(found.replace("{at}", at), at, "")

        first, second = lane("l"), lane(f"{width} + l")
        merge, merged = f"{{ {second} lane[l] = a_merge(lane[l], acc); }}", self.accumulators.merged(width)
        if self.accumulators.idempotent():
            both = (f"{{ {lane(at)} total = a_merge(total, acc); }}" for at in ("l", f"{n} - {width} + l"))
            text = f"NL_IVDEP\nfor (nl_index l = 0; l < {width}; ++l) {{ {' '.join(both)} }}\n"
            text, merged = f"A total = a_none();\nNL_ROLLED\n{text}", "lane[0] = total;\n"
        elif self.count == 2 * width:
            text = f"NL_IVDEP\nfor (nl_index l = 0; l < {width}; ++l) {{ {{ {first} lane[l] = acc; }} {merge} }}\n"
        else:
            text = f"NL_IVDEP\nfor (nl_index l = 0; l < {width}; ++l) {{ {first} lane[l] = acc; }}\n"
            text += f"NL_IVDEP\nfor (nl_index l = 0; l < {n} - {width}; ++l) {merge}\n"
        return (
            f'{beside_header()}extern "C" void {entry}(const P* block, i64 from, i64 to) {{\nconst P p = *block;\n'
            + beside(f"A lane[{LANES}];\n{declare}\n")
            + self._rows_in_turn(f"const Row row = row_of(p, output);\n{fill}{text}{merged}")
            + "}\n"
        )

    def _rows_in_turn(self, row: str) -> str:
        """A loop over outputs, of which each has its total in ``lane[0]`` after the statements `row`.

        What is computed of many totals is computed for neighbouring rows together: that loop makes vectors.
        """
        if not self._posts_pay():
            return f"for (i64 output = from; output < to; ++output) {{\n{row}post(p, output, lane[0]);\n}}\n"
        last = self.kept - 1
        inner, names = self.number("inner", self.program.shape[last]), ", ".join(f"k{d}" for d in range(self.kept))
        return (
            f"A totals[{POSTS}];\nfor (i64 first = from, rows; first < to; first += rows) {{\n"
            f"i64 {names}; split(p, first, {names});\n"
            f"rows = {inner} - k{last} < to - first ? {inner} - k{last} : to - first;\n"
            f"rows = rows < {POSTS} ? rows : {POSTS};\n"
            f"for (i64 output = first; output < first + rows; ++output) {{\n{row}totals[output - first] = lane[0];\n"
            f"}}\nNL_IVDEP\nfor (i64 l = 0; l < rows; ++l) post_at(p, {names} + l, totals[l]);\n}}\n"
        )

    def _posts_pay(self) -> bool:
        """Whether so much is computed of each total that it is worth while to keep some of them."""
        cost = sum(instr.op_def.cost for instr in self.program.post if instr.kind == "op")
        return self.kept > 0 and cost >= COSTLY

    def _unrolling_pays(self) -> bool:
        """Whether short rows beside each other make a loop of vectors: neighbours, or where much is computed."""
        program = self.program
        if not self.kept or not 0 < self.count * len(program.body) <= 16 * SMALL:
            return False
        if program.shape[self.kept - 1] >= ABREAST or not self._turned():
            return True
        cost = sum(instr.op_def.cost for instr in (*program.body, *program.post) if instr.kind == "op")
        return self.accumulators.positions() or cost >= HEAVY

    def _turned(self) -> list[int]:
        """Operands whose elements of neighbouring rows are no neighbours: loops over rows read turned copies."""
        return [k for k in self.reads if self.program.operands[k].strides[self.kept - 1] not in (0, 1)]

    def _tiles_text(self, width: int) -> tuple[str, str, str, int]:
        """Turned copies of operands: the function of an element, their declaration, how they are filled, their length.

        What all outer rows read is turned once.
        """
        operands, turned = self.program.operands, self._turned()
        if not turned:
            return "", "", "", 0
        again = [k for k in turned if not any(operands[k].strides[: self.kept - 1])] if self.kept > 1 else []
        nbytes = width * sum(ITEMSIZES[operands[k].code] for k in turned)
        size = max(min(TILE_BYTES // nbytes, MOST_TILE), TILE) if again else TILE
        types = {k: MEMORY_TYPES[operands[k].code] for k in turned}
        reads = {k: loaded(f"w.q{k}", operands[k].code) if k in turned else self.load(k) for k in self.reads}
        fields = " ".join(f"{ctype} q{k};" for k, ctype in types.items())
        pads = {k: size + 64 // ITEMSIZES[operands[k].code] for k in turned}
        declare = beside(" ".join(f"{ctype} t{k}[{width}][{pads[k]}];" for k, ctype in types.items()))
        declare += " ".join(f"const void* held{k} = 0; i64 long{k} = 0;" for k in types)
        fill = ""
        n = f"(nl_index){self.number('count', self.count)}"
        for k in turned:
            step = self.number(f"s{k}_{self.kept - 1}", operands[k].strides[self.kept - 1])
            copy = f"t{k}[at][line] = from{k}[{self.position(k)}];"
            fill += (
                f"if (base.q{k} != held{k} || width > long{k}) {{\nheld{k} = base.q{k}; long{k} = width;\n"
                "for (i64 line = 0; line < width; ++line) { "
                f"const {types[k]}* const from{k} = base.q{k} + line * {step};\n"
                f"{self.over('0', n, copy)}}}\n}}\n"
            )
        return f"struct W {{ {fields} }};\n{self._element_by(reads)}", declare, fill, size

    def _cpu_rows_unrolled(self, entry: str) -> str:
        """Rows of a few elements whose outputs are neighbours: the loop over the outputs makes vectors."""
        last, width = self.kept - 1, int(1 << (self.count - 1).bit_length())
        n = f"(nl_index){self.number('count', self.count)}"
        element, declare, fill, size = self._tiles_text(width)
        limit = f"const i64 most = to - output < {size} ? to - output : {size};\n" if size else ""
        most = "most" if size else "to - output"

        def call(at: str) -> str:
            if not size:
                return self._call(at)
            values = ", ".join(f"t{k}[{at}][l]" for k in self._turned())
            return f"const W w{{{values}}}; element(p, row, {at}, w, {', '.join(self.accumulators.values)});"

        lines = []
        for j in range(width):
            # An element that may not exist is the first one again, and does not count.
            always_valid = j <= width // 2 or self.count == width
            at = f"{j}" if always_valid else f"({j} < {n} ? {j} : 0)"
            if self.accumulators.positions():
                lines.append(self.accumulators.position_unrolled(j, call(at)))
                continue
            lines.append(f"A e{j}; {{ {self.accumulators.single(call(at), at, '')} e{j} = acc; }}")
            if not always_valid:
                lines += [
                    f"e{j}.a{k} = {j} < {n} ? e{j}.a{k} : none.a{k};" for k in range(len(self.program.reductions))
                ]
        if self.accumulators.positions():
            lines.append(self.accumulators.found_unrolled())
        half = 0 if self.accumulators.positions() else width // 2
        while half:
            lines += [f"e{j} = a_merge(e{j}, e{j + half});" for j in range(half)]
            half //= 2
        names = ", ".join(f"k{d}" for d in range(self.kept))
        inner = self.number("inner", self.program.shape[last])
        return (
            f'{beside_header()}{element}extern "C" void {entry}(const P* block, i64 from, i64 to) {{\n'
            "const P p = *block;\n"
            f"const A none = a_none();\n{declare}\nfor (i64 output = from; output < to;) {{\n"
            f"i64 {names}; split(p, output, {names});\n{limit}"
            f"const i64 width = {inner} - k{last} < {most} ? {inner} - k{last} : {most};\n"
            f"const Row base = row_of(p, output);\n{fill}NL_IVDEP\nfor (i64 l = 0; l < width; ++l) {{\n"
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
        moves += [f"row.g{n} = taken{n}(p, row);" for n in self.taken]
        return " ".join(moves)

    def _cpu_line(self, width: str, at: str, guard: str) -> str:
        return self.accumulators.line(
            width, at, f"{guard} {self.accumulators.declared} {self._call(f'(nl_index)({at})')}"
        )

    def _cpu_fast(self, entry: str) -> str:
        chunks = self.number("chunks", self.chunks)
        size = self.number("size", self.chunk)
        n = self.number("count", self.count)
        direct = {k: f"row.q{operand}" for k, operand in self._direct().items()}
        whole = self._whole_rows()
        goes_on = "begin > 0" if whole else "item > from && begin > 0"
        lanes = (int(1 << (self.count - 1).bit_length()) if self.count <= LANES else LANES) if self.chunks == 1 else 0
        again = not (self.gathers or self.program.stores)
        call, fill = (
            (self._call_at(self.accumulators.values), self.over) if self.split else (self._call("(nl_index)at"), None)
        )
        declare, chunk = self.accumulators.chunk(call, direct, goes_on, self._small(), lanes, again, fill)
        head = f'{self.accumulators.host_text()}extern "C" void {entry}(const P* block, i64 from, i64 to) {{\n'
        head += f"const P p = *block;\n{beside(declare)}"
        begin = f"{head}for (i64 item = from; item < to; ++item) {{\n"
        count = f"const i64 count = {n} - begin < {size} ? {n} - begin : {size};\n"
        if whole:
            return (
                f"{begin}const Row row = row_of(p, item);\ncounter<31> c; counter_start(c);\n"
                f"for (i64 begin = 0; begin < {n}; begin += {size}) {{\n{count}"
                f"{self._undecided('begin == 0')}{{\n{chunk}}}\ncounter_add(c, lane[0]);\n}}\n"
                "post(p, item, counter_total(c));\n}\n}\n"
            )
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
        if self.chunks == 1 and self._posts_pay():
            row = "const i64 item = output, begin = 0;\n" + count + "const Row row = row_of(p, output);\n"
            return f"{head}{self._rows_in_turn(f'{row}{{{chr(10)}{chunk}}}{chr(10)}')}}}\n"
        return (
            f"{begin}const i64 output = item / {chunks};\nconst i64 begin = item % {chunks} * {size};\n{count}"
            f"const Row row = row_of(p, output);\n{self._undecided('item == from || begin == 0')}{{\n{chunk}}}\n"
            f"{done}\n}}\n}}\n{finish}"
        )

    def _whole_rows(self) -> bool:
        """Whether rows of several chunks are an item each: all of them are too little work to be shared."""
        return self.chunks > 1 and pieces_of(self.program, self.outputs * self.count) < SHARED_PIECES

    def _undecided(self, first: str) -> str:
        """A test whether a chunk can change what the row's chunks before it gave, which then is its result as well."""
        ends = {"any": "{a}", "all": "!{a}"}
        found = [ends.get(reduction.op_def.name, "") for reduction in self.program.reductions]
        if not all(found) or self.gathers or self.program.stores:
            return ""
        decided = " && ".join(end.replace("{a}", f"lane[0].a{k}") for k, end in enumerate(found))
        return f"if ({first} || !({decided})) "

    def _small(self) -> bool:
        """Whether there is little to compute, so that several copies of the text are still quickly compiled."""
        return len(self.program.body) <= SMALL and not self.gathers and self.accumulators.plain()

    def _direct(self, dimension: int = -1) -> dict[int, int]:
        """Reductions whose values are neighbours in memory along a dimension, and which operand, if all are such."""
        program, direct = self.program, {}
        if program.stores or self.gathers or self.rank - self.kept != 1:
            return {}
        for k, reduction in enumerate(program.reductions):
            value = program.body[reduction.value]
            if value.kind != "load" or value.code in ROUNDED:
                return {}
            if program.operands[value.operand].strides[dimension] != 1:
                return {}
            direct[k] = value.operand
        return direct

    def _cpu_columns(self, entry: str) -> str:
        """Blocks of neighbouring outputs, all rows of each one after another."""
        program = self.program
        size = self._cpu_width()
        declare, reset, close = self.accumulators.arrays(size)
        inner = self.number("inner", program.shape[self.kept - 1] if self.kept else 1)
        n = self.number("count", self.count)
        chunks = self.number("cpu_chunks", self.cpu_parts())
        part = self.number("cpu_part", self._cpu_part())
        groups = self.number("groups", -(-(program.shape[self.kept - 1] if self.kept else 1) // size))
        move = f"Row row = base; {self._moves()}"
        run = "for (i64 e = 0; e < lines; ++e) {\n{line}\n}\n"
        side_by_side = self.outputs_per_thread > 1 and self.accumulators.plain()
        if side_by_side:
            run = self._cpu_run_unrolled()  # which holds one run
        elif self._small() and self.kept and program.shape[self.kept - 1] < NARROW:
            run = self._cpu_lines_together(move) + run.replace("i64 e = 0", "")
        step, header = "all" if self.accumulators.free() and not side_by_side else f"{RUN}", beside_header()
        if self.accumulators.positions():
            # No tree changes them.
            direct, levels = self._direct(self.kept - 1) if self.kept else {}, ""
            find = f"for (i64 e = 0; e < all; ++e) {{\n{self._cpu_line('width', 'start + e', move)}\n}}"
            if direct and program.shape[self.kept - 1] <= FEW:
                header = self.accumulators.host_text()
                find = "\n".join(self._extremes_of_columns(k, operand) for k, operand in direct.items())
            lines = f"{reset}\n{find}\n{close}\nfor (i64 l = 0; l < width; ++l) total[l] = done[l];\n"
        else:
            levels, line = f"A level[31][{size}];\n", self._cpu_line("width", "start + first + e", move)
            lines = (
                "u32 runs = 0;\nbool any = false;\nconst i64 tail = width;\n"
                f"for (i64 first = 0; first < all; first += {step}) {{\n"
                f"const i64 lines = all - first < {step} ? all - first : {step};\n"
                f"{reset}\n{run.replace('{line}', line)}{self.accumulators.levels(close, step, 'total')}"
            )
        finish = ""
        done = "post(p, output, total[0]);"
        if self.kept:
            names = ", ".join(f"k{d}" for d in range(self.kept))
            done = f"i64 {names}; split(p, output, {names});\n"
            done += f"NL_IVDEP\nfor (i64 l = 0; l < width; ++l) post_at(p, {names} + l, total[l]);"
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
            f'{header}extern "C" void {entry}(const P* block, i64 from, i64 to) {{\nconst P p = *block;\n'
            + beside(f"{declare}\nA done[{size}], total[{size}];\n{levels}")
            + "for (i64 item = from; item < to; ++item) {\n"
            f"const i64 piece = item % {chunks};\nconst i64 group = item / {chunks};\n"
            f"const i64 column = group % {groups} * {size};\n"
            f"const i64 output = group / {groups} * {inner} + column;\n"
            f"const i64 width = {inner} - column < {size} ? {inner} - column : {size};\n"
            f"const i64 start = piece * {part};\n"
            f"const i64 all = {n} - start < {part} ? {n} - start : {part};\n"
            f"const Row base = row_of(p, output);\n{lines}{done}\n}}\n}}\n{finish}"
        )

    def _extremes_of_columns(self, k: int, operand: int) -> str:
        """The statement that finds the positions of few columns in memory, where reduction `k` has its operand."""
        last = self.rank - 1
        step = self.number(f"s{operand}_{last}", self.program.operands[operand].strides[last])
        largest = "true" if self.program.reductions[k].op_def.better == ">" else "false"
        begin = f"base.q{operand} + start * {step}"
        return f"nl::find_extremes<{largest}>({begin}, {step}, all, width, start, bv{k}, bi{k});"

    def _cpu_lines_together(self, move: str) -> str:
        """Statements that take several lines of columns at a time, so that accumulators stay in registers meanwhile."""
        kinds = range(len(self.program.reductions))
        call, at = self._call("(nl_index)at"), "start + first + e"
        each = " ".join(f"{{ const i64 e = line + {j}; {self.accumulators.take(call, at)} }}" for j in range(LINES))
        load, store = (
            " ".join(form.format(k=k) for k in kinds) for form in ("auto a{k} = acc{k}[l];", "acc{k}[l] = a{k};")
        )
        return (
            f"i64 e = 0;\nfor (; e + {LINES} <= lines; e += {LINES}) {{\nconst i64 line = e;\nNL_IVDEP\n"
            f"for (i64 l = 0; l < width; ++l) {{ {move} {load} {each} {store} }}\n}}\n"
        )

    def _cpu_run_unrolled(self) -> str:
        """Statements that take a run of a few columns that share what they are computed from, once for all of them.

        The loop over the run's elements makes vectors; then each column takes its elements in turn.
        """
        many, kinds = self.outputs_per_thread, list(enumerate(self.accumulators.types))
        keep = " ".join(f"b{k}[{j}][e] = x[{j}].x{k};" for k, _ in kinds for j in range(many))
        take = " ".join(
            f"const {ctype} x{k} = b{k}[l][e]; {self.accumulators.add(k, f'acc{k}[l]', '0')}" for k, ctype in kinds
        )
        return (
            "".join(f"{ctype} b{k}[{many}][{RUN}];\n" for k, ctype in kinds)
            + f"{self._rows_unrolled('base')}NL_IVDEP\n"
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
        return 1024 if inner > 256 and wide and self.accumulators.plain() and len(self.program.reductions) <= 2 else 256

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
        accumulator = self.accumulators.nbytes()
        if self.program.fast:
            chunks = 1 if self._whole_rows() else self.chunks
            items = self.outputs * chunks
            grain = grain_of(self.program, (min(self.count, self.chunk) if chunks == self.chunks else self.count) + ROW)
            finish = self.outputs if chunks > 1 else 0
            cpu_space = items * accumulator if chunks > 1 else 0
        else:
            items = self._cpu_groups() * self.cpu_parts()
            grain = grain_of(self.program, min(self.count, self._cpu_part()) * min(self._cpu_width(), self.outputs))
            finish = self.outputs if self.cpu_parts() > 1 else 0
            cpu_space = self.outputs * self.cpu_parts() * accumulator if finish else 0
        counters = space = 0
        if self.strategy == "thread":
            threads = 256
            down = self.program.shape[self.kept - 2] if self.together > 1 else 1
            blocks = -(-(self.outputs // down) * -(-down // self.together) // 256)
        elif self.strategy in ("line", "warp"):
            blocks, threads = -(-(self.outputs // self.unrolled) * self.line // 256), 256
        elif self.strategy in ("block", "split"):
            blocks, threads = self.outputs // self.unrolled * self.chunks, LANES * self.groups
            if self.strategy == "split":
                counters = self._counter_bytes()
                space = counters + self.outputs * (self.chunks + self.chunks // 32 + 2) * accumulator
        else:
            blocks, threads = self._tiles(), BLOCK
            if self.strategy == "columns_split":
                counters = self._counter_bytes()
                space = self.column_space(self.outputs_per_thread)
        return Geometry(
            items=items, grain=grain, blocks=blocks, threads=threads, finish_items=finish,
            workspace=max(space, cpu_space), counters=counters, blocks_y=self.chunks if not self.program.fast else 1,
        )  # fmt: skip


__all__ = ["emit_reduction"]
