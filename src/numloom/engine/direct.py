# cython: boundscheck=False, wraparound=False
"""One or two operations on computed values, evaluated again: straight from the node to the launch.

Where one pending node is all that is to run, what a walk would put into the plan key is compared with what it was when
the plan was found by a walk. This is a shorter way to the same plan, never another one.
"""

from __future__ import annotations

from typing import Any

from numloom.engine.execute import Ready, ReadyPlan, count_kernel, pack
from numloom.graph.node import CAST, LEAF, OP, REDUCE, SCALAR, Node, become_leaf

_SLOTS = 256
_PATIENCE = 8


class Operand:
    """What a plan may depend on of an argument: see `walk.make_key`."""

    __slots__ = ("align", "code", "held", "kind", "outside", "shape", "strides", "times")

    kind: int
    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    held: bool
    outside: bool
    align: int
    times: int

    def __init__(self, node: Node, times: int) -> None:
        self.kind = node.kind
        self.code = node.code
        self.shape = node.shape
        self.strides = node.strides
        self.held = node.cells > 0
        self.outside = node.readers > times
        self.times = times
        self.align = node.buffer.ptr & 15 if node.kind == LEAF else 0


class Operation:
    """What a plan may depend on of an operation."""

    __slots__ = ("attr", "code", "kind", "row", "shape", "strides")

    row: Any
    kind: int
    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    attr: Any

    def __init__(self, node: Node) -> None:
        self.row = node.row
        self.kind = node.kind
        self.code = node.code
        self.shape = node.shape
        self.strides = node.strides
        self.attr = node.attr


class Direct:
    """A node of this form, and how it runs.

    Attributes
    ----------
    last : Operation
        The node's.
    first : Operation or None
        That of its one argument, where it is nobody else's and pending.
    operands : list of Operand
        Arguments of the first operation.
    alike : int
        Which of them are the same: see `alike`.
    places : list of int
        For each node number of the plan which operand it is.
    plan, ready : ReadyPlan, Ready
        The plan and its only step.
    nbytes : int
        Size of the result.
    faults : int
        How many times in a row other nodes were met in its place.
    """

    __slots__ = ("alike", "faults", "first", "last", "nbytes", "operands", "places", "plan", "ready")

    last: Operation
    first: Operation | None
    operands: list[Operand]
    alike: int
    places: list[int]
    plan: ReadyPlan
    ready: Ready
    nbytes: int
    faults: int

    def __init__(self, node: Node, inner: Node, plan: ReadyPlan) -> None:
        args = inner.args
        self.last = Operation(node)
        self.first = None if inner is node else Operation(inner)
        self.alike = alike(args)
        self.operands = [Operand(arg, sum([arg is other for other in args])) for arg in args]
        self.places = [place for place, arg in enumerate(args) if not any([arg is other for other in args[:place]])]
        self.plan = plan
        self.ready = plan.steps[0]
        self.nbytes = self.ready.allocate[0][1]
        self.faults = 0


class Table:
    """The forms met last, each in one place."""

    __slots__ = ("slots",)

    slots: list[Any]

    def __init__(self) -> None:
        self.slots = [None] * _SLOTS


table = Table()


def clear_direct() -> None:
    """Forget all forms: plans of another device, or other settings, hold from now on."""
    table.slots = [None] * _SLOTS


def alike(args: tuple[Node, ...]) -> int:
    """Which of up to three arguments are the same, a bit a pair."""
    count = len(args)
    if count == 1:
        return 0
    found = 1 if args[0] is args[1] else 0
    if count == 3:
        found += (2 if args[0] is args[2] else 0) + (4 if args[1] is args[2] else 0)
    return found


def innermost(node: Node) -> Node | None:
    """The node whose arguments are computed: this one, or its only argument that nobody else needs; else None."""
    kind = node.kind
    if (kind != OP and kind != REDUCE and kind != CAST) or node.readers or node.cells < 1:
        return None
    args = node.args
    arg = args[0]
    if len(args) == 1 and arg.buffer is None:
        kind = arg.kind
        if (kind != OP and kind != REDUCE and kind != CAST) or arg.readers != 1 or arg.cells:
            return None
        node = arg
    return node if len(node.args) <= 3 else None


def slot_of(node: Node, inner: Node) -> int:
    """Where a form is kept."""
    arg = inner.args[0]
    return (hash(node.row) + 3 * hash(inner.row) + 31 * node.size + 7 * node.code + arg.code + arg.size) & (_SLOTS - 1)


def is_same(operation: Operation, node: Node) -> bool:
    """Whether a node is such an operation."""
    return (
        operation.row is node.row
        and operation.kind == node.kind
        and operation.code == node.code
        and operation.shape is node.shape
        and operation.strides is node.strides
        and operation.attr is node.attr
    )


def find_direct(node: Node) -> Direct | None:
    """How a node runs that is all there is to run; None where a walk must say it."""
    inner = innermost(node)
    if inner is None:
        return None
    direct = table.slots[slot_of(node, inner)]
    if direct is None or not is_same(direct.last, node):
        return None
    if inner is node:
        if direct.first is not None:
            return None
    elif direct.first is None or not is_same(direct.first, inner):
        return None
    args = inner.args
    count = len(args)
    if len(direct.operands) != count or direct.alike != alike(args):
        return None
    for place in range(count):
        arg = args[place]
        operand = direct.operands[place]
        if (
            arg.kind != operand.kind
            or arg.code != operand.code
            or (arg.cells > 0) != operand.held
            or (arg.readers > operand.times) != operand.outside
        ):
            return None
        if arg.kind == LEAF:
            buffer = arg.buffer
            if arg.shape is not operand.shape or arg.strides is not operand.strides or buffer.ptr & 15 != operand.align:
                return None
    return direct


def run_direct(direct: Direct, node: Node) -> None:
    """Run it."""
    ready = direct.ready
    args = node.args
    if direct.first is not None:
        arg = args[0]
        args = arg.args
    result = direct.plan.pool.allocate(direct.nbytes)
    words = ready.words
    count_kernel()
    for pointer in ready.pointers:
        if pointer.place >= 0:
            buffer = result
        else:
            arg = args[direct.places[pointer.number]]
            buffer = arg.buffer
        words.put(pointer.word, buffer.ptr + pointer.offset)
    for parameter in ready.params:
        arg = args[direct.places[parameter.number]]
        value = arg.attr
        if value is not parameter.last:
            pack(words, parameter.word, value, parameter.code)
            parameter.last = value
    ready.run()
    become_leaf(node, result)
    direct.faults = 0


def learn_direct(node: Node, count: int, plan: ReadyPlan) -> None:
    """Keep how a walk of `count` nodes up to this one runs, if that is one launch of a kernel that is there."""
    inner = innermost(node)
    if inner is None or len(plan.steps) != 1:
        return
    args = inner.args
    for arg in args:
        if arg.kind != LEAF and arg.kind != SCALAR:
            return
    ready = plan.steps[0]
    if ready.run is None or len(ready.allocate) != 1 or ready.adopt or ready.copy is not None or ready.places:
        return
    if ready.workspace >= 0 or ready.computed != (count - 1,):
        return
    for pointer in ready.pointers:
        if pointer.view >= 0:
            return
    slot = slot_of(node, inner)
    found = table.slots[slot]
    if found is not None and found.faults < _PATIENCE:
        found.faults += 1
        return
    made = Direct(node, inner, plan)
    if count == len(made.places) + (1 if inner is node else 2):
        table.slots[slot] = made


__all__ = ["clear_direct", "find_direct", "learn_direct", "run_direct"]
