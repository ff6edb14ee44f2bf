# distutils: language = c++
# cython: boundscheck=False, wraparound=False, cdivision=True
"""Small memory of the host read and written at index arrays and masks at once: no value is recorded, no routine called.

What is not simply so (memory that is not computed, rows that do not lie together, an index out of bounds) is left to
whoever records.
"""

from libc.stdint cimport int64_t, intptr_t

from numloom.device.memory cimport Buffer, Pool
from numloom.engine.look cimport is_quiet
from numloom.graph.build cimport one_tuple
from numloom.graph.node cimport Node, new_node

import numpy

from numloom.base.dtypes import BOOL as _BOOL, DTYPES, I64 as _I64
from numloom.graph import node as _node
from numloom.graph.build import one_tuple as _one_tuple
from numloom.graph.layout import c_strides

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(object) noexcept

cdef extern from "chosen.hpp" namespace "numloom" nogil:
    cdef cppclass StridedSpace:
        int rank
        int args
        Py_ssize_t shape[64]
        Py_ssize_t strides[6][64]
        StridedSpace()
    Py_ssize_t count_chosen(char**, const StridedSpace&) noexcept
    void read_chosen(int, char**, const StridedSpace&, char*) noexcept
    void find_chosen(char**, const StridedSpace&, int64_t**) noexcept

cdef extern from "rows.hpp" namespace "numloom" nogil:
    bint _add_offsets "numloom::add_offsets"(
        Py_ssize_t*, const char*, int, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t
    ) noexcept
    bint _read_at_indices "numloom::read_at_indices"(
        char*, const char*, Py_ssize_t, Py_ssize_t, const char*, int, Py_ssize_t, Py_ssize_t, Py_ssize_t
    ) noexcept
    void _read_rows "numloom::read_rows"(char*, const char*, const Py_ssize_t*, Py_ssize_t, Py_ssize_t) noexcept
    void _write_rows "numloom::write_rows"(
        char*, const Py_ssize_t*, Py_ssize_t, Py_ssize_t, const char*, Py_ssize_t
    ) noexcept
    Py_ssize_t _count_true "numloom::count_true"(const char*, Py_ssize_t, Py_ssize_t) noexcept
    void _read_where "numloom::read_where"(
        char*, Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t
    ) noexcept
    void _write_where "numloom::write_where"(
        char*, Py_ssize_t, Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t, const char*, Py_ssize_t
    ) noexcept

cdef int LEAF = _node.LEAF, BOOL = _BOOL, INT64 = _I64
cdef int sizes[32]
for _code, _dtype in enumerate(DTYPES):
    sizes[_code] = _dtype.itemsize
cdef type HOST = numpy.ndarray
cdef list vectors = [_one_tuple((_size,)) for _size in range(17)]  # strides


cdef bint take_rows(
    Rows* rows, Node node, int code, Py_ssize_t offset, tuple shape, tuple strides, Py_ssize_t lead
) except -1:
    """See memory as rows along its first `lead` axes, if it is computed, small, and lies so that it can be."""
    cdef Py_ssize_t axis, rank = len(shape), expected = sizes[code]
    cdef Buffer buffer
    if node.kind != LEAF or node.code != code or node.attr is None or lead > rank or not is_quiet(node.buffer):
        return False
    buffer = node.buffer
    for axis in range(rank - 1, lead - 1, -1):
        if <Py_ssize_t>strides[axis] != expected:
            return False
        expected *= <Py_ssize_t>shape[axis]
    rows.bytes = expected
    rows.count = 1
    rows.step = 0
    for axis in range(lead - 1, -1, -1):
        if axis == lead - 1:
            rows.step = <Py_ssize_t>strides[axis]
        elif <Py_ssize_t>strides[axis] != rows.step * rows.count:
            return False
        rows.count *= <Py_ssize_t>shape[axis]
    rows.start = <char*><intptr_t>buffer.ptr + offset
    return 0 < rows.count <= MASKED and 0 < rows.bytes <= MOST


cdef bint take_block(
    Rows* rows, Node node, int code, Py_ssize_t offset, tuple shape, tuple strides, Py_ssize_t lead
) except -1:
    """`take_rows` where the first axes may lie in any way: the memory's begin and the bytes of a row."""
    cdef Py_ssize_t axis, expected = sizes[code]
    if node.kind != LEAF or node.code != code or node.attr is None or not is_quiet(node.buffer):
        return False
    for axis in range(len(shape) - 1, lead - 1, -1):
        if <Py_ssize_t>strides[axis] != expected:
            return False
        expected *= <Py_ssize_t>shape[axis]
    rows.bytes = expected
    rows.start = <char*><intptr_t>(<Buffer>node.buffer).ptr + offset
    return 0 < rows.bytes <= MOST


cdef Py_ssize_t itemsize_of(int code) noexcept:
    return sizes[code]


cdef bint is_alone(Node node) noexcept:
    """Whether nobody but a storage and the caller has a value and its memory, so that this may change."""
    cdef Buffer buffer = node.buffer
    return (
        Py_REFCNT(node) <= 2 and Py_REFCNT(buffer) <= 2 and buffer.owner is None and type(node.attr) is not HOST
    )


cdef Node new_value(Buffer buffer, int code, tuple shape, bint result):
    """A computed value of some rows in C order; whether it is made of other values."""
    cdef Py_ssize_t axis, step = sizes[code], size = 1, rank = len(shape)
    cdef list strides
    cdef Node node
    if 0 in shape:
        node = new_node(LEAF, None, (), code, shape, one_tuple(c_strides(shape, sizes[code])), 0, 0)
    elif rank == 1:
        node = new_node(LEAF, None, (), code, shape, vectors[sizes[code]], <Py_ssize_t>shape[0], 0)
    else:
        strides = [0] * rank
        for axis in range(rank - 1, -1, -1):
            strides[axis] = step
            step *= <Py_ssize_t>shape[axis]
            size *= <Py_ssize_t>shape[axis]
        node = new_node(LEAF, None, (), code, shape, one_tuple(tuple(strides)), size, 0)
    node.buffer = buffer
    node.result = result
    return node


cdef bint add_offsets(Py_ssize_t* offsets, Rows* index, int code, Py_ssize_t extent, Py_ssize_t step) noexcept:
    """Add where indices along an axis lead, in bytes; False if one is out of bounds."""
    return _add_offsets(offsets, index.start, code, index.step, index.count, extent, step)


cdef bint read_at_indices(char* to, Rows* rows, Rows* index, int code, Py_ssize_t extent) noexcept:
    """Rows at indices along the first axis, one after the other; False if one is out of bounds."""
    return _read_at_indices(to, rows.start, rows.step, rows.bytes, index.start, code, index.step, index.count, extent)


cdef void read_rows(char* to, const char* source, const Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t bytes) noexcept:
    """Rows at offsets, one after the other."""
    _read_rows(to, source, offsets, count, bytes)


cdef void write_rows(
    char* to, const Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t bytes, const char* values, Py_ssize_t step
) noexcept:
    """Store rows (by `step` bytes from one to the next) at offsets, of equal ones the last."""
    _write_rows(to, offsets, count, bytes, values, step)


cdef Py_ssize_t count_true(Rows* mask) noexcept:
    """How many truth values are true."""
    return _count_true(mask.start, mask.step, mask.count)


cdef void write_where(Rows* target, Py_ssize_t bytes, Rows* mask, const char* values, Py_ssize_t step) noexcept:
    """Store the begins of rows (by `step` bytes from one to the next) where a mask is true."""
    _write_where(target.start, target.step, bytes, mask.start, mask.step, mask.count, values, step)


cdef Node read_where(Rows* source, Rows* mask, Pool pool, int code, tuple rest):
    """Rows where a mask is true, of memory that the caller holds; None where the mask was written to meanwhile."""
    cdef Py_ssize_t count = count_true(mask)
    cdef long long asked = pool.asked
    cdef Buffer buffer = pool.allocate(max(count * source.bytes, 1))
    if asked != pool.asked and count_true(mask) != count:
        return None
    _read_where(
        <char*><intptr_t>buffer.ptr, count, source.start, source.step, source.bytes, mask.start, mask.step, mask.count
    )
    return new_value(buffer, code, one_tuple((count, *rest)), True)


cdef bint add_layout(
    StridedSpace* space, char** start, Node node, int code, Py_ssize_t offset, tuple shape, tuple strides
) except -1:
    """Let a space go over one more array, if its memory is computed."""
    cdef int axis, k = space.args
    if node.kind != LEAF or node.code != code or node.attr is None or len(shape) > 64 or not is_quiet(node.buffer):
        return False
    space.rank = len(shape)
    space.args = k + 1
    for axis in range(space.rank):
        space.shape[axis] = <Py_ssize_t>shape[axis]
        space.strides[k][axis] = <Py_ssize_t>strides[axis]
    start[k] = <char*><intptr_t>(<Buffer>node.buffer).ptr + offset
    return True


cdef Node elements_where(
    Node mask, Py_ssize_t mask_offset, tuple mask_strides, Node source, int code, Py_ssize_t offset, tuple shape, tuple strides
):
    """Elements where a mask of the same shape (not empty) is true; None if they are not there yet, or no more."""
    cdef StridedSpace space
    cdef char* start[2]
    cdef Buffer buffer, read, mask_read = mask.buffer  # Held: while memory is asked for, others may write to these arrays.
    cdef long long asked
    cdef Py_ssize_t count
    space.args = 0
    if not add_layout(&space, start, mask, BOOL, mask_offset, shape, mask_strides):
        return None
    if not add_layout(&space, start, source, code, offset, shape, strides):
        return None
    count = count_chosen(start, space)
    read = source.buffer
    asked = read.pool.asked
    buffer = read.pool.allocate((count + 1) * sizes[code])
    if asked != read.pool.asked and count_chosen(start, space) != count:
        return None
    if count:
        read_chosen(sizes[code], start, space, <char*><intptr_t>buffer.ptr)
    return new_value(buffer, code, one_tuple((count,)), True)


cdef list places_where(Node mask, Py_ssize_t offset, tuple shape, tuple strides):
    """Indices along each axis where a mask (not empty) is true, in C order; None if it is not there yet, or no more."""
    cdef StridedSpace space
    cdef char* start[1]
    cdef int64_t* to[8]
    cdef Buffer buffer, read = mask.buffer
    cdef long long asked
    cdef Py_ssize_t count, axis
    cdef list found = []
    space.args = 0
    if not add_layout(&space, start, mask, BOOL, offset, shape, strides):
        return None
    count = count_chosen(start, space)
    asked = read.pool.asked
    for axis in range(len(shape)):
        buffer = read.pool.allocate((count + 1) * 8)
        to[axis] = <int64_t*><intptr_t>buffer.ptr
        found.append(buffer)
    if asked != read.pool.asked and count_chosen(start, space) != count:
        return None
    if count:
        find_chosen(start, space, to)
    for axis in range(len(shape)):
        found[axis] = new_value(found[axis], INT64, one_tuple((count,)), True)
    return found
