"""cuFFT's transforms through the addresses of its functions: no link to the library, no header at build time."""

cimport cython

ctypedef int (*work_type)(int, void*) noexcept nogil
ctypedef int (*exec_type)(int, const void*, void*, int) noexcept nogil


@cython.final
cdef class Transform:
    """A plan in one direction: called with the addresses of source, target and workspace, it queues the transform.

    The plan's workspace is set and used without other Python code between, so threads may share a plan.

    Attributes
    ----------
    addresses : tuple of int
        Of cufftSetWorkArea and cufftXtExec.
    ready : callable
        Gives the plan's handle.
    direction : int
        The library's number of it.
    failed : callable
        Asked for the same where the library refuses; raises its error.
    """

    cdef size_t work_address, exec_address
    cdef int direction
    cdef object ready, failed

    def __init__(self, tuple addresses, ready, int direction, failed):
        self.work_address, self.exec_address = addresses
        self.ready = ready
        self.direction = direction
        self.failed = failed

    def __call__(self, size_t source, size_t target, size_t work):
        cdef int handle = self.ready()
        cdef int code = (<work_type><void*>self.work_address)(handle, <void*>work)
        if code == 0:
            code = (<exec_type><void*>self.exec_address)(handle, <void*>source, <void*>target, self.direction)
        if code:
            self.failed(source, target, work)
