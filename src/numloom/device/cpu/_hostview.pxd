from libc.stdint cimport intptr_t

cpdef object number_at(intptr_t address, int code)
