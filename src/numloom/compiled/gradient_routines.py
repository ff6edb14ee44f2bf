"""Gradients of routines, by their names in `numloom.ops.routines`: products, transforms, order, scans and stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numloom.api.indexing import take_along_axis
from numloom.api.manipulation import flip, moveaxis
from numloom.api.products import matmul
from numloom.api.sorting import argsort, cumsum
from numloom.api.ufunc import scan as scanned
from numloom.array.ndarray import node_of, wrap
from numloom.array.storage import new_storage, write_at
from numloom.base.dtypes import DTYPES, I64, ITEMSIZES, KINDS
from numloom.compiled import gradient_linalg as matrices
from numloom.compiled.gradient_memory import written
from numloom.compiled.gradient_rules import (
    NoGradientError,
    of_host,
    of_users_loop,
    pair_rule,
    unless_zero,
    values_of,
)
from numloom.compiled.gradient_values import (
    Array,
    array_of,
    cast_to,
    filled,
    in_memory_order,
    named,
    summed_to,
    turned,
)
from numloom.engine.evaluate import leaf_from_host
from numloom.engine.routines import call
from numloom.engine.waiting import KernelOutput
from numloom.graph import build
from numloom.graph.node import Node
from numloom.graph.source_location import here

Parts = Sequence[Array | None]


def routine(node: Node, args: tuple[Node, ...], g: Array, wanted: list[bool]) -> Parts:
    """What flows back to the operands of a routine.

    Raises
    ------
    NoGradientError
        If it has no rule.
    """
    row: Any = node.op_def
    if isinstance(row, KernelOutput):
        return of_kernel(row, args, g, wanted)
    name = row.op_def.name
    if name == "scatter":
        return of_scatter(node, args, g)
    options = dict(row.options)
    if name in REFUSED:
        raise NoGradientError(f"{name} has no gradient: {REFUSED[name]}")
    y, operands = array_of(node), values_of(list(args))
    if name == "special":
        return of_host(g, y, operands, wanted, **options)
    rule = FACTORISATIONS.get(name)
    if rule is not None:
        return rule(getattr(row.op_def, "number", 0), g, y, operands, **options)
    if name not in RULES:
        raise NoGradientError(f"{name} has no gradient")
    return RULES[name](g, y, operands, **options)


def of_kernel(row: KernelOutput, args: tuple[Node, ...], g: Array, wanted: list[bool]) -> Parts:
    """The rule that a user gave."""
    kernel = row.op_def.call
    results = values_of(list(kernel.of(args)))
    operands = values_of(list(args))
    if kernel.texts is not None:
        return of_users_loop(kernel, g, results[row.op_def.number], operands, wanted)
    flows = [
        g if number == row.op_def.number else filled(0, code, shape)
        for number, (shape, code) in enumerate(kernel.results)
    ]
    found = kernel.gradients(flows, results, operands, wanted)
    if found is None:
        raise NoGradientError(
            f"{row.op_def.name} has no rule for its gradient: give one, gradient=, to operation() (a function) or to "
            "ElementwiseKernel (texts)"
        )
    return found  # type: ignore[no-any-return]


# ---------------------------------------------------------------- products and transforms


def of_matmul(g: Array, y: Array, operands: list[Array]) -> Parts:
    """Products with the other factor, transposed."""
    a, b = operands
    return [summed_to(matmul(g, turned(b)), a.shape), summed_to(matmul(turned(a), g), b.shape)]


def of_correlate(g: Array, y: Array, operands: list[Array], *, mode: str) -> Parts:
    """``y[k] = sum of a[n + k] conj(v[n])``, of a padded `a`."""
    a, v = operands
    count, taps = a.size, v.size
    left = {"valid": 0, "same": taps // 2, "full": taps - 1}[mode]
    right = {"valid": 0, "same": taps - 1 - taps // 2, "full": taps - 1}[mode]
    padded = _padded(a, left, right)
    longer = _padded(g, 0, max(0, taps - g.size))
    spread = _correlated(longer, v[::-1], "full")
    sides = _correlated(padded, named("conjugate", g), "valid")
    return [spread[left : left + count], named("conjugate", sides)]


def _padded(a: Array, left: int, right: int) -> Array:
    if not left and not right:
        return a
    result = filled(0, a.code, (left + a.size + right,))
    result[left : left + a.size] = a
    return result


def _correlated(a: Array, v: Array, mode: str) -> Array:
    size = a.size + v.size - 1 if mode == "full" else a.size - v.size + 1
    return wrap(call("correlate", node_of(a), node_of(v), code=a.code, shape=(size,), mode=mode))


def of_fourier(
    g: Array, y: Array, operands: list[Array], *, kind: str, axes: tuple[int, ...], n: int, forward: bool, norm: str
) -> Parts:
    """The same transform, since its matrix is symmetric; halves are made whole, or weighted."""
    a = operands[0]
    axis = axes[-1]
    if kind == "r2c":
        whole = filled(0, g.code, a.shape)
        whole[tuple([slice(g.shape[axis]) if k == axis else slice(None) for k in range(a.ndim)])] = g
        return [_transformed(whole, axes, forward, norm)]
    if kind == "c2c":
        return [_transformed(g, axes, forward, norm)]
    found = _transformed(cast_to(g, a.code), axes, forward, norm)
    half = a.shape[axis]
    weights = np.full(half, 2.0, np.float32 if KINDS[a.code] == "c" and ITEMSIZES[a.code] == 8 else np.float64)
    weights[0] = 1
    if n % 2 == 0 and half > n // 2:
        weights[n // 2] = 1
    scale = wrap(leaf_from_host(weights)).reshape([-1 if k == axis else 1 for k in range(a.ndim)])
    return [found[tuple([slice(half) if k == axis else slice(None) for k in range(a.ndim)])] * scale]


def _transformed(a: Array, axes: tuple[int, ...], forward: bool, norm: str) -> Array:
    return wrap(
        call(
            "fourier", node_of(a), code=a.code, shape=a.shape, kind="c2c", axes=axes, n=0, forward=forward, norm=norm
        )
    )  # fmt: skip


def of_trigonometric(
    g: Array, y: Array, operands: list[Array], *, transform: str, type: int, axes: tuple[int, ...], norm: Any,
    orthogonalize: Any,
) -> Parts:  # fmt: skip
    """The transposed transform: of types 2 and 3 the other one, with its ends weighted."""
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    cosine = "dct" in transform
    opposed = transform.startswith("i")
    kind = {2: 3, 3: 2}.get(type, type) if opposed else type
    swapped = {"backward": "forward", "forward": "backward", None: "forward"}
    scale = swapped.get(norm, norm) if opposed else norm
    name = "dctn" if cosine else "dstn"
    for axis in axes:
        g = _transposed_transform(g, name, kind, axis % g.ndim, scale, orthogonal)
    return [g]


def _transposed_transform(g: Array, name: str, kind: int, axis: int, norm: Any, orthogonal: bool) -> Array:
    cosine = name == "dctn"
    other = {2: 3, 3: 2}.get(kind, kind)
    count = g.shape[axis]
    before, after = np.ones(count), np.ones(count)
    if not orthogonal:
        if kind == 1 and cosine:
            before[1:-1], after[1:-1] = 0.5, 2
        elif kind == 2:
            before[0 if cosine else -1] = 2
        elif kind == 3:
            after[0 if cosine else -1] = 0.5
    found = wrap(
        call(
            "trigonometric", node_of(_weighted(g, before, axis)), code=g.code, shape=g.shape, transform=name,
            type=other, axes=(axis,), norm=norm, orthogonalize=orthogonal,
        )
    )  # fmt: skip
    return _weighted(found, after, axis)


def _weighted(a: Array, weights: np.ndarray[Any, Any], axis: int) -> Array:
    if (weights == 1).all():
        return a
    real = np.float32 if a.dtype.char in "fF" else np.float64
    return a * wrap(leaf_from_host(weights.astype(real))).reshape([-1 if k == axis else 1 for k in range(a.ndim)])


# ---------------------------------------------------------------- order


def of_sort(g: Array, y: Array, operands: list[Array], *, axis: int) -> Parts:
    """Each gradient goes to where its number came from."""
    return [take_along_axis(g, argsort(argsort(operands[0], axis), axis), axis)]


def of_partition(g: Array, y: Array, operands: list[Array], *, kth: Any, axis: int) -> Parts:
    """The same by way of the sorted numbers."""
    ordered = take_along_axis(g, argsort(y, axis), axis)
    return [take_along_axis(ordered, argsort(argsort(operands[0], axis), axis), axis)]


def of_weights(g: Array, y: Array, operands: list[Array], *, minlength: int) -> Parts:
    """A weight has the gradient of the sum that it is in."""
    place, weights = operands
    return [None, cast_to(wrap(build.gather(node_of(g), [node_of(place)], (0,), 0)), weights.code)]


# ---------------------------------------------------------------- scans


def of_scan(g: Array, y: Array, operands: list[Array], *, op: str, axis: int) -> Parts:
    """``y[k + 1] = op(y[k], a[k + 1])``: from the end, by steps that double."""
    a = operands[0]
    if not a.size:
        return [g]
    if op == "add":
        return [flip(cumsum(flip(g, axis), axis, g.dtype), axis)]
    lines, steps, grads = (moveaxis(x, axis, 0) for x in (a, y, g))
    return [moveaxis(_of_steps(op, grads, steps, lines), 0, axis)]


def _of_steps(op: str, g: Array, y: Array, a: Array) -> Array:
    """The gradient of what is combined along the first axis, `g` that of the running results `y`."""
    if a.shape[0] == 1:
        return g
    ones = filled(1, a.code, y[1:].shape)
    by_last, by_next = pair_rule(op, ones, y[1:], y[:-1], a[1:])
    total, factor = g, by_last
    count, step = a.shape[0], 1
    while step < count:
        # total[i] has what comes from i ... i + step - 1; factor[i] is dy[i + step] / dy[i].
        grown = filled(0, g.code, total.shape)
        grown[: count - step] = total[: count - step] + factor * total[step:]
        grown[count - step :] = total[count - step :]
        total = grown
        if 2 * step < count:
            factor = factor[: count - 2 * step] * factor[step : count - step]
        step *= 2
    result = filled(0, g.code, total.shape)
    result[:1] = total[:1]
    result[1:] = by_next * total[1:]
    return result


def of_fold(g: Array, y: Array, operands: list[Array], *, op: str, axis: int, initial: bool) -> Parts:
    """A scan of which the end alone counts."""
    a, *rest = operands
    if len(rest) > initial:
        raise NoGradientError(f"{op}.reduce with where= has no gradient: reduce nl.where(mask, x, neutral number)")
    lines = moveaxis(a, axis, 0)
    if initial:
        longer = filled(0, a.code, (a.shape[0 if axis == 0 else axis] + 1, *lines.shape[1:]))
        longer[0] = rest[0]
        longer[1:] = lines
        lines = longer
    if not lines.shape[0]:
        return [None, *[None for _ in rest]]
    steps = scanned(lines, op, 0, lines.code)
    ends = filled(0, g.code, lines.shape)
    ends[-1] = g
    found = _of_steps(op, ends, steps, lines)
    first = summed_to(found[0], rest[0].shape) if initial else None
    return [moveaxis(found[1:] if initial else found, 0, axis), *([first] if initial else [])]


def of_reduceat(g: Array, y: Array, operands: list[Array], *, op: str, axis: int, **location: Any) -> Parts:
    """Of sums: a running sum of what begins and ends."""
    if op != "add":
        raise NoGradientError(f"{op}.reduceat has no gradient; sums have (add.reduceat)")
    a, starts = operands
    count = a.shape[axis]
    if not starts.size:
        return [None, None]
    ends = filled(0, I64, starts.shape)
    ends[:-1] = starts[1:]
    ends[-1:] = count
    ends = named("where", ends > starts, ends, starts + 1)
    change = filled(0, g.code, (count + 1, *moveaxis(a, axis, 0).shape[1:]))
    lines = moveaxis(g, axis, 0)
    _add_at(change, starts, lines)
    _add_at(change, ends, -lines)
    return [moveaxis(cumsum(change, 0, g.dtype)[:count], 0, axis), None]


def _add_at(target: Array, index: Array, value: Array) -> None:
    write_at(
        target.storage, target.code, 0, target._shape, target._strides, [node_of(value), node_of(index)], axes=(0,),
        position=0, op="add", loop=(target.code,) * 3, location=here(),
    )  # fmt: skip


# ---------------------------------------------------------------- stores at indices


class _Store:
    """A scatter: memory, the layout through which it is seen, and the indices."""

    def __init__(self, node: Node, args: tuple[Node, ...]) -> None:
        row: Any = node.op_def
        options = row.options
        self.node = node
        self.code, self.offset, self.shape, self.strides = row.seen
        self.axes, self.position = options["axes"], options["position"]
        self.op: str = options["op"]
        count = len(self.axes)
        self.values = list(args[1 : len(args) - count])
        self.indices = list(args[len(args) - count :])

    def changed(self, memory: Array, value: Node, op: str, code: int | None = None) -> Array:
        """Memory after a store of `value` at the same places."""
        code = memory.code if code is None else code
        storage = new_storage(in_memory_order(memory, self.node) if code == self.node.code else node_of(memory))
        strides = self.strides if code == self.node.code else storage.value.strides
        offset, shape = (self.offset, self.shape) if code == self.node.code else (0, storage.value.shape)
        write_at(
            storage, code, offset, shape, strides, [value, *self.indices], axes=self.axes, position=self.position,
            op=op,
            loop=(code,) * 3 if op else (), location=here(),
        )  # fmt: skip
        return wrap(storage.value)

    def read(self, memory: Array) -> Array:
        """What is at the places."""
        seen = written(memory, self.node, self.offset, self.shape, self.strides, self.code, self.shape)
        return self.read_seen(seen)

    def read_seen(self, seen: Array) -> Array:
        """The same of an array of the shape that is seen."""
        return wrap(build.gather(node_of(seen), self.indices, self.axes, self.position))

    def last(self, shape: tuple[int, ...]) -> Array:
        """Whether an element that is stored is the last one for its place."""
        number = wrap(build.iota(prod(shape))).reshape(shape)
        places = filled(0, I64, self.shape)
        after = self.changed(places, node_of(number), "", I64)
        return self.read_seen(after) == number


def of_scatter(node: Node, args: tuple[Node, ...], g: Array) -> Parts:
    """What flows back through a store at indices: to the old memory, and to what was stored."""
    store = _Store(node, args)
    none = [None for _ in store.indices]
    if not store.values:
        raise NoGradientError(f"{store.op}.at has no gradient: use x[index] = ... instead")
    value = array_of(store.values[0])
    op = store.op
    if op in ("", "add", "subtract"):
        old = store.changed(g, leaf_from_host(np.zeros((), DTYPES[node.code])), "") if op == "" else g
        new = store.read(g)
        if op == "":
            new = named("where", store.last(new.shape), new, 0)
        return [old, summed_to(-new if op == "subtract" else new, value.shape), *none]
    y, before = array_of(node), array_of(args[0])
    if op in ("multiply", "divide"):
        stored = node_of(cast_to(value, node.code))
        new = store.read(g * y) / value
        return [store.changed(g, stored, op), summed_to(-new if op == "divide" else new, value.shape), *none]
    if op in ("maximum", "minimum", "fmax", "fmin"):
        hits = store.read(y) == value
        kept = cast_to(before == y, g.code)
        share = g / unless_zero(store.changed(kept, node_of(cast_to(hits, g.code)), "add"))
        return [share * kept, summed_to(named("where", hits, store.read(share), 0), value.shape), *none]
    raise NoGradientError(f"{op}.at has no gradient; add, subtract, multiply, divide, maximum and minimum have")


# ---------------------------------------------------------------- the table

FACTORISATIONS: dict[str, Callable[..., Parts]] = {
    "cholesky": matrices.cholesky,
    "slogdet": matrices.slogdet,
    "det": matrices.det,
    "inv": matrices.inv,
    "solve": matrices.solve,
    "qr": matrices.qr,
    "eigh": matrices.eigh,
    "eig": matrices.eig,
    "svd": matrices.svd,
}
"""``rule(number of the result, g, y, operands, **options)``."""

RULES: dict[str, Callable[..., Parts]] = {
    "matmul": of_matmul,
    "correlate": of_correlate,
    "fourier": of_fourier,
    "trigonometric": of_trigonometric,
    "sort": of_sort,
    "partition": of_partition,
    "weighted_bincount": of_weights,
    "scan": of_scan,
    "fold": of_fold,
    "reduceat": of_reduceat,
}
"""``rule(g, y, operands, **options)``."""

OWN = ("scatter", "special")
"""Routines with rules for each operation, and for each function."""

WHOLE = ("argsort", "argpartition", "lexsort", "searchsorted", "nonzero", "bincount", "histogram")
"""Routines that give whole numbers, through which nothing flows."""

REFUSED = {
    "compress": "the size of its result follows from values: use where()",
    "unique": "the size of its result follows from values",
    "bin_edges": "edges of bins follow from the ends alone; give them (range=, or edges)",
}
"""Routines without a gradient, and why."""

__all__ = ["FACTORISATIONS", "OWN", "REFUSED", "RULES", "WHOLE", "routine"]
