cimport cython
from numloom.base.memo cimport Memo
from numloom.graph.node cimport (
    NodeSignature, Node, Register, count_recorded, signature_of, recorded_as, recorded_as1, recorded_as2, new_node, new_number,
    scalar_as, tracing, viewed, weak_code,
)

cdef extern from *:
    """
    #define nl_address(thing) ((Py_ssize_t)(thing))
    """
    Py_ssize_t address "nl_address"(object thing)

cdef int CAST, FILL, GATHER, IOTA, LEAF, OP, REDUCE, SCALAR, UPDATE, VIEW
cdef int DENSE, VIEWED, SPECIAL
cdef Py_ssize_t _SLOTS, _PATIENCE
cdef list _slots
cdef tuple _VIEWS, _UPDATES
cdef bint _verifying
cdef list _traces
cdef Py_ssize_t _off
cdef Register _register


@cython.final
cdef class OperandSignature:
    cdef readonly int code
    cdef readonly int how
    cdef readonly tuple shape
    cdef readonly tuple strides
    cdef readonly NodeSignature cast


@cython.final
cdef class Slot:
    cdef object what
    cdef OperandSignature first
    cdef OperandSignature second
    cdef tuple rest
    cdef NodeSignature signature
    cdef Py_ssize_t misses


@cython.locals(kind=cython.int, arg=Node)
cpdef int how(Node node) noexcept
cdef bint fits(OperandSignature expected, Node node) noexcept
@cython.locals(found=Slot, a=Node, b=Node)
cpdef Node recall(object what, object x, object y, tuple rest)
@cython.locals(at=cython.Py_ssize_t, args=list, node=Node)
cdef Node _recall_any(Slot found, object x, object y, tuple rest)
@cython.locals(node=Node)
cdef bint _meets(OperandSignature expected, object x) except -1
cdef Node _converted(OperandSignature expected, object x)
@cython.locals(place=cython.Py_ssize_t, at=cython.Py_ssize_t)
cdef Py_ssize_t _place(object what, object x, object y, tuple rest) noexcept
@cython.locals(node=Node)
cdef Py_ssize_t _trait(object x) noexcept
@cython.locals(place=cython.Py_ssize_t, operands=list, expected=OperandSignature, arg=Node)
cpdef object remember(object what, tuple given, Node result)
@cython.locals(found=Slot)
cdef bint _is_free(Py_ssize_t place) noexcept
@cython.locals(made=Slot)
cdef object _keep(Py_ssize_t place, object what, list operands, NodeSignature signature)
@cython.locals(found=Slot, signature=NodeSignature)
cpdef NodeSignature known_view(int code, tuple shape, tuple strides)
@cython.locals(place=cython.Py_ssize_t)
cpdef object keep_view(NodeSignature signature)
@cython.locals(found=Slot, signature=NodeSignature, known=tuple)
cpdef NodeSignature known_update(Node base, Py_ssize_t offset, tuple shape, tuple strides, int code)
@cython.locals(place=cython.Py_ssize_t)
cpdef object keep_update(NodeSignature signature)
cdef Py_ssize_t _place_of_layout(Py_ssize_t number, tuple shape, tuple strides) noexcept


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
@cython.locals(values=list, args=list, node=Node, instruction=Instruction, signature=NodeSignature, place=cython.Py_ssize_t, offset=cython.Py_ssize_t, op_def=object)
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
