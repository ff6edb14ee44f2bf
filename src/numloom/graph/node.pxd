cimport cython
cimport numloom.base.instances


@cython.final
cdef class Form:
    cdef public int kind
    cdef public int code
    cdef public object row
    cdef public tuple shape
    cdef public tuple strides
    cdef public Py_ssize_t size
    cdef public object attr
    cdef public Py_ssize_t number
    cdef public Form computed


@cython.final
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
    cdef public Form form
    cdef public Py_ssize_t readers
    cdef public Py_ssize_t cells
    cdef public Py_ssize_t era
    cdef public bint tree
    cdef public Py_ssize_t mark
    cdef public Py_ssize_t number
    cdef public Py_ssize_t seen
    cdef public unsigned long long word
    cdef public Node back
    cdef public Node older
    cdef public Node newer


@cython.final
cdef class Register:
    cdef public Node oldest
    cdef public Node newest
    cdef public Py_ssize_t recorded
    cdef public Py_ssize_t limit
    cdef public Py_ssize_t orphan_limit
    cdef public Py_ssize_t orphan_bytes
    cdef public list graveyard
    cdef public Py_ssize_t depth
    cdef public Py_ssize_t era
    cdef public Py_ssize_t tracing
    cdef public bint trees



cdef Register _register
cdef Py_ssize_t _DEPTH, _GRAVES
cdef int _LEAF, _SCALAR, _VIEW, _OP, _CAST, _REDUCE, _SYMBOL
cdef tuple _NOTHING
cdef dict _forms
cdef Py_ssize_t _FORMS_KEPT, _forms_room, _last_form, _NOBODY_ELSE

@cython.locals(form=Form, key=tuple)
cpdef Form form_by(int kind, object row, int code, tuple shape, tuple strides, Py_ssize_t size, object attr)
@cython.locals(form=Form, kind=cython.int)
cpdef Form form_of(Node node)
cdef Form computed_form(Form form)
@cython.locals(node=Node, r=Register)
cpdef Node viewed(Form form, Node base, object offset)
@cython.locals(node=Node, r=Register)
cpdef Node computed(Form form, object buffer)
@cython.locals(node=Node, r=Register)
cpdef Node new_number(object value, int code)

@cython.locals(node=Node, arg=Node, r=Register)
cpdef Node new_node(int kind, object row, tuple args, int code, tuple shape, tuple strides, Py_ssize_t size, object attr)

@cython.locals(arg=Node)
cdef void join_tree(Node node)

@cython.locals(node=Node, r=Register)
cpdef Node formed(Form form, tuple args)
cpdef Node formed1(Form form, Node a)
cpdef Node formed2(Form form, Node a, Node b)

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
@cython.locals(r=Register, form=Form)
cpdef void become_leaf(Node node, object buffer) noexcept
