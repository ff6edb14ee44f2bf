cdef object _current
cpdef object current()
cdef tuple _far
cdef bint _auto, _mixed
cpdef bint is_mixed() noexcept
cpdef object beside(object device)
