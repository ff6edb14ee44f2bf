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


@cython.final
cdef class Slot:
    cdef object what
    cdef tuple operands
    cdef tuple casts
    cdef NodeSignature signature
    cdef Py_ssize_t misses


@cython.locals(kind=cython.int, arg=Node)
cpdef int how(Node node) noexcept
cdef bint fits(OperandSignature expected, Node node) noexcept
cpdef Node recall(object what, tuple given)
@cython.locals(found=Slot, operands=tuple, casts=tuple, args=tuple, expected=OperandSignature, at=cython.Py_ssize_t, count=cython.Py_ssize_t)
cdef Node _recall(object what, tuple given)
cdef Node _converted(NodeSignature signature, object x)
@cython.locals(place=cython.Py_ssize_t, at=cython.Py_ssize_t, node=Node)
cdef Py_ssize_t _place(object what, tuple given) noexcept
@cython.locals(place=cython.Py_ssize_t, casts=list, arg=Node)
cpdef object remember(object what, tuple given, Node result)
@cython.locals(found=Slot)
cdef bint _is_free(Py_ssize_t place) noexcept
@cython.locals(made=Slot)
cdef object _keep(Py_ssize_t place, object what, tuple operands, object casts, NodeSignature signature)
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
