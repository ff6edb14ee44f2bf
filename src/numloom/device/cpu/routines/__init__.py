"""Device-wide routines of the host, over NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ROUTINES: dict[str, Callable[..., Any]] = {}
