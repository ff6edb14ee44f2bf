cimport cython
from numloom.device.cpu._hostview cimport number_at
from numloom.device.memory cimport Buffer, Pool
from numloom.engine._words cimport Words
from numloom.engine.state cimport Counters, count_kernel
from numloom.graph.node cimport Node, become_leaf


cdef Counters _counters


@cython.final
cdef class Pointer:
    cdef readonly Py_ssize_t word
    cdef readonly Py_ssize_t slot
    cdef readonly Py_ssize_t number
    cdef readonly long long offset
    cdef readonly Py_ssize_t view


@cython.final
cdef class StepParameter:
    cdef readonly Py_ssize_t word
    cdef readonly Py_ssize_t number
    cdef readonly int code
    cdef object last


@cython.final
cdef class ReadyStep:
    cdef public object step
    cdef public tuple allocate
    cdef public tuple adopt
    cdef public tuple copy
    cdef public tuple computed
    cdef public tuple release
    cdef public object kernel
    cdef public Words words
    cdef public bint ready
    cdef public object run
    cdef public list pointers
    cdef public list params
    cdef public list locations
    cdef public Py_ssize_t workspace
    cdef public object geometry
    cdef public object source
    cdef public object pattern
    cdef public list sizes
    cdef public list buffers
    cdef public object scratch


@cython.final
cdef class Pattern:
    cdef public ReadyStep ready
    cdef public Py_ssize_t number
    cdef public object specialisation
    cdef public list allocate
    cdef public Py_ssize_t copied
    cdef public list words
    cdef public list geometry
    cdef public list offsets


@cython.locals(known=ReadyStep, ready=ReadyStep, words=Words, word=cython.Py_ssize_t, slot=cython.Py_ssize_t)
cpdef ReadyStep resized(Pattern pattern, list values, list sizes)


@cython.final
cdef class ReadyPlan:
    cdef public object device
    cdef public Pool pool
    cdef public unsigned long long first
    cdef public unsigned long long second
    cdef public tuple drop
    cdef public list steps
    cdef public int warm_up_runs
    cdef public object replay
    cdef public Py_ssize_t held
    cdef public int waits
    cdef public bint complains

    @cython.locals(ready=ReadyStep, position=cython.Py_ssize_t, count=cython.Py_ssize_t)
    cpdef object launch_held(self)


@cython.locals(doubts=list)
cpdef object run_plan(ReadyPlan plan, list nodes)
@cython.locals(number=cython.Py_ssize_t, ready=ReadyStep, steps=list)
cdef object run_in_doubt(ReadyPlan plan, list nodes, object doubts)

@cython.locals(pool=Pool, ready=ReadyStep, number=cython.Py_ssize_t, node=Node, buffer=Buffer)
cdef object run_captured(ReadyPlan plan, list nodes, object doubts)

@cython.locals(buffers=list, pool=Pool, nbytes=cython.longlong, number=cython.Py_ssize_t, base=cython.Py_ssize_t, node=Node, position=cython.Py_ssize_t, count=cython.Py_ssize_t, buffer=Buffer)
cpdef object run_step(ReadyStep ready, list nodes, ReadyPlan plan, object doubts)

@cython.locals(words=Words, number=cython.Py_ssize_t, word=cython.Py_ssize_t, node=Node, address=cython.longlong,
               buffer=Buffer, pointer=Pointer, parameter=StepParameter)
cpdef object launch(ReadyStep ready, list nodes, list buffers, ReadyPlan plan)

cpdef bint is_ready(ReadyStep ready, ReadyPlan plan)
@cython.locals(ready=ReadyStep)
cpdef bint is_compiled(ReadyPlan plan)

cpdef object pack(Words words, Py_ssize_t word, object value, int code)
