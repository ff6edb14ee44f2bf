"""Lets the tests of this folder import their own modules and those of the emitter."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "emit")]
