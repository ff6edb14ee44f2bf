cimport cython
from numloom.device.memory cimport Buffer
from numloom.device.registry cimport beside, current, is_mixed, several
from numloom.engine.evaluate cimport evaluate
from numloom.engine.guard cimport Guard
from numloom.engine.state cimport Counters
from numloom.graph.node cimport NodeSignature, Node, computed, signature_of

cdef int LEAF, VIEW
cdef tuple ITEMSIZES
cdef Counters _counters
cdef Guard _guard


cdef class Repeated:
    cdef readonly object op_def
    cdef readonly dict options
    cdef readonly dict complaints
    cdef readonly object device
    cdef readonly bint guarded
    cdef readonly bint runs
    cdef readonly bint asked
    cdef readonly object bound


@cython.final
cdef class Call(Repeated):
    cdef readonly NodeSignature signature
    cdef readonly Py_ssize_t nbytes


@cython.final
cdef class Fresh:
    cdef readonly NodeSignature signature


@cython.final
cdef class Change(Repeated):
    cdef readonly tuple seen
    cdef readonly Py_ssize_t offset


@cython.locals(at=list, memory=Buffer)
cdef Node _by_addresses(Call call, tuple operands)
@cython.locals(at=list)
cdef Node _changed(Change change, Node value, tuple operands)
@cython.locals(pending=list, node=Node, itemsize=cython.Py_ssize_t, begin=cython.Py_ssize_t, buffer=Buffer)
cdef bint _locate(tuple operands, list at, object device) except -1
