"""bfloat16 and float8 through the whole API: as NumPy with ml_dtypes has them, sums and products more exactly."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import numloom as nl
from numloom.base.dtypes import DTYPES, LOW, NUMPY_DTYPES
from numloom.testing import assert_bits_equal

Host = np.ndarray[Any, Any]
NAMES = [DTYPES[code].name for code in LOW]
low = pytest.mark.parametrize("name", NAMES)

SAME = [
    "xp.zeros(3, d)", "xp.ones((2, 2), d)", "xp.full(3, 2.5, d)", "xp.arange(0, 5, dtype=d)",
    "xp.linspace(0, 1, 5, dtype=d)", "xp.eye(3, dtype=d)", "xp.array([1, 2.5], d)", "xp.full_like(x, 2.5)",
    "x + 1", "1 - x", "x * True", "x + 1.5", "2.0 * x", "x + 1j", "x == 1", "x < 2.5", "x // 2", "x % 2", "x**2", "-x",
    "abs(x)", "divmod(x, x)", "xp.modf(x)", "xp.frexp(x)",
    *[f"x + xp.arange(6, dtype='{dtype.char}')" for dtype in NUMPY_DTYPES],
    "x & 1", "~x", "xp.gcd(x, x)", "xp.ldexp(x, 2)", "xp.left_shift(x, 1)",
    "xp.sum(x)", "xp.sum(m, axis=0)", "xp.sum(x, dtype='f4')", "xp.prod(x)", "xp.max(x)", "xp.min(m, axis=1)",
    "xp.argmax(x)", "xp.argmin(m, axis=0)", "xp.any(x)", "xp.all(x)", "xp.cumsum(x)", "xp.cumprod(x)",
    "xp.maximum.accumulate(x)", "xp.add.reduce(x)", "xp.logical_and.reduce(x)", "xp.subtract.reduce(x)",
    "xp.maximum.reduceat(x, [0, 2, 4])", "xp.add.outer(x, x)", "x.sum(where=x > 1)", "x.max(initial=2)",
    "xp.median(x)", "xp.ptp(x)", "xp.nansum(x)", "xp.nanmax(x)", "xp.count_nonzero(x)",
    "xp.sort(x)", "xp.sort(m, axis=0)", "xp.argsort(x)", "xp.partition(x, 2)", "xp.lexsort((x, x))",
    "xp.searchsorted(xp.sort(x), x)", "xp.unique(x)", "xp.unique(x, return_counts=True)", "xp.nonzero(x)",
    "xp.isin(x, x[:2])", "xp.digitize(x, xp.sort(x))", "xp.flatnonzero(x)",
    "xp.where(x > 1, x, 0)", "xp.where(x > 1, x, 0.0)", "xp.where(x > 1, x, x)", "xp.clip(x, 0, 2)",
    "xp.clip(x, 0.0, 2.0)", "xp.concatenate([x, x])", "xp.concatenate([x, x.astype('f4')])",
    "xp.concatenate([x, x.astype('f2')])", "xp.concatenate([x, xp.arange(3)])", "xp.stack([x, x])", "xp.tile(x, 2)",
    "xp.repeat(x, 2)", "xp.pad(x, 1)", "xp.roll(x, 1)", "xp.flip(x)", "xp.diff(x)", "xp.gradient(x)",
    "xp.insert(x, 1, 3)", "xp.delete(x, 1)", "xp.take(x, [0, 2])", "xp.compress(x > 1, x)", "xp.tril(m)",
    "m @ m.T", "x @ x", "m @ m.T.astype('f4')", "xp.vecdot(x, x)", "xp.linalg.matmul(m, m.T)", "xp.outer(x, x)",
    "xp.linalg.inv(xp.eye(2, dtype=d))", "xp.linalg.solve(xp.eye(2, dtype=d), xp.ones(2, d))",
    "xp.round(x)", "xp.real(x)", "xp.imag(x)", "xp.conj(x)", "xp.isreal(x)", "xp.isclose(x, x)", "xp.allclose(x, x)",
    "xp.degrees(x)", "xp.sign(x)", "xp.isnan(x)", "xp.signbit(x)", "xp.copysign(x, -x)", "xp.nextafter(x, x)",
    "x[1]", "x[1:4:2]", "x[[0, 2]]", "x[x > 1]", "m[:, None, 0]", "x.tolist()", "x[0].item()", "float(x[0])",
    "int(x[0])", "bool(x[0])", "x.view(f'u{d.itemsize}')", "x.astype('i4')", "x.astype('c8')", "x.astype('?')",
    "x.copy()", "m.ravel('F')", "m.sum(axis=(0, 1), keepdims=True)", "x.nbytes", "x.itemsize", "x.dtype",
    "xp.can_cast(d, 'f4')", "xp.can_cast('f4', d)", "xp.can_cast('i4', d, 'same_kind')", "xp.promote_types(d, 'f4')",
    "xp.promote_types(d, 'i4')", "xp.result_type(d, 1)", "xp.result_type(d, 1.0)", "str(x)", "repr(x)",
    "xp.float_power(x, 2)", "xp.broadcast_to(x, (2, 6))", "xp.meshgrid(x, x)", "xp.select([x > 1], [x], 0)",
]  # fmt: skip
"""What gives the same as NumPy with ml_dtypes, values, dtypes and errors."""

WRITES = [
    "x[1] = 2.5", "x[:3] = [1, 2, 3]", "x[x > 1] = 0", "x[[0, 0]] += 1", "x += 1", "x += 1.5", "x -= xp.arange(6)",
    "x /= 2", "x **= 2", "x[:] = xp.arange(6) * 0.3", "x[2] = xp.float64(0.3)", "x.sort()", "x.fill(2.7)",
    "xp.add.at(x, [0, 0, 1], 1)", "xp.maximum.at(x, [0, 0, 1], xp.full(3, 3, d))", "xp.put(x, [1], 5)",
    "xp.copyto(x, xp.arange(6.))", "xp.add(x, 1, out=x)", "xp.add(x, xp.ones(6, 'f4'), out=x)",
    "xp.add(x, xp.ones(6), out=x, casting='no')", "xp.exp2(x, out=x, where=x > 1)", "xp.fill_diagonal(m, 2)",
    "x.view('u1')[0] = 7", "xp.cumsum(x, out=x)",
]  # fmt: skip


def world(xp: Any, name: str) -> dict[str, Any]:
    d = np.dtype(name)
    x = xp.asarray(np.array([1, 0.5, 3.5, -2, 0, 1.5], d))
    return {"xp": xp, "d": d, "x": x, "m": x.reshape(2, 3)}


def outcome(run: Callable[[], Any]) -> Any:
    try:
        with np.errstate(all="ignore"):
            found = run()
            return found.get() if isinstance(found, nl.ndarray) else found
    except Exception as error:
        return error


def same(own: Any, theirs: Any, text: str) -> None:
    own = own.get() if isinstance(own, nl.ndarray) else own
    if isinstance(theirs, Exception):
        expected = next(kind for kind in type(theirs).__mro__ if kind.__module__ == "builtins")
        assert isinstance(own, expected), (text, own, theirs)
    elif isinstance(theirs, (tuple, list)) and not isinstance(own, np.ndarray):
        assert len(own) == len(theirs)
        for a, b in zip(own, theirs, strict=True):
            same(a, b, text)
    elif isinstance(theirs, (str, np.dtype, bool, int)):
        assert own == theirs, text
    else:
        assert not isinstance(own, Exception), (text, own)
        assert_bits_equal(own, np.asarray(theirs), message=text)


@low
@pytest.mark.filterwarnings("ignore")
def test_as_numpy_with_ml_dtypes(name: str) -> None:
    for text in SAME:
        own, theirs = (outcome(lambda xp=xp: eval(text, world(xp, name))) for xp in (nl, np))  # type: ignore[misc]
        same(own, theirs, text)


@low
@pytest.mark.filterwarnings("ignore")
def test_writes(name: str) -> None:
    for text in WRITES:
        worlds = [world(nl, name), world(np, name)]
        errors = [outcome(lambda w=w: exec(text, w)) for w in worlds]  # type: ignore[misc]
        results = [w["x"] if error is None else error for error, w in zip(errors, worlds, strict=True)]
        same(*results, text)


@low
def test_names(name: str) -> None:
    kind = getattr(nl, name)
    assert kind is getattr(ml_dtypes, name)
    x = nl.zeros(3, kind)
    for given in (kind, name, np.dtype(name)):
        assert nl.zeros(3, given).dtype == x.dtype == np.dtype(name)
        assert nl.ones(3).astype(given).dtype == x.dtype
    assert isinstance(x.get(), np.ndarray) and x.get().dtype == np.dtype(kind)
    assert float(nl.finfo(kind).max) == float(ml_dtypes.finfo(kind).max)


@low
def test_sums_are_rounded_once(name: str) -> None:
    d = np.dtype(name)
    random = np.random.default_rng(3)
    for shape, axis in (((3000,), None), ((70, 50), 0), ((70, 50), 1), ((5, 6, 70), (0, 2))):
        x = np.abs(random.normal(size=shape) / 16).astype(d)
        wide = x.astype(np.float64)
        own = nl.asarray(x)
        for function in ("sum", "mean", "std", "nanstd"):
            got = getattr(nl, function)(own, axis=axis).get()
            want = getattr(np, function)(wide, axis=axis)
            assert got.dtype == d
            exact = np.asarray(want).astype(np.float32).astype(d)
            near = [np.asarray(want * factor).astype(d) for factor in (1 - 1e-5, 1 + 1e-5)]
            assert np.all((got == exact) | (got == near[0]) | (got == near[1]) | np.isnan(exact)), (function, shape)
        running = nl.cumsum(own.reshape(-1)[:60]).get()
        assert_bits_equal(running, np.cumsum(x.reshape(-1)[:60].astype(np.float32)).astype(d))


@low
def test_counts_and_sums_on_the_way_do_not_overflow(name: str) -> None:
    """1,000 ones have a mean of 1, though their sum is no number of most kinds of float8."""
    ones = nl.ones(1000, name)
    some = ones > 0
    for result in (ones.mean(), ones.mean(where=some), nl.nanmean(ones), nl.average(ones)):
        assert result.dtype == np.dtype(name) and float(result) == 1
    for result in (ones.var(), ones.var(ddof=1), ones.var(where=some), nl.nanvar(ones), nl.nanstd(ones), ones.std()):
        assert result.dtype == np.dtype(name) and float(result) == 0
    assert float(nl.sum(ones, dtype="f4")) == 1000


@low
@pytest.mark.parametrize("shape", [(3, 4, 5), (40, 50, 60), (200, 64, 100), (1, 300, 7), (9, 300, 1)])
def test_products_are_rounded_once(name: str, shape: tuple[int, int, int]) -> None:
    n, k, m = shape
    d = np.dtype(name)
    random = np.random.default_rng(4)
    a, b = (random.integers(-3, 4, size).astype(d) for size in ((n, k), (k, m)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    x, y = nl.asarray(a), nl.asarray(b)
    assert_bits_equal(x @ y, exact.astype(np.float32))
    assert_bits_equal(nl.asarray(np.asfortranarray(a)) @ nl.asarray(b.T.copy()).T, exact.astype(np.float32))
    assert_bits_equal(nl.matmul(nl.stack([x, x[::-1]]), y), np.stack([exact, exact[::-1]]).astype(np.float32))
    for result in (nl.dot(x, y), nl.tensordot(x, y, 1), nl.einsum("ij,jk->ik", x, y)):
        assert_bits_equal(result, exact.astype(d))


@low
@pytest.mark.parametrize("shape", [(32, 64, 48), (5, 70, 3)])
def test_products_are_summed_in_float32(name: str, shape: tuple[int, int, int]) -> None:
    """Large and small terms, whose sums float32 holds exactly in any order; narrower sums would lose the small ones."""
    n, k, m = shape
    largest = 2.0 ** min(np.floor(np.log2(float(nl.finfo(name).max))), 8)
    a, b = np.full((n, k), 0.125, np.float32), np.full((k, m), 0.125, np.float32)
    a[:, k // 2] = b[k // 2] = largest
    a[::2] *= -1
    x, y = nl.asarray(a).astype(name), nl.asarray(b).astype(name)
    assert_bits_equal(x @ y, a @ b)
    assert_bits_equal(x @ y, (x.astype("f4") @ y.astype("f4")).get())


@low
def test_the_gpus_products_of_bfloat16(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a device multiplies bfloat16, that is what the routine gets, also of float8."""
    from numloom.api import products

    class Willing:
        low_products, tiny_product, short_rows = True, 10, False

    seen = []

    def call(routine: str, *operands: Any, **options: Any) -> Any:
        seen.append([DTYPES[operand.code].name for operand in operands])
        return original(routine, *operands, **options)

    original = products.call
    monkeypatch.setattr(products, "current", Willing)
    monkeypatch.setattr(products, "call", call)
    d = np.dtype(name)
    a = (np.arange(120) % 7 - 3).reshape(10, 12).astype(d)
    want = a.astype(np.float32) @ a.astype(np.float32).T
    x = nl.asarray(a)
    with np.errstate(all="ignore"):
        assert_bits_equal(x @ x.T, want)
        assert_bits_equal(nl.dot(x, x.T), want.astype(d))
    assert seen == [["bfloat16", "bfloat16"]] * 2


@low
def test_exchange(name: str) -> None:
    d = np.dtype(name)
    host = np.linspace(-100, 100, 77).astype(d)
    x = nl.asarray(host)
    back = pickle.loads(pickle.dumps(x))
    assert_bits_equal(back, host)

    class Other:
        def __dlpack__(self, **options: Any) -> Any:
            return x.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return x.__dlpack_device__()

    taken = nl.from_dlpack(Other())
    assert_bits_equal(taken, host)
    taken[0] = 3
    assert float(x[0]) == 3


def test_all_dtypes_meet() -> None:
    """Sums of each two dtypes have the dtype that NumPy gives, or its error."""
    for a in DTYPES:
        for b in DTYPES:
            pair = [np.ones(2, dtype) for dtype in (a, b)]
            theirs = outcome(lambda: pair[0] + pair[1])
            own = outcome(lambda: nl.asarray(pair[0]) + nl.asarray(pair[1]))
            same(own, theirs, f"{a} + {b}")
