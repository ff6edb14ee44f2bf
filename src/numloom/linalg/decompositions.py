"""Factorisations: Cholesky, QR, eigenvalues, singular values."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from numloom.api.at_once import at_once
from numloom.api.elementwise import absolute, conjugate, copysign, isfinite
from numloom.api.indexing import take_along_axis
from numloom.api.reductions import all as all_true
from numloom.api.reductions import any as any_true
from numloom.api.sorting import argsort, sort
from numloom.array.convert import asarray
from numloom.array.ndarray import node_of
from numloom.base.dtypes import KINDS
from numloom.base.release import FROM_2_5
from numloom.graph.node import tracing
from numloom.linalg.arguments import factored, matrices, square_matrices, working_code
from numloom.ops.factorizations import SMALL

Array = Any


class QRResult(NamedTuple):
    """Factors of `qr`."""

    Q: Array
    R: Array


class EigResult(NamedTuple):
    """Eigenvalues and vectors of `eig`."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Eigenvalues and vectors of `eigh`."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """Factors of `svd`."""

    U: Array
    S: Array
    Vh: Array


@at_once(lambda a: np.linalg.cholesky(a), most=SMALL)
def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    """The Cholesky factor of Hermitian, positive definite matrices.

    Parameters
    ----------
    a : array_like of shape (..., n, n)
        Matrices; only their lower triangle is read, with `upper` only their upper one.
    upper : bool
        Give the upper factor, ``a = U.conj().mT @ U``, instead of the lower one, ``a = L @ L.conj().mT``.

    Returns
    -------
    ndarray of shape (..., n, n)

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite.

    Examples
    --------
    >>> import numloom as np
    >>> np.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    array([[2., 0.],
           [1., 2.]])
    """
    array = square_matrices(a)
    return factored("cholesky", array, working_code(array), upper=bool(upper))[0]


def qr(a: Any, mode: str = "reduced") -> Any:
    """Matrices as products of orthonormal columns and an upper triangle.

    Parameters
    ----------
    a : array_like of shape (..., m, n)
        Matrices.
    mode : {"reduced", "complete", "r", "raw"}
        With k = min(m, n): factors of shapes (m, k) and (k, n), or (m, m) and (m, n); the triangle alone; or
        LAPACK's reflectors (n, m), one a row, and their k scales.

    Returns
    -------
    QRResult, ndarray or tuple of ndarray
        ``(Q, R)``; R for "r"; ``(h, tau)`` for "raw".

    Raises
    ------
    LinAlgError
        If `a` has fewer than two dimensions.
    ValueError
        For an unknown mode.
    """
    if mode in ("f", "full"):
        warnings.warn(
            "The 'full' option is deprecated in favor of 'reduced'.\nFor backward compatibility let mode default.",
            DeprecationWarning,
            stacklevel=2,
        )
        mode = "reduced"
    elif mode in ("e", "economic"):
        warnings.warn("The 'economic' option is deprecated.", DeprecationWarning, stacklevel=2)
        mode = "economic"
    elif mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    array = matrices(a)
    found = factored("qr", array, working_code(array), mode="raw" if mode == "economic" else mode)
    if mode == "economic":
        return found[0].mT
    if mode == "r":
        return found[0]
    return found if mode == "raw" else QRResult(*found)


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues and vectors of Hermitian (or real symmetric) matrices.

    Parameters
    ----------
    a : array_like of shape (..., n, n)
        Matrices.
    UPLO : {"L", "U"}
        The triangle that is read.

    Returns
    -------
    EighResult
        ``eigenvalues`` (..., n), real and ascending; ``eigenvectors`` (..., n, n), orthonormal, one a column.

    Raises
    ------
    LinAlgError
        If the computation does not converge.

    Examples
    --------
    >>> import numloom as np
    >>> np.linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues
    array([1., 3.])
    """
    return EighResult(*_hermitian(a, UPLO, vectors=True))


def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """Eigenvalues of Hermitian (or real symmetric) matrices, ascending; arguments as for `eigh`."""
    return _hermitian(a, UPLO, vectors=False)[0]


def _hermitian(a: Any, triangle: str, vectors: bool) -> tuple[Array, ...]:
    triangle = triangle.upper()
    if triangle not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    array = square_matrices(a)
    return factored("eigh", array, working_code(array), lower=triangle == "L", vectors=vectors)


def eig(a: Any) -> EigResult:
    """Eigenvalues and right eigenvectors of square matrices.

    Results are complex; with NumPy 2.4, as there, those for real matrices are real where all eigenvalues are.

    Parameters
    ----------
    a : array_like of shape (..., n, n)
        Matrices.

    Returns
    -------
    EigResult
        ``eigenvalues`` (..., n), in no order; ``eigenvectors`` (..., n, n), of length one, one a column.

    Raises
    ------
    LinAlgError
        If `a` holds NaN or infinity, or the computation does not converge.
    """
    return EigResult(*_general(a, vectors=True))


def eigvals(a: Any) -> Array:
    """Eigenvalues of square matrices; arguments and errors as for `eig`."""
    return _general(a, vectors=False)[0]


def _general(a: Any, vectors: bool) -> tuple[Array, ...]:
    array = square_matrices(a)
    code = working_code(array)
    waits = node_of(array).tree or tracing()  # Then nobody can look: eigenvalues are complex.
    if not waits and not bool(all_true(isfinite(array))):
        raise LinAlgError("Array must not contain infs or NaNs")
    found = factored("eig", array, code, vectors=vectors)
    if not FROM_2_5 and not waits and KINDS[code] == "f" and not bool(any_true(found[0].imag)):
        found = tuple(each.real.copy() for each in found)
    return found


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular values and vectors: ``a = U @ diag(S) @ Vh``.

    Parameters
    ----------
    a : array_like of shape (..., m, n)
        Matrices.
    full_matrices : bool
        Give square U (m, m) and Vh (n, n) instead of their first k = min(m, n) columns and rows.
    compute_uv : bool
        Give the vectors too.
    hermitian : bool
        Take `a` for Hermitian, which is faster.

    Returns
    -------
    SVDResult or ndarray
        ``(U, S, Vh)``, or S (..., k), descending, alone.

    Raises
    ------
    LinAlgError
        If the computation does not converge.
    """
    if hermitian:
        if not compute_uv:
            return sort(absolute(eigvalsh(a)))[..., ::-1]
        # Of a = V diag(w) V^H: the magnitudes of w, their signs moved into the right vectors.
        values, u = eigh(a)
        sign, s = copysign(1.0, values), absolute(values)
        order = argsort(s)[..., ::-1]
        sign, s = take_along_axis(sign, order, -1), take_along_axis(s, order, -1)
        u = take_along_axis(u, order[..., None, :], -1)
        return SVDResult(u, s, conjugate((u * sign[..., None, :].astype(u.dtype)).mT))
    array = matrices(a)
    found = factored("svd", array, working_code(array), full=bool(full_matrices), vectors=bool(compute_uv))
    return SVDResult(*found) if compute_uv else found[0]


def svdvals(x: Any, /) -> Array:
    """Singular values of matrices, descending."""
    return svd(asarray(x), compute_uv=False)


__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "cholesky",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "qr",
    "svd",
    "svdvals",
]
