"""The array API standard: signatures and results as those of array_api_strict, and the standard's special cases."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl

EXTENSIONS = ("", "linalg", "fft")
"""Parts of the namespace."""

DEFAULTS = {
    "argsort.descending": "None means the same",
    "sort.descending": "None means the same",
    "argsort.stable": "sorts here are stable whatever is said",
    "sort.stable": "sorts here are stable whatever is said",
    "astype.device": "None is the only device there is",
    "from_dlpack.device": "None is the only device there is",
    "from_dlpack.copy": "None means the same",
    "clip.min": "not given, and None, mean no bound",
    "clip.max": "not given, and None, mean no bound",
    "diff.prepend": "not given, and None, mean nothing",
    "diff.append": "not given, and None, mean nothing",
    "eye.dtype": "float is what None means",
    "std.correction": "not given means ddof, which is 0",
    "var.correction": "not given means ddof, which is 0",
    "vecdot.axis": "not given means -1",
    "linalg.pinv.rtol": "not given is what None means",
    **{f"fft.{name}.norm": "None is NumPy's name of backward" for name in (
        "fft", "fftn", "hfft", "ifft", "ifftn", "ihfft", "irfft", "irfftn", "rfft", "rfftn")},
}  # fmt: skip
"""Defaults that are not the standard's, and why a caller sees no difference."""


def strict_functions() -> Iterator[tuple[str, Any]]:
    strict = pytest.importorskip("array_api_strict")
    for part in EXTENSIONS:
        module = getattr(strict, part) if part else strict
        for name in sorted(getattr(module, "__all__", [])):
            function = getattr(module, name)
            if callable(function) and not isinstance(function, type) and "_flags" not in name and name[0] != "_":
                yield f"{part}.{name}".lstrip("."), function


def ours(path: str) -> Any:
    found: Any = nl
    for part in path.split("."):
        found = getattr(found, part)
    return found


def signature_problems(path: str, function: Any) -> list[str]:
    """How a call that the standard allows would be misunderstood."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    keyword = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    mine = inspect.signature(ours(path)).parameters
    places = [p for p in mine.values() if p.kind in positional]
    many = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in mine.values())
    found = []
    for place, theirs in enumerate(inspect.signature(function).parameters.values()):
        if theirs.kind in positional and place >= len(places) and not many:
            found.append(f"{path}: no position {place} for {theirs.name}")
        if theirs.kind in keyword:
            same = mine.get(theirs.name)
            if same is None or same.kind is inspect.Parameter.POSITIONAL_ONLY:
                found.append(f"{path}: no keyword {theirs.name}")
            elif (
                theirs.default is not inspect.Parameter.empty
                and same.default != theirs.default
                and f"{path}.{theirs.name}" not in DEFAULTS
            ):
                found.append(f"{path}: {theirs.name}={same.default!r}, the standard has {theirs.default!r}")
    return found


def test_every_function_takes_the_arguments_of_the_standard() -> None:
    found = []
    count = 0
    for path, function in strict_functions():
        part = path.rpartition(".")[0]
        if part and not hasattr(nl, part):
            continue
        count += 1
        found += signature_problems(path, function)
    assert not found, "\n".join(found)
    assert count >= 130


def test_arrays_have_the_attributes_of_the_standard() -> None:
    strict = pytest.importorskip("array_api_strict")
    names = {name for name in dir(type(strict.asarray(1.0))) if not name.startswith("_") or name in dir(int)}
    assert not {name for name in names if not hasattr(nl.ndarray, name) and not hasattr(nl.ones(1), name)}
    for name in ("__array_namespace__", "__dlpack__", "__dlpack_device__", "__index__", "__complex__"):
        assert hasattr(nl.ndarray, name), name


# ---------------------------------------------------------------- what the namespace says of itself


def test_the_namespace_describes_itself() -> None:
    x = nl.ones(3)
    assert x.__array_namespace__() is nl and x.__array_namespace__(api_version="2025.12") is nl
    assert nl.__array_api_version__ == "2025.12"
    with pytest.raises(ValueError):
        x.__array_namespace__(api_version="1999.01")
    info = nl.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.capabilities()["data-dependent shapes"]
    assert info.default_device() == x.device and info.devices()[0] == x.device and hash(x.device)
    assert info.default_dtypes(device=x.device) == np.__array_namespace_info__().default_dtypes()
    for kind in (None, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
                 "numeric", ("bool", "integral"), ()):  # fmt: skip
        assert info.dtypes(kind=kind) == np.__array_namespace_info__().dtypes(kind=kind), kind
    with pytest.raises(ValueError):
        info.dtypes(kind="text")
    with pytest.raises(ValueError):
        info.dtypes(device="moon")


def test_bounds_of_clip() -> None:
    x = nl.asarray([-1.5, 0.5, 2.5])
    expected = {"low": [0, 0.5, 2.5], "high": [-1.5, 0.5, 1], "both": [0, 0.5, 1], "none": [-1.5, 0.5, 2.5]}
    calls = {
        "low": [nl.clip(x, 0), nl.clip(x, 0, None), nl.clip(x, min=0), x.clip(0), x.clip(min=0)],
        "high": [nl.clip(x, None, 1), nl.clip(x, max=1), x.clip(max=1), nl.clip(x, None, max=1)],
        "both": [nl.clip(x, 0, 1), nl.clip(x, min=0, max=1), nl.clip(x, 0, max=1), x.clip(0, 1), x.clip(0, max=1)],
        "none": [nl.clip(x), nl.clip(x, None, None), x.clip()],
    }
    for name, results in calls.items():
        for result in results:
            np.testing.assert_array_equal(nl.asnumpy(result), expected[name], err_msg=name)
    for wrong in ({"a_max": 1}, {"a_min": 0, "min": 0}, {"a_min": 0, "a_max": 1, "max": 1}):
        with pytest.raises((TypeError, ValueError)):
            nl.clip(x, **wrong)


def test_where_the_standard_stands_back_numpys_numbers_are_given() -> None:
    """See docs/differences.md."""
    infinite = nl.asarray([np.inf, -np.inf, np.inf])
    assert nl.isnan(infinite // 2).all() and nl.isnan(nl.floor_divide(infinite, -2)).all()
    wave = np.array([complex(np.inf, 3), complex(-np.inf, 1)])
    theirs, ours = np.tanh(wave), nl.asnumpy(nl.tanh(nl.asarray(wave)))
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(np.signbit(ours.imag), np.signbit(theirs.imag))
    assert type(nl.finfo("f4").eps) is np.float32 and nl.finfo("f4").eps == np.finfo("f4").eps


def test_devices() -> None:
    x = nl.arange(3.0)
    assert x.to_device(x.device) is x
    assert nl.astype(x, nl.float32, device=x.device).device == x.device
    assert nl.from_dlpack(x, device=x.device).device == x.device
    for call in (lambda: x.to_device("moon"), lambda: nl.astype(x, "f4", device="moon"),
                 lambda: nl.zeros(3, device="moon"), lambda: nl.from_dlpack(x, device="moon"),
                 lambda: x.to_device(x.device, stream=1)):  # fmt: skip
        with pytest.raises(ValueError):
            call()
    assert nl.astype(x, nl.float64, copy=False) is x and nl.astype(x, nl.float64) is not x


# ---------------------------------------------------------------- every function against array_api_strict

KINDS = {"b": ["bool"], "i": ["int32", "int8", "int64"], "u": ["uint8", "uint32"], "f": ["float32", "float64"],
         "c": ["complex64", "complex128"]}  # fmt: skip


def values(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    """Small values, both signs where there are two, several times the same."""
    random = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype).kind
    drawn = random.integers(0 if kind in "bu" else -3, 2 if kind == "b" else 5, shape)
    return (drawn + 0.5j * random.integers(-2, 3, shape) if kind == "c" else drawn).astype(dtype)


def one(*options: dict[str, Any], **more: Any) -> Callable[[str], Callable[..., Any]]:
    """A function of one array, once for each set of options."""
    chosen = options or (more,)
    return lambda name: lambda xp, x, y: [getattr(xp, name)(x, **given) for given in chosen]


def two(name: str) -> Callable[..., Any]:
    return lambda xp, x, y: [getattr(xp, name)(x, y), getattr(xp, name)(x[..., :1], y)]


AXES = ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)})
AXIS = ({}, {"axis": 0}, {"axis": -1, "keepdims": True})

CALLS: list[tuple[str, str, Callable[[str], Callable[..., Any]]]] = [
    *[(name, "iufc", one()) for name in (
        "abs", "negative", "positive", "square", "sign", "isfinite", "isinf", "isnan")],
    *[(name, "fc", one()) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "exp", "expm1", "log", "log10",
        "log1p", "log2", "reciprocal", "sin", "sinh", "sqrt", "tan", "tanh")],
    *[(name, "iuf", one()) for name in ("ceil", "floor", "trunc")],
    ("round", "iufc", one()), ("signbit", "f", one()), ("logical_not", "b", one()), ("bitwise_invert", "biu", one()),
    *[(name, "c", one()) for name in ("real", "imag")],
    *[(name, "iufc", two) for name in ("add", "subtract", "multiply")],
    *[(name, "biufc", two) for name in ("equal", "not_equal")],
    *[(name, "iuf", two) for name in (
        "less", "less_equal", "greater", "greater_equal", "maximum", "minimum")],
    *[(name, "f", two) for name in (
        "atan2", "copysign", "hypot", "logaddexp", "nextafter", "remainder", "floor_divide")],
    ("divide", "fc", two),
    *[(name, "b", two) for name in ("logical_and", "logical_or", "logical_xor")],
    *[(name, "biu", two) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    *[(name, "iu", lambda name: lambda xp, x, y: getattr(xp, name)(x, xp.astype(y > 1, x.dtype))) for name in (
        "bitwise_left_shift", "bitwise_right_shift")],
    ("pow", "iuf", lambda name: lambda xp, x, y: [xp.pow(x, abs(y)), xp.pow(abs(x), 2)]),
    ("clip", "iuf", lambda name: lambda xp, x, y: [
        xp.clip(x, 1, 2), xp.clip(x, min=1), xp.clip(x, max=y), xp.clip(x, None, 3), xp.clip(x), xp.clip(x, y, y)]),
    *[(name, "iufc", one(*AXES)) for name in ("sum", "prod")],
    ("mean", "fc", one(*AXES)), ("std", "f", one(*AXES, {"correction": 1.0})), ("var", "f", one({"correction": 0.5})),
    *[(name, "iuf", one(*AXES)) for name in ("max", "min")],
    *[(name, "biufc", one(*AXES)) for name in ("all", "any", "count_nonzero")],
    *[(name, "iuf", one(*AXIS)) for name in ("argmax", "argmin")],
    *[(name, "iufc", one({"axis": 0}, {"axis": 1, "include_initial": True}))
      for name in ("cumulative_sum", "cumulative_prod")],
    ("diff", "iufc", one({}, {"axis": 0}, {"n": 2})),
    ("sort", "iuf", one({}, {"axis": 0}, {"descending": True}, {"stable": False, "axis": 0, "descending": True})),
    ("argsort", "iuf", one({}, {"axis": 0}, {"descending": True}, {"axis": 0, "descending": True})),
    ("searchsorted", "iuf", lambda name: lambda xp, x, y: [
        xp.searchsorted(xp.sort(x[0, :]), y), xp.searchsorted(xp.sort(x[0, :]), y, side="right"),
        xp.searchsorted(x[0, :], y, sorter=xp.argsort(x[0, :]))]),
    ("nonzero", "biufc", lambda name: lambda xp, x, y: list(xp.nonzero(x))),
    ("where", "biufc", lambda name: lambda xp, x, y: [xp.where(x == y, x, y), xp.where(x == y, x[0, 0], y)]),
    ("unique_values", "biuf", lambda name: lambda xp, x, y: xp.unique_values(x)),
    *[(name, "iuf", lambda name: lambda xp, x, y: list(getattr(xp, name)(x))) for name in (
        "unique_all", "unique_counts", "unique_inverse")],
    ("isin", "iu", lambda name: lambda xp, x, y: [xp.isin(x, y[0, :1]), xp.isin(x, 2)]),
    ("take", "biufc", lambda name: lambda xp, x, y: [
        xp.take(x, xp.asarray([2, 0]), axis=1), xp.take(x[0, :], xp.asarray([1, 1]))]),
    ("take_along_axis", "biufc", lambda name: lambda xp, x, y: [
        xp.take_along_axis(x, xp.asarray([[2], [0]])), xp.take_along_axis(x, xp.asarray([[1, 0, 1]]), axis=0)]),
    ("repeat", "biufc", lambda name: lambda xp, x, y: [
        xp.repeat(x, 2), xp.repeat(x, 2, axis=1), xp.repeat(x, xp.asarray([1, 0, 2]), axis=1)]),
    ("tile", "biufc", lambda name: lambda xp, x, y: [xp.tile(x, (2, 1)), xp.tile(x, (2,)), xp.tile(x, (2, 1, 1))]),
    ("roll", "biufc", one({"shift": 1}, {"shift": -1, "axis": 1}, {"shift": (1, 2), "axis": (0, 1)})),
    ("flip", "biufc", one({}, {"axis": 0}, {"axis": (0, 1)})),
    ("reshape", "biufc", one({"shape": (3, 2)}, {"shape": (-1,), "copy": True})),
    ("expand_dims", "biufc", one({"axis": 0}, {"axis": -1}, {"axis": (0, 2)})),
    ("squeeze", "biufc", lambda name: lambda xp, x, y: [xp.squeeze(x[:1, ...], axis=0), xp.squeeze(x[:1, :1], (0, 1))]),
    ("permute_dims", "biufc", one({"axes": (1, 0)})), ("matrix_transpose", "biufc", one()),
    ("moveaxis", "biufc", lambda name: lambda xp, x, y: [xp.moveaxis(x, 0, 1), xp.moveaxis(x, (0, 1), (1, 0))]),
    ("broadcast_to", "biufc", one({"shape": (2, 2, 3)})),
    ("broadcast_arrays", "biufc", lambda name: lambda xp, x, y: list(xp.broadcast_arrays(x, y[:1, :]))),
    *[(name, "biufc", lambda name: lambda xp, x, y: [
        getattr(xp, name)([x, y]), getattr(xp, name)([x, y], axis=-1)]) for name in ("concat", "stack")],
    ("concat", "iuf", lambda name: lambda xp, x, y: xp.concat([x, y], axis=None)),
    ("unstack", "biufc", lambda name: lambda xp, x, y: [*xp.unstack(x), *xp.unstack(x, axis=1)]),
    ("meshgrid", "iuf", lambda name: lambda xp, x, y: [
        *xp.meshgrid(x[0, :], y[:, 0]), *xp.meshgrid(x[0, :], y[:, 0], indexing="ij")]),
    *[(name, "biufc", one({}, {"k": 1}, {"k": -1})) for name in ("tril", "triu")],
    *[(name, "biufc", one()) for name in ("zeros_like", "ones_like")],
    ("full_like", "iufc", one({"fill_value": 3})),
    ("astype", "biuf", lambda name: lambda xp, x, y: [
        xp.astype(x, d) for d in (xp.bool, xp.int64, xp.float32, xp.complex128)]),
    *[(name, "iufc", lambda name: lambda xp, x, y: getattr(xp, name)(x, y)) for name in ("vecdot",)],
    ("matmul", "iufc", lambda name: lambda xp, x, y: [xp.matmul(x, xp.matrix_transpose(y)), xp.matmul(x, y[0, :])]),
    ("tensordot", "iufc", lambda name: lambda xp, x, y: [xp.tensordot(x, y), xp.tensordot(x, y, axes=((0,), (0,)))]),
    ("asarray", "biufc", lambda name: lambda xp, x, y: [xp.asarray(x, copy=True), xp.asarray(True)]),
]  # fmt: skip
"""A function, the kinds of dtypes it takes, and calls of it on arrays of shape (2, 3) or (0, 3)."""

EMPTY_REFUSED = {"max", "min", "argmax", "argmin", "where", "take", "take_along_axis", "repeat", "searchsorted", "isin",
                 "reshape", "squeeze", "unstack", "mean", "std", "var", "roll", "meshgrid", "tile", "broadcast_to",
                 "matmul", "broadcast_arrays"}  # fmt: skip
"""Functions that have no result for no elements, or whose calls above take one."""


def host(x: Any) -> Any:
    return x.get() if type(x) is nl.ndarray else np.asarray(getattr(x, "_array", x))


def flattened(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def check_same(mine: Any, theirs: Any, where: str, rtol: float) -> None:
    assert type(mine) is nl.ndarray, where
    assert mine.shape == theirs.shape, (where, mine.shape, theirs.shape)
    expected = host(theirs)
    assert mine.dtype == expected.dtype, (where, mine.dtype, expected.dtype)
    np.testing.assert_allclose(host(mine), expected, rtol=rtol, atol=rtol, err_msg=where)


@pytest.mark.parametrize("shape", [(2, 3), (0, 3)], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_results_are_those_of_the_standard(shape: tuple[int, ...]) -> None:
    strict = pytest.importorskip("array_api_strict")
    strict.set_array_api_strict_flags(api_version="2025.12")
    for number, (name, kinds, make) in enumerate(CALLS):
        if not shape[0] and (name in EMPTY_REFUSED):
            continue
        for kind in kinds:
            dtype = KINDS[kind][number % len(KINDS[kind])]
            x, y = values(dtype, shape), values(dtype, shape, 1)
            call = make(name)
            where = f"{name} of {dtype} {shape}"
            with np.errstate(all="ignore"):
                theirs = flattened(call(strict, strict.asarray(x), strict.asarray(y)))
            mine = flattened(call(nl, nl.asarray(x), nl.asarray(y)))
            assert len(mine) == len(theirs), where
            for a, b in zip(mine, theirs, strict=True):
                check_same(a, b, where, 1e-5 if dtype in ("float32", "complex64") else 1e-12)


def test_functions_that_make_arrays() -> None:
    strict = pytest.importorskip("array_api_strict")
    for call in (
        lambda xp: xp.arange(5), lambda xp: xp.arange(1.0, 2.0, 0.25), lambda xp: xp.arange(5, dtype=xp.float32),
        lambda xp: xp.arange(5, stop=1, step=-2), lambda xp: xp.zeros((2, 3)), lambda xp: xp.ones(3, dtype=xp.int8),
        lambda xp: xp.full((2,), 3), lambda xp: xp.full(2, True), lambda xp: xp.full((), 2.0), lambda xp: xp.eye(3),
        lambda xp: xp.full((2,), 1j), lambda xp: xp.eye(2, 3, k=1, dtype=xp.float32), lambda xp: xp.eye(3, k=-1),
        lambda xp: xp.linspace(0, 1, num=5), lambda xp: xp.linspace(0, 1, 4, endpoint=False, dtype=xp.float32),
        lambda xp: xp.linspace(0, 1 + 1j, 3), lambda xp: xp.asarray([[1, 2], [3, 4]]),
        lambda xp: xp.asarray([1.0, 2j]), lambda xp: xp.asarray(5), lambda xp: xp.asarray([], dtype=xp.float32),
    ):  # fmt: skip
        check_same(call(nl), call(strict), repr(call(strict)), 1e-6)


def test_numbers_that_no_dtype_holds() -> None:
    for call in (lambda: nl.asarray(2**64), lambda: nl.asarray(-(2**63) - 1), lambda: nl.asarray(300, dtype=nl.uint8),
                 lambda: nl.full(2, -1, dtype=nl.uint16), lambda: nl.ones(2, "i1") + 128):  # fmt: skip
        with pytest.raises(OverflowError):
            call()


def test_frequencies_of_a_dtype() -> None:
    strict = pytest.importorskip("array_api_strict")
    fft = strict.fft
    for name in ("fftfreq", "rfftfreq"):
        check_same(getattr(nl.fft, name)(5, d=0.5), getattr(fft, name)(5, d=0.5), name, 1e-12)
        mine = getattr(nl.fft, name)(6, dtype=nl.float32, device=nl.zeros(1).device)
        check_same(mine, getattr(fft, name)(6, dtype=strict.float32), name, 1e-6)
        with pytest.raises(ValueError):
            getattr(nl.fft, name)(6, dtype=nl.int64)


def test_questions_about_dtypes() -> None:
    x = nl.ones(2, "f4")
    assert nl.result_type(x, 1.0) == nl.float32 and nl.result_type(nl.int8, nl.uint8) == nl.int16
    assert nl.result_type(x, 1j) == nl.complex64 and nl.result_type(1, x, nl.float64) == nl.float64
    assert nl.can_cast(x, nl.float64) and not nl.can_cast(nl.float64, nl.float32)
    assert nl.finfo(x).bits == 32 and nl.finfo(nl.complex128).bits == 64 and nl.finfo("f8").smallest_normal > 0
    assert nl.iinfo(nl.ones(1, "i2")).max == 32767
    assert nl.isdtype(x.dtype, "real floating") and nl.isdtype(nl.int8, ("bool", nl.int8))
    assert nl.broadcast_shapes((2, 1), (3,)) == (2, 3)
    with pytest.raises(ValueError):
        nl.finfo(nl.ones(1, "i2"))


# ---------------------------------------------------------------- operators with Python's numbers


@pytest.mark.parametrize("dtype", [d for kind in KINDS.values() for d in kind])
def test_operators_with_python_numbers_promote_as_in_numpy(dtype: str) -> None:
    theirs = values(dtype, (3,))
    mine = nl.asarray(theirs)
    operations = (operator.add, operator.mul, operator.sub, operator.and_, operator.truediv, operator.eq, operator.lt,
                  operator.pow, operator.iadd)  # fmt: skip
    for number in (True, 2, 2**40, -1, 1.5, 1j):
        for operation in operations:
            outcomes = []
            for array in (mine.copy(), theirs.copy()):
                try:
                    with np.errstate(all="ignore"):
                        outcomes.append(operation(array, number))
                except (TypeError, OverflowError, ValueError) as error:
                    outcomes.append(error)
            a, b = outcomes
            if operation is operator.pow and number == 2**40 and theirs.dtype.kind == "c":
                continue  # Signs of infinities.
            where = f"{dtype} {operation.__name__} {number!r}: {a!r}, NumPy {b!r}"
            if isinstance(b, Exception):
                assert isinstance(a, (TypeError, OverflowError, ValueError)), where
                assert isinstance(a, OverflowError) == isinstance(b, OverflowError), where
            else:
                assert a.dtype == b.dtype and a.shape == b.shape, where
                np.testing.assert_allclose(a.get(), b, rtol=1e-5, err_msg=where)


# ---------------------------------------------------------------- special cases

nan, inf, pi = math.nan, math.inf, math.pi
NOTHING_LEFT = [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0)]
"""Functions that leave these as they are."""

UNARY: dict[str, list[tuple[float, float]]] = {
    "abs": [(nan, nan), (-0.0, 0.0), (inf, inf), (-inf, inf)],
    "acos": [(nan, nan), (2, nan), (-2, nan), (1, 0.0), (-1, pi)],
    "acosh": [(nan, nan), (0.5, nan), (1, 0.0), (inf, inf)],
    "asin": [(nan, nan), (2, nan), (-2, nan), (0.0, 0.0), (-0.0, -0.0), (1, pi / 2)],
    "asinh": NOTHING_LEFT,
    "atan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, pi / 2), (-inf, -pi / 2)],
    "atanh": [(nan, nan), (-2, nan), (2, nan), (-1, -inf), (1, inf), (0.0, 0.0), (-0.0, -0.0)],
    "ceil": [*NOTHING_LEFT, (3, 3), (-0.5, -0.0)],
    "floor": [*NOTHING_LEFT, (-3, -3)],
    "trunc": [*NOTHING_LEFT, (-0.5, -0.0)],
    "round": [*NOTHING_LEFT, (0.5, 0.0), (-0.5, -0.0), (1.5, 2), (2.5, 2)],
    "cos": [(nan, nan), (0.0, 1), (-0.0, 1), (inf, nan), (-inf, nan)],
    "cosh": [(nan, nan), (0.0, 1), (-0.0, 1), (inf, inf), (-inf, inf)],
    "exp": [(nan, nan), (0.0, 1), (-0.0, 1), (inf, inf), (-inf, 0.0)],
    "expm1": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1)],
    "isfinite": [(nan, 0), (inf, 0), (-inf, 0), (1, 1)],
    "isinf": [(nan, 0), (inf, 1), (-inf, 1), (1, 0)],
    "isnan": [(nan, 1), (inf, 0), (1, 0)],
    "log": [(nan, nan), (-1, nan), (0.0, -inf), (-0.0, -inf), (1, 0.0), (inf, inf)],
    "log10": [(nan, nan), (-1, nan), (0.0, -inf), (-0.0, -inf), (1, 0.0), (inf, inf)],
    "log1p": [(nan, nan), (-2, nan), (-1, -inf), (-0.0, -0.0), (0.0, 0.0), (inf, inf)],
    "log2": [(nan, nan), (-1, nan), (0.0, -inf), (-0.0, -inf), (1, 0.0), (inf, inf)],
    "reciprocal": [(nan, nan), (inf, 0.0), (-inf, -0.0), (0.0, inf), (-0.0, -inf)],
    "sign": [(nan, nan), (-2, -1), (2, 1), (0.0, 0.0), (inf, 1), (-inf, -1)],
    "signbit": [(0.0, 0), (-0.0, 1), (inf, 0), (-inf, 1), (nan, 0), (-nan, 1)],
    "sin": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "sinh": NOTHING_LEFT,
    "sqrt": [(nan, nan), (-1, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf)],
    "square": [(nan, nan), (-inf, inf), (-0.0, 0.0)],
    "tan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "tanh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1), (-inf, -1)],
}

BINARY: dict[str, list[tuple[float, float, float]]] = {
    "add": [(nan, 1, nan), (inf, -inf, nan), (inf, inf, inf), (inf, 1, inf), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0),
            (1, -1, 0.0)],
    "atan2": [(nan, 1, nan), (1, 0.0, pi / 2), (1, -0.0, pi / 2), (0.0, 1, 0.0), (0.0, 0.0, 0.0), (0.0, -0.0, pi),
              (0.0, -1, pi), (-0.0, 1, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, -pi), (-0.0, -1, -pi),
              (-1, 0.0, -pi / 2), (1, inf, 0.0), (1, -inf, pi), (-1, inf, -0.0), (-1, -inf, -pi), (inf, 1, pi / 2),
              (-inf, 1, -pi / 2), (inf, inf, pi / 4), (inf, -inf, 3 * pi / 4), (-inf, inf, -pi / 4)],
    "copysign": [(2, -0.0, -2), (-2, 0.0, 2), (0.0, -1, -0.0), (inf, -1, -inf), (nan, 1, nan)],
    "divide": [(nan, 1, nan), (inf, -inf, nan), (0.0, -0.0, nan), (0.0, 1, 0.0), (-0.0, 1, -0.0), (0.0, -1, -0.0),
               (1, 0.0, inf), (1, -0.0, -inf), (-1, 0.0, -inf), (inf, 2, inf), (inf, -2, -inf), (2, inf, 0.0),
               (2, -inf, -0.0), (-2, inf, -0.0)],
    "floor_divide": [(nan, 1, nan), (inf, 1, nan), (0.0, 0.0, nan), (0.0, 1, 0.0), (1, inf, 0.0), (-1, inf, -1),
                     (1, -inf, -1), (-1, -inf, 0.0), (7, -2, -4)],
    "hypot": [(inf, nan, inf), (nan, -inf, inf), (nan, 1, nan), (0.0, -3, 3), (3, -0.0, 3)],
    "logaddexp": [(nan, 1, nan), (1, nan, nan), (inf, 1, inf), (-inf, -inf, -inf)],
    "maximum": [(nan, 1, nan), (1, nan, nan), (inf, 1, inf)],
    "minimum": [(nan, 1, nan), (1, nan, nan), (-inf, 1, -inf)],
    "multiply": [(nan, 1, nan), (inf, 0.0, nan), (-0.0, inf, nan), (inf, -2, -inf), (inf, -inf, -inf), (0.0, -2, -0.0)],
    "nextafter": [(nan, 1, nan), (1, nan, nan), (0.0, -0.0, -0.0), (-0.0, 0.0, 0.0)],
    "pow": [(1, nan, 1), (nan, 0.0, 1), (nan, -0.0, 1), (nan, 2, nan), (2, nan, nan), (2, inf, inf), (2, -inf, 0.0),
            (1, inf, 1), (-1, -inf, 1), (0.5, inf, 0.0), (0.5, -inf, inf), (inf, 2, inf), (inf, -2, 0.0),
            (-inf, 3, -inf), (-inf, 2, inf), (-inf, -3, -0.0), (-inf, -2, 0.0), (0.0, 2, 0.0), (0.0, -2, inf),
            (-0.0, 3, -0.0), (-0.0, 2, 0.0), (-0.0, -3, -inf), (-0.0, -2, inf), (-2, 0.5, nan)],
    "remainder": [(nan, 1, nan), (inf, 1, nan), (1, 0.0, nan), (-0.0, 1, 0.0), (0.0, -1, -0.0), (1, inf, 1),
                  (1, -inf, -inf), (-1, inf, inf), (5, -3, -1)],
    "subtract": [(nan, 1, nan), (inf, inf, nan), (inf, -inf, inf), (1, inf, -inf), (0.0, -0.0, 0.0), (-0.0, 0.0, -0.0)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_cases_of_the_standard(dtype: str) -> None:
    wrong = []
    for name, cases in [*UNARY.items(), *BINARY.items()]:
        columns = [np.array(column, dtype) for column in zip(*cases, strict=True)]
        *given, expected = columns
        result = getattr(nl, name)(*map(nl.asarray, given)).get()
        for place, (got, wanted) in enumerate(zip(result.astype(dtype), expected, strict=True)):
            same = (
                np.isnan(got)
                if np.isnan(wanted)
                else np.isclose(got, wanted, rtol=1e-6) and (wanted != 0 or np.signbit(got) == np.signbit(wanted))
            )
            if not same:
                wrong.append(f"{name}{cases[place][:-1]} is {got}, should be {wanted}")
    assert not wrong, "\n".join(wrong)
