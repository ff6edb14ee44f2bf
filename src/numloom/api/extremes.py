"""The largest and the smallest of complex numbers, where there are several NaN.

They differ: in the real part, the imaginary part, or both. NumPy goes from element to element, in the order of memory,
and its first NaN stays; what a tree of partial results would keep is another.
"""

from __future__ import annotations

from math import prod

from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import I64, ITEMSIZES
from numloom.graph import build
from numloom.graph.layout import k_order, reduced_strides
from numloom.graph.node import Node
from numloom.ops.definitions import ReductionDef
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS

WHERE = ELEMENTWISE["where"]
EXTREMES = frozenset(("max", "min", "fmax", "fmin"))
"""Names of reductions."""


def extreme(op_def: ReductionDef, node: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    """A reduction in `EXTREMES` of complex numbers over axes, of which there are some and hold some."""
    strides = reduced_strides(node.shape, node.strides, axes, keepdims, ITEMSIZES[node.code])
    shape = tuple([1 if axis in axes else n for axis, n in enumerate(node.shape) if keepdims or axis not in axes])
    if len(axes) == 1:
        found = _along(op_def, node, axes[0])
    else:
        known = tuple(0 if extent == 1 else stride for extent, stride in zip(node.shape, node.strides, strict=True))
        order = k_order(len(node.shape), [known])
        kept, gone = [axis for axis in order if axis not in axes], [axis for axis in order if axis in axes]
        lines = wrap(node).transpose(*kept, *gone).reshape(-1, prod([node.shape[axis] for axis in gone]))
        found = _along(op_def, node_of(lines), 1)
        back = [kept.index(axis) for axis in sorted(kept)]
        found = node_of(wrap(found).reshape([node.shape[axis] for axis in kept]).transpose(*back))
    found = node_of(wrap(found).reshape(shape))
    return found if found.strides == strides else build.copied(found, strides, found.code)


def _along(op_def: ReductionDef, node: Node, axis: int) -> Node:
    """The same along one axis."""
    if op_def.name in ("max", "min") and _is_fast(node, axis):
        # The first NaN, or the first of what is equal: what NumPy keeps.
        return _at(node, axis, build.reduce(REDUCTIONS[f"arg{op_def.name}"], node, (axis,), False, I64))
    found = build.reduce(op_def, node, (axis,), False, node.code)
    if op_def.name in ("max", "min"):
        # Positions of complex numbers cost much where these lie apart; the least of some whole numbers does not.
        last = build.scalar(node.shape[axis] - 1, I64)
        nans = build.unary(ELEMENTWISE["isnan"], node)
        steps = build.elementwise(WHERE, (nans, _steps(node.shape[axis], axis, len(node.shape)), last))
        first = _at(node, axis, build.reduce(REDUCTIONS["min"], steps, (axis,), False, I64))
    else:  # NaN is left where all are NaN.
        first = node_of(wrap(node)[(slice(None),) * axis + (0,)])
    return build.elementwise(WHERE, (build.unary(ELEMENTWISE["isnan"], found), first, found))


def _is_fast(node: Node, axis: int) -> bool:
    """Whether elements along an axis lie side by side, or nearer than along others."""
    strides = [abs(stride) for stride, extent in zip(node.strides, node.shape, strict=True) if stride and extent > 1]
    return node.shape[axis] < 2 or abs(node.strides[axis]) <= min(strides, default=0)


def _steps(count: int, axis: int, rank: int) -> Node:
    """Numbers from 0 along an axis."""
    return node_of(wrap(build.iota(count)).reshape([-1 if k == axis else 1 for k in range(rank)]))


def _at(node: Node, axis: int, place: Node) -> Node:
    """The element at its place along an axis of each line."""
    rank = len(node.shape)
    index = [_steps(extent, number, rank - 1) for number, extent in enumerate(place.shape)]
    index.insert(axis, place)
    return build.gather(node, index, tuple(range(rank)), 0, inside=True)


__all__ = ["EXTREMES", "extreme"]
