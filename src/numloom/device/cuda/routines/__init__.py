"""Device-wide routines on CUDA, by the names of `numloom.ops.routines`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ROUTINES: dict[str, Callable[..., Any]] = {}
