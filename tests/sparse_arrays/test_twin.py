"""SciPy's matrix that is kept beside one of ours: it holds what the memory of ours holds, whoever writes there."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import numloom as nl
from numloom.array.ndarray import ndarray
from numloom.device.registry import current
from numloom.sparse import host
from numloom.sparse.where import forced

pytestmark = [
    pytest.mark.filterwarnings("ignore::Warning"),
    pytest.mark.skipif(current().discrete, reason="a twin is kept where parts are the host's"),
]

FORMATS = ("csr", "csc", "coo", "dia", "bsr")
SIZES = (6, 60)
"""Rows; the parts of the larger one lie in memory that SciPy made."""
needs_twin = pytest.mark.skipif(host._twin is None or nl.config.verify, reason="not compiled, or done in full")


def theirs_of(a: Any) -> Any:
    """SciPy's matrix of copies of the parts of ours, whose twin it leaves alone."""
    kind = getattr(scipy.sparse, type(a).__name__)
    parts = [np.array(part.get()) for part in a._parts]
    return kind((parts[0], tuple(parts[1:])) if a.format == "coo" else tuple(parts), shape=a.shape)


def made(format: str, n: int = 6, kind: str = "array", seed: int = 0, dtype: str = "f8") -> Any:
    """A matrix of ours in a format, that nobody has used."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, n)) < 0.4, rng.integers(1, 9, (n, n)), 0).astype(dtype)
    dense[0, 0] = 5
    options = {"blocksize": (2, 2)} if format == "bsr" else {}
    return getattr(nl.sparse, f"{format}_{kind}")(getattr(scipy.sparse, f"{format}_{kind}")(dense, **options))


VECTOR = np.arange(1.0, 301)
WORK: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "a @ v": lambda a, to: a @ to(VECTOR[: a.shape[1]]),
    "v @ a": lambda a, to: to(VECTOR[: a.shape[0]]) @ a,
    "a.T @ v": lambda a, to: a.T @ to(VECTOR[: a.shape[0]]),
    "a @ columns": lambda a, to: a @ to(np.outer(VECTOR[: a.shape[1]], [1.0, 3.0])),
    "a.dot(v)": lambda a, to: a.dot(to(VECTOR[: a.shape[1]])),
    "a @ a.T": lambda a, to: a @ a.T,
    "a + a": lambda a, to: a + a,
    "sum": lambda a, to: a.sum(),
    "sum of columns": lambda a, to: a.sum(axis=0),
    "sum of rows": lambda a, to: a.sum(axis=1),
    "mean": lambda a, to: a.mean(),
    "mean of rows": lambda a, to: a.mean(axis=1),
    "max": lambda a, to: a.max() if a.format != "dia" else a.tocsr().max(),
    "min of columns": lambda a, to: a.min(axis=0) if a.format != "dia" else a.tocsr().min(axis=0),
    "argmax": lambda a, to: a.tocsr().argmax(axis=1),
    "diagonal": lambda a, to: a.diagonal(),
    "trace": lambda a, to: a.trace(),
    "multiply": lambda a, to: a.multiply(to(VECTOR[: a.shape[1]])),
    "multiply dense": lambda a, to: a.multiply(to(np.ones(a.shape))),
    "multiply sparse": lambda a, to: a.multiply(a),
    "twice": lambda a, to: a * 2.0,
    "toarray": lambda a, to: a.toarray(),
    "nonzero": lambda a, to: a.nonzero(),
    "count": lambda a, to: a.count_nonzero(),
    "tocsr": lambda a, to: a.tocsr(),
    "tocoo": lambda a, to: a.tocoo(),
    "maximum": lambda a, to: a.maximum(a.T),
    "an element": lambda a, to: a.tocsr()[0, 0],
    "a row": lambda a, to: a.tocsr()[1:3],
}


def plain(x: Any) -> Any:
    """What a result is, in words and NumPy's arrays."""
    if isinstance(x, tuple):
        return [plain(each) for each in x]
    if hasattr(x, "toarray"):
        return (
            x.format,
            x.shape,
            str(x.dtype),
            np.asarray(x.toarray() if scipy.sparse.issparse(x) else x.toarray().get()),
        )
    x = x.get() if type(x) is ndarray else np.asarray(x)
    return x.shape, str(x.dtype), np.asarray(x)


def agree(a: Any, *names: str) -> None:
    """Work with a matrix gives what SciPy gives with its parts as they are."""
    for name in names or WORK:
        if type(a).__name__ == "bsr_matrix" and name in ("sum", "mean"):
            continue  # Which SciPy refuses.
        ours = plain(WORK[name](a, nl.asarray))
        theirs = plain(WORK[name](theirs_of(a), np.array))
        assert repr(ours) == repr(theirs), name
        np.testing.assert_equal(ours, theirs, name)


def shares(a: Any) -> bool:
    """Whether the twin's numbers lie in the memory of the parts."""
    return bool(np.shares_memory(a._twin.matrix.data, np.asarray(a._parts[0])))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", FORMATS)
def test_work_is_scipys(format: str, kind: str, n: int) -> None:
    a = made(format, n, kind)
    for _ in range(2):
        agree(a)


@needs_twin
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("format", FORMATS)
def test_a_twin_is_kept_and_copies_nothing(format: str, n: int) -> None:
    a = made(format, n)
    a @ nl.ones(n)
    twin = a._twin
    assert twin is not None
    assert shares(a)
    a.sum(), a.T @ nl.ones(n), a.diagonal()
    assert a._twin is twin


@needs_twin
def test_results_have_twins() -> None:
    a = made("csr", 60)
    found = a @ a
    assert found._twin is not None
    assert shares(found)
    agree(found)


def dense_values(part: Any) -> np.ndarray[Any, Any]:
    return (np.arange(part.size).reshape(part.shape) % 7 + 1).astype(part.dtype)


def whole(part: Any) -> None:
    part[...] = nl.asarray(dense_values(part))


def pending(part: Any) -> None:
    part[...] = nl.asarray(dense_values(part)) * 2 + 1


def element(part: Any) -> None:
    part[(0,) * part.ndim] = 11


def elements(part: Any) -> None:
    for k in range(part.shape[0]):
        part[(k,) + (0,) * (part.ndim - 1)] = k + 2


def cut(part: Any) -> None:
    part[1:3] = 4


def in_place(part: Any) -> None:
    part *= 3
    part += 1


def at_places(part: Any) -> None:
    part[nl.asarray([0, 2])] = 9


def masked(part: Any) -> None:
    part[part > 4] = 2


def scattered(part: Any) -> None:
    nl.add.at(part, nl.asarray([1, 1, 2]), 5)


def into(part: Any) -> None:
    nl.multiply(part, 2, out=part)


def sorted_in_place(part: Any) -> None:
    part.sort(axis=0)


def filled(part: Any) -> None:
    part.fill(6)


def a_view(part: Any) -> None:
    part.reshape(-1)[::2] = 8


def lent_by_asarray(part: Any) -> None:
    np.asarray(part)[...] = dense_values(part)


def lent_by_dlpack(part: Any) -> None:
    np.from_dlpack(part)[...] = dense_values(part) + 1


def lent_by_interface(part: Any) -> None:
    described = part.__array_interface__
    np.asarray(type("Lent", (), {"__array_interface__": described})())[...] = 3


WRITES = (
    whole, pending, element, elements, cut, in_place, at_places, masked, scattered, into, sorted_in_place, filled,
    a_view, lent_by_asarray, lent_by_dlpack, lent_by_interface,
)  # fmt: skip


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("before", [False, True], ids=["data taken after", "data taken before"])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("format", FORMATS)
def test_numbers_that_are_written(format: str, write: Callable[[Any], None], before: bool, n: int) -> None:
    a = made(format, n)
    data = a.data if before else None
    turned = a.T
    agree(a, "a @ v", "sum", "a.T @ v", "a + a", "max")
    agree(turned, "a @ v")
    write(a.data if data is None else data)
    agree(a, "a @ v", "sum", "a.T @ v", "a + a", "max", "toarray")
    if format in ("csr", "csc"):  # Which share their parts.
        assert np.array_equal((turned @ nl.ones(n)).get(), theirs_of(a).T @ np.ones(n))
    write(a.data if data is None else data)
    agree(a)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("lend", [np.asarray, np.from_dlpack])
@pytest.mark.parametrize("format", FORMATS)
def test_memory_that_stays_lent(format: str, lend: Callable[[Any], Any], before: bool, n: int) -> None:
    a = made(format, n)
    if before:
        agree(a, "a @ v")
    seen = lend(a.data)
    for number in range(3):
        agree(a, "a @ v", "sum")
        seen[...] = dense_values(a.data) + number
        agree(a, "a @ v", "sum", "a.T @ v")
        seen[(0,) * seen.ndim] = 40 + number
        agree(a, "a @ v", "sum", "max")
    a._parts[0][...] = nl.asarray(dense_values(a._parts[0])) * 5
    agree(a, "a @ v", "sum")
    del seen
    gc.collect()
    a.data[...] = nl.asarray(dense_values(a.data)) * 6
    agree(a)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_places_that_are_written(format: str, before: bool, n: int) -> None:
    """Where numbers stand is turned round within the matrix; what SciPy knows of the order stays, as of its own."""
    a = made(format, n)
    taken = a._parts[1] if before else None
    agree(a, "a @ v", "toarray", "a @ columns")
    places = (a.indices if format != "coo" else a.coords[0]) if taken is None else taken
    places[...] = n - 1 - nl.asarray(places.get())
    agree(a, "a @ v", "toarray", "a @ columns", "a.T @ v", "diagonal")
    np.asarray(places)[...] = n - 1 - np.array(places.get())
    agree(a, "a @ v", "toarray", "a @ columns", "a.T @ v", "diagonal")


def test_parts_that_are_put_in() -> None:
    a = made("csr")
    agree(a, "a @ v", "sum")
    a.data = nl.asarray(dense_values(a.data))
    agree(a, "a @ v", "sum")
    a.indices = nl.asarray(a.indices.get()[::-1].copy())
    agree(a, "a @ v", "a @ columns", "sum")
    coo = made("coo")
    agree(coo, "a @ v", "sum")
    coo.row, coo.col = coo.col, coo.row
    agree(coo, "a @ v", "sum", "sum of rows", "toarray")
    coo.coords = coo.coords[::-1]
    agree(coo)
    dia = made("dia")
    agree(dia, "a @ v", "sum")
    dia.offsets = nl.asarray(-dia.offsets.get())
    agree(dia, "a @ v", "sum", "toarray")


CHANGES: dict[str, Callable[[Any], Any]] = {
    "*=": lambda a: a.__imul__(3.0),
    "/=": lambda a: a.__itruediv__(4.0),
    "setdiag": lambda a: a.setdiag(a.diagonal() + 7) if a.format != "bsr" else None,
    "assigned": lambda a: a.__setitem__((1, 1), 6) if hasattr(a, "indptr") and a.format != "bsr" else None,
    "rows assigned": lambda a: a.__setitem__(slice(0, 2), 2.0) if a.format in ("csr", "csc") else None,
    "eliminated": lambda a: a.eliminate_zeros() if a.format != "dia" else None,
    "summed": lambda a: a.sum_duplicates(),
    "sorted": lambda a: a.sort_indices() if hasattr(a, "indptr") else None,
    "resized": lambda a: a.resize(*((8, 4) if a.format != "bsr" else (8, 6))),
    "flag": lambda a: setattr(a, "has_canonical_format", False) if a.format in ("csr", "csc", "coo") else None,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("format", FORMATS)
def test_changes(format: str, change: str) -> None:
    a = made(format)
    agree(a, "a @ v", "sum", "a + a", "max")
    CHANGES[change](a)
    agree(a, "a @ v", "sum", "v @ a", "toarray", "a + a", "max", "sum of rows")


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_duplicates_and_order_stay_as_they_are(format: str) -> None:
    """SciPy brings some matrices in order for its work: not the memory of ours, which recorded work may have read."""
    data, i, j = np.array([1.0, 2, 4, 8, 16]), np.array([2, 0, 2, 1, 0]), np.array([1, 2, 1, 0, 0])
    if format == "coo":
        a = nl.sparse.coo_array((data, (i, j)), shape=(3, 3))
    else:
        a = getattr(nl.sparse, f"{format}_array")((data, [2, 0, 1, 1, 0], [0, 2, 4, 5]), shape=(3, 3))
    was = [part.get() for part in a._parts]
    for name in WORK:
        agree(a, name)
        for part, before in zip(a._parts, was, strict=True):
            assert np.array_equal(part.get(), before), name
    a.sum_duplicates()
    agree(a)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("format", FORMATS)
def test_pending_numbers(format: str, n: int) -> None:
    a = made(format, n) * 2.0
    agree(-a, "a @ v")
    b = a * 0.5
    agree(b.T if format in ("csr", "csc") else b)
    b.data[...] = b.data * 3 + a.data
    agree(b)
    agree(a)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", ["tocsr", "tocoo", "maximum", "a + a", "a row", "a @ a.T", "multiply sparse"])
@pytest.mark.parametrize("format", FORMATS)
def test_results_share_no_memory(format: str, name: str, n: int) -> None:
    a = made(format, n)
    agree(a, "a @ v")
    found = WORK[name](a, nl.asarray)
    if found is a:
        return
    agree(found, "a @ v" if found.shape[0] == n else "sum", "max" if found.format != "dia" else "sum")
    before = [part.get() for part in a._parts]
    found.data[...] = 77
    for part in found._parts[1:]:
        part[...] = 0
    for part, was in zip(a._parts, before, strict=True):
        assert np.array_equal(part.get(), was)
    agree(a)


@pytest.mark.parametrize("n", [6, 300])
def test_dense_results_are_written_apart(n: int) -> None:
    a = made("csr", n)
    found = [a @ nl.ones(n), a.toarray(), a.sum(axis=0), a.diagonal(), (nl.ones((2, n)) @ a), a @ np.ones((n, 3))]
    kept = [x.get() for x in found]
    for x in found:
        x += 1
    for x, was in zip(found, kept, strict=True):
        assert np.array_equal(x.get(), was + 1)
    agree(a)


def test_parts_that_were_given_are_shared() -> None:
    data, indices, indptr = nl.asarray([1.0, 2, 3]), nl.asarray([0, 1, 1]), nl.asarray([0, 2, 3])
    a = nl.sparse.csr_array((data, indices, indptr), shape=(2, 2))
    agree(a, "a @ v", "sum")
    data[0] = 50
    assert a.data[0] == 50
    agree(a, "a @ v", "sum", "a + a")
    data *= 2
    agree(a)


def test_a_part_gets_another_form() -> None:
    a = made("csr")
    data = a.data
    agree(a, "a @ v")
    data.shape = (1, data.size)
    data.shape = (data.size,)
    agree(a)


def test_matrices_of_other_shapes() -> None:
    a = nl.sparse.csr_matrix(np.arange(12.0).reshape(3, 4))
    agree(a, "a @ v", "toarray", "sum of rows")
    a.shape = (4, 3)
    agree(a, "a @ v", "toarray", "sum of rows")
    b = a.T.T.T
    agree(b, "a @ v", "toarray", "sum of rows")
    for _ in range(2000):  # No chain of matrices is kept.
        b = b.T
    agree(b, "a @ v")


def test_axes_other_than_two() -> None:
    row = nl.sparse.coo_array(np.array([0.0, 3, 0, 4]))
    theirs = scipy.sparse.coo_array(np.array([0.0, 3, 0, 4]))
    assert (row @ nl.arange(4.0)) == (theirs @ np.arange(4.0))
    assert row.sum() == 7
    unsorted = nl.sparse.coo_array((nl.asarray([1.0, 2, 3]), (nl.asarray([2, 0, 2]),)), shape=(4,))
    before = [part.get() for part in unsorted._parts]
    assert unsorted.tocsr().toarray().tolist() == [2, 0, 4, 0]
    assert unsorted.toarray().tolist() == [2, 0, 4, 0]
    assert unsorted.max() == 4
    for part, was in zip(unsorted._parts, before, strict=True):
        assert np.array_equal(part.get(), was)
    cube = nl.sparse.coo_array(np.arange(24.0).reshape(2, 3, 4))
    assert cube.sum(axis=2).tolist() == np.arange(24.0).reshape(2, 3, 4).sum(axis=2).tolist()


@pytest.mark.parametrize("format", [*FORMATS, "lil", "dok"])
def test_errors_are_those_of_the_full_way(format: str) -> None:
    a = nl.sparse.csr_array(made("csr")).asformat(format)
    said = []
    for way in (None, False):
        with forced(way):
            words = []
            for work in (
                lambda: a @ nl.ones(7),
                lambda: a.sum(axis=5),
                lambda: a.reshape(5, 5),
                lambda: a @ nl.ones((5, 2)),
            ):
                with pytest.raises(Exception) as caught:
                    work()
                words.append((type(caught.value), str(caught.value)))
            said.append(words)
    assert said[0] == said[1]


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("format", FORMATS)
def test_both_ways_agree_to_the_bit(format: str, dtype: str) -> None:
    for n in SIZES:
        a = made(format, n, dtype=dtype)
        for name, work in WORK.items():
            if name in ("max", "min of columns", "argmax", "maximum") and dtype[0] == "c":
                continue
            told = []
            for way in (None, False):
                with forced(way), warnings.catch_warnings():
                    found = work(a, nl.asarray)
                    told.append(
                        (type(found), getattr(found, "is_scalar", None), getattr(found, "strides", None), plain(found))
                    )
            assert repr(told[0]) == repr(told[1]), name
            np.testing.assert_equal(told[0][3], told[1][3], name)


@needs_twin
def test_numbers_are_written_fast_again() -> None:
    """Who asks for the data gets them without a twin, which would hold their memory."""
    a = made("csr", 60)
    a @ nl.ones(60)
    assert a._twin is not None
    assert a.nnz
    assert a.dtype == "f8"
    assert a._twin is not None
    a.data[3] = 5
    assert a._twin is None


def test_large_matrices_keep_none() -> None:
    n = 1 << 18
    a = nl.sparse.dia_array((nl.ones((1, n)), [0]), shape=(n, n))
    assert (a @ nl.ones(n)).sum() == n
    assert a._twin is None


def test_threads() -> None:
    """Coordinates that SciPy brings in order for one thread while another multiplies."""
    rng = np.random.default_rng(0)
    i, j, x = rng.integers(0, 50, 3000), rng.integers(0, 50, 3000), rng.integers(0, 9, 3000).astype(float)
    a = nl.sparse.coo_array((x, (i, j)), shape=(50, 50))
    theirs = scipy.sparse.coo_array((x, (i, j)), shape=(50, 50))
    want, most = theirs @ np.ones(50), theirs.tocsr().max()
    wrong = []

    def work(number: int) -> None:
        for _ in range(200):
            if number % 2 and a.max() != most:
                wrong.append("max")
            if not np.array_equal((a @ nl.ones(50)).get(), want):
                wrong.append("product")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_random_writes() -> None:
    """Random work and random writes, by turns."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        a = made(str(rng.choice(FORMATS)), int(rng.choice(SIZES)), seed=seed)
        held = [a._parts[0]]
        for _ in range(8):
            step = int(rng.integers(5))
            if step == 0:
                rng.choice(WRITES)(held[-1])  # type: ignore[arg-type]
            elif step == 1:
                rng.choice(WRITES)(a.data)  # type: ignore[arg-type]
            elif step == 2:
                CHANGES[str(rng.choice(["*=", "/=", "setdiag", "summed"]))](a)
                held.append(a._parts[0])
            elif step == 3:
                held.append(np.asarray(a._parts[0]))
                held.append(a._parts[0])
            agree(a, *map(str, rng.choice(["a @ v", "sum", "a.T @ v", "a + a", "max", "toarray", "a @ a.T"], 2)))


def test_nothing_is_kept_beside_a_gpu() -> None:
    from apart import stand_in

    if nl.config.device == "cuda":
        pytest.skip("there is one")
    with stand_in():
        a = nl.sparse.csr_array(np.eye(5) * 2)
        assert (a @ nl.ones(5)).tolist() == [2.0] * 5
        assert a.sum() == 10
        assert a._twin is None


def test_axes_counted_from_the_end() -> None:
    dense = np.arange(24.0).reshape(2, 3, 4)
    cube = nl.sparse.coo_array(dense)
    assert np.array_equal(cube.transpose((0, -1, -2)).toarray().get(), dense.transpose(0, 2, 1))
    assert np.array_equal(cube.transpose((-1, 0, 1)).toarray().get(), dense.transpose(2, 0, 1))
