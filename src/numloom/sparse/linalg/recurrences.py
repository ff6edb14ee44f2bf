"""Solvers of short recurrences in our own arrays: stabilised biconjugate gradients, minimal residuals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.api.creation import zeros
from numloom.api.products import vdot
from numloom.sparse.linalg.iterative import by_scipy, system, vector_norm
from numloom.sparse.where import on_device

Array = Any


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
    A, M, b, x, dtype = system(A, b, x0, M)
    size = float(vector_norm(b))
    if size == 0:
        return b, 0
    limit = max(float(atol), float(rtol) * size)
    steps = 10 * A.shape[0] if maxiter is None else maxiter
    tiny = np.finfo(dtype).eps ** 2

    def prepared(v: Array) -> Array:
        return v if M is None else M.matvec(v)

    r = b - A.matvec(x) if x0 is not None else b.copy()
    shadow: Array = r
    p: Array = None
    v: Array = None
    before: Any = 1
    alpha: Any = 1
    omega: Any = 1
    for _ in range(steps):
        if float(vector_norm(r)) <= limit:
            return x, 0
        rho = vdot(shadow, r)
        if abs(complex(rho)) < tiny:
            return x, -10
        if p is None:
            p = r
        else:
            if abs(complex(omega)) < tiny:
                return x, -11
            p = r + (rho / before) * (alpha / omega) * (p - omega * v)
        direction = prepared(p)
        v = A.matvec(direction)
        along = vdot(shadow, v)
        if complex(along) == 0:
            return x, -11
        alpha = rho / along
        r = r - alpha * v
        if float(vector_norm(r)) <= limit:
            return x + alpha * direction, 0
        second = prepared(r)
        t = A.matvec(second)
        omega = vdot(t, r) / vdot(t, t)
        x = x + alpha * direction + omega * second
        r = r - omega * t
        before = rho
        if callback is not None:
            callback(x)
    return x, 0 if float(vector_norm(r)) <= limit else steps


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
    if not on_device() or show or check:
        return by_scipy(  # type: ignore[no-any-return]
            "minres", A, b, M, callback, x0=x0, rtol=rtol, shift=shift, maxiter=maxiter, show=show, check=check
        )
    A, M, b, x, dtype = system(A, b, x0, M)
    if dtype.kind == "c":
        raise TypeError("minres is for real symmetric matrices here; use cg or gmres for complex ones")
    b, x = b.astype(np.float64), x.astype(np.float64)  # as SciPy's result is, also of float32
    n = A.shape[0]
    steps = 5 * n if maxiter is None else maxiter
    eps = float(np.finfo(dtype).eps)
    u = b - A.matvec(x) if x0 is not None else b.copy()
    y = u if M is None else M.matvec(u)
    square = float(vdot(u, y).real)
    if square < 0:
        raise ValueError("indefinite preconditioner")
    if square == 0 or float(vector_norm(b)) == 0:
        return (x, 0) if square == 0 else (b, 0)
    # Lanczos' vectors u and their lengths beta; T is made triangular by rotations (cos, sin).
    beta = first = left = math.sqrt(square)
    before_u, before_beta = None, 0.0
    cos, sin, above, corner = -1.0, 0.0, 0.0, 0.0
    d1 = d2 = zeros(n)
    norm2, largest, smallest = 0.0, 0.0, float(np.finfo(dtype).max)
    for step in range(1, steps + 1):
        v = y / beta
        y = A.matvec(v)
        if shift:
            y = y - shift * v
        if before_u is not None:
            y = y - (beta / before_beta) * before_u
        alpha = float(vdot(v, y).real)
        y = y - (alpha / beta) * u
        before_u, u = u, y
        y = u if M is None else M.matvec(u)
        before_beta, square = beta, float(vdot(u, y).real)
        if square < 0:
            raise ValueError("non-symmetric matrix")
        beta = math.sqrt(square)
        norm2 += alpha**2 + before_beta**2 + beta**2
        alone = step == 1 and beta <= 10 * eps * first  # b is an eigenvector
        two_above, over = above, cos * corner + sin * alpha
        bar, above, corner = sin * corner - cos * alpha, sin * beta, -cos * beta
        root = math.hypot(bar, corner)
        gamma = max(math.hypot(bar, beta), eps)
        cos, sin = bar / gamma, beta / gamma
        along, left = cos * left, sin * left
        d1, d2 = d2, (v - two_above * d1 - over * d2) / gamma
        x = x + along * d2
        largest, smallest = max(largest, gamma), min(smallest, gamma)
        size, length = math.sqrt(norm2), float(vector_norm(x))
        residual = left / (size * length) if size and length else math.inf
        gradient = root / size if size else math.inf
        if callback is not None:
            callback(x)
        done = alone or residual <= max(rtol, eps / 2) or gradient <= max(rtol, eps / 2)
        if done or size * length * eps >= first or largest >= 0.1 / eps * smallest:
            return x, 0
    return x, steps


__all__ = ["bicgstab", "minres"]
