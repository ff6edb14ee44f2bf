"""Lets the tests of this folder import `injection` and `fault_programs`; what their collections look at."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _collect_only_what_is_new() -> Any:
    """Each fault is followed by a collection, which looks at nothing that was there before the test."""
    gc.collect()
    gc.freeze()
    yield
