"""Bounds of a slice without an object for each: see ``slicing.py``."""

cdef extern from "Python.h":
    int PySlice_Unpack(object, Py_ssize_t*, Py_ssize_t*, Py_ssize_t*) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t*, Py_ssize_t*, Py_ssize_t)


cpdef (Py_ssize_t, Py_ssize_t, Py_ssize_t) bounds(object item, Py_ssize_t extent) except *:
    cdef Py_ssize_t start, stop, step, count
    PySlice_Unpack(item, &start, &stop, &step)
    count = PySlice_AdjustIndices(extent, &start, &stop, step)
    return start, count, step
