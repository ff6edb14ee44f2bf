"""Fourier transforms by the library, by a product of matrices and by a kernel of complex numbers; plans and filters."""

import cupy as cp
import cupy.testing
import cupyx.scipy.fft
import numpy as np
from cupy import cublas

SOURCE = r"""
#include <cupy/complex.cuh>

template <typename T>
__global__ void dft(const complex<T>* x, complex<T>* y, int n, T sign)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    const T turn = sign * (T)6.283185307179586 / n;
    complex<T> total(0, 0);
    for (int j = 0; j < n; ++j) total += x[j] * exp(complex<T>(0, turn * ((long long)j * k % n)));
    y[k] = total;
}

template <typename T>
__global__ void low_pass(complex<T>* spectrum, int rows, int columns, T width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || column >= columns) return;
    T y = row <= rows / 2 ? row : row - rows, x = column;
    spectrum[row * columns + column] *= ::exp(-(x * x + y * y) / (2 * width * width));
}
"""


def three_ways(n):
    """One transform computed three times."""
    rng = np.random.RandomState(n)
    host = rng.normal(size=n) + 1j * rng.normal(size=n)
    x = cp.asarray(host)
    by_library = cp.fft.fft(x)

    places = cp.arange(n)
    matrix = cp.exp(-2j * np.pi / n * (cp.outer(places, places) % n))
    by_product = cublas.gemm("N", "N", matrix, x[:, None])[:, 0]

    module = cp.RawModule(code=SOURCE, name_expressions=("dft<double>", "low_pass<double>"), options=("-std=c++17",))
    by_kernel = cp.empty_like(x)
    dft = module.get_function("dft<double>")
    dft(((n + 63) // 64,), (64,), (x, by_kernel, np.int32(n), np.float64(-1)))

    for found in (by_library, by_product, by_kernel):
        cupy.testing.assert_allclose(found, np.fft.fft(host), rtol=1e-9, atol=1e-9)
    again = cp.empty_like(x)
    dft(((n + 63) // 64,), (64,), (by_kernel, again, np.int32(n), np.float64(1)))
    cupy.testing.assert_allclose(again / n, x, rtol=1e-9, atol=1e-9)
    return module


def filtered(module, rows, columns, width):
    """An image without its fine parts: the spectrum changed by a kernel, and by array operations."""
    image = cp.random.RandomState(3).rand(rows, columns)
    spectrum = cp.fft.rfft2(image)
    half = spectrum.shape[1]
    low_pass = module.get_function("low_pass<double>")
    changed = spectrum.copy()
    low_pass(((half + 15) // 16, (rows + 15) // 16), (16, 16), (changed, rows, half, width))
    y = cp.fft.fftfreq(rows, 1 / rows)[:, None]
    x = cp.arange(half)[None, :]
    expected = spectrum * cp.exp(-(x * x + y * y) / (2 * width * width))
    cupy.testing.assert_allclose(changed, expected, rtol=1e-9, atol=1e-12)
    smooth = cp.fft.irfft2(changed, s=image.shape)
    assert smooth.dtype == cp.float64 and float(smooth.var()) < float(image.var())
    cupy.testing.assert_allclose(smooth.mean(), image.mean(), rtol=1e-9)
    return image, smooth


def cosines(image):
    """Cosine transforms there and back, and what they keep."""
    found = cupyx.scipy.fft.dctn(image, norm="ortho")
    cupy.testing.assert_allclose(cp.linalg.norm(found), cp.linalg.norm(image), rtol=1e-9)
    cupy.testing.assert_allclose(cupyx.scipy.fft.idctn(found, norm="ortho"), image, rtol=1e-9, atol=1e-9)
    pair = cupyx.scipy.fft.rfft(image, axis=0, norm="forward")
    cupy.testing.assert_allclose(pair, np.fft.rfft(image.get(), axis=0, norm="forward"), rtol=1e-9, atol=1e-12)


def plans():
    """Settings of plans."""
    cache = cp.fft.config.get_plan_cache()
    before = cache.get_size()
    cache.set_size(4)
    assert cp.fft.config.get_plan_cache().get_size() == 4
    for n in (8, 12, 30):
        assert abs(complex(cp.fft.fft(cp.ones(n))[0]) - n) < 1e-9
    cache.clear()
    cache.set_size(before)


if __name__ == "__main__":
    plans()
    built = three_ways(96)
    three_ways(125)
    picture, blurred = filtered(built, 48, 64, 6.0)
    cosines(blurred)
    print(f"fourier: three ways agree, deviation {float(picture.std()):.3f} became {float(blurred.std()):.3f}")
