cimport cython
from numloom.array.ndarray cimport ndarray, node_of, wrap
from numloom.array.storage cimport Storage, set_value
from numloom.engine.evaluate cimport evaluate
from numloom.engine.state cimport Counters
from numloom.engine.tape cimport Tape, runs_by_loops
from numloom.engine.taped cimport TapedCall, run_taped
from numloom.graph.node cimport Node, hold, unhold
from numloom.graph.replay cimport RecordedTrace, replay


cdef int FILL, LEAF, SCALAR, VIEW
cdef Counters _counters


@cython.final
cdef class CallState:
    cdef public TapedCall taped
    cdef public bint runs
    cdef public list loops
    cdef public Py_ssize_t calls
    cdef public Py_ssize_t next
    @cython.locals(tape=Tape)
    cpdef bint is_ready(self) except -1


@cython.locals(
    count=cython.Py_ssize_t, place=cython.Py_ssize_t, array=ndarray, like=Node, node=Node, operands=list,
)
cpdef list computed_operands(list likes, object args)

@cython.locals(arrays=list, found=list, ready=cython.bint, records=cython.bint)
cpdef list run_fast(RecordedTrace recorded, tuple results, list updated, bint may_fail, CallState state, list operands)

@cython.locals(node=Node)
cpdef list wrap_all(list nodes)

@cython.locals(place=cython.Py_ssize_t, node=Node)
cdef object update(list arrays, Py_ssize_t first, list updated)
