"""Scikit-learn, whose estimators look at all input by one function: our sparse arrays become SciPy's there.

It gets copies, since its estimators may bring a matrix in order or scale it in place.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from numloom.interop.scipy_sparse import is_ours, replace


def register() -> None:
    """Let its check of arrays take ours."""
    theirs: Any = sys.modules["sklearn.utils.validation"].check_array  # type: ignore[attr-defined]

    @functools.wraps(theirs)
    def check_array(array: Any, *args: Any, **options: Any) -> Any:
        return theirs(array.to_scipy_sparse().copy() if is_ours(array) else array, *args, **options)

    replace("sklearn", theirs, check_array)


__all__ = ["register"]
