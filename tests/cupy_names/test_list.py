"""The list of CuPy's names: each is there and takes CuPy's parameters, or a table says how it differs or why not."""

import functools
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import cupy_gather  # noqa: E402

import cupy_names  # noqa: E402


@functools.cache
def looked():
    return cupy_names.look()


@pytest.fixture
def found():
    """For each test, so that those without a driver are skipped before it looks."""
    return looked()


def test_the_list_has_all_of_cupy():
    release, spaces = cupy_names.listed()
    assert release.startswith("14.")
    assert set(cupy_gather.MODULES) <= set(spaces)
    assert sum(map(len, spaces.values())) > 1800
    assert "concatenate" in {name.name for name in spaces["cupy"]}
    assert next(name for name in spaces["cupy.ndarray"] if name.name == "get").parameters == (
        "stream=, order=, out=, blocking="
    )


def test_each_name_is_there_with_its_parameters_or_the_table_says_why_not(found):
    _, _, wrong = found
    assert not wrong, "\n".join(wrong)


def test_most_names_are_the_same(found):
    """Of the modules that are numloom.cupy's."""
    _, spaces, _ = found
    counts = {one.title: [one.count(kind) for kind in cupy_names.STATES] for one in spaces}
    for title in ("cupy", "cupy.ndarray", "cupy.random", "cupy.linalg", "cupy.testing"):
        same, better, differs, missing = counts[title]
        assert same + better > 10 * missing and same > 4 * differs, title


def test_the_page_is_up_to_date():
    """A page of another state of numloom.cupyx, or of a GPU, would say the same."""
    tool = [sys.executable, ROOT / "tools" / "cupy_names.py", "--check"]
    done = subprocess.run(tool, capture_output=True, text=True, timeout=300)
    assert not done.returncode, f"run tools/cupy_names.py:\n{done.stdout}{done.stderr}"


def test_unlike():
    def ours(a, axis=None, *, out=None):
        return a

    assert cupy_names.unlike("a, axis=, *, out=", ours) == ""
    assert cupy_names.unlike("x, axis=", ours) == "no x"
    assert cupy_names.unlike("a, axis=, out=", ours) == "out is not in place 3"
    assert cupy_names.unlike("x, /, axis=", ours) == ""
    assert cupy_names.unlike("a, *rest", ours) == "no *rest"
    assert cupy_names.unlike("anything", lambda *args, **named: None) == ""


def test_signatures_of_compiled_modules():
    assert cupy_gather.embedded("self, str name, tuple shape=(1, 2), *args, **named") == "name, shape=, *args, **named"
    assert cupy_gather.embedded("self") == ""


def test_names_are_read_from_python_and_compiled_files(tmp_path):
    package = tmp_path / "cupy"
    package.mkdir()
    (package / "_version.py").write_text("__version__ = '14.9.0'\n")
    (package / "__init__.py").write_text(
        "import os\n"
        "from cupy._math import add, Kind, _hidden\n"
        "from cupy._fast import quick as fast\n"
        "from os.path import join\n"
        "import numpy as _numpy\n"
        "if _numpy.__version__ < '2':\n    from numpy import gone\nelse:\n    from numpy import here\n"
        "def twice(a, b=1, /, *rest, out=None, **more):\n    pass\n"
        "again = twice\n"
        "LIMIT = 3\n"
    )
    (package / "_math.py").write_text(
        "def add(x, y, *, dtype=None):\n    pass\n"
        "class Base:\n    def shared(self, n):\n        pass\n"
        "class Kind(Base):\n    def __init__(self, size):\n        pass\n"
        "    @property\n    def width(self):\n        pass\n"
        "    def _own(self):\n        pass\n"
    )
    (package / "_fast.cpython-311-x86_64-linux-gnu.so").write_bytes(
        b"\x7fELF\x00quick(int x, tuple shape=(1, 2), bool c=True) -> list\nWhat it does.\x00other(a)\x00"
    )
    sources = cupy_gather.Sources(tmp_path)
    assert sources.names("cupy") == {
        "add": "x, y, *, dtype=", "Kind": "size", "fast": "x, shape=, c=", "here": None,
        "twice": "a, b=, /, *rest, out=, **more", "again": "a, b=, /, *rest, out=, **more", "LIMIT": None,
    }  # fmt: skip
    assert sources.members("cupy", "Kind") == {"shared": "n", "__init__": "size", "width": None, "_own": ""}
    assert cupy_gather.table(tmp_path).startswith("CuPy 14.9.0")
