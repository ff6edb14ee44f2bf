from numloom.graph.node cimport Node

cdef struct Operand:
    int code  # of Python's numbers a weak one
    Py_ssize_t offset
    double number[2]  # of what has no axes

cdef bint is_few(tuple shape) noexcept
cdef Node operate_on_few(
    object op_def, bint alone, Operand* first, Node left, tuple left_shape, tuple left_strides,
    Operand* second, Node right, tuple right_shape, tuple right_strides,
)
cdef bint run_few(Node node) except -1
cdef Node multiply_few(
    Node left, int code, Py_ssize_t offset, tuple shape, tuple strides,
    Node right, Py_ssize_t right_offset, tuple right_shape, tuple right_strides, bint across,
)
