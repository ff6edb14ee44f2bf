cimport cython
from numloom.device.memory cimport Buffer, Pool


@cython.final
cdef class NullKernel:
    cdef object __weakref__
    cdef readonly object text
    cdef readonly object entry


@cython.final
cdef class NullDevice:
    cdef readonly Pool pool
    cdef readonly object allocate
    cdef public Py_ssize_t launches
    cdef object _scratch
    cdef long long _end
    cdef object _kernels
    cdef object __weakref__
    cpdef object launch(self, object kernel, object params, object geometry)
