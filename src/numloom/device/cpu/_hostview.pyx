"""Arrays over memory by address, through NumPy's C interface: see ``hostview.py``."""

cimport numpy as np
from cpython.ref cimport PyObject, Py_INCREF
from libc.stdint cimport intptr_t

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        type subtype, np.dtype descr, int nd, np.npy_intp* dims, np.npy_intp* strides, void* data, int flags, PyObject* obj
    )
    int PyArray_SetBaseObject(np.ndarray array, object base) except -1

np.import_array()


def array_at(intptr_t address, tuple shape, tuple strides, np.dtype dtype, object owner=None):
    """An array over memory that is already there."""
    cdef np.npy_intp dims[64]
    cdef np.npy_intp steps[64]
    cdef int ndim = len(shape)
    cdef int axis
    cdef np.ndarray array
    if ndim > 64 or len(strides) != ndim:
        raise ValueError("shape and strides must be equally long, at most 64")
    for axis in range(ndim):
        dims[axis] = shape[axis]
        steps[axis] = strides[axis]
    Py_INCREF(dtype)  # NumPy takes this reference
    array = PyArray_NewFromDescr(np.ndarray, dtype, ndim, dims, steps, <void*>address, np.NPY_ARRAY_WRITEABLE, NULL)
    if owner is not None:
        Py_INCREF(owner)  # and this one
        PyArray_SetBaseObject(array, owner)
    return array
