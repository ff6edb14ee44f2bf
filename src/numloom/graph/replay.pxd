cimport cython
from numloom.base.memo cimport Memo
from numloom.graph.build cimport how
from numloom.graph.node cimport NodeSignature, Node, Register, count_recorded, signature_of, recorded_as, recorded_as1, recorded_as2, new_node, new_number, tracing, viewed

cdef int CAST, FILL, GATHER, IOTA, LEAF, OP, REDUCE, SCALAR, SPECIAL, UPDATE, VIEW
cdef list _traces
cdef Py_ssize_t _off
cdef Register _register


@cython.final
cdef class Instruction:
    cdef readonly NodeSignature signature
    cdef readonly Py_ssize_t first
    cdef readonly Py_ssize_t second
    cdef readonly tuple rest
    cdef readonly object attr
    cdef readonly object call


@cython.final
cdef class OperandSignature:
    cdef readonly int code
    cdef readonly tuple shape
    cdef readonly tuple strides
    cdef readonly bint seen


@cython.final
cdef class RecordedTrace:
    cdef readonly object given
    cdef readonly OperandSignature first
    cdef readonly list signatures
    cdef readonly object shared
    cdef readonly list instructions
    cdef readonly bint straight
    cdef readonly object ending
    cdef readonly tuple results


@cython.final
cdef class RecordedTraces:
    cdef readonly Memo known
    cdef readonly RecordedTrace last
    cdef readonly Memo met


@cython.locals(recorded=RecordedTrace)
cpdef RecordedTrace find(RecordedTraces traces, object given, list operands)
@cython.locals(recorded=RecordedTrace, expected=OperandSignature)
cpdef Node replay_one(RecordedTraces traces, object given, Node operand)
@cython.locals(values=list, args=list, node=Node, instruction=Instruction, signature=NodeSignature, place=cython.Py_ssize_t, offset=cython.Py_ssize_t, op_def=object)
cpdef Node replay(RecordedTrace recorded, list operands)
@cython.locals(alone=cython.bint, node=Node, base=Node)
cpdef bint can_follow(list operands) except -1
@cython.locals(place=cython.Py_ssize_t, other=cython.Py_ssize_t, memory=Node, node=Node)
cpdef object sharing(list operands)
@cython.locals(place=cython.Py_ssize_t, node=Node, expected=OperandSignature)
cdef bint _fits(RecordedTrace recorded, object given, list operands) except -1
@cython.locals(times=cython.Py_ssize_t)
cpdef object begin(RecordedTraces traces, object given, list operands, bint keeps=*)
@cython.locals(key=list, node=Node)
cdef object _key(object given, list operands)
cdef Node _memory(Node node)
cdef Py_ssize_t _begin(Node node) except? -1
cpdef object lose()

cpdef bint learning() noexcept
