"""ReductionKernel: axes, layouts, dtypes, fused or in kernels of their own, and every mistake."""

import itertools
import math

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numloom as np
from numloom import CompileError, ReductionKernel
from numloom.testing import assert_kernels

pytestmark = pytest.mark.compiler

rng = numpy.random.default_rng(5)
DTYPES = [numpy.dtype(char) for char in "?bBhHiIqQefdFD"]
# An option that changes nothing makes a kernel run at once, in a kernel of its own.
OPTIONS = {"recorded": (), "at once": ("--fmad=false",)}


def same(result, expected, rtol=0.0):
    expected = numpy.asarray(expected)
    assert isinstance(result, np.ndarray)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    numpy.testing.assert_allclose(result.get(), expected, rtol=rtol)


def axes_of(ndim):
    """None, every axis, every tuple of axes, from both ends."""
    yield None
    for count in range(ndim + 1):
        for axes in itertools.combinations(range(ndim), count):
            yield axes
            yield tuple(axis - ndim for axis in axes)
    yield from range(-ndim, ndim)


# ---------------------------------------------------------------- programs


@pytest.mark.parametrize("how", OPTIONS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_l2_norm(how, dtype):
    l2norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm", options=OPTIONS[how])
    x = rng.standard_normal((7, 11, 5)).astype(dtype)
    rtol = 1e-6 if dtype == "f4" else 1e-14
    for axis in axes_of(3):
        for keepdims in (False, True):
            expected = numpy.sqrt((x * x).sum(axis=axis, keepdims=keepdims))
            same(l2norm(np.asarray(x), axis=axis, keepdims=keepdims), expected, rtol)


@pytest.mark.parametrize("how", OPTIONS)
def test_several_inputs_broadcast(how):
    dot = ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "dot", options=OPTIONS[how])
    x, y = rng.integers(-9, 9, (6, 8)).astype("f8"), rng.integers(-9, 9, (8,)).astype("f8")
    same(dot(np.asarray(x), np.asarray(y), axis=1), (x * y).sum(1))
    same(dot(np.asarray(x), np.asarray(y)), (x * y).sum())
    same(dot(np.asarray(x), 3.0, axis=0), (x * 3).sum(0))
    same(dot(np.asarray(x).T, np.asarray(y)[:, None], axis=0), (x.T * y[:, None]).sum(0))


@pytest.mark.parametrize("how", OPTIONS)
def test_several_outputs(how):
    kernel = ReductionKernel(
        "T x", "T total, float64 mean", "x", "a + b",
        "total = a; mean = (double)a / (_in_ind.size() / _out_ind.size())", "0", "total_and_mean", options=OPTIONS[how],
    )  # fmt: skip
    x = rng.integers(-9, 9, (4, 10)).astype("i8")
    total, mean = kernel(np.asarray(x), axis=1)
    same(total, x.sum(1))
    same(mean, x.mean(1))


@pytest.mark.parametrize("how", OPTIONS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(how, dtype):
    x = rng.integers(0, 3, (5, 40))
    x = (x % 2 if dtype.kind == "b" else x).astype(dtype)
    y = x.astype(dtype)
    if dtype.kind == "c":
        y = y + 1j * y[::-1]
    expression, reduce = ("a || b", numpy.any) if dtype.kind == "b" else ("a + b", numpy.sum)
    kernel = ReductionKernel("T x", "T y", "x", expression, "y = a", "0", "total_" + dtype.name, options=OPTIONS[how])
    keep = {} if dtype.kind == "b" else {"dtype": dtype}
    for axis in (0, 1, None):
        same(kernel(np.asarray(y), axis=axis), reduce(y, axis=axis, **keep))


@pytest.mark.parametrize("how", OPTIONS)
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind in "iuf"], ids=str)
def test_without_identity(how, dtype):
    kernel = ReductionKernel(
        "T x", "T y", "x", "a < b ? a : b", "y = a", None, "least_" + dtype.name, options=OPTIONS[how]
    )
    x = rng.integers(0 if dtype.kind == "u" else -90, 100, (6, 33)).astype(dtype)
    for axis in (0, 1, None):
        same(kernel(np.asarray(x), axis=axis), x.min(axis=axis))
    with pytest.raises(ValueError, match="no identity"):
        kernel(np.empty((0, 3), dtype), axis=0)
    same(kernel(np.empty((0, 3), dtype), axis=1), numpy.empty(0, dtype))


@pytest.mark.parametrize("how", OPTIONS)
def test_nothing_to_reduce_gives_the_identity(how):
    kernel = ReductionKernel("T x", "T y", "x", "a * b", "y = a + 1", "1", "product", options=OPTIONS[how])
    same(kernel(np.empty((2, 0))), 2.0)
    same(kernel(np.empty((2, 0)), axis=1), numpy.full(2, 2.0))
    same(kernel(np.empty((2, 0)), axis=0), numpy.empty(0))
    same(kernel(np.full((), 5.0)), 6.0)
    same(kernel(np.full((), 5.0), axis=()), 6.0)


@pytest.mark.parametrize("how", OPTIONS)
@pytest.mark.parametrize("reduce_type", ["double", "float64", "long long", "U"])
def test_type_of_the_total(how, reduce_type):
    kernel = ReductionKernel(
        "T x, U y", "T z", "x * y", "a + b", "z = a", "0", "typed_" + reduce_type.replace(" ", "_"), reduce_type,
        options=OPTIONS[how],
    )  # fmt: skip
    x = numpy.full(70000, 3, "f4")
    x[0] = 2.0**24
    y = numpy.ones(70000, "i8")
    same(kernel(np.asarray(x), np.asarray(y)), numpy.float32((x * y).sum()))


@pytest.mark.parametrize("shape, axis", [((1000,), None), ((100000,), None), ((300, 70), 0), ((300, 70), 1)], ids=str)
def test_a_structure_as_total(shape, axis):
    kernel = ReductionKernel(
        "T x", "float64 mean, float64 var", "moments(x)", "merged(a, b)", "mean = a.mean; var = a.m2 / a.count",
        "moments()", "mean_and_variance", "moments", preamble="""
        struct moments {
            double count, mean, m2;
            __device__ moments() : count(0), mean(0), m2(0) {}
            __device__ moments(double x) : count(1), mean(x), m2(0) {}
        };
        __device__ moments merged(const moments& a, const moments& b) {
            moments r;
            r.count = a.count + b.count;
            const double d = b.mean - a.mean, w = r.count > 0 ? b.count / r.count : 0;
            r.mean = a.mean + d * w;
            r.m2 = a.m2 + b.m2 + d * d * a.count * w;
            return r;
        }
        """,
    )  # fmt: skip
    x = rng.standard_normal(shape)
    mean, var = kernel(np.asarray(x), axis=axis)
    same(mean, x.mean(axis), 1e-9)
    same(var, x.var(axis), 1e-9)


def test_raw_inputs_and_position():
    kernel = ReductionKernel("T x, raw T w", "T y", "x * w[i % w.size()]", "a + b", "y = a", "0", "weighted")
    x, w = rng.integers(0, 9, (6, 8)).astype("f8"), rng.integers(0, 9, 8).astype("f8")
    for axis in (None, 0, 1):
        same(kernel(np.asarray(x), np.asarray(w), axis=axis), (x * w).sum(axis))
    by_position = ReductionKernel(
        "T x", "int64 y", "x > 4 ? i : n", "min(a, b)", "y = a", "9223372036854775807ll", "first_above"
    )  # fmt: skip
    x = numpy.arange(12.0).reshape(3, 4)
    same(by_position(np.asarray(x)), numpy.int64(5))
    same(by_position(np.asarray(x), axis=1), numpy.array([12, 5, 8]))
    same(by_position(np.asarray(x).T), numpy.int64(2))  # positions count in C order of what is given


# ---------------------------------------------------------------- fusion


def test_expressions_before_and_after_are_one_kernel():
    l2norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    x = rng.standard_normal((30, 50))
    with assert_kernels(1):
        result = l2norm(np.asarray(x) * 2 + 1, axis=1) * 10
        same(result, numpy.sqrt(((x * 2 + 1) ** 2).sum(1)) * 10, 1e-13)


def test_two_outputs_are_one_kernel():
    kernel = ReductionKernel("T x", "T y, T z", "x", "a + b", "y = a; z = -a", "0", "both_signs")
    x = rng.integers(0, 9, (5, 6)).astype("f8")
    with assert_kernels(1):
        y, z = kernel(np.asarray(x), axis=0)
        same(y, x.sum(0))
        same(z, -x.sum(0))


# ---------------------------------------------------------------- outputs


@pytest.mark.parametrize("how", OPTIONS)
def test_out(how):
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "into", options=OPTIONS[how])
    x = rng.integers(0, 9, (4, 6)).astype("f8")
    for keepdims, shape in ((False, (6,)), (True, (1, 6))):
        for out in (np.zeros(shape), np.zeros((*shape, 2))[..., 0], np.zeros(shape)[..., ::-1]):
            assert kernel(np.asarray(x), out=out, axis=0, keepdims=keepdims) is out
            same(out, x.sum(0, keepdims=keepdims))
    out = np.zeros(4)
    assert kernel(np.asarray(x), out, axis=1) is out
    same(out, x.sum(1))


def test_an_output_that_is_read():
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y += a", "0", "added")
    out = np.full(3, 100.0)
    kernel(np.ones((3, 5)), out=out, axis=1)
    same(out, numpy.full(3, 105.0))


# ---------------------------------------------------------------- layouts


@pytest.mark.parametrize("how", OPTIONS)
@settings(max_examples=40)
@given(data=st.data())
def test_random_layouts(how, data):
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "laid_out", options=OPTIONS[how])
    stored = data.draw(st.lists(st.integers(0, 6), max_size=4))
    x = numpy.arange(float(math.prod(stored))).reshape(stored)
    order = data.draw(st.permutations(range(len(stored))))
    index = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1, -2]))) for _ in stored)
    loom = np.asarray(x).transpose(tuple(order))[index]
    x = x.transpose(order)[index]
    axis = data.draw(st.sampled_from(list(axes_of(x.ndim))))
    keepdims = data.draw(st.booleans())
    same(kernel(loom, axis=axis, keepdims=keepdims), x.sum(axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("how", OPTIONS)
@pytest.mark.parametrize("shape", [(1, 100003), (3, 70001), (70001, 3), (5000, 40), (40, 5000), (2, 3, 1000)], ids=str)
def test_sizes(how, shape):
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "sized", options=OPTIONS[how])
    x = rng.integers(-50, 50, shape).astype("i8")
    for axis in (*range(len(shape)), None):
        same(kernel(np.asarray(x), axis=axis), x.sum(axis))


def test_maximum_is_cudas_and_passes_nan_over():
    kernel = ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "-INFINITY", "greatest")
    x = numpy.array([[1.0, numpy.nan, 3], [1, 2, 3], [-numpy.inf] * 3])
    same(kernel(np.asarray(x), axis=1), numpy.fmax.reduce(x, axis=1))


def test_the_same_call_again_gives_the_same_bits():
    for options in OPTIONS.values():
        kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "again", options=options)
        x = np.asarray(rng.standard_normal(100000).astype("f4"))
        first = kernel(x).get()
        assert all(kernel(x).get() == first for _ in range(3))


# ---------------------------------------------------------------- mistakes


def total(**kwargs):
    return ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total", **kwargs)


@pytest.mark.parametrize("call, error, words", [
    (lambda: total()(), TypeError, "takes 1 input "),
    (lambda: total()(1.0), ValueError, "pass an array"),
    (lambda: total()(np.ones(3), axis=1), ValueError, "axis 1 is out of bounds"),
    (lambda: total()(np.ones((3, 2)), axis=(0, 0)), ValueError, "duplicate"),
    (lambda: total()(np.ones(3), axis=0.5), TypeError, ""),
    (lambda: total()(np.ones(3), out=np.ones(2)), ValueError, "output y has shape (2,), the result has ()"),
    (lambda: total()(np.ones(3), np.ones(()), out=np.ones(())), TypeError, "both by position and as out="),
    (lambda: total()(np.ones(3), out=(np.ones(()), np.ones(()))), TypeError, "has 1 output, out= gives 2"),
    (lambda: total()(np.ones(3), out=numpy.ones(())), TypeError, "needs a numloom array"),
    (lambda: total()(np.ones(3), out=np.ones((), "i4")), TypeError, "convert one of them"),
    (lambda: total(options=("-Xlinker",)), ValueError, "option"),
    (lambda: ReductionKernel("", "T y", "1", "a + b", "y = a", "0", "none"), ValueError, "needs an input"),
    (lambda: ReductionKernel("T x", "raw T y", "x", "a + b", "y[0] = a", "0", "r"), ValueError, "cannot be raw"),
    (lambda: ReductionKernel("T x", "T a", "x", "a + b", "a = a", "0", "r"), ValueError, "a is the total"),
    (lambda: ReductionKernel("T x", "T y", 1, "a + b", "y = a", "0", "r"), TypeError, "map_expr must be a string"),
    (lambda: ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "a b"), ValueError, "identifier"),
    (lambda: ReductionKernel("T x", "U y", "x", "a + b", "y = a", "0", "r")(np.ones(3)), TypeError, "follows from no"),
])  # fmt: skip
def test_mistakes(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("how", OPTIONS)
@pytest.mark.parametrize("place", ["map_expr", "reduce_expr", "post_map_expr", "identity"])
def test_errors_of_the_compiler_show_the_users_line(how, place):
    texts = {"map_expr": "x", "reduce_expr": "a + b", "post_map_expr": "y = a", "identity": "0"}
    texts[place] = texts[place].replace("0", "zero + 0").replace("a", "aa") if place != "map_expr" else "xx"
    kernel = ReductionKernel("T x", "T y", **texts, name="misspelt_" + place, options=OPTIONS[how])
    with pytest.raises(CompileError, match=place) as caught:
        kernel(np.ones(3))
    assert texts[place] in str(caught.value)
    same(np.ones(3).sum(), 3.0)  # the process lives


def test_work_that_an_argument_waits_for_does_not_share_the_scratch_memory() -> None:
    """A pending reduction, whose blocks count in scratch memory, runs before the kernel takes its own."""
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total_of_pending")
    host = numpy.arange(400_000.0)
    x = np.asarray(host)
    for turn in range(4):
        pending = x * (turn + 1) - x.sum()
        numpy.testing.assert_allclose(float(total(pending)), (host * (turn + 1) - host.sum()).sum(), rtol=1e-9)
        numpy.testing.assert_allclose(float((x + turn).sum()), (host + turn).sum(), rtol=1e-12)
