"""Arrays over memory by address, through NumPy's C interface, and single numbers: see ``hostview.py``."""

cimport numpy as np
from cpython.ref cimport PyObject, Py_INCREF
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, intptr_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.math cimport INFINITY, NAN, ldexp
from libc.string cimport memcpy

from numloom.base.dtypes import DTYPES

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        type subtype, np.dtype descr, int nd, np.npy_intp* dims, np.npy_intp* strides, void* data, int flags, PyObject* obj
    )
    int PyArray_SetBaseObject(np.ndarray array, object base) except -1

np.import_array()

cdef union Element:
    uint8_t u8
    int8_t i8
    int16_t i16
    uint16_t u16
    int32_t i32
    uint32_t u32
    int64_t i64
    uint64_t u64
    float f32[2]
    double f64[2]

cdef int[14] SIZES = [1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 8, 16]


cpdef np.ndarray array_at(intptr_t address, tuple shape, tuple strides, np.dtype dtype, object owner=None):
    """An array over memory that is already there."""
    cdef np.npy_intp dims[64]
    cdef np.npy_intp steps[64]
    cdef int ndim = len(shape)
    cdef int axis
    cdef np.ndarray array
    if ndim > 64 or len(strides) != ndim:
        raise ValueError("shape and strides must be equally long, at most 64")
    for axis in range(ndim):
        dims[axis] = shape[axis]
        steps[axis] = strides[axis]
    Py_INCREF(dtype)  # NumPy takes this reference
    array = PyArray_NewFromDescr(np.ndarray, dtype, ndim, dims, steps, <void*>address, np.NPY_ARRAY_WRITEABLE, NULL)
    if owner is not None:
        Py_INCREF(owner)  # and this one
        PyArray_SetBaseObject(array, owner)
    return array


cdef class ByAddresses:
    """A function of NumPy arrays for addresses: of its operands, of its result, then numbers of options.

    `layouts` are (shape, strides in bytes, dtype) of each array. What the function `gives` is stored in the last array;
    else it writes to one of them itself. The call gives False, and does nothing, where the word at `error_at` says
    that a kernel found an error.
    """

    def __init__(self, object function, dict options, tuple layouts, bint gives, tuple names, intptr_t error_at):
        self.function = function
        self.options = options
        self.layouts = layouts
        self.gives = gives
        self.names = names
        self.error_at = error_at

    def __call__(self, *at):
        cdef Py_ssize_t k, count = len(self.layouts)
        cdef dict options = self.options
        cdef list arrays = []
        cdef np.ndarray out
        if self.error_at and is_set(self.error_at):
            return False
        for k in range(count):
            shape, strides, dtype = <tuple>self.layouts[k]
            arrays.append(array_at(at[k], shape, strides, dtype))
        if self.names:
            options = dict(options)
            for k in range(len(self.names)):
                options[self.names[k]] = at[count + k]
        if not self.gives:
            self.function(*arrays, **options)
            return True
        out = arrays.pop()
        found = self.function(*arrays, **options)
        if type(found) is np.ndarray:
            np.PyArray_CopyInto(out, <np.ndarray>found)
        else:
            out[...] = found
        return True


ctypedef void (*Gemm32)(
    int, int, int, int64_t, int64_t, int64_t, float, const void*, int64_t, const void*, int64_t, float, void*, int64_t
) noexcept nogil
ctypedef void (*Gemm64)(
    int, int, int, int64_t, int64_t, int64_t, double, const void*, int64_t, const void*, int64_t, double, void*, int64_t
) noexcept nogil
ctypedef int (*Ask)() noexcept nogil
ctypedef void (*Say)(int) noexcept nogil

DEF ROW_MAJOR = 101


cdef class Product(ByAddresses):
    """A product of two matrices as the very call of BLAS that NumPy would make of it.

    `fields` are the address of ``cblas_?gemm`` with integers of 64 bits, whether it is of float64, how both operands
    lie (BLAS's words), rows, columns and inner extent, the leading extents of the three, bytes from the first to the
    last element of each, and addresses of what asks and says how many threads BLAS takes, 0 where that is its own
    affair. Where NumPy might call something else, for one matrix by itself or one that it writes to, NumPy does it.
    """

    def __init__(self, object function, dict options, tuple layouts, bint gives, tuple names, intptr_t error_at, tuple fields):
        ByAddresses.__init__(self, function, options, layouts, gives, names, error_at)
        self.gemm, self.double, self.left, self.right, self.rows, self.columns, self.inner = fields[:7]
        self.lda, self.ldb, self.ldc, self.nbytes[0], self.nbytes[1], self.nbytes[2], self.ask, self.say = fields[7:]

    def __call__(self, *at):
        cdef long long[3] addresses
        addresses[0], addresses[1], addresses[2] = at
        if self.apart(addresses):
            return self.multiply(addresses)
        return ByAddresses.__call__(self, *at)

    cdef bint apart(self, const long long* at) noexcept:
        """Whether the operands are two, and the result lies elsewhere."""
        cdef int k
        for k in range(2):
            if at[k] < at[2] + self.nbytes[2] and at[2] < at[k] + self.nbytes[k]:
                return False
        return at[0] != at[1]

    cdef bint multiply(self, const long long* at) except -1:
        """Multiply what is `apart`; False, with nothing done, where a kernel found an error."""
        cdef int threads = 1
        if self.error_at and is_set(self.error_at):
            return False
        if self.say == 0:
            with nogil:
                self.run(at)
            return True
        # Nobody else says anything meanwhile: this thread has the interpreter's lock.
        threads = (<Ask>self.ask)()
        if threads > 1:
            (<Say>self.say)(1)
        self.run(at)
        if threads > 1:
            (<Say>self.say)(threads)
        return True

    cdef void run(self, const long long* at) noexcept nogil:
        """Call BLAS."""
        if self.double:
            (<Gemm64>self.gemm)(
                ROW_MAJOR, self.left, self.right, self.rows, self.columns, self.inner, 1.0, <const void*>at[0], self.lda,
                <const void*>at[1], self.ldb, 0.0, <void*>at[2], self.ldc,
            )
        else:
            (<Gemm32>self.gemm)(
                ROW_MAJOR, self.left, self.right, self.rows, self.columns, self.inner, 1.0, <const void*>at[0], self.lda,
                <const void*>at[1], self.ldb, 0.0, <void*>at[2], self.ldc,
            )


def fill(intptr_t address, np.ndarray host):
    """Copy a contiguous array's memory to an address."""
    cdef size_t nbytes = np.PyArray_NBYTES(host)
    cdef const void* data = np.PyArray_DATA(host)
    if nbytes < 65536:
        memcpy(<void*>address, data, nbytes)
    else:
        with nogil:
            memcpy(<void*>address, data, nbytes)


cdef double half(uint16_t bits) noexcept:
    """The value of a float16."""
    cdef int exponent = (bits >> 10) & 31
    cdef double fraction = bits & 1023
    cdef double value
    if exponent == 31:
        value = INFINITY if fraction == 0 else NAN
    elif exponent == 0:
        value = ldexp(fraction, -24)
    else:
        value = ldexp(fraction + 1024, exponent - 25)
    return -value if bits >> 15 else value


cpdef object number_at(intptr_t address, int code):
    """The Python number of dtype `code` at an address (of any alignment)."""
    cdef Element at
    if code > 13:
        return array_at(address, (1,), (1,), DTYPES[code]).item()
    memcpy(&at, <const void*>address, SIZES[code])
    if code == 11:
        return at.f64[0]
    if code == 10:
        return <double>at.f32[0]
    if code == 7:
        return at.i64
    if code == 0:
        return True if at.u8 else False
    if code == 1:
        return at.i8
    if code == 2:
        return at.u8
    if code == 3:
        return at.i16
    if code == 4:
        return at.u16
    if code == 5:
        return at.i32
    if code == 6:
        return at.u32
    if code == 8:
        return at.u64
    if code == 9:
        return half(at.u16)
    if code == 12:
        return complex(at.f32[0], at.f32[1])
    return complex(at.f64[0], at.f64[1])


cdef bint copy_element(intptr_t to, intptr_t source, int code) noexcept:
    """Copy an element from one address to another; False of dtypes that C++ does not know."""
    if code > 13:
        return False
    memcpy(<void*>to, <const void*>source, SIZES[code])
    return True


cdef bint is_set(intptr_t address) noexcept:
    """Whether a word is not 0."""
    return (<int64_t*>address)[0] != 0


cpdef bint put_number_at(intptr_t address, int code, object number) except -1:
    """Store a number of Python's as dtype `code`, if it is simply one; whether it was."""
    cdef Element at
    cdef object kind = type(number)
    if kind is float:
        if code == 11:
            at.f64[0] = number
            memcpy(<void*>address, &at, 8)
            return True
        if code == 10:
            at.f32[0] = <float><double>number
            memcpy(<void*>address, &at, 4)
            return True
    elif kind is int:
        if code == 11 and -9007199254740992 <= number <= 9007199254740992:
            at.f64[0] = number
            memcpy(<void*>address, &at, 8)
            return True
        if code == 7 and -9223372036854775808 <= number <= 9223372036854775807:
            at.i64 = number
            memcpy(<void*>address, &at, 8)
            return True
        if code == 2 and 0 <= number <= 255:
            at.u8 = number
            memcpy(<void*>address, &at, 1)
            return True
        if code == 5 and -2147483648 <= number <= 2147483647:
            at.i32 = number
            memcpy(<void*>address, &at, 4)
            return True
        if code == 6 and 0 <= number <= 4294967295:
            at.u32 = number
            memcpy(<void*>address, &at, 4)
            return True
        if code == 8 and 0 <= number <= 18446744073709551615:
            at.u64 = number
            memcpy(<void*>address, &at, 8)
            return True
    elif kind is complex:
        if code == 13:
            at.f64[0] = number.real
            at.f64[1] = number.imag
            memcpy(<void*>address, &at, 16)
            return True
        if code == 12:
            at.f32[0] = <float><double>number.real
            at.f32[1] = <float><double>number.imag
            memcpy(<void*>address, &at, 8)
            return True
    elif kind is bool and code == 0:
        at.u8 = 1 if number else 0
        memcpy(<void*>address, &at, 1)
        return True
    return False
