"""RawKernel and RawModule: programs as users write them, every kind of argument, and every kind of mistake."""

import gc
import os
import subprocess
import sys
import threading

import numpy
import pytest

import numloom as np
from numloom import CompileError, RawKernel, RawModule
from numloom.device import registry

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not hasattr(registry.current(), "module"), reason="no raw kernels on this device yet"),
]

rng = numpy.random.default_rng(7)


# ---------------------------------------------------------------- programs

MATMUL = r"""
#define TILE 16
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k)
{
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
        const int ka = t * TILE + threadIdx.x, kb = t * TILE + threadIdx.y;
        ta[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0;
        tb[threadIdx.y][threadIdx.x] = column < n && kb < k ? b[kb * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
"""


@pytest.mark.parametrize("m, n, k", [(16, 16, 16), (33, 47, 50), (1, 5, 70)])
def test_tiled_matrix_product(m, n, k):
    kernel = RawKernel(MATMUL, "matmul")
    a = np.asarray(rng.standard_normal((m, k)).astype(numpy.float32))
    b = np.asarray(rng.standard_normal((k, n)).astype(numpy.float32))
    c = np.empty((m, n), np.float32)
    kernel(((n + 15) // 16, (m + 15) // 16), (16, 16), (a, b, c, m, n, k))
    numpy.testing.assert_allclose(c.get(), a.get() @ b.get(), rtol=1e-4, atol=1e-4)


TRANSPOSE = r"""
template <typename T> __global__ void transpose(const T* x, T* y, int rows, int columns)
{
    __shared__ T tile[32][33];
    int i = blockIdx.x * 32 + threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int j = blockIdx.y * 32 + r;
        if (i < columns && j < rows) tile[r][threadIdx.x] = x[j * columns + i];
    }
    __syncthreads();
    i = blockIdx.y * 32 + threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int j = blockIdx.x * 32 + r;
        if (i < rows && j < columns) y[j * rows + i] = tile[threadIdx.x][r];
    }
}
"""


@pytest.mark.parametrize("ctype, dtype", [("float", "f4"), ("double", "f8"), ("short", "i2"), ("unsigned char", "u1")])
def test_transpose(ctype, dtype):
    x = np.asarray(rng.integers(0, 100, (70, 45)).astype(dtype))
    y = np.zeros((45, 70), dtype)
    RawKernel(TRANSPOSE, f"transpose<{ctype}>")((2, 3), (32, 8), (x, y, 70, 45))
    numpy.testing.assert_array_equal(y.get(), x.get().T)


REDUCE = r"""
__device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}
extern "C" __global__ void block_sum(const float* x, float* out, int n)
{
    __shared__ float warps[32];
    float value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += x[i];
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
        value = warp_sum(value);
        if (threadIdx.x == 0) atomicAdd(out, value);
    }
}
"""


def test_block_reduction_with_warp_shuffles():
    x = np.asarray(rng.integers(0, 10, 5000).astype(numpy.float32))
    out = np.zeros(1, np.float32)
    RawKernel(REDUCE, "block_sum")((4,), (256,), (x, out, x.size))
    assert out.get()[0] == x.get().sum()


HISTOGRAM = r"""
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, int n)
{
    __shared__ unsigned int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
"""


def test_histogram_with_shared_atomics():
    x = np.asarray(rng.integers(0, 256, 10_000).astype(numpy.uint8))
    bins = np.zeros(256, np.uint32)
    RawKernel(HISTOGRAM, "histogram")(3, 256, (x, bins, x.size))
    numpy.testing.assert_array_equal(bins.get(), numpy.bincount(x.get(), minlength=256))


SCALE = r"""
template <typename T, int Factor = 2> __global__ void scale(T* x, T shift, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * Factor + shift;
}
"""


def test_a_module_with_templates():
    names = ("scale<float>", "scale<double>", "scale<double, 5>")
    module = RawModule(code=SCALE, options=("-std=c++17",), name_expressions=names)
    for name, dtype, factor in zip(names, ("f4", "f8", "f8"), (2, 2, 5), strict=True):
        x = np.arange(100, dtype=dtype)
        module.get_function(name)((2,), (64,), (x, 0.5, 100))
        numpy.testing.assert_array_equal(x.get(), numpy.arange(100, dtype=dtype) * factor + 0.5)
    with pytest.raises(ValueError, match=r"no kernel 'scale<int>'.*name_expressions"):
        module.get_function("scale<int>")


def test_a_kernel_from_a_file_with_an_include_path(tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "factor.cuh").write_text("#pragma once\n#define FACTOR 3\n")
    (tmp_path / "beside.cuh").write_text("__device__ inline float moved(float x) { return x + SHIFT; }\n")
    (tmp_path / "kernel.cu").write_text(
        '#include "factor.cuh"\n#include "beside.cuh"\n'
        'extern "C" __global__ void f(float* x) { x[threadIdx.x] = moved(x[threadIdx.x]) * FACTOR; }\n'
    )
    module = RawModule(path=tmp_path / "kernel.cu", options=("-I", str(tmp_path / "include"), "-DSHIFT=0.5f"))
    x = np.arange(8, dtype=np.float32)
    module.get_function("f")(1, 8, (x,))
    assert x.get().tolist() == [(i + 0.5) * 3 for i in range(8)]


NAMES = "A B F I N T U X a b c f h k n p r s t v w z block count data first grid index lane name size step thread value"


def test_macros_may_have_any_name_that_the_source_has_not():
    code = """
#ifdef NUMLOOM_CPU
#include <cuda_fp16.h>
#else
typedef float __half;
#endif
extern "C" __global__ void twice(float* out) { __half two(2.0f); out[threadIdx.x] *= float(two) + N; }"""
    names = NAMES.split() if registry.current().name != "cuda" else ["N"]  # NVRTC's own header takes not all of them.
    options = tuple(f"-D{name}={number}" for number, name in enumerate(names))
    found = np.ones(4, dtype=np.float32)
    RawKernel(code, "twice", options)(1, 4, (found,))
    assert found.get().tolist() == [2.0 + names.index("N")] * 4


@pytest.mark.parametrize("kind", ["elementwise", "reduction"])
def test_macros_of_kernels_that_fuse_may_have_any_name(kind):
    options = tuple(f"-D{name}={number}" for number, name in enumerate(NAMES.split()))
    at = NAMES.split().index("N")
    x = np.ones(100, dtype=np.float64)
    if kind == "elementwise":
        kernel = np.ElementwiseKernel("float64 it", "float64 to", "to = it + N", "plus", options=options)
        assert kernel(x).get().tolist() == [1.0 + at] * 100
    else:
        kernel = np.ReductionKernel(
            "float64 it", "float64 to", "it + N", "a + b", "to = a", "0", "total", options=tuple(
                option for option in options if option[2] not in "ab"
            )
        )  # fmt: skip
        assert float(kernel(x)) == 100 * (1.0 + at)


def test_several_sources_are_linked():
    module = RawModule(
        {
            "main.cu": "__device__ float half_of(float);\n"
            'extern "C" __global__ void f(float* x) { x[threadIdx.x] = half_of(x[threadIdx.x]); }\n',
            "part.cu": "__device__ float half_of(float x) { return x / 2; }\n",
        }
    )
    x = np.arange(4, dtype=np.float32)
    module.get_function("f")(1, 4, (x,))
    assert x.get().tolist() == [0, 0.5, 1, 1.5]


DYNAMIC = r"""
extern "C" __global__ void reversed_(double* x, int n)
{
    extern __shared__ double held[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) held[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = held[n - 1 - i];
}
"""


@pytest.mark.parametrize("n", [10, 3000, 9000])
def test_dynamic_shared_memory(n):
    kernel = RawKernel(DYNAMIC, "reversed_")
    x = np.arange(n, dtype=np.float64)
    kernel(1, 128, (x, n), shared_mem=8 * n)
    numpy.testing.assert_array_equal(x.get(), numpy.arange(n)[::-1])


def test_constant_and_global_variables():
    module = RawModule(
        code=r"""
        #define N 4
        __constant__ float weights[N][2];
        __device__ int calls;
        struct Pair { int a; double b; };
        __device__ Pair pair;
        extern "C" __global__ void f(float* x) {
            x[threadIdx.x] = weights[threadIdx.x][1] + pair.a;
            if (threadIdx.x == 0) calls += 1;
        }"""
    )
    weights = module.get_global("weights")
    assert weights.shape == (4, 2) and weights.dtype == np.float32
    weights[...] = numpy.arange(8).reshape(4, 2)
    assert module.get_global("pair").shape == (16,)
    assert module.get_global("weights", np.int32, 8).shape == (8,)
    calls = module.get_global("calls")
    assert calls.shape == () and int(calls) == 0
    x = np.zeros(4, np.float32)
    kernel = module.get_function("f")
    for _ in range(3):
        kernel(1, 4, (x,))
    assert x.get().tolist() == [1, 3, 5, 7]
    assert int(module.get_global("calls")) == 3 and int(calls) == 3
    weights[2, 1] = 50
    kernel(1, 4, (x,))
    assert x.get().tolist() == [1, 3, 50, 7]
    with pytest.raises(ValueError, match="no variable 'nothing'"):
        module.get_global("nothing")
    with pytest.raises(ValueError, match="has 32 bytes"):
        module.get_global("weights", np.float64, 100)


def test_cooperative_launch():
    code = r"""
    #include <cooperative_groups.h>
    extern "C" __global__ void shifted(int* x, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        const int value = x[(i + 1) % n];
        cooperative_groups::this_grid().sync();
        x[i] = value;
    }"""
    kernel = RawKernel(code, "shifted", enable_cooperative_groups=True)
    x = np.arange(256, dtype=np.int32)
    kernel(4, 64, (x, 256))
    numpy.testing.assert_array_equal(x.get(), numpy.roll(numpy.arange(256), -1))


def test_halves():
    code = r"""
    #include <cuda_fp16.h>
    extern "C" __global__ void f(const __half* x, __half* y, __half a) {
        y[threadIdx.x] = __hadd(x[threadIdx.x], a);
    }"""
    x = np.arange(8, dtype=np.float16)
    y = np.zeros_like(x)
    RawKernel(code, "f")(1, 8, (x, y, 0.5))
    assert y.get().tolist() == [i + 0.5 for i in range(8)]


# ---------------------------------------------------------------- arguments

ECHO = r"""
struct Pair { int a; double b; };
extern "C" __global__ void echo(double* out, bool p, signed char b, unsigned short h, int i, unsigned long long q,
                                float f, double d, Pair pair, float2 v)
{
    out[0] = p; out[1] = b; out[2] = h; out[3] = i; out[4] = (double)q; out[5] = f; out[6] = d;
    out[7] = pair.a; out[8] = pair.b; out[9] = v.x; out[10] = v.y;
}
"""
PAIR = numpy.dtype([("a", "i4"), ("b", "f8")], align=True)


@pytest.mark.parametrize("numpy_scalars", [False, True])
def test_scalars_take_the_type_of_the_parameter(numpy_scalars):
    pair = numpy.array((7, 8.5), PAIR)[()]
    values = [True, -3, 65535, -(2**31), 2**40, 1.5, 0.1]
    if numpy_scalars:
        types = ["?", "i1", "u2", "i8", "u8", "f4", "f8"]
        values = [numpy.dtype(name).type(value) for name, value in zip(types, values, strict=True)]
    out = np.zeros(11)
    RawKernel(ECHO, "echo")(1, 1, (out, *values, pair, (2.0, 3.0)))
    assert out.get().tolist() == [1, -3, 65535, -(2**31), 2**40, 1.5, 0.1, 7, 8.5, 2, 3]
    RawKernel(ECHO, "echo")(1, 1, (out, *values, pair, numpy.complex64(4 + 5j)))
    assert out.get().tolist()[9:] == [4, 5]


FILL = 'extern "C" __global__ void fill(float* x, int n, float a) { for (int i = 0; i < n; ++i) x[i] = a; }'


@pytest.mark.parametrize(
    "args, error, words",
    [
        (("x", 3.0, 1.0), TypeError, r"argument 2 \(int n\) takes int32, got float 3.0"),
        (("x", 2**31, 1.0), OverflowError, r"argument 2 \(int n\) got 2147483648, out of the range of int32"),
        (("x", numpy.int64(2**40), 1.0), OverflowError, r"\(int n\) got 1099511627776"),
        (("x", 3, "one"), TypeError, r"argument 3 \(float a\) takes float32, got str 'one'"),
        (("x", 3, numpy.float64(0.1)), TypeError, r"\(float a\) got a float64, which float32 would cut"),
        (("x", 3, 1e300), OverflowError, r"\(float a\) got 1e\+300, out of the range"),
        (("x", 3, 2**24 + 1), OverflowError, r"\(float a\) got 16777217, which float32 cannot hold exactly"),
        (("x", 3, 1j), TypeError, r"\(float a\)"),
        (("x", 3), TypeError, r"fill takes 3 arguments \(float\* x, int n, float a\), 2 were given"),
        (("x", 3, 1.0, 2), TypeError, "4 were given"),
        ((), TypeError, "0 were given"),
        (("d", 3, 1.0), TypeError, r"argument 1 \(float\* x\) points to float32, the array given has dtype float64"),
        ((numpy.zeros(3, "f4"), 3, 1.0), TypeError, r"argument 1 \(float\* x\) is a NumPy array.*numloom.asarray"),
        ((2.5, 3, 1.0), TypeError, r"argument 1 \(float\* x\) needs an array"),
        (([1, 2], 3, 1.0), TypeError, r"argument 1 \(float\* x\) needs an array"),
        ((-1, 3, 1.0), OverflowError, "no address"),
        (("x", "x", 1.0), TypeError, r"argument 2 \(int n\) takes a number, got an array"),
        (("x", 3, "x"), TypeError, r"argument 3 \(float a\) takes a number, got an array"),
        (("r", 3, 1.0), ValueError, r"argument 1 \(float\* x\).*read-only"),
    ],
)
def test_wrong_arguments(args, error, words):
    arrays = {"x": np.zeros(3, np.float32), "d": np.zeros(3), "r": np.broadcast_to(np.zeros(1, np.float32), (3,))}
    kernel = RawKernel(FILL, "fill")
    with pytest.raises(error, match=words):
        kernel(1, 1, tuple(arrays.get(a, a) if isinstance(a, str) else a for a in args))
    assert arrays["x"].storage.pins == 0
    kernel(1, 1, (arrays["x"], 3, 1))
    assert arrays["x"].get().tolist() == [1, 1, 1]


def test_pointers_by_address_and_none():
    code = 'extern "C" __global__ void f(const int* x, int* y) { y[0] = x == nullptr ? -1 : x[0]; }'
    kernel = RawKernel(code, "f")
    y = np.zeros(1, np.int32)
    kernel(1, 1, (None, y))
    assert y.get()[0] == -1
    buffer = registry.current().upload(numpy.array([42], numpy.int32).view(numpy.uint8))
    kernel(1, 1, (buffer.ptr, y))
    assert y.get()[0] == 42
    kernel(1, 1, (buffer, y))
    kernel(1, 1, (numpy.uint64(buffer.ptr), y))
    assert y.get()[0] == 42


def test_integers_of_one_width_and_views():
    kernel = RawKernel('extern "C" __global__ void f(unsigned* x, int s) { x[(int)threadIdx.x * s] += 1; }', "f")
    x = np.zeros(10, np.int32)
    kernel(1, 3, (x, 1))
    kernel(1, 3, (x[4:], 2))
    kernel(1, 2, (x[::-1], -1))
    assert x.get().tolist() == [1, 1, 1, 0, 1, 0, 1, 0, 2, 1]
    kernel(1, 1, (np.zeros(1, np.uint32), 1))


@pytest.mark.parametrize("fresh", [True, False])
def test_recorded_work_and_the_kernel_keep_the_order(fresh):
    kernel = RawKernel('extern "C" __global__ void inc(float* x) { x[threadIdx.x] += 1; }', "inc")
    x = np.arange(4, dtype=np.float32)
    if not fresh:
        np.synchronize()
    y = x * 2  # recorded before the kernel: sees the old values
    kept = x.copy()
    alias = x[1:]
    kernel(1, 4, (x,))
    z = x * 2
    alias += 10
    kernel(1, 4, (x,))
    assert y.get().tolist() == [0, 2, 4, 6]
    assert kept.get().tolist() == [0, 1, 2, 3]
    assert z.get().tolist() == [2, 4, 6, 8]
    assert x.get().tolist() == [2, 13, 14, 15]


def test_a_shared_value_is_not_written_for_others():
    kernel = RawKernel('extern "C" __global__ void f(const float* x, float* y) { y[0] = x[1] + 1; }', "f")
    x = np.asarray(numpy.arange(2, dtype=numpy.float32))
    other = np.asarray(x).copy()
    kernel(1, 1, (x, x))
    assert x.get().tolist() == [2, 1] and other.get().tolist() == [0, 1]
    a = np.zeros(2, np.float32)
    b = np.array(a)
    kernel(1, 1, (a, b))
    assert a.get().tolist() == [0, 0] and b.get().tolist() == [1, 0]


def test_empty_arrays_and_scalars_of_ours():
    kernel = RawKernel('extern "C" __global__ void f(float* x, int n) { if (n) x[0] = 5; }', "f")
    kernel(1, 1, (np.zeros(0, np.float32), 0))
    x = np.array(1, np.float32)
    kernel(1, 1, (x, 1))
    assert float(x) == 5


def test_kernels_without_parameters_and_lists():
    RawKernel('extern "C" __global__ void nothing() { }', "nothing")([1], [32], [])
    RawKernel('extern "C" __global__ void nothing(void) { }', "nothing")((1, 1, 1), (32, 1, 1))


def test_a_name_without_c_linkage():
    x = np.zeros(2, np.float32)
    RawKernel("namespace mine { __global__ void f(float* x) { x[threadIdx.x] = 3; } }", "mine::f")(1, 2, (x,))
    assert x.get().tolist() == [3, 3]
    module = RawModule(code="__global__ void f(float* x) { }")
    with pytest.raises(ValueError, match=r'no C linkage: write extern "C" before it, or give name_expressions=\["f"\]'):
        module.get_function("f")


# ---------------------------------------------------------------- launches and mistakes


@pytest.mark.parametrize(
    "grid, block, error, words",
    [
        (0, 1, ValueError, r"grid 0 has 0 blocks along x: 1 to 2147483647"),
        ((1, 70000), 1, ValueError, "70000 blocks along y: 1 to 65535"),
        ((2**31,), 1, ValueError, "along x"),
        (1, 0, ValueError, "block 0 has 0 threads"),
        (1, (1024, 2), ValueError, "1024 x 2 x 1 threads has 2048, at most 1024"),
        (1, 4096, ValueError, "4096 threads along x: 1 to 1024"),
        (1, (1, 1, 128), ValueError, "along z"),
        (-1, 1, ValueError, "-1 blocks"),
        (2.5, 1, TypeError, "int or a tuple"),
        ((2.0,), 1, TypeError, "divide with //"),
        ((1, 1, 1, 1), 1, TypeError, "one to three"),
        ((), 1, TypeError, "one to three"),
        (None, 1, TypeError, "grid must be"),
        (1, "32", TypeError, "block must be"),
        (True, 1, TypeError, "ints"),
    ],
)
def test_absurd_launches(grid, block, error, words):
    with pytest.raises(error, match=words):
        RawKernel(FILL, "fill")(grid, block, (np.zeros(3, np.float32), 3, 1.0))


def test_other_launch_mistakes():
    kernel = RawKernel(FILL, "fill")
    x = np.zeros(3, np.float32)
    with pytest.raises(TypeError, match="must be a tuple"):
        kernel(1, 1, x)
    with pytest.raises(ValueError, match="shared_mem"):
        kernel(1, 1, (x, 3, 1.0), shared_mem=-1)
    with pytest.raises(TypeError, match="shared_mem"):
        kernel(1, 1, (x, 3, 1.0), shared_mem=1.5)
    with pytest.raises(TypeError, match="stream must be"):
        kernel(1, 1, (x, 3, 1.0), stream="fast")
    with pytest.raises(ValueError):
        kernel(1, 1, (x, 3, 1.0), shared_mem=1 << 30)
    kernel(1, 1, (x, 3, 1.0))
    assert x.get().tolist() == [1, 1, 1]


def test_a_syntax_error_is_shown_where_it_is():
    code = 'extern "C" __global__ void f(float* x)\n{\n    int i = threadIdx.x\n    x[i] = 1;\n}\n'
    with pytest.raises(CompileError) as caught:
        RawKernel(code, "f").compile()
    assert "> " in str(caught.value) and "x[i] = 1;" in str(caught.value)
    with pytest.raises(CompileError, match="unknown_function"):
        RawModule(code='extern "C" __global__ void f(float* x)\n{\n    x[0] = unknown_function(1);\n}\n').compile()


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: RawModule(), TypeError, "either code or path"),
        (lambda: RawModule(code="", path="x.cu"), TypeError, "either code or path"),
        (lambda: RawModule(code=3), TypeError, "code must be"),
        (lambda: RawModule(path="/nowhere/at/all.cu"), FileNotFoundError, "all.cu"),
        (lambda: RawModule(path=["kernel.cubin"]), ValueError, "compiled already"),
        (lambda: RawModule(path="/nowhere/kernel.cubin"), FileNotFoundError, "kernel.cubin"),
        (lambda: RawKernel(FILL, ""), TypeError, "name"),
        (lambda: RawKernel(FILL, "fill", ("-o/tmp/x",)), ValueError, "not among those that are allowed"),
        (lambda: RawKernel(FILL, "fill", ("-DX; rm -rf /\n",)), ValueError, "not among"),
        (lambda: RawKernel(FILL, "fill", ("-arch=sm_70",)), ValueError, "not among"),
        (lambda: RawKernel(FILL, "fill", ("-fplugin=evil.so",)), ValueError, "not among"),
        (lambda: RawKernel(FILL, "fill", "-DX"), TypeError, "tuple or list"),
        (lambda: RawKernel(FILL, "fill", (3,)), TypeError, "string"),
        (lambda: RawKernel(FILL, "fill", backend="nvcc"), ValueError, "nvcc"),
        (lambda: RawModule(code=SCALE, name_expressions="scale<int>"), TypeError, "list of strings"),
        (lambda: RawModule(code=SCALE, name_expressions=["f; }"]), ValueError, "no name expression"),
        (lambda: RawKernel(FILL, "empty").compile(), ValueError, "no kernel 'empty': the source defines fill"),
    ],
)
def test_wrong_definitions(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_options_reach_no_shell(tmp_path):
    marker = tmp_path / "made"
    value = f'"$(touch {marker})`touch {marker}`;touch {marker}"'
    code = 'extern "C" __global__ void f(int* x) { const char* s = TEXT; x[0] = 0; while (s[x[0]]) ++x[0]; }'
    x = np.zeros(1, np.int32)
    RawKernel(code, "f", (f"-DTEXT={value}",))(1, 1, (x,))
    assert int(x[0]) == len(value) - 2 and not marker.exists()


def test_attributes():
    kernel = RawKernel(REDUCE, "block_sum")
    attributes = kernel.attributes
    assert attributes["shared_size_bytes"] == kernel.shared_size_bytes >= 128
    assert kernel.max_threads_per_block == attributes["max_threads_per_block"] == 1024
    for name in ("num_regs", "local_size_bytes", "const_size_bytes"):
        assert getattr(kernel, name) == attributes[name] >= 0
    kernel.max_dynamic_shared_size_bytes = 60_000
    if registry.current().name == "cuda":
        assert kernel.max_dynamic_shared_size_bytes == 60_000
        assert kernel.num_regs > 0 and kernel.binary_version >= 70 and kernel.occupancy(256) >= 1
        with pytest.raises(Exception, match="max_dynamic_shared_size_bytes"):
            kernel.max_dynamic_shared_size_bytes = 1 << 30
    else:
        with pytest.raises(NotImplementedError, match="multiprocessors"):
            kernel.occupancy(256)


def test_attributes_stay_with_the_module():
    """Also where nobody has held the function meanwhile."""
    module = RawModule(code=REDUCE)
    module.get_function("block_sum").max_dynamic_shared_size_bytes = 60_000
    gc.collect()
    assert module.get_function("block_sum").max_dynamic_shared_size_bytes == 60_000


class Stream:
    def __init__(self, handle):
        self.handle_ = handle

    def __cuda_stream__(self):
        return 0, self.handle_


def test_streams():
    kernel = RawKernel('extern "C" __global__ void inc(float* x) { x[threadIdx.x] += 1; }', "inc")
    x = np.zeros(4, np.float32)
    handles = [0, Stream(0)]
    if registry.current().name == "cuda":
        from numloom.device.cuda import driver

        made = int(driver.call("cuStreamCreate", 1))
        handles += [made, Stream(made), type("Pointer", (), {"ptr": made})()]
    for stream in handles:
        x += 1
        kernel(1, 4, (x,), stream=stream)
        x *= 2
    expected = 0
    for _ in handles:
        expected = (expected + 2) * 2
    assert x.get().tolist() == [expected] * 4


def test_launches_from_another_thread():
    kernel = RawKernel('extern "C" __global__ void inc(float* x) { x[threadIdx.x] += 1; }', "inc")
    x = np.zeros(4, np.float32)
    kernel(1, 4, (x,))
    failures = []

    def work():
        try:
            kernel(1, 4, (x,))
            np.synchronize()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures and x.get().tolist() == [2] * 4


SECOND_RUN = """
import sys
import numloom as np
from numloom.device.cache import shared
x = np.zeros(4, np.float32)
np.RawKernel('extern "C" __global__ void f(float* x) { x[threadIdx.x] = threadIdx.x; }', "f")(1, 4, (x,))
assert x.get().tolist() == [0, 1, 2, 3]
print(shared().hits)
"""


@pytest.mark.slow
def test_binaries_are_used_again_by_the_next_process(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NUMLOOM_CACHE_DIR": str(tmp_path / "cache")}
    environment["NUMLOOM_CPU_COMPILE"] = "wait"  # else it is chance what a short process finishes and keeps
    command = [sys.executable, "-c", SECOND_RUN]

    def hits():
        return int(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)

    hits()
    again = hits()
    assert again >= 1
    for entry in (tmp_path / "cache").iterdir():
        content = entry.read_bytes()
        entry.write_bytes(content[: len(content) // 2])
    assert hits() < again
    assert hits() == again


def test_the_null_device_says_that_it_cannot():
    with registry.use("null"), pytest.raises(NotImplementedError, match="use the device 'cpu' or 'cuda'"):
        RawKernel(FILL, "fill").compile()


def test_results_are_sizes_of_grids():
    """What NumPy has as a scalar is a number of blocks, of threads and of bytes."""
    kernel = np.RawKernel(
        'extern "C" __global__ void one(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }', "one"
    )
    for two in ((np.ones(3) > 0).sum() - 1, np.array(2, "i4"), numpy.int64(2)):
        x = np.zeros(5, "f4")
        kernel((two,), (two, 1), (x,), shared_mem=two)
        assert x.tolist() == [1, 1, 1, 1, 0]
    with pytest.raises(TypeError, match="must hold ints"):
        kernel((np.array(2.0),), (2,), (np.zeros(4, "f4"),))
