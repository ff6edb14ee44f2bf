cimport cython
from numloom.device.memory cimport Buffer, Pool
from numloom.engine._words cimport Words
from numloom.engine.evaluate cimport evaluate, plans_by_settings, plans_in_use
from numloom.engine.execute cimport ReadyPlan, ReadyStep, StepParameter, pack
from numloom.engine.guard cimport Guard
from numloom.engine.look cimport settle_near
from numloom.engine.routines cimport Call
from numloom.engine.state cimport Counters
from numloom.graph.node cimport Node, NodeSignature, computed, new_node, signature_by, viewed

cdef Guard _guard
cdef Counters _counters
cdef int LEAF, VIEW, U8
cdef tuple ITEMSIZES


@cython.final
cdef class PreparedStep:
    cdef public ReadyStep ready
    cdef public Py_ssize_t first
    cdef public long long copied
    cdef public Py_ssize_t source
    cdef public list sizes
    cdef public list sources
    cdef public list words
    cdef public list offsets
    cdef public list parameters
    cdef public list values
    cdef public list given
    cdef public list located
    cdef public list done


@cython.final
cdef class Operand:
    cdef public Py_ssize_t place
    cdef public Py_ssize_t given
    cdef public long long offset
    cdef public object base
    cdef public object seen
    cdef public object number


@cython.final
cdef class PreparedCall:
    cdef public object call
    cdef public bint direct
    cdef public bint keeps
    cdef public list operands
    cdef public list targets
    cdef public list done


@cython.final
cdef class Prepared:
    cdef public object device
    cdef public Pool pool
    cdef public object plan
    cdef public object plans
    cdef public list steps
    cdef public Py_ssize_t places
    cdef public list past
    cdef public list constants
    cdef public list results
    cdef public list signatures
    cdef public list seen
    cdef public object adopted
    cdef public bint complains


@cython.final
cdef class CallState:
    cdef public Prepared prepared
    cdef public list loops
    cdef public Py_ssize_t calls
    cdef public Py_ssize_t next


cpdef long long past(Buffer buffer)


@cython.final
cdef class Stacked:
    cdef public Py_ssize_t place
    cdef public long long begin
    cdef public long long stride
    cdef public long long nbytes
    cdef public bint there


@cython.locals(fixed=cython.Py_ssize_t, step=cython.Py_ssize_t, counted=cython.Py_ssize_t, place=cython.Py_ssize_t,
               where=cython.Py_ssize_t, values=list, at=list, one=Stacked, begin=cython.longlong)
cpdef object run_stepped(Prepared prepared, list memory, list begins, list strides, list states, Py_ssize_t first,
                         Py_ssize_t steps, list stacked, list last, object packed, object pause, object capture)
@cython.locals(values=list, expected_of=list, place=cython.Py_ssize_t, expected=cython.Py_ssize_t, count=cython.Py_ssize_t,
               node=Node, buffer=Buffer)
cpdef list memory_of(Prepared prepared, list operands, bint checking)
@cython.locals(values=list, owned=Guard)
cpdef object run_prepared(Prepared prepared, list operands, bint checking)
cdef object run_prepared_steps(Prepared prepared, list values)
@cython.locals(bases=list, results=list, place=cython.Py_ssize_t, where=cython.Py_ssize_t)
cdef list results_of(Prepared prepared, list operands, list values)
cpdef object run_steps(Prepared prepared, list values, list begins, object capture)
@cython.locals(plan=ReadyPlan, pool=Pool)
cdef object run_prepared_graph(Prepared prepared, list values)
@cython.locals(ready=ReadyStep, nbytes=cython.longlong, place=cython.Py_ssize_t, source=cython.Py_ssize_t, buffer=Buffer,
               words=Words, parameter=StepParameter, address=cython.longlong, begin=cython.longlong,
               other=cython.longlong)
cdef object run_prepared_step(PreparedStep step, list values, list begins, object device, Pool pool, object plan,
                              object capture)
@cython.locals(call=Call, done=bint, place=cython.Py_ssize_t)
cdef object run_prepared_call(PreparedCall step, list values, list begins, Prepared prepared)
@cython.locals(at=list, operand=Operand, buffer=Buffer, address=cython.longlong, target=cython.Py_ssize_t)
cdef bint run_bound(Call call, PreparedCall step, list values, list begins, Prepared prepared, object capture) except -1
@cython.locals(nodes=list, number=cython.Py_ssize_t, place=cython.Py_ssize_t, node=Node, begin=cython.longlong, operand=Operand)
cdef object run_in_full(PreparedCall step, list values, list begins, Prepared prepared)
@cython.locals(number=Node, signature=NodeSignature, begin=cython.longlong, base=Node, buffer=Buffer, seen=NodeSignature,
               alike=NodeSignature)
cdef Node node_at(Operand operand, list values, list begins)
