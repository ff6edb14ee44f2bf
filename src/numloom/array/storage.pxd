cimport cython
cimport numloom.base.instances
from numloom.engine.look cimport put_number
from numloom.device.memory cimport Buffer
from numloom.graph.slots cimport known_update
from numloom.graph.build cimport binary, cast, copied, full, leaf, unary, update, view
from numloom.graph.node cimport NodeSignature, Node, Register, recorded_as2, hold, tracing, unhold

cdef Register register
cdef int BOOL, C64, C128, F32, F64, U8
cdef int FILL, LEAF, SCALAR, VIEW
cdef tuple ITEMSIZES


@cython.final
cdef class Storage:
    cdef public Node value
    cdef public Py_ssize_t pins
    cdef public Py_ssize_t era


@cython.locals(storage=Storage)
cpdef Storage new_storage(Node value)
@cython.locals(old=Node)
cpdef void set_value(Storage storage, Node value) noexcept
@cython.locals(current=Node)
cpdef Node read(Storage storage, int code, Py_ssize_t offset, tuple shape, tuple strides)
@cython.locals(itemsize=cython.Py_ssize_t, part=cython.Py_ssize_t)
cpdef Node read_part(Node value, int code, Py_ssize_t offset, tuple shape, tuple strides)
@cython.locals(stride=cython.Py_ssize_t, buffer=Buffer)
cdef bint _is_aligned(Node value, Py_ssize_t itemsize, Py_ssize_t offset, tuple strides) except -1

cpdef Node kept_apart(Node node)
cpdef Node arranged(Node node, tuple shape, tuple strides, int code)
@cython.locals(size=cython.Py_ssize_t, extent=cython.Py_ssize_t)
cdef Py_ssize_t _count(tuple shape) except? -1
@cython.locals(r=Register)
cpdef object put(Storage storage, Node value)
@cython.locals(value=Node)
cpdef bint write_number(Storage storage, int code, Py_ssize_t offset, object number) except -1
@cython.locals(current=Node, known=NodeSignature, new=Node, changed=Node)
cpdef object write(Storage storage, int code, Py_ssize_t offset, tuple shape, tuple strides, Node value)
@cython.locals(itemsize=cython.Py_ssize_t, current=Node, kept=object)
cdef Node _written(Storage storage, Node value, int code, Py_ssize_t offset, tuple shape, tuple strides)

cpdef Node materialize(Storage storage)
@cython.locals(value=Node, own=Node)
cpdef Node pin(Storage storage)
cpdef void unpin(Storage storage) noexcept


@cython.final
cdef class Exported:
    cdef readonly Storage storage
