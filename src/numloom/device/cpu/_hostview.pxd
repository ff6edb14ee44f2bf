from libc.stdint cimport int64_t, intptr_t

cpdef object number_at(intptr_t address, int code)
cpdef bint put_number_at(intptr_t address, int code, object number) except -1
cdef bint copy_element(intptr_t to, intptr_t source, int code) noexcept
cdef bint is_set(intptr_t address) noexcept


cdef class ByAddresses:
    cdef object function
    cdef dict options
    cdef tuple layouts, names
    cdef bint gives
    cdef intptr_t error_at


cdef class Product(ByAddresses):
    cdef intptr_t gemm, ask, say
    cdef bint double
    cdef int left, right
    cdef int64_t rows, columns, inner, lda, ldb, ldc
    cdef int64_t[3] nbytes

    cdef bint apart(self, const long long* at) noexcept
    cdef bint multiply(self, const long long* at) except -1
    cdef void run(self, const long long* at) noexcept nogil
