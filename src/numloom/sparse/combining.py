"""Matrices put together and taken apart on the device: stacks, Kronecker products, triangles, diagonals.

Each function answers NotImplemented for what SciPy should do, or refuse, on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.creation import zeros
from numloom.api.joining import concatenate
from numloom.api.sorting import flatnonzero
from numloom.array.ndarray import ndarray
from numloom.sparse.places import Triples, index_dtype, triples
from numloom.sparse.where import CLASSES

Array = Any


def _is_ours(*given: Any) -> bool:
    return all(hasattr(x, "_sparse_parts") and x.ndim == 2 for x in given)


def _coo(t: Triples, as_array: bool, format: str | None, canonical: bool | None = None) -> Any:
    """A matrix of places in COO, or in the format that is asked for."""
    dtype = index_dtype(*t.shape)
    made: Any = CLASSES[f"coo_{'array' if as_array else 'matrix'}"]
    parts = (t.data, t.row.astype(dtype), t.col.astype(dtype))
    return made._made(parts, t.shape, canonical).asformat(format)


def kron(A: Any, B: Any, format: str | None) -> Any:
    """Every stored number of `A` times all of `B`; where SciPy makes BSR of it, a CSR matrix."""
    if not _is_ours(A, B):
        return NotImplemented
    a, b = triples(A), triples(B)
    nothing = not (a.data.shape[0] and b.data.shape[0])  # SciPy makes such a one anew, of float64.
    if format is None and not nothing and 2 * b.data.shape[0] >= B.shape[0] * B.shape[1]:
        format = "csr"
    shape = (A.shape[0] * B.shape[0], A.shape[1] * B.shape[1])
    row = (a.row.astype(np.int64) * B.shape[0])[:, None] + b.row
    col = (a.col.astype(np.int64) * B.shape[1])[:, None] + b.col
    data = a.data[:, None] * b.data
    if nothing:
        data = data.real.astype(np.float64)
    return _coo(Triples(row.ravel(), col.ravel(), data.ravel(), shape), A._is_array or B._is_array, format)


def blocks(given: list[list[Any]], format: str | None, dtype: Any, as_array: bool) -> Any:
    """Blocks in rows and columns, None for zeros."""
    cells = [(i, j, x) for i, line in enumerate(given) for j, x in enumerate(line) if x is not None]
    if not cells or len({len(line) for line in given}) != 1 or not _is_ours(*(x for _, _, x in cells)):
        return NotImplemented
    heights: list[int | None] = [None] * len(given)
    widths: list[int | None] = [None] * len(given[0])
    for i, j, x in cells:
        for known, at, length in ((heights, i, x.shape[0]), (widths, j, x.shape[1])):
            if known[at] not in (None, length):
                return NotImplemented  # SciPy says which.
            known[at] = length
    if None in heights or None in widths:
        return NotImplemented
    rows, columns = (np.concatenate([[0], np.cumsum(np.array(each, np.int64))]) for each in (heights, widths))
    common = {x.format for _, _, x in cells}
    if format is None and len(cells) == len(given) * len(given[0]) and common in ({"csr"}, {"csc"}):
        format = common.pop()
    parts = [(triples(x), int(rows[i]), int(columns[j])) for i, j, x in cells]
    data = concatenate([t.data for t, _, _ in parts])
    t = Triples(
        concatenate([t.row.astype(np.int64) + i for t, i, _ in parts]),
        concatenate([t.col.astype(np.int64) + j for t, _, j in parts]),
        data if dtype is None else data.astype(dtype), (int(rows[-1]), int(columns[-1])),
    )  # fmt: skip
    return _coo(t, as_array, format)


def triangle(A: Any, k: int, format: str | None, lower: bool) -> Any:
    """What lies on diagonal `k` and below it, or above."""
    if not _is_ours(A):
        return NotImplemented
    t = triples(A)
    step = t.row.astype(np.int64) + k - t.col
    kept = flatnonzero(step >= 0 if lower else step <= 0)
    found = Triples(t.row[kept], t.col[kept], t.data[kept], A.shape)
    return _coo(found, A._is_array, format, bool(A._canonical and A.format != "csc" and A.format != "dia") or None)


def found(A: Any) -> Any:
    """Rows, columns and values of what is not zero."""
    if not _is_ours(A):
        return NotImplemented
    whole = A.tocoo(copy=True)
    whole.sum_duplicates()
    kept = flatnonzero(whole.data != 0)
    return whole.row[kept], whole.col[kept], whole.data[kept]


def diagonals(given: Any, offsets: Any, shape: Any, format: str | None, dtype: Any) -> Any:
    """A matrix of diagonals that are arrays of ours."""
    if isinstance(offsets, (int, np.integer)):
        given, offsets = [given], [offsets]
    if not isinstance(given, (list, tuple)) or len(given) != len(offsets):
        return NotImplemented
    if not all(type(x) is ndarray and x.ndim == 1 for x in given) or len({int(k) for k in offsets}) != len(given):
        return NotImplemented
    first = given[0].shape[0] + abs(int(offsets[0]))
    rows, columns = (first, first) if shape is None else shape
    data = zeros((len(given), max(columns, 0)), np.result_type(*given) if dtype is None else dtype)
    for line, (x, k) in enumerate(zip(given, map(int, offsets), strict=True)):
        start, length = max(k, 0), min(rows + k, columns - k, rows, columns)
        if length < 0 or x.shape[0] != length:
            return NotImplemented
        data[line, start : start + length] = x
    made: Any = CLASSES["dia_array"]
    return made._made((data, _numbers(offsets)), (rows, columns)).asformat(format)


def _numbers(values: Any) -> Array:
    made = zeros(len(values), np.int32)
    for at, value in enumerate(values):
        made[at] = int(value)
    return made


def reshaped(a: Any, shape: tuple[int, ...], order: str, copy: bool) -> Any:
    """A matrix with the same numbers in rows of another length, in COO; the numbers are shared unless `copy`."""
    if a.ndim != 2 or order not in ("C", "F"):
        return NotImplemented
    t = triples(a)
    dtype = np.dtype(np.int64)
    flat = t.row.astype(dtype) * a.shape[1] + t.col if order == "C" else t.col.astype(dtype) * a.shape[0] + t.row
    made: Any = CLASSES[f"coo_{'array' if a._is_array else 'matrix'}"]
    if len(shape) == 1:
        coords: tuple[Array, ...] = (flat,)
    elif order == "C":
        coords = (flat // max(shape[1], 1), flat % max(shape[1], 1))
    else:
        coords = (flat % max(shape[0], 1), flat // max(shape[0], 1))
    index = index_dtype(*shape)
    data = t.data.copy() if copy else t.data
    return made._made((data, *(x.astype(index) for x in coords)), shape)


def resized(a: Any, shape: tuple[int, int]) -> Any:
    """The same places in another shape; what lies outside is dropped."""
    t = triples(a)
    kept = flatnonzero((t.row < shape[0]) & (t.col < shape[1]))
    moved = Triples(t.row[kept], t.col[kept], t.data[kept], shape)
    return _coo(moved, a._is_array, None).asformat(a.format)


def of_one_shape(a: Any, b: Any) -> tuple[Any, Any]:
    """Two matrices, a single row or column repeated as often as the other needs, as in CuPy; SciPy refuses."""
    if not hasattr(b, "_sparse_parts") or a.shape == b.shape or a.ndim != 2 or b.ndim != 2:
        return a, b
    if _repeats(a.shape, b.shape):
        return _repeated(a, b.shape), b
    return a, _repeated(b, a.shape) if _repeats(b.shape, a.shape) else b


def _repeats(shape: Any, whole: Any) -> bool:
    return all(m in (1, n) for m, n in zip(shape, whole, strict=True))


def _repeated(a: Any, shape: Any) -> Any:
    for axis in (0, 1):
        if a.shape[axis] != shape[axis]:
            csr = a.tocsr()
            ones = type(csr)(np.ones((shape[0], 1) if axis == 0 else (1, shape[1]), a.dtype))
            a = ones @ csr if axis == 0 else csr @ ones
    return a


__all__ = ["blocks", "diagonals", "found", "kron", "of_one_shape", "reshaped", "resized", "triangle"]
