cimport cython
from numloom.array.ndarray cimport ndarray, wrap
from numloom.array.ndarray cimport pinned as is_pinned
from numloom.engine.evaluate cimport evaluate as evaluate_values
from numloom.graph.node cimport Node


cdef int VIEW
cdef list _NOTHING
cdef object _ALL

@cython.locals(value=Node)
cdef list waiting(object given)
@cython.locals(value=Node)
cpdef object insist(object given)
cpdef bint pinned(object operands) except -1

@cython.locals(result=ndarray)
cpdef ndarray deliver(Node node, object operands=*)
