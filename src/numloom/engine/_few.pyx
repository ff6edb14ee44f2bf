# distutils: language = c++
# cython: boundscheck=False, wraparound=False, cdivision=True
"""Operations on few elements of computed memory, done at once: no value is recorded, no walk begun.

An operation on up to `MOST` elements takes no longer so than to record it, and later work finds it computed. It is done
by the loop that `_numbers.pyx` operates on numbers by, after the same casts. What is not simply so is left to whoever
records: calls that are learned, trees, operands that are not computed or lie on a GPU, operations whose bits a GPU
beside has not, and results that would not lie in C order.
"""

from libc.stdint cimport intptr_t

from numloom.device.memory cimport Buffer, Pool
from numloom.device.registry cimport current
from numloom.engine._indexing cimport itemsize_of, new_value
from numloom.engine._numbers cimport ALONE, Way, convert, near_device, near_pool, way_of
from numloom.engine._ready cimport (
    MOST_DOTTED_ROW, MOST_WORDS, Loop, Size, StridedSpace, dots_of, pack, run_loop, run_operation,
    simplify,
)
from numloom.engine._unplanned cimport run_one
from numloom.engine.guard cimport Guard
from numloom.engine.look cimport is_quiet
from numloom.graph.build cimport one_tuple
from numloom.graph.node cimport Node, Register, new_node
from numloom.graph.again cimport learning

from numloom.base.dtypes import DTYPES, F32 as _F32, F64 as _F64
from numloom.engine.guard import guard as _guard
from numloom.graph import node as _node

cdef enum:
    MOST = 1 << 8  # elements
    MOST_READ = 1 << 11  # elements of what is reduced
    MOST_PRODUCTS = 1 << 16  # of a matrix and a vector
    MOST_AXES = 4
    MOST_DOUBLES = 1 << 9  # as wide as so many elements of the widest dtype

cdef int LEAF = _node.LEAF, OP = _node.OP, REDUCE = _node.REDUCE
cdef int F32 = _F32, F64 = _F64
cdef Register register = _node.register
cdef Guard guard = _guard
cdef int alignments[32]
for _code, _dtype in enumerate(DTYPES):
    alignments[_code] = _dtype.alignment


cdef inline bint is_there(Node node, int code) except -1:
    """Whether a value is computed memory of a dtype, which the host may read at once."""
    return node.kind == LEAF and node.code == code and node.attr is not None and is_quiet(node.buffer)


cdef bint is_few(tuple shape) noexcept:
    """Whether an operand of this shape may be one of few elements; what it broadcasts to has no fewer, or none."""
    cdef Py_ssize_t size = 1
    for extent in shape:
        size *= <Py_ssize_t>extent
        if size > MOST:
            return False
    return True


cdef bint lies_in_order(tuple shape, tuple strides) except -1:
    """Whether no axis has shorter steps than a later one, so that a result lies in C order; of one axis none has."""
    cdef Py_ssize_t axis, step, last = 0
    if len(shape) == 1:
        return True
    for axis in range(len(shape) - 1, -1, -1):
        if <Py_ssize_t>shape[axis] == 1:
            continue
        step = <Py_ssize_t>strides[axis]
        step = -step if step < 0 else step
        if step <= last:
            return False
        last = step
    return True


cdef tuple common_shape(tuple left, tuple right):
    """The shape that two broadcast to; None where they do not."""
    cdef Py_ssize_t rank, axis, a, b, lead
    cdef tuple longer = left, shorter = right
    cdef list extents
    if left is right or left == right:
        return left
    if len(left) < len(right):
        longer, shorter = right, left
    rank = len(longer)
    lead = rank - len(shorter)
    extents = list(longer)
    for axis in range(lead, rank):
        a = <Py_ssize_t>longer[axis]
        b = <Py_ssize_t>shorter[axis - lead]
        if a != b:
            if a == 1:
                extents[axis] = shorter[axis - lead]
            elif b != 1:
                return None
    return one_tuple(tuple(extents))


cdef void spread(StridedSpace* space, int k, tuple shape, tuple strides) noexcept:
    """How an operand goes over a space to whose shape it is broadcast."""
    cdef int lead = space.rank - <int>len(shape), axis
    for axis in range(space.rank):
        if axis < lead or (<Size>shape[axis - lead] == 1 and space.shape[axis] != 1):
            space.strides[k][axis] = 0
        else:
            space.strides[k][axis] = <Size>strides[axis - lead]


cdef inline bint is_aligned(char* start, StridedSpace* space, int k, int alignment) noexcept:
    cdef Size all = <Size><intptr_t>start
    cdef int axis
    for axis in range(space.rank):
        all |= space.strides[k][axis]
    return all % alignment == 0


cdef Node operate_on_few(
    object op_def, bint alone, Operand* first, Node left, tuple left_shape, tuple left_strides,
    Operand* second, Node right, tuple right_shape, tuple right_strides,
):
    """An operation on computed memory seen through layouts, and on numbers (no node, no axes); None if not for here."""
    cdef StridedSpace space
    cdef char* start[3]
    cdef double converted[2][2]
    cdef double packed[2][MOST_DOUBLES]
    cdef long long words[MOST_WORDS]
    cdef Way* way
    cdef Operand* given
    cdef Pool pool
    cdef Buffer buffer
    cdef Node node, result = None
    cdef tuple shape, strides
    cdef Py_ssize_t axis, size = 1
    cdef long long asked
    cdef int k, nin = 1 if alone else 2, code, loop_code, out
    cdef void* cast
    cdef bint dense
    shape = left_shape if alone or not right_shape else right_shape if not left_shape else common_shape(left_shape, right_shape)
    if shape is None or len(shape) > MOST_AXES:
        return None
    space.rank = len(shape)
    space.args = nin + 1
    for axis in range(space.rank):
        space.shape[axis] = <Py_ssize_t>shape[axis]
        size *= space.shape[axis]
        if not 0 < size <= MOST:
            return None
    if register.symbols or register.open or (left is not None and not is_there(left, first.code)):
        return None
    if not alone and right is not None and not is_there(right, second.code):
        return None
    if space.rank > 1 and not (
        (not left_shape or lies_in_order(left_shape, left_strides))
        and (not right_shape or lies_in_order(right_shape, right_strides))
    ):
        return None
    if space.rank > 1 and 1 in shape and not (  # The steps of such axes follow the operands' in NumPy.
        (not left_shape or is_dense(left_shape, left_strides, itemsize_of(first.code)))
        and (not right_shape or is_dense(right_shape, right_strides, itemsize_of(second.code)))
    ):
        return None
    pool = near_pool()
    if pool is None:
        return None
    way = way_of(op_def, first.code, ALONE if alone else second.code)
    if way is NULL:
        return None
    out = way.out
    asked = pool.asked
    try:
        buffer = pool.allocate(size * itemsize_of(out))
    except MemoryError:  # Which belongs to the value, when somebody looks at that.
        return None
    start[nin] = <char*><intptr_t>buffer.ptr
    if left is not None and shape is left_shape and is_dense(shape, left_strides, itemsize_of(out)):
        strides = left_strides
    elif not alone and right is not None and shape is right_shape and is_dense(shape, right_strides, itemsize_of(out)):
        strides = right_strides
    else:
        result = new_value(buffer, out, shape, True)
        strides = result.strides
    if result is None:
        result = new_node(LEAF, None, (), out, shape, strides, size, 0)
        result.buffer = buffer
        result.result = True
    # Others may have run meanwhile, and none does from here on: what lies where is read now.
    if asked != pool.asked and not (
        (left is None or is_there(left, first.code)) and (alone or right is None or is_there(right, second.code))
    ):
        return None
    if way.op_def is not <void*>op_def or way.first != first.code or way.second != (ALONE if alone else second.code):
        return None  # Others have taken its place in the table.
    for k in range(nin):
        node = left if k == 0 else right
        code = first.code if k == 0 else second.code
        loop_code = way.loop_first if k == 0 else way.loop_second
        cast = way.cast_first if k == 0 else way.cast_second
        if node is None:
            given = first if k == 0 else second
            if not convert(code, given.number, loop_code, cast, converted[k]):
                return None
            start[k] = <char*>converted[k]
            for axis in range(space.rank):
                space.strides[k][axis] = 0
            continue
        if k == 0:
            spread(&space, 0, left_shape, left_strides)
        else:
            spread(&space, 1, right_shape, right_strides)
        start[k] = <char*><intptr_t>(<Buffer>node.buffer).ptr + (first.offset if k == 0 else second.offset)
        if not is_aligned(start[k], &space, k, alignments[code]):
            return None
        if cast is not NULL:
            convert_all(&space, k, size, <Loop>cast, &start[k], <char*>packed[k], itemsize_of(loop_code))
    spread(&space, nin, shape, strides)
    simplify(space)
    if way.loop is not NULL:
        run_operation(<Loop>way.loop, way.data, start, space, itemsize_of(out))
        return result
    for k in range(nin):  # These go over elements that lie one after the other.
        loop_code = way.loop_first if k == 0 else way.loop_second
        dense = space.rank == 0 or (space.rank == 1 and space.strides[k][0] == itemsize_of(loop_code))
        if not dense and start[k] is not <char*>packed[k]:
            pack(&space, k, itemsize_of(loop_code), &start[k], <char*>packed[k])
    for k in range(way.words):
        words[k] = size if way.word[k] < 0 else <long long><intptr_t>start[way.word[k]]
    way.package(words, 0, size)
    return result


cdef Node multiply_few(
    Node left, int code, Py_ssize_t offset, tuple shape, tuple strides,
    Node right, Py_ssize_t right_offset, tuple right_shape, tuple right_strides, bint across,
):
    """The products of a vector and a matrix's rows (`across`: columns), as many as are not worth a plan."""
    cdef StridedSpace space
    cdef char* start[3]
    cdef Py_ssize_t kept = 1 if across else 0, itemsize = itemsize_of(code)
    cdef Py_ssize_t rows = <Py_ssize_t>shape[kept], count = <Py_ssize_t>shape[1 - kept]
    cdef Py_ssize_t row_step = <Py_ssize_t>strides[kept], step = <Py_ssize_t>strides[1 - kept]
    cdef Py_ssize_t vector_step = <Py_ssize_t>right_strides[0]
    cdef bint fast
    cdef Pool pool
    cdef Buffer buffer
    cdef long long asked
    if (code != F64 and code != F32) or count != <Py_ssize_t>right_shape[0] or register.symbols or register.open:
        return None
    if not 0 < rows * count <= MOST_PRODUCTS or count > MOST_DOTTED_ROW:
        return None
    # Which axis of the products lies dense decides by which tree they are added up.
    if lies_in_order(shape, strides):
        fast = not across
    elif rows > 1 and count > 1 and row_step and step and abs(row_step) != abs(step):
        fast = across
    else:
        return None
    if not is_there(left, code) or not is_there(right, code):
        return None
    pool = near_pool()
    if pool is None:
        return None
    asked = pool.asked
    try:
        buffer = pool.allocate(rows * itemsize)
    except MemoryError:  # Which belongs to the value, when somebody looks at that.
        return None
    if asked != pool.asked and not (is_there(left, code) and is_there(right, code)):  # Others have run meanwhile.
        return None
    start[0] = <char*><intptr_t>(<Buffer>left.buffer).ptr + offset
    start[1] = <char*><intptr_t>(<Buffer>right.buffer).ptr + right_offset
    start[2] = <char*><intptr_t>buffer.ptr
    if (<intptr_t>start[0] | <intptr_t>start[1] | row_step | step | vector_step) % itemsize:
        return None
    space.rank = 2
    space.args = 3
    space.shape[0] = rows
    space.shape[1] = count
    space.strides[0][0] = row_step
    space.strides[0][1] = step
    space.strides[1][0] = 0
    space.strides[1][1] = vector_step
    space.strides[2][0] = itemsize
    space.strides[2][1] = 0
    if code == F64:
        dots_of[double](fast, start, space)
    else:
        dots_of[float](fast, start, space)
    return new_value(buffer, code, one_tuple((rows,)), True)


cdef bint run_few(Node node) except -1:
    """Run a value that was just recorded, of which nobody has seen that, if it is one of few elements; whether it ran."""
    if node.size > MOST or not OP <= node.kind <= REDUCE or (<Node>node.args[0]).size > MOST_READ:
        return False
    if node.tree or register.symbols or register.open:
        return False
    if guard.owner or near_pool() is None or learning():  # Who runs something now may be at what this is made of.
        return False
    device = near_device()
    try:
        return run_one(node, device, device is not current(), False)
    except MemoryError:  # Which belongs to the value, when somebody looks at that.
        return False


cdef inline bint is_dense(tuple shape, tuple strides, Py_ssize_t itemsize) except -1:
    """Whether a layout is that of an array in C order."""
    cdef Py_ssize_t axis, step = itemsize
    for axis in range(len(shape) - 1, -1, -1):
        if <Py_ssize_t>strides[axis] != step:
            return False
        step *= <Py_ssize_t>shape[axis]
    return True


cdef void convert_all(
    StridedSpace* space, int k, Py_ssize_t size, Loop cast, char** start, char* to, Py_ssize_t itemsize
) noexcept:
    """Convert an operand to another dtype, its elements one after the other."""
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
    run_loop(cast, NULL, ends, one)
