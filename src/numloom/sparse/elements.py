"""Single places on the device: numbers at pairs of indices, assignment, and where something holds.

Each function answers NotImplemented for what SciPy should do, or refuse, on the host.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.api.creation import arange, full, zeros
from numloom.api.elementwise import maximum, minimum, not_equal, where
from numloom.api.histograms import bincount
from numloom.api.joining import concatenate
from numloom.api.manipulation import broadcast_arrays, broadcast_to
from numloom.api.sorting import argsort, flatnonzero, nonzero, searchsorted
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.sparse.layouts import diagonals_times
from numloom.sparse.places import Triples, index_dtype, keys, looked_at, matrix_of, summed, triples
from numloom.sparse.selecting import across, taken
from numloom.sparse.where import CLASSES

Array = Any


def _kind(a: Any) -> str:
    return "array" if a._is_array else "matrix"


# ---------------------------------------------------------------- places that a subscript names


def _places_of(key: Any, count: int) -> Any:
    """Numbers of rows or columns that are there, with the axes of the index; NotImplemented for the rest."""
    if type(key) is slice:
        return arange(*key.indices(count))
    if isinstance(key, (bool, np.bool_)):
        return NotImplemented
    if isinstance(key, (int, np.integer, list)):
        key = np.asarray(key)
        key = key.astype(np.int64) if key.size == 0 else key
    if not isinstance(key, (np.ndarray, ndarray)) or key.ndim > 2:
        return NotImplemented
    if key.dtype.kind == "b" and key.ndim == 1 and key.shape[0] == count:
        return flatnonzero(asarray(key))
    if key.dtype.kind not in "iu":
        return NotImplemented
    key = asarray(key).astype(np.int64)
    if key.size:
        least, most = looked_at(key.min(), key.max())
        if most >= count or least < -count:
            raise IndexError("index out of range")
    return where(key < 0, key + count, key)


def _mask(a: Any, key: Any) -> Any:
    """Rows and columns where a mask of the matrix's shape holds, or None."""
    if hasattr(key, "_sparse_parts") and key.shape == a.shape and key.dtype.kind == "b" and key.ndim == 2:
        t = summed(triples(key))
        kept = flatnonzero(t.data)
        return t.row[kept].astype(np.int64), t.col[kept].astype(np.int64)
    if isinstance(key, (np.ndarray, ndarray)) and key.dtype.kind == "b" and key.shape == a.shape:
        return nonzero(asarray(key))
    return None


def _pairs(a: Any, key: Any) -> Any:
    """Rows and columns, to be broadcast against each other, that a subscript names; NotImplemented for the rest."""
    pair = _mask(a, key)
    if pair is not None:
        return pair
    keys = key if type(key) is tuple else (key, slice(None))
    if len(keys) == 2 and keys[1] is Ellipsis:
        keys = (keys[0], slice(None))
    if len(keys) != 2 or any(each is Ellipsis or each is None for each in keys):
        return NotImplemented
    rows, columns = (_places_of(each, count) for each, count in zip(keys, a.shape, strict=True))
    if rows is NotImplemented or columns is NotImplemented:
        return NotImplemented
    if type(keys[0]) is slice or type(keys[1]) is slice:
        if rows.ndim > 1 or columns.ndim > 1:
            return NotImplemented
        rows, columns = rows.reshape(-1, 1), columns.reshape(1, -1)
    return rows, columns


def _against(rows: Array, columns: Array) -> tuple[Array, Array]:
    """Rows and columns broadcast against each other."""
    try:
        rows, columns = broadcast_arrays(rows, columns)
        return rows, columns
    except ValueError:
        raise IndexError("number of row and column indices differ") from None


def at_pairs(a: Any, key: Any) -> Any:
    """Numbers at pairs of indices or where a mask holds: an array, or of two axes a matrix."""
    found = _pairs(a, key)
    if found is NotImplemented or keys(Triples(zeros(0), zeros(0), zeros(0), a.shape)) is None:
        return NotImplemented
    rows, columns = found
    if rows.ndim == 2 and rows.shape[1] == 1 and columns.shape[:-1] in ((), (1,)):  # Rows that cross columns.
        lines, places = (x.ravel() for x in (found if a.format == "csr" else found[::-1]))
        return across(taken(a, lines), places)
    rows, columns = _against(rows, columns)
    if rows.ndim == 1 and not rows.shape[0]:  # SciPy's answer then is a sparse one.
        none = zeros(0, np.int32)
        if a._is_array:
            made: Any = CLASSES["coo_array"]
            return made._made((zeros(0, a.dtype), none), (0,), True)
        return matrix_of(Triples(none, none, zeros(0, a.dtype), (1, 0), True), a.format, _kind(a))
    t = summed(triples(a))
    wanted = rows.ravel().astype(np.int64) * a.shape[1] + columns.ravel()
    if not t.data.shape[0]:
        values = zeros(wanted.shape, a.dtype)
    else:
        known = keys(t)
        at = minimum(searchsorted(known, wanted), known.shape[0] - 1)
        values = where(known[at] == wanted, t.data[at], zeros((), a.dtype))
    if rows.ndim == 2:
        dense = values.reshape(rows.shape)
        row, col = nonzero(dense)
        return matrix_of(Triples(row, col, dense[row, col], dense.shape, True), a.format, _kind(a))
    return values if a._is_array else values[None, :]


# ---------------------------------------------------------------- assignment


def _stored(a: Any, rows: Array, columns: Array, values: Array) -> Any:
    """The matrix with numbers put at places; of a place that comes twice the last counts."""
    old = summed(triples(a))
    t = Triples(
        concatenate([old.row.astype(np.int64), rows]), concatenate([old.col.astype(np.int64), columns]),
        concatenate([old.data, values.astype(a.dtype)]), a.shape,
    )  # fmt: skip
    key = keys(t)
    if key is None:
        return NotImplemented
    if key.shape[0] > 1:
        order = argsort(key, kind="stable")
        key = key[order]
        last = order[flatnonzero(concatenate([key[1:] != key[:-1], full(1, True)]))]
        t = Triples(t.row[last], t.col[last], t.data[last], a.shape)
    t.canonical = True
    return matrix_of(t, a.format, _kind(a))


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)


def setitem(a: Any, key: Any, value: Any) -> Any:
    """``a[key] = value`` for indices, slices, arrays of indices and masks."""
    if a.ndim != 2 or a.format not in ("csr", "csc"):
        return NotImplemented
    found = _pairs(a, key)
    if found is NotImplemented:
        return NotImplemented
    rows, columns = _against(*found)
    if hasattr(value, "_sparse_parts"):
        value = value.toarray()
    if not isinstance(value, (np.ndarray, ndarray, int, float, complex, list, np.generic)):
        return NotImplemented
    if isinstance(value, (int, float, complex, list)):
        value = np.asarray(value, a.dtype)  # Which says what does not fit.
    value = asarray(value)
    if value.dtype.kind not in "biufc" or (value.dtype.kind == "c" and a.dtype.kind != "c"):
        return NotImplemented
    if _without_ones(value.shape) == _without_ones(rows.shape):  # A vector is a column, too.
        value = value.reshape(rows.shape)
    try:
        values = broadcast_to(value, rows.shape)
    except ValueError:
        raise ValueError(f"cannot assign values of shape {value.shape} to places of shape {rows.shape}") from None
    return _stored(a, rows.ravel().astype(np.int64), columns.ravel().astype(np.int64), values.ravel())


def setdiag(a: Any, values: Any, k: int = 0) -> Any:
    """Numbers put on a diagonal: one for all, or an array, of which a longer one is cut."""
    if a.ndim != 2 or a.format not in ("csr", "csc", "coo") or not -a.shape[0] < k < a.shape[1]:
        return NotImplemented
    values = asarray(values)
    length = min(a.shape[0] + min(k, 0), a.shape[1] - max(k, 0))
    if values.ndim > 1 or values.dtype.kind not in "biufc":
        return NotImplemented
    if values.ndim == 0 and values.dtype.kind == "c" and a.dtype.kind != "c":
        return NotImplemented
    if values.ndim == 1:  # By SciPy's rule an array makes the dtype wider, a number does not.
        a = a.astype(np.result_type(a.dtype, values.dtype), copy=False)
        length = min(length, values.shape[0])
        values = values[:length]
    at = arange(length, dtype=np.int64)
    return _stored(a, at - min(k, 0), at + max(k, 0), broadcast_to(values, (length,)))


# ---------------------------------------------------------------- where something holds


def nonzero_places(a: Any) -> Any:
    """Rows and columns of the stored numbers that are not zero, in their order."""
    if a.ndim != 2:
        return NotImplemented
    t, dtype = triples(a.tocsr() if a.format == "dia" else a), index_dtype(*a.shape)
    kept = flatnonzero(t.data != 0)
    if a.format == "csc":  # SciPy gives these by rows.
        kept = kept[argsort(t.row[kept], kind="stable")]
    return t.row[kept].astype(dtype), t.col[kept].astype(dtype)


def count_nonzero(a: Any, axis: Any = None) -> Any:
    """How many numbers are not zero, of all or along an axis."""
    if a.ndim != 2 or not (axis is None or (type(axis) is int and -2 <= axis < 2)):
        return NotImplemented
    if a.format in ("dia", "bsr") and axis is not None:
        return NotImplemented
    t = summed(triples(a))
    holds = t.data != 0
    if axis is None:
        return holds.sum()
    lines, count = (t.col, a.shape[1]) if axis % 2 == 0 else (t.row, a.shape[0])
    found = bincount(lines[flatnonzero(holds)], minlength=count)
    along = a.format == ("csc" if axis % 2 == 0 else "csr") and bool(holds.all())  # SciPy's are steps of pointers then.
    return found.astype(a.indptr.dtype) if along else found


def _arg(a: Any, axis: Any, sign: int) -> Any:
    """The first place of the largest number (of the smallest for -1), in each line or of all."""
    if a.ndim != 2 or 0 in a.shape or a.dtype.kind not in "iuf" or a.format in ("dia", "bsr"):
        return NotImplemented
    if axis is not None and not (type(axis) is int and -2 <= axis < 2):
        return NotImplemented
    t = summed(triples(a) if axis is None or axis % 2 == 1 else triples(a).transposed())
    if axis is None:
        flat = keys(t)
        if flat is None:
            return NotImplemented
        return _first(flat * 0, flat, t.data, 1, a.shape[0] * a.shape[1], sign)[0].get().item()
    found = _first(t.row.astype(np.int64), t.col.astype(np.int64), t.data, t.shape[0], t.shape[1], sign)
    if a._is_array:
        return found
    return found[None, :] if axis % 2 == 0 else found[:, None]


def _first(lines: Array, minor: Array, data: Array, count: int, width: int, sign: int) -> Array:
    """The first place of each line's extreme, of places sorted by lines; what is not stored is zero."""
    far = np.int64(width)
    lengths = bincount(lines, minlength=count)
    begins = concatenate([zeros(1, np.int64), lengths.cumsum()])[:-1]
    # Up to the first hole, a line's k-th place is k.
    hole = bincount(lines[flatnonzero(minor == arange(minor.shape[0]) - begins[lines])], minlength=count)
    better = maximum if sign > 0 else minimum
    extreme = zeros(count, data.dtype)
    full_lines = flatnonzero(lengths == width)
    if full_lines.shape[0]:
        limit = np.finfo(data.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype)
        low = -np.inf if data.dtype.kind == "f" else limit.min
        high = np.inf if data.dtype.kind == "f" else limit.max
        extreme[full_lines] = low if sign > 0 else high
    better.at(extreme, lines, data)
    wins = data == extreme[lines]
    if data.dtype.kind == "f":
        wins = wins | not_equal(data, data)
    kept = flatnonzero(wins)
    first = full(count, far)
    minimum.at(first, lines[kept], minor[kept])
    # Beside a NaN that is stored SciPy takes the first hole, if there is one.
    found = where(extreme == 0, minimum(first, hole), where(extreme == extreme, first, hole))
    return where(lengths < width, found, first)


def argmax(a: Any, axis: Any = None, explicit: bool = False) -> Any:
    """The first place of the largest number, of all or in each line."""
    return NotImplemented if explicit else _arg(a, axis, 1)


def argmin(a: Any, axis: Any = None, explicit: bool = False) -> Any:
    """The first place of the smallest number, of all or in each line."""
    return NotImplemented if explicit else _arg(a, axis, -1)


# ---------------------------------------------------------------- comparisons that hold for zeros, and quotients


def compared(function: Callable[[Any, Any], Any], sparse: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison: with numbers, dense and sparse operands; `sparse` runs where two zeros give False."""

    def run(a: Any, b: Any) -> Any:
        if a.ndim != 2 or a.dtype.kind == "c":
            return NotImplemented
        if isinstance(b, (int, float, bool, np.number, np.bool_)) or (isinstance(b, ndarray) and b.ndim == 0):
            return _with_number(function, a, b)
        if isinstance(b, (ndarray, np.ndarray)):
            return function(a.toarray(), asarray(b)) if b.shape == a.shape else NotImplemented
        if not hasattr(b, "_sparse_parts") or b.shape != a.shape or b.dtype.kind == "c":
            return NotImplemented
        if a._is_array != b._is_array:
            return NotImplemented
        if not function(np.int8(0), np.int8(0)):
            return sparse(a, b)
        return _of_dense(function(a.toarray(), b.toarray()), a)

    return run


def _of_dense(dense: Array, a: Any) -> Any:
    row, col = nonzero(dense)
    format = a.format if a.format in ("csr", "csc") else "csr"
    return matrix_of(Triples(row, col, dense[row, col], dense.shape, True), format, _kind(a))


def _with_number(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    number = b.get()[()] if isinstance(b, ndarray) else b
    if number != number:  # of NaN SciPy keeps the format
        return _of_dense(function(a.toarray(), b), a).asformat(a.format)
    if bool(function(np.zeros((), a.dtype)[()], number)):
        return _of_dense(function(a.toarray(), b), a)
    return kept_zeros(function, a, b)


def kept_zeros(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """A function of the stored numbers and a number that is zero of zero; zeros are not stored."""
    made = a if a.format in ("csr", "csc") else a.tocsr()
    made = made._with_data(function(made._deduped(), b))
    made.eliminate_zeros()
    return made


def _over_sparse(a: Any, b: Any) -> Any:
    """The quotient of two sparse matrices, which is dense: 0 / 0 nearly everywhere."""
    if any(not hasattr(x, "_sparse_parts") or x.ndim != 2 for x in (a, b)) or a.shape != b.shape:
        return NotImplemented
    dtype = np.dtype(np.float64) if np.can_cast(a.dtype, np.float64) else a.dtype
    if dtype.kind not in "fc" or (b.dtype.kind == "c" and dtype.kind != "c") or not (a._is_array and b._is_array):
        return NotImplemented
    x, y = a.toarray().astype(dtype), b.toarray()
    if dtype.kind != "c":
        found = x / y
    else:  # SciPy's formula, and its NaN where neither has a number: those of zeros differ otherwise.
        y = y.astype(dtype)
        found = x * y.conj() * (1 / (y.real**2 + y.imag**2))
        stored = zeros(x.size, bool)
        for each in (a, b):
            stored[keys(triples(each))] = True
        found = where(stored.reshape(x.shape), found, dtype.type(np.nan))
    return where(found == 0, dtype.type(0), found).astype(dtype)


def divided(a: Any, b: Any) -> Any:
    """``a / b``: for a dense `b` of the same shape a sparse result, as of a product; for a sparse one a dense."""
    if hasattr(b, "_sparse_parts"):
        return _over_sparse(a, b)
    if not hasattr(a, "_sparse_parts") or a.ndim != 2:
        return NotImplemented
    if not isinstance(b, (ndarray, np.ndarray)) or b.dtype.kind not in "biufc":
        return NotImplemented
    if a.format == "dia":
        return diagonals_times(a, 1.0 / asarray(b))
    return times_dense_elements(a, 1.0 / asarray(b))


def times_dense_elements(a: Any, b: Any) -> Any:
    """``a.multiply(b)`` for a dense `b` that broadcasts to the matrix: COO, for a single number mostly as `a` is."""
    rows, columns = a.shape
    if b.shape not in ((rows, columns), (1, columns), (columns,), (rows, 1), (1,), (1, 1)):
        return NotImplemented
    t, b, dtype = triples(a), asarray(b), index_dtype(*a.shape)
    if b.size == 1:
        a = a.tocsr() if a.format == "coo" else a
        return a._with_data(a.data * b.reshape(()))
    if b.shape == (rows, columns):
        factor = b[t.row, t.col]
    else:
        factor = b.ravel()[t.row] if b.shape == (rows, 1) else b.ravel()[t.col]
    made: Any = CLASSES[f"coo_{_kind(a)}"]
    return made._made((t.data * factor, t.row.astype(dtype), t.col.astype(dtype)), a.shape)


def power(a: Any, n: Any) -> Any:
    """``a ** n`` of matrices: products of squares."""
    if not isinstance(n, (int, np.integer)) or n < 1 or a.shape[0] != a.shape[1] or a.format == "dia":
        return NotImplemented
    if n == 1:
        return a.copy()
    made, square = None, a
    while n:
        if n & 1:
            made = square if made is None else operator.matmul(made, square)
        n >>= 1
        if n:
            square = square @ square
    return made


__all__ = [
    "argmax", "argmin", "at_pairs", "compared", "count_nonzero", "divided", "kept_zeros", "nonzero_places", "power",
    "setdiag", "setitem", "times_dense_elements",
]  # fmt: skip
