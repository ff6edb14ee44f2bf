from numloom.graph.node cimport Node

cdef bint fill_part(
    Node node, int code, Py_ssize_t offset, tuple shape, tuple strides, const double* number
) except -1
cdef bint copy_part(
    Node node, int code, Py_ssize_t offset, tuple shape, tuple strides,
    Node source, Py_ssize_t source_offset, tuple source_shape, tuple source_strides,
) except -1
cdef Node dense_copy(Node node, int code, Py_ssize_t offset, tuple shape, tuple strides)
cdef object listed(Node node, int code, Py_ssize_t offset, tuple shape, tuple strides)
cdef void fill_dense(char* to, Py_ssize_t count, const double* number, Py_ssize_t itemsize) noexcept
