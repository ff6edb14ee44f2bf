cimport cython
from numloom.array.ndarray cimport ndarray, node_of, wrap
from numloom.array.storage cimport Storage, set_value
from numloom.engine.evaluate cimport evaluate
from numloom.engine.prepared cimport CallState, Prepared, run_prepared
from numloom.engine.state cimport Counters
from numloom.graph.node cimport Node, hold, unhold
from numloom.graph.replay cimport RecordedTrace, replay


cdef int FILL, LEAF, SCALAR, VIEW
cdef Counters _counters


@cython.locals(
    count=cython.Py_ssize_t, place=cython.Py_ssize_t, array=ndarray, like=Node, node=Node, operands=list,
)
cpdef list computed_operands(list likes, object args)

@cython.locals(arrays=list, found=list)
cpdef list run_fast(RecordedTrace recorded, tuple results, list updated, bint may_fail, CallState state, list operands)

@cython.locals(node=Node)
cpdef list wrap_all(list nodes)

@cython.locals(place=cython.Py_ssize_t, node=Node)
cdef object update(list arrays, Py_ssize_t first, list updated)
