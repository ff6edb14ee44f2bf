"""Sparse work by our own array operations, for data that live on a device: which method is which function.

What has no row here, or answers NotImplemented, SciPy does on the host with counted copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.api.creation import arange, full, zeros
from numloom.api.elementwise import (
    add,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_or,
    maximum,
    minimum,
    multiply,
    not_equal,
    subtract,
    where,
)
from numloom.api.histograms import bincount
from numloom.api.joining import concatenate
from numloom.api.reductions import max as largest
from numloom.api.reductions import min as smallest
from numloom.api.sorting import flatnonzero, nonzero
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.sparse.elements import (
    argmax,
    argmin,
    at_pairs,
    compared,
    count_nonzero,
    divided,
    nonzero_places,
    power,
    setdiag,
    setitem,
    times_dense_elements,
)  # fmt: skip
from numloom.sparse.matmul import matmul, times_dense
from numloom.sparse.places import (
    Triples,
    compressed,
    in_order,
    index_dtype,
    lines_of,
    matrix_of,
    sorted_triples,
    summed,
    triples,
)
from numloom.sparse.selecting import getitem
from numloom.sparse.where import CLASSES

Array = Any


def kind_of(a: Any) -> str:
    """How the names of its classes end."""
    return "array" if a._is_array else "matrix"


# ---------------------------------------------------------------- making and checking


def check_compressed(data: Array, indices: Array, indptr: Array, shape: tuple[int, ...], format: str) -> None:
    """Refuse parts that make no matrix, with SciPy's words; looks at the indices once.

    Raises
    ------
    ValueError
        For lengths, pointers or indices that are wrong.
    """
    lines, width = shape if format == "csr" else shape[::-1]
    if any(part.ndim != 1 for part in (data, indices, indptr)):
        raise ValueError("data, indices, and indptr should be 1-D")
    if indptr.shape[0] != lines + 1:
        raise ValueError(f"index pointer size {indptr.shape[0]} should be {lines + 1}")
    if int(indptr[0]) != 0:
        raise ValueError("index pointer should start with 0")
    if indices.shape[0] != data.shape[0]:
        raise ValueError("indices and data should have the same size")
    if int(indptr[-1]) > indices.shape[0]:
        raise ValueError("Last value of index pointer should be less than the size of index and data arrays")
    if lines and int(smallest(indptr[1:] - indptr[:-1])) < 0:
        raise ValueError("indptr must be a non-decreasing sequence")
    used = indices[: int(indptr[-1])]
    if used.shape[0]:
        if int(largest(used)) >= width:
            raise ValueError(f"indices must be < {width}")
        if int(smallest(used)) < 0:
            raise ValueError("indices must be >= 0")


def _whole(*arrays: Array) -> bool:
    return all(type(x) is ndarray and x.dtype.kind in "iu" and x.ndim == 1 for x in arrays)


def _numbers(data: Any, dtype: Any) -> Any:
    """Stored numbers in a dtype that SciPy's matrices have, or None."""
    found = data if dtype is None else data.astype(dtype)
    return found if found.dtype.char in "?bBhHiIlLqQfdFD" else None


def construct(kind: Any, arg1: Any, shape: Any, dtype: Any) -> Any:
    """A matrix of arrays of ours; NotImplemented for what comes from the host, or is made there."""
    if hasattr(arg1, "_sparse_parts"):
        other = arg1 if dtype is None else arg1.astype(dtype, copy=False)
        other = other.asformat(kind.format)
        return kind._made(other._parts, other.shape, other._canonical) if shape is None else NotImplemented
    if kind.format in ("bsr", "lil", "dok"):
        return NotImplemented
    if type(arg1) is ndarray:
        if arg1.ndim != 2 or shape is not None or kind.format == "dia":
            return NotImplemented
        data = _numbers(arg1, dtype)
        if data is None:
            return NotImplemented
        row, col = nonzero(data)
        return matrix_of(Triples(row, col, data[row, col], data.shape, True), kind.format, kind_of(kind))
    if type(arg1) is not tuple or shape is None or len(shape) != 2 or type(arg1[0]) is not ndarray:
        return NotImplemented
    data = _numbers(arg1[0], dtype)
    if data is None or data.ndim != 1:
        return NotImplemented
    shape = (int(shape[0]), int(shape[1]))
    if len(arg1) == 3 and kind.format in ("csr", "csc") and _whole(*arg1[1:]):
        check_compressed(data, *arg1[1:], shape, kind.format)
        index = index_dtype(*shape, data.shape[0])
        count = int(arg1[2][-1])
        indices, indptr = (x if x.dtype == index else x.astype(index) for x in arg1[1:])
        if count < data.shape[0]:
            data, indices = data[:count], indices[:count]
        return kind._made((data, indices, indptr), shape)
    if len(arg1) == 2 and kind.format in ("csr", "csc", "coo") and len(arg1[1]) == 2 and _whole(*arg1[1]):
        row, col = arg1[1]
        if not row.shape == col.shape == data.shape or min(shape) < 0:
            return NotImplemented
        for axis, places in enumerate((row, col)):
            if places.shape[0] and (int(largest(places)) >= shape[axis] or int(smallest(places)) < 0):
                return NotImplemented  # SciPy says what is wrong.
        return matrix_of(Triples(row, col, data, shape), kind.format, kind_of(kind))
    return NotImplemented


def is_canonical(a: Any) -> bool:
    """Whether places are sorted and none comes twice."""
    if a.format == "coo":
        return in_order(a.coords[0], a.coords[1], True)
    return in_order(lines_of(a.indptr, a.indices.shape[0]), a.indices, True)


def is_sorted(a: Any) -> bool:
    """Whether the places of each row (of CSC: column) are in order."""
    return in_order(lines_of(a.indptr, a.indices.shape[0]), a.indices, False)


# ---------------------------------------------------------------- changes and conversions


def sum_duplicates(a: Any) -> Any:
    if a.ndim != 2 or a.format == "bsr":
        return NotImplemented
    if a.format == "coo":
        t = summed(triples(a))
        return type(a)._made((t.data, t.row, t.col), a.shape, True)
    return matrix_of(triples(a), a.format, kind_of(a))


def sort_indices(a: Any) -> Any:
    if a.ndim != 2 or a.format == "bsr":
        return NotImplemented
    t = triples(a)
    t = sorted_triples(t) if a.format == "csr" else sorted_triples(t.transposed()).transposed()
    return compressed(t, a.format, kind_of(a), None)


def eliminate_zeros(a: Any) -> Any:
    if a.ndim != 2 or a.format == "bsr":
        return NotImplemented
    t = triples(a)
    kept = flatnonzero(t.data != 0)
    t = Triples(t.row[kept], t.col[kept], t.data[kept], a.shape)
    if a.format == "coo":
        return type(a)._made((t.data, t.row, t.col), a.shape, a._canonical)
    return compressed(t, a.format, kind_of(a), a._canonical or None)


def tocsr(a: Any) -> Any:
    if a.ndim != 2:
        return NotImplemented
    if a.format == "csc":  # SciPy keeps what comes twice
        return compressed(_by_lines(triples(a)), "csr", kind_of(a), a._canonical or None)
    return matrix_of(triples(a), "csr", kind_of(a))


def tocsc(a: Any) -> Any:
    if a.ndim != 2:
        return NotImplemented
    if a.format == "csr":
        turned = _by_lines(triples(a).transposed()).transposed()
        return compressed(turned, "csc", kind_of(a), a._canonical or None)
    return matrix_of(triples(a), "csc", kind_of(a))


def _by_lines(t: Triples) -> Triples:
    """In order of rows; within a row as they come."""
    if t.data.shape[0] < 2:
        return Triples(t.row, t.col, t.data.copy(), t.shape)
    order = t.row.argsort(kind="stable")
    return Triples(t.row[order], t.col[order], t.data[order], t.shape)


def tocoo(a: Any) -> Any:
    if a.ndim != 2:
        return NotImplemented
    t = triples(a)
    dtype = index_dtype(*a.shape)
    made: Any = CLASSES[f"coo_{kind_of(a)}"]
    return made._made((t.data.copy(), t.row.astype(dtype), t.col.astype(dtype)), a.shape)


def toarray(a: Any, order: Any = None) -> Any:
    if a.ndim != 2 or order not in (None, "C"):
        return NotImplemented
    t = triples(a)
    flat = zeros(a.shape[0] * a.shape[1], a.dtype)
    at = logical_or.at if a.dtype.kind == "b" else add.at
    if a.nnz:
        at(flat, t.row.astype(np.int64) * a.shape[1] + t.col, t.data)
    return flat.reshape(a.shape)


def diagonal(a: Any, k: int = 0) -> Any:
    rows, columns = a.shape if a.ndim == 2 else (0, 0)
    if a.ndim != 2 or k <= -rows or k >= columns:
        return NotImplemented
    t = triples(a)
    kept = flatnonzero(t.row.astype(np.int64) + k == t.col)
    found = zeros(min(rows + min(k, 0), columns - max(k, 0)), a.dtype)
    (logical_or.at if a.dtype.kind == "b" else add.at)(found, t.row[kept] + min(k, 0), t.data[kept])
    return found


# ---------------------------------------------------------------- two matrices, element by element


def _combined(function: Any, a: Any, b: Any) -> Any:
    """Apply a function of two numbers that is 0 of zeros at the places of either; zeros are not stored."""
    if any(not hasattr(x, "_sparse_parts") or x.ndim != 2 for x in (a, b)):
        return NotImplemented
    if a.shape != b.shape or a._is_array != b._is_array or a.format == b.format == "dia":
        return NotImplemented
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.kind == "b" and function is subtract:
        return NotImplemented
    if dtype.kind == "c" and function not in (add, subtract, multiply, not_equal):
        return NotImplemented
    left, right = summed(triples(a)), summed(triples(b))
    count = left.data.shape[0]
    row = concatenate([left.row.astype(np.int64), right.row.astype(np.int64)])
    col = concatenate([left.col.astype(np.int64), right.col.astype(np.int64)])
    source = arange(count + right.data.shape[0])
    t = sorted_triples(Triples(row, col, source, a.shape))
    # A place comes once or twice; of two, the first is the left matrix's.
    x, y = zeros(source.shape, dtype), zeros(source.shape, dtype)
    x[:count] = left.data
    y[count:] = right.data
    x, y = x[t.data], y[t.data]
    if source.shape[0] > 1:
        twice = (t.row[1:] == t.row[:-1]) & (t.col[1:] == t.col[:-1])
        y[:-1] = where(twice, y[1:], y[:-1])
        value = function(x, y)
        second = concatenate([zeros(1, bool), twice])
        kept = flatnonzero((value != 0) & ~second)
    else:
        value = function(x, y)
        kept = flatnonzero(value != 0)
    found = Triples(t.row[kept], t.col[kept], value[kept], a.shape, a.format != "csc")
    return matrix_of(found, a.format if a.format in ("csr", "csc") else "csr", kind_of(a))


def _or_dense(function: Any) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        for x, y in ((a, b), (b, a)):
            if hasattr(x, "_sparse_parts") and isinstance(y, (ndarray, np.ndarray)):
                if y.shape != x.shape or y.dtype.kind not in "biufc" or x.ndim != 2:
                    return NotImplemented
                dense = x.toarray()
                return function(dense, asarray(y)) if x is a else function(asarray(y), dense)
        return _combined(function, a, b)

    return run


def _times(a: Any, b: Any) -> Any:
    if a.format == "dia":
        return NotImplemented
    if isinstance(b, (ndarray, np.ndarray)) and a.ndim == 2 and b.dtype.kind in "biufc":
        return times_dense_elements(a, b)
    return _combined(multiply, a, b)


# ---------------------------------------------------------------- reductions


def _axis(a: Any, axis: Any) -> Any:
    """An axis of two as 0 or 1, None for all; NotImplemented for what SciPy should judge."""
    if a.ndim != 2 or not (axis is None or (type(axis) is int and -2 <= axis < 2)):
        return NotImplemented
    return axis if axis is None else axis % 2


def _sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "u":
        return np.dtype(np.uint)
    return np.dtype(np.int_) if dtype.kind in "bi" else dtype


def sum_of(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    axis = _axis(a, axis)
    if axis is NotImplemented or dtype is not None or 0 in a.shape:
        return NotImplemented
    result = _sum_dtype(a.dtype)
    if axis is None:
        t = triples(a)  # Of DIA only what lies inside; of booleans in one place SciPy counts one.
        return (summed(t).data if a.dtype.kind == "b" else t.data).astype(result).sum()
    wide = a._with_data(a.data.astype(result))
    rows = wide.tocsr() if axis == 1 else wide.tocsc().T
    found = times_dense(rows, full(rows.shape[1], 1, result))
    return found if a._is_array else found[:, None] if axis == 1 else found[None, :]


def mean(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    if dtype is not None or _axis(a, axis) is NotImplemented:
        return NotImplemented
    whole = a.dtype.kind in "biu"
    found = sum_of(a.astype(np.float64) if whole else a, axis)
    if found is NotImplemented:
        return found
    return found * (1 / (a.shape[0] * a.shape[1] if axis is None else a.shape[axis % 2]))


def _extreme(function: Any, a: Any, axis: Any, explicit: bool) -> Any:
    axis = _axis(a, axis)
    if axis is NotImplemented or explicit or 0 in a.shape or a.dtype.kind not in "iuf" or a.format == "dia":
        return NotImplemented
    t = summed(triples(a))
    if axis is None:
        if not a.nnz:
            return zeros((), a.dtype)[()]
        found = (largest if function is maximum else smallest)(t.data)
        return function(found, found.dtype.type(0)) if t.data.shape[0] < a.shape[0] * a.shape[1] else found
    lines, count = (t.col, a.shape[1]) if axis == 0 else (t.row, a.shape[0])
    limits = np.finfo(a.dtype) if a.dtype.kind == "f" else np.iinfo(a.dtype)
    start = (-np.inf if function is maximum else np.inf) if a.dtype.kind == "f" else (
        limits.min if function is maximum else limits.max
    )  # fmt: skip
    found = full(count, start, a.dtype)
    function.at(found, lines, t.data)
    holes = bincount(lines, minlength=count) < a.shape[axis]
    zero = zeros((), a.dtype)
    found = holes * function(found, zero) + ~holes * found if a.dtype.kind != "f" else _either(holes, function, found)
    kept = flatnonzero(found != 0)
    places = kept.astype(index_dtype(count))
    made: Any = CLASSES[f"coo_{kind_of(a)}"]
    if a._is_array:
        return made._made((found[kept].astype(a.dtype), places), (count,))
    none = places * 0
    coords, shape = ((none, places), (1, count)) if axis == 0 else ((places, none), (count, 1))
    return made._made((found[kept].astype(a.dtype), *coords), shape)


def _either(holes: Array, function: Any, found: Array) -> Array:
    changed = found.copy()
    at = flatnonzero(holes)
    changed[at] = function(found[at], found.dtype.type(0))
    return changed


def _max(a: Any, axis: Any = None, explicit: bool = False) -> Any:
    return _extreme(maximum, a, axis, explicit)


def _min(a: Any, axis: Any = None, explicit: bool = False) -> Any:
    return _extreme(minimum, a, axis, explicit)


def _getitem(a: Any, key: Any) -> Any:
    if not hasattr(a, "_sparse_parts") or a.ndim != 2 or a.format not in ("csr", "csc"):
        return NotImplemented
    found = getitem(a, key)
    return at_pairs(a, key) if found is NotImplemented else found


def _comparison(function: Any) -> Callable[[Any, Any], Any]:
    return compared(function, lambda a, b: _combined(function, a, b))


METHODS: dict[str, Callable[..., Any]] = {
    "argmax": argmax,
    "argmin": argmin,
    "count_nonzero": count_nonzero,
    "diagonal": diagonal,
    "max": _max,
    "maximum": lambda a, b: _combined(maximum, a, b),
    "mean": mean,
    "min": _min,
    "minimum": lambda a, b: _combined(minimum, a, b),
    "multiply": _times,
    "nonzero": nonzero_places,
    "sum": sum_of,
    "toarray": toarray,
    "tocoo": tocoo,
    "tocsc": tocsc,
    "tocsr": tocsr,
}
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": _or_dense(add),
    "eq": _comparison(equal),
    "ge": _comparison(greater_equal),
    "getitem": _getitem,
    "gt": _comparison(greater),
    "le": _comparison(less_equal),
    "lt": _comparison(less),
    "matmul": matmul,
    "ne": _comparison(not_equal),
    "pow": power,
    "sub": _or_dense(subtract),
    "truediv": divided,
}
CHANGES: dict[str, Callable[..., Any]] = {
    "__setitem__": setitem,
    "eliminate_zeros": eliminate_zeros,
    "setdiag": setdiag,
    "sort_indices": sort_indices,
    "sum_duplicates": sum_duplicates,
}

__all__ = ["CHANGES", "METHODS", "OPERATORS", "check_compressed", "construct", "is_canonical", "is_sorted"]
