cimport cython
cimport numloom.base.instances
from numloom.array.numbers cimport binary_number, known_number, number_as, repeats, unary_number
from numloom.array.storage cimport Storage, new_storage, read, write, write_number
from numloom.array.subscript cimport Basic, new_basic, simple, turned
from numloom.engine.evaluate cimport at_hand, element, element_at_once, element_on_host, number
from numloom.engine._blocks cimport copy_part, fill_part, listed
from numloom.engine._few cimport Operand, is_few, operate_on_few
from numloom.engine.look cimport is_near
from numloom.engine._numbers cimport (
    ALONE, is_host, node_for, operate, place_of, put_known, python_number, stores_as, take_known, take_python,
)
from numloom.graph.node cimport Node, Register, scalar_as, was_stored
from numloom.graph.again cimport learning
from numloom.graph.build cimport binary, cast, copied, known_read, scalar, unary


cdef int BOOL, C64, C128, F16, F64, FILL, I64, LEAF, SCALAR, VIEW, WEAK_INT
cdef tuple ITEMSIZES, _NOTHING


@cython.final
cdef class ndarray:
    cdef public Storage held
    cdef public int code
    cdef public tuple _shape
    cdef public tuple _strides
    cdef public Py_ssize_t offset
    cdef public bint is_scalar
    cdef public bint writeable
    cdef public object base
    cdef Py_ssize_t era
    cdef double number[2]
    cdef object __weakref__


cdef Register register
cdef dict SCALAR_CODES

@cython.locals(result=ndarray, r=Register)
cpdef ndarray wrap(Node node)


@cython.locals(result=ndarray)
cpdef ndarray view_of(ndarray array, Py_ssize_t offset, tuple shape, tuple strides)

cpdef object seen_through(ndarray array, Basic found)
@cython.locals(given=ndarray, node=Node)
cpdef object assign(ndarray array, Basic found, object value)

@cython.locals(value=Node)
cdef bint _is_at_hand(ndarray array) except -1

@cython.locals(array=ndarray, known=cython.bint)
cdef object as_integer(object index)
@cython.locals(storage=Storage, other=Storage, given=ndarray, code=cython.int, number=cython.double[2], stored=cython.bint)
cdef bint store_part(ndarray array, Basic found, object value) except -1

@cython.locals(storage=Storage, same=cython.bint, current=Node)
cpdef Node node_of(ndarray array)

cpdef object number_of(ndarray array)
cdef object _constant(ndarray array)
cpdef Storage storage_of(ndarray array)
@cython.locals(result=ndarray)
cdef ndarray of_number(int code, double* number)
@cython.locals(array=ndarray)
cdef int take_number(object x, double* to) except -3
@cython.locals(first=cython.int, second=cython.int, code=cython.int, left=cython.double[2], right=cython.double[2],
               result=cython.double[2], few=Node)
cpdef object operated(object op_def, object x, object y, bint alone)
@cython.locals(a=ndarray, b=ndarray, first=Operand, second=Operand, left=Node, right=Node, left_shape=tuple,
               left_strides=tuple, right_shape=tuple, right_strides=tuple)
cdef Node of_few(object op_def, object x, object y, bint alone)
cpdef ndarray element_from(ndarray scalar)
@cython.locals(storage=Storage, offset=cython.Py_ssize_t, found=cython.double[2])
cdef object element_of(ndarray array, object index)
@cython.locals(storage=Storage, offset=cython.Py_ssize_t, code=cython.int, number=cython.double[2])
cdef bint set_element(ndarray array, object index, object value) except -1
cpdef object only_number(ndarray array)

@cython.locals(array=ndarray)
cdef object _number_of(object x)
@cython.locals(a=ndarray, b=ndarray, result=ndarray, node=Node)
cpdef object apply2(object op_def, object x, object y)
@cython.locals(node=object, result=ndarray)
cdef object _apply2_other(object op_def, object x, object y)
@cython.locals(a=object, b=object)
cpdef object record2(object op_def, object x, object y)
cpdef object operand(object value)

@cython.locals(array=ndarray)
cpdef bint pinned(object x)

@cython.locals(node=Node, result=ndarray)
cpdef object apply1(object op_def, ndarray x)

@cython.locals(node=Node, few=Node, given=ndarray)
cpdef object apply_inplace(object op_def, ndarray target, object other)

cpdef Node assigned_value(object value, int code, bint basic=*)
