"""Modules that are imported when they are asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from numloom.base import later


def modules_after(program: str) -> set[str]:
    told = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stdout.split())


def test_a_module_is_imported_once_and_then_acted_upon(monkeypatch, tmp_path):
    (tmp_path / "asked_for_later.py").write_text("number = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    acts = []
    monkeypatch.setattr(later, "_afterwards", [lambda: acts.append("asked_for_later" in sys.modules)])
    try:
        assert later.load("asked_for_later").number == 3
        assert later.load("asked_for_later") is sys.modules["asked_for_later"]
    finally:
        del sys.modules["asked_for_later"]
    assert acts == [True]


def test_a_module_that_stands_in_is_imported_when_something_of_it_is_asked_for():
    program = """
from numloom.base.later import Later
wave = Later("wave")
assert "wave" not in sys.modules
assert wave.Error is sys.modules["wave"].Error
try:
    wave.nothing
except AttributeError as error:
    assert "nothing" in str(error)
else:
    raise AssertionError
"""
    assert "wave" in modules_after(program)


def test_what_few_programs_need_is_not_imported_at_the_start():
    rare = ("compiled", "cuda", "fft", "kernels", "linalg", "polynomial", "random", "sparse", "special", "testing")
    found = modules_after("import numloom")
    assert not found & {*(f"numloom.{name}" for name in rare), "cuda.bindings.driver", "numloom.device.cuda.backend"}
    assert not found & {"numloom.plan.plan", "numloom.plan.program", "numloom.emit.emit", "numloom.engine.explain"}
    slow = {
        "concurrent.futures",
        "difflib",
        "hashlib",
        "json",
        "logging",
        "pathlib",
        "shutil",
        "subprocess",
        "tempfile",
    }
    assert not (found - modules_after("import numpy")) & slow
    used = modules_after(
        "import numloom as nl\nassert nl.fft.fft and nl.poly1d and nl.ElementwiseKernel and nl.special.erf"
    )
    assert {"numloom.fft", "numloom.polynomial.poly1d", "numloom.kernels.elementwise", "numloom.special"} <= used


def test_functions_of_later_modules_are_public_whichever_way_they_come():
    program = """
from numloom.fft import fft
import numloom as nl
assert nl.fft.fft is fft and nl.kernel is nl.kernel is vars(nl)["kernel"]
assert type(nl.polyfit) is type(fft) is type(nl.kernel)
assert all(hasattr(f, "__wrapped__") or hasattr(f, "is_door") for f in (fft, nl.polyfit)), "not as users call it"
"""
    modules_after(program)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("libx.so: failed to map segment from shared object", MemoryError),
        ("libx.so: cannot allocate memory in static TLS block", MemoryError),
        ("No module named 'x'", ImportError),
    ],
)
def test_a_module_for_which_there_is_no_memory_is_a_memory_error(said, error, monkeypatch, tmp_path):
    broken = f"""
try:
    raise ImportError({said!r})
except ImportError as error:
    raise ImportError("broken") from error
"""
    (tmp_path / "too_large_now.py").write_text(broken)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(error, match="broken"):
        later.load("too_large_now")
    (tmp_path / "too_large_now.py").write_text("number = 12345\n")
    importlib.invalidate_caches()
    assert later.load("too_large_now").number == 12345
    del sys.modules["too_large_now"]
