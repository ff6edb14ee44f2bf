cimport cython


@cython.no_gc
@cython.final
@cython.freelist(256)
cdef class Node:
    cdef public int kind
    cdef public int code
    cdef public object row
    cdef public tuple args
    cdef public tuple shape
    cdef public tuple strides
    cdef public Py_ssize_t size
    cdef public object attr
    cdef public object buffer
    cdef public Py_ssize_t readers
    cdef public Py_ssize_t cells
    cdef public Py_ssize_t mark
    cdef public Py_ssize_t number
    cdef public Py_ssize_t seen
    cdef object __weakref__


@cython.final
cdef class Register:
    cdef public dict live
    cdef public Py_ssize_t recorded
    cdef public Py_ssize_t limit
    cdef public Py_ssize_t orphan_limit
    cdef public Py_ssize_t orphan_bytes
    cdef public list graveyard
    cdef public bint draining



@cython.locals(node=Node, arg=Node)
cpdef Node new_node(int kind, object row, tuple args, int code, tuple shape, tuple strides, Py_ssize_t size, object attr)

cpdef void count_reader(Node node)
cpdef void uncount_reader(Node node)

@cython.locals(args=tuple, r=Register)
cpdef void release(Node node)

@cython.locals(r=Register)
cpdef void count_recorded()
@cython.locals(r=Register)
cpdef void hold(Node node)
@cython.locals(r=Register)
cpdef void unhold(Node node)
@cython.locals(r=Register)
cpdef void become_leaf(Node node, object buffer)
