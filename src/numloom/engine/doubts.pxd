cimport cython
from numloom.device.memory cimport Buffer
from numloom.engine.state cimport Counters
from numloom.graph.node cimport Node

cdef Counters _counters
cdef int GATHER, LEAF, VIEW


@cython.final
cdef class Doubt:
    cdef object __weakref__
    cdef public object opened
    cdef public tuple parents
    cdef readonly bint stored
    cdef public object error
    cdef readonly bint heard
    cdef bint counted
    cpdef bint is_groundless(self) except -1
    cpdef object close(self)
    cdef void _uncount(self) noexcept


@cython.locals(doubt=Doubt)
cpdef Doubt doubt_of(Buffer buffer)
@cython.locals(found=list)
cpdef Doubt joined(object device, object parents)
@cython.locals(found=list, any_found=bint, place=cython.Py_ssize_t, number=cython.Py_ssize_t, node=Node, arg=Node,
               doubt=Doubt, other=Doubt, several=list)
cpdef list spread(object device, list nodes)
@cython.locals(doubt=Doubt)
cpdef object launched(list doubts)
@cython.locals(waiting=list)
cpdef object hear(object device)
cpdef list begin(object device)
cpdef object conclude(object device, list waiting)
@cython.locals(doubt=Doubt, wrong=Doubt)
cpdef object tell(object device, Buffer buffer)
