cimport cython
from numloom.device.memory cimport Buffer, Pool
from numloom.engine._looped cimport Looped
from numloom.engine._words cimport Words
from numloom.engine.guard cimport Guard
from numloom.engine.look cimport settle_near
from numloom.engine.state cimport Counters
from numloom.graph.node cimport Node, become_leaf


cdef Counters _counters
cdef Guard _guard
cdef int F32, F64, I64, VIEW
cdef Py_ssize_t _warm_up_runs


@cython.final
cdef class Parameter:
    cdef readonly Py_ssize_t word
    cdef readonly Py_ssize_t index
    cdef readonly int code
    cdef public object last


@cython.final
cdef class Linked:
    cdef public object step
    cdef public object source
    cdef public object pattern
    cdef public list sizes
    cdef public object kernel
    cdef public object run
    cdef public object loops
    cdef public Py_ssize_t entry
    cdef public long long items
    cdef public Words words
    cdef public object geometry
    cdef public list parameters
    cdef public Py_ssize_t workspace
    cdef public object scratch


cdef class Step:
    cdef public tuple done
    cpdef object run(self, Frame frame, Tape tape)


@cython.final
cdef class Launch(Step):
    cdef public Linked linked
    cdef public tuple allocate
    cdef public tuple adopt
    cdef public long long copied
    cdef public Py_ssize_t target
    cdef public Py_ssize_t source
    cdef public Words patches
    cdef public Words reads
    cdef public tuple numbers
    cdef public tuple located
    cdef public tuple computed


@cython.final
cdef class Frame:
    cdef public Words addresses
    cdef public list values
    cdef public object device
    cdef public Pool pool
    cdef public object capture
    cdef public object numbers


@cython.final
cdef class Tape:
    cdef public object device
    cdef public Pool pool
    cdef public list steps
    cdef public Py_ssize_t places
    cdef public Py_ssize_t memory
    cdef public list constants
    cdef public Frame spare
    cdef public unsigned long long first
    cdef public unsigned long long second
    cdef public tuple drop
    cdef public int runs
    cdef public object replay
    cdef public Py_ssize_t held
    cdef public bint complains
    cdef public bint waits

    @cython.locals(position=cython.Py_ssize_t, count=cython.Py_ssize_t)
    cpdef object launch_held(self)


cpdef Frame take_frame(Tape tape)
@cython.locals(values=list, place=cython.Py_ssize_t)
cpdef object give_frame(Tape tape, Frame frame)
cpdef object put(Frame frame, Py_ssize_t place, Buffer buffer, long long begin)
cpdef long long begin_of(Frame frame, Py_ssize_t place) except? -1

@cython.locals(doubts=list)
cpdef object run_plan(Tape tape, list nodes)
@cython.locals(frame=Frame, number=cython.Py_ssize_t)
cdef object run_nodes(Tape tape, list nodes, object doubts)
@cython.locals(alone=cython.bint)
cpdef object run(Tape tape, Frame frame, list nodes, object doubts)
@cython.locals(values=list, number=cython.Py_ssize_t)
cdef object run_steps(Tape tape, Frame frame, list nodes, object doubts)
cdef object run_node_step(Launch launch, Frame frame, list nodes, Tape tape, object doubts)
@cython.locals(values=list, number=cython.Py_ssize_t, buffer=Buffer)
cdef object settle(Launch launch, Frame frame, list nodes, object doubts)
@cython.locals(values=list, place=cython.Py_ssize_t, nbytes=cython.longlong, begin=cython.longlong)
cpdef object run_step(Launch launch, Frame frame, list nodes, Tape tape)
@cython.locals(values=list, addresses=Words, place=cython.Py_ssize_t, base=cython.Py_ssize_t, rows=Words,
               at=cython.Py_ssize_t, number=cython.Py_ssize_t, buffer=Buffer, address=cython.longlong,
               offset=cython.longlong)
cdef object bind(Launch launch, Frame frame, list nodes)
@cython.locals(linked=Linked, words=Words, index=cython.Py_ssize_t, number=cython.Py_ssize_t, parameter=Parameter,
               word=cython.Py_ssize_t, pool=Pool, compiled=cython.bint)
cdef object launch_kernel(Launch launch, Frame frame, list nodes, Tape tape)
cpdef bint is_ready(Linked linked, object device) except -1
@cython.locals(linked=Linked)
cpdef bint is_compiled(Tape tape) except -1
@cython.locals(linked=Linked)
cpdef bint runs_by_loops(Tape tape) except -1
@cython.locals(linked=Linked)
cpdef bint is_bound(Tape tape) except -1
cpdef bint has_loops(Linked linked, object device) except -1

cpdef Py_ssize_t words_for(int code) except -1
cpdef object pack(Words words, Py_ssize_t word, object value, int code)

@cython.locals(pool=Pool, number=cython.Py_ssize_t)
cdef object run_held(Tape tape, Frame frame, list nodes, object doubts)
@cython.locals(node=Node, buffer=Buffer)
cdef object let_go(list nodes, Py_ssize_t number, bint computed, list kept, list foreign)
