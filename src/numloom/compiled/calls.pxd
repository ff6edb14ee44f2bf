cimport cython
from numloom.array.ndarray cimport ndarray, node_of, wrap
from numloom.array.storage cimport Storage, set_value
from numloom.engine.evaluate cimport evaluate
from numloom.engine.state cimport Counters
from numloom.engine.tape cimport Tape, runs_by_loops
from numloom.engine.taped cimport TapedCall, run_taped
from numloom.graph.node cimport Node, Register, hold, tracing, unhold
from numloom.graph.again cimport RecordedTrace, replay


cdef int FILL, LEAF, SCALAR, VIEW
cdef Counters _counters
cdef Register _register
cdef bint _verify


@cython.final
cdef class CallState:
    cdef public RecordedTrace recorded
    cdef public tuple results
    cdef public list updated
    cdef public list likes
    cdef public list storages
    cdef public bint may_fail
    cdef public bint drawn
    cdef public bint plain
    cdef public TapedCall taped
    cdef public bint runs
    cdef public list loops
    cdef public Py_ssize_t calls
    cdef public Py_ssize_t next
    @cython.locals(tape=Tape)
    cpdef bint is_ready(self) except -1


cdef class Known:
    cdef public CallState state


cdef class Called:
    cdef public Known ready


@cython.locals(
    count=cython.Py_ssize_t, place=cython.Py_ssize_t, array=ndarray, like=Node, node=Node, operands=list,
    waiting=list, found=Node, strides=tuple,
)
cpdef list computed_operands(list likes, object args)

@cython.locals(arrays=list, found=list, ready=cython.bint, records=cython.bint, recorded=RecordedTrace, results=tuple,
               updated=list)
cpdef list run_fast(CallState state, list operands)

@cython.locals(node=Node)
cpdef list wrap_all(list nodes)

@cython.locals(place=cython.Py_ssize_t, node=Node)
cdef object update(list arrays, Py_ssize_t first, list updated)
