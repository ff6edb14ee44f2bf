"""Trees: values that wait, so that they can be looked at, changed, and computed again and again.

A node belongs to a tree if it was made while one was recorded (`recording`), or is computed from a symbol. Trees are
never computed themselves: `concrete` records the same operations anew, as ordinary work, over the values that symbols
have then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from numloom.base.dtypes import DTYPES, ITEMSIZES
from numloom.graph.build import copied, count_of, full, one_tuple, view
from numloom.graph.layout import c_strides
from numloom.graph.node import (
    FILL,
    GATHER,
    IOTA,
    ROUTINE,
    SCALAR,
    SYMBOL,
    VIEW,
    Node,
    new_node,
    new_number,
    recorded_as,
    register,
    signature_of,
    viewed,
)
from numloom.graph.source_location import INSIDE, here


class TreeError(RuntimeError):
    """A tree was asked for numbers that it does not have."""


class Placeholder:
    """What a symbol stands for.

    Attributes
    ----------
    name : str
        Its name.
    value : Node or None
        The value that it has where nobody gives another one, with its symbol's shape, dtype and order.
    stream : tuple or None
        Of the begin of blocks of random bits: the bit generator and how many are taken; of their key, the same
        with a count of -1.
    """

    __slots__ = ("name", "stream", "value")

    def __init__(self, name: str, value: Node | None = None, stream: Any = None) -> None:
        self.name = name
        self.value = value
        self.stream = stream


@contextmanager
def recording(trees: bool = True) -> Iterator[None]:
    """Have everything that is recorded meanwhile belong to a tree; with False, nothing but what reads a symbol."""
    before = register.tracing
    register.trees = True
    register.tracing = before + 1 if trees else 0
    try:
        yield
    finally:
        register.tracing = before


def symbol_node(
    placeholder: Placeholder, code: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> Node:
    """A value to be given, in C order or in that of `strides`."""
    register.trees = True
    shape = one_tuple(shape)
    strides = one_tuple(c_strides(shape, ITEMSIZES[code]) if strides is None else strides)
    return new_node(SYMBOL, None, (), code, shape, strides, count_of(shape), placeholder)


def drawn_blocks(source: Any, count: int, start: Node, key: Node) -> tuple[Node, Node]:
    """The begin and the key of blocks of random bits as symbols: who calls the tree again takes other blocks."""
    begin = Placeholder("random_blocks", start, (source, count))
    for draws in _watching:
        draws.append(begin)
    return (
        symbol_node(begin, start.code, ()),
        symbol_node(Placeholder("random_key", key, (source, -1)), key.code, ()),
    )


_watching: list[list[Placeholder]] = []


@contextmanager
def watching_draws() -> Iterator[list[Placeholder]]:
    """The begins of blocks of random bits that trees take meanwhile, in turn."""
    draws: list[Placeholder] = []
    _watching.append(draws)
    try:
        yield draws
    finally:
        _watching.remove(draws)


def waits(operands: Sequence[Node]) -> bool:
    """Whether a routine on these operands becomes a node instead of running."""
    return register.tracing > 0 or any([node.tree for node in operands])


def sized_by_values(name: str) -> TreeError:
    """The error of a call whose result's size follows from values."""
    return TreeError(
        f"the size of what {name} gives follows from values, which a tree does not have: call it before the tree is "
        "recorded (on computed arrays), or use where() or a sum with a mask, whose sizes are known"
    )


def refuse_trees(nodes: Sequence[Node]) -> None:
    """Raise where memory of a tree's value is asked for."""
    for node in nodes:
        if node.tree:
            raise TreeError(_missing([node]))


def _missing(roots: Sequence[Node]) -> str:
    names = sorted({node.attr.name for node in tree_nodes(roots) if node.kind == SYMBOL and node.attr.value is None})
    if not names:
        return (
            "the memory of a tree's value was asked for, and a tree has none: x.ascuda() gives the value "
            "as an ordinary array, and nl.operation lets a kernel in CUDA C++ wait as well"
        )
    return (
        f"this needs numbers, and {', '.join(names)} {'is a symbol' if len(names) == 1 else 'are symbols'} without "
        "any: make a function of it (nl.function), give it a value (nl.substitute), or decide by nl.where or "
        "nl.ifelse; a kernel in CUDA C++ waits by nl.operation"
    )


def tree_nodes(roots: Iterable[Node], also: Mapping[int, Any] | None = None) -> list[Node]:
    """Nodes of trees that roots need, arguments before users, without recursion.

    What is computed or recorded outside of trees is left out, but what `also` has by identity, behind which nobody
    looks.
    """
    seen: set[int] = set()
    order: list[Node] = []
    ends = also or {}
    for root in roots:
        stack: list[tuple[Node, int]] = [(root, 0)]
        while stack:
            node, position = stack.pop()
            if position == 0:
                if id(node) in seen or not (node.tree or id(node) in ends):
                    continue
                seen.add(id(node))
            if position < len(node.args) and id(node) not in ends:
                stack.append((node, position + 1))
                stack.append((node.args[position], 0))
            else:
                order.append(node)
    return order


def recorded_again(node: Node, args: Sequence[Node]) -> Node:
    """The same operation on other arguments, of the same shapes, dtypes and orders."""
    kind = node.kind
    if kind == VIEW:
        base = args[0]
        if base.kind == FILL or base.kind == SCALAR:
            return view(base, node.code, node.attr, node.shape, node.strides)
        return viewed(signature_of(node), base, node.attr)
    if kind == GATHER:
        op_def = node.op_def if node.op_def is INSIDE else here(node.op_def.complaint)
        return new_node(GATHER, op_def, tuple(args), node.code, node.shape, node.strides, node.size, node.attr)
    if kind == ROUTINE:
        return node.op_def(*_apart(node, args))  # type: ignore[no-any-return]
    if kind == SCALAR:
        return new_number(node.attr, node.code)
    if kind in (FILL, IOTA):
        return new_node(kind, None, (), node.code, node.shape, node.strides, node.size, node.attr)
    for arg in args:
        arg.readers += 1
    return recorded_as(signature_of(node), tuple(args))


def _apart(node: Node, args: Sequence[Node]) -> Sequence[Node]:
    """Operands of a routine; of one that changes memory a copy of that where others need the old value.

    Those may be recorded later, so it does not count them yet.
    """
    old, new = node.args[0], args[0]
    if not node.op_def.op_def.in_place:
        return args
    if old.tree and old.kind != SYMBOL and old.readers <= 1 and not old.storages and not new.storages:
        return args
    strides = c_strides(new.shape, ITEMSIZES[new.code]) if new.kind == VIEW else new.strides
    return [copied(new, strides, new.code), *args[1:]]


def fitting(new: Node, old: Node) -> Node:
    """A value that can stand where another one stands in a tree: laid out as it is.

    Raises
    ------
    TypeError, ValueError
        If its dtype or its shape is another one.
    """
    if new.code != old.code:
        raise TypeError(
            f"what stands for a value of dtype {DTYPES[old.code].name} must have that dtype, not "
            f"{DTYPES[new.code].name}: convert it by astype"
        )
    if new.shape != old.shape:
        raise ValueError(f"what stands for a value of shape {old.shape} must have that shape, not {new.shape}")
    if new.kind == SCALAR and old.kind != SCALAR:
        return full(new.attr, new.code, ())
    if new.strides == old.strides and new.kind != VIEW:
        return new
    if new.kind == FILL:
        return full(new.attr, new.code, new.shape, old.strides)
    return copied(new, old.strides if old.kind != VIEW else c_strides(new.shape, ITEMSIZES[new.code]), new.code)


def rebuilt(
    roots: Sequence[Node],
    known: Mapping[Node, Node],
    rule: Callable[[Node], Node | None] | None = None,
    anew: bool = False,
) -> list[Node]:
    """Trees over other values: each node of `known` is replaced, and what was computed from it is recorded again.

    Parameters
    ----------
    roots : sequence of Node
        The trees' ends.
    known : mapping
        What stands in the place of which node; it must fit (see `fitting`).
    rule : callable, optional
        What stands in the place of each node that was reached, its arguments replaced already; None leaves it.
    anew : bool
        Whether also nodes of which nothing changed are recorded again.
    """
    ends = {id(old): old for old in known}
    values: dict[int, Node] = {id(old): fitting(new, old) for old, new in known.items()}
    # A symbol that was pickled may be several nodes.
    symbols = {id(old.attr): values[id(old)] for old in known if old.kind == SYMBOL}
    for node in tree_nodes(roots, ends):
        if id(node) in values:
            continue
        args = [values.get(id(arg), arg) for arg in node.args]
        new = symbols.get(id(node.attr), node) if node.kind == SYMBOL else node
        if node.kind != SYMBOL and (
            anew or any([arg is not before for arg, before in zip(args, node.args, strict=True)])
        ):
            new = recorded_again(node, args)
        if rule is not None:
            found = rule(new)
            if found is not None and found is not new:
                new = fitting(found, node)
        values[id(node)] = new
    return [values.get(id(root), root) for root in roots]


def substitute(roots: Sequence[Node], known: Mapping[Node, Node]) -> list[Node]:
    """`rebuilt`, as trees."""
    with recording():
        return rebuilt(roots, known)


ran: dict[Any, tuple[tuple[Node, ...], tuple[Node, ...]]] = {}
"""What routines of several results gave in the tree that is being computed, by name, options and the operands'
identities; with the operands, so that nothing else is taken for them."""


def forget_results() -> None:
    """The tree has been computed: what its routines gave is kept no longer."""
    ran.clear()


def concrete_all(roots: Sequence[Node], known: Mapping[Node, Node] | None = None) -> list[Node]:
    """The trees as ordinary recorded work, over the values that symbols have (or that are given).

    Raises
    ------
    TreeError
        If a symbol has no value.
    """
    try:
        with recording(False):
            return rebuilt(roots, _values_of_symbols(roots, known), anew=True)
    finally:
        forget_results()


def valued(roots: Sequence[Node], known: Mapping[Node, Node] | None = None) -> list[Node]:
    """The trees, still trees, with the values that symbols have in their place; TreeError if one has none."""
    return substitute(roots, _values_of_symbols(roots, known))


def _values_of_symbols(roots: Sequence[Node], known: Mapping[Node, Node] | None) -> dict[Node, Node]:
    given = dict(known or {})
    placeholders = {node.attr for node in given if node.kind == SYMBOL}
    for node in tree_nodes(roots, {id(old): old for old in given}):
        if node.kind == SYMBOL and node not in given and node.attr not in placeholders:
            if node.attr.value is None:
                raise TreeError(_missing(roots))
            given[node] = node.attr.value
    return given


def concrete(root: Node) -> Node:
    """`concrete_all` of one tree."""
    return concrete_all([root])[0]


__all__ = [
    "Placeholder",
    "TreeError",
    "concrete",
    "concrete_all",
    "drawn_blocks",
    "fitting",
    "forget_results",
    "ran",
    "rebuilt",
    "recorded_again",
    "recording",
    "refuse_trees",
    "sized_by_values",
    "substitute",
    "symbol_node",
    "tree_nodes",
    "valued",
    "waits",
    "watching_draws",
]
