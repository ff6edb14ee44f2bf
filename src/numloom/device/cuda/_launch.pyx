"""cuLaunchKernel through its address: no link to the driver, no CUDA header at build time."""

from cpython cimport array

ctypedef int (*launch_type)(
    void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**
) noexcept nogil


cdef class Launch:
    """``launch(kernel, params, geometry)`` of a device; what is not plain success goes to ``failed``.

    Attributes
    ----------
    address, stream : int
        Of cuLaunchKernel, and the stream's handle.
    prepare : callable
        ``prepare(kernel, shared)`` before the first launch with more than 48 KiB of shared memory.
    failed : callable
        ``failed(kernel, params, geometry, code)`` where the driver refuses.
    """

    cdef size_t address
    cdef size_t stream
    cdef object prepare
    cdef object failed

    def __init__(self, size_t address, size_t stream, object prepare, object failed):
        self.address = address
        self.stream = stream
        self.prepare = prepare
        self.failed = failed

    def __call__(self, kernel, array.array params, geometry):
        cdef void* parameters[1]
        cdef size_t function = kernel.function
        cdef unsigned blocks = geometry.blocks
        cdef unsigned blocks_y = geometry.blocks_y
        cdef unsigned threads = geometry.threads
        cdef unsigned shared = geometry.shared
        cdef int code
        if shared > 49152:
            self.prepare(kernel, shared)
        parameters[0] = params.data.as_voidptr
        code = (<launch_type><void*>self.address)(
            <void*>function, blocks, blocks_y, 1, threads, 1, 1, shared, <void*>self.stream, parameters, NULL
        )
        if code:
            self.failed(kernel, params, geometry, code)

    def bound(self, kernel, array.array params, geometry):
        """A launch whose arguments are known: calling it launches."""
        if geometry.shared > 49152:
            self.prepare(kernel, geometry.shared)
        return Bound(self, kernel, params, geometry)


cdef class Bound:
    """A launch of one kernel with one parameter block."""

    cdef Launch launch
    cdef object kernel
    cdef array.array params
    cdef object geometry
    cdef void* function
    cdef void* block
    cdef unsigned blocks
    cdef unsigned blocks_y
    cdef unsigned threads
    cdef unsigned shared

    def __init__(self, Launch launch, kernel, array.array params, geometry):
        self.launch = launch
        self.kernel = kernel
        self.params = params  # which must keep its size
        self.geometry = geometry
        self.function = <void*><size_t>kernel.function
        self.block = params.data.as_voidptr
        self.blocks = geometry.blocks
        self.blocks_y = geometry.blocks_y
        self.threads = geometry.threads
        self.shared = geometry.shared

    def __call__(self):
        cdef void* parameters[1]
        cdef int code
        parameters[0] = self.block
        code = (<launch_type><void*>self.launch.address)(
            self.function, self.blocks, self.blocks_y, 1, self.threads, 1, 1, self.shared,
            <void*>self.launch.stream, parameters, NULL
        )
        if code:
            self.launch.failed(self.kernel, self.params, self.geometry, code)
