"""Parts of a matrix on the device: rows, columns and ranges of them, taken line by line."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from numloom.api.creation import arange
from numloom.api.sorting import flatnonzero, searchsorted
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.sparse.kernels import lines_copied, lines_counted
from numloom.sparse.places import counts_to_pointers, index_dtype, lines_of, looked_at
from numloom.sparse.where import CLASSES

Array = Any


def taken(a: Any, lines: Any) -> Any:
    """The rows of CSR (columns of CSC) that a slice or an array of numbers names, in that order."""
    count, width = a.shape if a.format == "csr" else a.shape[::-1]
    if type(lines) is slice:
        start, stop, step = lines.indices(count)
        if step == 1:
            stop = max(start, stop)
            if (start, stop) == (0, count):
                return a
            indptr = a.indptr[start : stop + 1]
            first, last = a.indptr[start : stop + 1 : stop - start].tolist() if start < stop else (0, 0)
            return _like(a, a.data[first:last], a.indices[first:last], indptr - indptr[:1], stop - start, width)
        lines = arange(start, stop, step)
    indptr = lines_counted(a, lines)
    if indptr is None:
        indptr = counts_to_pointers((a.indptr[1:] - a.indptr[:-1])[lines])
    total = int(indptr[-1])
    copied = lines_copied(a, lines, indptr, total)
    if copied is not None:
        data, indices = copied
        return _like(a, data, indices, indptr, lines.shape[0], width, own=True)
    line = searchsorted(indptr[1:], arange(total), side="right")
    at = a.indptr[lines][line].astype(np.int64) + (arange(total) - indptr[line])
    return _like(a, a.data[at], a.indices[at], indptr, lines.shape[0], width)


def _like(
    a: Any, data: Array, indices: Array, indptr: Array, count: int, width: int, own: bool = False
) -> Any:  # fmt: skip
    """A matrix of the format and kind of `a`; numbers that may be those of `a` are copied."""
    dtype = a.indices.dtype
    shape = (count, width) if a.format == "csr" else (width, count)
    data = data if own else data.copy()
    return type(a)._made((data, indices.astype(dtype), indptr.astype(dtype)), shape, a._canonical)


def across(a: Any, places: Any) -> Any:
    """The columns of CSR (rows of CSC) that a slice or an array of numbers names."""
    count, width = a.shape if a.format == "csr" else a.shape[::-1]
    if type(places) is slice and places.indices(width) == (0, width, 1):
        return a
    if type(places) is slice and places.indices(width)[2] > 0:
        start, stop, step = places.indices(width)
        inside = (a.indices >= start) & (a.indices < stop)
        if step > 1:
            inside = inside & ((a.indices - start) % step == 0)
        kept = flatnonzero(inside)
        indptr = searchsorted(kept, a.indptr)
        length = len(range(start, stop, step))
        return _like(a, a.data[kept], (a.indices[kept] - start) // step, indptr, count, length)
    other = a.tocsc() if a.format == "csr" else a.tocsr()
    return getattr(taken(other, places), f"to{a.format}")()


def _selector(key: Any, count: int) -> Any:
    """What a subscript names of an axis: a slice, or an array of numbers that are there; else NotImplemented."""
    if type(key) is slice:
        parts = [part if part is None else operator.index(part) for part in (key.start, key.stop, key.step)]
        return slice(*parts)
    if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
        if not -count <= key < count:
            raise IndexError(f"index ({key}) out of range")
        return slice(int(key) % count, int(key) % count + 1)
    if isinstance(key, list):
        key = np.asarray(key)
    if isinstance(key, (np.ndarray, ndarray)) and key.dtype.kind == "b" and key.shape == (count,):
        return flatnonzero(asarray(key))
    if isinstance(key, (np.ndarray, ndarray)) and key.ndim == 1 and key.dtype.kind in "iu":
        key = asarray(key).astype(np.int64)
        if key.shape[0]:
            least, most = looked_at(key.min(), key.max())
            if most >= count or least < -count:
                raise IndexError(f"index ({most if most >= count else least}) out of range")
        return key % count if count else key
    return NotImplemented


def getitem(a: Any, key: Any) -> Any:
    """``a[key]`` for rows and columns by numbers, slices, or one array; NotImplemented for the rest."""
    if not hasattr(a, "_sparse_parts") or a.ndim != 2 or a.format not in ("csr", "csc"):
        return NotImplemented
    keys = key if type(key) is tuple else (key, slice(None))
    if len(keys) != 2 or any(each is Ellipsis or each is None for each in keys):
        return NotImplemented
    whole = [isinstance(each, (int, np.integer)) for each in keys]
    rows, columns = (_selector(each, count) for each, count in zip(keys, a.shape, strict=True))
    if rows is NotImplemented or columns is NotImplemented:
        return NotImplemented
    if not any(type(each) is slice for each in (rows, columns)):
        return NotImplemented
    lines, places = (rows, columns) if a.format == "csr" else (columns, rows)
    found = across(taken(a, lines), places)
    if all(whole):
        return found.data.sum(dtype=a.dtype) if a.dtype.kind != "b" else found.data.any()
    if found is a:
        found = a.copy()
    if any(whole) and a._is_array:
        made: Any = CLASSES["coo_array"]
        along = found.indices if (found.format == "csr") == whole[0] else lines_of(found.indptr, found.nnz)
        length = found.shape[whole.index(False)]
        return made._made((found.data, along.astype(index_dtype(length))), (length,))
    return found


__all__ = ["across", "getitem", "taken"]
