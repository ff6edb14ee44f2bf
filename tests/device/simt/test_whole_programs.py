"""Whole programs: products by tiles, transposes, histograms, reductions, grids that wait."""

import threading

import numpy as np
import pytest
from sources import CHECK, kernel

rng = np.random.default_rng(11)


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
