from libc.stdint cimport intptr_t

cpdef object number_at(intptr_t address, int code)
cpdef bint put_number_at(intptr_t address, int code, object number) except -1
