"""The formats for building, `lil` and `dok`: SciPy's own on the host, with results that are ours.

They hold Python's lists and dicts, so no device has them; what is computed with them is computed with their CSR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from numloom.sparse import host
from numloom.sparse.base import SparseBase
from numloom.sparse.formats import sparray, spmatrix
from numloom.sparse.where import CLASSES


class _Built(SparseBase):
    """A matrix of SciPy's that lives on the host."""

    _host: Any
    _parts = ()

    @classmethod
    def _of(cls, matrix: Any) -> Self:
        """Ours around a matrix of SciPy's that nobody else holds."""
        self = object.__new__(cls)
        self._host = matrix
        self._canonical = True
        return self

    def _take(self, other: SparseBase) -> None:
        self._host = other._host  # type: ignore[attr-defined]
        self._canonical = True

    @property
    def _shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self._host.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the stored numbers."""
        return self._host.dtype  # type: ignore[no-any-return]

    @property
    def nnz(self) -> int:
        """The number of stored numbers, zeros among them too."""
        return int(self._host.nnz)

    @property
    def nbytes(self) -> int:
        """Bytes of the stored numbers, as one array."""
        return self.nnz * self.dtype.itemsize

    def _apply_in_full(self, name: str, *args: Any, **options: Any) -> Any:
        return host.call_method(self, name, *args, **options)

    def _change(self, name: str, *args: Any) -> None:
        getattr(self._host, name)(*map(host.host_value, args))

    def _with_data(self, data: Any) -> Any:
        return self.tocsr()._with_data(data)

    def _deduped(self) -> Any:
        return self.tocsr().data

    def _multiply_scalar(self, other: Any) -> Any:
        return host.call(lambda a, b: a * b, self, other)

    def __neg__(self) -> Any:
        return host.call(lambda a: -a, self)

    def __abs__(self) -> Any:
        return abs(self.tocsr())

    def __round__(self, ndigits: int = 0) -> Any:
        return round(self.tocsr(), ndigits)

    def __truediv__(self, other: Any) -> Any:
        return host.call(lambda a, b: a / b, self, other)

    def __imul__(self, other: Any) -> Any:
        return self._changed(lambda a: a.__imul__(host.host_value(other)))

    def __itruediv__(self, other: Any) -> Any:
        return self._changed(lambda a: a.__itruediv__(host.host_value(other)))

    def _changed(self, function: Callable[[Any], Any]) -> Any:
        found = function(self._host)
        if found is NotImplemented:
            return found
        self._host = found
        return self

    @property
    def real(self) -> Any:
        """The real parts."""
        return self.tocsr().real

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return self.tocsr().imag

    def copy(self) -> Self:
        return type(self)._of(self._host.copy())

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Any:
        if self.dtype == np.dtype(dtype) and not copy:
            return self
        return host.call_method(self, "astype", dtype, casting, copy=True)

    def conjugate(self, copy: bool = True) -> Any:
        return self if self.dtype.kind != "c" and not copy else host.call_method(self, "conjugate", copy=True)

    conj = conjugate

    def __str__(self) -> str:
        return str(self._host)

    def __reduce__(self) -> Any:
        return _of_pickle, (type(self).__name__, self._host)


class _Lists(_Built):
    """A list of columns and one of numbers for each row."""

    data = property(lambda self: self._host.data, doc="The numbers of each row: NumPy's array of lists.")

    @property
    def rows(self) -> Any:
        """The columns of each row: NumPy's array of lists."""
        return self._host.rows

    def __iadd__(self, other: Any) -> Any:
        return self._changed(lambda a: a.__iadd__(host.host_value(other)))

    def __isub__(self, other: Any) -> Any:
        return self._changed(lambda a: a.__isub__(host.host_value(other)))

    def getrow(self, i: int) -> Any:
        """A copy of a row."""
        return type(self)._of(self._host.getrow(i))

    def getrowview(self, i: int) -> Any:
        """A row of the same lists."""
        return type(self)._of(self._host.getrowview(i))


class lil_array(_Lists, sparray):
    """A sparse array for building row by row, on the host: lists of columns and of numbers.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.sparse.lil_array((2, 3))
    >>> a[0, 2] = 5
    >>> a.tocsr().toarray().tolist()
    [[0.0, 0.0, 5.0], [0.0, 0.0, 0.0]]
    """

    format = "lil"


class lil_matrix(spmatrix, _Lists):
    """A sparse matrix for building row by row; see `lil_array`."""

    format = "lil"


class _Keys(_Built):
    """A dict from places to numbers."""

    data = property(lambda self: self.tocoo().data, doc="The stored numbers, an array.")

    def get(self, *args: Any) -> Any:
        """SciPy's matrix with a copy; of a place, its number or a default, as of a dict."""
        return self._host.get(*args) if args else self._host.copy()

    def __len__(self) -> int:
        return len(self._host)

    def __contains__(self, key: Any) -> bool:
        return key in self._host

    def __delitem__(self, key: Any) -> None:
        del self._host[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._host)

    def keys(self) -> Any:
        return self._host.keys()

    def values(self) -> Any:
        return self._host.values()

    def items(self) -> Any:
        return self._host.items()

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return self._host.setdefault(key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        return self._host.pop(key, *default)

    def popitem(self) -> Any:
        return self._host.popitem()

    def clear(self) -> None:
        self._host.clear()

    def update(self, val: Any) -> None:
        self._host.update(val)

    @classmethod
    def fromkeys(cls, iterable: Any, value: Any = 1, /) -> Any:
        """A matrix with one number at all places of an iterable."""
        return cls._of(host.scipy_class(cls.__name__).fromkeys(iterable, value))

    def conjtransp(self) -> Any:
        """The conjugate transpose."""
        return type(self)._of(self._host.conjtransp())


class dok_array(_Keys, sparray):
    """A sparse array for building number by number, on the host: a dict from places to numbers.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.sparse.dok_array((2, 3))
    >>> a[1, 2] = 5
    >>> list(a.keys()), a.tocsr().nnz
    ([(1, 2)], 1)
    """

    format = "dok"


class dok_matrix(spmatrix, _Keys):
    """A sparse matrix for building number by number; see `dok_array`."""

    format = "dok"


for _kind in (lil_array, lil_matrix, dok_array, dok_matrix):
    CLASSES[_kind.__name__] = _kind


def _of_pickle(name: str, matrix: Any) -> Any:
    kind: Any = CLASSES[name]
    return kind._of(matrix)


__all__ = ["dok_array", "dok_matrix", "lil_array", "lil_matrix"]
