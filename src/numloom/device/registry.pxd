cdef object _current
cpdef object current()
cdef tuple _far
cdef bint _apart, _auto, _many, _mixed, _several
cpdef bint apart() noexcept
cpdef bint many() noexcept
cpdef bint several() noexcept
cpdef bint is_mixed() noexcept
cpdef object beside(object device)
