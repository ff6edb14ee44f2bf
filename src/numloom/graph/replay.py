"""Recording again what was recorded for operands of the same forms: the nodes are copied, nothing is decided anew.

What a reduction, a product or another composed call becomes (which views, casts, operations and routines, over which
axes, of which dtype and order) follows from the dtype, shape and order of its operands and from its arguments. So what
was recorded the first time says all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.base.dtypes import ITEMSIZES
from numloom.base.forking import anew
from numloom.graph.build import SPECIAL, how
from numloom.graph.layout import Layout, extent_of
from numloom.graph.node import (
    CAST,
    FILL,
    GATHER,
    IOTA,
    LEAF,
    OP,
    REDUCE,
    SCALAR,
    UPDATE,
    VIEW,
    Form,
    Node,
    count_recorded,
    form_by,
    form_of,
    formed,
    formed1,
    formed2,
    live_nodes,
    new_node,
    new_number,
    register,
    viewed,
)
from numloom.graph.place import INSIDE, here

_register = register
_KEPT = 1024
_LINKS = 64
_TRIES = 4
_MADE = 1 << 14
"""Bytes of a value, made of what the host knows, that is kept."""
_REPEATED = (OP, CAST, REDUCE, GATHER, UPDATE)


class Link:
    """One node of a chain.

    Attributes
    ----------
    form : Form or None
        Its form; None of what a routine gives, and of what the host knew.
    first, second : int
        Its arguments: numbers from 0 on are operands, the ones behind them the links in turn; -1 where there is none.
    rest : tuple of int
        Arguments behind the second.
    attr : object
        Of a view, from where its argument begins; of a number or a filled array, which number; of a gather, its place;
        of a value that was made of what the host knows, itself.
    call : callable or None
        What runs a routine on its arguments.
    """

    __slots__ = ("attr", "call", "first", "form", "rest", "second")

    form: Form | None
    first: int
    second: int
    rest: tuple[int, ...]
    attr: Any
    call: Any

    def __init__(self, form: Form | None, args: Sequence[int], attr: Any = None, call: Any = None) -> None:
        self.form = form
        self.first = args[0] if args else -1
        self.second = args[1] if len(args) > 1 else -1
        self.rest = tuple(args[2:])
        self.attr = attr
        self.call = call


class Mold:
    """What counts of an operand: dtype code, shape and order, and whether it is a view."""

    __slots__ = ("code", "seen", "shape", "strides")

    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    seen: bool

    def __init__(self, node: Node) -> None:
        self.code = node.code
        self.shape = node.shape
        self.strides = node.strides
        self.seen = node.kind == VIEW


class Chain:
    """What one call recorded, for one form of its operands and its arguments.

    Attributes
    ----------
    given : object
        The call's other arguments.
    molds, first : list of Mold, Mold
        Of its operands, and of the first one.
    shared : object
        How operands share memory, see `sharing`.
    links : list of Link
        What follows the operands; the last one is the result.
    straight : bool
        Whether each is an operation on the one before, the first on the first operand.
    ending : object
        How an array is made of the result, if not by wrapping it.
    results : tuple of int or None
        Of several results, their numbers; -1 of one that is a view of an operand.
    """

    __slots__ = ("ending", "first", "given", "links", "molds", "results", "shared", "straight")

    given: Any
    first: Mold | None
    molds: list[Mold]
    shared: Any
    links: list[Link]
    straight: bool
    ending: Any
    results: tuple[int, ...] | None

    def __init__(
        self, given: Any, operands: list[Node], links: list[Link], ending: Any, results: tuple[int, ...] | None
    ) -> None:
        self.given = given
        self.results = results
        self.molds = [Mold(node) for node in operands]
        self.first = self.molds[0] if operands else None
        self.shared = sharing(operands)
        self.links = links
        self.ending = ending
        self.straight = bool(links) and results is None
        behind = len(operands) - 1
        for place, link in enumerate(links):
            simple = link.form is not None and link.form.kind in (OP, CAST, REDUCE) and link.second < 0
            if not simple or link.first != (behind + place if place else 0):
                self.straight = False


class Chains:
    """The chains of one function.

    Attributes
    ----------
    known : dict
        Chains by their form.
    last : Chain or None
        The one used last.
    met : dict
        How often a form was met that has no chain.
    """

    __slots__ = ("known", "last", "met")

    known: dict[Any, Chain]
    last: Chain | None
    met: dict[Any, int]

    def __init__(self) -> None:
        self.known = {}
        self.last = None
        self.met = {}


def find(chains: Chains, given: Any, operands: list[Node]) -> Chain | None:
    """What is known of a call with these arguments (`given`, which is hashed and compared) and operands."""
    if _off or not can_follow(operands):
        return None
    chain = chains.last
    if chain is None or not _fits(chain, given, operands):
        chain = chains.known.get(_key(given, operands))
        if chain is None:
            return None
        chains.last = chain
    return chain


def again(chains: Chains, given: Any, operand: Node) -> Node | None:
    """What the chain used last records, if it is the one of a call of one operand and straight."""
    chain = chains.last
    if _off or chain is None or chain.given is not given or not chain.straight or LEAF < operand.kind < VIEW:
        return None
    mold = chain.first
    assert mold is not None
    if (
        mold.shape is not operand.shape
        or mold.strides is not operand.strides
        or mold.code != operand.code
        or mold.seen != (operand.kind == VIEW)
        or len(chain.molds) != 1
    ):
        return None
    for link in chain.links:
        operand = formed1(cython.cast(Link, link).form, operand)
    return operand


def replay(chain: Chain, operands: list[Node]) -> Node:
    """Record a chain for its operands, a list that grows by its values; the result."""
    if chain.straight:
        node = operands[0]
        for link in chain.links:
            node = formed1(link.form, node)  # type: ignore[arg-type]
        return node
    values = operands
    for link in chain.links:
        form = link.form
        if form is None:
            if link.call is None:
                values.append(link.attr)
                if _traces:
                    made(link.attr)
            elif link.rest:
                values.append(link.call(values[link.first], values[link.second], *[values[k] for k in link.rest]))
            elif link.second >= 0:
                values.append(link.call(values[link.first], values[link.second]))
            elif link.first >= 0:
                values.append(link.call(values[link.first]))
            else:
                values.append(link.call())
            continue
        if form.kind == GATHER:
            args = [values[link.first], values[link.second]]
            for place in link.rest:
                args.append(values[place])
            row = link.attr
            count_recorded()
            values.append(
                new_node(
                    GATHER, row if row is INSIDE else here(row.complaint), tuple(args), form.code, form.shape,
                    form.strides, form.size, form.attr,
                )
            )  # fmt: skip
        elif link.second >= 0:
            if link.rest:
                args = [values[link.first], values[link.second]]
                for place in link.rest:
                    args.append(values[place])
                for node in args:
                    node.readers += 1
                values.append(formed(form, tuple(args)))
            else:
                values.append(formed2(form, values[link.first], values[link.second]))
        elif form.kind == VIEW:
            node = values[link.first]
            offset = link.attr
            if node.kind == VIEW:
                offset += node.attr
                node = node.args[0]
            if offset == 0 and node.code == form.code and node.shape is form.shape and node.strides is form.strides:
                values.append(node)
            else:
                values.append(viewed(form, node, offset))
        elif form.kind == SCALAR:
            values.append(new_number(link.attr, form.code))
        elif link.first < 0:
            if form.kind == FILL:
                count_recorded()
            values.append(new_node(form.kind, None, (), form.code, form.shape, form.strides, form.size, link.attr))
        else:
            values.append(formed1(form, values[link.first]))
    return values[len(values) - 1]


def can_follow(operands: list[Node]) -> bool:
    """Whether the forms of operands say what is recorded: of numbers known on the host other things may be.

    The order of several values may depend on what one was before it was converted.
    """
    alone = len(operands) == 1
    for node in operands:
        if LEAF < node.kind < VIEW or (not alone and how(node) == SPECIAL):
            return False
        # A part of a complex number is an operation on it, made anew with its filled array at each look.
        if node.kind == VIEW or (node.kind == OP and len(node.args) == 1):
            base = node.args[0]
            if base.kind == SCALAR or base.kind == FILL:
                return False
    return True


def sharing(operands: list[Node]) -> Any:
    """Which operands are of one memory, and where the later ones begin; None where each has its own."""
    found: Any = None
    for place in range(1, len(operands)):
        memory = _memory(operands[place])
        for other in range(place):
            if _memory(operands[other]) is memory:
                begins = _begin(operands[place]) - _begin(operands[other])
                found = (place, other, begins) if found is None else (place, other, begins, found)
                break
    return found


def _fits(chain: Chain, given: Any, operands: list[Node]) -> bool:
    """Whether a chain is that of a call."""
    if chain.given is not given or len(chain.molds) != len(operands):
        return False
    for place, node in enumerate(operands):
        mold = chain.molds[place]
        if (
            mold.shape is not node.shape
            or mold.strides is not node.strides
            or mold.code != node.code
            or mold.seen != (node.kind == VIEW)
        ):
            return False
    if len(operands) == 1:
        return True
    shared = sharing(operands)
    return chain.shared is None if shared is None else chain.shared == shared  # type: ignore[no-any-return]


def _key(given: Any, operands: list[Node]) -> Any:
    """What a chain is found by."""
    key = [given]
    for node in operands:
        key.append(node.code)
        key.append(node.shape)
        key.append(node.strides)
        key.append(node.kind == VIEW)
    if len(operands) > 1:
        key.append(sharing(operands))
    return tuple(key)


def _memory(node: Node) -> Node:
    """What a value is a view of, or itself."""
    return node.args[0] if node.kind == VIEW else node


def _begin(node: Node) -> int:
    """Where in that memory it begins."""
    return node.attr if node.kind == VIEW else 0


# ---------------------------------------------------------------- learning


class Trace:
    """What a call records and runs, while it is under way.

    Attributes
    ----------
    key : object
        By which its chain will be found.
    operands : list of Node
        Its operands.
    links : list of Link
        What is known to lead from them, needed or not.
    met : dict
        Numbers of values by their identity.
    kept : list of Node
        Those values, so that nothing else has their identity.
    lost : bool
        Whether something happened that no chain can do again.
    keeps : bool
        Whether its chain may have values in memory, since it is for one device.
    era : int
        Values of earlier eras were there before the call began: of these a chain knows its operands alone.
    """

    __slots__ = ("era", "keeps", "kept", "key", "links", "lost", "met", "operands")

    def __init__(self, key: Any, operands: list[Node], keeps: bool = False) -> None:
        self.keeps = keeps
        self.key = key
        self.operands = operands
        self.links: list[Link] = []
        self.met: dict[int, int] = {}
        self.kept: list[Node] = []
        self.lost = False
        register.era = self.era = register.era + 1

    def number(self, node: Node) -> int:
        """Number of a value among operands and links, which it joins with all that it needs; -1 where it cannot.

        What is neither an operand, nor seen through one, nor made since the call began, nor declared by `made`, is not
        to be had in another call. So a chain depends on nothing but operands and arguments.
        """
        for place, operand in enumerate(self.operands):
            if _same(node, operand):
                return place
        if id(node) in self.met:
            return self.met[id(node)]
        # A view that was there before is of what some operand was computed from: where it begins no argument says.
        seen = self._through(node) if node.kind != VIEW or node.era >= self.era else None
        if seen is not None:
            return self.join(node, seen)
        if node.era < self.era:
            return -1
        # Taken down at once: what numbers the arguments may be interrupted by a thread that computes the node.
        kind, form, needs = node.kind, form_of(node), node.args
        attr: Any = None
        if kind in (SCALAR, FILL, IOTA, VIEW):
            attr = node.attr
        elif kind == GATHER:
            attr = node.row
        elif kind not in _REPEATED:
            return -1
        args = [self.number(arg) for arg in needs]
        return -1 if -1 in args else self.join(node, Link(form, args, attr))

    def _through(self, node: Node) -> Link | None:
        """The link of a value that is in the memory of an operand, and there within what the operand is."""
        base, begin = _memory(node), _begin(node)
        for place, operand in enumerate(self.operands):
            if _memory(operand) is base and (operand.kind == VIEW or node.kind == VIEW):
                low, high = _extent(node)
                first, last = _extent(operand)
                if first <= low and high <= last:
                    form = form_by(VIEW, None, node.code, node.shape, node.strides, node.size, None)
                    return Link(form, [place], begin - _begin(operand))
        return None

    def join(self, node: Node, link: Link) -> int:
        """The number of a value that has a link now; -1 where there are too many."""
        if len(self.links) >= _LINKS:
            return -1
        self.links.append(link)
        self.kept.append(node)
        self.met[id(node)] = number = len(self.operands) + len(self.links) - 1
        return number

    def keep(self, node: Node) -> int:
        """The number of a value that was made of what the host knows, for whoever makes it in a call that is learned
        makes it of the arguments, or has always had it.
        """
        if not self.keeps or node.size * ITEMSIZES[node.code] > _MADE:
            return -1
        return self.met[id(node)] if id(node) in self.met else self.join(node, Link(None, (), node))

    def needed(self, results: list[int]) -> tuple[list[Link], tuple[int, ...]]:
        """The links that lead to values, numbered anew, the last one of these the last; numbers of the values."""
        first, last = len(self.operands), max(results)
        wanted = {*results}
        for number in range(last, first - 1, -1):
            if number in wanted:
                wanted.update(_args(self.links[number - first]))
        kept = [number for number in range(first, last + 1) if number in wanted]
        again = {**{number: number for number in range(first)}, **{old: first + new for new, old in enumerate(kept)}}
        links = [self.links[number - first] for number in kept]
        renumbered = [Link(link.form, [again[arg] for arg in _args(link)], link.attr, link.call) for link in links]
        return renumbered, tuple([again.get(number, -1) for number in results])


def _args(link: Link) -> list[int]:
    """Numbers of a link's arguments."""
    return [arg for arg in (link.first, link.second, *link.rest) if arg >= 0]


_off = False
"""Whether all calls are done in full, and none is learned."""
_traces: list[Trace] = []
"""The calls that are being learned, of all threads: what others record meanwhile leads to none of their results."""


def begin(chains: Chains, given: Any, operands: list[Node], keeps: bool = False) -> Trace | None:
    """Learn the call that follows, until `end`; None where that would not help, also where all runs at once.

    With `keeps` chains are those of one device alone.

    A form is learned when it is met again: of sizes that change from call to call nothing would be used.
    """
    if _off or register.tracing or register.recorded > register.limit or not can_follow(operands):
        return None
    key = _key(given, operands)
    times = chains.met.get(key, 0)
    if len(chains.met) >= _KEPT:
        chains.met.clear()
    chains.met[key] = times + 1
    if not 0 < times <= _TRIES:
        return None
    return start(key, list(operands), keeps)


def start(key: Any, operands: list[Node], keeps: bool) -> Trace:
    """Learn what follows, until `end`; the operands may be told later."""
    trace = Trace(key, operands, keeps)
    _traces.append(trace)
    return trace


def end(trace: Trace | None) -> None:
    """What follows is no part of the call."""
    if trace is not None:
        _traces.remove(trace)


def learn(chains: Chains, trace: Trace, given: Any, result: Any, ending: Any = None) -> None:
    """Keep what a call did, if its result follows from its operands.

    A result is a value, or None: a view of an operand, as `ending` says; several are a list.
    """
    several = type(result) is list
    numbers = [-1 if node is None else trace.number(node) for node in (result if several else [result])]
    known = [number for node, number in zip(result if several else [result], numbers, strict=True) if node is not None]
    if trace.lost or any([number < len(trace.operands) for number in known]):
        return
    if len(chains.known) >= _KEPT:
        chains.known.clear()
    links, places = trace.needed(numbers) if known else ([], (-1,) * len(numbers))
    for link in links:
        if link.form is None and link.call is None:
            link.attr.cells += 1  # It is the chain's, so nobody writes to it.
    chains.met.pop(trace.key, None)
    chains.known[trace.key] = Chain(given, trace.operands, links, ending, places if several else None)


def _forget_traces() -> None:
    """In a child process the threads are not there that learn."""
    _traces.clear()


anew(_forget_traces)


def learning() -> bool:
    """Whether a call is being learned, or a tree recorded: nothing is done at once."""
    return bool(_traces) or _register.tracing > 0


@contextmanager
def in_full() -> Iterator[None]:
    """Have all calls done in full meanwhile."""
    global _off
    before, _off = _off, True
    try:
        yield
    finally:
        _off = before


def made(node: Node) -> None:
    """A value was made of what the host knows of a call's arguments, or is the same for all calls."""
    for trace in _traces:
        trace.keep(node)


def arguments(operands: Sequence[Node]) -> list[tuple[Trace, list[int]]]:
    """What a routine is about to read, as the calls that are being learned know it."""
    if not _traces:
        return []
    found = [(trace, [trace.number(node) for node in operands]) for trace in _traces]
    # What is pending is computed along with them, and nobody would know then what it was computed of.
    for node in live_nodes():
        for trace in _traces:
            trace.number(node)
    return found


def called(known: list[tuple[Trace, list[int]]], call: Callable[..., Node], result: Node) -> None:
    """A routine gave a value."""
    for trace, numbers in known:
        if -1 not in numbers:
            trace.join(result, Link(None, numbers, None, call))


def lose() -> None:
    """What no link says happens: memory of a computed value changes in place, or a value is looked at."""
    for trace in _traces:
        trace.lost = True


def _same(a: Node, b: Node) -> bool:
    """Whether two nodes are one value: an array that is a view, or a complex part, gives a new one at each look."""
    if a is b:
        return True
    if a.kind != b.kind or (a.kind != VIEW and a.kind != OP) or len(a.args) != 1 or a.row is not b.row:
        return False
    if (a.attr, a.code, a.shape, a.strides) != (b.attr, b.code, b.shape, b.strides):
        return False
    first, second = a.args[0], b.args[0]
    return first is second or (a.kind == OP and first.kind == VIEW and _same(first, second))


def _extent(node: Node) -> tuple[int, int]:
    """From where to where a value lies in its memory, in bytes."""
    return extent_of(Layout(_begin(node), node.shape, node.strides), ITEMSIZES[node.code])


__all__ = [
    "Chain",
    "Chains",
    "Trace",
    "again",
    "arguments",
    "begin",
    "called",
    "end",
    "find",
    "in_full",
    "learn",
    "learning",
    "lose",
    "made",
    "replay",
    "start",
]
