cimport cython


@cython.final
cdef class Counters:
    cdef public Py_ssize_t kernels
    cdef public Py_ssize_t library_calls
    cdef public Py_ssize_t copies
    cdef public Py_ssize_t doubts
    cdef public Py_ssize_t plans
    cdef public Py_ssize_t resized
    cdef public Py_ssize_t flushes
    cdef public Py_ssize_t waits
    cdef readonly object profiler
    cdef readonly object recorder
    cdef readonly bint watched

    cpdef object profile_by(self, object profiler)
    cpdef object record_by(self, object recorder)


cdef Counters _counters

@cython.locals(c=Counters)
cpdef void count_flush() noexcept
@cython.locals(c=Counters)
cpdef void count_kernel() noexcept
