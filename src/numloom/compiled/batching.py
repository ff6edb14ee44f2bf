"""Trees of one example, rewritten for all examples at once: a rule for each kind of value.

The axis of examples is the first one (`numloom.compiled.batching_values`), and what does not depend on an example stays
as it is. A rule gives the value of all examples for that of one; those of routines have a table of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from numloom.compiled.batching_products import contraction
from numloom.compiled.batching_routines import routine
from numloom.compiled.batching_values import Batch, block, seen
from numloom.compiled.gradient_loops import is_loop
from numloom.graph import build
from numloom.graph.node import CAST, GATHER, OP, REDUCE, ROUTINE, UPDATE, VIEW, Node, new_node
from numloom.graph.source_location import INSIDE, OUT_OF_BOUNDS
from numloom.graph.tree import tree_nodes


def rewritten(roots: Sequence[Node], known: Mapping[Node, Node], count: int) -> Batch:
    """Trees of one example for all of them; called while a tree is recorded.

    Parameters
    ----------
    roots : sequence of Node
        The trees' ends.
    known : mapping
        What differs from example to example, and its values: the axis of examples in front.
    count : int
        How many examples there are.

    Returns
    -------
    Batch
        Which knows the values of all examples.
    """
    batch = Batch(count, rewritten)
    for node, value in known.items():
        batch.known[id(node)] = value
    for node in tree_nodes(roots, {id(node): node for node in known}):
        if not batch.is_known(node) and batch.is_known(*node.args):
            batch.known[id(node)] = RULES[node.kind](batch, node)
    batch.held = [*roots, *known]
    return batch


def _operation(batch: Batch, node: Node) -> Node:
    """Elementwise work: operands broadcast behind the axis of examples."""
    args = tuple([batch.operand(arg, len(node.shape)) for arg in node.args])
    shape, strides = build.one_tuple(batch.shape(node)), build.one_tuple(batch.strides(node))
    return new_node(OP, node.op_def, args, node.code, shape, strides, batch.count * node.size, node.attr)


def _cast(batch: Batch, node: Node) -> Node:
    """Another dtype or order."""
    return build.copied(batch.of(node.args[0]), batch.strides(node), node.code)


def _view(batch: Batch, node: Node) -> Node:
    """Memory through a layout, which in each example is the same."""
    base, offset = node.args[0], node.attr
    if is_loop(base):
        value, begin = _result_of_loop(batch, base, offset)
        return build.view(value, node.code, offset - begin, batch.shape(node), (value.strides[0], *node.strides))
    memory, begin = batch.memory(base)
    return build.view(memory, node.code, begin + offset, batch.shape(node), (block(base), *node.strides))


def _result_of_loop(batch: Batch, loop: Node, offset: int) -> tuple[Node, int]:
    """Which of a loop's results lies at a byte, and where it begins."""
    results = [
        (value, begin)
        for value, (begin, _, shape, _) in zip(batch.loops[id(loop)], loop.op_def.layout, strict=True)
        if begin <= offset and 0 not in shape
    ]
    if not results:  # Nothing but empty results.
        return batch.loops[id(loop)][0], loop.op_def.layout[0][0]
    return results[-1]


def _reduction(batch: Batch, node: Node) -> Node:
    """A reduction over the same axes of each example."""
    found = contraction(batch, node)
    if found is not None:
        return found
    axes, _, keepdims = node.attr
    return build.reduce(
        node.op_def, batch.of(node.args[0]), tuple([axis + 1 for axis in axes]), keepdims, node.code,
        build.one_tuple(batch.strides(node)),
    )  # fmt: skip


def _gather(batch: Batch, node: Node) -> Node:
    """Reads at indices: of each example's array at its own indices."""
    array, indices = node.args[0], node.args[1:]
    axes, position, rank, inside = node.attr
    complaint = OUT_OF_BOUNDS if node.op_def is INSIDE else node.op_def.complaint
    inside = inside or node.op_def is INSIDE
    shape, strides = batch.shape(node), batch.strides(node)
    if not batch.is_known(*indices):
        moved = tuple([axis + 1 for axis in axes])
        return build.gather(batch.of(array), indices, moved, position + 1, complaint, build.one_tuple(strides), inside)
    given = [batch.operand(index, rank) for index in indices]
    if batch.is_known(array):
        given, axes = [batch.numbers(rank), *given], (0, *[axis + 1 for axis in axes])
    # The indices' axes stand together, so that of the examples stands among the array's own.
    order = [*range(1, position + 1), 0, *range(position + 1, len(shape))]
    turned = tuple([strides[axis] for axis in order])
    value = batch.of(array) if batch.is_known(array) else array
    found = build.gather(value, given, axes, position, complaint, build.one_tuple(turned), inside)
    return seen(found, shape, strides) if position else found


def _update(batch: Batch, node: Node) -> Node:
    """A write to a part, which in each example is the same."""
    base, value = node.args
    offset, shape, strides, code = node.attr
    whole = (batch.count, *shape)
    return build.update(batch.dense(base), batch.of(value), offset, whole, (block(base), *strides), code)


RULES: dict[int, Callable[[Batch, Node], Node]] = {
    OP: _operation,
    CAST: _cast,
    VIEW: _view,
    REDUCE: _reduction,
    GATHER: _gather,
    UPDATE: _update,
    ROUTINE: routine,
}
"""``rule(batch, node)`` for each kind of value that is computed from others."""

__all__ = ["RULES", "rewritten"]
