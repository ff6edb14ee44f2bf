"""A program: what one fused kernel computes, as plain data between the planner and the emitters.

A program runs over a space of loop indices ``i[0..r)``, outermost first, already collapsed. At
each point it evaluates `body` in order; `stores` write body values. If it reduces, the last
``r - kept`` dimensions are reduced: each `reductions[k]` reduces one body value over them, and at
each point of the kept dimensions `post` is evaluated (it may read the finished reductions) and
`post_stores` write. Memory addresses are affine: operand `k` at index `i` lies at
``pointer[k] + itemsize * sum(strides[d] * i[d])``; pointers already include every offset, and
may lie outside of the buffer where the box (below) keeps accesses inside.

All of this is made once and never changed. It is not frozen only because that takes six times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(slots=True, unsafe_hash=True)
class Operand:
    """One memory stream of a program.

    `code` is the dtype code (numloom.base.dtypes) of the elements in memory. `strides` counts
    elements, one for each dimension of the space (`shape`); post operands of a reducing program
    have one for each kept dimension. Every row begins `past` bytes after a multiple of `word` bytes (16 or 8; 0
    where neither is so for all). `written`: some store writes through it; `in_place`: it shares memory with an
    operand read at the same positions (so neither may be declared const or restrict). Operands that are one array
    seen from several places: at any index this one is operand `beside` (-1: none), `by` steps further along each
    dimension. `inner` holds the stride along the rows of a nested reduction (`Program.nested`), of operands read there.
    """

    code: int
    strides: tuple[int, ...]
    word: int = 16
    past: int = 0
    written: bool = False
    in_place: bool = False
    post: bool = False
    beside: int = -1
    by: tuple[int, ...] = ()
    inner: tuple[int, ...] = ()

    @property
    def aligned(self) -> bool:
        """Whether 16-byte accesses are allowed where the inner stride is 1."""
        return self.word == 16 and not self.past


@dataclass(slots=True, unsafe_hash=True)
class Instr:
    """One value. Arguments are indices of earlier instructions of the same list.

    kind and its attributes:

    - ``load``: `operand` read at the current index.
    - ``param``: scalar number `index` of the launch, of dtype `code`.
    - ``iota``: the int64 value ``iota_offset + sum(iota_strides[d] * i[d])``; `index` numbers the
      iotas of the program (offset and strides are launch parameters), `strides` are its strides. `by_four`: the
      offset and all strides but the last are multiples of four, so that compilers see which neighbours share a block
      of random numbers (only in programs that make some).
    - ``op``: `op_def` (numloom.ops.definitions.Op) of `args`; loop dtypes are those of the args.
    - ``cast``: args[0] converted to `code` by NumPy's astype rules.
    - ``bitcast``: args[0]'s bits as `code` (equal itemsize).
    - ``gather``: `operand` read at the current index plus ``sum(checked(args[k], extents[k]) *
      gather_strides[k])`` elements; args are int64; negative ones count from the end; one out of
      range sets the error word and reads element 0 (with `inside` there is none). `strides` holds
      ``(extent, stride)`` pairs, both launch parameters; `index` numbers the gathers of the program.
    - ``nested`` (only in `body`): the result of program `index` of `Program.nested` at the current index.
    - ``reduced`` (only in `post`): result of `reductions[index]`.
    - ``kept`` (only in `body`): value `index` of `post`, which is one for all elements of a row. Programs with
      such values run in stages (`Program.stages`).
    """

    kind: str
    code: int
    args: tuple[int, ...] = ()
    op_def: Any = None
    operand: int = -1
    index: int = -1
    strides: tuple[Any, ...] = ()
    by_four: bool = False
    inside: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Store:
    """Write value `value` (an instruction's index) to operand `operand` at the current index."""

    value: int
    operand: int


@dataclass(slots=True, unsafe_hash=True)
class Reduce:
    """Reduce body value `value` by `op_def` (numloom.ops.definitions.Reduction); the result has dtype `code`."""

    op_def: Any
    value: int
    code: int


@dataclass(slots=True, unsafe_hash=True)
class Box:
    """Evaluate the body only inside a box of the space; elsewhere copy `base` (an operand), or launch parameter `fill`.

    Along dimension d the box holds indices ``starts[d] + steps[d] * k`` for ``0 <= k <
    counts[d]`` (all launch parameters; steps are positive). The program has one store.
    """

    base: int
    starts: tuple[int, ...]
    steps: tuple[int, ...]
    counts: tuple[int, ...]
    fill: int = -1


class Select(NamedTuple):
    """What a program selects: elements of so many bytes, those of operand `same` or (-1) others.

    With `axes` it is the indices along so many axes instead (see `emit.compaction`).
    """

    itemsize: int
    same: int = -1
    axes: int = 0


class Repeat(NamedTuple):
    """How a map is gone over again and again, each time with the state that it gave before.

    `states` are pairs of operands: where a state is read first (-1: nowhere), and where its last value is stored; both
    lie alike, so a point of the space has a state of its own. `counter` numbers the iota that is the step's number,
    from `first` on. `stacked` are the other stored operands, with the elements from a step's to the next one's.
    """

    steps: int
    first: int
    counter: int
    states: tuple[tuple[int, int], ...]
    stacked: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True, unsafe_hash=True)
class Program:
    """One fused kernel; see the module's text."""

    shape: tuple[int, ...]
    kept: int
    body: tuple[Instr, ...]
    stores: tuple[Store, ...]
    operands: tuple[Operand, ...]
    params: tuple[int, ...] = ()
    reductions: tuple[Reduce, ...] = ()
    post: tuple[Instr, ...] = ()
    post_stores: tuple[Store, ...] = ()
    box: Box | None = None
    fast: bool = True
    """Reducing programs: the reduced elements lie along the fast axis (lanes = 128), else lanes = 1."""
    select: Select | None = None
    """The one store's truth values are not stored: they say what is selected."""
    nested: tuple[Program, ...] = ()
    """Reductions of short rows at each point of the space: programs with a body and one reduction over one dimension,
    whose operands and numbers are this program's (`Operand.inner`)."""
    repeat: Repeat | None = None
    """A map that is the body of a loop."""
    cluster: int = 1
    """Most blocks of a GPU that may share a row in stages (`emit.rows`); where several may, each has more shared memory
    (`emit.outer_products`)."""

    @property
    def by_rows(self) -> bool:
        """Whether results of a row are read again for its elements."""
        return any(instr.kind == "kept" for instr in self.body)

    def stages(self) -> Stages:
        """When each value can be computed, counted in passes over a row.

        A pass computes values of `body` and ends with its reductions; values of `post` are of the pass that may read
        them, so those that need no reduction are of pass 0.
        """
        body: list[int] = []
        post: list[int] = []

        def finish(until: int) -> None:
            # In order: a value of the body never needs a value of `post` that waits for a later one of the body.
            for instr in self.post[len(post) : until]:
                reduced = instr.kind == "reduced"
                own = body[self.reductions[instr.index].value] + 1 if reduced else 0
                post.append(max([own, *(post[arg] for arg in instr.args)]))

        for instr in self.body:
            if instr.kind == "kept":
                finish(instr.index + 1)
                body.append(post[instr.index])
            else:
                body.append(max([0, *(body[arg] for arg in instr.args)]))
        finish(len(self.post))
        return Stages(tuple(body), tuple(post), 1 + max([*body, *(body[r.value] for r in self.reductions)]))


class Stages(NamedTuple):
    """The stage of each value of a program's body and post, and the number of passes over a row."""

    body: tuple[int, ...]
    post: tuple[int, ...]
    passes: int


@dataclass(slots=True, unsafe_hash=True)
class Word:
    """One 8-byte word of a kernel's parameter block (complex128 params take two).

    kind: ``pointer`` (of operand `index`), ``param`` (scalar `index`), ``extent`` (of dimension
    `dim`), ``stride`` (operand `index`, dimension `dim`), ``iota_offset`` / ``iota_stride``
    (iota `index`, `dim`), ``gather_extent`` / ``gather_stride`` (gather `index`, its `dim`-th
    index), ``box_start`` / ``box_step`` / ``box_count`` (`dim`), ``error`` (address of the error
    word), ``location`` (what gather `index` writes there), ``workspace`` (address of zeroed-counter
    scratch memory), ``select_...`` (see `emit.compaction`), or ``constant``: a number (`value`) that the
    emitter computed from the sizes (magic divisors, chunk counts).
    """

    kind: str
    index: int = 0
    dim: int = 0
    value: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Geometry:
    """How a kernel is launched, computed from the sizes; never part of the text.

    CPU: ``entry(params, begin, end)`` over `items`, at least `grain` a task; if `finish_items`,
    then ``entry_finish(params, 0, finish_items)`` afterwards. CUDA: a grid of `blocks` by
    `blocks_y` blocks of `threads` with `shared` bytes of dynamic shared memory. `workspace`: bytes
    of scratch memory, whose first `counters` bytes are zero at the start and zero again at the end.
    """

    items: int
    grain: int
    blocks: int
    threads: int
    shared: int = 0
    finish_items: int = 0
    workspace: int = 0
    counters: int = 0
    blocks_y: int = 1


@dataclass(slots=True, unsafe_hash=True)
class KernelSource:
    """An emitted kernel: text for both targets, entry name, words of the parameter block, launch."""

    text: str
    entry: str
    words: tuple[Word, ...]
    geometry: Geometry
