# distutils: language = c++
"""The compiled thread pool: see ``threads.py`` for what it does and ``threads.hpp`` for how."""

cimport cython
from cpython cimport array
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport intptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset
from libcpp.vector cimport vector

from numloom.device.cpu._hostview cimport Product

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
    """Call ``entry(params, begin, end)`` until all items are done.

    What is called may take long, or wait for a lock that a thread has which forks: others can run Python meanwhile.
    """
    cdef Entry function = <Entry>entry
    cdef ThreadPool* here = pool
    with nogil:
        if items <= grain:
            function(<const void*>params, 0, items)
        else:
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
    """A launch whose kernel, parameter block and sizes are known: calling it launches.

    The kernel's code stays loaded as long as somebody has the kernel.
    """

    cdef Entry entry
    cdef Entry finish
    cdef const void* block
    cdef readonly long long items
    cdef long long grain
    cdef long long finish_items
    cdef array.array params
    cdef object kernel

    @property
    def small(self):
        """Address of the loop, where the whole is one call of it by this thread; else 0."""
        return <intptr_t>self.entry if self.items <= self.grain and not self.finish_items else 0

    def __init__(self, kernel, array.array params, geometry):
        self.kernel = kernel
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


cdef struct Patch:
    long long* word
    Py_ssize_t place
    long long offset


cdef struct Link:
    Entry entry       # NULL where it is a copy, of `items` bytes, or the call number `items`
    Entry finish
    long long* block  # of a copy: to where and from where; of a call: the addresses
    long long items
    long long grain   # of a call: how many addresses
    long long finish_items
    bint calls


@cython.final
cdef class Chain:
    """Launches, copies and calls in a row, each with a block of its own: calling it with addresses runs them all.

    Words of blocks that are addresses are fixed, or lie so many bytes behind an address that each run is given.
    """

    cdef vector[Link] links
    cdef vector[Patch] patches
    cdef list kept
    cdef list functions
    cdef bint running

    def __init__(self):
        """A class without this could not be called: see ``array._type.seal``."""

    def __cinit__(self):
        self.kept = []
        self.functions = []

    def __dealloc__(self):
        cdef size_t k
        for k in range(self.links.size()):
            free(self.links[k].block)

    cdef long long* room(self, Py_ssize_t count) except NULL:
        """A new link's block, of so many words."""
        cdef Link link
        memset(&link, 0, sizeof(Link))
        link.block = <long long*>calloc(count + 1, 8)
        if link.block == NULL:
            raise MemoryError
        self.links.push_back(link)
        return link.block

    cdef patch(self, long long* word, Py_ssize_t place):
        """Have a word be so many bytes behind what a run is given at a place."""
        cdef Patch patch
        patch.word = word
        patch.place = place
        patch.offset = word[0]
        self.patches.push_back(patch)

    def launch(self, Bound bound, list words, list places):
        """Add a launch with what its block holds now; these words are addresses, at places of a run's or (-1) fixed."""
        cdef Py_ssize_t count = len(bound.params), k
        cdef long long* block = self.room(count)
        cdef Link* link = &self.links.back()
        memcpy(block, bound.block, 8 * count)
        link.entry = bound.entry
        link.finish = bound.finish
        link.items = bound.items
        link.grain = bound.grain
        link.finish_items = bound.finish_items
        self.kept.append(bound)
        for k in range(len(words)):
            if <Py_ssize_t>places[k] >= 0:
                self.patch(block + <Py_ssize_t>words[k], places[k])

    def call(self, function, list addresses, list places):
        """Add a call of a function with addresses; it gives False where it cannot be run."""
        cdef Py_ssize_t count = len(addresses), k
        cdef long long* block = self.room(count)
        cdef Link* link = &self.links.back()
        link.calls = True
        link.items = len(self.functions)
        link.grain = count
        self.functions.append(function)
        for k in range(count):
            block[k] = addresses[k]
            if <Py_ssize_t>places[k] >= 0:
                self.patch(block + k, places[k])

    def copy(self, long long target, Py_ssize_t target_place, long long source, Py_ssize_t source_place, long long nbytes):
        """Add a copy."""
        cdef long long* block = self.room(2)
        self.links.back().items = nbytes
        block[0] = target
        block[1] = source
        if target_place >= 0:
            self.patch(block, target_place)
        if source_place >= 0:
            self.patch(block + 1, source_place)

    def __call__(self, list addresses):
        """Run all; False where a function cannot be run, or where it runs already (in a signal's handler)."""
        cdef size_t k
        cdef Py_ssize_t j
        cdef Link* link
        cdef ThreadPool* here = pool
        cdef list at
        cdef bint done
        cdef long long address
        cdef vector[long long] given
        if self.running:
            return False
        self.running = True
        try:
            given.reserve(len(addresses))
            for address in addresses:
                given.push_back(address)
            for k in range(self.patches.size()):
                self.patches[k].word[0] = given.at(self.patches[k].place) + self.patches[k].offset
            for k in range(self.links.size()):
                link = &self.links[k]
                if link.calls:
                    function = self.functions[link.items]
                    if type(function) is Product and (<Product>function).apart(link.block):
                        done = (<Product>function).multiply(link.block)
                    else:
                        at = [link.block[j] for j in range(link.grain)]
                        done = function(*at) is not False
                    if not done:
                        return False
                elif link.entry == NULL:
                    memmove(<void*><intptr_t>link.block[0], <const void*><intptr_t>link.block[1], link.items)
                else:
                    if link.items <= link.grain:
                        link.entry(link.block, 0, link.items)
                    else:
                        with nogil:
                            here.run(link.entry, link.block, link.items, link.grain)
                    if link.finish_items:
                        with nogil:
                            here.run(link.finish, link.block, link.finish_items, 1)
                if not k & 255:
                    PyErr_CheckSignals()
        finally:
            self.running = False
        return True
