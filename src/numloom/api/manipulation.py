"""Shapes and axes: views wherever NumPy's are, joining and splitting, repeating and reordering."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np

from numloom.api.conditions import numpy_is_near
from numloom.array.convert import asarray
from numloom.array.ndarray import bind, ndarray, node_of, store_result, view_of, wrap
from numloom.base.dtypes import BOOL, DTYPES, I64, ITEMSIZES, code_of
from numloom.engine.routines import call
from numloom.engine.routines import empty as empty_leaf
from numloom.graph import build
from numloom.graph.layout import (
    Layout,
    broadcast_shapes,
    broadcast_strides,
    c_strides,
    extent_of,
    f_strides,
    indexed_strides,
    joined_strides,
    may_overlap,
)
from numloom.graph.node import Node
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

WHERE = ELEMENTWISE["where"]
EQUAL = ELEMENTWISE["equal"]
SUBTRACT = ELEMENTWISE["subtract"]
REMAINDER = ELEMENTWISE["remainder"]
INTERLEAVED = 4
"""Parts whose elements are chosen one by one, at most: each of them reads all parts."""


def normal_axis(axis: Any, ndim: int) -> int:
    """One axis, not negative; NumPy's AxisError if there is no such axis."""
    axis = as_index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def normal_axes(axis: Any, ndim: int, name: str | None = None) -> tuple[int, ...]:
    """Several axes in the order given; AxisError for a missing one, ValueError for a repeated one."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(normal_axis(a, ndim) for a in given)
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in `{name}` argument" if name else "repeated axis")
    return axes


# ---------------------------------------------------------------- shape


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """The same values in another shape: a view where the memory allows, else a copy."""
    return asarray(a).reshape(shape, order=order, copy=copy)


def ravel(a: Any, order: str = "C") -> Array:
    """The elements as one dimension: a view where the memory allows."""
    return asarray(a).ravel(order)


def transpose(a: Any, axes: Any = None) -> Array:
    """A view with the axes permuted (reversed if `axes` is None)."""
    return asarray(a).transpose(*(() if axes is None else (tuple(axes),)))


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Array:
    """A view with the last two axes exchanged."""
    array = asarray(x)
    if array.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {array.ndim}")
    return array.swapaxes(-1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """A view with two axes exchanged."""
    return asarray(a).swapaxes(axis1, axis2)


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


def expand_dims(a: Any, axis: Any) -> Array:
    """A view with new axes of extent 1 at the places `axis` of the result."""
    array = asarray(a)
    ndim = array.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    places = normal_axes(axis, ndim)
    extents = iter(array.shape)
    return array.reshape(tuple(1 if place in places else next(extents) for place in range(ndim)))


def squeeze(a: Any, axis: Any = None) -> Array:
    """A view without axes of extent 1 (all of them, or those of `axis`)."""
    array = asarray(a)
    if axis is None:
        dropped: tuple[int, ...] = tuple(k for k, extent in enumerate(array.shape) if extent == 1)
    else:
        dropped = () if not array.ndim and axis in (0, -1) else build.normalize_axes(axis, array.ndim)
        if any(array.shape[k] != 1 for k in dropped):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    kept = [k for k in range(array.ndim) if k not in dropped]
    return view_of(array, array.offset, tuple(array.shape[k] for k in kept), tuple(array.strides[k] for k in kept))


def atleast_1d(*arys: Any) -> Any:
    """Arrays seen with at least one axis; a tuple if there are several."""
    return _each(lambda a: a if a.ndim else a.reshape(1), arys)


def atleast_2d(*arys: Any) -> Any:
    """Arrays seen with at least two axes; a tuple if there are several."""
    return _each(lambda a: a if a.ndim >= 2 else a.reshape((1, a.size)), arys)


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


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Array:
    """A read-only view repeated to `shape`."""
    array = asarray(array)
    target = tuple(map(as_index, shape)) if isinstance(shape, Iterable) else (as_index(shape),)
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


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """Views of the arrays at their common shape (read-only where elements repeat)."""
    arrays = [asarray(array) for array in args]
    try:
        shape = broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        np.broadcast_shapes(*(array.shape for array in arrays))
        raise
    return tuple(array if array.shape == shape else broadcast_to(array, shape) for array in arrays)


def _shown(shape: Sequence[int]) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


# ---------------------------------------------------------------- joining


def concatenate(
    arrays: Any, /, axis: int | None = 0, out: Array | None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Array:
    """Arrays put one after another along `axis` (flattened first if it is None)."""
    given = list(arrays)
    parts = [asarray(array) for array in given]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    weak: set[type] = set()
    if axis is None:
        # Here, and only here, Python numbers take the dtype of the arrays.
        weak = {type(number) for number in given if type(number) in (int, float, complex)}
        parts = [part.ravel() for part in parts]
        axis = 0
    ndim = parts[0].ndim
    if not ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normal_axis(axis, ndim)
    for number, part in enumerate(parts):
        _check_joins(parts[0].shape, part.shape, axis, number)
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    if out is not None:
        code = out.code
    elif dtype is not None:
        code = code_of(dtype)
    else:
        strong = {part.dtype for part, array in zip(parts, given, strict=True) if type(array) not in weak}
        code = code_of(np.result_type(*strong, *(kind() for kind in weak)))
    for part, array in zip(parts, given, strict=True):
        if type(array) not in weak and not np.can_cast(part.dtype, DTYPES[code], casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast array data from {part.dtype!r} to {DTYPES[code]!r} according to the rule '{casting}'"
            )
    shape = (*parts[0].shape[:axis], sum(part.shape[axis] for part in parts), *parts[0].shape[axis + 1 :])
    if out is not None and out.shape != shape:
        raise ValueError("Output array is the wrong shape")
    strides = joined_strides(shape, [(part.shape, part.strides) for part in parts], ITEMSIZES[code])
    result = wrap(_joined([node_of(part) for part in parts], code, shape, axis, strides))
    return result if out is None else store_result(out, result, "concatenate")


concat = concatenate


def _check_joins(first: tuple[int, ...], shape: tuple[int, ...], axis: int, number: int) -> None:
    if len(shape) != len(first):
        raise ValueError(
            "all the input array dimensions except for the concatenation axis must match exactly, but along "
            f"dimension 0, the array at index 0 has {len(first)} dimension(s) and the array at index {number} has "
            f"{len(shape)} dimension(s)"
        )
    for k, (want, have) in enumerate(zip(first, shape, strict=True)):
        if k != axis and want != have:
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match exactly, but along "
                f"dimension {k}, the array at index 0 has size {want} and the array at index {number} has size {have}"
            )


def _joined(parts: list[Node], code: int, shape: tuple[int, ...], axis: int, strides: tuple[int, ...]) -> Node:
    """Parts written one after another into fresh memory."""
    found = _interleaved(parts, code, axis, strides)
    if found is not None:
        return found
    node = empty_leaf(code, shape, strides)
    offset = 0
    for part in parts:
        if part.size:
            node = build.update(node, build.cast(part, code), offset, part.shape, strides, code)
        offset += part.shape[axis] * strides[axis]
    return node


def _interleaved(parts: list[Node], code: int, axis: int, strides: tuple[int, ...]) -> Node | None:
    """Few parts whose elements alternate in memory, chosen one by one: a GPU would write gaps, one part at a time."""
    last = axis == len(strides) - 1 and strides[axis] == ITEMSIZES[code]
    if numpy_is_near() or not (
        last and 2 <= len(parts) <= INTERLEAVED and all(part.shape[axis] == 1 for part in parts)
    ):
        return None
    number = build.iota(len(parts))
    node = build.cast(parts[-1], code)
    for k in range(len(parts) - 2, -1, -1):
        chosen = build.binary_scalar(EQUAL, number, k)
        node = build.elementwise(WHERE, [chosen, build.cast(parts[k], code), node])
    return node if node.strides == strides else None


def stack(
    arrays: Any, axis: int = 0, out: Array | None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Array:
    """Arrays of one shape put side by side along a new axis."""
    parts = [asarray(array) for array in arrays]
    if not parts:
        raise ValueError("need at least one array to stack")
    if len({part.shape for part in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    axis = normal_axis(axis, parts[0].ndim + 1)
    return concatenate([expand_dims(part, axis) for part in parts], axis, out, dtype=dtype, casting=casting)


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Arrays (vectors as rows) one below another."""
    return concatenate(_several(atleast_2d, tup), 0, dtype=dtype, casting=casting)


def row_stack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """`vstack` by its old name, which NumPy deprecates."""
    warnings.warn("`row_stack` alias is deprecated. Use `np.vstack` directly.", DeprecationWarning, stacklevel=2)
    return vstack(tup, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Arrays side by side along the second axis (vectors along the first)."""
    parts = _several(atleast_1d, tup)
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Array:
    """Arrays put together along the third axis."""
    return concatenate(_several(atleast_3d, tup), 2)


def column_stack(tup: Any) -> Array:
    """Vectors as columns (and matrices) side by side."""
    parts = [asarray(array) for array in tup]
    return concatenate([part if part.ndim > 1 else part.reshape((part.size, 1)) for part in parts], 1)


def _several(view: Any, arrays: Any) -> list[Array]:
    return [view(array) for array in arrays]


def block(arrays: Any) -> Array:
    """Nested lists of arrays put together: innermost lists along the last axis, and so outwards."""
    depth = _block_depth(arrays)
    ndim = max((depth, *(asarray(leaf).ndim for leaf in _block_leaves(arrays))))

    def join(item: Any, level: int) -> Array:
        if level == depth:
            array = asarray(item)
            return array.reshape((1,) * (ndim - array.ndim) + array.shape)
        return concatenate([join(part, level + 1) for part in item], ndim - depth + level)

    result = join(arrays, 0)
    return result if depth else result.copy()


def _block_depth(item: Any) -> int:
    if isinstance(item, tuple):
        raise TypeError(
            "arrays is a tuple. Only lists can be used to arrange blocks, and np.block does not allow "
            "implicit conversion from tuple to ndarray."
        )
    if not isinstance(item, list):
        return 0
    if not item:
        raise ValueError("List at arrays cannot be empty")
    depths = {_block_depth(part) for part in item}
    if len(depths) != 1:
        raise ValueError("List depths are mismatched.")
    return 1 + depths.pop()


def _block_leaves(item: Any) -> Iterable[Any]:
    return [leaf for part in item for leaf in _block_leaves(part)] if isinstance(item, list) else [item]


# ---------------------------------------------------------------- splitting


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of parts along `axis`: that many nearly equal ones, or cut at the given indices."""
    array = asarray(ary)
    axis = normal_axis(axis, array.ndim)
    extent = array.shape[axis]
    try:
        cuts = [0, *(as_index(cut) for cut in indices_or_sections), extent]
    except TypeError:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        each, extra = divmod(extent, sections)
        cuts = [0]
        for k in range(sections):
            cuts.append(cuts[-1] + each + (k < extra))
    lead = (slice(None),) * axis
    return [array[(*lead, slice(start, stop))] for start, stop in pairwise(cuts)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of equal parts along `axis`, or of parts cut at the given indices."""
    array = asarray(ary)
    if not isinstance(indices_or_sections, Iterable):
        extent = array.shape[normal_axis(axis, array.ndim)]
        if extent % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(array, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along the second axis (the first of a vector)."""
    array = asarray(ary)
    if not array.ndim:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(array, indices_or_sections, 1 if array.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along the first axis."""
    array = asarray(ary)
    if array.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(array, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along the third axis."""
    array = asarray(ary)
    if array.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(array, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Views of an array's parts along `axis`, without that axis."""
    array = asarray(x)
    if not array.ndim:
        raise ValueError("Input array must be at least 1-d.")
    moved = moveaxis(array, axis, 0)
    return tuple(moved[k] for k in range(moved.shape[0]))


# ---------------------------------------------------------------- repeating


def tile(A: Any, reps: Any) -> Array:
    """An array repeated `reps` times along each axis."""
    array = asarray(A)
    times = tuple(map(as_index, reps)) if isinstance(reps, Iterable) else (as_index(reps),)
    ndim = max(array.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - array.ndim) + array.shape
    if set(times) <= {1}:
        return array.copy("K").reshape(shape)
    spread = array.reshape(tuple(extent for e in shape for extent in (1, e)))
    target = tuple(extent for t, e in zip(times, shape, strict=True) for extent in (t, e))
    return broadcast_to(spread, target).reshape(tuple(t * e for t, e in zip(times, shape, strict=True)), copy=True)


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
    array = asarray(a)
    if axis is None or (not array.ndim and axis in (0, -1)):
        array = array.ravel()
        axis = 0
    axis = normal_axis(axis, array.ndim)
    if isinstance(repeats, ndarray) and repeats.size != 1 and repeats.dtype.kind in "biu":
        return _repeated(array, repeats, axis)
    if isinstance(repeats, (ndarray, np.ndarray)):
        counts = np.asarray(repeats.get() if isinstance(repeats, ndarray) else repeats)
    else:
        counts = np.asarray(repeats, np.int64)
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
    return wrap(build.gather(node_of(array), [place], (axis,), axis))


def taken(array: Array, index: np.ndarray[Any, Any], axis: int) -> Array:
    """Elements of `array` along `axis` at positions known on the host (all within bounds)."""
    return wrap(build.gather(node_of(array), [node_of(asarray(index))], (axis,), axis))


def resize(a: Any, new_shape: Any) -> Array:
    """A new array of `new_shape`, filled with the elements of `a` again and again."""
    array = asarray(a).ravel()
    shape = tuple(map(as_index, new_shape)) if isinstance(new_shape, Iterable) else (as_index(new_shape),)
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
    where = build.binary_scalar(REMAINDER, build.iota(count), array.size)
    return wrap(build.gather(node_of(array), [where], (0,), 0)).reshape(shape)


# ---------------------------------------------------------------- reordering


def flip(m: Any, axis: Any = None) -> Array:
    """A view with the order along `axis` (all axes if None) reversed."""
    array = asarray(m)
    axes = range(array.ndim) if axis is None else normal_axes(axis, array.ndim)
    return array[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(array.ndim))]


def fliplr(m: Any) -> Array:
    """A view with the second axis reversed."""
    array = asarray(m)
    if array.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return array[:, ::-1]


def flipud(m: Any) -> Array:
    """A view with the first axis reversed."""
    array = asarray(m)
    if array.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return array[::-1]


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
    k = int(k) % 4
    if k == 0:
        return array[...]
    if k == 2:
        return flip(flip(array, axes[0]), axes[1])
    turned = flip(array, axes[1]) if k == 1 else array
    turned = turned.swapaxes(*axes)
    return turned if k == 1 else flip(turned, axes[1])


def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    """Elements moved along `axis` (of the flattened array if None), what leaves at the end enters in front.

    Recorded as one read at shifted positions, so that it fuses with what it is used in.
    """
    array = asarray(a)
    if axis is None:
        return roll(array.ravel(), shift, 0).reshape(array.shape)
    axes = [normal_axis(k, array.ndim) for k in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    pairs = np.broadcast(
        np.asarray(shift.get() if isinstance(shift, ndarray) else shift), np.asarray(axes, dtype=np.int64)
    )
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    total = dict.fromkeys(axes, 0)
    for step, k in pairs:
        total[int(k)] += int(step.real) if isinstance(step, complex) else int(step)
    # An index from -extent to extent - 1: negative ones count from the end.
    shifts = {k: step % array.shape[k] for k, step in total.items() if array.shape[k] and step % array.shape[k]}
    if not shifts:
        return array.copy("K")
    # The result lies as the array does: read in the order of its memory.
    slowest_first = sorted(range(array.ndim), key=lambda k: -abs(array.strides[k]))
    indices = {
        slowest_first.index(k): build.binary_scalar(SUBTRACT, build.iota(array.shape[k]), s) for k, s in shifts.items()
    }
    rolled = wrap(gathered(array.transpose(slowest_first), indices))
    return rolled.transpose(np.argsort(slowest_first).tolist())


def gathered(array: Array, indices: dict[int, Node]) -> Node:
    """`array` read at the product of index vectors, one for each of some axes."""
    first, last = min(indices), max(indices)
    axes = tuple(range(first, last + 1))
    spread = []
    for axis in axes:
        vector = indices.get(axis)
        if vector is None:
            vector = build.iota(array.shape[axis])
        shape = tuple(vector.size if other == axis else 1 for other in axes)
        spread.append(vector if len(axes) == 1 else _shaped(vector, shape))
    return build.gather(node_of(array), spread, axes, first)


def _shaped(vector: Node, shape: tuple[int, ...]) -> Node:
    strides = tuple(vector.strides[0] if extent == vector.size and extent > 1 else 0 for extent in shape)
    return build.view(vector, vector.code, 0, shape, strides)


# ---------------------------------------------------------------- inserting and deleting


def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """A new array with `values` behind those of `arr` (both flattened if `axis` is None)."""
    array, values = asarray(arr), asarray(values)
    if axis is None:
        array, values, axis = array.ravel(), values.ravel(), array.ndim - 1 if array.ndim == 1 else 0
    return concatenate((array, values), axis)


def delete(arr: Any, obj: Any, axis: int | None = None) -> Array:
    """A new array without the parts of `arr` that `obj` (a slice, an integer, integers, a mask) selects."""
    array = asarray(arr)
    if axis is None:
        array = array.ravel()
        axis = array.ndim - 1
    axis = normal_axis(axis, array.ndim)
    extent = array.shape[axis]
    kept = _kept(obj, extent)
    if kept is not None:
        return _indexed_order(array[(*(slice(None),) * axis, kept)], axis, array)
    index = _host_index(obj)
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool) and -extent <= index < extent:
        lead, at = (slice(None),) * axis, int(index) % extent
        parts = array[(*lead, slice(at))], array[(*lead, slice(at + 1, None))]
        return ordered_as(concatenate(parts, axis), array)
    result = _picked(array, np.delete(np.arange(extent), index), axis)
    if isinstance(index, slice) or (np.size(index) == 1 and np.asarray(index).dtype != bool):
        return ordered_as(result, array)
    return _indexed_order(result, axis, array)


def _kept(obj: Any, extent: int) -> Array | None:
    """What `delete` leaves, as a mask on the device; None where the positions are few, or wrong."""
    if isinstance(obj, (slice, int, np.integer)):
        return None
    index = obj if isinstance(obj, ndarray) else np.asarray(obj)
    if index.dtype == bool:
        return asarray(index) == 0 if index.shape == (extent,) else None
    if index.dtype.kind not in "iu" or index.size <= _FEW_POSITIONS:
        return None
    kept = wrap(build.full(True, BOOL, (extent,))).copy()
    kept[index] = False
    return kept


def _indexed_order(result: Array, axis: int, source: Array) -> Array:
    """In the memory order that NumPy gives what it reads at an index array along an axis."""
    rest = [k for k in range(source.ndim) if k != axis]
    extents, strides = (tuple(numbers[k] for k in rest) for numbers in (source.shape, source.strides))
    shape = (result.shape[axis],)
    return relaid(result, indexed_strides((extents, strides), shape, [(result.itemsize,)], axis, result.itemsize))


_FEW_POSITIONS = 64
"""Positions up to which the host looks at them."""


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """A new array with `values` put in before the positions `obj` along `axis`."""
    array = asarray(arr)
    if axis is None:
        array = array.ravel()
        axis = array.ndim - 1
    axis = normal_axis(axis, array.ndim)
    extent = array.shape[axis]
    index = _host_index(obj)
    # Numbers in lists must fit, as where they are assigned; arrays are cast.
    added = asarray(values, None if isinstance(values, (ndarray, np.ndarray, np.generic)) else array.dtype)
    if added.code != array.code:
        added = added.astype(array.dtype)
    single = not isinstance(index, slice) and np.ndim(index) == 0
    if single and added.ndim:
        # As NumPy: values[..., :] go along `axis` where one position is given.
        added = added.reshape((1,) * (array.ndim - added.ndim) + added.shape)
        added = moveaxis(added, 0, axis) if np.asarray(index).dtype != bool else added
    added = added.reshape((1,) * (array.ndim - added.ndim) + added.shape)
    if single and isinstance(index, (int, np.integer)) and not isinstance(index, bool) and -extent <= index <= extent:
        lead, at = (slice(None),) * axis, int(index) % extent if index < 0 else int(index)
        added = broadcast_to(added, (*array.shape[:axis], added.shape[axis], *array.shape[axis + 1 :]))
        return ordered_as(concatenate((array[(*lead, slice(at))], added, array[(*lead, slice(at, None))]), axis), array)
    # NumPy says where each value goes: insert the numbers -1, -2, ... among the positions.
    where = np.arange(1, extent + 1)
    count = added.shape[axis] if single else np.insert(where, index, 0).size - extent
    order = np.insert(where, index, -np.arange(1, count + 1))
    shape = (*array.shape[:axis], count, *array.shape[axis + 1 :])
    both = concatenate((array, broadcast_to(added, shape)), axis)
    return ordered_as(taken(both, np.where(order > 0, order - 1, extent - 1 - order), axis), array)


def ordered_as(result: Array, source: Array) -> Array:
    """`result` in Fortran order if `source` lies so, else in C order: what NumPy gives, but not its K order."""
    return relaid(result, (f_strides if source.flags.fnc else c_strides)(result.shape, result.itemsize))


def relaid(array: Array, strides: tuple[int, ...]) -> Array:
    """The same values with other dense strides."""
    if array.strides == strides or not array.size:
        return array
    return wrap(build.copied(node_of(array), strides, array.code))


def _host_index(obj: Any) -> Any:
    """An index argument on the host: how many elements a result has must be known."""
    return obj.get() if isinstance(obj, ndarray) else obj


def _picked(array: Array, kept: np.ndarray[Any, Any], axis: int) -> Array:
    """Elements at increasing positions: joined slices where they are few, else a gather."""
    breaks = np.flatnonzero(np.diff(kept) != 1) + 1
    if len(breaks) > 4:
        return taken(array, kept, axis)
    lead = (slice(None),) * axis
    runs = [run for run in np.split(kept, breaks) if run.size]
    if not runs:
        return array[(*lead, slice(0, 0))].copy("K")
    return concatenate([array[(*lead, slice(int(run[0]), int(run[-1]) + 1))] for run in runs], axis)


def _held(array: Array, axis: int) -> tuple[Array, Array]:
    """The first and the last position along `axis` where anything is not zero (the last is -1 if nothing is)."""
    extent = array.shape[axis]
    place = _shaped(build.iota(extent), tuple(extent if k == axis else 1 for k in range(array.ndim)))
    held = node_of(array != 0)
    first, last = (wrap(build.elementwise(WHERE, (held, place, none))) for none in (extent, -1))
    return first.min(), last.max()


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Array:
    """A view without the zeros at the front ("f") and the back ("b"); looks at where a value is not zero."""
    array = asarray(filt)
    sides = trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(array.ndim) if axis is None else normal_axes(axis, array.ndim)
    index = [slice(None)] * array.ndim
    bounds = {k: _held(array, k) for k in axes} if array.size else {}
    for k in axes:
        first, last = map(int, bounds[k]) if bounds else (0, -1)
        # Nothing is left where all are zeros.
        start = first if last >= 0 and "f" in sides else 0
        stop = (last + 1 if "b" in sides else array.shape[k]) if last >= 0 else 0
        index[k] = slice(start, stop)
    # A list stays one, as NumPy has it.
    return filt[index[0]] if isinstance(filt, (list, tuple)) and len(index) == 1 else array[tuple(index)]


# ---------------------------------------------------------------- sharing memory


def may_share_memory(a: Any, b: Any, /, max_work: int = 0) -> bool:
    """Whether two arrays may share memory: their bounds in it overlap.

    NumPy's arrays share it with ours where one was made over the other's (DLPack, the host's memory).
    """
    if not (isinstance(a, ndarray) and isinstance(b, ndarray)) or a.cell is not b.cell:
        one, other = _placed(a), _placed(b)
        return one is not None and other is not None and np.may_share_memory(one, other)
    a_low, a_high = extent_of(Layout(a.offset, a.shape, a.strides), a.itemsize)
    b_low, b_high = extent_of(Layout(b.offset, b.shape, b.strides), b.itemsize)
    return a_low < b_high and b_low < a_high


def shares_memory(a: Any, b: Any, /, max_work: int = -1) -> bool:
    """Whether two arrays have an element of memory in common."""
    if not may_share_memory(a, b):
        return False
    if not (isinstance(a, ndarray) and isinstance(b, ndarray)) or a.cell is not b.cell:
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
    return _Shadow(array, array.cell.value.buffer.ptr) if array.cell.pins else None


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
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "broadcast_arrays",
    "broadcast_to",
    "column_stack",
    "concat",
    "concatenate",
    "delete",
    "dsplit",
    "dstack",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "insert",
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
    "row_stack",
    "shares_memory",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
    "trim_zeros",
    "unstack",
    "vsplit",
    "vstack",
]
