"""Short rows by way of shared memory: a block reads and writes its rows as one piece, its threads work on rows.

Rows of up to 128 elements that lie one behind the other fill whole lines of memory together, but a thread that has one
of them alone would touch a line for each element. So a block copies all that it has into shared memory, 16 bytes a
thread at a time, and what it computed back from there. A thread then has a whole row, or a few have one, and what there
is one of for a row is computed once. The text knows how long rows are.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import index

from numloom.base.dtypes import ITEMSIZES
from numloom.emit.block import MEMORY_TYPES
from numloom.emit.sharing import HELD_WORDS, THREADS, Shape
from numloom.emit.values import read_operands
from numloom.ops.reduction_tree import LANES
from numloom.plan.program import Program

EACH = 32
"""Most elements of a row that a thread has."""
BYTES = 40 << 10
"""Shared memory that a block has at most."""
MOST_THREADS = 8
"""Most threads that share a row."""
MANY = 1 << 15
"""Fewest rows: where there are less, more threads work on each."""


@dataclass(frozen=True, slots=True)
class RowStaging:
    """How blocks stage rows of `count` elements: `threads` a row, of operands `reads` and `writes`."""

    count: int
    threads: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    codes: tuple[int, ...]
    """Dtype codes of the program's operands."""

    @property
    def rows(self) -> int:
        """Rows of a block."""
        return THREADS // self.threads

    @property
    def pitch(self) -> int:
        """Elements from a row to the next: rows lie in different banks."""
        return self.threads * (-(-self.count // self.threads) | 1)

    @property
    def nbytes(self) -> int:
        """Shared memory of a block."""
        return sum(self.rows * self.pitch * ITEMSIZES[self.codes[k]] for k in self.reads + self.writes)

    def shape(self) -> Shape:
        """How threads share rows."""
        width = 1 << (self.count - 1).bit_length()
        return Shape(width, self.threads, width // self.threads, 1, 1, 1, int(width == self.count), True)

    def begin(self, outputs: str) -> str:
        """Statements that read a block's rows, of so many `outputs`, and let `row` begin where they and results are."""
        text = (
            f"const i64 top = (i64)blockIdx.x * {self.rows};\nconst Row whole = row_of(p, top);\n"
            f"const int down = {outputs} - top < {self.rows} ? (int)({outputs} - top) : {self.rows};\n"
        )
        for k in self.reads + self.writes:
            text += f"alignas(16) __shared__ {MEMORY_TYPES[self.codes[k]]} staged{k}[{self.rows * self.pitch}];\n"
        text += "".join(f"nl::stage<{self._numbers}>(staged{k}, whole.q{k}, down);\n" for k in self.reads)
        own = f"threadIdx.x / {self.threads} * {self.pitch}"
        moves = "".join(f"row.q{k} = staged{k} + {own};\n" for k in self.reads + self.writes)
        return f"{text}__syncthreads();\n{moves}"

    def end(self) -> str:
        """Statements that write what the block's rows have become."""
        copies = [f"nl::unstage<{self._numbers}>(whole.q{k}, staged{k}, down);\n" for k in self.writes]
        return f"__syncthreads();\n{''.join(copies)}" if copies else ""

    @property
    def _numbers(self) -> str:
        return f"{self.count}, {self.pitch}, {self.rows}"


def staging_of(program: Program, words: int) -> RowStaging | None:
    """How rows of a program are staged, if they are short, many, and lie one behind the other.

    A thread holds `words` registers for an element. Longer rows are staged only where that was faster: several threads
    share them, and where these have whole lines of memory anyway nothing is gained (measured:
    docs/decisions/tiles-and-staging.md).
    """
    kept = program.kept
    if not program.fast or kept != 1 or len(program.shape) != 2:
        return None
    outputs, extent = program.shape
    if not 1 < extent <= LANES or outputs < MANY:
        return None
    runs = any(reduction.op_def.run for reduction in program.reductions)
    if extent > EACH and ((runs and extent <= 2 * EACH) or extent in (2 * EACH, LANES)):
        return None

    def dense(k: int) -> bool:
        return bool(program.operands[k].strides == (extent, 1))

    read = read_operands(program.body)
    written = [store.operand for store in program.stores]
    both = {k for k in written if k in read or written.count(k) > 1}
    reads = tuple(k for k in read if dense(k) and k not in both)
    writes = tuple(k for k in written if dense(k) and k not in both)
    if not reads:
        return None
    count = index(extent)
    width = 1 << (count - 1).bit_length()
    codes = tuple(operand.code for operand in program.operands)
    threads = max(1, width // EACH)
    while threads <= min(MOST_THREADS, width):
        staging = RowStaging(count, threads, reads, writes, codes)
        if words * (width // threads) <= HELD_WORDS and staging.nbytes <= BYTES:
            return staging
        threads *= 2
    return None
