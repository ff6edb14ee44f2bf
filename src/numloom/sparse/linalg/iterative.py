"""Solvers that ask for products alone: on a device in our own arrays, so that updates of vectors fuse."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse.linalg

from numloom.api.creation import zeros
from numloom.api.elementwise import conj, sqrt, where
from numloom.api.products import vdot
from numloom.array.convert import asarray
from numloom.sparse import host
from numloom.sparse.linalg.operator import LinearOperator, aslinearoperator, for_scipy
from numloom.sparse.where import on_device

Array = Any


def by_scipy(name: str, A: Any, b: Any, M: Any = None, callback: Any = None, **options: Any) -> Any:
    """One of SciPy's solvers over our buffers."""
    options |= {key: for_scipy(options[key]) for key in ("M1", "M2") if options.get(key) is not None}
    if M is not None:
        options["M"] = for_scipy(M)
    if callback is not None:
        options["callback"] = lambda x: callback(host.wrap(np.array(x)))
    given = {key: host.host_value(value) for key, value in options.items()}
    known = host.GivenArrays(b, *options.values())  # Of a right side of zeros SciPy gives that itself.
    return host.wrap(getattr(scipy.sparse.linalg, name)(for_scipy(A), host.host_value(b), **given), known)


def vector_norm(x: Array) -> Array:
    """The Euclidean norm of a vector."""
    return sqrt(vdot(x, x).real)


@dataclass(slots=True)
class System:
    """Equations ``A x = b`` in our arrays: `x` so far, a norm of residuals that is small enough, what became of it."""

    A: LinearOperator
    M: LinearOperator | None
    b: Array
    x: Array
    begun: bool
    dtype: np.dtype[Any]
    limit: float
    info: int = 0

    def residual(self) -> Array:
        """That of `x`."""
        return self.b - self.A.matvec(self.x) if self.begun else self.b.copy()

    def prepared(self, v: Array) -> Array:
        """A vector times what resembles the inverse of `A`."""
        return v if self.M is None else self.M.matvec(v)


def solved(
    norms: Callable[[System], Iterator[Any]], A: Any, b: Any, M: Any, callback: Any, x0: Any, rtol: float,
    maxiter: int | None, atol: float = 0.0, every: int = 1, most: int = 10,
) -> tuple[Array, int]:  # fmt: skip
    """The frame of our solvers: what comes before the first step, between two of them, and after the last.

    `norms` yields the residual's norm at the start and after each step, with `x` in its system; it ends if it cannot go
    on. At most `every` steps lie between two looks at the norm; `most` steps for each row are taken by default.
    """
    A, b, M = aslinearoperator(A), asarray(b), None if M is None else aslinearoperator(M)
    n = A.shape[0]
    if n != A.shape[1]:
        raise ValueError(f"expected square matrix, but got shape={A.shape}")
    if b.shape not in ((n,), (n, 1)):
        raise ValueError(f"shapes of A {A.shape} and b {b.shape} are incompatible")
    if M is not None and M.shape != A.shape:
        raise ValueError("matrix and preconditioner have different shapes")
    dtype = np.result_type(*(x.dtype.char if x.dtype.char in "fdFD" else "d" for x in (A, b)))  # As SciPy's.
    b = b.reshape(n).astype(dtype)
    x = zeros(n, dtype) if x0 is None else asarray(x0).reshape(n).astype(dtype).copy()
    size = float(vector_norm(b))
    if size == 0:
        return b, 0
    steps = most * n if maxiter is None else maxiter
    s, look = System(A, M, b, x, x0 is not None, dtype, max(float(atol), float(rtol) * size)), 0
    for step, norm in enumerate(norms(s)):
        if step and callback is not None:
            callback(s.x)
        if step >= min(look, steps):
            if not float(norm) > s.limit:  # A residual of NaN, after a division by 0, is no solution and stays.
                return s.x, 0 if float(norm) == float(norm) else steps
            if step >= steps:
                return s.x, steps
            look = step + (1 if callback is not None else min(step + 1, every))
    return s.x, s.info


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
    return solved(_cg, A, b, M, callback, x0, rtol, maxiter, atol, every=16)


def _cg(s: System) -> Iterator[Any]:
    r, p, before = s.residual(), None, None
    while True:
        z = s.prepared(r)
        rho = vdot(r, z)
        norm = sqrt(rho.real if s.M is None else vdot(r, r).real)
        yield norm
        live = norm > s.limit  # Steps after the residual was small enough change nothing, so few are looked at.
        p = z if p is None else z + (rho / before) * p
        q = s.A.matvec(p)
        alpha = rho / vdot(p, q)
        s.x = where(live, s.x + alpha * p, s.x)
        r = where(live, r - alpha * q, r)
        before = rho


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
        0, or the number of restarts if they did not suffice.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.sparse.csr_array([[2.0, 1.0], [0.0, 4.0]])
    >>> x, info = np.sparse.linalg.gmres(a, np.array([4.0, 4.0]))
    >>> x.round(6).tolist(), info
    ([1.5, 1.0], 0)
    """
    given = {"x0": x0, "rtol": rtol, "maxiter": maxiter, "atol": atol}
    if not on_device() or callback is not None:
        return by_scipy("gmres", A, b, M, callback, restart=restart, callback_type=callback_type, **given)  # type: ignore[no-any-return]
    return solved(functools.partial(_gmres, restart or 20), A, b, M, None, **given)


def _gmres(restart: int, s: System) -> Iterator[float]:
    n = len(s.b)
    restart = min(restart, n)
    while True:
        r = s.residual()
        beta = float(vector_norm(r))
        yield beta
        basis = zeros((restart + 1, n), s.dtype)
        basis[0] = r / beta
        h = np.zeros((restart + 1, restart), s.dtype)
        for k in range(restart):
            w = s.A.matvec(s.prepared(basis[k]))
            for _again in range(2):  # Twice is enough: what rounding leaves of the earlier vectors is taken away.
                part = conj(basis[: k + 1]) @ w
                w = w - part @ basis[: k + 1]
                h[: k + 1, k] += part.get()
            h[k + 1, k] = float(vector_norm(w))
            used = k + 1
            right = np.zeros(used + 1, s.dtype)
            right[0] = beta
            y = np.linalg.lstsq(h[: used + 1, :used], right, rcond=None)[0]
            left = float(np.linalg.norm(right - h[: used + 1, :used] @ y))
            if left <= s.limit or abs(h[k + 1, k]) <= np.finfo(s.dtype).eps * beta:
                break
            basis[k + 1] = w / h[k + 1, k].real
        s.x, s.begun = s.x + s.prepared(asarray(y) @ basis[:used]), True


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
    "System", "bicg", "by_scipy", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "lsmr", "lsqr", "qmr", "solved", "tfqmr",
    "vector_norm",
]  # fmt: skip
