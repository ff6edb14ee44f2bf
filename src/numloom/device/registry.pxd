cdef object _current
cpdef object current()
