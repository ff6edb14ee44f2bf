# cython: boundscheck=False, wraparound=False
"""Small sparse work of the host at once: SciPy's matrix over the memory of one of ours is kept beside it (`Twin`).

It is good as long as the memory holds the values that it held: then numbers that were written there since, by whomever,
are SciPy's, too. What SciPy gives is copied to memory of ours. None where it is not for here.
"""

cimport cython
cimport numpy as np
from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF
from libc.stdint cimport intptr_t

from numloom.array._indexing cimport at_hand
from numloom.array._lent cimport kept, lent
from numloom.array.ndarray cimport ndarray, wrap
from numloom.device.cpu._hostview cimport is_set
from numloom.device.memory cimport Buffer, Pool
from numloom.engine._indexing cimport new_value
from numloom.engine._numbers cimport code_of_number, host_pool
from numloom.engine.state cimport Counters
from numloom.graph.build cimport one_tuple
from numloom.graph.node cimport Node
from numloom.graph.again cimport learning

from functools import partial
from operator import matmul

import numpy
import scipy.sparse

from numloom.array.convert import from_host, over
from numloom.base.config import config
from numloom.base.dtypes import DTYPES
from numloom.engine.state import counters
from numloom.graph import node as _node
from numloom.sparse.where import CLASSES, FORCED

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        type subtype, np.dtype descr, int nd, np.npy_intp* dims, np.npy_intp* strides, void* data, int flags, PyObject* obj
    )
    int PyArray_SetBaseObject(np.ndarray array, object base) except -1

cdef extern from "Python.h":
    int PyContextVar_Get(object var, PyObject* default, PyObject** value) except -1

np.import_array()

cdef enum:
    NATIVE = 14  # dtypes that NumPy has, by their codes
    MOST_AXES = 4
    MOST_KEPT = 1 << 17  # elements of a part, and of a dense operand
    MOST_COPIED = 1 << 12  # bytes of an array of a result, as of `numloom.sparse.host`; memory of larger ones is shared

cdef int LEAF = _node.LEAF
cdef object dtypes = DTYPES, classes = CLASSES, forced = FORCED
cdef type HOST = numpy.ndarray, GENERIC = numpy.generic
cdef object DTYPE = numpy.dtype
cdef Counters counted = counters
cdef tuple BASES = (scipy.sparse.sparray, scipy.sparse.spmatrix)


cdef bint verifying = config.verify


def _set_verify(value):
    global verifying
    verifying = value


config.listen("verify", _set_verify)


cdef bint is_ready(ndarray part) except -1:
    """Whether an array's numbers lie in memory of the host, computed."""
    cdef Node node
    cdef Pool pool
    if part.held is None or part.code >= NATIVE or len(part._shape) > MOST_AXES:
        return False
    if part.held.value.kind != LEAF and at_hand(part, MOST_KEPT) is None:
        return False
    node = part.held.value
    if node.kind != LEAF or node.tree or node.code != part.code or node.buffer is None:
        return False
    pool = (<Buffer>node.buffer).pool
    return (<Buffer>node.buffer).doubt is None and (pool is not None and pool.error_at != 0 or part.held.pins > 0)


cdef object seen(ndarray part):
    """An array that `is_ready` as NumPy's, over its memory, which that keeps."""
    cdef np.npy_intp shape[MOST_AXES]
    cdef np.npy_intp strides[MOST_AXES]
    cdef int axis
    cdef np.ndarray host
    cdef object buffer = part.held.value.buffer
    for axis in range(len(part._shape)):
        shape[axis] = part._shape[axis]
        strides[axis] = part._strides[axis]
    dtype = dtypes[part.code]
    Py_INCREF(dtype)  # NumPy takes this reference
    host = PyArray_NewFromDescr(
        HOST, dtype, len(part._shape), shape, strides, <void*><intptr_t>((<Buffer>buffer).ptr + part.offset),
        np.NPY_ARRAY_WRITEABLE, NULL,
    )
    Py_INCREF(buffer)  # and this one
    PyArray_SetBaseObject(host, buffer)
    return host


@cython.final
cdef class Part:
    """An array and what its memory held, where it lay and how, when it was looked at."""

    cdef ndarray array
    cdef Node value
    cdef object buffer, memory
    cdef tuple shape, strides
    cdef Py_ssize_t offset
    cdef int code

    cdef bint same(self) noexcept:
        cdef ndarray array = self.array
        return (
            array.held is not None and array.held.value is self.value and self.value.buffer is self.buffer
            and array._shape is self.shape and array._strides is self.strides and array.offset == self.offset
            and array.code == self.code
        )


cdef Part part_of(ndarray array):
    cdef Part part = Part.__new__(Part)
    part.array = array
    part.value = array.held.value
    part.buffer = part.value.buffer
    part.shape = array._shape
    part.strides = array._strides
    part.offset = array.offset
    part.code = array.code
    part.memory = seen(array)
    return part


@cython.final
cdef class Twin:
    """SciPy's matrix over the memory of the parts of ours, and what that held when it was made."""

    cdef readonly object matrix
    cdef tuple parts
    cdef list looked_at
    cdef int order  # 1 if SciPy finds nothing to bring in order, 0 if it may, -1 if nobody has looked
    cdef bint lists  # Whether it is by coordinates.

    cdef bint fits(self, tuple parts) except -1:
        cdef Part part
        if parts is not self.parts or self.matrix.data is not (<Part>self.looked_at[0]).memory:
            return False
        for part in self.looked_at:
            if not part.same():
                return False
        return True

    cdef bint in_order(self) except -1:
        if self.order < 0:
            self.order = self.matrix.format == "dia" or bool(self.matrix.has_canonical_format)
        return self.order


cdef list arrays_of(object matrix):
    """The arrays that a matrix of SciPy's consists of, as `_parts` of ours are; None of formats that have others."""
    cdef str format = matrix.format
    if format == "csr" or format == "csc" or format == "bsr":
        return [matrix.data, matrix.indices, matrix.indptr]
    if format == "coo":
        return [matrix.data, *matrix.coords]
    return [matrix.data, matrix.offsets] if format == "dia" else None


cdef put_arrays(object matrix, list arrays):
    """Let a matrix of SciPy's consist of other arrays."""
    cdef str format = matrix.format
    matrix.data = arrays[0]
    if format == "coo":
        matrix.coords = tuple(arrays[1:])
    elif format == "dia":
        matrix.offsets = arrays[1]
    else:
        matrix.indices = arrays[1]
        matrix.indptr = arrays[2]


cdef Twin twin_over(object matrix, tuple parts, list looked_at):
    cdef Twin twin = Twin.__new__(Twin)
    twin.matrix = matrix
    twin.parts = parts
    twin.looked_at = looked_at
    twin.order = -1
    twin.lists = matrix.format == "coo"
    return twin


cdef Twin new_twin(object a, tuple parts):
    """A twin for a matrix of ours; None where its parts are large, not there, or not as SciPy takes them."""
    cdef list looked_at = [], memory = [], arrays
    cdef np.ndarray mine, theirs
    cdef Py_ssize_t place, size
    for array in parts:
        size = 1
        for extent in (<ndarray>array)._shape:
            size *= <Py_ssize_t>extent
        if size > MOST_KEPT or not is_ready(array):
            return None
        looked_at.append(part_of(array))
        memory.append((<Part>looked_at[len(looked_at) - 1]).memory)
    format = a.format
    kind = getattr(scipy.sparse, type(a).__name__)
    try:
        turned = a._turned
        if turned is not None and turned._parts is parts:
            matrix = twin_of(turned).matrix.T
        else:
            matrix = kind((memory[0], tuple(memory[1:])) if format == "coo" else tuple(memory), shape=a._shape)
    except Exception:  # The full way says it in its own words.
        return None
    arrays = arrays_of(matrix)
    for place in range(len(memory)):
        mine, theirs = memory[place], arrays[place]
        if np.PyArray_DATA(mine) != np.PyArray_DATA(theirs) or np.PyArray_TYPE(mine) != np.PyArray_TYPE(theirs):
            return None  # SciPy has copied it.
    put_arrays(matrix, memory)
    canonical = a._canonical
    if canonical is not None and format in ("csr", "csc", "coo"):
        matrix.has_canonical_format = canonical
    return twin_over(matrix, parts, looked_at)


cdef Twin twin_of(object a):
    """The twin of a matrix of ours: the one that is kept if it fits, or another one, which is kept."""
    cdef Twin twin = a._twin
    cdef tuple parts = a._parts
    if twin is None or not twin.fits(parts):
        twin = new_twin(a, parts)
        a._twin = twin
    return twin


cdef object matrix_of(object a, bint in_any_order):
    """SciPy's matrix of ours for a call; NotImplemented where SciPy might write to it, or there is none."""
    cdef Twin twin = a._twin
    if twin is None and a.format in ("lil", "dok"):
        return a._host
    twin = twin_of(a)
    if twin is None:
        return NotImplemented
    if not twin.lists:
        return twin.matrix if in_any_order or twin.in_order() else NotImplemented
    if len(<tuple>a._shape) < 2 and not twin.in_order():  # SciPy would bring our memory in order.
        return NotImplemented
    # SciPy puts other arrays into such a matrix, one after the other, which another thread must not see.
    matrix = object.__new__(type(twin.matrix))
    matrix.__dict__.update(twin.matrix.__dict__)
    return matrix


cdef int see_order(object a, object matrix) except -1:
    """Know that coordinates are in order, once SciPy has brought them in order and changed nothing."""
    cdef Twin twin = a._twin
    cdef tuple mine, found
    if twin is None or not twin.lists or matrix.data is twin.matrix.data or not matrix.has_canonical_format:
        return 0
    mine, found = twin.matrix.coords, matrix.coords
    for one, other in zip(mine, found):
        if not numpy.array_equal(one, other):
            return 0
    twin.matrix.has_canonical_format = True
    twin.order = 1
    return 1


cdef object given(object x, bint in_any_order):
    """An argument as SciPy takes it; NotImplemented where that is not for here."""
    kind = type(x)
    if kind is ndarray:
        found = lent(x, MOST_KEPT, True)
        if found is None and (<ndarray>x).held is not None and is_ready(x):
            found = seen(x)
        return NotImplemented if found is None else found
    if x is None or kind is int or kind is float or kind is bool or kind is str or kind is HOST or kind is type:
        return x
    if classes.get(kind.__name__) is kind:
        return matrix_of(x, in_any_order)
    if kind is tuple:
        for item in <tuple>x:
            if type(item) is not int and item is not None:
                return NotImplemented
        return x
    return x if isinstance(x, (GENERIC, DTYPE)) else NotImplemented


cdef object in_our_memory(np.ndarray found, list operands, Pool pool):
    """An array that SciPy gave as ours: a copy of a small one, another one itself, if it is none of the operands."""
    cdef Py_ssize_t size = np.PyArray_NBYTES(found)
    cdef list arrays
    if size <= MOST_COPIED and np.PyArray_NDIM(found):
        made = kept(found, pool)
        if made is not None:
            return made
    dtype = found.dtype
    if dtype.kind not in "biufc" or not np.PyArray_NDIM(found):
        return None
    if size <= MOST_COPIED or not dtype.isnative or not np.PyArray_ISBEHAVED(found):
        return from_host(found)
    for operand in operands:
        if type(operand) is HOST:
            if numpy.may_share_memory(found, operand):
                return None
        elif (<object>found).base is not None and isinstance(operand, BASES):  # What has memory of its own has none of ours.
            arrays = arrays_of(operand)
            for array in arrays or ():
                if numpy.may_share_memory(found, array):
                    return None
    if np.PyArray_ISCARRAY(found):
        return shared(found)
    shape = tuple([<Py_ssize_t>np.PyArray_DIM(found, axis) for axis in range(np.PyArray_NDIM(found))])
    strides = tuple([<Py_ssize_t>np.PyArray_STRIDE(found, axis) for axis in range(np.PyArray_NDIM(found))])
    return over(<intptr_t>np.PyArray_DATA(found), dtype, shape, strides, found)


cdef ndarray shared(np.ndarray found):
    """An array over the memory of one of NumPy's in C order, as `over` makes it."""
    cdef int axis
    cdef Buffer buffer = Buffer(<intptr_t>np.PyArray_DATA(found), np.PyArray_NBYTES(found), None, found)
    shape = one_tuple(tuple([<Py_ssize_t>np.PyArray_DIM(found, axis) for axis in range(np.PyArray_NDIM(found))]))
    cdef ndarray result = wrap(new_value(buffer, code_of_number(np.PyArray_TYPE(found)), shape, True))
    result.held.pins = 1  # Others may have the memory.
    result.held.value.attr = None
    return result


cdef object of_sparse(object found, list operands, Pool pool):
    """A matrix that SciPy gave as ours, with it as the twin; None of what is not for here."""
    cdef list arrays, looked_at = [], memory = [], parts = []
    kind = classes.get(type(found).__name__)
    arrays = arrays_of(found)
    if arrays is None or kind is None:
        return None
    for operand in operands:
        if operand is found:
            return None
    if found.format in ("csr", "csc") and np.PyArray_TYPE(<np.ndarray>arrays[1]) == np.NPY_INT64:
        return None
    for array in arrays:
        part = in_our_memory(array, operands, pool)
        if part is None:
            return None
        parts.append(part)
    canonical = (found.has_canonical_format or None) if found.format == "coo" else None
    made = kind._made(tuple(parts), found.shape, canonical)
    for part in parts:
        if not is_ready(part):
            return made
        looked_at.append(part_of(part))
        memory.append((<Part>looked_at[len(looked_at) - 1]).memory)
    put_arrays(found, memory)
    made._twin = twin_over(found, made._parts, looked_at)
    return made


cdef object taken(object found, list operands, Pool pool):
    """What SciPy gave as ours; NotImplemented of what is not for here."""
    cdef list parts
    kind = type(found)
    if kind is int or kind is bool:
        return found
    if kind is HOST:
        made = in_our_memory(found, operands, pool)
    elif kind is float or isinstance(found, GENERIC):
        made = kept(found, pool)
    elif isinstance(found, BASES):
        made = of_sparse(found, operands, pool)
    elif kind is tuple:
        parts = []
        for part in <tuple>found:
            part = taken(part, operands, pool)
            if part is NotImplemented:
                return part
            parts.append(part)
        return tuple(parts)
    elif isinstance(found, HOST):
        made = in_our_memory(numpy.asarray(found), operands, pool)
    else:
        return NotImplemented
    return NotImplemented if made is None else made


cdef Pool pool_here():
    """Memory for what is done here and now; None where the numbers may lie elsewhere, or nothing may be looked at."""
    cdef Pool pool
    cdef PyObject* found = NULL
    PyContextVar_Get(forced, NULL, &found)
    way = <object>found
    Py_XDECREF(found)
    if way is not None or counted.watched or learning():
        return None
    pool = host_pool()
    return None if pool is None or is_set(pool.error_at) else pool


cdef object at_once(object function, tuple operands, dict options, object wrap):
    """A function of SciPy's, or a method of the first operand by its name, at once; None where that is not for here."""
    cdef list arguments = []
    cdef dict named = options
    cdef bint product = function is matmul
    cdef Pool pool = pool_here()
    if pool is None:
        return None
    for operand in operands:
        operand = given(operand, product)
        if operand is NotImplemented:
            return None
        arguments.append(operand)
    if options:
        named = {}
        for name, operand in options.items():
            operand = given(operand, product)
            if operand is NotImplemented:
                return None
            named[name] = operand
    try:
        if type(function) is str:
            method = getattr(arguments[0], function)
            found = method(*arguments[1:], **named)
        else:
            found = function(*arguments)
    except Exception:  # The full way says it in its own words.
        return None
    if product and (type(found) is not HOST or not np.PyArray_NDIM(<np.ndarray>found)) and not isinstance(found, BASES):
        return None  # Of which SciPy may have forgotten an axis.
    if type(function) is str:
        see_order(operands[0], arguments[0])
    made = taken(found, arguments, pool)
    return wrap(found, operands) if made is NotImplemented else made


def entered(object full, object wrap, object compared):
    """A function that runs SciPy's function of these operands, or the first one's method by its name.

    Where that is not for here it is `full`; `wrap` makes ours of large results, and what both ways give is `compared`
    where that is wanted.
    """

    def applied(function, operands, options):
        found = at_once(function, operands, options, wrap)
        if found is None:
            return full(function, operands, options)
        return compared(found, partial(full, function, operands, options)) if verifying else found

    return applied
