"""Kernels in Python: what they compute is what Python says."""

import math

import numpy
import pytest

import numloom as np
from numloom.cupyx import jit

SCALE = 3


@jit.rawkernel(device=True)
def plus(a, b):
    return a + b


@jit.rawkernel()
def integers(a, b, out, n):
    i = jit.grid(1)
    if i < n:
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]
        out[2, i] = max(a[i], b[i]) - min(a[i], b[i])
        out[3, i] = abs(a[i]) * SCALE
        out[4, i] = a[i] << 1 if b[i] > 0 and not a[i] < 0 else -(a[i] ** 2)
        out[5, i] = ~a[i] & b[i] | 1 ^ a[i]


def test_integers_are_as_in_python():
    a, b = numpy.array([7, -7, 7, -7, 0, 5]), numpy.array([2, 2, -2, -3, 4, 5])
    out = np.zeros((6, 6), "i8")
    integers[1, 32](np.asarray(a), np.asarray(b), out, 6)
    expected = [
        a // b, a % b, numpy.maximum(a, b) - numpy.minimum(a, b), abs(a) * 3,
        numpy.where((b > 0) & (a >= 0), a << 1, -(a**2)), ~a & b | 1 ^ a,
    ]  # fmt: skip
    numpy.testing.assert_array_equal(out.get(), expected)


@jit.rawkernel()
def floats(x, y, out):
    i = jit.threadIdx.x
    if i < len(x):
        out[i, 0] = x[i] // y[i]
        out[i, 1] = x[i] % y[i]
        out[i, 2] = math.sqrt(abs(x[i])) + numpy.arctan2(x[i], y[i]) + math.pi
        out[i, 3] = x[i] / 3 + 0.1 * y[i]
        out[i, 4] = np.float32(x[i]) ** 1.5 if x[i] > 0 else math.inf


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_floats_are_as_in_numpy(dtype):
    x, y = numpy.array([7.5, -7.5, 2.25, -1.0], dtype), numpy.array([2, 2, -0.5, 3], dtype)
    out = np.zeros((4, 5), dtype)
    floats(1, 32, (np.asarray(x), np.asarray(y), out))
    with numpy.errstate(invalid="ignore"):
        power = numpy.where(x > 0, x**1.5, numpy.inf)
    expected = [x // y, x % y, numpy.sqrt(abs(x)) + numpy.arctan2(x, y) + math.pi, x / 3 + 0.1 * y, power]
    numpy.testing.assert_allclose(out.get().T, expected, rtol=1e-6)
    assert out.dtype == dtype


@jit.rawkernel()
def strided(matrix, total):
    x, y = jit.grid(2)
    if x < matrix.shape[1] and y < matrix.shape[0]:
        matrix[y, x] += plus(x * 10, y)
        jit.atomic_add(total, 0, 1)
        jit.atomic_max(total, 1, x)


def test_strides_and_atomics():
    memory = np.zeros((8, 6))
    total = np.zeros(2, "i4")
    strided((1, 2), (8, 4), (memory[::2, ::-2].T, total))
    expected = numpy.zeros((8, 6))
    expected[::2, ::-2].T[...] = numpy.arange(4) * 10 + numpy.arange(3)[:, None]
    numpy.testing.assert_array_equal(memory.get(), expected)
    assert total.tolist() == [12, 3]


@jit.rawkernel()
def loops(out):
    total = 0
    for i in range(10, 0, -3):
        if i == 7:
            continue
        total += i
        i = 100
    a, b = 1, 2
    a, b = b, a
    k = 0
    while True:
        k += 1
        if k > 4:
            break
    out[0], out[1] = total, a * 10 + b
    out[2] = k
    for j in jit.range(3):
        out[3] += j


def test_loops():
    out = np.zeros(4, "i8")
    loops(1, 1, (out,))
    assert out.tolist() == [15, 21, 5, 3]


@jit.rawkernel()
def words(new, delete):
    step1 = 2
    auto = jit.shared_memory(np.int32, 4)
    for int in range(0, 4, step1):
        auto[int] = int
        new[int] = auto[int] * delete


def test_names_may_be_words_of_cpp():
    out = np.zeros(4, "i4")
    words(1, 1, (out, 5))
    assert out.tolist() == [0, 0, 10, 0]


def test_each_combination_of_types_is_a_kernel():
    @jit.rawkernel()
    def fill(x, value):
        x[jit.threadIdx.x] = value

    assert fill.cached_code is None
    for dtype in ("f4", "i2", "f8", "f4"):
        x = np.zeros(4, dtype)
        fill[1, 4](x, numpy.dtype(dtype).type(2))
        assert x.tolist() == [2] * 4
    assert len(fill.cached_codes) == 3 and "__global__" in fill.cached_code


@jit.rawkernel()
def unknown(x):
    x[0] = sorted(x)


@jit.rawkernel()
def changes_kind(x):
    s = 0
    s = 1.5
    x[0] = s


@jit.rawkernel()
def too_many(x):
    x[0, 0] = 1


@pytest.mark.parametrize(
    ("kernel", "why"),
    [(unknown, r"`sorted\(x\)` has no translation"), (changes_kind, "begin with 0.0"), (too_many, "has 1 integers")],
)
def test_what_has_no_translation_says_where(kernel, why):
    with pytest.raises(jit.Untranslatable, match=rf"test_jit\.py:\d+: .*{why}"):
        kernel(1, 1, (np.zeros(3),))


def test_misuse():
    with pytest.raises(AttributeError, match="is for kernels"):
        jit.threadIdx.x
    with pytest.raises(RuntimeError, match="is for kernels"):
        jit.grid(1)
    with pytest.raises(TypeError, match="device function"):
        plus(1, 1, (1, 2))
    with pytest.raises(TypeError, match="takes 1 arguments, 2 were given"):
        loops(1, 1, (np.zeros(4), 3))
    with pytest.raises(TypeError, match="not ndarray"):
        loops(1, 1, (numpy.zeros(4),))
    with pytest.raises(ValueError, match="mode is"):
        jit.rawkernel(mode="c")
