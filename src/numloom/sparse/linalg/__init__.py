"""Solvers, eigenvalues and norms of sparse matrices, by the names of `scipy.sparse.linalg`."""

from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LaplacianNd, MatrixRankWarning, use_solver

from numloom.sparse.linalg.direct import (
    SuperLU,
    eigs,
    eigsh,
    expm,
    expm_multiply,
    factorized,
    funm_multiply_krylov,
    inv,
    is_sptriangular,
    lobpcg,
    matrix_power,
    norm,
    onenormest,
    spbandwidth,
    spilu,
    splu,
    spsolve,
    spsolve_triangular,
    svds,
)  # fmt: skip
from numloom.sparse.linalg.iterative import bicg, cg, cgs, gcrotmk, gmres, lgmres, lsmr, lsqr, qmr, tfqmr
from numloom.sparse.linalg.operator import LinearOperator, aslinearoperator
from numloom.sparse.linalg.recurrences import bicgstab, minres

__all__ = [
    "ArpackError", "ArpackNoConvergence", "LaplacianNd", "LinearOperator", "MatrixRankWarning", "SuperLU",
    "aslinearoperator", "bicg", "bicgstab", "cg", "cgs", "eigs", "eigsh", "expm", "expm_multiply", "factorized",
    "funm_multiply_krylov", "gcrotmk", "gmres", "inv", "is_sptriangular", "lgmres", "lobpcg", "lsmr", "lsqr",
    "matrix_power", "minres", "norm", "onenormest", "qmr", "spbandwidth", "spilu", "splu", "spsolve",
    "spsolve_triangular", "svds", "tfqmr", "use_solver",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
