"""The language of kernels on the host, and its headers."""

import numpy as np
from sources import CHECK, kernel

from numloom.device.cpu.simt.declared import kernels


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
