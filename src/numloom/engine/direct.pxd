cimport cython
from numloom.device.memory cimport Buffer
from numloom.engine._words cimport Words
from numloom.engine.execute cimport Parameter, Pointer, Ready, ReadyPlan, count_kernel, pack
from numloom.graph.node cimport Node, become_leaf

cdef int CAST, LEAF, OP, REDUCE, SCALAR
cdef Py_ssize_t _SLOTS, _PATIENCE


@cython.final
cdef class Operand:
    cdef readonly int kind
    cdef readonly int code
    cdef readonly tuple shape
    cdef readonly tuple strides
    cdef readonly bint held
    cdef readonly bint outside
    cdef readonly int align
    cdef readonly Py_ssize_t times


@cython.final
cdef class Operation:
    cdef readonly object row
    cdef readonly int kind
    cdef readonly int code
    cdef readonly tuple shape
    cdef readonly tuple strides
    cdef readonly object attr


@cython.final
cdef class Direct:
    cdef readonly Operation last
    cdef readonly Operation first
    cdef readonly list operands
    cdef readonly int alike
    cdef readonly list places
    cdef readonly ReadyPlan plan
    cdef readonly Ready ready
    cdef readonly long long nbytes
    cdef public Py_ssize_t faults


@cython.final
cdef class Table:
    cdef public list slots


cdef Table table

@cython.locals(count=cython.Py_ssize_t, found=cython.int)
cdef int alike(tuple args) except -1

@cython.locals(kind=cython.int, args=tuple, arg=Node)
cdef Node innermost(Node node)

@cython.locals(arg=Node)
cdef Py_ssize_t slot_of(Node node, Node inner) except -1

cdef bint is_same(Operation operation, Node node) except -1

@cython.locals(inner=Node, args=tuple, direct=Direct, count=cython.Py_ssize_t, place=cython.Py_ssize_t, arg=Node,
               operand=Operand, buffer=Buffer)
cpdef Direct find_direct(Node node)

@cython.locals(ready=Ready, args=tuple, words=Words, result=Buffer, buffer=Buffer, arg=Node, pointer=Pointer,
               parameter=Parameter)
cpdef object run_direct(Direct direct, Node node)

@cython.locals(inner=Node, args=tuple, arg=Node, ready=Ready, pointer=Pointer, slot=cython.Py_ssize_t, found=Direct,
               made=Direct)
cpdef object learn_direct(Node node, Py_ssize_t count, ReadyPlan plan)
