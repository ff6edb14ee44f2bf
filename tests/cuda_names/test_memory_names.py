"""Memory by CuPy's names: pools, pointers, allocators and hooks."""

import ctypes
import gc
import io

import numpy
import pytest

import numloom as np
from numloom.base.errors import DeviceError, OutOfMemoryError
from numloom.device import registry


@pytest.fixture(autouse=True)
def _small_work_takes_the_devices_memory_too():
    with np.config(placement="device"):
        yield


@pytest.fixture(autouse=True)
def _allocator_is_left_as_it_was():
    yield
    np.cuda.set_allocator(np.get_default_memory_pool().malloc)


@pytest.fixture(autouse=True)
def _parts_of_blocks_are_taken(no_spare_parts):
    """They would serve these tests."""


def big():
    x = np.arange(100_000.0) + 1
    np.evaluate(x)
    return x


def test_the_default_pool_counts_arrays():
    pool = np.get_default_memory_pool()
    assert pool is np.cuda.get_default_memory_pool()
    before = pool.used_bytes()
    x = big()
    assert pool.used_bytes() - before >= x.nbytes
    assert pool.total_bytes() == pool.used_bytes() + pool.free_bytes()
    del x
    gc.collect()
    assert pool.n_free_blocks() > 0
    pool.free_all_blocks()
    assert pool.free_bytes() == 0 and pool.n_free_blocks() == 0
    pool.free_all_free()


def test_limits():
    pool = np.get_default_memory_pool()
    assert pool.get_limit() == registry.current().pool.limit
    before = pool.get_limit()
    try:
        pool.free_all_blocks()
        pool.set_limit(size=pool.used_bytes() + 1000)
        with pytest.raises(OutOfMemoryError):
            big()
        pool.set_limit(fraction=0.5)
        assert pool.get_limit() > 0
        pool.set_limit()
        assert pool.get_limit() == 0
        with pytest.raises(ValueError, match="between 0 and 1"):
            pool.set_limit(fraction=2)
        with pytest.raises(ValueError, match="not both"):
            pool.set_limit(1, 0.5)
    finally:
        pool.set_limit(before)
    big()


def test_pools_of_ones_own():
    taken = []

    def allocator(size):
        taken.append(size)
        return np.cuda.malloc_managed(size)

    pool = np.cuda.MemoryPool(allocator)
    one = pool.malloc(5000)
    assert pool.used_bytes() >= 5000 and len(taken) == 1
    del one
    again = pool.malloc(5000)
    assert len(taken) == 1 and pool.free_bytes() == 0
    del again
    pool.free_all_blocks()
    assert pool.total_bytes() == 0


def test_pointers():
    pointer = np.cuda.alloc(64)
    later = 16 + pointer
    assert later.ptr == pointer.ptr + 16 and (later - 16).ptr == pointer.ptr == int(pointer)
    host = (ctypes.c_int32 * 4)(1, 2, 3, 4)
    pointer.memset(0, 64)
    later.copy_from(ctypes.cast(host, ctypes.c_void_p), 16)
    pointer.copy_from(later, 8)
    found = numpy.zeros(8, "i4")
    pointer.copy_to_host(found.ctypes.data, 32)
    assert found.tolist() == [1, 2, 0, 0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="more than the 48"):
        later.memset(0, 49)
    x = np.ndarray((2, 2), np.int32, later)
    x += 1
    pointer.copy_to_host(found.ctypes.data, 32)
    assert found[4:].tolist() == [2, 3, 4, 5]
    assert np.ndarray(4, "i4", memptr=later, strides=(8,)).shape == (4,)
    with pytest.raises(ValueError, match="does not fit"):
        np.ndarray((100,), np.float64, memptr=later)
    owner = object()
    unowned = np.cuda.UnownedMemory(pointer.ptr, 64, owner)
    assert np.cuda.MemoryPointer(unowned, 4).device == np.cuda.Device()


def test_allocators():
    blocks = {}
    pool = np.get_default_memory_pool()

    def malloc(size, device):
        block = numpy.zeros(size + 256, numpy.uint8)
        address = -(-block.ctypes.data // 256) * 256
        blocks[address] = block
        return address

    if registry.current().discrete:

        def malloc(size, device):
            memory = np.cuda.Memory(size)
            blocks[memory.ptr] = memory
            return memory.ptr

    own = np.cuda.PythonFunctionAllocator(malloc, lambda address, device: blocks.pop(address))
    kept = big()
    with np.cuda.using_allocator(own.malloc):
        assert np.cuda.get_allocator() == own.malloc
        x = big()
        assert blocks
        total = float(x.sum())
    assert np.cuda.get_allocator() == pool.malloc
    assert total == float(kept.sum())
    del x, kept
    gc.collect()
    pool.free_all_blocks()
    assert not blocks
    np.cuda.set_allocator(None)
    free = pool.free_bytes()
    y = big()
    del y
    gc.collect()
    assert pool.free_bytes() == free
    with np.cuda.using_allocator(own.malloc):
        scratch = registry.current().workspace(3 << 20, 64)
        assert blocks
        del scratch
    assert not blocks
    with pytest.raises(TypeError, match="an allocator is a function"):
        np.cuda.set_allocator(3)


def test_an_allocator_of_odd_addresses_is_refused():
    room = np.cuda.alloc(1 << 20)
    pool = np.get_default_memory_pool()
    np.cuda.set_allocator(lambda size: np.cuda.MemoryPointer(room.mem, 8))
    with pytest.raises(DeviceError, match="multiples of 256"):
        big()
    np.cuda.set_allocator(pool.malloc)
    big()


def test_pinned_memory():
    memory = np.cuda.alloc_pinned_memory(80)
    host = numpy.frombuffer(memory, numpy.float64, 10)
    host[...] = 2
    assert float(np.asarray(host).sum()) == 20 and memory.ptr == host.ctypes.data
    pool = np.cuda.PinnedMemoryPool()
    other = pool.malloc(100)
    assert other.nbytes == 100 and pool.used_bytes() >= 100
    del other
    gc.collect()
    assert pool.n_free_blocks() == 1
    pool.free_all_blocks()
    np.cuda.set_pinned_memory_allocator(pool.malloc)
    np.cuda.alloc_pinned_memory(10)
    assert pool.n_free_blocks() == 1
    np.cuda.set_pinned_memory_allocator()


class Log(np.cuda.MemoryHook):
    name = "Log"

    def __init__(self):
        self.lines = []

    def alloc_preprocess(self, **given):
        self.lines.append(("alloc_pre", given))

    def alloc_postprocess(self, **given):
        self.lines.append(("alloc_post", given))

    def malloc_preprocess(self, **given):
        self.lines.append(("malloc_pre", given))

    def malloc_postprocess(self, **given):
        self.lines.append(("malloc_post", given))

    def free_preprocess(self, **given):
        self.lines.append(("free_pre", given))

    def free_postprocess(self, **given):
        self.lines.append(("free_post", given))


def test_hooks_are_told():
    np.get_default_memory_pool().free_all_blocks()
    with Log() as log:
        x = big()
        with pytest.raises(KeyError, match="active already"):
            Log().__enter__()
        nbytes = x.nbytes
        del x
        gc.collect()
    y = big()
    kinds = [kind for kind, _ in log.lines]
    assert kinds[:2] == ["malloc_pre", "alloc_pre"] and {"alloc_post", "malloc_post"} <= set(kinds)
    given = [given for kind, given in log.lines if kind == "malloc_post" and given["size"] == nbytes]
    assert given and all(g["mem_size"] >= nbytes and g["mem_ptr"] for g in given)
    freed = {g["pmem_id"] for kind, g in log.lines if kind == "free_post"}
    assert given[0]["pmem_id"] in freed
    assert kinds.count("free_pre") == kinds.count("free_post")
    count = len(log.lines)
    del y
    assert len(log.lines) == count


def test_small_blocks_are_told_of_too_and_kept_after():
    small = [np.arange(3.0) + k for k in range(20)]
    np.evaluate(*small)
    del small
    pool = np.get_default_memory_pool()
    cached = pool.free_bytes()
    with Log() as log:
        x = np.arange(3.0) + 1
        np.evaluate(x)
    assert any(kind == "malloc_post" for kind, _ in log.lines)
    assert not any(kind == "alloc_post" for kind, _ in log.lines) or cached == 0
    assert x.tolist() == [1, 2, 3]


def test_a_hook_may_compute():
    class Computes(np.cuda.MemoryHook):
        name = "Computes"
        sums = 0.0

        def malloc_postprocess(self, **given):
            self.sums += float((np.arange(3.0) + 1).sum())

    with Computes() as hook:
        x = big()
    assert hook.sums >= 6 and float(x[0]) == 1


def test_a_hook_that_fails_harms_nothing(monkeypatch):
    class Fails(np.cuda.MemoryHook):
        name = "Fails"

        def free_preprocess(self, **given):
            raise RuntimeError("no")

    # Text alone: an error's frames keep what `big` holds.
    seen = []
    monkeypatch.setattr("sys.unraisablehook", lambda given: seen.append(str(given.exc_value)))
    pool = np.get_default_memory_pool()
    with Fails():
        x = big()
        used = pool.used_bytes()
        del x
        gc.collect()
        assert pool.used_bytes() < used
    assert seen and set(seen) == {"no"}
    big()


def test_lines_are_profiled():
    def inner():
        return np.arange(50_000.0) + 1

    with np.cuda.LineProfileHook(each_line=True) as hook:
        x = inner()
    assert hook.root.used_bytes >= x.nbytes
    text = io.StringIO()
    hook.print_report(text)
    lines = text.getvalue().splitlines()
    assert lines[0].startswith("_root (") and ":inner (" in lines[-1]
    plot = pytest.importorskip("matplotlib.figure").Figure().subplots()
    assert hook.plot(plot) is plot and len(plot.lines[0].get_xdata()) == len(hook.history)
    assert hook.history and hook.history[-1][1] >= 0
    with np.cuda.LineProfileHook(max_depth=1) as hook:
        np.evaluate(inner())
    assert all(not child.children for child in hook.root.children.values())


def test_debug_lines():
    text = io.StringIO()
    with np.cuda.DebugPrintHook(text):
        x = big()
    assert '"hook":"malloc"' in text.getvalue() and x.size
