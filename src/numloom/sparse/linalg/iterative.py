"""Solvers that ask for products alone: on a device in our own arrays, so that updates of vectors fuse."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg

from numloom.api.creation import zeros
from numloom.api.elementwise import conj, sqrt, where
from numloom.api.products import vdot
from numloom.array.convert import asarray
from numloom.sparse import host
from numloom.sparse.linalg.operator import aslinearoperator, for_scipy
from numloom.sparse.where import on_device

Array = Any
_BLOCK = 16
"""Steps of conjugate gradients between two looks at the residual, at most."""


def _for_user(callback: Any) -> Any:
    return None if callback is None else lambda x: callback(host.wrap(np.array(x)))


def by_scipy(name: str, A: Any, b: Any, M: Any = None, callback: Any = None, **options: Any) -> Any:
    """One of SciPy's solvers over our buffers."""
    options |= {key: for_scipy(options[key]) for key in ("M1", "M2") if options.get(key) is not None}
    if M is not None:
        options["M"] = for_scipy(M)
    if callback is not None:
        options["callback"] = _for_user(callback)
    given = {key: host.host_value(value) for key, value in options.items()}
    known = host.GivenArrays(b, *options.values())  # Of a right side of zeros SciPy gives that itself.
    return host.wrap(getattr(scipy.sparse.linalg, name)(for_scipy(A), host.host_value(b), **given), known)


def vector_norm(x: Array) -> Array:
    """The Euclidean norm of a vector."""
    return sqrt(vdot(x, x).real)


def system(A: Any, b: Any, x0: Any, M: Any) -> tuple[Any, Any, Array, Array, np.dtype[Any]]:
    """Operator, preconditioner, right side and start of a system of equations, checked."""
    A, b = aslinearoperator(A), asarray(b)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"expected square matrix, but got shape={A.shape}")
    n = A.shape[0]
    if b.shape not in ((n,), (n, 1)):
        raise ValueError(f"shapes of A {A.shape} and b {b.shape} are incompatible")
    dtype = np.result_type(A.dtype, b.dtype, np.float32 if "f" in (A.dtype.char, b.dtype.char) else np.float64)
    M = None if M is None else aslinearoperator(M)
    if M is not None and M.shape != A.shape:
        raise ValueError("matrix and preconditioner have different shapes")
    b = b.reshape(n).astype(dtype)
    x = zeros(n, dtype) if x0 is None else asarray(x0).reshape(n).astype(dtype).copy()
    return A, M, b, x, dtype


def cg(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None,
    M: Any = None, callback: Callable[[Any], Any] | None = None,
) -> tuple[Array, int]:  # fmt: skip
    """Solve ``A x = b`` for a Hermitian, positive definite `A` by conjugate gradients.

    Parameters
    ----------
    A, M : sparse array, array or LinearOperator
        The matrix, and what resembles its inverse.
    b, x0 : array
        The right side, and where to begin.
    rtol, atol : float
        It ends when the residual's norm is at most ``max(rtol * norm(b), atol)``.
    maxiter : int, optional
        The most steps; ten times the number of rows by default.
    callback : callable, optional
        Called with `x` after each step.

    Returns
    -------
    x : ndarray
    info : int
        0, or the number of steps if they did not suffice.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.sparse.diags_array([[2.0, 4.0]], offsets=[0])
    >>> x, info = np.sparse.linalg.cg(a, np.array([2.0, 2.0]))
    >>> x.round(6).tolist(), info
    ([1.0, 0.5], 0)
    """
    if not on_device():
        return by_scipy("cg", A, b, M, callback, x0=x0, rtol=rtol, atol=atol, maxiter=maxiter)  # type: ignore[no-any-return]
    A, M, b, x, _ = system(A, b, x0, M)
    size = float(vector_norm(b))
    if size == 0:
        return b, 0
    limit = max(float(atol), float(rtol) * size)
    steps = 10 * A.shape[0] if maxiter is None else maxiter
    r = b - A.matvec(x) if x0 is not None else b.copy()
    p = before = None
    left, block = steps, 1
    while left > 0:
        # Several steps between two looks at the residual: those after it was small enough change nothing.
        for _ in range(min(block, left)):
            z = r if M is None else M.matvec(r)
            rho = vdot(r, z)
            square = rho.real if M is None else vdot(r, r).real
            live = sqrt(square) > limit
            p = z if p is None else z + (rho / before) * p
            q = A.matvec(p)
            alpha = rho / vdot(p, q)
            x = where(live, x + alpha * p, x)
            r = where(live, r - alpha * q, r)
            before = rho
        if not live:  # A residual of NaN, after a division by 0, is no solution and stays.
            return x, 0 if float(square) == float(square) else steps
        left -= min(block, left)
        if callback is None:
            block = min(2 * block, _BLOCK)
        else:
            callback(x)
    return x, 0 if float(vector_norm(r)) <= limit else steps


def gmres(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, restart: int | None = None,
    maxiter: int | None = None, M: Any = None, callback: Callable[[Any], Any] | None = None,
    callback_type: str | None = None,
) -> tuple[Array, int]:  # fmt: skip
    """Solve ``A x = b`` by generalised minimal residuals, starting anew after `restart` steps.

    Parameters
    ----------
    A, M : sparse array, array or LinearOperator
        The matrix, and what resembles its inverse (applied from the left of the residual's directions).
    b, x0, rtol, atol : optional
        As for `cg`.
    restart : int, optional
        Vectors that are kept; 20 by default.
    maxiter : int, optional
        The most restarts; ten times the number of rows by default.
    callback, callback_type : optional
        As for `scipy.sparse.linalg.gmres`.

    Returns
    -------
    x : ndarray
    info : int
        0, or the number of steps if they did not suffice.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.sparse.csr_array([[2.0, 1.0], [0.0, 4.0]])
    >>> x, info = np.sparse.linalg.gmres(a, np.array([4.0, 4.0]))
    >>> x.round(6).tolist(), info
    ([1.5, 1.0], 0)
    """
    if not on_device() or callback is not None:
        return by_scipy(  # type: ignore[no-any-return]
            "gmres", A, b, M, callback, x0=x0, rtol=rtol, atol=atol, restart=restart, maxiter=maxiter,
            callback_type=callback_type,
        )  # fmt: skip
    A, M, b, x, dtype = system(A, b, x0, M)
    n = A.shape[0]
    size = float(vector_norm(b))
    if size == 0:
        return b, 0
    limit = max(float(atol), float(rtol) * size)
    restart = min(20 if restart is None else restart, n)
    rounds = 10 * n if maxiter is None else maxiter
    taken = 0
    for _ in range(rounds):
        r = b - A.matvec(x)
        beta = float(vector_norm(r))
        if beta <= limit:
            return x, 0
        basis = zeros((restart + 1, n), dtype)
        basis[0] = r / beta
        h = np.zeros((restart + 1, restart), dtype)
        used = 0
        for k in range(restart):
            direction = basis[k] if M is None else M.matvec(basis[k])
            w = A.matvec(direction)
            for _again in range(2):  # Twice is enough: what rounding leaves of the earlier vectors is taken away.
                part = conj(basis[: k + 1]) @ w
                w = w - part @ basis[: k + 1]
                h[: k + 1, k] += part.get()
            h[k + 1, k] = float(vector_norm(w))
            used, taken = k + 1, taken + 1
            right = np.zeros(used + 1, dtype)
            right[0] = beta
            y = np.linalg.lstsq(h[: used + 1, :used], right, rcond=None)[0]
            left = float(np.linalg.norm(right - h[: used + 1, :used] @ y))
            if left <= limit or abs(h[k + 1, k]) <= np.finfo(dtype).eps * beta:
                break
            basis[k + 1] = w / h[k + 1, k].real
        step = asarray(y) @ basis[:used]
        x = x + (step if M is None else M.matvec(step))
    return x, 0 if float(vector_norm(b - A.matvec(x))) <= limit else taken


def _solver(name: str, summary: str) -> Callable[..., Any]:
    theirs = getattr(scipy.sparse.linalg, name)
    taken = inspect.signature(theirs)

    def solve(*args: Any, **options: Any) -> Any:
        given = taken.bind(*args, **options).arguments
        return by_scipy(name, **given)

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"{summary}\n\nAs `scipy.sparse.linalg.{name}`, which runs and asks our matrix for products."
    solve.__signature__ = taken  # type: ignore[attr-defined]
    return solve


bicg = _solver("bicg", "Solve ``A x = b`` by biconjugate gradients.")
cgs = _solver("cgs", "Solve ``A x = b`` by squared conjugate gradients.")
gcrotmk = _solver("gcrotmk", "Solve ``A x = b`` by flexible GCROT(m, k).")
lgmres = _solver("lgmres", "Solve ``A x = b`` by GMRES that keeps what it learnt before a restart.")
qmr = _solver("qmr", "Solve ``A x = b`` by quasi-minimal residuals.")
tfqmr = _solver("tfqmr", "Solve ``A x = b`` by quasi-minimal residuals without the transpose.")
lsqr = _solver("lsqr", "Least squares by Golub and Kahan's bidiagonalisation.")
lsmr = _solver("lsmr", "Least squares, by minimal residuals of the normal equations.")

__all__ = [
    "bicg", "by_scipy", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "lsmr", "lsqr", "qmr", "system", "tfqmr",
    "vector_norm",
]  # fmt: skip
