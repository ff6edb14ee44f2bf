# cython: boundscheck=False, wraparound=False
"""Short vectors at once: products of two, and lists of numbers that become one. None where it is not for here."""

from libc.stdint cimport intptr_t

from numloom.array.ndarray cimport ndarray, of_number, take_number
from numloom.engine._indexing cimport Rows, itemsize_of, take_rows
from numloom.engine._numbers cimport MOST_DOTTED, dot_rows, is_host
from numloom.graph.replay cimport learning

import numpy

from numloom.base.dtypes import DTYPES, F32 as _F32, F64 as _F64

cdef int F32 = _F32, F64 = _F64


def dot(ndarray x, ndarray y):
    """The dot product of two computed vectors of floats, by the tree that sums have."""
    cdef Rows left, right
    cdef double number[2]
    cdef tuple shape = x.extents
    if len(shape) != 1 or (shape is not y.extents and shape != y.extents) or x.code != y.code:
        return None
    if x.code != F64 and x.code != F32 or <Py_ssize_t>shape[0] > MOST_DOTTED or learning():
        return None
    if x.held is None or y.held is None or x.held.pins or y.held.pins or not is_host():
        return None
    if not take_rows(&left, x.held.value, x.code, x.offset, shape, x.steps, 1):
        return None
    if not take_rows(&right, y.held.value, y.code, y.offset, shape, y.steps, 1):
        return None
    dot_rows(x.code == F32, left.start, left.step, right.start, right.step, left.count, number)
    return of_number(x.code, number)


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
