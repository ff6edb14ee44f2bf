cimport cython
from numloom.graph.node cimport Node, Register, new_node, count_reader, count_recorded

cdef dict _rules
cdef dict _order
cdef dict _scales
cdef dict _tuples
cdef dict _pairs
cdef dict _reduced
cdef tuple _sizes
cdef int CAST, FILL, GATHER, IOTA, LEAF, OP, REDUCE, SCALAR, UPDATE, VIEW

@cython.locals(table=list)
cpdef tuple binary_rule(object row, int a, int b)
cpdef Node scalar_as(object value, int code)
@cython.locals(rule=tuple, la=cython.int, lb=cython.int, out=cython.int)
cpdef Node binary(object row, Node a, Node b)
@cython.locals(rule=tuple, la=cython.int, lb=cython.int, out=cython.int)
cpdef Node binary_scalar(object row, Node a, object value)
@cython.locals(rule=tuple, la=cython.int, lb=cython.int, out=cython.int)
cpdef Node scalar_binary(object row, object value, Node b)
cpdef Node cast(Node node, int code)
@cython.locals(rule=tuple)
cpdef Node unary(object row, Node a)
@cython.locals(shape=tuple, strides=tuple, size=cython.Py_ssize_t, found=tuple, key=tuple)
cdef Node _binary_loop(object row, Node a, Node b, int out)
cdef tuple _result_strides1(Node a, int out)
cdef tuple _scaled(Node node, int code)
cpdef Node view(Node node, int code, object offset, tuple shape, tuple strides)
cpdef int weak_code(object value) except -1
cpdef Node leaf(object buffer, int code, tuple shape, tuple strides)
cpdef tuple one_tuple(tuple numbers)
@cython.locals(found=tuple, key=tuple, shape=tuple, strides=tuple, positions=cython.bint)
cpdef Node reduce(object row, Node node, tuple axes, bint keepdims, int out, tuple ordered=*)
cpdef Node scalar(object value, int code)
cpdef Node known(object value, int code)
cpdef Node update(Node base, Node value, object offset, tuple shape, tuple strides, int code)
