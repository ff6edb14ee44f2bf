"""What CuPy's tests of public names ask for where their files import private ones, too."""

import pickle

import numpy
import pytest
import scipy.signal
import scipy.sparse

import numloom as np
from numloom import cupy as cp
from numloom import cupyx


class Stand:
    """An object that stands for an array, by CuPy's name."""

    def __init__(self, array):
        self.array = array

    def __cupy_get_ndarray__(self):
        return self.array


def test_a_setting_of_plans_is_deprecated():
    config = cp.fft.config
    with pytest.warns(DeprecationWarning, match="enable_nd_planning"):
        assert config.enable_nd_planning is True
    with pytest.warns(DeprecationWarning, match="enable_nd_planning"):
        config.enable_nd_planning = False
    with pytest.warns(DeprecationWarning, match="enable_nd_planning"):
        assert config.enable_nd_planning is False
    with pytest.warns(DeprecationWarning, match="enable_nd_planning"):
        config.enable_nd_planning = True


@pytest.mark.parametrize("name", ["fft", "ifft", "fftn", "ifft2", "rfft", "irfftn"])
def test_transforms_hear_of_the_plan_of_a_block(name):
    x = np.ones((4, 6), "D")
    kind = {"rfft": "R2C", "irfftn": "C2R"}.get(name, "C2C")
    given = x.real.copy() if kind == "R2C" else x
    axes = -1 if name in ("fft", "ifft", "rfft") else (0, 1)
    plan = cupyx.scipy.fft.get_fft_plan(given, axes=axes, value_type=kind)
    transform = getattr(cp.fft, name)
    expected = getattr(numpy.fft, name)(cp.asnumpy(given))
    with plan:
        numpy.testing.assert_allclose(cp.asnumpy(transform(given)), expected, atol=1e-12)
        with pytest.raises(ValueError, match="do not match"):
            transform(given[:2, :4])
    numpy.testing.assert_allclose(cp.asnumpy(transform(given)), expected, atol=1e-12)


@pytest.mark.parametrize("make", [cupyx.empty_like_pinned, cupyx.zeros_like_pinned])
@pytest.mark.parametrize("order", ["C", "F", "A", "K", None])
@pytest.mark.parametrize("shape", [None, (), (0, 3), (2, 3, 4), (4, 3, 2), 5])
def test_pinned_arrays_are_laid_out_as_numpys(make, order, shape):
    host = numpy.empty((3, 2, 4), "f4").transpose(1, 0, 2)
    for like in (host, np.asarray(host), host[:, :, ::2]):
        expected = numpy.empty_like(host if like is not host[:, :, ::2] else like, order=order or "K", shape=shape)
        found = make(like, order=order, shape=shape)
        if like.shape == host.shape:
            assert (found.shape, found.strides) == (expected.shape, expected.strides)
        assert isinstance(found.base, cp.cuda.PinnedMemoryPointer)
        assert found.base.ptr == found.ctypes.data or not found.size
    with pytest.raises(TypeError, match="subok"):
        make(host, subok=True)


def test_memory_of_pinned_arrays_is_their_base():
    for made in (cupyx.empty_pinned((2, 3), "i2", order=None), cupyx.zeros_pinned(7)):
        assert isinstance(made.base, cp.cuda.PinnedMemoryPointer)
        assert made.base.ptr == made.ctypes.data


@pytest.mark.parametrize("dtypes", ["fF", "fd", "bq", "DF"])
@pytest.mark.parametrize("format", [None, "csr", "coo"])
@pytest.mark.parametrize("empty", [True, False])
def test_kronecker_products_of_nothing(dtypes, format, empty):
    a, b = (numpy.zeros((2, 3), c) for c in dtypes)
    b[0, 0] = 1
    if not empty:
        a[1, 1] = 1
    expected = scipy.sparse.kron(scipy.sparse.coo_matrix(a), scipy.sparse.coo_matrix(b), format)
    found = np.sparse.kron(np.sparse.coo_matrix(np.array(a)), np.sparse.coo_matrix(np.array(b)), format)
    assert found.dtype == expected.dtype
    numpy.testing.assert_array_equal(cp.asnumpy(found.toarray()), expected.toarray())


@pytest.mark.parametrize("make", [cp.random.RandomState, cp.random.default_rng, np.random.default_rng])
def test_random_matrices_by_our_generators(make):
    found = [np.sparse.random(20, 10, 0.3, random_state=make(seed)) for seed in (1, 1, 2)]
    dense = [cp.asnumpy(each.toarray()) for each in found]
    numpy.testing.assert_array_equal(dense[0], dense[1])
    assert (dense[0] != dense[2]).any() and found[0].nnz == 60
    again = np.sparse.rand(20, 10, 0.3, random_state=make(1))
    numpy.testing.assert_array_equal(cp.asnumpy(again.toarray()), dense[0])


def test_what_stands_for_an_array_is_an_index():
    x = numpy.arange(12).reshape(3, 4)
    rows = numpy.array([2, 0])
    mask = x > 5
    ours = np.array(x)
    numpy.testing.assert_array_equal(cp.asnumpy(ours[Stand(np.array(rows))]), x[rows])
    numpy.testing.assert_array_equal(cp.asnumpy(ours[Stand(np.array(rows)), 1]), x[rows, 1])
    numpy.testing.assert_array_equal(cp.asnumpy(ours[Stand(np.array(mask))]), x[mask])
    ours[Stand(np.array(rows))] = 7
    x[rows] = 7
    numpy.testing.assert_array_equal(cp.asnumpy(ours), x)
    with pytest.raises(IndexError):
        ours[Stand(np.ones(2))]


def test_one_array_given_twice_is_one_for_scipy():
    x = numpy.random.default_rng(0).random(256)
    ours = np.array(x)
    expected = scipy.signal.csd(x, x)
    found = cupyx.scipy.signal.csd(ours, ours)
    assert found[1].dtype == expected[1].dtype
    numpy.testing.assert_allclose(cp.asnumpy(found[1]), expected[1])


def test_objects_of_scipys_are_pickled():
    points = numpy.random.default_rng(0).random((8, 2))
    values = points.sum(1)
    made = cupyx.scipy.interpolate.RBFInterpolator(np.array(points), np.array(values))
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is type(made)
    numpy.testing.assert_allclose(cp.asnumpy(again(np.array(points))), values)
