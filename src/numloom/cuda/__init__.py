"""Layer 9: the device in your hands, by CuPy's names: devices, streams, events, memory, hooks, times."""

from numloom.cuda import devices as device
from numloom.cuda import memory, memory_hooks, nccl, nvtx, profiler, runtime, streams
from numloom.cuda import streams as stream
from numloom.cuda.devices import Device, get_device_id, is_available
from numloom.cuda.hooks import MemoryHook
from numloom.cuda.memory import (
    Memory,
    MemoryAsyncPool,
    MemoryPointer,
    MemoryPool,
    PinnedMemoryPointer,
    PinnedMemoryPool,
    PooledMemory,
    PythonFunctionAllocator,
    UnownedMemory,
    alloc,
    alloc_pinned_memory,
    get_allocator,
    get_default_memory_pool,
    get_default_pinned_memory_pool,
    malloc_async,
    malloc_managed,
    set_allocator,
    set_pinned_memory_allocator,
    using_allocator,
)
from numloom.cuda.memory_hooks import DebugPrintHook, LineProfileHook
from numloom.cuda.profiler import benchmark
from numloom.cuda.streams import Event, ExternalStream, Stream, from_external, get_current_stream, get_elapsed_time

__all__ = [
    "DebugPrintHook",
    "Device",
    "Event",
    "ExternalStream",
    "LineProfileHook",
    "Memory",
    "MemoryAsyncPool",
    "MemoryHook",
    "MemoryPointer",
    "MemoryPool",
    "PinnedMemoryPointer",
    "PinnedMemoryPool",
    "PooledMemory",
    "PythonFunctionAllocator",
    "Stream",
    "UnownedMemory",
    "alloc",
    "alloc_pinned_memory",
    "benchmark",
    "device",
    "from_external",
    "get_allocator",
    "get_current_stream",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "get_device_id",
    "get_elapsed_time",
    "is_available",
    "malloc_async",
    "malloc_managed",
    "memory",
    "memory_hooks",
    "nccl",
    "nvtx",
    "profiler",
    "runtime",
    "set_allocator",
    "set_pinned_memory_allocator",
    "stream",
    "streams",
    "using_allocator",
]
