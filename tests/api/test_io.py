"""Files: what NumPy writes we read, what we write NumPy reads, and the same is refused."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import assert_array_equal, assert_bits_equal, for_all_dtypes, matches_numpy


@for_all_dtypes()
def test_arrays_go_both_ways(dtype: np.dtype[Any], sample: Any, tmp_path: Path) -> None:
    host = sample(dtype, 24).reshape(4, 6)
    for number, array in enumerate((host, host.T, host[::-1, ::2], host[:0], host[1, 2])):
        name = tmp_path / f"{number}.npy"
        nl.save(name, nl.asarray(array))
        theirs = np.load(name)
        assert_bits_equal(theirs, array)
        np.save(name, array)
        ours = nl.load(name)
        assert type(ours) is nl.ndarray
        assert_bits_equal(ours, array)
        for flag in ("c_contiguous", "f_contiguous"):
            assert getattr(ours.flags, flag) == getattr(theirs.flags, flag) == getattr(np.load(name).flags, flag)
        nl.asarray(array).tofile(tmp_path / "raw")
        assert_bits_equal(nl.fromfile(tmp_path / "raw", dtype), array.ravel())


@pytest.mark.parametrize("write", ["savez", "savez_compressed"])
def test_several_arrays(write: str, tmp_path: Path) -> None:
    name = tmp_path / "several.npz"
    getattr(nl, write)(name, nl.arange(3), [1.5, 2], x=nl.ones((2, 2)) * 2)
    with np.load(name) as theirs, nl.load(name) as ours:
        assert isinstance(ours, nl.api.io.NpzFile)
        assert sorted(ours.files) == sorted(theirs.files) == ["arr_0", "arr_1", "x"]
        assert set(ours) == set(theirs) and len(ours) == 3 and "x" in ours and "y" not in ours
        for key in theirs:
            assert type(ours[key]) is nl.ndarray
            assert_bits_equal(ours[key], theirs[key])
        assert_bits_equal(ours.f.x, theirs["x"])
        assert dir(ours.f) == dir(theirs.f)
        assert "several.npz" in repr(ours)
        with pytest.raises(KeyError):
            ours["y"]
        with pytest.raises(AttributeError):
            ours.f.y
    with pytest.raises(AttributeError):  # as NumPy's, once closed
        ours["x"]
    with pytest.raises(ValueError):
        nl.savez(name, 1, arr_0=2)


def test_pickles_are_refused(tmp_path: Path) -> None:
    objects = tmp_path / "objects.npy"
    np.save(objects, np.array([None, "x"], object))
    for xp in (nl, np):
        with pytest.raises(ValueError, match="allow_pickle"):
            xp.load(objects)
    with pytest.raises(TypeError, match="not supported on the device"):
        nl.load(objects, allow_pickle=True)
    with pytest.raises(ValueError):
        nl.save(tmp_path / "x", np.array([None]), allow_pickle=False)
    plain = tmp_path / "plain.pkl"
    x = nl.arange(6).reshape(2, 3).T * 2
    x.dump(plain)
    with pytest.raises(ValueError):
        nl.load(plain)
    for again in (nl.load(plain, allow_pickle=True), pickle.loads(x.dumps()), pickle.loads(plain.read_bytes())):
        assert type(again) is nl.ndarray
        assert_bits_equal(again, x)
    opened = io.BytesIO()
    x.dump(opened)
    assert_bits_equal(pickle.loads(opened.getvalue()), x)


def test_errors_of_load(tmp_path: Path) -> None:
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "text.npy").write_bytes(b"nothing here")
    for xp in (nl, np):
        with pytest.raises(FileNotFoundError):
            xp.load(tmp_path / "none.npy")
        with pytest.raises(EOFError):
            xp.load(tmp_path / "empty.npy")
        with pytest.raises(ValueError):
            xp.load(tmp_path / "text.npy")
        with pytest.raises(ValueError):
            xp.load(tmp_path / "text.npy", mmap_mode="x")
        with pytest.raises(ValueError):
            xp.load(tmp_path / "text.npy", encoding="none")


TEXT = "# head\n1 2 3\n4 5 6  # tail\n7 8 9\n"
TABLE = "a,b,c\n1,,3\n4,5,x\n-1,8,9\n"

TEXTS = """
xp.loadtxt(s(TEXT))
xp.loadtxt(s(TEXT), int)
xp.loadtxt(s(TEXT), "f4", skiprows=2)
xp.loadtxt(s(TEXT), usecols=(0, 2), unpack=True)
xp.loadtxt(s(TEXT), usecols=1)
xp.loadtxt(s(TEXT), usecols=1, ndmin=2)
xp.loadtxt(s(TEXT), max_rows=1)
xp.loadtxt(s(TEXT), max_rows=1, ndmin=2)
xp.loadtxt(s(TEXT), usecols=[0, 1], unpack=1)[1]
xp.loadtxt(s("5"))
xp.loadtxt(s("1;2\\n3;4"), delimiter=";")
xp.loadtxt(s("1;2\\n3;4"))
xp.loadtxt(s("1 2\\n3"))
xp.loadtxt(s("% 1\\n2"), comments="%")
xp.loadtxt(s("1+2j 3"), complex)
xp.loadtxt(s('"1" "2"'), quotechar='"')
xp.loadtxt(s("1 2"), converters=lambda t: float(t) * 2)
xp.loadtxt(s("1 2"), converters={0: lambda t: float(t) * 2})
xp.loadtxt(s("1 2"), ndmin=3)
xp.loadtxt(s("1 2"), usecols=5)
xp.loadtxt(["1 2", "3 4"])
xp.genfromtxt(s(TABLE), delimiter=",", skip_header=1)
xp.genfromtxt(s(TABLE), delimiter=",", skip_header=1, filling_values=-9)
xp.genfromtxt(s(TABLE), delimiter=",", skip_header=1, skip_footer=1, usecols=(0, 2), unpack=True)
xp.genfromtxt(s(TABLE), delimiter=",", skip_header=1, missing_values="-1", filling_values=0)
xp.genfromtxt(s(TABLE), delimiter=",", skip_header=1, dtype=int)
xp.genfromtxt(s(TABLE), delimiter=",", skip_header=1, loose=False)
xp.genfromtxt(s("123\\n456"), delimiter=[1, 2])
xp.genfromtxt(s("1 2\\n3"))
xp.genfromtxt(s("1 2\\n3 4"), dtype=None, encoding=None)
xp.genfromtxt(s("1 2"), converters={0: lambda t: 7.0})
xp.genfromtxt(s("1 2"), ndmin=2, max_rows=1)
xp.fromstring("1 2 3", sep=" ")
xp.fromstring("1,2,3", int, 2, sep=",")
xp.frombuffer(b"abcd", "u1")
xp.frombuffer(b"abcdefgh", "i2", 2, 2)
xp.frombuffer(b"abc", "i2")
xp.fromiter(iter([1, 2, 3]), float)
xp.fromiter(range(5), "i4", 3)
xp.fromiter(range(2), "i4", 3)
xp.fromfunction(lambda i, j: i * 2 + j, (2, 3))
xp.fromfunction(lambda i, j, k: i + k, (2, 3), dtype=int, k=4)
"""


@pytest.mark.parametrize("text", [text for text in TEXTS.split("\n") if text])
def test_text(text: str) -> None:

    def body(xp: Any) -> Any:
        return eval(text, {"xp": xp, "s": io.StringIO, "TEXT": TEXT, "TABLE": TABLE})

    matches_numpy(body)()


def test_tables_are_dictionaries_of_columns() -> None:
    table = nl.genfromtxt(io.StringIO("n,size\n1,2.5\n3,4.5"), delimiter=",", names=True, dtype=None)
    assert list(table) == ["n", "size"]
    assert_array_equal(table["n"], np.array([1, 3]), strict=True)
    assert_array_equal(table["size"], np.array([2.5, 4.5]), strict=True)
    columns = nl.loadtxt(io.StringIO("1 2\n3 4"), [("a", "i4"), ("b", "f4")])
    assert type(columns["b"]) is nl.ndarray and columns["a"].dtype == "i4"
    parts = nl.loadtxt(io.StringIO("1 2\n3 4"), [("a", "i4"), ("b", "f4")], unpack=True)
    assert [type(part) for part in parts] == [nl.ndarray] * 2
    found = nl.fromregex(io.StringIO("x 1.5, y 2\nx 3, y 4"), r"x ([\d.]+), y (\d+)", [("x", "f8"), ("y", "i8")])
    assert found["x"].tolist() == [1.5, 3] and found["y"].tolist() == [2, 4]
    with pytest.raises(TypeError):
        nl.fromregex(io.StringIO("1"), r"(\d)", "f8")
    with pytest.raises(TypeError):
        nl.genfromtxt(io.StringIO("a b"), dtype=None, encoding=None)
    with pytest.raises(TypeError, match="masked"):
        nl.genfromtxt(io.StringIO("1"), usemask=True)


WRITTEN = [
    {}, {"fmt": "%.2f"}, {"fmt": ["%d", "%.1f", "%e"], "delimiter": ","}, {"fmt": "%d;%d;%d"}, {"header": "h\ni"},
    {"footer": "f", "comments": "!", "newline": "\r\n"}, {"fmt": "%d %d"}, {"fmt": 3},
]  # fmt: skip


@pytest.mark.parametrize("options", WRITTEN, ids=str)
def test_savetxt(options: dict[str, Any]) -> None:
    for array in (np.arange(6.0).reshape(2, 3) / 3, np.arange(3), np.array([[1 + 2j, 3, 4j]]), np.zeros((1, 1, 1)),
                  np.array(1.0)):  # fmt: skip
        outcomes = []
        for xp in (nl, np):
            file = io.StringIO()
            try:
                xp.savetxt(file, xp.asarray(array), **options)
            except Exception as error:
                outcomes.append(type(error))
            else:
                outcomes.append(file.getvalue())
        assert outcomes[0] == outcomes[1]


# ---------------------------------------------------------------- maps of files


@pytest.fixture(name="mapped")
def mapped_file(tmp_path: Path) -> Path:
    name = tmp_path / "mapped"
    np.arange(24, dtype="f4").tofile(name)
    return name


def test_parts_of_a_mapped_file_go_to_the_device(mapped: Path) -> None:
    ours = nl.memmap(mapped, "f4", "r", shape=(4, 6))
    theirs = np.memmap(mapped, "f4", "r", shape=(4, 6))
    for index in (1, (1, 2), slice(1, 3), (slice(None), [0, 2]), ..., (0, ..., None), theirs > 5):
        assert type(ours[index]) is nl.ndarray
        assert_array_equal(ours[index], np.asarray(theirs[index]), strict=True)
    assert_array_equal(ours[nl.asarray([0, 2])], np.asarray(theirs[[0, 2]]))
    for name in ("shape", "dtype", "ndim", "size", "nbytes", "itemsize", "strides", "offset", "mode", "filename"):
        assert getattr(ours, name) == getattr(theirs, name)
    for call in (lambda m: m + 1, lambda m: 2 * m, lambda m: m.sum(axis=0), np.exp, np.sum, lambda m: m > 3, abs,
                 lambda m: m.T @ m):  # fmt: skip
        assert type(call(ours)) is nl.ndarray
        np.testing.assert_allclose(call(ours).get(), np.asarray(call(theirs)), rtol=1e-6)
    assert_array_equal(nl.asarray(ours), np.asarray(theirs))
    assert_array_equal(nl.ones(6) + ours, 1 + theirs)
    assert [row.tolist() for row in ours] == theirs.tolist() and len(ours) == 4 and 5 in ours
    assert str(ours) == str(theirs)
    assert np.array(ours).flags.writeable
    with pytest.raises(ValueError):
        ours[0] = 1
    with pytest.raises(AttributeError):
        ours.nothing


def test_mapped_files_are_written(mapped: Path) -> None:
    ours = nl.memmap(mapped, "f4", "r+", offset=8, shape=(2, 5), order="F")
    assert_array_equal(ours[...], np.memmap(mapped, "f4", "r", 8, (2, 5), "F")[...])
    ours[0] = nl.arange(5) * 2
    ours[1, nl.asarray([0, 1])] = -1
    ours += 1
    ours.flush()
    assert type(ours) is nl.memmap
    theirs = np.memmap(mapped, "f4", "r", 8, (2, 5), "F")
    assert theirs[0].tolist() == [1, 3, 5, 7, 9] and theirs[1, :2].tolist() == [0, 0]
    private = nl.memmap(mapped, mode="c")
    private[:] = 0
    assert theirs[0, 0] == 1
    made = nl.memmap(mapped.with_name("new"), "i2", "w+", shape=3)
    made[:] = [1, 2, 3]
    made.flush()
    assert nl.fromfile(mapped.with_name("new"), "i2").tolist() == [1, 2, 3]
    for xp in (nl, np):
        with pytest.raises(FileNotFoundError):
            xp.memmap(mapped.with_name("none"))
        with pytest.raises(ValueError):
            xp.memmap(mapped, mode="nonsense")


def test_load_maps(tmp_path: Path) -> None:
    nl.save(tmp_path / "x.npy", nl.arange(10))
    x = nl.load(tmp_path / "x.npy", mmap_mode="r+")
    assert type(x) is nl.memmap and x[2:4].tolist() == [2, 3]
    x[0] = 7
    x.flush()
    assert nl.load(tmp_path / "x.npy")[0] == 7


@pytest.mark.parametrize("call", [
    lambda xp, m: xp.sqrt(m), lambda xp, m: xp.add(m, 1), lambda xp, m: xp.add(1, m), lambda xp, m: xp.add(m, m),
    lambda xp, m: xp.where(m > 1, m, 0), lambda xp, m: xp.frexp(m)[0], lambda xp, m: xp.isnan(m),
    lambda xp, m: m * 2 - m, lambda xp, m: xp.maximum(m, 2, dtype="f8"), lambda xp, m: xp.concatenate([m, m]),
    lambda xp, m: xp.ones((4, 3)) * m, lambda xp, m: xp.dot(m, m.T), lambda xp, m: xp.add.reduce(m, axis=1),
    lambda xp, m: xp.hypot(m, m[0]), lambda xp, m: m @ xp.ones(3, "f4"),
])  # fmt: skip
def test_functions_of_maps(call, tmp_path):
    made = []
    for xp in (nl, np):
        m = xp.memmap(tmp_path / f"{xp.__name__}.bin", dtype="f4", mode="w+", shape=(4, 3))
        m[...] = np.arange(12).reshape(4, 3)
        made.append(call(xp, m))
    np.testing.assert_array_equal(made[0].get(), np.asarray(made[1]), strict=True)
