"""Counts that no array can have: errors as NumPy's, or what is left, at once."""

from __future__ import annotations

import time

import numpy
import pytest

import numloom as np

COUNTS = (2**62, 2**63, 10**30)
ENDS = {
    "diff": (lambda n: np.diff(np.arange(4.0), n), []),
    "diff of integers": (lambda n: np.diff(np.arange(4), n), []),
    "diff of truth": (lambda n: np.diff(np.asarray([True, False]), n), []),
    "diff along": (lambda n: np.diff(np.ones((2, 4)), n, axis=1), [[], []]),
    "diff of nothing": (lambda n: np.diff(np.ones((2, 0)), n), [[], []]),
    "polyder": (lambda n: np.polyder([1.0, 2, 3], n), []),
    "polyder of nothing": (lambda n: np.polyder(np.ones(0), n), []),
    "deriv": (lambda n: np.poly1d([1, 2, 3]).deriv(n).coeffs, [0]),
    "chebder": (lambda n: np.polynomial.chebyshev.chebder([1.0, 2], n), [0]),
    "polyder of the package": (lambda n: np.polynomial.polynomial.polyder([1.0, 2], n), [0]),
    "matrix_power": (lambda n: np.linalg.matrix_power(np.eye(2), n), [[1, 0], [0, 1]]),
    "rot90": (lambda n: np.rot90(np.ones((1, 2)), n).shape, None),
}
REFUSED = {
    "polyfit": lambda n: np.polyfit(np.arange(4.0), np.ones(4), n),
    "polyint": lambda n: np.polyint([1.0, 2], n),
    "poly1d": lambda n: np.poly1d([1, 2]) ** n,
    "poly1d of a constant": lambda n: np.poly1d([2]) ** n,
    "polypow": lambda n: np.polynomial.polynomial.polypow([1.0, 2], n),
    "chebpow": lambda n: np.polynomial.chebyshev.chebpow([1.0, 2], n, maxpower=None),
    "Polynomial": lambda n: np.polynomial.Polynomial([1.0, 2]) ** n,
    "array_split": lambda n: np.array_split(np.arange(4.0), n),
    "vander": lambda n: np.vander(np.arange(4.0), n),
    "repeat": lambda n: np.repeat(np.arange(4.0), n),
    "tile": lambda n: np.tile(np.arange(4.0), n),
    "linspace": lambda n: np.linspace(0, 1, n),
    "logspace": lambda n: np.logspace(0, 1, n),
    "gradient": lambda n: np.gradient(np.arange(4.0), edge_order=n),
    "hermvander": lambda n: np.polynomial.hermite.hermvander(np.arange(4.0), n),
    "legfit": lambda n: np.polynomial.legendre.legfit(np.arange(4.0), np.ones(4), n),
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ENDS)
def test_they_end(name, count):
    call, wanted = ENDS[name]
    start = time.monotonic()
    found = call(count)
    if wanted is not None:
        numpy.testing.assert_array_equal(np.asarray(found).get(), wanted)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", REFUSED)
def test_they_are_refused(name, count):
    start = time.monotonic()
    with pytest.raises((ValueError, MemoryError, OverflowError, IndexError, TypeError)):
        REFUSED[name](count)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("n", range(6))
@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "f4", "c16"])
def test_small_orders_are_numpys(n, dtype):
    for shape in ((4,), (0,), (2, 3)):
        a = numpy.arange(numpy.prod(shape)).reshape(shape).astype(dtype)
        found, wanted = np.diff(np.asarray(a), n), numpy.diff(a, n)
        assert found.dtype == wanted.dtype
        numpy.testing.assert_array_equal(found.get(), wanted)
        if len(shape) == 1 and dtype != "?":
            found, wanted = np.polyder(np.asarray(a), n), numpy.polyder(a, n)
            assert found.dtype == wanted.dtype
            numpy.testing.assert_array_equal(found.get(), wanted)
    a = numpy.arange(7.0)
    for parts in (1, 2, 3, 6, 9):
        for found, wanted in zip(np.array_split(np.asarray(a), parts), numpy.array_split(a, parts), strict=True):
            numpy.testing.assert_array_equal(found.get(), wanted)


@pytest.mark.parametrize("dtype", ["f8", "?"])
@pytest.mark.parametrize("n", [1, 3, 2**62])
def test_differences_of_nothing_are_a_new_array(dtype, n):
    x = np.zeros((2, 0), dtype)
    x.flags.writeable = False
    for axis in (0, 1):
        found = np.diff(x, n, axis=axis)
        assert found is not x and found.flags.writeable
        assert found.shape == (max(2 - n, 0) if axis == 0 else 2, 0) and found.dtype == dtype
