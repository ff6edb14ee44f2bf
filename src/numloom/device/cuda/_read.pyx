"""A few bytes from the GPU, waited for: both driver calls through their addresses, no Python between."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize

ctypedef int (*copy_type)(void*, unsigned long long, size_t, void*) noexcept nogil
ctypedef int (*query_type)(void*) noexcept nogil

cdef int NOT_READY = 600


@cython.final
cdef class Read:
    """``read(address, nbytes)`` gives bytes, or None where it cannot: the caller's own way then says why.

    Attributes
    ----------
    room : int
        Most bytes that one read gives.
    """

    cdef size_t copy
    cdef size_t query
    cdef size_t stream
    cdef object pinned
    cdef size_t block
    cdef readonly Py_ssize_t room
    cdef bint busy

    def __init__(self, size_t copy, size_t query, size_t stream, pinned, Py_ssize_t room):
        self.copy = copy
        self.query = query
        self.stream = stream
        self.pinned = pinned
        self.block = pinned.ptr
        self.room = room

    def __call__(self, unsigned long long source, Py_ssize_t nbytes):
        cdef int code
        cdef long turns = 0
        if self.busy or nbytes > self.room:
            return None
        self.busy = True
        code = (<copy_type><void*>self.copy)(<void*>self.block, source, nbytes, <void*>self.stream)
        if not code:
            with nogil:
                # About two milliseconds; whoever waits longer does so where Ctrl-C is heard.
                while True:
                    code = (<query_type><void*>self.query)(<void*>self.stream)
                    turns += 1
                    if code != NOT_READY or turns > 5000:
                        break
        self.busy = False
        if code:
            return None
        return PyBytes_FromStringAndSize(<char*>self.block, nbytes)
