# cython: boundscheck=False, wraparound=False
"""From values to a plan key: one iterative pass over what is pending.

The key says everything that a plan may depend on: operations, dtypes, shapes, orders, who is held
by a live array. It says nothing of addresses, offsets of views over computed memory, or numbers,
which are bound when the plan runs.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.base.errors import untraced
from numloom.base.memo import Memo
from numloom.engine.reference import order_of
from numloom.graph.layout import displacement
from numloom.graph.node import FILL, LEAF, LOST, OP, SCALAR, UPDATE, VIEW, Node, is_listed, register, signature_of
from numloom.plan.nearby import PLACES


@cython.no_gc
@cython.freelist(4)
@cython.cclass
class Walk:
    """What one pass met.

    Attributes
    ----------
    nodes : list of Node
        In the order of the walk (arguments first); the list may be longer than it.
    count, roots : int
        Number of nodes, and of roots among them.
    updates : bool
        Whether a node writes into memory.
    begins : dict or None
        Where views of a memory begin that are near none before, if there are several.
    first, second : int
        The plan key: two 64-bit hashes.
    """

    __slots__ = ("begins", "count", "first", "nodes", "roots", "second", "updates")

    nodes: list[Node]
    count: int
    roots: int
    updates: bool
    begins: Any
    first: int
    second: int


class Epoch:
    """Numbers walks, so that a node knows whether the walk under way has met it.

    Attributes
    ----------
    number : int
        Of the walk under way.
    spare : list or None
        The list of the last walk, empty but as long as it was: growing one costs more than the visit.
    only : list of Node or None
        The values that run now, where not all that is pending belongs to the current device.
    """

    __slots__ = ("number", "only", "spare")

    number: int
    spare: Any
    only: Any

    def __init__(self) -> None:
        self.number = 0
        self.spare = []
        self.only = None


_epoch = Epoch()
_numbers = Memo(1 << 16)
_near = Memo(1 << 16)
_last_number = 0
_MASK = 0xFFFFFFFFFFFFFFFF
_P1 = 0x9E3779B97F4A7C15
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x100000001B3
_P4 = 0x9FB21C651E98DF25
_P5 = 0xD6E8FEB86659FD93


def pending_roots(wanted: Any) -> list[Node]:
    """What an observation of `wanted` runs: every pending value of a live array, in record order.

    Generated values (filled arrays, counters) that nobody asked for wait: they keep nothing alive. What could not be
    computed when it last was tried is tried again when it is asked for.
    """
    r = register
    r.recorded = 0
    r.orphan_bytes = 0
    roots: list[Node] = []
    if _epoch.only is not None:
        for node in _epoch.only:
            if node.buffer is None:
                roots.append(node)
        return roots
    generated = False
    live = r.oldest
    while live is not None:
        roots.append(live)
        live = live.newer
    for node in wanted:
        if node.buffer is None and (node.storages == 0 or node.kind < VIEW or not is_listed(node)):
            generated = True
            roots.append(node)
    return roots if not generated else list(dict.fromkeys(roots))


def walk(roots: list[Node]) -> Walk:
    """Visit everything that the roots need and is not computed yet, and the leaves they read."""
    found = new_walk()
    for root in roots:
        visit(found, root)
    make_key(found)
    del found.nodes[found.count :]
    return found


def walk_pending(wanted: list[Node]) -> Walk:
    """`walk` of `pending_roots`, without a list of them; give the nodes back by `end_walk`."""
    r = register
    r.recorded = 0
    r.orphan_bytes = 0
    found = new_walk()
    if _epoch.only is not None:
        for node in _epoch.only:
            if node.buffer is None:
                visit(found, node)
        if found.roots:
            make_key(found)
        return found
    live = r.oldest
    while live is not None:
        visit(found, live)
        live = live.newer
    for node in wanted:
        if node.buffer is None and (node.storages == 0 or node.kind < VIEW or not is_listed(node)):
            visit(found, node)
    if found.roots:
        make_key(found)
    return found


def run_only(roots: Any) -> Any:
    """From now on these values are all that is pending (None: what is recorded, as ever); what it was before."""
    before = _epoch.only
    _epoch.only = roots
    return before


def next_epoch() -> int:
    """Nothing is met yet."""
    _epoch.number += 1
    return _epoch.number


def new_walk() -> Walk:
    """A walk that has met nothing yet."""
    found = Walk.__new__(Walk)
    found.nodes = _epoch.spare if _epoch.spare is not None else []
    _epoch.spare = None
    found.count = 0
    found.roots = 0
    found.updates = False
    found.begins = None
    _epoch.number += 1
    return found


def is_under_way(root: Node) -> bool:
    """Whether a value is computed by the last walk, or from what is: nobody else may compute it meanwhile."""
    for node in order_of([root]):
        if node.buffer is None and node.mark == _epoch.number and (node is root or node.kind >= OP):
            return True
    return False


def end_walk(found: Walk) -> None:
    """Forget the nodes, and keep their list for the next walk."""
    nodes: list[Any] = found.nodes
    for position in range(found.count - 1, -1, -1):  # What is computed from others first: nothing is freed in depth.
        nodes[position] = None
    _epoch.spare = nodes


def visit(found: Walk, root: Node) -> None:
    """Visit what one root needs and was not met yet.

    While a node is under visit, its `number` is the argument to look at next, and `back` the node from which it was
    reached; then `number` is its place in the order. `word` says which arguments it has.
    """
    epoch = _epoch.number
    found.roots += 1
    if root.mark == epoch:
        return
    nodes: list[Any] = found.nodes
    room = len(nodes)
    count = found.count
    root.mark = epoch
    root.number = 0
    root.seen = 0
    root.word = 0
    node = root
    while True:
        args = node.args
        position = node.number
        if position < len(args):
            node.number = position + 1
            arg = args[position]
            if arg.mark == epoch:
                arg.seen += 1
                node.word = (node.word * _P5 + arg.number + 1) & _MASK
            else:
                arg.mark = epoch
                arg.seen = 1
                if arg.kind <= SCALAR:
                    arg.number = count
                    arg.word = 0
                    if count < room:
                        nodes[count] = arg
                    else:
                        nodes.append(arg)
                    count += 1
                    node.word = (node.word * _P5 + count) & _MASK
                else:
                    arg.number = 0
                    arg.word = 0
                    arg.back = node
                    node = arg
        else:
            node.number = count
            if count < room:
                nodes[count] = node
            else:
                nodes.append(node)
            count += 1
            if node.kind == UPDATE:
                found.updates = True
            parent = node.back
            if parent is None:
                break
            node.back = None
            node = parent
            node.word = (node.word * _P5 + count) & _MASK
    found.count = count


def make_key(found: Walk) -> None:
    """Set the structural key of a walk: two independent 64-bit hashes of everything a plan may depend on."""
    nodes = found.nodes
    updates = found.updates
    first = (_P1 + found.roots) & _MASK
    second = (_P2 + found.roots) & _MASK
    for position in range(found.count):
        node = nodes[position]
        kind = node.kind
        # Held by a live array, or read by pending work outside of this walk.
        word = 1 if node.storages else 0
        if node.readers > node.seen:
            word += 2
        if kind == SCALAR:
            word += node.code * 4
            first = ((first ^ word) * _P3) & _MASK
            second = ((second + word) * _P4) & _MASK
            continue
        signature = node.signature
        if signature is None:
            if kind == LOST:
                raise untraced(node.attr)
            signature = signature_of(node)
        word = (word + 4 * signature.number + 256 + node.word * _P5) & _MASK
        if kind == LEAF:
            buffer = node.buffer
            number = buffer.ptr
            word += (number & 15) << 40
        elif kind == VIEW:
            base = node.args[0]
            if base.buffer is None or updates:
                number = node.attr
                word = (word * 69073 + number + 1) & _MASK
            else:
                number = node.attr
                word += (number & 15) << 40
                # What the planner may know of where views begin: which earlier one is near, and how near.
                if base.word == 0:
                    base.word = number + 1
                elif base.word == number + 1:
                    word += 35184372088832
                else:
                    begins = found.begins
                    if begins is None:
                        begins = found.begins = {}
                    known = begins.get(base.number)
                    if known is None:
                        known = begins[base.number] = [base.word - 1]
                    word = (word * 69073 + near_number(known, number, node.strides)) & _MASK
        elif kind == FILL and node.attr is None:
            word += 17592186044416
        first = ((first ^ word) * _P3) & _MASK
        first = first ^ (first >> 29)
        second = ((second + word) * _P4) & _MASK
        second = second ^ (second >> 32)
    found.first = first
    found.second = second


def near_number(known: list[int], number: int, strides: tuple[int, ...]) -> int:
    """Which of the views that began at `known` offsets another one is near to, and how near; see `plan.nearby`."""
    for place, begin in enumerate(known):
        key = (number - begin, strides)
        near = _near.entries.get(key)
        if near is None:
            by = displacement(number - begin, strides)
            near = _near.keep(key, 0 if by is None else number_of(by))
        if near:
            return near * PLACES + place
    if len(known) < PLACES:
        known.append(number)
    return 0


def number_of(thing: Any) -> int:
    """A number of its own for each different attribute or distance met so far."""
    global _last_number
    number = _numbers.entries.get(thing)
    if number is None:
        # Numbers are never given twice, so what was known by a forgotten one is only met no more.
        _last_number += 1
        number = _numbers.keep(thing, _last_number)
    return number  # type: ignore[no-any-return]
