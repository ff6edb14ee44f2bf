cimport cython
from numloom.device.memory cimport Buffer, Pool
from numloom.engine._words cimport Words
from numloom.engine.evaluate cimport evaluate, plans_by_settings, plans_in_use
from numloom.engine.guard cimport Guard
from numloom.engine.routines cimport Call
from numloom.engine.state cimport Counters
from numloom.engine.tape cimport Frame, Launch, Step, Tape, begin_of, give_frame, is_bound, pack, put, run, take_frame, words_for
from numloom.graph.node cimport Node, NodeSignature, computed, new_node, signature_by, viewed

cdef Guard _guard
cdef Counters _counters
cdef int _warm_up_runs
cdef int LEAF, VIEW, U8
cdef tuple ITEMSIZES


@cython.final
cdef class Operand:
    cdef public Py_ssize_t place
    cdef public Py_ssize_t given
    cdef public long long offset
    cdef public object base
    cdef public object seen
    cdef public object number


cdef class RoutineCall(Step):
    cdef public object call
    cdef public bint direct
    cdef public bint keeps
    cdef public list operands
    cdef public list targets

    @cython.locals(call=Call)
    cpdef object run(self, Frame frame, Tape tape)
    @cython.locals(at=list, addresses=Words, place=cython.Py_ssize_t, target=cython.Py_ssize_t)
    cdef bint run_bound(self, Call call, Frame frame) except -1
    @cython.locals(values=list, nodes=list, number=cython.Py_ssize_t, place=cython.Py_ssize_t, node=Node,
                   begin=cython.longlong, buffer=Buffer)
    cdef object run_in_full(self, Frame frame, Tape tape)


@cython.final
cdef class TapedCall:
    cdef public Tape tape
    cdef public object plans
    cdef public list past
    cdef public list constants
    cdef public list located
    cdef public list results
    cdef public list signatures
    cdef public list seen
    cdef public object adopted
    cdef public int runs
    cdef public object capture
    cdef public Captured captured


@cython.final
cdef class Captured:
    cdef public object launch
    cdef public list given
    cdef public list results
    cdef public list numbers
    cdef public list fixed
    cdef public tuple counts
    cdef public bint tf32
    cdef public Words words

    @cython.locals(kernels=cython.Py_ssize_t, calls=cython.Py_ssize_t, copies=cython.Py_ssize_t)
    cpdef bint run(self, list given) except -1


cpdef long long past(Buffer buffer)


@cython.final
cdef class Stacked:
    cdef public Py_ssize_t place
    cdef public long long begin
    cdef public long long stride
    cdef public long long nbytes
    cdef public bint there


@cython.locals(expected_of=list, pool=object, place=cython.Py_ssize_t, expected=cython.Py_ssize_t,
               count=cython.Py_ssize_t, node=Node, buffer=Buffer)
cdef bint fill(TapedCall taped, Frame frame, list operands, bint checking) except -1
@cython.locals(tape=Tape, frame=Frame, owned=Guard)
cpdef object run_taped(TapedCall taped, list operands, bint checking)
@cython.locals(captured=Captured)
cdef object run_all(TapedCall taped, Frame frame)
@cython.locals(addresses=list, place=cython.Py_ssize_t, nbytes=cython.longlong, words=Words, code=int,
               word=cython.Py_ssize_t)
cdef bint run_captured(Captured captured, Frame frame) except -1
cdef object locate(TapedCall taped, Frame frame)
@cython.locals(bases=list, results=list, place=cython.Py_ssize_t, where=cython.Py_ssize_t)
cdef list results_of(TapedCall taped, list operands, Frame frame)
@cython.locals(number=Node, signature=NodeSignature, begin=cython.longlong, base=Node, buffer=Buffer, seen=NodeSignature,
               alike=NodeSignature)
cdef Node node_at(Operand operand, Frame frame)
@cython.locals(tape=Tape, frame=Frame, values=list, fixed=cython.Py_ssize_t, step=cython.Py_ssize_t,
               place=cython.Py_ssize_t, where=cython.Py_ssize_t, one=Stacked, begin=cython.longlong)
cpdef object run_stepped(TapedCall taped, list memory, list begins, list strides, list states, Py_ssize_t first,
                         Py_ssize_t steps, list stacked, list last, object packed, object pause, object capture)
