"""SciPy's sparse classes and what joins matrices: each takes ours and gives SciPy's."""

from __future__ import annotations

import functools
import sys
from typing import Any

from numloom.interop.scipy_sparse import is_ours, replace, taking_ours

_BASES = {
    "_bsr": "_bsr_base",
    "_compressed": "_cs_matrix",
    "_coo": "_coo_base",
    "_dia": "_dia_base",
    "_dok": "_dok_base",
    "_lil": "_lil_base",
}


_JOINS = ("block_array", "block_diag", "bmat", "hstack", "kron", "kronsum", "save_npz", "vstack")


def register() -> None:
    """Let the constructors take a copy of our matrices, and joins take ours among others."""
    theirs: Any = sys.modules["scipy.sparse"]
    for name in _JOINS:
        function = getattr(theirs, name, None)
        if function is not None:
            replace("scipy.sparse", function, taking_ours(function))
    for module, name in _BASES.items():
        base: Any = getattr(sys.modules[f"scipy.sparse.{module}"], name)
        base.__init__ = _with_ours(base.__init__)


def _with_ours(init: Any) -> Any:
    @functools.wraps(init)
    def __init__(self: Any, arg1: Any, *args: Any, **options: Any) -> None:
        init(self, arg1.to_scipy_sparse().copy() if is_ours(arg1) else arg1, *args, **options)

    return __init__


__all__ = ["register"]
