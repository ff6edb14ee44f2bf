"""The reduction tree in NumPy: the same bits as the kernels' reductions.

docs/architecture.md says what the tree is. Padding with identities changes no bits, so here rows
are padded and whole levels are combined at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.ops.rows import Reduction

Host = np.ndarray[Any, Any]
Combine = Callable[[Host, Host], Host]

LANES = 128
RUN = 16
CHUNK = 16384
"""Elements of one chunk of a reduction along the fast axis; a row of at most this many is one chunk."""

_ANY_ORDER = {
    "any", "all", "argmin", "argmax", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd",
}  # fmt: skip
"""Reductions whose bits do not depend on the order of combining."""

_MOMENTS = ("m2", "var")


def _maximum(a: Host, b: Host) -> Host:
    return np.where((a > b) | (a != a), a, b)


def _minimum(a: Host, b: Host) -> Host:
    return np.where((a < b) | (a != a), a, b)


def _fmax(a: Host, b: Host) -> Host:
    return np.where((a > b) | (b != b), a, b)


def _fmin(a: Host, b: Host) -> Host:
    return np.where((a < b) | (b != b), a, b)


_COMBINE: dict[str, tuple[Combine, Callable[[np.dtype[Any]], Any]]] = {
    "sum": (np.add, lambda d: -0.0 if d.kind in "f" else complex(-0.0, -0.0) if d.kind == "c" else 0),
    "mean": (np.add, lambda d: -0.0 if d.kind in "f" else complex(-0.0, -0.0)),
    "prod": (np.multiply, lambda d: 1),
    "max": (_maximum, lambda d: -np.inf),
    "min": (_minimum, lambda d: np.inf),
    "fmax": (_fmax, lambda d: np.nan),
    "fmin": (_fmin, lambda d: np.nan),
}


def has_tree(row: Reduction, dtype: np.dtype[Any]) -> bool:
    """Whether `reduce_axes` gives the kernels' bits for this row and input dtype."""
    if row.name in _MOMENTS:
        return dtype.kind == "f"
    if row.name in ("prod", "max", "min", "fmax", "fmin", *_ANY_ORDER):
        return dtype.kind != "c"
    return row.name in _COMBINE


def reduce_axes(
    row: Reduction, array: Host, axes: tuple[int, ...], physical: tuple[int, ...], fast: bool, keepdims: bool
) -> Host:
    """Reduce `array` (of the accumulation dtype) over `axes` as the kernels do.

    `physical` are the same axes in the order in which the tree walks them, slowest first; `fast`
    says that they hold the fast axis (128 lanes, else one).
    """
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    shape = [1 if axis in axes else extent for axis, extent in enumerate(array.shape)] if keepdims else [
        array.shape[axis] for axis in kept
    ]
    dtype = np.dtype(row.out_char(array.dtype.char if array.dtype.char not in "lL" else "q"))
    if not has_tree(row, array.dtype) or (row.name not in _MOMENTS and array.dtype.kind in "biu"
                                          and row.name not in ("sum", "prod")) or row.name in _ANY_ORDER:
        count = int(np.prod([array.shape[axis] for axis in axes], dtype=np.int64))
        flat = array.transpose([*kept, *axes]).reshape([*(array.shape[axis] for axis in kept), count])
        return np.asarray(row.numpy(flat, axis=-1, keepdims=False)).reshape(shape).astype(dtype)
    rows = array.transpose([*kept, *physical])
    count = int(np.prod([array.shape[axis] for axis in axes], dtype=np.int64))
    rows = rows.reshape(-1, count) if array.size else np.zeros((int(np.prod(shape, dtype=np.int64)), count), array.dtype)
    with np.errstate(all="ignore"):
        result = _tree(row, rows, LANES if fast else 1)
    return np.asarray(result.astype(dtype).reshape(shape))


def _tree(row: Reduction, rows: Host, lanes: int) -> Host:
    """Reduce each row of a matrix."""
    out_dtype = rows.dtype
    work = rows.astype(np.float32) if rows.dtype == np.float16 else rows
    count = rows.shape[1]
    if row.name in _MOMENTS:
        n, _, m2 = _reduce(work, lanes, _moments_of_run, _merge, lambda d: 0)
        if row.name == "m2":
            return m2
        return m2 / np.float64(count)
    combine, identity = _COMBINE[row.name]
    fill = identity(work.dtype)

    def of_run(values: Host, used: int) -> tuple[Host, ...]:
        acc = values[:, 0]
        for element in range(1, values.shape[1]):
            acc = combine(acc, values[:, element])
        return (acc,)

    def merge(a: tuple[Host, ...], b: tuple[Host, ...]) -> tuple[Host, ...]:
        return (combine(a[0], b[0]),)

    (total,) = _reduce(work, lanes, of_run, merge, lambda d: fill)
    if not count:
        total = np.full(rows.shape[0], fill, work.dtype)
    if row.name == "mean":
        if total.dtype.kind == "c":
            part = total.real.dtype
            re = (total.real.astype(np.float64) / count).astype(part)
            im = (total.imag.astype(np.float64) / count).astype(part)
            return re + 1j * im if part == np.float64 else (re + np.complex64(1j) * im).astype(np.complex64)
        total = (total.astype(np.float64) / np.float64(count)).astype(work.dtype)
    if row.name == "sum" and not count:
        total = np.zeros(rows.shape[0], work.dtype)
    return total.astype(out_dtype)


def _moments_of_run(values: Host, used: int) -> tuple[Host, ...]:
    """Count, mean and squared deviations of up to 16 values along axis 1 (of which `used` count)."""
    t = values.dtype.type
    total = np.zeros_like(values[:, 0])
    for element in range(used):
        total = total + values[:, element]
    mean = total / t(used) if used else total
    square = np.zeros_like(total)
    rest = np.zeros_like(total)
    for element in range(used):
        d = values[:, element] - mean
        square = square + d * d
        rest = rest + d
    n = np.full(total.shape, float(used))
    shift = rest.astype(np.float64) / float(used) if used else np.zeros(total.shape)
    return n, mean.astype(np.float64) + shift, square.astype(np.float64) - rest.astype(np.float64) * shift


def _merge(a: tuple[Host, ...], b: tuple[Host, ...]) -> tuple[Host, ...]:
    n = a[0] + b[0]
    d = b[1] - a[1]
    w = b[0] / n
    mean = a[1] + d * w
    m2 = a[2] + b[2] + d * d * (a[0] * w)
    empty_a, empty_b = a[0] == 0, b[0] == 0
    return tuple(
        np.where(empty_a, y, np.where(empty_b, x, merged)) for x, y, merged in zip(a, b, (n, mean, m2), strict=True)
    )


def _reduce(rows: Host, lanes: int, of_run: Any, merge: Any, identity: Any) -> tuple[Host, ...]:
    """Reduce the rows of a matrix: chunks, lanes, runs."""
    count = rows.shape[1]
    if lanes == 1:
        return tuple(part[:, 0] for part in _runs(rows[:, :, None], of_run, merge, identity))
    parts = [
        _chunk(rows[:, first : first + CHUNK], of_run, merge, identity) for first in range(0, max(count, 1), CHUNK)
    ]
    return _pairs(parts, merge)


def _chunk(values: Host, of_run: Any, merge: Any, identity: Any) -> tuple[Host, ...]:
    count = values.shape[1]
    width = LANES if count >= LANES else 1 << max(count - 1, 0).bit_length()
    each = -(-count // width)
    if each * width != count:
        padded = np.full((values.shape[0], each * width), identity(values.dtype), values.dtype)
        padded[:, :count] = values
    else:
        padded = values
    split = padded.reshape(values.shape[0], each, width)
    # Lanes past the end of the last line hold one element less: moments must not count the padding.
    full = count - (each - 1) * width
    if of_run is _moments_of_run and full != width:
        whole = _runs(split[:, :, :full], of_run, merge, identity)
        short = _runs(split[:, : each - 1, full:], of_run, merge, identity)
        acc = tuple(np.concatenate(pair, axis=-1) for pair in zip(whole, short, strict=True))
    else:
        acc = _runs(split, of_run, merge, identity)
    while width > 1:
        width //= 2
        acc = merge(tuple(a[..., :width] for a in acc), tuple(a[..., width:] for a in acc))
    return tuple(a[..., 0] for a in acc)


def _runs(values: Host, of_run: Any, merge: Any, identity: Any) -> tuple[Host, ...]:
    """Runs of 16 along axis 1 of (rows, elements, lanes), combined pairwise."""
    count = values.shape[1]
    if not count:
        zero = np.zeros((values.shape[0], values.shape[2]))
        return (zero, zero, zero) if of_run is _moments_of_run else (
            np.full((values.shape[0], values.shape[2]), identity(values.dtype), values.dtype),
        )
    runs = [of_run(values[:, at : at + RUN], min(RUN, count - at)) for at in range(0, count, RUN)]
    return _pairs(runs, merge)


def _pairs(parts: list[tuple[Host, ...]], merge: Any) -> tuple[Host, ...]:
    """Neighbours combined level by level, as a binary counter does."""
    while len(parts) > 1:
        paired = [merge(parts[k], parts[k + 1]) for k in range(0, len(parts) - 1, 2)]
        if len(parts) % 2:
            paired.append(parts[-1])
        parts = paired
    return parts[0]
