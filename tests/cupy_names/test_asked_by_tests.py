"""What CuPy's own tests ask for: helps of ``cupy.testing``, streams of others, bands, errors told apart."""

import importlib
import textwrap
from unittest import mock

import numpy
import pytest

import numloom as np
from numloom import cupy as cp
from numloom import cupyx
from numloom.command.run import run

testing = cp.testing


def same(found, expected, rtol=1e-12):
    numpy.testing.assert_allclose(cp.asnumpy(found), expected, rtol=rtol, atol=1e-12)


# ---------------------------------------------------------------- cupy.testing


class TestAlias(testing.NumpyAliasBasicTestBase):
    func = "isscalar"


class TestAliasValues(testing.NumpyAliasValuesTestBase):
    func = "base_repr"

    def setUp(self):
        self.args = (10, 3)


def test_a_wrong_alias_is_found():
    class Wrong(testing.NumpyAliasValuesTestBase):
        func = "base_repr"
        args = (10, 3)
        cupy_func = staticmethod(lambda number, base: "111")

    with pytest.raises(AssertionError, match="111"):
        Wrong("test_values").test_values()


def test_calls_are_counted():
    before = cp.ndarray
    with testing.AssertFunctionIsCalled("cupy.ndarray", wraps=cp.ndarray, times_called=2):
        assert cp.ndarray((2,), "f4").shape == (2,)
        cp.ndarray((3,), "f4")
    with (
        pytest.raises(AssertionError, match=r"cupy\.ndarray was called 0 times, expected 1"),
        testing.AssertFunctionIsCalled("cupy.ndarray"),
    ):
        pass
    with pytest.raises(KeyError), testing.AssertFunctionIsCalled("cupyx.rsqrt"):
        raise KeyError("of the block")
    assert cp.ndarray is before


def test_arrays_own_their_memory_and_fit_their_dtype():
    for xp in (numpy, cp):
        x = testing.shaped_arange((2, 3), xp, "f8")
        assert x.base is None and x.T.base is x
    same(testing.shaped_linspace(-2, 2, (3,), dtype="u1"), [0, 1, 2])
    same(testing.shaped_linspace(-2, 2, (3,), dtype="i1"), [-2, 0, 2])
    same(testing.shaped_linspace(-3, 3, (4,), dtype="?"), [False, True, True, True])


def test_singular_values_are_checked():
    for values, error in ((1j, TypeError), ([1.0, -1.0], ValueError), (numpy.ones(3), ValueError)):
        with pytest.raises(error):
            testing.generate_matrix((2, 2), singular_values=values)
    with pytest.raises(TypeError, match="int32"):
        testing.generate_matrix((2, 2), dtype="i4", singular_values=1)
    A = testing.generate_matrix((2, 3), dtype="f8", singular_values=cp.array([1.0, 5.0]))
    same(cp.linalg.svd(A, compute_uv=False), [5, 1])


def test_a_function_as_a_parameter_gets_no_self():
    class Parameterized:
        def value(self):
            return self.double(3)

    Parameterized.__module__ = __name__
    testing.parameterize({"double": lambda x: 2 * x})(Parameterized)
    assert globals().pop("Parameterized_0")().value() == 6


def test_of_two_loops_over_one_name_the_inner_one_decides():
    seen = []

    @testing.for_dtypes("fd")
    @testing.for_dtypes("ib")
    def loop(dtype):
        seen.append(numpy.dtype(dtype).char)

    loop()
    assert seen == ["i", "b"] * 2


def raising(ours, theirs, **options):
    with pytest.warns(DeprecationWarning):

        @testing.numpy_cupy_raises(**options)
        def test(xp):
            raise ours if xp is cp else theirs

    return test


def test_errors_are_as_explicit_as_numpys():
    class Own(IndexError):
        pass

    raising(IndexError("a"), IndexError("b"))()
    raising(IndexError("a"), Exception("b"))()
    raising(Own("a"), Own("b"))()
    raising(IndexError("a"), Own("b"))()
    raising(cp.exceptions.AxisError("a"), numpy.exceptions.AxisError("b"))()
    for ours, theirs, accept in (
        (Exception("a"), IndexError("b"), Exception),
        (TypeError("a"), ValueError("b"), Exception),
        (cp.exceptions.AxisError("a"), ValueError("b"), Exception),
        (ValueError("a"), ValueError("b"), TypeError),
        (ValueError("a"), ValueError("b"), False),
    ):
        with pytest.raises(AssertionError, match=r"'a'.*'b'"):
            raising(ours, theirs, accept_error=accept)()


def test_tolerances_are_told_apart_by_types():
    with pytest.raises(TypeError, match="float16"):
        testing.numpy_cupy_allclose(rtol={"float16": 1e-3})
    with pytest.raises(TypeError, match="float16"):
        testing.numpy_cupy_allclose(atol={"float16": 1e-3})


# ---------------------------------------------------------------- cublas


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(("size", "k"), [(5, 0), (5, 2), (4, 3), (1, 0), (3, 4)])
def test_sbmv(size, k, lower):
    draw = numpy.random.default_rng(size + k)
    rows, columns = numpy.indices((size, size))
    whole = draw.normal(size=(size, size))
    whole = numpy.where(abs(rows - columns) <= k, whole + whole.T, 0)
    band = numpy.full((k + 1, size), 99.0)
    for place in range(min(k, size - 1) + 1):
        row = band[place] if lower else band[k - place]
        row[: size - place] = 99
        row[slice(size - place) if lower else slice(place, None)] = numpy.diag(whole, place)
    x, y = draw.normal(size=(2, size))
    out = cp.asarray(y)
    assert cp.cublas.sbmv(k, 3.0, cp.asarray(band), cp.asarray(x), 2.0, out, lower=lower) is out
    same(out, 3 * whole @ x + 2 * y)


def test_sbmv_refuses():
    x = cp.ones(3)
    with pytest.raises(ValueError, match="2 rows of 3"):
        cp.cublas.sbmv(1, 1.0, cp.ones((1, 3)), x, 0.0, x)
    with pytest.raises(TypeError, match="real"):
        cp.cublas.sbmv(0, 1.0, cp.ones((1, 3), "D"), cp.ones(3, "D"), 0.0, cp.ones(3, "D"))


def test_dgmm_counts_elements_of_memory():
    a, x = numpy.arange(6.0).reshape(2, 3), numpy.arange(9.0).reshape(3, 3) + 1
    same(cp.cublas.dgmm("R", cp.asarray(a), cp.asarray(x), incx=4), a * [1, 5, 9])
    same(cp.cublas.dgmm("L", cp.asarray(a), cp.asarray(7.0), incx=0), a * 7)
    with pytest.raises(ValueError, match="3 factors, got 2"):
        cp.cublas.dgmm("R", cp.asarray(a), cp.ones(2))


# ---------------------------------------------------------------- functions


def test_interp_between_infinities_of_complex_values():
    points, where = numpy.array([1.0, 3, 5, 7]), numpy.array([0, 1, 2, 3.5, 4, 6, 8])
    for values in ([numpy.inf, 1, numpy.inf, 2j], [1, 2j, 3 + numpy.inf * 1j, 4], [numpy.inf] * 4):
        values = numpy.array(values, "D")
        found = cp.asnumpy(cp.interp(cp.asarray(where), cp.asarray(points), cp.asarray(values)))
        numpy.testing.assert_array_equal(found, numpy.interp(where, points, values))


@pytest.mark.parametrize("name", ["nan", "posinf", "neginf"])
def test_replacements_fit_the_array(name):
    x = numpy.array([0, numpy.nan, numpy.inf, -numpy.inf])
    for given in (x, x.astype("f4"), x + 1j):
        found = cp.nan_to_num(cp.asarray(given), **{name: cp.full((1,), 4.0)})
        same(found, numpy.nan_to_num(given, **{name: numpy.full((1,), 4.0)}))
        with pytest.raises(ValueError, match="broadcast"):
            cp.nan_to_num(cp.asarray(given), **{name: cp.zeros((2, 4))})
    with pytest.raises(ValueError, match="broadcast"):
        cp.nan_to_num(0.0, **{name: numpy.zeros(3)})


def test_diagonals_of_nothing():
    assert [x.shape for x in cp.diag_indices(-3, 2)] == [(0,), (0,)]
    assert cp.diag_indices(3, -2) == ()


def test_windows_along_all_axes_are_told():
    with pytest.raises(ValueError, match="Since axis is `None`"):
        cp.lib.stride_tricks.sliding_window_view(cp.ones((2, 3)), 2)
    with pytest.raises(ValueError, match="matching length"):
        cp.lib.stride_tricks.sliding_window_view(cp.ones((2, 3)), (2, 2), axis=0)


def test_a_polynomial_waits_when_its_degree_is_asked():
    x = cp.arange(5.0) + 0.0
    with cupyx.allow_synchronize(False):
        p = cp.poly1d(x)
        q = cp.poly1d(p, variable="t")
        third = p[3]
        beyond = p[9]
    assert float(third) == 1 and float(beyond) == 0
    assert p.order == q.order == 3 and q.variable == "t" and p.variable == "x"
    same(p.coeffs, [1, 2, 3, 4])
    assert cp.poly1d(numpy.poly1d([1, 2], variable="z")).variable == "z"
    for xp in (numpy, cp):
        with pytest.raises(TypeError):
            xp.poly1d([1, 2]) ** 2.0


# ---------------------------------------------------------------- cuda


def test_streams_of_others():
    class Other:
        def __init__(self, told):
            self.told = told

        def __cuda_stream__(self):
            return self.told

    ours = cp.cuda.Stream()
    other = Other((0, ours.ptr))
    assert cp.cuda.Stream.from_external(other) == ours
    for told, wrong in (
        (7, "2-tuple"), ((0,), "2-tuple"), (("x", 0), "int, int"), ((0, "x"), "int, int"), ((1, 5), "unsupported"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=wrong):
            cp.cuda.Stream.from_external(Other(told))
    with pytest.raises(TypeError, match="does not implement"):
        cp.cuda.Stream.from_external(object())


def test_devices_are_no_numbers():
    with pytest.raises(TypeError):
        cp.cuda.Device(0) < 1
    assert cp.cuda.Device(0) <= cp.cuda.Device(0)


def test_profiles_are_started_and_stopped():
    patched = [mock.patch(f"numloom.cuda.profiler.{name}") for name in ("start", "stop")]
    with patched[0] as start, patched[1] as stop, pytest.raises(KeyError), cp.cuda.profile():
        raise KeyError
    start.assert_called_once_with()
    stop.assert_called_once_with()


# ---------------------------------------------------------------- run --cupy


def test_modules_by_name(tmp_path, capsys):
    before = importlib.import_module
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent(
            """
            import importlib
            from unittest import mock
            import cupy
            assert importlib.import_module("cupy") is cupy
            assert importlib.import_module("cupyx.scipy.ndimage").gaussian_filter
            import importlib.util
            if importlib.util.find_spec("cupy") is None:  # Else mock asks for CuPy itself.
                with mock.patch("cupy.asnumpy", return_value=3):
                    assert cupy.asnumpy(None) == 3
            print(importlib.import_module("numpy").__name__)
            """
        )
    )
    assert run([str(script)], cupy=True) == 0
    assert capsys.readouterr().out == "numpy\n"
    assert importlib.import_module is before


# ---------------------------------------------------------------- random numbers, places, limits


def test_a_generator_takes_other_bits():
    drawn = cp.random.Generator(cp.random.Philox4x3210(5)).random(3)
    generator = cp.random.Generator(cp.random.XORWOW(4))
    generator.bit_generator = cp.random.Philox4x3210(5)
    assert generator.random(3).tolist() == drawn.tolist()
    with pytest.raises(TypeError, match="bit generator"):
        generator.bit_generator = 5


def test_gamma_numbers_go_into_rows():
    generator, out = cp.random.default_rng(3), cp.zeros((4, 6))
    assert generator.standard_gamma(2.0, out=out) is out and float(out.min()) > 0
    for wrong in (cp.zeros((4, 6), order="F"), out[:3, :2]):
        with pytest.raises(ValueError, match="C-contiguous"):
            generator.standard_gamma(2.0, out=wrong)
    turned = cp.zeros((4, 6), order="F")
    assert generator.standard_normal(out=turned) is turned


def test_places_have_a_dtype():
    x = cp.array([[3.0, 9], [7, 2]])
    with cp.members():
        found = x.argmax(dtype="i2"), x.argmin(axis=1, dtype="i4", keepdims=True)
        out = cp.zeros(2, "i8")
        assert x.argmax(0, out) is out and out.tolist() == [1, 0]
    assert found[0].dtype == "i2" and int(found[0]) == 1
    assert found[1].dtype == "i4" and found[1].tolist() == [[0], [1]]
    with pytest.raises(TypeError):
        x.argmax(dtype="i2")


def test_a_limit_is_noted():
    before = cp.cublas.get_batched_gesv_limit()
    cp.cublas.set_batched_gesv_limit(0)
    a, b = numpy.array([[[2.0, 1], [1, 3]]]), numpy.array([[[1.0], [2]]])
    same(cp.linalg.solve(cp.asarray(a), cp.asarray(b)), numpy.linalg.solve(a, b))
    assert cp.cublas.get_batched_gesv_limit() == 0
    cp.cublas.set_batched_gesv_limit(before)


def test_a_mask_is_any_number():
    for where in (1 + 1j, 0j, 3.2, 0):
        x = cp.zeros(2)
        cp.copyto(x, 1.0, where=where)
        assert x.tolist() == [float(bool(where))] * 2


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", ["?", "i1", "f4"])
def test_running_sums_with_the_first_one_run_in_the_outputs_dtype(name, dtype):
    a = numpy.array([[0, 1, 1], [2, 1, 3]], dtype)
    out, expected = cp.zeros((2, 4), dtype), numpy.zeros((2, 4), dtype)
    found = getattr(cp, name)(cp.asarray(a), axis=1, out=out, include_initial=True)
    getattr(numpy, name)(a, axis=1, out=expected, include_initial=True)
    assert found is out
    same(out, expected)


def test_the_root_is_the_first_level_of_a_profile():
    lines = {}
    for depth in (1, 2, 3):
        with cp.cuda.memory_hooks.LineProfileHook(max_depth=depth) as hook:
            memory = cp.cuda.MemoryPool().malloc(1000)
        del memory
        lines[depth] = hook.report().splitlines()
    assert len(lines[1]) == 1 and lines[1][0].startswith("_root") and len(lines[2]) == 2 and len(lines[3]) == 3


def test_an_allocator_asks_the_default_pool():
    pool, asked = cp.get_default_memory_pool(), []

    def noted(size):
        asked.append(size)
        return pool.malloc(size)

    with cp.cuda.using_allocator(noted), np.config(placement="device"):
        x = cp.arange(5000.0) * 2 + 1
        total = float(x.sum())
        assert cp.cuda.alloc(100).mem.size >= 100
        del x
    assert total == 5000 * 4999 + 5000 and len(asked) >= 2 and asked[-1] == 100
    assert cp.cuda.get_allocator() == pool.malloc
    pool.free_all_blocks()


def test_complex_numbers_have_no_order_for_a_function_of_one():
    x = cp.array([1 + 2j, 3])
    for compare in (lambda a, b: a < b, lambda a, b: a >= b):
        assert cp.vectorize(compare)(x.real, x.imag).tolist() == numpy.vectorize(compare)([1, 3], [2, 0]).tolist()
        with pytest.raises(TypeError, match="complex"):
            cp.vectorize(compare)(x, x)
    assert cp.vectorize(lambda a, b: a == b)(x, x).tolist() == [True, True]


def test_covariances_tell_shapes_before_dtypes():
    for dtype, error in (("?", ValueError), ("f8", ValueError)):
        with pytest.raises(error, match="dimensions"):
            cp.cov(cp.ones((2, 3), dtype), cp.ones((2, 4), dtype), dtype=dtype)
    with pytest.raises(TypeError, match="subtract"):
        cp.cov(cp.ones((2, 3), "?"), cp.ones((2, 3), "?"), dtype="?")


# ---------------------------------------------------------------- who, libraries


def test_who_counts_memory_once(capsys):
    x = cp.ones(10)
    cp.who({"x": x, "half": x[::2], "other": cp.ones((2, 3), "i4"), "no": numpy.ones(3), "number": 3})
    lines = capsys.readouterr().out.split("\n")
    rows = [line.split() for line in lines]
    assert ["x", "10", "80", "float64"] in rows and ["other", "2", "x", "3", "24", "int32"] in rows
    assert ["half", "5", "40", "float64"] in rows and not any(row[:1] in (["no"], ["number"]) for row in rows)
    assert lines[-2:] == ["Upper bound on total bytes  =       104", ""]
    cp.who({})
    assert capsys.readouterr().out == "\nUpper bound on total bytes  =       0\n"


def test_who_looks_at_the_module_that_asks(capsys):
    names = {"cp": cp, "array_of_a_module": cp.ones(4, "f4")}
    exec("cp.who()", names)
    assert "array_of_a_module  4      16     float32" in capsys.readouterr().out


def test_libraries_that_are_not_there_say_so():
    assert not (cp.cuda.cub.available or cp.cuda.cutensor.available or cp.cuda.thrust.available)
    with pytest.raises(AttributeError, match="need no library"):
        _ = cp.cuda.cub.device_reduce


def test_a_vector_without_its_zeros_is_a_view():
    x = cp.array([1.0, 2, 0, 0])
    found = cp.polynomial.polyutils.trimseq(x)
    assert found.tolist() == [1, 2] and cp.shares_memory(found, x) is True
    assert cp.polynomial.polyutils.trimseq(cp.zeros(3)).tolist() == [0]
    assert cp.polynomial.polyutils.trimseq([1, 0]).tolist() == [1]
