"""Launching users' kernels through the address of cuLaunchKernel, with as little as possible before it."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdlib cimport free, malloc

ctypedef int (*launch_type)(
    void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**
) noexcept nogil


@cython.final
cdef class RawLaunch:
    """``launch(grid, block, packed, shared, stream)`` of one function; returns the driver's code.

    Parameters
    ----------
    address, function : int
        Of cuLaunchKernel, and the function's handle.
    offsets : tuple of int
        Where each parameter lies in the packed block.
    nbytes : int
        Size of the block.
    """

    cdef size_t address
    cdef size_t function
    cdef Py_ssize_t count
    cdef Py_ssize_t nbytes
    cdef Py_ssize_t* offsets

    def __cinit__(self):
        self.offsets = NULL

    def __init__(self, size_t address, size_t function, tuple offsets, Py_ssize_t nbytes):
        self.address = address
        self.function = function
        self.count = len(offsets)
        self.nbytes = nbytes
        if self.count > 4096 or self.offsets != NULL:
            raise ValueError("too many parameters")
        self.offsets = <Py_ssize_t*>malloc((self.count + 1) * sizeof(Py_ssize_t))
        if self.offsets == NULL:
            raise MemoryError()
        for at in range(self.count):
            self.offsets[at] = offsets[at]
            if not 0 <= self.offsets[at] < nbytes:
                raise ValueError("an offset lies outside the block")

    def __dealloc__(self):
        free(self.offsets)

    def __call__(self, tuple grid, tuple block, bytes packed, unsigned shared, size_t stream):
        cdef void* parameters[4096]
        cdef char* base = PyBytes_AS_STRING(packed)
        cdef Py_ssize_t at
        cdef unsigned gx = grid[0], gy = grid[1], gz = grid[2], bx = block[0], by = block[1], bz = block[2]
        cdef int code
        if PyBytes_GET_SIZE(packed) != self.nbytes:
            raise ValueError("the block has not the size of the kernel's parameters")
        for at in range(self.count):
            parameters[at] = base + self.offsets[at]
        code = (<launch_type><void*>self.address)(
            <void*>self.function, gx, gy, gz, bx, by, bz, shared, <void*>stream, parameters, NULL
        )
        return code
