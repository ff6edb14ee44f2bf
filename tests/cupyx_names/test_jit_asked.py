"""Kernels in Python: what CuPy's tests ask for, computed as Python says."""

import numpy
import pytest

import numloom as np
from numloom.cupyx import jit

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(np.config.cpu_compile == "never", reason="users' kernels are compiled"),
]


@jit.rawkernel()
def bits(x, out):
    i = jit.grid(1)
    if i < x.size:
        jit.atomic_and(out, 0, x[i])
        jit.atomic_or(out, 1, x[i])
        jit.atomic_xor(out, 2, x[i])
        jit.atomic_cas(out, 3, x[i], 1000 + x[i])


@pytest.mark.parametrize("dtype", ["i4", "u4", "u8"])
def test_atomics_of_bits(dtype):
    values = numpy.array([13, 7, 29, 5], dtype)
    out = np.asarray(numpy.array([255, 0, 0, 29], dtype))
    bits[1, 32](np.asarray(values), out)
    expected = [numpy.bitwise_and.reduce(values), numpy.bitwise_or.reduce(values), numpy.bitwise_xor.reduce(values)]
    numpy.testing.assert_array_equal(out.get(), [*expected, 1029])
    with pytest.raises(TypeError, match="atomic_and is for"):
        bits[1, 32](np.ones(4, "f4"), np.ones(4, "f4"))


@jit.rawkernel()
def counted(limits, out):
    i = jit.grid(1)
    if i < limits.size:
        jit.atomic_inc(out, 2 * i, limits[i])
        jit.atomic_dec(out, 2 * i + 1, limits[i])


def test_atomics_that_count():
    out = np.asarray(numpy.array([3, 3, 9, 0], "u4"))
    counted[1, 2](np.asarray(numpy.array([5, 9], "u4")), out)
    numpy.testing.assert_array_equal(out.get(), [4, 2, 0, 9])


@jit.rawkernel()
def extremes(x, y, z, out):
    i = jit.grid(1)
    if i < x.size:
        out[0, i] = min(x[i], y[i], z[i])
        out[1, i] = max(x[i], y[i], z[i])


def test_extremes_of_three():
    x, y, z = numpy.random.default_rng(1).integers(-50, 50, (3, 20))
    out = np.zeros((2, 20), "i8")
    extremes[1, 32](np.asarray(x), np.asarray(y), np.asarray(z), out)
    numpy.testing.assert_array_equal(
        out.get(), [numpy.minimum(numpy.minimum(x, y), z), numpy.maximum(numpy.maximum(x, y), z)]
    )


@jit.rawkernel()
def described(x, out):
    shape = x.shape
    strides = x.strides
    out[0], out[1] = shape[0], shape[1]
    out[2], out[3] = strides[0], strides[1]


@jit.rawkernel()
def either(x, y, out):
    if out[0] > 0:
        shape = x.shape
    else:
        shape = y.shape
    out[0] = shape[0]


def test_shape_and_strides_have_names():
    x, out = np.zeros((3, 5), "f4"), np.zeros(4, "i8")
    described[1, 1](x, out)
    numpy.testing.assert_array_equal(out.get(), [*x.shape, *x.strides])
    with pytest.raises(TypeError, match="something else"):
        either[1, 1](x, x, out)
