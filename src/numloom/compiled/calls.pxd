cimport cython
from numloom.array.ndarray cimport ndarray, node_of, wrap
from numloom.array.storage cimport Storage, set_value
from numloom.engine.evaluate cimport evaluate
from numloom.graph.node cimport Node
from numloom.graph.replay cimport RecordedTrace, replay


cdef int LEAF


@cython.locals(
    count=cython.Py_ssize_t, place=cython.Py_ssize_t, first=cython.Py_ssize_t, number=cython.Py_ssize_t,
    array=ndarray, like=Node, node=Node, cell=Storage, operands=list, arrays=list, wanted=list,
)
cpdef object run_fast(RecordedTrace recorded, tuple results, list likes, list storages, list updated, object args)
