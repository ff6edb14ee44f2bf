cimport cython
from numloom.graph.build cimport how
from numloom.graph.node cimport Form, Node, Register, count_recorded, form_of, formed, formed1, formed2, new_node, new_number, viewed

cdef int CAST, FILL, GATHER, IOTA, LEAF, OP, REDUCE, SCALAR, SPECIAL, UPDATE, VIEW
cdef list _traces
cdef bint _off
cdef Register _register


@cython.final
cdef class Link:
    cdef readonly Form form
    cdef readonly Py_ssize_t first
    cdef readonly Py_ssize_t second
    cdef readonly tuple rest
    cdef readonly object attr
    cdef readonly object call


@cython.final
cdef class Mold:
    cdef readonly int code
    cdef readonly tuple shape
    cdef readonly tuple strides
    cdef readonly bint seen


@cython.final
cdef class Chain:
    cdef readonly object given
    cdef readonly Mold first
    cdef readonly list molds
    cdef readonly object shared
    cdef readonly list links
    cdef readonly bint straight
    cdef readonly object ending
    cdef readonly tuple results


@cython.final
cdef class Chains:
    cdef readonly dict known
    cdef readonly Chain last
    cdef readonly dict met


@cython.locals(chain=Chain)
cpdef Chain find(Chains chains, object given, list operands)
@cython.locals(chain=Chain, mold=Mold)
cpdef Node again(Chains chains, object given, Node operand)
@cython.locals(values=list, args=list, node=Node, link=Link, form=Form, place=cython.Py_ssize_t, offset=cython.Py_ssize_t, row=object)
cpdef Node replay(Chain chain, list operands)
@cython.locals(alone=cython.bint, node=Node, base=Node)
cpdef bint can_follow(list operands) except -1
@cython.locals(place=cython.Py_ssize_t, other=cython.Py_ssize_t, memory=Node)
cpdef object sharing(list operands)
@cython.locals(place=cython.Py_ssize_t, node=Node, mold=Mold)
cdef bint _fits(Chain chain, object given, list operands) except -1
@cython.locals(times=cython.Py_ssize_t)
cpdef object begin(Chains chains, object given, list operands, bint keeps=*)
@cython.locals(key=list, node=Node)
cdef object _key(object given, list operands)
cdef Node _memory(Node node)
cdef Py_ssize_t _begin(Node node) except? -1
cpdef object lose()

cpdef bint learning() noexcept
