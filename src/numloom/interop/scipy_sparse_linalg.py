"""SciPy's sparse linear algebra and graphs: our sparse arrays where those of other libraries are asked for by type."""

from __future__ import annotations

import functools
import sys
from typing import Any

from numloom.interop.scipy_sparse import is_ours, replace, taking_ours

_BY_TYPE = ("scipy.sparse.linalg._dsolve.linsolve", "scipy.sparse.csgraph._laplacian")
_FUNCTIONS = ("expm", "expm_multiply", "inv", "matrix_power")


def register() -> None:
    """Direct solvers and the Laplacian ask by type; functions of matrices do not ask, and are given SciPy's."""
    for name in _BY_TYPE:
        module: Any = sys.modules.get(name)
        theirs = getattr(module, "is_pydata_spmatrix", None)
        if theirs is not None and not hasattr(theirs, "__wrapped__"):
            module.is_pydata_spmatrix = _or_ours(theirs)
    linalg: Any = sys.modules.get("scipy.sparse.linalg")
    for name in _FUNCTIONS:
        function = getattr(linalg, name, None)
        if function is not None and not hasattr(function, "__wrapped__"):
            replace("scipy.sparse.linalg", function, taking_ours(function))


def _or_ours(theirs: Any) -> Any:
    @functools.wraps(theirs)
    def is_foreign(m: Any) -> bool:
        return is_ours(m) or theirs(m)

    return is_foreign


__all__ = ["register"]
