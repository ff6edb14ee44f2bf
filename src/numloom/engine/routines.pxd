cimport cython
from numloom.device.memory cimport Buffer
from numloom.device.registry cimport current
from numloom.engine.evaluate cimport evaluate
from numloom.engine.state cimport Counters
from numloom.graph.node cimport Form, Node, computed

cdef int LEAF, VIEW
cdef tuple ITEMSIZES
cdef Counters _counters


@cython.final
cdef class Call:
    cdef readonly object row
    cdef readonly Form form
    cdef readonly Py_ssize_t nbytes
    cdef readonly dict options
    cdef readonly dict complaints
    cdef readonly object device
    cdef readonly bint runs
    cdef readonly bint asked
    cdef readonly object bound


@cython.final
cdef class Fresh:
    cdef readonly Form form


@cython.locals(pending=list, node=Node, at=list, itemsize=cython.Py_ssize_t, place=cython.Py_ssize_t, buffer=Buffer,
               memory=Buffer)
cdef Node _by_addresses(Call call, tuple operands)
