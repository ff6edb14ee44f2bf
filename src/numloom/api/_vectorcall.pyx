"""Calls of ufuncs without a tuple of their arguments (PEP 590), which a class written in Python cannot ask for."""

from cpython.object cimport PyObject

from numloom.api.calling cimport ElementwiseCall, call_fast

cdef extern from "Python.h":
    ctypedef struct TypeObject "PyTypeObject":
        Py_ssize_t tp_vectorcall_offset
        object (*tp_call)(object, object, object)
        unsigned long tp_flags

    unsigned long Py_TPFLAGS_HAVE_VECTORCALL
    Py_ssize_t PyVectorcall_NARGS(size_t)
    TypeObject* Py_TYPE(object)


cdef object call(ElementwiseCall function, PyObject* const* arguments, size_t flags, PyObject* names):
    cdef Py_ssize_t count = PyVectorcall_NARGS(flags)
    cdef Py_ssize_t place
    if names is NULL and count == function.nin:
        result = call_fast(function, <object>arguments[0], <object>arguments[1] if count > 1 else None, None)
        if result is not NotImplemented:
            return result
    cdef tuple keys = () if names is NULL else <tuple>names
    cdef object out = None
    if count == function.nin and len(keys) == 1 and keys[0] == "out":
        out = <object>arguments[count]
        result = call_fast(
            function, <object>arguments[0], <object>arguments[1] if count > 1 else None, out
        )
        if result is not NotImplemented:
            return result
    args = tuple([<object>arguments[place] for place in range(count)])
    options = {keys[place]: <object>arguments[count + place] for place in range(len(keys))}
    return Py_TYPE(function).tp_call(function, args, options)


def take_calls(ElementwiseCall function):
    """Have calls of a function come here; what has more to it than arguments and an output goes on to ``__call__``."""
    cdef TypeObject* made = Py_TYPE(function)
    function.entry = <void*>call
    made.tp_vectorcall_offset = <char*>&function.entry - <char*><void*>function
    made.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL
