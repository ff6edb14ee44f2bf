from numloom.engine._words cimport Words

cdef enum:
    MOST_OPERANDS = 64


cdef class Looped:
    cdef object part
    cdef object rest
    cdef Py_ssize_t parts
    cdef int operands
    cdef int word[MOST_OPERANDS]
    cdef int alignment[MOST_OPERANDS]
    cdef Py_ssize_t advance[MOST_OPERANDS]
    cdef object program

    cpdef bint run(self, Words words) except -1
