"""Diagonals and blocks made on the device, and what two matrices of diagonals, and one of blocks, do there.

Each function answers NotImplemented for what SciPy should do, or refuse, on the host.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import SparseEfficiencyWarning

from numloom.api.creation import arange, ones, zeros
from numloom.api.elementwise import add, logical_or, where
from numloom.api.joining import concatenate
from numloom.api.sets import unique
from numloom.api.sorting import argsort, cumsum, flatnonzero
from numloom.array.convert import asarray
from numloom.sparse.places import Triples, index_dtype, lines_of, pointers, summed, triples
from numloom.sparse.where import CLASSES

Array = Any
_MANY = 100
"""Diagonals beyond which SciPy, and so we, say that there are too many."""


def _class(a: Any, format: str) -> Any:
    return CLASSES[f"{format}_{'array' if a._is_array else 'matrix'}"]


def todia(a: Any) -> Any:
    """A matrix of its diagonals, sorted, as long as the last column that has a number."""
    if a.ndim != 2:
        return NotImplemented
    t, index = summed(triples(a)), index_dtype(*a.shape)
    if not t.data.shape[0]:
        return _class(a, "dia")._made((zeros((0, 0), a.dtype), zeros(0, index)), a.shape)
    offsets, line = unique(t.col.astype(np.int64) - t.row, return_inverse=True)
    if offsets.shape[0] > _MANY:
        text = f"Constructing a DIA matrix with {offsets.shape[0]} diagonals is inefficient"
        warnings.warn(text, SparseEfficiencyWarning, stacklevel=2)
    width = int(t.col.max()) + 1
    data = zeros(offsets.shape[0] * width, a.dtype)
    data[line.reshape(-1).astype(np.int64) * width + t.col] = t.data
    return _class(a, "dia")._made((data.reshape(-1, width), offsets.astype(index)), a.shape)


def transpose(a: Any) -> Any:
    """The transpose of diagonals or of blocks."""
    if 0 in a.shape or a.format not in ("dia", "bsr"):
        return NotImplemented
    if a.format == "bsr":
        order = argsort(a.indices, kind="stable")
        lines = lines_of(a.indptr, a.indices.shape[0])[order]
        indptr = pointers(a.indices[order], a.shape[1] // a.blocksize[1]).astype(a.indptr.dtype)
        data = a.data.transpose((0, 2, 1)).copy("C")[order]
        return type(a)._made((data, lines.astype(a.indices.dtype), indptr), a.shape[::-1])
    longest = max(a.shape)
    width = max(longest, a.data.shape[1])
    data = _widened(a.data, width)
    column = arange(a.shape[0]) - (-a.offsets.astype(np.int64) % longest)[:, None]
    column = where(column < 0, column + width, column)
    return type(a)._made((data[arange(data.shape[0])[:, None], column], -a.offsets), a.shape[::-1])


def _widened(data: Array, width: int) -> Array:
    """Diagonals cut, or filled up by zeros, to a length."""
    more = width - data.shape[1]
    if more <= 0:
        return data[:, :width]
    return concatenate([data, zeros((data.shape[0], more), data.dtype)], axis=1)


def diagonals_combined(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """The sum or difference of two matrices of diagonals of the same shape; dtypes are SciPy's."""
    dtype = np.result_type(a.dtype, b.dtype)
    if a.shape != b.shape or a._is_array != b._is_array or (dtype.kind == "b" and function is not add):
        return NotImplemented
    left, right = (np.asarray(x.offsets.get(), np.int64) for x in (a, b))
    same_width = a.data.shape[1] == b.data.shape[1]
    if np.array_equal(left, right):
        return a._with_data(function(a.data, b.data)) if same_width else NotImplemented
    offsets = np.union1d(left, right)
    width = min(a.shape[0] + int(offsets[-1]), a.shape[1])
    if same_width and len(offsets) in (len(left), len(right)):  # SciPy adds to one of the two.
        dtype, computed = (a if len(offsets) == len(left) else b).dtype, dtype
        width = a.data.shape[1]
        if not np.can_cast(computed, dtype, "same_kind"):
            return NotImplemented
    x, y = (_spread(m, k, offsets, width) for m, k in ((a, left), (b, right)))
    made = function(x, y).astype(dtype)
    return type(a)._made((made, asarray(offsets).astype(index_dtype(*a.shape))), a.shape)


def diagonals_times(a: Any, b: Any) -> Any:
    """``a.multiply(b)`` of diagonals: the diagonals of both, or those of `a` times a dense array that broadcasts."""
    rows, columns = a.shape
    if hasattr(b, "_sparse_parts"):
        if b.format != "dia" or b.shape != a.shape or a._is_array != b._is_array:
            return NotImplemented
        left, right = (np.asarray(x.offsets.get(), np.int64) for x in (a, b))
        offsets, mine, other = np.intersect1d(left, right, assume_unique=True, return_indices=True)
        width = min(a.data.shape[1], b.data.shape[1])
        data = a.data[asarray(mine), :width] * b.data[asarray(other), :width]
        return type(a)._made((data, asarray(offsets).astype(index_dtype(*a.shape))), a.shape)
    if b.dtype.kind not in "biufc" or rows < 2 or columns < 2:
        return NotImplemented
    if b.shape not in ((rows, columns), (1, columns), (columns,), (rows, 1)):
        return NotImplemented
    width = min(a.data.shape[1], columns)
    column = arange(width)
    if b.shape in ((1, columns), (columns,)):
        factor = asarray(b).reshape(-1)[column]
    else:
        row = (column - a.offsets.astype(np.int64)[:, None]) % rows
        factor = asarray(b)[row, column if b.shape[1] == columns else 0]
    return a._with_data(a.data[:, :width] * factor)


def diagonals_product(a: Any, b: Any) -> Any:
    """``a @ b`` of two matrices of diagonals: the products of each two, which lie where their offsets add up to."""
    if a._is_array != b._is_array or a.shape[1] != b.shape[0] or 0 in (*a.shape, *b.shape):
        return NotImplemented
    shape, width = (a.shape[0], b.shape[1]), min(b.data.shape[1], b.shape[1])
    left, right = ([int(k) for k in x.offsets.get()] for x in (a, b))
    dtype = np.result_type(a.dtype, b.dtype)
    found: dict[int, Any] = {}
    for i, above in enumerate(left):
        for j, beside in enumerate(right):
            k = above + beside
            first = max(k, beside, 0)
            last = min(width, min(a.data.shape[1], a.shape[1]) + beside, shape[0] + k)
            if not -shape[0] < k < width:
                continue
            line: Array = found.setdefault(k, zeros(width, dtype))
            if first < last:
                terms = a.data[i, first - beside : last - beside].astype(dtype) * b.data[j, first:last].astype(dtype)
                line[first:last] = line[first:last] + terms
    offsets = sorted(found)
    data = concatenate([found[k] for k in offsets]) if offsets else zeros(0, dtype)
    parts = (data.reshape(len(offsets), width), asarray(np.array(offsets, np.int64)).astype(index_dtype(*shape)))
    return type(a)._made(parts, shape)


def _spread(a: Any, own: Any, offsets: Any, width: int) -> Array:
    """The diagonals of a matrix among those of two; zeros for what it has not."""
    data = concatenate([_widened(a.data, width), zeros((1, width), a.dtype)])
    place = {int(k): at for at, k in enumerate(own)}
    return data[asarray(np.array([place.get(int(k), len(own)) for k in offsets], np.int64))]


# ---------------------------------------------------------------- blocks


def tobsr(a: Any, blocksize: Any = None) -> Any:
    """A matrix of dense blocks, in the order in which rows of blocks come upon them."""
    if a.ndim != 2:
        return NotImplemented
    if a.format != "csr":
        a = a.tocsr()
    size = _guessed(a) if blocksize is None else blocksize
    if not isinstance(size, tuple) or len(size) != 2 or not all(type(n) is int and n > 0 for n in size):
        return NotImplemented
    if any(n % k for n, k in zip(a.shape, size, strict=True)):
        return NotImplemented
    made, (height, width) = _class(a, "bsr"), size
    if size == (1, 1):
        return made._made((a.data.reshape(-1, 1, 1).copy(), a.indices.copy(), a.indptr.copy()), a.shape)
    t = triples(a)
    key, lines = _blocks_of(t, size)
    order = argsort(key, kind="stable")
    sorted_key = key[order]
    starts = flatnonzero(concatenate([ones(min(1, key.shape[0]), bool), sorted_key[1:] != sorted_key[:-1]]))
    met = argsort(order[starts], kind="stable")  # groups by where their first number stands
    number = zeros(met.shape, np.int64)
    number[met] = arange(met.shape[0])
    group = zeros(key.shape, np.int64)
    group[starts[1:]] = 1
    block = zeros(key.shape, np.int64)
    block[order] = number[cumsum(group)] if key.shape[0] else block
    found = sorted_key[starts][met]
    data = zeros(met.shape[0] * height * width, a.dtype)
    at = (block * height + t.row.astype(np.int64) % height) * width + t.col.astype(np.int64) % width
    if a.nnz:
        (logical_or.at if a.dtype.kind == "b" else add.at)(data, at, t.data)
    index = np.result_type(a.indices.dtype, index_dtype(a.shape[1] // width, met.shape[0]))
    across = max(a.shape[1] // width, 1)
    parts = ((found % across).astype(index), pointers(found // across, lines).astype(index))
    return made._made((data.reshape(-1, height, width), *parts), a.shape)


def blocks_in_order(a: Any, bring: Callable[[Triples], Triples], canonical: bool | None) -> Any:
    """Blocks sorted, or also each place once: their places are those of a matrix whose numbers are blocks."""
    shape = (a.shape[0] // a.blocksize[0], a.shape[1] // a.blocksize[1])
    t = bring(Triples(lines_of(a.indptr, a.indices.shape[0]), a.indices, a.data, shape))
    indptr = pointers(t.row, shape[0]).astype(a.indptr.dtype)
    return type(a)._made((t.data, t.col.astype(a.indices.dtype), indptr), a.shape, canonical)


def without_empty_blocks(a: Any) -> Any:
    """The blocks that have a number that is not zero."""
    kept = flatnonzero((a.data != 0).any(axis=(1, 2)))
    lines = lines_of(a.indptr, a.indices.shape[0])[kept]
    indptr = pointers(lines, a.shape[0] // a.blocksize[0]).astype(a.indptr.dtype)
    return type(a)._made((a.data[kept], a.indices[kept], indptr), a.shape, a._canonical)


def _blocks_of(t: Triples, size: tuple[int, int]) -> tuple[Array, int]:
    """Which block each number is in, by rows of blocks, and how many such rows there are."""
    across = t.shape[1] // size[1]
    return (t.row.astype(np.int64) // size[0]) * max(across, 1) + t.col.astype(np.int64) // size[1], (
        t.shape[0] // size[0]
    )


def _guessed(a: Any) -> tuple[int, int]:
    """SciPy's guess of a block size: the largest whose blocks are full enough."""
    if not a.nnz:
        return 1, 1

    def full(n: int) -> float:
        if any(extent % n for extent in a.shape):
            return 0.0
        return float(a.nnz) / (n * n * unique(_blocks_of(triples(a), (n, n))[0]).shape[0])

    two, three = full(2), full(3)
    if two > 0.85 and three > 0.85:
        return (6, 6) if full(6) > 0.7 else (3, 3)
    return next(((n, n) for n, rate in ((4, full(4)), (3, three), (2, two)) if rate > 0.7), (1, 1))


__all__ = [
    "blocks_in_order",
    "diagonals_combined",
    "diagonals_product",
    "diagonals_times",
    "tobsr",
    "todia",
    "transpose",
    "without_empty_blocks",
]
