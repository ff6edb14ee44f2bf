"""Accumulators of reductions: struct A, what it begins with, how two merge, and how elements get into one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

from numloom.base.dtypes import BOOL, CHARS, ITEMSIZES, KINDS, SHORT
from numloom.emit.beside import beside, beside_header
from numloom.emit.block import MEMORY_TYPES
from numloom.emit.values import VALUE_TYPES, header, rounded
from numloom.ops.reduction_tree import CHUNKS, LANES, RUN
from numloom.plan.program import Program, Reduce

BLOCK = 1024
"""Elements that are searched for an extreme together."""
SOME = 8
"""Elements of a partial run that are taken together: each has its guard, and much text takes long to compile."""
DEAR = 4
"""Elements of rows unrolled that are taken together where each is much text."""
FREE_BYTES = 256
"""Bytes of lanes where no order changes the results: four vectors at least, which hide how long an addition takes."""
VECTOR = 64
"""Bytes of elements that such lanes take at least, so that narrow ones are read by whole vectors, too."""
LINES = 4
"""Lines of lanes that are taken together where their text is short."""


Fill = Callable[[str, str, str], str]
"""Statements that go over so many elements from one on, and do something with each (`Elements.over`)."""


class Accumulators:
    """Text of some reductions of a program that take their elements together.

    The element function gives values ``x0, x1, ...`` (`declared`, `values`), one for each reduction.
    """

    def __init__(self, program: Program, reductions: Sequence[Reduce]) -> None:
        self.program = program
        self.reductions = tuple(reductions)
        codes = [program.body[r.value].code for r in self.reductions]
        self.chars = [CHARS[code] for code in codes]
        self.types = [VALUE_TYPES[code] for code in codes]
        self.declared = " ".join(f"{ctype} x{k};" for k, ctype in enumerate(self.types))
        self.values = [f"x{k}" for k in range(len(self.types))]
        self.least = min([ITEMSIZES[instr.code] for instr in program.body if instr.kind == "load"], default=8)
        self.counts = [_counts_truths(program, reduction) for reduction in self.reductions]

    def text(self) -> str:
        """Struct A with a_none and a_merge."""
        fields, none = [], []
        for k, (reduction, char) in enumerate(zip(self.reductions, self.chars, strict=True)):
            fields.append(f"{reduction.op_def.accumulator(char)} a{k};")
            none.append(f"r.a{k} = {reduction.op_def.identity(char)};")
        merge = [self._merge(k) for k in range(len(self.reductions))]
        return (
            f"struct A {{ {' '.join(fields)} }};\n"
            f"NL_DEV A a_none() {{ A r; {' '.join(none)} return r; }}\n"
            f"NL_DEV A a_merge(const A& a, const A& b) {{ A r; {' '.join(merge)} return r; }}\n"
        )

    def merge_by(self) -> str:
        """a_merge_by: merges accumulators that have elements, of which `b` has the share `w`."""
        merge = [
            f"r.a{k} = nl::merge_by(a.a{k}, b.a{k}, a.a{k}.n + b.a{k}.n, w);" if r.op_def.run else self._merge(k)
            for k, r in enumerate(self.reductions)
        ]
        return f"NL_DEV A a_merge_by(const A& a, const A& b, f64 w) {{ A r; {' '.join(merge)} return r; }}\n"

    def _merge(self, k: int) -> str:
        """The statement that merges reduction `k` of accumulators a and b into r."""
        combined = self.reductions[k].op_def.combined(self.chars[k], f"a.a{k}", f"b.a{k}")
        return f"r.a{k} = {self._cast(k)}({combined});" if self._cast(k) else f"r.a{k} = {combined};"

    def _cast(self, k: int) -> str:
        """Plain numbers are cast back to their own type, since small integers add up as int."""
        accumulator = self.reductions[k].op_def.accumulator(self.chars[k])
        return f"({accumulator})" if accumulator in MEMORY_TYPES else ""

    def plain(self) -> bool:
        """Whether all accumulators are plain numbers, which merge in an instruction or two."""
        return all(
            r.op_def.accumulator(char) in MEMORY_TYPES for r, char in zip(self.reductions, self.chars, strict=True)
        )

    def moments(self) -> list[int]:
        """Reductions that are moments of real numbers."""
        return [k for k, r in enumerate(self.reductions) if r.op_def.run and self.chars[k] not in "FD"]

    def merged_in(self, k: int, to: str, other: str) -> str:
        """The statement that merges a plain number of reduction `k` into another."""
        return f"{to} = {self._cast(k)}({self.reductions[k].op_def.combined(self.chars[k], to, other)});"

    def nbytes(self) -> int:
        """Upper bound of sizeof(A)."""
        total = 0
        for reduction, char in zip(self.reductions, self.chars, strict=True):
            total += (
                24 if reduction.op_def.run else 32 if reduction.op_def.accumulator(char) not in MEMORY_TYPES else 16
            )
        return total

    def add(self, k: int, to: str, index: str) -> str:
        """Statements that combine value ``x{k}``, at a position of its row, into `to`."""
        op_def = self.reductions[k].op_def
        mapped = op_def.map.replace("{x}", f"x{k}").replace("{index}", index)
        if op_def.better:
            mapped = self._position(k, f"x{k}", index)
        combined = op_def.combined(self.chars[k], to, f"l{k}")
        return f"const {op_def.accumulator(self.chars[k])} l{k} = {mapped}; {to} = {self._cast(k)}({combined});"

    # ------------------------------------------------------------ one thread, one lane

    def buffers(self) -> str:
        """Declarations of what a run collects for reductions that take it as a whole."""
        return " ".join(f"{self.types[k]} buf{k}[{RUN}];" for k, r in enumerate(self.reductions) if r.op_def.run)

    def collect(self, index: str) -> str:
        """Statements that take element `e` of a run."""
        return " ".join(
            f"buf{k}[e] = x{k};" if r.op_def.run else self.add(k, f"acc.a{k}", f"(i64)({index})")
            for k, r in enumerate(self.reductions)
        )

    def close(self, used: str) -> str:
        """Statements that end a run of `used` elements."""
        return " ".join(
            f"acc.a{k} = {r.op_def.run}(buf{k}, {used});" for k, r in enumerate(self.reductions) if r.op_def.run
        )

    def positions(self) -> bool:
        """Whether all are positions of extremes: no tree changes them, so that a thread goes on with what it has."""
        return all(self._is_position(k) for k in range(len(self.reductions)))

    def sought(self) -> list[int]:
        """Reductions that are positions of extremes."""
        return [k for k in range(len(self.reductions)) if self._is_position(k)]

    def run(self, call: str, index: str, exists: str, fresh: bool = True, in_registers: bool = False) -> str:
        """Statements that add one run into a fresh `acc`, or (positions) into the one there is.

        `call` gives the values of element `e` at `index`. A run that is not `full` has any number of elements.
        `in_registers`: elements were read before, into an array.
        """
        collect = self._later(index) if self.positions() else self.collect(index)
        each = f"{self.declared} {call} {collect}"
        # Arrays stay in registers only where nothing indexes them by a number known late: a whole run keeps its own.
        some = "" if in_registers or self.buffers() else f" {SOME}"
        return (
            f"{'A acc = a_none();' if fresh else ''}\nif (full) {{ {self.whole_run(call, index)}}} "
            f"else {{ {self.buffers()} int used = 0;\n"
            f"#pragma unroll{some}\nfor (int e = 0; e < {RUN}; ++e) if ({exists}) {{ {each} ++used; }}\n"
            f"{self.close('used')}\n}}\n"
        )

    def whole_run(self, call: str, index: str) -> str:
        """Statements that add a whole run into `acc`."""
        collect = self._later(index) if self.positions() else self.collect(index)
        return (
            f"{self.buffers()}\n#pragma unroll\n"
            f"for (int e = 0; e < {RUN}; ++e) {{ {self.declared} {call} {collect} }}\n{self.close(str(RUN))}\n"
        )

    def whole_runs(self, call: Callable[[int], str], many: int) -> str:
        """Statements that make accumulators ``accs`` of `many` whole runs; `call(k)` gives those of element `e` of run
        k.

        Nothing branches between them, so that all are read before the first is computed.
        """
        runs = [f"{{ A& acc = accs[{k}]; {self.whole_run(call(k), 'e')}}}\n" for k in range(many)]
        return self.fresh(many) + "".join(runs)

    def known_run(self, call: str, index: str, length: int, least: int, exists: str, many: int = 1) -> str:
        """Statements that make accumulators ``accs`` of a run of each of `many` rows: of `length` elements at most.

        The first `least` of them exist, others where `exists` says so, or all if that is empty. Nothing branches, so
        that the elements of several runs are read together. Of moments one at most is missing.
        """
        always_valid = least if exists else length
        each, unroll = self._of_rows(call, self.collect(index), many)
        text = f"{self.buffers()}\n{self.fresh(many)}{unroll}\nfor (int e = 0; e < {always_valid}; ++e) {{ {each} }}\n"
        if always_valid < length:
            whole = f"bool whole = false; {self.absent(str(length - 1))}\n" if self.has_runs() else ""
            test = f"if ({exists}) {{ {each} {'whole = true; ' if whole else ''}}}"
            text += f"{whole}{unroll}\nfor (int e = {always_valid}; e < {length}; ++e) {test}\n"
        if not self.has_runs():
            return text
        text += "A& acc = accs[0];\n"
        if always_valid == length and not length & (length - 1):  # Divisions by it are products anyway.
            return text + self.close(str(length))
        return text + self.close_known(str(length), "whole" if always_valid < length else "true")

    def _of_rows(self, call: str, collect: str, many: int) -> tuple[str, str]:
        """Statements that take an element of each of `many` rows into ``accs``, and how often they are repeated.

        `call` gives the values: ``x0, x1, ...`` of one row, ``x[k]`` of several.
        """
        if many == 1:
            return f"A& acc = accs[0]; {self.declared} {call} {collect}", "#pragma unroll"
        values = " ".join(f"const {ctype} x{k} = x[k].x{k};" for k, ctype in enumerate(self.types))
        rows = f"\n#pragma unroll\nfor (int k = 0; k < {many}; ++k) {{ A& acc = accs[k]; {values} {collect} }}"
        return f"X x[{many}]; {call} {rows}", f"#pragma unroll {DEAR}"

    def absent(self, place: str) -> str:
        """Statements that put a number where a run collects an element that may be missing."""
        return " ".join(f"buf{k}[{place}] = {self.types[k]}();" for k, r in enumerate(self.reductions) if r.op_def.run)

    def close_known(self, most: str, whole: str) -> str:
        """Statements that end a run of `most` elements, which compilers know, or of one less if it is not `whole`."""
        return " ".join(
            f"acc.a{k} = nl::moments_part(buf{k}, {most}, {whole});"
            for k, r in enumerate(self.reductions)
            if r.op_def.run
        )

    def has_runs(self) -> bool:
        """Whether some reduction takes a run as a whole: moments."""
        return any(reduction.op_def.run for reduction in self.reductions)

    def places(self, call: str, at: str, count: int, always_valid: int, exists: str, many: int = 1) -> str:
        """Statements that make positions ``accs`` of up to `count` elements of each of `many` rows.

        They are `at` (by e) and rise. The first `always_valid` ones exist, others where `exists` says so.
        """
        text, first = self.fresh(many), 0
        if always_valid:
            begin = " ".join(f"acc.a{k} = {self._position(k, f'x{k}', at)};" for k in range(len(self.reductions)))
            text, first = f"A accs[{many}];\n{{ const int e = 0; {self._of_rows(call, begin, many)[0]} }}\n", 1
        each, unroll = self._of_rows(call, self._later(at, begun=bool(always_valid)), many)
        loops = [(first, always_valid, ""), (max(first, always_valid), count, f"if ({exists}) ")]
        return text + "".join(
            f"{unroll}\nfor (int e = {begin}; e < {end}; ++e) {test}{{ {each} }}\n"
            for begin, end, test in loops
            if begin < end
        )

    def _later(self, index: str, begun: bool = False) -> str:
        """Statements that take element `e` of a run into positions of earlier elements; some there are if `begun`."""
        return " ".join(
            f"if ({self._wins(k, f'acc.a{k}.value', '' if begun else f'acc.a{k}.index')}) "
            f"acc.a{k} = {self._position(k, f'x{k}', index)};"
            for k in range(len(self.reductions))
        )

    def _wins(self, k: int, value: str, index: str) -> str:
        """Whether value ``x{k}`` of a later position takes the place of an extreme: if better, or the first NaN.

        Any does where there is none yet: a negative `index`, if that can be.
        """
        none = f"({index} < 0) | " if index else ""
        worse = {">": "<=", "<": ">="}[self.reductions[k].op_def.better]
        return f"{none}(!({self.as_word(k, f'x{k}')} {worse} {self.as_word(k, value)}) & ({value} == {value}))"

    def as_word(self, k: int, value: str) -> str:
        """A value of reduction `k`, to be compared (`nl::wide`)."""
        return f"nl::wide({value})" if self.chars[k] in SHORT or self.chars[k] == "?" else value

    def fresh(self, count: int) -> str:
        """Statements that make fresh accumulators ``accs`` of `count` rows."""
        return f"A accs[{count}];\n#pragma unroll\nfor (int k = 0; k < {count}; ++k) accs[k] = a_none();\n"

    def unrolled(self, call: str, index: str, exists: str, count: int, dear: bool) -> str:
        """Statements that add a run of each of `count` rows into ``accs``; `call` fills ``x[count]``.

        `dear` elements are much text each.
        """
        collect = self._later(index) if self.positions() else self.collect(index)
        each, few = self._of_rows(call, collect, count)
        whole, part = (few, few) if dear else ("#pragma unroll", f"#pragma unroll {SOME}")
        return (
            f"if (full) {{\n{whole}\nfor (int e = 0; e < {RUN}; ++e) {{\n{each} }}\n}} else {{\n"
            f"{part}\nfor (int e = 0; e < {RUN}; ++e) if ({exists}) {{\n{each} }}\n}}\n"
        )

    def single(self, call: str, at: str, exists: str) -> str:
        """One element into a fresh `acc`, if it exists (`exists` is empty where it does)."""
        uses = [
            f"acc.a{k} = {r.op_def.map.replace('{x}', f'x{k}')};"
            if r.op_def.run
            else self.add(k, f"acc.a{k}", f"(i64){at}")
            for k, r in enumerate(self.reductions)
        ]
        guard = f"if ({exists})" if exists else ""
        return f"A acc = a_none(); {guard} {{ {self.declared} {call} {' '.join(uses)} }}"

    # ------------------------------------------------------------ the host: arrays of lanes

    def line(self, width: str, at: str, call: str, place: str = "") -> str:
        """One line of a run: element `at` (by l) of every lane into arrays of accumulators.

        `place` is what is kept of a position, the position itself where it is empty.
        """
        uses = []
        place = place or f"(i64)({at})"
        for k, reduction in enumerate(self.reductions):
            if reduction.op_def.run:
                uses.append(f"buf{k}[e][l] = x{k};")
            elif self._is_position(k):
                # Positions rise, so only a better value, or the first NaN, takes a lane: plain selects vectorise.
                uses.append(
                    f"const bool b{k} = {self._wins(k, f'bv{k}[l]', f'bi{k}[l]')}; "
                    f"bi{k}[l] = b{k} ? {place} : bi{k}[l]; bv{k}[l] = b{k} ? x{k} : bv{k}[l];"
                )
            elif self.counts[k]:
                uses.append(f"acc{k}[l] = (u8)(acc{k}[l] + (u8)x{k});")
            else:
                uses.append(self.add(k, f"acc{k}[l]", f"(i64)({at})"))
        return f"NL_IVDEP\nfor (i64 l = 0; l < {width}; ++l) {{ {call} {' '.join(uses)} }}"

    def _position(self, k: int, value: str, index: str) -> str:
        """An accumulator of a value and its position (truth values are carried as bytes on the host)."""
        return f"{self.reductions[k].op_def.accumulator(self.chars[k])}{{{value}, (i64)({index})}}"

    def _is_position(self, k: int) -> bool:
        """Whether reduction `k` finds the position of an extreme of real numbers."""
        return bool(self.reductions[k].op_def.better) and self.chars[k] not in "FD"

    def positions_in_turn(self, n: str, call: str) -> str:
        """Statements that take the `n` elements of a short row into ``done[0]``, where no tree changes the results."""
        declare, reset, close = self.arrays(1)
        line = self.line("1", "at", f"{self.declared} {call}")
        return (
            f"A done[1]; {declare}\nconst i64 width = 1;\n{reset}\n"
            f"for (nl_index at = 0; at < {n}; ++at) {{ {line} }}\n{close}\n"
        )

    def position_unrolled(self, place: int, call: str) -> str:
        """Statements that take element `place` of a short row: better ones, or the first NaN, take the place.

        The first element again takes none.
        """
        if not place:
            in_registers = " ".join(f"{ctype} v{k} = x{k}; i32 i{k} = 0;" for k, ctype in enumerate(self.types))
            return f"{self.declared} {call} {in_registers}"
        uses = [
            f"const bool w{k} = ({self.as_word(k, f'x{k}')} {reduction.op_def.better} {self.as_word(k, f'v{k}')}) | "
            f"((x{k} != x{k}) & (v{k} == v{k})); v{k} = w{k} ? x{k} : v{k}; i{k} = w{k} ? {place} : i{k};"
            for k, reduction in enumerate(self.reductions)
        ]
        return f"{{ {self.declared} {call} {' '.join(uses)} }}"

    def found_unrolled(self) -> str:
        """The accumulator ``e0`` of what `position_unrolled` found."""
        found = " ".join(f"e0.a{k} = {self._position(k, f'v{k}', f'(i64)i{k}')};" for k in range(len(self.reductions)))
        return f"A e0; {found}"

    def arrays(self, size: int) -> tuple[str, str, str]:
        """Declarations of a run's arrays, their reset, and the end of a run into `done[l]`."""
        declare, reset, close = [], [], []
        for k, (reduction, char) in enumerate(zip(self.reductions, self.chars, strict=True)):
            op_def, ctype = reduction.op_def, self.types[k]
            if op_def.run:
                declare.append(f"{ctype} buf{k}[{RUN}][{size}];")
                if char not in "FD":
                    declare.append(f"{op_def.accumulator(char)} run{k}[{size}];")
                    close.append(
                        f"{op_def.run}_lines(buf{k}, width, tail, lines, run{k}); "
                        f"for (i64 l = 0; l < width; ++l) done[l].a{k} = run{k}[l];"
                    )
                    continue
                close.append(
                    f"for (i64 l = 0; l < width; ++l) {{ {ctype} t[{RUN}]; "
                    f"for (int e = 0; e < {RUN}; ++e) t[e] = buf{k}[e][l]; "
                    f"const int used = (int)(l < tail ? lines : lines - 1); "
                    f"done[l].a{k} = {op_def.run}(t, used); }}"
                )
            elif self._is_position(k):
                in_registers = "bool8" if ctype == "bool" else ctype
                declare.append(f"{in_registers} bv{k}[{size}]; i64 bi{k}[{size}];")
                reset.append(f"for (i64 l = 0; l < width; ++l) {{ bv{k}[l] = {ctype}(); bi{k}[l] = -1; }}")
                close.append(
                    f"for (i64 l = 0; l < width; ++l) done[l].a{k} = {self._position(k, f'bv{k}[l]', f'bi{k}[l]')};"
                )
            else:
                # The truth values of a run are counted in bytes.
                declare.append(f"{'u8' if self.counts[k] else op_def.accumulator(char)} acc{k}[{size}];")
                reset.append(f"for (i64 l = 0; l < width; ++l) acc{k}[l] = {op_def.identity(char)};")
                close.append(f"for (i64 l = 0; l < width; ++l) done[l].a{k} = acc{k}[l];")
        return " ".join(declare), " ".join(reset), " ".join(close)

    def host_text(self) -> str:
        """What `chunk` needs before it."""
        return "".join(self.host_parts())

    def host_parts(self) -> list[str]:
        """The parts of that, which a text has once each."""
        if self._is_mixed():
            plain, name = self._plain_part()
            return [beside_header(), header("moments_lanes"), f"namespace {name} {{\n{plain.text()}}}\n"]
        if self._are_extremes():
            return [beside_header(), header("positions")]
        return [beside_header(), header("moments_lanes")] if self._is_moments() else [beside_header()]

    def _are_extremes(self) -> bool:
        """Whether all are positions of extremes, of complex numbers as well."""
        return all(reduction.op_def.better for reduction in self.reductions)

    def _is_moments(self) -> bool:
        """Whether all there is are the moments of real numbers."""
        return len(self.reductions) == 1 and bool(self.reductions[0].op_def.run) and self.chars[0] not in "FD"

    def _is_mixed(self) -> bool:
        """Whether there are moments of real numbers and plain numbers: each takes its own way through a chunk."""
        runs = [bool(r.op_def.run) for r in self.reductions]
        real = all(char not in "FD" for char, run in zip(self.chars, runs, strict=True) if run)
        plain = all(
            run or r.op_def.accumulator(char) in MEMORY_TYPES
            for r, char, run in zip(self.reductions, self.chars, runs, strict=True)
        )
        return any(runs) and not all(runs) and real and plain

    def _plain_part(self) -> tuple[Accumulators, str]:
        """The reductions that are no moments, and the namespace of their accumulators."""
        plain = Accumulators(self.program, [r for r in self.reductions if not r.op_def.run])
        return plain, f"plain_{crc32(plain.text().encode()):08x}"

    def _mixed_chunk(self, call: str, most: int, fill: Fill | None) -> tuple[str, str]:
        """`chunk` of moments and plain numbers, which computes the elements once for each."""
        plain, name = self._plain_part()
        text = ""
        for k, reduction in enumerate(self.reductions):
            if reduction.op_def.run:
                text += f"lane[0].a{k} = {self._moments(k, call, most, fill)};\n"
        others = [k for k, reduction in enumerate(self.reductions) if not reduction.op_def.run]
        taken = " ".join(f"x{n} = part.x{k};" for n, k in enumerate(others))
        values = ", ".join(f"part.{value}" for value in self.values)
        inside = re.sub(rf"{re.escape(', '.join(self.values))}\b", values, call)
        declare, chunk = plain.chunk(
            f"struct {{ {self.declared} }} part; {inside} {taken}", small=False, most=most, fill=fill
        )
        give = " ".join(f"whole.a{k} = lane[0].a{n};" for n, k in enumerate(others))
        return (
            "A lane[1];\n",
            f"{text}{{ A& whole = lane[0];\nusing {name}::A; using {name}::a_none; using {name}::a_merge;\n"
            f"{beside(declare)}{{\n{chunk}}}\n{give} }}\n",
        )

    def _moments(self, k: int, call: str, most: int, fill: Fill | None) -> str:
        """The moments of value ``x{k}`` of a chunk."""
        element = f"[&](i64 at) __attribute__((always_inline)) {{ {self.declared} {call} return x{k}; }}"
        if fill is not None:
            to = f"{self.types[k]}* __restrict__ to"
            each = f"{self.declared} {call} to[s] = x{k};"
            element = f"[&]({to}, i64 start, i64 some_of) {{\n{fill('start', 'some_of', each)}}}"
        return f"nl::moments_chunk<{most or LANES}, {self.types[k]}>({element}, begin, count)"

    def chunk(
        self,
        call: str,
        direct: Mapping[int, str] | None = None,
        goes_on: str = "false",
        small: bool = False,
        most: int = 0,
        again: bool = False,
        fill: Fill | None = None,
    ) -> tuple[str, str]:
        """Declarations, and statements that reduce the `count` elements from `begin` into ``lane[0]``.

        `call` gives the values of the element `at`; `direct` says which reductions' values lie in memory, where element
        0 is. Where `goes_on` holds, ``lane[0]`` is the result of the elements before these.
        `small` says that `call` is little text, and that all accumulators are plain numbers; `most` is the number of
        lanes where it is known, and `again` says that an element may be computed twice. `fill(begin, count, each)` goes
        over elements from `begin` where they are not found one by one: they are computed into arrays first.
        """
        if self._are_extremes():
            return self._chunk_of_positions(call, direct or {}, goes_on, fill)
        if self._is_moments():
            return "A lane[1];\n", f"lane[0].a0 = {self._moments(0, call, most, fill)};\n"
        if self._is_mixed():
            return self._mixed_chunk(call, most, fill)
        if self.free():
            return self._chunk_in_any_order(call, again, fill)
        declare, reset, close = self.arrays(LANES)
        filled = ""
        if fill is not None:
            more, filled, call = self.filled(
                call, fill, LANES * RUN, "begin + first * width", "run_of", "e * width + l"
            )
            declare, small = f"{declare} {more}", self.plain()
            filled = (
                f"const i64 run_of = count - first * width < {RUN} * width ? count - first * width : {RUN} * width;\n"
                f"{filled}"
            )
        levels = (CHUNKS[-1] // (LANES * RUN)).bit_length() + 1
        at = "begin + (first + e) * width + l"
        line = self.line("line", at, f"const i64 at = {at}; {self.declared} {call}")
        together, halves = (
            "",
            "for (i64 half = width / 2; half > 0; half /= 2) for (i64 l = 0; l < half; ++l) {merge}\n",
        )
        merge = "lane[l] = a_merge(lane[l], lane[l + half]);"
        if small:
            each = " ".join(f"{{ const i64 e = line + {j}; {self.take(call, at)} }}" for j in range(LINES))
            load = " ".join(f"auto a{k} = acc{k}[l];" for k in range(len(self.types)))
            store = " ".join(f"acc{k}[l] = a{k};" for k in range(len(self.types)))
            # Several whole lines at a time, which stay in registers; the number of lanes is known.
            together = (
                f"if (width == {LANES}) for (; e + {LINES} <= lines - (tail < width); e += {LINES}) {{\n"
                f"const i64 line = e;\nNL_IVDEP\n"
                f"for (i64 l = 0; l < {LANES}; ++l) {{ {load} {each} {store} }}\n}}\n"
            )
            known = "".join(
                f"for (i64 l = 0; l < {half}; ++l) {merge.replace('half', str(half))}\n"
                for half in (LANES >> k for k in range(1, LANES.bit_length()))
            )
            halves = f"if (width == {LANES}) {{\n{known}}} else {halves}"
        return (
            f"{declare}\nA done[{LANES}], lane[{LANES}];\nA level[{levels}][{LANES}];\n",
            f"{'const ' * (most == LANES)}i64 width = {LANES};\n"
            + ("" if most == LANES else "while (width > 1 && width / 2 >= count) width /= 2;\n")
            + "const i64 all = (count + width - 1) / width;\nu32 runs = 0;\nbool any = false;\n"
            f"for (i64 first = 0; first < all; first += {RUN}) {{\n"
            f"const i64 lines = all - first < {RUN} ? all - first : {RUN};\n"
            f"const i64 tail = first + lines < all ? width : count - (all - 1) * width;\n{filled}"
            f"{reset}\ni64 e = 0;\n{together}"
            f"for (; e < lines; ++e) {{\nconst i64 line = e + 1 < lines ? width : tail;\n{line}\n}}\n"
            + self.levels(close, f"{RUN}", "lane")
            + halves.replace("{merge}", merge),
        )

    def levels(self, close: str, step: str, total: str) -> str:
        """Statements that end a run of all lanes, the loop over runs, and the binary counter of its results.

        A run that is all there is is the `total`. Plain numbers go from their arrays into the level where they stay.
        """
        run, each = "done[l]", "for (i64 l = 0; l < width; ++l) "
        if self.plain():
            close, run = "", f"A{{{', '.join(f'acc{k}[l]' for k in range(len(self.types)))}}}"
        return (
            f"{close}\nif (all <= {step}) {{ {each}{total}[l] = {run}; any = true; break; }}\n"
            "int k = 0;\nwhile ((runs >> k) & 1u) ++k;\n"
            f"if (k == 0) {{ {each}level[0][l] = {run}; }}\n"
            f"else if (k == 1) {{ {each}level[1][l] = a_merge(level[0][l], {run}); }}\n"
            f"else {{\n{each}done[l] = a_merge(level[0][l], {run});\n"
            f"for (int j = 1; j + 1 < k; ++j) {each}done[l] = a_merge(level[j][l], done[l]);\n"
            f"{each}level[k][l] = a_merge(level[k - 1][l], done[l]);\n}}\n++runs;\n}}\n"
            "for (int k = 0; runs >> k; ++k) if ((runs >> k) & 1u) {\n"
            f"{each}{total}[l] = any ? a_merge(level[k][l], {total}[l]) : level[k][l];\n"
            f"any = true;\n}}\nif (!any) {each}{total}[l] = a_none();\n"
        )

    def free(self) -> bool:
        """Whether no order changes the results: whole numbers and truth values, which are not counted in bytes."""
        return self.unordered() and not any(self.counts)

    def unordered(self) -> bool:
        """Whether no order of elements changes the results of a device that counts truth values as whole numbers."""
        return self.plain() and all(char not in "efdFD" for char in self.chars)

    def idempotent(self) -> bool:
        """Whether elements may be taken in any order, and twice."""
        return self.free() and all(reduction.op_def.idempotent for reduction in self.reductions)

    def merged(self, width: int, lane: str = "lane[l]") -> str:
        """Statements that merge `width` lanes into ``lane[0]``: by halving, or all in a loop where no order counts."""
        if self.free():
            each = f"total = a_merge(total, {lane});"
            return f"A total = a_none();\nNL_ROLLED\nfor (int l = 0; l < {width}; ++l) {each}\nlane[0] = total;\n"
        return "".join(
            f"for (int l = 0; l < {width >> k}; ++l) lane[l] = a_merge(lane[l], lane[l + {width >> k}]);\n"
            for k in range(1, width.bit_length())
        )

    def take(self, call: str, at: str) -> str:
        """Statements that take one element of a lane into accumulators ``a0, a1, ...`` of plain numbers."""
        uses = [
            f"a{k} = (u8)(a{k} + (u8)x{k});" if self.counts[k] else f"{{ {self.add(k, f'a{k}', '(i64)at')} }}"
            for k in range(len(self.reductions))
        ]
        return f"const i64 at = {at}; {self.declared} {call} {' '.join(uses)}"

    def filled(self, call: str, fill: Fill, size: int, begin: str, count: str, place: str) -> tuple[str, str, str]:
        """Arrays of `size` values, statements that fill them, and the values at `place` in them, instead of `call`."""
        kinds = [(k, "bool8" if ctype == "bool" else ctype) for k, ctype in enumerate(self.types)]
        declare = " ".join(f"{ctype} x{k}f[{size}];" for k, ctype in kinds)
        each = f"{self.declared} {call} {' '.join(f'x{k}f[s] = x{k};' for k, _ in kinds)}"
        return declare, fill(begin, count, each), " ".join(f"x{k} = x{k}f[{place}];" for k, _ in kinds)

    def _chunk_in_any_order(self, call: str, again: bool, fill: Fill | None) -> tuple[str, str]:
        """`chunk` where no order changes the results: a few vectors of lanes, which stay in registers."""
        lanes = max(FREE_BYTES // max(ITEMSIZES[CHARS.index(char)] for char in self.chars), VECTOR // self.least)
        declare, reset, _ = self.arrays(lanes)
        at, filled = "begin + e + l", ""
        if fill is not None:
            more, filled, call = self.filled(call, fill, BLOCK, "begin + start", "count", "e + l")
            declare = f"{declare} {more}"
        whole, half, rest = (
            self.line(width, at, f"const i64 at = {at}; {self.declared} {call}")
            for width in (str(lanes), str(lanes // 2), "count - e")
        )
        if again and self.idempotent():  # The last ones once more, instead of a loop of any length.
            rest = (
                f"if (count >= {lanes}) {{ if (e < count) {{ e = count - {lanes};\n{whole}\n}} }}\n"
                f"else if (count >= {lanes // 2}) {{ {half}\ne = count - {lanes // 2};\n{half}\n}} else {{\n{rest}\n}}"
            )
        accumulator = f"A{{{', '.join(f'acc{k}[l]' for k in range(len(self.types)))}}}"
        loops = f"i64 e = 0;\nfor (; e + {lanes} <= count; e += {lanes}) {{\n{whole}\n}}\n{rest}\n"
        if fill is not None:
            loops = (
                f"const i64 whole_count = count;\nfor (i64 start = 0; start < whole_count; start += {BLOCK}) {{\n"
                f"const i64 count = whole_count - start < {BLOCK} ? whole_count - start : {BLOCK};\n{filled}{loops}}}\n"
            )
        return (
            f"{declare}\nA lane[1];\n",
            f"const i64 width = {lanes};\n{reset}\n{loops}{self.merged(lanes, accumulator)}",
        )

    def _chunk_of_positions(
        self, call: str, direct: Mapping[int, str], goes_on: str, fill: Fill | None
    ) -> tuple[str, str]:
        """`chunk` for positions alone: no tree changes them, so blocks are searched for something better."""
        types = ["bool8" if ctype == "bool" else ctype for ctype in self.types]
        declare = [f"{ctype} x{k}s[{BLOCK}];" for k, ctype in enumerate(types) if k not in direct]
        blocks = [f"const {types[k]}* const x{k}s = {pointer} + begin + start;" for k, pointer in direct.items()]
        start, find, results = [], [], []
        if len(direct) < len(types):
            store = " ".join(f"x{k}s[l] = x{k};" for k in range(len(types)) if k not in direct)
            if fill is not None:
                store = " ".join(f"x{k}s[s] = x{k};" for k in range(len(types)))
                blocks.append(fill("begin + start", "block", f"{self.declared} {call} {store}"))
            else:
                blocks.append(
                    f"NL_IVDEP\nfor (i64 l = 0; l < block; ++l) {{ const i64 at = begin + start + l; "
                    f"{self.declared} {call} {store} }}"
                )
        for k, (reduction, ctype) in enumerate(zip(self.reductions, types, strict=True)):
            largest = "true" if reduction.op_def.better == ">" else "false"
            start.append(
                f"const bool on{k} = {goes_on}; i64 at{k} = on{k} ? lane[0].a{k}.index : -1; "
                f"{ctype} best{k} = on{k} ? lane[0].a{k}.value : {ctype}();"
            )
            find.append(
                f"{{ const i64 found = nl::find_extreme<{largest}>(x{k}s, block, best{k}, at{k} >= 0); "
                f"at{k} = found < 0 ? at{k} : begin + start + found; }}"
            )
            results.append(f"lane[0].a{k} = {self._position(k, f'best{k}', f'at{k}')};")
        lines = [*blocks, *find]
        return (
            f"{' '.join(declare)}\nA lane[1];\n",
            "\n".join(start)
            + f"\nfor (i64 start = 0; start < count; start += {BLOCK}) {{\n"
            + f"const i64 block = count - start < {BLOCK} ? count - start : {BLOCK};\n"
            + "\n".join(lines)
            + "\n}\n"
            + "\n".join(results)
            + "\n",
        )

    def finished(self, k: int, count: int, number: str, ctype: str) -> str:
        """The result of reduction `k` from accumulator ``a`` over `count` elements (as text: `number`)."""
        reduction = self.reductions[k]
        text = reduction.op_def.finalize.replace("{a}", f"a.a{k}").replace("{n}", number).replace("{T}", ctype)
        if reduction.op_def.name == "sum" and not count:
            text = f"{ctype}()"
        return rounded(text, reduction.code)


def _counts_truths(program: Program, reduction: Reduce) -> bool:
    """Whether a reduction adds truth values as whole numbers, which no order changes."""
    value = program.body[reduction.value]
    if reduction.op_def.name != "sum" or value.kind != "cast" or KINDS[value.code] not in "iu":
        return False
    return program.body[value.args[0]].code == BOOL
