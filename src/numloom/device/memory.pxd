cimport cython
cimport numloom.base.instances
from libc.string cimport memset

cdef Py_ssize_t _FLOOR, _ROOM, _SMALL
cdef long long _MOST, _SMALL_BYTES
cdef int _PART, _COARSE, _NEAR, _CLASSES
cdef bint _poisons

@cython.final
cdef class Pool:
    cdef object __weakref__
    cdef readonly str name
    cdef public object raw_allocate
    cdef public object raw_free
    cdef public long long limit
    cdef public long long cache_limit
    cdef readonly long long used
    cdef readonly long long cached
    cdef readonly long long peak
    cdef readonly long long parted
    cdef readonly long long asked
    cdef readonly bint closed
    cdef bint aside
    cdef readonly object watcher
    cdef readonly long long error_at
    cdef public object held
    cdef public object recall
    cdef public object poison
    cdef list _free
    cdef dict _parts
    cdef dict _spare
    cdef long long _kept[256]
    cdef Py_ssize_t _count[16]

    @cython.locals(size_class=int, count=cython.Py_ssize_t)
    cpdef Buffer allocate(self, long long nbytes)
    @cython.locals(size_class=int, ptr="long long", blocks=list, part="bint", buffer=Buffer)
    cdef Buffer _allocate_other(self, long long nbytes)
    @cython.locals(buffer=Buffer)
    cdef Buffer _buffer(self, long long ptr, long long nbytes, int size_class, bint part)
    @cython.locals(larger=int)
    cdef int _near_class(self, int size_class)
    cdef Py_ssize_t _allocate_block(self, long long nbytes, int size_class) except? -1
    @cython.locals(larger=int, spare=dict, block=Block)
    cdef Py_ssize_t _take_part(self, int size_class, int last) except? -1
    @cython.locals(rest="long long", at="long long", least="long long", number=int)
    cdef _divide(self, Block block, long long ptr, int size_class, int front)
    @cython.locals(size_class=int, front=int, part="bint", freed="long long", ptr="long long", block=Block)
    cpdef cut(self, Buffer buffer, long long nbytes)
    cdef _give_back_part(self, long long ptr, int size_class)
    @cython.locals(size="long long")
    cdef _give_back_aside(self, long long ptr, int size_class, bint part)
    @cython.locals(size="long long", block=Block, number=int, at="long long")
    cdef _spare_part(self, long long ptr, int size_class)
    cdef Py_ssize_t _try_raw(self, long long size) except? -1
    @cython.locals(size="long long", count=cython.Py_ssize_t)
    cdef _give_back(self, long long ptr, int size_class)
    cdef _free_raw(self, long long ptr, long long size)
    cdef _keep(self, long long ptr, int size_class)
    @cython.locals(size_class=int)
    cpdef watch(self, watcher)
    @cython.locals(k=int)
    cpdef free_blocks(self)

@cython.final
cdef class Block:
    cdef long long ptr
    cdef long long size
    cdef int size_class
    cdef long long free
    cdef list parts

@cython.final
cdef class Buffer:
    cdef readonly long long ptr
    cdef readonly long long nbytes
    cdef readonly Pool pool
    cdef readonly object owner
    cdef public long long debt
    cdef public object doubt
    cdef int size_class

@cython.locals(last="long long", shift=int)
cpdef int class_of(long long nbytes) noexcept
@cython.locals(steps="long long")
cpdef long long class_bytes(int size_class) noexcept
