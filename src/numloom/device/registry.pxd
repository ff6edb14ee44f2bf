cdef object _current
cpdef object current()
cdef object _far, _host
cdef bint _auto, _mixed
cpdef bint is_mixed() noexcept
cpdef object beside(object device)
