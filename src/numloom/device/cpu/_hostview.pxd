from libc.stdint cimport intptr_t

cpdef object number_at(intptr_t address, int code)
cpdef bint put_number_at(intptr_t address, int code, object number) except -1
cdef bint copy_element(intptr_t to, intptr_t source, int code) noexcept
cdef bint is_set(intptr_t address) noexcept
