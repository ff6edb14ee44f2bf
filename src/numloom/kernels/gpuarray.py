"""PyCUDA's `gpuarray`: arrays with PyCUDA's methods over numloom's, and kernels in PyCUDA's form."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numloom.api import creation
from numloom.api import elementwise as functions
from numloom.array.convert import asarray, asnumpy
from numloom.array.ndarray import ndarray
from numloom.array.storage import pin
from numloom.base.wording import counted
from numloom.engine import look
from numloom.kernels.parameters import TYPES, Parameter, Reader
from numloom.kernels.raw import RawKernel

Host = np.ndarray[Any, Any]


class GPUArray:
    """An array on the device with PyCUDA's methods.

    Arithmetic is numloom's (recorded and fused); `array` is the numloom array itself.
    """

    __slots__ = ("__weakref__", "array")

    __array_priority__ = 100

    def __init__(self, shape: Any, dtype: Any = np.float32, allocator: Any = None, order: str = "C") -> None:
        self.array: Any = creation.empty(shape, dtype, order)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self.array.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self.array.dtype  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self.array.size)

    mem_size = size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return int(self.array.nbytes)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return self.array.strides  # type: ignore[no-any-return]

    @property
    def flags(self) -> Any:
        """NumPy's flags."""
        return self.array.flags

    @property
    def ptr(self) -> int:
        """Address of the first element; from now on the memory stays where it is."""
        # The address may be used at any time, so the pin is never taken back.
        node = pin(self.array.storage)
        look.check((node,))
        return int(node.buffer.ptr + self.array.offset)

    @property
    def gpudata(self) -> GPUArray:
        """What kernels take; its `ptr` is the address."""
        return self

    def __int__(self) -> int:
        return self.ptr

    def __index__(self) -> int:
        return self.ptr

    @property
    def T(self) -> GPUArray:
        """The transpose."""
        return wrapped(self.array.T)

    @property
    def real(self) -> GPUArray:
        """The real part."""
        return wrapped(self.array.real)

    @property
    def imag(self) -> GPUArray:
        """The imaginary part."""
        return wrapped(self.array.imag)

    def conj(self) -> GPUArray:
        """The complex conjugate."""
        return wrapped(functions.conj(self.array))

    def get(self, ary: Host | None = None, pagelocked: bool = False) -> Host:
        """A copy on the host, into `ary` if it is given."""
        host = asnumpy(self.array)
        if ary is None:
            return host
        if ary.shape != self.shape or ary.dtype != self.dtype:
            raise ValueError(f"get needs an array of shape {self.shape} and dtype {self.dtype}")
        ary[...] = host
        return ary

    def set(self, ary: Any) -> GPUArray:
        """Take the values of a host array of this shape and dtype."""
        host = np.asarray(ary)
        if host.shape != self.shape or host.dtype != self.dtype:
            raise ValueError(
                f"set needs an array of shape {self.shape} and dtype {self.dtype}, got {host.shape} and {host.dtype}"
            )
        self.array[...] = host
        return self

    get_async, set_async = get, set

    def fill(self, value: Any, stream: Any = None) -> GPUArray:
        """Set every element."""
        self.array[...] = value
        return self

    def copy(self) -> GPUArray:
        """A copy on the device."""
        return wrapped(self.array.copy("K"))

    def astype(self, dtype: Any, stream: Any = None) -> GPUArray:
        """The values as another dtype."""
        return wrapped(self.array.astype(dtype))

    def view(self, dtype: Any = None) -> GPUArray:
        """The same memory as another dtype."""
        return wrapped(self.array.view(dtype))

    def reshape(self, *shape: Any, order: str = "C") -> GPUArray:
        """The same elements with another shape."""
        return wrapped(self.array.reshape(*shape, order=order))

    def ravel(self) -> GPUArray:
        """The elements as a vector."""
        return wrapped(self.array.ravel())

    def transpose(self, axes: Any = None) -> GPUArray:
        """With axes permuted."""
        return wrapped(self.array.transpose(axes))

    def mul_add(self, selffac: Any, other: Any, otherfac: Any, add_timer: Any = None, stream: Any = None) -> GPUArray:
        """``self * selffac + other * otherfac``."""
        return wrapped(self.array * selffac + launchable(other) * otherfac)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: Any) -> GPUArray:
        found = self.array[_plain(index)]
        if found.is_scalar:  # A view, as in PyCUDA.
            found = self.array[(*index, ...) if isinstance(index, tuple) else (index, ...)]
        return wrapped(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[_plain(index)] = launchable(value)

    def __str__(self) -> str:
        return str(self.get())

    def __repr__(self) -> str:
        return repr(self.get())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Host:
        host = self.get()
        return host if dtype is None else host.astype(dtype)

    def __bool__(self) -> bool:
        return bool(self.array)

    __hash__ = None  # type: ignore[assignment]


def wrapped(array: Any) -> GPUArray:
    """A numloom array as a GPUArray."""
    result = GPUArray.__new__(GPUArray)
    result.array = array
    return result


def launchable(argument: Any) -> Any:
    """A kernel's argument as numloom takes it."""
    return argument.array if isinstance(argument, GPUArray) else argument


def _plain(index: Any) -> Any:
    return tuple(map(launchable, index)) if isinstance(index, tuple) else launchable(index)


def _add_operators() -> None:
    """Operators of numloom's arrays, also from the right and in place."""

    def binary(name: str) -> Callable[[GPUArray, Any], Any]:
        def method(self: GPUArray, other: Any) -> Any:
            other = launchable(other)
            result = getattr(self.array, name)(asarray(other) if isinstance(other, np.ndarray) else other)
            return NotImplemented if result is NotImplemented else wrapped(result)

        return method

    def in_place(name: str) -> Callable[[GPUArray, Any], GPUArray]:
        def method(self: GPUArray, other: Any) -> GPUArray:
            self.array[...] = getattr(self.array, name)(launchable(other))
            return self

        return method

    def unary(name: str) -> Callable[[GPUArray], GPUArray]:
        return lambda self: wrapped(getattr(self.array, name)())

    for word in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
        setattr(GPUArray, f"__{word}__", binary(f"__{word}__"))
        setattr(GPUArray, f"__r{word}__", binary(f"__r{word}__"))
        setattr(GPUArray, f"__i{word}__", in_place(f"__{word}__"))
    for word in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(GPUArray, f"__{word}__", binary(f"__{word}__"))
    for word in ("neg", "pos", "abs"):
        setattr(GPUArray, f"__{word}__", unary(f"__{word}__"))


_add_operators()


# ---------------------------------------------------------------- making arrays, and functions of them


def to_gpu(ary: Any, allocator: Any = None) -> GPUArray:
    """A copy of a host array on the device."""
    return wrapped(asarray(np.asarray(ary)))


def to_gpu_async(ary: Any, allocator: Any = None, stream: Any = None) -> GPUArray:
    """`to_gpu`, in the order of the one stream."""
    return to_gpu(ary)


def empty(shape: Any, dtype: Any = np.float32, allocator: Any = None, order: str = "C") -> GPUArray:
    """An array of undefined contents."""
    return GPUArray(shape, dtype, order=order)


def zeros(shape: Any, dtype: Any = np.float32, allocator: Any = None, order: str = "C") -> GPUArray:
    """An array of zeros."""
    return wrapped(creation.zeros(shape, dtype, order))


def ones(shape: Any, dtype: Any = np.float32, allocator: Any = None, order: str = "C") -> GPUArray:
    """An array of ones."""
    return wrapped(creation.ones(shape, dtype, order))


def empty_like(other: GPUArray) -> GPUArray:
    """An array like another, of undefined contents."""
    return wrapped(creation.empty_like(launchable(other)))


def zeros_like(other: GPUArray) -> GPUArray:
    """Zeros like another array."""
    return wrapped(creation.zeros_like(launchable(other)))


def ones_like(other: GPUArray) -> GPUArray:
    """Ones like another array."""
    return wrapped(creation.ones_like(launchable(other)))


def arange(*args: Any, dtype: Any = None, allocator: Any = None, stream: Any = None) -> GPUArray:
    """Numbers in steps; by default float32, unless a limit says otherwise."""
    if dtype is None:
        dtype = np.result_type(*[np.asarray(arg) for arg in args])
        dtype = np.float32 if dtype in (np.dtype(np.int64), np.dtype(np.float64)) else dtype
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    return wrapped(creation.arange(start, stop, step, dtype))


def take(a: GPUArray, indices: GPUArray, out: Any = None, stream: Any = None) -> GPUArray:
    """Elements by their positions."""
    return wrapped(launchable(a).ravel()[launchable(indices)])


def if_positive(criterion: GPUArray, then_: GPUArray, else_: GPUArray, out: Any = None, stream: Any = None) -> GPUArray:
    """`then_` where the criterion is positive, else `else_`."""
    return wrapped(functions.where(launchable(criterion) > 0, launchable(then_), launchable(else_)))


def maximum(a: GPUArray, b: Any, out: Any = None, stream: Any = None) -> GPUArray:
    """The larger of two, element by element."""
    return wrapped(functions.maximum(launchable(a), launchable(b)))


def minimum(a: GPUArray, b: Any, out: Any = None, stream: Any = None) -> GPUArray:
    """The smaller of two, element by element."""
    return wrapped(functions.minimum(launchable(a), launchable(b)))


def sum(a: GPUArray, dtype: Any = None, stream: Any = None, allocator: Any = None) -> GPUArray:
    """The sum of all elements, on the device."""
    return wrapped(launchable(a).sum(dtype=a.dtype if dtype is None else dtype))


def dot(a: GPUArray, b: GPUArray, dtype: Any = None, stream: Any = None, allocator: Any = None) -> GPUArray:
    """The sum of products, on the device."""
    product = launchable(a).ravel() * launchable(b).ravel()
    return wrapped(product.sum(dtype=product.dtype if dtype is None else dtype))


def max(a: GPUArray, stream: Any = None, allocator: Any = None) -> GPUArray:
    """The largest element, on the device."""
    return wrapped(launchable(a).max())


def min(a: GPUArray, stream: Any = None, allocator: Any = None) -> GPUArray:
    """The smallest element, on the device."""
    return wrapped(launchable(a).min())


# ---------------------------------------------------------------- kernels in PyCUDA's form

_THREADS = 128
_MOST_BLOCKS = 1024
_ELEMENTWISE = """%(preamble)s
extern "C" __global__ void %(name)s(%(arguments)s, long long n, long long start, long long step) {
    const long long total_threads = (long long)gridDim.x * blockDim.x;
    %(loop_prep)s;
    for (long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x; j < n; j += total_threads) {
        const long long i = start + j * step;
        [&]() -> void { do { %(operation)s; } while (0); }();
    }
    %(after_loop)s;
}
"""
_REDUCTION = """%(preamble)s
static __device__ inline %(type)s join_of(%(type)s a, %(type)s b) { return %(join)s; }
extern "C" __global__ void %(name)s(%(arguments)s, %(type)s *reduced, long long n) {
    __shared__ %(type)s shared[%(threads)d];
    %(type)s acc = %(neutral)s;
    for (long long i = (long long)blockIdx.x * %(threads)d + threadIdx.x; i < n;
         i += (long long)gridDim.x * %(threads)d)
        acc = join_of(acc, %(map)s);
    shared[threadIdx.x] = acc;
    __syncthreads();
    for (unsigned half_way = %(threads)d / 2; half_way > 0; half_way /= 2) {
        if (threadIdx.x < half_way) shared[threadIdx.x] = join_of(shared[threadIdx.x], shared[threadIdx.x + half_way]);
        __syncthreads();
    }
    if (threadIdx.x == 0) reduced[blockIdx.x] = shared[0];
}
"""


def _declared(arguments: str) -> tuple[Parameter, ...]:
    """The parameters of a C argument list."""
    parameters = Reader([f"__global__ void kernel({arguments}) {{}}"]).parameters("kernel")
    if not parameters or not any(parameter.pointer for parameter in parameters):
        raise ValueError(f"{arguments!r} declares no array: write C parameters, such as 'float *z, const float *x'")
    for parameter in parameters:
        if parameter.name.isdigit() or parameter.dtype is None:
            raise ValueError(f"parameter {parameter} of {arguments!r} needs a name and a type that arrays can have")
    return parameters


def _name(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_]\w*", name) is None:
        raise ValueError(f"a kernel's name must be an identifier, got {name!r}")
    return name


def _values(parameters: tuple[Parameter, ...], args: Sequence[Any], name: str) -> tuple[tuple[Any, ...], int]:
    """Arguments as numloom takes them (numbers cast as PyCUDA does), and the arrays' common size."""
    if len(args) != len(parameters):
        shown = ", ".join(map(str, parameters))
        raise TypeError(f"kernel {name} takes {counted(len(parameters), 'argument')} ({shown}), {len(args)} were given")
    values, size = [], -1
    for parameter, argument in zip(parameters, args, strict=True):
        argument = launchable(argument)
        if parameter.pointer and type(argument) is ndarray:
            if not (argument.flags.c_contiguous or argument.flags.f_contiguous):
                raise ValueError(f"kernel {name}: argument {parameter.name} must be contiguous")
            size = argument.size if size < 0 else size
        elif not parameter.pointer and parameter.dtype is not None and isinstance(argument, (int, float, np.number)):
            with np.errstate(over="ignore"):
                argument = parameter.dtype.type(argument)
        values.append(argument)
    return tuple(values), size


class ElementwiseKernel:
    """A loop over the elements of vectors, in PyCUDA's form.

    Parameters
    ----------
    arguments : str
        C parameters: ``"float *z, const float *x, float a"``.
    operation : str
        C++ for element ``i``: ``"z[i] = a * x[i]"``.
    name : str
        Name of the kernel.
    preamble, loop_prep, after_loop : str
        C++ before the kernel, before a thread's loop and after it.
    options : list of str
        Compiler options.

    Examples
    --------
    >>> import numpy
    >>> from numloom.pycuda import ElementwiseKernel, gpuarray
    >>> axpy = ElementwiseKernel("float a, float *x, float *z", "z[i] = a * x[i]", "axpy")
    >>> x = gpuarray.to_gpu(numpy.arange(4, dtype=numpy.float32))
    >>> z = gpuarray.empty_like(x)
    >>> axpy(2, x, z)
    >>> z
    array([0., 2., 4., 6.], dtype=float32)
    """

    def __init__(
        self,
        arguments: str,
        operation: str,
        name: str = "kernel",
        keep: bool = False,
        options: Sequence[str] | None = None,
        *,
        preamble: str = "",
        loop_prep: str = "",
        after_loop: str = "",
    ) -> None:
        self.name = _name(name)
        self.parameters = _declared(arguments)
        source = _ELEMENTWISE % {
            "preamble": preamble, "name": name, "arguments": arguments, "loop_prep": loop_prep,
            "operation": operation, "after_loop": after_loop,
        }  # fmt: skip
        self.kernel = RawKernel(source, name, tuple(options or ()))

    def __call__(self, *args: Any, range: slice | None = None, slice: slice | None = None, stream: Any = None) -> None:
        """Run it over all elements of the first array, or over a `range` (a slice) of them."""
        values, size = _values(self.parameters, args, self.name)
        if size < 0:
            raise ValueError(f"kernel {self.name} needs a GPUArray to know how many elements there are")
        part = range if range is not None else slice
        start, stop, step = part.indices(size) if part is not None else (0, size, 1)
        count = len(builtins.range(start, stop, step))
        if count:
            blocks = builtins.min(-(-count // _THREADS), _MOST_BLOCKS)
            self.kernel(blocks, _THREADS, (*values, count, start, step), stream=stream)


class ReductionKernel:
    """A reduction of expressions over vectors, in PyCUDA's form.

    Parameters
    ----------
    dtype_out : dtype
        Of the result.
    neutral : str
        C++ of the value that changes nothing.
    reduce_expr : str
        C++ that joins ``a`` and ``b``.
    map_expr : str
        C++ for element ``i``; by default the first array's element.
    arguments : str
        C parameters: ``"const float *x, const float *y"``.

    Examples
    --------
    >>> import numpy
    >>> from numloom.pycuda import ReductionKernel, gpuarray
    >>> dot = ReductionKernel(numpy.float32, "0", "a+b", "x[i]*y[i]", "float *x, float *y")
    >>> x = gpuarray.arange(4, dtype=numpy.float32)
    >>> dot(x, x).get()
    array(14., dtype=float32)
    """

    def __init__(
        self,
        dtype_out: Any,
        neutral: Any,
        reduce_expr: str,
        map_expr: str | None = None,
        arguments: str | None = None,
        name: str = "reduce_kernel",
        keep: bool = False,
        options: Sequence[str] | None = None,
        preamble: str = "",
        allocator: Any = None,
    ) -> None:
        self.name = _name(name)
        self.dtype = np.dtype(dtype_out)
        ctype = _ctype(self.dtype)
        self.parameters = _declared(arguments or f"const {ctype} *in")
        if map_expr is None:
            map_expr = next(parameter.name for parameter in self.parameters if parameter.pointer) + "[i]"
        if ctype == "half":
            preamble = "#include <cuda_fp16.h>\n" + preamble

        def stage(arguments: str, map_expr: str) -> RawKernel:
            source = _REDUCTION % {
                "preamble": preamble, "type": ctype, "join": reduce_expr, "name": name, "arguments": arguments,
                "threads": _THREADS, "neutral": neutral, "map": map_expr,
            }  # fmt: skip
            return RawKernel(source, name, tuple(options or ()))

        self._first = stage(arguments or f"const {ctype} *in", map_expr)
        self._second = stage(f"const {ctype} *partial_results", "partial_results[i]")

    def __call__(self, *args: Any, stream: Any = None, out: GPUArray | None = None, **ignored: Any) -> GPUArray:
        """The reduction over all elements of the first array, as a 0-d array on the device."""
        values, size = _values(self.parameters, args, self.name)
        if size < 0:
            raise ValueError(f"kernel {self.name} needs a GPUArray to know how many elements there are")
        blocks = builtins.min(builtins.max(-(-size // (_THREADS * 8)), 1), _MOST_BLOCKS)
        partial = creation.empty(blocks, self.dtype)
        self._first(blocks, _THREADS, (*values, partial, size), stream=stream)
        result = launchable(out) if out is not None else creation.empty((), self.dtype)
        self._second(1, _THREADS, (partial, result, blocks), stream=stream)
        return wrapped(result)


def _ctype(dtype: np.dtype[Any]) -> str:
    """The C++ name of a dtype."""
    names = {found: name for name, found in reversed(TYPES.items()) if "<" not in name and not name.startswith("cu")}
    found = names.get(dtype)
    if found is None or dtype.fields:
        raise TypeError(f"a reduction cannot have dtype {dtype}")
    return found
