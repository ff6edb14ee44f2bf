"""Bytes of the other order are read as NumPy reads them; nothing is made, cast to or seen in a dtype of that order."""

from __future__ import annotations

import io
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.device.registry import current
from numloom.testing import assert_array_equal

OTHER = np.dtype("i4").newbyteorder()
REAL = np.dtype("f8").newbyteorder()
WIDE = [char for char in "hHiIqQefdFD"]
RAW = bytes(range(1, 65))


def other(char: str) -> np.dtype[Any]:
    return np.dtype(char).newbyteorder()


def square(xp: Any) -> Any:
    return xp.asarray(np.arange(4.0).reshape(2, 2))


def whole(xp: Any) -> Any:
    return xp.asarray(np.arange(4, dtype="i4"))


ASKED: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda xp: xp.zeros(3, OTHER),
    "ones": lambda xp: xp.ones(3, OTHER),
    "empty": lambda xp: xp.empty(0, OTHER),
    "empty by text": lambda xp: xp.empty(0, OTHER.str),
    "full": lambda xp: xp.full(3, 5, OTHER),
    "zeros_like": lambda xp: xp.zeros_like(square(xp), OTHER),
    "ones_like": lambda xp: xp.ones_like(square(xp), OTHER),
    "empty_like": lambda xp: xp.empty_like(square(xp)[:0], OTHER),
    "full_like": lambda xp: xp.full_like(square(xp), 7, OTHER),
    "array of a list": lambda xp: xp.array([1, 2], OTHER),
    "array of an array": lambda xp: xp.array(whole(xp), OTHER),
    "asarray of numbers": lambda xp: xp.asarray(5, OTHER),
    "asarray of such": lambda xp: xp.asarray(np.arange(3).astype(OTHER), OTHER),
    "asanyarray": lambda xp: xp.asanyarray([1], OTHER),
    "ascontiguousarray": lambda xp: xp.ascontiguousarray([1], OTHER),
    "asfortranarray": lambda xp: xp.asfortranarray([1], OTHER),
    "require": lambda xp: xp.require([1], OTHER),
    "asarray_chkfinite": lambda xp: xp.asarray_chkfinite([1], OTHER),
    "arange": lambda xp: xp.arange(3, dtype=OTHER),
    "linspace": lambda xp: xp.linspace(0, 4, 5, dtype=OTHER),
    "logspace": lambda xp: xp.logspace(0, 2, 3, dtype=OTHER),
    "logspace of reals": lambda xp: xp.logspace(0, 2, 3, dtype=REAL),
    "geomspace": lambda xp: xp.geomspace(1, 4, 3, dtype=OTHER),
    "eye": lambda xp: xp.eye(2, dtype=OTHER),
    "identity": lambda xp: xp.identity(2, OTHER),
    "tri": lambda xp: xp.tri(2, dtype=OTHER),
    "indices": lambda xp: xp.indices((2, 2), OTHER),
    "fromfunction": lambda xp: xp.fromfunction(lambda i: i, (3,), dtype=OTHER),
    "fromiter": lambda xp: xp.fromiter([1, 2], OTHER),
    "fromstring": lambda xp: xp.fromstring("1 2", OTHER, sep=" "),
    "loadtxt": lambda xp: xp.loadtxt(["1 2"], OTHER),
    "genfromtxt": lambda xp: xp.genfromtxt(["1 2"], OTHER),
    "fromregex": lambda xp: xp.fromregex(io.StringIO("1"), r"(\d)", [("a", OTHER)]),
    "vectorize": lambda xp: xp.vectorize(lambda v: v + 1, otypes=[OTHER])(whole(xp)),
    "ndarray": lambda xp: xp.ndarray((0,), OTHER),
    "ndarray over an array": lambda xp: xp.ndarray((4,), OTHER, whole(xp)),
    "astype": lambda xp: square(xp).astype(OTHER),
    "astype of that dtype": lambda xp: whole(xp).astype(OTHER),
    "astype of nothing": lambda xp: whole(xp)[:0].astype(OTHER),
    "xp.astype": lambda xp: xp.astype(square(xp), OTHER),
    "view": lambda xp: whole(xp).view(OTHER),
    "view by text": lambda xp: whole(xp).view(OTHER.str),
    "view by name": lambda xp: whole(xp).view(dtype=OTHER),
    "view of bytes": lambda xp: xp.asarray(np.arange(8, dtype="u1")).view(OTHER),
    "view of a row": lambda xp: square(xp)[1].view(other("q")),
    "view of a number": lambda xp: whole(xp)[1].view(OTHER),
    "view of complex": lambda xp: square(xp).view(other("D")),
    "getfield": lambda xp: whole(xp).getfield(OTHER),
    "setfield": lambda xp: whole(xp).setfield(1, OTHER),
    "dtype": lambda xp: setattr(whole(xp), "dtype", OTHER),
    "ufunc": lambda xp: xp.add(whole(xp), 1, dtype=REAL),
    "ufunc of one": lambda xp: xp.sin(whole(xp), dtype=REAL),
    "signature": lambda xp: xp.add(whole(xp), 1, signature=(REAL, REAL, REAL)),
    "reduce": lambda xp: xp.add.reduce(whole(xp), dtype=REAL),
    "accumulate": lambda xp: xp.add.accumulate(whole(xp), dtype=REAL),
    "reduceat": lambda xp: xp.add.reduceat(whole(xp), [0, 1], dtype=REAL),
    "outer": lambda xp: xp.add.outer(whole(xp), whole(xp), dtype=REAL),
    "sum": lambda xp: xp.sum(square(xp), 0, dtype=REAL),
    "x.sum": lambda xp: square(xp).sum(dtype=REAL),
    "mean": lambda xp: xp.mean(square(xp), 0, dtype=REAL),
    "var": lambda xp: xp.var(square(xp), 0, dtype=REAL),
    "std": lambda xp: xp.std(square(xp), 0, dtype=REAL),
    "prod": lambda xp: xp.prod(square(xp), 0, dtype=REAL),
    "nansum": lambda xp: xp.nansum(square(xp), 0, dtype=REAL),
    "nanmean": lambda xp: xp.nanmean(square(xp), 0, dtype=REAL),
    "nanvar": lambda xp: xp.nanvar(square(xp), 0, dtype=REAL),
    "nanprod": lambda xp: xp.nanprod(square(xp), 0, dtype=REAL),
    "cumsum": lambda xp: xp.cumsum(whole(xp), dtype=REAL),
    "cumprod": lambda xp: xp.cumprod(whole(xp), dtype=REAL),
    "cumulative_sum": lambda xp: xp.cumulative_sum(whole(xp), dtype=REAL),
    "trace": lambda xp: xp.trace(square(xp), dtype=REAL),
    "matmul": lambda xp: xp.matmul(square(xp), square(xp), dtype=REAL),
    "vecdot": lambda xp: xp.vecdot(square(xp), square(xp), dtype=REAL),
    "einsum": lambda xp: xp.einsum("ij->i", square(xp), dtype=REAL),
    "cov": lambda xp: xp.cov(square(xp), dtype=REAL),
    "corrcoef": lambda xp: xp.corrcoef(square(xp), dtype=REAL),
    "concatenate": lambda xp: xp.concatenate([whole(xp), whole(xp)], dtype=REAL),
    "stack": lambda xp: xp.stack([whole(xp), whole(xp)], dtype=REAL),
    "hstack": lambda xp: xp.hstack([whole(xp), whole(xp)], dtype=REAL),
    "x.cumsum": lambda xp: whole(xp).cumsum(dtype=REAL),
    "x.cumprod": lambda xp: whole(xp).cumprod(0, REAL),
    "nancumsum": lambda xp: xp.nancumsum(square(xp), dtype=REAL),
    "nancumprod": lambda xp: xp.nancumprod(square(xp), dtype=REAL),
    "nanstd": lambda xp: xp.nanstd(square(xp), 0, dtype=REAL),
    "cumulative_prod": lambda xp: xp.cumulative_prod(whole(xp), dtype=REAL),
    "x.trace": lambda xp: square(xp).trace(dtype=REAL),
    "trace of NumPy's": lambda xp: xp.trace(np.ones((2, 2)), dtype=REAL),
    "linalg.trace": lambda xp: xp.linalg.trace(square(xp), dtype=REAL),
    "cov of two": lambda xp: xp.cov(square(xp), square(xp), dtype=REAL),
    "corrcoef of two": lambda xp: xp.corrcoef(square(xp), square(xp), dtype=REAL),
    "matvec": lambda xp: xp.matvec(square(xp), square(xp)[0], dtype=REAL),
    "linspace of arrays": lambda xp: xp.linspace(np.arange(2.0), 4, 5, dtype=OTHER),
    "linspace of ours": lambda xp: xp.linspace(square(xp), 4, 5, dtype=REAL),
    "geomspace of arrays": lambda xp: xp.geomspace(np.arange(1.0, 3), 4, 5, dtype=REAL),
    "fftfreq": lambda xp: xp.fft.fftfreq(3, dtype=REAL),
    "special": lambda xp: xp.special.gamma(square(xp), dtype=REAL),
    "sparse eye_array": lambda xp: xp.sparse.eye_array(3, dtype=REAL),
    "sparse eye": lambda xp: xp.sparse.eye(3, dtype=REAL),
    "sparse identity": lambda xp: xp.sparse.identity(3, REAL),
    "sparse diags": lambda xp: xp.sparse.diags([1.0, 2.0], dtype=REAL),
    "sparse diags_array": lambda xp: xp.sparse.diags_array([1.0, 2.0], dtype=REAL),
    "sparse sum": lambda xp: xp.sparse.eye_array(3).sum(0, dtype=REAL),
    "sparse sum of all": lambda xp: xp.sparse.eye_array(3).sum(dtype=REAL),
    "sparse mean": lambda xp: xp.sparse.eye_array(3).mean(1, dtype=REAL),
    "sparse astype": lambda xp: xp.sparse.csr_array(square(xp)).astype(REAL),
    "a filter of cupyx": lambda xp: xp.cupyx.scipy.ndimage.uniform_filter(square(xp), 2, output=REAL),
    "random": lambda xp: xp.random.default_rng(0).random(3, dtype=REAL),
    "standard_normal": lambda xp: xp.random.default_rng(0).standard_normal(3, dtype=REAL),
    "standard_gamma": lambda xp: xp.random.default_rng(0).standard_gamma(2.0, 3, dtype=REAL),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_a_result_of_the_other_order_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=r"^dtype [<>]\w+ is not supported .* byteswap\(\)"):
        ASKED[name](nl)


@pytest.mark.parametrize("char", ["b", "B", "?"])
def test_one_byte_has_no_order(char: str) -> None:
    x = nl.asarray(np.array([1, 0, 1], char))
    assert_array_equal(x.view(other(char)), np.array([1, 0, 1], char), strict=True)
    assert_array_equal(nl.zeros(3, f">{np.dtype(char).str[1:]}"), np.zeros(3, char), strict=True)


@pytest.mark.parametrize("char", WIDE)
def test_the_cures_that_are_named(char: str) -> None:
    plain, swapped = np.dtype(char), other(char)
    raw = np.frombuffer(RAW, np.uint8)
    want = raw.view(swapped)
    with pytest.raises(TypeError, match=plain.name):
        nl.asarray(raw).view(swapped)
    assert_array_equal(nl.asarray(raw).view(plain.name).byteswap(), want.astype(plain), strict=True)
    numbers = np.arange(6).reshape(2, 3)
    assert nl.asarray(numbers).astype(plain.name).byteswap().tobytes() == numbers.astype(swapped).tobytes()


def mapped(xp: Any, dtype: Any, path: Path) -> Any:
    path.write_bytes(RAW)
    return xp.memmap(path, dtype, "r")[:]


def from_file(xp: Any, dtype: Any, path: Path) -> Any:
    path.write_bytes(RAW)
    return xp.fromfile(path, dtype)


def loaded(xp: Any, dtype: Any, path: Path, **options: Any) -> Any:
    with path.open("wb") as file:
        np.save(file, np.frombuffer(RAW, dtype))
    return xp.load(path, **options)[:]


def from_archive(xp: Any, dtype: Any, path: Path) -> Any:
    with path.open("wb") as file:
        np.savez(file, x=np.frombuffer(RAW, dtype))
    return xp.load(path)["x"]


def given(dtype: Any) -> Any:
    return np.frombuffer(RAW, dtype)


def written(xp: Any, dtype: Any, write: Any) -> Any:
    x = xp.zeros(2, xp.result_type(dtype))
    write(x, given(dtype)[:2])
    return x


READ: dict[str, Callable[[Any, Any, Path], Any]] = {
    "frombuffer": lambda xp, dtype, path: xp.frombuffer(RAW, dtype),
    "frombuffer, a part": lambda xp, dtype, path: xp.frombuffer(RAW, dtype, 2, 16),
    "frombuffer, writable": lambda xp, dtype, path: xp.frombuffer(bytearray(RAW), dtype),
    "fromfile": from_file,
    "memmap": mapped,
    "load": loaded,
    "load, mapped": lambda xp, dtype, path: loaded(xp, dtype, path, mmap_mode="r"),
    "load, archive": from_archive,
    "ndarray": lambda xp, dtype, path: xp.ndarray((2,), dtype, RAW),
    "ndarray, strides": lambda xp, dtype, path: xp.ndarray((2, 2), dtype, RAW, 1, (17, 16)),
    "asarray": lambda xp, dtype, path: xp.asarray(given(dtype)),
    "asarray, turned": lambda xp, dtype, path: xp.asarray(np.frombuffer(RAW[:32], dtype).reshape(2, -1).T[::-1]),
    "asarray, broadcast": lambda xp, dtype, path: xp.asarray(np.broadcast_to(given(dtype)[0], (2, 3))),
    "asarray, no axes": lambda xp, dtype, path: xp.asarray(np.frombuffer(RAW[:16], dtype)[0].astype(dtype)),
    "asarray, nothing": lambda xp, dtype, path: xp.asarray(np.zeros((0, 3), dtype)),
    "array of a buffer": lambda xp, dtype, path: xp.array(memoryview(given(dtype))),
    "list of arrays": lambda xp, dtype, path: xp.asarray([given(dtype)] * 2),
    "copyto": lambda xp, dtype, path: written(xp, dtype, xp.copyto),
    "assigned": lambda xp, dtype, path: written(xp, dtype, lambda x, y: x.__setitem__(..., y)),
    "concatenate": lambda xp, dtype, path: xp.concatenate([xp.ones(2, xp.result_type(dtype)), given(dtype)]),
    "where": lambda xp, dtype, path: xp.where(xp.asarray(True), given(dtype), 0),
    "add": lambda xp, dtype, path: xp.ones((), xp.result_type(dtype)) + given(dtype),
    "full": lambda xp, dtype, path: xp.full((2,), given(dtype)[1]),
    "full of no axes": lambda xp, dtype, path: xp.full((2,), given(dtype)[1:2].reshape(())),
    "zeros_like": lambda xp, dtype, path: xp.zeros_like(given(dtype)) + 3,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("char", WIDE)
@pytest.mark.parametrize("name", READ)
def test_what_comes_in_the_other_order(name: str, char: str, tmp_path: Path) -> None:
    want = np.asarray(READ[name](np, other(char), tmp_path / "raw"))
    got = READ[name](nl, other(char), tmp_path / "raw")
    assert got.dtype.isnative
    assert got.shape == want.shape
    assert_array_equal(got, want.astype(want.dtype.newbyteorder("=")), strict=True)
    assert not want.size or got.any()  # Zeros in memory would not pass.


class Holder:
    """What NumPy asks for an array, or for memory."""

    def __init__(self, array: Any) -> None:
        self.__array_interface__ = array.__array_interface__
        self.array = array


def table(memory: Any) -> Any:
    return np.frombuffer(memory, OTHER).reshape(4, 4)


VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "frombuffer": lambda xp, memory: xp.frombuffer(memory, OTHER),
    "ndarray": lambda xp, memory: xp.ndarray((4,), OTHER, memory),
    "ndarray, strides": lambda xp, memory: xp.ndarray((2,), OTHER, memory, 4, (8,)),
    "asarray": lambda xp, memory: xp.asarray(table(memory)),
    "asarray, turned": lambda xp, memory: xp.asarray(table(memory).T[::-1]),
    "asarray, order": lambda xp, memory: xp.asarray(table(memory), order="C"),
    "asarray, other order": lambda xp, memory: xp.asarray(table(memory).T, order="F"),
    "asarray, no axes": lambda xp, memory: xp.asarray(table(memory)[0, :1].reshape(())),
    "asarray of memory": lambda xp, memory: xp.asarray(memoryview(table(memory))),
    "asarray of an interface": lambda xp, memory: xp.asarray(Holder(table(memory))),
    "array without a copy": lambda xp, memory: xp.array(table(memory), copy=None),
    "asanyarray": lambda xp, memory: xp.asanyarray(table(memory)),
    "ascontiguousarray": lambda xp, memory: xp.ascontiguousarray(table(memory)),
    "asfortranarray": lambda xp, memory: xp.asfortranarray(table(memory).T),
    "asarray_chkfinite": lambda xp, memory: xp.asarray_chkfinite(table(memory)),
    "require": lambda xp, memory: xp.require(table(memory), None, "C"),
    "reshape": lambda xp, memory: xp.reshape(table(memory), (2, 8)),
    "ravel": lambda xp, memory: xp.ravel(table(memory)),
    "transpose": lambda xp, memory: xp.transpose(table(memory)),
    "squeeze": lambda xp, memory: xp.squeeze(table(memory)[:1]),
    "atleast_3d": lambda xp, memory: xp.atleast_3d(table(memory)),
    "split": lambda xp, memory: xp.split(table(memory), 2)[1],
    "a slice of it": lambda xp, memory: xp.asarray(table(memory))[1:, ::2],
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_a_copy_for_the_byte_order_alone_is_not_written(name: str) -> None:
    """NumPy has a view there: what is written to it reaches the memory, which ours would not."""
    memory, theirs = bytearray(RAW), bytearray(RAW)
    view = VIEWS[name](np, theirs)
    view[...] = 7
    assert theirs != RAW
    x = VIEWS[name](nl, memory)
    before = x.get().tolist()
    for write in (lambda: operator.setitem(x, ..., 7), lambda: operator.iadd(x, 1), lambda: nl.add(x, 1, out=x)):
        with pytest.raises(ValueError, match=r"read-only.*\.copy\(\)"):
            write()
    assert x.get().tolist() == before and memory == RAW
    own = x.copy()
    own[...] = 7
    assert_array_equal(own, view.astype("i4"), strict=True)


COPIES: dict[str, Callable[[Any, Path], Any]] = {
    "array": lambda xp, path: xp.array(table(RAW)),
    "copy": lambda xp, path: xp.copy(table(RAW)),
    "asarray, dtype": lambda xp, path: xp.asarray(table(RAW), "i4"),
    "asarray, order": lambda xp, path: xp.asarray(table(RAW), order="F"),
    "asarray, copy": lambda xp, path: xp.array(table(RAW), copy=True),
    "asarray of a list": lambda xp, path: xp.asarray([table(RAW)[0]] * 2),
    "asfortranarray": lambda xp, path: xp.asfortranarray(table(RAW)),
    "require": lambda xp, path: xp.require(table(RAW), None, "W"),
    "fromfile": lambda xp, path: from_file(xp, OTHER, path),
    "load": lambda xp, path: loaded(xp, OTHER, path),
    "load, archive": lambda xp, path: from_archive(xp, OTHER, path),
    "memmap at places": lambda xp, path: mapped(xp, OTHER, path)[[2, 0]],
    "sort": lambda xp, path: xp.sort(table(RAW)),
    "concatenate": lambda xp, path: xp.concatenate([table(RAW)]),
    "take": lambda xp, path: xp.take(table(RAW), [0], 0),
    "where": lambda xp, path: xp.where(True, table(RAW), 0),
    "round": lambda xp, path: xp.round(table(RAW)),
    "positive": lambda xp, path: +xp.asarray(table(RAW)),
    "cumsum": lambda xp, path: xp.cumsum(table(RAW), 0),
    "polyder": lambda xp, path: xp.polynomial.polynomial.polyder(table(RAW)),
    "chebint": lambda xp, path: xp.polynomial.chebyshev.chebint(table(RAW)),
    "tril": lambda xp, path: xp.tril(table(RAW)),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_what_numpy_copies_is_written(name: str, tmp_path: Path) -> None:
    for xp in (np, nl):
        x = COPIES[name](xp, tmp_path / "raw")
        x[...] = 7
        assert (x == 7).all()


def test_files_that_are_mapped(tmp_path: Path) -> None:
    path = tmp_path / "raw"
    path.write_bytes(RAW)
    whole = nl.memmap(path, OTHER, "r+")
    with pytest.raises(ValueError, match=r"read-only.*\.copy\(\)"):
        whole[1:3][0] = 7
    whole[1:3] = 7
    whole[[2, 0]][0] = 9
    whole.flush()
    assert np.fromfile(path, OTHER)[1:3].tolist() == [7, 7]


def test_what_is_read_only_stays_so() -> None:
    for memory in (RAW, bytearray(RAW)):
        for dtype in ("i4", OTHER):
            x = nl.frombuffer(memory, dtype)
            theirs = np.frombuffer(memory, "i4")
            x.flags.writeable = theirs.flags.writeable = False
            assert not x.flags.writeable
            if memory is RAW and dtype == "i4":
                for each in (theirs,) if current().discrete else (x, theirs):  # A GPU has a copy.
                    with pytest.raises(ValueError, match="WRITEABLE"):
                        each.flags.writeable = True
            else:
                x.flags.writeable = True
                assert x.flags.writeable


def test_integers_as_indices_and_counts() -> None:
    places = np.array([3, 1], OTHER)
    assert_array_equal(nl.arange(5)[places], [3, 1])
    assert_array_equal(nl.take(nl.arange(5), places), [3, 1])
    assert_array_equal(nl.bincount(places), [0, 1, 0, 1])


def test_in_compiled_functions() -> None:
    x = np.arange(1, 4, dtype=OTHER)
    twice = nl.compile(lambda a: a.view("i4") * 2 + a)
    for _ in range(3):
        assert_array_equal(twice(x), [3, 6, 9])
    for wrong in (lambda a: a.view(OTHER), lambda a: a.astype(OTHER), lambda a: nl.zeros(3, OTHER) + a):
        with pytest.raises(TypeError, match="byteswap"):
            nl.compile(wrong)(x)
    with pytest.raises(TypeError, match="byteswap"):
        nl.symbol("a", (3,), OTHER)
