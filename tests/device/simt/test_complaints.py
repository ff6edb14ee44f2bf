"""Errors of kernels: accesses out of bounds, races, divergent barriers, deadlocks, faults."""

import ctypes
import sys

import numpy as np
import pytest
from sources import CHECK, kernel

from numloom.base.config import config
from numloom.base.errors import DeviceError
from numloom.device.cpu import module
from numloom.device.interface import MemorySpan


def complaint(run, code, *args, **options):
    with pytest.raises(DeviceError) as caught:
        run(code, *args, **options)
    return str(caught.value)


def marked(message):
    """Line numbers that a message marks."""
    return [int(line[1:].split("|")[0]) for line in message.splitlines() if line.startswith(">")]


X = np.zeros(64, np.float32)

BOUNDS = {
    "past the end": (
        kernel("float* x, int n", "    int i = blockIdx.x * blockDim.x + t;\n    if (i <= n)\n        x[i] = i;"),
        (X, np.int32(64)), dict(grid=3),
        "thread (0, 0, 0) of block (2, 0, 0) writes 4 bytes at byte 256 of argument 1, which has 256 bytes", 5,
    ),
    "before the start": (
        kernel("float* x, const double* y", "    x[t] = y[t - 2];"), (X, np.zeros(64)), {},
        "thread (0, 0, 0) of block (0, 0, 0) reads 8 bytes 16 bytes before argument 2, which has 512 bytes", 3,
    ),
    "by an atomic operation": (
        kernel("float* x", "\n    atomicAdd(x + 3 * t, 1.0f);"), (X,), {},
        "thread (22, 0, 0) of block (0, 0, 0) changes", 4
    ),
    "half outside": (
        kernel("float* x", "    *(double*)(x + 63) = 1;"), (X,), dict(block=1),
        "writes 8 bytes at byte 252 of argument 1", 3
    ),
    "in a function": (
        "__device__ float get(const float* x, int i)\n{\n    return x[i];\n}\n" + kernel("float* x",
        "    x[t] = get(x, 4 * t);"),
        (X,), {}, "thread (16, 0, 0) of block (0, 0, 0) reads 4 bytes at byte 256", 3,
    ),
    "by memcpy": (kernel("char* x, int n", "    memcpy(x, x + 200, n);"), (X, np.int32(57)), {},
    "reads 57 bytes at byte 200", 3),
    "of a struct": (
        "struct S { int a[20]; };\n" + kernel("S* x", "    x[1] = x[0];"), (np.zeros(39, "i4"),), {},
        "bytes at byte 80", 4
    ),
    "a null pointer": (kernel("float* x", "    x[t] = 1;"), (np.int64(0),), {}, "a null pointer", 3),
    "dynamic shared memory": (
        kernel("float* x", "    extern __shared__ float part[];\n    part[t] = x[t];"), (X,), dict(shared=64),
        "thread (16, 0, 0) of block (0, 0, 0) writes 4 bytes past the end of dynamic shared memory", 4,
    ),
    "another thread's memory": (
        kernel("float* x", "    __shared__ float* place;\n    float mine[4] = {1};\n    if (t == 0) place = mine;\n"
                           "    __syncthreads();\n"
                           "    x[t] = place[1];"),
        (X,), {}, "of block (0, 0, 0) reads 4 bytes in another thread's local memory", 7,
    ),
    "nowhere": (kernel("float* x", "    x[1ll << 44] = 1;"), (X,), {}, "writes 4 bytes at address", 3),
}  # fmt: skip


@pytest.mark.parametrize("which", BOUNDS)
def test_accesses_out_of_bounds(run, which):
    code, args, options, message, line = BOUNDS[which]
    said = complaint(run, code, *args, options=CHECK, **options)
    assert said.startswith("kernel k: ") and message in said and marked(said) == [line]


def test_arrays_side_by_side_are_told_apart(device):
    """One array's end is another's beginning, and the kernel takes a step too far."""
    buffer = device.upload(np.zeros(128, np.float32))
    middle = buffer.ptr + 256
    spans = [MemorySpan(buffer.ptr, buffer.ptr, middle), MemorySpan(middle, middle, middle + 256)]
    code = kernel("float* x, float* y, int n", "    x[t] = 1; y[t] = 2; if (t == 63) x[n] = 5;")
    function = device.module({"kernel.cu": code}, options=CHECK).function("k")
    function.launch((1, 1, 1), (64, 1, 1), [*spans, np.int32(63).tobytes()])
    assert device.download(buffer, 0, 512).view("f4").tolist() == [1] * 63 + [5] + [2] * 64
    with pytest.raises(DeviceError, match="at byte 256 of argument 1"):
        function.launch((1, 1, 1), (64, 1, 1), [*spans, np.int32(64).tobytes()])
    # Arrays that overlap stay together, and a view's own bounds hold.
    spans = [MemorySpan(buffer.ptr + 4, buffer.ptr, middle), MemorySpan(buffer.ptr, buffer.ptr, buffer.ptr + 512)]
    code = kernel("float* x, float* y", "    x[-1] = 3; y[1] = 4; x[1] = y[0] + y[1];")
    device.module({"kernel.cu": code}, options=CHECK).function("k").launch((1, 1, 1), (1, 1, 1), spans)
    assert device.download(buffer, 0, 12).view("f4").tolist() == [3, 4, 7]


def test_addresses_in_arguments_are_followed(run, device):
    target = device.upload(np.zeros(4, np.float32))
    code = kernel("float** table, float* raw, float* x", "    table[0][t] = 5; raw[t] += 1; x[t] = 2;")
    table = np.array([target.ptr], np.uint64)
    run(code, table, np.uint64(target.ptr), X, block=4, options=CHECK)
    assert device.download(target, 0, 16).view("f4").tolist() == [6] * 4
    buffer = device.upload(np.zeros(8, np.uint64))
    span = MemorySpan(buffer.ptr, buffer.ptr, buffer.ptr + 64)
    device.copy(buffer, 0, device.upload(np.array([buffer.ptr + 32], np.uint64)), 0, 8)
    code = kernel("unsigned long long** x", "    *x[0] = 77;")
    device.module({"kernel.cu": code}, options=CHECK).function("k").launch((1, 1, 1), (1, 1, 1), [span])
    assert device.download(buffer, 32, 8).view("u8")[0] == 77


@pytest.mark.skipif(sys.platform != "linux", reason="where the heap lies is read from /proc")
def test_addresses_in_the_heap_are_addresses_wherever_it_lies(monkeypatch):
    monkeypatch.setattr(module, "_LOWEST", module._HIGHEST)
    malloc, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
    malloc.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    # The first ones may be what threads of other tests had, which is no part of the heap, and this one has freed.
    addresses = [malloc(40) for _ in range(100)]
    address = addresses[-1]
    begin, end = module.heap()
    assert begin <= address < end
    assert not module.GuardedArguments([np.uint64(address).tobytes()]).strict
    assert module.GuardedArguments([np.uint64(begin - 8).tobytes()]).strict
    for address in addresses:
        free(address)


RACES = {
    "write and read": (
        "    tile[t] = x[t];\n    x[t] = tile[63 - t];", "shared memory (tile) in block (0, 0, 0)", [4, 5]
    ),
    "read and write": ("    x[t] = tile[0];\n    tile[t] = 1;", "what thread", [4, 5]),
    "two writes": ("    tile[t / 2] = t;\n    __syncthreads();\n    x[t] = tile[t];",
    "thread (1, 0, 0) writes what thread (0, 0, 0) wrote at line 4", [4]),
    "an atomic operation and a read": (
        "    if (t == 0) atomicAdd(&tile[5], 1.0f);\n    x[t] = tile[5];", "changed by an atomic operation", [4, 5]
    ),
    "lanes of a warp": ("    if (t < 32) { tile[t] = t;\n    x[t] = tile[t ^ 1]; }", "no barrier is between them", [4,
    5]),
    "a barrier too few": (
        "    for (int s = 32; s > 0; s /= 2) {\n        if (t < s) tile[t] += tile[t + s];\n    }", "thread", [5]
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", RACES)
def test_races_on_shared_memory(run, which):
    body, message, lines = RACES[which]
    code = kernel("float* x", "    __shared__ float tile[64];\n" + body)
    said = complaint(run, code, X, block=64, options=("--check=races",))
    assert "a data race on shared memory" in said and message in said and marked(said) == lines
    run(code, X, block=64)
    run(code, X, block=64, options=("--check=bounds,barriers",))


FINE = {
    "barriers": "    tile[t] = x[t];\n    __syncthreads();\n    x[t] = tile[63 - t];\n    __syncthreads();\n"
                "    tile[t / 2] = 1;",
    "one value": "    tile[0] = 5;\n    __syncthreads();\n    x[t] = tile[0];",
    "warps": "    tile[t] = t;\n    __syncwarp();\n    x[t] = tile[t ^ 31];\n    __syncwarp();\n    tile[t] += 1;",
    "shuffles order too": "    tile[t] = t;\n    __shfl_sync(0xffffffffu, t, 0);\n    x[t] = tile[t ^ 1];",
    "parts of warps": "    const unsigned m = t % 32 < 16 ? 0xffffu : 0xffff0000u;\n    tile[t] = t;\n"
                      "    __syncwarp(m);\n    x[t] = tile[t ^ 15];",
    "atomics": "    atomicAdd(&tile[0], 1.0f);\n    __syncthreads();\n    x[t] = tile[0];",
    "a thread's own": "    tile[t] = 1;\n    tile[t] += 2;\n    x[t] = tile[t];",
    "a last word": "    __shared__ bool last;\n    if (t == 0) last = true;\n    __syncthreads();\n"
                   "    if (last) x[t] = 1;",
}  # fmt: skip


@pytest.mark.parametrize("which", FINE)
def test_what_is_no_race(run, which):
    run(kernel("float* x", "    __shared__ float tile[64];\n" + FINE[which]), X, block=64, grid=4, options=CHECK)


def test_half_a_warp_does_not_order_the_other(run):
    body = FINE["parts of warps"].replace("t ^ 15", "t ^ 31")
    assert "data race" in complaint(
        run, kernel("float* x", "    __shared__ float tile[64];\n" + body), X, options=CHECK
    )


def test_divergent_barriers(run):
    two = kernel(
        "float* x", "    if (t < 16)\n        __syncthreads();\n    else\n        __syncthreads();\n    x[t] = 1;"
    )
    said = complaint(run, two, X, options=CHECK)
    assert "different barriers: 16 threads (the first is (0, 0, 0)) wait in __syncthreads at line 4" in said
    assert "16 threads (the first is (16, 0, 0)) wait in __syncthreads at line 6" in said and marked(said) == [4]
    assert run(two, X)[:32].all()  # a GPU lets them pass
    left = kernel("float* x", "    if (t < 10)\n        return;\n    __syncthreads();")
    said = complaint(run, left, X, options=("--check=barriers",))
    assert "22 threads" in said and "10 threads have returned" in said and marked(said) == [5]
    run(left, X)
    kinds = kernel("float* x", "    if (t < 16) __syncthreads(); else x[t] = __syncthreads_or(t);")
    assert "different barriers" in complaint(run, kinds, X)


def test_deadlocks_are_reported_and_never_hang(run, device):
    code = kernel(
        "float* x",
        "    if (t < 16)\n        x[t] = __shfl_sync(0xffffffffu, x[t], 0);\n    else\n        __syncthreads();",
    )
    for options in ((), CHECK):
        said = complaint(run, code, X, options=options)
        assert "16 threads (the first is (0, 0, 0)) wait in __shfl_sync at line 4" in said
        assert "16 threads (the first is (16, 0, 0)) wait in __syncthreads at line 6" in said
    kinds = kernel("int* x", "    if (t % 2) x[t] = __any_sync(0xffffffffu, t); else __syncwarp();")
    assert "16 threads (the first is (1, 0, 0)) wait in __any_sync" in complaint(run, kinds, np.zeros(32, "i4"))
    code = "#include <cooperative_groups.h>\n" + kernel(
        "float* x", "    if (blockIdx.x > 2)\n        cooperative_groups::this_grid().sync();"
    )
    assert "another block has returned" in complaint(run, code, X, grid=8, cooperative=True)
    assert "only in a cooperative launch" in complaint(run, code, X, grid=8)
    # After all that, kernels run as ever.
    assert run(kernel("float* x", "    __syncthreads(); x[t] = 1;"), X).sum() == 32


def test_masks_and_lanes_that_are_not_there(run):
    code = kernel("int* x", "\n    x[t] = __shfl_sync(0xffu, t, 0);")
    said = complaint(run, code, np.zeros(32, "i4"))
    assert "lane 8 calls __shfl_sync with mask 0x000000ff, in which it is not itself" in said and marked(said) == [4]
    code = kernel("int* x", "    if (t < 8)\n        x[t] = __shfl_sync(0xffu, t, 20);")
    assert "takes no part in it" in complaint(run, code, np.zeros(32, "i4"), options=CHECK)
    run(code, np.zeros(32, "i4"))


FAULTS = {
    "null": (kernel("float* x, float* y", "    y[t] = 1;"), (X, np.int64(0)), "address 0x0 (a null pointer)", 3),
    "far away": (kernel("float* x", "\n    x[1ll << 44] = 1;"), (X,), "which is no memory of this program", 4),
    "division": (kernel("int* x, int n", "    x[t] = 5 / n;"), (np.zeros(32, "i4"), np.int32(0)),
    "divides an integer by zero", 3),
    "stack": (
        "__device__ int deep(int n) {\n    volatile int a[300000];\n    a[n] = n;\n    return a[n / 2];\n}\n"
        + kernel("int* x", "    x[t] = deep(x[t] + 5);"),
        (np.zeros(32, "i4"),), "needs more local memory", None,
    ),
    "recursion": (
        "__device__ int down(int n) {\n    volatile int a[100];\n    a[n % 100] = n;\n"
        "    return n ? down(n - 1) + a[n % 100] : 0;\n}\n"
        + kernel("int* x", "    x[t] = down(1 << 20);"),
        (np.zeros(32, "i4"),), "needs more local memory", None,
    ),
    "assertion": (kernel("int* x", "    assert(t < 5);"), (np.zeros(32, "i4"),), "assertion `t < 5' failed in k", 3),
    "an assertion of the library": (
        "#include <cassert>\n" + kernel("int* x", "    assert(t < 5 && true);"), (np.zeros(32, "i4"),),
        "assertion `t < 5 && true'", 4
    ),
    "trap": (kernel("int* x", "\n    if (t == 7) __trap();"), (np.zeros(32, "i4"),), "0, 0): __trap", 4),
}  # fmt: skip


@pytest.mark.parametrize("which", FAULTS)
def test_faults_end_the_launch_and_not_the_process(run, which):
    code, args, message, line = FAULTS[which]
    for _ in range(2):
        said = complaint(run, code, *args, grid=3)
        assert message in said
        assert line is None or marked(said) == [line]
    assert run(kernel("float* x", "    __syncthreads(); x[t] = 1;"), X).sum() == 32


def test_the_setting_and_errors_keep_what_was_written(run):
    code = kernel("float* x, int n", "    x[t] = 1;\n    __syncthreads();\n    if (t == 0) x[n] = 2;")
    with config(check=True):
        assert "at byte 256 of argument 1" in complaint(run, code, X, np.int32(64), block=64)
        assert run(code, X, np.int32(1), block=64).sum() == 65


@pytest.mark.slow
def test_a_lone_thread_that_spins_for_ever(run):
    code = kernel("int* x", "    if (t == 0) while (atomicAdd(x, 0) == 0) { }\n    __syncthreads();")
    assert "what no other thread can do any more" in complaint(run, code, np.zeros(1, "i4"))
