from numloom.device.memory cimport Pool
from numloom.graph.node cimport Node

cdef enum:
    NONE_HERE = -1
    MOST_DOTTED = 1 << 10

cdef int ALONE, WEAK_INT, WEAK_FLOAT

cdef bint is_host() except -1
cdef Pool host_pool()
cdef int take_python(object number, double* to) except -3
cdef int take_known(Node node, int code, Py_ssize_t offset, double* to) except -3
cdef Py_ssize_t place_of(Py_ssize_t offset, tuple shape, tuple strides, object index) except -2
cdef object python_number(const double* number, int code)
cdef Node node_for(const double* number, int code, Py_ssize_t era)
cdef int operate(object op_def, int first, const double* left, int second, const double* right, double* to) except -3
cdef bint stores_as(int code, int wanted, double* number) noexcept
cdef bint put_known(Node node, int code, Py_ssize_t offset, const double* number) except -1
cdef void dot_rows(
    bint single, const char* left, Py_ssize_t left_step, const char* right, Py_ssize_t right_step, Py_ssize_t count,
    double* to,
) noexcept
