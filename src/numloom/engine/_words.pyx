# cython: boundscheck=False, wraparound=False
"""Words of a parameter block, stored without a Python object for each."""

from cpython cimport array

ctypedef void (*Entry)(const void*, long long, long long) noexcept


cdef class Words:
    def __init__(self, Py_ssize_t count):
        self.block = array.array("q", bytes(8 * count))

    cpdef Words copy(self):
        cdef Words other = Words.__new__(Words)
        other.block = array.copy(self.block)
        return other

    cpdef void put(self, Py_ssize_t index, long long value) noexcept:
        self.block.data.as_longlongs[index] = value

    cpdef void put_f32(self, Py_ssize_t index, double value) noexcept:
        self.block.data.as_longlongs[index] = 0
        (<float*>(self.block.data.as_longlongs + index))[0] = <float>value

    cpdef void put_f64(self, Py_ssize_t index, double value) noexcept:
        self.block.data.as_doubles[index] = value

    cdef void patch(self, Py_ssize_t count, const Py_ssize_t* targets, const long long* addresses,
                    const Py_ssize_t* sources, const long long* offsets) noexcept:
        cdef long long* words = self.block.data.as_longlongs
        cdef Py_ssize_t place
        for place in range(count):
            words[targets[place]] = addresses[sources[place]] + offsets[place]

    cdef void call(self, Py_ssize_t entry, long long items) noexcept:
        (<Entry>entry)(self.block.data.as_voidptr, 0, items)
