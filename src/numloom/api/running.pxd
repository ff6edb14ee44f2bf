cimport cython
from numloom.array.ndarray cimport ndarray, storage_of, wrap
from numloom.array.ndarray cimport pinned as is_pinned
from numloom.engine.evaluate cimport evaluate as evaluate_values
from numloom.graph.node cimport Node, Register


cdef int VIEW
cdef list _NOTHING
cdef object _ALL
cdef Register register

cdef bint is_computed(object given) except -1
@cython.locals(value=Node)
cdef list waiting(object given)
@cython.locals(value=Node)
cpdef object insist(object given)
cpdef bint pinned(object operands) except -1

@cython.locals(result=ndarray)
cpdef ndarray deliver(Node node, object operands=*)
