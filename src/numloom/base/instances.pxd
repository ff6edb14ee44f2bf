"""What making and freeing an instance of a compiled class costs, for modules whose classes are made by the million.

CPython has functions for it that are called once for each instance, where a look would do: whether an exception is
under way (which Cython puts aside for ``__dealloc__``), and the header of memory from a free list. These are the same
with the common case in line. Where a build of Python counts or traces all instances, its own functions stay.
"""

cdef extern from *:
    """
    #if defined(CYTHON_COMPILING_IN_CPYTHON) && CYTHON_COMPILING_IN_CPYTHON && !defined(Py_LIMITED_API)
    #if PY_VERSION_HEX < 0x030C0000
    #define PyErr_Fetch(kind, value, trace) \\
        (PyErr_Occurred() ? (PyErr_Fetch)(kind, value, trace) : (void)(*(kind) = *(value) = *(trace) = NULL))
    #define PyErr_Restore(kind, value, trace) \\
        ((kind) || PyErr_Occurred() ? (PyErr_Restore)(kind, value, trace) : (void)0)
    #else
    #define PyErr_GetRaisedException() (PyErr_Occurred() ? (PyErr_GetRaisedException)() : NULL)
    #define PyErr_SetRaisedException(value) ((value) || PyErr_Occurred() ? (PyErr_SetRaisedException)(value) : (void)0)
    #endif
    #if PY_VERSION_HEX < 0x030D0000 && !defined(Py_REF_DEBUG) && !defined(Py_TRACE_REFS)
    static inline PyObject* nl_begin_instance(PyObject* instance, PyTypeObject* type) {
        Py_SET_TYPE(instance, type);
        if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) Py_INCREF(type);
        Py_SET_REFCNT(instance, 1);
        return instance;
    }
    #undef PyObject_INIT
    #define PyObject_INIT(instance, type) nl_begin_instance((PyObject*)(instance), (type))
    #endif
    #endif
    """
    pass
