cimport cython
from numloom.graph.node cimport (
    NodeSignature, Node, recorded_as, recorded_as1, recorded_as2, scalar_as, signature_of, weak_code,
)

cdef extern from *:
    """
    #define nl_address(thing) ((Py_ssize_t)(thing))
    """
    Py_ssize_t address "nl_address"(object thing)

cdef int CAST, LEAF, OP, SCALAR, UPDATE, VIEW
cdef int _DENSE, _VIEWED, _SPECIAL
cdef Py_ssize_t _SLOTS, _PATIENCE
cdef list _slots
cdef tuple _LAYOUT
cdef bint _verifying


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
cpdef bint fits(OperandSignature expected, Node node) noexcept
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
@cython.locals(found=Slot, signature=NodeSignature, known=tuple)
cpdef NodeSignature known_update(Node base, Py_ssize_t offset, tuple shape, tuple strides, int code)
@cython.locals(place=cython.Py_ssize_t, number=cython.Py_ssize_t, shape=tuple, strides=tuple)
cpdef object keep_layout(NodeSignature signature)
cdef Py_ssize_t _place_of_layout(Py_ssize_t number, tuple shape, tuple strides) noexcept
