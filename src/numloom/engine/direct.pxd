cimport cython
from numloom.device.memory cimport Buffer
from numloom.engine.state cimport Counters
from numloom.engine.tape cimport Frame, Launch, Parameter, Tape, pack, run_step
from numloom.engine.walk cimport next_epoch
from numloom.graph.node cimport NodeSignature, Node, become_leaf, signature_of

cdef int IOTA, LEAF, OP, REDUCE, SCALAR, VIEW
cdef Counters _counters
cdef Py_ssize_t _SLOTS, _PATIENCE, _WORDS, _MOST
cdef long long MOVE, RATE


@cython.final
cdef class Direct:
    cdef long long words[64]
    cdef long long marks[16]
    cdef Py_ssize_t times[16]
    cdef readonly Py_ssize_t length
    cdef readonly list parameters
    cdef Py_ssize_t at
    cdef Py_ssize_t met
    cdef Py_ssize_t operations
    cdef bint learning
    cdef readonly Tape tape
    cdef readonly Launch launch
    cdef Frame frame
    cdef Py_ssize_t faults
    cdef long long regret
    cdef long long debt
    cdef bint weary


@cython.final
cdef class DirectTable:
    cdef public list slots


cdef DirectTable table

@cython.locals(signature=NodeSignature, number=cython.Py_ssize_t, arg=Node)
cdef Py_ssize_t slot_of(Node node) except -1

@cython.locals(signature=NodeSignature, args=tuple, place=cython.Py_ssize_t, arg=Node, kind=cython.int)
cdef bint follow(Direct direct, Node node, Py_ssize_t epoch) except -1
@cython.locals(at=cython.Py_ssize_t)
cdef bint same_word(Direct direct, long long word) noexcept
cdef bint follow_operand(Direct direct, Node node, Py_ssize_t epoch) except -1
@cython.locals(base=Node, signature=NodeSignature, begin=cython.longlong)
cdef bint follow_view(Direct direct, Node node, Py_ssize_t epoch) except -1
cdef bint follow_counter(Direct direct, Node node) except -1
@cython.locals(number=cython.Py_ssize_t)
cdef bint meet(Direct direct, Node node) except -1

@cython.locals(mark=cython.longlong, ptr=cython.longlong, begin=cython.longlong, buffer=Buffer)
cdef long long take_operand(Direct direct, Node node, Py_ssize_t number, Py_ssize_t times) except -1
@cython.locals(parameter=Parameter, value=object)
cdef int take_number(Direct direct, Node node, Py_ssize_t number) except -1

@cython.locals(direct=Direct, epoch=cython.Py_ssize_t)
cpdef Direct find_direct(Node node)

@cython.locals(result=Buffer, frame=Frame)
cpdef object run_direct(Direct direct, Node node)

@cython.locals(node=Node, arg=Node, launch=Launch, slot=cython.Py_ssize_t, found=Direct, made=Direct,
               epoch=cython.Py_ssize_t, place=cython.Py_ssize_t, index=cython.Py_ssize_t)
cpdef object learn_direct(list nodes, Py_ssize_t count, Tape tape, long long regret)
