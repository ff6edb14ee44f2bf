cimport cython
from numloom.base.memo cimport Memo
from numloom.graph.slots cimport keep_layout, known_update, known_view, recall, remember
from numloom.graph.node cimport (
    NodeSignature, Node, Register, count_reader, count_recorded, signature_by, signature_of, recorded_as, recorded_as2, new_node, new_number,
    scalar_as, viewed, weak_code,
)

cdef dict _rules
cdef Memo _order
cdef list _scales
cdef Memo _tuples
cdef Memo _pairs
cdef Memo _reduced
cdef dict _loops
cdef Memo _orders
cdef tuple _sizes, _dtypes
cdef int C64, C128, I64
cdef int _NONE
cdef tuple _NO_MORE


cdef int CAST, FILL, GATHER, IOTA, LEAF, OP, REDUCE, SCALAR, UPDATE, VIEW

@cython.locals(table=list)
cpdef tuple binary_rule(object op_def, int a, int b)
@cython.locals(result=Node)
cpdef Node cast(Node node, int code)
@cython.locals(result=Node)
cpdef Node unary(object op_def, object x)
@cython.locals(result=Node)
cpdef Node binary(object op_def, object x, object y)
@cython.locals(given=tuple, result=Node)
cpdef Node elementwise(object op_def, object operands)
@cython.locals(position=cython.Py_ssize_t, nodes=list, asked=tuple, codes=tuple, result=Node)
cdef Node _in_full(object op_def, tuple operands)
@cython.locals(shape=tuple, strides=tuple, size=cython.Py_ssize_t, found=tuple, key=tuple)
cdef Node _binary_loop(object op_def, Node a, Node b, int out)
cdef tuple _result_strides1(Node a, int out)
@cython.locals(have=cython.int, want=cython.int, known=Memo, strides=tuple)
cdef tuple _scaled(Node node, int code)
@cython.locals(signature=NodeSignature)
cpdef Node view(Node node, int code, object offset, tuple shape, tuple strides)
@cython.locals(size=cython.Py_ssize_t, extent=cython.Py_ssize_t)
cpdef Py_ssize_t count_of(tuple shape) except? -1
cpdef Node full(object value, int code, tuple shape, tuple strides=*)
cpdef Node copied(Node node, tuple strides, int code)
cpdef tuple known_strides(Node node)
@cython.locals(key=list, asked=tuple, signature=NodeSignature, node=Node, shape=tuple, strides=tuple, size=cython.Py_ssize_t, result=Node)
cpdef Node loop(object op_def, object nodes, int out)
cpdef Node leaf(object buffer, int code, tuple shape, tuple strides)
cpdef tuple one_tuple(tuple numbers)
@cython.locals(found=tuple, key=tuple, shape=tuple, strides=tuple, positions=cython.bint)
cpdef Node reduce(object op_def, Node node, tuple axes, bint keepdims, int out, tuple ordered=*)
cpdef Node scalar(object value, int code)
@cython.locals(node=Node)
cpdef Node known(object value, int code)
cpdef Node known_read(object value, int code)
@cython.locals(signature=NodeSignature)
cpdef Node update(Node base, Node value, Py_ssize_t offset, tuple shape, tuple strides, int code)
