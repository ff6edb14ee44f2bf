"""Reductions over all dtypes, axes, arguments and layouts, against NumPy."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import assert_allclose, for_all_dtypes, matches_numpy
from numloom.testing.compare import host as host_of

warnings.filterwarnings("ignore", category=RuntimeWarning)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

NAMES = ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "ptp", "count_nonzero"]
NAN_NAMES = ["nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd"]
POSITIONS = ["argmin", "argmax"]
TOLERANCE = {"e": 4e-3, "f": 2e-5, "F": 2e-5}


def check(name: str, host: Any, mine: Any, *args: Any, **options: Any) -> None:
    expected = raised = theirs = ours = None
    try:
        theirs = np.asarray(getattr(np, name)(host, *args, **options))
    except Exception as error:
        expected = error
    try:
        ours = getattr(nl, name)(mine, *args, **options).get()
    except Exception as error:
        raised = error
    label = f"{name} {host.dtype} {host.shape} {args} {options}"
    if expected is not None or raised is not None:
        kinds = [k for k in type(expected).__mro__ if k.__module__ == "builtins"]
        assert isinstance(raised, kinds[0]), f"{label}: {raised!r}, NumPy {expected!r}"
        return
    assert ours.dtype == theirs.dtype, f"{label}: {ours.dtype}, NumPy {theirs.dtype}"
    rtol = TOLERANCE.get(theirs.dtype.char, 1e-11) if theirs.dtype.kind in "fc" else 0
    assert_allclose(ours, theirs, rtol=rtol, atol=1e-12 if rtol < 1e-6 else rtol, err_msg=label)


@pytest.mark.parametrize("name", [*NAMES, *NAN_NAMES])
@for_all_dtypes()
def test_over_all_dtypes_and_axes(name: str, dtype: np.dtype[Any], sample: Any) -> None:
    if name == "ptp" and dtype.kind == "b":
        pytest.skip("booleans have no difference")
    host = sample(dtype, 24, plain=True).reshape(2, 3, 4)
    if name.startswith("nan") and dtype.kind in "fc":
        host[0, :, 1] = np.nan
        host[1, 2, :] = np.nan
    mine = nl.asarray(host)
    for axis, keepdims in itertools.product((None, 0, -1, (0, 2), (1, 0)), (False, True)):
        check(name, host, mine, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", [*POSITIONS, "nanargmin", "nanargmax"])
@for_all_dtypes()
def test_positions(name: str, dtype: np.dtype[Any], sample: Any) -> None:
    host = sample(dtype, 60).reshape(3, 4, 5)
    if name.startswith("nan") and dtype.kind == "c":
        host = np.where(np.isnan(host), 0, host).astype(dtype)
    mine = nl.asarray(host)
    for axis, keepdims in itertools.product((None, 0, 1, -1), (False, True)):
        check(name, host, mine, axis, keepdims=keepdims)


@pytest.mark.parametrize("name", [*NAMES, *POSITIONS])
def test_layouts(name: str, sample: Any) -> None:
    host = sample("f8", 120, plain=True).reshape(4, 5, 6)
    mine = nl.asarray(host)
    for view in (
        lambda x: x[::2, 1::2, ::3],
        lambda x: x[::-1, :, ::-2],
        lambda x: x.transpose(2, 0, 1),
        lambda x: x[:, :1] + x[:1] * 0,
        lambda x: x[1:2, 1:2, 1:2],
        lambda x: x[1, 2, 3:4].reshape(()),
    ):
        for axis in (None, 0, -1) if view(host).ndim else (None, 0):
            check(name, view(host), view(mine), axis=axis)


@pytest.mark.parametrize("name", [*NAMES, *POSITIONS, *NAN_NAMES])
@pytest.mark.parametrize("char", "id")
def test_empty(name: str, char: str) -> None:
    for shape, axis in itertools.product(((0,), (2, 0), (0, 3)), (None, 0, -1)):
        host = np.zeros(shape, char)
        if name in ("nanmin", "nanmax") and axis is None:
            continue
        check(name, host, nl.asarray(host), axis=axis)


@pytest.mark.parametrize("name", ["mean", "average", "median", "nanmean", "nanmedian"])
def test_the_mean_of_no_complex_numbers_is_nan_in_both_parts(name: str) -> None:
    for char, axis in itertools.product("FDd", (0, None)):
        want, have = (getattr(xp, name)(xp.zeros((0, 2), char), axis=axis) for xp in (np, nl))
        assert have.dtype == want.dtype
        for part in ("real", "imag"):
            np.testing.assert_array_equal(np.isnan(getattr(have.get(), part)), np.isnan(getattr(want, part)))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "min", "max", "var", "std", "any"])
@pytest.mark.parametrize("char", "biefdD")
def test_masks(name: str, char: str, sample: Any) -> None:
    host = sample(char, 24, plain=True).reshape(4, 6)
    mask = np.arange(24).reshape(4, 6) % 5 != 2
    options = {"initial": host.dtype.type(3)} if name in ("min", "max") else {}
    for axis in (None, 0, 1):
        theirs = np.asarray(getattr(np, name)(host, axis=axis, where=mask, **options))
        ours = getattr(nl, name)(nl.asarray(host), axis=axis, where=nl.asarray(mask), **options)
        assert ours.dtype == theirs.dtype
        assert_allclose(ours, theirs, rtol=TOLERANCE.get(theirs.dtype.char, 1e-11))


CASES = {
    "sum dtype": lambda xp: xp.arange(6).sum(dtype="f4"),
    "sum small dtype": lambda xp: xp.asarray([100, 100, 100], "i1").sum(dtype="i1"),
    "sum out": lambda xp: xp.sum(xp.ones((2, 3)), axis=0, out=xp.zeros(3, "f4")),
    "sum out shape": lambda xp: xp.sum(xp.ones((2, 3)), axis=0, out=xp.zeros(2)),
    "sum initial": lambda xp: xp.sum(xp.arange(4), initial=10),
    "sum list": lambda xp: xp.sum([[1, 2], [3, 4.5]], axis=1),
    "sum no axes": lambda xp: xp.sum(xp.arange(6).reshape(2, 3), axis=()),
    "sum bad axis": lambda xp: xp.sum(xp.ones(3), axis=1),
    "sum bad axes": lambda xp: xp.sum(xp.ones((2, 3)), axis=(0, 2)),
    "sum twice": lambda xp: xp.sum(xp.ones((2, 3)), axis=(0, 0)),
    "prod initial": lambda xp: xp.prod(xp.arange(1, 4), initial=2.5),
    "max initial": lambda xp: xp.max(xp.arange(4), initial=10),
    "max nan": lambda xp: xp.max(xp.asarray([1, np.nan, 3])),
    "min empty initial": lambda xp: xp.min(xp.zeros(0), initial=5),
    "max out": lambda xp: xp.max(xp.arange(4.0), out=xp.zeros((), "f4")),
    "mean dtype": lambda xp: xp.mean(xp.arange(6), dtype="f4"),
    "mean integer": lambda xp: xp.mean(xp.arange(6), dtype="i8"),
    "mean integers": lambda xp: xp.mean(xp.arange(6).reshape(2, 3), axis=0, dtype="i8"),
    "mean out": lambda xp: xp.mean(xp.arange(6).reshape(2, 3), axis=1, out=xp.zeros(2, "f4")),
    "mean half": lambda xp: xp.mean(xp.full(3000, 60.0, "f2")),
    "var ddof": lambda xp: xp.var(xp.arange(6.0), ddof=1),
    "var all": lambda xp: xp.var(xp.arange(2.0), ddof=2),
    "var more": lambda xp: xp.var(xp.arange(2.0), ddof=3),
    "var correction": lambda xp: xp.var(xp.arange(6.0), correction=1),
    "var both": lambda xp: xp.var(xp.arange(6.0), ddof=1, correction=1),
    "var mean": lambda xp: xp.var(xp.arange(6.0).reshape(2, 3), axis=1, mean=xp.asarray([[1.0], [4.0]])),
    "var dtype": lambda xp: xp.var(xp.arange(6, dtype="f4"), dtype="f8"),
    "var complex": lambda xp: xp.var(xp.asarray([1 + 2j, 3 - 1j, 0])),
    "var complex ddof": lambda xp: xp.var(xp.asarray([1 + 2j, 3 - 1j, 0], "F"), ddof=1),
    "std out": lambda xp: xp.std(xp.arange(6.0).reshape(2, 3), axis=0, out=xp.zeros(3, "f4")),
    "std ddof": lambda xp: xp.std(xp.arange(6, dtype="f4"), ddof=1.5),
    "var no axes": lambda xp: xp.var(xp.arange(3.0), axis=()),
    "mean no axes": lambda xp: xp.mean(xp.arange(3), axis=()),
    "argmax out": lambda xp: xp.argmax(xp.asarray([[1, 5], [7, 2]]), axis=0, out=xp.zeros(2, "i8")),
    "argmax nan": lambda xp: xp.argmax(xp.asarray([1, np.nan, 3, np.nan])),
    "argmax ties": lambda xp: xp.argmax(xp.asarray([[1, 3, 3], [3, 3, 1]]), axis=1),
    "argmax transposed": lambda xp: xp.argmax(xp.asarray([[1, 3, 9], [4, 9, 1]]).T),
    "argmin axes": lambda xp: xp.argmin(xp.ones((2, 2)), axis=(0, 1)),
    "argmax 0-d": lambda xp: xp.argmax(xp.asarray(3), axis=0),
    "nanargmax all": lambda xp: xp.nanargmax(xp.asarray([[np.nan, np.nan], [1, 2]]), axis=1),
    "nanvar ddof": lambda xp: xp.nanvar(xp.asarray([[np.nan, 2, 4], [1, np.nan, np.nan]]), axis=1, ddof=1),
    "nanstd": lambda xp: xp.nanstd(xp.asarray([np.nan, 2, 4]), ddof=1),
    "nanmean all": lambda xp: xp.nanmean(xp.asarray([np.nan, np.nan])),
    "nanmax all": lambda xp: xp.nanmax(xp.asarray([[np.nan, np.nan], [1, np.nan]]), axis=1),
    "nansum complex": lambda xp: xp.nansum(xp.asarray([np.nan, 2 + 1j])),
    "nansum out": lambda xp: xp.nansum(xp.asarray([np.nan, 2, 3]), out=xp.zeros(())),
    "count axes": lambda xp: xp.count_nonzero(xp.asarray([[0, 1], [2, 3]]), axis=(0, 1), keepdims=True),
    "average": lambda xp: xp.average(xp.arange(6).reshape(2, 3), axis=1),
    "average weights": lambda xp: xp.average(xp.arange(6).reshape(2, 3), axis=1, weights=[1, 2, 3]),
    "average returned": lambda xp: xp.average(xp.arange(4.0), weights=xp.asarray([4, 3, 2, 1]), returned=True),
    "average plain returned": lambda xp: xp.average(xp.arange(6.0).reshape(2, 3), axis=0, returned=True),
    "average zero": lambda xp: xp.average(xp.arange(2), weights=[1, -1]),
    "average kept": lambda xp: xp.average(xp.arange(6).reshape(2, 3), axis=0, weights=[1, 3], keepdims=True),
    "average axis": lambda xp: xp.average(xp.arange(6).reshape(2, 3), weights=[1, 2]),
    "ptp": lambda xp: xp.ptp(xp.asarray([[4, 9, 2], [1, 3, 8]]), axis=0),
    "methods": lambda xp: [getattr(xp.arange(6.0).reshape(2, 3), n)(0) for n in
                           ("sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "argmin", "argmax")],
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_arguments(case: str) -> None:
    matches_numpy(lambda xp: CASES[case](xp), rtol=1e-6)()


def test_results_are_scalars_where_numpy_gives_scalars() -> None:
    x = nl.arange(6.0).reshape(2, 3)
    for name in ("sum", "mean", "argmax", "any", "var"):
        assert getattr(x, name)().is_scalar
        assert not getattr(x, name)(0).is_scalar
    total = x.sum()
    same = total
    total += 1
    assert (float(same), float(total)) == (15.0, 16.0)


def test_long_sums_are_accurate() -> None:
    x = nl.full((1000, 100), 0.1, "f4")
    assert_allclose(x.sum(), np.float32(10000), rtol=1e-6)
    assert_allclose(x.sum(0), np.full(100, 100, "f4"), rtol=1e-6)
    assert float(nl.ones((5000, 2), "f2").sum(0)[0]) == 5000


def log_sum_exp(np_: Any, v: Any, w: Any) -> Any:
    return np_.log(np_.exp(v - v.max(1, keepdims=True)).sum(1)) + v.max(1)


def several_at_once(np_: Any, v: Any, w: Any) -> Any:
    return (v * w).sum(1) + (v - w).max(1) * (v + w).min(1) - v.var(1)


def rows_and_positions(np_: Any, v: Any, w: Any) -> Any:
    return v.argmax(1) + (v + w[:, ::-1]).argmin(1) + v[:, 1:].sum(1)


@pytest.mark.parametrize("expression", [log_sum_exp, several_at_once, rows_and_positions])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "shape", [(70, 16), (70, 100), (40, 1500), (300, 2049), (301, 3000), (7, 16_385), (5, 70_000), (2, 300_001)]
)
@pytest.mark.parametrize("layout", ["view", "transposed"])
def test_long_rows_of_several_streams(expression: Any, dtype: str, shape: tuple[int, int], layout: str) -> None:
    """Rows of every strategy, read through several views of one leaf and beside other inputs."""
    outputs, count = shape
    rng = np.random.default_rng(count)
    memory = rng.normal(size=outputs * count + 100).astype(dtype)
    other = rng.normal(size=shape).astype(dtype)
    stored = shape if layout == "view" else shape[::-1]
    results = []
    for np_ in (np, nl):
        v = np_.asarray(memory)[7 : 7 + outputs * count].reshape(stored)
        v = v if layout == "view" else v.T
        results.append(np_.asarray(expression(np_, v, np_.asarray(other))))
    tolerance = 2e-4 if dtype == "f4" else 1e-10  # Sums of both signs cancel.
    assert_allclose(results[1].get(), results[0], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(1,), (1, 5), (5, 1), (1, 300), (3, 1, 4)])
@pytest.mark.parametrize("inner", ["sum", "argmax", "mean", "var", "any"])
def test_a_reduction_of_one_that_keeps_its_axis(inner: str, shape: tuple[int, ...]) -> None:
    """Both may be one kernel where the axis has one element: the outer one takes the inner one's result as it is."""
    host = np.random.default_rng(3).normal(size=shape).astype("f4")
    for axis, outer, held in itertools.product(range(host.ndim), ("sum", "argmin", "max", "std"), (True, False)):
        kept = getattr(nl, inner)(nl.asarray(host) + 1, axis=axis, keepdims=True)
        ours = getattr(nl, outer)(kept, axis=axis)
        theirs = getattr(np, inner)(host + 1, axis=axis, keepdims=True)
        if not held:
            del kept
        assert_allclose(ours.get(), getattr(np, outer)(theirs, axis=axis), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["i4", "f8"])
@pytest.mark.parametrize("shape", [(1,), (1, 1), (4, 1), (1, 4)])
@pytest.mark.parametrize("name", ["prod", "sum", "max", "mean"])
def test_what_is_computed_of_rows_of_one_and_of_their_reductions(name: str, shape: tuple[int, ...], dtype: str) -> None:
    """An element of such a row is also the row's one value."""
    host = np.arange(5, 5 + np.prod(shape)).reshape(shape).astype(dtype)
    for axis in range(len(shape)):
        results: list[Any] = []
        for xp in (nl, np):
            x = xp.asarray(host.copy())
            taken = xp.take(x, xp.asarray([-1]), axis)
            x //= x
            turned = xp.flip(x, axis)
            turned //= x
            whole = getattr(xp, name)(turned, axis=axis, keepdims=True)
            product = (whole * taken) * turned
            turned[:] = turned[::-1]
            results.append([product, turned, whole, x])
        for ours, theirs in zip(*results, strict=True):
            assert_allclose(ours.get(), theirs, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8", "u8", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("name", ["min", "max", "nanmin", "nanmax", "sum", "prod", "any", "all"])
def test_initial_values_where_a_mask_leaves_elements_out(name, dtype):
    """Also such as are no numbers of the dtype."""
    host = np.array([[1, 0, 3], [0, 5, 6]]).astype(dtype)
    mask = np.array([[True, False, True], [False, False, True]])
    for initial in (-1, 0, 1, 2, True, 300, 2.5, None):
        for where in (mask, ~mask, np.zeros_like(mask), True):
            options = {
                "axis": 1,
                "where": where,
                **({} if initial is None or name in "any all" else {"initial": initial}),
            }
            found = []
            for xp in (np, nl):
                given = {key: xp.asarray(v) if isinstance(v, np.ndarray) else v for key, v in options.items()}
                try:
                    found.append(host_of(getattr(xp, name)(xp.asarray(host), **given)))
                except Exception as error:
                    found.append(next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins"))
            if isinstance(found[0], type):
                assert found[1] is found[0], (options, found)
            else:
                np.testing.assert_array_equal(found[1], found[0], strict=True, err_msg=str(options))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("first", [0, 0.0, -0.0, np.inf, -np.inf])
@pytest.mark.parametrize("extra", [None, np.inf, np.nan, 0.0])
def test_a_product_that_begins_with_zero_or_infinity(dtype: str, first: float, extra: float | None) -> None:
    """NumPy's first factor meets each element: 0 stays 0, however large the product of the others would be."""
    if dtype == "c8" and first != 0:
        pytest.skip("of complex numbers an infinity has no order")
    random = np.random.default_rng(3)
    a = (random.normal(size=(2000, 3)) * 30).astype(dtype)
    if extra is not None:
        a[77, 1] = extra
    kept = random.random(a.shape) > 0.3
    for axis in (None, 0, 1):
        for where in (True, kept):
            want = np.asarray(np.prod(a, axis, initial=first, where=where))
            got = nl.prod(nl.asarray(a), axis, initial=first, where=where).get()
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
            if dtype != "c8":
                numbers = want == want
                np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])


NANS = [complex(*parts) for parts in ((math.nan, 1), (2, math.nan), (math.nan, math.nan), (math.nan, 4), (5, math.nan))]
LOOKS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda x: x,
    "turned": lambda x: x.T,
    "backwards": lambda x: x[::-1, :, ::-1],
    "every other": lambda x: x[:, ::2],
    "axes moved": lambda x: x.transpose(1, 2, 0),
    "repeated": lambda x: x[:, :1] + x * 0,
}
EXTREMES: dict[str, Callable[..., Any]] = {
    "max": lambda xp, x, axis: xp.max(x, axis),
    "min": lambda xp, x, axis: x.min(axis=axis),
    "keepdims": lambda xp, x, axis: xp.max(x, axis, keepdims=True),
    "fmax": lambda xp, x, axis: xp.fmax.reduce(x, axis),
    "fmin": lambda xp, x, axis: xp.fmin.reduce(x, axis, keepdims=True),
    "nanmax": lambda xp, x, axis: xp.nanmax(x, axis),
    "initial": lambda xp, x, axis: xp.max(x, axis, initial=1 + 2j),
    "a NaN at first": lambda xp, x, axis: xp.min(x, axis, initial=complex(math.nan, 9)),
    "where": lambda xp, x, axis: xp.max(x, axis, initial=-9, where=x.real != 5),
    "out": lambda xp, x, axis: xp.minimum.reduce(x, axis, out=xp.zeros_like(xp.min(x, axis))),
    "ptp": lambda xp, x, axis: xp.ptp(x, axis),
    "accumulate": lambda xp, x, axis: xp.maximum.accumulate(x, 1),
    "reduceat": lambda xp, x, axis: xp.minimum.reduceat(x, [0, 2], 0),
}


@pytest.mark.parametrize("char", "FD")
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", EXTREMES)
def test_of_several_nan_the_first_is_kept(name: str, look: str, char: str) -> None:
    """NaN of complex numbers differ in their parts."""
    rng = np.random.default_rng(3)
    for nans in (0.1, 0.5, 1.0):
        host = (rng.integers(-2, 3, (3, 4, 40)) + 1j * rng.integers(-2, 3, (3, 4, 40))).astype(char)
        chosen = rng.random(host.shape) < nans
        host[chosen] = rng.choice(np.array(NANS, char), int(chosen.sum()))
        for axis in (None, 0, 1, 2, -1, (0, 2), (1, 2)):
            want = np.asarray(EXTREMES[name](np, LOOKS[look](host), axis))
            got = nl.asnumpy(EXTREMES[name](nl, LOOKS[look](nl.asarray(host)), axis))
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_array_equal(got.real, want.real)
            np.testing.assert_array_equal(got.imag, want.imag)
            if want.ndim > 1 and 1 not in want.shape:
                assert got.strides == want.strides
