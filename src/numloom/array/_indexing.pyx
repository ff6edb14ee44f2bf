# cython: boundscheck=False, wraparound=False
"""Arrays at index arrays and masks, at once where that is small work of the host: the short way of `api/subscripts.py`.

Each function gives None or False where it has done nothing, and the full way is to be taken.
"""

from libc.stdint cimport int64_t, intptr_t
from libc.string cimport memset

from numloom.array.ndarray cimport ndarray, take_number, wrap
from numloom.array.storage cimport Storage
from numloom.device.memory cimport Buffer
from numloom.device.registry cimport beside, current
from numloom.engine._indexing cimport (
    MASKED, MOST, Rows, add_offsets, count_true, elements_where, is_alone, itemsize_of, new_value, places_where, read_at_indices, read_rows,
    read_where, take_block, take_rows, write_rows, write_where,
)
from numloom.engine._numbers cimport (
    WEAK_FLOAT, WEAK_INT, Way, combine_rows, convert, is_host, may_combine, near_pool, stores_as, way_of,
)
from numloom.engine.evaluate cimport at_hand as waits_for_nobody, evaluate, evaluate_one
from numloom.graph.build cimport one_tuple
from numloom.graph.node cimport Node, tracing, was_stored
from numloom.graph.again cimport learning

from numloom.base.dtypes import BOOL as _BOOL, DTYPES, F16 as _F16, F64 as _F64, I64 as _I64
from numloom.graph import node as _node

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    Py_ssize_t Py_REFCNT(object) noexcept

cdef enum:
    FEW = 64  # of a list
    LENT_TO_READ = 4  # references, here, to a subscript that nobody but the interpreter has
    LENT_TO_WRITE = 3
    MOST_CHOSEN = 1 << 22  # bytes of all that a mask chooses from
    MOST_COMBINED = 1 << 12  # elements that are combined with values
    MOST_PLACES = 1 << 26  # elements of a mask of several axes; of long vectors the routine shares out the work

cdef int BOOL = _BOOL, F16 = _F16, F64 = _F64, I64 = _I64, LEAF = _node.LEAF
cdef int alignments[32]
for _code, _dtype in enumerate(DTYPES):
    alignments[_code] = _dtype.alignment


cdef Py_ssize_t size_of(tuple shape) except -1:
    cdef Py_ssize_t size = 1
    for extent in shape:
        size *= <Py_ssize_t>extent
    return size


cdef Storage at_hand(ndarray array, Py_ssize_t most=MOST):
    """The memory of an array if it is computed; what is pending and has at most so many elements is computed for it."""
    cdef Storage storage = array.held
    if storage is None or storage.pins:
        return None
    if storage.value.kind != LEAF:
        if storage.value.size > most or storage.value.tree:
            return None
        if beside(current()) is not None and not waits_for_nobody(storage.value):
            return None
        try:
            evaluate_one(storage.value)
        except Exception:  # Which belongs to the value, and is raised when somebody looks at that.
            return None
        if storage.value.kind != LEAF:
            return None
    return storage


cdef bint see(Rows* rows, Storage storage, ndarray array, Py_ssize_t lead) except -1:
    return take_rows(rows, storage.value, array.code, array.offset, array._shape, array._strides, lead)


cdef Py_ssize_t offsets[MOST]  # where index arrays lead, from the begin of an array's layout


cdef Py_ssize_t axes_of(object index) except -2:
    """How many axes an index array, a list of integers or a tuple of such and integers takes; -1 for others."""
    cdef Py_ssize_t arrays = 0
    if type(index) is ndarray:
        return 1 if is_index(index) else -1
    if type(index) is list:
        return 1 if is_plain(index) else -1
    if type(index) is not tuple:
        return -1
    for item in <tuple>index:
        if type(item) is ndarray:
            if not is_index(item):
                return -1
            arrays += 1
        elif type(item) is not int:
            return -1
    return len(<tuple>index) if arrays else -1


cdef bint is_index(ndarray index) except -1:
    return len(index._shape) == 1 and BOOL < index.code < F16 and at_hand(index) is not None


cdef bint is_plain(list index) except -1:
    """Whether a list is of few integers."""
    if not 0 < len(index) <= FEW:
        return False
    for item in index:
        if type(item) is not int:
            return False
    return True


cdef bint take_index(Rows* places, object item, int64_t* few) except -1:
    """See an index array, or a list of integers that is put into `few`, as rows; whether that was possible."""
    cdef ndarray one
    cdef Py_ssize_t place
    cdef int beyond = 0
    if type(item) is ndarray:
        one = item
        return one.held is not None and see(places, one.held, one, 1) and places.count <= MOST
    places.count = len(<list>item)
    if places.count > FEW:  # It has grown while memory was asked for.
        return False
    places.step = 8
    places.start = <char*>few
    for place in range(places.count):
        few[place] = PyLong_AsLongLongAndOverflow((<list>item)[place], &beyond)
        if beyond:
            return False
    return True


cdef inline int code_of(object item) noexcept:
    """Of an index array's dtype, or of the integers of a list."""
    return (<ndarray>item).code if type(item) is ndarray else 7


cdef Py_ssize_t find_offsets(tuple shape, tuple strides, object index) except -2:
    """Put where an index of a layout leads into `offsets`; their number, or -1 where that is not for here."""
    cdef tuple items = index if type(index) is tuple else (index,)
    cdef Rows places
    cdef int64_t few[FEW]
    cdef Py_ssize_t count = -1, axis, place, extent, fixed = 0
    cdef long long at
    cdef int beyond = 0
    for axis in range(len(items)):
        item = items[axis]
        extent = <Py_ssize_t>shape[axis]
        if type(item) is int:
            at = PyLong_AsLongLongAndOverflow(item, &beyond)
            if beyond or at >= extent or at < -extent:
                return -1
            fixed += (at + extent if at < 0 else at) * <Py_ssize_t>strides[axis]
            continue
        if not take_index(&places, item, few):
            return -1
        if count < 0:
            count = places.count
            memset(offsets, 0, count * sizeof(offsets[0]))
        elif count != places.count:
            return -1
        if not add_offsets(offsets, &places, code_of(item), extent, <Py_ssize_t>strides[axis]):
            return -1
    if fixed:
        for place in range(count):
            offsets[place] += fixed
    return count


cdef Py_ssize_t count_of(object index) except -2:
    """How many rows an index leads to, if it is one for here."""
    for item in index if type(index) is tuple else (index,):
        if type(item) is ndarray:
            return <Py_ssize_t>(<ndarray>item)._shape[0]
        if type(item) is list:
            return len(<list>item)
    return -1


cpdef object taken(ndarray array, object index):
    """An array at index arrays of integers along its first axes."""
    cdef Rows rows, places
    cdef Storage memory
    cdef Buffer buffer, read
    cdef tuple shape = array._shape, strides = array._strides
    cdef Py_ssize_t count, axes
    cdef int64_t few[FEW]
    if learning() or not array._shape or not is_host():
        return None
    axes = axes_of(index)
    memory = None if not 0 < axes <= len(array._shape) else at_hand(array)
    if memory is None or not take_block(&rows, memory.value, array.code, array.offset, array._shape, array._strides, axes):
        return None
    count = count_of(index)
    if not 0 < count <= MOST or count * rows.bytes > 8 * MOST:
        return None
    read = <Buffer>memory.value.buffer  # Held: while memory is asked for, others may write to the array, and read others.
    buffer = read.pool.allocate(count * rows.bytes)
    if type(index) is not tuple:
        rows.step = <Py_ssize_t>strides[0]
        if not take_index(&places, index, few) or places.count != count or not read_at_indices(
            <char*><intptr_t>buffer.ptr, &rows, &places, code_of(index), <Py_ssize_t>shape[0]
        ):
            return None
    else:
        if find_offsets(shape, strides, index) != count:
            return None
        read_rows(<char*><intptr_t>buffer.ptr, rows.start, offsets, count, rows.bytes)
    if len(shape) == 1 and type(index) is ndarray:
        shape = (<ndarray>index)._shape
    else:
        shape = one_tuple((count, *shape[axes:]))
    return wrap(new_value(buffer, array.code, shape, True))


cdef Py_ssize_t most_rows() except -1:
    """Rows that a mask chooses from at once: many on the host alone, few of the host beside a GPU."""
    return MASKED if beside(current()) is None else MOST


cdef Storage mask_at_hand(ndarray mask, Py_ssize_t lent):
    """The memory of a mask. A long one is computed for this where others have it, too, for whom it would be anyway."""
    return at_hand(mask, most_rows() if Py_REFCNT(mask) > lent else MOST)


cpdef object selected(ndarray array, ndarray mask):
    """An array at a mask of its first axes."""
    cdef Rows rows, which
    cdef Storage memory, at
    cdef Buffer read, mask_read
    cdef Node node
    cdef Py_ssize_t lead = len(mask._shape)
    if learning() or mask.code != BOOL or not lead or mask._shape != array._shape[:lead] or not is_host():
        return None
    at = mask_at_hand(mask, LENT_TO_READ)
    memory = None if at is None else at_hand(array, most_rows())
    if memory is None:
        return None
    if see(&rows, memory, array, lead) and see(&which, at, mask, lead):
        if rows.count > most_rows() or rows.count * rows.bytes > MOST_CHOSEN:
            return None
        read = <Buffer>memory.value.buffer  # Held.
        mask_read = <Buffer>at.value.buffer
        node = read_where(&rows, &which, read.pool, array.code, array._shape[lead:])
        return None if node is None else wrap(node)
    if lead != len(array._shape) or not 0 < size_of(mask._shape) <= most_rows():
        return None
    node = elements_where(
        at.value, mask.offset, mask._strides, memory.value, array.code, array.offset, array._shape, array._strides
    )
    return None if node is None else wrap(node)


def nonzero(ndarray mask):
    """Indices of the true elements of a mask, an array an axis."""
    cdef Storage at
    cdef list found
    cdef Py_ssize_t most
    if learning() or mask.code != BOOL or not 0 < len(mask._shape) <= 8 or not is_host():
        return None
    most = most_rows() if len(mask._shape) == 1 else MOST_PLACES
    if not 0 < size_of(mask._shape) <= most:
        return None
    at = at_hand(mask, most)
    if at is None:
        return None
    found = places_where(at.value, mask.offset, mask._shape, mask._strides)
    return None if found is None else tuple([wrap(node) for node in found])


def put(ndarray array, object index, object value, object op_def=None, bint again=False):
    """Store a number, or an array of just the right dtype and shape, at index arrays or at a mask; whether it was.

    With an operation what is there is combined with it, at equal indices in their order; masks are not for here then.
    `again` says that what is pending has been run for it.
    """
    cdef Rows rows, places, given
    cdef Storage memory, at, source
    cdef ndarray values = None
    cdef Node node
    cdef double number[2]
    cdef double converted[2]
    cdef const char* start = <const char*>number
    cdef Py_ssize_t step = 0, lead, count
    cdef int code
    cdef Way* way = NULL
    cdef Py_ssize_t part, done
    cdef bint repeated = False
    cdef bint by_mask = type(index) is ndarray and (<ndarray>index).code == BOOL
    if learning() or tracing() or not array._shape or not is_host():
        return False
    if op_def is not None and (by_mask or near_pool() is None):
        return False
    if by_mask:
        lead = len((<ndarray>index)._shape)
        if not lead or (<ndarray>index)._shape != array._shape[:lead]:
            return False
        at = mask_at_hand(index, LENT_TO_WRITE)
        if at is None:
            return False
    else:
        lead = axes_of(index)
    if not 0 < lead <= len(array._shape) or is_among(array, index):
        return False
    if type(value) is ndarray and (<ndarray>value)._shape:
        values = value
        if values.code != array.code or values.held is array.held:
            return False
        repeated = values._shape == array._shape[lead:]  # A row for each.
        if not repeated and values._shape[1:] != array._shape[lead:]:
            return False
        if by_mask and not repeated and not values._shape[0]:
            return see(&places, at, index, lead) and not count_true(&places)
        source = at_hand(values, most_rows() if by_mask else MOST)
        if source is None:
            return False
        code = array.code
    else:
        code = take_number(value, number)
        if code < 0:
            return False
        if op_def is None:
            if not stores_as(code, array.code, number):
                return False
        else:  # As arrays, numbers of Python's have a dtype of their own.
            code = I64 if code == WEAK_INT else F64 if code == WEAK_FLOAT else code
    memory = at_hand(array, most_rows() if by_mask and values is not None else MOST)
    if memory is None:
        return False
    if op_def is not None:  # From here on nothing of Python runs, which may read or write others.
        way = way_of(op_def, array.code, code)
        if not may_combine(way, array.code):
            return False
        if values is not None:
            if way.cast_second is not NULL or not is_aligned(values):
                return False
        elif not convert(code, number, way.loop_second, way.cast_second, converted):
            return False
        start = <const char*>converted
    if by_mask:
        if not see(&rows, memory, array, lead) or not see(&places, at, index, lead) or rows.count > most_rows():
            return False
        count = -1
        if values is not None and not repeated:
            count = count_true(&places)
    else:
        if not take_block(&rows, memory.value, array.code, array.offset, array._shape, array._strides, lead):
            return False
        count = find_offsets(array._shape, array._strides, index)
        if count <= 0:
            return False
        if op_def is not None and (count * rows.bytes > MOST_COMBINED * itemsize_of(array.code) or not is_aligned(array)):
            return False
    if values is not None:
        if repeated:
            if not take_block(&given, source.value, values.code, values.offset, values._shape, values._strides, 0):
                return False
        else:
            if not see(&given, source, values, 1) or given.count != count:
                return False
            step = given.step
        if given.bytes != rows.bytes:
            return False
        start = given.start
    node = memory.value
    if not is_alone(node):  # Pending work may read it.
        if again or node.size > MOST:
            return False
        evaluate([])  # Others may write meanwhile to all that has been looked at.
        node = None
        return put(array, index, value, op_def, True)
    part = rows.bytes if values is not None else itemsize_of(array.code)
    if op_def is not None:
        done = itemsize_of(array.code)
        combine_rows(way, rows.start, offsets, count, rows.bytes // done, done, start, step, done if values is not None else 0)
        return was_stored(node, type(value) is ndarray)
    for done in range(0, rows.bytes, part):  # A number goes to each element of a row.
        if by_mask:
            write_where(&rows, part, &places, start, step)
        else:
            write_rows(rows.start, offsets, count, part, start, step)
        rows.start += part
    return was_stored(node, type(value) is ndarray)


cdef bint is_aligned(ndarray array) except -1:
    """Whether a layout's elements lie where the machine reads them."""
    cdef Py_ssize_t all = array.offset
    for step in array._strides:
        all |= <Py_ssize_t>step
    return all % alignments[array.code] == 0


cdef bint is_among(ndarray array, object index) except -1:
    """Whether an index reads the memory that it writes."""
    if type(index) is tuple:
        for item in <tuple>index:
            if type(item) is ndarray and (<ndarray>item).held is array.held:
                return True
        return False
    return type(index) is ndarray and (<ndarray>index).held is array.held


def read(ndarray array, object index):
    """An array at index arrays, or at a mask."""
    if type(index) is ndarray and (<ndarray>index).code == BOOL:
        return selected(array, index)
    return taken(array, index)
