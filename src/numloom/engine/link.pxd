cimport cython
from numloom.engine._words cimport Words
from numloom.engine.tape cimport Launch, Linked, Parameter, Tape


@cython.final
cdef class Pattern:
    cdef public Launch launch
    cdef public Py_ssize_t number
    cdef public object specialisation
    cdef public list allocate
    cdef public Py_ssize_t copied
    cdef public list words
    cdef public list geometry
    cdef public list offsets


@cython.locals(known=Launch, launch=Launch, linked=Linked, words=Words, word=cython.Py_ssize_t, slot=cython.Py_ssize_t,
               at=cython.Py_ssize_t)
cpdef Launch resized(Pattern pattern, list values, list sizes)
