"""Programs under ``python -m numloom run`` say what they say under Python; the command line, errors and the report."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.command.both_ways import under_numloom, under_numpy

from numloom.array.ndarray import ndarray
from numloom.command.main import main
from numloom.command.notebook import load, unload
from numloom.command.run import run
from numloom.command.serve import ledger
from numloom.command.serve.dispatch import FallbackError

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples" / "unchanged"


def report_of(tmp_path: Path, code: str, **options: Any) -> dict[str, Any]:
    """The report of a program, which says nothing."""
    file = tmp_path / "report.json"
    with contextlib.redirect_stdout(io.StringIO()):
        run([code], kind="code", report="json", report_file=str(file), **options)
    return json.loads(file.read_text(encoding="utf-8"))


# ---------------------------------------------------------------- programs

PROGRAMS = {
    "types": """
import typing
import numpy.typing as npt
x = np.linspace(0, 1, 5)
s = x.sum()
print(isinstance(x, np.ndarray), isinstance(s, np.ndarray), isinstance(s, np.floating), np.isscalar(s), repr(s), [s])
print(isinstance(x.argmax(), (int, np.integer)), isinstance(s, np.integer), isinstance(3, np.number))
print(type(x) == np.ndarray, issubclass(np.float32, np.floating), np.issubdtype(x.dtype, np.floating), np.ndarray)
print(np.ndarray[int, np.dtype[np.float64]], npt.NDArray[np.float64], typing.Optional[np.ndarray], np.ndarray | None)
print(isinstance(np.add, np.ufunc), np.float64(3), np.dtype("f4"), x[:, np.newaxis].shape, np.pi)
print(np.ndarray((2,)).shape, {np.ndarray: 1}[type(x)])
print(list(map(np.ndarray.tolist, [x[:2], np.array(["a"])])), f"{s:.2f} {x[1]}", "%d" % x.argmax())
print(x.sum() > 2 and "yes")
print(np.sqrt(2), np.mean([1, 2]), type(np.max([3, 5])), type(np.exp(1.0)), np.hypot(3, 4) / 2)
match x:
    case np.ndarray():
        print("an array")
""",
    "byte order": """
def told(f):
    x = f()
    print(x.dtype.str, x.tolist(), x.tobytes())
raw, other = bytes(range(8)), np.dtype("i4").newbyteorder()
x = np.arange(1, 3, dtype="i4")
told(lambda: x.astype(other))
told(lambda: x.byteswap())
told(lambda: np.frombuffer(raw, ">u2"))
told(lambda: np.frombuffer(raw, ">u2") + 1)
told(lambda: np.sort(np.frombuffer(raw, ">u2")))
told(lambda: np.zeros(3, ">i4"))
told(lambda: np.full(3, 1, dtype=other))
told(lambda: np.array([1, 2], dtype=other))
told(lambda: np.array(x, dtype=">i4"))
told(lambda: np.zeros_like(x, ">i4"))
told(lambda: np.concatenate([x, x], dtype=">i4"))
told(lambda: np.loadtxt(["1 2"], dtype=other))
told(lambda: np.fromiter([1, 2], other))
""",
    "imports": """
import numpy
import numpy.linalg as la, numpy.fft
from numpy.linalg import norm, LinAlgError
from numpy import *
from numpy import linalg as other
print(norm(arange(5.0)), la.norm is other.norm, numpy.linalg.norm(ones(3)), issubclass(LinAlgError, ValueError))
print(numpy.fft.fft(ones(4)).real, numpy.__version__ == np.__version__, numpy.__name__, float64(2))
try:
    from numpy import nosuch
except ImportError as error:
    print(str(error)[:40])
try:
    np.nosuch
except AttributeError as error:
    print(error)
try:
    la.cholesky(-eye(2))
except la.LinAlgError as error:
    print(error)
""",
    "objects": """
x = np.arange(4.0)
o = np.array([1, None, 2.5, "a"], dtype=object)
names = np.array(["b", "a", "c", "a"])
print(o, names[np.argsort(x)[::-1]], names[x > 1], np.unique(names, return_counts=True), np.char.upper(names))
print(x * np.array([1, 2, 3, 4], dtype=object), np.array([1, 2, 3, 4], dtype=object) - x)
print(x.astype(str), x.astype(object))
days = np.array(["2020-01-01", "2020-03-01"], dtype="datetime64[D]")
print(days + np.arange(2).astype("timedelta64[D]"), np.diff(days))
print(np.arange("2020-01", "2020-03", dtype="datetime64[M]"))
print(np.ones(2) * np.timedelta64(3, "s"), np.zeros(2, ">f4").dtype, np.zeros(2, "S3"))
table = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])
table["a"] = x[:3] * 2
table["b"][np.array([True, False, True])] = 7
print(table, np.sort(table, order="a")["b"].sum(), table["a"] + x[:3], isinstance(table, np.ndarray))
print(np.array([1 << 70]), np.array([[1], [1, 2]], dtype=object).shape, np.longdouble(1) + 1)
""",
    "classes": """
class Info(np.ndarray):
    def __new__(cls, shape):
        made = super().__new__(cls, shape)
        made[...] = 2
        return made
    def __array_finalize__(self, obj):
        self.info = "kept"
i = Info((3,))
print(type(i), isinstance(i, np.ndarray), i.info, np.sum(i), np.multiply(i, np.arange(3.0)).info, (np.ones(3) + i).info)
m = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
print(m.sum(), np.sum(m), np.sqrt(m), isinstance(m, np.ndarray), isinstance(m, np.ma.MaskedArray), np.ma.mean(m))
print(np.matrix([[1, 2], [3, 4]]) * np.matrix([[1], [1]]), np.poly1d([1, 2, 3])(2.0))
p = np.polynomial.Polynomial([1.0, 2.0])
print(p(np.arange(3.0)), np.polynomial.polynomial.polyval(np.arange(3.0), [1, 1]))
@np.vectorize
def larger(a, b):
    return a if a > b else b
print(larger([1, 5, 3], 2), np.vectorize(lambda n: str(n) + "!")(np.array([1, 2])))
from functools import singledispatch, reduce
kind = singledispatch(lambda value: "other")
kind.register(np.ndarray)(lambda value: "array")
print(kind(np.ones(2)), kind(3), reduce(np.add, [np.ones(2)] * 3), list(map(np.sqrt, [1.0, 4.0])))
""",
    "ufuncs": """
x = np.arange(6.0).reshape(2, 3)
print(np.add.reduce(x), np.add.accumulate(x, 1), np.multiply.outer([1, 2], [3, 4]), np.add.reduceat(x[0], [0, 2]))
a = np.zeros(3)
np.add.at(a, [0, 0, 1], 1.0)
print(a, np.maximum.reduce([1, 5, 2]), np.add.nin, np.frompyfunc(lambda v: v + 1, 1, 1)(x).dtype)
print(np.divmod(x, 2)[1], np.where(x > 2, x, -1), np.clip(x, 1, 4, out=np.empty((2, 3))))
print(np.add(x, 1, where=x > 2, out=x))
print(np.r_[1, x[0]], np.c_[x[0], x[1]].shape, np.mgrid[0:2, 0:2].sum(), np.s_[1:2], np.apply_along_axis(np.sum, 0, x))
with np.errstate(divide="ignore"):
    print(np.ones(1) / 0)
np.testing.assert_allclose(x, x)
try:
    np.testing.assert_array_equal(x, x + 1)
except AssertionError:
    print("differ")
""",
    "files": """
import io, pickle, copy, json
x = np.arange(6.0).reshape(2, 3)
file = io.BytesIO()
np.savez(file, x=x, names=np.array(["a"]))
file.seek(0)
with np.load(file) as archive:
    print(sorted(archive), archive["x"] + 1, archive["names"], "x" in archive, len(archive.files))
file = io.BytesIO()
np.save(file, x[:, ::2])
file.seek(0)
print(np.load(file), np.loadtxt(["1 2", "3 4"]).T, np.genfromtxt(["1,a"], delimiter=",", dtype=None, encoding="utf8"))
text = io.StringIO()
np.savetxt(text, x, fmt="%.1f")
print(text.getvalue(), x.tobytes() == np.frombuffer(x.tobytes()).tobytes(), b"numloom" in pickle.dumps(x))
y = pickle.loads(pickle.dumps(x)); y[0, 0] = 9
z = copy.deepcopy({"x": x}); z["x"] += 1
print(x, y, z, json.dumps(x.tolist()), pickle.loads(pickle.dumps(np.sum))([1, 2]))
np.set_printoptions(precision=2, suppress=True)
print(np.array([1.23456, 2e-9]), np.array2string(x, separator=";"))
np.set_printoptions(precision=8, suppress=False)
""",
    "writing": """
import importlib, array
host = importlib.import_module("numpy").arange(4.0)  # an array of a library
view = np.asarray(host); view[0] = 7
print(host, np.asarray(host) is host, np.reshape(host, (2, 2)).base is host, np.shares_memory(host[1:], host))
host += np.ones(4)
np.add(host, np.ones(4), out=host)
print(host, np.sum(np.ones((2, 4)), 0, None, host) is host, host)
np.copyto(host, np.arange(4.0)); np.put(host, [0], [9]); np.fill_diagonal(host.reshape(2, 2), 5)
host[np.array([1])] = 3
np.add.at(host, np.array([2, 2]), np.ones(2)); host[:2] = np.full(2, 0.5)
print(host, np.array(host) is host)
memory = bytearray(8)
np.frombuffer(memory, np.uint8)[:2] = 3
numbers = array.array("d", [1, 2]); np.asarray(numbers)[0] = 8
print(memory, numbers, np.nan_to_num(host, copy=False) is host)
x = np.arange(4.0); v = x[1:]; v *= 2; w = x.reshape(2, 2); w[0] = 0
np.copyto(x[2:], [5, 6]); np.minimum(x, 5.5, out=x); out = np.empty(2)
print(x, np.cumsum(x), np.linalg.multi_dot([np.eye(2), np.ones((2, 2)), np.eye(2)]), np.max(w, 0, out) is out)
""",
    "errors": """
def said(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)
x = np.ones((2, 3))
for call in (
    lambda: x + np.ones(4), lambda: np.add(x, np.ones(4)), lambda: np.reshape(x, (4, 2)), lambda: np.dot(x, x),
    lambda: np.concatenate([x, np.ones(3)]), lambda: np.sum(x, axis=5), lambda: np.array("a") + np.array(1.0),
    lambda: np.zeros(-1), lambda: np.linspace(0, 1, "a"), lambda: np.linalg.inv(x), lambda: np.arange(3)[7],
    lambda: bool(x > 0), lambda: np.frobnicate(x), lambda: np.stack([]), lambda: int(x),
    lambda: np.apply_along_axis(lambda row: 1 // 0, 0, x), lambda: x.frobnicate,
):
    print(str(said(call)).replace("numloom", "numpy").replace(" ')", "')"))
""",
    "libraries": """
from scipy import optimize, stats, ndimage, sparse
from sklearn.linear_model import LinearRegression
x = np.arange(12.0).reshape(4, 3) ** 2 / 8
print(LinearRegression().fit(x[:, :2], x[:, 2]).coef_.round(6), np.round(stats.zscore(x, axis=0), 6).tolist())
print(optimize.minimize(lambda p: np.sum((p - np.array([1.0, 2.0])) ** 2), np.zeros(2)).x.round(4))
print(ndimage.gaussian_filter(x, 1).round(6).tolist(), (sparse.eye(4) @ x).sum().round(6))
print(ndimage.generic_filter(x, np.max, size=2).tolist(), stats.norm.cdf(np.zeros(2)))
""",
    "random": """
np.random.seed(4)
a = np.random.rand(3), np.random.normal(size=2)
state = np.random.get_state()
b = np.random.rand(3)
np.random.set_state(state)
print((b == np.random.rand(3)).all(), 0 <= np.random.rand() < 1, np.random.randint(5) in range(5))
np.random.seed(4)
print((a[0] == np.random.rand(3)).all(), (a[1] == np.random.normal(size=2)).all(), a[0].shape)
rng = np.random.default_rng(7)
print(isinstance(rng, np.random.Generator), np.random.default_rng(rng) is rng, isinstance(rng.random(), float))
numbers = np.arange(50); listed = [1, 2, 3]
rng.shuffle(numbers); np.random.shuffle(listed); np.random.RandomState(1).shuffle(numbers)
print(sorted(numbers.tolist()) == list(range(50)), sorted(listed), rng.choice(["a", "b"]) in "ab")
print(rng.multivariate_normal([0, 0], np.eye(2), size=4).shape, rng.permutation(5).sum(), rng.normal([0, 1], 1).shape)
from sklearn.utils import check_random_state
from scipy import stats
made = np.random.RandomState(3)
print(check_random_state(made) is made, stats.norm.rvs(size=2, random_state=np.random.default_rng(3)))
print(np.random.default_rng(3).random(), np.random.RandomState(3).rand())  # single numbers are NumPy's own
""",
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of numpy.matrix
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_say_what_they_say_under_numpy(name: str) -> None:
    if name == "libraries" or "sklearn" in PROGRAMS[name]:
        pytest.importorskip("sklearn")
    code = "import numpy as np\n" + PROGRAMS[name]
    expected = under_numpy(code)
    assert expected.count("\n") > 2
    # With a seed both draw, but other numbers: what is printed does not depend on them.
    assert under_numloom(code) == expected


def test_a_program_works_on_numloom_arrays() -> None:
    code = "import numpy as np; x = np.arange(3.0); print(type(x).__module__, type(np.fft.fft(x)).__module__)"
    assert set(under_numloom(code).split()) == {ndarray.__module__}
    assert type(np.arange(3.0)) is np.ndarray  # and nothing is left of it


# ---------------------------------------------------------------- refused rather than wrong


def test_views_through_numpy_are_read_only() -> None:
    said = under_numloom(
        "import numpy as np\n"
        "x = np.arange(4.0); m = np.ma.masked_array(x, x > 2); print(m.sum())\n"
        "for write in (lambda: x.__setitem__(0, 5), lambda: m.data.__setitem__(0, 5)):\n"
        "    try: write()\n"
        "    except ValueError as error: print('refused:', 'read-only' in str(error))\n"
    )
    assert said == "3.0\nrefused: True\nrefused: True\n"


def test_a_function_that_writes_a_copy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def clear(a: Any) -> None:
        a[...] = 0

    monkeypatch.setattr(np, "clear_it", clear, raising=False)
    code = "import numpy as np\nx = np.ones(2)\ntry: np.clear_it(x)\nexcept ValueError as error: print(error)\nprint(x)"
    assert under_numloom(code) == "assignment destination is read-only\n[1. 1.]\n"


def test_what_an_index_array_did_wrong_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    code = "import numpy as np\ny = np.arange(3.0)[np.array([1, 7])]\nprint('on')"
    assert run([code], kind="code", report="none") == 1
    assert "IndexError" in capsys.readouterr().err


# ---------------------------------------------------------------- whose import it is


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A folder with a script, a module and a package of its own, and an installed library."""
    (tmp_path / "site-packages").mkdir()
    say = "import numpy as np\ndef kind(): return type(np.ones(2)).__module__.partition('.')[0]\n"
    (tmp_path / "site-packages" / "installed_one.py").write_text(say)
    (tmp_path / "own_module.py").write_text(say)
    (tmp_path / "own_package").mkdir()
    (tmp_path / "own_package" / "__init__.py").write_text("from .part import kind\n")
    (tmp_path / "own_package" / "part.py").write_text(
        "from numpy import ones\ndef kind(): return type(ones(1)).__module__"
    )
    (tmp_path / "own_package" / "__main__.py").write_text("from . import kind; import sys; print(kind(), sys.argv[1:])")
    (tmp_path / "script.py").write_text(
        "import os, sys; sys.path.append(os.path.join(os.path.dirname(__file__), 'site-packages'))\n"
        "import installed_one, own_module, own_package, numpy as np\n"
        "print(__name__, os.path.basename(__file__), sys.argv[1:], installed_one.kind(), own_module.kind(),\n"
        "      own_package.kind().partition('.')[0])\n"
        "if 'fail' in sys.argv: np.dot(np.ones((2, 3)), np.ones((2, 3)))\n"
        "sys.exit(3)\n"
    )
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("own_", "installed_one")):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("options", "kinds"),
    [([], "numpy numloom numloom"), (["--also", "installed_one", "--keep", "own_package"], "numloom numloom numpy")],
)
def test_the_programs_own_modules_are_served(
    project: Path, capsys: pytest.CaptureFixture[str], options: list[str], kinds: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["run", "--report", "none", *options, str(project / "script.py"), "-x", "--report", "y"])
    assert stop.value.code == 3
    assert capsys.readouterr().out == f"__main__ script.py ['-x', '--report', 'y'] {kinds}\n"


def test_a_module_is_run_as_python_does(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert main(["run", "--report", "none", "-m", "own_package", "--flag"]) == 0
    assert capsys.readouterr().out == f"{ndarray.__module__} ['--flag']\n"


def test_a_traceback_shows_the_program_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--report", "none", str(project / "script.py"), "fail"]) == 1
    error = capsys.readouterr().err
    assert re.fullmatch(
        r"Traceback \(most recent call last\):\n"
        r'  File ".*script\.py", line 5, in <module>\n    if .*\n(?:    [ ~^]*\n)?'
        r"ValueError: shapes \(2,3\) and \(2,3\) not aligned.*\n",
        error,
    ), error


def test_from_the_shell(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "numloom", "run", str(project / "script.py"), "a"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (3, "__main__ script.py ['a'] numpy numloom numloom\n")
    assert "numpy.ones" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [[], ["no_such_script.py"], ["-m", "no_such_module"], ["-c"]])
def test_what_cannot_be_run_is_said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["run", *arguments])
    assert stop.value.code == 2
    assert capsys.readouterr().err


def test_syntax_errors_and_interrupts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["print('a'\n1 +"], kind="code", report="none") == 1
    assert "SyntaxError" in capsys.readouterr().err
    assert run(["raise KeyboardInterrupt"], kind="code", report="none") == 130


# ---------------------------------------------------------------- the report


def test_report_counts_what_ran_where(tmp_path: Path) -> None:
    code = (
        "import numpy as np, scipy.stats\n"
        "x = np.array([3.0, 1.0, 2.0])\n"
        "for i in range(3): np.sort(x)\n"
        "n = np.array(['b', 'a'])\n"
        "np.sqrt(4.0); h = np.ma.getdata(n)\n"
        "r = np.random.rand(8); scipy.stats.zscore(x)\n"
    )
    report = report_of(tmp_path, code)
    functions = report["functions"]
    assert functions["numpy.sort"]["calls"] == {"numloom": 3}
    assert functions["numpy.sqrt"]["calls"] == {"numbers": 1}
    assert functions["numpy.array"]["calls"] == {"numloom": 1, "numpy": 1}
    ((reason, count),) = functions["numpy.array"]["reasons"].items()
    assert "dtype <U1" in reason and count == 1
    assert functions["numpy.array"]["lines"] == {"<string>:4": 1}
    assert report["copied_to_device"]["lines"]["<string>:2"] == {"count": 1, "nbytes": 24}
    assert report["handed_to_libraries"]["scipy"]["count"] >= 1
    assert report["random_numbers_by_numloom"] is True
    assert report["seconds"]["total"] >= report["seconds"]["numloom"] > 0


def test_advice_names_the_line_and_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_LONG", 60.0)  # On a GPU compiling takes as long as work on large arrays.
    code = (
        "import numpy as np, importlib\n"
        "host = importlib.import_module('numpy').ones(200_000)\n"
        "for i in range(3): np.cumsum(host)\n"
        "small = [np.arange(3) for _ in range(401)]\n"
        "for i in range(30): float((small[0] * i).sum())\n"
        "for i in range(40): np.ma.masked_invalid(np.arange(200_000.0))\n"
    )
    advice = "\n".join(report_of(tmp_path, code)["advice"])
    assert "<string>:3 copied NumPy arrays to the device 3 times" in advice
    assert "np.array(...)" in advice
    assert "fewer than 4096 elements" in advice
    assert "numpy.ma.masked_invalid ran in NumPy 40 times" in advice


def test_a_program_starts_without_the_libraries_of_other_commands() -> None:
    code = "import sys, numpy; print(sorted({'rich', 'PIL', 'matplotlib'} & {*sys.modules}))"
    found = subprocess.run(
        [sys.executable, "-m", "numloom", "run", "--report", "none", "-c", code], capture_output=True, text=True
    )
    assert (found.returncode, found.stdout) == (0, "[]\n"), found.stderr


def test_arrays_of_operators_are_no_small_ones(tmp_path: Path) -> None:
    code = (
        "import numpy as np\nx = np.ones((1000, 1000))\n"
        "for i in range(110):\n    y = x * i + x ** 2 - np.sin(x)\n    float(np.sum(np.hstack((y[:, :1], x[:, :1]))))\n"
        "    float((y * y).max())\n"
    )
    assert not any("fewer than" in advice for advice in report_of(tmp_path, code)["advice"])


def test_text_report(capsys: pytest.CaptureFixture[str]) -> None:
    code = "import numpy as np; x = np.arange(5.0); np.ma.masked_array(x).sum(); np.random.rand(3)"
    assert run([code], kind="code") == 0
    error = capsys.readouterr().err
    for word in (
        "1 kernel, ",
        "copied to the device",
        "numpy.arange",
        "masked arrays stay NumPy's",
        "another stream",
        "read-only",
    ):
        assert word in error


def test_fallback_can_warn_or_stop(capsys: pytest.CaptureFixture[str]) -> None:
    code = "import numpy as np; np.array(['a']); np.sqrt(2.0); np.testing.assert_equal(1, 1)"
    with pytest.warns(RuntimeWarning, match=r"numpy\.array ran in NumPy.*dtype <U1") as caught:
        assert run([code], kind="code", report="none", fallback="warn") == 0
    assert len(caught) == 1
    assert run([code], kind="code", report="none", fallback="error") == 1
    assert FallbackError.__name__ in capsys.readouterr().err


# ---------------------------------------------------------------- IPython


def test_a_shell_gets_numpy_from_numloom(capsys: pytest.CaptureFixture[str]) -> None:
    magics: dict[str, Callable[..., Any]] = {}
    namespace: dict[str, Any] = {"__name__": "__main__", "np": np, "la": np.linalg, "x": np.ones(2)}
    shell = SimpleNamespace(
        user_ns=namespace, register_magic_function=lambda function, kind, name: magics.update({name: function})
    )
    load(shell)
    load(shell)  # again: nothing
    try:
        exec("y = np.arange(3.0); import numpy; z = numpy.ones(2); w = la.norm(y)", namespace)
        assert type(namespace["y"]) is type(namespace["z"]) is ndarray
        assert type(namespace["x"]) is np.ndarray
        magics["numloom"]("json")
        assert json.loads(capsys.readouterr().out)["functions"]["numpy.arange"]["calls"] == {"numloom": 1}
    finally:
        unload(shell)
    assert namespace["np"] is np and namespace["la"] is np.linalg and namespace["numpy"] is np
    exec("import numpy as np; y = np.arange(3.0)", namespace)
    assert type(namespace["y"]) is np.ndarray


def test_ipython_itself() -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell()
    shell.run_line_magic("load_ext", "numloom")
    try:
        assert shell.run_cell("import numpy as np; kind = type(np.arange(3.0))").success
        assert shell.user_ns["kind"] is ndarray
        assert not shell.run_cell("np.reshape(np.arange(3.0), (2, 2))").success
    finally:
        shell.run_line_magic("unload_ext", "numloom")


# ---------------------------------------------------------------- three real programs


def both_ways(path: Path, *arguments: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> tuple[str, str]:
    """What a script prints under Python and with numpy served by numloom."""
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    runpy.run_path(str(path), run_name="__main__")
    expected = capsys.readouterr().out
    assert run([str(path), *arguments], report="none") == 0
    return expected, capsys.readouterr().out


NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def assert_same_text(text: str, expected: str) -> None:
    """Equal words, and numbers that differ by one unit in the last printed place at most."""
    assert NUMBER.sub("#", text) == NUMBER.sub("#", expected)
    for ours, theirs in zip(NUMBER.findall(text), NUMBER.findall(expected), strict=True):
        unit = 10.0 ** -len(theirs.partition("e")[0].partition(".")[2])
        assert abs(float(ours) - float(theirs)) <= 1.01 * unit * (10 ** int(theirs.partition("e")[2] or 0))


def test_drum_waves(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    arguments = ("--points", "31", "--steps", "60", "--output", str(tmp_path))
    expected, text = both_ways(EXAMPLES / "drum_waves.py", *arguments, capsys=capsys, monkeypatch=monkeypatch)
    assert_same_text(text, expected)
    assert (tmp_path / "drum_waves.png").stat().st_size > 1000
    assert np.load(tmp_path / "drum_waves.npz")["skin"].shape == (31, 31)


def test_wine_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    file = tmp_path / "scores.csv"
    expected, text = both_ways(EXAMPLES / "wine_classes.py", str(file), capsys=capsys, monkeypatch=monkeypatch)
    assert_same_text(text, expected)
    assert np.loadtxt(file, delimiter=",").shape == (178, 3)


def test_asian_option(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    expected, text = both_ways(EXAMPLES / "asian_option.py", "4000", capsys=capsys, monkeypatch=monkeypatch)
    ours, theirs = json.loads(text), json.loads(expected)
    assert ours.keys() == theirs.keys() and ours["option"] == theirs["option"]
    assert abs(ours["price"] - theirs["price"]) < 6 * (ours["error"] + theirs["error"])
    assert ours["error"] == pytest.approx(theirs["error"], rel=0.5)
