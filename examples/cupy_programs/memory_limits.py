"""Memory: a pool with a limit, running out of it, pools of other memory, pointers, pinned memory."""

import ctypes

import cupy as cp
import numpy as np

MIB = 1 << 20


def limited():
    """A pool of one's own refuses what is over its limit, and gives again after memory came back."""
    pool = cp.cuda.MemoryPool()
    pool.set_limit(size=4 * MIB)
    assert pool.get_limit() == 4 * MIB
    first = pool.malloc(3 * MIB)
    try:
        pool.malloc(3 * MIB)
    except cp.cuda.memory.OutOfMemoryError as error:
        assert isinstance(error, MemoryError) and str(error)
    else:
        raise AssertionError("the limit was not kept")
    assert 3 * MIB <= pool.used_bytes() <= 4 * MIB
    del first
    assert pool.used_bytes() == 0 and pool.free_bytes() >= 3 * MIB and pool.n_free_blocks() == 1
    again = pool.malloc(3 * MIB)
    assert pool.n_free_blocks() == 0
    del again
    pool.free_all_blocks()
    assert pool.total_bytes() == 0
    with cp.cuda.Device(0):
        pool.set_limit(fraction=0.5)
    assert 0 < pool.get_limit() <= cp.cuda.Device().mem_info[1]
    pool.set_limit(size=0)
    assert pool.get_limit() == 0


def allocators():
    """Arrays in managed memory, and in memory that two functions give."""
    managed = cp.cuda.MemoryPool(cp.cuda.malloc_managed)
    with cp.cuda.using_allocator(managed.malloc):
        x = cp.arange(100000, dtype=cp.float64)
        y = (x * x).sum()
        x = x + 1
        assert float(y) == float(np.square(np.arange(100000.0)).sum())
        assert float(x[-1]) == 100000 and managed.used_bytes() >= x.nbytes
    del x, y
    cp.cuda.set_allocator(cp.get_default_memory_pool().malloc)

    given, returned = [], []

    def malloc(size, device_id):
        pointer = cp.cuda.runtime.malloc(size)
        given.append(pointer)
        return pointer

    def free(pointer, device_id):
        returned.append(pointer)
        cp.cuda.runtime.free(pointer)

    allocator = cp.cuda.PythonFunctionAllocator(malloc, free)
    memory = allocator.malloc(800)
    array = cp.ndarray((100,), cp.float64, memptr=memory)
    array.fill(2)
    assert float(array.sum()) == 200 and given == [memory.ptr]
    del array, memory
    cp.cuda.Device().synchronize()
    assert returned == given


def pointers():
    """Copies by address, in both directions, and a part of some memory."""
    host = np.arange(16, dtype=np.float32)
    memory = cp.cuda.alloc(host.nbytes)
    memory.copy_from_host(host.ctypes.data_as(ctypes.c_void_p), host.nbytes)
    tail = cp.ndarray((4,), cp.float32, memory + 12 * 4)
    assert tail.tolist() == [12, 13, 14, 15]
    other = cp.cuda.alloc(host.nbytes)
    other.copy_from_device(memory, host.nbytes)
    other.memset(0, 4)
    back = np.empty_like(host)
    other.copy_to_host(back.ctypes.data_as(ctypes.c_void_p), back.nbytes)
    assert back[0] == 0 and (back[1:] == host[1:]).all()

    whole = cp.ndarray((16,), cp.float32, memory)
    assert whole.data.ptr == memory.ptr and whole[3:].data.ptr == memory.ptr + 12
    assert whole.data.device == whole.device == cp.cuda.Device()
    unowned = cp.cuda.UnownedMemory(whole.data.ptr, whole.nbytes, whole)
    view = cp.ndarray((2, 8), whole.dtype, cp.cuda.MemoryPointer(unowned, 0))
    view *= 2
    assert whole.tolist() == (2 * host).tolist()


def pinned():
    """Pinned memory as a NumPy array, from which copies are made."""
    pool = cp.cuda.PinnedMemoryPool()
    cp.cuda.set_pinned_memory_allocator(pool.malloc)
    block = cp.cuda.alloc_pinned_memory(8 * 1000)
    host = np.frombuffer(block, np.float64, 1000)
    host[...] = np.arange(1000)
    stream = cp.cuda.Stream()
    x = cp.empty(1000)
    x.set(host, stream=stream)
    stream.synchronize()
    assert float(x.sum()) == host.sum()
    out = np.empty(1000)
    x.get(stream=stream, out=out, blocking=True)
    assert (out == host).all()
    del block, host
    cp.cuda.set_pinned_memory_allocator()
    cp.get_default_pinned_memory_pool().free_all_blocks()


if __name__ == "__main__":
    limited()
    allocators()
    pointers()
    pinned()
    free, total = cp.cuda.Device().mem_info
    assert 0 < free <= total
    print("memory: limits, allocators, pointers and pinned memory are as they should be")
