"""Factorisations and dense linear algebra, written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


def well_conditioned(n: int, seed: int) -> np.ndarray[Any, Any]:
    """A matrix with a heavy diagonal."""
    return np.random.default_rng(seed).random((n, n)) + n * np.eye(n)


def positive_definite(n: int, seed: int) -> np.ndarray[Any, Any]:
    """A symmetric matrix with positive eigenvalues."""
    b = np.random.default_rng(seed).standard_normal((n, n))
    return b @ b.T / n + np.eye(n)


@program(tiny=6, sizes=(60, 120, 250), rtol=1e-10)
def gram_schmidt_classical(xp: Any, n: int, seed: int) -> Any:
    """Each column less its projection on the ones before, by growing slices."""
    a = xp.asarray(well_conditioned(n, seed))
    q = xp.zeros_like(a)
    for k in range(n):
        v = a[:, k] - q[:, :k] @ (q[:, :k].T @ a[:, k])
        q[:, k] = v / xp.linalg.norm(v)
    return q


@program(tiny=6, sizes=(16, 30, 80), rtol=1e-10)
def gram_schmidt_modified(xp: Any, n: int, seed: int) -> Any:
    """Each new column is taken out of the ones that follow."""
    a = xp.asarray(well_conditioned(n, seed))
    q, r = xp.zeros((n, n)), xp.zeros((n, n))
    for k in range(n):
        r[k, k] = xp.sqrt(xp.sum(a[:, k] * a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = q[:, k] @ a[:, j]
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


@program(tiny=6, sizes=(80, 200, 400), rtol=1e-10)
def cholesky_columns(xp: Any, n: int, seed: int) -> Any:
    """Cholesky factor, a column at a time."""
    a = xp.asarray(positive_definite(n, seed))
    l = xp.zeros((n, n))
    for j in range(n):
        column = a[j:, j] - l[j:, :j] @ l[j, :j]
        l[j:, j] = column / xp.sqrt(column[0])
    return l


@program(tiny=5, sizes=(25, 50, 120), rtol=1e-10)
def cholesky_elements(xp: Any, n: int, seed: int) -> Any:
    """Cholesky factor, an element at a time."""
    a = xp.asarray(positive_definite(n, seed))
    l = xp.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - xp.dot(l[i, :j], l[j, :j])
            l[i, j] = xp.sqrt(s) if i == j else s / l[j, j]
    return l


@program(tiny=6, sizes=(16, 50, 100), rtol=1e-10)
def lu_elements(xp: Any, n: int, seed: int) -> Any:
    """Both factors in place, an element at a time."""
    a = xp.asarray(well_conditioned(n, seed))
    for j in range(n):
        for i in range(n):
            m = min(i, j)
            if m:
                a[i, j] -= a[i, :m] @ a[:m, j]
            if i > j:
                a[i, j] /= a[j, j]
    return a


@program(tiny=6, sizes=(35, 100, 200), rtol=1e-8)
def lu_pivoting(xp: Any, n: int, seed: int) -> Any:
    """Both factors by outer products, with the largest pivot of each column."""
    a = xp.asarray(np.random.default_rng(seed).standard_normal((n, n)))
    order = xp.arange(n)
    for k in range(n - 1):
        p = k + int(xp.argmax(xp.abs(a[k:, k])))
        if p != k:
            a[[k, p]] = a[[p, k]]
            order[[k, p]] = order[[p, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= xp.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, order


@program(tiny=6, sizes=(20, 60, 150), rtol=1e-9)
def qr_householder(xp: Any, n: int, seed: int) -> Any:
    """Reflections on ever smaller corners."""
    r = xp.asarray(np.random.default_rng(seed).standard_normal((n + 4, n)))
    q = xp.eye(n + 4)
    for k in range(n):
        x = r[k:, k]
        v = x.copy()
        v[0] += xp.copysign(xp.linalg.norm(x), x[0])
        v /= xp.linalg.norm(v)
        r[k:, k:] -= 2 * xp.outer(v, v @ r[k:, k:])
        q[:, k:] -= 2 * xp.outer(q[:, k:] @ v, v)
    return q, r


@program(tiny=5, sizes=(15, 30, 80), rtol=1e-9)
def qr_givens(xp: Any, n: int, seed: int) -> Any:
    """Rotations of pairs of rows."""
    r = xp.asarray(np.random.default_rng(seed).standard_normal((n, n)))
    for j in range(n):
        for i in range(n - 1, j, -1):
            x, y = float(r[i - 1, j]), float(r[i, j])
            h = np.hypot(x, y)
            g = xp.asarray([[x / h, y / h], [-y / h, x / h]])
            r[i - 1 : i + 1, j:] = g @ r[i - 1 : i + 1, j:]
    return xp.triu(r)


@program(tiny=8, sizes=(120, 400, 1500), rtol=1e-10)
def triangular_solves(xp: Any, n: int, seed: int) -> Any:
    """Forward and backward substitution."""
    rng = np.random.default_rng(seed)
    host = rng.random((n, n)) + n * np.eye(n)
    a, b = xp.asarray(host), xp.asarray(rng.random(n))
    y = xp.zeros(n)
    for i in range(n):
        y[i] = (b[i] - a[i, :i] @ y[:i]) / a[i, i]
    x = xp.zeros(n)
    for i in reversed(range(n)):
        x[i] = (y[i] - xp.dot(a[i, i + 1 :], x[i + 1 :])) / a[i, i]
    return x


@program(tiny=6, sizes=(20, 50, 120), rtol=1e-10)
def triangular_product(xp: Any, n: int, seed: int) -> Any:
    """A product with a triangular matrix, in place, by shrinking slices."""
    rng = np.random.default_rng(seed)
    a, b = xp.asarray(np.tril(rng.random((n, n)))), xp.asarray(rng.random((n, n)))
    for i in range(n):
        for j in range(n):
            b[i, j] += xp.dot(a[i + 1 :, i], b[i + 1 :, j])
    return b


@program(tiny=5, sizes=(15, 40, 80), rtol=1e-10)
def rank_two_update(xp: Any, n: int, seed: int) -> Any:
    """A symmetric update of the lower triangle, row by growing row."""
    rng = np.random.default_rng(seed)
    a, b, c = (xp.asarray(rng.random((n, n))) for _ in range(3))
    for i in range(n):
        c[i, : i + 1] *= 0.5
        for k in range(n):
            c[i, : i + 1] += a[: i + 1, k] * 1.5 * b[i, k] + b[: i + 1, k] * 1.5 * a[i, k]
    return c


@program(tiny=6, sizes=(24, 50, 100), rtol=1e-10)
def correlation_pairs(xp: Any, n: int, seed: int) -> Any:
    """Correlations of columns, pair by pair."""
    data = xp.asarray(np.random.default_rng(seed).random((3 * n, n)))
    data -= xp.mean(data, axis=0)
    data /= xp.std(data, axis=0) * np.sqrt(3 * n)
    found = xp.eye(n)
    for i in range(n - 1):
        for j in range(i + 1, n):
            found[i, j] = found[j, i] = (data[:, i] * data[:, j]).sum()
    return found


@program(tiny=5, sizes=(20, 50, 100), rtol=1e-9)
def gauss_jordan(xp: Any, n: int, seed: int) -> Any:
    """The inverse, by rows of the matrix with a unit matrix beside it."""
    a = xp.concatenate([xp.asarray(well_conditioned(n, seed)), xp.eye(n)], axis=1)
    for k in range(n):
        a[k] /= a[k, k].copy()
        for i in range(n):
            if i != k:
                a[i] -= a[i, k] * a[k]
    return a[:, n:]


@program(tiny=12, sizes=(100, 1000, 3000), rtol=1e-9)
def small_matrices(xp: Any, n: int, seed: int) -> Any:
    """Many matrices of three rows, one by one: a product, a determinant, a solution."""
    rng = np.random.default_rng(seed)
    a = xp.asarray(rng.random((n, 3, 3)) + 3 * np.eye(3))
    b = xp.asarray(rng.random((n, 3)))
    x, d = xp.empty((n, 3)), xp.empty(n)
    for i in range(n):
        m = a[i] @ a[i].T
        d[i] = xp.linalg.det(m)
        x[i] = xp.linalg.solve(m, b[i])
    return x, d


@program(tiny=4, sizes=(6, 10, 16), rtol=1e-8)
def jacobi_eigenvalues(xp: Any, n: int, seed: int) -> Any:
    """Plane rotations until what stands off the diagonal is small."""
    a = xp.asarray(positive_definite(n, seed))
    for _ in range(12):
        off = xp.sum((a - xp.diag(xp.diag(a))) ** 2)
        if off < 1e-18:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(a[p, q]) < 1e-12:
                    continue
                theta = 0.5 * np.arctan2(2 * float(a[p, q]), float(a[q, q]) - float(a[p, p]))
                c, s = np.cos(theta), np.sin(theta)
                row_p, row_q = a[p].copy(), a[q].copy()
                a[p], a[q] = c * row_p - s * row_q, s * row_p + c * row_q
                column_p, column_q = a[:, p].copy(), a[:, q].copy()
                a[:, p], a[:, q] = c * column_p - s * column_q, s * column_p + c * column_q
    return xp.sort(xp.diag(a))
