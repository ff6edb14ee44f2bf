"""Memory by CuPy's names: pointers, pools and allocators, over the pools that numloom has."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from numloom.base.errors import DeviceError, OutOfMemoryError
from numloom.cuda import watching
from numloom.cuda.devices import Device, backend, current_id, flush, gpu, on_gpu, release, total_memory, wait
from numloom.device import registry
from numloom.device.cpu import memory as host_memory
from numloom.device.cpu.hostview import as_bytes
from numloom.device.cuda import driver
from numloom.device.memory import NOTHING_KEPT, Buffer, Pool
from numloom.engine.look import array as look_at

ALIGNMENT = 256
_BYTES = np.dtype(np.uint8)
_GLOBAL = 1
"""CUDA's flag of managed memory that all streams see."""


# ---------------------------------------------------------------- memory and pointers to it


class BaseMemory:
    """What memory of all kinds has: an address, bytes and a device."""

    ptr: int
    size: int
    device_id: int

    @property
    def device(self) -> Device:
        """Where it lies."""
        return Device(self.device_id)

    def __int__(self) -> int:
        return self.ptr


class Memory(BaseMemory):
    """Memory straight from the device, given back with the last reference.

    Attributes
    ----------
    ptr, size, device_id : int
        Address, bytes, and the device.
    """

    def __init__(self, size: int) -> None:
        self.ptr = 0
        self.size = int(size)
        self.device_id = current_id()
        self._source = source()
        if self.size > 0:
            watching.before_raw(self.size)
            self.ptr = self._source.take_raw(self.size)
            watching.after_raw(self.size, self.ptr)

    def __del__(self) -> None:
        if getattr(self, "ptr", 0):
            self._source.free_raw(self.ptr, self.size)


class UnownedMemory(BaseMemory):
    """Memory that belongs to something else.

    Parameters
    ----------
    ptr, size : int
        Address and bytes.
    owner : object
        Is kept alive.
    device_id : int
        The device; the current one if -1.
    """

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr = int(ptr)
        self.size = int(size)
        self.owner = owner
        self.device_id = current_id() if device_id < 0 else device_id


class PooledMemory(UnownedMemory):
    """Memory of a pool, which it goes back to with the last reference."""

    def __init__(self, buffer: Any) -> None:
        super().__init__(buffer.ptr, buffer.nbytes, buffer)

    def free(self) -> None:
        """Give it back now."""
        self.owner = None
        self.ptr = self.size = 0


class MemoryPointer:
    """A place in some memory. Kernels take it for an array.

    Parameters
    ----------
    mem : Memory, PooledMemory or UnownedMemory
        The memory.
    offset : int
        Bytes from its beginning.

    Examples
    --------
    >>> import numloom as np
    >>> pointer = np.cuda.alloc(64)
    >>> x = np.ndarray((4,), np.int32, memptr=pointer)
    >>> x[...] = [1, 2, 3, 4]
    >>> np.ndarray((2,), np.int32, memptr=pointer + 8)
    array([3, 4], dtype=int32)
    """

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + int(offset)

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + int(offset))

    __radd__ = __add__

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -int(offset)

    def __repr__(self) -> str:
        return f"<MemoryPointer 0x{self.ptr:x} device={self.device_id} mem={type(self.mem).__name__}>"

    @property
    def device_id(self) -> int:
        """The device's number."""
        return int(self.mem.device_id)

    @property
    def device(self) -> Device:
        """Where it lies."""
        return Device(self.device_id)

    def _buffer(self, nbytes: int) -> Buffer:
        """The memory from here on, of so many bytes."""
        room = self.mem.size - (self.ptr - self.mem.ptr)
        if not 0 <= nbytes <= room:
            raise ValueError(f"{nbytes} bytes from here on are more than the {room} that the memory has")
        return Buffer(self.ptr, nbytes, None, self.mem)

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copy `size` bytes from other memory of the device."""
        flush()
        if size:
            backend().copy(self._buffer(size), 0, src._buffer(size), 0, size)

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copy `size` bytes from an address of the host (an int or a ctypes pointer)."""
        flush()
        target = self._buffer(size)
        if size:
            there: Any = (ctypes.c_ubyte * size).from_address(_address(mem))
            host = np.frombuffer(there, np.uint8)
            backend().copy(target, 0, backend().upload(host), 0, size)

    def copy_from(self, mem: Any, size: int) -> None:
        """Copy from a `MemoryPointer`, or from an address of the host."""
        if isinstance(mem, MemoryPointer):
            self.copy_from_device(mem, size)
        else:
            self.copy_from_host(mem, size)

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copy `size` bytes to an address of the host; waits."""
        flush()
        source_ = self._buffer(size)
        if size:
            host = look_at(backend(), source_, 0, (size,), (1,), _BYTES)
            ctypes.memmove(_address(mem), host.ctypes.data, size)

    def memset(self, value: int, size: int) -> None:
        """Set `size` bytes."""
        self.copy_from_host(np.full(size, value, np.uint8).ctypes.data_as(ctypes.c_void_p), size)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        """`copy_from_device`, in the order of the work of arrays."""
        self.copy_from_device(src, size)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """`copy_from_host`, in the order of the work of arrays."""
        self.copy_from_host(mem, size)

    def copy_from_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """`copy_from`, in the order of the work of arrays."""
        self.copy_from(mem, size)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """`copy_to_host`, which is done on return."""
        self.copy_to_host(mem, size)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        """`memset`, in the order of the work of arrays."""
        self.memset(value, size)


def _address(mem: Any) -> int:
    """An address of the host from an int, a ctypes pointer or an object with `ptr`."""
    if isinstance(mem, int):
        return mem
    if hasattr(mem, "ptr"):
        return int(mem.ptr)
    value = getattr(mem, "value", None)
    return int(ctypes.cast(mem, ctypes.c_void_p).value or 0) if value is None else int(value)


# ---------------------------------------------------------------- where pools take memory from

Allocator = Callable[[int], MemoryPointer]


class MemorySource:
    """Where a device's pool takes its memory from: the device, or an allocator of the user's."""

    def __init__(self, device: Any) -> None:
        self.pool = device.pool
        self.take_raw: Callable[[int], int] = self.pool.raw_allocate
        self.free_raw: Callable[[int, int], None] = self.pool.raw_free
        self.cache_limit = self.pool.cache_limit
        self.allocator: Allocator | None = None
        self.beneath = MemoryPool(_malloc)
        """Serves the allocator itself, where that asks the default pool."""
        self._owners: dict[int, MemoryPointer] = {}
        self.pool.raw_allocate = self.allocate
        self.pool.raw_free = self.free

    def allocate(self, size: int) -> int:
        """What the pool calls for a new block."""
        if self.allocator is None:
            watching.before_raw(size)
            address = 0
            try:
                address = self.take_raw(size)
            finally:
                watching.after_raw(size, address)
            return address
        pointer = self.allocator(size)
        if pointer.ptr % ALIGNMENT:
            raise DeviceError(
                f"the allocator {self.allocator!r} gave the address {pointer.ptr:#x}: arrays need multiples of "
                f"{ALIGNMENT}"
            )
        self._owners[pointer.ptr] = pointer
        return pointer.ptr

    def free(self, address: int, size: int) -> None:
        """What the pool calls to give a block back: to whoever gave it."""
        if self._owners.pop(address, None) is None:
            self.free_raw(address, size)

    def use(self, allocator: Allocator | None, *, keep: bool) -> None:
        """Take memory from an allocator from now on (None: the device), and keep freed blocks or not."""
        self.pool.trim()
        self.allocator = allocator
        self.pool.cache_limit = self.cache_limit if keep else NOTHING_KEPT


_sources: weakref.WeakKeyDictionary[Any, MemorySource] = weakref.WeakKeyDictionary()


def source() -> MemorySource:
    """Of the current device."""
    device = gpu()
    found = _sources.get(device)
    if found is None:
        found = _sources[device] = MemorySource(device)
    return found


# ---------------------------------------------------------------- pools


class _Pool:
    """What pools of both kinds tell and do."""

    def _of(self) -> Pool:
        raise NotImplementedError

    def used_bytes(self) -> int:
        """Bytes in use. (Values that are only recorded take none.)"""
        return int(self._of().used)

    def free_bytes(self) -> int:
        """Bytes that are kept for the next allocations."""
        return int(self._of().cached)

    def total_bytes(self) -> int:
        """Bytes in use and kept."""
        return self.used_bytes() + self.free_bytes()

    def n_free_blocks(self) -> int:
        """Number of blocks that are kept."""
        return int(self._of().free_blocks())

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give the blocks that are kept back to the device."""
        self._of().trim()

    def free_all_free(self) -> None:
        """The older name of `free_all_blocks`."""
        self.free_all_blocks()


class MemoryPool(_Pool):
    """A pool of device memory.

    Parameters
    ----------
    allocator : callable, optional
        ``allocator(nbytes)`` gives a `MemoryPointer`; by default memory comes from the device.

    Notes
    -----
    `get_default_memory_pool` gives the one that arrays use; it cannot be replaced, but told where to take memory from
    (`set_allocator`). Sizes are rounded up to 256 bytes, larger ones to steps of at most an eighth.

    Examples
    --------
    >>> import numloom as np
    >>> pool = np.cuda.MemoryPool()
    >>> pointer = pool.malloc(1000)
    >>> pool.used_bytes(), pool.total_bytes()
    (1024, 1024)
    >>> del pointer
    >>> pool.used_bytes(), pool.n_free_blocks()
    (0, 1)
    >>> pool.free_all_blocks()
    >>> pool.total_bytes()
    0
    """

    def __init__(self, allocator: Allocator | None = None) -> None:
        self._allocator = allocator or _malloc
        self._owners: dict[int, MemoryPointer] = {}
        self._pool: Pool | None = None

    def _of(self) -> Pool:
        if self._pool is None:
            self._pool = Pool("device memory of a pool", _Take(self._owners, self._allocator), _Drop(self._owners))
        return self._pool

    def malloc(self, size: int) -> MemoryPointer:
        """Memory of at least `size` bytes."""
        return MemoryPointer(PooledMemory(self._of().allocate(int(size))), 0)

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Bound the pool, by bytes or by a fraction of the device's memory; 0 or nothing is no bound."""
        if size is not None and fraction is not None:
            raise ValueError("a limit is a size or a fraction, not both")
        if fraction is not None:
            if not 0 <= fraction <= 1:
                raise ValueError(f"a fraction of the memory is between 0 and 1, got {fraction}")
            size = int(fraction * total_memory())
        if size is not None and size < 0:
            raise ValueError(f"a limit is no negative number of bytes, got {size}")
        self._of().limit = int(size or 0)

    def get_limit(self) -> int:
        """The bound in bytes; 0 is none."""
        return int(self._of().limit)


class _Take:
    """What a user's pool calls for a new block. (It does not hold the pool, which would never die.)"""

    def __init__(self, owners: dict[int, MemoryPointer], allocator: Allocator) -> None:
        self.owners = owners
        self.allocator = allocator

    def __call__(self, size: int) -> int:
        pointer = self.allocator(size)
        self.owners[pointer.ptr] = pointer
        return pointer.ptr


class _Drop:
    """What a user's pool calls to give a block back."""

    def __init__(self, owners: dict[int, MemoryPointer]) -> None:
        self.owners = owners

    def __call__(self, address: int, size: int) -> None:
        self.owners.pop(address, None)


class _DefaultPool(MemoryPool):
    """The pool that the arrays of the current device use."""

    def _of(self) -> Pool:
        source()  # So that hooks are told from now on.
        return gpu().pool  # type: ignore[no-any-return]

    def malloc(self, size: int) -> MemoryPointer:
        """Memory of at least `size` bytes; within an allocator of `set_allocator` from a pool of its own beneath."""
        found = source()
        return super().malloc(size) if found.allocator is None else found.beneath.malloc(size)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give the blocks that are kept, by all streams, back to the device."""
        wait()
        registry.trim_lanes(gpu())
        super().free_all_blocks()
        source().beneath.free_all_blocks()


def _malloc(size: int) -> MemoryPointer:
    """Memory straight from the device."""
    memory = Memory(size)
    if size and not memory.ptr:
        raise MemoryError(f"the device has no {size} bytes")
    return MemoryPointer(memory, 0)


def malloc_managed(size: int) -> MemoryPointer:
    """Memory that host and GPU both see (managed); without a GPU ordinary memory of the host."""
    return MemoryPointer(ManagedMemory(size), 0)


def malloc_async(size: int) -> MemoryPointer:
    """Memory of the driver's own pool, in stream order; without a GPU ordinary memory of the host."""
    return MemoryPointer(MemoryAsync(size, None), 0)


class _OfDriver(BaseMemory):
    """Memory of a driver's function, given back with the last reference; without a GPU ordinary memory."""

    def __init__(self, size: int, take: str, give: str, *more: Any) -> None:
        self.ptr = 0
        self.size = int(size)
        self.device_id = current_id()
        self._owner: Any = None
        if on_gpu():
            given = (_GLOBAL,) if take == "cuMemAllocManaged" else more
            self.ptr = int(driver.call(take, max(self.size, 1), *given, doing="allocating memory"))
            self._owner = _Freed(self.ptr, give, *more)
        else:
            self._owner = _malloc(self.size)
            self.ptr = self._owner.ptr


class ManagedMemory(_OfDriver):
    """Memory that host and GPU both see; without a GPU ordinary memory of the host.

    Examples
    --------
    >>> import numloom as np
    >>> memory = np.cuda.ManagedMemory(64)
    >>> x = np.ndarray((8,), np.float64, np.cuda.MemoryPointer(memory, 0))
    >>> x[...] = 2
    >>> float(x.sum())
    16.0
    """

    def __init__(self, size: int) -> None:
        super().__init__(size, "cuMemAllocManaged", "cuMemFree")


class MemoryAsync(_OfDriver):
    """Memory of the driver's own pool, in the order of a stream (that of arrays by default)."""

    def __init__(self, size: int, stream: Any) -> None:
        handle = 0
        if on_gpu():
            handle = backend().stream if stream is None else int(getattr(stream, "ptr", stream))
        super().__init__(size, "cuMemAllocAsync", "cuMemFreeAsync", handle)


class _Freed:
    """Frees an address with the last reference to it."""

    address = 0

    def __init__(self, address: int, function: str, *more: Any) -> None:
        self.function, self.more, self.address = function, more, address

    def __del__(self) -> None:
        if self.address:
            release(self.function, self.address, *self.more)


class MemoryAsyncPool:
    """The driver's own pool, in stream order, as an allocator; without a GPU ordinary memory of the host.

    Parameters
    ----------
    pool_handles : "default"
        Pools of other handles are not there.

    Examples
    --------
    >>> import numloom as np
    >>> pool = np.cuda.MemoryAsyncPool()
    >>> with np.cuda.using_allocator(pool.malloc):
    ...     x = np.arange(1000.0) + 1
    ...     float(x.sum())
    500500.0
    """

    def __init__(self, pool_handles: Any = "default") -> None:
        if pool_handles != "default":
            raise NotImplementedError(f"the driver's default pool is there, {pool_handles!r} is not: give 'default'")
        self.memoryAsyncHasStat = on_gpu()

    def malloc(self, size: int) -> MemoryPointer:
        """Memory of at least `size` bytes, which goes back to the driver with the last reference."""
        return malloc_async(size)

    def _attribute(self, name: str) -> int:
        if not on_gpu():
            return 0
        pool = driver.call("cuDeviceGetDefaultMemPool", current_id())
        which = getattr(driver.bindings().CUmemPool_attribute, f"CU_MEMPOOL_ATTR_{name}")
        return int(driver.call("cuMemPoolGetAttribute", pool, which))

    def used_bytes(self) -> int:
        """Bytes of the driver's pool that are in use; 0 without a GPU."""
        return self._attribute("USED_MEM_CURRENT")

    def total_bytes(self) -> int:
        """Bytes that the driver's pool has from the device."""
        return self._attribute("RESERVED_MEM_CURRENT")

    def free_bytes(self) -> int:
        """Bytes that it keeps for the next allocations."""
        return self.total_bytes() - self.used_bytes()

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give what it keeps back to the device."""
        wait()
        if on_gpu():
            driver.call("cuMemPoolTrimTo", driver.call("cuDeviceGetDefaultMemPool", current_id()), 0)


class PythonFunctionAllocator:
    """An allocator of two Python functions.

    Parameters
    ----------
    malloc_func : callable
        ``malloc_func(size, device_id)`` gives an address.
    free_func : callable
        ``free_func(address, device_id)``.
    """

    def __init__(self, malloc_func: Callable[[int, int], int], free_func: Callable[[int, int], Any]) -> None:
        self.malloc_func = malloc_func
        self.free_func = free_func

    def malloc(self, size: int) -> MemoryPointer:
        """Memory of `size` bytes."""
        number = current_id()
        address = int(self.malloc_func(size, number))
        if size and not address:
            raise MemoryError(f"the allocator {self.malloc_func!r} has no {size} bytes")
        return MemoryPointer(UnownedMemory(address, size, _Returned(self.free_func, address, number)), 0)


class _Returned:
    """Calls a user's function with the last reference."""

    def __init__(self, function: Callable[[int, int], Any], address: int, number: int) -> None:
        self.address, self.number, self.function = address, number, function

    def __del__(self) -> None:
        if hasattr(self, "function"):
            self.function(self.address, self.number)


_default = _DefaultPool()


def get_default_memory_pool() -> MemoryPool:
    """The pool that arrays use.

    Examples
    --------
    >>> import numloom as np
    >>> pool = np.get_default_memory_pool()
    >>> before = pool.used_bytes()
    >>> x = np.arange(1000.0) + 1
    >>> np.evaluate(x)
    >>> pool.used_bytes() - before
    8192
    """
    return _default


def alloc(size: int) -> MemoryPointer:
    """Memory of the device, from where arrays take theirs."""
    return get_allocator()(size)


def set_allocator(allocator: Allocator | None = None) -> None:
    """Say where arrays take their memory from.

    Parameters
    ----------
    allocator : callable, optional
        ``allocator(nbytes)`` gives a `MemoryPointer` to at least so many bytes, at a multiple of 256. The method
        `malloc` of a pool is one; that of the default pool is where it starts. None takes all memory from the device
        and gives it back at once.

    Examples
    --------
    >>> import numloom as np
    >>> pool = np.cuda.MemoryPool(np.cuda.malloc_managed)
    >>> np.cuda.set_allocator(pool.malloc)
    >>> x = np.arange(1000.0) + 1
    >>> np.evaluate(x)
    >>> pool.used_bytes() >= 8000
    True
    >>> np.cuda.set_allocator(np.get_default_memory_pool().malloc)
    """
    if allocator is not None and not callable(allocator):
        raise TypeError(f"an allocator is a function of a number of bytes, got {type(allocator).__name__}")
    if allocator is not None and getattr(allocator, "__self__", None) is _default:
        source().use(None, keep=True)
    else:
        source().use(allocator, keep=False)


def get_allocator() -> Allocator:
    """What `set_allocator` was given last."""
    found = source()
    if found.allocator is not None:
        return found.allocator
    return _default.malloc if found.pool.cache_limit == found.cache_limit else _malloc


@contextmanager
def using_allocator(allocator: Allocator | None = None) -> Iterator[None]:
    """`set_allocator` for a ``with`` block."""
    before = get_allocator()
    flush()
    set_allocator(allocator)
    try:
        yield
        flush()
    finally:
        set_allocator(None if before is _malloc else before)


# ---------------------------------------------------------------- pinned memory


class PinnedMemoryPointer(np.ndarray[Any, Any]):
    """Pinned memory of the host: its bytes, which `numpy.frombuffer` takes."""

    @property
    def ptr(self) -> int:
        """The address."""
        return int(self.ctypes.data)

    @property
    def mem(self) -> Any:
        """Itself, as memory."""
        return self


class PinnedMemory(BaseMemory):
    """Pinned memory of the host, straight from the driver; without a GPU ordinary memory.

    Examples
    --------
    >>> import numloom as np
    >>> memory = np.cuda.PinnedMemory(64)
    >>> memory.size, memory.ptr > 0
    (64, True)
    """

    def __init__(self, size: int, flags: int = 0) -> None:
        self.ptr = 0
        self.size = int(size)
        self.device_id = current_id()
        if on_gpu():
            self.ptr = int(
                driver.call("cuMemHostAlloc", max(self.size, 1), int(flags), doing="allocating pinned memory")
            )
        else:
            self.ptr = host_memory.allocate(max(self.size, 1))
        self._pinned = on_gpu()

    def __del__(self) -> None:
        if getattr(self, "ptr", 0):
            if self._pinned:
                release("cuMemFreeHost", self.ptr)
            else:
                host_memory.free(self.ptr, self.size)


class PinnedMemoryPool(_Pool):
    """A pool of pinned host memory, from which copies are fastest; without a GPU of ordinary memory.

    Examples
    --------
    >>> import numpy
    >>> import numloom as np
    >>> memory = np.cuda.alloc_pinned_memory(80)
    >>> x = numpy.frombuffer(memory, numpy.float64, 10)
    >>> x[...] = 1
    >>> float(np.asarray(x).sum())
    10.0
    """

    def __init__(self, allocator: Any = None) -> None:
        self._pool: Pool | None = None

    def _of(self) -> Pool:
        if self._pool is None:
            device = backend()
            pin = getattr(device, "_pin", host_memory.allocate)
            unpin = getattr(device, "_unpin", host_memory.free)
            self._pool = Pool("pinned host memory", pin, unpin)
        return self._pool

    def malloc(self, size: int) -> PinnedMemoryPointer:
        """Memory of at least `size` bytes."""
        memory = as_bytes(self._of().allocate(int(size))).view(PinnedMemoryPointer)
        return memory[: int(size)]  # type: ignore[return-value]  # Of a view: else NumPy calls its base an array's base.


class _DefaultPinnedPool(PinnedMemoryPool):
    """The one that copies of arrays pass through, too."""

    def _of(self) -> Pool:
        found = getattr(backend(), "pinned", None)
        return found if found is not None else super()._of()


_default_pinned = _DefaultPinnedPool()


def get_default_pinned_memory_pool() -> PinnedMemoryPool:
    """The pool of pinned memory."""
    return _default_pinned


class _PinnedAllocator:
    """What `alloc_pinned_memory` calls."""

    malloc: Callable[[int], Any] = staticmethod(_default_pinned.malloc)


def alloc_pinned_memory(size: int) -> Any:
    """Pinned memory of the host (without a GPU ordinary memory)."""
    return _PinnedAllocator.malloc(size)


def set_pinned_memory_allocator(allocator: Callable[[int], Any] | None = None) -> None:
    """Say what `alloc_pinned_memory` calls; None is the default pool."""
    _PinnedAllocator.malloc = staticmethod(_default_pinned.malloc if allocator is None else allocator)


__all__ = [
    "BaseMemory", "ManagedMemory", "Memory", "MemoryAsync", "MemoryAsyncPool", "MemoryPointer", "MemoryPool",
    "OutOfMemoryError", "PinnedMemory", "PinnedMemoryPointer", "PinnedMemoryPool", "PooledMemory",
    "PythonFunctionAllocator", "UnownedMemory", "alloc", "alloc_pinned_memory", "get_allocator",
    "get_default_memory_pool", "get_default_pinned_memory_pool", "malloc_async", "malloc_managed", "set_allocator",
    "set_pinned_memory_allocator", "using_allocator",
]  # fmt: skip
