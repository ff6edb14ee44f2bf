cpdef (Py_ssize_t, Py_ssize_t, Py_ssize_t) bounds(object item, Py_ssize_t extent) except *
