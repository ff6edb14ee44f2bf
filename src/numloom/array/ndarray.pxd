cimport cython
from numloom.array.storage cimport Cell, new_cell, read, write
from numloom.array.subscript cimport Basic, simple
from numloom.engine.evaluate cimport element, element_on_host
from numloom.graph.node cimport Node, Register
from numloom.graph.build cimport binary, binary_scalar, cast, known, scalar_binary, unary


@cython.final
cdef class ndarray:
    cdef public Cell cell
    cdef public int code
    cdef public tuple extents
    cdef public tuple steps
    cdef public Py_ssize_t offset
    cdef public bint is_scalar
    cdef public bint writeable
    cdef public object base
    cdef object __weakref__


@cython.locals(result=ndarray)
cpdef ndarray wrap(Node node)

@cython.locals(r=Register)
cpdef object note_recorded(Node node)


@cython.locals(result=ndarray)
cpdef ndarray view_of(ndarray array, Py_ssize_t offset, tuple shape, tuple strides)

cpdef Node node_of(ndarray array)

@cython.locals(a=object, b=object, node=Node)
cpdef object apply2(object row, object x, object y)

@cython.locals(result=ndarray)
cpdef object finish(Node node, object x, object y)

@cython.locals(array=ndarray)
cpdef bint pinned(object x)

@cython.locals(node=Node, result=ndarray)
cpdef object apply1(object row, ndarray x)

@cython.locals(node=Node)
cpdef object apply_inplace(object row, ndarray target, object other)

cpdef Node assigned_value(object value, int code, bint basic=*)
