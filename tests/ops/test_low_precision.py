"""bfloat16 and float8: every number of theirs through every unary function and cast, against ml_dtypes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import numloom as nl
from numloom.base.dtypes import DTYPES, LOW
from numloom.ops.elementwise import OF_UFUNC
from numloom.testing import assert_bits_equal

Host = np.ndarray[Any, Any]
LOW_DTYPES = [DTYPES[code] for code in LOW]
UNARY = {ufunc.__name__: (ufunc, op_def) for ufunc, op_def in OF_UFUNC.items() if ufunc.nin == 1 and ufunc.nout == 1}
BINARY = {ufunc.__name__: (ufunc, op_def) for ufunc, op_def in OF_UFUNC.items() if ufunc.nin == 2 and ufunc.nout == 1}
ML_DTYPES = tuple(int(part) for part in ml_dtypes.__version__.split(".")[:2])
ONCE = [dtype for dtype in DTYPES if np.can_cast(dtype, np.float32, "safe")]
"""What every version of ml_dtypes casts to its floats in one rounding."""
HARDWARE = [np.dtype(name) for name in ("bfloat16", "float8_e4m3fn")]


def words(dtype: Any) -> np.dtype[Any]:
    return np.dtype(f"u{np.dtype(dtype).itemsize}")


def numbers(dtype: Any, executor: str = "") -> Host:
    """All there are; of compiled kernels twice, for a plan of their own that vectors and their rests both serve."""
    found = np.arange(256 ** np.dtype(dtype).itemsize).astype(words(dtype)).view(dtype)
    return np.concatenate([found, found[::-1], found[:3]]) if executor == "kernels" else found


@pytest.fixture(params=["reference", "loops", "kernels"])
def executor(request: pytest.FixtureRequest, device: str) -> Iterator[str]:
    """Everything runs once through NumPy, once by the interpreter and once by compiled kernels."""
    if device != "cpu" and request.param != "kernels":
        pytest.skip("executors of the host")
    name = "reference" if request.param == "reference" else nl.config.executor
    with (
        nl.config(executor=name, cpu_compile="never" if request.param == "loops" else "wait"),
        np.errstate(all="ignore"),
    ):
        yield request.param


def steps_apart(got: Host, want: Host) -> Host:
    """How many numbers of a dtype lie between two, NaNs being one."""

    def places(x: Host) -> Host:
        magnitude = x.view(words(x.dtype)).astype(np.int64)
        top = 1 << (8 * x.itemsize - 1)
        return np.where(magnitude & top, -(magnitude & (top - 1)), magnitude)

    both = np.isnan(got) & np.isnan(want)
    return np.where(both, 0, np.abs(places(got) - places(want)))


@pytest.mark.parametrize("dtype", LOW_DTYPES, ids=str)
def test_unary_functions_of_every_number(dtype: Any, executor: str) -> None:
    """As NumPy computes in float32, rounded; ml_dtypes' own answer is at most one number away."""
    x = numbers(dtype, executor)
    own = nl.asarray(x)
    results = {}
    for name, (ufunc, op_def) in UNARY.items():
        if executor == "kernels" and op_def.cost > 20 and dtype not in HARDWARE:
            continue  # Their texts are those of float32, and take long to compile.
        try:
            types = ufunc.resolve_dtypes((np.dtype(dtype), None))
        except TypeError:
            with pytest.raises(TypeError):
                getattr(nl, name)(own)
            continue
        results[name] = (ufunc, op_def, types, getattr(nl, name)(own))
    assert len(results) > 25
    for name, (ufunc, op_def, types, result) in results.items():
        got = result.get()
        assert got.dtype == types[-1], name
        want = ufunc(x)
        if types[-1] != dtype:
            assert_bits_equal(got, want, message=name)
        elif op_def.exact:
            apart = steps_apart(got, want)
            assert not apart.any(), (name, x[apart > 0][:5], got[apart > 0][:5], want[apart > 0][:5])
        else:
            apart = steps_apart(got, want)
            assert apart.max() <= 1, (name, x[apart > 1][:5], got[apart > 1][:5], want[apart > 1][:5])
            assert np.count_nonzero(apart) <= 1 + x.size // 1000, name


@pytest.mark.parametrize("dtype", LOW_DTYPES, ids=str)
def test_casts_of_every_number(dtype: Any, executor: str) -> None:
    x = numbers(dtype, executor)
    own = nl.asarray(x)
    results = {target: own.astype(target) for target in DTYPES}
    wide = x.astype(np.float32)
    for target, result in results.items():
        # What is out of an integer's range follows our rule for float32.
        whole = target.kind in "iu"
        want = nl.asarray(wide).astype(target).get() if whole else x.astype(target)
        if whole:
            inside = np.isfinite(wide) & (wide > -1) & (wide < 127)
            assert_bits_equal(want[inside], x.astype(target)[inside])
        assert_bits_equal(result, want, message=f"{dtype} to {target}")


def edges(dtype: Any) -> Host:
    """float64 numbers in the middle between numbers of a dtype, a little beside them, and far away."""
    known = np.unique(numbers(dtype).astype(np.float64))
    known = known[np.isfinite(known)]
    middle = (known[1:] + known[:-1]) / 2
    far = np.array([np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300, -1e-300, 3.4028235e38, 0.0, -0.0])
    largest = known[-1] * np.array([1, 1.01, 1.03125, 1.0625, 1.125, 1.25, 1.5, 2])
    near = [middle, np.nextafter(middle, 2 * middle), np.nextafter(middle, 0 * middle), largest, -largest, far]
    single = middle.astype(np.float32)
    near += [np.nextafter(single, np.float32(-np.inf)), np.nextafter(single, np.float32(np.inf)), known]
    return np.concatenate([part.astype(np.float64) for part in near])


def nearest(x: Host, dtype: Any) -> tuple[Host, Host]:
    """Numbers of a dtype that are nearest to real ones; of two as near the one with an even last bit. And which.

    Found among all numbers, since ml_dtypes before 0.7 rounds twice, by way of float32. What is no number of float32
    and larger than all numbers of the dtype, or NaN, is left out.
    """
    known = np.unique(numbers(dtype).astype(np.float64))
    known = known[np.isfinite(known)].astype(np.longdouble) + 0.0  # one zero
    real = x.astype(np.longdouble)  # holds 64 bits
    inside = np.abs(real) <= known[-1]
    above = np.clip(np.searchsorted(known, np.where(inside, real, 0)), 1, known.size - 1)
    low, high = known[above - 1], known[above]
    odd = low.astype(np.float64).astype(dtype).view(f"u{np.dtype(dtype).itemsize}") & 1
    lower = (real - low < high - real) | ((real - low == high - real) & (odd == 0))
    found = np.where(lower, low, high).astype(np.float64).astype(dtype)
    found = np.where(inside & (found == 0) & np.signbit(real), np.float32(-0.0).astype(dtype), found)
    exact = real.astype(np.float32) == real
    return np.where(inside, found, np.where(exact, real, 0).astype(np.float32).astype(dtype)), inside | exact


@pytest.mark.parametrize("dtype", LOW_DTYPES, ids=str)
def test_casts_of_more_bits_round_once(dtype: Any, executor: str) -> None:
    """Of longdouble, by way of no other float; and of a number that the host knows, as of one in memory."""
    known = np.unique(numbers(dtype).astype(np.float64))
    known = known[np.isfinite(known) & (abs(known) < 1e30) & (abs(known) > 1e-30)]
    between = (known[1:] + known[:-1]).astype(np.longdouble) / 2
    more = np.concatenate([between * (1 + np.longdouble(2) ** at * sign) for at in (-24, -48, -60) for sign in (-1, 1)])
    want, told = nearest(more, dtype)
    assert_bits_equal(nl.asarray(more, dtype=dtype).get()[told], want[told])
    some = np.random.default_rng(0).choice(more.astype(np.float64), 8)
    want, told = nearest(some, dtype)
    assert told.all()
    for unplanned in (0, 64):
        with nl.config(unplanned=unplanned):
            for value, right in zip(some.tolist(), want, strict=True):
                assert_bits_equal(nl.full(3, value).astype(dtype), np.full(3, right))
                assert_bits_equal(nl.asarray(value).astype(dtype), np.asarray(right))


@pytest.mark.parametrize("dtype", LOW_DTYPES, ids=str)
def test_casts_to_low_precision(dtype: Any, executor: str) -> None:
    wide = np.resize(edges(dtype), edges(dtype).size + 5 * (executor == "kernels"))
    results = []
    with np.errstate(all="ignore"):
        for source in DTYPES:
            x = (wide[np.abs(wide) < 120] if source.kind in "biu" else wide).astype(source)
            results.append((source, x, nl.asarray(x).astype(dtype)))
        ints = np.concatenate([np.arange(-70000, 70000, 7), 2 ** np.arange(63), 2 ** np.arange(63) * -1 + 1])
        results.append((ints.dtype, ints, nl.asarray(ints).astype(dtype)))
        for source, x, result in results:
            real = x.real if source.kind == "c" else x
            if real.dtype.itemsize >= 4 and real.dtype.kind in "iuf":
                want, told = nearest(real, dtype)
                assert_bits_equal(result.get()[told], want[told], message=f"{source} to {dtype}")
            if real.dtype in ONCE or ML_DTYPES >= (0, 7):
                assert_bits_equal(result, real.astype(dtype), message=f"{source} to {dtype}, by ml_dtypes")


@pytest.mark.parametrize("dtype", LOW_DTYPES, ids=str)
def test_binary_functions(dtype: Any, executor: str) -> None:
    """float8: pairs of every number with every other; bfloat16: pairs at random, corners among them."""
    if np.dtype(dtype).itemsize == 1:
        x, y = (np.ascontiguousarray(part.reshape(-1)) for part in np.meshgrid(numbers(dtype), numbers(dtype)))
    else:
        random = np.random.default_rng(5)
        every = numbers(dtype)
        near = (random.normal(size=20000) * 3).astype(dtype)
        pool = np.concatenate(
            [every[random.integers(0, every.size, 20000)], near, np.zeros(300, dtype), -np.zeros(300, dtype)]
        )
        x, y = random.permutation(pool), random.permutation(pool)
        x[:4000] = y[:4000]
    if executor == "kernels":
        x, y = np.resize(x, x.size + 3), np.resize(y, y.size + 3)
    a, b = nl.asarray(x), nl.asarray(y)
    results = {}
    for name, (ufunc, op_def) in BINARY.items():
        try:
            types = ufunc.resolve_dtypes((np.dtype(dtype), np.dtype(dtype), None))
        except TypeError:
            with pytest.raises(TypeError):
                getattr(nl, name)(a, b)
            continue
        results[name] = (ufunc, op_def, types, getattr(nl, name)(a, b))
    for name, (ufunc, op_def, types, result) in results.items():
        got, want = result.get(), ufunc(x, y)
        assert got.dtype == types[-1], name
        if types[-1] != dtype:
            if name == "float_power":
                np.testing.assert_allclose(got, want, rtol=1e-12)
            else:
                assert_bits_equal(got, want, message=name)
            continue
        apart = steps_apart(got, want)
        most = 0 if op_def.exact and name != "power" else 1
        wrong = apart > most
        assert not wrong.any(), (
            name,
            np.count_nonzero(wrong),
            x[wrong][:5],
            y[wrong][:5],
            got[wrong][:5],
            want[wrong][:5],
        )


@pytest.mark.parametrize("dtype", LOW_DTYPES, ids=str)
def test_what_is_moved_keeps_its_bits(dtype: Any, executor: str) -> None:
    x = np.resize(numbers(dtype), 256 ** np.dtype(dtype).itemsize + 16 * (executor == "kernels"))
    own = nl.asarray(x)
    places = np.random.default_rng(1).permutation(x.size)
    for got, want in (
        (own[::-3].copy(), x[::-3]),
        (own.reshape(16, -1).T.copy(), x.reshape(16, -1).T),
        (own[nl.asarray(places)], x[places]),
        (nl.concatenate([own, own[:5]]), np.concatenate([x, x[:5]])),
        (nl.sort(own[:100].view(words(dtype))).view(dtype), x[:100]),
    ):
        assert got.dtype == dtype
        assert np.array_equal(
            np.ascontiguousarray(got.get()).view(words(dtype)), np.ascontiguousarray(want).view(words(dtype))
        )
