"""A Python function of one example, recorded once and rewritten for all examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import ITEMSIZES
from numloom.compiled.batching_values import Rewrite, block, is_whole, repeated
from numloom.compiled.calls import wrap_all
from numloom.compiled.draws import DrawsOfSteps
from numloom.compiled.gradient_values import Array, array_of
from numloom.compiled.loops import NUMBER, Form, form_of
from numloom.compiled.structure import flat, like
from numloom.compiled.symbols import symbol_of
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.graph.node import Node, tracing
from numloom.graph.tree import Placeholder, concrete_all, recording, substitute, symbol_node


def _example(name: str, mapped: str) -> Placeholder:
    """What stands for an argument of one example, or of all."""
    found = Placeholder(name)
    found.mapped = mapped
    return found


class Examples:
    """A function's call for one example, as a tree for all of them.

    Parameters
    ----------
    function : callable
        Of arrays.
    args, named : tuple, dict
        With what it is called; `arrays` has, for each of the leaves in turn, the array whose first axis counts the
        examples, or None of what is the same in all of them.
    names : sequence of str
        What the leaves are called.
    count : int
        How many examples there are.
    rewrite : callable
        What rewrites trees (`numloom.compiled.batching.rewritten`).

    Attributes
    ----------
    result : object
        What the function gave, nested as it was, without arrays.
    found : list of Array
        Arrays of the result, in turn, as trees: of all examples, or of any one.
    several : list of bool
        Whether each of them has an axis of examples in front.
    """

    def __init__(
        self, function: Callable[..., Any], args: Any, named: Any, arrays: Sequence[Array | None],
        names: Sequence[str], count: int, rewrite: Rewrite,
    ) -> None:  # fmt: skip
        called = getattr(function, "__name__", type(function).__name__)
        symbols: dict[Node, Node] = {}
        self.given: dict[Node, Node] = {}
        leaves = flat((args, named))
        for place, array in enumerate(arrays):
            if array is None:
                continue
            form = _form(array, count)
            one = symbol_of(_example(names[place], called), form.code, form.kept, form.strides)
            node = node_of(one)
            whole = (block(node), *form.strides)
            known = symbols[node] = symbol_node(_example(names[place], called), form.code, (count, *form.kept), whole)
            inner = [slice(0, extent) for extent in form.kept]
            self.given[known] = node_of(array if form.kept == form.shape else array[(slice(None), *inner)])
            leaves[place] = form.whole(one)
            leaves[place].is_scalar = not form.shape  # As `x[0]` of a vector is.
        args, named = like((args, named), leaves)
        draws = DrawsOfSteps(0, count)
        with recording(watches="vmap", alone=True) as record:
            self.result = function(*args, **named)
            roots = [node_of(asarray(leaf)) for leaf in flat(self.result)]
        if record.draws:
            number = node_of(NUMBER.symbol("example"))
            roots = draws.placed(roots, record.draws, number, "vmap")
            with recording():
                symbols[number] = build.iota(count)
        with recording():
            batch = rewrite(roots, symbols, count)
            self.found = [array_of(batch.of(root) if batch.is_known(root) else root) for root in roots]
            self.several = [batch.is_known(root) for root in roots]

    def results(self, trees: Sequence[Array]) -> list[Array]:
        """Trees over what stands for the arguments, over these: ordinary recorded work, or trees if they are."""
        roots = [node_of(tree) for tree in trees]
        if tracing() or any([node.tree for node in self.given.values()]):
            return [array_of(node) for node in substitute(roots, self.given)]
        memory = [root.args[0] if is_whole(root) else root for root in roots]
        found = [array_of(array.storage.value) for array in wrap_all(concrete_all(memory, self.given))]
        return [_shaped(array, root.shape) for array, root in zip(found, roots, strict=True)]


def _shaped(array: Array, shape: tuple[int, ...]) -> Array:
    """A result in its shape; no view, since nobody has what it would be a view of."""
    if array.shape == shape:
        return array
    found = array.reshape(shape)
    found.base = None
    return found


def _form(array: Array, count: int) -> Form:
    """The form of one example of an array."""
    if count:
        return form_of(array[0] if array.ndim > 1 else wrap(build.full(0, array.code, ())))
    shape = array.shape[1:]
    return Form(array.code, shape, shape, c_strides(shape, ITEMSIZES[array.code]))


class StackedRule:
    """A rule of a user's for the way back through one example, as that through all of them."""

    def __init__(self, gradient: Callable[..., Any], count: int, rewrite: Rewrite) -> None:
        self.gradient = gradient
        self.count = count
        self.rewrite = rewrite
        self.__name__ = getattr(gradient, "__name__", type(gradient).__name__)

    def __call__(self, g: Array, result: Array, *given: Any) -> Any:
        args = (g, result, *given)
        leaves = flat(args)
        arrays = [leaf if type(leaf) is ndarray else None for leaf in leaves]
        names = [f"argument_{place}" for place in range(len(leaves))]
        examples = Examples(self.gradient, args, {}, arrays, names, self.count, self.rewrite)
        parts = [
            array if several else array_of(repeated(node_of(array), self.count))
            for array, several in zip(examples.found, examples.several, strict=True)
        ]
        return like(examples.result, examples.results(parts))


__all__ = ["Examples", "StackedRule"]
