"""Shapes and axes: views wherever NumPy's are, repeating and reordering."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numloom.api.at_once import RECORDED
from numloom.api.at_once import at_once as by_numpy
from numloom.api.calling import replayed
from numloom.array.convert import asarray, host_numbers
from numloom.array.methods import without_ones
from numloom.array.ndarray import bind, ndarray, node_of, view_of, wrap
from numloom.base.dtypes import I64
from numloom.base.integers import as_integer, as_integers, as_shape, no_axis
from numloom.base.tracebacks import at_once
from numloom.engine.routines import call
from numloom.graph import build
from numloom.graph.layout import (
    Layout,
    broadcast_shapes,
    broadcast_strides,
    extent_of,
    may_overlap,
)
from numloom.graph.node import Node
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

WHERE = ELEMENTWISE["where"]
EQUAL = ELEMENTWISE["equal"]
SUBTRACT = ELEMENTWISE["subtract"]
REMAINDER = ELEMENTWISE["remainder"]


def normal_axis(axis: Any, ndim: int) -> int:
    """One axis, not negative; NumPy's AxisError if there is no such axis."""
    axis = as_integer(axis)
    if not -ndim <= axis < ndim:
        raise no_axis(axis, ndim)
    return axis % ndim


def normal_axes(axis: Any, ndim: int, name: str | None = None) -> tuple[int, ...]:
    """Several axes in the order given, also by an array; AxisError for a missing one, ValueError for a repeated one."""
    axes = as_integers(axis, lambda one: normal_axis(one, ndim))
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in `{name}` argument" if name else "repeated axis")
    return axes


def lines_along(array: Array, axis: Any) -> tuple[Array, int]:
    """The array, flattened if `axis` is None or it has none, and the axis, not negative."""
    if axis is None or not array.ndim:
        normal_axis(axis or 0, 1)
        return array.ravel(), 0
    return array, normal_axis(axis, array.ndim)


# ---------------------------------------------------------------- shape


@replayed
def reshape(a: Any, /, shape: Any, order: str | None = "C", *, copy: bool | None = None) -> Array:
    """The same values in another shape: a view where the memory allows, else a copy."""
    return asarray(a).reshape(shape, order=order, copy=copy)


@replayed
def ravel(a: Any, order: str | None = "C") -> Array:
    """The elements as one dimension: a view where the memory allows."""
    return asarray(a).ravel(order)


@replayed
def transpose(a: Any, axes: Any = None) -> Array:
    """A view with the axes permuted (reversed if `axes` is None)."""
    array: Any = a if type(a) is ndarray else asarray(a)
    return array.transpose(axes)


permute_dims = transpose


@replayed
def matrix_transpose(x: Any, /) -> Array:
    """A view with the last two axes exchanged."""
    array = asarray(x)
    if array.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {array.ndim}")
    return array.swapaxes(-1, -2)


@replayed
def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """A view with two axes exchanged."""
    return asarray(a).swapaxes(axis1, axis2)


@replayed
def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """A view with axes moved to other places; the others keep their order."""
    array = asarray(a)
    ndim = array.ndim
    sources = normal_axes(source, ndim, "source")
    targets = normal_axes(destination, ndim, "destination")
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return array.transpose(tuple(order))


@replayed
def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """A view with `axis` moved before the axis that stands at `start`."""
    array = asarray(a)
    ndim = array.ndim
    axis = normal_axis(axis, ndim)
    if start < 0:
        start += ndim
    if not 0 <= start <= ndim:
        raise np.exceptions.AxisError(f"'start' arg requires {-ndim} <= start < {ndim + 1}, but {start} was passed in")
    order = [other for other in range(ndim) if other != axis]
    order.insert(start - 1 if axis < start else start, axis)
    return array.transpose(tuple(order))


@replayed
def expand_dims(a: Any, axis: Any) -> Array:
    """A view with new axes of extent 1 at the places `axis` of the result."""
    array = asarray(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = array.ndim + len(axes)
    places = normal_axes(axes, ndim)
    extents = iter(array.shape)
    return array.reshape(tuple(1 if place in places else next(extents) for place in range(ndim)))


@at_once(without_ones)
def squeeze(a: Any, axis: Any = None) -> Array:
    """A view without axes of extent 1 (all of them, or those of `axis`)."""
    return _squeezed(a, axis)


@replayed
def _squeezed(a: Any, axis: Any) -> Array:
    array = a if type(a) is ndarray else asarray(a)
    if axis is None:
        dropped: tuple[int, ...] = tuple(k for k, extent in enumerate(array.shape) if extent == 1)
    else:
        dropped = () if not array.ndim and axis in (0, -1) else build.normalize_axes(axis, array.ndim)
        if any(array.shape[k] != 1 for k in dropped):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    kept = [k for k in range(array.ndim) if k not in dropped]
    return view_of(array, array.offset, tuple(array.shape[k] for k in kept), tuple(array.strides[k] for k in kept))


@replayed
def atleast_1d(*arys: Any) -> Any:
    """Arrays seen with at least one axis; a tuple if there are several."""
    return _each(lambda a: a if a.ndim else a.reshape(1), arys)


@replayed
def atleast_2d(*arys: Any) -> Any:
    """Arrays seen with at least two axes; a tuple if there are several."""
    return _each(lambda a: a if a.ndim >= 2 else a.reshape((1, a.size)), arys)


@replayed
def atleast_3d(*arys: Any) -> Any:
    """Arrays seen with at least three axes; a tuple if there are several."""
    return _each(
        lambda a: (
            a if a.ndim >= 3 else a.reshape((*((1, *a.shape) if a.ndim < 2 else a.shape), 1) if a.ndim else (1, 1, 1))
        ),
        arys,
    )


def _each(view: Any, arrays: tuple[Any, ...]) -> Any:
    results = tuple(view(asarray(array)) for array in arrays)
    return results[0] if len(results) == 1 else results


# ---------------------------------------------------------------- broadcasting


@replayed
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Array:
    """A read-only view repeated to `shape`."""
    array = asarray(array)
    target = as_integers(shape)
    if any(extent < 0 for extent in target):
        raise ValueError("all elements of broadcast shape must be non-negative")
    lead = len(target) - array.ndim
    if lead < 0:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    if any(extent not in (1, goal) for extent, goal in zip(array.shape, target[lead:], strict=True)):
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{_shown(array.shape)}  and requested shape {_shown(target)}"
        )
    result = view_of(array, array.offset, target, broadcast_strides(array.shape, array.strides, target))
    result.writeable = False
    return result


@replayed
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """Views of the arrays at their common shape (read-only where elements repeat).

    What no array of ours can hold (None, strings) stays NumPy's, as an array of objects or of text.
    """
    arrays = [_array_or_objects(array) for array in args]
    try:
        shape = broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        np.broadcast_shapes(*(array.shape for array in arrays))
        raise
    return tuple(array if array.shape == shape else _spread(array, shape) for array in arrays)


def _spread(array: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(array, shape) if isinstance(array, np.ndarray) else broadcast_to(array, shape)


def _array_or_objects(value: Any) -> Any:
    """An array of ours; of NumPy for None, text and the like."""
    if value is None or isinstance(value, (str, bytes)):
        return np.asarray(value)
    try:
        return asarray(value)
    except TypeError:
        host = np.asarray(value)
        if host.dtype.kind not in "OSUMm":
            raise
        return host


def _shown(shape: Sequence[int]) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


# ---------------------------------------------------------------- repeating


def _is_few(array: Any, times: Any) -> bool:
    """Whether an array of NumPy's, repeated so often, is small enough to be made at once."""
    count = prod(times) if type(times) is tuple else times
    return type(array) is np.ndarray and count >= 0 and array.size * count <= RECORDED


@by_numpy(lambda A, reps: np.tile(A, reps) if _is_few(A, reps) else None, most=RECORDED, pending=False)
@replayed
def tile(A: Any, reps: Any) -> Array:
    """An array repeated `reps` times along each axis."""
    array = asarray(A)
    times = as_integers(reps, as_integer)
    ndim = max(array.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - array.ndim) + array.shape
    if set(times) <= {1}:
        return array.copy("K").reshape(shape)
    spread = array.reshape(tuple(extent for e in shape for extent in (1, e)))
    target = tuple(extent for t, e in zip(times, shape, strict=True) for extent in (t, e))
    return broadcast_to(spread, target).reshape(tuple(t * e for t, e in zip(times, shape, strict=True)), copy=True)


@by_numpy(
    lambda a, repeats, axis=None: a.repeat(repeats, axis) if type(repeats) is int and _is_few(a, repeats) else None,
    most=RECORDED,
    pending=False,
)
@replayed
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Array:
    """Each element repeated along an axis.

    Parameters
    ----------
    a : array_like
        Elements.
    repeats : int or array_like of int
        How often: one number, or one for each; how many they make is looked at if they lie on the device.
        Lists are cut to integers, arrays of other numbers are refused.
    axis : int, optional
        The axis; by default `a` is flattened.

    Returns
    -------
    ndarray
    """
    array, axis = lines_along(asarray(a), axis)
    if isinstance(repeats, ndarray) and repeats.size != 1 and repeats.dtype.kind in "biu":
        return _repeated(array, repeats, axis)
    if isinstance(repeats, (ndarray, np.ndarray)):
        counts = np.asarray(repeats.get() if isinstance(repeats, ndarray) else repeats)
    else:
        counts = np.asarray(host_numbers(repeats), np.int64)
    if not np.can_cast(counts.dtype, np.int64, "safe"):
        raise TypeError(f"Cannot cast array data from {counts.dtype!r} to dtype('int64') according to the rule 'safe'")
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    if (counts < 0).any():
        raise ValueError("repeats may not contain negative values.")
    extent = array.shape[axis]
    if counts.size == 1:
        count = int(counts.reshape(()))
        spread = expand_dims(array, axis + 1)
        target = (*array.shape[: axis + 1], count, *array.shape[axis + 1 :])
        shape = (*array.shape[:axis], extent * count, *array.shape[axis + 1 :])
        return broadcast_to(spread, target).reshape(shape, copy=True)
    if counts.size != extent:
        raise ValueError(f"operands could not be broadcast together with shape ({extent},) ({counts.size},)")
    return taken(array, np.repeat(np.arange(extent), counts), axis)


def _repeated(array: Array, counts: Array, axis: int) -> Array:
    """Elements repeated as often as counts on the device say; how many there are in all is looked at."""
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    if counts.size != array.shape[axis]:
        raise ValueError(f"operands could not be broadcast together with shape ({array.shape[axis]},) ({counts.size},)")
    if not counts.size:
        return array.copy()
    if counts.dtype.char == "L":
        raise TypeError(f"Cannot cast array data from {counts.dtype!r} to dtype('int64') according to the rule 'safe'")
    ends = build.cast(node_of(counts), I64)
    ends = call("scan", ends, code=I64, shape=counts.shape, op="add", axis=0)
    total = int(wrap(ends)[-1])
    if counts.dtype.kind == "i" and bool((counts < 0).any()):
        raise ValueError("repeats may not contain negative values.")
    place = call("searchsorted", ends, build.iota(total), code=I64, shape=(total,), side="right")
    return wrap(build.gather(node_of(array), [place], (axis,), axis, inside=True))


def taken(array: Array, index: np.ndarray[Any, Any], axis: int) -> Array:
    """Elements of `array` along `axis` at positions known on the host (all within bounds)."""
    return wrap(build.gather(node_of(array), [node_of(asarray(index))], (axis,), axis, inside=True))


@replayed
def resize(a: Any, new_shape: Any) -> Array:
    """A new array of `new_shape`, filled with the elements of `a` again and again."""
    array = asarray(a).ravel()
    shape = as_shape(new_shape)
    if any(extent < 0 for extent in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    count = prod(shape)
    if not array.size:
        return wrap(build.full(0, array.code, shape))
    if count <= array.size:
        return array[:count].reshape(shape, copy=True)
    whole, rest = divmod(count, array.size)
    if not rest:
        return broadcast_to(array, (whole, array.size)).copy().reshape(shape)
    where = build.binary(REMAINDER, build.iota(count), array.size)
    return wrap(build.gather(node_of(array), [where], (0,), 0, inside=True)).reshape(shape)


# ---------------------------------------------------------------- reordering


@replayed
def flip(m: Any, axis: Any = None) -> Array:
    """A view with the order along `axis` (all axes if None) reversed."""
    array = asarray(m)
    axes = range(array.ndim) if axis is None else normal_axes(axis, array.ndim)
    return array[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(array.ndim))]


@replayed
def fliplr(m: Any) -> Array:
    """A view with the second axis reversed."""
    array = asarray(m)
    if array.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return array[:, ::-1]


@replayed
def flipud(m: Any) -> Array:
    """A view with the first axis reversed."""
    array = asarray(m)
    if array.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return array[::-1]


@replayed
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Array:
    """A view turned by `k` quarter turns in the plane of two axes."""
    array = asarray(m)
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == array.ndim:
        raise ValueError("Axes must be different.")
    if any(not -array.ndim <= axis < array.ndim for axis in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={array.ndim}.")
    if k != int(k):
        raise ValueError(f"rot90 turns by quarters, of which there are whole ones: got {k}")
    k = int(k) % 4
    if k == 0:
        return array[...]
    if k == 2:
        return flip(flip(array, axes[0]), axes[1])
    turned = flip(array, axes[1]) if k == 1 else array
    turned = turned.swapaxes(*axes)
    return turned if k == 1 else flip(turned, axes[1])


@replayed
def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    """Elements moved along `axis` (of the flattened array if None), what leaves at the end enters in front.

    Recorded as one read at shifted positions, so that it fuses with what it is used in.
    """
    array = asarray(a)
    if axis is None:
        return roll(array.ravel(), shift, 0).reshape(array.shape)
    if type(axis) is int and type(shift) is int:
        return _rolled(array, {normal_axis(axis, array.ndim): shift})
    axes = as_integers(axis, lambda one: normal_axis(one, array.ndim))
    pairs = np.broadcast(np.asarray(host_numbers(shift)), np.asarray(axes, dtype=np.int64))
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    total = dict.fromkeys(axes, 0)
    for step, k in pairs:
        total[int(k)] += int(step.real) if isinstance(step, complex) else int(step)
    return _rolled(array, total)


def _rolled(array: Array, total: dict[int, int]) -> Array:
    """The array rolled along axes, each with its shift."""
    # An index from -extent to extent - 1: negative ones count from the end.
    shifts = {k: step % array.shape[k] for k, step in total.items() if array.shape[k] and step % array.shape[k]}
    if not shifts:
        return array.copy("K")
    # The result lies as the array does: read in the order of its memory.
    steps = array.strides
    order = sorted(range(array.ndim), key=lambda k: -abs(steps[k]))
    indices = {order.index(k): build.binary(SUBTRACT, build.iota(array.shape[k]), s) for k, s in shifts.items()}
    if order == list(range(array.ndim)):
        return wrap(gathered(array, indices, inside=True))
    rolled = wrap(gathered(array.transpose(order), indices, inside=True))
    return rolled.transpose([order.index(k) for k in range(array.ndim)])


def gathered(array: Array, indices: dict[int, Node], inside: bool = False) -> Node:
    """`array` read at the product of index vectors, one for each of some axes; see `build.gather` for `inside`."""
    first, last = min(indices), max(indices)
    axes = tuple(range(first, last + 1))
    spread = []
    for axis in axes:
        vector = indices.get(axis)
        if vector is None:
            vector = build.iota(array.shape[axis])
        shape = tuple(vector.size if other == axis else 1 for other in axes)
        spread.append(vector if len(axes) == 1 else shaped(vector, shape))
    return build.gather(node_of(array), spread, axes, first, inside=inside)


def shaped(vector: Node, shape: tuple[int, ...]) -> Node:
    strides = tuple(vector.strides[0] if extent == vector.size and extent > 1 else 0 for extent in shape)
    return build.view(vector, vector.code, 0, shape, strides)


# ---------------------------------------------------------------- sharing memory


def may_share_memory(a: Any, b: Any, /, max_work: int = 0) -> bool:
    """Whether two arrays may share memory: their bounds in it overlap.

    NumPy's arrays share it with ours where one was made over the other's (DLPack, the host's memory).
    """
    if not (isinstance(a, ndarray) and isinstance(b, ndarray)) or a.storage is not b.storage:
        one, other = _placed(a), _placed(b)
        return one is not None and other is not None and np.may_share_memory(one, other)
    if not a.size or not b.size:
        return False
    a_low, a_high = extent_of(Layout(a.offset, a.shape, a.strides), a.itemsize)
    b_low, b_high = extent_of(Layout(b.offset, b.shape, b.strides), b.itemsize)
    return a_low < b_high and b_low < a_high


def shares_memory(a: Any, b: Any, /, max_work: int = -1) -> bool:
    """Whether two arrays have an element of memory in common."""
    if not may_share_memory(a, b):
        return False
    if not (isinstance(a, ndarray) and isinstance(b, ndarray)) or a.storage is not b.storage:
        return np.shares_memory(_placed(a), _placed(b), max_work)  # type: ignore[arg-type]
    if not may_overlap(
        Layout(a.offset, a.shape, a.strides), a.itemsize, Layout(b.offset, b.shape, b.strides), b.itemsize
    ):
        return False
    return np.shares_memory(_Shadow(a), _Shadow(b), max_work)  # type: ignore[arg-type]


def _placed(x: Any) -> Any:
    """An array with its address, if others may know that; never read here, and so on a GPU as well."""
    if not isinstance(x, ndarray):
        return x if isinstance(x, np.ndarray) else None
    array: Any = x
    return _Shadow(array, array.storage.value.buffer.ptr) if array.storage.pins else None


class _Shadow:
    """An array's layout over an address that is never read, for NumPy's exact overlap test."""

    def __init__(self, array: Array, address: int = 1 << 40) -> None:
        self.__array_interface__ = {
            "data": (address + array.offset, True),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "version": 3,
        }


bind(
    method_squeeze=squeeze,
    method_repeat=repeat,
)

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_to",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "may_share_memory",
    "moveaxis",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "resize",
    "roll",
    "rollaxis",
    "rot90",
    "shares_memory",
    "squeeze",
    "swapaxes",
    "tile",
    "transpose",
]
