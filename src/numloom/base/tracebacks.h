/* What functions of the compiled core leave in a traceback: nothing (see base/_tracebacks.pyx).

   Every compiled module includes this first. Cython notes a function that an exception leaves by PyTraceBack_Here; here
   it asks the one function that knows what is to be shown. Nothing of it runs while there is no exception. */
#ifndef NUMLOOM_TRACEBACKS_H
#define NUMLOOM_TRACEBACKS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

static int nl_leave(PyFrameObject* frame) {
    static int (*leave)(PyFrameObject*) = NULL;
    if (!leave) {
        PyObject *kind, *value, *trace;
        PyErr_Fetch(&kind, &value, &trace);
        PyObject* modules = PyImport_GetModuleDict();
        PyObject* module = PyDict_GetItemString(modules, "numloom.base._tracebacks");
        PyObject* capsule = module ? PyObject_GetAttrString(module, "leave") : NULL;
        if (capsule) {
            leave = (int (*)(PyFrameObject*))PyCapsule_GetPointer(capsule, NULL);
            Py_DECREF(capsule);
        }
        PyErr_Clear();
        PyErr_Restore(kind, value, trace);
    }
    return leave ? leave(frame) : PyTraceBack_Here(frame);
}

#define PyTraceBack_Here(frame) nl_leave(frame)

/* An exception that was raised by a compiled function has no traceback when another one catches it, which what Cython
   writes for `except` and `with` does not expect: there it has None. */
#if PY_VERSION_HEX >= 0x030C0000
static PyObject* nl_traceback(PyObject* value) {
    PyObject* trace = PyException_GetTraceback(value);
    return trace ? trace : Py_NewRef(Py_None);
}
#define PyException_GetTraceback(value) nl_traceback(value)
#else
static void nl_normalize(PyObject** kind, PyObject** value, PyObject** trace) {
    PyErr_NormalizeException(kind, value, trace);
    if (!*trace) *trace = Py_NewRef(Py_None);
}
#define PyErr_NormalizeException(kind, value, trace) nl_normalize(kind, value, trace)
#endif

#endif
