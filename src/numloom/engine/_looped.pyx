# distutils: language = c++
# cython: boundscheck=False, wraparound=False, cdivision=True
"""Programs by ready-made loops, one value after the other: what a launch does until its kernel is compiled.

All that does not depend on addresses is decided once. A program without reductions of all of its elements is gone over
in parts that the processor's cache holds. Its results are stored when all of a part are there, so that operands may
share their memory. The bits are the kernel's; what has no loop of its own here is left to `interpret`.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport intptr_t
from libc.stdlib cimport free, malloc

from numloom.engine._ready cimport (
    BY_LOOP, BY_PACKAGE, BY_REDUCER, COUNT, MOST_REDUCED, MOST_WORDS, Loop, Reduction, Size, StridedSpace, cast_of,
    copy_all, operation, reduce_rows, reduction, reduction_of, run_operation, simplify,
)
from numloom.engine._words cimport Words

from numloom.base.dtypes import BOOL, DTYPES, I64

ctypedef void (*PackageLoop)(const void*, long long, long long) noexcept

cdef enum:
    MOST_ARGS = 6
    MOST_RANK = 32
    SCRATCH = 1 << 18  # bytes that the second level of a processor's cache holds beside all else
    MOST_SCRATCH = 1 << 23

cdef enum Kind:
    LINE, LINES, PACKAGE, COPIED, REDUCED, COUNTED

cdef struct LoopStep:
    Kind kind
    int nin
    int itemsize  # of the result
    int base[MOST_ARGS]  # of the arguments, then of the result: whose address, and bytes from there
    Size offset[MOST_ARGS]
    Size count
    Size steps[MOST_ARGS]
    void* function
    void* data
    int words
    int word[MOST_WORDS]
    StridedSpace* space
    int kept  # of a reduction, as all below
    bint fast
    int given  # bytes of an element that is reduced
    Size row  # elements of a result
    Size own  # where scratch memory for a row begins

# Places of addresses: scratch memory, the parameter block, then operands.
cdef enum:
    ARENA = 0
    BLOCK = 1
    FIRST_OPERAND = 2

cdef int ITEMSIZES[32]
cdef int ALIGNMENTS[32]
for _code, _dtype in enumerate(DTYPES):
    ITEMSIZES[_code] = _dtype.itemsize
    ALIGNMENTS[_code] = _dtype.alignment
cdef char arena[SCRATCH + 64]


class _Refused(Exception):
    """Something is not done by loops alone."""


class _Value:
    """A value of a program: its dtype, where it begins (a base and an offset), its strides in bytes.

    `size` counts the bytes of scratch memory that are its own; `read` says that it is memory that was there before.
    """

    __slots__ = ("base", "code", "offset", "read", "size", "strides")

    def __init__(self, base, offset, strides, code):
        self.base = base
        self.offset = offset
        self.strides = strides
        self.code = code
        self.size = 0
        self.read = False


cdef tuple dense(tuple shape, Size itemsize):
    cdef list found = []
    cdef Size step = itemsize
    for extent in reversed(shape):
        found.append(step)
        step *= extent
    found.reverse()
    return tuple(found)


cdef Size product_of(tuple shape) except -1:
    cdef Size count = 1
    for extent in shape:
        count *= extent
    return count


cdef class Part:
    """The steps over as much of a program's space as is done at once.

    Attributes
    ----------
    nbytes : int
        Bytes of scratch memory that they need.
    held : list
        The operations whose loops are called.
    """

    cdef LoopStep* steps
    cdef Py_ssize_t count, room
    cdef Size nbytes
    cdef list held

    def __cinit__(self, Py_ssize_t room):
        self.steps = <LoopStep*>PyMem_Malloc(room * sizeof(LoopStep))
        if self.steps is NULL:
            raise MemoryError("memory for the steps of a program")
        self.room = room
        self.count = 0
        self.nbytes = 0
        self.held = []

    def __dealloc__(self):
        cdef Py_ssize_t place
        if self.steps is not NULL:
            for place in range(self.count):
                PyMem_Free(self.steps[place].space)
            PyMem_Free(self.steps)

    cdef LoopStep* add(self, Kind kind, list args, tuple shape) except NULL:
        """Add a step over a space; the last one of `args` is its result."""
        cdef LoopStep* step
        cdef StridedSpace* space
        cdef int k, axis
        if self.count == self.room or len(args) > MOST_ARGS or len(shape) > MOST_RANK:
            raise _Refused
        step = &self.steps[self.count]
        step.space = space = <StridedSpace*>PyMem_Malloc(sizeof(StridedSpace))
        if space is NULL:
            raise MemoryError("memory for the steps of a program")
        self.count += 1
        step.kind = kind
        step.nin = len(args) - 1
        step.data = step.function = NULL
        step.words = 0
        step.itemsize = ITEMSIZES[<int>args[step.nin].code]
        space.rank = len(shape)
        space.args = len(args)
        for axis in range(space.rank):
            space.shape[axis] = shape[axis]
        for k in range(len(args)):
            step.base[k] = args[k].base
            step.offset[k] = args[k].offset
            for axis in range(space.rank):
                space.strides[k][axis] = args[k].strides[axis]
        return step

    cdef object settle(self, LoopStep* step):
        """Have a step go over as few axes as it can."""
        cdef StridedSpace* space = step.space
        cdef int k
        simplify(space[0])
        if space.rank > 1:
            return
        step.count = space.shape[0] if space.rank else 1
        for k in range(space.args):
            step.steps[k] = space.strides[k][0] if space.rank else ITEMSIZES[0]
        if step.kind == LINES and (step.count == 1 or step.steps[step.nin] == step.itemsize):
            step.kind = LINE
            PyMem_Free(space)
            step.space = NULL

    cdef bint run(self, char** bases) noexcept:
        """Do all steps."""
        cdef Py_ssize_t place
        cdef LoopStep* step
        cdef char* args[MOST_ARGS]
        cdef long long words[MOST_WORDS]
        cdef int k
        for place in range(self.count):
            step = &self.steps[place]
            for k in range(step.nin + 1):
                args[k] = bases[step.base[k]] + step.offset[k]
            if step.kind == LINE:
                (<Loop>step.function)(args, &step.count, step.steps, step.data)
            elif step.kind == LINES:
                run_operation(<Loop>step.function, step.data, args, step.space[0], step.itemsize)
            elif step.kind == PACKAGE:
                for k in range(step.words):
                    words[k] = step.count if step.word[k] < 0 else <long long><intptr_t>args[step.word[k]]
                (<PackageLoop>step.function)(words, 0, step.count)
            elif step.kind == COPIED:
                copy_all(step.itemsize, args, step.space[0])
            elif step.kind == REDUCED:
                reduce_rows(
                    <const Reduction*>step.function, step.fast, True, args, step.space[0], step.kept, step.given,
                    step.itemsize, step.row, bases[ARENA] + step.own,
                )
            else:
                count_up(<long long*>args[0], (<long long*>args[1])[0], step.space[0])
        return True


cdef void count_up(long long* to, long long first, const StridedSpace& space) noexcept:
    """Store ``first + sum(strides[d] * i[d])`` one after the other, with the strides of argument 0."""
    cdef Size at[MOST_RANK]
    cdef int axis, rank = space.rank
    cdef long long value = first
    for axis in range(rank):
        at[axis] = 0
    while True:
        to[0] = value
        to += 1
        axis = rank - 1
        while axis >= 0:
            at[axis] += 1
            value += space.strides[0][axis]
            if at[axis] < space.shape[axis]:
                break
            value -= space.strides[0][axis] * space.shape[axis]
            at[axis] = 0
            axis -= 1
        if axis < 0:
            return


class _Maker:
    """Makes the steps over a part of a program's space."""

    def __init__(self, program, words, shape, loops):
        self.program = program
        self.shape = shape
        self.kept = shape[: program.kept] if program.reductions else shape
        self.loops = loops
        self.words = words
        self.free = {}
        self.body = [None] * len(program.body)
        self.post = [None] * len(program.post)
        self.reduced = [None] * len(program.reductions)
        self.part = Part(4 * (len(program.body) + len(program.post)) + 2 * len(program.reductions) + 16)
        self.targets = {}
        self.readers = {}

    def scratch(self, Size nbytes):
        """Return where so many bytes of scratch memory begin."""
        cdef Part part = self.part
        nbytes = (nbytes + 63) & ~<Size>63
        if self.free.get(nbytes):
            return self.free[nbytes].pop()
        found = part.nbytes
        part.nbytes += nbytes
        if part.nbytes > MOST_SCRATCH:
            raise _Refused
        return found

    def new(self, shape, code):
        """Return a value in scratch memory."""
        cdef Size nbytes = product_of(shape) * ITEMSIZES[<int>code]
        value = _Value(ARENA, self.scratch(nbytes), dense(shape, ITEMSIZES[<int>code]), code)
        value.size = (nbytes + 63) & ~<Size>63
        return value

    def operand(self, number, shape, code):
        """Return the memory of an operand."""
        operand = self.program.operands[number]
        if operand.code != code:
            raise _Refused
        strides = tuple([stride * ITEMSIZES[<int>code] for stride in operand.strides[: len(shape)]])
        return _Value(FIRST_OPERAND + number, 0, strides, code)

    def is_dense(self, value, shape):
        """Return whether a value's elements lie one after the other."""
        expected = dense(shape, ITEMSIZES[<int>value.code])
        pairs = zip(value.strides, expected, shape)
        return all([extent == 1 or own == other for own, other, extent in pairs])

    def copied(self, value, shape, to):
        """Copy a value."""
        cdef Part part = self.part
        part.settle(part.add(COPIED, [value, to], shape))
        return to

    def made(self, instr, args, shape, target):
        """Return the value of an operation or cast."""
        cdef Part part = self.part
        cdef LoopStep* step
        cdef int k
        codes = tuple([arg.code for arg in args])
        if instr.kind == "cast":
            if codes[0] == instr.code:
                return args[0]
            how = cast_of(codes[0], instr.code, self.loops)
        else:
            how = operation(instr.op_def, codes, instr.code, self.loops)
        way, function, data, words = how
        if way != BY_LOOP and way != BY_PACKAGE:
            raise _Refused
        extra = []
        if way == BY_PACKAGE:
            for k, arg in enumerate(args):
                if not self.is_dense(arg, shape):
                    args[k] = self.copied(arg, shape, self.new(shape, arg.code))
                    extra.append(args[k])
            if target is not None and not self.is_dense(target, shape):
                target = None
        value = self.new(shape, instr.code) if target is None else target
        step = part.add(LINES if way == BY_LOOP else PACKAGE, [*args, value], shape)
        step.function = <void*><intptr_t>function
        step.data = <void*><intptr_t>data
        part.held.append(instr.op_def)
        if way == BY_LOOP:
            part.settle(step)
        else:
            step.count = product_of(shape)
            step.words = len(words)
            for k in range(step.words):
                step.word[k] = words[k]
            PyMem_Free(step.space)
            step.space = NULL
        for one in extra:
            self.free.setdefault(one.size, []).append(one.offset)
        return value

    def value(self, instr, values, shape, target):
        """Return the value of an instruction."""
        cdef Part part = self.part
        cdef LoopStep* step
        kind = instr.kind
        if kind == "load":
            value = self.operand(instr.operand, shape, instr.code)
            value.read = True
            return value
        if kind == "param":
            return self.number(kind, instr, shape)
        if kind == "op" or kind == "cast":
            return self.made(instr, [values[arg] for arg in instr.args], shape, target)
        if kind == "iota":
            value = self.new(shape, I64)
            first = self.number("iota_offset", instr, shape)
            step = part.add(COUNTED, [value, first], shape)
            for axis in range(len(shape)):
                step.space.strides[0][axis] = instr.strides[axis]
            return value
        if kind == "reduced":
            return self.reduced[instr.index]
        if kind == "kept":
            kept = self.post[instr.index]
            return _Value(kept.base, kept.offset, kept.strides + (0,) * (len(shape) - len(self.kept)), instr.code)
        raise _Refused

    def number(self, kind, instr, shape):
        """Return a number of the parameter block."""
        if (kind, instr.index) not in self.words:
            raise _Refused
        return _Value(BLOCK, 8 * self.words[kind, instr.index], (0,) * len(shape), instr.code)

    def reduce(self, reduction):
        """Return the results of a reduction."""
        cdef Part part = self.part
        cdef LoopStep* step
        cdef Size count = product_of(self.shape[len(self.kept) :])
        cdef int axis, code
        instr = self.program.body[reduction.value]
        source = self.body[reduction.value]
        way, function, _, _ = reduction_of(reduction.op_def, instr.code, reduction.code, self.loops)
        if way != BY_REDUCER or not 0 < count <= <Size>MOST_REDUCED:
            raise _Refused
        if reduction.op_def.name == "sum" and instr.kind == "cast" and instr.code == reduction.code == I64:
            if self.program.body[instr.args[0]].code == BOOL:
                source = self.body[instr.args[0]]
                function = <intptr_t>counter()
        value = self.new(self.kept, reduction.code)
        rest = _Value(value.base, value.offset, value.strides + (0,) * (len(self.shape) - len(self.kept)), value.code)
        code = source.code
        own = self.scratch(count * ITEMSIZES[code])
        step = part.add(REDUCED, [source, rest], self.shape)
        step.function = <void*><intptr_t>function
        step.kept = len(self.kept)
        step.fast = self.program.fast
        step.given = ITEMSIZES[code]
        step.row = count
        step.own = own
        for axis in range(step.kept):
            if step.space.shape[axis] == 1:
                step.space.strides[0][axis] = 0
        part.held.append(reduction.op_def)
        self.free.setdefault((count * ITEMSIZES[code] + 63) & ~<Size>63, []).append(own)
        return value

    def let_go(self, instrs, values, number, last):
        """Give the scratch memory back that only this instruction still read."""
        for arg in {*instrs[number].args}:
            value = values[arg]
            if last[arg] == number and value.size:
                self.free.setdefault(value.size, []).append(value.offset)
                value.size = 0

    def make(self):
        """Return the steps."""
        program = self.program
        stages = program.stages()
        in_body = self.last_readers(stages.body)
        targets = self.found_targets(program.stores, self.shape, program.body)
        post_targets = self.found_targets(program.post_stores, self.kept, program.post)
        for stage in range(stages.passes + 1):
            for number, instr in enumerate(program.post):
                if stages.post[number] == stage:
                    self.post[number] = self.value(instr, self.post, self.kept, post_targets.get(number))
            for number, instr in enumerate(program.body):
                if stages.body[number] == stage:
                    self.body[number] = self.value(instr, self.body, self.shape, targets.get(number))
                    self.let_go(program.body, self.body, number, in_body)
            for number, reduction in enumerate(program.reductions):
                if stages.body[reduction.value] == stage:
                    self.reduced[number] = self.reduce(reduction)
        stores = [(self.body[store.value], store.operand, self.shape) for store in program.stores]
        stores += [(self.post[store.value], store.operand, self.kept) for store in program.post_stores]
        if len(stores) > 1:  # None may change what a later one stores.
            stores = [
                (self.copied(value, shape, self.new(shape, value.code)) if value.read else value, number, shape)
                for value, number, shape in stores
            ]
        for value, number, shape in stores:
            self.store(value, number, shape)
        return self.part

    def last_readers(self, stages):
        """Return which instruction of the body reads each value last; none of what is needed for longer."""
        instrs = self.program.body
        last = {}
        for number in sorted(range(len(instrs)), key=stages.__getitem__):  # As they run.
            for arg in instrs[number].args:
                last[arg] = number
        kept = [store.value for store in self.program.stores]
        for number, instr in enumerate(instrs):  # Whose memory is theirs, too.
            if instr.kind == "cast" and instrs[instr.args[0]].code == instr.code:
                kept += [number, instr.args[0]]
        for reduction in self.program.reductions:
            kept += [reduction.value, *instrs[reduction.value].args]
        return {**last, **dict.fromkeys(kept, -1)}

    def found_targets(self, stores, shape, instrs):
        """Return the operands that values may be computed into: nobody else has their memory."""
        found = {}
        for store in stores:
            operand = self.program.operands[store.operand]
            if operand.in_place or store.value in found or instrs[store.value].kind not in ("op", "cast"):
                continue
            if any([stride == 0 and extent > 1 for stride, extent in zip(operand.strides, shape)]):
                continue
            if operand.code == instrs[store.value].code:
                found[store.value] = self.operand(store.operand, shape, operand.code)
        return found

    def store(self, value, number, shape):
        """Store a value, where it is not computed there."""
        target = self.operand(number, shape, self.program.operands[number].code)
        if value.code != target.code:
            raise _Refused
        if value.base != target.base:
            self.copied(value, shape, target)


cdef intptr_t counter() noexcept:
    return <intptr_t>reduction(COUNT, 0)


cdef class Looped:
    """A launch by loops: `run(words)` does what the kernel does with these words.

    Attributes
    ----------
    part, rest : Part
        The steps over a part of the program's space, and over what is left at its end.
    parts : int
        How many there are before that.
    """

    def __init__(self, program, source, loops):
        cdef tuple shape = program.shape
        cdef Size length, whole
        cdef int k
        words = {}
        for k, word in enumerate(source.words):
            if word.kind in ("pointer", "param", "iota_offset"):
                words.setdefault((word.kind, word.index), k)  # Large numbers have two.
        self.program = program
        self.operands = len(program.operands)
        if self.operands > MOST_OPERANDS or not product_of(shape):
            raise _Refused
        self.part = _Maker(program, words, shape, loops).make()
        self.rest = None
        self.parts = 1
        length = 0
        counts_up = any([instr.kind == "iota" for instr in (*program.body, *program.post)])
        if (<Part>self.part).nbytes > SCRATCH and not counts_up and shape and (program.kept or not program.reductions):
            whole = shape[0]
            length = max(1, whole * SCRATCH // (2 * (<Part>self.part).nbytes))
            if length < whole:
                self.part = _Maker(program, words, (length, *shape[1:]), loops).make()
                self.parts = whole // length
                if whole % length:
                    self.rest = _Maker(program, words, (whole % length, *shape[1:]), loops).make()
        for k in range(self.operands):
            operand = program.operands[k]
            self.word[k] = words.get(("pointer", k), -1)
            self.alignment[k] = ALIGNMENTS[<int>operand.code]
            self.advance[k] = length * operand.strides[0] * ITEMSIZES[<int>operand.code] if operand.strides else 0

    cpdef bint run(self, Words words) except -1:
        """Do what the kernel does; False, with nothing done, where operands are not aligned."""
        cdef long long* block = words.block.data.as_longlongs
        cdef char* bases[FIRST_OPERAND + MOST_OPERANDS]
        cdef char* own = NULL
        cdef Size number, nbytes = (<Part>self.part).nbytes
        cdef int k
        for k in range(self.operands):
            if self.word[k] < 0:
                bases[FIRST_OPERAND + k] = NULL
                continue
            if block[self.word[k]] % self.alignment[k]:
                return False
            bases[FIRST_OPERAND + k] = <char*><intptr_t>block[self.word[k]]
        bases[ARENA] = arena
        bases[BLOCK] = <char*>block
        if nbytes > SCRATCH:
            own = bases[ARENA] = <char*>malloc(nbytes + 64)
            if own is NULL:
                return False
        bases[ARENA] += -<intptr_t>bases[ARENA] & 63
        for number in range(self.parts):
            (<Part>self.part).run(bases)
            for k in range(self.operands):
                bases[FIRST_OPERAND + k] += self.advance[k]
        if self.rest is not None:
            (<Part>self.rest).run(bases)
        free(own)
        return True


def looped(program, source, loops):
    """Return a program by loops; None where it has something that no loop does."""
    if program.nested or program.box is not None or program.select is not None or program.repeat is not None:
        return None
    try:
        return Looped(program, source, loops)
    except _Refused:
        return None
