"""What a class written in Python cannot say of itself: the buffer protocol before Python 3.12, the public name,
members that are known later, and that no instance is made without what it needs."""

from cpython.buffer cimport PyObject_GetBuffer
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

cdef extern from "Python.h":
    ctypedef struct PyBufferProcs:
        int (*bf_getbuffer)(object, Py_buffer*, int) except -1
        void* bf_releasebuffer

    ctypedef PyObject* (*Make "newfunc")(TypeObject*, PyObject*, PyObject*) except NULL

    ctypedef struct TypeObject "PyTypeObject":
        PyBufferProcs* tp_as_buffer
        Make tp_new
        void* tp_init
        void* tp_vectorcall
        const char* tp_name
        const char* tp_doc
        PyObject* tp_dict
        unsigned long tp_flags

    unsigned long Py_TPFLAGS_BASETYPE, Py_TPFLAGS_HEAPTYPE
    TypeObject PyBaseObject_Type
    void PyType_Modified(type)


cdef object _host_array = None
cdef object _construct = None
cdef bytes _doc = None
cdef PyBufferProcs _procs


cdef int _get_buffer(object array, Py_buffer* view, int flags) except -1:
    # The view belongs to the NumPy array over the same memory, and so does its release.
    return PyObject_GetBuffer(_host_array(array), view, flags)


cdef PyObject* _make(TypeObject* cls, PyObject* args, PyObject* options) except NULL:
    made = _construct(<type><void*>cls, *<tuple>args, **(<dict>options if options is not NULL else {}))
    Py_INCREF(made)
    return <PyObject*>made


def finish_type(type cls, object host_array, object construct, str doc):
    """Give the compiled class buffers (of the NumPy arrays that `host_array` gives), its public name and text, and
    what it does when called: instances that are made here and there are not made that way."""
    global _host_array, _construct, _doc
    cdef TypeObject* made = <TypeObject*><void*>cls
    if made.tp_flags & Py_TPFLAGS_HEAPTYPE:
        return
    _host_array, _construct, _doc = host_array, construct, doc.encode()
    _procs.bf_getbuffer = _get_buffer
    _procs.bf_releasebuffer = NULL
    made.tp_as_buffer = &_procs
    made.tp_new = _make
    made.tp_vectorcall = NULL
    made.tp_name = "numloom.ndarray"
    made.tp_doc = _doc
    (<dict>made.tp_dict)["__doc__"] = doc
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


def _refuse(*args, **options):
    """``__new__`` of a class whose instances are made by functions, or by a call that gives all they need."""
    raise TypeError("instances of this class of numloom are not made this way")


cdef PyObject* _make_none(TypeObject* cls, PyObject* args, PyObject* options) except NULL:
    _refuse()


def seal(type cls):
    """Let nobody make an instance of a compiled class that was not filled: its methods would read what is not there.

    Calls of a class that has an ``__init__`` stay, and so do those that the compiled core makes by itself. A class
    that others derive from is left as it is.
    """
    cdef TypeObject* sealed = <TypeObject*><void*>cls
    if sealed.tp_flags & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_BASETYPE):
        return
    (<dict>sealed.tp_dict)["__new__"] = staticmethod(_refuse)
    if sealed.tp_init == PyBaseObject_Type.tp_init:
        sealed.tp_new = _make_none
        sealed.tp_vectorcall = NULL
    PyType_Modified(cls)
