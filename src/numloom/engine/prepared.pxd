cimport cython
from numloom.device.memory cimport Buffer, Pool
from numloom.engine._words cimport Words
from numloom.engine.evaluate cimport plans_by_settings, plans_in_use
from numloom.engine.execute cimport ReadyPlan, ReadyStep, StepParameter, pack
from numloom.engine.guard cimport Guard
from numloom.engine.look cimport settle_near
from numloom.engine.state cimport Counters
from numloom.graph.node cimport Node, computed

cdef Guard _guard
cdef Counters _counters
cdef int LEAF


@cython.final
cdef class PreparedStep:
    cdef public ReadyStep ready
    cdef public Py_ssize_t first
    cdef public list sizes
    cdef public list sources
    cdef public list words
    cdef public list offsets
    cdef public list parameters
    cdef public list values
    cdef public list done


@cython.final
cdef class Prepared:
    cdef public ReadyPlan plan
    cdef public dict plans
    cdef public list steps
    cdef public list past
    cdef public list results
    cdef public list signatures


@cython.final
cdef class CallState:
    cdef public Prepared prepared
    cdef public Py_ssize_t calls
    cdef public Py_ssize_t next


@cython.locals(plan=ReadyPlan, values=list, past=list, results=list, place=cython.Py_ssize_t, expected=cython.Py_ssize_t,
               node=Node, buffer=Buffer, owned=Guard, step=PreparedStep)
cpdef object run_prepared(Prepared prepared, list operands, bint checking)
@cython.locals(plan=ReadyPlan, pool=Pool, step=PreparedStep)
cdef object run_prepared_graph(Prepared prepared, list values)
@cython.locals(ready=ReadyStep, pool=Pool, nbytes=cython.longlong, place=cython.Py_ssize_t, buffer=Buffer, words=Words,
               parameter=StepParameter, word=cython.Py_ssize_t, offset=cython.longlong)
cdef object run_prepared_step(PreparedStep step, list values, ReadyPlan plan)
