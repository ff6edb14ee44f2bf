from numloom.device.memory cimport Pool
from numloom.graph.node cimport Node

cdef enum:
    NONE_HERE = -1
    MOST_DOTTED = 1 << 10

ctypedef void (*PackageLoop)(const void*, long long, long long) noexcept

cdef enum Simple:  # of float64 and int64: what C does, without a loop of NumPy's, which asks for errors of arithmetic
    NOTHING, IS_LESS, IS_MORE, IS_NOT_MORE, IS_NOT_LESS, IS_SAME, IS_OTHER, ADDS, SUBTRACTS, MULTIPLIES, DIVIDES,
    HAS_BOTH, HAS_ANY, HAS_ONE

cdef struct Way:
    void* op_def
    int first, second  # codes of the operands, weak ones of Python's numbers
    bint there
    int loop_first, loop_second, out
    void* cast_first  # loops of `_ready.pyx`
    void* cast_second
    void* loop
    void* data
    PackageLoop package
    Simple simple
    int words
    int word[8]

cdef int ALONE, WEAK_INT, WEAK_FLOAT

cdef int code_of_number(int number) noexcept
cdef bint is_host() except -1
cdef Pool near_pool()
cdef object near_device()
cdef Pool host_pool()
cdef int take_python(object number, double* to) except -3
cdef int take_known(Node node, int code, Py_ssize_t offset, double* to) except -3
cdef Py_ssize_t place_of(Py_ssize_t offset, tuple shape, tuple strides, object index) except -2
cdef object python_number(const double* number, int code)
cdef Node node_for(const double* number, int code, Py_ssize_t era)
cdef Way* way_of(object op_def, int first, int second) except? NULL
cdef bint convert(int code, const double* number, int loop, void* by, double* to) noexcept
cdef int operate(object op_def, int first, const double* left, int second, const double* right, double* to) except -3
cdef bint may_combine(Way* way, int code) noexcept
cdef void combine_rows(
    Way* way, char* to, const Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t elements, Py_ssize_t itemsize,
    const char* values, Py_ssize_t row, Py_ssize_t step,
) noexcept
cdef bint stores_as(int code, int wanted, double* number) noexcept
cdef bint put_known(Node node, int code, Py_ssize_t offset, const double* number) except -1
cdef void dot_rows(
    bint single, const char* left, Py_ssize_t left_step, const char* right, Py_ssize_t right_step, Py_ssize_t count,
    double* to,
) noexcept
