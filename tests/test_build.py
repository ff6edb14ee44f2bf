"""What builds of the compiled core know, and what they refuse."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"
pytestmark = pytest.mark.skipif(not (TOOLS / "build_options.py").exists(), reason="not in the source tree")


def python(tmp_path, version, *command, **more):
    """Run Python where Cython is of this version (None: is not there)."""
    package = tmp_path / "Cython"
    package.mkdir(exist_ok=True)
    text = "raise ImportError" if version is None else f"__version__ = {version!r}"
    (package / "__init__.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(TOOLS)]), **more}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("version", ["3.3.1", "3.3.1b2", "3.10.0", "4.0"])
def test_options_for_cmake(version, tmp_path):
    done = python(tmp_path, version, TOOLS / "build_options.py")
    assert done.returncode == 0, done.stderr
    assert "set(module_flags -O3" in done.stdout and "-ffp-contract=off" in done.stdout


@pytest.mark.parametrize("version, words", [("3.3.0", "crash"), ("3.0.11", "crash"), (None, "not installed")])
def test_a_cython_that_makes_modules_that_crash_is_refused(version, words, tmp_path):
    done = python(tmp_path, version, TOOLS / "build_options.py")
    assert done.returncode == 1 and not done.stdout
    assert words in done.stderr and "pip install 'cython>=3.3.1'" in done.stderr


@pytest.mark.parametrize("hook", ["build_wheel", "build_editable"])
@pytest.mark.parametrize("pure", ["", "1"])
def test_the_backend_refuses_before_a_pure_wheel_is_made(hook, pure, tmp_path):
    scikit = tmp_path / "scikit_build_core"
    scikit.mkdir()
    (scikit / "__init__.py").touch()
    (scikit / "build.py").write_text(
        "__all__ = ['build_wheel', 'build_editable']\n"
        "def build_wheel(*args): return 'made'\n"
        "def build_editable(*args): return 'made'\n"
    )
    program = f"import build_backend; print(build_backend.{hook}('folder'))"
    done = python(tmp_path, "3.3.0", "-c", program, NUMLOOM_PURE=pure)
    if pure:
        assert done.stdout.split() == ["made"]
    else:
        assert done.returncode == 1 and "crash" in done.stderr and "made" not in done.stdout


def test_no_build_has_flags_of_its_own():
    """The flags that results depend on stand in one place."""
    for name in ("CMakeLists.txt", "tools/build_inplace.py"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for flag in ("-ffp-contract", "-fwrapv", "annotation_typing", "-mavx2", "-O3"):
            assert flag not in text, (name, flag)


def test_a_wheel_that_lacks_something_is_refused(tmp_path):
    licence = "numloom-0.2.0.dist-info/licenses/LICENSE"
    whole = ["numloom/py.typed", "numloom/emit/include/core.hpp", "numloom/base/tracebacks.h", licence]
    core = "numloom/array/ndarray.cpython-311-x86_64-linux-gnu.so"
    for names, lacks in (
        (whole + [core], ""),
        (whole, "the compiled core"),
        ([*whole[1:], core], "numloom/py.typed"),
        ([*whole[:-1], core], "LICENSE"),
        ([*whole, core, "numloom.libs/libgomp-a34b3233.so.1.0.0"], "a licence of libgomp"),
    ):
        wheel = tmp_path / "numloom.whl"
        with zipfile.ZipFile(wheel, "w") as file:
            for name in names:
                file.writestr(name, "")
        command = [sys.executable, str(TOOLS / "build_wheel.py"), "--check", str(wheel)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == bool(lacks) and lacks in done.stderr


def test_modules_need_no_library_that_a_wheel_would_bundle():
    """What they need is there on every system of a manylinux wheel; another one would come with a licence."""
    if shutil.which("readelf") is None:
        pytest.skip("no readelf")
    modules = sorted((ROOT / "src" / "numloom").rglob("*.so"))
    if not modules:
        pytest.skip("the core is not compiled")
    told = subprocess.run(["readelf", "-d", *modules], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", told))
    assert needed <= {
        "libc.so.6", "libm.so.6", "libpthread.so.0", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
    }  # fmt: skip


def test_every_module_includes_what_cuts_tracebacks():
    pytest.importorskip("Cython", reason="the build asks for it")
    cmake = (ROOT / "CMakeLists.txt").read_text()
    assert "-include ${package}/${included}" in cmake
    done = subprocess.run([sys.executable, TOOLS / "build_options.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    included = done.stdout.partition("set(included ")[2].partition(")")[0]
    assert (ROOT / "src" / "numloom" / included).is_file()


@pytest.mark.slow
def test_a_module_is_translated_once(tmp_path):
    """A later build takes it, unless the module or what it is translated with is another."""
    pytest.importorskip("Cython", reason="the build asks for it")
    kept = tmp_path / "kept"

    def translated(text: str, *options: str) -> str:
        source = tmp_path / "some.pyx"
        source.write_text(text)
        command = [sys.executable, TOOLS / "translate.py", *options, source, tmp_path / "some.c"]
        environment = {**os.environ, "NUMLOOM_TRANSLATED": str(kept)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return (tmp_path / "some.c").read_text()

    first = translated("cdef int one = 1\n")
    assert "one" in first and len(list(kept.iterdir())) == 1
    next(kept.iterdir()).write_text("taken")
    assert translated("cdef int one = 1\n") == "taken"
    assert translated("cdef int two = 2\n") != "taken"
    assert translated("cdef int one = 1\n", "--cplus") != "taken"
    assert len(list(kept.iterdir())) == 3
