# cython: boundscheck=False, wraparound=False
"""Short vectors at once: products of two, or of one and a matrix, and lists of numbers that become one.

None where it is not for here.
"""

from libc.stdint cimport int64_t, intptr_t
from libc.string cimport memcpy

from numloom.array.ndarray cimport ndarray, of_number, take_number, wrap
from numloom.device.memory cimport Buffer, Pool
from numloom.device.registry cimport beside, current
from numloom.engine._indexing cimport Rows, itemsize_of, new_value, take_rows
from numloom.engine._few cimport multiply_few
from numloom.engine._numbers cimport MOST_DOTTED, WEAK_FLOAT, WEAK_INT, dot_rows, is_host
from numloom.graph.build cimport one_tuple
from numloom.graph.node cimport Node
from numloom.graph.again cimport learning

import numpy

from numloom.base.config import config
from numloom.base.dtypes import DTYPES, F32 as _F32, F64 as _F64, I64 as _I64
from numloom.engine.state import watchers

cdef enum:
    MOST_LISTED = 256  # numbers

cdef int F32 = _F32, F64 = _F64, I64 = _I64
cdef double listed[MOST_LISTED]
cdef bint whole[MOST_LISTED]  # of these numbers: integers


cpdef object product(ndarray x, ndarray y):
    """The product of two computed vectors of floats, or of a matrix and a vector, by the tree that sums have."""
    cdef Rows left, right
    cdef double number[2]
    cdef tuple shape = x._shape
    if len(shape) == 2 and len(y._shape) == 1:
        return of_rows(x, y, False)
    if len(shape) == 1 and len(y._shape) == 2:
        return of_rows(y, x, True)
    if len(shape) != 1 or (shape is not y._shape and shape != y._shape) or x.code != y.code:
        return None
    if x.code != F64 and x.code != F32 or <Py_ssize_t>shape[0] > MOST_DOTTED or learning():
        return None
    if x.held is None or y.held is None or x.held.pins or y.held.pins or not is_host():
        return None
    if <Py_ssize_t>shape[0] == 0:  # A triangle's first row.
        number[0] = number[1] = 0
        return of_number(x.code, number)
    if not take_rows(&left, x.held.value, x.code, x.offset, shape, x._strides, 1):
        return None
    if not take_rows(&right, y.held.value, y.code, y.offset, shape, y._strides, 1):
        return None
    dot_rows(x.code == F32, left.start, left.step, right.start, right.step, left.count, number)
    return of_number(x.code, number)


cdef object of_rows(ndarray matrix, ndarray vector, bint across):
    """The products of a vector and a matrix's rows (or, `across`, its columns) as a vector."""
    cdef Node found
    if matrix.code != vector.code or matrix.held is None or vector.held is None or matrix.held.pins or vector.held.pins:
        return None
    found = multiply_few(
        matrix.held.value, matrix.code, matrix.offset, matrix._shape, matrix._strides, vector.held.value, vector.offset,
        vector._shape, vector._strides, across,
    )
    return None if found is None else wrap(found)


def gathered(list items):
    """Numbers that are known, all of one dtype, as an array of NumPy's."""
    cdef Py_ssize_t place, itemsize = 0, k, count = len(items)
    cdef int code = -1, found
    cdef double number[2]
    cdef char* at = NULL
    if not count or learning():
        return None
    for place in range(count):
        item = items[place]
        if type(item) is not ndarray:
            return None
        found = take_number(item, number)
        if found < 0 or (code >= 0 and found != code):
            return None
        if at is NULL:
            code = found
            itemsize = itemsize_of(code)
            host = numpy.empty(count, DTYPES[code])
            at = <char*><intptr_t>host.__array_interface__["data"][0]
        for k in range(itemsize):
            at[place * itemsize + k] = (<char*>number)[k]
    return host


cdef Py_ssize_t take_list(object items, Py_ssize_t count) except -2:
    """Put the numbers of a list into `listed` from `count` on; how many there are then, or -1."""
    cdef double number[2]
    cdef int code
    for item in items:
        code = take_number(item, number)
        if count == MOST_LISTED:
            return -1
        if code == WEAK_FLOAT or code == F64:
            whole[count] = False
        elif code == WEAK_INT or code == I64:
            whole[count] = True
        else:  # Numbers of other classes may say another one when asked.
            return -1
        listed[count] = number[0]
        count += 1
    return count


cpdef object array_of(object items, int wanted):
    """A list of float64 and int64 numbers, or of equally long lists of such, as an array of ours.

    `wanted` is the code of its dtype, or -1 for what NumPy would choose.
    """
    cdef Py_ssize_t rows = len(items), count = 0, before = 0, width = -1, place
    cdef bint integers = True, ours = False
    cdef int64_t integer
    cdef int code
    cdef tuple shape  # Made before numbers are listed, as that may run finalizers, which list others.
    if not rows or rows > MOST_LISTED or watchers or learning() or not is_host():
        return None
    kind = type(items[0])
    if kind is list or kind is tuple:
        shape = one_tuple((rows, len(items[0])))
        for row in items:
            if type(row) is not kind:
                return None
            count = take_list(row, before)
            if count <= before or (width >= 0 and count - before != width):
                return None
            width = count - before
            before = count
    else:
        shape = one_tuple((rows,))
        count = take_list(items, 0)
        if count < 0:
            return None
    for place in range(count):
        integers = integers and whole[place]
    code = I64 if integers else F64
    if wanted >= 0 and wanted != code:
        if wanted != F64:
            return None
        code = F64
    if code == F64:
        for place in range(count):
            if whole[place]:
                memcpy(&integer, &listed[place], 8)
                listed[place] = <double>integer
    near = beside(current())
    if near is not None and count > config.unplanned:
        return None
    for place in range(rows):
        item = items[place]
        ours = ours or type(item) is ndarray or holds_ours(item)
    return stored((current() if near is None else near).pool, count, code, shape, ours)


cdef bint holds_ours(object row):
    """Whether a list or tuple of numbers has one of ours."""
    if type(row) is list or type(row) is tuple:
        for item in row:
            if type(item) is ndarray:
                return True
    return False


cdef ndarray stored(Pool pool, Py_ssize_t count, int code, tuple shape, bint ours):
    """The first numbers of `listed` as an array in memory of the host; it is a result where some of them are `ours`."""
    cdef double number[MOST_LISTED]
    memcpy(number, listed, count * sizeof(double))  # Before memory is asked for, when others may list theirs.
    cdef Buffer buffer = pool.allocate(count * sizeof(double))
    memcpy(<void*><intptr_t>buffer.ptr, number, count * sizeof(double))
    return wrap(new_value(buffer, code, shape, ours))
