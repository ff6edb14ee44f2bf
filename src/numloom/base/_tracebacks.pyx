"""What a traceback shows of numloom: nothing, so that an error stands at the user's line.

A traceback is made from the inside out: each frame that an exception leaves puts itself before what is there. So
whoever of ours is left last can take away what lies inside of it, up to the first frame of somebody else (a function
of the user's that we called). Compiled functions do so (`tracebacks.h`), and leave no note of themselves; functions of
Python's are called by a `Public`. Neither does anything while there is no error.

Errors that say nothing to a user, since they come from a mistake of ours (a failed assertion, a missing attribute),
keep all of their frames.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New

cdef extern from *:
    """
    static PyObject* nl_folders = NULL;  /* A tuple: of ours, and of the libraries that we call. */
    static int nl_full = 0;

    static int nl_starts(PyObject* file, PyObject* folder) {
        return PyUnicode_Tailmatch(file, folder, 0, PY_SSIZE_T_MAX, -1) == 1;
    }

    /* Whether a frame is ours, or of a library that we called. */
    static int nl_is_inner(PyTracebackObject* entry) {
        PyCodeObject* code = PyFrame_GetCode(entry->tb_frame);
        int found = 0;
        for (Py_ssize_t k = 0; !found && nl_folders && k < PyTuple_GET_SIZE(nl_folders); ++k)
            found = nl_starts(code->co_filename, PyTuple_GET_ITEM(nl_folders, k));
        Py_DECREF(code);
        return found;
    }

    /* The first entry from here on that is somebody else's. */
    static PyObject* nl_outer(PyObject* trace) {
        PyTracebackObject* entry = (PyTracebackObject*)trace;
        while (entry && (PyObject*)entry != Py_None && nl_is_inner(entry)) entry = entry->tb_next;
        return entry && (PyObject*)entry != Py_None ? (PyObject*)entry : NULL;
    }

    /* Whether it is a mistake of ours rather than the user's. */
    static int nl_is_fault(PyObject* kind) {
        return PyErr_GivenExceptionMatches(kind, PyExc_AssertionError)
            || PyErr_GivenExceptionMatches(kind, PyExc_AttributeError)
            || PyErr_GivenExceptionMatches(kind, PyExc_ImportError)
            || PyErr_GivenExceptionMatches(kind, PyExc_KeyError)
            || PyErr_GivenExceptionMatches(kind, PyExc_NameError)
            || PyErr_GivenExceptionMatches(kind, PyExc_RecursionError)
            || PyErr_GivenExceptionMatches(kind, PyExc_SystemError);
    }

    /* Take our frames from the begin of the traceback of the exception under way; 0 if they are to be shown. */
    static int nl_strip(void) {
        PyObject *kind, *value, *trace, *outer, *before;
        PyErr_Fetch(&kind, &value, &trace);
        if (trace == Py_None) Py_CLEAR(trace);  /* Raised again by who caught it without one: see tracebacks.h. */
        outer = nl_outer(trace);
        if (nl_full || !kind || (!outer && nl_is_fault(kind))) {
            PyErr_Restore(kind, value, trace);
            return 0;
        }
        if (outer != trace) {
            Py_XINCREF(outer);
            Py_XDECREF(trace);
            trace = outer;
        }
        if (value && PyExceptionInstance_Check(value)) {
            /* What we caught on the way says nothing to a user; what we name as the cause does, without our frames. */
            if ((before = PyException_GetContext(value))) {
                PyObject* of_it = (PyException_GetTraceback)(before);
                if (of_it && !nl_outer(of_it)) ((PyBaseExceptionObject*)value)->suppress_context = 1;
                Py_XDECREF(of_it);
                Py_DECREF(before);
            }
            if ((before = PyException_GetCause(value))) {
                PyObject* of_it = (PyException_GetTraceback)(before);
                outer = of_it ? nl_outer(of_it) : NULL;
                if (outer != of_it) PyException_SetTraceback(before, outer ? outer : Py_None);
                Py_XDECREF(of_it);
                Py_DECREF(before);
            }
        }
        PyErr_Restore(kind, value, trace);
        return 1;
    }

    static PyTypeObject* nl_waiting = NULL;  /* What waits for its extents, once there is some. */
    static PyTypeObject* nl_answering = NULL;  /* What answers calls itself, once there is some: sparse arrays. */

    static int nl_is(PyObject* x, PyTypeObject* kind) {
        PyTypeObject* type = Py_TYPE(x);
        return type == kind || (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && PyType_IsSubtype(type, kind));
    }

    /* Whether this is of a kind, or in one of these: slices, and tuples, lists and dicts that are not deep. */
    static int nl_holds(PyObject* x, PyTypeObject* kind, int depth) {
        if (nl_is(x, kind)) return 1;
        if (depth == 0) return 0;
        if (PyTuple_Check(x) || PyList_Check(x)) {
            for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(x); ++k)
                if (nl_holds(PySequence_Fast_GET_ITEM(x, k), kind, depth - 1)) return 1;
        } else if (PyDict_Check(x)) {
            PyObject *key, *value;
            Py_ssize_t place = 0;
            while (PyDict_Next(x, &place, &key, &value))
                if (nl_holds(value, kind, depth - 1)) return 1;
        } else if (PySlice_Check(x)) {
            PySliceObject* slice = (PySliceObject*)x;
            return nl_holds(slice->start, kind, 0) || nl_holds(slice->stop, kind, 0) || nl_holds(slice->step, kind, 0);
        }
        return 0;
    }

    /* Whether one of the arguments waits (1), or answers the call itself (2). */
    static int nl_asks(PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
        if (names) count += PyTuple_GET_SIZE(names);
        for (Py_ssize_t k = 0; nl_waiting && k < count; ++k)
            if (nl_holds(arguments[k], nl_waiting, 12)) return 1;
        for (Py_ssize_t k = 0; nl_answering && k < count; ++k)
            if (nl_holds(arguments[k], nl_answering, 3)) return 2;
        return 0;
    }

    static int nl_leave_function(PyFrameObject* frame) {
        return nl_strip() ? 0 : (PyTraceBack_Here)(frame);  /* the function of Python's, not the macro */
    }
    """
    int nl_full
    PyObject* nl_folders
    int nl_strip()
    int nl_leave_function(void*)
    int nl_asks(PyObject* const*, Py_ssize_t, PyObject*)
    int nl_holds(PyObject*, void*, int)
    void* nl_waiting
    void* nl_answering

    ctypedef struct TypeObject "PyTypeObject":
        Py_ssize_t tp_vectorcall_offset
        unsigned long tp_flags

    unsigned long Py_TPFLAGS_HAVE_VECTORCALL, Py_TPFLAGS_METHOD_DESCRIPTOR

cdef extern from "Python.h":
    PyObject* PyObject_Vectorcall(PyObject*, PyObject* const*, size_t, PyObject*)
    Py_ssize_t PyVectorcall_NARGS(size_t)
    object PyMethod_New(object, object)
    void Py_INCREF(object)
    void Py_DECREF(object)
    PyObject* Py_None
    int PyErr_ExceptionMatches(object)
    void PyErr_Clear()


note = answer = None
"""What notes a call that waits, and what answers one with an operand that does so itself."""


cdef object asked(Public function, int kind, PyObject* const* arguments, Py_ssize_t count, PyObject* names):
    """A call as `note` (1) or `answer` (2) has it."""
    cdef Py_ssize_t place
    cdef tuple keys = () if names is NULL else <tuple>names
    args = tuple([<object>arguments[place] for place in range(count)])
    options = {keys[place]: <object>arguments[count + place] for place in range(len(keys))}
    return (note if kind == 1 else answer)(function.function, args, options)


def note_call(function, args, options):
    """Note a call that waits."""
    return note(function, args, options)


def waits(value):
    """Whether the extents of this are not known, or of something within it."""
    return nl_waiting is not NULL and nl_holds(<PyObject*>value, nl_waiting, 12)


cdef PyObject* enter_asked(
    PyObject* function, int kind, PyObject* const* arguments, Py_ssize_t count, PyObject* names
) except NULL:
    found = asked(<Public><object>function, kind, arguments, count, names)
    Py_INCREF(found)
    return <PyObject*>found


cdef PyObject* enter(PyObject* function, PyObject* const* arguments, size_t flags, PyObject* names) except? NULL:
    cdef Py_ssize_t count = PyVectorcall_NARGS(flags)
    cdef PyObject* result
    cdef int kind = nl_asks(arguments, count, names)
    if kind:
        result = enter_asked(function, kind, arguments, count, names)
    else:
        if <PyObject*>(<Public><object>function).at_once is not Py_None:
            result = PyObject_Vectorcall(<PyObject*>(<Public><object>function).at_once, arguments, flags, names)
            if result is NULL:
                if not PyErr_ExceptionMatches(Exception):
                    return NULL
                PyErr_Clear()  # The function itself says what is wrong.
            elif result is not Py_None:
                return result
            else:
                Py_DECREF(<object>result)
        result = PyObject_Vectorcall(<PyObject*>(<Public><object>function).function, arguments, flags, names)
    if result is NULL:
        nl_strip()
    return result


@cython.final
cdef class Public:
    """A function of Python's whose errors do not show our frames; otherwise the function itself.

    What stands for it where a call is quickly done (`at_once`, compiled) is asked first: None says that it is not.
    """

    cdef void* entry
    cdef object function
    cdef object at_once
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self, function):
        self.entry = <void*>enter
        self.function = function
        self.at_once = getattr(function, "at_once", None)
        functions[function] = self

    def __call__(self, *args, **options):
        cdef PyObject* given[2]
        given[0], given[1] = <PyObject*>args, <PyObject*>options
        cdef int kind = nl_asks(given, 2, NULL)
        if kind:
            return (note if kind == 1 else answer)(self.function, args, options)
        return self.function(*args, **options)

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __getattr__(self, name):
        return getattr(self.function, name)

    def __repr__(self):
        return repr(self.function)

    def __reduce__(self):
        return self.__qualname__ if "." in self.__qualname__ else (_again, (self.function,))


def _again(function):
    """The public function of one that was pickled."""
    return functions[function]


functions = {}
"""Public functions by those of Python's."""


cdef _prepare():
    cdef TypeObject* made = <TypeObject*><void*>Public
    cdef Public probe = Public.__new__(Public)
    made.tp_vectorcall_offset = <char*>&probe.entry - <char*><void*>probe
    made.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR


_prepare()
leave = PyCapsule_New(<void*>nl_leave_function, NULL, NULL)


def wait_for(type kind, function):
    """Say of what class expressions are whose extents are not known, and what notes a call that is given one."""
    global nl_waiting, note
    Py_INCREF(kind)
    note = function
    nl_waiting = <void*>kind


def answer_for(type kind, function):
    """Say what class answers calls with one of its objects among the arguments, and by what function."""
    global nl_answering, answer
    Py_INCREF(kind)
    answer = function
    nl_answering = <void*>kind


def show_all(bint full):
    """Show all frames from now on, or none of ours."""
    global nl_full
    nl_full = full


def set_folders(tuple folders):
    """Say in which folders the code lies of which no frames are shown."""
    global nl_folders
    Py_INCREF(folders)
    nl_folders = <PyObject*>folders
