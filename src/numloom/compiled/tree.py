"""Looking at trees, changing them, and running them with NumPy or on the device."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numloom.api.inspect import picture
from numloom.array import convert
from numloom.array.convert import asarray
from numloom.array.ndarray import bind, ndarray, node_of, wrap
from numloom.array.printing import array_repr, array_str
from numloom.base.dtypes import DTYPES
from numloom.base.tracebacks import public
from numloom.compiled.deferred import Deferred, parts_of, refuse_unknown, substituted
from numloom.compiled.given import fitted
from numloom.compiled.gradient_values import array_of
from numloom.compiled.packing import pack, unpack
from numloom.compiled.patterns import Pattern, same_value
from numloom.device.registry import current
from numloom.engine.evaluate import evaluate, leaf_memory
from numloom.engine.explain import Structure, TreeNode
from numloom.engine.reference import reference_value
from numloom.graph.build import scalar
from numloom.graph.node import FILL, SCALAR, SYMBOL, VIEW, Node, name_of
from numloom.graph.tree import concrete, hides, rebuilt, recording, refuse_cuts, tree_nodes

Array = Any
Rule = Callable[[Any], Any]


def whole(roots: Sequence[Node]) -> list[Node]:
    """Nodes of trees and the values that they read, arguments first."""
    order: list[Node] = []
    seen: set[int] = set()
    for node in [*tree_nodes(roots), *roots]:
        for one in (*node.args, node) if node.tree else (node,):
            if id(one) not in seen:
                seen.add(id(one))
                order.append(one)
    return order


@dataclass(frozen=True, eq=False)
class TreePart:
    """One value of a tree.

    Attributes
    ----------
    number : int
        Its place: arguments come first.
    name : str
        Its operation, reduction or routine; else what it is: "symbol", "leaf" (an array), "scalar" (a number), "view".
    shape, dtype
        Its own.
    args : tuple of int
        Numbers of its arguments.
    value : object
        Of a number or a filled array, the number; of a symbol its name; else None.
    node : Node
        The value itself.
    """

    number: int
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    args: tuple[int, ...]
    value: Any
    node: Node

    @property
    def array(self) -> Array:
        """It as an array, which is a tree of its own: what `substitute` takes."""
        return wrap(self.node)

    def __repr__(self) -> str:
        args = ", ".join([f"%{arg}" for arg in self.args])
        shown = "" if self.value is None else f" {self.value}"
        return f"%{self.number} = {self.name}({args}){shown} {self.dtype.name}{list(self.shape)}"


class Tree:
    """The tree of arrays, for looking at.

    Attributes
    ----------
    parts : tuple of TreePart
        All values, arguments before what uses them.
    """

    def __init__(self, arrays: Sequence[Array]) -> None:
        self.roots = [node_of(array) for array in arrays]
        nodes = whole(self.roots)
        numbers = {id(node): number for number, node in enumerate(nodes)}
        self.parts = tuple([_part(number, node, numbers) for number, node in enumerate(nodes)])

    @property
    def symbols(self) -> dict[str, Array]:
        """Its symbols by name."""
        return {part.value: part.array for part in self.parts if part.name == "symbol"}

    @property
    def constants(self) -> list[TreePart]:
        """Its numbers and filled arrays."""
        return [part for part in self.parts if part.node.kind in (SCALAR, FILL)]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[TreePart]:
        return iter(self.parts)

    def __getitem__(self, number: int) -> TreePart:
        return self.parts[number]

    def structure(self) -> Structure:
        """It as `numloom.explain` has trees."""
        last = {id(root) for root in self.roots}
        nodes = tuple(
            [
                TreeNode(
                    part.number, part.name if part.name != "symbol" else str(part.value), part.shape, part.dtype.name,
                    part.node.strides, part.args, id(part.node) in last, "" if part.value is None else str(part.value),
                )
                for part in self.parts
            ]
        )  # fmt: skip
        return Structure(len(nodes) - 1, nodes, ())

    def svg(self) -> str:
        """It as a picture: arguments above what uses them; of large trees the end."""
        return picture(self.structure())

    _repr_svg_ = svg

    def __str__(self) -> str:
        return "\n".join(map(repr, self.parts))

    __repr__ = __str__


def _part(number: int, node: Node, numbers: dict[int, int]) -> TreePart:
    args = tuple([numbers[id(arg)] for arg in node.args if id(arg) in numbers]) if node.tree else ()
    value = node.attr.name if node.kind == SYMBOL else node.attr if node.kind in (SCALAR, FILL) else None
    name = name_of(node) if node.tree or node.kind in (SCALAR, FILL) or not node.args else "leaf"
    return TreePart(number, name, node.shape, DTYPES[node.code], args, value, node)


def tree(*arrays: Array) -> Tree:
    """The tree of arrays that were recorded in `symbolic`, or computed from symbols.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.symbol("x", (3,))
    >>> np.tree(np.sin(x) + 1)
    %0 = symbol() x float64[3]
    %1 = sin(%0) float64[3]
    %2 = scalar() 1 float64[]
    %3 = add(%1, %2) float64[3]
    """
    refuse_unknown("tree", arrays)
    for array in arrays:
        if type(array) is not ndarray:
            raise TypeError(f"tree takes arrays, not {type(array).__name__}")
    return Tree(arrays)


def substitute(array: Array, pairs: Any) -> Array:
    """The tree over other values.

    Parameters
    ----------
    array : ndarray, or list or tuple of ndarray
        The tree (or several).
    pairs : sequence of (old, new), or one such pair
        Which symbol, array, number or other part of the tree (`TreePart.array`) is replaced by what. A replacement has
        the shape and dtype of what it replaces; in place of a symbol with unknown extents stands what has the known
        ones.

    Returns
    -------
    ndarray, or list of ndarray

    Examples
    --------
    >>> import numloom as np
    >>> x = np.symbol("x", (3,))
    >>> print(np.substitute(x * 2, (x, np.arange(3.0))))
    [0. 2. 4.]
    """
    if isinstance(pairs, tuple) and len(pairs) == 2 and isinstance(pairs[0], (ndarray, Deferred)):
        pairs = [pairs]
    if parts_of(array):
        with recording():
            return substituted(array, [(old, fitted(old, new)) for old, new in pairs])
    several = isinstance(array, (list, tuple))
    roots = [node_of(one) for one in (array if several else (array,))]
    known: dict[Node, Node] = {}
    there = whole(roots)
    with recording():
        for old, new in pairs:
            for place in places_of(old, there):
                if type(new) is not ndarray and isinstance(new, (bool, int, float, complex)) and place.kind == SCALAR:
                    known[place] = scalar(np.asarray(new, DTYPES[place.code]).item(), place.code)
                else:
                    known[place] = node_of(new if type(new) is ndarray else asarray(new, DTYPES[place.code]))
        refuse_hidden(roots, list(known))
        results = [wrap(node) for node in rebuilt(roots, known)]
    return results if several else results[0]


def places_of(old: Any, there: Sequence[Node]) -> list[Node]:
    """The parts of trees that an array is: several of a view, which each look makes anew.

    Raises
    ------
    ValueError
        If it is none; of a symbol on which nothing depends nothing changes.
    """
    if type(old) is not ndarray:
        raise TypeError(f"what is replaced must be an array of the tree, not {type(old).__name__}")
    node = node_of(old)
    if node.kind == SYMBOL:
        return [node]
    found = [one for one in there if one is node or (node.kind == VIEW and same_value(one, node))]
    if not found:
        view = " (a view of a view is a part of its own: replace what it sees)" if node.kind == VIEW else ""
        raise ValueError(f"the tree does not depend on what is to be replaced{view}")
    return found


def refuse_hidden(roots: Sequence[Node], olds: Sequence[Node]) -> None:
    """Raise where ordinary values are to be replaced from which others may have been computed outside of the trees.

    Raises
    ------
    ValueError
        If trees read such: they would keep the old ones.
    """
    if hides(roots, [node for node in olds if not node.tree], lambda node: node.args):
        raise ValueError(
            "what is replaced is an ordinary array, and the tree reads what was computed outside of it, maybe from "
            "that array: record all of it in the tree (with nl.symbolic()), or compute it from a symbol"
        )


@public
def rewrite(array: Array, rules: Any) -> Array:
    """The tree changed by rules, applied from its leaves to its end.

    Parameters
    ----------
    array : ndarray
        The tree.
    rules : callable, pair of callables, or list of these
        ``rule(part)`` gets a `TreePart` (its ``array`` and ``name``; of `part.node.args` the arguments) and gives an
        array in its place, or None. A pair ``(pattern, replacement)`` of Python functions of the same arguments:
        where the tree is what the pattern computes of some values, it becomes what the replacement computes of them,
        which has the same shape and dtype. Patterns may have reductions, views and products, and are recorded for the
        shapes that they meet.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.symbol("x", (3,))
    >>> np.tree(np.rewrite(np.log(np.exp(x)), (lambda a: np.log(np.exp(a)), lambda a: a)))
    %0 = symbol() x float64[3]
    """
    if callable(rules) or (isinstance(rules, tuple) and len(rules) == 2 and callable(rules[0])):
        rules = [rules]
    functions = [rule if callable(rule) else _pattern_rule(*rule) for rule in rules]

    def apply(node: Node) -> Node | None:
        for function in functions:
            found = function(_part(-1, node, {}))
            if found is not None:
                if type(found) is not ndarray:
                    raise TypeError(f"a rule gives an array or None, not {type(found).__name__}")
                return node_of(found)
        return None

    with recording():
        return wrap(rebuilt([node_of(array)], {}, apply)[0])


def _pattern_rule(pattern: Callable[..., Any], replacement: Callable[..., Any]) -> Rule:
    """What replaces values that are what a pattern computes."""
    recorded = Pattern(pattern)

    def rule(part: TreePart) -> Array | None:
        found = recorded.bound(part.node)
        return None if found is None else replacement(*[array_of(node) for node in found])

    return rule


# ---------------------------------------------------------------- running


def asnumpy(array: Array) -> np.ndarray[Any, Any]:
    """The numbers of a tree, computed by NumPy alone; of other arrays a copy of theirs."""
    node = node_of(array)
    return np.array(reference_value(node, current(), leaf_memory)) if node.tree else array.get()


_told = False


def ascuda(array: Array) -> Array:
    """The numbers of a tree as an ordinary array, computed by compiled kernels: on the GPU where there is one.

    Elsewhere the same kernels run on the CPU, which a warning says once.
    """
    global _told
    if not current().discrete and not _told:
        _told = True
        warnings.warn("no GPU is in use: the same kernels run on the CPU", UserWarning, stacklevel=2)
    node = node_of(array)
    if not node.tree:
        return array
    with recording(False):
        result = wrap(concrete(node))
        if result.storage.value.buffer is None:
            evaluate([result.storage.value])
    return result


# ---------------------------------------------------------------- printing and pickling


def _described(array: Array) -> str | None:
    """How a tree without numbers is printed; None of what has some."""
    node = node_of(array) if type(array) is ndarray else None
    if node is None or not node.tree:
        return None
    free = _free([node])
    if not free:
        return None
    kind = f"{array.dtype.name}{list(array.shape)}"
    return f"<symbol {free[0]} {kind}>" if node.kind == SYMBOL else f"<tree {kind} of {', '.join(free)}>"


def _free(roots: Iterable[Node]) -> list[str]:
    return sorted({n.attr.name for n in tree_nodes(roots) if n.kind == SYMBOL and n.attr.value is None})


def _repr(array: Array, *args: Any, **options: Any) -> str:
    return _described(array) or array_repr(array, *args, **options)


def _str(array: Array, *args: Any, **options: Any) -> str:
    return _described(array) or array_str(array, *args, **options)


def _pickled(array: Array) -> tuple[Any, ...]:
    node = node_of(array)
    refuse_cuts([node])
    return (restored, pack(node)) if node.tree else convert.pickled(array)


def restored(*packed: Any) -> Array:
    """The tree that was pickled."""
    with recording():
        result = wrap(unpack(*packed))
    result.is_scalar = False
    if result.storage.value.kind == SYMBOL:
        result.writeable = False
    return result


bind(
    array_repr=_repr,
    array_str=_str,
    method_ascuda=ascuda,
    method_asnumpy=asnumpy,
    pickled=_pickled,
)

__all__ = [
    "Tree",
    "TreePart",
    "ascuda",
    "asnumpy",
    "places_of",
    "refuse_hidden",
    "restored",
    "rewrite",
    "substitute",
    "tree",
    "whole",
]
