"""vectorize: NumPy's meaning, whether traced or called element by element; fuse: accepted."""

import numpy
import pytest

import numloom as np
from numloom.testing import assert_kernels


def check(function, *args, **options):
    """Our result equals NumPy's."""
    expected = numpy.vectorize(function, **options)(*args)
    looms = [np.asarray(arg) if isinstance(arg, numpy.ndarray) else arg for arg in args]
    result = np.vectorize(function, **options)(*looms)
    several = isinstance(expected, tuple)
    assert isinstance(result, tuple) == several
    pairs = zip(result, expected, strict=True) if several else [(result, expected)]
    for ours, theirs in pairs:
        assert isinstance(ours, np.ndarray)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        numpy.testing.assert_allclose(ours.get(), theirs, rtol=1e-15)


A = numpy.arange(12.0).reshape(3, 4)
B = numpy.arange(4) + 1


@pytest.mark.parametrize("function, args", [
    (lambda a: a * 2 + 1, (A,)),
    (lambda a, b: a * b - a / b, (A, B)),
    (lambda a, b: a if a > b else b * 2.0, (A, B)),
    (lambda a, b: (a + b, a - b), (A, B)),
    (lambda a: -a, (numpy.float32(2.5),)),
    (lambda a: a + 1, (A[1:2, 1:2],)),
    (lambda a: a // 2 if a % 2 == 0 else 3 * a + 1, (B,)),
    (lambda a: float(a) ** 2, (B,)),
    (lambda a: 7, (A,)),
    (lambda a: a, (B,)),
    (lambda a: a - max(a, 3.0), (A,)),
    (lambda a: numpy.sin(a), (A,)),
    (lambda a, b: a + b, (A.T[::-1], 3)),
    (lambda a: a + 1, ([1, 2, 3],)),
    (lambda a: a > 3, (A,)),
    (lambda a: a.real, (A,)),
    (lambda a: abs(a) ** 0.5, (A - 5,)),
])  # fmt: skip
def test_as_numpys(function, args):
    check(function, *args)


@pytest.mark.parametrize("otypes", ["f", [numpy.int32], "d"])
def test_types_of_outputs(otypes):
    check(lambda a, b: a + b, A, B, otypes=otypes)
    check(lambda a, b: a if a > b else b, A, B, otypes=otypes)
    check(lambda a: a + 1, numpy.empty(0), otypes=otypes)


def test_excluded_and_signature():
    check(lambda a, power: a**power, A, 2, excluded={1})
    check(lambda x, y: x @ y, A, B, signature="(n),(n)->()")


def test_arguments_by_name():
    function = np.vectorize(lambda a, b=2: a * b)
    numpy.testing.assert_array_equal(function(np.asarray(A)).get(), A * 2)
    numpy.testing.assert_array_equal(function(np.asarray(A), b=3).get(), A * 3)


def test_empty_needs_types():
    with pytest.raises(ValueError):
        np.vectorize(lambda a: 1 if a else 2)(np.empty(0))


def test_what_works_on_arrays_is_recorded_and_fuses():
    function = np.vectorize(lambda a, b: (a * a + b * b) ** 0.5)
    a, b = np.asarray(A), np.asarray(B)
    with assert_kernels(1):
        result = function(a + 1, b) * 2
        numpy.testing.assert_allclose(result.get(), ((A + 1) ** 2 + B * B) ** 0.5 * 2)


def test_it_does_not_write_to_its_arguments():
    def careless(a):
        a += 1
        return a

    x = np.asarray(A)
    numpy.testing.assert_array_equal(np.vectorize(careless)(x).get(), A + 1)
    numpy.testing.assert_array_equal(x.get(), A)


def test_a_function_that_changes_is_called_for_each_element():
    counted = iter(range(1000))
    result = np.vectorize(lambda a: a * 0 + next(counted), otypes="d")(np.asarray(B)).get()
    assert len(set(result.tolist())) == len(B)


def test_as_a_decorator():
    @np.vectorize
    def step(x):
        """Heaviside's."""
        return 1.0 if x > 0 else 0.0

    assert step.__doc__ == "Heaviside's."
    numpy.testing.assert_array_equal(step(np.asarray(A - 3)).get(), (A > 3).astype(float))

    @np.vectorize(otypes=[float])
    def half(x):
        return x / 2

    numpy.testing.assert_array_equal(half(np.asarray(A)).get(), A / 2)


@pytest.mark.parametrize("function", [lambda a: a.size + a, lambda a: a - a.mean(), lambda a: a.T], ids="smT")
def test_what_only_arrays_have_is_not_there(function):
    with pytest.raises(AttributeError):
        np.vectorize(function)(np.asarray(A))


def test_mistakes():
    with pytest.raises(TypeError):
        np.vectorize(3)
    with pytest.raises(ZeroDivisionError):
        np.vectorize(lambda a: 1 // 0)(np.asarray(A))
    with pytest.raises(ValueError):
        np.vectorize(lambda a, b: a + b)(np.ones(3), np.ones(4))


# ---------------------------------------------------------------- fuse


def test_fuse_gives_the_function():
    @np.fuse
    def plain(x, y):
        return (x - y) ** 2

    @np.fuse(kernel_name="named")
    def named(x, y):
        return (x - y) ** 2

    x = np.asarray(A)
    for function in (plain, named):
        with assert_kernels(1):
            numpy.testing.assert_array_equal(function(x, 2.0).get(), (A - 2) ** 2)


def test_fuse_refuses_what_is_no_function():
    for call in (lambda: np.fuse(3), lambda: np.fuse(other=1), lambda: np.fuse(print, print)):
        with pytest.raises(TypeError):
            call()
