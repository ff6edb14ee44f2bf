from libc.stdint cimport uint64_t

from numloom.graph.node cimport Node

cdef extern from "ready.hpp" namespace "numloom" nogil:
    ctypedef ptrdiff_t Size
    ctypedef void (*Loop)(char** args, const Size* count, const Size* steps, void* data) noexcept
    cdef cppclass StridedSpace:
        int rank
        int args
        Size shape[64]
        Size strides[6][64]
        StridedSpace()
    void simplify(StridedSpace&) noexcept
    void run_loop(Loop, void*, char**, const StridedSpace&) noexcept
    void run_operation(Loop, void*, char**, const StridedSpace&, int) noexcept
    Loop copy_of(int) noexcept
    void copy_all(int, char**, const StridedSpace&) noexcept
    Loop choice_of(int) noexcept
    Loop cast_between(int, int) noexcept
    bint read_at(const char*, const StridedSpace&, char**, const int*, const Size*, const Size*, const StridedSpace&, int) noexcept

cdef extern from "reductions.hpp" namespace "numloom" nogil:
    ctypedef void (*Reduce)(const char* start, Size count, bint fast, char* to) noexcept
    cdef cppclass Reduction:
        Reduce row
        bint in_order
    const Reduction* reduction(int, int) noexcept
    void dots_of[T](bint, char**, const StridedSpace&) noexcept
    Size MOST_DOTTED_ROW
    void reduce_rows(const Reduction*, bint, bint, char**, const StridedSpace&, int, int, int, Size, char*) noexcept
    cdef enum:
        MOST_REDUCED, NO_REDUCER, SUM, MEAN, PRODUCT, MOST, LEAST, FIRST_MOST, FIRST_LEAST, ANY, ALL, COUNT, VARIANCE,
        DEVIATIONS

cdef enum:
    MOST_WORDS = 8

cdef enum Way:  # how an operation is done
    UNKNOWN, REFUSED, BY_LOOP, BY_PACKAGE, BY_REDUCER, BY_PYTHON

cdef struct Known:
    void* op_def
    uint64_t codes
    Way way
    bint same  # bits on a GPU
    bint copies  # elements as they are
    Size fastest  # elements up to which no kernel takes less time
    Size price  # of an element, in eighths of a nanosecond
    void* function
    void* data
    int words
    int word[MOST_WORDS]  # of a loop of the package: which argument each word is the address of, -1: the count

cdef Known* find(Node node) noexcept
cdef object learn(Node node, object loops)
cdef Known* known_operation(object op_def, tuple in_codes, int out_code, object device) except NULL
cdef tuple operation(object op_def, tuple codes, int out_code, object loops)
cdef tuple cast_of(int code, int out_code, object loops)
cdef tuple reduction_of(object op_def, int code, int out_code, object loops)
cdef void forget_operations() noexcept
cdef void take_shape(StridedSpace* space, Node node) noexcept
cdef void take_strides(StridedSpace* space, int k, Node node) noexcept
cdef Size product(StridedSpace* space) noexcept
cdef bint count_up(Node node, char* out) noexcept
cdef int count_bools(Node node, char* memory, char* out) noexcept
cdef bint counts(Node node) noexcept
cdef bint dots(Node node) noexcept
cdef object multiply_row
cdef int dot(Node node, char** args, char* out) noexcept
cdef int compute_node(Node node, int kind, char** args, char* out) noexcept
cdef void fill_memory(Node node, char* number, char* out) noexcept
cdef void pack(StridedSpace* space, int k, int itemsize, char** start, char* to) noexcept
cdef bint same_everywhere(int kind, object op_def, tuple codes) except -1
