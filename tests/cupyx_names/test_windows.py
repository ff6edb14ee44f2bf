"""Filters of users' kernels give what SciPy gives for the same function in Python."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import numloom as nl
import numloom.cupy as cp
from numloom.cupyx.scipy import ndimage, windows

scipys = pytest.importorskip("scipy.ndimage")
pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(nl.config.cpu_compile == "never", reason="users' kernels are compiled"),
]
MODES = ("reflect", "constant", "nearest", "mirror", "wrap")

SPREAD = r"""extern "C" __global__ void spread(const double* w, int n, double* result) {
    double low = w[0], high = w[0];
    for (int k = 1; k < n; ++k) { low = w[k] < low ? w[k] : low; high = w[k] > high ? w[k] : high; }
    *result = high - low + w[n / 2] / n;
}"""
spread = cp.RawKernel(SPREAD, "spread")
above = cp.ReductionKernel(
    "X x", "Y y", "_raw_x[0] < x", "a + b", "y = a + _in_ind.size()", "0", "above", reduce_type="int"
)
mean = cp.ReductionKernel("X x", "Y y", "x", "a + b", "y = a / _in_ind.size()", "0", "mean")
running = cp.RawKernel(
    r"""extern "C" __global__ void running(double* line, ptrdiff_t n, double* result, ptrdiff_t m) {
    for (ptrdiff_t k = 1; k < n; ++k) line[k] += line[k - 1];
    for (ptrdiff_t k = 0; k < m; ++k) result[k] = line[k + n - m] - line[k] / 2;
}""",
    "running",
)


def spread_of(w: Any) -> Any:
    return w.max() - w.min() + w[len(w) // 2] / len(w)


def above_of(w: Any) -> Any:
    return (w[0] < w).sum() + len(w)


def running_of(line: Any, result: Any) -> None:
    line = np.cumsum(line)
    result[...] = line[-len(result) :] - line[: len(result)] / 2


def image(shape: tuple[int, ...], dtype: str = "f8") -> Any:
    values = np.random.default_rng(7).integers(0, 100, shape)
    return (values > 50 if dtype == "?" else values).astype(dtype)


def host(array: Any) -> Any:
    return nl.asnumpy(array)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("kernel", "function"), [(spread, spread_of), (above, above_of)])
def test_windows_of_every_mode_origin_and_size(kernel: Any, function: Any, mode: str) -> None:
    for shape, size, origin in itertools.product([(7,), (4, 5), (2, 3, 4)], (1, 2, 3, 4), (0, -1, 1)):
        if not 0 <= size // 2 + origin < size:
            continue
        x = image(shape)
        expected = scipys.generic_filter(x, function, size, mode=mode, origin=origin, cval=-3.5)
        found = ndimage.generic_filter(nl.asarray(x), kernel, size, mode=mode, origin=origin, cval=-3.5)
        np.testing.assert_allclose(host(found), expected, err_msg=f"{shape} {size} {origin}")


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "i4", "u8", "f2", "f4", "f8"])
def test_a_result_has_the_inputs_dtype(dtype: str) -> None:
    x = image((5, 6), dtype)
    found = ndimage.generic_filter(nl.asarray(x), spread, (2, 3))
    assert found.dtype == dtype
    expected = scipys.generic_filter(x.astype("f8"), spread_of, (2, 3))
    np.testing.assert_allclose(host(found), expected.astype(dtype), rtol=1e-3 if dtype == "f2" else 1e-6)
    counted = ndimage.generic_filter(nl.asarray(x), above, 3, output="i8")
    np.testing.assert_array_equal(host(counted), scipys.generic_filter(x.astype("f8"), above_of, 3))


def test_elements_that_the_footprint_leaves_out_do_not_count() -> None:
    x, kept = image((6, 7)), np.array([[0, 1, 0], [1, 1, 0]])
    for kernel, function in ((spread, spread_of), (above, above_of)):
        expected = scipys.generic_filter(x, function, footprint=kept, origin=(0, 1))
        for given in (kept, nl.asarray(kept), kept.tolist()):
            found = ndimage.generic_filter(nl.asarray(x), kernel, footprint=given, origin=(0, 1))
            np.testing.assert_allclose(host(found), expected)
    with pytest.raises(RuntimeError, match="must match"):
        ndimage.generic_filter(nl.asarray(x), spread, footprint=[1, 1])
    with pytest.raises(ValueError, match="no element"):
        ndimage.generic_filter(nl.asarray(x), spread, footprint=[[0, 0]])


def test_windows_along_some_axes() -> None:
    x = image((4, 5, 6))
    for axes, size, origin in (((0, 2), (2, 3), (0, 1)), (1, 3, -1), ((-1, 0), (3, 2), (1, 0))):
        lengths = dict(zip(np.atleast_1d(axes) % 3, np.broadcast_to(size, np.size(axes)), strict=True))
        origins = dict(zip(np.atleast_1d(axes) % 3, np.broadcast_to(origin, np.size(axes)), strict=True))
        every = [int(lengths.get(axis, 1)) for axis in range(3)]
        expected = scipys.generic_filter(x, spread_of, every, origin=[int(origins.get(axis, 0)) for axis in range(3)])
        found = ndimage.generic_filter(nl.asarray(x), spread, size, axes=axes, origin=origin)
        np.testing.assert_allclose(host(found), expected)
    for axes, error in ((3, np.exceptions.AxisError), ((0, -3), ValueError)):
        with pytest.raises(error):
            ndimage.generic_filter(nl.asarray(x), spread, 2, axes=axes)


def test_windows_are_gathered_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    x = nl.asarray(image((9, 8)))
    whole = host(ndimage.generic_filter(x, spread, (3, 4)))
    for at_once in (1, 50):
        monkeypatch.setattr(windows, "_AT_ONCE", at_once)
        np.testing.assert_array_equal(host(ndimage.generic_filter(x, spread, (3, 4))), whole)


def test_an_output_is_filled() -> None:
    x = image((5, 6))
    given = nl.asarray(x)
    assert ndimage.generic_filter(given, mean, 3, output=given) is given
    np.testing.assert_allclose(host(given), scipys.generic_filter(x, np.mean, 3))
    lines = nl.zeros((6, 5), "f4").T
    assert ndimage.generic_filter1d(nl.asarray(x), running, 3, 0, lines) is lines
    np.testing.assert_allclose(host(lines), scipys.generic_filter1d(x, running_of, 3, 0), rtol=1e-6)
    with pytest.raises(RuntimeError, match="shape"):
        ndimage.generic_filter(nl.asarray(x), mean, 3, output=nl.zeros(5))


def test_below_zero_unsigned_integers_wrap() -> None:
    minus = cp.ReductionKernel("X x", "float64 y", "x", "a + b", "y = -a", "0", "minus")
    assert ndimage.generic_filter(nl.array([1, 2], "u1"), minus, 1).tolist() == [255, 254]


@pytest.mark.parametrize("mode", MODES)
def test_lines_of_every_axis_and_dtype(mode: str) -> None:
    for axis, size, origin, dtype in itertools.product((0, 1, -1), (1, 2, 4), (0, -1), ("f8", "f4", "i8")):
        if not 0 <= size // 2 + origin < size:
            continue
        x = image((3, 4, 5), dtype)
        expected = scipys.generic_filter1d(x, running_of, size, axis, "f8", mode, 1.5, origin)
        found = ndimage.generic_filter1d(nl.asarray(x), running, size, axis, "f8", mode, 1.5, origin)
        np.testing.assert_allclose(host(found), expected)
    kept = nl.asarray(image((3, 4)))
    before = kept.tolist()
    for size in (1, 3):  # The kernel writes its line.
        ndimage.generic_filter1d(kept, running, size)
        assert kept.tolist() == before


def test_a_reduction_of_the_dtypes_that_it_names() -> None:
    total = cp.ReductionKernel("float32 x", "int64 y", "x", "a + b", "y = a", "0", "total")
    found = ndimage.generic_filter(nl.arange(5), total, 3, mode="constant", cval=2)
    assert found.dtype == "i8" and found.tolist() == [3, 3, 6, 9, 9]
    largest = cp.ReductionKernel("X x", "X y", "x", "a > b ? a : b", "y = a", None, "largest")
    x = image((6,), "i4") - 200
    np.testing.assert_array_equal(host(ndimage.generic_filter(nl.asarray(x), largest, 3)), scipys.maximum_filter(x, 3))
    product = cp.ReductionKernel("X x", "X y", "x", "a * b", "y = a", "1", "product")
    z = nl.array([1 + 1j, 2, 1j])
    assert ndimage.generic_filter(z, product, 2, mode="constant", cval=1).tolist() == [1 + 1j, 2 + 2j, 2j]


def test_a_reduction_with_a_preamble_and_options() -> None:
    kernel = cp.ReductionKernel(
        "T a", "T out", "twice(a) * FACTOR + i * n", "a + b", "out = a", "0", "odd",
        preamble="template <class T> __device__ T twice(T x) { return x + x; }", options=("-DFACTOR=3",),
    )  # fmt: skip
    assert ndimage.generic_filter(nl.array([1.0, 2.0, 4.0]), kernel, 2, origin=-1).tolist() == [20, 38, 50]


def test_a_kernel_by_a_name_expression() -> None:
    code = "template <class T> __global__ void first(T* x, int n, double* y) { *y = x[0] + SHIFT; }"
    kernel = cp.RawKernel(code, "first<double>", ("-DSHIFT=10",))
    assert ndimage.generic_filter(nl.arange(4.0), kernel, 3).tolist() == [10, 10, 11, 12]


def test_an_empty_array_has_no_windows() -> None:
    for kernel in (spread, mean):
        assert ndimage.generic_filter(nl.zeros((0, 3)), kernel, 3).shape == (0, 3)
        assert ndimage.generic_filter(nl.array(5.0), kernel, 3).shape == ()
    assert ndimage.generic_filter1d(nl.zeros((0, 3)), running, 3).shape == (0, 3)
    assert ndimage.generic_filter1d(nl.zeros((3, 0)), running, 3).shape == (3, 0)


@pytest.mark.parametrize(
    ("error", "options", "match"),
    [
        (RuntimeError, {}, "size or a footprint"),
        (RuntimeError, {"size": 3, "mode": "around"}, "boundary mode"),
        (RuntimeError, {"size": (3, 3)}, "entry for each"),
        (ValueError, {"size": 3, "origin": 2}, "invalid origin"),
        (TypeError, {"size": 3, "extra_arguments": (1,)}, "extra_arguments"),
        (TypeError, {"size": 3, "extra_keywords": {"k": 1}}, "extra_keywords"),
    ],
)
def test_arguments_that_are_refused(error: type[Exception], options: dict[str, Any], match: str) -> None:
    for kernel in (spread, mean):
        with pytest.raises(error, match=match):
            ndimage.generic_filter(nl.arange(5.0), kernel, **options)


def test_kernels_that_are_refused() -> None:
    x = nl.arange(5.0)
    plus = cp.ElementwiseKernel("T x", "T y", "y = x + 1", "plus")
    two = cp.ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "two")
    raw = cp.ReductionKernel("raw T x", "T z", "x[i]", "a + b", "z = a", "0", "whole")
    for kernel, match in (
        (plus, "ElementwiseKernel"),
        (two, "1 input"),
        (raw, "not raw"),
        (running, "takes 4 arguments"),
        (7, "not int"),
    ):
        with pytest.raises(TypeError, match=match):
            ndimage.generic_filter(x, kernel, 3)
    for kernel in (plus, mean):
        with pytest.raises(TypeError, match="takes a RawKernel"):
            ndimage.generic_filter1d(x, kernel, 3)
    with pytest.raises(TypeError, match="takes 3 arguments"):
        ndimage.generic_filter1d(x, spread, 3)
    for call in (ndimage.generic_filter, ndimage.generic_filter1d):
        with pytest.raises(TypeError, match="Complex"):
            call(x + 1j, spread if call is ndimage.generic_filter else running, 3)
    with pytest.raises(RuntimeError, match="one or more"):
        ndimage.generic_filter1d(x, running, 0)
    with pytest.raises(ValueError, match="invalid origin"):
        ndimage.generic_filter1d(x, running, 3, origin=2)


def test_an_edge_that_the_dtype_cannot_hold_is_refused() -> None:
    x = nl.arange(4, dtype="u1")
    for cval in (-1, 0.5, 300, np.nan):
        with pytest.raises(ValueError, match="cannot hold"):
            ndimage.generic_filter(x, mean, 3, mode="constant", cval=cval)
    assert ndimage.generic_filter(x, spread, 3, mode="constant", cval=-1, output="f8")[0] == 2
    assert ndimage.generic_filter(x, mean, 3, mode="constant", cval=nl.array(9)).tolist() == [3, 1, 2, 4]


def test_a_function_of_python_that_fails_says_so() -> None:
    def fails(window: Any) -> float:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        ndimage.generic_filter(nl.arange(4.0), fails, 3)
    with pytest.raises(ZeroDivisionError, match="mine"):
        ndimage.generic_filter1d(nl.arange(4.0), lambda line, result: fails(line), 3)
    scaled = ndimage.generic_filter(
        nl.arange(4.0), lambda w, k, by: w.sum() * k * by, 2, extra_arguments=(2,), extra_keywords={"by": 3}
    )
    assert scaled.tolist() == [0, 6, 18, 30]
    doubled = nl.zeros(4)
    assert (
        ndimage.generic_filter1d(nl.arange(4.0), lambda a, b: b.__setitem__(..., a * 2), 1, output=doubled) is doubled
    )
    assert doubled.tolist() == [0, 2, 4, 6]
