"""Values of many examples at once: how they lie in memory, and how operands come to fit each other.

The values of `count` examples are one value with an axis more in front, whose examples lie in memory one after the
other, each as the value of a single example does. So every layout that a tree has of one example (views, writes to a
part) is, with that axis in front, the layout of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from numloom.array.storage import arranged
from numloom.base.dtypes import I64, ITEMSIZES
from numloom.compiled.gradient_values import Array, array_of
from numloom.graph import build
from numloom.graph.layout import Layout, c_strides, k_strides, sees_all
from numloom.graph.node import FILL, SCALAR, SYMBOL, VIEW, Node

Shape = tuple[int, ...]
Rewrite = Callable[[Sequence[Node], Mapping[Node, Node], int], "Batch"]


def strides_of_one(node: Node) -> Shape:
    """Strides of one example's value in memory of its own: those of a view's copy."""
    return node.strides if node.kind != VIEW else k_strides(node.shape, [node.strides], ITEMSIZES[node.code])


def block(node: Node) -> int:
    """Bytes from one example to the next."""
    return prod([max(extent, 1) for extent in node.shape]) * ITEMSIZES[node.code]


class Batch:
    """The examples of one tree, while that is rewritten for all of them.

    Attributes
    ----------
    count : int
        How many examples there are.
    rewrite : callable
        ``rewrite(roots, known, count)`` rewrites other trees for as many examples (`numloom.compiled.batching`).
    known : dict
        Values of all examples by the identity of a single one's value; what is not there is the same in all.
    loops : dict
        Of a loop, by its identity, what it gives: a value for each of its results.
    held : list of Node
        What the identities of the tree's values need to stay theirs.
    """

    def __init__(self, count: int, rewrite: Rewrite) -> None:
        self.count = count
        self.rewrite = rewrite
        self.known: dict[int, Node] = {}
        self.loops: dict[int, list[Node]] = {}
        self.held: list[Node] = []
        self._dense: dict[int, Node] = {}
        self._examples: dict[tuple[int, int], Node] = {}

    def shape(self, node: Node) -> Shape:
        """The shape of all examples' values."""
        return (self.count, *node.shape)

    def strides(self, node: Node) -> Shape:
        """How they lie in memory."""
        return (block(node), *strides_of_one(node))

    def of(self, node: Node) -> Node:
        """The values of all examples: of what is the same in all a view that repeats it, or a number."""
        found = self.known.get(id(node))
        return repeated(node, self.count) if found is None else found

    def dense(self, node: Node) -> Node:
        """The values of all examples in memory, as `strides` has them: the same value each time."""
        found = self._dense.get(id(node))
        if found is None:
            found = self._dense[id(node)] = self.laid_out(self.of(node), node)
        return found

    def memory(self, node: Node) -> tuple[Node, int]:
        """Where the values of all examples lie as `strides` has them: a value, and the byte at which they begin."""
        found = self.of(node)
        if found.kind == VIEW and found.code == node.code and found.strides == self.strides(node):
            return found.args[0], found.attr
        return self.dense(node), 0

    def settled(self, value: Node, node: Node) -> Node:
        """`laid_out`, or a view that sees it so."""
        return value if value.strides == self.strides(node) else self.laid_out(value, node)

    def laid_out(self, value: Node, node: Node) -> Node:
        """Values of all examples, whichever way they lie, where a single one's is `node`."""
        return arranged(value, self.shape(node), self.strides(node), node.code)

    def aligned(self, node: Node, rank: int) -> Node:
        """The values of all examples with axes of extent 1 behind the first, up to `rank` axes of one example."""
        value = self.of(node)
        more = rank - len(node.shape)
        if not more:
            return value
        step = value.strides[0]
        return seen(value, (self.count, *(1,) * more, *node.shape), (step, *(step,) * more, *value.strides[1:]))

    def operand(self, node: Node, rank: int) -> Node:
        """What broadcasts as an operand: `aligned`, or a value that is the same in all examples as it is."""
        return self.aligned(node, rank) if id(node) in self.known else node

    def array(self, node: Node) -> Array:
        """The values of all examples as an array."""
        return array_of(self.of(node))

    def numbers(self, rank: int) -> Node:
        """The number of each example, as an index with so many axes of extent 1 behind."""
        value = build.iota(self.count)
        return seen(value, (self.count, *(1,) * rank), (ITEMSIZES[I64],) * (rank + 1)) if rank else value

    def example(self, node: Node, number: int) -> Node:
        """The value of one example: the same value each time."""
        value = self.known.get(id(node))
        if value is None:
            return node
        found = self._examples.get((id(node), number))
        if found is None:
            found = seen(value, node.shape, value.strides[1:], number * value.strides[0])
            self._examples[id(node), number] = found
        return found

    def is_known(self, *nodes: Node) -> bool:
        """Whether one of these values differs from example to example."""
        return any([id(node) in self.known for node in nodes])


def repeated(node: Node, count: int) -> Node:
    """A value that is the same in all examples, for each of them."""
    if node.kind in (FILL, SCALAR):
        return build.full(node.attr, node.code, (count, *node.shape), (block(node), *node.strides))
    return seen(node, (count, *node.shape), (0, *node.strides))


def is_whole(node: Node) -> bool:
    """Whether a view sees all of what was computed, in C order, so that it needs no copy to be a result."""
    if node.kind != VIEW or not _is_new(node.args[0]):
        return False
    base, layout = node.args[0], Layout(node.attr, node.shape, node.strides)
    return _is_in_c_order(node) and _is_in_c_order(base) and sees_all(layout, node.code, base.shape, base.code)


def is_result(node: Node) -> bool:
    """Whether a value in C order is computed by a tree alone, so that nobody else has its memory."""
    return is_whole(node) or (_is_new(node) and _is_in_c_order(node))


def _is_in_c_order(node: Node) -> bool:
    return node.strides == c_strides(node.shape, ITEMSIZES[node.code])


def _is_new(node: Node) -> bool:
    return node.kind > VIEW and node.kind != SYMBOL and node.tree


def seen(node: Node, shape: Shape, strides: Shape, offset: int = 0) -> Node:
    """The memory of a value, or what a view sees, through another shape and strides."""
    base, begin = (node.args[0], node.attr) if node.kind == VIEW else (node, 0)
    return build.view(base, node.code, begin + offset, shape, strides)


__all__ = ["Batch", "Rewrite", "Shape", "block", "is_result", "is_whole", "repeated", "seen", "strides_of_one"]
