"""Direct solvers, eigenvalues, norms and exponentials: SciPy's, over our buffers (on a GPU with counted copies)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from numloom.api.elementwise import sqrt
from numloom.sparse import host
from numloom.sparse.base import SparseBase
from numloom.sparse.linalg.operator import for_scipy
from numloom.sparse.where import on_device


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
    if on_device() and isinstance(x, SparseBase) and x.ndim == 2 and 0 not in x.shape:
        whole = axis is None or (isinstance(axis, tuple) and set(axis) in ({0, 1}, {-1, -2}))
        if whole and ord in (None, "fro"):
            return _length(_as_norms(x, ord, axis)._deduped())
        if whole and ord in (1, -1, np.inf, -np.inf):
            sums = abs(_as_norms(x, ord, axis)).sum(axis=0 if abs(ord) == 1 else 1).ravel()
            return sums.max() if ord > 0 else sums.min()
        if type(axis) is int and -2 <= axis < 2 and ord in (None, 2):
            squares = _as_norms(x, ord, axis)._mapped(lambda data: (data * data.conj()).real)
            return sqrt(squares.sum(axis=axis).ravel())
    return host.wrap(scipy.sparse.linalg.norm(_matrix(x), ord, axis))


def _as_norms(x: Any, ord: Any, axis: Any) -> Any:
    """A matrix in the dtype in which SciPy computes such norms of it."""
    return x if x.dtype.kind == "c" else x.astype(np.promote_types(x.dtype, _dtype_of_norms(x.dtype, ord, axis)))


def _dtype_of_norms(dtype: Any, ord: Any, axis: Any) -> Any:
    """SciPy's dtype of a norm, which since 1.18 is float64 for all real numbers."""
    return scipy.sparse.linalg.norm(scipy.sparse.csr_array(np.ones((1, 1), dtype)), ord, axis).dtype


def _length(x: Any) -> Any:
    squares = (x * x.conj()).real if x.dtype.kind in "fc" else x.astype(np.float64) ** 2
    return sqrt(squares.sum())


def onenormest(A: Any, **options: Any) -> Any:
    """A lower bound of the 1-norm; options are those of `scipy.sparse.linalg.onenormest`."""
    return host.wrap(scipy.sparse.linalg.onenormest(for_scipy(A), **options))


def matrix_power(A: Any, power: int) -> Any:
    """A square matrix times itself, so many times."""
    return host.call(scipy.sparse.linalg.matrix_power, A, power)


def spbandwidth(A: Any) -> tuple[int, int]:
    """How many diagonals below and above the main one have stored numbers.

    Examples
    --------
    >>> import numloom as np
    >>> np.sparse.linalg.spbandwidth(np.sparse.csr_array([[1, 0, 2], [0, 3, 0]]))
    (0, 2)
    """
    lower, upper = host.call(scipy.sparse.linalg.spbandwidth, A)
    return int(lower), int(upper)


def is_sptriangular(A: Any) -> tuple[bool, bool]:
    """Whether a matrix is lower, and upper, triangular."""
    lower, upper = host.call(scipy.sparse.linalg.is_sptriangular, A)
    return bool(lower), bool(upper)


def lobpcg(A: Any, X: Any, B: Any = None, M: Any = None, Y: Any = None, *args: Any, **options: Any) -> Any:
    """Some eigenvalues and vectors of a symmetric matrix, from a first guess of the vectors.

    As `scipy.sparse.linalg.lobpcg`, which runs and asks our matrix for products.
    """
    given = (for_scipy(A), np.array(host.host_value(X)), for_scipy(B), for_scipy(M), host.host_value(Y))
    return host.wrap(scipy.sparse.linalg.lobpcg(*given, *args, **options))


def funm_multiply_krylov(f: Callable[[Any], Any], A: Any, b: Any, **options: Any) -> Any:
    """A function of a matrix times a vector, by Krylov spaces; `f` is given small dense arrays of NumPy's.

    As `scipy.sparse.linalg.funm_multiply_krylov`, which runs and asks our matrix for products.
    """
    return host.wrap(scipy.sparse.linalg.funm_multiply_krylov(f, for_scipy(A), host.host_value(b), **options))


__all__ = [
    "SuperLU", "eigs", "eigsh", "expm", "expm_multiply", "factorized", "funm_multiply_krylov", "inv",
    "is_sptriangular", "lobpcg", "matrix_power", "norm", "onenormest", "spbandwidth", "spilu", "splu", "spsolve",
    "spsolve_triangular", "svds",
]  # fmt: skip
