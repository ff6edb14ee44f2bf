cimport cython
from libc.stdint cimport intptr_t
from numloom.device.cpu._hostview cimport copy_element, is_set, number_at, put_number_at
from numloom.device.memory cimport Buffer, Pool
from numloom.device.registry cimport many, several
from numloom.engine.doubts cimport begin, conclude, hear, tell
from numloom.engine.state cimport Counters
from numloom.graph.node cimport Node
from numloom.graph.again cimport learning, lose

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(object) noexcept

cdef Counters _counters
cdef int I64
cdef Py_ssize_t _ALONE

@cython.locals(pool=Pool)
cpdef bint is_near(Buffer buffer) except -1
cpdef bint is_shared(object device, Buffer buffer) except -1
cpdef object number(object device, Buffer buffer, Py_ssize_t offset, int code)
@cython.locals(buffer=Buffer)
cpdef bint put_number(Node value, int code, Py_ssize_t offset, object number) except -1
@cython.locals(buffer=Buffer)
cdef bint read_bits(Node value, int code, Py_ssize_t offset, intptr_t to) except -1
@cython.locals(buffer=Buffer)
cdef bint write_bits(Node value, int code, Py_ssize_t offset, intptr_t number) except -1
@cython.locals(pool=Pool)
cdef bint is_quiet(Buffer buffer) except -1
cpdef object array(object device, Buffer buffer, object offset, tuple shape, tuple strides, object dtype)
cpdef object lend(object device, Buffer buffer, object offset, tuple shape, tuple strides, object dtype, object owner)
cpdef object operand(object device, Buffer buffer, object offset, tuple shape, tuple strides, object dtype)
cdef object _seen(object device, Buffer buffer, object offset, tuple shape, tuple strides, object dtype)
cdef bint _is_word_set(intptr_t address) except -1
cpdef object settle_near(object device, Pool pool)
