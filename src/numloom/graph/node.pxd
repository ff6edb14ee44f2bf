cimport cython
cimport numloom.base.instances


@cython.final
cdef class NodeSignature:
    cdef public int kind
    cdef public int code
    cdef public object op_def
    cdef public tuple shape
    cdef public tuple strides
    cdef public Py_ssize_t size
    cdef public object attr
    cdef public Py_ssize_t number
    cdef public NodeSignature computed


@cython.final
cdef class Node:
    cdef public int kind
    cdef public int code
    cdef public object op_def
    cdef public tuple args
    cdef public tuple shape
    cdef public tuple strides
    cdef public Py_ssize_t size
    cdef public object attr
    cdef public object buffer
    cdef public NodeSignature signature
    cdef public Py_ssize_t readers
    cdef public Py_ssize_t storages
    cdef public Py_ssize_t era
    cdef public bint tree
    cdef public bint result
    cdef public Py_ssize_t mark
    cdef public Py_ssize_t number
    cdef public Py_ssize_t seen
    cdef public unsigned long long word
    cdef public Node back
    cdef public Node older
    cdef public Node newer


@cython.final
cdef class Recording:
    cdef public bint alone
    cdef public list draws
    cdef public Py_ssize_t era
    cdef public bint is_open
    cdef public Recording outer
    cdef public dict results
    cdef public Py_ssize_t open
    cdef public bint trees
    cdef public bint symbols
    cdef public object watches


@cython.final
cdef class Reader:
    cdef readonly list nodes
    cpdef void read(self, Node node) noexcept


@cython.final
cdef class Register:
    cdef public Node oldest
    cdef public Node newest
    cdef public Py_ssize_t recorded
    cdef public Py_ssize_t limit
    cdef public Py_ssize_t orphan_limit
    cdef public Py_ssize_t orphan_bytes
    cdef public list deferred_frees
    cdef public Py_ssize_t depth
    cdef public Py_ssize_t era
    cdef public Py_ssize_t tracing
    cdef public Py_ssize_t open
    cdef public bint trees
    cdef public bint symbols



cdef Register _register
cdef Py_ssize_t _DEPTH, _DEFERRED_KEPT
cdef int _LEAF, _SCALAR, _VIEW, _OP, _CAST, _REDUCE, _SYMBOL, _UPDATE
cdef tuple _NOTHING
cdef dict _signatures
cdef Py_ssize_t _SIGNATURES_KEPT, _signatures_room, _last_signature, _NOBODY_ELSE

@cython.locals(signature=NodeSignature, key=tuple)
cpdef NodeSignature signature_by(int kind, object op_def, int code, tuple shape, tuple strides, Py_ssize_t size, object attr)
@cython.locals(signature=NodeSignature, kind=cython.int)
cpdef NodeSignature signature_of(Node node)
cdef NodeSignature computed_signature(NodeSignature signature)
@cython.locals(node=Node, r=Register)
cpdef Node viewed(NodeSignature signature, Node base, object offset)
@cython.locals(node=Node, r=Register)
cpdef Node computed(NodeSignature signature, object buffer)
@cython.locals(node=Node, r=Register)
cpdef Node new_number(object value, int code)
cdef int BOOL, _WEAK_INT, _WEAK_FLOAT, _WEAK_COMPLEX
cdef list _integer_range
cpdef int weak_code(object value) except -1
cpdef Node scalar_as(object value, int code)

@cython.locals(node=Node, arg=Node, r=Register)
cpdef Node new_node(int kind, object op_def, tuple args, int code, tuple shape, tuple strides, Py_ssize_t size, object attr)

cpdef bint tracing() noexcept

@cython.locals(arg=Node)
cdef void join_tree(Node node)

@cython.locals(node=Node, r=Register)
cpdef Node recorded_as(NodeSignature signature, tuple args)
cpdef Node recorded_as1(NodeSignature signature, Node a)
cpdef Node recorded_as2(NodeSignature signature, Node a, Node b)

cpdef void count_reader(Node node) noexcept
cpdef void uncount_reader(Node node) noexcept

@cython.locals(args=tuple, r=Register, place=cython.Py_ssize_t)
cpdef void release(Node node) noexcept

@cython.locals(r=Register)
cpdef void count_recorded() noexcept
@cython.locals(r=Register, older=Node)
cpdef void hold(Node node) noexcept
@cython.locals(r=Register)
cpdef void unhold(Node node) noexcept
cpdef bint is_listed(Node node) noexcept
@cython.locals(r=Register, older=Node, newer=Node)
cpdef void leave_live(Node node) noexcept
cpdef bint was_stored(Node node, bint of_others) noexcept
@cython.locals(r=Register, signature=NodeSignature, arg=Node, base=Node)
cpdef void become_leaf(Node node, object buffer) noexcept
