cimport cython
from numloom.graph.node cimport Node, Register, new_node, count_reader, count_recorded

cdef dict _rules
cdef dict _order
cdef list _scales
cdef dict _tuples
cdef dict _pairs
cdef dict _reduced
cdef dict _loops
cdef dict _orders
cdef tuple _sizes
cdef dict _integer_range
cdef int C64, C128, I64
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
@cython.locals(have=cython.int, want=cython.int, known=dict, strides=tuple)
cdef tuple _scaled(Node node, int code)
cpdef Node view(Node node, int code, object offset, tuple shape, tuple strides)
@cython.locals(size=cython.Py_ssize_t, extent=cython.Py_ssize_t)
cpdef Py_ssize_t count_of(tuple shape) except? -1
cpdef Node full(object value, int code, tuple shape, tuple strides=*)
cpdef Node copied(Node node, tuple strides, int code)
cpdef tuple known_strides(Node node)
@cython.locals(position=cython.Py_ssize_t, nodes=list, code=cython.int)
cpdef Node elementwise(object row, object operands, tuple codes=*)
cdef int _code(object x) except -1
@cython.locals(shape=tuple, strides=tuple, size=cython.Py_ssize_t)
cpdef Node loop(object row, object nodes, int out)
@cython.locals(key=list, asked=tuple, found=tuple, node=Node)
cdef tuple _order_of(object nodes, Py_ssize_t itemsize)
cpdef int weak_code(object value) except -1
cpdef Node leaf(object buffer, int code, tuple shape, tuple strides)
cpdef tuple one_tuple(tuple numbers)
@cython.locals(found=tuple, key=tuple, shape=tuple, strides=tuple, positions=cython.bint)
cpdef Node reduce(object row, Node node, tuple axes, bint keepdims, int out, tuple ordered=*)
cpdef Node scalar(object value, int code)
cpdef Node known(object value, int code)
cpdef Node update(Node base, Node value, object offset, tuple shape, tuple strides, int code)
