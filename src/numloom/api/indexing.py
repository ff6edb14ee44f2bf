"""NumPy's functions that choose elements, write chosen ones, and make indices."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from numloom.api.at_once import RECORDED, at_once
from numloom.api.calling import Replayed, recalled, replayed
from numloom.api.conditions import numpy_is_near, unless
from numloom.api.elementwise import logical_not, logical_or, where
from numloom.api.manipulation import broadcast_to, lines_along, normal_axis
from numloom.api.matrices import tri
from numloom.api.products import diagonal_view
from numloom.api.running import deliver
from numloom.api.sorting import flatnonzero, nonzero
from numloom.api.subscripts import write_indices
from numloom.api.ufunc import WHERE, check_out, store
from numloom.array.convert import asarray, from_host, host_numbers
from numloom.array.ndarray import assigned_value, bind, ndarray, node_of, view_of, wrap
from numloom.array.storage import broadcast_value, read_only, write
from numloom.array.subscript import Advanced
from numloom.array.views import has_no_number
from numloom.base.dtypes import BOOL, DTYPES, I64, ITEMSIZES, KINDS, U64, code_of
from numloom.base.errors import casting_error
from numloom.base.given import as_name
from numloom.base.integers import as_integer, as_integers, as_shape
from numloom.engine.selecting import compress as compress_values
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes, c_strides, is_c_contiguous, named_order
from numloom.graph.node import Node
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

_ADD = ELEMENTWISE["add"]
_CLIP = ELEMENTWISE["clip"]
_FLOOR_DIVIDE = ELEMENTWISE["floor_divide"]
_LESS = ELEMENTWISE["less"]
_MULTIPLY = ELEMENTWISE["multiply"]
_REMAINDER = ELEMENTWISE["remainder"]


# ---------------------------------------------------------------- functions that read


def _bounded(indices: Any, extent: int, mode: str) -> Node:
    """Integer indices as a value, within bounds as `mode` says."""
    as_name(mode, "clipmode")
    if type(indices) is ndarray:
        array = indices
        if KINDS[array.code] not in "iub":
            raise TypeError(
                f"Cannot cast array data from {array.dtype!r} to dtype('int64') according to the rule 'safe'"
            )
    else:
        if type(indices) is int and not -(1 << 63) <= indices < 1 << 63:
            raise OverflowError("Python int too large to convert to C long")
        host = np.asarray(host_numbers(indices))
        if isinstance(indices, (list, tuple, float, np.floating)):
            for wrong in host[~np.isfinite(host)] if host.dtype.kind == "f" else ():
                int(wrong)  # NaN is no integer.
            host = host.astype(np.int64)
        if host.dtype.kind not in "iub":
            raise TypeError(
                f"Cannot cast array data from {host.dtype!r} to dtype('int64') according to the rule 'safe'"
            )
        if mode == "raise" and host.size and not -extent <= int(host.min()) <= int(host.max()) < extent:
            wrong = int(host.min()) if int(host.min()) < -extent else int(host.max())
            raise IndexError(f"index {wrong} is out of bounds for axis 0 with size {extent}")
        array = from_host(host)
    node = build.cast(node_of(array), I64)
    if mode == "raise":
        return node
    if mode not in ("wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if not extent and node.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if mode == "wrap":
        return build.binary(_REMAINDER, node, extent)
    return build.elementwise(_CLIP, (node, 0, extent - 1))


@at_once(lambda a, indices, axis=None: a.take(indices, axis), most=RECORDED, pending=False)
def take(a: Any, indices: Any, axis: int | None = None, out: Array | None = None, mode: str = "raise") -> Array:
    """Elements at positions along an axis (of the flattened array if it is None).

    Parameters
    ----------
    a : array_like
        Values.
    indices : array_like of int
        Positions.
    axis : int, optional
        The axis.
    out : ndarray, optional
        Where the result goes.
    mode : {"raise", "wrap", "clip"}
        What positions out of bounds do; with "raise" those on the device are found when the result is looked at.

    Returns
    -------
    ndarray
    """
    plain = type(a) is ndarray and type(indices) is ndarray and (axis is None or type(axis) is int)
    if plain and out is None and type(mode) is str and 0 not in a.shape:
        return recalled(_TAKE, (axis, mode), (a, indices))
    return _take((axis, mode), a, indices, out)


def _take(given: tuple[int | None, str], a: Any, indices: Any, out: Array | None = None) -> Array:
    axis, mode = given
    array, axis = lines_along(asarray(a), axis)
    where = _bounded(indices, array.shape[axis], mode)
    if mode == "raise" and where.size and not array.shape[axis]:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    node = build.gather(node_of(array), [where], (axis,), axis)
    if out is None:
        return deliver(node, (a, indices))
    if not np.can_cast(check_out(out).dtype, array.dtype, "safe"):  # NumPy takes into a copy of `out` of this dtype.
        raise casting_error("take", "safe", out.code, array.code)
    return store(out, node, "take", "unsafe", exact=True)


_TAKE = Replayed(_take)


def compress(condition: Any, a: Any, axis: int | None = None, out: Array | None = None) -> Array:
    """The parts along an axis (elements of the flattened array if it is None) where a vector is true.

    Parameters
    ----------
    condition : array_like of bool
        A vector, not longer than the axis.
    a : array_like
        Values.
    axis : int, optional
        The axis.
    out : ndarray, optional
        Where the result goes.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numloom as np
    >>> np.compress([False, True], np.array([[1, 2], [3, 4]]), axis=0)
    array([[3, 4]])
    """
    mask = asarray(condition)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    array = asarray(a).ravel() if axis is None else asarray(a)
    if out is None and (axis is None or (axis == 0 and array.ndim)) and mask.size == array.shape[0]:
        return wrap(compress_values(node_of(array), build.cast(node_of(mask), BOOL)))
    return take(a, flatnonzero(mask), axis, out)


@replayed
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Array:
    """Elements at positions along an axis, positions given for each line of the others.

    Parameters
    ----------
    arr : array_like
        Values.
    indices : array_like of int
        Positions, with as many axes as `arr`.
    axis : int or None
        The axis; None: positions in the flattened array.

    Returns
    -------
    ndarray

    Raises
    ------
    IndexError
        If the indices are no integers, do not fit the other axes, or are out of bounds.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.array([[3, 1], [2, 9]])
    >>> np.take_along_axis(x, np.argsort(x, 1), 1)
    array([[1, 3],
           [2, 9]])
    """
    array, where = asarray(arr), asarray(indices)
    if axis is None:
        if where.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        array, axis = array.ravel(), 0
    axis = normal_axis(axis, array.ndim)
    index = _along_axis(array, where, axis)
    return deliver(build.gather(node_of(array), index, tuple(range(array.ndim)), 0), (arr, indices))


def _along_axis(array: Array, where: Array, axis: int) -> list[Node]:
    """Indices of every axis: positions along one, the place itself along the others."""
    if KINDS[where.code] not in "iu":
        raise IndexError("`indices` must be an integer array")
    if where.ndim != array.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    nodes = []
    for k, extent in enumerate(array.shape):
        if k == axis:
            nodes.append(build.cast(node_of(where), I64))
        else:
            shape = tuple(extent if other == k else 1 for other in range(array.ndim))
            strides = tuple(8 if other == k else 0 for other in range(array.ndim))
            nodes.append(build.view(build.iota(extent), I64, 0, shape, strides))
    try:
        broadcast_shapes(*(node.shape for node in nodes))
    except ValueError as error:
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast: {error}") from error
    return nodes


@replayed
def choose(a: Any, choices: Any, out: Array | None = None, mode: str = "raise") -> Array:
    """Elements of one of several arrays, as `a` says.

    Parameters
    ----------
    a : array_like of int
        Number of the array from which each element is taken.
    choices : sequence of array_like
        The arrays, which broadcast together with `a`.
    out : ndarray, optional
        Where the result goes.
    mode : {"raise", "wrap", "clip"}
        What numbers out of bounds do; "raise" looks at the values of `a` at once, in trees when these are known.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numloom as np
    >>> np.choose([1, 0, 1], [[1, 2, 3], [10, 20, 30]])
    array([10,  2, 30])
    """
    which = asarray(a)
    given = choices if isinstance(choices, (list, tuple)) else list(asarray(choices))
    arrays = [asarray(c) for c in given]
    count = len(arrays)
    if KINDS[which.code] not in "iub" or which.code == U64:
        raise TypeError(f"Cannot cast array data from {which.dtype!r} to dtype('int64') according to the rule 'safe'")
    as_name(mode, "clipmode")
    beyond = logical_or(which < 0, which >= count) if mode == "raise" and which.size else None
    if beyond is not None and has_no_number(beyond):
        # Looked at in each call: where a number is out of bounds so is the place, and the error is NumPy's.
        numbers = build.full(False, BOOL, (count,)), [build.cast(node_of(where(beyond, count, which)), I64)]
        which = which + wrap(build.gather(*numbers, (0,), 0, (ValueError, "invalid entry in choice array")))
    elif beyond is not None and bool(beyond.any()):
        raise ValueError("invalid entry in choice array")
    index = _bounded(which, count, "clip" if mode == "raise" else mode)
    # Python numbers take the dtype of the arrays.
    weak = {type(each) for each in given if type(each) in (int, float, complex)}
    strong = {array.dtype for each, array in zip(given, arrays, strict=True) if type(each) not in weak}
    code = arrays[0].code if count == 1 else code_of(np.result_type(*strong, *(kind() for kind in weak)))
    node = build.cast(node_of(arrays[-1]), code)
    for number in range(count - 2, -1, -1):
        chosen = build.binary(ELEMENTWISE["equal"], index, number)
        node = build.elementwise(WHERE, (chosen, build.cast(node_of(arrays[number]), code), node))
    shape = broadcast_shapes(node.shape, index.shape)
    ordered = c_strides(shape, ITEMSIZES[code])
    if node.shape != shape or node.strides != ordered:
        node = build.copied(broadcast_value(node, shape), ordered, code)
    return deliver(node, (a, *arrays)) if out is None else store(out, node, "choose", exact=True)


@replayed
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A read-only view of a diagonal."""
    return diagonal_view(asarray(a), offset, axis1, axis2)


# ---------------------------------------------------------------- functions that write


def _flat_target(a: Any, name: str) -> Array:
    if type(a) is not ndarray:
        raise TypeError(f"{name}: argument 1 must be a numloom array, not {type(a).__name__}")
    return check_out(a)


@replayed(in_place=True)
def put(a: Array, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values (repeated as needed) at positions of the flattened array; of equal positions the last one wins.

    Parameters
    ----------
    a : ndarray
        What is written.
    ind : array_like of int
        Positions in C order.
    v : array_like
        Values.
    mode : {"raise", "wrap", "clip"}
        What positions out of bounds do; with "raise" those on the device are found when the result is looked at.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.arange(5)
    >>> np.put(x, [0, 2], [-44, -55])
    >>> x
    array([-44,   1, -55,   3,   4])
    """
    target = _flat_target(a, "put")
    where = _bounded(ind, target.size, mode)
    values = _repeated(v, where.size, target.code)
    if values is None or not where.size:
        return
    if is_c_contiguous(target.shape, target.strides, target.itemsize):
        flat = target.reshape(-1)
        where = where if len(where.shape) == 1 else _flattened(where)
        write_indices(flat, _whole(flat), [values, where])
    else:
        write_indices(target, _whole(target), [values, *_coordinates(_flattened(where), target.shape)])


def _whole(array: Array) -> Advanced:
    """Index arrays for every axis of an array, which are yet to be named."""
    return Advanced(array.offset, array.shape, array.strides, (), tuple(range(array.ndim)), 0)


def _coordinates(positions: Node, shape: tuple[int, ...]) -> list[Node]:
    """Coordinates of positions in a flattened array; of one out of bounds the first coordinate is, too."""
    size = prod(shape)
    below = build.binary(_LESS, positions, -size)
    negative = build.binary(_LESS, positions, 0)
    rest = build.elementwise(WHERE, (negative, build.binary(_ADD, positions, size), positions))
    rest = build.elementwise(WHERE, (below, size, rest))
    found = []
    for extent in shape[:0:-1]:
        found.append(build.binary(_REMAINDER, rest, extent))
        rest = build.binary(_FLOOR_DIVIDE, rest, extent)
    return [rest, *found[::-1]]


def _flattened(node: Node) -> Node:
    return node if len(node.shape) == 1 else node_of(wrap(node).reshape(-1))


def _repeated(v: Any, count: int, code: int) -> Node | None:
    """The first `count` of endlessly repeated values; None if there are no values."""
    values = assigned_value(v, code)
    if not values.size:
        return None
    values = build.cast(values, code)
    if values.size == 1 and not values.shape:
        return broadcast_value(values, (count,))
    flat = _flattened(values)
    if flat.size == count:
        return flat
    index = build.binary(_REMAINDER, build.iota(count), flat.size)
    return build.gather(flat, [index], (0,), 0)


def place(arr: Array, mask: Any, vals: Any) -> None:
    """Write values, one after another and repeated as needed, where a mask is true.

    Parameters
    ----------
    arr : ndarray
        What is written.
    mask : array_like of bool
        As large as `arr`.
    vals : array_like
        Values.

    Raises
    ------
    ValueError
        If the sizes differ, or there are no values to write.
    """
    target = _flat_target(arr, "place")
    chosen = asarray(mask)
    if chosen.size != target.size:
        raise ValueError("place: mask and data must be the same size")
    where = None if has_no_number(chosen) else flatnonzero(chosen)
    if not isinstance(vals, (ndarray, np.ndarray)):
        vals = asarray(vals, target.dtype)
    if _is_strict(vals) and not np.can_cast(vals.dtype, arr.dtype):
        raise TypeError(f"Cannot cast array data from {vals.dtype!r} to {arr.dtype!r} according to the rule 'safe'")
    if where is None and vals.size:  # The number of a chosen element is how many are chosen up to it.
        number = ((chosen != 0).cumsum() - 1).reshape(target.shape)
        putmask(target, chosen, asarray(vals).reshape(-1)[number % vals.size])
    elif vals.size == 0 and (where is None or where.size):
        raise ValueError("Cannot insert from an empty array!")
    else:
        put(target, where, vals)


def _is_strict(values: Any) -> bool:
    """Whether values must be cast safely: a number of ours is what NumPy has a scalar for, which may be cut."""
    return isinstance(values, np.ndarray) or (isinstance(values, ndarray) and not values.is_scalar)


def putmask(a: Array, mask: Any, values: Any) -> None:
    """Write where a mask is true; values of another size are repeated over the whole array.

    Parameters
    ----------
    a : ndarray
        What is written.
    mask : array_like of bool
        As large as `a`.
    values : array_like
        Values; where a value lies, not how many are true before it, says where it goes.

    Raises
    ------
    ValueError
        If the sizes of mask and array differ.
    """
    target = _flat_target(a, "putmask")
    chosen = asarray(mask)
    if chosen.size != target.size:
        raise ValueError("putmask: mask and data must be the same size")
    if not isinstance(values, (ndarray, np.ndarray, np.generic)):
        values = asarray(values, target.dtype)
    value = assigned_value(values, target.code)
    if _is_strict(values) and value.code != target.code and not np.can_cast(DTYPES[value.code], target.dtype):
        raise TypeError(
            f"Cannot cast array data from {DTYPES[value.code]!r} to {target.dtype!r} according to the rule 'safe'"
        )
    if value.shape and value.shape != target.shape:
        repeated = _repeated(values, target.size, target.code)
        if repeated is None:
            return
        value = node_of(wrap(repeated).reshape(target.shape))
    condition = build.cast(node_of(chosen.reshape(target.shape)), BOOL)
    node = build.elementwise(WHERE, (condition, build.cast(value, target.code), node_of(target)))
    write(target.storage, target.code, target.offset, target.shape, target.strides, node)


@replayed(in_place=True)
def put_along_axis(arr: Array, indices: Any, values: Any, axis: int | None) -> None:
    """Write values at positions along an axis, positions given for each line of the others.

    Parameters
    ----------
    arr : ndarray
        What is written.
    indices : array_like of int
        Positions, with as many axes as `arr`; of equal ones the last wins.
    values : array_like
        Values, which broadcast to the shape of the indices.
    axis : int or None
        The axis; None: positions in the flattened array.
    """
    target = _flat_target(arr, "put_along_axis")
    where = asarray(indices)
    if axis is None:
        if where.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        put(target, where, broadcast_to(asarray(values), where.shape))
        return
    axis = normal_axis(axis, target.ndim)
    index = _along_axis(target, where, axis)
    shape = broadcast_shapes(*(node.shape for node in index))
    new = build.cast(broadcast_value(assigned_value(values, target.code), shape), target.code)
    write_indices(target, _whole(target), [new, *index])


def fill_diagonal(a: Array, val: Any, wrap: bool = False) -> None:
    """Write the main diagonal.

    Parameters
    ----------
    a : ndarray
        What is written; of more than two axes all must be equal.
    val : array_like
        Values, in C order, repeated as needed.
    wrap : bool
        Whether a tall matrix's diagonal starts again after each square.

    Raises
    ------
    ValueError
        If the array has less than two axes, or more of different extents.
    """
    target = _flat_target(a, "fill_diagonal")
    if target.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if target.ndim > 2 and len(set(target.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    if target.ndim == 2 and wrap and target.shape[0] > target.shape[1] + 1:
        columns = target.shape[1]
        positions = np.arange(0, target.size, columns + 1)
        put(target, positions, val)
        return
    count = min(target.shape)
    line = view_of(target, target.offset, (count,), (sum(target.strides),))
    value = assigned_value(val, target.code)
    if value.shape:
        repeated = _repeated(val, count, target.code)
        if repeated is None:
            return
        value = repeated
    write(line.storage, line.code, line.offset, line.shape, line.strides, value)


# ---------------------------------------------------------------- making indices


def ix_(*args: Any) -> tuple[Array, ...]:
    """Index vectors shaped to select the product of their places; masks become positions.

    Parameters
    ----------
    *args : array_like
        Vectors of integers or booleans.

    Returns
    -------
    tuple of ndarray

    Examples
    --------
    >>> import numloom as np
    >>> np.arange(12).reshape(3, 4)[np.ix_([0, 2], [1, 3])]
    array([[ 1,  3],
           [ 9, 11]])
    """
    vectors = []
    for position, item in enumerate(args):
        vector = asarray(item)
        if vector.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if not vector.size and type(item) is not ndarray:
            vector = vector.astype(np.int64)
        if vector.code == BOOL:
            vector = flatnonzero(vector)
        vectors.append(vector.reshape(tuple(vector.size if k == position else 1 for k in range(len(args)))))
    return tuple(vectors)


def _on_device(x: Any) -> bool:
    return type(x) is ndarray or (isinstance(x, (tuple, list)) and any(type(item) is ndarray for item in x))


def _probe(array: Array) -> Any:
    """No element of the array's dtype: NumPy's own checks of arguments take it."""
    return np.empty(0, array.dtype)


def _number_or_array(found: Any) -> Array:
    """What NumPy gave, as an array; one of its scalars as a scalar."""
    result = asarray(found)
    result.is_scalar = isinstance(found, np.generic)
    return result


def unravel_index(indices: Any, shape: Any, order: str | None = "C") -> tuple[Array, ...]:
    """Coordinates of positions in a flattened array (looks whether they are within bounds).

    Parameters
    ----------
    indices : array_like of int
        Positions.
    shape : int or tuple of int
        Extents of the array.
    order : {"C", "F"}
        Whether the last or the first coordinate runs fastest.

    Returns
    -------
    tuple of ndarray
        An array for each axis.

    Raises
    ------
    ValueError
        If a position is out of bounds.
    """
    order = named_order(order, "C", "CF")
    shape = as_shape(shape)
    if not _on_device(indices):
        found = np.unravel_index(indices, shape, order)  # type: ignore[call-overload]
        return tuple(_number_or_array(item) for item in found)
    positions = asarray(indices)
    np.unravel_index(_probe(positions), shape, order)  # type: ignore[call-overload]
    extents = shape
    size = prod(extents)
    if not extents:
        raise ValueError("multiple indices are not supported for 0d array")
    outside = logical_or(positions < 0, positions >= size).any()
    if has_no_number(outside):
        positions = unless(outside, positions, ValueError, f"index is out of bounds for array with size {size}")
    elif positions.size and bool(outside):
        host = positions.get()
        wrong = host[(host < 0) | (host >= size)].flat[0]
        raise ValueError(f"index {wrong} is out of bounds for array with size {size}")
    coordinates = _coordinates(build.cast(node_of(positions), I64), extents if order == "C" else extents[::-1])
    return tuple(map(wrap, coordinates if order == "C" else coordinates[::-1]))


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str | None = "C") -> Array:
    """Positions in a flattened array of coordinates (with mode "raise" looks whether they are within bounds).

    Parameters
    ----------
    multi_index : tuple of array_like of int
        Coordinates along each axis.
    dims : tuple of int
        Extents of the array.
    mode : {"raise", "wrap", "clip"} or tuple of these
        What coordinates out of bounds do (along each axis).
    order : {"C", "F"}
        Whether the last or the first coordinate runs fastest.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If a coordinate is out of bounds.
    """
    order = named_order(order, "C", "CF")
    dims = as_integers(dims)
    if not _on_device(multi_index):
        return _number_or_array(np.ravel_multi_index(multi_index, dims, mode, order))  # type: ignore[call-overload]
    arrays = [asarray(item) for item in multi_index]
    np.ravel_multi_index(tuple(map(_probe, arrays)), dims, mode, order)  # type: ignore[call-overload]
    extents = dims
    modes = (mode,) * len(arrays) if isinstance(mode, str) else tuple(mode)
    bounded = []
    wrong: Any = None
    for array, extent, one in zip(arrays, extents, modes, strict=True):
        node = build.cast(node_of(array), I64)
        if one == "wrap":
            node = build.binary(_REMAINDER, node, extent)
        elif one == "clip":
            node = build.elementwise(_CLIP, (node, 0, extent - 1))
        else:
            outside = logical_or(array < 0, array >= extent).any()
            wrong = outside if wrong is None else logical_or(wrong, outside)
        bounded.append(node)
    if wrong is not None and not has_no_number(wrong) and bool(wrong):
        raise ValueError("invalid entry in coordinates array")
    total, weight = build.scalar(0, I64), 1
    for node, extent in list(zip(bounded, extents, strict=True))[:: -1 if order == "C" else 1]:
        total = build.binary(_ADD, build.binary(_MULTIPLY, node, weight), total)
        weight *= extent
    return (
        unless(wrong, wrap(total), ValueError, "invalid entry in coordinates array")
        if has_no_number(wrong)
        else wrap(total)
    )


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Indices of the main diagonal of a cube of extent `n`."""
    return (wrap(build.iota(max(as_integer(n), 0))),) * as_integer(ndim)


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """Indices of the main diagonal of an array whose extents are all equal."""
    array = asarray(arr)
    if array.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(array.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(array.shape[0], array.ndim)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Indices of what lies on and below a diagonal."""
    if numpy_is_near():
        return tuple(map(from_host, np.tril_indices(n, k, m)))
    return nonzero(tri(n, m, k, bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Indices of what lies on and above a diagonal."""
    if numpy_is_near():
        return tuple(map(from_host, np.triu_indices(n, k, m)))
    return nonzero(logical_not(tri(n, m, k - 1, bool)))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Indices of what lies on and below a diagonal of a matrix."""
    array = asarray(arr)
    if array.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tril_indices(array.shape[0], k, array.shape[1])


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Indices of what lies on and above a diagonal of a matrix."""
    array = asarray(arr)
    if array.ndim != 2:
        raise ValueError("input array must be 2-d")
    return triu_indices(array.shape[0], k, array.shape[1])


# ---------------------------------------------------------------- flat


class flatiter:
    """The elements of an array in C order: iterated, read and written by one index.

    Attributes
    ----------
    base : ndarray
        The array.
    index : int
        How many elements were taken.
    """

    __slots__ = ("base", "index")

    def __init__(self, base: Array) -> None:
        self.base = base
        self.index = 0

    @property
    def coords(self) -> tuple[int, ...]:
        """Coordinates of the next element."""
        if self.index >= self.base.size:
            return tuple(0 for _ in self.base.shape)
        return tuple(int(k) for k in np.unravel_index(self.index, self.base.shape)) if self.base.ndim else ()

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Array:
        if self.index >= self.base.size:
            raise StopIteration
        self.index += 1
        return self[self.index - 1]

    def __getitem__(self, key: Any) -> Array:
        key = _flat_key(key)
        if _is_integer(key):
            return self.base[self._place(key)]
        result = self.base.reshape(-1)[key]
        return result.copy() if result.ndim else result

    def __setitem__(self, key: Any, value: Any) -> None:
        base = self.base
        if not base.writeable:
            raise read_only(base, "underlying array")
        key = _flat_key(key)
        if _is_integer(key):
            base[self._place(key)] = value
            return
        put(base, wrap(build.iota(base.size))[key], value)

    def _place(self, key: Any) -> tuple[int, ...]:
        """Coordinates of a position."""
        size, position = self.base.size, as_integer(key)
        if not -size <= position < size:
            raise IndexError(f"index {position} is out of bounds for size {size}")
        return tuple(int(k) for k in np.unravel_index(position % size, self.base.shape)) if self.base.ndim else ()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        host = self.base.get().reshape(-1)
        return host if dtype is None else host.astype(dtype)

    def copy(self) -> Array:
        """The elements as a vector."""
        return self.base.flatten()

    def __eq__(self, other: object) -> Any:
        return self.copy() == other

    def __ne__(self, other: object) -> Any:
        return self.copy() != other

    def __lt__(self, other: Any) -> Any:
        return self.copy() < other

    def __le__(self, other: Any) -> Any:
        return self.copy() <= other

    def __gt__(self, other: Any) -> Any:
        return self.copy() > other

    def __ge__(self, other: Any) -> Any:
        return self.copy() >= other

    __hash__ = None  # type: ignore[assignment]


def _flat_key(key: Any) -> Any:
    """What may stand between the brackets of `flatiter`: one integer, slice, Ellipsis, or array."""
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    if key is None or (isinstance(key, tuple) and key):
        raise IndexError("unsupported iterator index")
    return Ellipsis if isinstance(key, tuple) else key


def _is_integer(key: Any) -> bool:
    return (
        not isinstance(key, (bool, np.bool_))
        and hasattr(key, "__index__")
        and not getattr(key, "ndim", 0)
        and (type(key) is not ndarray or key.code != BOOL)
    )


def set_flat(array: Array, value: Any) -> None:
    """Write values, repeated as needed, to the elements in C order."""
    flatiter(array)[:] = value


def put_in_place(array: Array, indices: Any, values: Any, mode: str = "raise") -> None:
    """`put` as a method."""
    put(array, indices, values, mode)


bind(
    method_choose=choose,
    method_compress=lambda array, condition, axis=None, out=None: compress(condition, array, axis, out),
    method_diagonal=diagonal,
    method_flat=property(flatiter, set_flat),
    method_put=put_in_place,
    method_take=take,
)

__all__ = [
    "choose",
    "compress",
    "diag_indices",
    "diag_indices_from",
    "diagonal",
    "fill_diagonal",
    "flatiter",
    "ix_",
    "place",
    "put",
    "put_along_axis",
    "putmask",
    "ravel_multi_index",
    "take",
    "take_along_axis",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]
