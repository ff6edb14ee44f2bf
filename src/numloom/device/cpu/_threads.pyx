# distutils: language = c++
"""The compiled thread pool: see ``threads.py`` for what it does and ``threads.hpp`` for how."""

cimport cython
from cpython cimport array
from libc.stdint cimport intptr_t

cdef extern from "threads.hpp" namespace "numloom" nogil:
    ctypedef void (*Entry)(const void*, long long, long long) noexcept
    cdef cppclass ThreadPool:
        ThreadPool(int) except +
        void run(Entry, const void*, long long, long long)
        void retire()

# Never deleted: its threads may outlive the interpreter, and in a child process they are gone.
cdef ThreadPool* pool = NULL


def reset(int threads, bint forked=False):
    """Use a new pool of this many threads (the caller among them) from now on."""
    global pool
    if pool is not NULL and not forked:
        pool.retire()
    pool = new ThreadPool(threads)


def run(intptr_t entry, intptr_t params, long long items, long long grain):
    """Call ``entry(params, begin, end)`` until all items are done."""
    cdef Entry function = <Entry>entry
    cdef ThreadPool* here = pool
    if items <= grain:
        function(<const void*>params, 0, items)
        return
    with nogil:
        here.run(function, <const void*>params, items, grain)


def launch(kernel, array.array params, geometry):
    """``launch(kernel, params, geometry)`` of the device, without a Python frame of its own."""
    cdef const void* block = params.data.as_voidptr
    cdef intptr_t entry = kernel.address
    cdef long long items = geometry.items
    cdef long long grain = geometry.grain
    cdef ThreadPool* here = pool
    if items <= grain:
        (<Entry>entry)(block, 0, items)
    else:
        with nogil:
            here.run(<Entry>entry, block, items, grain)
    items = geometry.finish_items
    if items:
        entry = kernel.finish_address
        with nogil:
            here.run(<Entry>entry, block, items, 1)


@cython.final
cdef class Bound:
    """A launch whose kernel, parameter block and sizes are known: calling it launches."""

    cdef Entry entry
    cdef Entry finish
    cdef const void* block
    cdef readonly long long items
    cdef long long grain
    cdef long long finish_items
    cdef array.array params

    @property
    def small(self):
        """Address of the loop, where the whole is one call of it by this thread; else 0."""
        return <intptr_t>self.entry if self.items <= self.grain and not self.finish_items else 0

    def __init__(self, kernel, array.array params, geometry):
        self.params = params  # which must keep its size
        self.block = params.data.as_voidptr
        self.entry = <Entry><intptr_t>kernel.address
        self.finish = <Entry><intptr_t>kernel.finish_address
        self.items = geometry.items
        self.grain = geometry.grain
        self.finish_items = geometry.finish_items

    def __call__(self):
        cdef ThreadPool* here = pool
        if self.items <= self.grain:
            self.entry(self.block, 0, self.items)
        else:
            with nogil:
                here.run(self.entry, self.block, self.items, self.grain)
        if self.finish_items:
            with nogil:
                here.run(self.finish, self.block, self.finish_items, 1)
