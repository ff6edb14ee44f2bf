"""Routines of one example, for all of them: the table of their rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from numloom.api.joining import stack
from numloom.array.ndarray import node_of
from numloom.base.dtypes import ITEMSIZES
from numloom.compiled.batching_loops import loop
from numloom.compiled.batching_products import matrix_product
from numloom.compiled.batching_values import Batch
from numloom.compiled.custom_gradients import WithRule
from numloom.compiled.examples import StackedRule
from numloom.compiled.gradient_values import array_of
from numloom.engine.routines import Call, Change, call
from numloom.engine.waiting import Output
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.graph.node import ROUTINE, Node, name_of, new_node
from numloom.graph.source_location import here

Rule = Callable[[Batch, Node], Node]


def routine(batch: Batch, node: Node) -> Node:
    """What a routine gives for all examples: by its rule, or one example after the other."""
    return RULES.get(name_of(node), one_by_one)(batch, node)


def one_by_one(batch: Batch, node: Node) -> Node:
    """A routine without a rule: a call for each example, and the results stacked."""
    shape, strides = batch.shape(node), batch.strides(node)
    if not batch.count:
        return build.full(0, node.code, shape, strides)
    row: Any = node.op_def
    parts = [
        array_of(_called(node, row, [batch.example(arg, number) for arg in node.args])) for number in range(batch.count)
    ]
    return batch.laid_out(node_of(stack(parts)), node)


def _called(node: Node, row: Any, args: Sequence[Node]) -> Node:
    """The routine on other operands of the same shapes, as a node."""
    return new_node(ROUTINE, row, tuple(args), node.code, node.shape, node.strides, node.size, None)


def _again(batch: Batch, node: Node, operands: Sequence[Node], **options: Any) -> Node:
    """The same call on the values of all examples, with other options."""
    row: Any = node.op_def
    given = {**row.options, **{name: here(complaint) for name, complaint in row.complaints.items()}, **options}
    made: Node = Call(row.op_def, node.code, batch.shape(node), batch.strides(node), given)(*operands)
    return made


def _moved(axis: int) -> int:
    """The number of an axis of one example among those of all."""
    return axis + 1 if axis >= 0 else axis


def _along(batch: Batch, node: Node) -> Node:
    """What works along an axis, of operands of one shape."""
    row: Any = node.op_def
    return _again(batch, node, [batch.of(arg) for arg in node.args], axis=_moved(row.options["axis"]))


def _along_by_numbers(batch: Batch, node: Node) -> Node:
    """What works along an axis of its first operand; the others must be the same in all examples."""
    row: Any = node.op_def
    if batch.is_known(*node.args[1:]):
        return one_by_one(batch, node)
    return _again(batch, node, [batch.of(node.args[0]), *node.args[1:]], axis=_moved(row.options["axis"]))


def _fold(batch: Batch, node: Node) -> Node:
    """A fold: a mask has the array's shape, and what it begins with is one number."""
    row: Any = node.op_def
    first = 2 if row.options["initial"] else 1
    if batch.is_known(*node.args[1:first]):
        return one_by_one(batch, node)
    operands = [batch.of(node.args[0]), *node.args[1:first], *[batch.of(mask) for mask in node.args[first:]]]
    return _again(batch, node, operands, axis=_moved(row.options["axis"]))


def _over_axes(batch: Batch, node: Node) -> Node:
    """What works along several axes."""
    row: Any = node.op_def
    axes = row.options["axes"]
    return _again(batch, node, [batch.of(node.args[0])], axes=tuple([_moved(axis) for axis in axes]))


def _elementwise(batch: Batch, node: Node) -> Node:
    """Special functions, whose operands broadcast."""
    return _again(batch, node, [batch.operand(arg, len(node.shape)) for arg in node.args])


def _searched(batch: Batch, node: Node) -> Node:
    """Places in a sorted vector; vectors that differ are searched one by one."""
    if batch.is_known(node.args[0]):
        return one_by_one(batch, node)
    return _again(batch, node, [node.args[0], batch.of(node.args[1])])


def _factorisation(batch: Batch, node: Node) -> Node:
    """What NumPy does to stacks of matrices."""
    row: Any = node.op_def
    rank = max([len(arg.shape) for arg in node.args])
    operands = tuple([batch.operand(arg, rank) for arg in node.args])
    shape = batch.shape(node)
    made = Output(row.op_def, row.options, shape, node.code, row.run)
    strides = c_strides(shape, ITEMSIZES[node.code])
    return new_node(
        ROUTINE, made, operands, node.code, build.one_tuple(shape), build.one_tuple(strides), prod(shape), None
    )


def _solution(batch: Batch, node: Node) -> Node:
    """Solutions: of one matrix for all examples with all right sides at once."""
    matrix, sides = node.args
    if batch.is_known(matrix) or len(matrix.shape) != 2 or len(sides.shape) != 2:
        return _factorisation(batch, node)
    n, (m, j) = batch.count, sides.shape
    together = batch.array(sides).transpose((1, 0, 2)).reshape((m, n * j))
    found = array_of(call("solve", matrix, node_of(together))).reshape((m, n, j)).transpose((1, 0, 2))
    return batch.laid_out(node_of(found), node)


def _scatter(batch: Batch, node: Node) -> Node:
    """Stores at indices: in each example's memory at its own indices, in the order of one example."""
    row: Any = node.op_def
    options = {**row.options, **{name: here(complaint) for name, complaint in row.complaints.items()}}
    axes, position = options["axes"], options["position"]
    code, offset, shape, strides = row.seen
    memory, operands = node.args[0], node.args[1:]
    values, indices = operands[: len(operands) - len(axes)], operands[len(operands) - len(axes) :]
    rank = max([len(index.shape) for index in indices])
    whole = len(shape) - len(axes) + rank
    given = [batch.numbers(rank), *[batch.operand(index, rank) for index in indices]]
    options["axes"] = (0, *[axis + 1 for axis in axes])
    # The axis of examples stands where those of the indices begin.
    stored = [node_of(_moved_axis(array_of(batch.aligned(value, whole)), position)) for value in values]
    step = batch.strides(memory)[0]
    made = Change("scatter", (code, offset, (batch.count, *shape), (step, *strides)), options)
    return made(batch.dense(memory), *stored, *given)


def _moved_axis(array: Any, to: int) -> Any:
    """An array with its first axis at another place."""
    return array.transpose((*range(1, to + 1), 0, *range(to + 1, array.ndim)))


def _with_rule(batch: Batch, node: Node) -> Node:
    """A value with a rule of its user's for the way back, which takes one example at a time."""
    row: Any = node.op_def
    made = WithRule(StackedRule(row.gradient, batch.count, batch.rewrite), row.form, row.name, row.names)
    return made(*[batch.dense(arg) for arg in node.args])


RULES: dict[str, Rule] = {
    **dict.fromkeys(("sort", "argsort", "partition", "argpartition", "lexsort", "scan"), _along),
    "reduceat": _along_by_numbers,
    "fold": _fold,
    **dict.fromkeys(("fourier", "trigonometric"), _over_axes),
    "special": _elementwise,
    "searchsorted": _searched,
    "matmul": matrix_product,
    **dict.fromkeys(("cholesky", "slogdet", "det", "inv", "qr", "eigh", "eig", "svd"), _factorisation),
    "solve": _solution,
    "scatter": _scatter,
    "custom_gradient": _with_rule,
    "loop": loop,
}
"""``rule(batch, node)`` of each routine that works on all examples at once."""

ONE_BY_ONE = ("correlate", "histogram", "weighted_bincount", "bin_edges")
"""Routines of vectors, which are called for each example, as users' kernels are."""

SIZED_BY_VALUES = ("nonzero", "compress", "unique", "bincount")
"""Routines that no tree has, since the sizes of their results follow from values."""

__all__ = ["ONE_BY_ONE", "RULES", "SIZED_BY_VALUES", "one_by_one", "routine"]
