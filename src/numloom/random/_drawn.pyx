# cython: boundscheck=False, wraparound=False, cdivision=True
"""A few random numbers at once, by the loop that their kernel has for an element, from the blocks that it would take.

None where that is not for here: then nothing is taken.
"""

from libc.stdint cimport intptr_t, uint32_t, uint64_t
from libc.string cimport memcpy

from numloom.array.ndarray cimport ndarray, of_number, wrap
from numloom.device.memory cimport Buffer
from numloom.device.registry cimport beside, current
from numloom.engine._indexing cimport itemsize_of, new_value
from numloom.graph.build cimport one_tuple

from numloom.engine._drawing import MOST as _MOST, draw as _draw

cdef enum:
    ROOM = 1 << 10

cdef Py_ssize_t MOST = _MOST
assert MOST <= ROOM
cdef object draw = _draw
cdef uint64_t found[ROOM]
cdef uint64_t sums[ROOM]

cdef Py_ssize_t count_of(object size) except -1:
    """How many numbers a size is, 0 if it is not for here."""
    cdef Py_ssize_t count
    if size is None:
        return 1
    if type(size) is not int:
        return 0
    return size if 0 < size <= MOST else 0


cdef ndarray array_of(Py_ssize_t count, int code, const void* start):
    cdef Py_ssize_t nbytes = count * itemsize_of(code)
    cdef double copy[ROOM]
    memcpy(copy, start, nbytes)  # Allocating may run finalisers, and so other draws.
    device = current()
    near = beside(device)
    cdef Buffer buffer = (device if near is None else near).pool.allocate(nbytes)
    memcpy(<void*><intptr_t>buffer.ptr, copy, nbytes)
    return wrap(new_value(buffer, code, one_tuple((count,)), True))


def floats(object source, object op_def, int code, object size):
    """One number (of no `size`), or a vector of them, of an operation whose results have this dtype."""
    cdef double number[2]
    cdef Py_ssize_t count = count_of(size)
    if not count or not draw(source, op_def, code, count, None, <intptr_t>found):
        return None
    if size is None:
        memcpy(number, found, 8)
        return of_number(code, number)
    return array_of(count, code, found)


def integers(object source, object op_def, int out, object size, object start, object amount, int code):
    """One whole number (of no `size`), or a vector of them: `amount` of dtype `code` from `start` on (both mod 2**64)."""
    cdef double number[2]
    cdef uint64_t low = start, each
    cdef Py_ssize_t k, itemsize = itemsize_of(code), count = count_of(size)
    if not count or not draw(source, op_def, out, count, amount, <intptr_t>found):
        return None
    for k in range(count):
        each = (<uint32_t*>found)[k] if itemsize_of(out) == 4 else found[k]
        each += low
        sums[k] = each
    for k in range(count):
        memcpy(<char*>found + k * itemsize, &sums[k], itemsize)
    if size is None:
        memcpy(number, found, 8)
        return of_number(code, number)
    return array_of(count, code, found)
