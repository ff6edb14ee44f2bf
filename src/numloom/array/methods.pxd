cimport cython
from numloom.array.ndarray cimport (
    element_from, assign, assigned_value, element_of, number_of, seen_through, storage_of, ndarray, view_of, wrap,
)
from numloom.array.storage cimport Storage, read
from numloom.array.subscript cimport Basic, in_c_order, new_basic, recut, squeezed
from numloom.device.registry cimport current
from numloom.engine._blocks cimport dense_copy
from numloom.engine.evaluate cimport at_hand
from numloom.graph.build cimport cast, copied
from numloom.graph.node cimport Node
from numloom.graph.again cimport learning

cdef int BOOL, F16, VIEW
cdef tuple ITEMSIZES, _ONE_AXIS

@cython.locals(found=Basic)
cpdef object seen_as(ndarray array, tuple shape)
cpdef object ravel(ndarray array, object order=*)
@cython.locals(found=Basic)
cpdef object without_ones(object a, object axis=*)
cpdef bint is_flat(ndarray array) except -1
cpdef object fill(ndarray array, object value)
@cython.locals(storage=Storage, node=Node, flat=cython.bint)
cpdef object copy(ndarray array, object order=*)
@cython.locals(array=ndarray, found=cython.bint)
cpdef object with_integers(object index)
cdef object part_at(ndarray array, object place)
cpdef object looked_up(ndarray array, object index)
@cython.locals(several=cython.bint)
cdef object _looked_up(ndarray array, object index)
