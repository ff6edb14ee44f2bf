cimport cython
from numloom.device.memory cimport Buffer
from numloom.engine._words cimport Words
from numloom.engine.execute cimport Parameter, Pointer, Ready, ReadyPlan, pack
from numloom.engine.state cimport count_flush, count_kernel
from numloom.engine.walk cimport next_epoch
from numloom.graph.node cimport Form, Node, become_leaf

cdef int LEAF, SCALAR
cdef Py_ssize_t _SLOTS, _PATIENCE, _WORDS, _MOST


@cython.final
cdef class Direct:
    cdef long long words[32]
    cdef long long marks[8]
    cdef Py_ssize_t times[8]
    cdef long long addresses[9]
    cdef Py_ssize_t targets[8]
    cdef Py_ssize_t sources[8]
    cdef long long offsets[8]
    cdef readonly Py_ssize_t length
    cdef readonly list parameters
    cdef readonly Py_ssize_t count
    cdef readonly Py_ssize_t patches
    cdef Py_ssize_t at
    cdef Py_ssize_t met
    cdef bint learning
    cdef readonly ReadyPlan plan
    cdef readonly Ready ready
    cdef Words block
    cdef Py_ssize_t entry
    cdef long long items
    cdef readonly long long nbytes
    cdef Py_ssize_t faults


@cython.final
cdef class Table:
    cdef public list slots


cdef Table table

@cython.locals(form=Form, number=cython.Py_ssize_t, arg=Node)
cdef Py_ssize_t slot_of(Node node) except -1

@cython.locals(form=Form, at=cython.Py_ssize_t, args=tuple, place=cython.Py_ssize_t, arg=Node, number=cython.Py_ssize_t, mark=cython.longlong)
cdef bint follow(Direct direct, Node node, Py_ssize_t epoch) except -1

@cython.locals(mark=cython.longlong, buffer=Buffer, parameter=Parameter, value=object)
cdef long long take_operand(Direct direct, Node node, Py_ssize_t number, Py_ssize_t times) except -1

@cython.locals(direct=Direct)
cpdef Direct find_direct(Node node)

@cython.locals(result=Buffer, block=Words, patch=cython.Py_ssize_t)
cpdef object run_direct(Direct direct, Node node)

@cython.locals(node=Node, arg=Node, ready=Ready, pointer=Pointer, parameter=Parameter, slot=cython.Py_ssize_t,
               found=Direct, made=Direct, epoch=cython.Py_ssize_t, operations=cython.Py_ssize_t,
               place=cython.Py_ssize_t, source=cython.Py_ssize_t)
cpdef object learn_direct(list nodes, Py_ssize_t count, ReadyPlan plan)
