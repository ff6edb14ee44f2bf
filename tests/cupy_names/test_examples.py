"""The programs of examples/cupy_programs run unchanged, with ``import cupy`` served by numloom."""

import subprocess
import sys
from pathlib import Path

import pytest

from numloom.device import registry

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "cupy_programs").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_with_cupy_served(example):
    device = "cuda" if registry.current().discrete else "cpu"
    done = subprocess.run(
        [sys.executable, "-m", "numloom", "run", "--cupy", "--device", device, str(example)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
