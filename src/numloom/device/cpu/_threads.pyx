# distutils: language = c++
"""The compiled thread pool: see ``threads.py`` for what it does and ``threads.hpp`` for how."""

from cpython cimport array
from libc.stdint cimport intptr_t

cdef extern from "threads.hpp" namespace "numloom" nogil:
    ctypedef void (*Entry)(const void*, long long, long long) noexcept
    cdef cppclass Pool:
        Pool(int) except +
        void run(Entry, const void*, long long, long long)
        void retire()

# Never deleted: its threads may outlive the interpreter, and in a child process they are gone.
cdef Pool* pool = NULL


def reset(int threads, bint forked=False):
    """Use a new pool of this many threads (the caller among them) from now on."""
    global pool
    if pool is not NULL and not forked:
        pool.retire()
    pool = new Pool(threads)


def run(intptr_t entry, intptr_t params, long long items, long long grain):
    """Call ``entry(params, begin, end)`` until all items are done."""
    cdef Entry function = <Entry>entry
    cdef Pool* here = pool
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
    cdef Pool* here = pool
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
