"""Recording again what was recorded for operands of the same forms: the nodes are copied, nothing is decided anew.

What a reduction or a product becomes (which views, casts and operations, over which axes, of which dtype and order)
follows from the dtype, shape and order of its operands and from its arguments. So the nodes that were recorded the
first time say all.
"""

from __future__ import annotations

from typing import Any

from numloom.graph.build import SPECIAL, how
from numloom.graph.node import CAST, LEAF, OP, REDUCE, VIEW, Form, Node, form_of, formed1, formed2, viewed

_KEPT = 1024
_LINKS = 16


class Link:
    """One node of a chain.

    Attributes
    ----------
    form : Form
        Its form.
    first, second : int
        Its arguments: 0 and 1 are the operands, others the links in turn; `second` is -1 where there is none.
    offset : int
        Of a view, from where its argument begins.
    """

    __slots__ = ("first", "form", "offset", "second")

    form: Form
    first: int
    second: int
    offset: int

    def __init__(self, form: Form, first: int, second: int, offset: int) -> None:
        self.form = form
        self.first = first
        self.second = second
        self.offset = offset


class Chain:
    """What one call recorded, for one form of its operands and its arguments.

    Attributes
    ----------
    code, shape, strides, seen
        The first operand's dtype code, shape and order, and whether it was a view.
    other_code, other_shape, other_strides, other_seen
        The second one's; a code of -1 where there is none.
    axis, keepdims
        The call's other arguments.
    links : list of Link
        What follows the operands; the last one is the result.
    straight : bool
        Whether each is an operation on the one before, the first on the first operand.
    """

    __slots__ = (
        "axis", "code", "keepdims", "links", "other_code", "other_seen", "other_shape", "other_strides", "seen",
        "shape", "straight", "strides",
    )  # fmt: skip

    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    seen: bool
    other_code: int
    other_shape: tuple[int, ...]
    other_strides: tuple[int, ...]
    other_seen: bool
    axis: Any
    keepdims: bool
    links: list[Link]
    straight: bool

    def __init__(self, a: Node, b: Node | None, axis: Any, keepdims: bool, links: list[Link]) -> None:
        self.code = a.code
        self.shape = a.shape
        self.strides = a.strides
        self.seen = a.kind == VIEW
        self.other_code = -1
        self.other_shape = ()
        self.other_strides = ()
        self.other_seen = False
        if b is not None:
            self.other_code = b.code
            self.other_shape = b.shape
            self.other_strides = b.strides
            self.other_seen = b.kind == VIEW
        self.axis = axis
        self.keepdims = keepdims
        self.links = links
        self.straight = True
        for place, link in enumerate(links):
            if link.form.kind == VIEW or link.second >= 0 or link.first != (place + 1 if place else 0):
                self.straight = False


class Chains:
    """The chains of one function.

    Attributes
    ----------
    known : dict
        Chains by their form.
    last : Chain or None
        The one used last.
    """

    __slots__ = ("known", "last")

    known: dict[Any, Chain]
    last: Chain | None

    def __init__(self) -> None:
        self.known = {}
        self.last = None


def replay(chains: Chains, a: Node, b: Node | None, axis: Any, keepdims: bool) -> Node | None:
    """What a call with these arguments (an `axis` of integers) records for its operands; None where it is not known."""
    chain = chains.last
    if chain is None or not _fits(chain, a, b, axis, keepdims):
        if not _can_follow(a, b):
            return None
        chain = chains.known.get(_key(a, b, axis, keepdims))
        if chain is None:
            return None
        chains.last = chain
    elif not _can_follow(a, b):
        return None
    node = a
    if chain.straight:
        for link in chain.links:
            node = formed1(link.form, node)
        return node
    values: list[Any] = [a, b]
    for link in chain.links:
        node = values[link.first]
        form = link.form
        if link.second >= 0:
            node = formed2(form, node, values[link.second])
        elif form.kind != VIEW:
            node = formed1(form, node)
        elif node.kind == VIEW:
            node = viewed(form, node.args[0], node.attr + link.offset)
        else:
            node = viewed(form, node, link.offset)
        values.append(node)
    return node


def _can_follow(a: Node, b: Node | None) -> bool:
    """Whether the forms of operands say what is recorded: of numbers known on the host other things may be.

    The order of two values may depend on what one was before it was converted.
    """
    if b is None:
        return not LEAF < a.kind < VIEW
    return not (LEAF < a.kind < VIEW or LEAF < b.kind < VIEW or how(a) == SPECIAL or how(b) == SPECIAL)


def _fits(chain: Chain, a: Node, b: Node | None, axis: Any, keepdims: bool) -> bool:
    """Whether a chain is that of a call."""
    if (
        chain.axis is not axis
        or chain.shape is not a.shape
        or chain.strides is not a.strides
        or chain.code != a.code
        or chain.seen != (a.kind == VIEW)
        or chain.keepdims != keepdims
    ):
        return False
    if b is None:
        return chain.other_code < 0
    return (
        chain.other_shape is b.shape
        and chain.other_strides is b.strides
        and chain.other_code == b.code
        and chain.other_seen == (b.kind == VIEW)
    )


def _key(a: Node, b: Node | None, axis: Any, keepdims: bool) -> Any:
    """What a chain is found by."""
    seen = a.kind == VIEW
    if b is None:
        return a.code, a.shape, a.strides, seen, axis, keepdims
    other = b.kind == VIEW
    return a.code, a.shape, a.strides, seen, axis, keepdims, b.code, b.shape, b.strides, other


def learn(chains: Chains, a: Node, b: Node | None, axis: Any, keepdims: bool, result: Node) -> None:
    """Keep how `result` was recorded, if it follows from the operands in a few steps."""
    if not _can_follow(a, b) or (b is not None and _memory(a) is _memory(b)):  # Which of the two was meant?
        return
    links: list[Link] = []
    if _trace(result, [a] if b is None else [a, b], links, {}) >= 0 and links:
        if len(chains.known) >= _KEPT:
            chains.known.clear()
        chains.known[_key(a, b, axis, keepdims)] = Chain(a, b, axis, keepdims, links)


def _memory(node: Node) -> Node:
    """What a value is a view of, or itself."""
    return node.args[0] if node.kind == VIEW else node


def _trace(node: Node, operands: list[Node], links: list[Link], met: dict[int, int]) -> int:
    """Number of a node among operands and links, which it joins with all that it needs; -1 where it cannot."""
    for place, operand in enumerate(operands):
        if node is operand or _same_view(node, operand):
            return place
    if id(node) in met:
        return met[id(node)]
    if len(links) >= _LINKS:
        return -1
    second, offset = -1, 0
    if node.kind == VIEW:
        base = node.args[0]
        offset = node.attr
        first = -1
        for place, operand in enumerate(operands):
            if _memory(operand) is base:
                first = place
                offset -= operand.attr if operand.kind == VIEW else 0
        if first < 0:
            first = _trace(base, operands, links, met)
    elif node.kind in (OP, CAST, REDUCE) and len(node.args) <= 2:
        first = _trace(node.args[0], operands, links, met)
        if len(node.args) == 2:
            second = _trace(node.args[1], operands, links, met)
            if second < 0:
                return -1
    else:
        return -1
    if first < 0:
        return -1
    links.append(Link(form_of(node), first, second, offset))
    met[id(node)] = 1 + len(links)
    return 1 + len(links)


def _same_view(a: Node, b: Node) -> bool:
    """Whether two nodes are the same view: an array gives a new one at each look."""
    if a.kind != VIEW or b.kind != VIEW or a.args[0] is not b.args[0]:
        return False
    return (a.attr, a.code, a.shape, a.strides) == (b.attr, b.code, b.shape, b.strides)


__all__ = ["Chains", "learn", "replay"]
