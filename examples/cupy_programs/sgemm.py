"""A product of matrices by a raw kernel with tiles in shared memory."""

import cupy as cp
import numpy as np

TILE = 16
SOURCE = r"""
extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    __shared__ float left[16][16], right[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int at = 0; at < k; at += 16) {
        left[threadIdx.y][threadIdx.x] = row < m && at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = at + threadIdx.y < k && column < n ? b[(at + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
"""
kernel = cp.RawKernel(SOURCE, "sgemm")


def sgemm(a, b, stream=None):
    (m, k), n = a.shape, b.shape[1]
    c = cp.empty((m, n), dtype=cp.float32)
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    kernel(grid, (TILE, TILE), (a, b, c, m, n, k), stream=stream)
    return c


if __name__ == "__main__":
    a = cp.random.rand(70, 50, dtype=cp.float32)
    b = cp.random.rand(50, 90, dtype=cp.float32)
    stream = cp.cuda.Stream()
    c = sgemm(a, b, stream)
    stream.synchronize()
    np.testing.assert_allclose(c.get(), a.get() @ b.get(), rtol=1e-5)
    print("sgemm: right, with", kernel.shared_size_bytes, "bytes of shared memory")
