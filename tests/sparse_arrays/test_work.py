"""Arithmetic, products, reductions and parts, beside SciPy."""

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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import numloom as nl
from numloom.sparse import matmul
from numloom.sparse.where import on_device

_spec = importlib.util.spec_from_file_location("sparse_programs", Path(__file__).with_name("programs.py"))
programs = sys.modules.get("sparse_programs") or importlib.util.module_from_spec(_spec)
if "sparse_programs" not in sys.modules:
    sys.modules["sparse_programs"] = programs
    _spec.loader.exec_module(programs)
same, pair, dense = programs.same, programs.pair, programs.dense

pytestmark = [pytest.mark.usefixtures("way"), pytest.mark.filterwarnings("ignore::Warning")]


def agree(function: Any, ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> None:
    """The same result, or an error of the same class."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = function(*theirs)
        except Exception as error:
            if "float16" in str(error):
                return  # Sines of small integers: SciPy makes such of some formats and refuses others.
            if "array of size 0" in str(error):
                return  # The product of diagonals that has none, which SciPy cannot make.
            with pytest.raises(type(error)):
                function(*ours)
            return
        found = function(*ours)
        if isinstance(expected, np.matrix):
            expected = np.asarray(expected)
        if scipy.sparse.issparse(expected) and expected.dtype == np.float16:
            # SciPy computes such, and can do nothing with them.
            assert found.dtype == np.float16
            np.testing.assert_allclose(found.data.get(), expected.data, rtol=2e-3)
            return
        same(found, expected)


BINARY = [
    operator.add, operator.sub, operator.mul, operator.matmul, operator.ne, operator.lt, operator.gt, operator.eq,
    operator.le, operator.truediv,
]  # fmt: skip


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("formats", ["csr csr", "csr csc", "csc csr", "coo csr", "coo coo", "dia csr", "dia dia"])
@pytest.mark.parametrize("dtypes", ["f8 f8", "f4 f4", "i4 f4", "? ?", "u1 i8", "c8 f8", "c16 c16"])
def test_two_matrices(dtypes: str, formats: str, kind: str) -> None:
    for shapes in (((4, 4), (4, 4)), ((3, 5), (3, 5)), ((3, 5), (5, 2)), ((0, 3), (0, 3)), ((1, 6), (6, 1))):
        pairs = [
            pair(shape, dtype, format, kind, seed)
            for shape, dtype, format, seed in zip(shapes, dtypes.split(), formats.split(), (1, 2), strict=True)
        ]
        if "dia" in formats and 0 in shapes[0]:
            continue
        ours, theirs = zip(*pairs, strict=True)
        for function in BINARY:
            if function is operator.truediv and "csr csr" not in formats:
                continue
            agree(function, ours, theirs)
        for name in ("multiply", "maximum", "minimum", "dot"):
            agree(lambda a, b, name=name: getattr(a, name)(b), ours, theirs)


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", programs.FORMATS)
@pytest.mark.parametrize("dtype", programs.DTYPES)
def test_dense_operands(dtype: str, format: str, kind: str) -> None:
    a, b = pair((4, 6), dtype, format, kind)
    for other in (dense((6,), "f8"), dense((6, 3), "f4"), dense((6,), "i8"), dense((6, 2), dtype), dense((5,), "f8")):
        agree(operator.matmul, (a, nl.asarray(other)), (b, other))
    for other in (dense((4,), "f4"), dense((3, 4), dtype)):
        agree(operator.matmul, (nl.asarray(other), a), (other, b))
    for other in (dense((4, 6), "f8"), dense((6,), "f8"), dense((4, 1), "f8"), dense((3, 6), "f8")):
        for function in (operator.add, operator.sub):
            agree(function, (a, nl.asarray(other)), (b, other))
            agree(function, (nl.asarray(other), a), (other, b))
        agree(lambda x, y: x.multiply(y), (a, nl.asarray(other)), (b, other))


@pytest.mark.parametrize("format", programs.FORMATS)
@pytest.mark.parametrize("dtype", programs.DTYPES)
def test_scalars_and_elementwise(dtype: str, format: str) -> None:
    a, b = pair((4, 6), dtype, format)
    for scalar in (2, 2.5, True, np.float32(3), np.int8(2), 1j):
        for function in (operator.mul, lambda x, y: y * x, operator.truediv):
            agree(function, (a, scalar), (b, scalar))
    agree(lambda x: x * nl.float64(2) if x is a else x * np.float64(2), (a,), (b,))
    for name in (
        "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "rint", "sign", "expm1", "log1p",
        "deg2rad", "rad2deg", "floor", "ceil", "trunc", "sqrt", "conj", "copy",
    ):  # fmt: skip
        agree(lambda x, name=name: getattr(x, name)(), (a,), (b,))
    agree(operator.neg, (a,), (b,))
    agree(abs, (a,), (b,))
    agree(lambda x: x.power(2), (a,), (b,))
    agree(lambda x: x**3, (a,), (b,))
    agree(lambda x: x.power(0), (a,), (b,))
    agree(lambda x: x.astype("f4"), (a,), (b,))
    if format != "dia":
        agree(round, (a,), (b,))
    agree(lambda x: nl.sin(x) if x is a else x.sin(), (a,), (b,))
    agree(lambda x: np.sin(x) if x is a else x.sin(), (a,), (b,))


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", programs.FORMATS)
@pytest.mark.parametrize("dtype", programs.DTYPES)
def test_reductions(dtype: str, format: str, kind: str) -> None:
    for shape in ((4, 6), (1, 5), (5, 1), (3, 3)) + (((0, 3),) if format != "dia" else ()):
        a, b = pair(shape, dtype, format, kind)
        for axis in (None, 0, 1, -1, -2, 2):
            agree(lambda x, axis=axis: x.sum(axis=axis), (a,), (b,))
            agree(lambda x, axis=axis: x.mean(axis=axis), (a,), (b,))
            if format != "dia" and dtype[0] != "c":
                for name in ("max", "min", "argmax", "argmin"):
                    agree(lambda x, axis=axis, name=name: getattr(x, name)(axis=axis), (a,), (b,))
        for k in (-2, -1, 0, 1, 9):
            agree(lambda x, k=k: x.diagonal(k), (a,), (b,))
        agree(lambda x: x.trace(), (a,), (b,))
        agree(lambda x: x.nonzero(), (a,), (b,))
        agree(lambda x: x.count_nonzero(), (a,), (b,))
        assert a.nnz == b.nnz


def test_not_a_number_in_extremes() -> None:
    values = np.array([[0.0, np.nan, 2.0], [-1.0, -2.0, -3.0], [np.nan, 0.0, -1.0]])
    a, b = nl.sparse.csr_array(values), scipy.sparse.csr_array(values)
    for name in ("max", "min"):
        for axis in (None, 0, 1):
            agree(lambda x, name=name, axis=axis: getattr(x, name)(axis=axis), (a,), (b,))


def test_not_a_number_beside_other_places() -> None:
    """A place of one matrix next to a NaN or infinity of the other (which a product by a mask would have spread)."""
    x = np.array([[1.0, 0.0, 3.0, 0.0], [2.0, 0.0, 0.0, 5.0]])
    y = np.array([[0.0, np.nan, 0.0, np.inf], [np.inf, 1.0, np.nan, 0.0]])
    a, b = nl.sparse.csr_array(x), scipy.sparse.csr_array(x)
    c, d = nl.sparse.csr_array(y), scipy.sparse.csr_array(y)
    for function in (operator.add, operator.sub, operator.ne, operator.mul):
        agree(function, (a, c), (b, d))
        agree(function, (c, a), (d, b))


KEYS = [
    0, -1, 7, (1, 2), (9, 0), slice(None), slice(1, 3), slice(None, None, -1), slice(4, 1), (slice(None), 1),
    (slice(None), slice(1, 4)), (slice(None, None, 2), slice(None, None, 2)), (slice(None), slice(None, None, -1)),
    [0, 2, 2], (slice(None), [1, 1, 0]), ([0, 1], [1, 2]), ([0, 9], slice(None)), (1, [0, 2]), ([-1, 0], slice(1, 3)),
    (Ellipsis, 1), (slice(None), None), "a", 1.5, (0, 0, 0), np.array([True, False, True, False]),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia"])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_parts(key: Any, format: str, kind: str) -> None:
    a, b = pair((4, 6), "f8", format, kind)
    agree(lambda x: x[key], (a,), (b,))


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("key", [(0, 1), (slice(None), 1), slice(1, 3), ([0, 1], [2, 3]), (slice(0, 2), slice(0, 2))])
def test_assignment(key: Any, format: str) -> None:
    a, b = pair((4, 6), "f8", format)
    before = a * 2
    old = 2 * b.toarray()
    for each in (a, b):
        each[key] = 5
        each.setdiag(3, 1)
    same(a, b)
    same(before, scipy.sparse.csr_array(old).asformat(format))
    for each in (a, b):
        each.resize((3, 9))
    same(a, b)
    same(a.reshape((9, 3)), b.reshape((9, 3)))


def test_huge_and_almost_empty() -> None:
    rng = np.random.default_rng(3)
    n = 10**6
    row, col, data = rng.integers(0, n, 50), rng.integers(0, n, 50), rng.standard_normal(50)
    b = scipy.sparse.csr_array((data, (row, col)), shape=(n, n))
    a = nl.sparse.csr_array((nl.asarray(data), (nl.asarray(row), nl.asarray(col))), shape=(n, n))
    for function in (lambda x: x @ x.T, lambda x: x + x.T, lambda x: x[row], lambda x: x[:, 5:90000], lambda x: x.T):
        found, expected = function(a).tocsc().tocsr(), function(b).tocsc().tocsr()
        assert found.nnz == expected.nnz
        np.testing.assert_array_equal(found.indices.get(), expected.indices)
        np.testing.assert_allclose(found.data.get(), expected.data)
    np.testing.assert_allclose((a @ np.ones(n)).get(), b @ np.ones(n))
    np.testing.assert_allclose(a.sum(0).get(), b.sum(0))


def test_rows_of_all_lengths() -> None:
    """Every number of lanes adds rows that are empty, short and long."""
    rng = np.random.default_rng(4)
    for mean in (0, 1, 3, 9, 20, 70, 200):
        lengths = rng.integers(0, 2 * mean + 1, 37)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices, data = rng.integers(0, 400, indptr[-1]), rng.standard_normal(indptr[-1])
        for dtype in ("f4", "f8", "i8"):
            numbers = (8 * data).astype(dtype)
            b = scipy.sparse.csr_array((numbers, indices, indptr), shape=(37, 400))
            a = nl.sparse.csr_array(b)
            x = rng.integers(-4, 5, (400, 3)).astype(dtype)
            tolerance = 1e-4 if dtype == "f4" else 1e-11
            np.testing.assert_allclose((a @ nl.asarray(x)).get(), b @ x, tolerance, tolerance)
            np.testing.assert_allclose((a @ nl.asarray(x[:, 0])).get(), b @ x[:, 0], tolerance, tolerance)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.sampled_from(sorted(programs.STEPS)), min_size=1, max_size=8), st.integers(0, 50))
def test_programs(steps: list[str], seed: int) -> None:
    programs.run_program(steps, seed)


@pytest.mark.parametrize("name", ["csr_array", "csc_array", "coo_array", "csr_matrix", "coo_matrix"])
@pytest.mark.parametrize("dtype", ["?", "i4", "f4", "f8", "c16"])
def test_places_that_come_twice_in_any_order(name: str, dtype: str) -> None:
    functions = [
        lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x @ y, lambda x, y: x.multiply(y), lambda x, y: x != y,
        lambda x, y: abs(x), lambda x, y: x.power(2), lambda x, y: x * 3, lambda x, y: x.T, lambda x, y: x.conj(),
        lambda x, y: x.sum(axis=0), lambda x, y: x.sum(axis=1), lambda x, y: x.sum(), lambda x, y: x.mean(axis=0),
        lambda x, y: x.diagonal(), lambda x, y: x.toarray(), lambda x, y: x.astype("f4"), lambda x, y: x.tocsc(),
        lambda x, y: x.tocsr()[1:4], lambda x, y: x.tocsr()[[3, 1, 1]], lambda x, y: x.tocsc()[:, 2],
        lambda x, y: x.tocsr()[2, 3], lambda x, y: x.tocsr()[:, ::2], lambda x, y: x.tocsr()[:, [4, 0]],
        lambda x, y: x.tocsr()[[0, 1], [1, 2]],
    ]  # fmt: skip
    if dtype != "c16":
        functions += [lambda x, y: x.maximum(y), lambda x, y: x.max(axis=0), lambda x, y: x.min(axis=1)]
        functions += [lambda x, y: x.max(), lambda x, y: x.argmax(axis=0)]
    for function in functions:
        b, d = (programs.messy((5, 5), dtype, 30, seed, name) for seed in (5, 6))
        a, c = getattr(nl.sparse, name)(b), getattr(nl.sparse, name)(d)
        agree(function, (a, c), (b, d))


def test_order_is_not_made_behind_the_back() -> None:
    """What was recorded of the parts keeps what it read when SciPy or a method brings them in order."""
    b = programs.messy((5, 5), "f8", 30, 5, "csr_array")
    a = nl.sparse.csr_array(b)
    places, numbers, turned = a.indices + 0, a.data * 1, a.T
    a.max(axis=0)
    a[[0, 1], [1, 2]]
    a.sum_duplicates()
    np.testing.assert_array_equal(places.get(), b.indices)
    np.testing.assert_array_equal(numbers.get(), b.data)
    same(turned, b.T)
    same(a, b)


def test_a_part_does_not_share_memory_with_the_whole() -> None:
    a, b = pair((4, 6), "f8", "csr")
    for function in (lambda x: x[1:3], lambda x: x[:], lambda x: x.tocoo(), lambda x: x.copy(), lambda x: x * 1):
        part, expected = function(a), function(b).copy()
        a.data[:] = a.data + 1
        same(part, expected)
        b.data[:] = b.data + 1


def test_axes_that_are_results() -> None:
    a = nl.sparse.csr_array(nl.asarray([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    for axis in ((nl.ones(2) > 0).sum() - 1, nl.array(1, "i4")):
        for name in ("sum", "mean", "max", "min", "argmax", "count_nonzero"):
            found, want = getattr(a, name)(axis), getattr(a, name)(1)
            for one in (found, want):
                assert one.shape == (2,)
            dense = [x.toarray() if hasattr(x, "toarray") else x for x in (found, want)]
            assert dense[0].tolist() == dense[1].tolist(), name


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("index", ["i4", "i8"])
def test_products_with_long_rows(dtype: str, index: str) -> None:
    """Rows much longer than the mean are added in pieces: all numbers are small integers, so the sums are exact."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 4, 400)
    lengths[[0, 3, 4, 250, 399]] = [9000, 65, 2048, 4097, 300]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    indices = np.concatenate([np.sort(rng.permutation(9001)[:n]) for n in lengths]).astype(index)
    data = rng.integers(-4, 5, indices.shape[0]).astype(dtype)
    x = rng.integers(-4, 5, 9001).astype(dtype)
    theirs = scipy.sparse.csr_array((data, indices, indptr), shape=(400, 9001))
    ours = nl.sparse.csr_array(tuple(map(nl.asarray, (data, indices, indptr))), shape=(400, 9001))
    for _ in range(2):
        assert (ours @ nl.asarray(x)).tolist() == (theirs @ x).tolist()
    short = ours[5:250]
    assert (short @ nl.asarray(x)).tolist() == (theirs[5:250] @ x).tolist()
    if on_device():
        assert ours._longest == 9000
        assert 0 < short._longest < 4
    assert (2 * ours @ nl.asarray(x)).tolist() == (2 * theirs @ x).tolist()


@pytest.mark.parametrize("mean", [1, 3, 9, 40, 300])
@pytest.mark.parametrize("wide", [False, True])
def test_products_of_all_lengths_of_rows(mean: int, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way in which rows are added, and their borders; all numbers are small integers, so the sums are exact."""
    monkeypatch.setattr(matmul, "STAGED_ROWS", 100)
    if wide:
        monkeypatch.setattr(matmul, "WIDE_FROM", 50)
    rng = np.random.default_rng(mean)
    for rows in (1, 99, 300, 389):
        lengths = rng.integers(0, 2 * mean + 1, rows)
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype("i4")
        indices = np.concatenate([np.sort(rng.permutation(601)[:n]) for n in lengths]).astype("i4")
        theirs = scipy.sparse.csr_array((rng.integers(-4, 5, indptr[-1]) * 1.0, indices, indptr), shape=(rows, 601))
        x = rng.integers(-4, 5, 601) * 1.0
        x[0] = np.nan  # Read by none but those who store it.
        kept = theirs.indices != 0
        theirs.data, indices = theirs.data[kept], theirs.indices[kept]
        indptr = np.concatenate([[0], np.cumsum(kept)])[indptr].astype("i4")
        theirs = scipy.sparse.csr_array((theirs.data, indices, indptr), shape=(rows, 601))
        ours = nl.sparse.csr_array(theirs)
        assert (ours @ nl.asarray(x)).tolist() == (theirs @ x).tolist()


def test_a_product_does_not_trust_what_it_saw_of_rows() -> None:
    """Pointers that were written in place since the last product: as SciPy's, though some rows are long now."""
    ours = nl.sparse.csr_array((np.ones(5000), np.arange(5000) % 100, np.arange(0, 5001, 10)), shape=(500, 100))
    x = nl.arange(100.0)
    assert (ours @ x).sum() == sum(range(100)) * 50
    ours.indptr[1:] = 5000
    assert (ours @ x).tolist() == [float(sum(range(100)) * 50)] + [0.0] * 499
