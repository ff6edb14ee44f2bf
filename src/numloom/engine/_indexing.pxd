from numloom.device.memory cimport Buffer, Pool
from numloom.graph.node cimport Node

cdef enum:
    MOST = 1 << 14  # rows, and bytes of a row
    MASKED = 1 << 18  # rows (or elements) that a mask chooses from

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
cdef Node new_value(Buffer buffer, int code, tuple shape, bint result)
cdef bint add_offsets(Py_ssize_t* offsets, Rows* index, int code, Py_ssize_t extent, Py_ssize_t step) noexcept
cdef bint read_at_indices(char* to, Rows* rows, Rows* index, int code, Py_ssize_t extent) noexcept
cdef void read_rows(char* to, const char* source, const Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t bytes) noexcept
cdef void write_rows(
    char* to, const Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t bytes, const char* values, Py_ssize_t step
) noexcept
cdef Py_ssize_t count_true(Rows* mask) noexcept
cdef void write_where(Rows* target, Py_ssize_t bytes, Rows* mask, const char* values, Py_ssize_t step) noexcept
cdef Node read_where(Rows* source, Rows* mask, Pool pool, int code, tuple rest)
cdef Py_ssize_t itemsize_of(int code) noexcept
cdef Node elements_where(
    Node mask, Py_ssize_t mask_offset, tuple mask_strides, Node source, int code, Py_ssize_t offset, tuple shape, tuple strides
)
cdef list places_where(Node mask, Py_ssize_t offset, tuple shape, tuple strides)
