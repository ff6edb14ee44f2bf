cimport cython
from numloom.array._slicing cimport bounds


@cython.final
cdef class Basic:
    cdef public Py_ssize_t offset
    cdef public tuple shape
    cdef public tuple strides
    cdef public bint scalar


@cython.locals(basic=Basic)
cpdef Basic new_basic(Py_ssize_t offset, tuple shape, tuple strides, bint scalar)

@cython.locals(items=tuple, given=cython.Py_ssize_t, ndim=cython.Py_ssize_t, new_shape=list, new_strides=list,
               axis=cython.Py_ssize_t, item=object, extent=cython.Py_ssize_t, stride=cython.Py_ssize_t,
               position=cython.Py_ssize_t, start=cython.Py_ssize_t, count=cython.Py_ssize_t, step=cython.Py_ssize_t)
cpdef Basic simple(Py_ssize_t offset, tuple shape, tuple strides, object index)
