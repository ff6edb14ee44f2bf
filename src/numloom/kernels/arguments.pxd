cimport cython
from numloom.array.ndarray cimport ndarray
from numloom.array.storage cimport Storage
from numloom.graph.node cimport Node


cdef class Signature:
    cdef readonly str name
    cdef readonly tuple parameters
    cdef readonly object layout
    cdef readonly bint known
    cdef readonly bytes kinds
    cdef readonly tuple accepted
    cdef readonly bytes constants
    cdef readonly Py_ssize_t count
    cdef readonly object packer

    @cython.locals(
        at=Py_ssize_t, kind=int, accepted=long, kinds=bytes, values=list, array=ndarray, storage=Storage, node=Node
    )
    cpdef bytes pack(self, tuple args, list pinned)
