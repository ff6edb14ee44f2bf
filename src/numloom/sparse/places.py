"""Places as arrays: rows and columns of stored numbers, sorted, made one where equal, and compressed.

All of it is array operations, so the same code runs on every device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from numloom.api.creation import arange, ones, zeros
from numloom.api.elementwise import add, logical_or
from numloom.api.joining import concatenate
from numloom.api.reductions import all as all_true
from numloom.api.running import evaluate
from numloom.api.sorting import argsort, cumsum, flatnonzero, lexsort, searchsorted
from numloom.sparse.kernels import lines_written
from numloom.sparse.where import CLASSES, in_tree

Array = Any

_KEYS = 2**62
"""Up to so many places, a place is one int64: its row times the number of columns, plus its column."""


@dataclass(slots=True)
class Triples:
    """Stored numbers with the row and the column of each; sorted by rows, each place once, if `canonical`."""

    row: Array
    col: Array
    data: Array
    shape: tuple[int, int]
    canonical: bool = False

    def transposed(self) -> Triples:
        """Rows for columns."""
        return Triples(self.col, self.row, self.data, self.shape[::-1])


def index_dtype(*limits: int) -> np.dtype[Any]:
    """The dtype of indices up to these limits, by SciPy's rule."""
    return np.dtype(np.int32 if max(limits, default=0) < 2**31 - 1 else np.int64)


def looked_at(*numbers: Array) -> list[int]:
    """Integers that arrays without axes hold; all are computed before the first is waited for."""
    if not in_tree(*numbers):
        evaluate(*numbers)
    return [int(number) for number in numbers]


def lines_of(indptr: Array, count: int) -> Array:
    """The row (of CSC: column) of each of `count` stored numbers."""
    written = lines_written(indptr, count)
    if written is not None:
        return written
    return searchsorted(indptr[1:], arange(count, dtype=indptr.dtype), side="right")


def pointers(lines: Array, count: int) -> Array:
    """Where each of `count` rows begins among sorted `lines`, and where the last ends."""
    return searchsorted(lines, arange(count + 1, dtype=lines.dtype))


def in_order(lines: Array, minor: Array, strictly: bool) -> bool:
    """Whether places are sorted within lines that follow each other; `strictly` if none may come twice."""
    if lines.shape[0] < 2:
        return True
    rises = minor[1:] > minor[:-1] if strictly else minor[1:] >= minor[:-1]
    return bool(all_true((lines[1:] > lines[:-1]) | ((lines[1:] == lines[:-1]) & rises)))


def triples(a: Any) -> Triples:
    """The places of a matrix with two axes, of any format."""
    if a.format == "coo":
        return Triples(a.coords[0], a.coords[1], a.data, a.shape, bool(a._canonical))
    if a.format == "dia":
        return _of_diagonals(a)
    if a.format == "bsr":
        return _of_blocks(a)
    if a.format in ("lil", "dok"):
        return triples(a.tocsr())
    lines = lines_of(a.indptr, a.nnz)
    if a.format == "csr":
        return Triples(lines, a.indices, a.data, a.shape, bool(a._canonical))
    return Triples(a.indices, lines, a.data, a.shape)


def _of_diagonals(a: Any) -> Triples:
    rows, columns = a.shape
    count = min(columns, a.data.shape[1])
    col = zeros((a.data.shape[0], 1), np.int64) + arange(count)
    row = col - a.offsets.astype(np.int64)[:, None]
    data = a.data[:, :count]
    kept = flatnonzero(((row >= 0) & (row < rows) & (data != 0)).ravel())
    return Triples(row.ravel()[kept], col.ravel()[kept], data.ravel()[kept], a.shape)


def _of_blocks(a: Any) -> Triples:
    height, width = a.blocksize
    lines = lines_of(a.indptr, a.indices.shape[0]).astype(np.int64)
    row = (lines * height)[:, None, None] + arange(height)[:, None] + zeros((1, 1, width), np.int64)
    col = (a.indices.astype(np.int64) * width)[:, None, None] + arange(width) + zeros((1, height, 1), np.int64)
    return Triples(row.ravel(), col.ravel(), a.data.ravel(), a.shape)


def keys(t: Triples) -> Array:
    """Places as numbers that sort by rows and then columns; None if they are too many for int64."""
    if t.shape[0] * max(t.shape[1], 1) >= _KEYS:
        return None
    return t.row.astype(np.int64) * t.shape[1] + t.col


def sorted_triples(t: Triples) -> Triples:
    """Sorted by rows, then columns; equal places stay in their order."""
    if t.data.shape[0] < 2:
        return t
    key = keys(t)
    order = lexsort((t.col, t.row)) if key is None else argsort(key, kind="stable")
    return Triples(t.row[order], t.col[order], t.data[order], t.shape)


def summed(t: Triples) -> Triples:
    """Sorted, and each place once: numbers of one place are added (of booleans: any)."""
    if t.canonical:
        return t
    t = sorted_triples(t)
    count = t.data.shape[0]
    starts = arange(0)
    if count:
        new = (t.row[1:] != t.row[:-1]) | (t.col[1:] != t.col[:-1])
        starts = flatnonzero(concatenate([ones(1, bool), new]))
    if starts.shape[0] < count:
        t = Triples(t.row[starts], t.col[starts], added_from(t.data, starts), t.shape)
    t.canonical = True
    return t


def added_from(data: Array, starts: Array) -> Array:
    """Sums of the stretches of `data` that begin at `starts`, in the dtype of `data`."""
    if data.dtype.kind == "b":
        return logical_or.reduceat(data, starts)
    return add.reduceat(data, starts).astype(data.dtype)


def counts_to_pointers(counts: Array) -> Array:
    """Where stretches of these lengths begin, and where the last ends."""
    return concatenate([zeros(1, np.int64), cumsum(counts.astype(np.int64))])


def compressed(t: Triples, name: str, kind: str, canonical: bool | None) -> Any:
    """A CSR or CSC matrix of places that are sorted by rows (of CSC: by columns)."""
    lines, minor = (t.row, t.col) if name == "csr" else (t.col, t.row)
    count = t.shape[0] if name == "csr" else t.shape[1]
    dtype = index_dtype(*t.shape, t.data.shape[0])
    parts = (t.data, minor.astype(dtype), pointers(lines.astype(np.int64), count).astype(dtype))
    made: Any = CLASSES[f"{name}_{kind}"]
    return made._made(parts, t.shape, canonical)


def matrix_of(t: Triples, name: str, kind: str) -> Any:
    """A matrix of canonical places, in a format by its name."""
    dtype = index_dtype(*t.shape)
    if name == "coo":
        made: Any = CLASSES[f"coo_{kind}"]
        return made._made((t.data, t.row.astype(dtype), t.col.astype(dtype)), t.shape, t.canonical)
    found = summed(t) if name == "csr" else summed(t.transposed()).transposed()
    if found.data is t.data:
        found = Triples(found.row, found.col, t.data.copy(), t.shape)
    return compressed(found, name, kind, True)


__all__ = [
    "Triples", "added_from", "compressed", "counts_to_pointers", "in_order", "index_dtype", "keys", "lines_of",
    "looked_at", "matrix_of", "pointers", "sorted_triples", "summed", "triples",
]  # fmt: skip
