"""ElementwiseKernel: the programs that users bring, every dtype and layout, recorded and at once, and every mistake."""

import math
import sys

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numloom as np
from numloom import CompileError, ElementwiseKernel
from numloom.emit.emit import emit
from numloom.testing import assert_kernels

pytestmark = pytest.mark.compiler

rng = numpy.random.default_rng(11)
DTYPES = [numpy.dtype(char) for char in "?bBhHiIqQefdFD"]
NUMBERS = [dtype for dtype in DTYPES if dtype.char != "?"]
FLOATS = [numpy.dtype(char) for char in "efd"]
TOLERANCE = {"e": 2e-3, "f": 2e-6, "d": 1e-13, "F": 2e-6, "D": 1e-13}

# What makes a kernel run at once, without changing what it gives.
AT_ONCE = {"recorded": {}, "at once": {"loop_prep": "int unused = 0", "after_loop": "(void)unused"}}


def sample(dtype, shape, low=0):
    """Values of a dtype that no operation here takes out of its range."""
    values = rng.integers(low, 8, shape)
    if dtype.kind in "fc":
        values = values + rng.integers(0, 4, shape) / 4
    if dtype.kind == "c":
        values = values + 1j * rng.integers(0, 4, shape)
    return numpy.asarray(values).astype(dtype)


def same(result, expected):
    """Equal in dtype, shape and every bit that NumPy compares."""
    assert isinstance(result, np.ndarray)
    assert result.dtype == expected.dtype
    numpy.testing.assert_array_equal(result.get(), expected, strict=True)


# ---------------------------------------------------------------- programs


def test_squared_difference_with_fixed_types():
    squared_diff = ElementwiseKernel(
        "float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_diff"
    )  # fmt: skip
    x = numpy.arange(10, dtype=numpy.float32).reshape(2, 5)
    y = numpy.arange(5, dtype=numpy.float32)
    same(squared_diff(np.asarray(x), np.asarray(y)), (x - y) * (x - y))
    same(squared_diff(np.asarray(x), 5), (x - 5) * (x - 5))
    z = np.empty((2, 5), np.float32)
    assert squared_diff(np.asarray(x), np.asarray(y), z) is z
    same(z, (x - y) * (x - y))


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_squared_difference_with_generic_types(dtype):
    squared_diff = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff_generic")
    x, y = sample(dtype, (2, 5)), sample(dtype, 5)
    same(squared_diff(np.asarray(x), np.asarray(y)), (x - y) * (x - y))


def test_statements_over_several_lines_and_two_placeholders():
    kernel = ElementwiseKernel(
        "T x, U y", "T z", """
            T diff = x - (T)y;  // the second type may be another
            z = diff * diff;
        """, "two_types",
    )  # fmt: skip
    x, y = sample(numpy.dtype("f4"), (3, 4)), sample(numpy.dtype("i2"), 4)
    same(kernel(np.asarray(x), np.asarray(y)), (x - y.astype("f4")) ** 2)


@pytest.mark.parametrize("count", [numpy.dtype(char) for char in "iIqQfd"], ids=str)
@pytest.mark.parametrize("index", [numpy.dtype(char) for char in "bBhHiIqQ"], ids=str)
def test_bincount(index, count):
    bincount = ElementwiseKernel("S x", "raw U bin", "atomicAdd(&bin[x], 1)", "bincount_kernel")
    x = rng.integers(0, 20, 3000).astype(index)
    bins = np.zeros(20, count)
    assert bincount(np.asarray(x), bins) is bins
    same(bins, numpy.bincount(x, minlength=20).astype(count))


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_multiply_and_add(dtype):
    kernel = ElementwiseKernel("T x, T y, T z", "T w", "w = (x*y)+z", "multiply_add")
    x, y, z = sample(dtype, (4, 3)), sample(dtype, (1, 3)), sample(dtype, ())
    same(kernel(np.asarray(x), np.asarray(y), np.asarray(z)), x * y + z)


def test_two_outputs():
    kernel = ElementwiseKernel("T x, T y", "T s, T d", "s = x + y; d = x - y", "sum_and_difference")
    x, y = sample(numpy.dtype("f8"), (5, 2)), sample(numpy.dtype("f8"), (5, 1))
    with assert_kernels(1):
        total, difference = kernel(np.asarray(x), np.asarray(y))
        same(total, x + y)
        same(difference, x - y)


def test_reversal_by_a_raw_input():
    kernel = ElementwiseKernel("raw T x, int32 count", "T y", "y = x[count - 1 - i]", "reversed_kernel")
    x = sample(numpy.dtype("f4"), 7)
    same(kernel(np.asarray(x), 7, size=7), x[::-1])
    same(kernel(np.asarray(x), 7, np.empty(7, np.float32)), x[::-1])


# ---------------------------------------------------------------- fusion


def test_a_kernel_between_two_expressions_is_one_kernel():
    kernel = ElementwiseKernel("T x, T y", "T z", "z = x > y ? x - y : T(0)", "excess")
    x, y = sample(numpy.dtype("f4"), (40, 50)), sample(numpy.dtype("f4"), 50)
    gx, gy = np.asarray(x), np.asarray(y)
    with assert_kernels(1):
        result = np.sqrt(kernel(gx * 2, gy + 1)) * 3
        shown = result.get()
    numpy.testing.assert_allclose(shown, numpy.sqrt(numpy.maximum(x * 2 - (y + 1), 0)) * 3, rtol=1e-6)
    with assert_kernels(1):
        total = float((kernel(gx * 2, gy + 1) * 3).sum())
    assert total == numpy.sum(numpy.maximum(x * 2 - (y + 1), 0) * 3, dtype="f8")


def test_kernels_fuse_with_each_other_and_are_compiled_once():
    double = ElementwiseKernel("T x", "T y", "y = twice(x)", "double", preamble="template <class T> __device__ T twice"
                               "(T x) { return x + x; }")  # fmt: skip
    square = ElementwiseKernel("T x", "T y", "y = x * x", "square")
    x = numpy.arange(12, dtype="i4")
    with assert_kernels(1):
        same(square(double(np.asarray(x))) + double(square(np.asarray(x))), 4 * x * x + 2 * x * x)
    with assert_kernels(1):
        y = square(double(np.asarray(x + 1)))
        same(y, (2 * (x + 1)) ** 2)


def test_views_of_a_result_and_of_arguments():
    kernel = ElementwiseKernel("T x", "T y", "y = x + 1", "increment")
    x = numpy.arange(24.0).reshape(4, 6)
    with assert_kernels(1):
        same(kernel(np.asarray(x).T[::-1])[1:3] * 2, (x.T[::-1] + 1)[1:3] * 2)


# ---------------------------------------------------------------- layouts


def views(array):
    """The same memory in every layout, by name."""
    yield "itself", array
    yield "transposed", array.T
    yield "reversed", array[::-1, ::-1]
    yield "stepped", array[:, ::2]
    yield "broadcast", array[:1]
    yield "fortran", array.copy("F")
    yield "one element", array[2:3, 1:2]
    yield "scalar", array[1, 2, ...]
    yield "empty", array[:, :0]


@pytest.mark.parametrize("how", AT_ONCE)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layouts(how, dtype):
    kernel = ElementwiseKernel("T x, T y", "T z", "z = x == y ? x : y", "choose_" + dtype.name, **AT_ONCE[how])
    base = sample(dtype, (4, 6))
    loom = np.asarray(base)
    for (name, x), (_, gx) in zip(views(base), views(loom), strict=True):
        y = numpy.flip(x).copy()
        same(kernel(gx, np.asarray(y)), numpy.where(x == y, x, y)), name
        row = x.reshape(-1)[:1].reshape((1,) * min(x.ndim, 1)) if x.size else x
        same(kernel(gx, np.asarray(row)), numpy.where(x == row, x, row))


extents = st.lists(st.integers(0, 4), max_size=4)


@pytest.mark.parametrize("how", AT_ONCE)
@settings(max_examples=40)
@given(shape=extents, data=st.data())
def test_random_layouts(how, shape, data):
    kernel = ElementwiseKernel("T x, T y", "T z", "z = 2 * x - y", "random_layouts", **AT_ONCE[how])
    operands = []
    for _ in range(3):
        own = [data.draw(st.sampled_from([extent, 1])) for extent in shape]
        own = own[data.draw(st.integers(0, len(own))) :]
        steps = [data.draw(st.sampled_from([1, 2, -1, -3])) for _ in own]
        order = data.draw(st.permutations(range(len(own))))
        operands.append((own, steps, order))
    arrays, looms = [], []
    for k, (own, steps, order) in enumerate(operands):
        if k == 2:
            own = numpy.broadcast_shapes(*[tuple(o) for o, _, _ in operands[:2]])
            steps, order = [2] * len(own), range(len(own))
        stored = [own[d] * abs(steps[d]) for d in order]
        base = numpy.arange(math.prod(stored), dtype="f8").reshape(stored)
        index = (*[slice(None, None, step) for step in steps], ...)
        back = numpy.argsort(list(order)) if len(own) else ()
        arrays.append(base.transpose(back)[index])
        looms.append(np.asarray(base).transpose(tuple(int(d) for d in back))[index])
        trimmed = (*[slice(extent) for extent in own], ...)
        arrays[k], looms[k] = arrays[k][trimmed], looms[k][trimmed]
    expected = 2 * arrays[0] - arrays[1]
    same(kernel(looms[0], looms[1]), expected)
    out = looms[2]
    assert kernel(looms[0], looms[1], out) is out
    numpy.testing.assert_array_equal(out.get(), expected)


@pytest.mark.parametrize("how", AT_ONCE)
def test_nan_and_infinity_pass(how):
    kernel = ElementwiseKernel("T x", "bool a, bool b, T y", "a = isnan(x); b = isinf(x); y = -x", "special_values",
                               **AT_ONCE[how])  # fmt: skip
    x = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1.5])
    for dtype in FLOATS:
        a, b, y = kernel(np.asarray(x.astype(dtype)))
        same(a, numpy.isnan(x))
        same(b, numpy.isinf(x))
        same(y, -x.astype(dtype))
        numpy.testing.assert_array_equal(numpy.signbit(y.get())[1:], numpy.signbit(-x)[1:])  # of NaN: any


# ---------------------------------------------------------------- position and count


@pytest.mark.parametrize("how", AT_ONCE)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 0, 3), (2, 3, 4)], ids=str)
def test_position_and_count(how, shape):
    kernel = ElementwiseKernel("T x", "int64 p, int64 q", "p = i; q = n + _ind.size()", "positions", **AT_ONCE[how])
    p, q = kernel(np.ones(shape, "f4"))
    size = math.prod(shape)
    same(p, numpy.arange(size).reshape(shape))
    same(q, numpy.full(shape, 2 * size))
    same(kernel(np.ones(shape, "f4").T)[0], numpy.arange(size).reshape(shape[::-1]))


def test_indices_along_dimensions():
    kernel = ElementwiseKernel("T x", "int32 r, int32 c", "r = _ind.get()[0]; c = _ind.get()[1]", "indices")
    r, c = kernel(np.zeros((3, 4)))
    expected = numpy.indices((3, 4), dtype="i4")
    same(r, expected[0])
    same(c, expected[1])


def test_size_for_kernels_with_raw_arguments_only():
    kernel = ElementwiseKernel("raw T x, raw I at", "raw T y", "y[at[i]] = x[i] * 2", "scatter")
    x, at = numpy.arange(6.0), rng.permutation(6)
    y = np.zeros(6)
    assert kernel(np.asarray(x), np.asarray(at), y, size=6) is y
    expected = numpy.zeros(6)
    expected[at] = x * 2
    same(y, expected)
    kernel(np.asarray(x), np.asarray(at), y, size=0)
    same(y, expected)


# ---------------------------------------------------------------- raw arrays


def test_raw_arrays_count_in_c_order_whatever_their_layout():
    kernel = ElementwiseKernel("raw T x", "T y", "y = x[i]", "take_all")
    base = numpy.arange(24.0).reshape(4, 6)
    for (_, x), (_, gx) in zip(views(base), views(np.asarray(base)), strict=True):
        same(kernel(gx, size=x.size), numpy.ascontiguousarray(x).reshape(-1))


def test_raw_arrays_by_index_shape_and_stride():
    kernel = ElementwiseKernel(
        "raw T x, raw T all", "T y", """
        ptrdiff_t at[] = {_ind.get()[1], _ind.get()[0]};
        y = x[at] + (T)(x.shape()[0] * 100 + x.size() * 1000 + x.ndim * 100000 + x.strides()[1] / (int)sizeof(T));
        """, "by_index",
    )  # fmt: skip
    x = numpy.arange(12.0).reshape(3, 4)
    out = np.empty((4, 3))
    kernel(np.asarray(x), np.asarray(x), out)
    same(out, x.T + 300 + 12000 + 200000 + 1)


def test_raw_output_of_a_view_writes_into_its_base():
    kernel = ElementwiseKernel("T x", "raw T y", "y[n - 1 - i] = x", "reverse_into")
    x = numpy.arange(5.0)
    base = np.zeros((5, 4))
    before = base + 0  # recorded before the write, so it does not see it
    kernel(np.asarray(x), base[::-1, 1])
    expected = numpy.zeros((5, 4))
    expected[:, 1] = x
    same(base, expected)
    same(before, numpy.zeros((5, 4)))
    same(base * 2, expected * 2)


def test_pending_arguments_run_before():
    kernel = ElementwiseKernel("raw T x", "raw T y", "y[i] += x[i]", "add_into")
    x = np.arange(5.0) * 3
    y = np.ones(5)
    y[1:] = 7
    kernel(x, y, size=5)
    kernel(x, y, size=5)
    same(y, numpy.array([1.0, 7, 7, 7, 7]) + 6 * numpy.arange(5))


def test_elements_that_were_looked_at_are_seen_anew():
    kernel = ElementwiseKernel("T x", "raw T y", "y[i] = x", "overwrite")
    y = np.zeros(4)
    for value in (1.0, 2.0, 3.0):
        kernel(np.full(4, value), y)
        assert float(y[2]) == value


def test_the_same_call_again_checks_what_may_have_changed():
    kernel = ElementwiseKernel("T x, int8 v", "raw T y", "y[i] = x + v", "checked_again")
    x, y = np.arange(4.0), np.zeros(4)
    for value in (1, 2):
        kernel(x, value, y)
        same(y, numpy.arange(4.0) + value)
    with pytest.raises(OverflowError, match="300"):
        kernel(x, 300, y)
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        kernel(x, 1, y)
    with pytest.raises(ValueError, match="broadcast"):
        ElementwiseKernel("T x, T z", "raw T y", "y[i] = x + z", "broadcast_again")(x, np.ones(3), np.zeros(4))


def test_the_same_call_again_makes_outputs_of_its_own():
    kernel = ElementwiseKernel("raw T x", "T y", "y = x[i] + 1", "own_outputs")
    first, second = kernel(np.arange(4.0), size=4), kernel(np.arange(4.0) * 2, size=4)
    same(first, numpy.arange(4.0) + 1)
    same(second, numpy.arange(4.0) * 2 + 1)


# ---------------------------------------------------------------- outputs that are read


@pytest.mark.parametrize("how", AT_ONCE)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_outputs_that_are_read(how, dtype):
    kernel = ElementwiseKernel("T x", "T y", "y += x", "accumulate_" + dtype.name, **AT_ONCE[how])
    x, y = sample(dtype, (3, 4)), sample(dtype, (3, 4))
    loom = np.asarray(y)
    assert kernel(np.asarray(x), loom) is loom
    same(loom, x + y)
    part = np.asarray(y)
    kernel(np.asarray(x)[:, 0], part[:, 2])
    y[:, 2] += x[:, 0]
    same(part, y)


def test_conditional_assignment_keeps_old_values():
    kernel = ElementwiseKernel("T x", "T y", "if (x > 2) y = x", "raise_to")
    x, y = numpy.arange(5.0), numpy.full(5, -1.0)
    loom = np.asarray(y)
    kernel(np.asarray(x), loom)
    same(loom, numpy.where(x > 2, x, y))


def test_in_place_over_overlapping_views():
    kernel = ElementwiseKernel("T x", "T y", "y = 2 * x", "double_into")
    x = numpy.arange(8.0)
    loom = np.asarray(x)
    kernel(loom[:-1], loom[1:])
    expected = x.copy()
    expected[1:] = 2 * x[:-1]
    same(loom, expected)


def test_in_place_with_two_outputs_reads_old_values():
    kernel = ElementwiseKernel("", "T x, T y", "T held = x; x = y; y = held", "swap")
    x, y = np.arange(4.0), np.arange(4.0) + 10
    kernel(x, y)
    same(x, numpy.arange(4.0) + 10)
    same(y, numpy.arange(4.0))


# ---------------------------------------------------------------- atomics


INTEGERS = [numpy.dtype(char) for char in "bBhHiIqQ"]


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
@pytest.mark.parametrize("name, reduce", [
    ("atomicAdd", numpy.add), ("atomicSub", numpy.subtract), ("atomicMin", numpy.minimum),
    ("atomicMax", numpy.maximum),
])  # fmt: skip
def test_atomic_arithmetic(name, reduce, dtype):
    kernel = ElementwiseKernel("S x, T v", "raw T y", f"{name}(&y[x], v)", f"{name}_{dtype.name}")
    index, values = rng.integers(0, 7, 300), sample(dtype, 300) % 3
    start = numpy.full(7, 100 if dtype.itemsize == 1 else 200, dtype)
    if dtype.kind == "i":
        values -= 1
    loom = np.asarray(start)
    kernel(np.asarray(index), np.asarray(values), loom)
    with numpy.errstate(over="ignore"):
        reduce.at(start, index, values)
    same(loom, start)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name, reduce", [
    ("atomicAnd", numpy.bitwise_and), ("atomicOr", numpy.bitwise_or), ("atomicXor", numpy.bitwise_xor),
])  # fmt: skip
def test_atomic_bits(name, reduce, dtype):
    kernel = ElementwiseKernel("S x, T v", "raw T y", f"{name}(&y[x], v)", f"{name}_{dtype.name}")
    index, values = rng.integers(0, 7, 300), rng.integers(0, 120, 300).astype(dtype)
    start = numpy.full(7, 0x55, dtype)
    loom = np.asarray(start)
    kernel(np.asarray(index), np.asarray(values), loom)
    reduce.at(start, index, values)
    same(loom, start)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_atomic_exchange_and_compare(dtype):
    kernel = ElementwiseKernel(
        "T x", "raw T last, raw T first, T old",
        "old = atomicExch(&last[i % 3], x); atomicCAS(&first[i % 3], (T)0, x)", "exchange_" + dtype.name,
    )  # fmt: skip
    x = (numpy.arange(60) % 50 + 1).astype(dtype)
    last, first, old = np.zeros(3, dtype), np.zeros(3, dtype), np.zeros(60, dtype)
    kernel(np.asarray(x), last, first, old)
    for k in range(3):  # each value but one passed on, starting from zero
        given_on = [*old.get()[k::3], last.get()[k]]
        assert sorted(given_on) == sorted([0, *x[k::3]])
        assert first.get()[k] in x[k::3]


@pytest.mark.parametrize("dtype", [numpy.dtype(char) for char in "IQ"], ids=str)
def test_atomic_counters_that_wrap(dtype):
    kernel = ElementwiseKernel("", "raw T up, raw T down, T a, T b", "a = atomicInc(up.data(), (T)9); "
                               "b = atomicDec(down.data(), (T)9)", "wrap_" + dtype.name)  # fmt: skip
    up, down, a, b = np.zeros(1, dtype), np.zeros(1, dtype), np.zeros(25, dtype), np.zeros(25, dtype)
    kernel(up, down, a, b)
    assert int(up[0]) == 25 % 10
    assert int(down[0]) == (10 - 25 % 10) % 10
    numpy.testing.assert_array_equal(numpy.bincount(a.get().astype(int)), numpy.bincount(numpy.arange(25) % 10))
    numpy.testing.assert_array_equal(numpy.bincount(b.get().astype(int)), numpy.bincount(-numpy.arange(25) % 10))


@pytest.mark.parametrize("dtype", [numpy.dtype(char) for char in "FD"], ids=str)
def test_atomic_sums_of_complex_numbers(dtype):
    kernel = ElementwiseKernel("S x, T v", "raw T y", "atomicAdd(&y[x], v)", "atomic_complex_" + dtype.name)
    index, values = rng.integers(0, 4, 100), sample(dtype, 100)
    expected = numpy.zeros(4, dtype)
    numpy.add.at(expected, index, values)
    loom = np.zeros(4, dtype)
    kernel(np.asarray(index), np.asarray(values), loom)
    same(loom, expected)


# ---------------------------------------------------------------- functions

UNARY = {
    "exp": numpy.exp, "exp2": numpy.exp2, "expm1": numpy.expm1, "log": numpy.log, "log2": numpy.log2,
    "log10": numpy.log10, "log1p": numpy.log1p, "sin": numpy.sin, "cos": numpy.cos, "tan": numpy.tan,
    "asin": numpy.arcsin, "acos": numpy.arccos, "atan": numpy.arctan, "sinh": numpy.sinh, "cosh": numpy.cosh,
    "tanh": numpy.tanh, "asinh": numpy.arcsinh, "atanh": numpy.arctanh, "sqrt": numpy.sqrt, "cbrt": numpy.cbrt,
    "fabs": numpy.fabs, "abs": numpy.abs, "floor": numpy.floor, "ceil": numpy.ceil, "trunc": numpy.trunc,
    "rint": numpy.rint, "rsqrt": lambda x: 1 / numpy.sqrt(x), "rcbrt": lambda x: 1 / numpy.cbrt(x),
    "exp10": lambda x: 10.0**x, "sinpi": lambda x: numpy.sin(numpy.pi * x), "cospi": lambda x: numpy.cos(numpy.pi * x),
    "erf": numpy.vectorize(math.erf), "erfc": numpy.vectorize(math.erfc), "tgamma": numpy.vectorize(math.gamma),
    "lgamma": numpy.vectorize(math.lgamma), "normcdf": numpy.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2))),
    "nearbyint": numpy.rint, "round": lambda x: numpy.trunc(x + numpy.copysign(0.5, x)),
}  # fmt: skip
BINARY = {
    "pow": numpy.power, "hypot": numpy.hypot, "atan2": numpy.arctan2, "copysign": numpy.copysign, "fmod": numpy.fmod,
    "min": numpy.minimum, "max": numpy.maximum, "fmin": numpy.fmin, "fmax": numpy.fmax,
    "fdim": lambda x, y: numpy.maximum(x - y, 0), "remainder": numpy.vectorize(math.remainder),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    kernel = ElementwiseKernel("T x", "T y", f"y = {name}(x)", f"unary_{name}")
    for dtype in FLOATS:
        x = numpy.array([0.125, 0.25, 0.375, 0.5, 0.75, 0.9375], dtype)
        expected = UNARY[name](x.astype("f8")).astype(dtype)
        numpy.testing.assert_allclose(kernel(np.asarray(x)).get(), expected, rtol=4 * TOLERANCE[dtype.char], atol=1e-15)
    single = f"{name}f" if name != "abs" else "fabsf"
    named = ElementwiseKernel("float32 x", "float32 y", f"y = {single}(x)", f"unary_{single}")
    x = numpy.array([0.125, 0.25, 0.75], "f4")
    numpy.testing.assert_allclose(named(np.asarray(x)).get(), UNARY[name](x.astype("f8")), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name):
    kernel = ElementwiseKernel("T x, T y", "T z", f"z = {name}(x, y)", f"binary_{name}")
    for dtype in FLOATS:
        x, y = numpy.array([0.5, 2.5, 7.25, 1.0], dtype), numpy.array([1.5, -2.0, 3.0, 0.25], dtype)
        expected = BINARY[name](x.astype("f8"), y.astype("f8")).astype(dtype)
        numpy.testing.assert_allclose(
            kernel(np.asarray(x), np.asarray(y)).get(), expected, rtol=4 * TOLERANCE[dtype.char], atol=1e-7
        )


@pytest.mark.parametrize("name, inverse", [("erfinv", math.erf), ("erfcinv", math.erfc)])
def test_inverse_functions(name, inverse):
    kernel = ElementwiseKernel("T x", "T y", f"y = {name}(x)", name + "_kernel")
    x = numpy.array([0.001, 0.125, 0.5, 0.875, 0.999])
    y = kernel(np.asarray(x)).get()
    numpy.testing.assert_allclose([inverse(value) for value in y], x, rtol=1e-12)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_functions_of_integers(dtype):
    kernel = ElementwiseKernel(
        "T x, T y", "T low, T high, T size, float64 root", "low = min(x, y); high = max(x, y); size = abs(x); "
        "root = sqrt(x * x + y)", "integers_" + dtype.name,
    )  # fmt: skip
    x, y = sample(dtype, 20), sample(dtype, 20)
    if dtype.kind == "i":
        x[::3] *= -1
    low, high, size, root = kernel(np.asarray(x), np.asarray(y))
    same(low, numpy.minimum(x, y))
    same(high, numpy.maximum(x, y))
    same(size, numpy.abs(x))
    numpy.testing.assert_allclose(root.get(), numpy.sqrt(x.astype("f8") ** 2 + y), rtol=1e-14)


def test_functions_with_pointers_and_three_arguments():
    kernel = ElementwiseKernel(
        "float64 x", "float64 s, float64 c, float64 whole, float64 part, int32 exponent, float64 mantissa, float64 m",
        "double a, b; sincos(x, &a, &b); s = a; c = b; part = modf(x, &a); whole = a; int e; mantissa = frexp(x, &e); "
        "exponent = e; m = fma(x, 2.0, 1) + ldexp(x, 3) + scalbn(x, 1)", "pointers",
    )  # fmt: skip
    x = numpy.array([0.3, 1.75, -2.5, 1e10])
    s, c, whole, part, exponent, mantissa, m = (result.get() for result in kernel(np.asarray(x)))
    numpy.testing.assert_allclose(s, numpy.sin(x), rtol=1e-13)
    numpy.testing.assert_allclose(c, numpy.cos(x), rtol=1e-13)
    numpy.testing.assert_array_equal(part, numpy.modf(x)[0])
    numpy.testing.assert_array_equal(whole, numpy.modf(x)[1])
    numpy.testing.assert_array_equal(mantissa, numpy.frexp(x)[0])
    numpy.testing.assert_array_equal(exponent, numpy.frexp(x)[1])
    numpy.testing.assert_allclose(m, x * 2 + 1 + x * 8 + x * 2, rtol=1e-14)


def test_bits_of_the_gpu():
    kernel = ElementwiseKernel(
        "uint32 x, float32 f", "int32 ones, int32 zeros, uint32 high, int32 first, uint32 bits",
        "ones = __popc(x); zeros = __clz(x); high = __umulhi(x, 3000000000u); first = __ffs(x); "
        "bits = __float_as_uint(f)", "bits_kernel",
    )  # fmt: skip
    x, f = numpy.array([1, 6, 2**31, 12345], "u4"), numpy.array([1, -2.5, 0, numpy.inf], "f4")
    ones, zeros, high, first, bits = (result.get() for result in kernel(np.asarray(x), np.asarray(f)))
    assert ones.tolist() == [int(value).bit_count() for value in x]
    assert zeros.tolist() == [32 - int(value).bit_length() for value in x]
    assert high.tolist() == [int(value) * 3000000000 >> 32 for value in x]
    assert first.tolist() == [(int(value) & -int(value)).bit_length() for value in x]
    numpy.testing.assert_array_equal(bits, f.view("u4"))


@pytest.mark.parametrize("dtype", [numpy.dtype(char) for char in "FD"], ids=str)
def test_complex_numbers(dtype):
    kernel = ElementwiseKernel(
        "T z, T w", "T a, T b, T c, T d", """
        a = z * conj(w) + T(1, -2) * z.real() - w.imag();
        b = exp(z) / w;
        c = sqrt(z) + abs(w);
        d = z == w ? T(0) : pow(z, 2) + arg(z) + norm(w);
        """, "complex_" + dtype.name,
    )  # fmt: skip
    z, w = sample(dtype, 20, 1) / 4, sample(dtype, 20, 1) / 4 + 1
    a, b, c, d = (result.get() for result in kernel(np.asarray(z), np.asarray(w)))
    close = {"rtol": 8 * TOLERANCE[dtype.char]}
    numpy.testing.assert_allclose(a, z * w.conj() + (1 - 2j) * z.real - w.imag, **close)
    numpy.testing.assert_allclose(b, numpy.exp(z) / w, **close)
    numpy.testing.assert_allclose(c, numpy.sqrt(z) + numpy.abs(w), **close)
    numpy.testing.assert_allclose(d, numpy.where(z == w, 0, z**2 + numpy.angle(z) + numpy.abs(w) ** 2), **close)


def test_half_precision_has_arithmetic():
    kernel = ElementwiseKernel(
        "float16 x, float16 y",
        "float16 z, float32 w",
        "z = x * y + float16(1.5); z -= x; w = float(x) / y",
        "half_math",
    )
    x, y = sample(numpy.dtype("e"), 30), sample(numpy.dtype("e"), 30, 1)
    z, w = kernel(np.asarray(x), np.asarray(y))
    numpy.testing.assert_allclose(z.get(), x * y + numpy.float16(1.5) - x, rtol=3e-3, atol=2e-2)
    same(w, x.astype("f4") / y.astype("f4"))


# ---------------------------------------------------------------- numbers


def test_python_numbers_take_the_parameters_dtype():
    kernel = ElementwiseKernel("T x, T y", "T z", "z = x + y", "add_numbers")
    for dtype in NUMBERS:
        x = sample(dtype, 3)
        same(kernel(np.asarray(x), 2), x + dtype.type(2))
    same(kernel(np.ones(2, "f4"), 0.5), numpy.full(2, 1.5, "f4"))
    same(kernel(np.ones(2, "f4"), numpy.float32(0.5)), numpy.full(2, 1.5, "f4"))
    same(kernel(1, 2), numpy.array(3))
    same(kernel(1.5, 2), numpy.array(3.5))
    same(kernel([1.0, 2], numpy.array([3.0, 4.0])), numpy.array([4.0, 6.0]))
    same(kernel(2**63, 2**63), numpy.array(0, "u8"))
    same(kernel(1, 2), numpy.array(3))


def test_changing_numbers_and_shapes_compile_nothing_new(monkeypatch):
    texts = set()

    def noted(program, *options):
        source = emit(program, *options)
        texts.add(source.text)
        return source

    monkeypatch.setattr(sys.modules["numloom.emit.emit"], "emit", noted)
    kernel = ElementwiseKernel("T x, T y", "T z", "z = x * y", "scaled")
    for size in (500, 600, 1000):
        same(kernel(np.arange(float(size)), size + 0.5), numpy.arange(float(size)) * (size + 0.5))
    assert len(texts) <= 1


@pytest.mark.parametrize("how", AT_ONCE)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_reach_kernels_in_every_dtype(how, dtype):
    kernel = ElementwiseKernel("T x, T y", "T z", "z = i == 1 ? y : x", "number_" + dtype.name, **AT_ONCE[how])
    number = {"b": True, "i": -3, "u": 250, "f": -2.5, "c": 1.5 - 2j}[dtype.kind]
    x = sample(dtype, 3)
    expected = x.copy()
    expected[1] = number
    same(kernel(np.asarray(x), number), expected)
    same(kernel(np.asarray(x), dtype.type(number)), expected)


# ---------------------------------------------------------------- options


def test_preamble_defines_and_includes(tmp_path):
    (tmp_path / "scale.h").write_text("__device__ inline float scaled(float x) { return FACTOR * x; }\n")
    kernel = ElementwiseKernel(
        "float32 x", "float32 y", "y = scaled(x) + OFFSET", "included", preamble='#define OFFSET 1\n#include "scale.h"',
        options=("-DFACTOR=3.0f", f"-I{tmp_path}"),
    )  # fmt: skip
    same(kernel(np.arange(4, dtype="f4")), numpy.arange(4, dtype="f4") * 3 + 1)


def test_names_of_two_kernels_do_not_meet():
    one = ElementwiseKernel("T x", "T y", "y = f(x) * LIMIT", "first", preamble="#define LIMIT 2\n__device__ double f"
                            "(double x) { return x + 1; }")  # fmt: skip
    two = ElementwiseKernel("T x", "T y", "y = f(x) * LIMIT", "second", preamble="#define LIMIT 5\n__device__ double f"
                            "(double x) { return x - 1; }")  # fmt: skip
    x = numpy.arange(4.0)
    with assert_kernels(1):
        same(one(np.asarray(x)) + two(np.asarray(x)), (x + 1) * 2 + (x - 1) * 5)


def test_loop_prep_and_after_loop():
    kernel = ElementwiseKernel(
        "T x", "raw T total", "mine += x", "summed", loop_prep="T mine = 0", after_loop="atomicAdd(total.data(), mine)"
    )
    total = np.zeros(1)
    kernel(np.arange(1000.0), total)
    assert float(total[0]) == 499500


ENDS = {
    "return": "if (V < 0) { y = 2; return; } y = 3;",
    "break": "if (V < 0) { y = 2; break; } y = 3;",
    "continue": "if (V < 0) { y = 2; continue; } y = 3;",
    "goto": "if (V < 0) { y = 2; goto done; } y = 3; done:",
    "return in a loop": "y = 3; for (int k = 0; k < 4; ++k) { if (V < 0) { y = 2; return; } }",
    "return at the end": "y = V < 0 ? 2 : 3; return",
}
"""Statements that end an element; `V` is its number."""
KINDS = {
    "recorded": ("T x", "T y", "x", {}, {}),
    "raw input": ("raw T x", "T y", "x[i]", {}, {}),
    "raw output": ("T x", "raw T out", "x", {}, {}),
    "both raw": ("raw T x", "raw T out", "x[i]", {}, {"size": 3000}),
    "indices": ("T x", "T y", "(x + 0 * _ind.get()[0])", {}, {}),
    "loop_prep": ("T x", "T y", "(x * scale)", {"loop_prep": "const T scale = 1"}, {}),
    "options": ("T x", "T y", "(x * ONE)", {"options": ("-DONE=1",)}, {}),
    "check": ("raw T x", "T y", "x[i]", {"options": ("--check",)}, {}),
    "a macro": ("raw T x", "T y", "x[i]", {"preamble": "#define LEAVE return"}, {}),
    "two outputs": ("raw T x", "T y, T z", "x[i]", {}, {}),
}  # fmt: skip


@pytest.mark.parametrize("layout", ["dense", "strided"])
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_element_ends_alone(kind, ends, layout):
    ins, outs, value, keywords, called = KINDS[kind]
    text = ENDS[ends].replace("V", value)
    text = text.replace("return", "LEAVE") if kind == "a macro" else text
    text = f"z = 7; {text}" if kind == "two outputs" else text
    if "out" in outs:
        text = "T& y = out[i]; " + text
    kernel = ElementwiseKernel(ins, outs, text, f"ends_{kind.replace(' ', '_')}", **keywords)
    step = 1 if layout == "dense" else 2
    x = rng.integers(-3, 4, 3000).astype("f4")
    x[:2] = -1, 1
    results = [np.full(3000 * step, -5, "f4")[::step] for _ in outs.split(",")]
    kernel(np.asarray(numpy.repeat(x, step))[::step], *results, **called)
    same(results[0], numpy.where(x < 0, 2, 3).astype("f4"))
    if len(results) > 1:
        same(results[1], numpy.full(3000, 7, "f4"))
    if ins.startswith("raw") and "out" not in outs:
        made = kernel(np.asarray(1 - x), size=3000)  # Outputs of the size that was said, of other values.
        same(made[0] if len(results) > 1 else made, numpy.where(1 - x < 0, 2, 3).astype("f4"))


def test_numbers_are_seen_before_and_after_the_loop():
    kernel = ElementwiseKernel(
        "T x, int32 m, U f", "T y, raw T total", "y = x + q; mine += x * f", "numbers_in_loop_prep",
        loop_prep="const double q {m + 1.0}; T mine = 0", after_loop="atomicAdd(&total[0], mine * m)",
    )  # fmt: skip
    x, total = numpy.arange(1000.0), np.zeros(1)
    y = np.empty(1000)
    kernel(np.asarray(x), 3, 2.0, y, total)
    same(y, x + 4)
    assert float(total[0]) == x.sum() * 6
    total = np.ReductionKernel("T x, T eps", "T y", "x", "a + b", "y = a / eps + 1", "0", "numbers_in_post")
    same(total(np.asarray(x.reshape(10, 100)), 2.0, axis=1), x.reshape(10, 100).sum(1) / 2 + 1)
    same(total(np.asarray(x), 4.0), numpy.float64(x.sum() / 4 + 1))


@pytest.mark.parametrize("how", AT_ONCE)
def test_a_parameter_may_be_called_n(how):
    x = numpy.arange(6.0)
    kernel = ElementwiseKernel(
        "T x, int32 n", "T y, int64 z", "y = x + n + i; z = _ind.size()", "called_n", **AT_ONCE[how]
    )
    y, z = kernel(np.asarray(x), 3)
    same(y, 2 * x + 3)
    same(z, numpy.full(6, 6))
    same(ElementwiseKernel("T n", "T y", "y = n * 2", "array_n", **AT_ONCE[how])(np.asarray(x)), x * 2)
    same(ElementwiseKernel("T x", "T n", "n = x * 2", "output_n", **AT_ONCE[how])(np.asarray(x)), x * 2)
    raw = ElementwiseKernel("raw T n", "T y", "y = n[n.size() - 1 - i]", "raw_n", **AT_ONCE[how])
    same(raw(np.asarray(x), size=6), x[::-1])
    options = {"options": ("-DONE=1",)} if how == "at once" else {}
    total = np.ReductionKernel(
        "T x, T n", "T y", "x * n", "a + b", "y = a + _in_ind.size()", "0", "reduced_n", **options
    )
    same(total(np.asarray(x), 2.0), numpy.float64(36))
    same(np.ReductionKernel("T n", "T y", "n", "a + b", "y = a", "0", "summed_n", **options)(np.asarray(x)), x.sum())


def test_what_is_not_assigned_before_an_element_ends_keeps_its_value():
    for keywords in AT_ONCE.values():
        kernel = ElementwiseKernel("T x", "T y", "if (x < 0) return; y = x", "kept_at_return", **keywords)
        y = np.full(5, 9.0)
        kernel(np.asarray([1.0, -1, 2, -2, 3]), y)
        assert y.tolist() == [1, 9, 2, 9, 3]


def test_after_loop_runs_behind_elements_that_ended():
    kernel = ElementwiseKernel(
        "T x", "raw T total", "if (x < 0) return; mine += x", "summed_some", loop_prep="T mine = 0",
        after_loop="atomicAdd(total.data(), mine)",
    )  # fmt: skip
    total = np.zeros(1)
    kernel(np.arange(-5.0, 1000.0), total)
    assert float(total[0]) == 499500


@pytest.mark.parametrize("options", [(), ("-DONE=1",)], ids=["recorded", "at once"])
def test_a_reduction_ends_one_result_alone(options):
    post = "if (a < 0) { y = 2; return; } y = 3"
    kernel = np.ReductionKernel("T x", "T y", "x", "a + b", post, "0", "ended_post", options=options)
    x = numpy.asarray([[-2.0, 1], [2, 1], [-3, 1], [4, 1]])
    assert kernel(np.asarray(x), axis=1).tolist() == [2, 3, 2, 3]


def test_what_a_call_gives():
    text = ("T x", "T y", "y = x")
    x = np.arange(3.0)
    assert ElementwiseKernel(*text, "no_result", no_return=True)(x) is None
    result = ElementwiseKernel(*text, "one_tuple", return_tuple=True)(x)
    assert isinstance(result, tuple)
    same(result[0], numpy.arange(3.0))
    written = np.zeros(3)
    assert ElementwiseKernel(*text, "no_result_either", no_return=True)(x, written) is None
    same(written, numpy.arange(3.0))
    same(ElementwiseKernel(*text, "other_block", reduce_dims=False)(x, block_size=64), numpy.arange(3.0))


def test_attributes():
    kernel = ElementwiseKernel("T x, raw U y", "T z", "z = x", "described", doc="What it does.")
    assert (kernel.name, kernel.__name__, kernel.nin, kernel.nout, kernel.nargs) == ("described", "described", 2, 1, 3)
    assert kernel.__doc__ == "What it does."
    assert [str(p) for p in kernel.in_params] == ["T x", "raw U y"]


def test_debugging_words_run_at_once(capfd):
    kernel = ElementwiseKernel("T x", "T y", 'y = x; if (i == 2) printf("seen %d\\n", (int)x)', "printing")
    same(kernel(np.arange(4, dtype="i4")), numpy.arange(4, dtype="i4"))


# ---------------------------------------------------------------- mistakes


def good():
    return ElementwiseKernel("float32 x, T y", "T z", "z = x + y", "good")


X = numpy.ones(3, "f4")


@pytest.mark.parametrize("call, error, words", [
    (lambda: good()(np.asarray(X)), TypeError, "takes 2 inputs and optionally 1 output "),
    (lambda: good()(np.asarray(X), 1, 2, 3), TypeError, "got 4 arguments"),
    (lambda: good()(np.ones(3), np.asarray(X)), TypeError, "float32 x takes float32, got float64"),
    (lambda: good()(np.asarray(X), "text"), TypeError, "needs an array or a number"),
    (lambda: good()(np.asarray(X), None), TypeError, "needs an array or a number"),
    (lambda: good()(np.asarray(X), np.ones(4)), ValueError, "shape"),
    (lambda: good()(np.asarray(X), np.ones(3), X), TypeError, "needs a numloom array"),
    (lambda: good()(np.asarray(X), np.ones(3), np.ones(3, "i4")), TypeError, "convert one of them"),
    (lambda: good()(np.asarray(X), np.ones(3), np.ones(4)), ValueError, "broadcast together"),
    (lambda: good()(np.asarray(X), np.ones(3), size=3), ValueError, "size=3 is given beside arrays"),
    (lambda: good()(1j, np.ones(3)), TypeError, "cannot hold the complex"),
    (lambda: ElementwiseKernel("T x", "T y", "y = _ind.size()", "blocks", loop_prep=";")(np.ones(3), block_size=0),
     ValueError, "block_size must be"),
    (lambda: ElementwiseKernel("quux x", "T y", "y = x"), ValueError, "no dtype of NumPy"),
    (lambda: ElementwiseKernel("T", "T y", "y = x"), ValueError, "is no parameter"),
    (lambda: ElementwiseKernel("T x", "T x", "x = x"), ValueError, "given to two parameters"),
    (lambda: ElementwiseKernel("T i", "T y", "y = i"), ValueError, "cannot name a parameter"),
    (lambda: ElementwiseKernel("T x-1", "T y", "y = x"), ValueError, "cannot name a parameter"),
    (lambda: ElementwiseKernel("T x", "T y", "y = x", "bad name; exit"), ValueError, "must be an identifier"),
    (lambda: ElementwiseKernel(3, "T y", "y = x"), TypeError, "must be a string"),
    (lambda: ElementwiseKernel("T x", "T y", 3), TypeError, "must be a string"),
    (lambda: ElementwiseKernel("T x", "T y", "y = x", "o", options=("; rm",)), ValueError, "option"),
    (lambda: ElementwiseKernel("float32 x", "T y", "y = x", "unknown_type")(np.asarray(X)), TypeError,
     "follows from no argument"),
    (lambda: ElementwiseKernel("raw T x", "T y", "y = x[i]", "no_size")(np.asarray(X)), ValueError, "pass size="),
    (lambda: ElementwiseKernel("raw T x", "T y", "y = x[i]", "bad_size")(np.asarray(X), size=-1), ValueError, "size"),
    (lambda: ElementwiseKernel("raw T x", "T y", "y = x[i]", "odd_size")(np.asarray(X), size=2.5), TypeError, "size"),
    (lambda: ElementwiseKernel("raw T x", "T y", "y = x[0]", "huge")(np.asarray(X), size=1 << 61),
     (MemoryError, ValueError), ""),
    (lambda: ElementwiseKernel("raw T x", "T y", "y = x", "raw_number")(2.5, size=3), TypeError, "needs an array"),
    (lambda: ElementwiseKernel("T x", "raw T y", "y[i] = x", "raw_output")(np.asarray(X)), ValueError, "is raw"),
    (lambda: ElementwiseKernel("datetime64 x", "T y", "y = x"), (TypeError, ValueError), ""),
])  # fmt: skip
def test_mistakes(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("how", AT_ONCE)
def test_errors_of_the_compiler_show_the_users_line(how):
    kernel = ElementwiseKernel(
        "T x", "T y", "T held = x;\nheld = helf + 1;\ny = held", "misspelt", **AT_ONCE[how]
    )  # fmt: skip
    with pytest.raises(CompileError) as caught:
        kernel(np.ones(3))
    shown = str(caught.value)
    assert "helf" in shown
    assert "operation" in shown
    assert "held = helf + 1;" in shown
    same(np.ones(2) + 1, numpy.full(2, 2.0))  # the process lives


def test_errors_of_the_compiler_in_the_preamble():
    kernel = ElementwiseKernel(
        "T x", "T y", "y = f(x)", "bad_preamble", preamble="__device__ int f(int x)\n{ retrun x; }"
    )
    with pytest.raises(CompileError, match="preamble"):
        kernel(np.ones(3, "i4"))


@pytest.mark.parametrize("text", ["y = x }", "y = (x", "} int evil() { return 1;", "y = x; #endif", "*/ y = x"])
def test_unbalanced_text_is_an_error(text):
    with pytest.raises(CompileError):
        ElementwiseKernel("T x", "T y", text, "misspelt")(np.ones(3))


def test_read_only_output():
    out = np.ones(3)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ElementwiseKernel("T x", "T y", "y = x", "to_read_only")(np.ones(3), out)


def test_raw_outputs_of_a_size():
    """They are made, of the shape `size`, each time anew; without a size nothing says how large they are."""
    kernel = ElementwiseKernel("", "raw float32 out", "out[i] = i", "counted_raw")
    for size in (2, 2, 3, (2, 2), numpy.int64(2), (np.ones(2) > 0).sum()):
        made = kernel(size=size)
        shape = size if isinstance(size, tuple) else (int(size),)
        assert made.dtype == "f4" and made.tolist() == numpy.arange(numpy.prod(shape)).reshape(shape).tolist()
    first, second = kernel(size=4), kernel(size=4)
    first[0] = 9
    assert second[0] == 0
    both = ElementwiseKernel("raw T x", "raw T y, raw int32 z", "y[i] = x[i] * 2; z[i] = 1", "two_raw")
    for _ in range(2):
        y, z = both(np.arange(4.0), size=3)
        assert y.tolist() == [0.0, 2.0, 4.0] and z.tolist() == [1, 1, 1] and z.dtype == "i4"
    with pytest.raises(ValueError, match="must be given: pass an array, or size="):
        kernel()
