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

EXTREMES = frozenset(("max", "min", "fmax", "fmin"))
"""Names of reductions."""


def extreme(op_def: ReductionDef, node: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    """A reduction in `EXTREMES` of complex numbers over axes, of which there are some and hold some."""
    known = tuple(0 if extent == 1 else stride for extent, stride in zip(node.shape, node.strides, strict=True))
    order = k_order(len(node.shape), [known])
    kept, gone = [axis for axis in order if axis not in axes], [axis for axis in order if axis in axes]
    lines = wrap(node).transpose(*kept, *gone).reshape(-1, prod([node.shape[axis] for axis in gone]))
    count = build.iota(lines.shape[0])
    if op_def.name in ("max", "min"):
        # The first NaN, or the first of what is equal: what NumPy keeps.
        place = build.reduce(REDUCTIONS[f"arg{op_def.name}"], node_of(lines), (1,), False, I64)
        found = build.gather(node_of(lines), [count, place], (0, 1), 0, inside=True)
    else:
        found = build.reduce(op_def, node_of(lines), (1,), False, node.code)
        nothing = build.unary(ELEMENTWISE["isnan"], found)  # There are no numbers: all are NaN.
        found = build.elementwise(ELEMENTWISE["where"], (nothing, node_of(lines[:, 0]), found))
    strides = reduced_strides(node.shape, node.strides, axes, keepdims, ITEMSIZES[node.code])
    shape = tuple([1 if axis in axes else n for axis, n in enumerate(node.shape) if keepdims or axis not in axes])
    if (shape, strides) == (found.shape, found.strides):
        return found
    return build.view(found, node.code, 0, shape, strides)


__all__ = ["EXTREMES", "extreme"]
