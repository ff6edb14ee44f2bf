# cython: boundscheck=False, wraparound=False
"""Values: nodes of the recorded graph, and the register of those that live arrays hold.

A node knows its shape, dtype and physical order at once and never changes its value: when it has
been computed it becomes a leaf (it gets a buffer and drops its arguments). Nodes are invisible to
Python's cycle collector, which the graph needs not, since it has no cycles; long chains are freed
without recursion.
"""

from __future__ import annotations

from contextvars import ContextVar
from sys import getrefcount
from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.base.dtypes import BOOL, DTYPES
from numloom.base.errors import untraced

LEAF, SCALAR, FILL, IOTA, VIEW, OP, CAST, REDUCE, GATHER, UPDATE, LOST, SYMBOL, ROUTINE = range(13)
"""Kinds of node. LEAF has a buffer; SCALAR, FILL and IOTA are generated; VIEW reads its argument's
memory through a layout; UPDATE is its first argument with the second written through a layout; LOST failed after its
arguments were let go, and its attribute is why. In trees alone: SYMBOL stands for a value to be given, ROUTINE is what
a routine will give (its op definition is the call itself)."""

KIND_NAMES = (
    "leaf", "scalar", "fill", "iota", "view", "op", "cast", "reduce", "gather", "update", "lost", "symbol", "routine",
)  # fmt: skip


@cython.no_gc
@cython.cclass
class NodeSignature:
    """All of a value but what it is computed from, where it lies and which number it is: what is recorded again.

    Equal values have the same signature, so its number says to a plan key all that a plan may depend on.

    Attributes
    ----------
    kind, row, code, shape, strides, size, attr
        Its node's.
    number : int
        A number of its own.
    computed : NodeSignature or None
        Of such a value when it has been computed, once that has been asked for.
    """

    __slots__ = ("attr", "code", "computed", "kind", "number", "op_def", "shape", "size", "strides")

    kind: int
    op_def: Any
    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    attr: Any
    number: int
    computed: NodeSignature | None


_SIGNATURES_KEPT = 1 << 16
_signatures: dict[Any, NodeSignature] = {}
_signatures_room = _SIGNATURES_KEPT
_last_signature = 0


def signature_by(
    kind: int, op_def: Any, code: int, shape: tuple[int, ...], strides: tuple[int, ...], size: int, attr: Any
) -> NodeSignature:
    """The signature of values that are like this."""
    global _last_signature
    key = (kind, op_def, code, shape, strides, attr)
    signature = _signatures.get(key)
    if signature is None:
        if len(_signatures) >= _signatures_room:
            forget_signatures()
        signature = NodeSignature.__new__(NodeSignature)
        signature.kind = kind
        signature.op_def = op_def
        signature.code = code
        signature.shape = shape
        signature.strides = strides
        signature.size = size
        signature.attr = attr
        signature.computed = None
        _last_signature += 1
        signature.number = _last_signature
        _signatures[key] = signature
    return signature


def _holders(signatures: dict[Any, NodeSignature], key: Any) -> int:
    return getrefcount(signatures[key])


_NOBODY_ELSE = _holders({None: NodeSignature.__new__(NodeSignature)}, None)


def forget_signatures() -> None:
    """Make room in the table of signatures: every other one is forgotten that nothing but the table has.

    Those that others have, tables of what was recorded above all, stay the one signature of their values. A program
    that comes round to more signatures than there is room for finds about half of them again. Numbers are never given
    twice, so plans of forgotten ones are only met no more.
    """
    global _signatures_room
    forget = False
    for key in list(_signatures):
        if _holders(_signatures, key) <= _NOBODY_ELSE:
            forget = not forget
            if forget:
                del _signatures[key]
    if 4 * len(_signatures) > 3 * _signatures_room:  # Most are held: trying again soon would find no more to forget.
        _signatures_room = 2 * len(_signatures)


def signature_of(node: Node) -> NodeSignature:
    """The signature of a value, which it knows from then on.

    Op definitions count by identity, but of gathers, which differ in the source location of their recording alone;
    attributes count where they are no number and no offset.
    """
    signature = node.signature
    if signature is None:
        kind = node.kind
        op_def = node.op_def if kind in (_OP, _REDUCE) else None
        attr = node.attr if kind > _CAST else None
        signature = node.signature = signature_by(kind, op_def, node.code, node.shape, node.strides, node.size, attr)
    return signature


def computed_signature(signature: NodeSignature) -> NodeSignature:
    """The signature of such a value when it has been computed, which is kept."""
    signature.computed = signature_by(
        _LEAF, None, signature.code, signature.shape, signature.strides, signature.size, None
    )
    return signature.computed


@cython.no_gc
@cython.freelist(1024)
@cython.cclass
class Node:
    """One immutable value.

    Attributes
    ----------
    kind : int
        One of the kinds above.
    op_def : OpDef, ReductionDef or None
        The operation's definition.
    args : tuple of Node
        What it is computed from; empty once computed.
    code : int
        dtype code.
    shape, strides : tuple of int
        Logical shape and the physical order: bytes from one element to the next along each axis of
        the value's dense buffer (of a VIEW: of the memory it reads).
    size : int
        Number of elements.
    attr : object
        VIEW: byte offset. SCALAR and FILL: the value. REDUCE: (axes, fast). GATHER: (axes, ...).
        UPDATE: (offset, shape, strides, code) of the written layout. Of what is computed: a copy of its memory on
        the host (a NumPy array), or None where others may change that memory; anything else means nothing.
    buffer : object
        Device memory once computed.
    signature : NodeSignature or None
        Its signature, once somebody has asked for it or it was recorded by one.
    readers : int
        Pending nodes that have this one as an argument (once for each occurrence).
    storages : int
        Storages whose value this is.
    older, newer : Node or None
        Neighbours among the pending values of live arrays, in record order.
    era : int
        How many calls had begun to be learned when it was made (see graph.again).
    tree : bool
        Whether it belongs to a tree: it was made while a tree was recorded, or is computed from a symbol. It is never
        computed itself: what is made of it by `numloom.graph.tree` is.
    result : bool
        Of what is a leaf or a number: whether it was computed from other values, which are let go by then. Data of the
        host, and what was generated from nothing, are not.
    mark, number, seen, word, back : int, int, int, int, Node or None
        Scratch of the walk that is under way (see engine.walk).
    """

    __slots__ = (
        "args",
        "attr",
        "back",
        "buffer",
        "code",
        "era",
        "kind",
        "mark",
        "newer",
        "number",
        "older",
        "op_def",
        "readers",
        "result",
        "seen",
        "shape",
        "signature",
        "size",
        "storages",
        "strides",
        "tree",
        "word",
    )

    kind: int
    op_def: Any
    args: tuple[Node, ...]
    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    attr: Any
    buffer: Any
    signature: NodeSignature | None
    readers: int
    storages: int
    era: int
    tree: bool
    result: bool
    mark: int
    number: int
    seen: int
    word: int
    back: Node | None
    older: Node | None
    newer: Node | None

    def __dealloc__(self) -> None:
        if self.args:
            release(self)

    if not cython.compiled:
        __del__ = __dealloc__

    def __repr__(self) -> str:
        return f"<{name_of(self)} {self.shape} code {self.code}>"


def name_of(node: Node) -> str:
    """What a value is called: its operation, routine or kind."""
    if node.op_def is None:
        return KIND_NAMES[node.kind]
    op_def: Any = node.op_def.op_def if node.kind == ROUTINE else node.op_def
    return str(op_def.name)


_LEAF, _SCALAR, _VIEW, _OP, _CAST, _REDUCE, _SYMBOL, _UPDATE = LEAF, SCALAR, VIEW, OP, CAST, REDUCE, SYMBOL, UPDATE
"""The same, as numbers of C in what is compiled here."""
_NOTHING: tuple[Any, ...] = ()
_DEFERRED_KEPT = 8
_DEPTH = 20
"""Nodes freed one within the other, before the rest waits its turn."""


class Register:
    """What is recorded and not yet run: ends of the list of live pending nodes, and counts for budgets.

    `tracing` counts the trees that are being recorded, of all threads and tasks: where it is 0 nobody needs to ask
    whose (see the function of that name); `open` counts those and what is recorded beside. `trees` says whether there
    ever was a tree, `symbols` whether there may be symbols that no recording made: a user's, and shared variables.
    """

    __slots__ = (
        "deferred_frees", "depth", "era", "limit", "newest", "oldest", "open", "orphan_bytes", "orphan_limit",
        "recorded", "symbols", "tracing", "trees",
    )  # fmt: skip

    oldest: Node | None
    newest: Node | None
    recorded: int
    limit: int
    orphan_limit: int
    orphan_bytes: int
    deferred_frees: list[Any]
    depth: int
    era: int
    tracing: int
    open: int
    trees: bool
    symbols: bool

    def __init__(self) -> None:
        self.oldest = None
        self.newest = None
        self.recorded = 0
        # Recorded operations and bytes beyond which everything is run; the engine keeps them by the settings.
        self.limit = 512
        self.orphan_limit = 1 << 28
        self.orphan_bytes = 0
        # Never emptied: a list that runs empty gives its memory back and asks for it again.
        self.deferred_frees = [None] * _DEFERRED_KEPT
        self.depth = 0
        self.era = 0
        self.tracing = 0
        self.open = 0
        self.trees = False
        self.symbols = False


register = Register()
_register = register
"""The same, found faster by what is compiled here."""

recording_here: ContextVar[Any] = ContextVar("numloom_recording", default=None)
"""The innermost `Recording` that was begun in this context: of a thread, or of a task of asyncio."""


def tracing() -> bool:
    """Whether what is recorded in this context belongs to a tree."""
    if not _register.tracing:
        return False
    found = recording_here.get()
    # One that was ended elsewhere (a generator that another thread let go) may still stand here.
    while found is not None and not found.is_open:
        found = found.outer
    return found is not None and found.trees


@cython.cclass
class Recording:
    """What is recorded while this is open, in the context that opened it: of a thread, or of a task of asyncio.

    It begins and ends in compiled code, where no signal is heard: interrupted half way, it would stay open for good.

    It may be ended in another context, or out of turn, as that of a generator that is let go: it does not count from
    then on, and others that are open do.

    Attributes
    ----------
    trees : bool
        Whether all that is recorded belongs to a tree; else nothing but what reads a symbol.
    outer : Recording or None
        The one that was innermost when it was opened.
    is_open : bool
        Whether it counts.
    watches : str
        What it is the body of, a function or a loop, "" of others: generators that are set in it start anew in each
        call, and it cannot write to what was there before.
    era : int
        When it was opened, if it watches (`Node.era`).
    alone : bool
        Whether outer ones are not told of its draws.
    draws : list of numloom.graph.tree.Placeholder
        The begins of blocks of random bits that its trees have taken, in turn, also within inner ones.
    results : dict
        What routines of several results gave, by name, options and the operands' identities; with the operands, so
        that nothing else is taken for them.
    """

    __slots__ = ("alone", "draws", "era", "is_open", "outer", "results", "trees", "watches")

    alone: bool
    draws: list[Any]
    era: int
    is_open: bool
    outer: Recording | None
    results: dict[Any, tuple[tuple[Node, ...], tuple[Node, ...]]]
    trees: bool
    watches: str

    def __init__(self, trees: bool, watches: str, alone: bool) -> None:
        self.trees = trees
        self.watches = watches
        self.alone = alone
        self.era = 0
        self.outer = None
        self.is_open = False
        self.draws = []
        self.results = {}

    def __enter__(self) -> Recording:
        _register.trees = True
        self.outer = open_here()
        self.is_open = True
        if self.watches:
            _register.era = self.era = _register.era + 1
        _register.open += 1
        if self.trees:
            _register.tracing += 1
        recording_here.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        if self.is_open:
            self.is_open = False
            _register.open -= 1
            if self.trees:
                _register.tracing -= 1
        for found, _ in self.results.values():
            for node in found:
                node.readers -= 1
        self.results = {}
        recording_here.set(open_here())


def open_here() -> Recording | None:
    """The innermost recording of this context that is open."""
    found: Recording | None = recording_here.get()
    while found is not None and not found.is_open:
        found = found.outer
    return found


def _begin(node: Node) -> None:
    """What a compiled node begins with, but for its era."""
    node.buffer = None
    node.signature = None
    node.readers = 0
    node.storages = 0
    node.tree = False
    node.result = False
    node.mark = 0
    node.number = 0
    node.seen = 0
    node.word = 0
    node.back = None
    node.older = None
    node.newer = None


def new_node(
    kind: int,
    op_def: Any,
    args: tuple[Node, ...],
    code: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    size: int,
    attr: Any,
) -> Node:
    """A pending node; its arguments count one reader more each."""
    node = Node.__new__(Node)
    node.kind = kind
    node.op_def = op_def
    node.args = args
    node.code = code
    node.shape = shape
    node.strides = strides
    node.size = size
    node.attr = attr
    if not cython.compiled:
        _begin(node)
    r = _register
    node.era = r.era
    for arg in args:
        arg.readers += 1
    if r.trees:
        join_tree(node)
    return node


def join_tree(node: Node) -> None:
    """A new node belongs to a tree if one is recorded, or if it reads one; what needs no computing does not."""
    if node.kind < _VIEW:
        return
    if node.kind == _SYMBOL or (_register.tracing and tracing()):
        node.tree = True
        return
    for arg in node.args:
        if arg.tree:
            node.tree = True
            return


def recorded_as(signature: NodeSignature, args: tuple[Node, ...]) -> Node:
    """A recorded operation of this signature; the caller counts it as a reader of each argument."""
    node = Node.__new__(Node)
    node.kind = signature.kind
    node.op_def = signature.op_def
    node.args = args
    node.code = signature.code
    node.shape = signature.shape
    node.strides = signature.strides
    node.size = signature.size
    node.attr = signature.attr
    if not cython.compiled:
        _begin(node)
    node.signature = signature
    r = _register
    node.era = r.era
    r.recorded += 1
    if r.trees:
        join_tree(node)
    return node


def viewed(signature: NodeSignature, base: Node, offset: int) -> Node:
    """A view of this signature over the memory of a value, which is no operation."""
    base.readers += 1
    node = Node.__new__(Node)
    node.kind = _VIEW
    node.args = (base,)
    node.code = signature.code
    node.shape = signature.shape
    node.strides = signature.strides
    node.size = signature.size
    node.attr = offset
    if not cython.compiled:
        node.op_def = None
        _begin(node)
    r = _register
    node.era = r.era
    node.signature = signature
    if r.trees:
        join_tree(node)
    return node


def computed(signature: NodeSignature, buffer: Any) -> Node:
    """A computed value of this signature, whose memory is `buffer`: the result of a routine, or of a kept plan."""
    node = Node.__new__(Node)
    node.kind = _LEAF
    node.args = _NOTHING
    node.code = signature.code
    node.shape = signature.shape
    node.strides = signature.strides
    node.size = signature.size
    node.attr = 0
    if not cython.compiled:
        node.op_def = None
        _begin(node)
    r = _register
    node.era = r.era
    node.result = True
    node.buffer = buffer
    node.signature = signature
    return node


def new_number(value: Any, code: int) -> Node:
    """A 0-d value known on the host."""
    node = Node.__new__(Node)
    node.kind = _SCALAR
    node.args = _NOTHING
    node.code = code
    node.shape = _NOTHING
    node.strides = _NOTHING
    node.size = 1
    node.attr = value
    if not cython.compiled:
        node.op_def = None
        _begin(node)
    r = _register
    node.era = r.era
    return node


WEAK_INT, WEAK_FLOAT, WEAK_COMPLEX = 28, 29, 30
"""Codes of Python's numbers among those of operands, whose dtype follows the other operands (NEP 50)."""
_WEAK_INT, _WEAK_FLOAT, _WEAK_COMPLEX = WEAK_INT, WEAK_FLOAT, WEAK_COMPLEX
"""The same, as numbers of C in what is compiled here."""
_integer_range: list[Any] = [
    (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) if dtype.kind in "iu" else None for dtype in DTYPES
]


def weak_code(value: Any) -> int:
    """Give the code of a Python number among those of operands (bool is NumPy's bool, not weak)."""
    kind = type(value)
    if kind is float:
        return _WEAK_FLOAT
    if kind is int:
        return _WEAK_INT
    if kind is bool:
        return BOOL
    if kind is complex:
        return _WEAK_COMPLEX
    raise TypeError(f"expected a Python number, got {type(value).__name__}")


def scalar_as(value: Any, code: int) -> Node:
    """Make a Python number a value of a loop's dtype; OverflowError, as NumPy's, if an integer does not fit."""
    limits = _integer_range[code]
    if limits is not None and not limits[0] <= value <= limits[1]:
        raise OverflowError(f"Python integer {value} out of bounds for {DTYPES[code].name}")
    return new_number(value, code)


def recorded_as1(signature: NodeSignature, a: Node) -> Node:
    """A recorded operation of this signature on one value."""
    a.readers += 1
    return recorded_as(signature, (a,))


def recorded_as2(signature: NodeSignature, a: Node, b: Node) -> Node:
    """A recorded operation of this signature on two values."""
    a.readers += 1
    b.readers += 1
    return recorded_as(signature, (a, b))


def count_reader(node: Node) -> None:
    """One pending node more reads `node`."""
    node.readers += 1


def count_recorded() -> None:
    """One operation more was recorded since the last run."""
    r = _register
    r.recorded += 1


def release(node: Node) -> None:
    """Drop the arguments of a node that is computed or dead; long chains are freed without deep recursion."""
    args = node.args
    node.args = _NOTHING
    for place in range(len(args)):  # A name for the last argument would keep it until we return, one frame deeper.
        cython.cast(Node, args[place]).readers -= 1
    r = _register
    if r is None:  # The interpreter is shutting down.
        return
    if r.depth < _DEPTH:
        r.depth += 1
        args = _NOTHING  # Frees what only they need, by way of this function.
        r.depth -= 1
        if r.depth == 0 and len(r.deferred_frees) > _DEFERRED_KEPT:
            r.depth = 1
            while len(r.deferred_frees) > _DEFERRED_KEPT:
                r.deferred_frees.pop()
            r.depth = 0
    else:
        r.deferred_frees.append(args)


def uncount_reader(node: Node) -> None:
    """One pending node less reads `node`."""
    node.readers -= 1


@cython.no_gc
@cython.cclass
class Reader:
    """Somebody who reads values and is no node: as long as it is there, nobody writes over them.

    It lets go in compiled code. In Python's, Ctrl-C that lands there is swallowed, and values have readers for good.
    """

    __slots__ = ("nodes",)

    nodes: list[Node]

    def __init__(self) -> None:
        self.nodes = []

    def read(self, node: Node) -> None:
        """Read this value, too."""
        self.nodes.append(node)
        node.readers += 1

    def __dealloc__(self) -> None:
        if self.nodes is not None:
            for node in self.nodes:
                cython.cast(Node, node).readers -= 1

    if not cython.compiled:
        __del__ = __dealloc__


def hold(node: Node) -> None:
    """A storage now has this value."""
    node.storages += 1
    # Generated values need no running, and trees are run for who asks.
    if node.storages == 1 and node.buffer is None and node.kind >= _VIEW and not node.tree:
        r = _register
        older = r.newest
        node.older = older
        if older is None:
            r.oldest = node
        else:
            older.newer = node
        r.newest = node


def unhold(node: Node) -> None:
    """A storage no longer has this value."""
    node.storages -= 1
    if node.storages == 0:
        if node.buffer is None:
            if node.kind >= _VIEW:
                leave_live(node)
        elif node.readers:
            r = _register
            if r is not None:  # None: the interpreter is shutting down
                r.orphan_bytes += node.buffer.nbytes


def is_listed(node: Node) -> bool:
    """Whether a node is among the pending values of live arrays: one that could not be computed is no more."""
    return node.older is not None or node.newer is not None or _register.oldest is node


def leave_live(node: Node) -> None:
    """The node is no longer among the pending values of live arrays."""
    r = _register
    if r is None or not is_listed(node):  # None: the interpreter is shutting down.
        return
    older = node.older
    newer = node.newer
    node.older = None
    node.newer = None
    if older is None:
        r.oldest = newer
    else:
        older.newer = newer
    if newer is None:
        r.newest = older
    else:
        newer.older = older


def live_nodes() -> list[Node]:
    """Pending values of live arrays, in record order."""
    found: list[Node] = []
    node = register.oldest
    while node is not None:
        found.append(node)
        node = node.newer
    return found


def become_leaf(node: Node, buffer: Any) -> None:
    """The node has been computed into `buffer`.

    It loses its arguments, but keeps its number, offset and op definition: a later step of the same plan may still read
    them.
    """
    if node.storages and node.buffer is None and node.kind >= _VIEW:
        r = _register
        if r.oldest is node and r.newest is node:
            r.oldest = None
            r.newest = None
        else:
            leave_live(node)
    node.buffer = buffer
    if node.kind > _SCALAR and node.attr is None:  # None would say that others may change the memory.
        node.attr = 0
    base = node.args[0] if node.kind == _UPDATE else None
    for arg in node.args:
        # Else nobody has it who could ask for its gradient; or what was given is written to.
        if arg.kind >= _VIEW or arg.result or (arg.storages and arg is not base):
            node.result = True
    node.kind = _LEAF
    signature = node.signature
    if signature is not None:
        node.signature = computed_signature(signature) if signature.computed is None else signature.computed
    release(node)


def was_stored(node: Node, of_others: bool) -> bool:
    """Something was stored in computed memory at once (True); of others, it makes that their result, of now."""
    node.attr = 0  # It may have been memory that nothing had been written to.
    if of_others:
        node.result = True
        node.era = _register.era
    return True


def lose_value(node: Node, error: Exception) -> None:
    """What was to compute a node that is a leaf already has failed: whoever needs its value gets the error."""
    node.buffer = None
    node.kind = LOST
    node.attr = untraced(error)
    node.signature = None
