cimport cython
from numloom.array.ndarray cimport apply1, apply2, ndarray, node_of, record2, wrap
from numloom.array.storage cimport write
from numloom.graph.build cimport cast, elementwise, unary
from numloom.graph.node cimport Node
from numloom.graph.replay cimport Chains, replay


cdef int BOOL
cdef object _SAME_KIND, _ANY


cdef class ElementwiseCall:
    cdef public object _row
    cdef public tuple _rows
    cdef public int nin
    cdef public int nout
    cdef void* entry


@cython.locals(results=list)
cpdef object call_plainly(ElementwiseCall function, object x, object y, object out)


@cython.locals(result=ndarray)
cpdef object choose_plainly(object row, ndarray condition, ndarray x, ndarray y)


cpdef bint store_plainly(ndarray out, Node node) except -1


@cython.final
cdef class Plain:
    cdef readonly object general
    cdef readonly Chains chains


cdef bint _is_plain(object axis) except -1

@cython.locals(operand=Node, node=Node, keep=cython.bint, given=ndarray, result=ndarray, one=object)
cpdef object reduce_plainly(Plain function, object array, object axis, object keepdims)

@cython.locals(left=ndarray, right=ndarray, a=Node, b=Node, node=Node, result=ndarray)
cpdef object combine_plainly(Plain function, object x, object y)
@cython.locals(node=Node)
cpdef bint is_whole(ndarray array) except -1
