"""Outer-product reductions: of a table of all pairs of two operands' rows, tile by tile.

``((x[:, None] - y) ** 2).sum(-1)`` reads each row of `x` once for every row of `y`, and the other way round. A block
takes some rows of either kind into shared memory and gives the results of all their pairs; a thread has a few of these,
which share what it reads.

Rows lie there in the order in which the tree of docs/design/reductions.md takes their lanes from its ends: lane 0, 64,
32, 96, 16 and so on (the bits of their numbers reversed). So a thread goes through them in order, several by one read,
and merges as a binary counter carries. The text knows how long rows are.

Tables whose fast axis is kept, as ``(x[:, :, None] * y).sum(1)``, have one lane: a piece of all rows is in shared
memory at a time, and runs follow each other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from math import prod
from operator import index
from typing import NamedTuple

from numloom.base.dtypes import ITEMSIZES
from numloom.emit.accumulators import Accumulators
from numloom.emit.block import MEMORY_TYPES
from numloom.emit.reducing import REUSED
from numloom.emit.reducing_host import HostReductionText
from numloom.emit.values import VALUE_TYPES, gather_instrs, header, iota_instrs, loaded, read_operands
from numloom.ops.reduction_tree import LANES, RUN
from numloom.plan.program import Geometry, KernelSource, Program
from numloom.plan.sizes import of_sizes

SHARED = (64 << 10, 208 << 10)
"""Bytes of rows that a block keeps: what every GPU has, and those with clusters of blocks."""
GROUP = 32
"""Elements of a row whose work stands in the text."""
LEAST = 64
"""Fewest tiles that are worth it: elsewhere more threads share less work."""


class PairTile(NamedTuple):
    """Rows of either kind that a block takes, and a thread."""

    down: int
    across: int
    each_down: int
    each_across: int

    @property
    def high(self) -> int:
        """Threads of a block, one below the other."""
        return self.down // self.each_down

    @property
    def wide(self) -> int:
        """Threads of a block side by side."""
        return self.across // self.each_across

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.high * self.wide


WIDE = PairTile(64, 64, 4, 4)
"""What a block of whole rows takes where a processor holds two such blocks."""
TILES = (PairTile(64, 32, 4, 2), PairTile(32, 16, 2, 1))
LONGEST = 8 * LANES
"""Longest rows: lines of them are read together."""
LEVELS = (4, 7, 11)
"""Levels of a counter of runs: the fewest that a row needs are in the text."""


class PairRows(NamedTuple):
    """Operands of a table: `down` and `across` have rows that vary along the one or the other of the last dimensions.

    Those of `once` have one number for a whole row.
    """

    down: list[int]
    across: list[int]
    once: list[int]


def pair_tile_of(program: Program) -> PairTile | None:
    """The tile by which a program's results are taken, if it is such a table and large enough."""
    rows = _rows_of(program)
    if rows is None:
        return None
    kept = program.kept
    down, across = program.shape[kept - 2 : kept]
    of_down, of_across = (sum(_pitch(program, k) for k in some) for some in (rows.down, rows.across))
    limit = SHARED[program.cluster > 1]
    for tile in (WIDE, *TILES) if program.fast else TILES:
        tiles = prod(program.shape[: kept - 2]) * -(-down // tile.down) * -(-across // tile.across)
        fits = tile.down * of_down + tile.across * of_across <= (limit // 2 if tile is WIDE else limit)
        if fits and tiles >= LEAST and 2 * down * across >= padded(down, tile.down) * padded(across, tile.across):
            return tile
    return None


def _rows_of(program: Program) -> PairRows | None:
    """The operands of an outer-product reduction, if a program is one: rows longer than a thread takes alone."""
    kept, operands = program.kept, program.operands
    if kept < 2 or len(program.shape) - kept != 1 or program.stores:
        return None
    least, most = (REUSED, LONGEST) if program.fast else (RUN, RUN << LEVELS[-1] - 1)
    if not least < program.shape[kept] <= most or iota_instrs(program.body) or gather_instrs(program.body):
        return None
    rows = PairRows([], [], [])
    for k in read_operands(program.body):
        operand = operands[k]
        down, across, along = operand.strides[kept - 2 :]
        if operand.written or operand.in_place or ITEMSIZES[operand.code] > 8 or (down and across and along):
            return None
        (rows.once if not along else rows.down if down else rows.across).append(k)
    both = rows.down and any(operands[k].strides[kept - 1] for k in rows.across)
    return rows if both and Accumulators(program, program.reductions).plain() else None


def _pitch(program: Program, k: int) -> int:
    """Bytes from a row of an operand to the next: an odd number of 16 bytes, so that rows lie in different banks."""
    lines = -(-program.shape[-1] // LANES) if program.fast else 1
    return lines * LANES * ITEMSIZES[program.operands[k].code] + 16


def emit_outer_product(program: Program, entry: str, tile: PairTile) -> KernelSource:
    """Emit an outer-product reduction by tiles; the entry's name is a placeholder that the caller fills in."""
    kernel = _Lanes(program, tile) if program.fast else _Runs(program, tile)
    shared, cuda, cpu = kernel.shared_text(), kernel.cuda(entry), kernel.cpu(entry)
    return kernel.source(entry, shared, cuda, cpu, kernel.geometry())


class _Tiles(HostReductionText, ABC):
    """What tables of either kind have in common."""

    def __init__(self, program: Program, tile: PairTile) -> None:
        super().__init__(program)
        rows = _rows_of(program)
        assert rows is not None
        self.tile, self.rows = tile, rows

    def _tiles_of(self) -> tuple[int, int]:
        """Tiles along either of the last kept dimensions."""
        down, across = self.program.shape[self.kept - 2 : self.kept]
        return -(-down // self.tile.down), -(-across // self.tile.across)

    def geometry(self) -> Geometry:
        down, across = self._tiles_of()
        outer = prod(self.program.shape[: self.kept - 2])
        return replace(
            super().geometry(),
            blocks=outer * down * across,
            threads=self.tile.threads,
            shared=self._bytes(),
        )

    def _staged(self) -> list[int]:
        return [*self.rows.down, *self.rows.across]

    def _rows(self, k: int) -> int:
        """Rows of an operand that a block takes."""
        return self.tile.down if self._is_down(k) else self.tile.across

    def _bytes(self) -> int:
        """Shared memory of a block."""
        return sum(self._rows(k) * int(_pitch(self.program, k)) for k in self._staged())

    # ------------------------------------------------------------ CUDA

    def cuda(self, entry: str) -> str:
        """The kernel for the GPU."""
        tile, shape = self.tile, self.program.shape[self.kept - 2 : self.kept]
        down, across = (self.number(name, extent) for name, extent in zip(("down", "across"), shape, strict=True))
        tiles_down, tiles_across = (self.number(f"tiles{d}", n) for d, n in enumerate(self._tiles_of()))
        blocks = max(1, min(SHARED[1] // self._bytes(), 2))
        return (
            f"{header('tiles')}{self._pair()}"
            f'extern "C" __global__ void __launch_bounds__({tile.threads}, {blocks}) {entry}'
            "(const __grid_constant__ P p) {\n"
            "extern __shared__ __align__(16) char exchanged[];\n"
            f"const int tx = threadIdx.x % {tile.wide}, ty = threadIdx.x / {tile.wide};\n"
            f"const int tile = blockIdx.x, line = tile / (int){tiles_across}, outer = line / (int){tiles_down};\n"
            f"const i64 top = (line - outer * (int){tiles_down}) * {tile.down}, "
            f"left = (tile - line * (int){tiles_across}) * {tile.across};\n"
            # Pairs beyond the end are computed from the last rows, and not written.
            f"const i64 bottom = {down} - 1 - top, right = {across} - 1 - left;\n"
            f"const i64 corner = (outer * {down} + top) * {across} + left;\nconst Row row = row_of(p, corner);\n"
            f"{self._once()}A own[{tile.each_down}][{tile.each_across}];\n{self._merged()}"
            f"{self._each} {{\n{self._place}if (i <= bottom && j <= right) "
            f"post(p, corner + i * {across} + j, own[a][b]);\n}}\n}}\n"
        )

    def _pair(self) -> str:
        """pair(p, what is read, values...): the reduced values of an element of a pair of rows."""
        operands = self.program.operands
        args = "".join(f", {VALUE_TYPES[operands[k].code]} i{k}" for k in self.reads)
        outs = "".join(f", {ctype}& o{k}" for k, ctype in enumerate(self.accumulators.types))
        lines = ["const nl_index r = 0;", *self.element_lines(reads={k: f"i{k}" for k in self.reads})]
        lines += [f"o{k} = v{reduction.value};" for k, reduction in enumerate(self.program.reductions)]
        return f"NL_DEV void pair(const P& p{args}{outs}) {{\n  " + "\n  ".join(lines) + "\n}\n"

    def _once(self) -> str:
        """Statements that read operands of which a pair has one number."""
        text = ""
        for k in self.rows.once:
            operand = self.program.operands[k]
            down, across = (self._step(k, self.kept - before) for before in (2, 1))
            at = f"(i < bottom ? i : bottom) * {down} + (j < right ? j : right) * {across}"
            text += (
                f"{VALUE_TYPES[operand.code]} once{k}[{self.tile.each_down}][{self.tile.each_across}];\n{self._each} "
                f"{{\n{self._place}once{k}[a][b] = {loaded(f'row.q{k}[{at}]', operand.code)};\n}}\n"
            )
        return text

    @abstractmethod
    def _merged(self) -> str:
        """Statements that make the accumulators ``own`` of a thread's pairs."""

    def _shared(self, k: int) -> tuple[str, str]:
        """C++ type of an operand, and where its rows are in shared memory."""
        ctype = MEMORY_TYPES[self.program.operands[k].code]
        return ctype, f"({ctype}*)(exchanged + {self._begin(k)})"

    def _reading(self, k: int, where: str, at: str) -> tuple[str, str]:
        """Where a thread's rows of an operand are, and statements that read what is `at` a place of each."""
        ctype, begin = self._shared(k)
        many, thread = (self.tile.each_down, "ty") if self._is_down(k) else (self.tile.each_across, "tx")
        rows = f"const {ctype}* const g{k} = {begin} + {thread} * {self._pitch(k)};\n"
        apart = self._rows(k) // many * self._pitch(k)
        return rows, (
            f"#pragma unroll\nfor (int c = 0; c < {many}; ++c) nl::load(w{k}{where}[c], g{k} + c * {apart} + {at});\n"
        )

    def _taken(self, reads: dict[int, str]) -> str:
        """Statements that take an element of each of a thread's pairs; `reads` are the elements, by operand."""
        values = {k: f"once{k}[a][b]" for k in self.rows.once}
        for k, read in reads.items():
            values[k] = loaded(read.replace("{row}", "a" if self._is_down(k) else "b"), self.program.operands[k].code)
        call = ", ".join(["p", *(values[k] for k in self.reads), *self.accumulators.values])
        return (
            f"{self._each} {{\n"
            f"A& acc = own[a][b]; {self.accumulators.declared} pair({call}); {self.accumulators.collect('0')} }}\n"
        )

    def _carried(self, number: str, level: str, levels: int) -> str:
        """Statements by which a binary counter of finished subtrees takes the next one: ``own`` of so many levels."""
        merge = f"own[a][b] = a_merge({level}[d][a][b], own[a][b]);"
        return (
            f"#pragma unroll\nfor (int d = 0; d < {levels}; ++d) {{\n"
            f"if (({number} + 1) % (2 << d) == 0) {{ {self._each} {merge} }}\n"
            f"else if (({number} + 1) % (1 << d) == 0) {{ {self._each} {level}[d][a][b] = own[a][b]; }}\n}}\n"
        )

    @property
    def _each(self) -> str:
        """Loops over a thread's pairs."""
        return (
            f"\n#pragma unroll\nfor (int a = 0; a < {self.tile.each_down}; ++a)"
            f"\n#pragma unroll\nfor (int b = 0; b < {self.tile.each_across}; ++b)"
        )

    @property
    def _place(self) -> str:
        """Statements that give the place of a thread's pair in the tile."""
        return f"const i64 i = ty + a * {self.tile.high}, j = tx + b * {self.tile.wide};\n"

    def _is_down(self, k: int) -> bool:
        return k in self.rows.down

    def _each_of(self, k: int) -> int:
        """Rows of an operand that a thread takes."""
        return self.tile.each_down if self._is_down(k) else self.tile.each_across

    def _begin(self, k: int) -> int:
        """Where an operand's rows begin in shared memory."""
        staged = self._staged()
        return sum(self._rows(j) * int(_pitch(self.program, j)) for j in staged[: staged.index(k)])

    def _pitch(self, k: int) -> int:
        """Elements from a row to the next."""
        return int(_pitch(self.program, k)) // ITEMSIZES[self.program.operands[k].code]

    def _step(self, k: int, d: int) -> str:
        """Elements of memory from one index of an operand to the next along a dimension."""
        stride = self.program.operands[k].strides[d]
        return str(index(stride)) if stride in (0, 1) else self.number(f"s{k}_{d}", stride)


class _Lanes(_Tiles):
    """Rows along the fast axis: whole ones in shared memory, by lanes."""

    def __init__(self, program: Program, tile: PairTile) -> None:
        super().__init__(program, tile)
        self.length = index(self.count)
        self.lines = -(-self.length // LANES)
        # Lanes whose work is in the text, a power of two; others follow in a loop.
        self.unrolled = 1 << (GROUP // self.lines).bit_length() - 1

    def _stage(self, k: int) -> str:
        """Statements that read a block's rows of an operand into shared memory."""
        last = "bottom" if self._is_down(k) else "right"
        step, along = (self._step(k, d) for d in (self.kept - 1 - self._is_down(k), self.kept))
        numbers = f"{self._rows(k)}, {self.length}, {self._pitch(k)}, {self.tile.threads}"
        return f"nl::stage_rows<{numbers}>({self._shared(k)[1]}, row.q{k}, {step}, {along}, {last});\n"

    def _merged(self) -> str:
        lanes, groups, lines = self.unrolled, LANES // self.unrolled, self.lines
        within, beyond = lanes.bit_length() - 1, groups.bit_length() - 1
        size = f"[{self.tile.each_down}][{self.tile.each_across}]"
        rows, reads, values = "", "", {}
        for k in self._staged():
            ctype = MEMORY_TYPES[self.program.operands[k].code]
            width = min(lanes, 16 // ITEMSIZES[self.program.operands[k].code])
            begin, read = self._reading(k, "[e]", f"e * {LANES} + place")
            rows += f"{begin}nl::pack<{width}, {ctype}> w{k}[{lines}][{self._each_of(k)}];\n"
            reads += (
                f"if (m % {width} == 0) {{\nconst int place = nl::swizzled<{ctype}>(t * {lanes} + m);\n"
                f"#pragma unroll\nfor (int e = 0; e < {lines}; ++e) {{\n{read}}} }}\n"
            )
            values[k] = f"w{k}[e][{{row}}].x[m % {width}]"
        return (
            f"{''.join(map(self._stage, self._staged()))}__syncthreads();\n"
            f"A low[{max(within, 1)}]{size}, high[{max(beyond, 1)}]{size};\n{rows}"
            f"#pragma unroll 1\nfor (int t = 0; t < {groups}; ++t) {{\nconst int lane = nl::reversed<{groups}>(t);\n"
            f"#pragma unroll\nfor (int m = 0; m < {lanes}; ++m) {{\n{reads}{self._each} own[a][b] = a_none();\n"
            f"#pragma unroll\nfor (int e = 0; e < {lines}; ++e) {{\n"
            f"const int at = nl::reversed<{lanes}>(m) * {groups} + e * {LANES};\n"
            f"if (at + {groups} <= {self.length} || at + lane < {self.length}) {{\n{self._taken(values)}}} }}\n"
            f"{self._carried('m', 'low', within)}}}\n{self._carried('t', 'high', beyond)}}}\n"
        )


class _Runs(_Tiles):
    """Rows that the fast axis does not lie along: a piece of them in shared memory at a time, by runs."""

    def _stage(self, k: int) -> str:
        """Statements that read the piece from `base` of a block's rows of an operand into shared memory."""
        last = "bottom" if self._is_down(k) else "right"
        step, along = (self._step(k, d) for d in (self.kept - 1 - self._is_down(k), self.kept))
        # Neighbours in memory are read by neighbouring threads.
        numbers = f"{self._rows(k)}, {self._pitch(k)}, {self.tile.threads}, {str(along != '1').lower()}"
        args = f"{self._shared(k)[1]}, row.q{k} + base * {along}, {step}, {along}, {last}, rest"
        return f"nl::stage_piece<{numbers}>({args});\n"

    def _merged(self) -> str:
        count = self.number("count", self.count)
        levels = next(most for most in LEVELS if self.count <= RUN << most - 1)
        size = f"[{self.tile.each_down}][{self.tile.each_across}]"
        rows, reads, values = "", "", {}
        for k in self._staged():
            code = self.program.operands[k].code
            width = 16 // ITEMSIZES[code]
            begin, read = self._reading(k, "", "from + e")
            rows += f"{begin}nl::pack<{width}, {MEMORY_TYPES[code]}> w{k}[{self._each_of(k)}];\n"
            reads += f"if (e % {width} == 0) {{\n{read}}}\n"
            values[k] = f"w{k}[{{row}}].x[e % {width}]"
        run = f"#pragma unroll\nfor (int e = 0; e < {RUN}; ++e) {{\n{reads}"
        return (
            f"A high[{levels}]{size};\n{rows}int t = 0;\n"
            f"for (i64 base = 0; base < {count}; base += {LANES}) {{\n"
            f"const int rest = {count} - base < {LANES} ? (int)({count} - base) : {LANES};\n"
            f"__syncthreads();\n{''.join(map(self._stage, self._staged()))}__syncthreads();\n"
            f"#pragma unroll 1\nfor (int from = 0; from < rest; from += {RUN}, ++t) {{\n"
            f"{self._each} own[a][b] = a_none();\n"
            f"if (from + {RUN} <= rest) {{\n{run}{self._taken(values)}}} }} else {{\n"
            f"{run}if (from + e < rest) {{\n{self._taken(values)}}} }} }}\n{self._carried('t', 'high', levels)}}} }}\n"
            f"bool any = false;\n#pragma unroll\nfor (int d = 0; d < {levels}; ++d) if (t >> d & 1) {{\n"
            f"{self._each} own[a][b] = any ? a_merge(high[d][a][b], own[a][b]) : high[d][a][b];\nany = true;\n}}\n"
        )


@of_sizes
def padded(extent: int, tile: int) -> int:
    """Elements that whole tiles have."""
    return -(-extent // tile) * tile
