"""Run-at-once primitives: one row a routine, with its NumPy twin.

A twin takes host arrays and options. One whose result has a known size gives one array of the
dtype, shape and values that the caller asked for; the others give an array or a tuple of arrays
of their own sizes. A backend's routine of the same name takes `Strided` operands instead (see
`numloom.device.interface.Device.routine`), with ``out`` where the size is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    """

    name: str
    numpy: Callable[..., Any]
    sized: bool = True


ROUTINES: dict[str, Routine] = {}


def routine(sized: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a row of a twin, under the twin's name."""

    def enter(twin: Callable[..., Any]) -> Callable[..., Any]:
        ROUTINES[twin.__name__] = Routine(twin.__name__, twin, sized)
        return twin

    return enter


# ---------------------------------------------------------------- products


@routine()
def matmul(a: Host, b: Host) -> Host:
    """Matrix products over broadcast leading axes; both operands of the result's dtype, at least 2-d."""
    if a.dtype.char in "e":
        # NumPy multiplies float16 matrices by a slow loop that rounds each sum.
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    return np.matmul(a, b)


# ---------------------------------------------------------------- order


@routine()
def sort(a: Host, *, axis: int) -> Host:
    """Sorted along `axis`; NaN last."""
    return np.sort(a, axis)


@routine()
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


@routine()
def lexsort(*keys: Host, axis: int) -> Host:
    """Positions (int64) that sort by the last key, ties by the one before it, and so on."""
    return np.lexsort(keys, axis)


@routine()
def searchsorted(a: Host, v: Host, *, side: str) -> Host:
    """Where in the sorted vector `a` each of `v` (of the same dtype) would go (int64)."""
    return np.searchsorted(a, v, side)  # type: ignore[call-overload, no-any-return]


@routine(sized=False)
def nonzero(a: Host) -> tuple[Host, ...]:
    """Indices (int64) of elements that are not zero, an array an axis, in C order."""
    return np.nonzero(a)


@routine(sized=False)
def compress(a: Host, mask: Host) -> Host:
    """The elements (in C order) of `a` where `mask`, of the leading axes of `a`, is true."""
    return a[mask]


@routine(sized=False)
def unique(a: Host, *, equal_nan: bool, index: bool, inverse: bool, counts: bool) -> tuple[Host, ...]:
    """Sorted distinct elements; where asked for, the first position of each, the inverse (flat) and the counts."""
    found: Any = np.unique(a, index, inverse, counts, equal_nan=equal_nan)  # type: ignore[call-overload]
    results = found if isinstance(found, tuple) else (found,)
    return tuple(result.reshape(-1) for result in results)


# ---------------------------------------------------------------- scans, scatters and counts


@routine()
def scan(a: Host, *, op: str, axis: int) -> Host:
    """Running `op` (a ufunc's name) along `axis`, in the dtype of `a`."""
    with np.errstate(all="ignore"):
        return getattr(np, op).accumulate(a, axis, a.dtype)  # type: ignore[no-any-return]


@routine()
def scatter(a: Host, value: Host, *indices: Host, axes: tuple[int, ...], position: int, op: str) -> Host:
    """A copy of `a` with `value` stored at integer `indices` along `axes`; the last of equal indices wins.

    `value` broadcasts to the shape that a read at these indices has, the index shape standing at
    `position`. With `op` "add" (or another ufunc's name) values are combined with the old ones, each
    of equal indices in turn; "" stores them.
    """
    result = a.copy()
    view = result.transpose((*axes, *(axis for axis in range(a.ndim) if axis not in axes)))
    shape = np.broadcast_shapes(*(index.shape for index in indices))
    rest = view.shape[len(axes) :]
    value = np.broadcast_to(value, (*rest[:position], *shape, *rest[position:]))
    value = np.moveaxis(value, range(position, position + len(shape)), range(len(shape)))
    where = tuple(np.broadcast_to(index, shape) for index in indices)
    if op:
        with np.errstate(all="ignore"):
            getattr(np, op).at(view, where, value)
    else:
        view[where] = value
    return result


@routine(sized=False)
def bincount(a: Host, *, minlength: int) -> Host:
    """How often (int64) each of 0 to the largest (to `minlength` - 1 at least) occurs in the vector `a`."""
    return np.bincount(a, minlength=minlength)


@routine()
def histogram(a: Host, edges: Host, *, uniform: bool) -> Host:
    """How many (int64) of the vector `a` lie between neighbours of `edges`, the last bin with both its edges.

    `uniform` says that the edges are NumPy's for bins of one width. Values are compared in the dtype of the edges.
    """
    if uniform:
        return np.histogram(a, edges.size - 1, (edges[0].item(), edges[-1].item()))[0]
    place = np.searchsorted(edges, a, "right")
    place -= a == edges[-1:]
    # Everything outside goes to two more bins; NaN is sorted behind the last edge.
    return np.bincount(place, minlength=edges.size + 1)[1 : edges.size]


@routine()
def weighted_bincount(a: Host, weights: Host, *, minlength: int) -> Host:
    """Sums (float64) of the weights of each of 0 ... minlength - 1 in `a`."""
    return np.bincount(a, weights, minlength)


# ---------------------------------------------------------------- signals


@routine()
def correlate(a: Host, v: Host, *, mode: str) -> Host:
    """Sliding products of two vectors of one dtype, `a` the longer one; `v` is conjugated."""
    return np.correlate(a, v, mode)  # type: ignore[call-overload, no-any-return]
