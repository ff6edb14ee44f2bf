cimport cython
from numloom.base.memo cimport Memo
from numloom.graph.node cimport (
    NodeSignature, Node, Register, count_reader, count_recorded, signature_by, signature_of, recorded_as, recorded_as1, recorded_as2, new_node, new_number,
    viewed,
)

cdef extern from *:
    """
    #define nl_address(thing) ((Py_ssize_t)(thing))
    """
    Py_ssize_t address "nl_address"(object thing)

cdef dict _rules
cdef Memo _order
cdef list _scales
cdef Memo _tuples
cdef Memo _pairs
cdef Memo _reduced
cdef dict _loops
cdef Memo _orders
cdef tuple _sizes
cdef list _integer_range
cdef int C64, C128, I64
cdef int _NONE, _NUMBER, _AS, _LEFT
cdef Py_ssize_t _SLOTS, _PATIENCE


@cython.final
cdef class Recorded:
    cdef object op_def
    cdef int first
    cdef int second
    cdef int first_how
    cdef int second_how
    cdef tuple first_shape
    cdef tuple first_strides
    cdef tuple second_shape
    cdef tuple second_strides
    cdef NodeSignature cast_first
    cdef NodeSignature cast_second
    cdef int loop
    cdef NodeSignature signature
    cdef Py_ssize_t faults


@cython.final
cdef class RecordedTable:
    cdef list slots


@cython.final
cdef class Several:
    cdef object op_def
    cdef list codes
    cdef list hows
    cdef list shapes
    cdef list strides
    cdef list casts
    cdef tuple loop
    cdef NodeSignature signature


cdef RecordedTable _table, _views, _updates, _several
cdef int _DENSE, _VIEWED, _SPECIAL

@cython.locals(slot=cython.Py_ssize_t, found=Recorded, made=Recorded, args=tuple, arg=Node, first_how=cython.int,
               second_how=cython.int)
cdef object remember(object op_def, Node a, int second, Node b, Node result)
@cython.locals(kind=cython.int, arg=Node)
cpdef int how(Node node) noexcept
@cython.locals(slot=cython.Py_ssize_t, node=Node)
cdef Py_ssize_t _slot_of_several(object op_def, object operands)
@cython.locals(found=Several, at=cython.Py_ssize_t, node=Node, nodes=list, cast_signature=NodeSignature)
cdef Node _recall_several(object op_def, object operands)
@cython.locals(slot=cython.Py_ssize_t)
cdef Py_ssize_t _slot(object op_def, Node a, int second, Node b) noexcept
cdef bint _verifying
cdef Recorded find_recorded(object op_def, Node a, int second, Node b)
@cython.locals(found=Recorded)
cdef Recorded _find_recorded(object op_def, Node a, int second, Node b)
@cython.locals(found=Recorded)
cdef object _check_recorded(object op_def, Node a, int second, Node b, Node result)
cdef int CAST, FILL, GATHER, IOTA, LEAF, OP, REDUCE, SCALAR, UPDATE, VIEW

@cython.locals(table=list)
cpdef tuple binary_rule(object op_def, int a, int b)
cpdef Node scalar_as(object value, int code)
@cython.locals(rule=tuple, la=cython.int, lb=cython.int, out=cython.int, found=Recorded, result=Node)
cpdef Node binary(object op_def, Node a, Node b)
@cython.locals(rule=tuple, la=cython.int, lb=cython.int, out=cython.int, weak=cython.int, found=Recorded, result=Node, number=Node)
cpdef Node binary_scalar(object op_def, Node a, object value)
@cython.locals(rule=tuple, la=cython.int, lb=cython.int, out=cython.int, weak=cython.int, found=Recorded, result=Node, number=Node)
cpdef Node scalar_binary(object op_def, object value, Node b)
@cython.locals(found=Recorded, result=Node)
cpdef Node cast(Node node, int code)
@cython.locals(rule=tuple, found=Recorded, result=Node, x=Node)
cpdef Node unary(object op_def, Node a)
@cython.locals(shape=tuple, strides=tuple, size=cython.Py_ssize_t, found=tuple, key=tuple)
cdef Node _binary_loop(object op_def, Node a, Node b, int out)
cdef tuple _result_strides1(Node a, int out)
@cython.locals(have=cython.int, want=cython.int, known=Memo, strides=tuple)
cdef tuple _scaled(Node node, int code)
@cython.locals(slot=cython.Py_ssize_t, signature=NodeSignature)
cpdef Node view(Node node, int code, object offset, tuple shape, tuple strides)
@cython.locals(size=cython.Py_ssize_t, extent=cython.Py_ssize_t)
cpdef Py_ssize_t count_of(tuple shape) except? -1
cpdef Node full(object value, int code, tuple shape, tuple strides=*)
cpdef Node copied(Node node, tuple strides, int code)
cpdef tuple known_strides(Node node)
@cython.locals(position=cython.Py_ssize_t, nodes=list, code=cython.int, asked=cython.bint, result=Node)
cpdef Node elementwise(object op_def, object operands, tuple codes=*)
cdef int _code(object x) except -1
@cython.locals(key=list, asked=tuple, signature=NodeSignature, node=Node, shape=tuple, strides=tuple, size=cython.Py_ssize_t, result=Node)
cpdef Node loop(object op_def, object nodes, int out)
cpdef int weak_code(object value) except -1
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
@cython.locals(signature=NodeSignature, known=tuple)
cpdef NodeSignature known_update(Node base, Py_ssize_t offset, tuple shape, tuple strides, int code)
cdef Py_ssize_t _slot_of_update(Py_ssize_t offset, tuple shape, tuple strides) noexcept
