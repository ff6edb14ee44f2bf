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

cdef tuple _NOTHING
cdef Py_ssize_t _AXES, _SLOTS


@cython.final
cdef class Layouts:
    cdef Py_ssize_t kept[8192]
    cdef int counts[512]
    cdef list shapes
    cdef list strides

    @cython.locals(slot=cython.Py_ssize_t, at=cython.Py_ssize_t, begin=cython.Py_ssize_t, axis=cython.Py_ssize_t)
    cdef Py_ssize_t find(self, Py_ssize_t* numbers, Py_ssize_t count) except -1


cdef Layouts _layouts

@cython.locals(layouts=Layouts, items=tuple, several=cython.bint, given=cython.Py_ssize_t, ndim=cython.Py_ssize_t,
               axis=cython.Py_ssize_t, at=cython.Py_ssize_t, left=cython.Py_ssize_t, seen=cython.bint, item=object, extent=cython.Py_ssize_t, stride=cython.Py_ssize_t,
               position=cython.Py_ssize_t, start=cython.Py_ssize_t, count=cython.Py_ssize_t, step=cython.Py_ssize_t,
               slot=cython.Py_ssize_t, numbers=cython.Py_ssize_t[16])
cpdef Basic simple(Py_ssize_t offset, tuple shape, tuple strides, object index)

@cython.locals(layouts=Layouts, ndim=cython.Py_ssize_t, axis=cython.Py_ssize_t, slot=cython.Py_ssize_t,
               numbers=cython.Py_ssize_t[16])
cpdef Basic turned(tuple shape, tuple strides)

@cython.locals(layouts=Layouts, count=cython.Py_ssize_t, size=cython.Py_ssize_t, axis=cython.Py_ssize_t,
               extent=cython.Py_ssize_t, open_at=cython.Py_ssize_t, product=cython.Py_ssize_t, step=cython.Py_ssize_t,
               slot=cython.Py_ssize_t, numbers=cython.Py_ssize_t[16])
cpdef Basic recut(tuple shape, tuple strides, tuple wanted, Py_ssize_t itemsize)

@cython.locals(layouts=Layouts, count=cython.Py_ssize_t, axis=cython.Py_ssize_t, extent=cython.Py_ssize_t,
               slot=cython.Py_ssize_t, numbers=cython.Py_ssize_t[16])
cpdef Basic squeezed(tuple shape, tuple strides)

@cython.locals(axis=cython.Py_ssize_t, extent=cython.Py_ssize_t, step=cython.Py_ssize_t)
cpdef bint in_c_order(tuple shape, tuple strides, Py_ssize_t itemsize) except -1
