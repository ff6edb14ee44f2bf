from numloom.device.memory cimport Buffer
from numloom.engine.walk cimport Walk
from numloom.graph.node cimport Node

cpdef int run(Walk found, list wanted, object device, bint planned) except -2
cpdef bint run_one(Node root, object device, bint beside, bint planned=*, Buffer given=*) except -1
cpdef int side(Walk found, list wanted, object host, int planned) except -2
cpdef Py_ssize_t last_regret() noexcept
