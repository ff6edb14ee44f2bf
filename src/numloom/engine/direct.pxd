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


@cython.final
cdef class Direct:
    cdef readonly object row
    cdef readonly int kind
    cdef readonly int code
    cdef readonly tuple shape
    cdef readonly tuple strides
    cdef readonly object attr
    cdef readonly list operands
    cdef readonly bint twice
    cdef readonly list places
    cdef readonly ReadyPlan plan
    cdef readonly Ready ready
    cdef readonly long long nbytes
    cdef public Py_ssize_t faults


@cython.final
cdef class Table:
    cdef public list slots


cdef Table table

@cython.locals(arg=Node)
cdef Py_ssize_t slot_of(Node node) except -1

@cython.locals(kind=cython.int, args=tuple, direct=Direct, times=cython.Py_ssize_t, place=cython.Py_ssize_t, arg=Node,
               operand=Operand, buffer=Buffer)
cpdef Direct find_direct(Node node)

@cython.locals(ready=Ready, args=tuple, words=Words, result=Buffer, buffer=Buffer, arg=Node, pointer=Pointer,
               parameter=Parameter)
cpdef object run_direct(Direct direct, Node node)

@cython.locals(args=tuple, kind=cython.int, arg=Node, ready=Ready, pointer=Pointer, slot=cython.Py_ssize_t, found=Direct)
cpdef object learn_direct(Node node, Py_ssize_t count, ReadyPlan plan)
