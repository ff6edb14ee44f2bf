"""Single places, comparisons and matrices put together, beside SciPy; on a device nothing of it goes to the host."""

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

_spec = importlib.util.spec_from_file_location("sparse_programs", Path(__file__).with_name("programs.py"))
programs = sys.modules.get("sparse_programs") or importlib.util.module_from_spec(_spec)
if "sparse_programs" not in sys.modules:
    sys.modules["sparse_programs"] = programs
    _spec.loader.exec_module(programs)
same, pair, dense, messy = programs.same, programs.pair, programs.dense, programs.messy

pytestmark = [pytest.mark.usefixtures("way"), pytest.mark.filterwarnings("ignore::Warning")]


def agree(function: Any, ours: Any, theirs: Any) -> None:
    """The same result, or an error of the same class."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = function(theirs)
        except Exception as error:
            kinds = (type(error), ValueError) if isinstance(error, (IndexError, ValueError)) else type(error)
            with pytest.raises(kinds):
                function(ours)
            return
        same(function(ours), np.asarray(expected) if isinstance(expected, np.matrix) else expected)


def wide(x: Any) -> Any:
    return programs.as_numpy(x).astype(np.int64)


MASK = np.random.default_rng(8).random((4, 6)) < 0.4
KEYS = {
    "pairs": ([0, 3, 3], [1, -1, 5]), "a grid of pairs": ([[0], [2]], [1, 3]), "a mask": MASK,
    "rows by a mask": np.array([True, False, False, True]), "a row of some columns": (1, [0, 5, 2]),
    "rows at a column": ([0, 3], 4), "an ellipsis": ([0, 2], ...), "no pairs": ([], []), "too far": ([0, 4], [0, 0]),
    "lengths that differ": ([0, 1, 2], [0, 1]), "a negative one": ([-1], [-6]),
    "columns by a mask": (slice(None), MASK[0]),
    "rows and columns": ([0, 1], slice(1, 4)), "a step": (slice(None, None, 2), slice(1, None, 3)),
    "one": (2, 3), "a row": 2, "all": (slice(None), slice(None)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["f8", "i4", "c8", "?"])
@pytest.mark.parametrize("name", KEYS)
def test_parts_and_assignment(name: str, format: str, dtype: str, kind: str) -> None:
    key = KEYS[name]
    for make in (pair, lambda *a, **k: None):
        if make is pair:
            a, b = pair((4, 6), dtype, format, kind, 3)
        else:
            b = messy((4, 6), dtype, 30, 4, f"{format}_{kind}")
            a = getattr(nl.sparse, f"{format}_{kind}")(b)
        agree(lambda x: x[key], a, b)
        for value in (3, 0):
            c, d = a.copy(), b.copy()
            agree(lambda x, value=value: _set(x, key, value), c, d)
            same(c, d)
    shape = np.zeros((4, 6))[key].shape if name not in ("too far", "lengths that differ") else None
    if shape and 0 not in shape and kind == "array":
        values = dense(shape, dtype, 5, 0.8)
        c, d = a.copy(), b.copy()
        for each, given in ((c, nl.asarray(values)), (d, values)):
            each[key] = given
        same(c, d)


def _set(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


REPEATED: dict[str, tuple[Any, Any]] = {
    "a place": (([0, 0], [1, 1]), [5, 6]),
    "by its negative number": (([0, -4], [1, -5]), [5, 6]),
    "zero at last": (([0, 0, 2], [1, 1, 3]), [5, 0, 7]),
    "zero at first": (([0, 0], [1, 1]), [0, 5]),
    "a row": (([2, 2], slice(None)), np.arange(1, 13).reshape(2, 6)),
    "a column": ((slice(None), [3, 3]), np.arange(1, 9).reshape(4, 2)),
    "a grid": (([[1], [1]], [4, 4]), [[1, 2], [3, 4]]),
    "many": (tuple(np.random.default_rng(6).integers(0, 4, (2, 60))), np.arange(1, 61)),
}


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", ["csr", "csc", "lil", "dok"])
@pytest.mark.parametrize("name", REPEATED)
def test_of_a_place_that_is_written_repeatedly_the_last_counts(name: str, format: str, kind: str) -> None:
    key, values = REPEATED[name]
    for seed in (3, 4):
        a, b = pair((4, 6), "i8", format, kind, seed)
        for given in (values, np.asarray(values), nl.asarray(values)):
            c, d = a.copy(), b.copy()
            c[key], d[key] = given, np.asarray(nl.asnumpy(given))
            same(c, d)
            want = d.toarray()
            assert programs.as_numpy(c.toarray()).tolist() == want.tolist()
            if name == "a place":
                assert want[0, 1] == 6


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", ["f4", "i8", "c16"])
def test_diagonals_are_set(format: str, dtype: str) -> None:
    for k in (-3, -1, 0, 2, 5, 9):
        for values in (7, [1, 2, 3], np.arange(9), [[1]]):
            a, b = pair((4, 6), dtype, format)
            agree(lambda x, values=values, k=k: _diagonal(x, values, k), a, b)


def _diagonal(x: Any, values: Any, k: int) -> Any:
    x.setdiag(values, k)
    return x


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", programs.FORMATS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "?"])
def test_comparisons(dtype: str, format: str, kind: str) -> None:
    a, b = pair((4, 6), dtype, format, kind)
    c, d = pair((4, 6), dtype, "csr", kind, 7)
    other = dense((4, 6), "f8", 8)
    for function in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        for number in (0, 1, -2, 2.5, np.nan, np.int8(3)):
            agree(lambda x, f=function, n=number: f(x, n), a, b)
        agree(lambda x, f=function: f(x, c if x is a else d), a, b)
        agree(lambda x, f=function: f(x, nl.asarray(other) if x is a else other), a, b)


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", programs.FORMATS)
def test_quotients_and_products_that_broadcast(format: str, kind: str) -> None:
    a, b = pair((4, 6), "f8", format, kind)
    for shape in ((4, 6), (6,), (1, 6), (4, 1), (1, 1), (3, 6)):
        other = dense(shape, "f8", 8, 0.9) + 0.5
        agree(lambda x, o=other: x.multiply(nl.asarray(o) if x is a else o), a, b)
        agree(lambda x, o=other: x / (nl.asarray(o) if x is a else o), a, b)
    square, theirs = pair((5, 5), "f8", format, kind)
    for n in (0, 1, 2, 3, 5):
        agree(lambda x, n=n: x**n, square, theirs)


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_where_extremes_are(dtype: str, name: str, kind: str) -> None:
    for seed in range(4):
        for b in (pair((4, 6), dtype, name, kind, seed)[1], messy((5, 3), dtype, 25, seed, f"{name}_{kind}")):
            if dtype[0] == "f" and seed == 3:
                b.data[::5] = np.nan
            if seed == 2:
                b.data[:] = -abs(b.data.astype("f8")) if dtype[0] == "f" else b.data
            a = getattr(nl.sparse, f"{name}_{kind}")(b)
            for axis in (None, 0, 1, -1, 2):
                for method in ("argmax", "argmin"):
                    agree(lambda x, axis=axis, m=method: getattr(x.copy(), m)(axis=axis), a, b)
                # Counts and places have the dtype of indices, which may be wider in SciPy's.
                agree(lambda x, axis=axis: wide(x.copy().count_nonzero(axis=axis)), a, b)
            agree(lambda x: [wide(places) for places in x.nonzero()], a, b)


def test_signs_and_rows_that_are_full() -> None:
    for values in (-np.ones((3, 4)), np.ones((3, 4)), np.array([[-1.0, 0, -2, 0], [0, 0, 0, 0], [3, 3, 0, -9]])):
        b = scipy.sparse.csr_array(values)
        a = nl.sparse.csr_array(values)
        for axis in (None, 0, 1):
            for method in ("argmax", "argmin", "max", "min"):
                agree(lambda x, axis=axis, m=method: getattr(x, m)(axis=axis), a, b)


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", programs.FORMATS)
def test_other_shapes(format: str, kind: str) -> None:
    a, b = pair((4, 6), "f8", format, kind)
    for shape in ((6, 4), (3, 8), (24, 1), (1, -1), (-1, 8), (24,), (5, 5), (-1, -1), (4, 6)):
        for order in ("C", "F"):
            agree(lambda x, s=shape, o=order: x.reshape(s, order=o), a, b)
    for shape in ((2, 3), (9, 9), (4, 1), (0, 3), (-1, 3)):
        agree(lambda x, s=shape: _resized(x.copy(), s), a, b)


def _resized(x: Any, shape: tuple[int, int]) -> Any:
    x.resize(shape)
    return x


JOINED = {
    "kron": lambda s, a, b: s.kron(a, b),
    "kron csc": lambda s, a, b: s.kron(a, b, "csc"),
    "vstack": lambda s, a, b: s.vstack([a, b]),
    "hstack": lambda s, a, b: s.hstack([a, b, a]),
    "hstack csr": lambda s, a, b: s.hstack([a, b], format="csr", dtype="f4"),
    "bmat": lambda s, a, b: s.bmat([[a, None], [b, a]]),
    "a row without": lambda s, a, b: s.bmat([[a, b], [None, None]]),
    "block_diag": lambda s, a, b: s.block_diag([a, b, a]),
    "one of block_diag": lambda s, a, b: s.block_diag([a]),
    "tril": lambda s, a, b: s.tril(a, 1),
    "triu": lambda s, a, b: s.triu(b, -1, "csr"),
    "find": lambda s, a, b: s.find(a),
}


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("formats", ["csr csr", "csc csc", "coo csr", "dia dia", "csr dia"])
@pytest.mark.parametrize("name", JOINED)
def test_joined_and_taken_apart(name: str, formats: str, kind: str) -> None:
    pairs = [pair((4, 4), dtype, format, kind, seed)
             for format, dtype, seed in zip(formats.split(), ("f8", "i4"), (1, 2), strict=True)]  # fmt: skip
    (a, b), (c, d) = pairs
    agree(lambda x: JOINED[name](nl.sparse if x is a else scipy.sparse, x, c if x is a else d), a, b)


def test_diagonals_of_our_arrays() -> None:
    x, y = nl.arange(3.0), nl.arange(4.0)
    expected = scipy.sparse.diags_array([np.arange(3.0), np.arange(4.0)], offsets=[-1, 0])
    same(nl.sparse.diags_array([x, y], offsets=[-1, 0]), expected)
    same(nl.sparse.diags_array([x, y], offsets=[-1, 0], format="csr"), expected.tocsr())
    with pytest.raises(ValueError):
        nl.sparse.diags_array([y, y], offsets=[-1, 0])


def test_nothing_goes_to_the_host(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page on sparse arrays says of a GPU: SciPy is not asked."""
    if way == "host":
        return
    a, _ = pair((6, 6), "f8", "csr", seed=1)
    b, _ = pair((6, 6), "f8", "csc", seed=2)
    mask, other, s = nl.asarray(dense((6, 6), "?")), nl.asarray(dense((6, 6), "f8", 9)), nl.sparse
    places = nl.asarray([0, 3, 5])

    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("SciPy was asked")

    for name in ("call", "call_method", "product", "view", "to_host"):
        monkeypatch.setattr(f"numloom.sparse.host.{name}", refuse)
    for run in (
        lambda: a + b, lambda: a - b, lambda: a.multiply(b), lambda: a.maximum(b), lambda: a == b, lambda: a <= b,
        lambda: a != b, lambda: a > 0, lambda: a < 1, lambda: a / other, lambda: a + other, lambda: a @ b,
        lambda: a @ other, lambda: a.multiply(other[0]), lambda: a[places], lambda: a[places, places], lambda: a[mask],
        lambda: a[1:4, ::2], lambda: a[2], lambda: a[2, 3], lambda: _set(a.copy(), (places, places), 4.0),
        lambda: _set(b.copy(), mask, 0), lambda: _diagonal(a.copy(), places, 1), lambda: a.argmax(axis=0),
        lambda: a.argmin(), lambda: a.nonzero(), lambda: a.count_nonzero(), lambda: a.sum(axis=0), lambda: a.mean(),
        lambda: a.max(axis=1), lambda: a.diagonal(), lambda: a.trace(), lambda: s.kron(a, b), lambda: s.vstack([a, b]),
        lambda: s.hstack([a, a]), lambda: s.block_diag([a, b]), lambda: s.bmat([[a, None], [None, b]]),
        lambda: s.tril(a), lambda: s.triu(b, 1), lambda: s.find(a), lambda: a.reshape(4, 9), lambda: a.T.tocsr(),
        lambda: _resized(a.copy(), (3, 9)), lambda: s.csr_matrix(a) ** 3, lambda: a.tocoo().tocsc(),
        lambda: a.toarray(), lambda: abs(a).sqrt(), lambda: s.csr_array(other), lambda: a.tocsr().sum_duplicates(),
        lambda: s.diags_array([other[0]], offsets=[0]), lambda: s.linalg.norm(a), lambda: s.linalg.norm(a, axis=0),
        lambda: s.linalg.norm(a, 1), lambda: s.linalg.cg(a @ a.T, other[0]), lambda: s.linalg.bicgstab(a, other[0]),
        lambda: s.linalg.minres(a + a.T, other[0]), lambda: s.linalg.gmres(a, other[0]),
    ):  # fmt: skip
        run()
