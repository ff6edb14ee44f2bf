cimport cython
from numloom.graph.node cimport Form, Node, formed1

cdef int LEAF, VIEW


@cython.final
cdef class Chain:
    cdef readonly int code
    cdef readonly tuple shape
    cdef readonly tuple strides
    cdef readonly bint seen
    cdef readonly object axis
    cdef readonly bint keepdims
    cdef readonly list links


@cython.final
cdef class Chains:
    cdef readonly dict known
    cdef readonly Chain last


@cython.locals(chain=Chain, seen=cython.bint, node=Node, link=Form)
cpdef Node replay(Chains chains, Node operand, object axis, bint keepdims)
