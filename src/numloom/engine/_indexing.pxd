from numloom.device.memory cimport Buffer, Pool
from numloom.graph.node cimport Node

cdef enum:
    MOST = 1 << 14  # rows, and bytes of a row

cdef struct Rows:
    char* start
    Py_ssize_t count, step, bytes

cdef bint take_rows(
    Rows* rows, Node node, int code, Py_ssize_t offset, tuple shape, tuple strides, Py_ssize_t lead
) except -1
cdef bint take_block(
    Rows* rows, Node node, int code, Py_ssize_t offset, tuple shape, tuple strides, Py_ssize_t lead
) except -1
cdef bint is_alone(Node node) noexcept
cdef Py_ssize_t count_true(Rows* mask) noexcept
cdef bint add_offsets(Py_ssize_t* offsets, Rows* index, int code, Py_ssize_t extent, Py_ssize_t step) noexcept
cdef Node new_value(Buffer buffer, int code, tuple shape, bint result)
cdef void read_rows(char* to, const char* source, const Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t bytes) noexcept
cdef void write_rows(
    char* to, const Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t bytes, const char* values, Py_ssize_t step
) noexcept
cdef Node read_where(Rows* source, Rows* mask, Pool pool, int code, tuple rest)
cdef Py_ssize_t itemsize_of(int code) noexcept
cdef void write_where(Rows* target, Py_ssize_t bytes, Rows* mask, const char* values, Py_ssize_t step) noexcept
cdef list places_where(Rows* mask, Pool pool, tuple shape)
