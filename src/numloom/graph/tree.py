"""Trees: values that wait, so that they can be looked at, changed, and computed again and again.

A node belongs to a tree if it was made while one was recorded (`recording`), or is computed from a symbol. Trees are
never computed themselves: `concrete` records the same operations anew, as ordinary work, over the values that symbols
have then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from numloom.base.dtypes import DTYPES, ITEMSIZES, KINDS
from numloom.graph.build import copied, count_of, full, one_tuple, view
from numloom.graph.layout import c_strides
from numloom.graph.node import (
    FILL,
    GATHER,
    IOTA,
    OP,
    ROUTINE,
    SCALAR,
    SYMBOL,
    VIEW,
    Node,
    Recording,
    hold,
    new_node,
    new_number,
    open_here,
    recorded_as,
    register,
    signature_of,
    tracing,
    unhold,
    viewed,
)
from numloom.graph.source_location import INSIDE, here
from numloom.ops.derivatives import ZERO


class TreeError(RuntimeError):
    """A tree was asked for numbers that it does not have."""


class CutError(TreeError):
    """A number was asked for through which a gradient would have to flow, and numbers carry none."""


class Placeholder:
    """What a symbol stands for.

    Attributes
    ----------
    name : str
        Its name.
    value : Node or None
        The value that it has where nobody gives another one, with its symbol's shape, dtype and order; it may be a
        tree over other symbols.
    stream : tuple or None
        Of the begin of blocks of random bits: the bit generator and how many are taken; of their key, the same
        with a count of -1.
    differentiated : str
        What is called now to be differentiated by it (see `refuse_cuts`); "" of most symbols, and after the call.
    mapped : str
        Of what stands for an argument of one of many examples, the function that is called with it.
    """

    __slots__ = ("differentiated", "mapped", "name", "stream", "value")

    def __init__(self, name: str, value: Node | None = None, stream: Any = None) -> None:
        self.name = name
        self.value = value
        self.stream = stream
        self.differentiated = ""
        self.mapped = ""


def recording(trees: bool = True, *, watches: str = "", alone: bool = False) -> Recording:
    """Have everything that is recorded meanwhile belong to a tree; with False, nothing but what reads a symbol."""
    return Recording(trees, watches, alone)


def result_here(key: Any) -> tuple[Node, ...] | None:
    """What a routine gave to the tree that is being computed."""
    found = open_here()
    return None if found is None or key not in found.results else found.results[key][0]


def keep_result(key: Any, results: tuple[Node, ...], operands: tuple[Node, ...]) -> None:
    """Keep what a routine gave as long as a tree is computed; it reads that until then, so nobody writes there."""
    found = open_here()
    if found is not None and not any([node.tree for node in results]):
        for node in results:
            node.readers += 1
        found.results[key] = results, operands


def symbol_node(
    placeholder: Placeholder, code: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> Node:
    """A value to be given, in C order or in that of `strides`."""
    register.trees = True
    shape = one_tuple(shape)
    strides = one_tuple(c_strides(shape, ITEMSIZES[code]) if strides is None else strides)
    return new_node(SYMBOL, None, (), code, shape, strides, count_of(shape), placeholder)


def drawn_blocks(source: Any, count: int, start: Node, key: Node) -> tuple[Node, Node]:
    """The begin and the key of blocks of random bits as symbols: who calls the tree again takes other blocks.

    Of a generator whose state was set in the function that is being recorded (`default_rng(3)` in its body) they are
    what they are, since each call of the function sets it so.
    """
    if source.set_in is not None and source.set_in is watched():
        return start, key
    begin = Placeholder("random_blocks", start, (source, count))
    found = open_here()
    while found is not None:
        found.draws.append(begin)
        found = None if found.alone else found.outer
    return (
        symbol_node(begin, start.code, ()),
        symbol_node(Placeholder("random_key", key, (source, -1)), key.code, ()),
    )


def watched() -> Recording | None:
    """The body of a function or a loop that is being recorded here, whose draws are watched; None outside of such."""
    found = open_here()
    while found is not None and not found.watches:
        found = found.outer
    return found


def hides(roots: Sequence[Node], ends: Sequence[Node], read: Callable[[Node], Sequence[Node] | None]) -> bool:
    """Whether trees read what was computed outside of them, maybe from ordinary values, which nobody knows any more.

    What was made before all of these was not.

    Parameters
    ----------
    roots, ends : sequence of Node
        The trees, and the values.
    read : callable
        What of a value's arguments counts; None of a value that does not count itself.
    """
    if not ends:
        return False
    wanted = {id(node) for node in ends}
    begin = min([node.era for node in ends])
    seen: set[tuple[int, bool]] = set()
    stack = [(root, False) for root in roots]
    while stack:
        node, outside = stack.pop()
        args = read(node)
        if (id(node), outside) in seen or args is None:
            continue
        seen.add((id(node), outside))
        if id(node) in wanted:
            if outside:
                return True
        elif node.result and not node.args and node.era >= begin:
            return True
        else:
            # Of a view outside of trees nothing is computed.
            stack.extend([(arg, outside or not (node.tree or node.kind == VIEW)) for arg in args])
    return False


def refuse_outside(era: int) -> None:
    """Refuse to write to what was made before the body of a function or a loop that is being recorded here.

    A body is recorded once, so that would be written once, and not in each call or at each step.
    """
    found = open_here()
    while found is not None:
        if era < found.era:
            raise ValueError(
                f"assignment destination is read-only: the body of a {found.watches} is recorded once, so an array "
                "from outside of it would be written to once, and not each time. Write to a copy; hand on what a loop "
                "changes as a part of its state; give what a function changes as a result, or as an update of nl.shared"
            )
        found = found.outer


def waits(operands: Sequence[Node]) -> bool:
    """Whether a routine on these operands becomes a node instead of running."""
    return tracing() or any([node.tree for node in operands])


def sized_by_values(name: str, cure: str = "use where() or a sum with a mask, whose sizes are known") -> TreeError:
    """The error of a call whose result's size follows from values."""
    return TreeError(
        f"the size of what {name} gives follows from values, which a tree does not have: call it before the tree is "
        f"recorded (on computed arrays), or {cure}"
    )


def refuse_trees(nodes: Sequence[Node]) -> None:
    """Raise where memory of a tree's value is asked for."""
    refuse_cuts(nodes)
    for node in nodes:
        if node.tree:
            raise TreeError(_missing([node]))


def _missing(roots: Sequence[Node]) -> str:
    free = [node.attr for node in tree_nodes(roots) if node.kind == SYMBOL and node.attr.value is None]
    names = sorted({one.name for one in free})
    mapped = sorted({one.mapped for one in free if one.mapped})
    if mapped:
        return (
            f"this needs a number, and {' and '.join(names)} of {mapped[0]} {'has' if len(names) == 1 else 'have'} one "
            "for each example: vmap records a function once for all of them. Decide by nl.where or nl.ifelse, take "
            "steps by nl.while_loop; or call the function for one example after the other and nl.stack the results"
        )
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


def is_settled(roots: Sequence[Node]) -> bool:
    """Whether trees have numbers that stay as they are.

    They read no symbols but those of calls that are being differentiated, which stand for the values that they have.
    """
    symbols = [node.attr for node in tree_nodes(roots) if node.kind == SYMBOL]
    return all([symbol.differentiated and symbol.value is not None for symbol in symbols])


def known_values(operands: Sequence[Node], discrete: bool) -> list[Node] | None:
    """Operands of a routine whose results' sizes follow from values, as ordinary recorded work.

    None where these values are not known yet, or where a gradient would have to flow through results that are not
    `discrete`.
    """
    if not is_settled(operands):
        return None
    if not discrete:
        refuse_cuts(operands)
    return concrete_all(operands)


def refuse_cuts(roots: Sequence[Node]) -> None:
    """Raise where a float is asked for that depends on what is being differentiated by.

    A number that leaves a tree is a constant for all that is computed with it, and nobody could see that it is. Truth
    values and integers carry no gradient anyway, so these may be looked at.
    """
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) in seen or not node.tree or not (KINDS[node.code] in "fc" or node.kind == VIEW):
            continue
        seen.add(id(node))
        if node.kind == SYMBOL:
            if node.attr.differentiated:
                raise CutError(_cut(node.attr))
            if node.attr.value is not None:
                stack.append(node.attr.value)
        elif node.kind == OP and node.op_def.gradient is not None:
            stack.extend([arg for arg, rule in zip(node.args, node.op_def.gradient, strict=True) if rule != ZERO])
        else:
            stack.extend(node.args)


def _cut(placeholder: Placeholder) -> str:
    where = here().shown()
    return (
        f"a gradient cannot flow through a number that leaves the tree, and this one depends on {placeholder.name} of "
        f"{placeholder.differentiated}, which is being differentiated; asked for at {where}. Compute with the array "
        "itself (nl.exp(x), not math.exp(x); x, not float(x), x.item(), x.get() or numpy.asarray(x)); decide by "
        "x > 0; or say nl.stop_gradient(x) where a constant is meant"
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
            seen = view(base, node.code, node.attr, node.shape, node.strides)
            # A part of one number is that number, dense: a routine that is bound to addresses reads by other strides.
            if seen.strides == node.strides:
                return seen
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
    """Operands of a routine; of one that changes memory a copy of that where others need the old value."""
    old, new = node.args[0], args[0]
    if not node.op_def.op_def.in_place:
        return args
    if old.tree and old.kind != SYMBOL and not new.readers and not new.storages:
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
    order = tree_nodes(roots, ends)
    values = _Values(roots, [node for node in order if id(node) not in ends])
    try:
        for old, new in known.items():
            values.put(old, fitting(new, old))
        # A symbol that was pickled may be several nodes.
        symbols = {id(old.attr): values.known[id(old)] for old in known if old.kind == SYMBOL}
        for node in order:
            if id(node) in values.known:
                continue
            args = values.args(node)
            # Memory that a routine changes must be nobody else's by then; all else that it reads is held meanwhile.
            changed = 1 if node.kind == ROUTINE and node.op_def.op_def.in_place else 0
            values.let_go(node.args[:changed])
            new = symbols.get(id(node.attr), node) if node.kind == SYMBOL else node
            if node.kind != SYMBOL and (
                anew or any([arg is not before for arg, before in zip(args, node.args, strict=True)])
            ):
                new = recorded_again(node, args)
            values.let_go(node.args[changed:])
            if rule is not None:
                found = rule(new)
                if found is not None and found is not new:
                    new = found if _sees_alike(found, node) else fitting(found, node)
            values.put(node, new)
        return [values.known.get(id(root), root) for root in roots]
    finally:
        values.close()


def _sees_alike(new: Node, old: Node) -> bool:
    """Whether both are views of one layout: of a view there is none, so either will do."""
    return new.kind == old.kind == VIEW and (new.code, new.shape, new.strides) == (old.code, old.shape, old.strides)


class _Values:
    """What stands for the nodes of trees that are recorded again, held until all who read it are recorded.

    A routine runs when it is recorded. What runs along with it must know what others will read later on: that is
    computed with it, and nobody writes to its memory.

    Attributes
    ----------
    known : dict
        Values by the identity of the nodes that they stand for.
    """

    def __init__(self, roots: Sequence[Node], order: Sequence[Node]) -> None:
        self.known: dict[int, Node] = {}
        self._held: dict[int, Node] = {}
        self._reads: dict[int, int] = {}
        for node in (*roots, *[arg for reader in order for arg in reader.args]):
            self._reads[id(node)] = self._reads.get(id(node), 0) + 1

    def put(self, node: Node, new: Node) -> None:
        """Take a value for a node."""
        self.known[id(node)] = new
        if self._reads.get(id(node), 0):
            # Of a view the memory that it sees.
            memory = self._held[id(node)] = new.args[0] if new.kind == VIEW else new
            hold(memory)

    def args(self, node: Node) -> list[Node]:
        """What a node is computed from."""
        return [self.known.get(id(arg), arg) for arg in node.args]

    def let_go(self, read: Sequence[Node]) -> None:
        """A node that reads these is recorded, and counts by itself from now on."""
        for arg in read:
            self._reads[id(arg)] -= 1
            if not self._reads[id(arg)] and id(arg) in self._held:
                unhold(self._held.pop(id(arg)))

    def close(self) -> None:
        """Whoever asked for the values has them."""
        for memory in self._held.values():
            unhold(memory)


def substitute(roots: Sequence[Node], known: Mapping[Node, Node]) -> list[Node]:
    """`rebuilt`, as trees."""
    with recording():
        return rebuilt(roots, known)


def concrete_all(roots: Sequence[Node], known: Mapping[Node, Node] | None = None) -> list[Node]:
    """The trees as ordinary recorded work, over the values that symbols have (or that are given).

    Raises
    ------
    TreeError
        If a symbol has no value.
    """
    with recording(False):
        return rebuilt(roots, _values_of_symbols(roots, known), anew=True)


def valued(roots: Sequence[Node], known: Mapping[Node, Node] | None = None) -> list[Node]:
    """The trees, still trees, with the values that symbols have in their place; TreeError if one has none.

    For who looks at their numbers, as `concrete`.
    """
    refuse_cuts(roots)
    return substitute(roots, _values_of_symbols(roots, known))


def _values_of_symbols(roots: Sequence[Node], known: Mapping[Node, Node] | None) -> dict[Node, Node]:
    given = dict(known or {})
    placeholders = {node.attr for node in given if node.kind == SYMBOL}
    for node in tree_nodes(roots, {id(old): old for old in given}):
        if node.kind == SYMBOL and node not in given and node.attr not in placeholders:
            if node.attr.value is None:
                raise TreeError(_missing(roots))
            value = node.attr.value
            given[node] = concrete_all([value])[0] if value.tree else value
    return given


def concrete(root: Node) -> Node:
    """`concrete_all` of one tree, for who looks at its numbers or takes them out of the tree."""
    refuse_cuts([root])
    return concrete_all([root])[0]


__all__ = [
    "CutError",
    "Placeholder",
    "Recording",
    "TreeError",
    "concrete",
    "concrete_all",
    "drawn_blocks",
    "fitting",
    "hides",
    "is_settled",
    "keep_result",
    "known_values",
    "rebuilt",
    "recorded_again",
    "recording",
    "refuse_cuts",
    "refuse_outside",
    "refuse_trees",
    "result_here",
    "sized_by_values",
    "substitute",
    "symbol_node",
    "tree_nodes",
    "valued",
    "waits",
    "watched",
]
