"""``cupy.cublas``: the names of BLAS over arrays. What they record fuses with the rest of the program."""

from __future__ import annotations

from typing import Any

import numloom as np

Array = Any


def _turned(transposed: Any, a: Array) -> Array:
    """A matrix as it is ("N"), transposed ("T"), or that conjugated ("H"); also 0, 1 and 2, as cuBLAS has them."""
    if transposed in ("N", "n", 0):
        return a
    if transposed in ("T", "t", 1):
        return a.T
    if transposed in ("H", "h", "C", "c", 2):
        return a.T.conj()
    raise TypeError(f"a matrix is taken as 'N', 'T' or 'H', got {transposed!r}")


def _checked(ndim: int, *arrays: Array) -> None:
    for array in arrays:
        if array.ndim != ndim or array.dtype.char not in "fdFD" or array.dtype != arrays[0].dtype:
            raise TypeError(
                f"BLAS takes arrays of {ndim} axes and one dtype of float32, float64, complex64 and complex128, "
                f"got {array.ndim} axes of {array.dtype}"
            )


def _given(result: Array, out: Array | None) -> Array:
    if out is None:
        return result
    out[...] = result
    return out


def _size(x: Array) -> Array:
    """Magnitudes, as BLAS counts them: of a complex number the sum of its parts'."""
    return abs(x.real) + abs(x.imag) if x.dtype.kind == "c" else abs(x)


def iamax(x: Array, out: Array | None = None) -> Array:
    """The place, counted from 1, of the element of greatest magnitude.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> int(cp.cublas.iamax(cp.array([1.0, -3.0, 2.0])))
    2
    """
    _checked(1, x)
    return _given((np.argmax(_size(x)) + 1).astype(np.int32), out)


def iamin(x: Array, out: Array | None = None) -> Array:
    """The place, counted from 1, of the element of least magnitude."""
    _checked(1, x)
    return _given((np.argmin(_size(x)) + 1).astype(np.int32), out)


def asum(x: Array, out: Array | None = None) -> Array:
    """The sum of magnitudes."""
    _checked(1, x)
    return _given(_size(x).sum(), out)


def nrm2(x: Array, out: Array | None = None) -> Array:
    """The Euclidean norm."""
    _checked(1, x)
    return _given(np.linalg.norm(x), out)


def axpy(a: Any, x: Array, y: Array) -> None:
    """Add ``a * x`` to `y`, in place.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> y = cp.ones(3)
    >>> cp.cublas.axpy(2.0, cp.arange(3.0), y)
    >>> y
    array([1., 3., 5.])
    """
    _checked(1, x, y)
    y += np.asarray(a, x.dtype) * x


def scal(a: Any, x: Array) -> None:
    """Multiply `x` by a number, in place."""
    _checked(1, x)
    x *= np.asarray(a, x.dtype)


def dot(x: Array, y: Array, out: Array | None = None) -> Array:
    """The product of real vectors."""
    _checked(1, x, y)
    if x.dtype.kind == "c":
        raise TypeError("dot takes real vectors: use dotu or dotc")
    return _given(np.dot(x, y), out)


def dotu(x: Array, y: Array, out: Array | None = None) -> Array:
    """The product of vectors, none of them conjugated."""
    _checked(1, x, y)
    return _given(np.dot(x, y), out)


def dotc(x: Array, y: Array, out: Array | None = None) -> Array:
    """The product of vectors, the first one conjugated."""
    _checked(1, x, y)
    return _given(np.dot(x.conj(), y), out)


def gemv(transa: Any, alpha: Any, a: Array, x: Array, beta: Any, y: Array) -> None:
    """Set `y` to ``alpha * op(a) @ x + beta * y``."""
    _checked(2, a)
    _checked(1, x, y)
    product = np.asarray(alpha, a.dtype) * (_turned(transa, a) @ x)
    y[...] = product + np.asarray(beta, a.dtype) * y


def sbmv(k: int, alpha: Any, a: Array, x: Array, beta: Any, y: Array, lower: bool = False) -> Array:
    """Set `y` to ``alpha * A @ x + beta * y``, A symmetric with `k` diagonals beside the main one; `y` is given back.

    Parameters
    ----------
    k : int
        How many diagonals A has above (and below) the main one.
    alpha, beta : scalar
        Factors.
    a : ndarray
        One row for each diagonal, above which `A` has its column: the main one is the last row and each diagonal ends
        at the last column; with `lower` it is the first row, and each begins at the first column.
    x, y : ndarray
        Vectors.
    lower : bool
        Which diagonals `a` holds.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> a = cp.array([[0.0, 1.0, 2.0], [5.0, 6.0, 7.0]])
    >>> cp.cublas.sbmv(1, 1.0, a, cp.array([1.0, 10.0, 100.0]), 0.0, cp.zeros(3))
    array([ 15., 261., 720.])
    """
    _checked(2, a)
    _checked(1, x, y)
    if a.dtype.kind == "c" or a.dtype != x.dtype:
        raise TypeError(f"sbmv takes real arrays of one dtype, got {a.dtype} and {x.dtype}")
    size = x.size
    if k < 0 or a.shape != (k + 1, size) or y.size != size:
        raise ValueError(f"sbmv takes {k + 1} rows of {size} numbers and a y of {size}, got {a.shape} and {y.size}")
    product = (a[0] if lower else a[k]) * x
    for place in range(1, min(k, size - 1) + 1):
        beside = a[place, :-place] if lower else a[k - place, place:]
        # The diagonal above the main one takes later elements of x, the one below earlier ones.
        product[:-place] += beside * x[place:]
        product[place:] += beside * x[:-place]
    y[...] = np.asarray(alpha, a.dtype) * product + np.asarray(beta, a.dtype) * y
    return y


def ger(alpha: Any, x: Array, y: Array, a: Array) -> None:
    """Add ``alpha * outer(x, y)`` to a real matrix, in place."""
    _checked(2, a)
    if a.dtype.kind == "c":
        raise TypeError("ger takes real arrays: use geru or gerc")
    geru(alpha, x, y, a)


def geru(alpha: Any, x: Array, y: Array, a: Array) -> None:
    """Add ``alpha * outer(x, y)`` to `a`, in place."""
    _checked(1, x, y)
    a += np.asarray(alpha, a.dtype) * np.outer(x, y)


def gerc(alpha: Any, x: Array, y: Array, a: Array) -> None:
    """Add ``alpha * outer(x, y.conj())`` to `a`, in place."""
    geru(alpha, x, y.conj(), a)


def gemm(
    transa: Any, transb: Any, a: Array, b: Array, out: Array | None = None, alpha: Any = 1.0, beta: Any = 0.0
) -> Array:
    """``alpha * op(a) @ op(b) + beta * out``, in `out` if there is one.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> a = cp.arange(6.0).reshape(2, 3)
    >>> cp.cublas.gemm("N", "T", a, a, alpha=2.0)
    array([[ 10.,  28.],
           [ 28., 100.]])
    """
    _checked(2, a, b)
    product = np.asarray(alpha, a.dtype) * (_turned(transa, a) @ _turned(transb, b))
    return _given(product if out is None else product + np.asarray(beta, a.dtype) * out, out)


def geam(transa: Any, transb: Any, alpha: Any, a: Array, beta: Any, b: Array, out: Array | None = None) -> Array:
    """``alpha * op(a) + beta * op(b)``."""
    _checked(2, a, b)
    first = np.asarray(alpha, a.dtype) * _turned(transa, a)
    return _given(first + np.asarray(beta, a.dtype) * _turned(transb, b), out)


def dgmm(side: str, a: Array, x: Array, out: Array | None = None, incx: int = 1) -> Array:
    """``diag(x) @ a`` (side ``"L"``) or ``a @ diag(x)`` (side ``"R"``), of each `incx`-th element of `x`.

    Of a matrix `x` the elements are counted as they lie in memory; with `incx` 0 its first one is taken for all.
    """
    _checked(2, a)
    if side not in ("L", "R"):
        raise ValueError(f"side is 'L' or 'R', got {side!r}")
    wanted = a.shape[0 if side == "L" else 1]
    given = x.ravel("K")
    if incx == 0:
        return _given(a * given[0], out)
    factors = given[::incx][:wanted] if incx > 0 else given[::incx][-wanted:]
    if factors.size != wanted:
        raise ValueError(f"dgmm takes {wanted} factors, got {factors.size} of each {incx}-th element of {x.size}")
    return _given(factors[:, None] * a if side == "L" else a * factors, out)


def syrk(
    trans: Any, a: Array, out: Array | None = None, alpha: Any = 1.0, beta: Any = 0.0, lower: bool = False
) -> Array:
    """``alpha * a @ a.T + beta * out`` ("N"; of ``a.T`` with "T"): one triangle of it, the other stays as it was."""
    _checked(2, a)
    one = _turned(trans, a)
    product = np.asarray(alpha, a.dtype) * (one @ one.T)
    before = np.zeros(product.shape, a.dtype) if out is None else out
    whole = product + np.asarray(beta, a.dtype) * before
    rows, columns = np.indices(product.shape)
    return _given(np.where(rows >= columns if lower else rows <= columns, whole, before), out)


class _Limit:
    """Up to which order of matrices CuPy solves a stack of equations by this routine."""

    order = 2048


def get_batched_gesv_limit() -> int:
    """What `set_batched_gesv_limit` was given last."""
    return _Limit.order


def set_batched_gesv_limit(limit: int) -> None:
    """Taken for CuPy's sake: which routine solves a stack of equations does not depend on it here.

    >>> import numloom.cupy as cp
    >>> cp.cublas.set_batched_gesv_limit(64)
    >>> cp.cublas.get_batched_gesv_limit()
    64
    """
    _Limit.order = int(limit)


def batched_gesv(a: Array, b: Array) -> Array:
    """Solve ``a @ x = b`` for each of a stack of matrices; `b` is a stack of vectors or of matrices."""
    return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == a.ndim - 1 else np.linalg.solve(a, b)


__all__ = [
    "asum", "axpy", "batched_gesv", "dgmm", "dot", "dotc", "dotu", "geam", "gemm", "gemv", "ger", "gerc", "geru",
    "get_batched_gesv_limit", "iamax", "iamin", "nrm2", "sbmv", "scal", "set_batched_gesv_limit", "syrk",
]  # fmt: skip
