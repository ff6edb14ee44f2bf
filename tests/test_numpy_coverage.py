"""The page of NumPy's names is what its tool would write today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_is_up_to_date() -> None:
    written = re.search(r"from NumPy (\d+\.\d+)", (ROOT / "docs" / "numpy-coverage.md").read_text(encoding="utf-8"))
    assert written is not None
    if not np.__version__.startswith(written[1] + ".") or not hasattr(np, "complex256"):
        pytest.skip(f"the page is of NumPy {written[1]} on Linux with 80-bit numbers")
    tool = subprocess.run(
        [sys.executable, ROOT / "tools" / "numpy_coverage.py", "--check"], capture_output=True, text=True, check=False
    )
    assert not tool.returncode, f"run python tools/numpy_coverage.py:\n{tool.stdout}{tool.stderr}"
