# cython: boundscheck=False, wraparound=False, cdivision=True
"""Small memory of the host read and written at index arrays and masks at once: no value is recorded, no routine called.

What is not simply so (memory that is not computed, rows that do not lie together, an index out of bounds) is left to
whoever records.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, intptr_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from numloom.device.memory cimport Buffer, Pool
from numloom.engine.look cimport is_quiet
from numloom.graph.build cimport one_tuple
from numloom.graph.node cimport Node, new_node

import numpy

from numloom.base.dtypes import DTYPES
from numloom.graph import node as _node
from numloom.graph.build import one_tuple as _one_tuple
from numloom.graph.layout import c_strides

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(object) noexcept

cdef int LEAF = _node.LEAF
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
    return 0 < rows.count <= MOST and 0 < rows.bytes <= MOST


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


cdef inline void move(char* to, const char* source, Py_ssize_t count) noexcept:
    if count == 8:
        memcpy(to, source, 8)
    elif count == 4:
        memcpy(to, source, 4)
    elif count == 1:
        to[0] = source[0]
    elif count == 16:
        memcpy(to, source, 16)
    else:
        memcpy(to, source, count)


cdef inline int64_t index_at(const char* at, int code) noexcept:
    if code == 7:
        return (<const int64_t*>at)[0]
    if code == 5:
        return (<const int32_t*>at)[0]
    if code == 1:
        return (<const int8_t*>at)[0]
    if code == 2:
        return (<const uint8_t*>at)[0]
    if code == 3:
        return (<const int16_t*>at)[0]
    if code == 4:
        return (<const uint16_t*>at)[0]
    if code == 6:
        return (<const uint32_t*>at)[0]
    return <int64_t>(<const uint64_t*>at)[0]  # NumPy too counts the largest ones from the end.


cdef bint add_offsets(Py_ssize_t* offsets, Rows* index, int code, Py_ssize_t extent, Py_ssize_t step) noexcept:
    """Add where indices along an axis lead, in bytes; False if one is out of bounds."""
    cdef const char* at = index.start
    cdef Py_ssize_t place
    cdef int64_t row
    for place in range(index.count):
        row = index_at(at, code)
        if row < 0:
            row += extent
        if row < 0 or row >= extent:
            return False
        offsets[place] += row * step
        at += index.step
    return True


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


cdef void read_rows(char* to, const char* source, const Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t bytes) noexcept:
    """Rows at offsets, one after the other."""
    cdef Py_ssize_t place
    for place in range(count):
        move(to, source + offsets[place], bytes)
        to += bytes


cdef void write_rows(
    char* to, const Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t bytes, const char* values, Py_ssize_t step
) noexcept:
    """Store rows (by `step` bytes from one to the next) at offsets, of equal ones the last."""
    cdef Py_ssize_t place
    for place in range(count):
        move(to + offsets[place], values, bytes)
        values += step


cdef Py_ssize_t count_true(Rows* mask) noexcept:
    """How many truth values are true."""
    cdef Py_ssize_t place, count = 0
    cdef const char* at = mask.start
    for place in range(mask.count):
        count += at[0] != 0
        at += mask.step
    return count


cdef Node read_where(Rows* source, Rows* mask, Pool pool, int code, tuple rest):
    """Rows where a mask is true."""
    cdef Py_ssize_t count = count_true(mask), place
    cdef Buffer buffer = pool.allocate(max(count * source.bytes, 1))
    cdef char* to = <char*><intptr_t>buffer.ptr
    cdef const char* at = mask.start
    cdef const char* row = source.start
    for place in range(mask.count):
        if at[0]:
            move(to, row, source.bytes)
            to += source.bytes
        at += mask.step
        row += source.step
    return new_value(buffer, code, one_tuple((count, *rest)), True)


cdef void write_where(Rows* target, Py_ssize_t bytes, Rows* mask, const char* values, Py_ssize_t step) noexcept:
    """Store the begins of rows (by `step` bytes from one to the next) where a mask is true."""
    cdef Py_ssize_t place
    cdef const char* at = mask.start
    cdef char* row = target.start
    for place in range(mask.count):
        if at[0]:
            move(row, values, bytes)
            values += step
        at += mask.step
        row += target.step


cdef list places_where(Rows* mask, Pool pool, tuple shape):
    """Indices of what is true along each axis, in C order."""
    cdef Py_ssize_t count = count_true(mask), place, axis, rank = len(shape), number = 0
    cdef Py_ssize_t lengths[8]
    cdef Py_ssize_t index
    cdef int64_t* to[8]
    cdef const char* at = mask.start
    cdef Buffer buffer
    cdef list found = []
    for axis in range(rank):
        lengths[axis] = <Py_ssize_t>shape[axis]
        buffer = pool.allocate(max(count * 8, 1))
        to[axis] = <int64_t*><intptr_t>buffer.ptr
        found.append(new_value(buffer, 7, one_tuple((count,)), True))
    for place in range(mask.count):
        if at[0]:
            index = place
            for axis in range(rank - 1, 0, -1):
                to[axis][number] = index % lengths[axis]
                index //= lengths[axis]
            to[0][number] = index
            number += 1
        at += mask.step
    return found
