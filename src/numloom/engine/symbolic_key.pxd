cimport cython
from numloom.graph.node cimport Node

cdef int FILL, LEAF, OP, REDUCE, SCALAR, UPDATE, VIEW
cdef int EQ, NE, LT, GE, MUL, ADD, SUB, FLOORDIV, MOD, CALL, ITEM, LSHIFT, RSHIFT, AND, OR, BIT_LENGTH

@cython.locals(words=list, sizes=list, things=dict, shapes=dict, orders=dict, begins=dict, updates=cython.bint, node=Node, arg=Node,
               base=Node, kind=cython.int, word=cython.longlong, number=cython.longlong)
cpdef tuple symbolic_key(list nodes, list roots)

cdef object _place_of(object thing, dict known)

@cython.locals(slot=object)
cdef object _slot_of(tuple numbers, dict known, list sizes)

@cython.locals(what=cython.int, first=cython.Py_ssize_t, second=cython.Py_ssize_t, target=cython.Py_ssize_t)
cpdef bint play(list entries, list values) except -1
