cimport cython
from numloom.array.storage cimport Storage
from numloom.engine.evaluate cimport element_on_host
from numloom.graph.build cimport known_read
from numloom.graph.node cimport Node, Register

cdef object _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _FLOOR_DIVIDE, _REMAINDER, _LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL
cdef object _EQUAL, _NOT_EQUAL, _NEGATIVE, _ABSOLUTE, _MOST, _LEAST, _WHOLE
cdef int BOOL, F16, F32, F64, FILL, I64, LEAF, SCALAR
cdef Register register

@cython.locals(node=Node)
cpdef object known_number(Storage storage, int code, Py_ssize_t offset)
cpdef Node node_of_number(object value)
cpdef Node number_as(object value, int code)
cpdef Node binary_number(object op_def, object p, object q)
@cython.locals(real=cython.bint)
cdef object _binary(object op_def, object p, object q)
cpdef Node unary_number(object op_def, object p)
cpdef bint repeats(object other) noexcept
