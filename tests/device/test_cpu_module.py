"""CUDA C++ on the host: every builtin against NumPy or what CUDA's documents say, programs, and every kind of error."""

import ctypes
import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from numloom.base.config import config
from numloom.base.errors import CompileError, DeviceError, MissingDependencyError
from numloom.device.cpu import compiler as compiler_module
from numloom.device.cpu.backend import CpuDevice
from numloom.device.cpu.simt.declared import kernels
from numloom.device.cpu.simt.elf import Image
from numloom.device.interface import Span

pytestmark = pytest.mark.skipif(not compiler_module.candidates(), reason="no C++ compiler")

rng = np.random.default_rng(11)
CHECK = ("--check",)
FULL = "0xffffffffu"


@pytest.fixture(scope="module")
def device():
    return CpuDevice()


@pytest.fixture(scope="module")
def run(device):
    """Compile, launch, and give back the arrays among the arguments."""

    def call(
        code, *args, grid=1, block=32, name="k", shared=0, options=(), names=(), cooperative=False, module=None
    ):  # fmt: skip
        module = module or device.module({"kernel.cu": code}, options=tuple(options), names=tuple(names))
        buffers, packed = [], []
        for argument in args:
            if isinstance(argument, np.ndarray):
                buffer = device.upload(np.ascontiguousarray(argument))
                buffers.append((argument, buffer))
                packed.append(Span(buffer.ptr, buffer.ptr, buffer.ptr + argument.nbytes))
            else:
                packed.append(np.asarray(argument).tobytes())
        function = module.function(name)
        function.launch(triple(grid), triple(block), packed, shared=shared, cooperative=cooperative)
        found = [
            device.download(buffer, 0, argument.nbytes).view(argument.dtype).reshape(argument.shape)
            for argument, buffer in buffers
        ]
        return found[0] if len(found) == 1 else found

    return call


def triple(size):
    size = (size,) if isinstance(size, int) else tuple(size)
    return size + (1,) * (3 - len(size))


def kernel(parameters, body):
    return f'extern "C" __global__ void k({parameters}) {{\n    const int t = threadIdx.x;\n{body}\n}}\n'


# ---------------------------------------------------------------- the language


def test_indices_and_sizes(run):
    code = kernel(
        "int* out",
        """
    const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int size = blockDim.x * blockDim.y * blockDim.z;
    out[block * size + thread] = 1000 * block + thread + warpSize - 32;
    dim3 a(2, 3), b = blockDim; uint3 c = threadIdx;
    if (a.z != 1 || b.x != blockDim.x || c.y != threadIdx.y) out[0] = -1;""",
    )
    found = run(code, np.zeros(5 * 4 * 3 * 24, np.int32), grid=(5, 4, 3), block=(4, 3, 2))
    np.testing.assert_array_equal(found.reshape(60, 24), 1000 * np.arange(60)[:, None] + np.arange(24))


def test_sizes_and_alignment_of_vectors(run):
    sizes = dict(char=1, uchar=1, short=2, ushort=2, int=4, uint=4, long=8, ulong=8, longlong=8, ulonglong=8, float=4,
                 double=8)  # fmt: skip
    lines = []
    expected = []
    for name in sizes:
        for count in (1, 2, 3, 4):
            lines.append(f"out[{len(expected)}] = sizeof({name}{count}) * 100 + alignof({name}{count});")
            size = sizes[name]
            align = size if count in (1, 3) else min(16, size * count)
            expected.append(size * count * 100 + align)
    lines.append(f"float4 f = make_float4(1, 2, 3, 4); out[{len(expected)}] = f.x + 10 * f.y + 100 * f.z + 1000 * f.w;")
    expected.append(4321)
    found = run(kernel("int* out", "\n".join(lines)), np.zeros(len(expected), np.int32), block=1)
    assert found.tolist() == expected


def test_qualifiers(run):
    code = r"""
    #include <cuda_runtime.h>
    #include <cstdint>
    struct __align__(16) Pair { float a; double b; };
    __device__ __forceinline__ float twice(float x) { return 2 * x; }
    __host__ __device__ __noinline__ float thrice(float x) { return 3 * x; }
    __constant__ float factors[2] = {2, 5};
    __device__ int calls = 0;
    template <typename T, int N> __device__ T sum_of(const T* __restrict__ x) {
        __shared__ T part[N];
        part[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        T s = 0;
        for (int i = 0; i < N; ++i) s += part[i];
        return s;
    }
    extern "C" __global__ void __launch_bounds__(128, 2) k(const float* __restrict__ x, float* y,
                                                           const __grid_constant__ Pair p, int64_t n) {
        y[threadIdx.x] = sum_of<float, 32>(x) + sum_of<float, 16>(x) + twice(p.a) + thrice((float)p.b) + factors[1] + n;
        atomicAdd(&calls, 1);
    }"""
    pair = np.array((7.0, 3.0), np.dtype([("a", "f4"), ("b", "f8")], align=True))
    x = np.arange(32, dtype=np.float32)
    # sum_of<float, 16> is called by 32 threads: only its first 16 elements may be written.
    code = code.replace(
        "part[threadIdx.x] = x[threadIdx.x];", "if (threadIdx.x < N) part[threadIdx.x] = x[threadIdx.x];"
    )
    _, y = run(code, x, x, pair[()], np.int64(1 << 20))
    assert (y == np.float32(x.sum() + x[:16].sum() + 14 + 9 + 5 + (1 << 20))).all()


def test_dynamic_shared_memory(run):
    code = r"""
    extern __shared__ __align__(16) unsigned char memory[];
    namespace inner { __device__ float* second() { extern __shared__ float floats[]; return floats + 64; } }
    extern "C" __global__ void k(float* x) {
        float* first = (float*)memory;
        float* second = inner::second();
        first[threadIdx.x] = x[threadIdx.x];
        second[threadIdx.x] = 10 * x[threadIdx.x];
        __syncthreads();
        x[threadIdx.x] = first[63 - threadIdx.x] + second[threadIdx.x] + (((unsigned long long)memory & 15) != 0);
    }"""
    x = np.arange(64, dtype=np.float32)
    assert (run(code, x, block=64, shared=512) == x[::-1] + 10 * x).all()
    assert (run(code, x, block=64, shared=512, options=CHECK) == x[::-1] + 10 * x).all()


def test_barriers_with_votes(run):
    code = kernel(
        "int* out",
        """
    out[4 * t] = __syncthreads_count(t % 3 == 0);
    out[4 * t + 1] = __syncthreads_and(t < 100) != 0;
    out[4 * t + 2] = __syncthreads_and(t < 50) != 0;
    out[4 * t + 3] = __syncthreads_or(t == 99) != 0;""",
    )
    found = run(code, np.zeros(400, np.int32), block=100).reshape(100, 4)
    assert (found == [34, 1, 0, 1]).all()


def test_printf_and_clock(run, capfd):
    code = kernel(
        "int* out", '    if (t == 3) printf("thread %d %.2f\\n", t, 1.5); out[t] = clock64() > 0 && clock() >= 0;'
    )
    assert run(code, np.zeros(32, np.int32)).all()
    assert capfd.readouterr().out == "thread 3 1.50\n"


def test_memory_of_the_heap_and_the_stack(run):
    code = kernel(
        "int* out",
        """
    int* mine = (int*)malloc(40);
    int local[10];
    memset(local, 0, sizeof local);
    for (int i = 0; i < 10; ++i) mine[i] = t + i;
    memcpy(local, mine, sizeof local);
    __syncthreads();
    for (int i = 0; i < 10; ++i) out[t] += local[i];
    free(mine);""",
    )
    for options in ((), CHECK):
        found = run(code, np.zeros(64, np.int32), block=64, options=options)
        assert (found == 10 * np.arange(64) + 45).all()


def test_names_of_the_c_library_are_free(run, device):
    code = (
        'extern "C" __global__ void div(int* x) { x[threadIdx.x] /= 2; }\n'
        'extern "C" { __global__ void index(int* x) { x[threadIdx.x] += 1; } }\n'
        'namespace a { namespace b { extern "C" __global__ void y1(int* x) { x[threadIdx.x] *= 3; } } }\n'
    )
    x = np.arange(32, dtype=np.int32)
    assert (run(code, x, name="div") == x // 2).all()
    assert (run(code, x, name="index") == x + 1).all()
    assert (run(code, x, name="y1") == x * 3).all()


def test_kernels_are_found_wherever_they_are():
    mark = '__attribute__((noinline, annotate("numloom_global")))'
    text = f"""
    extern "C" {{ {mark} void a(int* x) {{ if (x) {{ x[0] = 1; }} }} {mark} void b(); }}
    namespace n::m {{ extern "C" {mark} void c(void (*f)(int)) {{ }} {mark} void hidden(int); }}
    template <class T> {mark} void d(T* x) {{ }}
    extern "C" void {mark} e(int a = f(3)) {{ const char* s = "}} extern"; }}
    struct S {{ int f() {{ return 1; }} }};
    """
    assert kernels(text) == {"a": "::a", "b": "::b", "c": "::n::m::c", "e": "::e"}


# ---------------------------------------------------------------- warps

SHUFFLED = ["int", "unsigned", "float", "long long", "unsigned long long", "double"]


@pytest.mark.parametrize("ctype", SHUFFLED)
def test_shuffles(run, ctype):
    dtype = {
        "int": "i4",
        "unsigned": "u4",
        "float": "f4",
        "long long": "i8",
        "unsigned long long": "u8",
        "double": "f8",
    }
    code = kernel(
        f"{ctype}* x, {ctype}* y",
        f"""
    const {ctype} v = x[t];
    y[t] = __shfl_sync({FULL}, v, 5);
    y[64 + t] = __shfl_sync({FULL}, v, t + 3, 8);
    y[128 + t] = __shfl_up_sync({FULL}, v, 2);
    y[192 + t] = __shfl_up_sync({FULL}, v, 3, 16);
    y[256 + t] = __shfl_down_sync({FULL}, v, 4);
    y[320 + t] = __shfl_down_sync({FULL}, v, 1, 4);
    y[384 + t] = __shfl_xor_sync({FULL}, v, 7);
    y[448 + t] = __shfl_xor_sync({FULL}, v, 16, 16);""",
    )
    x = rng.integers(0, 1 << 30, 64).astype(dtype[ctype])
    _, y = run(code, x, np.zeros(512, x.dtype), block=64)
    lane = np.arange(32)
    sources = [
        np.full(32, 5),
        lane // 8 * 8 + (lane + 3) % 8,
        np.where(lane < 2, lane, lane - 2),
        np.where(lane % 16 < 3, lane, lane - 3),
        np.where(lane + 4 > 31, lane, lane + 4),
        np.where(lane % 4 == 3, lane, lane + 1),
        lane ^ 7,
        np.where(lane < 16, lane, lane ^ 16),
    ]
    for found, source in zip(y.reshape(8, 64), sources, strict=True):
        np.testing.assert_array_equal(found, x.reshape(2, 32)[:, source].ravel())


def test_votes_and_matches(run):
    code = kernel(
        "const int* x, unsigned* y",
        f"""
    int all;
    const unsigned mine[] = {{
        (unsigned)(__all_sync({FULL}, x[t] >= 0) != 0), (unsigned)(__all_sync({FULL}, x[t] > 2) != 0),
        (unsigned)(__any_sync({FULL}, x[t] == 6) != 0), (unsigned)(__any_sync({FULL}, x[t] == 9) != 0),
        __ballot_sync({FULL}, x[t] & 1), __match_any_sync({FULL}, x[t]),
        __match_all_sync({FULL}, x[t], &all), (unsigned)all, __match_all_sync({FULL}, 1.5, &all), (unsigned)all,
        __activemask()}};
    for (int i = 0; i < 11; ++i) y[11 * t + i] = mine[i];""",
    )
    x = rng.integers(0, 7, 32).astype(np.int32)
    x[0] = 6
    _, y = run(code, x, np.zeros(352, np.uint32))
    bits = 1 << np.arange(32, dtype=np.uint64)
    y = y.reshape(32, 11)
    assert (y[:, :4] == [1, 0, 1, 0]).all()
    assert (y[:, 4] == bits[x % 2 == 1].sum()).all()
    assert y[:, 5].tolist() == [bits[x == v].sum() for v in x]
    assert (y[:, 6:] == [0, 0, 0xFFFFFFFF, 1, 0xFFFFFFFF]).all()


def test_reductions_of_a_warp(run):
    code = kernel(
        "const int* x, int* y, unsigned* z",
        f"""
    y[3 * t] = __reduce_add_sync({FULL}, x[t]); y[3 * t + 1] = __reduce_min_sync({FULL}, x[t]);
    y[3 * t + 2] = __reduce_max_sync({FULL}, x[t]);
    const unsigned u = x[t];
    z[6 * t] = __reduce_add_sync({FULL}, u); z[6 * t + 1] = __reduce_min_sync({FULL}, u);
    z[6 * t + 2] = __reduce_max_sync({FULL}, u); z[6 * t + 3] = __reduce_and_sync({FULL}, u);
    z[6 * t + 4] = __reduce_or_sync({FULL}, u); z[6 * t + 5] = __reduce_xor_sync({FULL}, u);""",
    )
    x = rng.integers(-1000, 1000, 32).astype(np.int32)
    _, y, z = run(code, x, np.zeros(96, np.int32), np.zeros(192, np.uint32))
    u = x.view(np.uint32)
    assert (y.reshape(32, 3) == [x.sum(), x.min(), x.max()]).all()
    assert (z.reshape(32, 6) == [u.sum(dtype=np.uint32), u.min(), u.max(), np.bitwise_and.reduce(u),
                                 np.bitwise_or.reduce(u), np.bitwise_xor.reduce(u)]).all()  # fmt: skip


def test_parts_of_a_warp(run):
    code = kernel(
        "int* y",
        """
    if (t >= 40) return;                       // a warp that is not whole, and lanes that have returned
    int sum = t;
    if (t < 32) {
        const unsigned half = t < 16 ? 0xffffu : 0xffff0000u;
        for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(half, sum, d);
        __syncwarp(half);
    } else sum = __shfl_sync(0xffffffffu, t, 3);
    y[t] = sum;""",
    )
    y = run(code, np.zeros(48, np.int32), block=48)
    assert y.tolist() == [120] * 16 + [16 * 16 + 120] * 16 + [35] * 8 + [0] * 8


def test_the_lanes_that_are_together(run):
    code = kernel(
        "int* y",
        """
    if (t % 3 == 0) {
        const unsigned mask = __activemask();
        y[t] = __popc(mask);
        if (t < 10) y[t] += 100 * __popc(__activemask());
    } else y[t] = -__popc(__activemask());""",
    )
    expected = [(11 + 400 * (t < 10)) if t % 3 == 0 else -21 for t in range(32)]
    assert run(code, np.zeros(32, np.int32)).tolist() == expected


# ---------------------------------------------------------------- atomics

INTEGERS = {"int": "i4", "unsigned": "u4", "unsigned long long": "u8", "long long": "i8"}


@pytest.mark.parametrize("ctype", INTEGERS)
@pytest.mark.parametrize("where", ["global", "shared"])
def test_atomics_on_integers(run, ctype, where):
    names = ["Add", "Sub", "Min", "Max", "And", "Or", "Xor", "Exch"]
    pointer = "y" if where == "global" else "part"
    operations = "\n".join(f"    atomic{name}(&{pointer}[{at}], x[i]);" for at, name in enumerate(names))
    scopes = f"    atomicAdd_block(&{pointer}[8], ({ctype})1); atomicAdd_system(&{pointer}[8], ({ctype})2);"
    begin = "__shared__ T part[9]; if (t < 9) part[t] = y[t]; __syncthreads();" if where == "shared" else ""
    end = "__syncthreads(); if (t < 9) y[t] = part[t];" if where == "shared" else ""
    body = f"typedef {ctype} T; const int i = blockIdx.x * blockDim.x + t; {begin}\n{operations}\n{scopes}\n{end}"
    dtype = np.dtype(INTEGERS[ctype])
    count = 256 if where == "shared" else 1024
    x = rng.integers(1, 1000, count).astype(dtype)
    start = np.array([5, 5, 500, 500, -1 if dtype.kind == "i" else 2**32 - 1, 0, 3, 0, 0]).astype(dtype)
    _, y = run(kernel(f"const {ctype}* x, {ctype}* y", body), x, start, grid=count // 256, block=256)
    expected = [
        5 + x.sum(dtype=dtype), (np.array([5], dtype) - x.sum(dtype=dtype))[0], min(500, x.min()), max(500, x.max()),
        np.bitwise_and.reduce(x) & start[4], np.bitwise_or.reduce(x), 3 ^ np.bitwise_xor.reduce(x),
    ]  # fmt: skip
    np.testing.assert_array_equal(y[:7], np.array(expected).astype(dtype))
    assert y[7] in x and y[8] == 3 * count


def test_atomics_that_wrap_and_compare(run):
    code = kernel(
        "unsigned* y, unsigned short* s, float* f, double* d, int* ticket",
        """
    atomicInc(&y[0], 6u);
    atomicDec(&y[1], 6u);
    const unsigned short h = atomicCAS(&s[0], (unsigned short)t, (unsigned short)(t + 1)); (void)h;
    unsigned long long* bits = (unsigned long long*)d;
    unsigned long long old = *bits, seen;
    do { seen = old; old = atomicCAS(bits, seen, __double_as_longlong(__longlong_as_double(seen) + t)); }
    while (old != seen);
    atomicAdd(&f[0], 0.5f); atomicAdd(&d[1], 0.25); atomicMax(&f[1], (float)t); atomicMin(&d[2], -(double)t);
    f[2 + atomicAdd(ticket, 1)] = 1;
    atomicAdd((float2*)(f + 100), make_float2(1, 2));""",
    )
    y, s, f, d, ticket = run(
        code, np.zeros(2, "u4"), np.zeros(1, "u2"), np.zeros(104, "f4"), np.zeros(3), np.zeros(1, "i4"), block=96
    )
    assert y.tolist() == [96 % 7, (-96) % 7] and s[0] == 96
    assert f[0] == 48 and f[1] == 95 and f[2:98].all() and f[100:102].tolist() == [96, 192]
    assert d.tolist() == [sum(range(96)), 24, -95] and ticket[0] == 96


def test_a_lock_and_a_flag(run):
    code = kernel(
        "int* x",
        """
    for (bool done = false; !done;) {
        if (atomicCAS(&x[0], 0, 1) == 0) { x[1] = x[1] + 1; __threadfence(); atomicExch(&x[0], 0); done = true; }
    }
    if (blockIdx.x == 0) {
        if (t == 0) while (atomicAdd(&x[2], 0) == 0) { }
        if (t == 31) atomicExch(&x[2], 7);
        if (t == 1) while (*(volatile int*)&x[3] == 0) __nanosleep(20);
        if (t == 30) *(volatile int*)&x[3] = 9;
    }""",
    )
    assert run(code, np.zeros(4, np.int32), grid=50)[1:].tolist() == [1600, 7, 9]


def test_blocks_may_wait_for_earlier_blocks(run):
    """The scheme of single-pass scans: each block adds to what the one before it has published."""
    code = kernel(
        "const int* x, int* sums, int* flags",
        """
    __shared__ int total;
    if (t == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[blockIdx.x * 32 + t]);
    __syncthreads();
    if (t == 0) {
        int before = 0;
        if (blockIdx.x > 0) {
            while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0) { }
            before = sums[blockIdx.x - 1];
        }
        sums[blockIdx.x] = before + total;
        __threadfence();
        atomicExch(&flags[blockIdx.x], 1);
    }""",
    )
    x = rng.integers(0, 100, 32 * 200).astype(np.int32)
    _, sums, _ = run(code, x, np.zeros(200, "i4"), np.zeros(200, "i4"), grid=200)
    np.testing.assert_array_equal(sums, x.reshape(200, 32).sum(1).cumsum())


# ---------------------------------------------------------------- arithmetic


def evaluated(run, ctype, dtype, expressions):
    """The values of C expressions, all in one kernel."""
    body = "\n".join(f"    out[{at}] = ({ctype})({expression});" for at, expression in enumerate(expressions))
    return run(kernel(f"{ctype}* out, const float* f, const double* d", body), np.zeros(len(expressions), dtype),
               np.array([0.1, 0.7, 3.5, -2.5], "f4"), np.array([0.1, 0.7, 3.5, -2.5]), block=1)[0]  # fmt: skip


def test_integer_intrinsics(run):
    cases = {
        "__popc(0xf0f0u)": 8, "__popcll(0xffffffffffull)": 40, "__clz(1)": 31, "__clz(0)": 32, "__clzll(1ll)": 63,
        "__clzll(0)": 64, "__ffs(0)": 0, "__ffs(24)": 4, "__ffsll(1ll << 40)": 41, "__brev(1u)": 0x80000000,
        "__brev(0x12345678u)": 0x1E6A2C48, "__brevll(1ull)": -(1 << 63), "__byte_perm(0x03020100, 0x07060504, 0x7531)":
        0x07050301, "__byte_perm(0x80, 0, 0x0008)": 0x808080FF, "__mul24(0x1000003, 5)": 15, "__mul24(-3, 7)": -21,
        "__umul24(0x1000003u, 5u)": 15, "__mulhi(1 << 30, 1 << 4)": 4, "__mulhi(-1, 1)": -1,
        "__umulhi(0xffffffffu, 2u)": 1, "__umul64hi(~0ull, 4ull)": 3, "__mul64hi(-1ll, 5ll)": -1,
        "__sad(3, -4, 10u)": 17,
        "__usad(3u, 9u, 1u)": 7, "__hadd(-3, 6)": 1, "__rhadd(-3, 6)": 2, "__uhadd(0xffffffffu, 1u)": 1 << 31,
        "__urhadd(1u, 2u)": 2, "__dp4a(0x01020304, 0x01010101, 5)": 15, "__dp4a(-1, 0x01010101, 0)": -4,
        "__dp4a(0xffffffffu, 0x01010101u, 0u)": 1020, "__funnelshift_l(0x80000000u, 1u, 1u)": 3,
        "__funnelshift_r(2u, 1u, 1u)": 0x80000001, "__funnelshift_lc(1u, 2u, 40u)": 1,
        "__funnelshift_rc(1u, 2u, 40u)": 2,
        "__fns(0x16u, 0, 2)": 2, "__fns(0x16u, 4, -2)": 2, "__fns(1u, 1, 1)": 0xFFFFFFFF,
        "min(3, -4)": -4, "max(3u, 4u)": 4, "min(3ll, 2)": 2, "max(-1, 2u)": 0xFFFFFFFF, "abs(-5)": 5, "llabs(-5ll)": 5,
        "__vadd2(0x0001ffffu, 0x00010001u)": 0x00020000, "__vadd4(0x01020304u, 0x01ff0101u)": 0x02010405,
        "__vsub4(0u, 0x01010101u)": 0xFFFFFFFF, "__vabsdiffu4(0x05000a00u, 0x00050003u)": 0x05050A03,
        "__vmaxs2(0xffff0001u, 0x00000000u)": 0x00000001, "__vcmpeq4(0x01020304u, 0x01000300u)": 0xFF00FF00,
        "__vavgu4(0x01010101u, 0x02020202u)": 0x02020202,
    }  # fmt: skip
    found = evaluated(run, "long long", np.int64, list(cases))
    assert dict(zip(cases, found.tolist(), strict=True)) == cases


def test_conversions(run):
    cases = {
        "__float_as_int(1.0f)": 0x3F800000, "__float_as_uint(-1.0f)": 0xBF800000,
        "__double_as_longlong(1.0)": 0x3FF << 52,
        "__double2hiint(1.0)": 0x3FF00000, "__double2loint(1.0)": 0, "__float2int_rn(f[2])": 4,
        "__float2int_rn(f[3])": -2,
        "__float2int_rz(f[3])": -2, "__float2int_ru(f[2])": 4, "__float2int_rd(f[3])": -3,
        "__float2int_rz(1e20f)": 2**31 - 1,
        "__float2int_rz(-1e20f)": -(2**31), "__float2int_rn(NAN)": 0, "__float2uint_rn(-5.0f)": 0,
        "__float2uint_rz(5e9f)": 2**32 - 1, "__double2ll_rn(2.5)": 2, "__double2ull_rz(1e3)": 1000,
        "__double2int_rd(-0.5)": -1,
        "__float2ll_rz(1e30f)": 2**63 - 1, "__int_as_float(0x3f800000)": 1, "__longlong_as_double(0x3ffll << 52)": 1,
        "__hiloint2double(0x40080000, 0)": 3, "__ll2float_rz(16777217ll)": 16777216,
        "__ll2float_ru(16777217ll)": 16777218,
        "__int2float_rn(7)": 7, "__uint2double_rn(4000000000u)": 4000000000,
    }  # fmt: skip
    found = evaluated(run, "long long", np.int64, list(cases))
    assert dict(zip(cases, found.tolist(), strict=True)) == cases


def test_directed_rounding(run):
    third = np.float32(1) / np.float32(3)
    down, up = np.nextafter(third, np.float32(0)), third
    cases = {
        "__fdiv_rz(1, 3)": down, "__fdiv_rd(1, 3)": down, "__fdiv_ru(1, 3)": up, "__fdiv_rn(1, 3)": up,
        "__frcp_rd(3)": down,
        "__fadd_ru(1, 1e-20f)": np.nextafter(np.float32(1), np.float32(2)), "__fadd_rn(1, 1e-20f)": 1,
        "__fsub_rz(1, 1e-20f)": np.nextafter(np.float32(1), np.float32(0)),
        "__fmul_rn(f[0], f[1])": np.float32(0.1) * np.float32(0.7), "__fsqrt_rn(2)": np.sqrt(np.float32(2)),
        "__double2float_ru(0.1)": np.float32(0.1), "__double2float_rd(0.1)": np.nextafter(np.float32(0.1),
        np.float32(0)),
        "__fmaf_rn(f[0], f[1], f[2])": np.float32(np.float64(np.float32(0.1)) * np.float64(np.float32(0.7)) + 3.5),
    }  # fmt: skip
    found = evaluated(run, "float", np.float32, list(cases))
    np.testing.assert_array_equal(found, np.array(list(cases.values()), np.float32))
    found = evaluated(run, "double", np.float64, ["__ddiv_rd(1, 3)", "__dadd_rn(d[0], d[1])", "__dmul_ru(d[0], d[0])"])
    assert found[0] <= 1 / 3 and found[1] == 0.1 + 0.7 and found[2] in (0.1 * 0.1, np.nextafter(0.1 * 0.1, 1))


def test_mathematics(run):
    special = pytest.importorskip("scipy.special")
    cases = {
        "rsqrt(d[2])": 1 / math.sqrt(3.5), "rcbrt(8.0)": 0.5, "sinpi(0.5)": 1, "cospi(d[1])": math.cos(0.7 * math.pi),
        "sinpi(1e15)": 0, "sinpi(-2.5)": -1, "exp10(2.0)": 100, "erfinv(d[1])": special.erfinv(0.7), "erfinv(0.1)":
        special.erfinv(0.1), "erfinv(-0.999999)": special.erfinv(-0.999999), "erfcinv(1e-100)": special.erfcinv(1e-100),
        "erfcinv(1.5)": special.erfcinv(1.5), "erfcx(3.0)": special.erfcx(3.0), "erfcx(100.0)": special.erfcx(100.0),
        "normcdf(d[1])": special.ndtr(0.7), "normcdfinv(0.025)": special.ndtri(0.025), "norm3d(1.0, 2.0, 2.0)": 3,
        "norm4d(1.0, 1.0, 1.0, 1.0)": 2, "rhypot(3.0, 4.0)": 0.2, "fdivide(1.0, 4.0)": 0.25, "hypot(3.0, 4.0)": 5,
        "fma(2.0, 3.0, 4.0)": 10, "lgamma(4.5)": math.lgamma(4.5), "j0(1.0)": special.j0(1.0),
        "copysign(1.0, -2.0)": -1,
    }  # fmt: skip
    found = evaluated(run, "double", np.float64, list(cases))
    np.testing.assert_allclose(found, list(cases.values()), rtol=4e-15, atol=1e-300)
    floats = {
        "rsqrtf(4)": 0.5, "__expf(f[1])": math.exp(0.7), "__logf(f[2])": math.log(3.5), "__sinf(f[0])": math.sin(0.1),
        "__cosf(f[0])": math.cos(0.1), "__tanf(f[1])": math.tan(0.7), "__powf(2, f[2])": 2**3.5, "__log2f(8)": 3,
        "__log10f(1000)": 3,
        "__exp10f(2)": 100, "__fdividef(1, 4)": 0.25, "__saturatef(7)": 1, "__saturatef(-7)": 0, "__frsqrt_rn(4)": 0.5,
        "min(f[0], f[1])": 0.1, "fmaxf(1, 2)": 2, "max(1.0f, 3)": 3, "min(NAN, 2.0f)": 2, "sqrtf(4)": 2,
        "sin(0.5f)": math.sin(0.5),
        "powf(2, 3)": 8, "rsqrt(16.0f)": 0.25, "sinpif(0.25f)": math.sqrt(0.5), "cospi(1.0f)": -1, "__ldg(&f[2])": 3.5,
        "fabsf(-1)": 1, "floorf(-0.5f)": -1, "fmodf(7, 4)": 3, "exp10f(1)": 10, "cbrtf(27)": 3, "isnan(NAN)": 1,
        "isinf(1.0f)": 0,
    }  # fmt: skip
    found = evaluated(run, "float", np.float32, list(floats))
    np.testing.assert_allclose(found, list(floats.values()), rtol=1e-6, atol=1e-7)
    code = kernel(
        "float* y",
        "    sincosf(0.5f, y, y + 1); sincospif(0.5f, y + 2, y + 3); __stcg(y + 4, 6.0f); __sincosf(1, y + 5, y + 6);",
    )
    expected = [math.sin(0.5), math.cos(0.5), 1, 0, 6, math.sin(1), math.cos(1)]
    np.testing.assert_allclose(run(code, np.zeros(7, "f4"), block=1), expected, rtol=1e-6, atol=1e-7)


# ---------------------------------------------------------------- headers


def test_float16_against_numpy(run):
    code = """
    #include <cuda_fp16.h>
    extern "C" __global__ void k(const __half* x, const half* y, const float* f, __half* out, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        out[i] = x[i] + y[i]; out[n + i] = x[i] * y[i]; out[2 * n + i] = __hsub(x[i], y[i]);
        out[3 * n + i] = x[i] / y[i]; out[4 * n + i] = __float2half(f[i]); out[5 * n + i] = hsqrt(__habs(x[i]));
        out[6 * n + i] = __hmax(x[i], y[i]); out[7 * n + i] = x[i] < y[i] ? __half(1) : __half(0);
        half2 both = __halves2half2(x[i], y[i]);
        both = __hadd2(both, __float2half2_rn(1.0f));
        out[8 * n + i] = __low2half(both); out[9 * n + i] = both.y;
        out[10 * n + i] = __float2half(__half2float(x[i]));
    }"""
    bits = np.concatenate([np.arange(0, 65536, 37), [0, 0x8000, 1, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0xFC00]])
    x = bits.astype(np.uint16).view(np.float16)
    y = rng.permutation(x)
    with np.errstate(all="ignore"):
        f = x[8:].astype(np.float32) * np.float32(1.0004)
    f = np.concatenate([f, [65519, 65520, 2**-25, 3e-8, 1e-8, 6e-5, -7e4, 1]])
    f = f.astype(np.float32)
    n = x.size
    found = run(code, x, y, f, np.zeros(11 * n, np.float16), np.int32(n), grid=-(-n // 256), block=256)[3].reshape(
        11, n
    )
    with np.errstate(all="ignore"):
        expected = [x + y, x * y, x - y, x / y, f.astype(np.float16), np.sqrt(abs(x)), np.fmax(x, y), x < y,
        x + np.float16(1),
                    y + np.float16(1), x]  # fmt: skip
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted.astype(np.float16))


def test_bfloat16_against_ml_dtypes(run):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    code = """
    #include <cuda_bf16.h>
    extern "C" __global__ void k(const __nv_bfloat16* x, const __nv_bfloat16* y, const float* f, __nv_bfloat16* out,
                                 int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        out[i] = x[i] + y[i]; out[n + i] = __hmul(x[i], y[i]); out[2 * n + i] = __float2bfloat16(f[i]);
        __nv_bfloat162 both = __floats2bfloat162_rn(f[i], 2.0f);
        out[3 * n + i] = __low2bfloat16(both * both); out[4 * n + i] = __float2bfloat16(__bfloat162float(x[i]));
    }"""
    x = np.arange(0, 65536, 41).astype(np.uint16).view(bfloat16)
    y = rng.permutation(x)
    with np.errstate(all="ignore"):
        f = (x.astype(np.float32) * np.float32(1.003)).astype(np.float32)
    n = x.size
    found = run(code, x, y, f, np.zeros(5 * n, bfloat16), np.int32(n), grid=-(-n // 256), block=256)[3].reshape(5, n)
    with np.errstate(all="ignore"):
        g = f.astype(bfloat16)
        expected = [x + y, x * y, g, g * g, x]
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got.astype(np.float32), wanted.astype(np.float32))


def test_complex_numbers_constants_and_half_atomics(run):
    code = """
    #include <cuComplex.h>
    #include <cuda_fp16.h>
    #include "math_constants.h"
    extern "C" __global__ void k(cuDoubleComplex* z, float* f, __half* h) {
        z[2] = cuCmul(z[0], z[1]); z[3] = cuCdiv(z[0], z[1]); z[4] = cuCadd(z[0], cuConj(z[1])); z[5].x = cuCabs(z[0]);
        f[0] = CUDART_PI_F; f[1] = CUDART_INF_F;
        atomicAdd(h, __float2half(1.5f));
        atomicAdd((__half2*)(h + 2), __floats2half2_rn(1, 2));
    }"""
    z = np.array([1 + 2j, 3 - 4j, 0, 0, 0, 0])
    z, f, h = run(code, z, np.zeros(2, "f4"), np.zeros(4, "f2"), block=1)
    np.testing.assert_allclose(z[2:], [z[0] * z[1], z[0] / z[1], z[0] + z[1].conj(), abs(z[0])])
    assert f.tolist() == [np.float32(np.pi), np.inf] and h.tolist() == [1.5, 0, 1, 2]


def test_cooperative_groups(run):
    code = """
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(int* out) {
        cg::thread_block block = cg::this_thread_block();
        const int t = block.thread_rank();
        auto tile = cg::tiled_partition<8>(block);
        cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
        int* mine = out + 12 * t;
        mine[0] = cg::reduce(tile, t, cg::plus<int>());
        mine[1] = tile.shfl_down(t, 3);
        mine[2] = tile.shfl(t, 2);
        mine[3] = tile.ballot(t % 2);
        mine[4] = tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.size();
        mine[5] = cg::inclusive_scan(warp, 1);
        block.sync();
        if (t % 4 == 1) {
            cg::coalesced_group some = cg::coalesced_threads();
            mine[6] = some.size() + 100 * some.thread_rank() + 10000 * some.shfl(t, 1);
            mine[7] = cg::reduce(some, t, cg::greater<int>());
        }
        mine[8] = block.size() + block.group_index().x + block.dim_threads().y;
        mine[9] = cg::exclusive_scan(tile, t);
        mine[10] = tile.any(t == 9) + 10 * tile.all(t < 8) + 100 * tile.match_any(t / 4);
        cg::sync(block);
    }"""
    found = run(code, np.zeros(12 * 64, np.int32), block=(32, 2)).reshape(64, 12)
    t = np.arange(64)
    first = t // 8 * 8
    assert (found[:, 0] == 8 * first + 28).all()
    assert (found[:, 1] == np.where(t % 8 < 5, t + 3, t)).all()
    assert (found[:, 2] == first + 2).all() and (found[:, 3] == 0xAA).all()
    assert (found[:, 4] == t % 8 + 100 * (t // 8) + 80000).all() and (found[:, 5] == t % 32 + 1).all()
    some = t[t % 4 == 1]
    assert (found[some, 6] == 8 + 100 * (some % 32 // 4) + 10000 * (some // 32 * 32 + 5)).all()
    assert (found[some, 7] == some // 32 * 32 + 29).all() and (found[:, 8] == 66).all()
    assert (found[:, 9] == [sum(range(f, i)) for f, i in zip(first, t, strict=True)]).all()
    match = np.where(t % 8 < 4, 0x0F, 0xF0)
    assert (found[:, 10] == ((t // 8 == 1) + 10 * (t < 8) + 100 * match)).all()


# ---------------------------------------------------------------- programs

MATMUL = """
template <int TILE> __global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int m = 0; m < n; m += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + m + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(m + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
"""


@pytest.mark.parametrize("tile", [4, 16, 32])
@pytest.mark.parametrize("options", [(), CHECK])
def test_tiled_matrix_product(run, tile, options):
    a, b = rng.standard_normal((2, 64, 64)).astype(np.float32)
    names = [f"matmul<{size}>" for size in (4, 16, 32)]
    grid = (64 // tile, 64 // tile)
    c = run(MATMUL, a, b, np.zeros_like(a), np.int32(64), grid=grid, block=(tile, tile), name=f"matmul<{tile}>",
            names=names, options=options)[2]  # fmt: skip
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", [(), CHECK])
def test_transpose_histogram_and_reduction(run, device, options):
    code = """
    template <typename T> __global__ void transpose(const T* x, T* y, int n) {
        __shared__ T tile[16][17];
        tile[threadIdx.y][threadIdx.x] = x[(blockIdx.y * 16 + threadIdx.y) * n + blockIdx.x * 16 + threadIdx.x];
        __syncthreads();
        y[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
    }
    extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
        __shared__ unsigned mine[256];
        for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
        __syncthreads();
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
            atomicAdd(&mine[x[i]], 1u);
        __syncthreads();
        for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], mine[i]);
    }
    extern "C" __global__ void sum(const double* x, double* out, int n) {
        __shared__ double warps[32];
        double v = 0;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += x[i];
        for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
        __syncthreads();
        if (threadIdx.x < 32) {
            v = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
            for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
            if (threadIdx.x == 0) atomicAdd(out, v);
        }
    }"""
    module = device.module({"kernel.cu": code}, options=options, names=("transpose<double>", "transpose<short>"))
    for ctype, dtype in (("double", "f8"), ("short", "i2")):
        x = rng.integers(0, 1000, (48, 48)).astype(dtype)
        found = run("", x, np.zeros_like(x), np.int32(48), grid=(3, 3), block=(16, 16), name=f"transpose<{ctype}>",
                    module=module)[1]  # fmt: skip
        assert (found == x.T).all()
    x = rng.integers(0, 256, 20000).astype(np.uint8)
    bins = run("", x, np.zeros(256, "u4"), np.int32(x.size), grid=8, block=192, name="histogram", module=module)[1]
    assert (bins == np.bincount(x, minlength=256)).all()
    x = rng.integers(0, 1000, 9999).astype(np.float64)
    assert run("", x, np.zeros(1), np.int32(x.size), grid=5, block=256, name="sum", module=module)[1][0] == x.sum()


GRID_SYNC = """
#include <cooperative_groups.h>
extern "C" __global__ void k(int* x, int* y, int rounds) {
    auto grid = cooperative_groups::this_grid();
    const int i = grid.thread_rank(), n = grid.size();
    for (int r = 0; r < rounds; ++r) {
        y[i] = x[(i + 33) % n] + 1;
        grid.sync();
        x[i] = y[i];
        grid.sync();
    }
}"""


@pytest.mark.parametrize("options", [(), CHECK])
def test_the_grid_is_synchronized(run, options):
    x = rng.integers(0, 100, 1280).astype(np.int32)
    found, _ = run(GRID_SYNC, x, x * 0, np.int32(5), grid=(5, 4), block=64, cooperative=True, options=options)
    assert (found == np.roll(x, -165) + 5).all()
    found, _ = run(GRID_SYNC, x[:64], x[:64] * 0, np.int32(1), grid=1, block=64, options=options)
    assert (found == np.roll(x[:64], -33) + 1).all()


def test_many_blocks_and_threads_at_once(run, device):
    code = kernel(
        "unsigned long long* total",
        """
    __shared__ int part[1024];
    part[t] = t;
    for (int s = 512; s > 0; s /= 2) { __syncthreads(); if (t < s) part[t] += part[t + s]; }
    if (t == 0) atomicAdd(total, (unsigned long long)part[0]);""",
    )
    module = device.module({"kernel.cu": code})
    found = []
    workers = [
        threading.Thread(target=lambda: found.append(run("", np.zeros(1, "u8"), grid=40, block=1024, module=module)[0]))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [40 * 1023 * 512] * 4


# ---------------------------------------------------------------- modules


def test_name_expressions_variables_and_several_sources(run, device):
    sources = {
        "main.cu": """
            __device__ float half_of(float);
            __constant__ float shift = 1;
            __device__ int table[3] = {1, 2, 3};
            static __device__ double hidden = 2.5;
            namespace space { __device__ short deep[5]; }
            namespace space { template <int N> __global__ void add(int* x) { x[threadIdx.x] += N; } }
            __global__ void plain(int* x) { x[threadIdx.x] = hidden; }
            extern "C" __global__ void f(float* x) { x[threadIdx.x] = half_of(x[threadIdx.x]) + shift + table[2]; }
            __shared__ int of_the_file[8];
        """,
        "part.cu": "extern __device__ int table[3];\n"
        "__device__ float half_of(float x) { return x / 2 + table[0] - 1; }\n",
    }
    names = ("space::add<3>", "space::add<-4>", "plain", "&space::deep", "hidden")
    module = device.module(sources, names=names)
    assert device.module(dict(sources), names=names) is module
    x = np.arange(32, dtype=np.float32)
    assert (run("", x, name="f", module=module) == x / 2 + 4).all()
    whole = np.arange(32, dtype=np.int32)
    assert (run("", whole, name="space::add<3>", module=module) == whole + 3).all()
    assert (run("", whole, name="space::add<-4>", module=module) == whole - 4).all()
    assert (run("", whole, name="plain", module=module) == 2).all()
    address, nbytes = module.variable("table")
    assert nbytes == 12 and address % 4 == 0
    values = (ctypes.c_int * 3).from_address(address)
    assert list(values) == [1, 2, 3]
    values[2] = 10
    assert (run("", x, name="f", module=module) == x / 2 + 11).all()
    assert module.variable("shift")[1] == 4 and module.variable("space::deep")[1] == 10
    assert ctypes.c_double.from_address(module.variable("hidden")[0]).value == 2.5
    for wrong in ("nothing", "table", "space::add"):
        with pytest.raises(KeyError):
            module.function(wrong)
    for wrong in ("nothing", "f", "numloom_entries_0"):
        with pytest.raises(KeyError):
            module.variable(wrong)
    with pytest.raises(CompileError, match="half_of"):
        device.module({"main.cu": sources["main.cu"], "part.cu": "__device__ int table_[3];"}, names=names)


def test_options_headers_and_files(run, device, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "factor.h").write_text("#pragma once\n#define FACTOR 7\n")
    (tmp_path / "beside.h").write_text('extern "C" __global__ void other(int* x) { x[0] = 5; }\n')
    code = """
    #include <factor.h>
    #include "beside.h"
    #define DEFINE(name) extern "C" __global__ void name(int* x) { x[threadIdx.x] = FACTOR * EXTRA + LONGER; }
    #if __cplusplus >= 202002L
    DEFINE(k)
    #endif
    """
    options = (f"-I{tmp_path / 'inner'}", "-DEXTRA=2", "-DLONGER=(1 + 1)", "-std=c++20", "-lineinfo", "-use_fast_math")
    source = {str(tmp_path / "kernels.cu"): code}
    module = device.module(source, options=options)
    assert (run("", np.zeros(32, "i4"), module=module) == 16).all()
    assert run("", np.zeros(1, "i4"), name="other", module=module, block=1)[0] == 5
    (tmp_path / "inner" / "factor.h").write_text("#define FACTOR 100\n")
    assert (run("", np.zeros(32, "i4"), module=device.module(source, options=options)) == 202).all()


def test_modules_are_kept_on_disk(tmp_path, run):
    code = kernel("int* x", "    x[t] = 3;")
    program = (
        "import sys, numpy as np\n"
        "from numloom.base.config import config\n"
        "from numloom.device.cpu import compiler\n"
        "from numloom.device.cpu.backend import CpuDevice\n"
        "config.cache_dir = sys.argv[1]\n"
        "runs = []\n"
        "inner = compiler.Compiler._run\n"
        "compiler.Compiler._run = lambda self, *a: (runs.append(a), inner(self, *a))[1]\n"
        "device = CpuDevice()\n"
        f"device.module({{'kernel.cu': {code!r}}}).function('k')\n"
        "print(len(runs))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("NUMLOOM_CHECK", None)
    command = [sys.executable, "-c", program, str(tmp_path / "cache")]
    runs = [int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout) for _ in range(2)]
    assert runs[0] > 3 and runs[1] == 0
    with config(cache_dir=str(tmp_path / "cache")):
        for entry in (tmp_path / "cache").iterdir():  # damaged entries are built again
            entry.write_bytes(entry.read_bytes()[:-100])
        assert int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout) > 3


def test_attributes_sizes_and_limits(device):
    code = """
    template <class T> __global__ void f(T* x) { __shared__ T part[100]; part[threadIdx.x] = x[0]; __syncthreads();
        x[1] = part[3]; }
    extern "C" __global__ void k(float* x, char c, double d) { __shared__ float a[10]; __shared__ int b;
        a[threadIdx.x] = c; b = d; __syncthreads(); x[0] = a[1] + b; }"""
    module = device.module({"kernel.cu": code}, names=("f<double>",))
    function = module.function("k")
    assert function.attributes["shared_size_bytes"] == 44 and function.attributes["max_threads_per_block"] == 1024
    assert module.function("f<double>").attributes["shared_size_bytes"] == 800
    one = (1, 1, 1)
    good = [bytes(8), bytes(1), bytes(8)]
    with pytest.raises(TypeError, match="takes 3 arguments, 2 were given"):
        function.launch(one, one, good[:2])
    with pytest.raises(TypeError, match="argument 2 of kernel k has 4 bytes, its parameter takes 1"):
        function.launch(one, one, [bytes(8), bytes(4), bytes(8)])
    for grid, block, shared, message in [
        ((0, 1, 1), one, 0, "grid.x must be from 1 to 2147483647, got 0"),
        ((1, 65536, 1), one, 0, "grid.y must be from 1 to 65535"),
        (one, (2048, 1, 1), 0, "block.x must be from 1 to 1024"),
        (one, (1, 1, 65), 0, "block.z must be from 1 to 64"),
        (one, (32, 33, 1), 0, "32 x 33 x 1 threads has 1056, at most 1024"),
        (one, one, 232449, "232449 bytes of dynamic shared memory"),
        (one, one, -1, "-1 bytes of dynamic shared memory"),
    ]:
        with pytest.raises(ValueError, match=message):
            function.launch(grid, block, good, shared=shared)
    with pytest.raises(ValueError, match="all its blocks at once"):
        function.launch((100000, 1, 1), one, good, cooperative=True)
    with pytest.raises(ValueError, match="there is no check 'rases'"):
        device.module({"kernel.cu": code}, options=("--check=rases",))


def test_without_compiling(device):
    with config(cpu_compile="never"), pytest.raises(MissingDependencyError, match="switched off"):
        device.module({"kernel.cu": "// nothing of this kind was compiled before"})


def test_names_and_lines_in_binaries():
    with pytest.raises(ValueError, match="ELF"):
        Image(b"MZ" + bytes(100))


# ---------------------------------------------------------------- errors of the compiler

WRONG = {
    "syntax": ("int* x", "    x[0] = ;", 3, "expected"),
    "a name": ("int* x", "    int i = 0;\n    x[i] = unknown_name;", 4, "unknown_name"),
    "assembly": ("int* x", '    int l;\n    asm volatile("mov.u32 %0, %%laneid;" : "=r"(l));', 4,
    "inline PTX assembly runs on a GPU"),
    "texture": ("float* x, cudaTextureObject_t a", "    x[0] =\n        tex2DLod<float>(a, 1.f, 2.f, 0.f);", 4,
    "tex2DLod runs on a GPU only"),
    "a launch": ("int* x", "    k<<<1, 2>>>(x);", 3, "kernels that launch kernels"),
    "types": ("int* x", "    const char* s = x;", 3, "cannot convert|incompatible|cannot initialize"),
}  # fmt: skip


@pytest.mark.parametrize("which", WRONG)
def test_errors_of_the_compiler_show_the_line(device, which):
    parameters, body, line, message = WRONG[which]
    with pytest.raises(CompileError, match=message) as caught:
        device.module({"kernel.cu": kernel(parameters, body)})
    shown = [text for text in str(caught.value).splitlines() if text.startswith(">")]
    assert shown == [f"> {line:5d} | {kernel(parameters, body).splitlines()[line - 1]}"]


def test_errors_in_headers_names_and_files(device, tmp_path):
    (tmp_path / "broken.h").write_text("int fine;\nint broken(;\n")
    with pytest.raises(CompileError, match=r"broken\.h.*\n.*\n.*\n> +2 \| int broken\(;"):
        device.module({"kernel.cu": '#include "broken.h"\n'}, options=(f"-I{tmp_path}",))
    with pytest.raises(CompileError, match="name expression 'gone<float>' does not fit"):
        device.module({"kernel.cu": "template <class T> __global__ void there(T* x) {}"}, names=("gone<float>",))
    with pytest.raises(CompileError, match=r"nowhere\.h"):
        device.module({"kernel.cu": "#include <nowhere.h>\n"})
    with pytest.raises(CompileError, match=r"one\.cu\)"):
        device.module({"one.cu": "int x = y;", "two.cu": ""})


# ---------------------------------------------------------------- errors of kernels


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
    spans = [Span(buffer.ptr, buffer.ptr, middle), Span(middle, middle, middle + 256)]
    code = kernel("float* x, float* y, int n", "    x[t] = 1; y[t] = 2; if (t == 63) x[n] = 5;")
    function = device.module({"kernel.cu": code}, options=CHECK).function("k")
    function.launch((1, 1, 1), (64, 1, 1), [*spans, np.int32(63).tobytes()])
    assert device.download(buffer, 0, 512).view("f4").tolist() == [1] * 63 + [5] + [2] * 64
    with pytest.raises(DeviceError, match="at byte 256 of argument 1"):
        function.launch((1, 1, 1), (64, 1, 1), [*spans, np.int32(64).tobytes()])
    # Arrays that overlap stay together, and a view's own bounds hold.
    spans = [Span(buffer.ptr + 4, buffer.ptr, middle), Span(buffer.ptr, buffer.ptr, buffer.ptr + 512)]
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
    span = Span(buffer.ptr, buffer.ptr, buffer.ptr + 64)
    device.copy(buffer, 0, device.upload(np.array([buffer.ptr + 32], np.uint64)), 0, 8)
    code = kernel("unsigned long long** x", "    *x[0] = 77;")
    device.module({"kernel.cu": code}, options=CHECK).function("k").launch((1, 1, 1), (1, 1, 1), [span])
    assert device.download(buffer, 32, 8).view("u8")[0] == 77


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
