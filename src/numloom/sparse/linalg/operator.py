"""Linear operators: what solvers ask for, a product with a vector, and SciPy's operators over ours."""

from __future__ import annotations

from collections.abc import Callable
from types import GenericAlias
from typing import Any

import numpy as np
import scipy.sparse.linalg

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.sparse import host
from numloom.sparse.base import SparseBase, is_scalar


class LinearOperator:
    """A matrix by its products.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    matvec : callable
        The product with a vector.
    rmatvec : callable, optional
        The product of the conjugate transpose with a vector.
    matmat, rmatmat : callable, optional
        The same for dense columns; by default column by column.
    dtype : dtype, optional
        By default that of a product with zeros.

    Examples
    --------
    >>> import numloom as np
    >>> from numloom.sparse.linalg import LinearOperator
    >>> twice = LinearOperator((3, 3), matvec=lambda x: 2 * x)
    >>> (twice @ np.ones(3)).tolist()
    [2.0, 2.0, 2.0]
    """

    _matvec: Any = None
    _rmatvec: Any = None
    _matmat: Any = None
    _rmatmat: Any = None
    _adjoint: Any = None
    dtype: Any
    shape: tuple[int, int]
    ndim = 2
    __array_ufunc__ = None

    def __init__(self, *args: Any, **options: Any) -> None:
        if type(self) is LinearOperator:
            self._of_functions(*args, **options)
        else:  # A subclass has the functions as methods, and names its dtype first, as SciPy's do.
            self._of_methods(*args, **options)

    def _of_functions(
        self, shape: tuple[int, int], matvec: Callable[[Any], Any], rmatvec: Any = None, matmat: Any = None,
        dtype: Any = None, rmatmat: Any = None,
    ) -> None:  # fmt: skip
        self.shape = _two(shape)
        self._matvec, self._rmatvec, self._matmat, self._rmatmat = matvec, rmatvec, matmat, rmatmat
        self.dtype = self._found_dtype() if dtype is None else np.dtype(dtype)

    def _of_methods(self, dtype: Any = None, shape: Any = None) -> None:
        if self._matvec is None and self._matmat is None:
            raise TypeError("LinearOperator subclass should implement at least one of _matvec and _matmat.")
        self.shape = _two(shape)
        self.dtype = None if dtype is None else np.dtype(dtype)
        if self.dtype is None:
            self.dtype = self._found_dtype()

    def _found_dtype(self) -> Any:
        return np.dtype(self.matvec(asarray(np.zeros(self.shape[1]))).dtype)

    def _has_adjoint(self) -> bool:
        return any(each is not None for each in (self._rmatvec, self._adjoint, self._rmatmat))

    def matvec(self, x: Any) -> Any:
        """The product with a vector or a single column."""
        if self._matvec is None:
            return self._vector(lambda v: self._matmat(v.reshape(-1, 1)), asarray(x), self.shape)
        return self._vector(self._matvec, asarray(x), self.shape)

    def rmatvec(self, x: Any) -> Any:
        """The product of the conjugate transpose with a vector or a single column."""
        if self._rmatvec is not None:
            return self._vector(self._rmatvec, asarray(x), self.shape[::-1])
        if self._adjoint is not None:
            return self._adjoint().matvec(x)
        if self._rmatmat is None:
            raise NotImplementedError("rmatvec is not defined")
        return self._vector(lambda v: self._rmatmat(v.reshape(-1, 1)), asarray(x), self.shape[::-1])

    @staticmethod
    def _vector(function: Callable[[Any], Any], x: Any, shape: tuple[int, ...]) -> Any:
        if x.shape not in ((shape[1],), (shape[1], 1)):
            raise ValueError("dimension mismatch")
        found = asarray(function(x))
        if found.size != shape[0]:
            raise ValueError("invalid shape returned by user-defined matvec()")
        return found.reshape((shape[0], 1) if x.ndim == 2 else (shape[0],))

    def matmat(self, x: Any) -> Any:
        """The product with dense columns."""
        return self._columns(self._matmat, self.matvec, asarray(x), self.shape)

    def rmatmat(self, x: Any) -> Any:
        """The product of the conjugate transpose with dense columns."""
        return self._columns(self._rmatmat, self.rmatvec, asarray(x), self.shape[::-1])

    @staticmethod
    def _columns(function: Any, one: Callable[[Any], Any], x: Any, shape: tuple[int, ...]) -> Any:
        if x.ndim != 2:
            raise ValueError(f"expected 2-d ndarray or matrix, not {x.ndim}-d")
        if x.shape[0] != shape[1]:
            raise ValueError(f"dimension mismatch: {shape}, {x.shape}")
        if function is not None:
            return asarray(function(x))
        found = [one(x[:, k]) for k in range(x.shape[1])]
        result = asarray(np.zeros((shape[0], x.shape[1]), found[0].dtype if found else float))
        for k, column in enumerate(found):
            result[:, k] = column
        return result

    def dot(self, x: Any) -> Any:
        """The product with an operator, a number, a vector or columns."""
        if isinstance(x, (LinearOperator, SparseBase)):
            other = aslinearoperator(x)
            if self.shape[1] != other.shape[0]:
                raise ValueError(f"cannot multiply {self!r} and {x!r}: shape mismatch")
            return LinearOperator(
                (self.shape[0], other.shape[1]), lambda v: self.matvec(other.matvec(v)),
                lambda v: other.rmatvec(self.rmatvec(v)), dtype=np.result_type(self.dtype, other.dtype),
            )  # fmt: skip
        if is_scalar(x):
            return LinearOperator(
                self.shape, lambda v: self.matvec(v) * x, lambda v: self.rmatvec(v) * np.conj(x),
                dtype=np.result_type(self.dtype, np.asarray(host.host_value(x)).dtype),
            )  # fmt: skip
        x = asarray(x)
        return self.matvec(x) if x.ndim == 1 else self.matmat(x)

    __mul__ = dot
    __call__ = dot

    def __matmul__(self, x: Any) -> Any:
        if is_scalar(x):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.dot(x)

    def __rmul__(self, x: Any) -> Any:
        return self.dot(x) if is_scalar(x) else self._rdot(x)

    def __rmatmul__(self, x: Any) -> Any:
        if is_scalar(x):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self._rdot(x)

    def _rdot(self, x: Any) -> Any:
        """``x @ self``, of a row or of dense rows."""
        x = asarray(x)
        return self.T.matvec(x) if x.ndim == 1 else self.T.matmat(x.T).T

    def __truediv__(self, x: Any) -> LinearOperator:
        if not is_scalar(x):
            raise ValueError("Can only divide a linear operator by a scalar.")
        return self.dot(1.0 / x)

    def __pow__(self, n: int) -> Any:
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"square LinearOperator expected, got {self!r}")
        if not (isinstance(n, (int, np.integer)) and n >= 0):
            raise ValueError("non-negative integer expected as exponent")

        def repeated(product: Callable[[Any], Any]) -> Callable[[Any], Any]:
            def run(v: Any) -> Any:
                for _ in range(n):
                    v = product(v)
                return v

            return run

        return LinearOperator(self.shape, repeated(self.matvec), repeated(self.rmatvec), dtype=self.dtype)

    def transpose(self) -> LinearOperator:
        """The transpose."""
        return self.T

    def __class_getitem__(cls, item: Any, /) -> GenericAlias:
        return GenericAlias(cls, item)

    def __neg__(self) -> LinearOperator:
        return self.dot(-1)

    def __add__(self, other: Any) -> LinearOperator:
        other = aslinearoperator(other)
        if self.shape != other.shape:
            raise ValueError(f"cannot add {self!r} and {other!r}: shape mismatch")
        return LinearOperator(
            self.shape, lambda v: self.matvec(v) + other.matvec(v), lambda v: self.rmatvec(v) + other.rmatvec(v),
            dtype=np.result_type(self.dtype, other.dtype),
        )  # fmt: skip

    def __sub__(self, other: Any) -> LinearOperator:
        return self + aslinearoperator(other).dot(-1)

    @property
    def H(self) -> LinearOperator:
        """The conjugate transpose."""
        if self._adjoint is not None:
            return self._adjoint()  # type: ignore[no-any-return]
        return LinearOperator(self.shape[::-1], self.rmatvec, self.matvec, self._rmatmat, self.dtype, self._matmat)

    def adjoint(self) -> LinearOperator:
        """The conjugate transpose."""
        return self.H

    @property
    def T(self) -> LinearOperator:
        """The transpose."""
        return LinearOperator(
            self.shape[::-1], lambda v: self.rmatvec(v.conj()).conj(), lambda v: self.matvec(v.conj()).conj(),
            dtype=self.dtype,
        )  # fmt: skip

    def _for_scipy(self) -> Any:
        return for_scipy(self)

    def __repr__(self) -> str:
        return f"<{self.shape[0]}x{self.shape[1]} LinearOperator with dtype={self.dtype}>"


def _two(shape: Any) -> tuple[int, int]:
    """A shape of two lengths, or ValueError."""
    if shape is None or len(shape) != 2 or any(int(n) != n or n < 0 for n in shape):
        raise ValueError(f"invalid shape {shape!r} (must be 2-d)")
    return int(shape[0]), int(shape[1])


def aslinearoperator(A: Any) -> LinearOperator:
    """An operator of a sparse or dense matrix, or of what has `shape` and `matvec`.

    Examples
    --------
    >>> import numloom as np
    >>> np.sparse.linalg.aslinearoperator(np.sparse.eye_array(2)).shape
    (2, 2)
    """
    if isinstance(A, LinearOperator):
        return A
    if scipy.sparse.issparse(A):
        A = host.wrap(A.copy())
    if isinstance(A, (ndarray, np.ndarray)):
        A = asarray(A)
        if A.ndim != 2:
            raise ValueError("array must have ndim <= 2")
    elif not isinstance(A, SparseBase):
        if not (hasattr(A, "shape") and hasattr(A, "matvec")):
            raise TypeError("type not understood")
        return LinearOperator(A.shape, A.matvec, getattr(A, "rmatvec", None), dtype=getattr(A, "dtype", None))
    adjoint: list[Any] = []

    def turned(x: Any) -> Any:
        if not adjoint:
            adjoint.append(A.conj().T.tocsr() if isinstance(A, SparseBase) else A.conj().T)
        return adjoint[0] @ x

    return LinearOperator(A.shape, lambda x: A @ x, turned, lambda x: A @ x, A.dtype, turned)


def for_scipy(A: Any) -> Any:
    """What SciPy's functions take: its own matrix over our buffers, or an operator that asks ours."""
    if not isinstance(A, LinearOperator):
        return host.host_value(A)

    def through(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: host.to_host(asarray(function(asarray(np.ascontiguousarray(x)))))

    return scipy.sparse.linalg.LinearOperator(
        A.shape, through(A.matvec), through(A.rmatvec) if A._has_adjoint() else None, dtype=A.dtype
    )


__all__ = ["LinearOperator", "aslinearoperator", "for_scipy"]
