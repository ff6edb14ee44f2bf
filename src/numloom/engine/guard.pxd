cimport cython

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident()

cdef inline unsigned long get_ident():
    return PyThread_get_thread_ident()


@cython.final
cdef class Guard:
    cdef readonly unsigned long owner
    cdef readonly Py_ssize_t depth
    cdef readonly list queue
    cdef public bint running
    cdef object __weakref__
    @cython.locals(me="unsigned long")
    cpdef object take(self)
    cdef object _wait(self, unsigned long me)
    cpdef object give(self)
    cpdef bint is_mine(self)
    cpdef bint is_between(self)
    @cython.locals(thread="unsigned long")
    cdef object _hand_over(self)
