"""Between brackets: index arrays and masks, read and written through as NumPy's rules of advanced indexing say."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numloom.api.calling import Replayed, recalled, replayed
from numloom.api.running import deliver
from numloom.array.convert import asarray, from_host
from numloom.array.ndarray import assign, assigned_value, bind, later, ndarray, node_of, seen_through, wrap
from numloom.array.slicing import WaitingBoundError
from numloom.array.storage import broadcast_value, read, write, write_at
from numloom.array.subscript import Advanced, Basic, subscript
from numloom.base.dtypes import BOOL, DTYPES, I64, ITEMSIZES, KINDS
from numloom.engine.evaluate import leaf_from_host
from numloom.engine.selecting import chosen_by_kernel
from numloom.engine.selecting import compress as compress_values
from numloom.engine.selecting import nonzero as nonzero_values
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes, broadcast_strides, c_strides, indexed_strides, shown
from numloom.graph.node import CAST, FILL, VIEW, Node
from numloom.graph.source_location import here
from numloom.ops.elementwise import ELEMENTWISE

try:
    from numloom.array import _indexing  # type: ignore[attr-defined]
except ImportError:
    _indexing = None

Array = Any

_WHERE = ELEMENTWISE["where"]
_OF_NUMPY = (list, tuple, np.ndarray)
_OF_DEVICES = ("__numloom_array__", "__cupy_get_ndarray__", "__cuda_array_interface__")
"""What arrays of ours stand behind, or memory of a device: NumPy cannot look."""

ACROSS = 65536
"""Elements from which ``x[:, i]`` of a C-ordered array lies in C order: NumPy's order is read across the rows, which
costs a GPU a sector of memory an element."""


class Mask:
    """One axis of a boolean index array, until it is known whether its positions are needed."""

    __slots__ = ("axis", "node", "positions")

    def __init__(self, node: Node, axis: int, positions: list[Any]) -> None:
        self.node = node
        self.axis = axis
        self.positions = positions

    def found(self) -> Node:
        """Indices along this axis of what is true; found once for all axes of the mask."""
        if not self.positions:
            self.positions.extend(nonzero_values(self.node))
        return self.positions[self.axis]  # type: ignore[no-any-return]


class Beyond:
    """An index array with an index out of bounds: an error unless index arrays choose nothing together."""

    __slots__ = ("error", "node", "shape")

    def __init__(self, node: Node, error: IndexError) -> None:
        self.node = node
        self.shape = node.shape
        self.error = error


def expand_index(item: Any, axis: int, shape: tuple[int, ...]) -> tuple[list[Any], int]:
    """What an item between brackets stands for, and how many axes it takes.

    Returns
    -------
    list
        A value (of integers) for the axis, `Beyond` of it, or a `Mask` for each axis of a boolean array.
    int
        Number of axes; 0 for a single truth value, which makes an axis of its own.
    """
    kind = type(item)
    if kind is not ndarray:
        if kind is bool or kind is np.bool_:
            return [build.full(0, I64, (1 if item else 0,))], 0
        if kind not in _OF_NUMPY and any(hasattr(item, name) for name in _OF_DEVICES):
            return expand_index(asarray(item), axis, shape)
        host = np.asarray(item)
        if not host.size and isinstance(item, (list, tuple)):
            host = host.astype(np.int64)
        if host.dtype.kind not in "iub":
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays "
                "are valid indices"
                if isinstance(item, (str, float))
                else "arrays used as indices must be of integer (or boolean) type"
            )
        if host.dtype.kind in "iu" and host.size and axis < len(shape):
            low, high = int(host.min()), int(host.max())
            for wrong in (low, high):
                if not -shape[axis] <= wrong < shape[axis]:
                    error = IndexError(f"index {wrong} is out of bounds for axis {axis} with size {shape[axis]}")
                    return [Beyond(build.cast(node_of(from_host(host)), I64), error)], 1
        item = from_host(host)
    if KINDS[item.code] not in "iub":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if item.code != BOOL:
        return [build.cast(node_of(item), I64)], 1
    if not item.ndim:
        return [build.full(0, I64, (1 if bool(item) else 0,))], 0
    for place, extent in enumerate(item.shape):
        if axis + place >= len(shape):
            raise IndexError(
                f"too many indices for array: array is {len(shape)}-dimensional, but {axis + item.ndim} were indexed"
            )
        if extent and extent != shape[axis + place]:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + place}; size of axis is "
                f"{shape[axis + place]} but size of corresponding boolean axis is {extent}"
            )
    if not item.size:
        return [build.full(0, I64, (0,))] * item.ndim, item.ndim
    positions: list[Any] = []
    node = node_of(item)
    return [Mask(node, place, positions) for place in range(item.ndim)], item.ndim


def _only_mask(found: Advanced) -> Node | None:
    """The mask if a subscript has one boolean array and no other index array or integer, else None."""
    first = found.indices[0]
    if type(first) is not Mask or len(found.indices) != len(first.node.shape):
        return None
    same = all(type(m) is Mask and m.node is first.node and m.axis == k for k, m in enumerate(found.indices))
    adjacent = found.axes == tuple(range(found.axes[0], found.axes[0] + len(found.axes)))
    return first.node if same and adjacent else None


def _flat(found: Advanced, mask: Node) -> Advanced:
    """A mask of all of a dense array as one of its elements in a row: a position is one index, not one an axis."""
    size = prod(mask.shape)
    if (
        len(mask.shape) < 2
        or not size
        or found.shape != mask.shape
        or found.strides != c_strides(found.shape, found.strides[-1])
        or mask.strides != c_strides(mask.shape, 1)
        or chosen_by_kernel(mask)
    ):
        return found
    base, offset = (mask.args[0], mask.attr) if mask.kind == VIEW else (mask, 0)
    row = build.view(base, mask.code, offset, (size,), (1,))
    return Advanced(found.offset, (size,), found.strides[-1:], (Mask(row, 0, []),), (0,), 0)


def _is_mask_of_nothing(array: Array, index: Any) -> bool:
    """Whether a subscript is a mask of all of an array, without elements (which stands for no positions)."""
    return (
        isinstance(index, (ndarray, np.ndarray))
        and index.dtype == np.bool_
        and index.ndim == array.ndim
        and not index.size
    )


def _index_nodes(found: Advanced) -> list[Node]:
    """Index arrays as values of int64."""
    nodes: list[Node] = []
    for item in found.indices:
        if type(item) is Mask:
            nodes.append(item.found())
        elif type(item) is int:
            nodes.append(build.scalar(item, I64))
        else:
            nodes.append(item.node if type(item) is Beyond else item)
    return nodes


def take_advanced(array: Array, found: Advanced) -> Array:
    """Read an array at index arrays: recorded, unless a mask's count must be known."""
    node = read(array.storage, array.code, found.offset, found.shape, found.strides)
    mask = _only_mask(found)
    if mask is not None and found.axes[0] == 0:
        return _compressed(node, mask)
    indices, shape = _targets(found)
    ordered = _ordered(found, indices, shape, ITEMSIZES[array.code])
    return deliver(build.gather(node, indices, found.axes, found.position, ordered=ordered), (array,))


def _compressed(node: Node, mask: Node) -> Array:
    """The parts of a value where a mask over its first axes is true; their own axes lie as they do in the value."""
    first = len(mask.shape)
    rest = range(len(node.shape) - first)
    order = sorted(rest, key=lambda axis: -abs(node.strides[first + axis]))  # An axis that repeats is the fastest.
    if order == [*rest]:
        return wrap(compress_values(node, mask))
    turned = wrap(node).transpose(*range(first), *[first + axis for axis in order])
    result = wrap(compress_values(node_of(turned), mask))
    result = result.transpose(0, *[1 + order.index(axis) for axis in rest])
    result.base = None
    return result


def selected(array: Array, mask: Array) -> Array:
    """Read an array at a mask of its shape."""
    return wrap(compress_values(node_of(array), node_of(mask)))


def read_item(array: Array, index: Any) -> Array:
    """Read an array at a list, or at a tuple of anything."""
    return (_read_at_lists if _has_lists(index) else _read_item)(array, index)


def _read_item(array: Array, index: Any) -> Array:
    try:
        found = subscript(array.offset, array._shape, array._strides, index, expand_index)
    except WaitingBoundError:
        return later("read_by_waiting_slices")(array, index)
    if type(found) is Advanced:
        return take_advanced(array, found)
    assert type(found) is Basic
    return seen_through(array, found)


_read_at_lists = replayed(_read_item)


def taken(array: Array, index: Array) -> Array:
    """Read an array at an index array of integers."""
    if 0 in array.shape or 0 in index.shape:  # Then indices may be looked at.
        return _taken(None, array, index)
    return recalled(_TAKEN, None, (array, index))


def _taken(given: None, array: Array, index: Array) -> Array:
    found = subscript(array.offset, array.shape, array.strides, index, expand_index)
    assert type(found) is Advanced
    return take_advanced(array, found)


_TAKEN = Replayed(_taken)


def _ordered(found: Advanced, indices: list[Node], shape: tuple[int, ...], itemsize: int) -> tuple[int, ...] | None:
    """Strides of what is read: NumPy's; None for C order, where NumPy's would read much memory across."""
    kept = [axis for axis in range(len(found.shape)) if axis not in found.axes]
    first, count = found.position, len(shape) - len(kept)
    extents, strides = tuple(found.shape[k] for k in kept), tuple(found.strides[k] for k in kept)
    if first and prod(shape) > ACROSS:
        moved = min(abs(found.strides[axis]) for axis in found.axes)
        if moved < min((abs(s) for s, e in zip(strides, extents, strict=True) if e > 1), default=0):
            return None
    target = shape[first : first + count]
    known = [broadcast_strides(index.shape, index.strides, target) for index in indices]
    return indexed_strides((extents, strides), target, known, first, itemsize)


def _no_broadcast(found: Advanced) -> str:
    shapes = [
        () if type(item) is int else item.found().shape if type(item) is Mask else item.shape for item in found.indices
    ]
    shown = " ".join(str(shape).replace(" ", "") for shape in shapes)
    return f"shape mismatch: indexing arrays could not be broadcast together with shapes {shown}"


def _has_lists(index: Any) -> bool:
    """Whether there is an array or a list in a subscript."""
    kind = type(index)
    if kind is tuple:
        return any([type(item) is ndarray or type(item) is list for item in index])
    return kind is ndarray or kind is list


def put_item(array: Array, index: Any, value: Any) -> None:
    """Write an array at any subscript, by what is recorded."""
    # How many values a mask takes is looked at, which cannot be replayed.
    counted = type(index) is ndarray and index.code == BOOL and type(value) is ndarray and value._shape
    if _has_lists(index) and not counted:
        _put_at_lists(array, index, value)
    else:
        _put_item(array, index, value)


def _put_item(array: Array, index: Any, value: Any) -> None:
    try:
        found = subscript(array.offset, array._shape, array._strides, index, expand_index)
    except WaitingBoundError:
        return later("put_by_waiting_slices")(array, index, value)  # type: ignore[no-any-return]
    if type(found) is Advanced:
        put_advanced(array, index, found, value)
    else:
        assert type(found) is Basic
        assign(array, found, value)


_put_at_lists = replayed(_put_item, in_place=True)


def put_advanced(array: Array, index: Any, found: Advanced, value: Any) -> None:
    """Write an array at index arrays; of repeated indices the last one's value stays."""
    new = assigned_value(value, array.code)
    mask = _only_mask(found)
    if mask is not None:
        rest = found.shape[found.axes[-1] + 1 :]
        if len(new.shape) <= len(rest):
            _put_where(array, found, mask, new)
            return
        alone = not isinstance(index, tuple) or len(index) == 1
        whole = alone and not rest
        found = _flat(found, mask)
    else:
        whole = _is_mask_of_nothing(array, index[0] if isinstance(index, tuple) and len(index) == 1 else index)
    if whole and len(new.shape) > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has "
            f"{len(new.shape)} dimensions"
        )
    indices, shape = _targets(found)
    extra = len(new.shape) - len(shape)
    if extra > 0 and mask is None and not new.size and not prod(shape) and new.shape[extra:] == shape:
        return  # Of nothing NumPy minds no leading axes.
    try:
        new = broadcast_value(new, shape)
    except ValueError as error:
        if mask is not None and len(new.shape) == 1 and len(shape) == 1:
            raise ValueError(
                f"NumPy boolean array indexing assignment cannot assign {new.size} input values to the {shape[0]} "
                "output values where the mask is true"
            ) from error
        raise ValueError(
            f"shape mismatch: value array of shape {shown(new.shape)} could not be broadcast to indexing result of "
            f"shape {shown(shape)}"
        ) from error
    if prod(shape):
        write_indices(array, found, [build.cast(new, array.code), *indices])


def apply_at(array: Array, index: Any, value: Node | None, op: str, loop: tuple[int, ...]) -> None:
    """Combine an array's elements at a subscript with values, each of repeated ones in turn.

    Parameters
    ----------
    array : ndarray
        What is changed.
    index : object
        What stands between the brackets.
    value : Node or None
        Values of the loop's second dtype, which broadcast to the shape of ``array[index]``; None for unary functions.
    op : str
        Name of the function.
    loop : tuple of int
        Codes of the dtypes of its loop.

    Raises
    ------
    ValueError
        If the values do not broadcast.
    """
    found = subscript(array.offset, array.shape, array.strides, index, expand_index)
    shape = found.shape
    indices: list[Node] = []
    if type(found) is Advanced:
        indices, shape = _targets(found)
    values = []
    if value is not None:
        try:
            values.append(broadcast_value(value, shape))
        except ValueError as error:
            raise ValueError("array is not broadcastable to correct shape") from error
    if not prod(shape):
        return
    if type(found) is Advanced:
        write_indices(array, found, [*values, *indices], op, loop)
        return
    assert type(found) is Basic
    old = build.cast(read(array.storage, array.code, found.offset, shape, found.strides), loop[0])
    write(
        array.storage,
        array.code,
        found.offset,
        shape,
        found.strides,
        build.loop(ELEMENTWISE[op], [old, *values], loop[-1]),
    )


def _targets(found: Advanced) -> tuple[list[Node], tuple[int, ...]]:
    """Index arrays as values, and the shape of what they choose."""
    indices = _index_nodes(found)
    try:
        index_shape = broadcast_shapes(*(item.shape for item in indices))
    except ValueError as error:
        raise IndexError(_no_broadcast(found)) from error
    if 0 not in index_shape:
        for item in found.indices:
            if type(item) is Beyond:
                raise item.error
    kept = [extent for axis, extent in enumerate(found.shape) if axis not in found.axes]
    shape: tuple[int, ...] = (*kept[: found.position], *index_shape, *kept[found.position :])
    if 0 in shape and 0 not in index_shape:
        _check_bounds(found, indices)
    return indices, shape


def _check_bounds(found: Advanced, indices: list[Node]) -> None:
    """IndexError for indices that no kernel will look at, since there is nothing to read or write."""
    for node, axis in zip(indices, found.axes, strict=True):
        if node.tree:
            continue  # It has no numbers yet; what it chooses is empty, whatever they are.
        extent = found.shape[axis]
        values = wrap(node).get()
        wrong = values[(values < -extent) | (values >= extent)]
        if wrong.size:
            raise IndexError(f"index {wrong.flat[0]} is out of bounds for axis {axis} with size {extent}")


def write_indices(
    array: Array, found: Advanced, operands: Sequence[Node], op: str = "", loop: tuple[int, ...] = ()
) -> None:
    """Store a value (or combine it with what is there) at indices: `operands` of the routine ``scatter``."""
    first = operands[0]
    if first.kind == FILL and len(operands) > len(found.axes):
        # One number is read again and again.
        operands = [leaf_from_host(np.array(first.attr, DTYPES[first.code])), *operands[1:]]
    last = operands[-1]
    if len(found.axes) == 1 and last.kind == CAST and KINDS[last.args[0].code] in "iu":
        # The routine reads indices of any integer dtype: one array need not be widened first.
        operands = [*operands[:-1], last.args[0]]
    write_at(
        array.storage, array.code, found.offset, found.shape, found.strides, operands, axes=found.axes,
        position=found.position, op=op, loop=loop, location=here(),
    )  # fmt: skip


def _put_where(array: Array, found: Advanced, mask: Node, new: Node) -> None:
    """Write a value that is the same for all that a mask selects: one choice, element by element."""
    old = read(array.storage, array.code, found.offset, found.shape, found.strides)
    first, ndim = found.axes[0], len(found.shape)
    lead = (0,) * first
    behind = (0,) * (ndim - first - len(mask.shape))
    shape = (*(1 for _ in lead), *mask.shape, *(1 for _ in behind))
    strides = (*lead, *mask.strides, *behind)
    base, offset = (mask.args[0], mask.attr) if mask.kind == VIEW else (mask, 0)
    spread = build.view(base, mask.code, offset, shape, strides)
    chosen = build.elementwise(_WHERE, (spread, build.cast(new, array.code), old))
    if chosen.shape != found.shape:
        raise ValueError(
            f"shape mismatch: value array of shape {shown(new.shape)} could not be broadcast to indexing result"
        )
    write(array.storage, array.code, found.offset, found.shape, found.strides, chosen)


bind(
    read_at_once=_indexing.read if _indexing is not None else lambda array, index: None,
    expand_index=expand_index,
    put_at_once=_indexing.put if _indexing is not None else lambda array, index, value: False,
    put_item=put_item,
    read_item=read_item,
    selected=selected,
    take_advanced=take_advanced,
    taken=taken,
)

__all__ = ["apply_at", "expand_index", "put_advanced", "take_advanced", "write_indices"]
