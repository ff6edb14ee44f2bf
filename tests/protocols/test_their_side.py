"""Programs in which another library's array, table or graph stands on the left, and ours is what it reads."""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl

Make = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def as_by_default() -> Iterator[None]:
    """NumPy reads arrays on a GPU by itself, as it may where nobody says otherwise (tests do)."""
    with nl.config(host_copy="allow"):
        yield


H = np.array([3.0, 1.0, 2.0])
MASK = np.array([True, False, True])


def into(change: Callable[[Any, Any, Make], Any], shape: Any = 3, dtype: Any = float) -> Callable[[Make], Any]:
    """What a store leaves in an array of NumPy's."""

    def run(of: Make) -> Any:
        host = np.zeros(shape, dtype)
        found = change(host, of(H), of)
        assert found is None or found is host, "the array that was stored into is another one"
        return host

    return run


STORES = {
    "+=": into(lambda a, x, of: operator.iadd(a, x)),
    "-= of a row": into(lambda a, x, of: (operator.isub(a[1], x), None)[1], (2, 3)),
    "+= of a column": into(lambda a, x, of: (operator.iadd(a[:, 1], x[:2]), None)[1], (2, 3)),
    "@=": into(lambda a, x, of: operator.imatmul(a, x * np.ones((3, 1))), (3, 3)),
    "<<=": into(lambda a, x, of: operator.ilshift(a, of(np.array([1, 2, 3]))), dtype=int),
    "objects": into(lambda a, x, of: operator.iadd(a, x), dtype=object),
    "out, unsafe": into(lambda a, x, of: np.add(a, x, out=a, casting="unsafe"), dtype=int),
    "where": into(lambda a, x, of: np.maximum(H, 2, out=a, where=of(MASK))),
    "at": into(lambda a, x, of: np.add.at(a, of(np.array([0, 2, 0])), x)),
    "reduce": into(lambda a, x, of: np.add.reduce(x, out=a), ()),
    "sum": into(lambda a, x, of: np.sum(x, out=a), ()),
    "two results": into(lambda a, x, of: np.modf(x / 2, out=(None, a))[1]),
    "copyto": into(lambda a, x, of: np.copyto(a, x, where=of(MASK))),
    "put": into(lambda a, x, of: np.put(a, of(np.array([0, 2])), x)),
    "place": into(lambda a, x, of: np.place(a, of(MASK), x)),
    "putmask": into(lambda a, x, of: np.putmask(a, of(MASK), x)),
    "fill_diagonal": into(lambda a, x, of: np.fill_diagonal(a, x), (3, 3)),
    "put_along_axis": into(lambda a, x, of: np.put_along_axis(a, of(np.array([0, 2])), x[:2], 0)),
    "concatenate": into(lambda a, x, of: np.concatenate([x, x], out=a), 6),
    "clip": into(lambda a, x, of: np.clip(x, 1, 2, out=a)),
    "full": lambda of: np.full(3, of(H).min(), dtype=float),
    "full of another dtype": lambda of: np.full((2, 3), of(H), dtype=np.float32),
    "full_like": lambda of: np.full_like(H, of(H).sum()),
    "histogram": lambda of: np.histogram(H, range=(of(H).min(), of(H).max()))[0],
    "histogram of ours": lambda of: np.histogram(of(H), range=(of(H).min(), of(H).max()))[0],
}  # fmt: skip


@pytest.mark.parametrize("name", STORES)
def test_numpys_arrays_are_stored_into(name: str) -> None:
    wanted, found = STORES[name](np.asarray), STORES[name](nl.asarray)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(nl.asnumpy(found), wanted)


def test_what_numpy_refuses_to_store_is_refused() -> None:
    whole = np.zeros(3, int)
    for store in (lambda: operator.iadd(whole, nl.asarray(H)), lambda: np.copyto(whole, nl.asarray(H))):
        with pytest.raises(TypeError, match="same_kind"):
            store()
    with pytest.raises(ValueError, match="broadcast"):
        operator.iadd(np.zeros(2), nl.asarray(H))
    with pytest.raises(TypeError):  # Two memories.
        np.modf(nl.asarray(H), out=(nl.empty(3), np.empty(3)))


TABLES = [
    "df + X", "X + df", "df.add(X)", "df.radd(X)", "df.eq(X)", "df == X", "(df > 1) & (X > 2)", "df + x2", "df @ X.T",
    "df.add(x, axis=0)", "df.dot(X.T)", "s.dot(x)", "s + x", "x - s", "s * n", "df.at[k, 'a']", "df.iat[k, 0]",
    "s.at[k]", "s.iat[k]", "df.loc[k, 'a']", "k in pd.RangeIndex(3)", "k in pd.RangeIndex(2)", "k in s",
    "k in pd.Index([0, 2])",
    "n in pd.Index([8.0])", "k in pd.CategoricalIndex([2])", "k in pd.IntervalIndex.from_breaks([0, 2, 4])",
    "(k, 'a') in pd.MultiIndex.from_tuples([(2, 'a')])", "pd.RangeIndex(3).get_loc(k)", "pd.Index([0, 2]).get_loc(k)",
    "pd.MultiIndex.from_tuples([(2, 'a')]).get_loc((k, 'a'))", "pd.Series(n, index=[1, 2])", "df.set_index(x)",
    "pd.DataFrame(n, index=[0], columns=['a'])",
]  # fmt: skip


@pytest.mark.parametrize("program", TABLES)
def test_pandas(program: str) -> None:
    pd = pytest.importorskip("pandas")

    def run(of: Make) -> Any:
        table = pd.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 6]})
        given = {"X": of(np.arange(6.0).reshape(3, 2)), "x": of(np.array([1.0, 2, 5])), "x2": of(np.array([1.0, 2]))}
        given |= {"k": of(np.array([3, 9, 2])).argmin(), "n": given["x"].sum(), "df": table, "s": table["a"], "pd": pd}
        return eval(program, given)

    wanted, found = run(np.asarray), run(nl.asarray)
    if isinstance(wanted, pd.DataFrame):
        pd.testing.assert_frame_equal(found, wanted)
    elif isinstance(wanted, pd.Series):
        pd.testing.assert_series_equal(found, wanted)
    else:
        assert found == wanted


def test_pandas_stores_numbers() -> None:
    pd = pytest.importorskip("pandas")

    def run(of: Make) -> Any:
        x = of(np.array([1.0, 2, 5]))
        table, row = pd.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 6]}), pd.Series([1.0, 2, 3])
        table.at[x.argmax(), "a"] = x.sum()
        table.iat[x.argmin(), 1] = x.max()
        table += of(np.ones((3, 2)))
        row[x.argmax()] = x.sum()
        row.at[1] = x.max()
        row += x
        return table, row

    (table, row), (wanted_table, wanted_row) = run(nl.asarray), run(np.asarray)
    pd.testing.assert_frame_equal(table, wanted_table)
    pd.testing.assert_series_equal(row, wanted_row)


def test_sqlite_stores_numbers() -> None:
    x = nl.asarray(H)
    table = sqlite3.connect(":memory:")
    table.execute("create table t (a)")
    for value in (x.min(), (x * 2).sum(), x.argmax(), (x > 1).any(), x[1], x):
        table.execute("insert into t values (?)", (value,))
    found = table.execute("select a from t").fetchall()
    assert [one for (one,) in found] == [1.0, 12.0, 0, 1, 1.0, H.tobytes()]
    assert [type(one) for (one,) in found[:4]] == [float, float, int, int]
    with pytest.raises(sqlite3.Error, match="complex"):
        table.execute("insert into t values (?)", ((x * 1j).sum(),))


def test_networkx_reads_matrices() -> None:
    nx = pytest.importorskip("networkx")
    matrix = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph):
        assert sorted(kind(nl.asarray(matrix)).edges) == sorted(kind(matrix).edges)
    assert nx.to_networkx_graph(nl.asarray(matrix)).number_of_edges() == 3


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "lil", "dok", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_scipys_sparse_arrays_are_operands(form: str, kind: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    s = getattr(sparse, f"{form}_{kind}")(np.array([[1.0, 0, 2], [0, 0, 3], [4, 0, 0]]))
    for program in ("x @ s", "s @ x", "X @ s", "s @ X", "X + s", "s + X", "X - s", "s - X", "n * s", "s * n"):
        given = {"x": H, "X": np.arange(9.0).reshape(3, 3), "n": H.sum(), "s": s}
        ours = {name: nl.asarray(value) if name in "xX" else value for name, value in given.items()}
        wanted, found = eval(program, given), eval(program, {**ours, "n": ours["x"].sum()})
        dense = [one.toarray() if sparse.issparse(one) else np.asarray(one) for one in (wanted, found)]
        np.testing.assert_array_equal(*dense)


# ---------------------------------------------------------------- what stands on the right of an operator in place

VALUES = [1.5, 2.0, 3.0]


def _operands() -> dict[str, Callable[[], Any]]:
    import fractions

    pandas, dask = pytest.importorskip("pandas"), pytest.importorskip("dask.array")
    scipy = pytest.importorskip("scipy.sparse")
    return {
        "series": lambda: pandas.Series(VALUES),
        "index": lambda: pandas.Index(VALUES),
        "frame": lambda: pandas.DataFrame({"a": VALUES}),
        "dask": lambda: dask.from_array(np.array(VALUES)),
        "fraction": lambda: fractions.Fraction(1, 2),
        "our sparse": lambda: nl.sparse.csr_array(np.diag(VALUES)),
        "sparse": lambda: scipy.csr_array(np.diag(VALUES)),
        "text": lambda: "a",
        "iterator": lambda: iter(VALUES),
    }


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ipow", "imatmul"])
@pytest.mark.parametrize(
    "other", ["series", "index", "frame", "dask", "fraction", "our sparse", "sparse", "text", "iterator"]
)
def test_operators_in_place_write_ours_or_refuse(other: str, name: str) -> None:
    """Our memory holds what NumPy's would: never the old values beside a new array under the same name."""
    make, found = _operands()[other], []
    shape = (3, 3) if "sparse" in other or other == "frame" else 3
    for of in (np.array, nl.array):
        x = of(np.full(shape, 4.0))
        whole = x[:]
        try:
            result: Any = getattr(operator, name)(x, make())
        except Exception as error:
            result = error
        is_written = isinstance(result, Exception) or result is x
        kind = "error" if isinstance(result, Exception) else "same" if is_written else "other"
        found.append((kind, nl.asnumpy(whole).tolist()))
    if found[0][0] == "error":  # NumPy may have written before.
        found[0] = "error", np.full(shape, 4.0).tolist()
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "other", [None, "a", b"abc", range(3), {1, 2}, object()], ids=lambda other: type(other).__name__
)
def test_what_is_no_operand_is_refused_in_place_with_a_cure(other: Any) -> None:
    x = nl.ones(3)
    with pytest.raises(TypeError, match=f"'{type(other).__name__}' in place: operands are"):
        x += other
    assert x.tolist() == [1, 1, 1]
    if isinstance(other, range):
        x += nl.asarray(other)
        assert x.tolist() == [1, 2, 3]
