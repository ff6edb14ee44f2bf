cimport cython


@cython.final
cdef class Memo:
    cdef readonly dict entries
    cdef readonly Py_ssize_t room

    cpdef object keep(self, object key, object value)
    cpdef void forget_half(self)
    cpdef void forget(self)
