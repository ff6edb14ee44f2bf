# cython: boundscheck=False, wraparound=False
"""Words of a parameter block, stored without a Python object for each."""

from cpython cimport array

ctypedef void (*Entry)(const void*, long long, long long) noexcept


cdef class Words:
    def __init__(self, Py_ssize_t count):
        self.block = array.array("q", bytes(8 * count))
        self.length = count

    cpdef Words copy(self):
        cdef Words other = Words.__new__(Words)
        other.block = array.copy(self.block)
        other.length = self.length
        return other

    cpdef Py_ssize_t count(self) noexcept:
        return self.length

    cpdef long long get(self, Py_ssize_t index) noexcept:
        return self.block.data.as_longlongs[index]

    cpdef void put(self, Py_ssize_t index, long long value) noexcept:
        self.block.data.as_longlongs[index] = value

    cpdef void put_f32(self, Py_ssize_t index, double value) noexcept:
        self.block.data.as_longlongs[index] = 0
        (<float*>(self.block.data.as_longlongs + index))[0] = <float>value

    cpdef void put_f64(self, Py_ssize_t index, double value) noexcept:
        self.block.data.as_doubles[index] = value

    cpdef void patch(self, Words rows, Words addresses) noexcept:
        cdef long long* words = self.block.data.as_longlongs
        cdef const long long* known = rows.block.data.as_longlongs
        cdef const long long* there = addresses.block.data.as_longlongs
        cdef Py_ssize_t at = 0
        while at < rows.length:
            words[known[at]] = there[known[at + 1]] + known[at + 2]
            at += 3

    cdef void call(self, Py_ssize_t entry, long long items) noexcept:
        (<Entry>entry)(self.block.data.as_voidptr, 0, items)
