"""Kernels in Python: sums by blocks with shared memory and atomics, a histogram, and a device function."""

import cupy
from cupyx import jit

THREADS = 64


@jit.rawkernel(device=True)
def bump(x, width):
    return cupy.exp(-x * x / (2 * width * width))


@jit.rawkernel()
def block_sums(x, total, width, n):
    tid = jit.threadIdx.x
    shared = jit.shared_memory(cupy.float32, THREADS)
    i = jit.blockIdx.x * jit.blockDim.x + tid
    shared[tid] = bump(x[i], width) if i < n else 0.0
    jit.syncthreads()
    half = jit.blockDim.x // 2
    while half > 0:
        if tid < half:
            shared[tid] += shared[tid + half]
        jit.syncthreads()
        half = half // 2
    if tid == 0:
        jit.atomic_add(total, 0, shared[0])


@jit.rawkernel()
def histogram(matrix, counts):
    start, step = jit.grid(1), jit.gridsize(1)
    columns = matrix.shape[1]
    for k in range(start, matrix.size, step):
        row, column = k // columns, k % columns
        bin = min(int(matrix[row, column] * len(counts)), len(counts) - 1)
        jit.atomic_add(counts, bin, 1)


if __name__ == "__main__":
    x = cupy.linspace(-3, 3, 1000, dtype=cupy.float32)
    total = cupy.zeros(1, dtype=cupy.float32)
    block_sums((16,), (THREADS,), (x, total, cupy.float32(0.5), 1000))
    expected = cupy.exp(-2 * x.astype(cupy.float64) ** 2).sum()
    cupy.testing.assert_allclose(total[0], expected, rtol=1e-5)

    matrix = cupy.random.rand(60, 50, dtype=cupy.float32).T
    counts = cupy.zeros(10, dtype=cupy.int32)
    histogram[4, 32](matrix, counts)
    expected, _ = cupy.histogram(matrix, bins=10, range=(0, 1))
    assert int(counts.sum()) == 3000 and int(abs(counts - expected).max()) <= 2
    print("jit: kernels of", len(block_sums.cached_codes), "combination of types")
