cimport cython
from numloom.kernels.arguments cimport Signature


cdef class RawKernel:
    cdef readonly object source
    cdef readonly object name
    cdef readonly bint cooperative
    cdef object _device
    cdef object _function
    cdef bint _packs
    cdef Signature _signature
    cdef dict _geometries
    cdef dict __dict__

    @cython.locals(size=tuple, pinned=list, packed=bytes, signature=Signature)
    cpdef _launch(self, object grid, object block, tuple args, object shared_mem, object stream)
