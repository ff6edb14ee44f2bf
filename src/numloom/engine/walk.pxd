cimport cython
from numloom.base.memo cimport Memo
from numloom.device.memory cimport Buffer
from numloom.graph.node cimport NodeSignature, Node, Register, signature_of, is_listed


@cython.final
cdef class Walk:
    cdef public list nodes
    cdef public Py_ssize_t count
    cdef public Py_ssize_t roots
    cdef public bint updates
    cdef public object begins
    cdef public unsigned long long first
    cdef public unsigned long long second


@cython.final
cdef class Epoch:
    cdef public Py_ssize_t number
    cdef public list spare
    cdef public list only


cdef Epoch _epoch
cdef Memo _numbers, _near
cdef unsigned long long _MASK, _P1, _P2, _P3, _P4, _P5
cdef int FILL, LEAF, LOST, OP, SCALAR, UPDATE, VIEW

@cython.locals(r=Register, roots=list, node=Node, live=Node, generated=cython.bint)
cpdef list pending_roots(list wanted)

@cython.locals(found=Walk, root=Node)
cpdef Walk walk(list roots)
@cython.locals(r=Register, found=Walk, live=Node, node=Node)
cpdef Walk walk_pending(list wanted)
cpdef Py_ssize_t next_epoch() except -1

@cython.locals(found=Walk)
cdef Walk new_walk()
@cython.locals(nodes=list, position=cython.Py_ssize_t)
cpdef object end_walk(Walk found)
@cython.locals(nodes=list, epoch=cython.Py_ssize_t, parent=Node, node=Node, arg=Node, position=cython.Py_ssize_t,
               args=tuple, count=cython.Py_ssize_t, room=cython.Py_ssize_t)
cdef object visit(Walk found, Node root)

@cython.locals(nodes=list, node=Node, signature=NodeSignature, base=Node, kind=cython.int,
               position=cython.Py_ssize_t, updates=cython.bint, buffer=Buffer,
               word=cython.ulonglong, first=cython.ulonglong, second=cython.ulonglong, number=cython.longlong, known=list)
cpdef object make_key(Walk found)

@cython.locals(place=cython.Py_ssize_t, key=tuple)
cdef unsigned long long near_number(list known, long long number, tuple strides) except? 0

@cython.locals(number=object)
cpdef unsigned long long number_of(object thing) except? 0
