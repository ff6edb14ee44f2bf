"""Direct solvers, eigenvalues, norms and exponentials: SciPy's, over our buffers (on a GPU with counted copies)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from numloom.sparse import host
from numloom.sparse.linalg.operator import for_scipy


def _matrix(A: Any) -> Any:
    return host.host_value(A)


def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:
    """Solve ``A x = b`` for a sparse square `A`; `b` is a vector, dense columns or sparse.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.sparse.csc_array([[2.0, 0.0], [1.0, 4.0]])
    >>> np.sparse.linalg.spsolve(a, np.array([2.0, 5.0])).tolist()
    [1.0, 1.0]
    """
    return host.wrap(
        scipy.sparse.linalg.spsolve(_matrix(A), host.host_value(b), permc_spec, use_umfpack), host.GivenArrays(A, b)
    )


def spsolve_triangular(
    A: Any, b: Any, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:  # fmt: skip
    """Solve ``A x = b`` for a triangular `A`; nothing is overwritten."""
    return host.wrap(
        scipy.sparse.linalg.spsolve_triangular(_matrix(A), host.host_value(b), lower, False, False, unit_diagonal),
        host.GivenArrays(A, b),
    )


class SuperLU:
    """Factors of a sparse matrix, made by `splu` or `spilu`."""

    def __init__(self, factors: Any) -> None:
        self._factors = factors
        self.shape = factors.shape
        self.nnz = factors.nnz

    @property
    def L(self) -> Any:
        """The lower factor."""
        return host.wrap(self._factors.L)

    @property
    def U(self) -> Any:
        """The upper factor."""
        return host.wrap(self._factors.U)

    @property
    def perm_r(self) -> Any:
        """The order of the rows."""
        return host.wrap(np.array(self._factors.perm_r))

    @property
    def perm_c(self) -> Any:
        """The order of the columns."""
        return host.wrap(np.array(self._factors.perm_c))

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """The solution for a right side, of the matrix, its transpose ("T") or conjugate transpose ("H")."""
        return host.wrap(self._factors.solve(np.asarray(host.host_value(rhs)), trans))


def splu(A: Any, **options: Any) -> SuperLU:
    """The LU factors of a sparse matrix; options are those of `scipy.sparse.linalg.splu`."""
    return SuperLU(scipy.sparse.linalg.splu(_matrix(A), **options))


def spilu(A: Any, **options: Any) -> SuperLU:
    """Incomplete LU factors of a sparse matrix; options are those of `scipy.sparse.linalg.spilu`."""
    return SuperLU(scipy.sparse.linalg.spilu(_matrix(A), **options))


def factorized(A: Any) -> Callable[[Any], Any]:
    """A function that solves ``A x = b`` by factors made once."""
    solve = scipy.sparse.linalg.factorized(_matrix(A))
    return lambda b: host.wrap(solve(np.asarray(host.host_value(b))))


def inv(A: Any) -> Any:
    """The inverse of a sparse matrix, which is rarely sparse."""
    return host.wrap(scipy.sparse.linalg.inv(_matrix(A)))


def expm(A: Any) -> Any:
    """The exponential of a sparse matrix."""
    return host.wrap(scipy.sparse.linalg.expm(_matrix(A)))


def expm_multiply(A: Any, B: Any, **options: Any) -> Any:
    """The exponential of a matrix times a vector or columns; options are those of SciPy's `expm_multiply`."""
    return host.wrap(
        scipy.sparse.linalg.expm_multiply(for_scipy(A), host.host_value(B), **options), host.GivenArrays(B)
    )


def eigsh(A: Any, k: int = 6, M: Any = None, sigma: Any = None, which: str = "LM", **options: Any) -> Any:
    """Some eigenvalues and vectors of a Hermitian matrix; options are those of `scipy.sparse.linalg.eigsh`."""
    given = {name: for_scipy(value) for name, value in options.items()}
    return host.wrap(scipy.sparse.linalg.eigsh(for_scipy(A), k, for_scipy(M), sigma, which, **given))


def eigs(A: Any, k: int = 6, M: Any = None, sigma: Any = None, which: str = "LM", **options: Any) -> Any:
    """Some eigenvalues and vectors of a square matrix; options are those of `scipy.sparse.linalg.eigs`."""
    given = {name: for_scipy(value) for name, value in options.items()}
    return host.wrap(scipy.sparse.linalg.eigs(for_scipy(A), k, for_scipy(M), sigma, which, **given))


def svds(A: Any, k: int = 6, **options: Any) -> Any:
    """Some singular values and vectors; options are those of `scipy.sparse.linalg.svds`."""
    return host.wrap(scipy.sparse.linalg.svds(for_scipy(A), k, **{n: for_scipy(v) for n, v in options.items()}))


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """A norm of a sparse matrix, or of its rows or columns.

    Examples
    --------
    >>> import numloom as np
    >>> float(np.sparse.linalg.norm(np.sparse.csr_array([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    return host.wrap(scipy.sparse.linalg.norm(_matrix(x), ord, axis))


def onenormest(A: Any, **options: Any) -> Any:
    """A lower bound of the 1-norm; options are those of `scipy.sparse.linalg.onenormest`."""
    return host.wrap(scipy.sparse.linalg.onenormest(for_scipy(A), **options))


__all__ = [
    "SuperLU", "eigs", "eigsh", "expm", "expm_multiply", "factorized", "inv", "norm", "onenormest", "spilu", "splu",
    "spsolve", "spsolve_triangular", "svds",
]  # fmt: skip
