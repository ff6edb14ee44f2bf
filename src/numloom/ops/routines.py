"""Run-at-once primitives: one definition a routine, with its NumPy twin.

A twin takes host arrays and options. One whose result has a known size gives one array of the
dtype, shape and values that the caller asked for; the others give an array or a tuple of arrays
of their own sizes. A backend's routine of the same name takes `Strided` operands instead (see
`numloom.device.interface.Backend.routine`), with ``out`` where the size is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from numloom.base.dtypes import kind_of
from numloom.ops.definitions import is_low, is_rounded
from numloom.ops.segments import CARRIED, TREE, reduce_segments

Host = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Routine:
    """A device-wide primitive.

    Attributes
    ----------
    name : str
        The same in every backend.
    numpy : callable
        ``numpy(*arrays, **options)``, the oracle, and what runs where a backend has no such routine.
    sized : bool
        Whether the result's size is known before it runs.
    in_place : bool
        Whether it changes its first operand, and gives nothing.
    same : str
        Kinds of dtypes (of the first operand) of which it has the same bits on every device.
    small : int
        Elements of all operands up to which it runs on the host beside a GPU, whatever its bits and wherever they lie:
        by shapes alone, so that a program's bits do not depend on what ran before.
    """

    name: str
    numpy: Callable[..., Any]
    sized: bool = True
    in_place: bool = False
    same: str = ""
    small: int = 0


ROUTINES: dict[str, Routine] = {}


def routine(
    sized: bool = True, in_place: bool = False, same: str = "", small: int = 0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a definition of a twin, under the twin's name."""

    def enter(twin: Callable[..., Any]) -> Callable[..., Any]:
        ROUTINES[twin.__name__] = Routine(twin.__name__, twin, sized, in_place, same, small)
        return twin

    return enter


# ---------------------------------------------------------------- products


@routine(same="biu")
def matmul(a: Host, b: Host) -> Host:
    """Matrix products over broadcast leading axes, at least 2-d.

    Both operands have the result's dtype; or bfloat16, and the result is float32.
    """
    if is_low(a.dtype):
        return np.matmul(a.astype(np.float32), b.astype(np.float32))
    if a.dtype.char in "e":
        # NumPy multiplies float16 matrices by a slow loop that rounds each sum.
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    return np.matmul(a, b)


# ---------------------------------------------------------------- order


@routine(same="biufc")
def sort(a: Host, *, axis: int) -> Host:
    """Sorted along `axis`; NaN last."""
    return np.sort(a, axis)


@routine(same="biufc")
def argsort(a: Host, *, axis: int) -> Host:
    """Positions (int64) that sort along `axis`, stable; NaN last."""
    return np.argsort(a, axis, kind="stable")


@routine()
def partition(a: Host, *, kth: tuple[int, ...], axis: int) -> Host:
    """The element that sorting would put at each of `kth` is there; smaller ones before, larger ones after."""
    return np.partition(a, kth, axis)


@routine()
def argpartition(a: Host, *, kth: tuple[int, ...], axis: int) -> Host:
    """Positions (int64) that partition along `axis`."""
    return np.argpartition(a, kth, axis)


@routine(same="biufc")
def lexsort(*keys: Host, axis: int) -> Host:
    """Positions (int64) that sort by the last key, ties by the one before it, and so on."""
    return np.lexsort(keys, axis)


@routine(same="biufc")
def searchsorted(a: Host, v: Host, *, side: str) -> Host:
    """Where in the sorted vector `a` each of `v` (of the same dtype) would go (int64)."""
    return np.searchsorted(a, v, side)  # type: ignore[call-overload, no-any-return]


@routine(sized=False, same="biufc")
def nonzero(a: Host) -> tuple[Host, ...]:
    """Indices (int64) of elements that are not zero, an array an axis, in C order."""
    return np.nonzero(a)


@routine(sized=False, same="biufc")
def compress(a: Host, mask: Host) -> Host:
    """The elements (in C order) of `a` where `mask`, of the leading axes of `a`, is true."""
    return a[mask]


@routine(sized=False, same="biu")
def unique(a: Host, *, equal_nan: bool, index: bool, inverse: bool, counts: bool) -> tuple[Host, ...]:
    """Sorted distinct elements; where asked for, the first position of each, the inverse (flat) and the counts."""
    found: Any = np.unique(a, index, inverse, counts, equal_nan=equal_nan)  # type: ignore[call-overload]
    results = found if isinstance(found, tuple) else (found,)
    return tuple(result.reshape(-1) for result in results)


# ---------------------------------------------------------------- scans, scatters and counts


@routine(same="biu")
def scan(a: Host, *, op: str, axis: int) -> Host:
    """Running `op` (a ufunc's name) along `axis`, in the dtype of `a`."""
    with np.errstate(all="ignore"):
        return getattr(np, op).accumulate(a, axis, a.dtype)  # type: ignore[no-any-return]


@routine(same="biu")
def fold(a: Host, *others: Host, op: str, axis: int, initial: bool) -> Host:
    """`op` from left to right along `axis`, in the dtype of `a`.

    `others` are the value to begin with (0-d, of the same dtype; if `initial`), and a mask of what counts (of the
    shape of `a`).
    """
    wide = np.dtype(np.float32) if is_rounded(a.dtype) and op in CARRIED else a.dtype
    options: dict[str, Any] = {"initial": others[0][()]} if initial else {}
    if len(others) > initial:
        options["where"] = others[-1]
    with np.errstate(all="ignore"):
        if op in ONE_BY_ONE and kind_of(a.dtype) == "f":
            masks = np.moveaxis(options.get("where", np.ones(a.shape, bool)), axis, 0)
            found = _one_by_one(getattr(np, op), np.moveaxis(a, axis, 0), masks, options.get("initial"))
        else:
            found = getattr(np, op).reduce(a.astype(wide, copy=False), axis, wide, **options)
        return np.asarray(found, a.dtype)


ONE_BY_ONE = ("arctan2", "power")
"""What NumPy reduces wrongly along contiguous memory where its loops are AVX-512's (2.4 and 2.5 do)."""


def _one_by_one(function: Any, lines: Host, masks: Host, initial: Any) -> Host:
    """What stands along the first axis and counts, combined from the first to the last."""
    whole = lines[0].copy() if initial is None else np.full(lines.shape[1:], initial, lines.dtype)
    for line, mask in zip(lines[initial is None :], masks[initial is None :], strict=True):
        whole = np.where(mask, function(whole, line), whole)
    return whole


@routine(same="biu")
def reduceat(a: Host, starts: Host, *, op: str, axis: int, location: int) -> Host:
    """`op` over segments along `axis`, in the dtype of `a`: sums and products of floats by a tree of neighbours."""
    function = getattr(np, op)
    wrong = starts[(starts < 0) | (starts >= a.shape[axis])]
    if wrong.size:
        raise IndexError(f"index {wrong[0]} out-of-bounds in {op}.reduceat [0, {a.shape[axis]})")
    with np.errstate(all="ignore"):
        wide = a.astype(np.float32) if is_rounded(a.dtype) and op in CARRIED else a
        if op not in TREE or kind_of(a.dtype) not in "fc" or not starts.size:
            return function.reduceat(wide, starts, axis, wide.dtype).astype(a.dtype)  # type: ignore[no-any-return]
        found = reduce_segments(function, np.moveaxis(wide, axis, 0), starts)
        return np.moveaxis(found, 0, axis).astype(a.dtype)


@routine(in_place=True, same="biufc")
def scatter(
    a: Host, *operands: Host, axes: tuple[int, ...], position: int, op: str, loop: tuple[int, ...], location: int
) -> None:
    """Store at integer indices along `axes` of `a`; the last of equal indices wins.

    `operands` are a value (none for unary functions) and the indices, one for each of `axes`. The value broadcasts to
    the shape that a read at these indices has, the index shape standing at `position`. With `op` "add" (or another
    ufunc's name) it is combined with what is there, each of equal indices in turn, in dtypes whose codes are `loop`
    (the value has the second of them already); "" stores. `location` numbers the user's line, for errors found later.
    """
    values, indices = operands[: len(operands) - len(axes)], operands[len(operands) - len(axes) :]
    view = a.transpose((*axes, *(axis for axis in range(a.ndim) if axis not in axes)))
    shape = np.broadcast_shapes(*(index.shape for index in indices))
    rest = view.shape[len(axes) :]
    where = tuple([index if index.shape == shape else np.broadcast_to(index, shape) for index in indices])
    # NumPy's functions that move axes take longer than a small store.
    moved = [np.broadcast_to(value, (*rest[:position], *shape, *rest[position:])) for value in values]
    if position:
        among = range(position, position + len(shape))
        moved = [np.moveaxis(value, among, range(len(shape))) for value in moved]
    if op:
        with np.errstate(all="ignore"):
            getattr(np, op).at(view, where, *moved)
    else:
        view[where] = moved[0]


@routine(sized=False, same="biu")
def bincount(a: Host, *, minlength: int) -> Host:
    """How often (int64) each of 0 to the largest (to `minlength` - 1 at least) occurs in the vector `a`."""
    return np.bincount(a, minlength=minlength)


@routine()
def bin_edges(a: Host, *, bins: int, not_finite: int, not_apart: int) -> Host:
    """Edges of `bins` bins of one width between the ends of the vector `a`; a device tells the places of errors."""
    return np.histogram_bin_edges(a, bins)


_BLOCK = 1 << 16
"""Elements that are counted while they are in the cache."""


def _uniform_bins(values: Host, edges: Host, width: Any) -> Host:
    """Bins of one width of those of the values that lie in one."""
    inside = (values >= edges[0]) & (values <= edges[-1])
    near = (values if inside.all() else values[inside]).astype(edges.dtype, copy=False)
    count = edges.size - 1
    number = ((near - edges[0]) / width * count).astype(np.intp)
    np.minimum(number, count - 1, out=number)
    while True:  # What was computed is compared with the edges, which were rounded.
        below = near < edges[number]
        above = near >= edges[number + 1]
        above &= number != count - 1
        if not below.any() and not above.any():
            return number
        number -= below
        number += above


@routine(same="biufc")
def histogram(a: Host, edges: Host, *, uniform: bool) -> Host:
    """How many (int64) of the vector `a` lie between neighbours of `edges`, the last bin with both its edges.

    `uniform` says that the edges are NumPy's for bins of one width. Values are compared in the dtype of the edges.
    """
    count = edges.size - 1
    with np.errstate(over="ignore", invalid="ignore"):
        width = edges[-1] - edges[0] if count else 0
    if uniform and 0 < width < np.inf:
        total = np.zeros(count, np.intp)
        for begin in range(0, a.size, _BLOCK):
            total += np.bincount(_uniform_bins(a[begin : begin + _BLOCK], edges, width), minlength=count)
        return total
    place = np.searchsorted(edges, a, "right")
    place -= a == edges[-1:]
    # Everything outside goes to two more bins; NaN is sorted behind the last edge.
    return np.bincount(place, minlength=edges.size + 1)[1 : edges.size]


TABLE_BINS = 6144
"""Bins up to which weights of any real dtype are summed; beyond, they are float64."""


@routine()
def weighted_bincount(a: Host, weights: Host, *, minlength: int) -> Host:
    """Sums (float64) of the weights of each of 0 ... minlength - 1 in `a`, in an order that the shapes fix."""
    return np.bincount(a, weights, minlength)


# ---------------------------------------------------------------- signals


@routine(same="biu")
def correlate(a: Host, v: Host, *, mode: str) -> Host:
    """Sliding products of two vectors of one dtype, `a` the longer one; `v` is conjugated."""
    return np.correlate(a, v, mode)  # type: ignore[call-overload, no-any-return]
