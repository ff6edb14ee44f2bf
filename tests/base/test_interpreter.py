"""A Python without its lock is refused in one sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from numloom.base.interpreter import require_gil


def test_a_python_with_its_lock_is_taken(monkeypatch):
    require_gil()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    require_gil()


def test_a_python_without_its_lock_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    with pytest.raises(ImportError, match=r"global interpreter lock.*PYTHON_GIL=1"):
        require_gil()


@pytest.mark.slow
def test_the_import_says_so():
    program = "import sys; sys._is_gil_enabled = lambda: False; import numloom"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "ImportError: numloom needs Python's global interpreter lock" in done.stderr.splitlines()[-1]
