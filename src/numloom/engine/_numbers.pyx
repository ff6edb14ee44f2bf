# distutils: language = c++
# cython: boundscheck=False, wraparound=False, cdivision=True
"""Numbers without a value: what 0-d arrays hold until somebody needs a value of the graph, and operations on them.

An operation is done by the loop that `engine/_ready.pyx` runs a value's operation by, on one element, after the casts
that recording would record; which they are is asked for once. Nothing is done here where the device is not the host.
"""

cimport numpy as np
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, intptr_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from numloom.device.cpu._hostview cimport number_at, put_number_at
from numloom.device.memory cimport Pool
from numloom.device.registry cimport _current, _far, _several, beside, current
from numloom.engine._ready cimport (
    BY_LOOP, BY_PACKAGE, MOST_WORDS, SUM, Loop, Size, cast_between, operation, reduction, same_everywhere,
)
from numloom.engine.look cimport read_bits, write_bits
from numloom.graph.build cimport _NONE, binary_rule, known
from numloom.graph.node cimport Node

from numloom.base.config import config
from numloom.base.dtypes import BOOL as _BOOL, C64 as _C64, C128 as _C128, F32 as _F32, F64 as _F64, I64 as _I64
from numloom.base.dtypes import DTYPES, SCALAR_CODES
from numloom.base.dtypes import F16 as _F16, I32 as _I32, U64 as _U64
from numloom.graph import node as _node
from numloom.ops.elementwise import ELEMENTWISE

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef int LEAF = _node.LEAF, FILL = _node.FILL, SCALAR = _node.SCALAR, OP = _node.OP
cdef int BOOL = _BOOL, F32 = _F32, F64 = _F64, C64 = _C64, C128 = _C128, I64 = _I64, U64 = _U64
cdef int F16 = _F16, I32 = _I32
cdef int WEAK_INT = _node.WEAK_INT, WEAK_FLOAT = _node.WEAK_FLOAT, WEAK_COMPLEX = _node.WEAK_COMPLEX
cdef int ALONE = _NONE
cdef dict scalar_codes = SCALAR_CODES

cdef extern from "numpy/arrayobject.h":
    void PyArray_ScalarAsCtype(object scalar, void* to)

np.import_array()

cdef enum:
    WAYS = 1 << 11
    NATIVE = 14  # dtypes that NumPy has, by their codes
    NUMBERS = 32  # NumPy's numbers of its own dtypes

cdef Way ways[WAYS]
cdef int codes[NUMBERS]  # by NumPy's numbers
for _code in range(NUMBERS):
    codes[_code] = -1
for _code in range(NATIVE):
    codes[DTYPES[_code].num] = _code
cdef dict simple_of_float64 = {
    "less": IS_LESS, "greater": IS_MORE, "less_equal": IS_NOT_MORE, "greater_equal": IS_NOT_LESS, "equal": IS_SAME,
    "not_equal": IS_OTHER, "add": ADDS, "subtract": SUBTRACTS, "multiply": MULTIPLIES, "divide": DIVIDES,
}
cdef dict simple_of_int64 = {
    **{name: simple for name, simple in simple_of_float64.items() if name != "divide"},
    "bitwise_and": HAS_BOTH, "bitwise_or": HAS_ANY, "bitwise_xor": HAS_ONE,
}
cdef list op_defs = [None] * WAYS  # keeps what `ways` has alive
cdef object device_of_ways = None, host_of_ways = None
cdef tuple asked_of = None  # what the registry had found of them
cdef Pool pool_of_ways = None
cdef bint on_host = False
cdef bint allowed = config.unplanned > 0


def _allow(limit):
    global allowed
    allowed = limit > 0


config.listen("unplanned", _allow)


cdef int code_of_number(int number) noexcept:
    """The code of NumPy's dtype of this number; -1 for others, of which those of other libraries may all be -1."""
    return codes[number] if 0 <= number < NUMBERS else -1


cdef bint is_host() except -1:
    """Whether numbers are operated on here: the device is the host, or beside it, and small work needs no plan."""
    global asked_of, device_of_ways, host_of_ways, on_host, pool_of_ways
    if asked_of is _far and device_of_ways is _current and asked_of is not None and not _several:
        return on_host and allowed
    cdef object device = current()
    cdef object host = beside(device)
    if device is not device_of_ways or host is not host_of_ways:
        memset(ways, 0, sizeof(ways))
        device_of_ways = device
        host_of_ways = host
        pool_of_ways = device.pool if host is None and device.pool.error_at != 0 else None
        on_host = device.pool.error_at != 0 or host is not None
    asked_of = _far
    return on_host and allowed and not _several  # A number says not whose it is.


cdef Pool near_pool():
    """Memory of the host for what is made of values that lie there, beside a GPU too."""
    if not is_host():
        return None
    return pool_of_ways if host_of_ways is None else host_of_ways.pool


cdef object near_device():
    """The device whose memory that is; after `near_pool`."""
    return device_of_ways if host_of_ways is None else host_of_ways


cdef Pool host_pool():
    """Memory for small arrays that are made at once, None where they are recorded: beside a GPU they lie on no side."""
    return pool_of_ways if is_host() else None


# ---------------------------------------------------------------- numbers


cdef int take_python(object number, double* to) except -3:
    """The code of a Python or NumPy number that was put into `to`, a weak one of Python's but of bools; -1 for others."""
    cdef int beyond = 0
    kind = type(number)
    if kind is float:
        to[0] = <double>number
        return WEAK_FLOAT
    if kind is int:
        (<int64_t*>to)[0] = PyLong_AsLongLongAndOverflow(number, &beyond)
        return NONE_HERE if beyond else WEAK_INT
    if kind is complex:
        to[0] = number.real
        to[1] = number.imag
        return WEAK_COMPLEX
    if kind is bool:
        (<uint8_t*>to)[0] = number is True
        return BOOL
    code = scalar_codes.get(kind)
    if code is None or code >= NATIVE:
        return NONE_HERE
    PyArray_ScalarAsCtype(number, to)
    return code


cdef int take_known(Node node, int code, Py_ssize_t offset, double* to) except -3:
    """The code of a value's element that was put into `to`; -1 if it lies not on the host."""
    if node.code != code:
        return NONE_HERE
    if node.kind == LEAF:
        return code if read_bits(node, code, offset, <intptr_t>to) else NONE_HERE
    if (node.kind == FILL or node.kind == SCALAR) and put_number_at(<intptr_t>to, code, node.attr):
        return code
    return NONE_HERE


cdef bint stores_as(int code, int wanted, double* number) noexcept:
    """Whether a number can be stored in memory of a dtype; then it is of that dtype."""
    if code == wanted:
        return True
    if code == WEAK_FLOAT:
        if wanted == F32:
            (<float*>number)[0] = <float>number[0]
        return wanted == F64 or wanted == F32
    if code == WEAK_INT or code == I64:
        return convert_integer((<int64_t*>number)[0], wanted, number)
    if code == I32:
        return convert_integer((<int32_t*>number)[0], wanted, number)
    if code == F64 and BOOL < wanted < F16 and -1e15 < number[0] < 1e15:
        return convert_integer(<int64_t>number[0], wanted, number)  # What is before the point, as in NumPy.
    return False


cdef bint put_known(Node node, int code, Py_ssize_t offset, const double* number) except -1:
    """Store a number in an element of computed memory, if nobody but the caller's storage has that."""
    return write_bits(node, code, offset, <intptr_t>number)


cdef Py_ssize_t place_of(Py_ssize_t offset, tuple shape, tuple strides, object index) except -2:
    """The byte offset of the element that integers lead to; -1 for other subscripts."""
    cdef Py_ssize_t rank = len(shape), axis
    if rank == 1 and type(index) is not tuple:
        return along(offset, <Py_ssize_t>shape[0], <Py_ssize_t>strides[0], index)
    if type(index) is not tuple or len(<tuple>index) != rank or not rank:
        return -1
    for axis in range(rank):
        offset = along(offset, <Py_ssize_t>shape[axis], <Py_ssize_t>strides[axis], (<tuple>index)[axis])
        if offset < 0:
            return -1
    return offset


cdef inline Py_ssize_t along(Py_ssize_t offset, Py_ssize_t extent, Py_ssize_t stride, object item) except -2:
    """The byte offset of what an integer of Python's or NumPy's leads to along an axis; -1 for others."""
    cdef long long at
    cdef int beyond = 0
    if type(item) is not int:
        code = None if type(item) is slice else scalar_codes.get(type(item))
        if code is None or not BOOL < <int>code < F16:
            return -1
    at = PyLong_AsLongLongAndOverflow(item, &beyond)
    if beyond or at >= extent or at < -extent:
        return -1
    return offset + (at + extent if at < 0 else at) * stride


cdef object python_number(const double* number, int code):
    """A number as one of Python's."""
    return number_at(<intptr_t>number, code)


cdef Node node_for(const double* number, int code, Py_ssize_t era):
    """The value of a number, which counts as made in an era."""
    cdef Node node = known(number_at(<intptr_t>number, code), code)
    node.era = era
    node.result = True
    return node


# ---------------------------------------------------------------- operations


cdef inline Way* way_for(void* op_def, int first, int second) noexcept:
    return &ways[((<uint64_t>op_def ^ <uint64_t>(first * 32 + second)) * <uint64_t>0x9E3779B97F4A7C15) >> 53]


cdef Way* way_of(object op_def, int first, int second) except? NULL:
    """How an operation is done on operands of these codes, after `is_host`; null where it is not for here."""
    cdef Way* way = way_for(<void*>op_def, first, second)
    if way.op_def != <void*>op_def or way.first != first or way.second != second:
        learn(way, op_def, first, second)
        if way.op_def != <void*>op_def or way.first != first or way.second != second:  # Another one's by now, or unknown.
            return NULL
    return way if way.there else NULL


cdef int operate(object op_def, int first, const double* left, int second, const double* right, double* to) except -3:
    """An operation on one or two numbers: the code of the result in `to`, -1 where it is not for here."""
    cdef Way* way = way_of(op_def, first, second)
    cdef double converted_left[2]
    cdef double converted_right[2]
    cdef char* args[3]
    cdef Size steps[3]
    cdef Size count = 1
    cdef long long words[MOST_WORDS]
    cdef int k
    if way is NULL:
        return NONE_HERE
    if not convert(first, left, way.loop_first, way.cast_first, converted_left):
        return NONE_HERE
    args[0] = <char*>converted_left
    if second == ALONE:
        args[1] = <char*>to
    else:
        if not convert(second, right, way.loop_second, way.cast_second, converted_right):
            return NONE_HERE
        args[1] = <char*>converted_right
        args[2] = <char*>to
    if way.simple is not NOTHING:
        if way.loop_first == F64:
            simple_float64(way.simple, (<const double*>args[0])[0], (<const double*>args[1])[0], to)
        else:
            simple_int64(way.simple, (<const int64_t*>args[0])[0], (<const int64_t*>args[1])[0], to)
    elif way.loop is not NULL:
        memset(steps, 0, sizeof(steps))
        (<Loop>way.loop)(args, &count, steps, way.data)
    else:
        for k in range(way.words):
            words[k] = 1 if way.word[k] < 0 else <long long><intptr_t>args[way.word[k]]
        way.package(words, 0, 1)
    return way.out


cdef bint may_combine(Way* way, int code) noexcept:
    """Whether an operation may run over elements of a dtype in place."""
    return way is not NULL and way.loop is not NULL and way.cast_first is NULL and way.out == code


cdef void combine_rows(
    Way* way, char* to, const Py_ssize_t* offsets, Py_ssize_t count, Py_ssize_t elements, Py_ssize_t itemsize,
    const char* values, Py_ssize_t row, Py_ssize_t step,
) noexcept:
    """Combine rows of elements, in turn, with values: `row` bytes from a row's to the next one's, `step` within."""
    cdef char* args[3]
    cdef Size steps[3]
    cdef Size many = elements
    cdef Py_ssize_t place
    steps[0] = steps[2] = itemsize
    steps[1] = step
    for place in range(count):
        args[0] = args[2] = to + offsets[place]
        args[1] = <char*>values + place * row
        (<Loop>way.loop)(args, &many, steps, way.data)


ctypedef fused Compared:
    double
    int64_t


cdef inline bint compare(Simple how, Compared x, Compared y) noexcept:
    if how == IS_LESS:
        return x < y
    if how == IS_MORE:
        return x > y
    if how == IS_NOT_MORE:
        return x <= y
    if how == IS_NOT_LESS:
        return x >= y
    return x == y if how == IS_SAME else x != y


cdef inline void simple_float64(Simple how, double x, double y, double* to) noexcept:
    if how == ADDS:
        to[0] = x + y
    elif how == SUBTRACTS:
        to[0] = x - y
    elif how == MULTIPLIES:
        to[0] = x * y
    elif how == DIVIDES:
        to[0] = x / y
    else:
        (<uint8_t*>to)[0] = compare(how, x, y)


cdef inline void simple_int64(Simple how, int64_t x, int64_t y, double* to) noexcept:
    cdef uint64_t a = <uint64_t>x, b = <uint64_t>y  # Which may overflow.
    if how == ADDS:
        (<uint64_t*>to)[0] = a + b
    elif how == SUBTRACTS:
        (<uint64_t*>to)[0] = a - b
    elif how == MULTIPLIES:
        (<uint64_t*>to)[0] = a * b
    elif how == HAS_BOTH:
        (<uint64_t*>to)[0] = a & b
    elif how == HAS_ANY:
        (<uint64_t*>to)[0] = a | b
    elif how == HAS_ONE:
        (<uint64_t*>to)[0] = a ^ b
    else:
        (<uint8_t*>to)[0] = compare(how, x, y)


cdef bint convert(int code, const double* number, int loop, void* by, double* to) noexcept:
    """A number of an operand as one of a loop's dtype; whether that can be done here."""
    cdef char* args[2]
    cdef Size steps[2]
    cdef Size count = 1
    if code == WEAK_INT:
        return convert_integer((<const int64_t*>number)[0], loop, to)
    if by is NULL:
        to[0] = number[0]
        to[1] = number[1]
    else:
        args[0] = <char*>number
        args[1] = <char*>to
        memset(steps, 0, sizeof(steps))
        (<Loop>by)(args, &count, steps, NULL)
    return True


cdef bint convert_integer(int64_t number, int loop, double* to) noexcept:
    """A Python integer as a number of a dtype, if it is one there."""
    if loop == I64:
        (<int64_t*>to)[0] = number
    elif loop == F64 or loop == C128:
        if not -(<int64_t>1 << 53) <= number <= <int64_t>1 << 53:
            return False
        to[0] = <double>number
        to[1] = 0
    elif loop == F32 or loop == C64:
        if not -(<int64_t>1 << 24) <= number <= <int64_t>1 << 24:
            return False
        (<float*>to)[0] = <float>number
        (<float*>to)[1] = 0
    elif loop == U64:
        if number < 0:
            return False
        (<uint64_t*>to)[0] = <uint64_t>number
    elif loop == 1:
        (<int8_t*>to)[0] = <int8_t>number
        return -128 <= number <= 127
    elif loop == 2:
        (<uint8_t*>to)[0] = <uint8_t>number
        return 0 <= number <= 255
    elif loop == 3:
        (<int16_t*>to)[0] = <int16_t>number
        return -(1 << 15) <= number < 1 << 15
    elif loop == 4:
        (<uint16_t*>to)[0] = <uint16_t>number
        return 0 <= number < 1 << 16
    elif loop == 5:
        (<int32_t*>to)[0] = <int32_t>number
        return -(<int64_t>1 << 31) <= number < <int64_t>1 << 31
    elif loop == 6:
        (<uint32_t*>to)[0] = <uint32_t>number
        return 0 <= number < <int64_t>1 << 32
    else:
        return False
    return True


cdef object learn(Way* way, object op_def, int first, int second):
    """Find out by which loop an operation is done, and after which casts: Python runs, so it is put there at the end."""
    cdef Way found
    loops = (device_of_ways if host_of_ways is None else host_of_ways).loops
    if loops is None:  # They may come.
        return
    memset(&found, 0, sizeof(found))
    found.op_def = <void*>op_def
    found.first, found.second = first, second
    find_out(&found, op_def, first, second, loops)
    op_defs[way - ways] = op_def
    way[0] = found


cdef object find_out(Way* way, object op_def, int first, int second, object loops):
    """Fill in how an operation is done; what there is no way for stays so."""
    try:
        rule = binary_rule(op_def, first, second)
    except TypeError:
        return
    codes = (rule[0],) if second == ALONE else (rule[0], rule[1])
    way.loop_first, way.loop_second = rule[0], rule[1] if second != ALONE else 0
    way.out = rule[len(codes)]
    way.cast_first = way.cast_second = NULL
    if not find_cast(first, way.loop_first, &way.cast_first):
        return
    if second != ALONE and not find_cast(second, way.loop_second, &way.cast_second):
        return
    if host_of_ways is not None and not same_everywhere(OP, op_def, (*codes, way.out)):
        return
    kind, function, data, words = operation(op_def, codes, way.out, loops)
    way.loop = NULL
    if second != ALONE and rule[0] == rule[1] and rule[0] in (F64, I64) and ELEMENTWISE.get(op_def.name) is op_def:
        way.simple = (simple_of_float64 if rule[0] == F64 else simple_of_int64).get(op_def.name, NOTHING)
    if kind == BY_LOOP:
        way.loop = <void*><intptr_t>function
        way.data = <void*><intptr_t>data
    elif kind == BY_PACKAGE:
        way.package = <PackageLoop><void*><intptr_t>function
        way.words = len(words)
        for place, word in enumerate(words):
            way.word[place] = word
    else:
        return
    way.there = True


cdef bint find_cast(int code, int loop, void** to) except -1:
    """The loop that converts an operand, null where its bits stay; whether there is a way."""
    if code == loop or code == WEAK_INT:  # Of which each number is looked at.
        return True
    if code == WEAK_FLOAT or code == WEAK_COMPLEX:
        code = F64 if code == WEAK_FLOAT else C128
        if loop == code:
            return True
    to[0] = <void*>cast_between(code, loop)
    return to[0] is not NULL


# ---------------------------------------------------------------- short vectors

cdef double products[MOST_DOTTED]


cdef void dot_rows(
    bint single, const char* left, Py_ssize_t left_step, const char* right, Py_ssize_t right_step, Py_ssize_t count,
    double* to,
) noexcept:
    """The sum of the products of two vectors of floats (`single`: of 32 bits), as the sum of a vector of them."""
    cdef float* few = <float*>products
    cdef Py_ssize_t place
    if single:
        for place in range(count):
            few[place] = (<const float*>(left + place * left_step))[0] * (<const float*>(right + place * right_step))[0]
    else:
        for place in range(count):
            products[place] = (
                (<const double*>(left + place * left_step))[0] * (<const double*>(right + place * right_step))[0]
            )
    reduction(SUM, F32 if single else F64).row(<const char*>products, count, True, <char*>to)
