"""Products of many examples: one larger product where one factor is the same in all of them."""

from __future__ import annotations

from math import prod
from typing import Any

from numloom.api.products import product
from numloom.array.ndarray import node_of
from numloom.base.dtypes import KINDS, ROUNDED
from numloom.compiled.batching_values import Batch
from numloom.compiled.gradient_values import Array, array_of, turned
from numloom.graph.node import OP, VIEW, Node
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS


def matrix_product(batch: Batch, node: Node) -> Node:
    """Products of matrices."""
    a, b = node.args
    if not batch.is_known(b) and len(b.shape) == 2:
        found = _rows_times(batch, a, b)
    elif not batch.is_known(a) and len(a.shape) == 2:
        found = _rows_times(batch, b, node_of(turned(array_of(a))), turns=True)
    else:
        rank = max(len(a.shape), len(b.shape))
        found = product(batch.operand(a, rank), batch.operand(b, rank))
    return batch.settled(found, node)


def _rows_times(batch: Batch, several: Node, matrix: Node, turns: bool = False) -> Node:
    """The rows of all examples' matrices times one matrix; with `turns` of transposed ones, and turned back."""
    array = batch.array(several)
    array = turned(array) if turns else array
    rows, k = array.shape[:-1], array.shape[-1]
    found = array_of(product(node_of(array.reshape((prod(rows), k))), matrix)).reshape((*rows, matrix.shape[-1]))
    return node_of(turned(found) if turns else found)


def contraction(batch: Batch, node: Node) -> Node | None:
    """A sum of products as a product of matrices; None of other reductions, and where that is no gain.

    So a product of a vector and a matrix is recorded. With a vector for each example and one matrix it is a product of
    matrices, whose numbers are read once and not for each example.
    """
    terms = node.args[0]
    if node.op_def is not REDUCTIONS["sum"] or terms.kind != OP or terms.op_def is not ELEMENTWISE["multiply"]:
        return None
    if KINDS[node.code] not in "fc" or node.code in ROUNDED or node.code != terms.code:
        return None
    first, second = terms.args
    if batch.is_known(first) == batch.is_known(second):
        return None
    several, one = (first, second) if batch.is_known(first) else (second, first)
    whole, rank, reduced = terms.shape, len(terms.shape), node.attr[0]
    of_several, of_one = _varying(several, rank), _varying(one, rank)
    wide = [axis for axis in range(rank) if whole[axis] != 1]
    summed = [axis for axis in wide if axis in reduced]
    if not summed or any([not (axis in of_several and axis in of_one) for axis in summed]):
        return None
    kept = [axis for axis in wide if axis not in reduced]
    both = [axis for axis in kept if axis in of_several and axis in of_one]
    rows = [axis for axis in kept if axis in of_several and axis not in of_one]
    columns = [axis for axis in kept if axis in of_one and axis not in of_several]
    if not columns or len(both) + len(rows) + len(columns) != len(kept):
        return None
    count = batch.count
    left = _in_order(batch.array(several), of_several, [*both, -1, *rows, *summed], rank)
    right = _in_order(array_of(one), of_one, [*both, *summed, *columns], rank)
    lead = tuple([whole[axis] for axis in both])
    n, k, m = (prod([whole[axis] for axis in axes]) for axes in (rows, summed, columns))
    made = array_of(product(node_of(left.reshape((*lead, count * n, k))), node_of(right.reshape((*lead, k, m)))))
    made = made.reshape((*lead, count, *[whole[axis] for axis in (*rows, *columns)]))
    order = [*both, -1, *rows, *columns]
    found = made.transpose([order.index(axis) for axis in sorted(order)]).reshape(batch.shape(node))
    return batch.settled(node_of(found), node)


def _varying(node: Node, rank: int) -> list[int]:
    """The axes of a product, counted from its first, along which a factor has different numbers."""
    more = rank - len(node.shape)
    return [
        more + axis
        for axis, extent in enumerate(node.shape)
        if extent != 1 and not (node.kind == VIEW and node.strides[axis] == 0)
    ]


def _in_order(array: Array, varying: list[int], order: list[int], rank: int) -> Array:
    """A factor with its varying axes in this order; -1 is that of the examples, in front."""
    front: list[Any] = [slice(None)] if -1 in order else []
    more = rank - (array.ndim - len(front))
    picked = [slice(None) if axis in varying else 0 for axis in range(more, rank)]
    names = [*([-1] if front else []), *varying]
    found = array[tuple([*front, *picked])]
    return found.transpose([names.index(axis) for axis in order])


__all__ = ["contraction", "matrix_product"]
