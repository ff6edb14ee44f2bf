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
    fmax,
    fmin,
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
from numloom.base.integers import as_integer, is_integer
from numloom.sparse import axes, layouts
from numloom.sparse.elements import (
    argmax,
    argmin,
    at_pairs,
    compared,
    count_nonzero,
    divided,
    kept_zeros,
    nonzero_places,
    power,
    setdiag,
    setitem,
    times_dense_elements,
)  # fmt: skip
from numloom.sparse.kernels import lines_turned
from numloom.sparse.matmul import matmul, times_dense
from numloom.sparse.places import (
    Triples,
    compressed,
    in_order,
    index_dtype,
    lines_of,
    looked_at,
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


def check_compressed(data: Array, indices: Array, indptr: Array, shape: tuple[int, ...], format: str) -> int:
    """Refuse parts that make no matrix, with SciPy's words; looks at the indices once.

    Returns
    -------
    int
        How many numbers are in lines; there may be more behind them.

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
    steps = indptr.astype(np.int64)
    limits = [smallest(indices), largest(indices)] if indices.shape[0] else []
    rise, *limits = looked_at(_least_rise(steps), *limits)
    first, last = int(steps[0]), int(steps[-1])
    if first != 0:
        raise ValueError("index pointer should start with 0")
    if indices.shape[0] != data.shape[0]:
        raise ValueError("indices and data should have the same size")
    if last > indices.shape[0]:
        raise ValueError("Last value of index pointer should be less than the size of index and data arrays")
    if rise < 0:
        raise ValueError("indptr must be a non-decreasing sequence")
    if last < indices.shape[0]:  # What lies behind the last line is not looked at.
        used = indices[:last]
        limits = looked_at(smallest(used), largest(used)) if last else []
    if limits:
        if limits[1] >= width:
            raise ValueError(f"indices must be < {width}")
        if limits[0] < 0:
            raise ValueError("indices must be >= 0")
    return last


def _least_rise(steps: Array) -> Array:
    return smallest(steps[1:] - steps[:-1]) if steps.shape[0] > 1 else zeros((), np.int64)


def _whole(*arrays: Array) -> bool:
    return all(type(x) is ndarray and x.dtype.kind in "iu" and x.ndim == 1 for x in arrays)


def _numbers(data: Any, dtype: Any) -> Any:
    """Stored numbers in a dtype that SciPy's matrices have, or None."""
    found = data if dtype is None else data.astype(dtype)
    return found if found.dtype.char in "?bBhHiIlLqQfdFD" else None


def construct(kind: Any, arg1: Any, shape: Any, dtype: Any) -> Any:
    """A matrix of arrays of ours; NotImplemented for what comes from the host, or is made there."""
    if kind.format in ("lil", "dok"):
        return NotImplemented
    if hasattr(arg1, "_sparse_parts"):
        other = arg1 if dtype is None else arg1.astype(dtype, copy=False)
        other = other.asformat(kind.format)
        return kind._made(other._parts, other.shape, other._canonical) if shape is None else NotImplemented
    if kind.format == "bsr":
        return NotImplemented
    if type(arg1) is ndarray:
        data = _numbers(arg1, dtype)
        if data is None or shape is not None or kind.format == "dia":
            return NotImplemented
        if data.ndim not in (0, 2) and kind.format == "coo" and kind._is_array:
            return axes.of_dense(data)
        if data.ndim != 2:
            return NotImplemented
        row, col = nonzero(data)
        return matrix_of(Triples(row, col, data[row, col], data.shape, True), kind.format, kind_of(kind))
    if type(arg1) is not tuple or not isinstance(shape, (tuple, list)) or type(arg1[0]) is not ndarray:
        return NotImplemented
    data = _numbers(arg1[0], dtype)
    if data is None or data.ndim != 1:
        return NotImplemented
    if len(shape) != 2:
        plain = kind.format == "coo" and kind._is_array and len(arg1) == 2 and isinstance(arg1[1], (tuple, list))
        return axes.of_coords(data, arg1[1], shape) if plain and _whole(*arg1[1]) else NotImplemented
    shape = (int(shape[0]), int(shape[1]))
    if len(arg1) == 3 and kind.format in ("csr", "csc") and _whole(*arg1[1:]):
        count = check_compressed(data, *arg1[1:], shape, kind.format)
        index = index_dtype(*shape, data.shape[0])
        indices, indptr = (x if x.dtype == index else x.astype(index) for x in arg1[1:])
        if count < data.shape[0]:
            data, indices = data[:count], indices[:count]
        return kind._made((data, indices, indptr), shape)
    if len(arg1) == 2 and kind.format in ("csr", "csc", "coo") and len(arg1[1]) == 2 and _whole(*arg1[1]):
        row, col = arg1[1]
        if not row.shape == col.shape == data.shape or min(shape) < 0:
            return NotImplemented
        if row.shape[0]:
            low, high, left, right = looked_at(smallest(row), largest(row), smallest(col), largest(col))
            if min(low, left) < 0 or high >= shape[0] or right >= shape[1]:
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
    if a.ndim != 2:
        return NotImplemented
    if a.format == "bsr":
        return layouts.blocks_in_order(a, summed, True)
    if a.format == "coo":
        t = summed(triples(a))
        return type(a)._made((t.data, t.row, t.col), a.shape, True)
    return matrix_of(triples(a), a.format, kind_of(a))


def sort_indices(a: Any) -> Any:
    if a.ndim != 2:
        return NotImplemented
    if a.format == "bsr":
        return layouts.blocks_in_order(a, sorted_triples, None)
    t = triples(a)
    t = sorted_triples(t) if a.format == "csr" else sorted_triples(t.transposed()).transposed()
    return compressed(t, a.format, kind_of(a), None)


def eliminate_zeros(a: Any) -> Any:
    if a.ndim != 2:
        return NotImplemented
    if a.format == "bsr":
        return layouts.without_empty_blocks(a)
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
        if (found := _turned(a, "csr")) is not None:
            return found
        return compressed(_by_lines(triples(a)), "csr", kind_of(a), a._canonical or None)
    return matrix_of(triples(a), "csr", kind_of(a))


def tocsc(a: Any) -> Any:
    if a.ndim != 2:
        return NotImplemented
    if a.format == "csr":
        if (found := _turned(a, "csc")) is not None:
            return found
        turned = _by_lines(triples(a).transposed()).transposed()
        return compressed(turned, "csc", kind_of(a), a._canonical or None)
    return matrix_of(triples(a), "csc", kind_of(a))


def _turned(a: Any, name: str) -> Any:
    """CSR as CSC, or CSC as CSR, by kernels of our own; None where there are none."""
    parts = lines_turned(a)
    if parts is None:
        return None
    dtype = index_dtype(*a.shape, a.nnz)
    made: Any = CLASSES[f"{name}_{kind_of(a)}"]
    data, *places = parts
    return made._made((data, *(x.astype(dtype, copy=False) for x in places)), a.shape, a._canonical or None)


def _by_lines(t: Triples) -> Triples:
    """In order of rows; within a row as they come."""
    if t.data.shape[0] < 2:
        return Triples(t.row, t.col, t.data.copy(), t.shape)
    order = t.row.argsort(kind="stable")
    return Triples(t.row[order], t.col[order], t.data[order], t.shape)


def tocoo(a: Any) -> Any:
    if a.ndim != 2:
        return NotImplemented
    t = triples(a.tocsr() if a.format == "dia" else a)  # By rows, as SciPy's.
    dtype = index_dtype(*a.shape)
    made: Any = CLASSES[f"coo_{kind_of(a)}"]
    return made._made((t.data.copy(), t.row.astype(dtype), t.col.astype(dtype)), a.shape)


def toarray(a: Any, order: Any = None) -> Any:
    if a.ndim != 2 or order not in (None, "C", "F"):
        return NotImplemented
    if order == "F":
        return toarray(a.T).T
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
    if a.shape != b.shape or a._is_array != b._is_array:
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
    leader = b if a.format == "dia" and function is add else a  # SciPy has the other one add diagonals.
    format = leader.format if leader.format in ("csr", "csc") else "csr"
    return matrix_of(Triples(t.row[kept], t.col[kept], value[kept], a.shape, format == "csr"), format, kind_of(a))


def _or_dense(function: Any) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        for x, y in ((a, b), (b, a)):
            if hasattr(x, "_sparse_parts") and isinstance(y, (ndarray, np.ndarray)):
                if y.shape != x.shape or y.dtype.kind not in "biufc" or x.ndim != 2:
                    return NotImplemented
                dense = x.toarray()
                return function(dense, asarray(y)) if x is a else function(asarray(y), dense)
        if getattr(a, "format", "") == getattr(b, "format", None) == "dia":
            return layouts.diagonals_combined(function, a, b)
        return _combined(function, a, b)

    return run


def _times(a: Any, b: Any) -> Any:
    if a.format == "dia" and (isinstance(b, (ndarray, np.ndarray)) or getattr(b, "format", "") == "dia"):
        return layouts.diagonals_times(a, b)
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
    if axis is NotImplemented or 0 in a.shape:
        return NotImplemented
    result = _sum_dtype(a.dtype)
    if axis is None:
        t = triples(a)  # Of DIA only what lies inside; of booleans in one place SciPy counts one.
        data = summed(t).data if a.dtype.kind == "b" else t.data
        return data.astype(result).sum() if dtype is None else data.sum(dtype=dtype)
    wide = a._with_data(a.data.astype(result))
    rows = wide.tocsr() if axis == 1 else wide.tocsc().T
    # All in one column: as many ones as there are columns may be more than there is room for.
    parts = rows.data, zeros(rows.indices.shape, rows.indices.dtype), rows.indptr
    narrow = type(rows)._made(parts, (rows.shape[0], 1), False)
    narrow._longest = rows._longest
    found = times_dense(narrow, full(1, 1, result))
    found = found if dtype is None else found.astype(dtype)
    return found if a._is_array else found[:, None] if axis == 1 else found[None, :]


def mean(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    if _axis(a, axis) is NotImplemented:
        return NotImplemented
    whole = a.dtype.kind in "biu"
    found = sum_of(a.astype(np.float64) if whole else a, axis)
    if found is NotImplemented:
        return found
    found = found * (1 / (a.shape[0] * a.shape[1] if axis is None else a.shape[axis % 2]))
    return found if dtype is None else found.astype(dtype)


def _extreme(function: Any, a: Any, axis: Any, explicit: bool) -> Any:
    axis = _axis(a, axis)
    if axis is NotImplemented or 0 in a.shape or a.dtype.kind not in "iuf" or a.format == "dia":
        return NotImplemented
    t = summed(triples(a))
    if axis is None:
        if not a.nnz:
            return zeros((), a.dtype)[()]
        found = function.reduce(t.data)
        hole = not explicit and t.data.shape[0] < a.shape[0] * a.shape[1]
        return function(found, found.dtype.type(0)) if hole else found
    lines, count = (t.col, a.shape[1]) if axis == 0 else (t.row, a.shape[0])
    least = {maximum: -np.inf, minimum: np.inf}.get(function, np.nan)  # NaN gives way to each number.
    if a.dtype.kind != "f":
        limits = np.iinfo(a.dtype)
        least = limits.min if function in (maximum, fmax) else limits.max
    found = full(count, least, a.dtype)
    function.at(found, lines, t.data)
    stored = bincount(lines, minlength=count)
    if explicit:  # Lines without numbers have no extreme.
        found = where(stored > 0, found, zeros((), a.dtype))
    else:
        found = where(stored < a.shape[axis], function(found, zeros((), a.dtype)), found)
    kept = flatnonzero(found != 0)
    places = kept.astype(index_dtype(count))
    made: Any = CLASSES[f"coo_{kind_of(a)}"]
    if a._is_array:
        return made._made((found[kept].astype(a.dtype), places), (count,))
    none = places * 0
    coords, shape = ((none, places), (1, count)) if axis == 0 else ((places, none), (count, 1))
    return made._made((found[kept].astype(a.dtype), *coords), shape)


def _extremes(function: Any) -> Callable[..., Any]:
    def run(a: Any, axis: Any = None, explicit: bool = False) -> Any:
        return _extreme(function, a, axis, explicit)

    return run


def _bound(function: Any) -> Callable[[Any, Any], Any]:
    """The larger or smaller of two: with numbers, dense and sparse operands."""

    def run(a: Any, b: Any) -> Any:
        if isinstance(b, (ndarray, np.ndarray)) and b.ndim and b.dtype.kind in "biuf" and a.dtype.kind != "c":
            return function(a.toarray(), asarray(b)) if b.shape == a.shape and a.ndim == 2 else NotImplemented
        if isinstance(b, (int, float, np.number)) and a.dtype.kind in "iuf" and a.ndim == 2 and b == b:
            if function(np.int8(0), b) == 0:
                return kept_zeros(function, a, b)
            return type(a)(function(a.toarray(), b))
        return _combined(function, a, b)

    return run


def _getitem(a: Any, key: Any) -> Any:
    if not hasattr(a, "_sparse_parts") or a.ndim != 2 or a.format not in ("csr", "csc"):
        return NotImplemented
    keys = key if type(key) is tuple else (key,)  # Arrays of no axes are numbers.
    keys = tuple(as_integer(k) if getattr(k, "ndim", None) == 0 and is_integer(k) else k for k in keys)
    key = keys if type(key) is tuple else keys[0]
    found = getitem(a, key)
    return at_pairs(a, key) if found is NotImplemented else found


def _comparison(function: Any) -> Callable[[Any, Any], Any]:
    return compared(function, lambda a, b: _combined(function, a, b))


def _matmul(a: Any, b: Any) -> Any:
    if getattr(a, "format", "") == getattr(b, "format", None) == "dia":
        return layouts.diagonals_product(a, b)
    return matmul(a, b)


METHODS: dict[str, Callable[..., Any]] = {
    "argmax": argmax,
    "argmin": argmin,
    "count_nonzero": count_nonzero,
    "diagonal": diagonal,
    "max": _extremes(maximum),
    "maximum": _bound(maximum),
    "mean": mean,
    "min": _extremes(minimum),
    "minimum": _bound(minimum),
    "multiply": _times,
    "nanmax": _extremes(fmax),
    "nanmin": _extremes(fmin),
    "nonzero": nonzero_places,
    "sum": sum_of,
    "toarray": toarray,
    "tobsr": layouts.tobsr,
    "tocoo": tocoo,
    "tocsc": tocsc,
    "tocsr": tocsr,
    "todia": layouts.todia,
    "transpose": lambda a, axes=None: layouts.transpose(a) if axes in (None, (1, 0)) else NotImplemented,
}
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": _or_dense(add),
    "eq": _comparison(equal),
    "ge": _comparison(greater_equal),
    "getitem": _getitem,
    "gt": _comparison(greater),
    "le": _comparison(less_equal),
    "lt": _comparison(less),
    "matmul": _matmul,
    "ne": _comparison(not_equal),
    "pow": power,
    "sub": _or_dense(subtract),
    "truediv": divided,
}
OF_OTHER_AXES: dict[str, Callable[..., Any]] = {
    **{name: axes.reduction(name) for name in ("max", "mean", "min", "nanmax", "nanmin", "sum")},
    **{name: axes.by_elements(METHODS[name]) for name in ("maximum", "minimum")},
    **{name: axes.by_elements(OPERATORS[name]) for name in ("eq", "ge", "gt", "le", "lt", "ne")},
    "add": axes.added(1, OPERATORS["add"]),
    "count_nonzero": axes.count_nonzero,
    "eliminate_zeros": axes.eliminate_zeros,
    "matmul": axes.times_dense,
    "multiply": axes.times(_times),
    "nonzero": axes.nonzero,
    "sub": axes.added(-1, OPERATORS["sub"]),
    "sum_duplicates": axes.sum_duplicates,
    "toarray": axes.toarray,
    "tocoo": axes.in_coo,
    "tocsr": axes.in_csr,
    "truediv": axes.over(divided),
}
"""What arrays of one axis, or of more than two, do: methods, operators and changes."""


def way(table: dict[str, Callable[..., Any]], name: str, a: Any) -> Callable[..., Any] | None:
    """What does this on the device, or None: a row of a table, or of that of other axes."""
    return (OF_OTHER_AXES if axes.is_other(a) else table).get(name)


CHANGES: dict[str, Callable[..., Any]] = {
    "__setitem__": setitem,
    "eliminate_zeros": eliminate_zeros,
    "setdiag": setdiag,
    "sort_indices": sort_indices,
    "sum_duplicates": sum_duplicates,
}

__all__ = ["CHANGES", "METHODS", "OPERATORS", "check_compressed", "construct", "is_canonical", "is_sorted", "way"]
