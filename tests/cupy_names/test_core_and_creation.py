"""What programs for CuPy ask of arrays and of functions that make them."""

import warnings

import numpy as np
import pytest

import numloom as nl
import numloom.cupy as cp


@pytest.mark.parametrize("k", [-(1 << 63), -4, -1, 0, 4, 5, 1 << 63])
@pytest.mark.parametrize("order", ["C", "F"])
def test_diagonals_anywhere(k, order):
    assert np.array_equal(nl.asnumpy(nl.eye(4, 5, k, "int8", order=order)), np.eye(4, 5, k, "int8", order=order))


def test_grids_between_arrays():
    x, y = np.zeros(10)[:, None], np.ones(10)[:, None]
    assert np.array_equal(nl.asnumpy(nl.mgrid[x:y:10j, x:y:10j]), np.mgrid[x:y:10j, x:y:10j])
    low, high = nl.zeros(10)[:, None], nl.ones(10)[:, None]
    with nl.config(host_copy="allow"):  # The grid is NumPy's.
        assert np.array_equal(nl.asnumpy(nl.mgrid[low:high:10j, low:high:10j]), np.mgrid[x:y:10j, x:y:10j])


def test_threads_of_a_block_are_checked_for_every_kernel():
    kernel = cp.ElementwiseKernel("T x, T y", "T z", "z = x + y")
    with pytest.raises(ValueError, match="block_size"):
        kernel(cp.ones((2, 3), "float32"), 1, block_size=0)
    assert kernel(cp.ones(3, "float32"), 1, block_size=1).tolist() == [2, 2, 2]


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize("complex_dtype", ["complex64", "complex128"])
def test_imaginary_parts_are_not_lost_silently(complex_dtype, dtype):
    x = nl.array([1 + 2j, 3], complex_dtype)
    with pytest.warns(np.exceptions.ComplexWarning):
        found = x.astype(dtype)
    assert found.tolist() == [1, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.astype(bool), x.astype("complex128"), x.astype("complex64"), x.real.astype(dtype)


@pytest.mark.parametrize("order", "CFAK")
@pytest.mark.parametrize("made", ["C", "F"])
def test_no_copy_where_the_order_is_asked_for(made, order):
    x = nl.array(np.arange(24.0).reshape(2, 3, 4), order=made)
    assert (x.astype(float, order=order, copy=False) is x) == (order in ("A", "K", made))


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_what_is_taken_fits_the_output(mode):
    x, out = nl.arange(3, dtype="int32"), nl.zeros(2, "float32")
    with pytest.raises(TypeError, match="Cannot cast array data from dtype\\('float32'\\) to dtype\\('int32'\\)"):
        nl.take(x, nl.array([0, 1]), out=out, mode=mode)
    assert nl.take(x, nl.array([1, 2]), out=nl.zeros(2, "int16"), mode=mode).tolist() == [1, 2]


class Measured:
    """Stands for an array, as programs for CuPy write it."""

    def __init__(self, array):
        self.array = array

    def __cupy_get_ndarray__(self):
        return self.array


def test_objects_stand_for_arrays():
    x = cp.arange(3.0)
    assert cp.asarray(Measured(x)).tolist() == [0, 1, 2]
    assert cp.array(Measured(x), dtype="int32").dtype == "int32"
    assert (x + Measured(x)).tolist() == (Measured(x).array + x).tolist() == [0, 2, 4]
    assert cp.sum(Measured(x)) == 3
    assert cp.ElementwiseKernel("T x", "T y", "y = 2 * x")(Measured(x)).tolist() == [0, 2, 4]


def test_capsules_are_taken_once():
    x = cp.arange(3.0)
    capsule = x.__dlpack__()
    found = cp.from_dlpack(capsule)
    assert found.tolist() == [0, 1, 2]
    for take in (cp.from_dlpack, cp.fromDlpack):
        with pytest.raises(ValueError, match="multiple times"):
            take(capsule)
    assert cp.from_dlpack(array=x, copy=True).tolist() == [0, 1, 2]


def test_raw_arrays_and_numbers_do_not_tell_a_size():
    kernel = cp.ElementwiseKernel("raw T x, T y", "T z", "z = x[i] + y")
    x = cp.arange(3.0)
    with pytest.raises(ValueError, match="size="):
        kernel(x, 7)
    assert kernel(x, 7, size=2).tolist() == [7, 8]
    assert kernel(x, cp.ones(3)).tolist() == [1, 2, 3]


def test_axes_are_as_few_as_numpys():
    for xp in (np, nl):
        with pytest.raises(ValueError, match="maximum supported dimension"):
            xp.zeros((1,) * 65)
    assert nl.zeros((1,) * 64).ndim == 64
