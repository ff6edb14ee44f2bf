cimport cython
from numloom.graph.node cimport Node


@cython.final
cdef class Walk:
    cdef public list nodes
    cdef public list counts
    cdef public tuple key


@cython.final
cdef class Epoch:
    cdef public Py_ssize_t number


@cython.locals(result=Walk, nodes=list, counts=list, epoch=cython.Py_ssize_t, stack=list, positions=list, root=Node,
               node=Node, arg=Node, position=cython.Py_ssize_t, args=tuple)
cpdef Walk walk(list roots)

@cython.locals(nodes=list, counts=list, key=list, shape=tuple, strides=tuple, node=Node, arg=Node, base=Node, kind=cython.int,
               number=cython.Py_ssize_t, held=cython.Py_ssize_t)
cpdef tuple make_key(Walk result, Py_ssize_t root_count)
