cimport cython
from numloom.device.registry cimport current
from numloom.engine.execute cimport ReadyPlan, run_plan
from numloom.engine.guard cimport Guard
from numloom.engine.state cimport Counters
from numloom.engine.walk cimport Walk, pending_roots, walk
from numloom.graph.node cimport Node


cdef dict _plans
cdef object _device
cdef dict _device_plans
cdef bint _reference

@cython.locals(guard=Guard, roots=list)
cpdef object evaluate(list nodes)

@cython.locals(c=Counters)
cpdef void count_flush() noexcept

cpdef dict plans_of(object device)

@cython.locals(found=Walk, plans=dict, plan=ReadyPlan)
cpdef object run_roots(list roots)

cdef int CAST, FILL, LEAF, VIEW
cdef tuple ITEMSIZES

@cython.locals(base=Node, source=Node, itemsize=cython.Py_ssize_t, place=cython.Py_ssize_t)
cpdef object element(Node value, int code, Py_ssize_t offset)

@cython.locals(place=cython.Py_ssize_t)
cpdef object element_on_host(Node value, int code, Py_ssize_t offset)
