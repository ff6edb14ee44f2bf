# cython: boundscheck=False, wraparound=False
"""One operation on computed values, evaluated again: straight from its node to the launch.

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

    __slots__ = ("align", "code", "held", "kind", "outside", "shape", "strides")

    kind: int
    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    held: bool
    outside: bool
    align: int

    def __init__(self, node: Node, times: int) -> None:
        self.kind = node.kind
        self.code = node.code
        self.shape = node.shape
        self.strides = node.strides
        self.held = node.cells > 0
        self.outside = node.readers > times
        self.align = node.buffer.ptr & 15 if node.kind == LEAF else 0


class Direct:
    """A node of this form, and how it runs.

    Attributes
    ----------
    row, kind, code, shape, strides, attr
        The node's.
    operands : list of Operand
        Its arguments.
    twice : bool
        Whether both are the same.
    places : list of int
        For each node number of the plan which argument it is.
    ready : Ready
        The plan's only step.
    nbytes : int
        Size of the result.
    faults : int
        How many times in a row other nodes were met in its place.
    """

    __slots__ = (
        "attr", "code", "faults", "kind", "nbytes", "operands", "places", "plan", "ready", "row", "shape", "strides",
        "twice",
    )  # fmt: skip

    row: Any
    kind: int
    code: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    attr: Any
    operands: list[Operand]
    twice: bool
    places: list[int]
    plan: ReadyPlan
    ready: Ready
    nbytes: int
    faults: int

    def __init__(self, node: Node, plan: ReadyPlan) -> None:
        args = node.args
        self.row = node.row
        self.kind = node.kind
        self.code = node.code
        self.shape = node.shape
        self.strides = node.strides
        self.attr = node.attr
        self.twice = len(args) == 2 and args[0] is args[1]
        self.operands = [Operand(arg, 1 + self.twice) for arg in args]
        self.places = [0] if self.twice else list(range(len(args)))
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


def slot_of(node: Node) -> int:
    """Where a form is kept."""
    arg = node.args[0]
    return (hash(node.row) + 31 * node.size + 7 * node.code + arg.code) & (_SLOTS - 1)


def find_direct(node: Node) -> Direct | None:
    """How a node runs that is all there is to run; None where a walk must say it."""
    kind = node.kind
    args = node.args
    if (kind != OP and kind != REDUCE and kind != CAST) or not 0 < len(args) <= 2 or node.readers or node.cells < 1:
        return None
    direct = table.slots[slot_of(node)]
    if (
        direct is None
        or direct.row is not node.row
        or direct.code != node.code
        or direct.shape is not node.shape
        or direct.strides is not node.strides
        or direct.attr is not node.attr
        or direct.kind != kind
        or len(direct.operands) != len(args)
        or direct.twice != (len(args) == 2 and args[0] is args[1])
    ):
        return None
    times = 1 + direct.twice
    for place in range(len(args)):
        arg = args[place]
        operand = direct.operands[place]
        if (
            arg.kind != operand.kind
            or arg.code != operand.code
            or (arg.cells > 0) != operand.held
            or (arg.readers > times) != operand.outside
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
    args = node.args
    kind = node.kind
    if (kind != OP and kind != REDUCE and kind != CAST) or not 0 < len(args) <= 2 or len(plan.steps) != 1:
        return
    for arg in args:
        if arg.kind != LEAF and arg.kind != SCALAR:
            return
    ready = plan.steps[0]
    if ready.run is None or len(ready.allocate) != 1 or ready.adopt or ready.copy is not None or ready.places:
        return
    if ready.workspace >= 0 or node.readers or ready.computed != (count - 1,):
        return
    if count != len(args) + 1 - (len(args) == 2 and args[0] is args[1]):
        return
    for pointer in ready.pointers:
        if pointer.view >= 0:
            return
    slot = slot_of(node)
    found = table.slots[slot]
    if found is not None and found.faults < _PATIENCE:
        found.faults += 1
        return
    table.slots[slot] = Direct(node, plan)


__all__ = ["clear_direct", "find_direct", "learn_direct", "run_direct"]
