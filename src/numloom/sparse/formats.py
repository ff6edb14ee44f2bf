"""The formats: rows or columns compressed, coordinates, diagonals; each as an array and as a matrix."""

from __future__ import annotations

from collections.abc import Callable
from types import GenericAlias
from typing import Any

import numpy as np
import scipy.sparse

from numloom.array.convert import asarray
from numloom.sparse import device, host
from numloom.sparse.base import MatrixMixin, SparseBase
from numloom.sparse.where import CLASSES, in_tree, on_device


class sparray:
    """The base class of sparse arrays, where ``*`` multiplies element by element."""

    def __class_getitem__(cls, item: Any, /) -> GenericAlias:
        return GenericAlias(cls, item)


class spmatrix(MatrixMixin):
    """The base class of sparse matrices, where ``*`` is the product of matrices."""

    def __class_getitem__(cls, item: Any, /) -> GenericAlias:
        return GenericAlias(cls, item)


class _EntryFormat(SparseBase):
    """Formats that may hold a place twice, or places in any order."""

    @property
    def has_canonical_format(self) -> bool:
        """Whether places are sorted and none comes twice; looked at once."""
        if self._canonical is None:
            if (on_device() or in_tree(self)) and self.ndim == 2:
                self._canonical = device.is_canonical(self)
            elif self.format == "coo":
                return self.nnz < 2  # SciPy does not look, either.
            else:
                self._canonical = bool(host.view(self).has_canonical_format)
        return self._canonical

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        self._canonical, self._twin = bool(value), None

    def sum_duplicates(self) -> None:
        if not self.has_canonical_format:
            self._change("sum_duplicates")
            self._canonical = True

    def eliminate_zeros(self) -> None:
        canonical = self._canonical
        self._change("eliminate_zeros")
        self._canonical = canonical or None


class _Compressed(_EntryFormat):
    """Rows or columns one after the other: `indptr` says where each begins, `indices` the other coordinate."""

    @property
    def indices(self) -> Any:
        """The column of each number (of CSC: the row)."""
        self._twin = None
        return self._parts[1]

    @indices.setter
    def indices(self, value: Any) -> None:
        self._place(asarray(value), self._parts[2])

    @property
    def indptr(self) -> Any:
        """Where the numbers of each row (of CSC: column) begin, and where the last ones end."""
        self._twin = None
        return self._parts[2]

    @indptr.setter
    def indptr(self, value: Any) -> None:
        self._place(self._parts[1], asarray(value))

    def _place(self, indices: Any, indptr: Any) -> None:
        """Put numbers at other places; kernels read both arrays in one dtype."""
        if on_device():
            index = np.promote_types(indices.dtype, indptr.dtype)
            indices, indptr = (x if x.dtype == index else x.astype(index) for x in (indices, indptr))
        self._parts = (self._parts[0], indices, indptr)
        self._canonical = None

    _sorted: bool | None = None

    @property
    def has_sorted_indices(self) -> bool:
        """Whether the places of each row (of CSC: column) are in order; what was said of it, if something was."""
        if self._sorted is not None:
            return self._sorted
        if self._canonical:
            return True
        if (on_device() or in_tree(self)) and self.ndim == 2:
            return device.is_sorted(self)
        return bool(host.view(self).has_sorted_indices)

    @has_sorted_indices.setter
    def has_sorted_indices(self, value: bool) -> None:
        self._sorted = bool(value)

    def sort_indices(self) -> None:
        if not self.has_sorted_indices:
            self._sorted = None
            self._change("sort_indices")

    def sorted_indices(self) -> Any:
        made = self.copy()
        made.sort_indices()
        return made

    def prune(self) -> None:
        """Drop what lies beyond the last row, as arrays that were put in may have."""
        if in_tree(self):  # What it traces has no such.
            return
        used = int(self.indptr[-1])
        if min(len(self.data), len(self.indices)) < used:
            raise ValueError(
                f"indices and data should have {used} elements, as indptr says, got {len(self.indices)} and "
                f"{len(self.data)}"
            )
        if max(len(self.data), len(self.indices)) > used:
            self._parts = (self.data[:used].copy(), self.indices[:used].copy(), self.indptr)

    def check_format(self, full_check: bool = True) -> None:
        """Raise ValueError if the parts do not make a matrix."""
        if not on_device() or not full_check or self.ndim != 2 or self.format == "bsr":
            host.view(self).check_format(full_check=full_check)
        else:
            device.check_compressed(self.data, self.indices, self.indptr, self.shape, self.format)

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        if axes is not None and axes != (1, 0):
            raise ValueError(
                "Sparse arrays/matrices do not support an 'axes' parameter because swapping dimensions is the only "
                "logical permutation."
            )
        if self.ndim == 1:
            return self.copy() if copy else self
        other: Any = CLASSES[type(self).__name__.replace(self.format, "csc" if self.format == "csr" else "csr")]
        if copy:
            return other._made(tuple(part.copy() for part in self._parts), self._shape[::-1], self._canonical)
        made = other._made(self._parts, self._shape[::-1], self._canonical)
        made._turned = self if self._turned is None else None  # No chain of them.
        return made


class csr_array(_Compressed, sparray):
    """A sparse array whose rows lie one after the other.

    Parameters
    ----------
    arg1 : object
        A dense array, a sparse one (ours or SciPy's), a shape, ``(data, (row, col))`` or ``(data, indices, indptr)``.
    shape, dtype, copy : optional
        As for `scipy.sparse.csr_array`.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.sparse.csr_array([[0.0, 2.0], [3.0, 0.0]])
    >>> (a @ np.array([1.0, 10.0])).tolist()
    [20.0, 3.0]
    """

    format = "csr"


class csc_array(_Compressed, sparray):
    """A sparse array whose columns lie one after the other; arguments as of `csr_array`."""

    format = "csc"


class csr_matrix(spmatrix, _Compressed):
    """A sparse matrix whose rows lie one after the other; arguments as of `csr_array`."""

    format = "csr"


class csc_matrix(spmatrix, _Compressed):
    """A sparse matrix whose columns lie one after the other; arguments as of `csr_array`."""

    format = "csc"


class _Coordinates(_EntryFormat):
    """A number, and its place along each axis."""

    @property
    def coords(self) -> tuple[Any, ...]:
        """The places of the numbers: an array for each axis."""
        self._twin = None
        return self._parts[1:]

    @coords.setter
    def coords(self, value: Any) -> None:
        self._parts = (self._parts[0], *(asarray(x) for x in value))
        self._canonical = None

    @property
    def row(self) -> Any:
        """The row of each number; 0 of a vector."""
        self._twin = None
        return self._parts[-2] if self.ndim > 1 else self._parts[1] * 0

    @row.setter
    def row(self, value: Any) -> None:
        if self.ndim < 2:
            raise ValueError("cannot set row attribute of a 1-dimensional sparse array")
        self.coords = (*self.coords[:-2], value, self.coords[-1])

    @property
    def col(self) -> Any:
        """The column of each number."""
        self._twin = None
        return self._parts[-1]

    @col.setter
    def col(self, value: Any) -> None:
        self.coords = (*self.coords[:-1], value)

    def tocoo(self, copy: bool = False) -> Any:
        return self.copy() if copy else self

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        if axes is not None and not isinstance(axes, (tuple, list)):
            return host.call_method(self, "transpose", axes)
        order = range(self.ndim)[::-1] if axes is None else axes
        if sorted(axis % self.ndim if self.ndim else axis for axis in order) != list(range(self.ndim)) or (
            axes is not None and not self._is_array and tuple(axes) != (1, 0)
        ):
            return host.call_method(self, "transpose", axes)  # SciPy's error
        data, *coords = self._parts
        parts = (data, *(coords[axis] for axis in order))
        if copy:
            parts = tuple(part.copy() for part in parts)
        return type(self)._made(parts, tuple(self._shape[axis] for axis in order))

    def tensordot(self, other: Any, axes: Any = 2) -> Any:
        return host.call_method(self, "tensordot", other, axes)


class coo_array(_Coordinates, sparray):
    """A sparse array of any number of axes, by the places of its numbers; arguments as of `csr_array`."""

    format = "coo"


class coo_matrix(spmatrix, _Coordinates):
    """A sparse matrix by the places of its numbers; arguments as of `csr_array`."""

    format = "coo"


class _Diagonals(SparseBase):
    """Whole diagonals: `data` has a row for each, by columns of the matrix."""

    _canonical = True

    @property
    def offsets(self) -> Any:
        """Which diagonal each row of `data` is; 0 is the main one, 1 that above."""
        self._twin = None
        return self._parts[1]

    @offsets.setter
    def offsets(self, value: Any) -> None:
        self._parts = (self._parts[0], asarray(value))

    def _more(self) -> str:
        return f"({self._parts[0].shape[0]} diagonals) "

    @property
    def nnz(self) -> int:
        """The number of stored numbers inside the matrix."""
        rows, columns = self._shape
        columns = min(int(self._parts[0].shape[1]), columns)
        offsets = np.asarray(self._parts[1].get(), np.int64)
        return int(np.maximum(np.minimum(rows + offsets, columns) - np.maximum(offsets, 0), 0).sum())


class _Blocks(_Compressed):
    """Rows of dense blocks: `data` has one for each pair of places in `indices` and `indptr`."""

    @property
    def blocksize(self) -> tuple[int, int]:
        """Rows and columns of a block."""
        return self._parts[0].shape[1:]  # type: ignore[no-any-return]

    def _more(self) -> str:
        return f"(blocksize={'x'.join(map(str, self.blocksize))}) "

    @property
    def nnz(self) -> int:
        """The number of stored numbers, zeros within blocks too."""
        return int(self._parts[0].size)

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        return self._apply("transpose", axes)


class bsr_array(_Blocks, sparray):
    """A sparse array of dense blocks, one row of them after the other.

    Parameters
    ----------
    arg1 : object
        As for `csr_array`; ``(data, indices, indptr)`` has blocks as `data`, with three axes.
    shape, dtype, copy : optional
        As for `scipy.sparse.bsr_array`.
    blocksize : tuple of int, optional
        Rows and columns of a block; by default SciPy guesses.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.sparse.bsr_array(np.eye(4), blocksize=(2, 2))
    >>> a.blocksize, (a @ np.arange(4.0)).tolist()
    ((2, 2), [0.0, 1.0, 2.0, 3.0])
    """

    format = "bsr"


class bsr_matrix(spmatrix, _Blocks):
    """A sparse matrix of dense blocks; arguments as of `bsr_array`."""

    format = "bsr"


class dia_array(_Diagonals, sparray):
    """A sparse array of diagonals: a dense or sparse array, or ``(data, offsets)`` with a shape."""

    format = "dia"


class dia_matrix(spmatrix, _Diagonals):
    """A sparse matrix of diagonals; arguments as of `dia_array`."""

    format = "dia"


for _kind in (
    bsr_array, csr_array, csc_array, coo_array, dia_array, bsr_matrix, csr_matrix, csc_matrix, coo_matrix, dia_matrix,
):  # fmt: skip
    CLASSES[_kind.__name__] = _kind


def issparse(x: Any) -> bool:
    """Whether `x` is a sparse array or matrix of ours or of SciPy's.

    Examples
    --------
    >>> import numloom as np
    >>> np.sparse.issparse(np.sparse.eye_array(3)), np.sparse.issparse(np.ones(3))
    (True, False)
    """
    return isinstance(x, SparseBase) or bool(scipy.sparse.issparse(x))


def isspmatrix(x: Any) -> bool:
    """Whether `x` is a sparse matrix (no array) of ours or of SciPy's."""
    return isinstance(x, spmatrix) or bool(scipy.sparse.isspmatrix(x))


def _is_matrix_of(format: str) -> Callable[[Any], bool]:
    def check(x: Any) -> bool:
        return isspmatrix(x) and x.format == format

    check.__name__ = check.__qualname__ = f"isspmatrix_{format}"
    check.__doc__ = f"Whether `x` is a sparse matrix (no array) in format {format.upper()}, of ours or of SciPy's."
    return check


isspmatrix_bsr = _is_matrix_of("bsr")
isspmatrix_coo = _is_matrix_of("coo")
isspmatrix_csc = _is_matrix_of("csc")
isspmatrix_csr = _is_matrix_of("csr")
isspmatrix_dia = _is_matrix_of("dia")
isspmatrix_dok = _is_matrix_of("dok")
isspmatrix_lil = _is_matrix_of("lil")

__all__ = [
    "bsr_array",
    "bsr_matrix",
    "coo_array",
    "coo_matrix",
    "csc_array",
    "csc_matrix",
    "csr_array",
    "csr_matrix",
    "dia_array",
    "dia_matrix",
    "issparse",
    "isspmatrix",
    "isspmatrix_bsr",
    "isspmatrix_coo",
    "isspmatrix_csc",
    "isspmatrix_csr",
    "isspmatrix_dia",
    "isspmatrix_dok",
    "isspmatrix_lil",
    "sparray",
    "spmatrix",
]
