cimport cython
from numloom.base.memo cimport Memo
from numloom.graph.node cimport (
    NodeSignature, Node, Register, count_recorded, signature_of, recorded_as, recorded_as1, recorded_as2, new_node, new_number,
    tracing, viewed,
)
from numloom.graph.slots cimport OperandSignature, fits, how

cdef int CAST, FILL, GATHER, IOTA, LEAF, OP, REDUCE, SCALAR, UPDATE, VIEW
cdef int SPECIAL
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
cdef class RecordedTrace:
    cdef readonly object given
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
@cython.locals(recorded=RecordedTrace)
cpdef Node replay_straight(RecordedTraces traces, object given, Node operand)
cdef Node _made_again(NodeSignature signature, object op_def, tuple args, object attr)
@cython.locals(node=Node)
cdef Node _viewed_again(NodeSignature signature, Node base, Py_ssize_t offset)
cdef list _args(Instruction instruction)
@cython.locals(values=list, args=tuple, node=Node, instruction=Instruction, signature=NodeSignature, place=cython.Py_ssize_t)
cpdef Node replay(RecordedTrace recorded, list operands)
@cython.locals(alone=cython.bint, node=Node, base=Node)
cpdef bint can_follow(list operands) except -1
@cython.locals(place=cython.Py_ssize_t, other=cython.Py_ssize_t, memory=Node, node=Node)
cpdef object sharing(list operands)
@cython.locals(place=cython.Py_ssize_t, node=Node)
cdef bint _fits(RecordedTrace recorded, object given, list operands) except -1
@cython.locals(times=cython.Py_ssize_t)
cpdef object begin(RecordedTraces traces, object given, list operands, bint keeps=*)
@cython.locals(key=list, node=Node)
cdef object _key(object given, list operands)
cdef Node _memory(Node node)
cdef Py_ssize_t _begin(Node node) except? -1
cpdef object lose()

cpdef bint learning() noexcept
