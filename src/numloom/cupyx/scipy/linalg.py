"""``cupyx.scipy.linalg``: the names that `numloom.linalg` has, and of SciPy's ``tri``, ``tril`` and ``triu``."""

from __future__ import annotations

from typing import Any

from numloom import linalg as ours
from numloom.api.matrices import tri, tril, triu


def __getattr__(name: str) -> Any:
    return getattr(ours, name)


__all__ = ["tri", "tril", "triu"]
