"""Reductions and loops of one's own: ReductionKernel, ElementwiseKernel with raw arguments, fuse, vectorize."""

import cupy as cp
import numpy as np

norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
powers = cp.ReductionKernel("T x, T p", "T y", "pow(abs(x), p)", "a + b", "y = a", "0", "powers")
weighted = cp.ReductionKernel("T x, T w", "T y", "x * w", "a + b", "y = a", identity="0", name="weighted")
count = cp.ReductionKernel("T x, T low, T high", "int64 y", "x >= low && x < high", "a + b", "y = a", "0", "count")
largest = cp.ReductionKernel("T x", "T y", "x < 0 ? -x : x", "a > b ? a : b", "y = a", "0", "largest")
logsum = cp.ReductionKernel(
    "float64 x, float64 top", "float64 y", "exp(x - top)", "a + b", "y = log(a)", "0", "logsum", reduce_type="double"
)
clipped = cp.ElementwiseKernel(
    "T x, T low, T high", "T y, int8 changed", "y = min(max(x, low), high); changed = y != x", "clipped"
)
neighbours = cp.ElementwiseKernel(
    "raw T x, int64 length",
    "T y",
    "y = (x[i == 0 ? length - 1 : i - 1] + x[i] + x[i == length - 1 ? 0 : i + 1]) / 3",
    "neighbours",
)
histogram = cp.ElementwiseKernel(
    "T x, int32 bins", "raw int32 counts", "atomicAdd(&counts[min((int)(x * bins), bins - 1)], 1)", "histogram"
)
polynomial = cp.ElementwiseKernel(
    "T x, raw T c, int32 degree",
    "T y",
    """
    T total = 0;
    for (int k = degree; k >= 0; --k) total = total * x + c[k];
    y = twice(total);
    """,
    "polynomial",
    preamble="template <typename T> __device__ T twice(T x) { return x + x; }",
    options=("-std=c++17",),
)


@cp.fuse(kernel_name="smooth_step")
def smooth_step(x, low, high):
    t = cp.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


@cp.vectorize
def collatz(n):
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def collatz_of(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def reduced(host):
    x = cp.asarray(host)
    np.testing.assert_allclose(float(norm(x)), np.linalg.norm(host.ravel()), rtol=1e-12)
    np.testing.assert_allclose(powers(x, 3.0, axis=1).get(), (abs(host) ** 3).sum(axis=1), rtol=1e-12)
    kept = weighted(x, cp.arange(host.shape[1], dtype=host.dtype), axis=1, keepdims=True)
    np.testing.assert_allclose(kept.get(), (host * np.arange(host.shape[1])).sum(axis=1, keepdims=True), rtol=1e-12)
    assert int(count(x, 0.0, 0.5)) == ((host >= 0) & (host < 0.5)).sum()
    out = cp.empty(host.shape[1], host.dtype)
    assert largest(x, axis=0, out=out) is out
    assert (out.get() == abs(host).max(axis=0)).all()
    top = x.max(axis=1, keepdims=True)
    expected = np.log(np.exp(host - host.max(axis=1, keepdims=True)).sum(axis=1))
    np.testing.assert_allclose(logsum(x, top, axis=1).get(), expected, rtol=1e-12)
    np.testing.assert_allclose(norm(x.T[::2], axis=(0, 1)).get(), np.linalg.norm(host.T[::2]), rtol=1e-12)


def looped(host):
    x = cp.asarray(host)
    y, changed = clipped(x, -0.5, 0.5)
    assert (y.get() == host.clip(-0.5, 0.5)).all() and (changed.get() == (abs(host) > 0.5)).all()
    flat = x.ravel()
    mean = neighbours(flat, flat.size, size=flat.size)
    ring = host.ravel()
    np.testing.assert_allclose(mean.get(), (np.roll(ring, 1) + ring + np.roll(ring, -1)) / 3, rtol=1e-12)
    counts = cp.zeros(10, cp.int32)
    uniform = cp.linspace(0, 1, 1001)
    histogram(uniform, 10, counts)
    expected = np.bincount(np.minimum((uniform.get() * 10).astype(int), 9))
    assert counts.get().tolist() == expected.tolist()
    c = cp.asarray([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(
        polynomial(x, c, 3).get(), 2 * np.polynomial.polynomial.polyval(host, c.get()), rtol=1e-9, atol=1e-12
    )


def recorded(host):
    x = cp.asarray(host)
    t = np.clip((host + 1) / 2, 0, 1)
    np.testing.assert_allclose(smooth_step(x, -1.0, 1.0).get(), t * t * (3 - 2 * t), rtol=1e-12)
    n = cp.arange(1, 200)
    assert collatz(n).get().tolist() == [collatz_of(k) for k in range(1, 200)]


if __name__ == "__main__":
    values = np.random.RandomState(8).normal(0, 1, (50, 70))
    reduced(values)
    looped(values)
    recorded(values)
    print("reductions: kernels of one's own agree with NumPy")
