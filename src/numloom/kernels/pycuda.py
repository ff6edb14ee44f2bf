"""PyCUDA's names over numloom: a PyCUDA program runs with its imports changed, on a GPU or on the CPU.

``import numloom.pycuda as drv`` and ``from numloom.pycuda import SourceModule, gpuarray``; ``autoinit`` may be imported
and does nothing, since the device starts at first use. All work runs on one stream, in order.
"""

from __future__ import annotations

import operator
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from numloom.base.errors import CompileError
from numloom.base.errors import DeviceError as Error
from numloom.base.wording import counted
from numloom.device import registry
from numloom.device.cpu.hostview import array_at
from numloom.device.interface import MemorySpan
from numloom.device.memory import Buffer
from numloom.engine import look
from numloom.engine.evaluate import synchronize
from numloom.kernels.gpuarray import ElementwiseKernel, GPUArray, ReductionKernel, launchable
from numloom.kernels.raw import RawKernel, RawModule

Host = np.ndarray[Any, Any]
_BYTES = np.dtype(np.uint8)


# ---------------------------------------------------------------- memory


class DeviceAllocation:
    """Device memory that lives as long as this object; ``int(a)`` is its address."""

    def __init__(self, buffer: Any, nbytes: int) -> None:
        self._buffer = buffer
        self.nbytes = nbytes

    @property
    def ptr(self) -> int:
        """The address."""
        if self._buffer is None:
            raise Error("this device memory was freed")
        return int(self._buffer.ptr)

    @property
    def span(self) -> MemorySpan:
        """The memory as kernels take it."""
        return MemorySpan(self.ptr, self.ptr, self.ptr + self.nbytes)

    def __int__(self) -> int:
        return self.ptr

    def __index__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> int:
        return self.ptr + offset

    def free(self) -> None:
        """Give the memory back now."""
        self._buffer = None

    def as_buffer(self, size: int, offset: int = 0) -> NoReturn:
        """Refused: the host may not see the memory."""
        raise Error("device memory cannot be looked at in place: copy it with memcpy_dtoh")


def mem_alloc(nbytes: int) -> DeviceAllocation:
    """Device memory of at least `nbytes` bytes, contents undefined."""
    nbytes = operator.index(nbytes)
    if nbytes <= 0:
        raise ValueError(f"mem_alloc takes a positive number of bytes, got {nbytes}")
    return DeviceAllocation(registry.current().allocate(nbytes), nbytes)


def mem_alloc_like(array: Host) -> DeviceAllocation:
    """Device memory for a copy of a host array."""
    return mem_alloc(max(array.nbytes, 1))


def to_device(array: Any) -> DeviceAllocation:
    """A copy of a host array on the device."""
    host = _bytes_of(array)
    return DeviceAllocation(registry.current().upload(host), host.nbytes)


def from_device(source: Any, shape: Any, dtype: Any, order: str = "C") -> Host:
    """A host array with a copy of device memory."""
    result: Host = np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
    memcpy_dtoh(result, source)
    return result


def from_device_like(source: Any, other: Host) -> Host:
    """A host array like `other` with a copy of device memory."""
    result = np.empty_like(other)
    memcpy_dtoh(result, source)
    return result


def memcpy_htod(dest: Any, src: Any) -> None:
    """Copy host memory (an array, or anything with a buffer) to the device."""
    host = _bytes_of(src)
    if host.nbytes:
        device = registry.current()
        device.copy(_memory(dest, host.nbytes), 0, device.upload(host), 0, host.nbytes)
        device.synchronize()


def memcpy_dtoh(dest: Any, src: Any) -> None:
    """Copy device memory to a host array."""
    host = _bytes_of(dest, writable=True)
    if host.nbytes:
        memory = _memory(src, host.nbytes)
        host[...] = look.array(registry.current(), memory, 0, (host.nbytes,), (1,), _BYTES)


def memcpy_dtod(dest: Any, src: Any, size: int) -> None:
    """Copy between device memory."""
    if size:
        registry.current().copy(_memory(dest, size), 0, _memory(src, size), 0, size)


def memcpy_htod_async(dest: Any, src: Any, stream: Any = None) -> None:
    """`memcpy_htod`, in the order of the one stream."""
    memcpy_htod(dest, src)


def memcpy_dtoh_async(dest: Any, src: Any, stream: Any = None) -> None:
    """`memcpy_dtoh`, in the order of the one stream."""
    memcpy_dtoh(dest, src)


def memcpy_dtod_async(dest: Any, src: Any, size: int, stream: Any = None) -> None:
    """`memcpy_dtod`, in the order of the one stream."""
    memcpy_dtod(dest, src, size)


def memset_d8(dest: Any, data: int, count: int) -> None:
    """Fill device memory with `count` bytes."""
    memcpy_htod(dest, np.full(count, data, np.uint8))


def memset_d16(dest: Any, data: int, count: int) -> None:
    """Fill device memory with `count` 16-bit words."""
    memcpy_htod(dest, np.full(count, data, np.uint16))


def memset_d32(dest: Any, data: int, count: int) -> None:
    """Fill device memory with `count` 32-bit words."""
    memcpy_htod(dest, np.full(count, data, np.uint32))


def mem_get_info() -> tuple[int, int]:
    """Free and total bytes of the device."""
    device: Any = registry.current()
    if not hasattr(device, "memory_info"):
        raise Error(f"the device {device.name!r} does not tell how much memory is free")
    free, total = device.memory_info()
    return int(free), int(total)


def pagelocked_empty(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> Host:
    """An ordinary host array: copies pass through pinned memory of numloom's own."""
    return np.empty(shape, dtype, order=order)  # type: ignore[call-overload, no-any-return]


def pagelocked_zeros(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> Host:
    """An ordinary host array of zeros (see `pagelocked_empty`)."""
    return np.zeros(shape, dtype, order=order)  # type: ignore[call-overload, no-any-return]


def pagelocked_empty_like(array: Host, mem_flags: int = 0) -> Host:
    """An ordinary host array like another (see `pagelocked_empty`)."""
    return np.empty_like(array)


def _memory(where: Any, nbytes: int) -> Any:
    """Device memory from an allocation, a GPUArray or an address."""
    if isinstance(where, np.ndarray):
        raise TypeError("a NumPy array lies on the host: expected mem_alloc's memory, a GPUArray or an address")
    if isinstance(where, DeviceAllocation):
        if nbytes > where.nbytes:
            raise ValueError(f"{nbytes} bytes do not fit into device memory of {where.nbytes}")
        return Buffer(where.ptr, nbytes, None, where)
    return Buffer(operator.index(where), nbytes, None, where)


def _bytes_of(host: Any, writable: bool = False) -> Host:
    """The bytes of a contiguous host object, in place."""
    if isinstance(host, np.generic) and not writable:
        host = np.asarray(host)
    if isinstance(host, np.ndarray):
        if not (host.flags.c_contiguous or host.flags.f_contiguous):
            raise ValueError(
                f"a host array must be contiguous, this one has shape {host.shape} and strides {host.strides}"
            )
        host = host.reshape(-1, order="A") if host.ndim else host.reshape(1)
        result = host.view(_BYTES)
    else:
        result = np.frombuffer(host, _BYTES)
    if writable and not result.flags.writeable:
        raise ValueError("the host memory to copy to is read-only")
    return result


# ---------------------------------------------------------------- arguments that travel


class ArgumentHandler:
    """A host array that goes to the device with a call.

    An array with gaps between its elements travels with the gaps, so that a kernel may use its strides.
    """

    reads = True
    writes = True

    def __init__(self, array: Any) -> None:
        if isinstance(array, np.generic):
            array = np.asarray(array)
        if not isinstance(array, np.ndarray):
            raise TypeError(f"In, Out and InOut take a NumPy array, got {type(array).__name__}")
        if self.writes and not array.flags.writeable:
            raise ValueError("the array of an Out or InOut argument is read-only")
        self.array = array

    def put(self) -> _Travelling:
        """The array's memory on the device."""
        array = self.array
        first = array.__array_interface__["data"][0]
        low, high = np.lib.array_utils.byte_bounds(array) if array.size else (first, first)
        device = registry.current()
        if array.size == 0:
            return _Travelling(device.allocate(1), 0, 0)
        if self.reads:
            buffer = device.upload(array_at(low, (high - low,), (1,), _BYTES, array))
        else:
            buffer = device.allocate(high - low)
        return _Travelling(buffer, first - low, high - low)

    def fetch(self, memory: _Travelling) -> None:
        """Copy back what the kernel wrote."""
        if self.writes and memory.nbytes:
            array = self.array
            copied = look.array(registry.current(), memory.buffer, 0, (memory.nbytes,), (1,), _BYTES)
            array[...] = np.ndarray(array.shape, array.dtype, copied.data, memory.offset, array.strides)


class In(ArgumentHandler):
    """An array that is copied to the device before the call."""

    writes = False


class Out(ArgumentHandler):
    """An array that is copied from the device after the call."""

    reads = False


class InOut(ArgumentHandler):
    """An array that is copied to the device before the call and back after it."""


class _Travelling:
    """Device memory of an array for the time of one call."""

    def __init__(self, buffer: Any, offset: int, nbytes: int) -> None:
        self.buffer = buffer
        self.offset = offset
        self.nbytes = nbytes
        self.ptr = buffer.ptr + offset
        self.span = MemorySpan(self.ptr, buffer.ptr, buffer.ptr + nbytes)


# ---------------------------------------------------------------- modules and functions


class SourceModule:
    """CUDA C++ compiled for the device.

    Parameters
    ----------
    source : str
        The source. Its kernels are found by name without ``extern "C"``, too.
    options : list of str
        Compiler options, from the list that `numloom.RawModule` allows.
    no_extern_c : bool
        Kernels are found by their own linkage only, as the source has it.
    include_dirs : list of str
        Folders to search for headers.
    nvcc, keep, arch, code, cache_dir
        Taken for PyCUDA's sake.

    Examples
    --------
    >>> import numpy
    >>> import numloom.pycuda as drv
    >>> from numloom.pycuda import SourceModule
    >>> module = SourceModule('''
    ... __global__ void multiply_them(float *dest, float *a, float *b) {
    ...     const int i = threadIdx.x;
    ...     dest[i] = a[i] * b[i];
    ... }''')
    >>> a = numpy.arange(4, dtype=numpy.float32)
    >>> dest = numpy.zeros_like(a)
    >>> module.get_function("multiply_them")(drv.Out(dest), drv.In(a), drv.In(a), block=(4, 1, 1), grid=(1, 1))
    >>> dest
    array([0., 1., 4., 9.], dtype=float32)
    """

    def __init__(
        self,
        source: str,
        nvcc: str = "nvcc",
        options: Sequence[str] | None = None,
        keep: bool = False,
        no_extern_c: bool = False,
        arch: str | None = None,
        code: str | None = None,
        cache_dir: str | None = None,
        include_dirs: Sequence[str] = (),
    ) -> None:
        given = tuple(options or ()) + tuple(f"-I{folder}" for folder in include_dirs)
        self._module = RawModule(source, options=given)
        if not no_extern_c:
            # In place of wrapping the source in extern "C": lines keep their numbers, headers may hold templates.
            declared = self._module.reader.declared
            names = [found.name for found in declared if found.mangled and found.template is None]
            self._module.name_expressions = tuple(dict.fromkeys(names))
        self._module.compile()

    def get_function(self, name: str) -> KernelFunction:
        """A kernel by its name."""
        return KernelFunction(self._module.get_function(name))

    def get_global(self, name: str) -> tuple[int, int]:
        """Address and bytes of a ``__device__`` or ``__constant__`` variable."""
        try:
            return self._module.module().variable(name)
        except KeyError:
            raise Error(f"the module has no variable {name!r}") from None

    def get_texref(self, name: str) -> NoReturn:
        """Refused: texture references are gone from CUDA."""
        raise Error("texture references were removed from CUDA in version 12: read ordinary memory instead")

    get_surfref = get_texref


class KernelFunction:
    """A kernel called as PyCUDA calls it: arguments first, ``block`` and ``grid`` by name."""

    def __init__(self, kernel: RawKernel) -> None:
        self._kernel = kernel
        self._types: list[np.dtype[Any] | None] | None = None
        self._block: Any = None
        self._shared = 0

    @property
    def raw_kernel(self) -> RawKernel:
        """The kernel, as `numloom.operation` takes it."""
        return self._kernel

    def __call__(
        self,
        *args: Any,
        block: Any = None,
        grid: Any = (1, 1),
        stream: Any = None,
        shared: int = 0,
        texrefs: Sequence[Any] = (),
        time_kernel: bool = False,
    ) -> float | None:
        """Run the kernel; ``In``, ``Out`` and ``InOut`` travel. ``time_kernel`` gives the seconds it took."""
        if block is None:
            raise ValueError("block must be given: the threads of a block, such as block=(400, 1, 1)")
        if texrefs:
            raise Error("texture references were removed from CUDA in version 12: read ordinary memory instead")
        travelling: list[tuple[ArgumentHandler, _Travelling]] = []
        given = []
        for argument in args:
            if isinstance(argument, ArgumentHandler):
                memory = argument.put()
                travelling.append((argument, memory))
                given.append(memory)
            else:
                given.append(launchable(argument))
        start = Event().record() if time_kernel else None
        self._kernel(grid, block, tuple(given), shared_mem=shared, stream=stream)
        took = start.time_till(Event().record()) * 1e-3 if start is not None else None
        for handler, memory in travelling:
            handler.fetch(memory)
        return took

    def prepare(self, arg_types: Any, shared: int | None = None, texrefs: Sequence[Any] = ()) -> KernelFunction:
        """Fix the types of the arguments: letters of `struct` with "P" for memory, or a list of dtypes and "P"."""
        self._types = [_type_of(given) for given in _letters(arg_types)]
        expected = self._kernel.source.reader.parameters(self._kernel.name)
        if expected is not None and len(expected) != len(self._types):
            shown = ", ".join(map(str, expected))
            raise TypeError(
                f"kernel {self._kernel.name} takes {counted(len(expected), 'argument')} ({shown}), types of "
                f"{len(self._types)} were given"
            )
        return self

    def prepared_call(self, grid: Any, block: Any, *args: Any, shared_size: int = 0) -> None:
        """Run the kernel with the types given to `prepare`."""
        self._kernel(grid, block, self._typed(args), shared_mem=shared_size)

    def prepared_async_call(self, grid: Any, block: Any, stream: Any, *args: Any, shared_size: int = 0) -> None:
        """`prepared_call` on a stream."""
        self._kernel(grid, block, self._typed(args), shared_mem=shared_size, stream=stream)

    def prepared_timed_call(self, grid: Any, block: Any, *args: Any, shared_size: int = 0) -> Callable[[], float]:
        """`prepared_call`; the function returned gives the seconds it took."""
        start = Event().record()
        self.prepared_call(grid, block, *args, shared_size=shared_size)
        end = Event().record()
        return lambda: start.time_till(end) * 1e-3

    def _typed(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if self._types is None:
            raise Error(f"kernel {self._kernel.name} was not prepared: call prepare('PPf') with the types first")
        if len(args) != len(self._types):
            raise TypeError(
                f"kernel {self._kernel.name} was prepared for {counted(len(self._types), 'argument')}, got {len(args)}"
            )
        return tuple(
            launchable(argument) if dtype is None or isinstance(argument, np.void) else dtype.type(argument)
            for argument, dtype in zip(args, self._types, strict=True)
        )

    def set_cache_config(self, config: Any) -> None:
        """Taken for PyCUDA's sake; the driver chooses by itself."""

    set_shared_config = set_cache_config
    param_set_texref = SourceModule.get_texref

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._kernel, name)  # num_regs, shared_size_bytes, ...


def _letters(types: Any) -> list[Any]:
    if isinstance(types, str):
        return [letter for letter in types if not letter.isspace()]
    return list(types)


def _type_of(given: Any) -> np.dtype[Any] | None:
    """The dtype of one argument type; None for memory."""
    if isinstance(given, str) and given in ("P", "O"):
        return None
    if isinstance(given, type) and issubclass(given, (np.ndarray, ArgumentHandler, DeviceAllocation, GPUArray)):
        return None
    sizes = {"l": "i8", "L": "u8", "F": "c8", "D": "c16"} if struct.calcsize("l") == 8 else {"F": "c8", "D": "c16"}
    try:
        return np.dtype(sizes.get(given, given) if isinstance(given, str) else given)
    except TypeError:
        raise TypeError(f"{given!r} is no argument type: use struct's letters, dtypes, or 'P' for memory") from None


# ---------------------------------------------------------------- the device, streams and events


def init(flags: int = 0) -> None:
    """Start the device."""
    registry.current()


class Device:
    """The current device, under PyCUDA's name."""

    def __init__(self, number: int = 0) -> None:
        self._device: Any = registry.current()

    @staticmethod
    def count() -> int:
        """1: a process uses one device."""
        return 1

    def name(self) -> str:
        """What the device is called."""
        return str(getattr(self._device, "description", self._device.name))

    def compute_capability(self) -> tuple[int, int]:
        """Major and minor number of the GPU's architecture; (0, 0) for the CPU."""
        number = str(getattr(self._device, "architecture", "sm_00")).removeprefix("sm_")
        return int(number[:-1] or 0), int(number[-1])

    def total_memory(self) -> int:
        """Bytes of the device's memory."""
        return int(getattr(self._device, "total_memory", 0))

    def make_context(self, flags: int = 0) -> type[Context]:
        """The one context there is."""
        return Context


class Context:
    """PyCUDA's context: here there is one, always current."""

    @staticmethod
    def synchronize() -> None:
        """Wait for all work."""
        synchronize()

    @staticmethod
    def get_device() -> Device:
        """The current device."""
        return Device()

    @staticmethod
    def push() -> None:
        """Nothing to do."""

    pop = detach = push


class Stream:
    """All work runs on one stream, in order; this is it."""

    ptr = None

    def __init__(self, flags: int = 0) -> None:
        self.handle = getattr(registry.current(), "stream", 0)

    def synchronize(self) -> None:
        """Wait for all work."""
        synchronize()

    def is_done(self) -> bool:
        """Wait for all work and say so."""
        synchronize()
        return True

    def wait_for_event(self, event: Event) -> None:
        """Nothing to do: the stream is in order."""


class Event:
    """A point in the stream's work that has a time."""

    def __init__(self, flags: int = 0) -> None:
        self._event: Any = None
        self._time = 0.0

    def record(self, stream: Any = None) -> Event:
        """Take the time when the work so far is done."""
        device: Any = registry.current()
        if hasattr(device, "event"):
            self._event = device.event()
        else:
            device.synchronize()
            self._time = time.perf_counter()
        return self

    def synchronize(self) -> Event:
        """Wait for the event."""
        registry.current().synchronize()
        return self

    def query(self) -> bool:
        """Wait for the event and say so."""
        self.synchronize()
        return True

    def time_since(self, start: Event) -> float:
        """Milliseconds from `start` to this event."""
        if self._event is None:
            return (self._time - start._time) * 1e3
        device: Any = registry.current()
        return float(device.elapsed(start._event, self._event))

    def time_till(self, end: Event) -> float:
        """Milliseconds from this event to `end`."""
        return end.time_since(self)


LogicError = LaunchError = Error
"""PyCUDA's kinds of error."""

__all__ = [
    "ArgumentHandler",
    "CompileError",
    "Context",
    "Device",
    "DeviceAllocation",
    "ElementwiseKernel",
    "Error",
    "Event",
    "GPUArray",
    "In",
    "InOut",
    "KernelFunction",
    "LaunchError",
    "LogicError",
    "Out",
    "ReductionKernel",
    "SourceModule",
    "Stream",
    "from_device",
    "from_device_like",
    "init",
    "mem_alloc",
    "mem_alloc_like",
    "mem_get_info",
    "memcpy_dtod",
    "memcpy_dtod_async",
    "memcpy_dtoh",
    "memcpy_dtoh_async",
    "memcpy_htod",
    "memcpy_htod_async",
    "memset_d8",
    "memset_d16",
    "memset_d32",
    "pagelocked_empty",
    "pagelocked_empty_like",
    "pagelocked_zeros",
    "to_device",
]
