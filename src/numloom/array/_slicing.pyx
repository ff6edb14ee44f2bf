"""Bounds of a slice without an object for each: see ``slicing.py``."""

from numloom.array.slicing import refuse_waiting

cdef extern from "Python.h":
    ctypedef struct Slice "PySliceObject":
        void* start
        void* stop
        void* step

    Py_ssize_t PY_SSIZE_T_MAX
    int PySlice_Unpack(object, Py_ssize_t*, Py_ssize_t*, Py_ssize_t*) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t*, Py_ssize_t*, Py_ssize_t)
    Py_ssize_t PyLong_AsSsize_t(object) except? -1


cdef inline Py_ssize_t bound(object given, Py_ssize_t missing) except? -1:
    return missing if given is None else PyLong_AsSsize_t(given)


cdef inline bint is_known(object given):
    return given is None or type(given) is int


cpdef (Py_ssize_t, Py_ssize_t, Py_ssize_t) bounds(object item, Py_ssize_t extent) except *:
    cdef Py_ssize_t start, stop, step, count
    cdef Slice* given = <Slice*><void*>item
    first, last = <object>given.start, <object>given.stop
    if (
        <object>given.step is None
        and (first is None or type(first) is int)
        and (last is None or type(last) is int)
    ):
        try:
            start, stop, step = bound(first, 0), bound(last, PY_SSIZE_T_MAX), 1
        except OverflowError:
            PySlice_Unpack(item, &start, &stop, &step)
    else:
        if not is_known(<object>given.step) or not is_known(first) or not is_known(last):
            refuse_waiting(item)
        PySlice_Unpack(item, &start, &stop, &step)
    count = PySlice_AdjustIndices(extent, &start, &stop, step)
    return start, count, step
