cimport cython
from numloom.array._short cimport product as short_product
from numloom.array.ndarray cimport apply1, apply2, storage_of, ndarray, node_of, operated, record2, view_of, wrap
from numloom.array.storage cimport Storage, put, write
from numloom.device.registry cimport current
from numloom.engine._few cimport run_few
from numloom.graph.build cimport cast, elementwise, scalar, unary
from numloom.graph.node cimport Node
from numloom.graph.again cimport RecordedTrace, RecordedTraces, find, replay, replay_straight


cdef int BOOL, F64
cdef int DEEPEST
cdef object _SAME_KIND, _ANY, _ARRAY, _PART, _KEPT, _LIES
cdef bint _verify


cdef class ElementwiseCall:
    cdef public object _op_def
    cdef public tuple _op_defs
    cdef public int nin
    cdef public int nout
    cdef public bint careful
    cdef void* entry


cpdef object call_fast(ElementwiseCall function, object x, object y, object out)
@cython.locals(results=list)
cdef object _call_several(ElementwiseCall function, object x, object y)
cdef bint _is_known(object x) except -1


@cython.locals(result=ndarray)
cpdef object choose_fast(object op_def, ndarray condition, ndarray x, ndarray y)


cpdef bint store_fast(ndarray out, Node node) except -1


@cython.final
cdef class Replayed:
    cdef readonly object general
    cdef readonly bint at_once
    cdef readonly object device
    cdef readonly RecordedTraces traces
    cdef readonly dict elsewhere


@cython.final
cdef class Ending:
    cdef readonly Py_ssize_t operand
    cdef readonly int code
    cdef readonly Py_ssize_t offset
    cdef readonly tuple shape
    cdef readonly tuple strides
    cdef readonly bint based
    cdef readonly bint writeable


cdef bint _is_plain(object axis) except -1

@cython.locals(notes=list, kind=object)
cpdef object noted(object values, list arrays, int depth=*)
cdef object _all_noted(tuple args, dict options, list arrays)
cpdef object _called(Replayed function, tuple args, dict options)
@cython.locals(device=object)
cdef RecordedTraces _traces_here(Replayed function)
@cython.locals(operands=list, recorded=RecordedTrace, traces=RecordedTraces, array=ndarray, node=Node, at=cython.Py_ssize_t)
cdef object _recalled(Replayed function, object given, tuple arrays, tuple args, dict options)
@cython.locals(storage=Storage, arrays=list, operands=list, value=Node, array=ndarray, recorded=RecordedTrace, traces=RecordedTraces)
cpdef object _rewritten(Replayed function, tuple args, dict options)
@cython.locals(parts=list)
cpdef object frozen(object given, int depth=*)

cpdef object recalled(Replayed function, object given, tuple arrays)
@cython.locals(keep=cython.bint, node=Node)
cpdef object reduced(Replayed function, object array, object axis, object keepdims)
cpdef object matrix_product(Replayed function, object x, object y)
@cython.locals(ending=Ending, node=Node)
cpdef object _result(RecordedTrace recorded, list operands, tuple arrays, bint at_once)
@cython.locals(ending=Ending, node=Node, number=cython.Py_ssize_t, results=list)
cdef object _results(RecordedTrace recorded, list operands, tuple arrays)
@cython.locals(array=ndarray, result=ndarray)
cdef object _of_operand(Ending ending, tuple arrays)
@cython.locals(base=ndarray, result=ndarray)
cdef object _of_value(Ending ending, Node node)
@cython.locals(array=ndarray)
cdef object _run_pinned(tuple arrays, Node node)
@cython.locals(node=Node)
cpdef bint is_whole(ndarray array) except -1
