# distutils: language = c++
# cython: boundscheck=False, wraparound=False, cdivision=True
"""A few random numbers at once, by the loop that their kernel has for an element, from the blocks that it would take."""

from libc.stdint cimport intptr_t, uint64_t

from numloom.device.registry cimport beside, current
from numloom.engine._indexing cimport itemsize_of
from numloom.engine._numbers cimport is_host
from numloom.engine._ready cimport BY_PACKAGE, MOST_WORDS, Known, known_operation
from numloom.graph.node cimport Register
from numloom.graph.again cimport learning

from numloom.base.config import config
from numloom.base.dtypes import U64
from numloom.engine.state import counters
from numloom.graph.node import register as _register

ctypedef void (*PackageLoop)(const void*, long long, long long) noexcept

cdef enum:
    ROOM = 1 << 10

MOST = ROOM
"""Numbers that are drawn at once."""

cdef uint64_t numbers[ROOM]  # of elements
cdef uint64_t firsts[ROOM]
cdef uint64_t keys[ROOM]
cdef uint64_t amounts[ROOM]
for _place in range(ROOM):
    numbers[_place] = _place

cdef tuple THREE = (U64,) * 3, FOUR = (U64,) * 4
cdef Register register = _register
cdef bint verifying = config.verify


def _set_verify(value):
    global verifying
    verifying = value


config.listen("verify", _set_verify)


def draw(object source, object op_def, int code, Py_ssize_t count, object amount, intptr_t to):
    """Draw numbers of an operation (below an `amount`, if it has one) to memory, which has room for words of 64 bits.

    False, and nothing is taken, where that is not for here. Beside a GPU it is for single numbers. Where there are symbols,
    numbers that are drawn in an expression with one must be known as draws.
    """
    cdef Known how  # A copy, since others may take its place in the table.
    cdef char* args[5]
    cdef long long words[MOST_WORDS]
    cdef Py_ssize_t k, each = 16 // itemsize_of(code)
    cdef uint64_t first, key, most = 0 if amount is None else amount
    if learning() or verifying or not is_host() or source.taken is not None or counters.watched:
        return False
    if register.symbols or register.open:
        return False
    device = current()
    near = beside(device)
    how = known_operation(op_def, THREE if amount is None else FOUR, code, device if near is None else near)[0]
    if how.way != BY_PACKAGE or near is not None and (count > 1 or not how.same):
        return False
    start, word = source.reserve((count + each - 1) // each)
    first = start
    key = word
    for k in range(count):
        firsts[k] = first
        keys[k] = key
        amounts[k] = most
    args[0] = <char*>numbers
    args[1] = <char*>firsts
    args[2] = <char*>keys
    args[3] = <char*>to if amount is None else <char*>amounts
    args[4] = <char*>to
    for k in range(how.words):
        words[k] = count if how.word[k] < 0 else <long long><intptr_t>args[how.word[k]]
    (<PackageLoop>how.function)(words, 0, count)
    return True
