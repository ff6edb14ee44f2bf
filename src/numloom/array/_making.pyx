# cython: boundscheck=False, wraparound=False
"""Small new arrays in memory of the host at once: what the functions of these names in `api` try first (`at_once`).

They give None where more must be looked at. Larger ones stay recorded, which costs no memory; few elements are written sooner than recorded, and later work finds
them computed.
"""

cimport numpy as np
from libc.stdint cimport int64_t, intptr_t
from libc.string cimport memcpy, memset

from numloom.array._short cimport array_of as array_of_list
from numloom.array.methods cimport copy as copy_of, is_flat
from numloom.array.ndarray cimport ndarray, wrap
from numloom.array.subscript cimport _layouts
from numloom.device.memory cimport Buffer, Pool
from numloom.engine._blocks cimport fill_dense
from numloom.engine._indexing cimport itemsize_of, new_value
from numloom.engine._numbers cimport code_of_number, host_pool, near_pool, stores_as, take_python
from numloom.graph.build cimport one_tuple
from numloom.graph.node cimport Node, new_node
from numloom.graph.again cimport learning

import numpy

from numloom.base.dtypes import BOOL as _BOOL, C128 as _C128, DTYPES, F64 as _F64, I64 as _I64, code_of
from numloom.engine.state import UNSET as _UNSET, counters, watchers
from numloom.graph import node as _node

np.import_array()

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef enum:
    MOST = 1 << 12  # elements
    MOST_AXES = 8
    PLAIN = 14  # codes of dtypes that C knows

cdef int BOOL = _BOOL, C128 = _C128, F64 = _F64, I64 = _I64, LEAF = _node.LEAF
cdef object UNSET = _UNSET
cdef object DTYPE = numpy.dtype
cdef tuple _NOTHING = ()
cdef type HOST = numpy.ndarray
cdef list watching = watchers


cdef int known_code(object dtype) except -2:
    """The code of a dtype, -1 if it is none for here."""
    cdef int code
    if dtype is None or dtype is float:
        return F64
    if dtype is int:
        return I64
    if dtype is bool:
        return BOOL
    if dtype is complex:
        return C128
    if not isinstance(dtype, (type, str, DTYPE)):
        return -1
    code = code_of(dtype)
    return code if code < PLAIN else -1


cdef Py_ssize_t extent_of(object given) except -2:
    """An extent, -1 if it is none for here."""
    cdef int beyond = 0
    cdef long long extent
    if type(given) is not int:
        return -1
    extent = PyLong_AsLongLongAndOverflow(given, &beyond)
    return -1 if beyond or not 0 < extent <= MOST else <Py_ssize_t>extent


cdef Node memory_of(object shape, int code):
    """Memory for an array in C order, to be written."""
    cdef Py_ssize_t numbers[2 * MOST_AXES]
    cdef Py_ssize_t rank, axis, extent, slot, size = 1, itemsize = itemsize_of(code)
    cdef Pool pool
    cdef Node node
    if type(shape) is tuple:
        rank = len(<tuple>shape)
        if rank > MOST_AXES:
            return None
        for axis in range(rank - 1, -1, -1):
            extent = extent_of((<tuple>shape)[axis])
            if extent < 0:
                return None
            numbers[2 * axis] = extent
            numbers[2 * axis + 1] = size * itemsize
            size *= extent
            if size > MOST:
                return None
    else:
        rank = 1
        size = extent_of(shape)
        if size < 0:
            return None
        numbers[0] = size
        numbers[1] = itemsize
    if learning():
        return None
    pool = host_pool()
    if pool is None:
        return None
    try:
        buffer = pool.allocate(size * itemsize)
    except MemoryError:  # Which belongs to the value, when somebody looks at that.
        return None
    slot = _layouts.find(numbers, rank)
    node = new_node(LEAF, None, _NOTHING, code, _layouts.shapes[slot], _layouts.strides[slot], size, 0)
    node.buffer = buffer
    return node


cdef inline char* address_of(Node node) noexcept:
    return <char*><intptr_t>(<Buffer>node.buffer).ptr


cdef object array_of(Node node):
    """What is not a scalar, whatever its shape."""
    cdef ndarray result = wrap(node)
    result.is_scalar = False
    return result


def empty(shape, dtype=None, order="C", *, device=None, like=None):
    """An array that nothing has been written to."""
    cdef int code
    cdef Node node
    if order != "C" or device is not None or like is not None:
        return None
    code = known_code(dtype)
    if code < 0:
        return None
    node = memory_of(shape, code)
    if node is None:
        return None
    node.attr = UNSET
    return array_of(node)


def zeros(shape, dtype=None, order="C", *, device=None, like=None):
    """An array of zeros."""
    cdef int code
    cdef Node node
    if order != "C" or device is not None or like is not None:
        return None
    code = known_code(dtype)
    if code < 0:
        return None
    node = memory_of(shape, code)
    if node is None:
        return None
    memset(address_of(node), 0, node.size * itemsize_of(code))
    return array_of(node)


def ones(shape, dtype=None, order="C", *, device=None, like=None):
    """An array of ones."""
    return None if device is not None or like is not None else filled(shape, 1, float if dtype is None else dtype, order)


def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    """An array of one number of Python's, whose dtype may be that of the number."""
    return None if device is not None or like is not None else filled(shape, fill_value, dtype, order)


cdef object filled(object shape, object number, object dtype, object order):
    cdef int code
    cdef Node node
    cdef double found[2]
    kind = type(number)
    if order != "C" or (kind is not int and kind is not float and kind is not bool):
        return None
    code = known_code(kind if dtype is None else dtype)
    if code < 0 or not stores_as(take_python(number, found), code, found):
        return None
    node = memory_of(shape, code)
    if node is None:
        return None
    fill_dense(address_of(node), node.size, found, itemsize_of(code))
    return array_of(node)


def arange(start, stop=None, step=1, dtype=None, *, device=None, like=None):
    """Integers from one up to another, without that."""
    cdef int beyond = 0, beyond_too = 0
    cdef long long first = 0, last
    cdef Py_ssize_t place
    cdef Node node
    cdef int64_t* to
    if type(step) is not int or step != 1 or device is not None or like is not None:
        return None
    if dtype is not None and dtype is not int:
        return None
    if stop is None:
        stop = start
    elif type(start) is int:
        first = PyLong_AsLongLongAndOverflow(start, &beyond)
    else:
        return None
    if type(stop) is not int:
        return None
    last = PyLong_AsLongLongAndOverflow(stop, &beyond_too)
    if beyond or beyond_too or first < -(<long long>1 << 53) or last > <long long>1 << 53 or first >= last or last - first > MOST:
        return None
    node = memory_of(last - first, I64)
    if node is None:
        return None
    to = <int64_t*>address_of(node)
    for place in range(node.size):
        to[place] = first + place
    return array_of(node)


# ---------------------------------------------------------------- of what there is


def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """An array of ours itself, or a list of numbers or an array of NumPy's as one."""
    if dtype is None and order is None and device is None and copy is None and like is None:
        return own(a) if type(a) is ndarray else taken_in(a) if type(a) is HOST else listed(a, None)
    return None


def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=0, like=None):
    """A copy of an array of ours, or a list of numbers or an array of NumPy's as one."""
    if copy is not True or like is not None or order != "K" or ndmin != 0 or ndmax != 0:
        return None
    if type(object) is not ndarray:
        return taken_in(object) if type(object) is HOST and dtype is None else listed(object, dtype)
    return None if dtype is not None else duplicate(object)


def ascontiguousarray(a, dtype=None, *, like=None):
    """An array of ours itself, where it lies so."""
    if type(a) is not ndarray or dtype is not None or like is not None or not (<ndarray>a)._shape:
        return None
    return a if is_flat(a) else None


def copy(a, order="K", subok=False):
    """A copy of an array of ours."""
    return duplicate(a) if type(a) is ndarray and order == "K" else None


cdef object own(ndarray given):
    return None if given.is_scalar else given


cdef object duplicate(ndarray given):
    cdef ndarray result = copy_of(given, "K")
    result.is_scalar = False
    return result


cdef object taken_in(np.ndarray host):
    """A copy of an array of NumPy's with few elements, which lies in C order."""
    cdef Py_ssize_t axis, rank = np.PyArray_NDIM(host), size
    cdef Pool pool
    cdef Buffer buffer
    cdef int code
    if not 0 < rank <= MOST_AXES or np.PyArray_SIZE(host) > MOST or not np.PyArray_ISCARRAY_RO(host):
        return None
    code = code_of_number(np.PyArray_TYPE(host))
    if code < 0 or learning() or watching or counters.watched:
        return None
    pool = near_pool()
    if pool is None:
        return None
    size = np.PyArray_NBYTES(host)
    try:
        buffer = pool.allocate(size if size else 1)
    except MemoryError:  # Which belongs to the full way.
        return None
    if code == BOOL:  # Any byte but 0 is true.
        for axis in range(size):
            (<char*><intptr_t>buffer.ptr)[axis] = (<char*>np.PyArray_DATA(host))[axis] != 0
    else:
        memcpy(<char*><intptr_t>buffer.ptr, np.PyArray_DATA(host), size)
    if rank == 1:
        return array_of(new_value(buffer, code, one_tuple((<Py_ssize_t>np.PyArray_DIM(host, 0),)), False))
    shape = tuple([<Py_ssize_t>np.PyArray_DIM(host, axis) for axis in range(rank)])
    return array_of(new_value(buffer, code, one_tuple(shape), False))


cdef object listed(object items, object dtype):
    cdef int code = -1
    if type(items) is not list and type(items) is not tuple:
        return None
    if dtype is not None:
        code = known_code(dtype)
        if code < 0:
            return None
    return array_of_list(items, code)
