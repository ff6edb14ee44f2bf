cimport cython
from numloom.engine.execute cimport ReadyPlan, run_plan
from numloom.engine.walk cimport Walk, pending_roots, walk
from numloom.graph.node cimport Node


cdef dict _plans

@cython.locals(roots=list)
cpdef object evaluate(object nodes)

@cython.locals(found=Walk, plans=dict, plan=ReadyPlan, key=tuple)
cpdef object run_roots(list roots)
