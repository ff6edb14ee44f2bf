cimport cython
from numloom.graph.node cimport Node, Register


@cython.final
cdef class Walk:
    cdef public list nodes
    cdef public unsigned long long first
    cdef public unsigned long long second


@cython.final
cdef class Epoch:
    cdef public Py_ssize_t number


cdef Epoch _epoch
cdef dict _numbers
cdef unsigned long long _MASK, _P1, _P2, _P3, _P4
cdef int FILL, LEAF, OP, UPDATE, VIEW

@cython.locals(r=Register, roots=list, node=Node, generated=cython.bint)
cpdef list pending_roots(object wanted)

@cython.locals(result=Walk, nodes=list, epoch=cython.Py_ssize_t, stack=list, positions=list, root=Node,
               node=Node, arg=Node, position=cython.Py_ssize_t, args=tuple)
cpdef Walk walk(list roots)

@cython.locals(nodes=list, shape=tuple, strides=tuple, node=Node, arg=Node, base=Node, kind=cython.int,
               word=cython.ulonglong, first=cython.ulonglong, second=cython.ulonglong, updates=cython.bint,
               number=cython.longlong)
cpdef object make_key(Walk result, Py_ssize_t root_count)

@cython.locals(number=object)
cpdef unsigned long long number_of(object thing)
