"""Arrays joined to one, and split into views of parts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from numloom.api.at_once import RECORDED, at_once, joined
from numloom.api.calling import Replayed, recalled, replayed
from numloom.api.conditions import numpy_is_near
from numloom.api.manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    moveaxis,
    normal_axis,
)
from numloom.api.ufunc import check_out
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, store_result, wrap
from numloom.base.dtypes import DTYPES, ITEMSIZES, code_of
from numloom.base.given import as_name, as_sequence
from numloom.base.integers import as_integer
from numloom.base.nesting import deeper
from numloom.engine.routines import empty as empty_leaf
from numloom.graph import build
from numloom.graph.layout import (
    joined_strides,
)
from numloom.graph.node import LEAF, VIEW, Node
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

WHERE = ELEMENTWISE["where"]
EQUAL = ELEMENTWISE["equal"]
INTERLEAVED = 4
"""Parts whose elements are chosen one by one, at most: each of them reads all parts."""
_TO_STACK = 'arrays to stack must be passed as a "sequence" type such as list or tuple'


# ---------------------------------------------------------------- joining


@at_once(lambda arrays, axis=0: np.concatenate(arrays, axis), most=RECORDED, pending=False, quick=joined)
def concatenate(
    arrays: Any, /, axis: int | None = 0, out: Array | None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Array:
    """Arrays put one after another along `axis` (flattened first if it is None)."""
    as_sequence(arrays, "concatenate needs a sequence of arrays")
    if out is None and dtype is None and casting == "same_kind" and type(axis) is int:
        arrays = tuple(arrays)
        return recalled(_CONCATENATE, _joins(arrays, axis), arrays)
    return _concatenated(arrays, axis, out, dtype, casting)


def _joins(arrays: tuple[Any, ...], axis: int) -> Any:
    """What arrays of ours are joined by: an axis, and which of them are in memory, where that counts."""
    first = arrays[0] if arrays else None
    if type(first) is not ndarray or not -first.ndim <= axis < first.ndim or first._shape[axis] != 1:
        return axis
    return axis, *_in_memory(arrays)


def _joined_fast(given: Any, *arrays: Any) -> Array:
    return _concatenated(arrays, given[0] if type(given) is tuple else given, None, None, "same_kind")


_CONCATENATE = Replayed(_joined_fast)


def _concatenated(arrays: Any, axis: int | None, out: Array | None, dtype: Any, casting: str) -> Array:
    """`concatenate` of anything."""
    given = list(arrays)
    parts = [asarray(array) for array in given]
    out = None if out is None else check_out(out)
    as_name(casting, "casting")
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
        code = _common_code([part for part, array in zip(parts, given, strict=True) if type(array) not in weak], weak)
    shape = (*parts[0].shape[:axis], sum(part.shape[axis] for part in parts), *parts[0].shape[axis + 1 :])
    if out is not None and out.shape != shape:
        what = "has wrong dimensionality" if out.ndim != len(shape) else "is the wrong shape"
        raise ValueError(f"Output array {what}")
    for part, array in zip(parts, given, strict=True):
        if type(array) not in weak and not np.can_cast(part.dtype, DTYPES[code], casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast array data from {part.dtype!r} to {DTYPES[code]!r} according to the rule '{casting}'"
            )
    strides = joined_strides(shape, tuple([(part.shape, part.strides) for part in parts]), ITEMSIZES[code])
    result = wrap(_joined([node_of(part) for part in parts], code, shape, axis, strides))
    return result if out is None else store_result(out, result, "concatenate")


concat = concatenate


def _common_code(parts: list[Array], weak: Iterable[type] = ()) -> int:
    """Code of the dtype that NumPy finds for all."""
    if not weak and len({part.code for part in parts}) == 1:
        return parts[0].code  # type: ignore[no-any-return]
    return code_of(np.result_type(*{part.dtype for part in parts}, *(kind() for kind in weak)))


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


def _is_in_memory(part: Node) -> bool:
    return (part.args[0] if part.kind == VIEW else part).kind == LEAF


def _in_memory(arrays: tuple[Any, ...]) -> tuple[bool, ...]:
    """Which of some arrays are in memory."""
    return tuple([type(part) is ndarray and _is_in_memory(node_of(part)) for part in arrays])


def _interleaved(parts: list[Node], code: int, axis: int, strides: tuple[int, ...]) -> Node | None:
    """Few parts in memory whose elements are to alternate, chosen one by one: a GPU would write gaps.

    Parts that have to be computed are written side by side by one kernel, each once.
    """
    last = axis == len(strides) - 1 and strides[axis] == ITEMSIZES[code]
    if numpy_is_near() or not (
        last and 2 <= len(parts) <= INTERLEAVED and all(part.shape[axis] == 1 and _is_in_memory(part) for part in parts)
    ):
        return None
    number = build.iota(len(parts))
    node = build.cast(parts[-1], code)
    for k in range(len(parts) - 2, -1, -1):
        chosen = build.binary(EQUAL, number, k)
        node = build.elementwise(WHERE, [chosen, build.cast(parts[k], code), node])
    return node if node.strides == strides else None


@at_once(lambda arrays, axis=0: np.stack(arrays, axis), most=RECORDED, pending=False)
def stack(
    arrays: Any, axis: int = 0, out: Array | None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Array:
    """Arrays of one shape put side by side along a new axis."""
    as_sequence(arrays, _TO_STACK)
    if out is None and dtype is None and casting == "same_kind" and type(axis) is int:
        arrays = tuple(arrays)
        given = axis, *_in_memory(arrays)
        return recalled(_STACK, given, arrays)
    return _stack(arrays, axis, out, dtype, casting)


def _stack_fast(given: Any, *arrays: Any) -> Array:
    return _stack(arrays, given[0], None, None, "same_kind")


_STACK = Replayed(_stack_fast)


def _stack(arrays: Any, axis: Any, out: Array | None, dtype: Any, casting: str) -> Array:
    """`stack` of anything."""
    parts = [asarray(array) for array in arrays]
    if not parts:
        raise ValueError("need at least one array to stack")
    if len({part.shape for part in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    axis = normal_axis(axis, parts[0].ndim + 1)
    if out is None and dtype is None and casting == "same_kind" and (axis < parts[0].ndim or numpy_is_near()):
        return _stacked(parts, axis)
    return concatenate([expand_dims(part, axis) for part in parts], axis, out, dtype=dtype, casting=casting)


def _stacked(parts: list[Array], axis: int) -> Array:
    """Parts written one after another to where the new axis is their number."""
    code, extents = _common_code(parts), parts[0].shape
    shape = (*extents[:axis], len(parts), *extents[axis:])
    layouts = []
    for part in parts:
        steps = part.strides
        layouts.append(((*extents[:axis], 1, *extents[axis:]), (*steps[:axis], 0, *steps[axis:])))
    strides = joined_strides(shape, tuple(layouts), ITEMSIZES[code])
    node = empty_leaf(code, shape, strides)
    if 0 not in extents:
        region = strides[:axis] + strides[axis + 1 :]
        for number, part in enumerate(parts):
            node = build.update(node, build.cast(node_of(part), code), number * strides[axis], extents, region, code)
    return wrap(node)


@at_once(lambda tup: np.vstack(tup), most=RECORDED, pending=False)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Arrays (vectors as rows) one below another."""
    if dtype is None and casting == "same_kind" and isinstance(tup, (list, tuple)):
        return recalled(_VSTACK, None, tuple(tup))
    return concatenate(_several(atleast_2d, tup), 0, dtype=dtype, casting=casting)


def _vstack(given: None, *arrays: Any) -> Array:
    return concatenate(_several(atleast_2d, arrays), 0)


_VSTACK = Replayed(_vstack)


def row_stack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """`vstack` by its old name, which NumPy deprecates."""
    warnings.warn("`row_stack` alias is deprecated. Use `np.vstack` directly.", DeprecationWarning, stacklevel=2)
    return vstack(tup, dtype=dtype, casting=casting)


@at_once(lambda tup: np.hstack(tup), most=RECORDED, pending=False)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Arrays side by side along the second axis (vectors along the first)."""
    if dtype is None and casting == "same_kind" and isinstance(tup, (list, tuple)):
        arrays = tuple(tup)
        return recalled(_HSTACK, _in_memory(arrays), arrays)
    return _hstack((), *_several(atleast_1d, tup), dtype=dtype, casting=casting)


def _hstack(given: tuple[bool, ...], *arrays: Any, dtype: Any = None, casting: str = "same_kind") -> Array:
    parts = _several(atleast_1d, arrays)
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


_HSTACK = Replayed(_hstack)


@replayed
def dstack(tup: Any) -> Array:
    """Arrays put together along the third axis."""
    return concatenate(_several(atleast_3d, tup), 2)


@replayed
def column_stack(tup: Any) -> Array:
    """Vectors as columns (and matrices) side by side."""
    parts = [asarray(array) for array in as_sequence(tup, _TO_STACK)]
    return concatenate([part if part.ndim > 1 else part.reshape((part.size, 1)) for part in parts], 1)


def _several(view: Any, arrays: Any) -> list[Array]:
    return [view(array) for array in as_sequence(arrays, _TO_STACK)]


@replayed
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


def _block_depth(item: Any, level: int = 0) -> int:
    if isinstance(item, tuple):
        raise TypeError(
            "arrays is a tuple. Only lists can be used to arrange blocks, and np.block does not allow "
            "implicit conversion from tuple to ndarray."
        )
    if not isinstance(item, list):
        return 0
    if not item:
        raise ValueError("List at arrays cannot be empty")
    level = deeper(level)
    depths = {_block_depth(part, level) for part in item}
    if len(depths) != 1:
        raise ValueError("List depths are mismatched.")
    return 1 + depths.pop()


def _block_leaves(item: Any) -> Iterable[Any]:
    return [leaf for part in item for leaf in _block_leaves(part)] if isinstance(item, list) else [item]


# ---------------------------------------------------------------- splitting


@replayed
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of parts along `axis`: that many nearly equal ones, or cut at the given indices."""
    array = asarray(ary)
    axis = normal_axis(axis, array.ndim)
    extent = array.shape[axis]
    try:
        cuts = [0, *(as_integer(cut) for cut in indices_or_sections), extent]
    except TypeError:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        each, extra = divmod(extent, sections)
        cuts = [0, *accumulate([each + 1] * extra + [each] * (sections - extra))]
    lead = (slice(None),) * axis
    return [array[(*lead, slice(start, stop))] for start, stop in pairwise(cuts)]


@replayed
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of equal parts along `axis`, or of parts cut at the given indices."""
    array = asarray(ary)
    if not isinstance(indices_or_sections, Iterable):
        extent = array.shape[normal_axis(axis, array.ndim)]
        if extent % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(array, indices_or_sections, axis)


@replayed
def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along the second axis (the first of a vector)."""
    array = asarray(ary)
    if not array.ndim:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(array, indices_or_sections, 1 if array.ndim > 1 else 0)


@replayed
def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along the first axis."""
    array = asarray(ary)
    if array.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(array, indices_or_sections, 0)


@replayed
def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along the third axis."""
    array = asarray(ary)
    if array.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(array, indices_or_sections, 2)


@replayed
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Views of an array's parts along `axis`, without that axis."""
    array = asarray(x)
    if not array.ndim:
        raise ValueError("Input array must be at least 1-d.")
    moved = moveaxis(array, axis, 0)
    return tuple(moved[k] for k in range(moved.shape[0]))


__all__ = [
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "row_stack",
    "split",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
]
