cimport cython
from numloom.graph.build cimport how
from numloom.graph.node cimport Form, Node, form_of, formed1, formed2, viewed

cdef int CAST, LEAF, OP, REDUCE, SPECIAL, VIEW


@cython.final
cdef class Link:
    cdef readonly Form form
    cdef readonly Py_ssize_t first
    cdef readonly Py_ssize_t second
    cdef readonly Py_ssize_t offset


@cython.final
cdef class Chain:
    cdef readonly int code
    cdef readonly tuple shape
    cdef readonly tuple strides
    cdef readonly bint seen
    cdef readonly int other_code
    cdef readonly tuple other_shape
    cdef readonly tuple other_strides
    cdef readonly bint other_seen
    cdef readonly object axis
    cdef readonly bint keepdims
    cdef readonly list links
    cdef readonly bint straight


@cython.final
cdef class Chains:
    cdef readonly dict known
    cdef readonly Chain last


@cython.locals(chain=Chain, values=list, node=Node, link=Link, form=Form)
cpdef Node replay(Chains chains, Node a, Node b, object axis, bint keepdims)
cdef bint _can_follow(Node a, Node b) noexcept
cdef bint _fits(Chain chain, Node a, Node b, object axis, bint keepdims) noexcept
@cython.locals(seen=cython.bint, other=cython.bint)
cdef object _key(Node a, Node b, object axis, bint keepdims)
