"""Diagonals, blocks, other numbers of axes and rarer reductions, as SciPy has them, part by part."""

from __future__ import annotations

import importlib.util
import operator
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import numloom as nl
from numloom.sparse import host

_spec = importlib.util.spec_from_file_location("sparse_programs", Path(__file__).with_name("programs.py"))
programs = sys.modules.get("sparse_programs") or importlib.util.module_from_spec(_spec)
if "sparse_programs" not in sys.modules:
    sys.modules["sparse_programs"] = programs
    _spec.loader.exec_module(programs)
same, pair, dense, messy = programs.same, programs.pair, programs.dense, programs.messy

pytestmark = [pytest.mark.usefixtures("way"), pytest.mark.filterwarnings("ignore::Warning")]
DTYPES = ("?", "i4", "u1", "f4", "f8", "c16")
PARTS = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "bsr": ("indices", "indptr"), "dia": ("offsets",)}


@pytest.fixture
def stays(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the device's way nothing may go to SciPy."""
    if way == "device":
        for name in ("call", "call_method", "product", "stable"):
            monkeypatch.setattr(host, name, lambda *args, name=name, **options: pytest.fail(f"{name}: {args}"))


def exact(ours: Any, theirs: Any) -> None:
    """The same kind, dtypes, and parts in the same order."""
    same(ours, theirs)
    if not scipy.sparse.issparse(theirs):
        return
    names = PARTS.get(theirs.format, ())
    for mine, other in [
        (ours.data, theirs.data), *((getattr(ours, n), getattr(theirs, n)) for n in names),
        *(zip(ours.coords, theirs.coords, strict=True) if theirs.format == "coo" else ()),
    ]:  # fmt: skip
        assert mine.shape == other.shape and mine.dtype == other.dtype
        np.testing.assert_allclose(mine.get(), other, 1e-6, 1e-9)
    if theirs.format in ("csr", "csc", "coo") and theirs.ndim == 2 and ours._canonical:
        lines = theirs if theirs.format != "coo" else scipy.sparse.csr_array(theirs.tocsr(), shape=theirs.shape)
        assert lines.has_canonical_format and lines.nnz == theirs.nnz


@pytest.mark.usefixtures("stays")
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_diagonals_and_blocks_of_others(format: str, dtype: str, kind: str) -> None:
    for shape in ((4, 6), (6, 6), (1, 5), (5, 1), (12, 6)):
        for seed in range(3):
            a, b = pair(shape, dtype, format, kind, seed)
            exact(a.todia(), b.todia())
            exact(a.tobsr(), b.tobsr())
            for size in ((1, 1), (2, 3), (2, 2), (3, 3), (1, 5), (6, 6)):
                if not any(n % k for n, k in zip(shape, size, strict=True)):
                    exact(a.tobsr(size), b.tobsr(size))
                    exact(a.tobsr(size).T, b.tobsr(size).T)
            exact(a.todia().T, b.todia().T)
    twice = messy((6, 6), dtype, 30, 3, f"{format}_{kind}")
    if format == "coo":  # On the device indices are int32 where they fit.
        twice.coords = tuple(x.astype(np.int32) for x in twice.coords)
    else:
        twice.indices, twice.indptr = twice.indices.astype(np.int32), twice.indptr.astype(np.int32)
    mine = getattr(nl.sparse, f"{format}_{kind}")(twice)
    exact(mine.todia(), twice.copy().todia())
    exact(mine.tobsr((2, 3)), twice.copy().tobsr((2, 3)))
    empty = getattr(scipy.sparse, f"{format}_{kind}")((4, 6), dtype=dtype)
    mine = getattr(nl.sparse, f"{format}_{kind}")(empty)
    exact(mine.todia(), empty.todia())
    exact(mine.tobsr((2, 3)), empty.tobsr((2, 3)))


@pytest.mark.parametrize("size", [(4, 3), (0, 1), (-2, 2)])
def test_blocks_that_do_not_fit(size: tuple[int, int]) -> None:
    a, b = pair((6, 6), "f8", "csr")
    with pytest.raises(ValueError):
        b.tobsr(size)
    with pytest.raises(ValueError):
        a.tobsr(size)


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_without_numbers(dtype: str) -> None:
    data = np.zeros((4, 2, 3), dtype)
    data[1, 1, 2] = data[3, 0, 0] = 1
    given = data, np.array([0, 1, 0, 1], np.int32), np.array([0, 2, 4], np.int32)
    a, b = nl.sparse.bsr_array(given, shape=(4, 6)), scipy.sparse.bsr_array(given, shape=(4, 6))
    a.check_format()
    same(a.nonzero(), b.nonzero())
    same(a.count_nonzero(), b.count_nonzero())
    for each in (a, b):
        each.eliminate_zeros()
    exact(a, b)


def test_blocks_of_any_density_are_guessed_as_scipy_does() -> None:
    rng = np.random.default_rng(2)
    for n in (2, 3, 4, 6):
        for rate in (1.0, 0.9, 0.75, 0.5):
            blocks = np.kron(rng.random((6, 6)) < 0.4, np.ones((n, n))) * (rng.random((6 * n, 6 * n)) < rate)
            b = scipy.sparse.csr_array(blocks)
            exact(nl.sparse.csr_array(blocks).tobsr(), b.tobsr())


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtypes", ["f8 f8", "f4 f8", "f8 f4", "i4 f8", "f8 i4", "? ?", "u1 i4", "c16 f8"])
def test_two_of_diagonals(dtypes: str, kind: str) -> None:
    def made(offsets: tuple[int, ...], width: int, shape: tuple[int, int], dtype: str, seed: int) -> tuple[Any, Any]:
        data = dense((len(offsets), width), dtype, seed, 0.9)
        name = f"dia_{kind}"
        given = (data, np.array(offsets))
        return getattr(nl.sparse, name)(given, shape=shape), getattr(scipy.sparse, name)(given, shape=shape)

    cases = [((0,), (0,)), ((0, 1), (1, 0)), ((-1, 2), (0,)), ((0, 1, -2), (1,)), ((1,), (-2, 0, 1)), ((3,), (4, -3))]
    for first, second in cases:
        for widths in ((6, 6), (4, 6), (6, 3)):
            for shape in ((4, 6), (6, 4), (5, 5)):
                (a, b), (c, d) = (
                    made(k, w, shape, t, n)
                    for k, w, t, n in zip((first, second), widths, dtypes.split(), (1, 2), strict=True)
                )
                for function in (operator.add, operator.sub):
                    try:
                        expected = function(b, d)
                    except (ValueError, TypeError) as error:
                        with pytest.raises(type(error) if type(error) is ValueError else TypeError):
                            function(a, c)
                    else:
                        exact(function(a, c), expected)
                exact(a.T, b.T)
                same(a.nonzero(), b.nonzero())


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtypes", ["f8 f8", "f4 f8", "i4 f4", "? ?", "c16 f8"])
def test_products_of_diagonals(dtypes: str, kind: str, way: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(25):
        m, k, n = (int(x) for x in rng.integers(2, 7, 3))
        given = []
        for shape, dtype in zip(((m, k), (k, n), (m, k)), (*dtypes.split(), dtypes.split()[1]), strict=True):
            places = range(1 - shape[0], shape[1])
            offsets = rng.choice(places, int(rng.integers(1, min(4, len(places)) + 1)), replace=False)
            data = dense((len(offsets), int(rng.integers(1, shape[1] + 3))), dtype, int(rng.integers(99)), 0.9)
            given.append(
                [getattr(lib, f"dia_{kind}")((data, offsets), shape=shape) for lib in (nl.sparse, scipy.sparse)]
            )
        (a, b), (c, d), (e, f) = given
        try:
            expected = b @ d
        except (ValueError, RuntimeError):  # SciPy fails where the product has no diagonal.
            if way == "device":
                assert not (a @ c).data.size
        else:
            exact(a @ c, expected)
        exact(a.multiply(e), b.multiply(f))
        for function in (operator.ne, *((operator.lt, operator.ge) if "c16" not in dtypes else ())):
            exact(function(a, e), function(b, f))
        same(a.nonzero(), b.nonzero())
        same(a.count_nonzero(), b.count_nonzero())
        for shape in ((m, k), (1, k), (k,), (m, 1)):
            x = dense(shape, "f8", m, 0.7)
            exact(a.multiply(nl.asarray(x)), b.multiply(x))
            exact(a / (nl.asarray(x) + 1), b / (x + 1))


NUMBERS = [[0.0, np.nan, 2.0, -1.0], [-1.0, -2.0, -3.0, -4.0], [np.nan] * 4, [np.nan, 0.0, -1.0, 0.0], [0.0] * 4]


@pytest.mark.usefixtures("stays")
@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_rarer_reductions(dtype: str, kind: str) -> None:
    values = np.nan_to_num(np.abs(NUMBERS)).astype(dtype) if dtype[0] != "f" else np.array(NUMBERS, dtype)
    for x in (values, values.T, dense((5, 7), dtype), np.ones((2, 3), dtype), np.zeros((2, 3), dtype)):
        a, b = getattr(nl.sparse, kind)(x), getattr(scipy.sparse, kind)(x)
        for axis in (None, 0, 1, -1):
            for name in ("nanmax", "nanmin", "max", "min"):
                for explicit in (False, True):
                    exact(getattr(a, name)(axis, explicit=explicit), getattr(b, name)(axis, explicit=explicit))
            for into in ("f4", "f8", "i8"):
                if not (into == "i8" and dtype[0] == "f"):
                    same(a.sum(axis, dtype=into), b.sum(axis, dtype=into))
        found = a.toarray("F")
        assert found.flags.f_contiguous
        np.testing.assert_array_equal(found.get(), x)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_extremes_with_numbers_and_dense_arrays(dtype: str, format: str) -> None:
    a, b = pair((4, 6), dtype, format)
    for name in ("maximum", "minimum"):
        for number in (0, 1, -1, 2.5, np.float32(-3)):
            exact(getattr(a, name)(number), getattr(b, name)(number))
        other = dense((4, 6), "f8", 4)
        same(getattr(a, name)(nl.asarray(other)), getattr(b, name)(other))


@pytest.mark.parametrize("formats", ["csr csr", "csc csr", "coo csc", "dia dia"])
@pytest.mark.parametrize("dtypes", ["f8 f8", "f4 f8", "i4 f8", "c16 f8", "i4 i4"])
def test_quotients(dtypes: str, formats: str) -> None:
    ours, theirs = zip(
        *(pair((4, 6), t, f, "array", n) for t, f, n in zip(dtypes.split(), formats.split(), (1, 2), strict=True)),
        strict=True,
    )
    expected = operator.truediv(*theirs)
    found = operator.truediv(*ours)
    assert scipy.sparse.issparse(expected) == nl.sparse.issparse(found)
    same(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7,), (2, 3, 4), (3, 1, 2, 2), (1, 1, 1)])
def test_other_axes(shape: tuple[int, ...], dtype: str) -> None:
    x, y = dense(shape, dtype, 1), dense(shape, dtype, 2)
    a, b = nl.sparse.coo_array(x), scipy.sparse.coo_array(x)
    c, d = nl.sparse.coo_array(y), scipy.sparse.coo_array(y)
    axes = [None, 0, -1, *range(len(shape))]
    axes += [(0, 1), (0, 2), (-1, 0)] if len(shape) > 2 else []
    for axis in axes:
        same(a.sum(axis), b.sum(axis))
        same(a.mean(axis), b.mean(axis))
        if dtype not in ("?", "c16"):
            for name in ("max", "min", "nanmax", "nanmin"):
                exact(getattr(a, name)(axis), getattr(b, name)(axis))
    same(a.toarray(), b.toarray())
    same(a.nonzero(), b.nonzero())
    same(a.count_nonzero(), b.count_nonzero())
    exact(a.reshape(-1), b.reshape(-1))
    exact(a.reshape((-1, shape[-1])), b.reshape((-1, shape[-1])))
    exact(a.reshape((1, shape[0], -1)), b.reshape((1, shape[0], -1)))
    for function in (operator.add, operator.sub, lambda p, q: p.multiply(q)):
        if function is operator.sub and dtype == "?":
            continue
        same(function(a, c), function(b, d))
    if dtype not in ("?", "c16"):
        for name in ("maximum", "minimum"):
            same(getattr(a, name)(c), getattr(b, name)(d))
    same(a @ nl.ones(shape[-1]), b @ np.ones(shape[-1]))
    same(a @ nl.ones((shape[-1], 2)), b @ np.ones((shape[-1], 2)))
    same(a.sum(0, dtype="c16"), b.sum(0, dtype="c16"))
    same(a.mean(0, dtype="c8"), b.mean(0, dtype="c8"))
    same(a / c, b / d)
    exact(a.reshape((shape[-1], -1), order="F"), b.reshape((shape[-1], -1), order="F"))
    exact(a.transpose(), b.transpose())
    same(a.toarray("F"), b.toarray("F"))
    z = nl.asarray(y)
    for function in (operator.add, operator.sub, lambda p, q: q - p, lambda p, q: p.multiply(q), operator.truediv):
        try:
            expected = function(b, y)
        except TypeError as error:
            with pytest.raises(type(error)):
                function(a, z)
        else:
            same(function(a, z), expected)
    if dtype != "c16":
        compared = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
        for function in compared:
            for ours, theirs in ((c, d), (z, y), (0, 0), (1.5, 1.5), (-2, -2)):
                same(function(a, ours), function(b, theirs))
    if dtype not in ("?", "c16"):
        for name in ("maximum", "minimum"):
            for ours, theirs in ((z, y), (1, 1), (-1.5, -1.5), (0, 0)):
                same(getattr(a, name)(ours), getattr(b, name)(theirs))
    for bad in (len(shape), (0, 0), "x"):
        with pytest.raises((ValueError, TypeError)):
            a.sum(bad)


def test_other_axes_with_places_twice_and_zeros() -> None:
    rng = np.random.default_rng(5)
    coords = tuple(rng.integers(0, n, 30) for n in (2, 3, 4))
    data = rng.integers(0, 3, 30).astype("f8")
    a, b = nl.sparse.coo_array((data, coords), shape=(2, 3, 4)), scipy.sparse.coo_array((data, coords), shape=(2, 3, 4))
    for axis in (None, 0, 1, (0, 2)):
        same(a.sum(axis), b.copy().sum(axis))  # SciPy's own is brought in order by it.
        exact(a.max(axis), b.copy().max(axis))
    same(a.nonzero(), b.nonzero())
    exact(a + a, b + b)
    ours, theirs = a.reshape(24), b.reshape(24)
    theirs.sum_duplicates()  # Else SciPy's tocsr() changes the numbers of what it converts.
    exact(ours.tocsr(), theirs.tocsr())
    exact(ours + ours, theirs + theirs)
    exact(ours.tocsr().tocoo(), theirs.tocsr().tocoo())
    exact(ours.tocsr().multiply(ours), theirs.tocsr().multiply(theirs))
    for each in (lone := ours.tocsr(), other := theirs.tocsr()):
        each.eliminate_zeros()
    exact(lone, other)
    same(a.multiply(a), b.copy().multiply(b.copy()))
    same(a.reshape(4, 6), b.reshape(4, 6))
    for each in (a, b):
        each.sum_duplicates()
    exact(a, b)
    for each in (a, b):
        each.eliminate_zeros()
    exact(a, b)


@pytest.mark.usefixtures("stays")
def test_it_stays_on_the_device() -> None:
    a = nl.sparse.coo_array(nl.asarray(dense((4, 6), "f8"))).reshape((2, 2, 6))
    for call in (
        lambda: a.sum(), lambda: a.max(axis=1), lambda: a.toarray(), lambda: a + a, lambda: a.reshape(4, 6).tocsr(),
        lambda: a.transpose((2, 0, 1)).mean(axis=0), lambda: a.multiply(a), lambda: a @ nl.ones(6),
        lambda: a.reshape(4, 6).todia().T + a.reshape(6, 4).todia(), lambda: a.reshape(4, 6).tocsr().maximum(1.5),
        lambda: a.reshape(4, 6).todia() @ a.reshape(6, 4).todia(), lambda: a.reshape(4, 6).todia().multiply(nl.ones(6)),
        lambda: a.reshape(4, 6).tobsr((2, 3)) @ a.reshape(6, 4).tobsr((3, 2)), lambda: a > 0.5, lambda: a == a,
        lambda: a.maximum(-1) + nl.ones(a.shape), lambda: a / nl.ones(a.shape), lambda: a.multiply(nl.ones(a.shape)),
        lambda: a.reshape(24) + a.reshape(24), lambda: a.reshape(24).tocsr().tocoo().sum(),
        lambda: nl.sparse.coo_array(nl.ones((2, 1, 3))).min(axis=(0, 1)), lambda: a.reshape((6, 4), order="F"),
        lambda: a.reshape(4, 6).todia().nonzero(), lambda: a.reshape(4, 6).todia() != a.reshape(4, 6).todia(),
        lambda: a.reshape(4, 6).tobsr((2, 2)).count_nonzero(), lambda: a @ nl.ones((6, 2)), lambda: a / a,
        lambda: nl.ones(a.shape) - a, lambda: nl.sparse.coo_array((a.data, a.coords), shape=a.shape) - a,
    ):  # fmt: skip
        call()


def test_too_many_diagonals_are_said() -> None:
    a = nl.sparse.csr_array(np.ones((60, 60)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(nl.sparse.SparseEfficiencyWarning, match="119 diagonals"):
            a.todia()


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("first", ["csr", "csc", "coo", "dia"])
@pytest.mark.parametrize("second", ["csr", "csc", "coo", "dia"])
def test_results_of_two_formats_have_the_format_of_scipy(second: str, first: str, kind: str) -> None:
    (a, b), (c, d) = pair((5, 5), "f8", first, kind, 1), pair((5, 5), "f8", second, kind, 2)
    functions = [operator.add, operator.sub, operator.matmul, operator.ne, operator.lt, operator.ge]
    functions += [lambda p, q, name=name: getattr(p, name)(q) for name in ("multiply", "maximum", "minimum", "dot")]
    for function in functions:
        same(function(a, c), function(b, d))


@pytest.mark.parametrize("dtype", ["i4", "f8", "c16"])
def test_dot_sums_over_the_last_axis_but_one_of_more_than_two(dtype: str) -> None:
    x = dense((2, 3, 4), dtype, 1, 0.7)
    a, b = nl.sparse.coo_array(x), scipy.sparse.coo_array(x)
    for shape in ((4,), (4, 2), (5, 4, 2), (2, 4, 3)):
        y = dense(shape, dtype, 2, 0.7)
        same(a.dot(nl.asarray(y)), b.dot(y))
        same(a.dot(nl.sparse.coo_array(y)), b.dot(scipy.sparse.coo_array(y)))
    flat = x.reshape(6, 4)
    y = dense((5, 4, 2), dtype, 3, 0.7)
    for kind in ("csr_array", "coo_array"):
        c, d = getattr(nl.sparse, kind)(flat), getattr(scipy.sparse, kind)(flat)
        assert (c.dot(nl.sparse.coo_array(y)).toarray().get() == np.dot(flat, y)).all()
    same(c.dot(nl.sparse.coo_array(y)), d.dot(scipy.sparse.coo_array(y)))


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_indices_and_pointers_of_two_dtypes(format: str) -> None:
    for name in ("indices", "indptr"):
        a, b = pair((5, 6), "f8", format)
        for each, asarray in ((a, nl.asarray), (b, np.asarray)):
            setattr(each, name, asarray(getattr(b, name).astype(np.int64)))
        same(a[[1, 2], :], b[[1, 2], :])
        same(a[:, [3, 1]], b[:, [3, 1]])
        same(a @ nl.ones(6), b @ np.ones(6))
        same(a @ a.T, b @ b.T)
        same(a + a, b + b)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_rows_and_columns_that_cross(format: str, way: str) -> None:
    a, b = pair((5, 6), "f8", format)
    rows, columns = np.array([[4], [1], [1]]), np.array([5, 0, -1, 2])
    for each in (columns, columns[None], columns[:1]):
        same(a[rows, each], b[rows, each])
        same(a[nl.asarray(rows), nl.asarray(each)], b[rows, each])
    same(a[np.array(-1), [2, 5]], b[np.array(-1), [2, 5]])
    same(a[:, nl.asarray(3)], b[:, 3])
    same(a[nl.asarray(2), nl.asarray(3)], b[2, 3])
    if way == "device":  # A dense result would not fit.
        wide = getattr(nl.sparse, f"{format}_array")((100_000, 100_000))
        assert wide[nl.arange(100_000)[:, None], nl.arange(100_000)].nnz == 0


def test_what_is_built_on_the_host_takes_others() -> None:
    for kind in ("lil_array", "dok_array", "lil_matrix", "dok_matrix"):
        for format in ("csr", "coo", "dia", "lil", "dok"):
            a, b = pair((4, 5), "f8", format)
            same(getattr(nl.sparse, kind)(a).tocsr(), getattr(scipy.sparse, kind)(b).tocsr())


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtype", ["?", "i4", "f8", "c16"])
def test_blocks_that_come_twice(dtype: str, kind: str) -> None:
    data = dense((5, 2, 3), dtype, 4, 0.8)
    given = data, np.array([1, 0, 1, 1, 1], np.int32), np.array([0, 3, 5], np.int32)
    a, b = (getattr(lib, f"bsr_{kind}")(given, shape=(4, 6)) for lib in (nl.sparse, scipy.sparse))
    for function in (abs, lambda m: m.power(2), lambda m: m.sin(), lambda m: m.astype("c8"), lambda m: m.sqrt()):
        if dtype == "?" and function is not abs:
            continue
        same(function(a.copy()), function(b.copy()))
    same(a.toarray(), b.toarray())
    same(a.sum(0), b.copy().sum(0))
    c, d = a.copy(), b.copy()
    for each in (c, d):
        each.sort_indices()
    exact(c, d)
    for each in (a, b):
        each.sum_duplicates()
    exact(a, b)
    if dtype == "?":
        with pytest.raises(NotImplementedError):
            -a
