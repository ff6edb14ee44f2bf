"""The list of CuPy's names: each is there and takes CuPy's parameters, or a table says how it differs or why not."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import cupy_gather  # noqa: E402

import cupy_names  # noqa: E402


@pytest.fixture(scope="module")
def found():
    return cupy_names.look()


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
