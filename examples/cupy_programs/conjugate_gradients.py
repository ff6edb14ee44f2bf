"""A symmetric positive system solved by conjugate gradients, and timed."""

import cupy as cp
import numpy as np
from cupyx.profiler import benchmark


def solve(matrix, right, steps, tolerance=1e-10):
    xp = cp.get_array_module(matrix)
    x = xp.zeros_like(right)
    residual = right - matrix.dot(x)
    direction = residual.copy()
    size = residual.dot(residual)
    for _ in range(steps):
        moved = matrix.dot(direction)
        step = size / direction.dot(moved)
        x = x + step * direction
        residual = residual - step * moved
        before, size = size, residual.dot(residual)
        if float(size) ** 0.5 < tolerance:
            break
        direction = residual + size / before * direction
    return x


if __name__ == "__main__":
    cp.random.seed(1)
    half = cp.random.rand(200, 200)
    matrix = half.dot(half.T) + 200 * cp.eye(200)
    right = cp.random.rand(200)
    x = solve(matrix, right, 200)
    cp.testing.assert_allclose(matrix.dot(x), right, rtol=1e-7)
    np.testing.assert_allclose(x.get(), np.linalg.solve(matrix.get(), right.get()), rtol=1e-7)
    times = benchmark(solve, (matrix, right, 20), n_repeat=3, n_warmup=1)
    assert times.cpu_times.shape == (3,) and times.gpu_times.shape == (1, 3)
    print("conjugate gradients:", float(cp.linalg.norm(matrix.dot(x) - right)) < 1e-8)
