"""bfloat16 and float8 of ours in NumPy's hands, in other libraries' and in files: the numbers, in their dtype."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import numloom as nl
from numloom.base.dtypes import DTYPES, LOW
from numloom.testing import assert_array_equal

NAMES = [DTYPES[code].name for code in LOW]
low = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def as_by_default() -> Iterator[None]:
    """NumPy reads arrays on a GPU by itself, as it may where nobody says otherwise (tests do)."""
    with nl.config(host_copy="allow"):
        yield


def stored(dtype: Any, x: Any) -> Any:
    host = np.zeros(x.shape, dtype)
    host[...] = x
    return host


def in_pandas(x: Any, **options: Any) -> Any:
    return pytest.importorskip("pandas").Series(x, **options).to_numpy()


USES: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "asanyarray": np.asanyarray,
    "array": np.array,
    "array, a copy": lambda x: np.array(x, copy=True),
    "array, its dtype": lambda x: np.array(x, dtype=x.dtype),
    "array, float32": lambda x: np.array(x, dtype="f4"),
    "array, float64": lambda x: np.asarray(x, dtype=float),
    "array, objects": lambda x: np.array(x, dtype=object),
    "array, complex": lambda x: np.array(x, dtype=complex),
    "array, in F order": lambda x: np.array(x, order="F"),
    "array, two axes at least": lambda x: np.array(x, ndmin=3),
    "list of arrays": lambda x: np.array([x, x]),
    "no axes": lambda x: np.asarray(x[0, 1]),
    "no axes, float64": lambda x: np.asarray(x[0, 1], float),
    "a number and another": lambda x: np.array([x[0, 1], 1.5]),
    "no elements": lambda x: np.asarray(x[:0]),
    "turned": lambda x: np.asarray(x[::-1].T),
    "contiguous": lambda x: np.ascontiguousarray(x.T),
    "stored in float64": lambda x: stored("f8", x),
    "stored in float32": lambda x: stored("f4", x),
    "stored in int64": lambda x: stored("i8", x),
    "stored in its dtype": lambda x: stored(x.dtype, x),
    "stored in objects": lambda x: stored(object, x),
    "a number is stored": lambda x: stored("f8", x[0, 1]),
    "copyto": lambda x: (h := np.zeros(x.shape, x.dtype), np.copyto(h, x))[0],
    "out": lambda x: np.add(x, 1, out=np.zeros(x.shape, x.dtype)),
    "full": lambda x: np.full(x.shape, x, dtype=float),
    "where": lambda x: np.where(np.asarray(x) > 1, np.asarray(x), 0),
    "masked": lambda x: np.ma.array(x),
    "iterated": lambda x: [[float(v) for v in row] for row in x],
    "nditer": lambda x: [float(v) for v in np.nditer(x)],
    "fromiter": lambda x: np.fromiter(x.ravel(), float),
    "result_type": lambda x: np.zeros(1, np.result_type(x, np.float32(1))),
    "Series": lambda x: in_pandas(x.ravel()),
    "Series of float": lambda x: in_pandas(x.ravel(), dtype=float),
    "DataFrame": lambda x: pytest.importorskip("pandas").DataFrame({"a": x[0]}).to_numpy(),
    "array_equal": lambda x: np.array_equal(x, np.asarray(x)),
    "assert_array_equal": lambda x: np.testing.assert_array_equal(x, np.asarray(x).astype("f4")),
    "assert_allclose": lambda x: np.testing.assert_allclose(x, np.asarray(x).astype("f4")),
}  # fmt: skip


@low
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_numpy_and_others_make_of_it(name: str, use: Callable[[Any], Any]) -> None:
    # In float8_e4m3fn the bytes of 0.5 to 1.125 are the digits 0 to 9.
    host = np.array([[0.5, 1.0, 1.125], [0.75, 0.5, 2.0]]).astype(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = use(host), use(nl.asarray(host))
    if isinstance(want, np.ndarray):
        assert isinstance(got, (np.ndarray, nl.ndarray))
        assert got.dtype == want.dtype
    assert_array_equal(np.asarray(got), np.asarray(want))


@low
def test_the_memory_is_shared_where_it_can_be(name: str) -> None:
    x = nl.ones(3, name)
    seen = np.asarray(x)
    x[1] = 2
    assert seen.tolist() == [1, 2 if x.device == "cpu" else 1, 1]


@low
def test_the_wrong_values_fail_where_they_are_compared(name: str) -> None:
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(nl.ones(3, name), np.full(3, 2, name))


def of_file(save: Callable[[Any, Any], Any], x: Any, **options: Any) -> Any:
    file = io.BytesIO()
    save(file, x)
    file.seek(0)
    return nl.load(file, **options)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "parts": lambda x: x[::2, ::-1],
    "nothing": lambda x: x[:0],
    "no axes": lambda x: x[1, 1],
    "repeated": lambda x: nl.broadcast_to(x[0], (3, 3)) if isinstance(x, nl.ndarray) else np.broadcast_to(x[0], (3, 3)),
}


@low
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_files(name: str, layout: Callable[[Any], Any], tmp_path: Path) -> None:
    host = (np.arange(9.0).reshape(3, 3) / 4 - 1).astype(name)
    want = np.asarray(layout(host))
    x = layout(nl.asarray(host))
    assert_array_equal(of_file(nl.save, x), want, strict=True)
    for save in (nl.savez, nl.savez_compressed):
        with of_file(lambda file, y, save=save: save(file, y, other=y + 1), x) as archive:
            assert_array_equal(archive["arr_0"], want, strict=True)
            assert_array_equal(archive["other"], want + np.ones((), name), strict=True)
    assert_array_equal(nl.lib.format.read_array(_written(x)), want, strict=True)
    nl.save(tmp_path / "x.npy", x)
    seen = np.load(tmp_path / "x.npy")  # As the page of low precision says.
    assert seen.dtype.names == (name,)
    assert_array_equal(seen.view(name), want, strict=True)
    if want.size and want.ndim:
        mapped = nl.load(tmp_path / "x.npy", mmap_mode="r+")
        assert mapped.dtype == want.dtype
        assert_array_equal(mapped[:], want, strict=True)
        mapped[0] = 2
        mapped.flush()
        assert np.asarray(nl.load(tmp_path / "x.npy")[0]).astype(float).tolist() == [2] * want.shape[1]


def _written(x: Any) -> io.BytesIO:
    file = io.BytesIO()
    nl.lib.format.write_array(file, x)
    file.seek(0)
    assert nl.lib.format.read_magic(file) == (1, 0)
    file.seek(0)
    return file


@low
def test_a_new_mapped_file(name: str, tmp_path: Path) -> None:
    made = nl.lib.format.open_memmap(tmp_path / "x.npy", "w+", name, (2, 2))
    made[:] = nl.asarray([[1, 2], [3, 0.5]])
    made.flush()
    assert_array_equal(nl.load(tmp_path / "x.npy"), np.array([[1, 2], [3, 0.5]]).astype(name), strict=True)


def test_what_numpy_wrote_is_refused_with_the_cure() -> None:
    file = io.BytesIO()
    np.save(file, np.ones(2, ml_dtypes.bfloat16))
    file.seek(0)
    with pytest.raises(TypeError, match=r"x\.view\(ml_dtypes\.bfloat16\)"):
        nl.load(file)


BASE = np.arange(24.0).reshape(2, 3, 4)
LYING: dict[str, Callable[[Any, Any], Any]] = {
    "C": lambda xp, x: x,
    "F": lambda xp, x: x.T,
    "axes": lambda xp, x: x.transpose(2, 0, 1),
    "steps": lambda xp, x: x[:, ::2, ::3],
    "steps, turned": lambda xp, x: x[:, ::2, ::3].T,
    "backwards": lambda xp, x: x[::-1],
    "backwards, turned": lambda xp, x: x.T[::-1],
    "repeated": lambda xp, x: xp.broadcast_to(x[0, 0], (3, 4)),
    "repeated column": lambda xp, x: xp.broadcast_to(x[0, 0, :, None], (4, 4)),
    "repeated twice": lambda xp, x: xp.broadcast_to(x[0, 0], (2, 5, 4)),
    "no elements": lambda xp, x: x[:0],
    "no elements, turned": lambda xp, x: x[:0].T,
    "one element": lambda xp, x: x[:1, :1, :1],
    "a column": lambda xp, x: x[0, :, 1],
    "a column of two axes": lambda xp, x: x[0, :, 1:2],
    "no axes": lambda xp, x: x[1, 1, 1],
}


@pytest.mark.parametrize("lying", LYING.values(), ids=LYING)
def test_files_are_numpys_to_the_byte(lying: Callable[[Any, Any], Any]) -> None:
    ours, theirs = io.BytesIO(), io.BytesIO()
    nl.save(ours, lying(nl, nl.asarray(BASE)))
    np.save(theirs, lying(np, BASE))
    assert ours.getvalue() == theirs.getvalue()
