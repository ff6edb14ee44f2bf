cimport cython
from cpython cimport array


@cython.final
cdef class Words:
    cdef readonly array.array block
    cdef Py_ssize_t length
    cpdef Words copy(self)
    cpdef Py_ssize_t count(self) noexcept
    cpdef long long get(self, Py_ssize_t index) noexcept
    cpdef void put(self, Py_ssize_t index, long long value) noexcept
    cpdef void put_f32(self, Py_ssize_t index, double value) noexcept
    cpdef void put_f64(self, Py_ssize_t index, double value) noexcept
    cpdef void patch(self, Words rows, Words addresses) noexcept
    cdef void call(self, Py_ssize_t entry, long long items) noexcept
