"""Solvers of short recurrences in our own arrays: stabilised biconjugate gradients, minimal residuals."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy

from numloom.api.creation import zeros
from numloom.api.products import vdot
from numloom.sparse.linalg.iterative import System, by_scipy, solved, vector_norm
from numloom.sparse.where import on_device

Array = Any

WIDENS = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18)
"""Whether SciPy's `minres` gives float64 for float32."""


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None,
    M: Any = None, callback: Callable[[Any], Any] | None = None,
) -> tuple[Array, int]:  # fmt: skip
    """Solve ``A x = b`` by stabilised biconjugate gradients (H. van der Vorst, 1992).

    Parameters
    ----------
    A, b, x0, rtol, atol, maxiter, M, callback
        As for `cg`, but for any square `A`.

    Returns
    -------
    x : ndarray
    info : int
        0, the number of steps if they did not suffice, or -10 or -11 if a product that it divides by vanished.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.sparse.csr_array([[2.0, 1.0], [0.0, 4.0]])
    >>> x, info = np.sparse.linalg.bicgstab(a, np.array([4.0, 4.0]))
    >>> x.round(6).tolist(), info
    ([1.5, 1.0], 0)
    """
    if not on_device():
        return by_scipy("bicgstab", A, b, M, callback, x0=x0, rtol=rtol, atol=atol, maxiter=maxiter)  # type: ignore[no-any-return]
    return solved(_bicgstab, A, b, M, callback, x0, rtol, maxiter, atol)


def _bicgstab(s: System) -> Iterator[Any]:
    tiny = np.finfo(s.dtype).eps ** 2
    shadow = r = s.residual()
    p: Array = None
    v: Array = None
    before = alpha = omega = 1
    while True:
        yield vector_norm(r)
        rho = vdot(shadow, r)
        s.info = -10 if abs(complex(rho)) < tiny else -11 if abs(complex(omega)) < tiny else 0
        if s.info:
            return
        p = r if p is None else r + (rho / before) * (alpha / omega) * (p - omega * v)
        direction = s.prepared(p)
        v = s.A.matvec(direction)
        along = vdot(shadow, v)
        if complex(along) == 0:
            s.info = -11
            return
        alpha = rho / along
        r = r - alpha * v
        s.x = s.x + alpha * direction
        if float(vector_norm(r)) <= s.limit:
            return
        second = s.prepared(r)
        t = s.A.matvec(second)
        omega = vdot(t, r) / vdot(t, t)
        s.x = s.x + omega * second
        r = r - omega * t
        before = rho


def minres(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, shift: float = 0.0, maxiter: int | None = None,
    M: Any = None, callback: Callable[[Any], Any] | None = None, show: bool = False, check: bool = False,
) -> tuple[Array, int]:  # fmt: skip
    """Solve ``(A - shift) x = b`` for a symmetric `A` by minimal residuals (C. Paige and M. Saunders, 1975).

    Parameters
    ----------
    A, b, x0, M, callback
        As for `cg`; `A` may be indefinite, `M` may not.
    rtol : float
        It ends when the residual is so small beside the norms of `A` and `x`.
    shift : float
        What is taken from the diagonal.
    maxiter : int, optional
        The most steps; five times the number of rows by default.
    show, check : bool
        Print what happens; look whether `A` and `M` are symmetric. With them SciPy's own runs.

    Returns
    -------
    x : ndarray
    info : int
        0, or the number of steps if they did not suffice.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.sparse.diags_array([[2.0, -4.0]], offsets=[0])
    >>> x, info = np.sparse.linalg.minres(a, np.array([2.0, 2.0]))
    >>> x.round(6).tolist(), info
    ([1.0, -0.5], 0)
    """
    given = {"x0": x0, "rtol": rtol, "maxiter": maxiter}
    if not on_device() or show or check:
        return by_scipy("minres", A, b, M, callback, shift=shift, show=show, check=check, **given)  # type: ignore[no-any-return]
    return solved(functools.partial(_minres, float(rtol), shift), A, b, M, callback, most=5, **given)


def _minres(rtol: float, shift: float, s: System) -> Iterator[float]:
    """Its own measures say when it ends: of the residual beside `A` and `x`, and of what rounding allows."""
    if s.dtype.kind == "c":
        raise TypeError("minres is for real symmetric matrices here; use cg or gmres for complex ones")
    eps = float(np.finfo(s.dtype).eps)
    s.b = s.b.astype(np.float64)
    if WIDENS:
        s.x = s.x.astype(np.float64)
    u = s.residual()
    y = s.prepared(u)
    square = float(vdot(u, y).real)
    if square < 0:
        raise ValueError("indefinite preconditioner")
    if square == 0:
        return
    # Lanczos' vectors u and their lengths beta; T is made triangular by rotations (cos, sin).
    beta = first = left = math.sqrt(square)
    before_u, before_beta = None, 0.0
    cos, sin, above, corner = -1.0, 0.0, 0.0, 0.0
    norm2, largest, smallest, done = 0.0, 0.0, float(np.finfo(s.dtype).max), False
    d1 = d2 = zeros(len(s.b))
    while True:
        yield 0.0 if done else math.inf
        v = y / beta
        y = s.A.matvec(v)
        if shift:
            y = y - shift * v
        if before_u is not None:
            y = y - (beta / before_beta) * before_u
        alpha = float(vdot(v, y).real)
        y = y - (alpha / beta) * u
        before_u, u = u, y
        y = s.prepared(u)
        before_beta, square = beta, float(vdot(u, y).real)
        if square < 0:
            raise ValueError("non-symmetric matrix")
        beta = math.sqrt(square)
        norm2 += alpha**2 + before_beta**2 + beta**2
        alone = largest == 0 and beta <= 10 * eps * first  # b is an eigenvector
        two_above, over = above, cos * corner + sin * alpha
        bar, above, corner = sin * corner - cos * alpha, sin * beta, -cos * beta
        root = math.hypot(bar, corner)
        gamma = max(math.hypot(bar, beta), eps)
        cos, sin = bar / gamma, beta / gamma
        along, left = cos * left, sin * left
        d1, d2 = d2, (v - two_above * d1 - over * d2) / gamma
        s.x = (s.x + along * d2).astype(s.x.dtype)
        largest, smallest = max(largest, gamma), min(smallest, gamma)
        size, length = math.sqrt(norm2), float(vector_norm(s.x))
        small = max(rtol, eps / 2) * size  # for the residual beside `A` and `x`, and for its gradient beside `A`
        done = alone or (left <= small * length and length > 0) or root <= small
        done = done or size * length * eps >= first or largest >= 0.1 / eps * smallest


__all__ = ["bicgstab", "minres"]
