"""Kernels in Python syntax; numba-cuda is an extra, without which the error says how to get it."""

import math

import numpy
import pytest

import numloom as np
from numloom.base.errors import MissingDependencyError
from numloom.kernels import python


@pytest.fixture
def numba():
    try:
        return python._numba_cuda()
    except MissingDependencyError as error:
        pytest.skip(str(error))


needs_numba = pytest.mark.usefixtures("numba")

FACTOR = 3.0


@np.kernel
def scale(x, n):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x  # noqa: F821
    if i < n:
        x[i] = x[i] * FACTOR + math.floor(0.5)


@needs_numba
def test_threads_and_blocks():
    x = np.arange(10.0)
    y = x + 1  # recorded before: sees the old values
    scale[(2,), (8,)](x, 10)
    x += 1
    numpy.testing.assert_array_equal(x.get(), numpy.arange(10) * 3 + 1)
    numpy.testing.assert_array_equal(y.get(), numpy.arange(10) + 1)
    scale(2, 8, (x, 1))
    assert x.get()[:2].tolist() == [3, 4]
    assert x.storage.pins == 0


@np.kernel
def block_sum(x, out):
    shared = cuda.shared.array(32, dtype=numpy.float32)  # noqa: F821
    i = cuda.grid(1)  # noqa: F821
    t = cuda.threadIdx.x  # noqa: F821
    shared[t] = x[i] if i < x.size else 0
    cuda.syncthreads()  # noqa: F821
    half = 16
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()  # noqa: F821
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, shared[0])  # noqa: F821


@needs_numba
def test_shared_memory_and_atomics():
    x = np.arange(50, dtype=np.float32)
    out = np.zeros(1, np.float32)
    block_sum[2, 32](x, out)
    assert out.get()[0] == numpy.arange(50).sum()


@np.kernel(device=True)
def twice(x):
    return x + x


@np.kernel
def doubled(x, y):
    i, j = cuda.grid(2)  # noqa: F821
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = twice(x[i, j])


@needs_numba
def test_device_functions_and_strided_arrays():
    x = np.arange(24, dtype=np.int32).reshape(4, 6)
    y = np.zeros((3, 4), np.int32)
    doubled[(1, 1), (4, 4)](x[:, ::2].T, y)
    numpy.testing.assert_array_equal(y.get(), x.get()[:, ::2].T * 2)


@needs_numba
def test_a_function_within_a_function():
    shift = 5

    @np.kernel
    def shifted(x):
        x[cuda.threadIdx.x] += shift  # noqa: F821

    x = np.zeros(4)
    shifted[1, 4](x)
    assert x.get().tolist() == [5] * 4


def test_mistakes():
    x = np.zeros(4)
    with pytest.raises(TypeError, match=r"scale takes 2 arguments \(x, n\), 1 were given"):
        scale[1, 1](x)
    with pytest.raises(ValueError, match="0 blocks"):
        scale[0, 1](x, 1)
    with pytest.raises(ValueError, match="2000 threads"):
        scale[1, 2000](x, 1)
    with pytest.raises(TypeError, match=r"launched as f\[grid, block\]"):
        scale[1](x, 1)
    with pytest.raises(TypeError, match="must be a tuple"):
        scale(1, 1, x)
    with pytest.raises(TypeError, match="Python function"):
        np.kernel(3)
    with pytest.raises(TypeError, match="device function"):
        twice[1, 1](x)
    with pytest.raises(ValueError, match="own stream"):
        scale[1, 1, 12345](x, 1)


@needs_numba
def test_host_arrays_are_refused():
    with pytest.raises(TypeError, match="argument x is a NumPy array"):
        scale[1, 1](numpy.zeros(4), 1)


def test_without_numba(monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(python.importlib, "import_module", missing)
    monkeypatch.setattr(scale, "_compiled", {})
    with pytest.raises(MissingDependencyError, match=r"need numba-cuda .*: pip install 'numloom\[numba\]'"):
        scale[1, 1](np.zeros(4), 1)
