"""Kernels in Python: shuffles, complex numbers and float16, parts of arrays, and what is known before they run."""

import cmath

import numpy
import pytest

import numloom as np
from numloom.cupyx import jit


@jit.rawkernel()
def shuffled(x, out, width):
    i = jit.threadIdx.x
    out[0, i] = jit.shfl_sync(0xFFFFFFFF, x[i], 0, width=width)
    out[1, i] = jit.shfl_up_sync(0xFFFFFFFF, x[i], 3)
    out[2, i] = jit.shfl_down_sync(0xFFFFFFFF, x[i], 3)
    out[3, i] = jit.shfl_xor_sync(0xFFFFFFFF, x[i], 5)
    out[4, i] = jit.laneid()
    jit.syncwarp(mask=0xFFFFFFFF)


@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "f2", "f4", "f8"])
def test_shuffles(dtype):
    x, lanes = numpy.arange(32).astype(dtype), numpy.arange(32)
    out = np.zeros((5, 32), dtype)
    shuffled[1, 32](np.asarray(x), out, 8)
    sources = [lanes // 8 * 8, numpy.where(lanes < 3, lanes, lanes - 3), numpy.where(lanes > 28, lanes, lanes + 3)]
    expected = [x[source] for source in (*sources, lanes ^ 5)] + [lanes]
    numpy.testing.assert_array_equal(out.get(), expected)


@jit.rawkernel()
def of_complex(z, w, out, parts):
    i = jit.grid(1)
    if i < z.size:
        out[0, i] = z[i] * w[i] + 2
        out[1, i] = z[i] / w[i] - 1j * z[i]
        out[2, i] = np.complex64(3)
        if z[i] == w[i]:
            out[3, i] += 1.5
        parts[i] = z[i].real + w[i].imag


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex(dtype):
    rng = numpy.random.default_rng(2)
    z, w = (rng.random((2, 9)) + 1j * rng.random((2, 9)) + 0.5).astype(dtype)
    w[4] = z[4]
    out, parts = np.zeros((4, 9), dtype), np.zeros(9)
    of_complex[1, 32](np.asarray(z), np.asarray(w), out, parts)
    expected = [z * w + 2, z / w - 1j * z, numpy.full(9, 3), 1.5 * (z == w)]
    numpy.testing.assert_allclose(out.get(), expected, rtol=1e-6 if dtype == "c8" else 1e-14)
    numpy.testing.assert_allclose(parts.get(), z.real.astype(float) + w.imag, rtol=1e-7)


@jit.rawkernel()
def filled(x, value):
    x[jit.grid(1)] = value


@pytest.mark.parametrize("value", [True, 7, 2.5, 1 + 2j, numpy.float16(1.5), numpy.complex64(1j), numpy.uint16(9)])
def test_numbers_of_every_kind(value):
    x = np.zeros(4, numpy.asarray(value).dtype)
    filled[1, 4](x, value)
    assert x.tolist() == [value] * 4


def test_complex_does_not_become_real():
    with pytest.raises(TypeError, match="take its real part"):
        filled[1, 4](np.zeros(4), 1j)


@jit.rawkernel()
def halves(x, y, out):
    i = jit.grid(1)
    out[0, i] = x[i] * y[i] + 0.5
    out[1, i] = cmath.pi if x[i] < y[i] else numpy.sqrt(x[i])
    jit.atomic_add(out, (2, 0), x[i])


@pytest.mark.slow
def test_float16():
    x, y = numpy.random.default_rng(4).random((2, 32)).astype("f2")
    out = np.zeros((3, 32), "f2")
    halves[1, 32](np.asarray(x), np.asarray(y), out)
    got = out.get()
    numpy.testing.assert_allclose(got[0], x * y + numpy.float16(0.5), rtol=2e-3)
    numpy.testing.assert_allclose(got[1], numpy.where(x < y, cmath.pi, numpy.sqrt(x)), rtol=2e-3)
    numpy.testing.assert_allclose(got[2, 0], x.sum(dtype="f4"), rtol=2e-2)


@jit.rawkernel(device=True)
def total(row):
    s = row[0] * 0
    for k in range(len(row)):
        s += row[k]
    return s


@jit.rawkernel(device=True)
def doubled(row):
    for k in range(row.size):
        row[k] *= 2


@jit.rawkernel()
def rows(x, y, out):
    i = jit.grid(1)
    row = y[i]
    for k in range(3):
        part = x[k, i]
        row[k] = total(part)
    doubled(y[i])
    first, second = x[0, i], x[1]
    out[i] = first[1] + second[i, 0]


def test_parts_of_arrays_are_views():
    x, y, out = numpy.arange(24).reshape(3, 2, 4), np.zeros((2, 3), int), np.zeros(2, int)
    rows[1, 2](np.asarray(x), y, out)
    numpy.testing.assert_array_equal(y.get(), 2 * x.sum(2).T)
    numpy.testing.assert_array_equal(out.get(), x[0, :, 1] + x[1, :, 0])


def test_arrays_that_are_read_stay_read_only():
    x, y = np.asarray(numpy.arange(24).reshape(3, 2, 4)), np.zeros((2, 3), int)
    rows[1, 2](x, y, np.zeros(2, int))
    (text,) = rows.cached_codes.values()
    assert "const long long* x" in text and "const long long* y" not in text


@pytest.mark.parametrize(("unroll", "text"), [(True, "unroll\n"), (False, "unroll(1)"), (5, "unroll(5)"), (None, "")])
def test_loops_unroll(unroll, text):
    @jit.rawkernel()
    def f(x):
        if unroll is None:
            for _ in jit.range(6):
                x[0] += 2
        else:
            for _ in jit.range(6, unroll=unroll):
                x[0] += 2

    x = np.zeros(1, int)
    f[1, 1](x)
    assert x.tolist() == [12]
    assert (f"#pragma {text}" in f.cached_code) if text else ("unroll" not in f.cached_code)


def test_functions_that_make_device_functions():
    def step(size):
        @jit.rawkernel(device=True)
        def joined(x):
            if size < 8:
                i = jit.threadIdx.x
                if i % (size * 2) == 0:
                    x[i] += x[i + size]
                jit.syncthreads()
                step(size * 2)(x)

        return joined

    @jit.rawkernel()
    def f(x):
        step(1)(x)

    x = np.arange(8)
    f[1, 8](x)
    assert int(x[0]) == 28


@jit.rawkernel(device=True)
def counted(x):
    x[0] += 1
    return 1


@jit.rawkernel(device=True)
def endless(x):
    return endless(x) + 1


@jit.rawkernel()
def once(x):
    x[counted(x)] += 1
    return None


@jit.rawkernel()
def forever(x):
    x[0] = endless(x[0])


@jit.rawkernel()
def unbound(x):
    x[0] = not_there  # noqa: F821


@jit.rawkernel()
def too_few(x):
    x[0], x[1] = (jit.grid(1),)


@jit.rawkernel()
def axes(x):
    x[0] = jit.grid(4)


def test_an_index_is_found_once():
    x = np.zeros(2, int)
    once[1, 1](x)
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("kernel", "error", "why"),
    [
        (forever, ValueError, "calls itself"), (unbound, NameError, "Unbound name: not_there"),
        (too_few, ValueError, "as many values"), (axes, ValueError, "1, 2 or 3"),
    ],
)  # fmt: skip
def test_errors_are_pythons(kernel, error, why):
    with pytest.raises(error, match=why):
        kernel[1, 1](np.zeros(2, int))
    with pytest.raises(jit.Untranslatable):
        kernel[1, 1](np.zeros(2, int))


@jit.rawkernel()
def between(out, a, b, c):
    for i in range(a, b, c):
        out[0] += i * i + 1


@pytest.mark.parametrize("stop", "bIqQ")
@pytest.mark.parametrize("start", "BiqQ")
def test_ranges_of_mixed_integers(start, stop):
    for low, high, step in ((0, 4, 1), (9, 2, -3), (5, 5, 1)):
        out = np.zeros(1, "i8")
        between[1, 1](out, numpy.dtype(start).type(low), numpy.dtype(stop).type(high), numpy.int64(step))
        assert int(out[0]) == sum(i * i + 1 for i in range(low, high, step))
    if numpy.dtype(start).kind == "i":
        out = np.zeros(1, "i8")
        between[1, 1](out, numpy.dtype(start).type(-2), numpy.dtype(stop).type(2), numpy.uint64(1))
        assert int(out[0]) == 4 + 1 + 0 + 1 + 4


def test_ranges_of_other_numbers_are_refused():
    for wrong in (numpy.float64(3), numpy.float32(3)):
        with pytest.raises(TypeError, match="range takes integers"):
            between[1, 1](np.zeros(1, "i8"), numpy.int64(0), wrong, numpy.int64(1))
