"""Products: matrix products by the vendor's BLAS, products bound by memory as recorded reductions.

The size rule (`is_recorded`): a product ``(..., n, k) @ (..., k, m)`` is recorded as ``sum(a * b)`` where n or m is
1 (matrix times vector, inner products), where it is small, and on a GPU also where it is thin or one of a stack of
small ones; then it fuses with its neighbours. Any other product runs at once through the device's matmul.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from numloom.api.calling import Replayed, frozen, matrix_product, recalled, replayed, store_fast
from numloom.api.joining import concatenate
from numloom.api.manipulation import moveaxis, normal_axes, normal_axis
from numloom.api.running import deliver
from numloom.api.ufunc import NO_VALUE, check_out, in_order, store, theirs
from numloom.array.convert import asarray
from numloom.array.foreign import answered, multiplies_itself, stands_aside
from numloom.array.ndarray import bind, ndarray, node_of, view_of, wrap
from numloom.base.dtypes import BF16, BOOL, C64, C128, DTYPES, F32, F64, ITEMSIZES, LOW, ROUNDED, code_of
from numloom.base.errors import casting_error
from numloom.base.given import as_c_int
from numloom.base.integers import as_integer
from numloom.base.release import FROM_2_5
from numloom.base.tracebacks import public
from numloom.device.registry import current
from numloom.engine.evaluate import after_record
from numloom.engine.routines import call
from numloom.engine.waiting import waiting_product
from numloom.graph import build
from numloom.graph.layout import (
    Layout,
    broadcast_shapes,
    broadcast_strides,
    c_strides,
    is_c_contiguous,
    k_order,
    named_order,
    ordered_strides,
    reshape_strides,
    sees_all,
)
from numloom.graph.node import CAST, VIEW, Node
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS

Array = Any

THIN = 16
"""Elements up to which a right operand is so small that the left one's memory is what a product takes its time for."""
CUBE = 512
"""Multiplications up to which the same holds for each product of a stack."""

ADD = ELEMENTWISE["add"]
SUBTRACT = ELEMENTWISE["subtract"]
MULTIPLY = ELEMENTWISE["multiply"]
CONJUGATE = ELEMENTWISE["conjugate"]
SUM = REDUCTIONS["sum"]
ANY = REDUCTIONS["any"]


# ---------------------------------------------------------------- values


def seen(node: Node, shape: tuple[int, ...], strides: tuple[int, ...]) -> Node:
    """A value with its elements at other strides (the same memory, no copy)."""
    if node.kind == VIEW:
        return build.view(node.args[0], node.code, node.attr, shape, strides)
    return build.view(node, node.code, 0, shape, strides)


def permuted(node: Node, order: Sequence[int]) -> Node:
    """A value with its axes in another order."""
    if tuple(order) == tuple(range(len(node.shape))):
        return node
    return seen(node, tuple(node.shape[a] for a in order), tuple(node.strides[a] for a in order))


def expanded(node: Node, place: int) -> Node:
    """A value with a new axis of extent 1."""
    place %= len(node.shape) + 1
    return seen(node, (*node.shape[:place], 1, *node.shape[place:]), (*node.strides[:place], 0, *node.strides[place:]))


def reshaped(node: Node, shape: tuple[int, ...]) -> Node:
    """A value in another shape; copied only where its memory does not allow it."""
    if node.shape == shape:
        return node
    itemsize = DTYPES[node.code].itemsize
    strides = reshape_strides(node.shape, node.strides, shape, itemsize)
    if strides is None:
        return node_of(wrap(node).reshape(shape))
    return seen(node, shape, strides)


def summed(node: Node, axes: tuple[int, ...], keepdims: bool = False, ordered: tuple[int, ...] | None = None) -> Node:
    """The sum over axes in the value's own dtype, as products sum: float16 and the like in float32, bool as "or"."""
    if not axes:
        return node
    row = ANY if node.code == BOOL else SUM
    return build.reduce(row, node, axes, keepdims, node.code, ordered)


def multiplied(a: Node, b: Node, axis: int, keepdims: bool = False, cores: int | None = None) -> Node:
    """``sum(a * b, axis)`` of values of one dtype.

    It lies in the order of the operands, or, with `cores` axes of the result that are no stack's, as `stacked` says.
    """
    code = a.code
    inner = F32 if code in ROUNDED else code
    terms = build.loop(MULTIPLY, [build.cast(a, inner), build.cast(b, inner)], inner)
    ordered = None
    if cores is not None:
        shape = (*terms.shape[:axis], *((1,) if keepdims else ()), *terms.shape[axis + 1 :])
        lead = len(shape) - cores
        ordered = stacked((a, b), len(terms.shape) - lead, shape, lead, ITEMSIZES[inner])
    return build.cast(summed(terms, (axis,), keepdims, ordered), code)


def stacked(operands: Sequence[Node], own: int, shape: tuple[int, ...], lead: int, itemsize: int) -> tuple[int, ...]:
    """Strides of a product as NumPy lays it out: `lead` axes in the order of the operands' stacks, others in C order.

    The last `own` axes of the operands are no stack's.
    """
    if lead < 2:
        return c_strides(shape, itemsize)
    stacks = [(node.shape[:-own], node.strides[:-own]) for node in operands]
    known = [broadcast_strides(extents, strides, shape[:lead]) for extents, strides in stacks]
    return ordered_strides(shape, [*k_order(lead, known), *range(lead, len(shape))], itemsize)


def arranged(node: Node, strides: tuple[int, ...]) -> Node:
    """The value, laid out by these strides."""
    return node if node.strides == strides and node.kind != VIEW else build.copied(node, strides, node.code)


def product(a: Node, b: Node) -> Node:
    """``(..., n, k) @ (..., k, m)`` of values of one dtype, by the size rule."""
    n, k, m = a.shape[-2], a.shape[-1], b.shape[-1]
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    code = a.code
    strides = stacked((a, b), 2, (*lead, n, m), len(lead), ITEMSIZES[code])
    if code in LOW:
        return build.cast(product(build.cast(a, F32), build.cast(b, F32)), code)
    if k == 0:
        return build.full(DTYPES[code].type(0).item(), code, (*lead, n, m), strides)
    if (waiting := waiting_product(a, b, (*lead, n, m), strides, product)) is not None:
        return waiting
    if k == 1:
        return arranged(build.binary(MULTIPLY, a, b), strides)
    if m == 1:
        return multiplied(a, turned(b), len(lead) + 1, keepdims=True, cores=2)
    if n == 1:
        return multiplied(turned(a), b, len(lead), keepdims=True, cores=2)
    if is_recorded(prod(lead), n, k, m):
        return multiplied(expanded(a, -2), expanded(turned(b), -3), len(lead) + 2, cores=2)
    if code == BOOL:
        # A count of true products; float32 holds it well enough to tell it from 0.
        counts = product(build.cast(a, F32), build.cast(b, F32))
        return build.elementwise(ELEMENTWISE["not_equal"], [counts, 0.0])
    if code == F32 and _is_of_low(a) and _is_of_low(b) and current().low_products:
        a, b = (build.cast(x.args[0], BF16) for x in (a, b))  # which holds every number of float8, too
    return call("matmul", a, b, code=code, shape=(*lead, n, m), strides=strides)  # type: ignore[no-any-return]


def _is_of_low(node: Node) -> bool:
    """Whether float32 was made of bfloat16 or float8."""
    return node.kind == CAST and node.args[0].code in LOW


def is_recorded(lead: int, n: int, k: int, m: int) -> bool:
    """Whether `lead` products of n × k by k × m elements are recorded: small ones, and those bound by memory."""
    device = current()
    if lead * n * k * m <= device.tiny_product:
        return True
    return device.short_rows and (n * k * m <= CUBE or k * m <= THIN)


def turned(node: Node) -> Node:
    """A value with its last two axes exchanged."""
    last = len(node.shape) - 1
    return permuted(node, (*range(last - 1), last, last - 1))


def delivered(node: Node, out: Any, name: str, *operands: Array, casting: str = "same_kind", order: str = "K") -> Array:
    """The value as a new array in memory order `order`, or stored in `out`, to whose shape it broadcasts."""
    out = out[0] if isinstance(out, tuple) else out
    if out is not None:
        return store(out, node, name, casting)
    if order != "K":
        node = in_order(node, operands, order)
    result = reshaped_array(node)
    if any(operand.storage.pins for operand in operands):
        after_record(result.storage.value, now=True)
    return result


def reshaped_array(node: Node) -> Array:
    """The value as a new array; one that was only reshaped or permuted last is not copied."""
    if node.kind == VIEW and node.shape and node.args[0].kind != VIEW:
        base = node.args[0]
        if sees_all(Layout(node.attr, node.shape, node.strides), node.code, base.shape, base.code):
            result = view_of(wrap(base), 0, node.shape, node.strides)
            result.base = None
            return result
    return wrap(node)


# ---------------------------------------------------------------- products of core axes


SIGNATURES = {
    "matmul": "(n?,k),(k,m?)->(n?,m?)",
    "vecdot": "(n),(n)->()",
    "matvec": "(m,n),(n)->(m)",
    "vecmat": "(n),(n,m)->(m)",
}
"""Core axes of products, as NumPy writes them; those with a question mark an operand may lack."""

_CORES = {"matmul": (2, 2, 2), "vecdot": (1, 1, 0), "matvec": (2, 1, 1), "vecmat": (1, 2, 1)}


def generalized(
    name: str,
    x1: Any,
    x2: Any,
    compute: Callable[[Node, Node], Node],
    out: Any,
    axes: Any,
    axis: Any,
    keepdims: bool,
    casting: str,
    order: str | None,
    dtype: Any,
    signature: Any,
) -> Array:
    """A generalized ufunc of two operands: `compute` for arrays whose last axes are its core axes.

    Other arguments are NumPy's of such functions.
    """
    out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if stands_aside(x1) or stands_aside(x2) or stands_aside(out):
        options = {"casting": casting, "order": order, "dtype": dtype, "signature": signature}
        return theirs(getattr(np, name), (x1, x2), out=out, axes=axes, axis=axis, keepdims=keepdims, **options)
    if not isinstance(keepdims, (bool, np.bool)):
        raise TypeError(f"'keepdims' must be a boolean, not {type(keepdims).__name__}")
    order = named_order(order, "K")
    out = None if out is None else check_out(out)
    a, b = asarray(x1), asarray(x2)
    code = _loop(name, a, b, dtype, casting, signature)
    if out is not None and not np.can_cast(DTYPES[code], out.dtype, casting):  # type: ignore[arg-type]
        raise casting_error(name, casting, code, out.code)
    cores = _cores(name, a, b)
    left, right = build.cast(node_of(a), code), build.cast(node_of(b), code)
    places: list[tuple[int, ...]] = []
    if keepdims or axes is not NO_VALUE or axis is not NO_VALUE:
        places = _places(name, cores, (a.ndim, b.ndim), axes, axis, keepdims)
        left, right = _at_end(left, places[0]), _at_end(right, places[1])
    _check_extents(name, left.shape, right.shape, cores)
    node = compute(left, right)
    for _ in range(cores[0] if keepdims else 0):
        node = expanded(node, -1)
    if places:
        node = _from_end(node, places[2])
    if out is not None:
        core = places[2] if places else tuple(range(len(node.shape) - cores[2], len(node.shape)))
        _check_core(name, out, node, core)
    return delivered(node, out, name, a, b, casting=casting, order=order)


def _loop(name: str, a: Array, b: Array, dtype: Any, casting: str, signature: Any) -> int:
    """Code of the dtype that a product is computed in, by NumPy's rules."""
    if dtype is not None:
        if signature is not None:
            raise TypeError("cannot specify both 'signature' and 'dtype'")
        signature = (None, None, DTYPES[code_of(dtype)])
    options: dict[str, Any] = {} if signature is None else {"signature": signature}
    function: Any = np.vecdot if name == "vecdot" else np.matmul
    return code_of(function.resolve_dtypes((a.dtype, b.dtype, None), casting=casting, **options)[-1])


def _cores(name: str, a: Array, b: Array) -> tuple[int, int, int]:
    """How many core axes the operands and the result have; ValueError if an operand has fewer."""
    wanted = _CORES[name]
    optional = name == "matmul"
    for number, (array, count) in enumerate(zip((a, b), wanted, strict=False)):
        least = 1 if optional else count
        if array.ndim < least:
            raise ValueError(
                f"{name}: Input operand {number} does not have enough dimensions (has {array.ndim}, gufunc core with "
                f"signature {SIGNATURES[name]} requires {least})"
            )
    if optional:
        first, second = min(a.ndim, 2), min(b.ndim, 2)
        return first, second, first + second - 2
    return wanted


def _places(
    name: str, cores: tuple[int, int, int], ndims: tuple[int, int], axes: Any, axis: Any, keepdims: bool
) -> list[tuple[int, ...]]:
    """Where the core axes of the operands and of the result lie, not negative."""
    signature = SIGNATURES[name]
    plain = name == "vecdot"
    if keepdims and not plain:
        raise TypeError(
            f"{name} does not support keepdims: its signature {signature} has core dimensions in its result, but "
            "keepdims can only be used when all inputs have the same number of core dimensions and all outputs have "
            "no core dimensions."
        )
    if axis is not NO_VALUE:
        if axes is not NO_VALUE:
            raise TypeError("cannot specify both 'axis' and 'axes'")
        if not plain:
            raise TypeError(
                f"{name}: axis can only be used with a single shared core dimension, not with the distinct ones "
                f"implied by signature {signature}."
            )
        axis = as_integer(axis)
        axes = [axis, axis, axis] if keepdims else [axis, axis]
    kept = cores[0] if keepdims else cores[2]
    lead = max(ndims[0] - cores[0], ndims[1] - cores[1])
    if axes is NO_VALUE:
        axes = [tuple(range(-count, 0)) for count in (cores[0], cores[1], kept)]
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    if len(axes) == 2 and plain:
        axes = [*axes, tuple(range(-kept, 0))]
    if len(axes) != 3:
        raise ValueError(
            "axes should be a list with an entry for all 3 inputs and outputs; entries for outputs can only be "
            "omitted if none of them has core axes."
        )
    return [
        _item(name, number, item, count, ndim)
        for number, (item, count, ndim) in enumerate(
            zip(axes, (cores[0], cores[1], kept), (*ndims, lead + kept), strict=True)
        )
    ]


def _item(name: str, number: int, item: Any, count: int, ndim: int) -> tuple[int, ...]:
    """One entry of ``axes=``."""
    if not isinstance(item, tuple):
        item = (as_integer(item),)
        if count != 1:
            raise np.exceptions.AxisError(
                f"{name}: operand {number} has {count} core dimensions, but the axes item is a single integer."
            )
    if len(item) != count:
        raise np.exceptions.AxisError(
            f"{name}: operand {number} has {count} core dimensions, but {len(item)} dimensions are specified by axes "
            "tuple."
        )
    found = tuple(normal_axis(each, ndim) for each in item)
    if len(set(found)) != len(found):
        raise ValueError(f"axes item {number} has value {found[-1]} repeated")
    return found


def _at_end(node: Node, places: tuple[int, ...]) -> Node:
    """A value with these axes last."""
    return permuted(node, (*(k for k in range(len(node.shape)) if k not in places), *places))


def _from_end(node: Node, places: tuple[int, ...]) -> Node:
    """A value with its last axes at these places."""
    ndim = len(node.shape)
    order: list[int] = list(range(ndim - len(places)))
    for place, own in sorted(zip(places, range(ndim - len(places), ndim), strict=True)):
        order.insert(place, own)
    return permuted(node, order)


def _check_extents(name: str, left: tuple[int, ...], right: tuple[int, ...], cores: tuple[int, int, int]) -> None:
    """ValueError unless the axis that is summed over has one extent."""
    inner = left[-1]
    other = right[-1] if cores[1] == 1 else right[-2]
    if inner != other:
        raise ValueError(
            f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
            f"signature {SIGNATURES[name]} (size {other} is different from {inner})"
        )


def _check_core(name: str, out: Array, node: Node, places: tuple[int, ...]) -> None:
    """ValueError unless `out` has the extents of the result in its core axes, which are not broadcast."""
    check_out(out)
    offset = out.ndim - len(node.shape)
    if offset < 0 or any(out.shape[place + offset] != node.shape[place] for place in places):
        raise ValueError(
            f"{name}: Output operand 0 has a mismatch in its core dimensions: its shape is {_shown(out.shape)}, the "
            f"result's {_shown(node.shape)}"
        )


def matmul(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    axes: Any = NO_VALUE,
    axis: Any = NO_VALUE,
    keepdims: bool = False,
    casting: str = "same_kind",
    order: str | None = "K",
    dtype: Any = None,
    subok: bool = True,
    signature: Any = None,
) -> Array:
    """Matrix product over the last two axes, leading axes broadcast; vectors count as a row and a column.

    Parameters
    ----------
    x1, x2 : array_like
        Matrices (..., n, k) and (..., k, m), or vectors of k.
    out : ndarray, optional
        Where the result goes.
    axes : list of tuple of int, optional
        Axes of the matrices in `x1`, in `x2` and in the result.
    axis, keepdims
        NumPy's of other products; refused here, as there.
    casting, order, dtype, subok, signature
        NumPy's of ufuncs.

    Returns
    -------
    ndarray of shape (..., n, m)

    Raises
    ------
    ValueError
        If shapes do not fit.
    """
    if (
        type(x1) is ndarray and type(x2) is ndarray and dtype is None and signature is None
        and axes is NO_VALUE and axis is NO_VALUE and keepdims is False and order == "K" and casting == "same_kind"
    ):  # fmt: skip
        if out is None:
            return matrix_product(_MATMUL, x1, x2)
        shape = (*x1._shape[:1], *x2._shape[1:])
        if type(out) is ndarray and len(x1._shape) == 2 and x1._shape[1:] == x2._shape[:1] and out._shape == shape:
            node = node_of(matrix_product(_MATMUL, x1, x2))
            return out if store_fast(out, node) else store(out, node, "matmul", casting)
    return generalized("matmul", x1, x2, _matmul, out, axes, axis, keepdims, casting, order, dtype, signature)


def _plain_matmul(given: None, x1: Any, x2: Any) -> Array:
    """`matmul` with no other arguments."""
    if type(x1) is ndarray and type(x2) is ndarray and x1.code == x2.code and x1.code not in LOW:
        # Matrices and vectors of one dtype, which loops of small products are made of: nothing is to be resolved.
        shape, vector = x1.shape, x2.shape
        if len(shape) == len(vector) == 2 and shape[1] == vector[0]:
            return deliver(product(node_of(x1), node_of(x2)), (x1, x2))
        if len(vector) == 1 and shape and shape[-1] == vector[0]:
            cores = 1 if len(shape) > 2 else None
            return deliver(multiplied(node_of(x1), node_of(x2), len(shape) - 1, cores=cores), (x1, x2))
    return generalized(
        "matmul", x1, x2, _matmul, None, NO_VALUE, NO_VALUE, False, "same_kind", "K", None, None
    )  # fmt: skip


_MATMUL = Replayed(_plain_matmul, at_once=True)


def _matmul(left: Node, right: Node) -> Node:
    if len(right.shape) == 1:
        return multiplied(left, right, len(left.shape) - 1, cores=len(left.shape) > 1)
    if len(left.shape) == 1:
        return multiplied(expanded(left, 1), right, len(right.shape) - 2, cores=1)
    return product(left, right)


def vecdot(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    axes: Any = NO_VALUE,
    axis: Any = NO_VALUE,
    keepdims: bool = False,
    casting: str = "same_kind",
    order: str | None = "K",
    dtype: Any = None,
    subok: bool = True,
    signature: Any = None,
) -> Array:
    """Inner products along `axis` (the last one), the first operand conjugated; other axes broadcast.

    Parameters
    ----------
    x1, x2 : array_like
        Vectors.
    out : ndarray, optional
        Where the result goes.
    axes : list of int or tuple of int, optional
        Axes of the vectors in `x1` and `x2` and, with `keepdims`, where the result keeps one.
    axis : int, optional
        One axis for both.
    keepdims : bool
        Keep the axis gone over, with extent 1.
    casting, order, dtype, subok, signature
        NumPy's of ufuncs.
    """
    return generalized("vecdot", x1, x2, _vecdot, out, axes, axis, keepdims, casting, order, dtype, signature)


def _vecdot(left: Node, right: Node) -> Node:
    return multiplied(conjugated(left), right, max(len(left.shape), len(right.shape)) - 1)


def matvec(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    axes: Any = NO_VALUE,
    axis: Any = NO_VALUE,
    keepdims: bool = False,
    casting: str = "same_kind",
    order: str | None = "K",
    dtype: Any = None,
    subok: bool = True,
    signature: Any = None,
) -> Array:
    """Matrix times vector over the last axes, leading axes broadcast; arguments as of `matmul`."""
    return generalized("matvec", x1, x2, _matvec, out, axes, axis, keepdims, casting, order, dtype, signature)


def _matvec(left: Node, right: Node) -> Node:
    return multiplied(left, expanded(right, -2), max(len(left.shape), len(right.shape) + 1) - 1, cores=1)


def vecmat(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    axes: Any = NO_VALUE,
    axis: Any = NO_VALUE,
    keepdims: bool = False,
    casting: str = "same_kind",
    order: str | None = "K",
    dtype: Any = None,
    subok: bool = True,
    signature: Any = None,
) -> Array:
    """Vector (conjugated) times matrix over the last axes, leading axes broadcast; arguments as of `matmul`."""
    return generalized("vecmat", x1, x2, _vecmat, out, axes, axis, keepdims, casting, order, dtype, signature)


def _vecmat(left: Node, right: Node) -> Node:
    axis = max(len(left.shape) + 1, len(right.shape)) - 2
    return multiplied(expanded(conjugated(left), -1), right, axis, cores=1)


def conjugated(node: Node) -> Node:
    """The complex conjugate (a real value as it is)."""
    return build.unary(CONJUGATE, node) if DTYPES[node.code].kind == "c" else node


# ---------------------------------------------------------------- dot and its family


def _pair(x: Any, y: Any) -> tuple[Array, Array, int]:
    """Two arrays and the dtype code of their product."""
    a, b = asarray(x), asarray(y)
    return a, b, code_of(np.result_type(a.dtype, b.dtype))


def dot(a: Any, b: Any, out: Any = None) -> Array:
    """Dot product: the last axis of `a` with the last but one of `b` (its only one, if it is a vector).

    Parameters
    ----------
    a, b : array_like
        Numbers, vectors or arrays of matrices.
    out : ndarray, optional
        Where the result goes: of the very dtype and shape, in C order.

    Raises
    ------
    ValueError
        If shapes do not fit, or `out` does not.
    """
    return matrix_product(_DOT, a, b) if out is None else _general_dot(a, b, out)


@public
def _general_dot(a: Any, b: Any, out: Any = None) -> Array:
    """`dot` of anything."""
    left, right, code = _pair(a, b)
    if not left.ndim or not right.ndim:
        x, y = build.cast(node_of(left), code), build.cast(node_of(right), code)
        node = build.binary(MULTIPLY, x, y)
        if len(node.shape) == 2 and code in (F32, F64, C64, C128):  # What NumPy asks its BLAS for lies in C order.
            node = arranged(node, c_strides(node.shape, ITEMSIZES[code]))
        return _dotted(node, out, left, right)
    axis = max(right.ndim - 2, 0)
    if left.shape[-1] != right.shape[axis]:
        raise ValueError(
            f"shapes {_shown(left.shape)} and {_shown(right.shape)} not aligned: {left.shape[-1]} (dim "
            f"{left.ndim - 1}) != {right.shape[axis]} (dim {axis})"
        )
    node = contracted(build.cast(node_of(left), code), build.cast(node_of(right), code), (left.ndim - 1,), (axis,))
    return _dotted(node, out, left, right)


_DOT = Replayed(lambda given, a, b: _general_dot(a, b), at_once=True)


def _dotted(node: Node, out: Any, left: Array, right: Array) -> Array:
    if out is not None:
        check_out(out)
        fits = out.code == node.code and out.shape == node.shape
        if not fits or not is_c_contiguous(out.shape, out.strides, out.itemsize):
            raise ValueError(
                "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)"
            )
    return delivered(node, out, "dot", left, right)


def vdot(a: Any, b: Any, /) -> Array:
    """Inner product of two flattened arrays, the first conjugated."""
    return recalled(_VDOT, None, (a, b))


def _vdot(given: None, a: Any, b: Any) -> Array:
    left, right, code = _pair(a, b)
    left, right = left.ravel(), right.ravel()
    if left.size != right.size:
        raise ValueError(f"cannot reshape array of size {right.size} into shape {_shown(left.shape)}")
    node = multiplied(conjugated(build.cast(node_of(left), code)), build.cast(node_of(right), code), 0)
    return delivered(node, None, "vdot", left, right)


_VDOT = Replayed(_vdot, at_once=True)


def inner(a: Any, b: Any, /) -> Array:
    """Products summed over the last axes."""
    return recalled(_INNER, None, (a, b))


def _inner(given: None, a: Any, b: Any) -> Array:
    left, right, code = _pair(a, b)
    if not left.ndim or not right.ndim:
        return dot(left, right)
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(
            f"shapes {_shown(left.shape)} and {_shown(right.shape)} not aligned: {left.shape[-1]} (dim "
            f"{left.ndim - 1}) != {right.shape[-1]} (dim {right.ndim - 1})"
        )
    node = contracted(
        build.cast(node_of(left), code), build.cast(node_of(right), code), (left.ndim - 1,), (right.ndim - 1,)
    )
    return delivered(node, None, "inner", left, right)


_INNER = Replayed(_inner, at_once=True)


def outer(a: Any, b: Any, out: Any = None) -> Array:
    """Products of every element of the one with every element of the other (both flattened)."""
    return recalled(_OUTER, None, (a, b)) if out is None else _outer(None, a, b, out)


def _outer(given: None, a: Any, b: Any, out: Any = None) -> Array:
    left, right, code = _pair(a, b)
    left, right = left.ravel(), right.ravel()
    node = build.binary(
        MULTIPLY, build.cast(expanded(node_of(left), 1), code), build.cast(expanded(node_of(right), 0), code)
    )
    return delivered(node, out, "multiply", left, right)


_OUTER = Replayed(_outer, at_once=True)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    """Products summed over pairs of axes: the last `axes` of `a` with the first of `b`, or two lists of axes."""
    given = frozen(axes)
    result = _tensordot(axes, a, b) if given is NotImplemented else recalled(_TENSORDOT, given, (a, b))
    result.is_scalar = False
    return result


def _tensordot(axes: Any, a: Any, b: Any) -> Array:
    left, right, code = _pair(a, b)
    try:
        a_axes, b_axes = axes
    except TypeError:
        count = as_integer(axes)
        a_axes, b_axes = range(-count, 0), range(count)
    a_axes = normal_axes(_several(a_axes), left.ndim)
    b_axes = normal_axes(_several(b_axes), right.ndim)
    if [left.shape[k] for k in a_axes] != [right.shape[k] for k in b_axes]:
        raise ValueError("shape-mismatch for sum")
    node = contracted(build.cast(node_of(left), code), build.cast(node_of(right), code), a_axes, b_axes)
    return delivered(node, None, "tensordot", left, right)


_TENSORDOT = Replayed(_tensordot)


def _several(axes: Any) -> tuple[Any, ...]:
    """Axes given as a sequence, or one alone."""
    try:
        return tuple(axes)
    except TypeError:
        return (axes,)


def contracted(a: Node, b: Node, a_axes: tuple[int, ...], b_axes: tuple[int, ...]) -> Node:
    """Values of one dtype, multiplied and summed over pairs of axes."""
    a_kept = [k for k in range(len(a.shape)) if k not in a_axes]
    b_kept = [k for k in range(len(b.shape)) if k not in b_axes]
    a_shape = tuple(a.shape[k] for k in a_kept)
    b_shape = tuple(b.shape[k] for k in b_kept)
    left = permuted(a, (*a_kept, *a_axes))
    right = permuted(b, (*b_axes, *b_kept))
    if len(a_axes) == 1 and not b_kept:
        return multiplied(left, right, len(a_kept), cores=len(a_kept))
    count = prod(a.shape[k] for k in a_axes)
    node = product(reshaped(left, (prod(a_shape), count)), reshaped(right, (count, prod(b_shape))))
    return reshaped(node, (*a_shape, *b_shape))


def kron(a: Any, b: Any) -> Array:
    """Kronecker product: every element of `a` times the whole of `b`."""
    result = recalled(_KRON, None, (a, b))
    result.is_scalar = not result.shape
    return result


def _kron(given: None, a: Any, b: Any) -> Array:
    left, right, code = _pair(a, b)
    ndim = max(left.ndim, right.ndim)
    first = (1,) * (ndim - left.ndim) + left.shape
    second = (1,) * (ndim - right.ndim) + right.shape
    x = reshaped(build.cast(node_of(left), code), tuple(e for extent in first for e in (extent, 1)))
    y = reshaped(build.cast(node_of(right), code), tuple(e for extent in second for e in (1, extent)))
    node = build.binary(MULTIPLY, x, y)
    shape = tuple(p * q for p, q in zip(first, second, strict=True))
    return wrap(node).reshape(shape)


_KRON = Replayed(_kron, at_once=True)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    """Cross product of vectors of three elements along an axis.

    Parameters
    ----------
    a, b : array_like
        Vectors; those of two elements, which NumPy 2.5 refuses, have a third one of zero with NumPy 2.4.
    axisa, axisb : int
        Axes of the vectors.
    axisc : int
        Where the result's vectors lie; without meaning for two vectors of two elements, whose result is one number.
    axis : int, optional
        All three.

    Returns
    -------
    ndarray
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    # Of vectors of two elements each call warns.
    spatial = all(type(x) is ndarray and x.ndim and 2 not in x.shape for x in (a, b))
    return (_spatial_cross if spatial else _cross)(a, b, axisa, axisb, axisc)


def _cross(a: Any, b: Any, axisa: int, axisb: int, axisc: int) -> Array:
    left, right, code = _pair(a, b)
    if left.ndim < 1 or right.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    left = moveaxis(left, normal_axis(axisa, left.ndim), -1)
    right = moveaxis(right, normal_axis(axisb, right.ndim), -1)
    extents = left.shape[-1], right.shape[-1]
    if not set(extents) <= ({3} if FROM_2_5 else {2, 3}):
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {extents[0]} and "
            f"{extents[1]} dimensional instead."
        )
    if 2 in extents:
        return _plane_cross(left, right, code, axisc)
    result_shape = broadcast_shapes(left.shape, right.shape)
    axisc = normal_axis(axisc, len(result_shape))

    # 1, 2, 0 and 2, 0, 1: counted back from the end where an index is negative, which takes no division.
    place = {by: build.binary(ADD, build.iota(3), by - 3) for by in (1, 2)}

    def turn(array: Array, by: int) -> Node:
        # Elements by, by + 1, by + 2 of three, counted in a circle.
        node = build.cast(node_of(array), code)
        return build.gather(node, [place[by]], (len(node.shape) - 1,), len(node.shape) - 1, inside=True)

    forward = build.binary(MULTIPLY, turn(left, 1), turn(right, 2))
    backward = build.binary(MULTIPLY, turn(left, 2), turn(right, 1))
    return moveaxis(wrap(build.binary(SUBTRACT, forward, backward)), -1, axisc)


_spatial_cross = replayed(_cross)


def _plane_cross(left: Array, right: Array, code: int, axisc: int) -> Array:
    """Cross product where at least one factor's vectors (along the last axis) have two elements."""
    deprecated = "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors instead."
    warnings.warn(deprecated, DeprecationWarning, stacklevel=4)
    x, y = left.astype(DTYPES[code]), right.astype(DTYPES[code])
    last = (x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]).copy()  # in C order
    last.is_scalar = False
    if left.shape[-1] == right.shape[-1]:
        return last
    if left.shape[-1] == 3:
        parts = [-(x[..., 2] * y[..., 1]), x[..., 2] * y[..., 0], last]
    else:
        parts = [x[..., 1] * y[..., 2], -(x[..., 0] * y[..., 2]), last]
    return moveaxis(concatenate([part[..., None] for part in parts], -1), -1, normal_axis(axisc, last.ndim + 1))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Array:
    """The sum along a diagonal of two axes."""
    given = frozen((offset, axis1, axis2)) if dtype is None and out is None else NotImplemented
    if given is NotImplemented:
        return _trace((offset, axis1, axis2), a, dtype, out)
    return recalled(_TRACE, given, (a,))


def _trace(given: tuple[Any, Any, Any], a: Any, dtype: Any = None, out: Any = None) -> Array:
    offset, axis1, axis2 = given
    return diagonal_view(asarray(a), offset, axis1, axis2).sum(-1, dtype=dtype, out=out)


_TRACE = Replayed(_trace)


def diagonal_view(array: Array, offset: int, axis1: int, axis2: int) -> Array:
    """A read-only view of a diagonal of two axes, as the last axis."""
    offset = as_c_int(offset)
    if array.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    axis1, axis2 = normal_axis(axis1, array.ndim), normal_axis(axis2, array.ndim)
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    rows, columns = array.shape[axis1], array.shape[axis2]
    start = array.offset + (offset * array.strides[axis2] if offset > 0 else -offset * array.strides[axis1])
    count = max(0, min(rows, columns - offset) if offset > 0 else min(rows + offset, columns))
    kept = [k for k in range(array.ndim) if k not in (axis1, axis2)]
    result = view_of(
        array,
        start if count else array.offset,
        (*(array.shape[k] for k in kept), count),
        (*(array.strides[k] for k in kept), array.strides[axis1] + array.strides[axis2]),
    )
    result.writeable = False
    return result


def operator_matmul(given: None, x: Any, y: Any) -> Any:
    """``x @ y``; other libraries' arrays that hold ours decide themselves."""
    if type(x) is ndarray and type(y) is ndarray:
        return _plain_matmul(None, x, y)
    itself = (type(x) is not ndarray and multiplies_itself(x)) or (type(y) is not ndarray and multiplies_itself(y))
    return answered("matmul", x, y) if itself else matmul(x, y)


def _shown(shape: Sequence[int]) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


bind(matmul=partial(matrix_product, Replayed(operator_matmul, at_once=True)), method_dot=dot, method_trace=trace)

__all__ = [
    "cross",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "trace",
    "vdot",
    "vecdot",
    "vecmat",
]
