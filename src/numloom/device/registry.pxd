cdef object _current
cpdef object current()
cdef object _far, _host
cdef bint _auto
cpdef object beside(object device)
