cimport cython
from numloom.device.memory cimport Buffer, Pool
from numloom.device.registry cimport beside, current, is_mixed, many, several
from numloom.engine.direct cimport Direct, find_direct, learn_direct, run_direct
from numloom.engine.guard cimport Guard
from numloom.engine.look cimport is_near, is_shared, operand
from numloom.engine.state cimport Counters, count_flush
from numloom.engine.tape cimport Tape, is_compiled, run_plan
from numloom.engine.walk cimport Walk, end_walk, pending_roots, walk, walk_pending
from numloom.graph.node cimport Node, Register
from numloom.graph.again cimport learning, lose


cdef Guard _guard
cdef Counters _counters
cdef Register _register
cdef dict _plans
cdef object _device, _host
cdef dict _device_plans, _host_plans
cdef bint _reference
cdef bint _verify, _verifying
cdef long long _limit
cdef bint _staying
cdef list _recent
cdef Py_ssize_t _RECENT, WAITS

@cython.locals(owned=Guard, between=cython.bint)
cpdef object evaluate(list nodes)
cpdef object evaluate_one(Node node)
cdef bint _run_one(Node node) except -1
cdef object run_here(list nodes)
@cython.locals(node=Node)
cdef bint any_tree(list nodes) except -1
@cython.locals(r=Register, node=Node, direct=Direct)
cdef bint run_alone(list nodes) except -1
@cython.locals(found=Walk)
cdef object run_pending(list nodes)
cdef object run_whole(list nodes)

@cython.locals(plan=Tape, slot=cython.Py_ssize_t, ran=cython.int, met=cython.bint)
cpdef bint run_walk(Walk found, list wanted) except -1
@cython.locals(plan=Tape, planned=cython.int, where=cython.int)
cdef object place_work(Walk found, list wanted, object device, object host)

cpdef dict plans_of(object device)
cpdef object plans_in_use()
cpdef object plans_by_settings()

@cython.locals(ran=cython.int)
cdef int small_work(Walk found, list wanted, object device, bint planned) except? -2

@cython.locals(found=Walk, plans=dict, plan=Tape)
cpdef object run_roots(list roots)

cdef int BOOL, CAST, F64, FILL, I64, LEAF, OP, REDUCE, SCALAR, UPDATE, VIEW
cdef Py_ssize_t _STEPS, _WRITES
cdef Py_ssize_t ELEMENTS
cdef tuple ITEMSIZES

@cython.locals(base=Node, source=Node, itemsize=cython.Py_ssize_t, slot=cython.Py_ssize_t)
cpdef object element(Node value, int code, Py_ssize_t offset, bint alone=*)

@cython.locals(slot=cython.Py_ssize_t, buffer=Buffer, pool=Pool)
cpdef object element_on_host(Node value, int code, Py_ssize_t offset)

cpdef bint at_hand(Node value) except -1
@cython.locals(arg=Node)
cdef bint lies_near(Node value, int steps) except -1

cpdef object element_at_once(Node value, int code, Py_ssize_t offset)

cpdef object number(Node value, int code, Py_ssize_t offset)

@cython.locals(buffer=Buffer, pool=Pool, size=cython.Py_ssize_t, extent=cython.Py_ssize_t)
cdef object copied_out(Node value, int code, object offset, tuple shape, tuple strides)

cpdef object download_layout(Node value, int code, object offset, tuple shape, tuple strides, bint alone=*)
