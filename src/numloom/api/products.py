"""Products: matrix products by the vendor's BLAS, products bound by memory as recorded reductions.

The size rule: a product ``(..., n, k) @ (..., k, m)`` is recorded as ``sum(a * b)`` where n or m is
1 (matrix times vector, inner products) or where all its multiplications are at most `TINY`; then it
fuses with its neighbours. Any other product runs at once through the device's matmul.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np

from numloom.api.manipulation import moveaxis, normal_axes, normal_axis
from numloom.api.running import deliver
from numloom.array.convert import asarray
from numloom.array.ndarray import bind, ndarray, node_of, store_result, view_of, wrap
from numloom.base.dtypes import BOOL, DTYPES, F16, F32, code_of
from numloom.engine.evaluate import after_record
from numloom.engine.routines import call
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes, is_dense_order, reshape_strides
from numloom.graph.node import VIEW, Node
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS

Array = Any

TINY = 4096
"""Multiplications up to which a product is recorded, whatever its shape."""

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


def summed(node: Node, axes: tuple[int, ...], keepdims: bool = False) -> Node:
    """The sum over axes in the value's own dtype, as products sum: float16 in float32, bool as "or"."""
    if not axes:
        return node
    if node.code == BOOL:
        return build.reduce(ANY, node, axes, keepdims, BOOL)
    return build.reduce(SUM, node, axes, keepdims, node.code)


def multiplied(a: Node, b: Node, axis: int, keepdims: bool = False) -> Node:
    """``sum(a * b, axis)`` of values of one dtype."""
    code = a.code
    if code == F16:
        a, b = build.cast(a, F32), build.cast(b, F32)
        return build.cast(summed(build.loop(MULTIPLY, [a, b], F32), (axis,), keepdims), code)
    return summed(build.loop(MULTIPLY, [a, b], code), (axis,), keepdims)


def product(a: Node, b: Node) -> Node:
    """``(..., n, k) @ (..., k, m)`` of values of one dtype, by the size rule."""
    n, k, m = a.shape[-2], a.shape[-1], b.shape[-1]
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    code = a.code
    if k == 0:
        return build.full(DTYPES[code].type(0).item(), code, (*lead, n, m))
    if k == 1:
        return build.binary(MULTIPLY, a, b)
    if m == 1:
        return multiplied(a, turned(b), len(lead) + 1, keepdims=True)
    if n == 1:
        return multiplied(turned(a), b, len(lead), keepdims=True)
    if prod(lead) * n * k * m <= TINY:
        return multiplied(expanded(a, -2), expanded(turned(b), -3), len(lead) + 2)
    if code == BOOL:
        # A count of true products; float32 holds it well enough to tell it from 0.
        counts = product(build.cast(a, F32), build.cast(b, F32))
        return build.elementwise(ELEMENTWISE["not_equal"], [counts, 0.0])
    return call("matmul", a, b, code=code, shape=(*lead, n, m))  # type: ignore[no-any-return]


def turned(node: Node) -> Node:
    """A value with its last two axes exchanged."""
    last = len(node.shape) - 1
    return permuted(node, (*range(last - 1), last, last - 1))


def delivered(node: Node, out: Any, name: str, *operands: Array) -> Array:
    """The value as a new array, or stored in `out`."""
    result = reshaped_array(node)
    if any(operand.cell.pins for operand in operands):
        after_record(result.cell.value, now=True)
    if isinstance(out, tuple):
        out = out[0]
    if out is None:
        return result
    if out.shape != result.shape:
        raise ValueError(f"{name}: output operand has shape {out.shape}, the result has {result.shape}")
    return store_result(out, result, name)


def reshaped_array(node: Node) -> Array:
    """The value as a new array; one that was only reshaped or permuted last is not copied."""
    if node.kind == VIEW and not node.attr and node.shape and node.args[0].kind != VIEW:
        base = node.args[0]
        itemsize = DTYPES[node.code].itemsize
        if base.size == node.size and base.code == node.code and is_dense_order(node.shape, node.strides, itemsize):
            result = view_of(wrap(base), 0, node.shape, node.strides)
            result.base = None
            return result
    return wrap(node)


def _operands(row: Any, x: Any, y: Any, dtype: Any = None, casting: str = "same_kind") -> tuple[Array, Array, int]:
    """Two arrays and the dtype code of their product, by the rules of the ufunc `row`."""
    a, b = asarray(x), asarray(y)
    signature = {} if dtype is None else {"signature": (None, None, DTYPES[code_of(dtype)])}
    loop = row.resolve_dtypes((a.dtype, b.dtype, None), casting=casting, **signature)
    return a, b, code_of(loop[-1])


# ---------------------------------------------------------------- products of the last axes


def matmul(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    casting: str = "same_kind",
    order: str = "K",
    dtype: Any = None,
    subok: bool = True,
) -> Array:
    """Matrix product over the last two axes, leading axes broadcast; vectors count as a row and a column."""
    if type(x1) is ndarray and type(x2) is ndarray and out is None and dtype is None and x1.code == x2.code:
        # A matrix and a vector of one dtype, which loops of small products are made of: nothing is to be resolved.
        shape, vector = x1.shape, x2.shape
        if len(vector) == 1 and shape and shape[-1] == vector[0]:
            return deliver(multiplied(node_of(x1), node_of(x2), len(shape) - 1), (x1, x2))
    a, b, code = _operands(np.matmul, x1, x2, dtype, casting)
    for number, array in enumerate((a, b)):
        if not array.ndim:
            raise ValueError(
                f"matmul: Input operand {number} does not have enough dimensions (has 0, gufunc core with signature "
                "(n?,k),(k,m?)->(n?,m?) requires 1)"
            )
    left, right = build.cast(node_of(a), code), build.cast(node_of(b), code)
    axis = max(b.ndim - 2, 0)
    if a.shape[-1] != b.shape[axis]:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"(n?,k),(k,m?)->(n?,m?) (size {b.shape[axis]} is different from {a.shape[-1]})"
        )
    if b.ndim == 1:
        node = multiplied(left, right, a.ndim - 1)
    elif a.ndim == 1:
        node = multiplied(expanded(left, 1), right, b.ndim - 2)
    else:
        node = product(left, right)
    return delivered(node, out, "matmul", a, b)


def vecdot(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    axis: int = -1,
    casting: str = "same_kind",
    order: str = "K",
    dtype: Any = None,
    subok: bool = True,
) -> Array:
    """Inner products along `axis`, the first operand conjugated; other axes broadcast."""
    a, b, code = _operands(np.vecdot, x1, x2, dtype, casting)
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            "vecdot: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n),(n)->() "
            f"(size {b.shape[-1]} is different from {a.shape[-1]})"
        )
    left = conjugated(build.cast(node_of(a), code))
    right = build.cast(node_of(b), code)
    ndim = max(a.ndim, b.ndim)
    return delivered(multiplied(left, right, ndim - 1), out, "vecdot", a, b)


def matvec(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    casting: str = "same_kind",
    order: str = "K",
    dtype: Any = None,
    subok: bool = True,
) -> Array:
    """Matrix times vector over the last axes, leading axes broadcast."""
    a, b, code = _operands(np.matmul, x1, x2, dtype, casting)
    _core("matvec", "(m,n),(n)->(m)", a, b, 2, 1, a.shape[-1:], b.shape[-1:], 0)
    node = multiplied(
        build.cast(node_of(a), code), expanded(build.cast(node_of(b), code), -2), max(a.ndim, b.ndim + 1) - 1
    )
    return delivered(node, out, "matvec", a, b)


def vecmat(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    casting: str = "same_kind",
    order: str = "K",
    dtype: Any = None,
    subok: bool = True,
) -> Array:
    """Vector (conjugated) times matrix over the last axes, leading axes broadcast."""
    a, b, code = _operands(np.matmul, x1, x2, dtype, casting)
    _core("vecmat", "(n),(n,m)->(m)", a, b, 1, 2, a.shape[-1:], b.shape[-2:-1], 0)
    left = conjugated(build.cast(node_of(a), code))
    right = build.cast(node_of(b), code)
    node = multiplied(expanded(left, -1), right, max(a.ndim + 1, b.ndim) - 2)
    return delivered(node, out, "vecmat", a, b)


def _core(
    name: str, signature: str, a: Array, b: Array, a_ndim: int, b_ndim: int, have: Any, want: Any, dimension: int
) -> None:
    for number, (array, ndim) in enumerate(((a, a_ndim), (b, b_ndim))):
        if array.ndim < ndim:
            raise ValueError(
                f"{name}: Input operand {number} does not have enough dimensions (has {array.ndim}, gufunc core with "
                f"signature {signature} requires {ndim})"
            )
    if have != want:
        raise ValueError(
            f"{name}: Input operand 1 has a mismatch in its core dimension {dimension}, with gufunc signature "
            f"{signature} (size {want[0]} is different from {have[0]})"
        )


def conjugated(node: Node) -> Node:
    """The complex conjugate (a real value as it is)."""
    return build.unary(CONJUGATE, node) if DTYPES[node.code].kind == "c" else node


# ---------------------------------------------------------------- dot and its family


def _pair(x: Any, y: Any) -> tuple[Array, Array, int]:
    """Two arrays and the dtype code of their product."""
    a, b = asarray(x), asarray(y)
    return a, b, code_of(np.result_type(a.dtype, b.dtype))


def dot(a: Any, b: Any, out: Any = None) -> Array:
    """Dot product: the last axis of `a` with the last but one of `b` (its only one, if it is a vector)."""
    left, right, code = _pair(a, b)
    if not left.ndim or not right.ndim:
        return delivered(
            build.binary(MULTIPLY, build.cast(node_of(left), code), build.cast(node_of(right), code)),
            out,
            "dot",
            left,
            right,
        )
    axis = max(right.ndim - 2, 0)
    if left.shape[-1] != right.shape[axis]:
        raise ValueError(
            f"shapes {_shown(left.shape)} and {_shown(right.shape)} not aligned: {left.shape[-1]} (dim "
            f"{left.ndim - 1}) != {right.shape[axis]} (dim {axis})"
        )
    node = contracted(build.cast(node_of(left), code), build.cast(node_of(right), code), (left.ndim - 1,), (axis,))
    return delivered(node, out, "dot", left, right)


def vdot(a: Any, b: Any, /) -> Array:
    """Inner product of two flattened arrays, the first conjugated."""
    left, right, code = _pair(a, b)
    left, right = left.ravel(), right.ravel()
    if left.size != right.size:
        raise ValueError(f"cannot reshape array of size {right.size} into shape {_shown(left.shape)}")
    node = multiplied(conjugated(build.cast(node_of(left), code)), build.cast(node_of(right), code), 0)
    return delivered(node, None, "vdot", left, right)


def inner(a: Any, b: Any, /) -> Array:
    """Products summed over the last axes."""
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


def outer(a: Any, b: Any, out: Any = None) -> Array:
    """Products of every element of the one with every element of the other (both flattened)."""
    left, right, code = _pair(a, b)
    left, right = left.ravel(), right.ravel()
    node = build.binary(
        MULTIPLY, build.cast(expanded(node_of(left), 1), code), build.cast(expanded(node_of(right), 0), code)
    )
    return delivered(node, out, "outer", left, right)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    """Products summed over pairs of axes: the last `axes` of `a` with the first of `b`, or two lists of axes."""
    left, right, code = _pair(a, b)
    try:
        a_axes, b_axes = axes
    except TypeError:
        count = as_index(axes)
        a_axes, b_axes = range(-count, 0), range(count)
    a_axes = normal_axes(tuple(a_axes) if isinstance(a_axes, (Sequence, range)) else a_axes, left.ndim)
    b_axes = normal_axes(tuple(b_axes) if isinstance(b_axes, (Sequence, range)) else b_axes, right.ndim)
    if [left.shape[k] for k in a_axes] != [right.shape[k] for k in b_axes]:
        raise ValueError("shape-mismatch for sum")
    node = contracted(build.cast(node_of(left), code), build.cast(node_of(right), code), a_axes, b_axes)
    return delivered(node, None, "tensordot", left, right)


def contracted(a: Node, b: Node, a_axes: tuple[int, ...], b_axes: tuple[int, ...]) -> Node:
    """Values of one dtype, multiplied and summed over pairs of axes."""
    a_kept = [k for k in range(len(a.shape)) if k not in a_axes]
    b_kept = [k for k in range(len(b.shape)) if k not in b_axes]
    a_shape = tuple(a.shape[k] for k in a_kept)
    b_shape = tuple(b.shape[k] for k in b_kept)
    left = permuted(a, (*a_kept, *a_axes))
    right = permuted(b, (*b_axes, *b_kept))
    if len(a_axes) == 1 and not b_kept:
        return multiplied(left, right, len(a_kept))
    count = prod(a.shape[k] for k in a_axes)
    node = product(reshaped(left, (prod(a_shape), count)), reshaped(right, (count, prod(b_shape))))
    return reshaped(node, (*a_shape, *b_shape))


def kron(a: Any, b: Any) -> Array:
    """Kronecker product: every element of `a` times the whole of `b`."""
    left, right, code = _pair(a, b)
    ndim = max(left.ndim, right.ndim)
    first = (1,) * (ndim - left.ndim) + left.shape
    second = (1,) * (ndim - right.ndim) + right.shape
    x = reshaped(build.cast(node_of(left), code), tuple(e for extent in first for e in (extent, 1)))
    y = reshaped(build.cast(node_of(right), code), tuple(e for extent in second for e in (1, extent)))
    node = build.binary(MULTIPLY, x, y)
    shape = tuple(p * q for p, q in zip(first, second, strict=True))
    return wrap(node).reshape(shape)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    """Cross product of vectors of three elements along an axis."""
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right, code = _pair(a, b)
    if left.ndim < 1 or right.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    left = moveaxis(left, normal_axis(axisa, left.ndim), -1)
    right = moveaxis(right, normal_axis(axisb, right.ndim), -1)
    if left.shape[-1] != 3 or right.shape[-1] != 3:
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {left.shape[-1]} and "
            f"{right.shape[-1]} dimensional instead."
        )
    result_shape = broadcast_shapes(left.shape, right.shape)
    axisc = normal_axis(axisc, len(result_shape))

    def turn(array: Array, order: list[int]) -> Node:
        node = build.cast(node_of(array), code)
        return build.gather(node, [node_of(asarray(np.array(order)))], (len(node.shape) - 1,), len(node.shape) - 1)

    forward = build.binary(MULTIPLY, turn(left, [1, 2, 0]), turn(right, [2, 0, 1]))
    backward = build.binary(MULTIPLY, turn(left, [2, 0, 1]), turn(right, [1, 2, 0]))
    return moveaxis(wrap(build.binary(SUBTRACT, forward, backward)), -1, axisc)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Array:
    """The sum along a diagonal of two axes."""
    return diagonal_view(asarray(a), offset, axis1, axis2).sum(-1, dtype=dtype, out=out)


def diagonal_view(array: Array, offset: int, axis1: int, axis2: int) -> Array:
    """A read-only view of a diagonal of two axes, as the last axis."""
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


def _shown(shape: Sequence[int]) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


bind(matmul=matmul, method_dot=dot, method_trace=trace)

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
