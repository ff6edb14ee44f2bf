"""The reduction tree in NumPy: the same bits as the kernels' reductions.

docs/design/reductions.md says what the tree is. Here whole levels of it are combined at once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from numloom.base.dtypes import CHARS, DTYPES, char_of, kind_of
from numloom.ops.definitions import OpDef, ReductionDef, is_low
from numloom.ops.elementwise import ELEMENTWISE

Host = np.ndarray[Any, Any]
Combine = Callable[[Host, Host], Host]
Accumulators = tuple[Host, ...]
"""What is combined, an array for each field of the kernels' accumulator."""
OfRun = Callable[[Host], Accumulators]
Merge = Callable[[Accumulators, Accumulators], Accumulators]
Shape = Callable[[Host, OfRun, Merge, Accumulators], Accumulators]

LANES = 128
RUN = 16
CHUNKS = (16384, 65536)
"""Elements of one chunk of a reduction along the fast axis, in rows of up to 2^22 elements and in longer ones."""


def chunk_of(count: int) -> int:
    """Elements of a chunk in a row of `count`; a shorter row is one chunk."""
    return CHUNKS[0] if count <= 1 << 22 else CHUNKS[1]


_ANY_ORDER = {
    "any", "all", "argmin", "argmax", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd",
}  # fmt: skip
"""Reductions whose bits do not depend on the order of combining."""

_MOMENTS = ("m2", "var")

_BY_OPERATION = {"logaddexp": -np.inf, "logaddexp2": -np.inf, "hypot": 0.0}
"""Reductions that combine by an operation whose bits NumPy does not give, with the number each run starts from."""

Operate = Callable[[OpDef, Host, Host], Host]
"""Gives an operation's value for arrays of one dtype."""


def _twin(op: OpDef, a: Host, b: Host) -> Host:
    return np.asarray(op.numpy(a, b))


def _maximum(a: Host, b: Host) -> Host:
    # Of two equal numbers a complex one stays, a real one does not.
    return np.where((a >= b if a.dtype.kind == "c" else a > b) | (a != a), a, b)


def _minimum(a: Host, b: Host) -> Host:
    return np.where((a <= b if a.dtype.kind == "c" else a < b) | (a != a), a, b)


def _fmax(a: Host, b: Host) -> Host:
    return np.where((a >= b if a.dtype.kind == "c" else a > b) | (b != b), a, b)


def _fmin(a: Host, b: Host) -> Host:
    return np.where((a <= b if a.dtype.kind == "c" else a < b) | (b != b), a, b)


def _times(a: Host, b: Host) -> Host:
    """Products; of complex numbers without the fused multiply-adds that NumPy's loops may have."""
    if a.dtype.kind != "c":
        return np.asarray(a * b)
    product = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype)
    product.real = a.real * b.real - a.imag * b.imag
    product.imag = a.real * b.imag + a.imag * b.real
    return product


def _everywhere(value: float) -> Callable[[np.dtype[Any]], Any]:
    return lambda d: complex(value, value) if d.kind == "c" else value


_COMBINE: dict[str, tuple[Combine, Callable[[np.dtype[Any]], Any]]] = {
    "sum": (np.add, lambda d: _everywhere(-0.0)(d) if d.kind in "fc" else 0),
    "mean": (np.add, _everywhere(-0.0)),
    "prod": (_times, lambda d: 1),
    "max": (_maximum, _everywhere(-np.inf)),
    "min": (_minimum, _everywhere(np.inf)),
    "fmax": (_fmax, _everywhere(np.nan)),
    "fmin": (_fmin, _everywhere(np.nan)),
}


def has_tree(op_def: ReductionDef, dtype: np.dtype[Any]) -> bool:
    """Whether `reduce_axes` gives the kernels' bits for this definition and input dtype."""
    if op_def.name in _MOMENTS:
        return kind_of(dtype) in "fc"
    return op_def.name in _COMBINE or op_def.name in _ANY_ORDER or op_def.name in _BY_OPERATION


def operation_of(op_def: ReductionDef) -> OpDef | None:
    """The operation that a reduction combines by where NumPy does not give its bits, else None."""
    return ELEMENTWISE[op_def.name] if op_def.name in _BY_OPERATION else None


def reduce_axes(
    op_def: ReductionDef, array: Host, axes: tuple[int, ...], physical: tuple[int, ...], fast: bool, keepdims: bool,
    operate: Operate = _twin,
) -> Host:  # fmt: skip
    """Reduce `array` (of the accumulation dtype) over `axes` as the kernels do.

    `physical` are the same axes in the order in which the tree walks them, slowest first; `fast`
    says that they hold the fast axis (128 lanes, else one). `operate` applies `operation_of` the definition.
    """
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    shape = (
        [1 if axis in axes else extent for axis, extent in enumerate(array.shape)]
        if keepdims
        else [array.shape[axis] for axis in kept]
    )
    dtype = DTYPES[CHARS.index(op_def.out_char(char_of(array.dtype)))]
    if is_low(array.dtype):
        array = array.astype(np.float32)
    if (
        not has_tree(op_def, array.dtype)
        or (op_def.name not in _MOMENTS and array.dtype.kind in "biu" and op_def.name not in ("sum", "prod"))
        or op_def.name in _ANY_ORDER
    ):
        count = int(np.prod([array.shape[axis] for axis in axes], dtype=np.int64))
        flat = array.transpose([*kept, *axes]).reshape([*(array.shape[axis] for axis in kept), count])
        return np.asarray(op_def.numpy(flat, axis=-1, keepdims=False)).reshape(shape).astype(dtype)
    count = prod(array.shape[axis] for axis in axes)
    outputs = prod(shape)
    with np.errstate(all="ignore"):
        if fast:
            rows = array.transpose([*kept, *physical]).reshape(outputs, count)
            result = _finished(op_def, rows, count, _rows, operate)
        else:
            columns = array.transpose([*physical, *kept]).reshape(count, outputs)
            result = _finished(op_def, columns, count, _runs, operate)
    return np.asarray(result.astype(dtype).reshape(shape))


def _finished(op_def: ReductionDef, values: Host, count: int, shape_of_tree: Shape, operate: Operate) -> Host:
    """Reduce rows (or columns) of a matrix, and finish."""
    work = values.astype(np.float32) if values.dtype == np.float16 else values
    if op_def.name in _MOMENTS:
        if work.dtype.kind == "c":
            nothing: Accumulators = tuple(np.zeros((), np.float64) for _ in range(4))
            m2 = shape_of_tree(work, _complex_moments_of_run, _merge_moments, nothing)[-1]
        else:
            nothing = tuple(np.zeros((), np.float64) for _ in range(3))
            m2 = shape_of_tree(work, _moments_of_run, _merge_moments, nothing)[-1]
        return m2 if op_def.name == "m2" else (m2 / np.float64(count)).astype(work.real.dtype)
    if op_def.name == "prod" and work.dtype.kind == "c":
        # No number is neutral, so an accumulator says whether it holds one.
        absent = (np.ones((), work.dtype), np.zeros((), bool))
        total = shape_of_tree(work, _product_of_run, _merge_products, absent)[0]
        return total.astype(values.dtype)
    op = operation_of(op_def)
    if op is None:
        combine, identity_of = _COMBINE[op_def.name]
        identity = np.array(identity_of(work.dtype), work.dtype)
    else:
        found = op

        def combine(a: Host, b: Host) -> Host:
            return operate(found, a, b)

        identity = np.array(_BY_OPERATION[op_def.name], work.dtype)

    def of_run(run: Host) -> Accumulators:
        acc = run[..., 0, :]
        if op is not None:
            acc = combine(np.broadcast_to(identity, acc.shape), acc)
        for element in range(1, run.shape[-2]):
            acc = combine(acc, run[..., element, :])
        return (acc,)

    def merge(a: Accumulators, b: Accumulators) -> Accumulators:
        return (combine(a[0], b[0]),)

    (total,) = shape_of_tree(work, of_run, merge, (identity,))
    if op_def.name == "mean":
        if total.dtype.kind == "c":
            mean = np.empty_like(total)
            mean.real = total.real.astype(np.float64) / count
            mean.imag = total.imag.astype(np.float64) / count
            total = mean
        else:
            total = (total.astype(np.float64) / np.float64(count)).astype(work.dtype)
    if op_def.name == "sum" and not count:
        total = np.zeros_like(total)
    return total.astype(values.dtype)


def _moments_of_run(run: Host) -> Accumulators:
    """Count, mean and squared deviations of the up to 16 values along the last axis but one."""
    used = run.shape[-2]
    total = np.zeros_like(run[..., 0, :])
    for element in range(used):
        total = total + run[..., element, :]
    mean = total / run.dtype.type(used)
    square = np.zeros_like(total)
    rest = np.zeros_like(total)
    for element in range(used):
        d = run[..., element, :] - mean
        square = square + d * d
        rest = rest + d
    n = np.full(total.shape, float(used))
    shift = rest.astype(np.float64) / float(used)
    return n, mean.astype(np.float64) + shift, square.astype(np.float64) - rest.astype(np.float64) * shift


def _complex_moments_of_run(run: Host) -> Accumulators:
    """Count, both parts of the mean, and squared distances from it."""
    n, re, m2 = _moments_of_run(run.real)
    _, im, more = _moments_of_run(run.imag)
    return n, re, im, m2 + more


def _merge_moments(a: Accumulators, b: Accumulators) -> Accumulators:
    """Chan's merge; the mean has one part or two."""
    n = a[0] + b[0]
    w = b[0] / n
    distances = [y - x for x, y in zip(a[1:-1], b[1:-1], strict=True)]
    means = [x + d * w for x, d in zip(a[1:-1], distances, strict=True)]
    square = distances[0] * distances[0]
    for d in distances[1:]:
        square = square + d * d
    m2 = a[-1] + b[-1] + square * (a[0] * w)
    empty_a, empty_b = a[0] == 0, b[0] == 0
    return tuple(
        np.where(empty_a, y, np.where(empty_b, x, merged)) for x, y, merged in zip(a, b, (n, *means, m2), strict=True)
    )


def _product_of_run(run: Host) -> Accumulators:
    acc = run[..., 0, :]
    for element in range(1, run.shape[-2]):
        acc = _times(acc, run[..., element, :])
    return acc, np.ones(acc.shape, bool)


def _merge_products(a: Accumulators, b: Accumulators) -> Accumulators:
    return np.where(~a[1], b[0], np.where(~b[1], a[0], _times(a[0], b[0]))), a[1] | b[1]


def _rows(rows: Host, of_run: OfRun, merge: Merge, identity: Accumulators) -> Accumulators:
    """Reduce the rows of a matrix with 128 lanes: whole chunks at once, then the rest."""
    count = rows.shape[1]
    chunk = chunk_of(count)
    whole = count // chunk
    parts = []
    if whole:
        full = rows[:, : whole * chunk].reshape(len(rows), whole, chunk // LANES, LANES)
        parts.append(_halves(_runs(full, of_run, merge, identity), merge))
    if whole * chunk != count or not count:
        parts.append(tuple(a[:, None] for a in _chunk(rows[:, whole * chunk :], of_run, merge, identity)))
    chunks = tuple(np.concatenate(part, axis=1)[..., None] for part in zip(*parts, strict=True))
    return tuple(a[..., 0] for a in _pairs(chunks, merge))


def _chunk(values: Host, of_run: OfRun, merge: Merge, identity: Accumulators) -> Accumulators:
    """Reduce the rows of a matrix of at most one chunk."""
    count = values.shape[1]
    width = LANES if count >= LANES else 1 << max(count - 1, 0).bit_length()
    lines = count // width
    # Lanes past the end of the last line hold one element less: moments must not count what is not there.
    more = count - lines * width
    split = values[:, : lines * width].reshape(len(values), lines, width)
    acc = _runs(split, of_run, merge, identity)
    if more:
        longer = np.concatenate([split[..., :more], values[:, None, lines * width :]], axis=1)
        longer_acc = _runs(longer, of_run, merge, identity)
        acc = tuple(np.concatenate([a, b[..., more:]], axis=-1) for a, b in zip(longer_acc, acc, strict=True))
    return _halves(acc, merge)


def _halves(lanes: Accumulators, merge: Merge) -> Accumulators:
    """Lanes (the last axis) combined by halving."""
    width = lanes[0].shape[-1]
    while width > 1:
        width //= 2
        lanes = merge(tuple(a[..., :width] for a in lanes), tuple(a[..., width:] for a in lanes))
    return tuple(a[..., 0] for a in lanes)


def _runs(values: Host, of_run: OfRun, merge: Merge, identity: Accumulators) -> Accumulators:
    """Reduce (..., elements, lanes) to (..., lanes): runs of 16 along the elements, then pairs."""
    count = values.shape[-2]
    whole = count // RUN
    parts = []
    if whole:
        parts.append(of_run(values[..., : whole * RUN, :].reshape(*values.shape[:-2], whole, RUN, values.shape[-1])))
    if whole * RUN != count:
        parts.append(tuple(a[..., None, :] for a in of_run(values[..., whole * RUN :, :])))
    if not parts:
        return tuple(np.full((*values.shape[:-2], values.shape[-1]), field, field.dtype) for field in identity)
    return _pairs(tuple(np.concatenate(part, axis=-2) for part in zip(*parts, strict=True)), merge)


def _pairs(parts: Accumulators, merge: Merge) -> Accumulators:
    """Neighbours along the last axis but one combined level by level, as a binary counter does."""
    while (count := parts[0].shape[-2]) > 1:
        even = tuple(a[..., 0 : count - 1 : 2, :] for a in parts)
        merged = merge(even, tuple(a[..., 1::2, :] for a in parts))
        if count % 2:
            merged = tuple(np.concatenate([m, a[..., -1:, :]], axis=-2) for m, a in zip(merged, parts, strict=True))
        parts = merged
    return tuple(a[..., 0, :] for a in parts)
