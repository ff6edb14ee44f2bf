"""Making matrices, their attributes, conversions and refusals."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import numloom as nl

_spec = importlib.util.spec_from_file_location("sparse_programs", Path(__file__).with_name("programs.py"))
programs = sys.modules.get("sparse_programs") or importlib.util.module_from_spec(_spec)
if "sparse_programs" not in sys.modules:
    sys.modules["sparse_programs"] = programs
    _spec.loader.exec_module(programs)
same, pair, messy, dense = programs.same, programs.pair, programs.messy, programs.dense

pytestmark = pytest.mark.usefixtures("way")


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", programs.FORMATS)
@pytest.mark.parametrize("dtype", programs.DTYPES)
def test_conversions(format: str, dtype: str, kind: str) -> None:
    for shape in programs.SHAPES:
        ours, theirs = pair(shape, dtype, format, kind)
        same(ours, theirs, exact=True)
        for other in programs.FORMATS:
            if other == "dia" and 0 in shape:
                continue
            same(ours.asformat(other), theirs.asformat(other))
        same(ours.T, theirs.T)
        same(ours.toarray(), theirs.toarray())
        same(nl.sparse.csr_array(nl.asarray(theirs.toarray())), scipy.sparse.csr_array(theirs.toarray()), exact=True)


@pytest.mark.parametrize("name", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
@pytest.mark.parametrize("dtype", ["?", "i8", "f4", "c16"])
def test_duplicates_in_any_order(name: str, dtype: str) -> None:
    for shape, count in (((4, 5), 30), ((1, 7), 5), ((10**6, 10**6), 20), ((3, 3), 0)):
        theirs = messy(shape, dtype, count, kind=name)
        ours = getattr(nl.sparse, name)(theirs)
        if shape[0] < 100:
            same(ours, theirs)
        for format in ("csr", "csc", "coo"):
            if shape[0] > 100 and format == "coo":
                continue
            a, b = ours.asformat(format), theirs.asformat(format)
            assert a.nnz == b.nnz and a.format == b.format
        a, b = ours.copy(), theirs.copy()
        a.sum_duplicates()
        b.sum_duplicates()
        assert a.nnz == b.nnz and a.has_canonical_format
        np.testing.assert_array_equal(a.data.get(), b.data)
        a.eliminate_zeros()
        b.eliminate_zeros()
        assert a.nnz == b.nnz
        if hasattr(b, "indptr"):
            np.testing.assert_array_equal(a.indptr.get(), b.indptr)
            np.testing.assert_array_equal(a.indices.get(), b.indices)
            a, b = ours.copy(), theirs.copy()
            assert a.has_sorted_indices == b.has_sorted_indices
            a.sort_indices()
            b.sort_indices()
            np.testing.assert_array_equal(a.indices.get(), b.indices)


@pytest.mark.parametrize("format", programs.FORMATS)
def test_parts_and_scipy(format: str) -> None:
    ours, theirs = pair((4, 6), "f8", format)
    assert scipy.sparse.issparse(ours.get()) and not scipy.sparse.issparse(ours)
    assert nl.sparse.issparse(ours) and nl.sparse.issparse(theirs) and not nl.sparse.issparse(np.ones(2))
    same(type(ours)(theirs), theirs, exact=True)
    same(type(ours)(ours), theirs, exact=True)
    same(type(ours)(ours, dtype="f4"), type(theirs)(theirs, dtype="f4"))
    same(pickle.loads(pickle.dumps(ours)), theirs, exact=True)
    same(copy.deepcopy(ours), theirs, exact=True)
    assert repr(ours).splitlines()[0].startswith(repr(theirs).splitlines()[0].split(" of ")[0])


@pytest.mark.parametrize("name", ["csr_array", "csc_array"])
def test_ours_as_parts(name: str) -> None:
    theirs = getattr(scipy.sparse, name)(dense((4, 6), "f4"))
    parts = nl.asarray(theirs.data), nl.asarray(theirs.indices), nl.asarray(theirs.indptr)
    ours = getattr(nl.sparse, name)(parts, shape=theirs.shape)
    same(ours, theirs, exact=True)
    parts[0][0] = 100  # shared, as SciPy shares
    assert float(ours.data[0]) == 100
    coo = theirs.tocoo()
    given = (nl.asarray(coo.data), (nl.asarray(coo.row), nl.asarray(coo.col)))
    same(getattr(nl.sparse, name)(given, shape=coo.shape), theirs)
    same(nl.sparse.coo_array(given, shape=coo.shape), coo)
    same(nl.sparse.coo_array(given), scipy.sparse.coo_array((coo.data, (coo.row, coo.col))))


BAD = {
    "a column out of range": (([1.0], [5], [0, 1]), (1, 3)),
    "a negative column": (([1.0], [-1], [0, 1]), (1, 3)),
    "pointers that fall": (([1.0, 2.0], [0, 1], [0, 2, 1, 2]), (3, 3)),
    "pointers that do not begin with 0": (([1.0, 2.0], [0, 1], [1, 1, 2]), (2, 3)),
    "too few pointers": (([1.0], [0], [0, 1]), (2, 3)),
    "lengths": (([1.0, 2.0], [0], [0, 1]), (1, 3)),
    "pointers beyond the end": (([1.0], [0], [0, 5]), (1, 3)),
    "two axes": (([[1.0]], [[0]], [0, 1]), (1, 3)),
}


@pytest.mark.parametrize("why", BAD)
@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("name", ["csr_array", "csr_matrix"])
def test_bad_parts_are_refused(why: str, ours: bool, name: str) -> None:
    parts, shape = BAD[why]
    made = tuple(map(nl.array if ours else np.array, parts))
    with pytest.raises(ValueError):
        getattr(scipy.sparse, name)(tuple(map(np.array, parts)), shape=shape).check_format()
    with pytest.raises(ValueError):
        getattr(nl.sparse, name)(made, shape=shape)


@pytest.mark.parametrize("ours", [False, True])
def test_bad_coordinates_are_refused(ours: bool) -> None:
    make = nl.array if ours else np.array
    for data, row, col, shape in (
        ([1.0], [3], [0], (3, 3)), ([1.0], [0], [-1], (3, 3)), ([1.0, 2.0], [0], [0], (3, 3)),
    ):  # fmt: skip
        for name in ("coo_array", "csr_array", "csc_matrix"):
            with pytest.raises(ValueError):
                getattr(nl.sparse, name)((make(data), (make(row), make(col))), shape=shape)
    with pytest.raises(ValueError):
        nl.sparse.csr_array((-1, 3))
    with pytest.raises(ValueError):
        nl.sparse.csr_array((make([1.0]), make([np.nan]), make([0, 1])), shape=(1, 3))


def test_more_axes() -> None:
    values = dense((2, 3, 4), "f8")
    ours, theirs = nl.sparse.coo_array(values), scipy.sparse.coo_array(values)
    same(ours, theirs, exact=True)
    same(ours.transpose((2, 0, 1)), theirs.transpose((2, 0, 1)))
    same(ours.reshape(6, 4), theirs.reshape(6, 4))
    same(ours.sum(axis=1), theirs.sum(axis=1))
    same(ours * 3, theirs * 3)
    vector = dense((7,), "f8")
    same(nl.sparse.coo_array(vector), scipy.sparse.coo_array(vector))
    same(nl.sparse.csr_array(vector) @ np.ones(7), scipy.sparse.csr_array(vector) @ np.ones(7))


def test_writing_the_numbers() -> None:
    ours, theirs = pair((4, 5), "f8", "csr")
    before = ours * 2
    ours.data[:] = 7
    theirs.data[:] = 7
    same(ours, theirs)
    assert not np.array_equal(before.toarray().get(), 2 * theirs.toarray())
    view = ours.T
    view.data[0] = 1
    assert float(ours.data[0]) == 1  # as in SciPy: the transpose shares


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_rows_are_as_scipys(format: str, kind: str) -> None:
    dense = np.array([[1.0, 0, 2], [0, 3, 0], [4, 5, 6]])
    rows = list(getattr(nl.sparse, f"{format}_{kind}")(nl.asarray(dense)))
    assert [row.toarray().reshape(-1).tolist() for row in rows] == dense.tolist()
    try:
        theirs = list(getattr(scipy.sparse, f"{format}_{kind}")(dense))
    except (TypeError, NotImplementedError):  # It has no rows of these formats: ours are those of csr.
        theirs = list(getattr(scipy.sparse, f"csr_{kind}")(dense))
    assert [(type(row).__name__, row.shape) for row in rows] == [(type(row).__name__, row.shape) for row in theirs]


@pytest.mark.parametrize("dtype", ["f2", "S3", "O", "M8[s]"])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_astype_refuses_what_no_sparse_array_has(format: str, dtype: str) -> None:
    a = getattr(nl.sparse, f"{format}_array")(nl.asarray(np.eye(3)))
    with pytest.raises(ValueError, match=f"{format}_array does not support dtype .*: use float32 or float64"):
        a.astype(dtype)
    if format == "dia":  # SciPy's can only not be read then.
        return
    with pytest.raises(ValueError, match="does not support dtype"):
        getattr(scipy.sparse, f"{format}_array")(np.eye(3)).astype(dtype)
