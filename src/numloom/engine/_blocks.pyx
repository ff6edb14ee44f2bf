# distutils: language = c++
# cython: boundscheck=False, wraparound=False, cdivision=True
"""Computed memory of the host written, copied and listed through layouts at once: no value is recorded.

Nothing is done where others have the memory, where a call is learned, or where there is much of it: that is left to
whoever records.
"""

from libc.stdint cimport intptr_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from numloom.device.cpu._hostview cimport number_at
from numloom.device.memory cimport Buffer
from numloom.engine._indexing cimport is_alone, itemsize_of, new_value
from numloom.engine._numbers cimport is_host
from numloom.engine._ready cimport StridedSpace, copy_all, pack, simplify
from numloom.engine.look cimport is_quiet
from numloom.graph.node cimport Node

from numloom.graph import node as _node

cdef enum:
    MOST = 1 << 13  # elements
    MOST_AXES = 8
    MOST_BYTES = 1 << 17  # of so many of the widest dtype

cdef int LEAF = _node.LEAF
cdef char scratch[MOST_BYTES]


cdef Py_ssize_t size_of(tuple shape) except -1:
    """How many elements a layout has, if it is for here; else 0."""
    cdef Py_ssize_t size = 1, axis
    if len(shape) > MOST_AXES:
        return 0
    for axis in range(len(shape)):
        size *= <Py_ssize_t>shape[axis]
        if size > MOST:
            return 0
    return size


cdef bint is_open(Node node, int code) except -1:
    """Whether memory may be written to at once."""
    return node.kind == LEAF and node.code == code and node.attr is not None and is_quiet(node.buffer) and is_alone(node)


cdef bint fill_part(
    Node node, int code, Py_ssize_t offset, tuple shape, tuple strides, const double* number
) except -1:
    """Store a number of the memory's dtype through a layout; whether that was done."""
    cdef StridedSpace space
    cdef char* start[2]
    cdef Py_ssize_t itemsize = itemsize_of(code), size, axis
    if not is_host() or not is_open(node, code):
        return False
    size = size_of(shape)
    if not size:
        return False
    start[1] = <char*><intptr_t>(<Buffer>node.buffer).ptr + offset
    if len(shape) == 1 and <Py_ssize_t>strides[0] == itemsize and <intptr_t>start[1] % itemsize == 0:
        fill_dense(start[1], size, number, itemsize)
        return True
    start[0] = <char*>number
    space.rank = len(shape)
    space.args = 2
    for axis in range(space.rank):
        space.shape[axis] = <Py_ssize_t>shape[axis]
        space.strides[0][axis] = 0
        space.strides[1][axis] = <Py_ssize_t>strides[axis]
    if overlaps(&space, itemsize):  # In part, as bytes may: the last one stays.
        return False
    simplify(space)
    copy_all(itemsize, start, space)
    return True


cdef bint copy_part(
    Node node, int code, Py_ssize_t offset, tuple shape, tuple strides,
    Node source, Py_ssize_t source_offset, tuple source_shape, tuple source_strides,
) except -1:
    """Store computed values of the same dtype, repeated to the layout's shape, through a layout; whether that was done.

    Without a `source` they lie in the same memory, of which the caller has no second reference then.
    """
    cdef StridedSpace space
    cdef char* start[2]
    cdef Py_ssize_t itemsize = itemsize_of(code), lead = len(shape) - len(source_shape), axis, extent, given
    if lead < 0 or not is_host() or not is_open(node, code) or not size_of(shape):
        return False
    if source is None:
        source = node
    if source.kind != LEAF or source.code != code or source.attr is None or not is_quiet(source.buffer):
        return False
    space.rank = len(shape)
    space.args = 2
    for axis in range(space.rank):
        extent = <Py_ssize_t>shape[axis]
        space.shape[axis] = extent
        space.strides[1][axis] = <Py_ssize_t>strides[axis]
        given = 1 if axis < lead else <Py_ssize_t>source_shape[axis - lead]
        if given == extent and axis >= lead:
            space.strides[0][axis] = <Py_ssize_t>source_strides[axis - lead]
        elif given == 1:
            space.strides[0][axis] = 0
        else:
            return False
    if overlaps(&space, itemsize):  # Of elements that are written twice the last one stays.
        return False
    start[0] = <char*><intptr_t>(<Buffer>source.buffer).ptr + source_offset
    start[1] = <char*><intptr_t>(<Buffer>node.buffer).ptr + offset
    if source is node:  # All is read before anything is written.
        pack(&space, 0, itemsize, start, scratch)
    simplify(space)
    copy_all(itemsize, start, space)
    return True


cdef bint overlaps(StridedSpace* space, Py_ssize_t itemsize) noexcept:
    """Whether elements of what is written may lie over each other."""
    cdef Py_ssize_t steps[MOST_AXES]
    cdef Py_ssize_t extents[MOST_AXES]
    cdef Py_ssize_t count = 0, axis, at, step, reach = itemsize
    for axis in range(space.rank):
        if space.shape[axis] == 1:
            continue
        step = space.strides[1][axis]
        step = -step if step < 0 else step
        at = count
        while at > 0 and steps[at - 1] > step:
            steps[at] = steps[at - 1]
            extents[at] = extents[at - 1]
            at -= 1
        steps[at] = step
        extents[at] = space.shape[axis]
        count += 1
    for at in range(count):
        if steps[at] < reach:
            return True
        reach += (extents[at] - 1) * steps[at]
    return False


cdef void fill_dense(char* to, Py_ssize_t count, const double* number, Py_ssize_t itemsize) noexcept:
    """A number in each of some elements that lie one after the other."""
    cdef Py_ssize_t place
    if itemsize == 8:
        for place in range(count):
            (<uint64_t*>to)[place] = (<const uint64_t*>number)[0]
    elif itemsize == 4:
        for place in range(count):
            (<uint32_t*>to)[place] = (<const uint32_t*>number)[0]
    elif itemsize == 2:
        for place in range(count):
            (<uint16_t*>to)[place] = (<const uint16_t*>number)[0]
    elif itemsize == 1:
        memset(to, (<const unsigned char*>number)[0], count)
    else:
        for place in range(count):
            memcpy(to + place * itemsize, number, itemsize)


cdef Node dense_copy(Node node, int code, Py_ssize_t offset, tuple shape, tuple strides):
    """Computed memory seen through a layout as a value of its own in C order; None where that is not for here."""
    cdef StridedSpace space
    cdef char* start[2]
    cdef Py_ssize_t itemsize = itemsize_of(code), size, axis
    cdef Buffer buffer, read
    if node.kind != LEAF or node.code != code or node.attr is None or not is_quiet(node.buffer) or not is_host():
        return None
    size = size_of(shape)
    if not size:
        return None
    read = <Buffer>node.buffer  # Held: while memory is asked for, others may write.
    try:
        buffer = read.pool.allocate(size * itemsize)
    except MemoryError:  # Which belongs to the copy, when somebody looks at that.
        return None
    start[0] = <char*><intptr_t>read.ptr + offset
    if len(shape) == 1 and <Py_ssize_t>strides[0] == itemsize:
        memcpy(<void*><intptr_t>buffer.ptr, start[0], size * itemsize)
    else:
        space.rank = len(shape)
        space.args = 1
        for axis in range(space.rank):
            space.shape[axis] = <Py_ssize_t>shape[axis]
            space.strides[0][axis] = <Py_ssize_t>strides[axis]
        pack(&space, 0, itemsize, start, <char*><intptr_t>buffer.ptr)
    return new_value(buffer, code, shape, True)


cdef object listed(Node node, int code, Py_ssize_t offset, tuple shape, tuple strides):
    """Computed memory as (nested) lists of Python's numbers; None where that is not for here."""
    cdef Buffer read
    if node.kind != LEAF or node.code != code or node.attr is None or not is_quiet(node.buffer):
        return None
    if not size_of(shape):
        return None
    read = node.buffer  # Held: making lists may run finalizers.
    return lists_of(<char*><intptr_t>read.ptr + offset, code, shape, strides, 0)


cdef object lists_of(char* at, int code, tuple shape, tuple strides, Py_ssize_t axis):
    cdef Py_ssize_t place, step
    cdef list found
    if axis == len(shape):
        return number_at(<intptr_t>at, code)
    step = <Py_ssize_t>strides[axis]
    if axis == len(shape) - 1:
        return [number_at(<intptr_t>(at + place * step), code) for place in range(<Py_ssize_t>shape[axis])]
    return [lists_of(at + place * step, code, shape, strides, axis + 1) for place in range(<Py_ssize_t>shape[axis])]
