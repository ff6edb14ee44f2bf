"""Scikit-learn's support vector machines, which ask whether input is sparse before they look at it."""

from __future__ import annotations

import sys
from typing import Any

from numloom.interop.scipy_sparse import taking_ours


def register() -> None:
    """Let them be fitted to our sparse arrays."""
    machine: Any = sys.modules["sklearn.svm._base"].BaseLibSVM  # type: ignore[attr-defined]
    machine.fit = taking_ours(machine.fit)


__all__ = ["register"]
