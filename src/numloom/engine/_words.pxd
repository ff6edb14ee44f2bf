cimport cython
from cpython cimport array


@cython.final
cdef class Words:
    cdef readonly array.array block
    cpdef Words copy(self)
    cpdef void put(self, Py_ssize_t index, long long value) noexcept
    cpdef void put_f32(self, Py_ssize_t index, double value) noexcept
    cpdef void put_f64(self, Py_ssize_t index, double value) noexcept
    cdef void patch(self, Py_ssize_t count, const Py_ssize_t* targets, const long long* addresses,
                    const Py_ssize_t* sources, const long long* offsets) noexcept
    cdef void call(self, Py_ssize_t entry, long long items) noexcept
