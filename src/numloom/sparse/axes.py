"""Coordinates of one axis, or of more than two, on the device: each is work on a matrix with the same numbers.

The leading axes become the rows, or those that stay where some are reduced; results get their axes back.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.api.creation import zeros
from numloom.api.joining import concatenate
from numloom.api.reductions import max as largest
from numloom.api.reductions import min as smallest
from numloom.api.sorting import flatnonzero
from numloom.api.sorting import nonzero as where_not_zero
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.sparse.places import Triples, index_dtype, summed
from numloom.sparse.where import CLASSES

Array = Any
_MOST = 2**62
"""Up to so many places, one is an int64."""


def is_other(a: Any) -> bool:
    """Whether this is a sparse array of one axis or of more than two whose places are numbers that fit."""
    if not hasattr(a, "_sparse_parts") or a.format not in ("coo", "csr") or a.ndim == 2:
        return False
    return a.ndim > 0 and math.prod(a.shape) < _MOST


def coords_of(a: Any) -> tuple[Array, ...]:
    """The places along each axis; a row in CSR has one."""
    return a.coords if a.format == "coo" else (a.indices,)


def index_of(shape: tuple[int, ...], *coords: Array) -> np.dtype[Any]:
    """SciPy's dtype of coordinates: int64 of more than two axes, and of what comes from such."""
    wide = len(shape) > 2 or any(x.dtype.itemsize == 8 for x in coords)
    return np.dtype(np.int64) if wide else index_dtype(*shape)


def _flat(a: Any, axes: tuple[int, ...], order: str = "C") -> Array:
    """Places along some axes as one number each."""
    coords = coords_of(a)
    found = zeros(coords[0].shape, np.int64)
    for axis in axes if order == "C" else axes[::-1]:
        found = found * a.shape[axis] + coords[axis]
    return found


def folded(a: Any, reduced: tuple[int, ...] | None = None) -> Any:
    """A matrix in COO whose columns are the places along the axes that are `reduced`, by default along the last one."""
    columns = (a.ndim - 1,) if reduced is None else reduced
    rows = tuple(axis for axis in range(a.ndim) if axis not in columns)
    shape = tuple(math.prod(a.shape[axis] for axis in axes) for axes in (rows, columns))
    made: Any = CLASSES["coo_array"]
    return made._made((a.data, _flat(a, rows), _flat(a, columns)), shape, a._canonical if reduced is None else None)


def unfolded(
    data: Array, flat: Array, shape: tuple[int, ...], canonical: bool | None = None, *, order: str = "C",
    index: Any = np.int64,
) -> Any:  # fmt: skip
    """Coordinates of numbers whose places are given by one number each."""
    coords: list[Array] = []
    for extent in reversed(shape) if order == "C" else shape:
        coords.append((flat % max(extent, 1)).astype(index))
        flat = flat // max(extent, 1)
    made: Any = CLASSES["coo_array"]
    return made._made((data, *(coords[::-1] if order == "C" else coords)), shape, canonical)


def of_dense(data: Array) -> Any:
    """A dense array's numbers that are not zero, with their places."""
    places = where_not_zero(data)
    made: Any = CLASSES["coo_array"]
    return made._made((data[places], *(x.astype(index_of(data.shape)) for x in places)), data.shape, True)


def of_coords(data: Array, coords: Any, shape: Any) -> Any:
    """Numbers with their places, which are looked at; NotImplemented for what SciPy should judge."""
    if not isinstance(shape, (tuple, list)) or len(coords) != len(shape) or len(shape) in (0, 2):
        return NotImplemented
    if not all(type(n) is int and n >= 0 for n in shape) or any(x.shape != data.shape for x in coords):
        return NotImplemented
    for places, extent in zip(coords, shape, strict=True):
        if places.shape[0] and (int(largest(places)) >= extent or int(smallest(places)) < 0):
            return NotImplemented  # SciPy says what is wrong.
    index = index_of(tuple(shape), *coords)
    made: Any = CLASSES["coo_array"]
    return made._made((data, *(x if x.dtype == index else x.astype(index) for x in coords)), tuple(shape))


def in_csr(a: Any) -> Any:
    """A row in CSR, each place once and in order, with the axis it has."""
    if a.ndim != 1:
        return NotImplemented
    return _as_row(folded(a).tocsr(), a.shape, *coords_of(a))


def in_coo(a: Any) -> Any:
    """A row in CSR by its coordinates."""
    made: Any = CLASSES["coo_array"]
    return made._made((a.data.copy(), a.indices.copy()), a.shape, a._canonical)


def _as_row(matrix: Any, shape: tuple[int, ...], *coords: Array) -> Any:
    """A CSR matrix of one row as an array of one axis, with indices of those that it comes from."""
    made: Any = CLASSES["csr_array"]
    data, *places = matrix._parts
    index = index_of(shape, *coords)
    return made._made((data, *(x if x.dtype == index else x.astype(index) for x in places)), shape, matrix._canonical)


def _axes(a: Any, axis: Any) -> Any:
    """Axes to reduce, None for all; NotImplemented for what SciPy should judge."""
    given = (axis,) if type(axis) is int else axis
    if given is None:
        return None
    if type(given) is not tuple or not all(type(k) is int and -a.ndim <= k < a.ndim for k in given):
        return NotImplemented
    given = tuple(sorted(k % a.ndim for k in given))
    if len(set(given)) != len(given) or not given:
        return NotImplemented
    return None if len(given) == a.ndim else given


def reduction(name: str) -> Callable[..., Any]:
    """A sum, mean or extreme over axes, by that of a matrix whose rows are what stays."""

    def run(a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
        axes = _axes(a, axis)
        if axes is NotImplemented or 0 in a.shape:
            return NotImplemented
        options = options if dtype is None else options | {"dtype": dtype}
        if axes is None:
            return getattr(folded(a), name)(**options)
        kept = tuple(extent for k, extent in enumerate(a.shape) if k not in axes)
        found = getattr(folded(a, axes), name)(axis=1, **options)
        if hasattr(found, "coords"):
            return unfolded(found.data, found.coords[0].astype(np.int64), kept)
        return found.reshape(kept)

    return run


def toarray(a: Any, order: Any = None) -> Any:
    """The dense array."""
    if order not in (None, "C", "F"):
        return NotImplemented
    found = folded(a).toarray().reshape(a.shape)
    return found.copy("F") if order == "F" else found


def nonzero(a: Any) -> Any:
    """Places of the stored numbers that are not zero, in their order."""
    kept = flatnonzero(a.data != 0)
    return tuple(x[kept] for x in coords_of(a))


def count_nonzero(a: Any, axis: Any = None) -> Any:
    """How many numbers are not zero."""
    return NotImplemented if axis is not None else folded(a).count_nonzero()


def reshaped(a: Any, shape: tuple[int, ...], order: str, copy: bool) -> Any:
    """The same numbers along other axes."""
    if a.format != "coo" or math.prod(a.shape) >= _MOST or not a.ndim or not a._is_array or order not in ("C", "F"):
        return NotImplemented
    data = a.data.copy() if copy else a.data
    index = index_of(shape, *a.coords)
    return unfolded(data, _flat(a, tuple(range(a.ndim)), order), shape, order=order, index=index)


def eliminate_zeros(a: Any) -> Any:
    """Without the zeros that are stored."""
    kept = flatnonzero(a.data != 0)
    if a.format == "csr":
        matrix = type(a)._made(a._parts, (1, *a.shape), a._canonical)
        matrix.eliminate_zeros()
        return _as_row(matrix, a.shape, a.indices)
    return type(a)._made((a.data[kept], *(x[kept] for x in a.coords)), a.shape, a._canonical)


def sum_duplicates(a: Any) -> Any:
    """In order, and each place once."""
    if a.format == "csr":
        return in_csr(a)
    rows = folded(a)
    t = summed(Triples(rows.coords[0], rows.coords[1], rows.data, rows.shape))
    flat = t.row.astype(np.int64) * t.shape[1] + t.col
    return unfolded(t.data, flat, a.shape, True, index=a.coords[0].dtype)


def _alike(a: Any, b: Any) -> bool:
    return is_other(a) and is_other(b) and a.shape == b.shape


def added(sign: int, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The sum or difference of two arrays of the same shape: the numbers of both, as SciPy leaves them.

    Of one axis it is that of two rows in CSR, by `function`.
    """

    def run(a: Any, b: Any) -> Any:
        if not _alike(a, b):
            return _with_dense(function, a, b)
        if sign < 0 and b.dtype.kind == "b":
            return NotImplemented
        if a.ndim == 1:
            return _of_rows(function, a, b)
        data = concatenate([a.data, b.data if sign > 0 else -b.data])
        pairs = zip(a.coords, b.coords, strict=True)
        return type(a)._made((data, *(concatenate([x, y]) for x, y in pairs)), a.shape)

    return run


def _of_rows(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """A function of two arrays of one axis, as of two rows."""
    found = function(folded(a).tocsr(), folded(b).tocsr())
    return found if found is NotImplemented else _as_row(found, a.shape, *coords_of(a), *coords_of(b))


def _with_dense(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """A function of a sparse and a dense array of the same shape: a dense array."""
    dense = [x for x in (a, b) if isinstance(x, (ndarray, np.ndarray))]
    if len(dense) != 1 or a.shape != b.shape or not a.ndim or dense[0].dtype.kind not in "biufc":
        return NotImplemented
    sparse = b if dense[0] is a else a
    wide, dense = folded(sparse), asarray(dense[0]).reshape(folded(sparse).shape)
    found = function(dense, wide) if sparse is b else function(wide, dense)
    return found if found is NotImplemented else found.reshape(a.shape)


def by_elements(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Work on two arrays element by element, or on one and numbers, as on matrices: their answer in these axes."""

    def run(a: Any, b: Any) -> Any:
        if hasattr(b, "_sparse_parts"):
            if not _alike(a, b):
                return NotImplemented
            found = function(folded(a), folded(b))
        elif isinstance(b, (ndarray, np.ndarray)) and b.ndim:
            return _with_dense(function, a, b)
        else:
            found = function(folded(a), b)
        if found is NotImplemented or not hasattr(found, "_sparse_parts"):
            return found
        others = coords_of(b) if hasattr(b, "_sparse_parts") else ()
        if a.ndim == 1 and "csr" in (a.format, found.format):
            return _as_row(found.tocsr(), a.shape, *coords_of(a), *others)
        t = found.tocoo()
        flat = t.coords[0].astype(np.int64) * t.shape[1] + t.coords[1]
        return unfolded(t.data, flat, a.shape, True, index=index_of(a.shape))

    return run


def times(product: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``a.multiply(b)``: of more than two axes with a dense array the same places."""
    sparse = by_elements(product)

    def run(a: Any, b: Any) -> Any:
        if not isinstance(b, (ndarray, np.ndarray)):
            return sparse(a, b)
        if a.ndim < 3 or b.shape != a.shape or b.dtype.kind not in "biufc":
            return NotImplemented
        return a._with_data(a.data * asarray(b)[tuple(a.coords)])

    return run


def over(quotient: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``a / b``: for a dense `b` of the same shape the same places, for a sparse one a dense array, by `quotient`."""

    def run(a: Any, b: Any) -> Any:
        if hasattr(b, "_sparse_parts"):
            found = quotient(folded(a), folded(b)) if _alike(a, b) else NotImplemented
            return found if found is NotImplemented else found.reshape(a.shape)
        if not is_other(a) or a.ndim < 3 or not isinstance(b, (ndarray, np.ndarray)) or b.shape != a.shape:
            return NotImplemented
        if b.dtype.kind not in "biufc":
            return NotImplemented
        return a._with_data(a.data * (1.0 / asarray(b))[tuple(a.coords)])

    return run


def times_dense(a: Any, x: Any) -> Any:
    """``a @ x`` for a dense vector or matrix: sums over the last axis."""
    if not is_other(a) or not isinstance(x, (ndarray, np.ndarray)) or x.dtype.kind not in "biufc":
        return NotImplemented
    if x.ndim not in (1, 2) or x.shape[0] != a.shape[-1]:
        return NotImplemented
    return operator.matmul(folded(a), asarray(x)).reshape(a.shape[:-1] + x.shape[1:])


__all__ = [
    "added", "by_elements", "coords_of", "count_nonzero", "eliminate_zeros", "folded", "in_coo", "in_csr", "index_of",
    "is_other", "nonzero", "of_coords", "of_dense", "over", "reduction", "reshaped", "sum_duplicates", "times",
    "times_dense", "toarray", "unfolded",
]  # fmt: skip
