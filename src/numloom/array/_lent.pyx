# cython: boundscheck=False, wraparound=False
"""NumPy's functions on small memory of the host, at once: see `numloom.api.at_once` for when.

Operands are lent to the function as NumPy arrays over their own memory, and what it gives is copied to memory of ours.
Nothing is recorded, and no routine is looked for. None where it is not for here.
"""

cimport numpy as np
from cpython.ref cimport PyObject, Py_INCREF
from libc.math cimport NAN
from libc.stdint cimport int64_t, intptr_t, uint64_t
from libc.string cimport memcpy

from numloom.array._indexing cimport at_hand
from numloom.array.ndarray cimport ndarray, of_number, wrap
from numloom.array.storage cimport Storage
from numloom.device.memory cimport Buffer, Pool
from numloom.device.registry cimport beside, current
from numloom.engine._indexing cimport itemsize_of, new_value
from numloom.engine._numbers cimport code_of_number, is_host, near_pool
from numloom.engine.look cimport is_quiet
from numloom.graph.build cimport one_tuple
from numloom.graph.node cimport Node
from numloom.graph.again cimport learning

from functools import partial

import numpy

from numloom.base.config import config
from numloom.base.dtypes import DTYPES, F64 as _F64
from numloom.base.nesting import DEEPEST as _DEEPEST
from numloom.engine.state import counters
from numloom.graph import node as _node

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        type subtype, np.dtype descr, int nd, np.npy_intp* dims, np.npy_intp* strides, void* data, int flags, PyObject* obj
    )
    int PyArray_SetBaseObject(np.ndarray array, object base) except -1
    void PyArray_ScalarAsCtype(object scalar, void* to)
    object PyArray_SimpleNew(int nd, np.npy_intp* dims, int number)

np.import_array()

cdef enum:
    NATIVE = 14  # dtypes that NumPy has, by their codes
    MOST_AXES = 32
    MOST_JOINED = 1 << 8  # elements
    WIDEST = 16  # bytes of one

MOST_WHOLE = 1 << 53  # integers to here are numbers of float64
cdef int LEAF = _node.LEAF, F64 = _F64, DEEPEST = _DEEPEST
cdef object dtypes = DTYPES
cdef bint verifying = config.verify
cdef type HOST = numpy.ndarray, GENERIC = numpy.generic


def _set_verify(value):
    global verifying
    verifying = value


config.listen("verify", _set_verify)


cdef np.ndarray lent(ndarray array, Py_ssize_t most, bint pending):
    """An array's memory as an array of NumPy's that keeps it; what is `pending` is computed first, or left."""
    cdef np.npy_intp shape[MOST_AXES]
    cdef np.npy_intp strides[MOST_AXES]
    cdef int axis, rank = len(array._shape)
    cdef Py_ssize_t size = 1
    cdef Storage storage
    cdef Node node
    cdef np.ndarray seen
    cdef void* start
    if array.code >= NATIVE or rank > MOST_AXES:
        return None
    for axis in range(rank):
        shape[axis] = array._shape[axis]
        strides[axis] = array._strides[axis]
        size *= shape[axis]
    if size > most:
        return None
    if array.held is None:
        owner = array
        start = <void*>array.number
    else:
        if array.held.value.tree or not pending and array.held.value.kind != LEAF:
            return None
        storage = at_hand(array, most)
        if storage is None:
            return None
        node = storage.value
        if node.code != array.code or node.attr is None or not is_quiet(node.buffer):
            return None
        owner = node.buffer
        start = <void*><intptr_t>((<Buffer>owner).ptr + array.offset)
    dtype = dtypes[array.code]
    Py_INCREF(dtype)  # NumPy takes this reference
    seen = PyArray_NewFromDescr(HOST, dtype, rank, shape, strides, start, 0, NULL)
    Py_INCREF(owner)  # and this one
    PyArray_SetBaseObject(seen, owner)
    return seen


cdef object given(object operand, Py_ssize_t most, bint pending, bint* ours, int depth=0):
    """An operand as NumPy's functions take it; NotImplemented where that is not for here."""
    cdef list parts
    kind = type(operand)
    if kind is ndarray:
        ours[0] = True
        seen = lent(operand, most, pending)
        return NotImplemented if seen is None else seen
    if kind is int or kind is float or kind is str or operand is None:
        return operand
    if kind is not tuple and kind is not list or depth == DEEPEST:
        return NotImplemented
    parts = []
    for part in operand:
        part = given(part, most, pending, ours, depth + 1)
        if part is NotImplemented:
            return part
        parts.append(part)
    return parts if kind is list else tuple(parts)


cdef object kept(object found, Pool pool):
    """What a function gave as an array of ours, or several; None of what is none, or lies in another order than C's."""
    cdef double number[2]
    cdef np.ndarray host
    cdef Buffer buffer
    cdef Py_ssize_t size, axis
    cdef int code
    cdef list parts
    kind = type(found)
    if kind is HOST:
        host = found
        code = code_of_number(np.PyArray_TYPE(host))
        if code < 0 or not np.PyArray_NDIM(host) or not np.PyArray_ISCARRAY_RO(host):
            return None
        size = np.PyArray_NBYTES(host)
        buffer = pool.allocate(size if size else 1)
        memcpy(<void*><intptr_t>buffer.ptr, np.PyArray_DATA(host), size)
        if np.PyArray_NDIM(host) == 1:
            shape = (<Py_ssize_t>np.PyArray_DIM(host, 0),)
        else:
            shape = tuple([<Py_ssize_t>np.PyArray_DIM(host, axis) for axis in range(np.PyArray_NDIM(host))])
        return wrap(new_value(buffer, code, one_tuple(shape), True))
    if kind is float:
        number[0] = <double>found
        return of_number(F64, number)
    if isinstance(found, GENERIC):
        code = code_of_number((<np.dtype>found.dtype).num)
        if code < 0:
            return None
        PyArray_ScalarAsCtype(found, number)
        return of_number(code, number)
    if kind is not tuple:
        return None
    parts = []
    for part in found:
        part = kept(part, pool)
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)


cdef object called(
    object function, tuple operands, dict options, Py_ssize_t most, Py_ssize_t others, bint pending, bint anywhere
):
    """What a function of NumPy's gives for operands of which the first has at most so many elements, and the others.

    With `pending` those that are not computed are; not `anywhere` says that no GPU may be there.
    """
    cdef bint ours = False
    cdef list arguments = []
    cdef dict named = options
    if learning() or not is_host() or counters.watched:
        return None
    device = current()
    near = beside(device)
    if near is not None:
        if not anywhere:
            return None
        device = near
    for operand in operands:
        operand = given(operand, most, pending, &ours)
        if operand is NotImplemented:
            return None
        arguments.append(operand)
        most = others
    if options:
        named = {}
        for name, operand in options.items():
            operand = given(operand, others, pending, &ours)
            if operand is NotImplemented:
                return None
            named[name] = operand
    if not ours:
        return None
    try:
        found = function(*arguments, **named) if named else function(*arguments)
    except Exception:  # The full way says it in its own words.
        return None
    return kept(found, device.pool)


def entered(
    object function, object numpys, object names, Py_ssize_t most, Py_ssize_t others, bint pending, bint anywhere,
    object compared, object quick,
):
    """A function that takes this way where it can; what both ways give is `compared` where that is wanted.

    What is compiled for a function (`quick`) is asked before NumPy's.
    """

    def call(*args, **options):
        found = None if quick is None or options else quick(*args)
        if found is None and (not options or names.issuperset(options)):
            found = called(numpys, args, options, most, others, pending, anywhere)
        if found is None:
            return function(*args, **options)
        return compared(found, partial(function, *args, **options)) if verifying else found

    return call


cdef inline double between(double x, const double* points, const double* values, Py_ssize_t count, double low, double high) noexcept:
    """Piecewise linear interpolation as `numloom.api.calculus.interp` records it; NaN where it must look closer."""
    cdef Py_ssize_t first = 0, last = count, middle
    cdef double slope
    if x == points[count - 1]:
        return values[count - 1]
    if x < points[0]:
        return low
    if x > points[count - 1]:
        return high
    if count == 1:
        return NAN
    while first < last:  # As NumPy's searchsorted, whatever the points' order.
        middle = first + ((last - first) >> 1)
        if x < points[middle] or points[middle] != points[middle]:
            last = middle
        else:
            first = middle + 1
    first = min(max(first - 1, 0), count - 2)
    if x == points[first]:
        return values[first]
    slope = (values[first + 1] - values[first]) / (points[first + 1] - points[first])
    return slope * (x - points[first]) + values[first]


def interpolated(object x, object xp, object fp, object left=None, object right=None):
    """`np.interp` of numbers of float64; None of others, and where a result is NaN."""
    cdef np.ndarray points, values, where, result
    cdef double low, high, value
    cdef Py_ssize_t place, count
    if type(xp) is not HOST or type(fp) is not HOST:
        return None
    points, values = xp, fp
    count = np.PyArray_SIZE(points)
    if not (is_line(points) and is_line(values)) or not count or np.PyArray_SIZE(values) != count:
        return None
    low = (<double*>np.PyArray_DATA(values))[0] if left is None else left
    high = (<double*>np.PyArray_DATA(values))[count - 1] if right is None else right
    if type(x) is float or type(x) is int and -MOST_WHOLE <= x <= MOST_WHOLE:
        low = between(x, <double*>np.PyArray_DATA(points), <double*>np.PyArray_DATA(values), count, low, high)
        return None if low != low else low
    if type(x) is not HOST:
        return None
    where = x
    if np.PyArray_TYPE(where) != np.NPY_DOUBLE or not np.PyArray_ISCARRAY_RO(where):
        return None
    result = numpy.empty_like(where)
    for place in range(np.PyArray_SIZE(where)):
        value = between(
            (<double*>np.PyArray_DATA(where))[place], <double*>np.PyArray_DATA(points), <double*>np.PyArray_DATA(values),
            count, low, high,
        )
        if value != value:
            return None
        (<double*>np.PyArray_DATA(result))[place] = value
    return result if np.PyArray_NDIM(result) else (<double*>np.PyArray_DATA(result))[0]


cdef bint is_line(np.ndarray host) noexcept:
    """Whether this is a dense vector of float64."""
    return np.PyArray_NDIM(host) == 1 and np.PyArray_TYPE(host) == np.NPY_DOUBLE and np.PyArray_ISCARRAY_RO(host)


ctypedef fused Element:
    double
    float
    int64_t


cdef void sum_up(Element* to, const char* start, Py_ssize_t step, Py_ssize_t count, bint across) noexcept:
    """Running sums of a line; `across` instead the differences of its neighbours, of which there is one less."""
    cdef Element before, here
    cdef Py_ssize_t place
    before = (<const Element*>start)[0]
    if not across:
        to[0] = before
    for place in range(1, count):
        here = (<const Element*>(start + place * step))[0]
        if across:
            to[place - 1] = subtract(here, before)
            before = here
        else:
            before = add(before, here)
            to[place] = before


cdef inline Element add(Element x, Element y) noexcept:
    return <Element>(<uint64_t>x + <uint64_t>y) if Element is int64_t else x + y  # Integers wrap.


cdef inline Element subtract(Element x, Element y) noexcept:
    return <Element>(<uint64_t>x - <uint64_t>y) if Element is int64_t else x - y


cdef object along(object a, bint across):
    """`sum_up` of a vector of NumPy's of these dtypes, of which no overflow warns; None of others."""
    cdef np.ndarray host, result
    cdef np.npy_intp extent[1]
    cdef Py_ssize_t count, step
    cdef int number
    if type(a) is not HOST or np.PyArray_NDIM(<np.ndarray>a) != 1 or not np.PyArray_ISALIGNED(<np.ndarray>a):
        return None
    host = a
    number = np.PyArray_TYPE(host)
    count = np.PyArray_DIM(host, 0)
    if count <= across or number != np.NPY_DOUBLE and number != np.NPY_FLOAT and number != np.NPY_INT64:
        return None
    step = np.PyArray_STRIDE(host, 0)
    extent[0] = count - across
    result = PyArray_SimpleNew(1, extent, number)
    if number == np.NPY_DOUBLE:
        sum_up[double](<double*>np.PyArray_DATA(result), <const char*>np.PyArray_DATA(host), step, count, across)
    elif number == np.NPY_FLOAT:
        sum_up[float](<float*>np.PyArray_DATA(result), <const char*>np.PyArray_DATA(host), step, count, across)
    else:
        sum_up[int64_t](<int64_t*>np.PyArray_DATA(result), <const char*>np.PyArray_DATA(host), step, count, across)
    return result


def running_sum(object a, object axis=None):
    """`np.cumsum` of a vector of NumPy's; None of others."""
    return along(a, False) if axis is None or type(axis) is int and (axis == 0 or axis == -1) else None


def differences(object a, object n=1, object axis=-1):
    """`np.diff` of a vector of NumPy's; None of others."""
    return along(a, True) if type(n) is int and n == 1 and type(axis) is int and (axis == 0 or axis == -1) else None


def joined(object arrays, object axis=0):
    """`np.concatenate` along the first axis of few elements of one dtype that lie in C order; None of others."""
    cdef ndarray first, array
    cdef tuple parts, shape, rest
    cdef Buffer buffer
    cdef Pool pool
    cdef Py_ssize_t place, extent, step, size = 0, rows = 0
    cdef char found[MOST_JOINED * WIDEST]
    if type(arrays) is list:
        parts = tuple(arrays)
    elif type(arrays) is tuple:
        parts = arrays
    else:
        return None
    if type(axis) is not int or axis != 0 or not parts or type(parts[0]) is not ndarray or learning():
        return None
    first = parts[0]
    rest = first._shape[1:]
    if not first._shape or 1 in rest or counters.watched:
        return None
    pool = near_pool()
    if pool is None:
        return None
    for part in parts:
        if type(part) is not ndarray:
            return None
        array = part
        shape = array._shape
        if array.code != first.code or array.held is None or len(shape) != len(first._shape) or rest and shape[1:] != rest:
            return None
        if array.held.value.kind != LEAF or array.held.value.tree or array.held.pins or array.held.value.code != array.code:
            return None
        step = itemsize_of(array.code)
        for place in range(len(shape) - 1, -1, -1):
            extent = <Py_ssize_t>shape[place]
            if <Py_ssize_t>array._strides[place] != step or not extent or rest and extent == 1:
                return None
            step *= extent
        buffer = array.held.value.buffer
        if size + step > MOST_JOINED * itemsize_of(array.code) or not is_quiet(buffer) or array.held.value.attr is None:
            return None
        memcpy(found + size, <char*><intptr_t>(buffer.ptr + array.offset), step)
        rows += <Py_ssize_t>shape[0]
        size += step
    buffer = pool.allocate(size)  # Others may write to the arrays meanwhile, so what they hold was copied before.
    memcpy(<char*><intptr_t>buffer.ptr, found, size)
    return wrap(new_value(buffer, first.code, one_tuple((rows, *rest)), True))
