"""What a class written in Python cannot say of itself: the buffer protocol before Python 3.12, the public name,
and members that are known later."""

from cpython.buffer cimport PyObject_GetBuffer
from cpython.object cimport PyObject

cdef extern from "Python.h":
    ctypedef struct PyBufferProcs:
        int (*bf_getbuffer)(object, Py_buffer*, int) except -1
        void* bf_releasebuffer

    ctypedef struct TypeObject "PyTypeObject":
        PyBufferProcs* tp_as_buffer
        const char* tp_name
        PyObject* tp_dict
        unsigned long tp_flags

    unsigned long Py_TPFLAGS_HEAPTYPE
    void PyType_Modified(type)


cdef object _host_array = None
cdef PyBufferProcs _procs


cdef int _get_buffer(object array, Py_buffer* view, int flags) except -1:
    # The view belongs to the NumPy array over the same memory, and so does its release.
    return PyObject_GetBuffer(_host_array(array), view, flags)


def finish_type(type cls, object host_array):
    """Give the compiled class buffers (of the NumPy arrays that `host_array` gives) and its public name."""
    global _host_array
    cdef TypeObject* made = <TypeObject*><void*>cls
    if made.tp_flags & Py_TPFLAGS_HEAPTYPE:
        return
    _host_array = host_array
    _procs.bf_getbuffer = _get_buffer
    _procs.bf_releasebuffer = NULL
    made.tp_as_buffer = &_procs
    made.tp_name = "numloom.ndarray"
    PyType_Modified(cls)


def set_member(type cls, str name, member):
    """Give the compiled class a member; None takes it away."""
    cdef TypeObject* made = <TypeObject*><void*>cls
    if made.tp_flags & Py_TPFLAGS_HEAPTYPE:
        if member is None:
            delattr(cls, name)
        else:
            setattr(cls, name, member)
        return
    members = <dict>made.tp_dict
    if member is None:
        del members[name]
    else:
        members[name] = member
    PyType_Modified(cls)
