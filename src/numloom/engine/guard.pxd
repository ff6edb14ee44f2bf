cimport cython

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident()

cdef inline unsigned long get_ident():
    return PyThread_get_thread_ident()


@cython.final
cdef class Guard:
    cdef readonly unsigned long owner
    cdef readonly Py_ssize_t depth
    cdef readonly Py_ssize_t waiting
    cdef object turn
    cdef object __weakref__
    @cython.locals(me="unsigned long")
    cpdef object take(self)
    cdef object _wait(self)
    cpdef object give(self)
