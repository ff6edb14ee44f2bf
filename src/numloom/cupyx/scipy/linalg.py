"""``cupyx.scipy.linalg``: the names that `numloom.linalg` has, ``tri``, ``tril``, ``triu``, and the table's."""

from __future__ import annotations

from typing import Any

from numloom import linalg as ours
from numloom.api.matrices import tri, tril, triu
from numloom.cupyx.scipy.lookup import member


def __getattr__(name: str) -> Any:
    return getattr(ours, name) if name in ours.__all__ else member("linalg", name)


__all__ = ["tri", "tril", "triu"]
