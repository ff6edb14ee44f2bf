"""Solvers, eigenvalues and norms of sparse matrices, by the names of `scipy.sparse.linalg`."""

from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, MatrixRankWarning

from numloom.sparse.linalg.direct import (
    SuperLU,
    eigs,
    eigsh,
    expm,
    expm_multiply,
    factorized,
    inv,
    norm,
    onenormest,
    spilu,
    splu,
    spsolve,
    spsolve_triangular,
    svds,
)
from numloom.sparse.linalg.iterative import bicg, bicgstab, cg, gmres, lsmr, lsqr, minres
from numloom.sparse.linalg.operator import LinearOperator, aslinearoperator

__all__ = [
    "ArpackError",
    "ArpackNoConvergence",
    "LinearOperator",
    "MatrixRankWarning",
    "SuperLU",
    "aslinearoperator",
    "bicg",
    "bicgstab",
    "cg",
    "eigs",
    "eigsh",
    "expm",
    "expm_multiply",
    "factorized",
    "gmres",
    "inv",
    "lsmr",
    "lsqr",
    "minres",
    "norm",
    "onenormest",
    "spilu",
    "splu",
    "spsolve",
    "spsolve_triangular",
    "svds",
]


def __dir__() -> list[str]:
    return __all__
