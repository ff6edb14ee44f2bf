# distutils: language = c++
# cython: boundscheck=False, wraparound=False, cdivision=True
"""Single operations on memory of the host by ready-made loops: NumPy's, those of the package, and ``ready.hpp``.

What is known of an operation (by which loop it is done) is asked for once; doing it runs nothing of Python.
"""

cimport numpy as np
from libc.stdint cimport intptr_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from numloom.graph.node cimport Node

import numpy

from numloom.base.dtypes import BOOL, C64, C128, CHARS, DTYPES, F16, F32, F64, I64, LOW, ROUNDED, code_of
from numloom.graph import node as _node
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS
from numloom.ops.reduction_tree import has_tree, operation_of
from numloom.ops.single_loops import CASTS, has_loop, loop_name, loop_words, wide

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        int nin
        int nout
        int nargs
        void** functions
        void** data
        int ntypes
        const char* types

ctypedef void (*PackageLoop)(const void*, long long, long long) noexcept

cdef int INT64 = I64, FLOAT32 = F32, FLOAT64 = F64
cdef object multiply_row = ELEMENTWISE["multiply"]
cdef object sum_row = REDUCTIONS["sum"]
cdef int OP = _node.OP, CAST = _node.CAST, REDUCE = _node.REDUCE, GATHER = _node.GATHER

cdef enum:
    SLOTS = 1 << 12

cdef Known known[SLOTS]
cdef list op_defs = [None] * SLOTS  # keeps what `known` has alive
cdef int sizes[32]
cdef int alignments[32]
cdef int numbers[32]
for _code, _dtype in enumerate(DTYPES):
    sizes[_code] = _dtype.itemsize
    alignments[_code] = _dtype.alignment
    numbers[_code] = _dtype.num

_REDUCERS = {
    "sum": SUM, "mean": MEAN, "prod": PRODUCT, "max": MOST, "min": LEAST, "argmax": FIRST_MOST, "argmin": FIRST_LEAST,
    "any": ANY, "all": ALL, "var": VARIANCE, "m2": DEVIATIONS,
}
cdef frozenset low = frozenset(LOW)
cdef frozenset narrow = frozenset((F16, F32, C64, *LOW))


# ---------------------------------------------------------------- what is known of operations


cdef inline uint64_t codes_of(Node node) noexcept:
    cdef tuple args = node.args
    cdef uint64_t codes = node.code + 1
    cdef Py_ssize_t place
    for place in range(len(args)):
        codes = codes * 32 + (<Node>args[place]).code + 1
    return codes * 16 + node.kind


cdef inline Known* slot_of(void* op_def, uint64_t codes) noexcept:
    cdef uint64_t key = (<uint64_t>op_def ^ codes) * <uint64_t>0x9E3779B97F4A7C15
    cdef Py_ssize_t at = key >> 52
    cdef Py_ssize_t turn
    for turn in range(8):
        if known[at].way == UNKNOWN or (known[at].op_def == op_def and known[at].codes == codes):
            break
        at = (at + 1) & (SLOTS - 1)
    return &known[at]


cdef Known* find(Node node) noexcept:
    """What is known of a node's operation; null where it must be asked for."""
    cdef void* op_def = <void*>node.op_def if node.kind != CAST else NULL
    cdef uint64_t codes = codes_of(node)
    cdef Known* found = slot_of(op_def, codes)
    if found.way == UNKNOWN or found.op_def != op_def or found.codes != codes:
        return NULL
    return found


cdef object learn(Node node, object loops):
    """Find out how a node's operation is done."""
    learn_as(node.kind, node.op_def, tuple([arg.code for arg in node.args]), node.code, codes_of(node), loops)


cdef Known* learn_as(int kind, object op_def, tuple in_codes, int out_code, uint64_t codes, object loops) except NULL:
    """Find out how an operation is done on operands of these dtypes."""
    cdef void* key = <void*>op_def if kind != CAST else NULL
    if kind == REDUCE:
        way, function, data, words = reduction_of(op_def, in_codes[0], out_code, loops)
    elif kind == CAST:
        way, function, data, words = cast_of(in_codes[0], out_code, loops)
    else:
        way, function, data, words = operation(op_def, in_codes, out_code, loops)
    cdef Known* found
    cdef Known made
    made.op_def = key
    made.codes = codes
    made.function = <void*><intptr_t>function
    made.data = <void*><intptr_t>data
    made.words = len(words)
    for place, word in enumerate(words):
        made.word[place] = word
    made.price = price_of(kind, op_def, way)
    made.same = same_everywhere(kind, op_def, (*in_codes, out_code))
    made.fastest = fastest_up_to(op_def.name, in_codes[0]) if way == BY_REDUCER else 0
    made.copies = kind == CAST and in_codes[0] == out_code
    made.way = way
    found = slot_of(key, codes)  # All at once: another thread may have found out something else meanwhile.
    op_defs[found - known] = op_def
    found[0] = made
    return found


cdef Known* known_operation(object op_def, tuple in_codes, int out_code, object device) except NULL:
    """What is known of an elementwise operation, of which there need be no node; it is found out where nothing is."""
    cdef uint64_t codes = out_code + 1
    cdef Known* found
    cdef int code
    for code in in_codes:
        codes = codes * 32 + code + 1
    codes = codes * 16 + OP
    found = slot_of(<void*>op_def, codes)
    if found.way == UNKNOWN or found.op_def != <void*>op_def or found.codes != codes:
        return learn_as(OP, op_def, in_codes, out_code, codes, device.loops)
    return found


cdef Size price_of(int kind, object op_def, int way) except -1:
    """Eighths of a nanosecond that an element takes, as measured for values of some thousand elements."""
    if way == BY_PYTHON:
        return 160 if kind == REDUCE else 40
    return max(4, <Size>op_def.cost) if kind == OP else 4


cdef Size fastest_up_to(str name, int code) except -1:
    """Elements up to which a reduction's loop takes less time than its kernel, however often that runs.

    Loops of bools stop at the first hit; of complex numbers they have vectors, where kernels have none but more threads.
    """
    if code == BOOL and name in ("argmax", "argmin", "max", "min", "any", "all"):
        return MOST_REDUCED
    if code in (C64, C128) and name in ("argmax", "argmin", "var", "m2"):
        return 1 << 18
    return 0


cdef bint same_everywhere(int kind, object op_def, tuple codes) except -1:
    """Whether an operation has the same bits on every device.

    These are exact ones, casts, reductions by exact ones, and NumPy's functions of integers and float64, which have one
    text (a GPU's float32 functions are CUDA's).
    """
    if kind == CAST:
        return True
    if kind == REDUCE:
        return operation_of(op_def) is None
    if ELEMENTWISE.get(op_def.name) is op_def and narrow.isdisjoint(codes):
        return True
    if op_def.name == "nextafter" and F16 in codes:  # from a zero to the other one
        return False
    return op_def.is_exact("".join([CHARS[code] for code in codes[: len(codes) - 1]]))


cdef tuple REFUSE = (REFUSED, 0, 0, ())
cdef tuple PYTHON = (BY_PYTHON, 0, 0, ())


cdef tuple operation(object op_def, tuple codes, int out_code, object loops):
    """How an elementwise operation is done: the way, its function and data, what its words are."""
    chars = "".join([CHARS[code] for code in codes])
    if op_def.preamble or len(codes) > 5:
        return REFUSE
    if op_def.name == "where" and codes[0] == 0 and codes[1] == codes[2] == out_code:
        return BY_LOOP, <intptr_t>choice_of(sizes[out_code]), 0, ()
    if op_def.is_exact(chars) and (op_def.is_numpys(chars) or not has_loop(op_def, wide(chars), loops)):
        if low.isdisjoint(codes) and out_code not in low and isinstance(op_def.numpy, numpy.ufunc):
            return ufunc_loop(op_def.numpy, codes, out_code)
        return PYTHON
    if not has_loop(op_def, wide(chars), loops):
        return REFUSE
    if not low.isdisjoint(codes) or out_code in low:
        return PYTHON
    return package_loop(op_def, chars, loops)


cdef tuple package_loop(object op_def, str chars, object loops):
    words = loop_words(op_def)
    if len(words) > MOST_WORDS:
        return PYTHON
    return BY_PACKAGE, loops.address(loop_name(op_def, chars)), 0, words


cdef tuple ufunc_loop(object ufunc, tuple codes, int out_code):
    """NumPy's own loop of a ufunc for these dtypes."""
    cdef PyUFuncObject* inside = <PyUFuncObject*><void*>ufunc
    cdef int place, k
    cdef bint same
    if inside.nout != 1 or inside.nin != len(codes):
        return PYTHON
    for place in range(inside.ntypes):
        same = inside.types[place * inside.nargs + inside.nin] == numbers[<int>out_code]
        for k in range(inside.nin):
            same = same and inside.types[place * inside.nargs + k] == numbers[<int>codes[k]]
        if same and inside.functions[place] is not NULL:
            return BY_LOOP, <intptr_t>inside.functions[place], <intptr_t>inside.data[place], ()
    return PYTHON


cdef tuple cast_of(int code, int out_code, object loops):
    if code == out_code:
        return BY_LOOP, <intptr_t>copy_of(sizes[code]), 0, ()
    op_def = CASTS.get(out_code)
    if op_def is not None:
        chars = CHARS[code]
        if not op_def.is_exact(chars) and not has_loop(op_def, wide(chars), loops):
            return REFUSE
        if not op_def.is_exact(chars) and code not in low:
            return package_loop(op_def, chars, loops)
    function = <intptr_t>cast_between(code, out_code)
    return (BY_LOOP, function, 0, ()) if function else PYTHON


cdef tuple reduction_of(object op_def, int code, int out_code, object loops):
    if not op_def.commutative or op_def.preamble or not has_tree(op_def, DTYPES[code]):
        return REFUSE
    op = operation_of(op_def)
    if op is not None and not has_loop(op, CHARS[F32 if code in ROUNDED else code] * op.nin, loops):
        return REFUSE
    cdef const Reduction* by = reduction(_REDUCERS.get(op_def.name, NO_REDUCER), code)
    if by is NULL or CHARS[out_code] != op_def.out_char(CHARS[code]):
        return PYTHON
    return BY_REDUCER, <intptr_t>by, 0, ()


cdef void forget_operations() noexcept:
    """Nothing is known: another device, or other loops."""
    memset(known, 0, sizeof(known))


# ---------------------------------------------------------------- layouts


cdef void take_shape(StridedSpace* space, Node node) noexcept:
    cdef int axis
    for axis in range(space.rank):
        space.shape[axis] = <Size>node.shape[axis]


cdef void take_strides(StridedSpace* space, int k, Node node) noexcept:
    """How an argument goes over a space to whose shape it is broadcast."""
    cdef int rank = len(node.shape), axis, own
    for axis in range(space.rank):
        own = axis - space.rank + rank
        if own < 0 or (<Size>node.shape[own] == 1 and space.shape[axis] != 1):
            space.strides[k][axis] = 0
        else:
            space.strides[k][axis] = <Size>node.strides[own]


cdef inline bint is_aligned(char* start, StridedSpace* space, int k, int alignment) noexcept:
    cdef Size all = <Size><intptr_t>start
    cdef int axis
    for axis in range(space.rank):
        all |= space.strides[k][axis]
    return all % alignment == 0


cdef Size product(StridedSpace* space) noexcept:
    cdef Size count = 1
    cdef int axis
    for axis in range(space.rank):
        count *= space.shape[axis]
    return count


cdef inline Size slowness(StridedSpace* space, int axis) noexcept:
    cdef Size step = space.strides[0][axis]
    return (<Size>1 << 62) if step == 0 else (step if step > 0 else -step)


cdef inline void swap_axes(StridedSpace* space, int a, int b) noexcept:
    cdef Size spare
    cdef int k
    spare = space.shape[a]
    space.shape[a] = space.shape[b]
    space.shape[b] = spare
    for k in range(2):
        spare = space.strides[k][a]
        space.strides[k][a] = space.strides[k][b]
        space.strides[k][b] = spare


# ---------------------------------------------------------------- one operation


cdef int compute_node(Node node, int kind, char** args, char* out) noexcept:
    """An operation on memory: 1 if it was done, 0 if there is no loop for it, -1 if an index is out of bounds."""
    cdef Known* how
    if kind == GATHER:
        return gather(node, args, out)
    how = find(node)
    if how is NULL:
        return 0
    if how.way == BY_REDUCER:
        return reduce(node, <Node>node.args[0], <const Reduction*>how.function, args[0], out)
    if how.way == BY_LOOP or how.way == BY_PACKAGE:
        return map(node, how, args, out)
    return 0


cdef void fill_memory(Node node, char* number, char* out) noexcept:
    """A number in every element."""
    cdef StridedSpace space
    cdef char* start[2]
    space.rank = len(node.shape)
    space.args = 2
    take_shape(&space, node)
    take_strides(&space, 1, node)
    memset(space.strides[0], 0, space.rank * sizeof(Size))
    start[0] = number
    start[1] = out
    simplify(space)
    copy_all(sizes[node.code], start, space)


cdef bint count_up(Node node, char* out) noexcept:
    """0, 1, 2, ... for an IOTA, if that can be done here."""
    cdef Size place, count = node.size
    cdef long long* to = <long long*>out
    if node.code != INT64 or len(node.shape) != 1 or count > 1 and <Size>node.strides[0] != 8:
        return False
    for place in range(count):
        to[place] = place
    return True


cdef int map(Node node, Known* how, char** args, char* out) noexcept:
    """An operation by a loop over its arguments and its result."""
    cdef tuple given = node.args
    cdef int nin = len(given)
    cdef int k, axis
    cdef StridedSpace space
    cdef char* start[6]
    cdef char* packed[6]
    cdef int count = 0
    cdef long long words[MOST_WORDS]
    cdef Node arg
    cdef bint there
    if len(node.shape) > 32:
        return 0
    space.rank = len(node.shape)
    space.args = nin + 1
    take_shape(&space, node)
    for k in range(nin):
        take_strides(&space, k, <Node>given[k])
        start[k] = args[k]
    take_strides(&space, nin, node)
    start[nin] = out
    simplify(space)
    for k in range(nin):
        arg = <Node>given[k]
        there = True
        if how.way == BY_PACKAGE:  # One after the other.
            there = space.rank == 0 or (space.rank == 1 and space.strides[k][0] == sizes[arg.code])
        if there and not is_aligned(start[k], &space, k, alignments[arg.code]):
            there = False
        if not there:
            packed[count] = <char*>malloc(node.size * sizes[arg.code])
            if packed[count] == NULL:
                for axis in range(count):
                    free(packed[axis])
                return 0
            pack(&space, k, sizes[arg.code], &start[k], packed[count])
            count += 1
    if how.copies:
        copy_all(sizes[node.code], start, space)
    elif how.way == BY_LOOP:
        run_operation(<Loop>how.function, how.data, start, space, sizes[node.code])
    else:
        for k in range(how.words):
            words[k] = node.size if how.word[k] < 0 else <long long><intptr_t>start[how.word[k]]
        (<PackageLoop>how.function)(words, 0, node.size)
    for k in range(count):
        free(packed[k])
    return 1


cdef void pack(StridedSpace* space, int k, int itemsize, char** start, char* to) noexcept:
    """Copy an argument to memory where its elements lie one after the other in the order of the space's axes."""
    cdef StridedSpace one
    cdef char* ends[2]
    cdef int axis
    cdef Size step = itemsize
    one.rank = space.rank
    one.args = 2
    for axis in range(space.rank - 1, -1, -1):
        one.shape[axis] = space.shape[axis]
        one.strides[0][axis] = space.strides[k][axis]
        one.strides[1][axis] = step
        space.strides[k][axis] = step
        step *= space.shape[axis]
    ends[0] = start[0]
    ends[1] = to
    start[0] = to
    simplify(one)
    copy_all(itemsize, ends, one)


cdef bint counts(Node node) noexcept:
    """Whether a reduction adds up bools that are cast for it, so that they can be counted as they are."""
    cdef Node whole
    if node.op_def is not sum_row or node.code != INT64 or node.size != 1:
        return False
    whole = <Node>node.args[0]
    return whole.kind == CAST and whole.readers == 1 and whole.storages == 0 and (<Node>whole.args[0]).code == 0


cdef int count_bools(Node node, char* memory, char* out) noexcept:
    """A reduction that `counts`, of memory with the bools."""
    return reduce(node, <Node>(<Node>node.args[0]).args[0], reduction(COUNT, 0), memory, out)


cdef bint dots(Node node) noexcept:
    """Whether a reduction adds up products over one axis, which need not be stored for it."""
    cdef Node whole
    cdef tuple axes, given
    cdef Size axis
    if node.op_def is not sum_row or (node.code != FLOAT64 and node.code != FLOAT32):
        return False
    whole = <Node>node.args[0]
    if whole.kind != OP or whole.op_def is not multiply_row or whole.code != node.code:
        return False
    if whole.readers != 1 or whole.storages or not whole.size or len(whole.shape) > 32:
        return False
    axes = <tuple>(<tuple>node.attr)[0]
    if len(axes) != 1:
        return False
    axis = <Py_ssize_t>axes[0]
    given = whole.args
    return (
        <Size>whole.shape[axis] <= MOST_DOTTED_ROW
        and (<Node>given[0]).code == node.code and (<Node>given[1]).code == node.code
    )


cdef int dot(Node node, char** args, char* out) noexcept:
    """A reduction that `dots`, of the factors."""
    cdef Node whole = <Node>node.args[0]
    cdef tuple attr = node.attr
    cdef int reduced = <Py_ssize_t>(<tuple>attr[0])[0]
    cdef bint fast = <bint>(attr[1] is True), keepdims = <bint>(attr[2] is True)
    cdef int rank = len(whole.shape), axis, kept = 0, k
    cdef StridedSpace given
    cdef StridedSpace space
    cdef char* start[3]
    given.rank = rank
    given.args = 2
    take_shape(&given, whole)
    for k in range(2):
        take_strides(&given, k, <Node>whole.args[k])
        if not is_aligned(args[k], &given, k, alignments[node.code]):
            return 0
        start[k] = args[k]
    for axis in range(rank):
        k = kept if axis != reduced else rank - 1
        space.shape[k] = given.shape[axis]
        space.strides[0][k] = given.strides[0][axis]
        space.strides[1][k] = given.strides[1][axis]
        space.strides[2][k] = 0
        if axis != reduced:
            space.strides[2][k] = <Size>node.strides[axis if keepdims else kept]
            kept += 1
    space.rank = rank
    space.args = 3
    start[2] = out
    if node.code == FLOAT64:
        dots_of[double](fast, start, space)
    else:
        dots_of[float](fast, start, space)
    return 1


cdef int reduce(Node node, Node source, const Reduction* by, char* memory, char* out) noexcept:
    """A reduction of a source by the tree, if it can be done here."""
    cdef tuple attr = node.attr
    cdef tuple axes = <tuple>attr[0]
    cdef bint fast = <bint>(attr[1] is True), keepdims = <bint>(attr[2] is True)
    cdef int rank = len(source.shape)
    cdef int axis, at = 0, kept = 0, k, code = source.code
    cdef bint reduced[64]
    cdef StridedSpace space
    cdef char* start[2]
    cdef Size count = 1
    cdef double scratch[64]
    cdef char* own = <char*>scratch
    if rank > 32:
        return 0
    for axis in range(rank):
        reduced[axis] = False
    for k in range(len(axes)):
        axis = <Py_ssize_t>axes[k]
        reduced[axis] = True
        count *= <Size>source.shape[axis]
    if count > MOST_REDUCED or count == 0:
        return 0
    space.args = 2
    for axis in range(rank):
        if not reduced[axis]:
            space.shape[kept] = <Size>source.shape[axis]
            space.strides[0][kept] = <Size>source.strides[axis] if space.shape[kept] > 1 else 0
            space.strides[1][kept] = <Size>node.strides[axis if keepdims else kept]
            kept += 1
    at = kept
    for k in range(len(axes)):
        axis = <Py_ssize_t>axes[k]
        space.shape[at] = <Size>source.shape[axis]
        space.strides[0][at] = <Size>source.strides[axis]
        space.strides[1][at] = 0
        at += 1
    if not by.in_order:  # In the order of memory, slowest first; what repeats is slowest of all.
        for axis in range(kept + 1, at):
            k = axis
            while k > kept and slowness(&space, k - 1) < slowness(&space, k):
                swap_axes(&space, k - 1, k)
                k -= 1
    space.rank = at
    start[0] = memory
    start[1] = out
    if count * sizes[code] > <Size>sizeof(scratch):
        own = <char*>malloc(count * sizes[code])
        if own == NULL:
            return 0
    reduce_rows(
        by, fast, (<intptr_t>memory) % alignments[code] == 0, start, space, kept, sizes[code], sizes[node.code], count, own
    )
    if own != <char*>scratch:
        free(own)
    return 1


def reduce_rows_of(object op_def, int out_code, np.ndarray full, int kept, bint fast, object loops):
    """The results over all but the first `kept` axes of an array of NumPy's, slowest first; None if not for here."""
    cdef StridedSpace space
    cdef char* start[2]
    cdef int axis, rank = np.PyArray_NDIM(full), code = code_of(full.dtype)
    cdef Size count = 1, most = <Size>MOST_REDUCED
    cdef np.ndarray found, scratch
    cdef const Reduction* by
    how = reduction_of(op_def, code, out_code, loops)
    if how[0] != BY_REDUCER or rank > 32:
        return None
    by = <const Reduction*><intptr_t>how[1]
    found = numpy.empty([np.PyArray_DIM(full, axis) for axis in range(kept)], DTYPES[out_code])
    space.rank = rank
    space.args = 2
    for axis in range(rank):
        space.shape[axis] = np.PyArray_DIM(full, axis)
        space.strides[0][axis] = np.PyArray_STRIDE(full, axis) if axis >= kept or space.shape[axis] > 1 else 0
        space.strides[1][axis] = np.PyArray_STRIDE(found, axis) if axis < kept else 0
        if axis >= kept:
            count *= space.shape[axis]
    if not 0 < count <= most or not np.PyArray_SIZE(found) or not np.PyArray_ISALIGNED(full):
        return None
    scratch = numpy.empty(count, DTYPES[code])
    start[0] = <char*>np.PyArray_DATA(full)
    start[1] = <char*>np.PyArray_DATA(found)
    with nogil:
        reduce_rows(by, fast, True, start, space, kept, sizes[code], sizes[out_code], count, <char*>np.PyArray_DATA(scratch))
    return found


cdef int gather(Node node, char** args, char* out) noexcept:
    """Elements at indices: 1, or 0 if that is not for here, -1 if an index is out of bounds."""
    cdef tuple attr = node.attr, given = node.args
    cdef tuple axes = <tuple>attr[0]
    cdef int position = <Py_ssize_t>attr[1]
    cdef Node source = <Node>given[0]
    cdef Node index
    cdef int indices = len(axes), rank = len(source.shape), counts = len(node.shape) - rank + indices
    cdef int axis, k, at = 0
    cdef StridedSpace indexed, part
    cdef char* start[6]
    cdef int codes[6]
    cdef Size shape[6]
    cdef Size strides[6]
    cdef bint taken[64]
    if indices > 5 or rank > 32 or len(node.shape) > 32 or not node.size:
        return 0
    for axis in range(rank):
        taken[axis] = False
    indexed.rank = counts
    indexed.args = indices + 1
    for axis in range(counts):
        indexed.shape[axis] = <Size>node.shape[position + axis]
        indexed.strides[indices][axis] = <Size>node.strides[position + axis]
    for k in range(indices):
        index = <Node>given[k + 1]
        codes[k] = index.code
        start[k] = args[k + 1]
        if not 1 <= index.code <= 8 or (<intptr_t>start[k]) % sizes[index.code]:
            return 0
        axis = <Py_ssize_t>axes[k]
        taken[axis] = True
        shape[k] = <Size>source.shape[axis]
        strides[k] = <Size>source.strides[axis]
        take_strides(&indexed, k, index)
    part.args = 2
    part.rank = rank - indices
    for axis in range(rank):
        if taken[axis]:
            continue
        part.shape[at] = <Size>source.shape[axis]
        part.strides[0][at] = <Size>source.strides[axis]
        part.strides[1][at] = <Size>node.strides[at if at < position else at + counts]
        at += 1
    simplify(part)
    start[indices] = out
    return 1 if read_at(args[0], indexed, start, codes, shape, strides, part, sizes[source.code]) else -1
