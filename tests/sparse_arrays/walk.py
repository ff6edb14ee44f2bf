"""Random sparse programs run four times: by SciPy, and by ours as it comes, on the host's way and on a GPU's.

``python walk.py 5000 SEED`` runs so many; ``python walk.py 1 SEED`` one of them again, and says what it was.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import numloom as nl
from numloom.sparse.where import forced

DTYPES = ("?", "i1", "u1", "i4", "i8", "f4", "f8", "c8", "c16")
FORMATS = ("csr", "csc", "coo", "dia", "bsr", "lil", "dok")
Step = Callable[[Any, Any, Any], Any]


class Walk:
    """The choices of one program: a step takes a module, a matrix and its own numbers, and gives a result."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.kind = self.one_of("array", "array", "matrix")
        self.shape = tuple(int(self.one_of(0, 1, 1, 2, 3, 4, 6)) for _ in range(2))
        self.said: list[str] = []

    def one_of(self, *choices: Any) -> Any:
        """A choice."""
        return choices[int(self.rng.integers(len(choices)))]

    def dense(self, shape: tuple[int, ...], dtype: str | None = None, density: float = 0.5) -> Any:
        """Small whole numbers, which no order of sums changes."""
        dtype = dtype or self.one_of(*DTYPES)
        low = 0 if dtype in ("u1", "?") else -4
        values = self.rng.integers(low, 5, shape)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * self.rng.integers(-2, 3, shape)
        return (values * (self.rng.random(shape) < density)).astype(dtype)

    def host(self, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        """SciPy's matrix, sometimes with places that come twice or stored zeros."""
        values = self.dense(shape, dtype)
        made = scipy.sparse.coo_array(values) if self.kind == "array" else scipy.sparse.coo_matrix(values)
        # Of truth values that come twice SciPy counts one or two, as it happens.
        if self.rng.random() < 0.3 and 0 not in shape and values.dtype.kind != "b":
            count = int(self.rng.integers(1, 6))
            places = [self.rng.integers(0, extent, count) for extent in shape]
            data = self.rng.integers(0, 3, count).astype(values.dtype)
            row, col = (
                np.concatenate(pair).astype(np.int32) for pair in zip((made.row, made.col), places, strict=True)
            )
            made = type(made)((np.concatenate([made.data, data]), (row, col)), shape=shape)
        return made

    def key(self, extent: int) -> Any:
        """A subscript of one axis."""
        rng, way = self.rng, int(self.rng.integers(7))
        if way == 0 and extent:
            return int(rng.integers(-extent, extent))
        if way == 1:
            return slice(None)
        if way == 2:
            bounds = [self.one_of(None, *range(-extent - 1, extent + 2)) for _ in range(2)]
            return slice(*bounds, self.one_of(None, 1, 2, -1, -2))
        if way == 3 and extent:
            return rng.integers(-extent, extent, int(rng.integers(0, 4)))
        if way == 4 and extent:
            return rng.integers(0, extent, int(rng.integers(1, 4))).tolist()
        if way == 5:
            return rng.random(extent) < 0.5
        return slice(None)


def moved(x: Any) -> Any:
    """What a step holds of NumPy's, as ours."""
    if isinstance(x, np.ndarray):
        return nl.asarray(x)
    if scipy.sparse.issparse(x):
        name = f"coo_{'array' if isinstance(x, scipy.sparse.sparray) else 'matrix'}"
        made = getattr(nl.sparse, name)((nl.asarray(x.data), (nl.asarray(x.row), nl.asarray(x.col))), shape=x.shape)
        return made.asformat(x.format)
    if isinstance(x, tuple):
        return tuple(map(moved, x))
    return x


def _subscript(w: Walk) -> tuple[str, Step, Any]:
    rows, columns = w.key(w.shape[0]), w.key(w.shape[1])
    if isinstance(columns, slice) and columns.step not in (None, 1) and not isinstance(rows, (slice, int)):
        columns = slice(None)  # Of one column or none SciPy's answer is dense then, or an error.
    if w.rng.random() < 0.15:
        return "a[rows]", lambda s, a, k: a[k[0]], (rows,)
    if w.rng.random() < 0.15:
        return "a[mask]", lambda s, a, k: a[k[0]], (w.rng.random(w.shape) < 0.4,)
    return "a[rows, columns]", lambda s, a, k: a[k[0], k[1]], (rows, columns)


def _assign(w: Walk) -> tuple[str, Step, Any]:
    keys = (w.key(w.shape[0]), w.key(w.shape[1]))
    probe = np.zeros(w.shape)
    try:
        rows, columns = np.atleast_1d(np.arange(w.shape[0])[keys[0]]), np.atleast_1d(np.arange(w.shape[1])[keys[1]])
        ranges = any(isinstance(key, slice) for key in keys)
        target = (len(rows), len(columns)) if ranges else np.broadcast_shapes(rows.shape, columns.shape)
        pairs = rows[:, None] * w.shape[1] + columns if ranges else rows * w.shape[1] + columns
    except (IndexError, ValueError):
        target, pairs = probe.shape, np.arange(0)
    if np.unique(pairs).size != pairs.size:  # Of a place that comes twice SciPy leaves open which value it gets.
        keys = (slice(None), slice(None))
        target = w.shape
    shapes: list[tuple[int, ...]] = [
        (),
        (1,),
        target,
        tuple(e for e in target if e != 1),
        (*target, 1),
        target[:1],
        target[-1:],
    ]
    if len(target) == 2:
        shapes += [(target[0], 1), (1, target[1]), target[::-1]]
    value = w.dense(w.one_of(*shapes), w.one_of("f8", "i4", "f4", "?"), 0.8)
    if w.rng.random() < 0.2 and len(target) == 2 and 0 not in target:
        value = w.host(w.one_of(target, (target[0], 1), (1, target[1])), "f8").tocsr().tocoo()
        value.sum_duplicates()
    elif w.rng.random() < 0.3 and value.ndim:
        value = value.tolist()
    elif not value.ndim:
        value = value.item()
    format = w.one_of("csr", "csc", "csr", "csc", "lil")

    def run(s: Any, a: Any, k: Any) -> Any:
        a = a.asformat(format).copy()
        a[k[0], k[1]] = k[2]
        return a

    return f"{format}[keys] = value", run, (*keys, value)


def _with_other(w: Walk) -> tuple[str, Step, Any]:
    name, function = w.one_of(
        ("a + b", lambda s, a, k: a + k[0]),
        ("b - a", lambda s, a, k: k[0] - a),
        ("a - b", lambda s, a, k: a - k[0]),
        ("a.multiply(b)", lambda s, a, k: a.multiply(k[0])),
        ("a.maximum(b)", lambda s, a, k: a.maximum(k[0])),
        ("a.minimum(b)", lambda s, a, k: a.minimum(k[0])),
        ("a != b", lambda s, a, k: a != k[0]),
        ("a == b", lambda s, a, k: a == k[0]),
        ("a < b", lambda s, a, k: a < k[0]),
        ("a >= b", lambda s, a, k: a >= k[0]),
        ("a @ b.T", lambda s, a, k: a @ k[0].T),
        ("b.T @ a", lambda s, a, k: k[0].T @ a),
    )
    other = w.host(w.shape)
    format = w.one_of(*FORMATS[:3])
    return f"{name}, {format}", lambda s, a, k: function(s, a, (k[0].asformat(format),)), (other,)


def _with_dense(w: Walk) -> tuple[str, Step, Any]:
    rows, columns = w.shape
    name, function, shapes = w.one_of(
        ("a @ x", lambda s, a, k: a @ k[0], [(columns,), (columns, 1), (columns, 3)]),
        ("x @ a", lambda s, a, k: k[0] @ a, [(rows,), (1, rows), (2, rows)]),
        ("a.multiply(x)", lambda s, a, k: a.multiply(k[0]), [w.shape, (1, columns), (rows, 1), (columns,)]),
        ("a + x", lambda s, a, k: a + k[0], [w.shape]),
        ("x - a", lambda s, a, k: k[0] - a, [w.shape]),
        ("a.dot(x)", lambda s, a, k: a.dot(k[0]), [(columns,), (columns, 2)]),
        ("a < x", lambda s, a, k: a < k[0], [w.shape]),
    )
    return name, function, (w.dense(w.one_of(*shapes)),)


def _with_number(w: Walk) -> tuple[str, Step, Any]:
    number = w.one_of(0, 1, 2, -3, 0.5, 2.0, True, np.float32(2), np.int8(3), 1j)
    name, function = w.one_of(
        ("a * n", lambda s, a, k: a * k[0]),
        ("n * a", lambda s, a, k: k[0] * a),
        ("a / n", lambda s, a, k: a / (k[0] or 1)),
        ("a > n", lambda s, a, k: a > k[0]),
        ("a != n", lambda s, a, k: a != k[0]),
        ("a == n", lambda s, a, k: a == k[0]),
        ("a <= n", lambda s, a, k: a <= k[0]),
        ("a + 0", lambda s, a, k: a + 0),
        ("0 - a", lambda s, a, k: 0 - a),
        ("a.maximum(n)", lambda s, a, k: a.maximum(k[0])),
        ("a.minimum(n)", lambda s, a, k: a.minimum(k[0])),
        ("a ** 2", lambda s, a, k: a.power(2)),
    )
    return f"{name} of {number!r}", function, (number,)


def _reduced(w: Walk) -> tuple[str, Step, Any]:
    axis = w.one_of(None, 0, 1, -1, -2)
    name = w.one_of("sum", "mean", "max", "min", "count_nonzero", "argmax", "argmin", "nanmax", "nanmin")
    dtype = w.one_of(None, None, "f4", "i8", "c16") if name == "sum" else None
    format = w.one_of(*FORMATS)
    options = {} if dtype is None else {"dtype": dtype}
    return (
        f"{format}.{name}({axis}, {dtype})",
        lambda s, a, k: getattr(a.asformat(format), name)(axis=axis, **options),
        (),
    )


def _norm(w: Walk) -> tuple[str, Step, Any]:
    order, axis = w.one_of(
        (None, None), ("fro", None), (1, None), (np.inf, None), (-1, None), (None, 0), (None, 1), (2, 1), (1, 0)
    )
    return f"norm({order}, {axis})", lambda s, a, k: s.linalg.norm(a, order, axis), ()


def _alone(w: Walk) -> tuple[str, Step, Any]:
    k = int(w.rng.integers(-3, 4))
    first, second = (w.one_of(*FORMATS) for _ in range(2))
    name, function = w.one_of(
        ("a.T", lambda s, a, _: a.T),
        ("abs(a)", lambda s, a, _: abs(a)),
        ("a.conj()", lambda s, a, _: a.conj()),
        (f"to{first}, to{second}", lambda s, a, _: a.asformat(first).asformat(second)),
        ("a.real", lambda s, a, _: a.real),
        (f"a.diagonal({k})", lambda s, a, _: a.diagonal(k)),
        ("a.toarray()", lambda s, a, _: a.asformat(first).toarray()),
        (f"tril({k})", lambda s, a, _: s.tril(a, k)),
        (f"triu({k})", lambda s, a, _: s.triu(a, k, "csr")),
        (f"{first}.nonzero()", lambda s, a, _: a.asformat(first).nonzero()),
        ("a.astype(f4)", lambda s, a, _: a.astype("f4")),
        ("a.trace()", lambda s, a, _: a.trace(k)),
        ("a.sqrt()", lambda s, a, _: abs(a).sqrt()),
        ("a.sign()", lambda s, a, _: a.sign()),
        ("find(a)", lambda s, a, _: s.find(a)),
        ("vstack", lambda s, a, _: s.vstack([a, a])),
        ("hstack", lambda s, a, _: s.hstack([a, a], first)),
        ("kron", lambda s, a, _: s.kron(a, a, "csr")),
        ("reshape", lambda s, a, _: a.reshape(1, -1)),
        ("-a", lambda s, a, _: -a),
        ("block_diag", lambda s, a, _: s.block_diag([a, a], "csr")),
        ("eliminated", _eliminated),
        (f"setdiag({k})", lambda s, a, _: _with_diagonal(a.asformat(w_format), k)),
    )
    w_format = w.one_of("csr", "csc", "coo")
    return name, function, ()


def _eliminated(s: Any, a: Any, _: Any) -> Any:
    a = a.tocsr().copy()
    a.eliminate_zeros()
    return a


def _with_diagonal(a: Any, k: int) -> Any:
    a = a.copy()
    a.setdiag(2, k)
    return a


STEPS = (_subscript, _assign, _assign, _with_other, _with_dense, _with_number, _reduced, _norm, _alone)


def attempt(function: Callable[[], Any]) -> Any:
    """What a call gives, or the error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function()
        except (
            ArithmeticError,
            AttributeError,
            IndexError,
            NotImplementedError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            return error


def told(x: Any) -> Any:
    """A result in words: kind, format, dtype, shape and numbers."""
    words = attempt(lambda: _told(x))
    return ("error",) if isinstance(words, Exception) else words


def _told(x: Any) -> Any:
    if isinstance(x, Exception):
        return ("error",)
    if isinstance(x, tuple):
        return tuple(map(told, x))
    if hasattr(x, "nnz"):
        name = type(x).__name__
        dense = x.toarray()
        dense = dense.get() if isinstance(dense, nl.ndarray) else dense
        return name, dense.dtype.str, x.shape, numbers(dense)
    value = x.get() if isinstance(x, nl.ndarray) else np.asarray(x)
    return "dense", value.dtype.str, value.shape, numbers(value)


def numbers(x: Any) -> Any:
    """Numbers, without what rounding leaves open."""
    digits = 4 if x.dtype.char in "fF" else 10
    return (np.round(x, digits) + 0 if x.dtype.kind in "fc" else x).tolist()


def program(seed: int) -> tuple[list[str], list[tuple[str, Any]]]:
    """What one program did, and what each way gave."""
    w = Walk(seed)
    host = w.host(w.shape)
    format = w.one_of(*FORMATS[:3], "csr", "csc", "dia")
    steps = []
    for _ in range(int(w.rng.integers(1, 3))):
        steps.append(w.one_of(*STEPS)(w))
        if steps[-1][0] not in ("a.conj()", "-a", "eliminated", "a.real"):
            break

    def run(s: Any, move: Callable[[Any], Any]) -> Any:
        a = move(host).asformat(format)
        for _, function, given in steps:
            a = function(s, a, tuple(map(move, given)))
        return a

    said = [f"{format}_{w.kind} of {host.dtype} {w.shape}", *[f"{name} {given!r}" for name, _, given in steps]]
    theirs = attempt(lambda: run(scipy.sparse, lambda x: x.copy() if hasattr(x, "copy") else x))
    if steps[-1][0] in ("a @ x", "x @ a", "a.dot(x)") and np.shape(theirs) == () and isinstance(theirs, np.generic):
        theirs = theirs.reshape(1)  # Of COO with one row SciPy forgets the axis.
    results = [("scipy", theirs)]
    for name, device in (("at once", None), ("host", False), ("device", True)):
        with forced(device):
            results.append((name, attempt(lambda: run(nl.sparse, moved))))
    return said, results


def differs(seed: int) -> str:
    """How the four results of a program differ; nothing if they do not."""
    said, results = program(seed)
    if "does not support dtype float16" in str(results[0][1]):  # SciPy gives some of these up to 1.17.
        return ""
    words = [told(result) for _, result in results]
    wrong = [k for k in (1, 2, 3) if repr(words[k]) != repr(words[0])]
    if not wrong:
        return ""
    shown = [
        f"  {name}: {word if word != ('error',) else repr(result)}"[:600]
        for (name, result), word in zip(results, words, strict=True)
    ]
    return "\n".join([f"seed {seed}: {' | '.join(said)}"[:900], *shown])


if __name__ == "__main__":
    count, first = int(sys.argv[1]), int(sys.argv[2])
    found = [text for seed in range(first, first + count) if (text := differs(seed))]
    print("\n".join(found))
    print(f"{len(found)} of {count} programs differ")
